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
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular, svd

from sparsepath.data.blocks import Floats

SINGULAR = 1e-10  # what is left of a sample, of its own square, below which K_SS is singular


@dataclass(frozen=True)
class Reconstruction:
    """Samples in order of choice, F, and the mean reconstruction error after each choice."""

    chosen: NDArray[np.intp]
    F: Floats
    errors: Floats


def reconstruct(K: Floats, most: int, tolerance: float = SINGULAR) -> Reconstruction:
    """Choose samples that reconstruct the others best; ties go to the lowest index.

    Ends at ``most`` samples or when the matrix of the chosen is no longer invertible.

    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> reconstruct(K, 2).chosen.tolist()
    [0, 2]
    """
    n = len(K)
    left = K.copy()
    own = K.diagonal().copy()
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
        gain[able] = ((1.0 / own) @ left**2)[able] / q[able]
        j = int(np.flatnonzero(gain >= gain.max() * (1 - 1e-12))[0])
        row = left[j] / np.sqrt(left[j, j])
        row[chosen] = 0.0  # they are reconstructed already, but for rounding
        left -= np.outer(row, row)
        able[j] = False
        chosen.append(j)
        rows.append(row)
        errors.append(float(np.mean(left.diagonal() / own)))
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
    """

    def __init__(self, basis: Reconstruction, Y: Floats) -> None:
        self._basis = basis
        self._f_mean, self._y_mean = basis.F.mean(axis=1), Y.mean(axis=0)
        self._centred = Y - self._y_mean
        self._U, self._d, self._Vt = svd(basis.F - self._f_mean[:, None], full_matrices=False)

    def fit(self, gamma: float) -> tuple[Floats, Floats, Floats]:
        """Coefficients (len(S) x T), bias (T) and leave-one-out residuals (N x T)."""
        d, Vt, n = self._d, self._Vt, self._Vt.shape[1]
        along = Vt @ self._centred
        theta = self._U @ ((d / (d * d + 1.0 / gamma))[:, None] * along)
        shrink = d * d / (d * d + 1.0 / gamma)
        fitted = Vt.T @ (shrink[:, None] * along)
        room = 1.0 - 1.0 / n - shrink @ (Vt * Vt)
        bias = self._y_mean - self._f_mean @ theta
        L = self._basis.F[:, self._basis.chosen].T
        beta = solve_triangular(L, theta, lower=True, trans=1)
        return beta, bias, (self._centred - fitted) / np.maximum(room, 1e-12)[:, None]
