"""Reduced-rank kernel ridge regression: a few samples as centres, exact leave-one-out.

Cawley and Talbot (2002). Samples S are chosen by :mod:`sparsepath.base.reconstruction`,
with K_SS = L L' and F = L^-1 K_S. (|S| x N). Then, equation 7,

    minimise  beta' K_SS beta / 2 + (gamma / 2) |y - K_.S beta - b|^2

With theta = L' beta it is a ridge regression on F, |theta|^2 / gamma + |y - F'theta - b|^2, which
is well conditioned even if K_SS is nearly singular. One singular value decomposition of the centred
F is enough for every gamma, and the hat matrix gives the exact leave-one-out residuals, with b
refitted: (y - yhat)_n / (1 - h_nn).

Sample weights v_n multiply the squared errors: columns of F, the ones and y are multiplied by
sqrt(v_n) and projected orthogonally to the multiplied ones instead of centred; the residuals are
divided by sqrt(v_n).
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular, svd

from sparsepath.base import document_fit, in_memory
from sparsepath.base.parameters import count, share
from sparsepath.base.reconstruction import Reconstruction, reconstruct
from sparsepath.base.targets import dense, weights_of
from sparsepath.data.validation import check_features, column_indices
from sparsepath.errors import InputError
from sparsepath.kernel_machines.kernel_machine import KernelModel, _KernelMachine, _SeveralTargets
from sparsepath.kernel_machines.lssvm import Blocks, gaussian_kernel
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads


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


@dataclass(eq=False, repr=False)
class ReducedRankKernelRidge(_SeveralTargets, _KernelMachine):
    """Kernel ridge regression with a few samples as centres, tuned by exact leave-one-out.

    The centres are chosen by the lowest mean reconstruction error, independent of the target, until
    there are ``max_samples`` or their kernel matrix is no longer invertible; the fit uses all
    samples. With the columns of a selector (``columns``) this is the sparse version of the paper.

    Parameters
    ----------
    gamma : float, list of float or "tune", default="tune"
        Weight of the errors relative to the smoothness; larger values fit more closely.
    sigma2 : float, list of float or "tune", default="tune"
        Width of the kernel exp(-|x - z|^2 / sigma2). "tune": around the mean squared distance.
    standardize : bool, default=True
        Scale inputs to zero mean and unit variance first.
    max_samples : int or None, default=None
        Maximum number of centres.
    tolerance : float, default=1e-10
        A sample with a smaller residual after reconstruction makes the matrix singular.
    columns : list of int or str, optional
        Inputs to use; default all.

    Attributes
    ----------
    samples_ : array of int
        Indices of the centres, in order of choice.
    gamma_, sigma2_ : float
        In use.
    cv_error_ : float
        Mean squared cross-validation error, in squared units of the target, summed over targets.
    cv_residuals_ : array, of the shape of y
        Residual of every sample when it (or its fold) is left out.
    cv_results_ : list of dict
        The error of every pair.
    dual_coef_, intercept_ : arrays
        beta and b.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(random_state=0)
    >>> model = ReducedRankKernelRidge(sigma2=[0.1, 1, 10], columns=[0]).fit(data.X, data.y)
    >>> len(model.samples_) < 50
    True
    """

    _: KW_ONLY
    max_samples: int | None = None
    tolerance: float = 1e-10
    columns: Sequence[int] | Sequence[str] | None = None

    @in_memory
    @document_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose samples for every width, tune and fit.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        sample_weight : array of shape (n_samples,), optional
            Weights of the squared errors; a weight of 2 equals a duplicated sample, except that
            tuning holds it out as one sample.
        """
        X = dense(check_features(self, X, reset=True))
        Y = self._numbers(y, len(X), weights_of(sample_weight, len(X)))
        weights, counted = self._counted(sample_weight, len(X))
        e = np.full_like(Y, np.nan)
        X, Y = X[counted], Y[counted]
        if self.max_samples is not None:
            count("max_samples", self.max_samples)
        names = getattr(self, "feature_names_in_", None)
        given = column_indices(self.columns, names, X.shape[1], "columns")
        if self.columns is not None and not len(given):
            raise InputError("columns is empty; name at least one input, or use None for all.")
        columns = np.array(given or range(X.shape[1]), dtype=np.intp)
        with Threads(1):
            Z = self._scaled(X[:, columns], weights)
            self.gamma_, self.sigma2_, self.cv_results_ = self._tune(Z, Y, None, weights)
            machine, chosen = self._machine(gaussian_kernel(Z, Z, self.sigma2_), Y, weights)
            *fitted, e[counted] = machine.fit(self.gamma_)
        place = columns, self._mean, self._scale, Z[chosen], self.sigma2_
        self._model, self.samples_ = KernelModel(*place, *fitted), counted[chosen]
        self._show(e)
        return self

    def _machine(
        self, K: Floats, Y: Floats, weights: Floats | None
    ) -> tuple[ReducedRank, NDArray[np.intp]]:
        tolerance = share("tolerance", self.tolerance)
        basis = reconstruct(K, self.max_samples or len(K), tolerance, weights)
        return ReducedRank(basis, Y, weights), basis.chosen

    def _cv(
        self, K: Floats, Y: Floats, gammas: Sequence[float], blocks: Blocks, weights: Floats | None
    ) -> list[Floats]:
        machine, _ = self._machine(K, Y, weights)
        return [machine.fit(gamma)[2] for gamma in gammas]
