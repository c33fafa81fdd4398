"""Sums over all candidates from products of columns, and lower bounds of the criterion.

Derived in ``engine.py``.
"""

import copy

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats

ROUNDED_PRODUCTS = 1e-11  # error of a product of two columns of norm one, with a wide margin
TRUSTED = 0.1  # that error over the pivot up to which there is a bound


def triangular(R: Floats, b: Floats, transposed: bool = False) -> Floats:
    """Return R^-1 b, or R^-T b, for a regular upper triangular R."""
    return lapack.dtrtrs(R, b, trans=int(transposed))[0] if len(R) else np.zeros_like(b)


def extend(R: Floats, a: Floats, t: Floats, pivot: float, c: Floats) -> tuple[Floats, Floats]:
    """Return R and a with one more column."""
    k, root = len(R), np.sqrt(pivot)
    larger = np.zeros((k + 1, k + 1), order="F")
    larger[:k, :k], larger[:k, k], larger[k, k] = R, t, root
    return larger, np.vstack([a, c / root])


class CandidateSums:
    """The letters s, c, |b|^2 and t of ``engine.py`` for every feature.

    ``c`` and ``t``, n x T and n x k, belong to a model of k features with triangle ``R``;
    ``squares`` are squared norms of the columns.
    """

    def __init__(self, c: Floats, t: Floats, squares: Floats, R: Floats) -> None:
        self.c, self.s = c, squares - np.einsum("ij,ij->i", t, t)
        self._t = np.zeros((len(t), max(8, 2 * t.shape[1])), order="F")
        self.size = t.shape[1]
        self._t[:, : self.size] = t
        self.b2 = np.square(triangular(R, t.T)).sum(0)

    @property
    def t(self) -> Floats:
        return self._t[:, : self.size]

    def extend(self, gram: Floats, R: Floats, a: Floats) -> None:
        """Update after an addition (the last of R and a); ``gram`` are its products with all
        columns.
        """
        k, root = self.size, R[-1, -1]
        new = (gram - self.t @ R[:k, k]) / root
        b = triangular(R[:k, :k], R[:k, k])
        cross = self.t @ triangular(R[:k, :k], b, transposed=True)
        share = new / root
        self.b2 = np.maximum(self.b2 + share * (share * (1 + b @ b) - 2 * cross), 0.0)
        self.s -= new**2
        self.c -= np.outer(new, a[-1])
        if k == self._t.shape[1]:
            self._t = np.asfortranarray(np.hstack([self._t, np.zeros_like(self._t)]))
        self._t[:, k] = new
        self.size = k + 1

    def duplicate(self) -> "CandidateSums":
        """Return a copy."""
        other = copy.copy(self)
        other.s, other.c, other._t = self.s.copy(), self.c.copy(), self._t.copy(order="F")
        return other


def least_errors(
    design: Design,
    features: NDArray[np.intp],
    alpha: float,
    target_squares: float,
    uu: Floats,
    ur: Floats,
    s: Floats,
    c: Floats,
    q: Floats,
    h: Floats,
    off: Floats,
) -> Floats:
    """Return the bound u'r - 2 tau h + tau^2 q per sample for some features, minus its rounding
    error.

    ``off`` times |z| bounds the error of h for each target, before rounding. q = |z|^2 is a
    difference of two sums: for a column with nothing else left it is rounding, and its root many
    times that. Minus infinity where s is unknown.
    """
    unit = ROUNDED_PRODUCTS * design.sizes[features]
    s_error = 2 * unit * np.sqrt(design.squares[features])
    trusted = s_error <= TRUSTED * (s + alpha)
    pivot = np.where(trusted, s + alpha, 1.0)
    tau = c / pivot[:, None]
    h_error = np.outer(np.sqrt(q + s_error), off) + np.outer(unit, np.sqrt(uu))
    c_error = (unit * np.sqrt(target_squares))[:, None]
    tau_error = (c_error + np.abs(tau) * s_error[:, None]) / pivot[:, None]
    gain = 2 * tau * h - tau**2 * q[:, None]
    error = (
        2 * np.abs(tau) * h_error
        + 2 * tau_error * (np.abs(h) + h_error + np.abs(tau) * q[:, None])
        + tau**2 * s_error[:, None]
    )
    bounds = (ur.sum() - (gain + error).sum(1)) / design.total
    bounds[~trusted] = -np.inf
    return bounds
