"""Least-squares support vector machines: one factorisation, exact leave-one-out and k-fold.

With A = K + I/gamma the model yhat = K beta + b solves (Suykens et al. 2002; equations 3 to 5)

    [A  1; 1' 0] [beta; b] = [y; 0]

Let B be the leading N x N block of the inverse of that matrix: with a = A^-1 1 and s = 1'a

    B = A^-1 - a a' / s        beta = B y        b = a'y / s

Leaving the samples of a block F out, and refitting beta and b, their residuals are exactly

    y_F - yhat_F = B_FF^-1 beta_F

which for one sample is beta_n / B_nn. From one eigendecomposition K = Q diag(k) Q' the inverse is
known for every gamma: A^-1 = Q diag(1 / (k + 1/gamma)) Q'.

Sample weights v_n multiply the squared errors, so that A = K + V^-1/gamma with V = diag(v). With
S = V^(1/2) this is S A S = S K S + I/gamma: the formulas hold for S K S, S y and S 1 in place of K,
y and 1, and then beta is S times theirs and a residual theirs divided by S_nn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from sparsepath.system.arrays import Floats

Block = NDArray[np.intp]
Blocks = Sequence[Block] | None  # samples that are left out together; None: each by itself


def gaussian_kernel(X: Floats, Z: Floats, sigma2: float) -> Floats:
    """exp(-|x - z|^2 / sigma2), samples of X x samples of Z."""
    return np.exp(squared_distances(X, Z) / -sigma2)


def squared_distances(X: Floats, Z: Floats) -> Floats:
    """|x - z|^2 for all pairs, never below zero, and zero on the diagonal if X is Z."""
    D = (X * X).sum(1)[:, None] - 2.0 * (X @ Z.T) + (Z * Z).sum(1)
    np.maximum(D, 0.0, out=D)
    if X is Z:
        np.fill_diagonal(D, 0.0)
    return D


class LSSVM:
    """One kernel matrix, N x N, and targets, N x T, for any gamma; weights are above zero."""

    def __init__(self, K: Floats, Y: Floats, weights: Floats | None = None) -> None:
        K, Y, self._roots = _rooted(K, Y, weights)
        self._k, self._Q = eigh(K)
        self._k = np.maximum(self._k, 0.0)
        self._ones = self._Q.T @ self._roots
        self._QY = self._Q.T @ Y

    def fit(self, gamma: float) -> tuple[Floats, Floats]:
        """Beta (N x T) and b (T)."""
        beta, b, *_ = self._fit(gamma)
        return beta * self._roots[:, None], b

    def _fit(self, gamma: float) -> tuple[Floats, Floats, Floats, Floats, float]:
        """Beta and b of the rooted problem; the inverse eigenvalues, A^-1 1 and 1' A^-1 1."""
        inverse = 1.0 / (self._k + 1.0 / gamma)
        scaled = inverse * self._ones
        s = float(scaled @ self._ones)
        b = (scaled @ self._QY) / s
        beta = self._Q @ (inverse[:, None] * (self._QY - np.outer(self._ones, b)))
        return beta, b, inverse, self._Q @ scaled, s

    def residuals(self, gamma: float, blocks: Blocks) -> Floats:
        """Residuals of every sample when it (``blocks=None``) or its block is left out, N x T."""
        if blocks is None:
            return self.loo_residuals(gamma)
        return self.block_residuals(gamma, blocks)

    def loo_residuals(self, gamma: float) -> Floats:
        """Residuals of every sample when it is left out, N x T."""
        beta, _, inverse, a, s = self._fit(gamma)
        diagonal = (self._Q * self._Q) @ inverse - a * a / s
        return beta / (diagonal * self._roots)[:, None]

    def block_residuals(self, gamma: float, blocks: Sequence[Block]) -> Floats:
        """Residuals of every sample when its block is left out; NaN outside of all blocks."""
        beta, _, inverse, a, s = self._fit(gamma)
        out = np.full_like(beta, np.nan)
        for block in blocks:
            Q = self._Q[block]
            B = (Q * inverse) @ Q.T - np.outer(a[block], a[block]) / s
            out[block] = np.linalg.solve(B, beta[block]) / self._roots[block, None]
        return out


def _rooted(K: Floats, Y: Floats, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """S K S, S Y and the diagonal of S."""
    if weights is None:
        return K, Y, np.ones(len(K))
    roots = np.sqrt(weights)
    return roots[:, None] * K * roots, roots[:, None] * Y, roots


def residuals(
    K: Floats, Y: Floats, gammas: Sequence[float], blocks: Blocks, weights: Floats | None = None
) -> list[Floats]:
    """Leave-one-out residuals (``blocks=None``) or block residuals for every gamma.

    A single gamma takes a Cholesky factorisation, several an eigendecomposition for all.
    """
    if len(gammas) == 1 and blocks is None:
        return [_loo_once(K, Y, gammas[0], weights)]
    machine = LSSVM(K, Y, weights)
    return [machine.residuals(gamma, blocks) for gamma in gammas]


def _loo_once(K: Floats, Y: Floats, gamma: float, weights: Floats | None) -> Floats:
    rooted, Y, roots = _rooted(K, Y, weights)
    A = rooted.copy() if rooted is K else rooted
    A[np.diag_indices_from(A)] += 1.0 / gamma
    factor = cho_factor(A, lower=True, overwrite_a=True)
    inverse = cho_solve(factor, np.eye(len(A)), overwrite_b=True)
    a = inverse @ roots
    s = a @ roots
    beta = inverse @ Y - np.outer(a, (a @ Y) / s)
    return beta / ((inverse.diagonal() - a * a / s) * roots)[:, None]
