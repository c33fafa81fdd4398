"""Least-squares support vector machines as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.base import document_fit, in_memory
from sparsepath.base.targets import PathClassifierMixin, dense, weights_of
from sparsepath.data.classes import encode_targets, winners
from sparsepath.data.validation import check_features
from sparsepath.kernel_machines.kernel_machine import (
    GAMMAS,
    KernelModel,
    _KernelMachine,
    _SeveralTargets,
    left_out,
    warn_of_end,
)
from sparsepath.kernel_machines.lssvm import LSSVM, gaussian_kernel
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads


@dataclass(eq=False, repr=False)
class _LSSVM(_KernelMachine):
    _: KW_ONLY
    cv: Any = "loo"

    def _fit(self, X: Floats, Y: Floats, labels: Any, sample_weight: Any) -> None:
        weights, counted = self._counted(sample_weight, len(X))
        classes = isinstance(self, ClassifierMixin)
        blocks = left_out(self.cv, X, labels, classifier=classes, weights=weights)
        self._residuals = np.full_like(Y, np.nan)
        if weights is not None:
            X, Y = X[counted], Y[counted]
            if blocks is not None:
                place = np.full(len(self._residuals), -1)
                place[counted] = np.arange(len(counted))
                blocks = [place[block][place[block] >= 0] for block in blocks]
                blocks = [block for block in blocks if len(block)]
        with Threads(1):
            Z = self._scaled(X, weights)
            self.gamma_, self.sigma2_, self.cv_results_ = self._tune(Z, Y, blocks, weights)
            before = [t for t in self.cv_results_ if t["gamma"] < self.gamma_]
            gained = min((t["mean_test_error"] for t in before), default=0.0) / self.cv_error_
            if gained > 1.01:
                warn_of_end(self.gamma, self.gamma_, GAMMAS)
            K = gaussian_kernel(Z, Z, self.sigma2_)
            columns, fitted = np.arange(X.shape[1]), LSSVM(K, Y, weights).fit(self.gamma_)
            self._model = KernelModel(columns, self._mean, self._scale, Z, self.sigma2_, *fitted)
            self._residuals[counted] = self._cv(K, Y, [self.gamma_], blocks, weights)[0]


@dataclass(eq=False, repr=False)
class LSSVMRegressor(_SeveralTargets, _LSSVM):
    """Least-squares support vector regression with a Gaussian kernel, tuned by exact errors.

    Kernel ridge regression with an unpenalised intercept. Leave-one-out and k-fold errors are exact
    without refitting, so that a grid of gamma and sigma2 costs one eigendecomposition per sigma2.

    Parameters
    ----------
    gamma : float, list of float or "tune", default="tune"
        Weight of the errors relative to the smoothness; larger values fit more closely.
    sigma2 : float, list of float or "tune", default="tune"
        Width of the kernel exp(-|x - z|^2 / sigma2). "tune": around the mean squared distance.
    cv : "loo", int or splitter, default="loo"
        How values are compared: exact leave-one-out, or folds that cover every sample once.
    standardize : bool, default=True
        Scale inputs to zero mean and unit variance first.

    Attributes
    ----------
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
    >>> from sparsepath.data.synthetic import friedman
    >>> data = friedman(100, random_state=0)
    >>> model = LSSVMRegressor().fit(data.X, data.y)
    >>> bool(model.cv_error_ < 0.5 * data.y.var())
    True
    """

    @in_memory
    @document_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune and fit.

        Parameters
        ----------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        sample_weight : array of shape (n_samples,), optional
            Weights of the squared errors; a weight of 2 equals a duplicated sample.
        """
        X = dense(check_features(self, X, reset=True))
        Y = self._numbers(y, len(X), weights_of(sample_weight, len(X)))
        self._fit(X, Y, self._shaped(Y), sample_weight)
        self._show(self._residuals)
        return self


@dataclass(eq=False, repr=False)
class LSSVMClassifier(PathClassifierMixin, _LSSVM):
    """Least-squares support vector classification: targets +1 and -1, one class against the rest.

    Parameters
    ----------
    gamma : float, list of float or "tune", default="tune"
        Weight of the errors relative to the smoothness; larger values fit more closely.
    sigma2 : float, list of float or "tune", default="tune"
        Width of the kernel exp(-|x - z|^2 / sigma2). "tune": around the mean squared distance.
    cv : "loo", int or splitter, default="loo"
        How values are compared: exact leave-one-out, or folds that cover every sample once.
    standardize : bool, default=True
        Scale inputs to zero mean and unit variance first.

    Attributes
    ----------
    cv_accuracy_ : float
        Fraction of held-out samples that are classified correctly.
    gamma_, sigma2_ : float
        In use.
    cv_error_ : float
        Mean squared cross-validation error, in squared units of the target, summed over targets.
    cv_results_ : list of dict
        The error of every pair.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSSVMClassifier().fit(X, y)
    >>> bool(model.cv_accuracy_ > 0.93)
    True
    """

    @in_memory
    @document_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune and fit.

        Parameters
        ----------
        sample_weight : array of shape (n_samples,), optional
            Weights of the squared errors; a weight of 2 equals a duplicated sample.
        """
        X = dense(check_features(self, X, reset=True))
        weights = weights_of(sample_weight, len(X))
        codes = self._codes(y, len(X), weights)
        Y = encode_targets(codes, len(self.classes_))
        self._fit(X, Y, y, sample_weight)
        right = winners(Y - self._residuals) == codes
        self.cv_accuracy_ = float(np.average(right, weights=weights))
        return self
