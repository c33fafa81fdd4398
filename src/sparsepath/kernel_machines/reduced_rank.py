"""Reduced-rank kernel ridge regression: a few samples stand for all, exact leave-one-out.

Cawley and Talbot (2002). Samples S are chosen by :mod:`sparsepath.orders.reconstruction`,
with K_SS = L L' and F = L^-1 K_S. (|S| x N). Then, equation 7,

    minimise  beta' K_SS beta / 2 + (gamma / 2) |y - K_.S beta - b|^2

With theta = L' beta it is a ridge regression on F, |theta|^2 / gamma + |y - F'theta - b|^2,
well conditioned however near K_SS is to singular. The singular value decomposition of the centred F
serves every gamma, and the hat matrix gives the leave-one-out residuals, b refitted too, exactly:
(y - yhat)_n / (1 - h_nn).

Sample weights v_n multiply the squared errors: columns of F, the ones and y are taken times
sqrt(v_n) and projected off the ones' image instead of centred; the residuals are divided by it.
"""

import numpy as np
from scipy.linalg import solve_triangular, svd

from sparsepath.arrays import Floats
from sparsepath.orders.reconstruction import Reconstruction


class ReducedRank:
    """The regression on one choice of samples, for any gamma; targets Y are N x T."""

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
