"""Reduced-rank kernel ridge regression: a few samples stand for all, exact leave-one-out.

Cawley and Talbot (2002). Samples S are chosen one at a time to reduce the mean reconstruction error

    MRE(S) = (1/N) sum_n (1 - K_Sn' K_SS^-1 K_Sn / K_nn)

which the paper's equation 6 prints as a sum. With K_SS = L L' and F = L^-1 K_S. (|S| x N), what is
left of the kernel after reconstruction is R = K - F'F; choosing j appends the row R_j. / sqrt(R_jj)
to F, a step of a pivoted Cholesky factorisation, and lowers N MRE by sum_n R_nj^2 / (R_jj K_nn).
Then, equation 7,

    minimise  beta' K_SS beta / 2 + (gamma / 2) |y - K_.S beta - b|^2

With theta = L' beta it is a ridge regression on F, |theta|^2 / gamma + |y - F'theta - b|^2,
well conditioned however near K_SS is to singular. The singular value decomposition of the centred F
serves every gamma, and the hat matrix gives the leave-one-out residuals, b refitted too, exactly:
(y - yhat)_n / (1 - h_nn).

Sample weights v_n multiply the squared errors: columns of F, the ones and y are taken times
sqrt(v_n) and projected off the ones' image instead of centred; the residuals are divided by it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular, svd

from sparsepath.arrays import Floats

SINGULAR = 1e-10  # what is left of a sample, of its own square, below which K_SS is singular


@dataclass(frozen=True)
class Reconstruction:
    """Samples in order of choice, F, and the mean reconstruction error after each choice."""

    chosen: NDArray[np.intp]
    F: Floats
    errors: Floats


def reconstruct(
    K: Floats, most: int, tolerance: float = SINGULAR, weights: Floats | None = None
) -> Reconstruction:
    """Choose samples that reconstruct the others best; ties go to the lowest index.

    The mean over samples is weighted if there are ``weights``. Ends at ``most`` samples or when the
    matrix of the chosen is no longer invertible.

    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> reconstruct(K, 2).chosen.tolist()
    [0, 2]
    """
    n = len(K)
    left = K.copy()
    own = K.diagonal().copy()
    counted = 1.0 / own if weights is None else weights / own
    chosen: list[int] = []
    rows: list[Floats] = []
    errors: list[float] = []
    able = np.ones(n, dtype=bool)
    while len(chosen) < most:
        q = left.diagonal()
        able &= q > tolerance * own
        if not able.any():
            break
        gain = np.full(n, -np.inf)
        gain[able] = (counted @ left**2)[able] / q[able]
        j = int(np.flatnonzero(gain >= gain.max() * (1 - 1e-12))[0])
        row = left[j] / np.sqrt(left[j, j])
        row[chosen] = 0.0  # they are reconstructed already, but for rounding
        left -= np.outer(row, row)
        able[j] = False
        chosen.append(j)
        rows.append(row)
        errors.append(float(np.average(left.diagonal() / own, weights=weights)))
    F = np.array(rows).reshape(len(rows), n)
    return Reconstruction(np.array(chosen, dtype=np.intp), F, np.array(errors))


class ReducedRank:
    """The regression on one choice of samples, for any gamma.

    Parameters
    ----------
    basis : Reconstruction
        The samples chosen.
    Y : array of shape (N, T)
        Targets.
    weights : array of shape (N,), optional
        Sample weights, above zero.
    """

    def __init__(self, basis: Reconstruction, Y: Floats, weights: Floats | None = None) -> None:
        self._basis = basis
        self._roots = np.ones(len(Y)) if weights is None else np.sqrt(weights)
        self._f_mean = np.average(basis.F, axis=1, weights=weights)
        self._y_mean = np.average(Y, axis=0, weights=weights)
        self._centred = (Y - self._y_mean) * self._roots[:, None]
        F = (basis.F - self._f_mean[:, None]) * self._roots
        self._U, self._d, self._Vt = svd(F, full_matrices=False)

    def fit(self, gamma: float) -> tuple[Floats, Floats, Floats]:
        """Coefficients (len(S) x T), bias (T) and leave-one-out residuals (N x T)."""
        d, Vt, roots = self._d, self._Vt, self._roots
        along = Vt @ self._centred
        theta = self._U @ ((d / (d * d + 1.0 / gamma))[:, None] * along)
        shrink = d * d / (d * d + 1.0 / gamma)
        fitted = Vt.T @ (shrink[:, None] * along)
        room = 1.0 - roots**2 / (roots @ roots) - shrink @ (Vt * Vt)
        bias = self._y_mean - self._f_mean @ theta
        L = self._basis.F[:, self._basis.chosen].T
        beta = solve_triangular(L, theta, lower=True, trans=1)
        room = np.maximum(room, 1e-12) * roots
        return beta, bias, (self._centred - fitted) / room[:, None]
