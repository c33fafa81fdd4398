"""Reduced-rank kernel ridge regression: a few samples stand for all, exact leave-one-out.

Cawley and Talbot (2002). Samples S are chosen one at a time to reduce the mean reconstruction error

    MRE(S) = sum_n (1 - K_Sn' K_SS^-1 K_Sn / K_nn) / N

which the paper's equation 6 prints as a sum. With the Cholesky factor of K_SS grown by a row per
choice, q_n = K_nn - K_Sn' K_SS^-1 K_Sn is what is left of sample n and each step is a pivot of a
Cholesky factorisation: adding j lowers q_n by (left_nj)^2 / q_j, left = K - K_.S K_SS^-1 K_S. all of
which is kept up to date by rank one. Then, equation 7,

    minimise  beta' K_SS beta / 2 + (gamma / 2) |y - K_.S beta - b|^2

whose normal equations have [K_SS/gamma + K_S.K_.S, K_S.1; 1'K_.S, N], and whose hat matrix gives the
leave-one-out residuals (y - yhat)_n / (1 - h_nn) exactly.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sparsepath.data.blocks import Floats

SINGULAR = 1e-10  # what is left of a sample, of its own square, below which K_SS is singular


def reconstruct(K: Floats, most: int, tolerance: float = SINGULAR) -> NDArray[np.intp]:
    """Samples that reconstruct the others best, in order of choice; ties to the lowest index.

    Ends at ``most`` samples or when the matrix of the chosen is no longer invertible.

    >>> reconstruct(np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2).tolist()
    [0, 2]
    """
    left = K.copy()
    own = K.diagonal().copy()
    chosen: list[int] = []
    open_ = np.ones(len(K), dtype=bool)
    while len(chosen) < most:
        q = left.diagonal()
        able = open_ & (q > tolerance * own)
        if not able.any():
            break
        gain = np.full(len(K), -np.inf)
        part = left[:, able]
        gain[able] = ((part * part) / own[:, None]).sum(axis=0) / q[able]
        best = gain.max()
        j = int(np.flatnonzero(gain >= best * (1 - 1e-12))[0])
        column = left[:, j] / np.sqrt(left[j, j])
        left -= np.outer(column, column)
        open_[j] = False
        chosen.append(j)
    return np.array(chosen, dtype=np.intp)


class ReducedRank:
    """The normal equations for one choice of samples; solved for any gamma.

    Parameters
    ----------
    K : array of shape (len(S), N)
        Kernel of the chosen samples with all.
    chosen : array of int
        S.
    Y : array of shape (N, T)
    """

    def __init__(self, K: Floats, chosen: NDArray[np.intp], Y: Floats) -> None:
        self._K, self._Y = K, Y
        self._KSS = K[:, chosen]
        self._rows = np.vstack([K, np.ones(K.shape[1])])
        self._gram = self._rows @ self._rows.T

    def fit(self, gamma: float) -> tuple[Floats, Floats, Floats]:
        """Coefficients (len(S) x T), bias (T) and leave-one-out residuals (N x T)."""
        A = self._gram.copy()
        A[:-1, :-1] += self._KSS / gamma
        # The chosen samples are independent up to the tolerance; a breath on the diagonal keeps
        # the factorisation going when they hardly are.
        A[np.diag_indices_from(A)] *= 1 + 1e-14
        factor = cho_factor(A, lower=True)
        beta = cho_solve(factor, self._rows @ self._Y)
        hat = np.einsum("in,in->n", self._rows, cho_solve(factor, self._rows))
        residual = self._Y - self._rows.T @ beta
        return beta[:-1], beta[-1], residual / np.maximum(1.0 - hat, 1e-12)[:, None]
