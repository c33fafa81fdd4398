r"""Fits to training parts from the rows, where sums of products have lost too many digits.

``model.py`` works with sums of products. They are exact to 1e-16 of a column's square, so that what
is left of a column after regression on others is known to ten digits if that is 1e-6 of the square,
and to two if it is 1e-14. Columns that are nearly collinear, or nearly constant, within a training
part are therefore looked at in the rows themselves. With the letters of
``passes/engine.py``, for the training rows of a split, g the roots of the weights,

    [g X_S; sqrt(alpha) I] = [Z; L] R     orthonormal times triangular      a = Z'(g y)
    candidate x:  [w; l] = [g x; 0] - [Z; L] t      t = Z'(g x), twice
    pivot = |w|^2 + |l|^2 + alpha                   c = w'r + l'(-L a)
    on the test rows  d = x - (X_S R^-1) t

where every column is centred twice with its training mean. Nothing is a difference of large
numbers. It costs O(m |S|) per candidate and split rather than O(|S|).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sparsepath.data.splits import Split
from sparsepath.rls.design import COLLINEAR, OFF_CENTRE, Design
from sparsepath.system.arrays import Floats


class TrainingPart(NamedTuple):
    """Fit to one training fold."""

    Z: Floats
    L: Floats
    R: Floats
    a: Floats
    left: Floats  # of the target: training rows times g, then the penalty's rows
    x: Floats  # the chosen columns on the test rows
    y: Floats  # the target on the test rows
    e: Floats  # what is left of it


class Judged(NamedTuple):
    """Candidates in one split: whether they are usable, c / pivot, and d."""

    usable: NDArray[np.bool_]
    omega: Floats
    d: Floats


class RowFits:
    """The fits of the chosen columns to all training parts.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    pairs : sequence of (train, test)
        Row numbers.
    chosen : list of int
    """

    def __init__(
        self, design: Design, Y: Floats, alpha: float, pairs: Sequence[Split], chosen: list[int]
    ) -> None:
        self._design, self._alpha, self._pairs = design, alpha, pairs
        X = design.columns(np.array(chosen, dtype=np.intp))
        self.parts = [self._fit(X, Y, *pair) for pair in pairs]

    def _fit(
        self, X: Floats, Y: Floats, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> TrainingPart:
        x, x_test = self._centred(X, train, test)
        y, y_test = self._centred(Y, train, test)
        Z, L, R = triangular(x, self._alpha)
        a = Z.T @ y
        left = np.vstack([y - Z @ a, -L @ a])
        e = y_test - x_test @ solve_triangular(R, a) if len(a) else y_test
        return TrainingPart(Z, L, R, a, left, x_test, y_test, e)

    def _centred(
        self, V: Floats, train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """Return columns on training rows, times g, and on test rows, minus training means."""
        w = self._design.weights[train]
        inside, outside = V[train], V[test]
        if self._design.fit_intercept:
            for _ in range(2):
                mean = (w @ inside) / w.sum()
                inside = inside - mean
                outside = outside - mean
        return np.sqrt(w)[:, None] * inside, outside

    def judge(self, f: int, features: NDArray[np.intp], X: Floats) -> Judged:
        """Evaluate candidates, given as columns over all rows, in split f."""
        part = self.parts[f]
        w, d = self._centred(X, *self._pairs[f])
        spread = np.einsum("ij,ij->j", w, w)
        low = np.zeros((len(part.L), X.shape[1]))
        total = np.zeros((part.Z.shape[1], X.shape[1]))
        for _ in range(2):
            t = part.Z.T @ w + part.L.T @ low
            w = w - part.Z @ t
            low -= part.L @ t
            total += t
        pivots = np.einsum("ij,ij->j", w, w) + np.einsum("ij,ij->j", low, low) + self._alpha
        floor = COLLINEAR**2 * spread + (OFF_CENTRE * self._design.sizes[features]) ** 2
        usable = pivots > floor
        c = np.vstack([w, low]).T @ part.left
        omega = c / np.where(usable, pivots, 1.0)[:, None]
        if len(total):
            d = d - part.x @ solve_triangular(part.R, total)
        return Judged(usable, omega, d)

    def without(self, f: int) -> Floats:
        """Return residuals on the test rows of split f with each selected column removed: rows x T
        x |S|.
        """
        part = self.parts[f]
        inverse = solve_triangular(part.R, np.eye(len(part.R)))
        square = inverse @ inverse.T
        coef = inverse @ part.a
        step = square / np.diag(square)
        W = coef[:, :, None] - step[:, None] * coef.T[None]
        return part.y[:, :, None] - np.einsum("ij,jtb->itb", part.x, W)


def triangular(x: Floats, alpha: float) -> tuple[Floats, Floats, Floats]:
    """Return Z, L and R with [x; sqrt(alpha) I] = [Z; L] R."""
    m, k = x.shape
    Q, R = np.linalg.qr(np.vstack([x, np.sqrt(alpha) * np.eye(k)]))
    return Q[:m], Q[m:], R


def coefficients(design: Design, Y: Floats, alpha: float, chosen: list[int]) -> Floats:
    """Return the fit to all rows, for scaled columns: |S| x T."""
    g = np.sqrt(design.weights)[:, None]
    if design.fit_intercept:
        Y = Y - (design.weights @ Y) / design.total
    x = g * design.columns(np.array(chosen, dtype=np.intp))
    Z, _, R = triangular(x, alpha)
    return solve_triangular(R, Z.T @ (g * Y))
