"""Kernel rivals of the RBF network as scikit-learn estimators."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import (
    check_features,
    check_labels,
    check_target,
    check_weights,
    column_indices,
    refuse_constant,
)
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.rbf.estimators import dense, positive, weights_of, whole
from sparsepath.rbf.lssvm import LSSVM, Block, gaussian_kernel, residuals, squared_distances
from sparsepath.rbf.reduced_rank import ReducedRank, reconstruct

GAMMAS = np.logspace(-1, 6, 15)
WIDTHS = np.logspace(-1, 4, 11)  # of the mean squared distance of two samples


def grid(given: Any, name: str, default: Floats) -> list[float]:
    """The values to try: a number, a list of numbers, or "tune" for the default ones."""
    if isinstance(given, str):
        if given != "tune":
            raise InputError(f"{name}={given!r}; use a number, a list of numbers, or 'tune'.")
        return [float(value) for value in default]
    values = [given] if isinstance(given, Real) else list(given)
    if not values:
        raise InputError(f"{name} is an empty list; give at least one value.")
    return [positive(value, name) for value in values]


def left_out(cv: Any, X: Floats, y: Any, classifier: bool) -> list[Block] | None:
    """The blocks to leave out: None for "loo"; they must cover every sample once."""
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(f"cv={cv!r}; use 'loo', a number of folds, or splits.")
        return None
    n = len(X)
    blocks = []
    for train, test in check_cv(cv, y, classifier=classifier).split(X, y):
        if len(train) + len(test) != n:
            raise InputError("cv leaves samples out of both parts; each split must use them all.")
        blocks.append(np.asarray(test, dtype=np.intp))
    if not np.array_equal(np.sort(np.concatenate(blocks)), np.arange(n)):
        raise InputError("cv must test every sample once; use KFold, or 'loo'.")
    return blocks


left_out.__test__ = False  # type: ignore[attr-defined]


def default_widths(Z: Floats, weights: Floats | None = None) -> Floats:
    """Widths sigma2 around the mean squared distance of two samples."""
    off = Z - np.average(Z, axis=0, weights=weights)
    return WIDTHS * max(2.0 * float(np.average((off * off).sum(axis=1), weights=weights)), 1e-12)


class _KernelMachine(BaseEstimator):
    """What the rivals share: scaling, the grid of gamma and sigma2, predictions."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _counted(
        self, sample_weight: Any, n_samples: int
    ) -> tuple[Floats | None, NDArray[np.intp]]:
        """Checked weights of the samples that count, and which these are; None: all, alike."""
        weights = weights_of(sample_weight, n_samples)
        if weights is None:
            return None, np.arange(n_samples)
        counted = np.flatnonzero(weights)
        return weights[counted], counted

    def _scaled(self, X: Floats, weights: Floats | None) -> Floats:
        """Standardise and remember how."""
        self._mean, self._scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            self._mean = np.average(X, axis=0, weights=weights)
            scale = np.sqrt(np.average((X - self._mean) ** 2, axis=0, weights=weights))
            varies = scale > 1e-13 * np.abs(X).max(axis=0, initial=0.0)
            self._scale = np.where(varies, scale, 1.0)
        return (X - self._mean) / self._scale

    def _tune(
        self, Z: Floats, Y: Floats, blocks: list[Block] | None, weights: Floats | None
    ) -> tuple[float, float, list[dict[str, float]]]:
        """The best (gamma, sigma2) and all errors; ties: the smoother model."""
        sigma2s = grid(self.sigma2, "sigma2", default_widths(Z, weights))
        gammas = sorted(grid(self.gamma, "gamma", GAMMAS))
        D = squared_distances(Z, Z)
        tried = []
        best = (np.inf, 0.0, 0.0)
        for sigma2 in sorted(sigma2s, reverse=True):
            K = np.exp(D / -sigma2)
            for gamma, e in zip(gammas, self._cv(K, Y, gammas, blocks, weights), strict=True):
                error = float(np.average((e * e).mean(axis=1), weights=weights))
                tried.append({"gamma": gamma, "sigma2": sigma2, "mean_test_error": error})
                if error < best[0]:
                    best = (error, gamma, sigma2)
        if not np.isfinite(best[0]):
            raise InputError("no gamma and sigma2 gives a finite error; try others.")
        self.cv_error_ = best[0]
        return best[1], best[2], tried

    def _cv(
        self,
        K: Floats,
        Y: Floats,
        gammas: Sequence[float],
        blocks: list[Block] | None,
        weights: Floats | None,
    ) -> list[Floats]:
        return residuals(K, Y, gammas, blocks, weights)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = dense(check_features(self, X, reset=False))
        Z = (X[:, self._columns] - self._mean) / self._scale
        return gaussian_kernel(Z, self._support, self.sigma2_) @ self._dual + self._bias


class _LSSVM(_KernelMachine):
    def __init__(
        self,
        gamma: float | str | Sequence[float] = "tune",
        sigma2: float | str | Sequence[float] = "tune",
        *,
        cv: Any = "loo",
        standardize: bool = True,
    ) -> None:
        self.gamma = gamma
        self.sigma2 = sigma2
        self.cv = cv
        self.standardize = standardize

    def _fit(self, X: Floats, Y: Floats, labels: Any, sample_weight: Any) -> None:
        self._columns = np.arange(X.shape[1])
        weights, counted = self._counted(sample_weight, len(X))
        blocks = left_out(self.cv, X, labels, isinstance(self, ClassifierMixin))
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
            K = gaussian_kernel(Z, Z, self.sigma2_)
            self._dual, self._bias = LSSVM(K, Y, weights).fit(self.gamma_)
            self._support = Z
            self._residuals[counted] = self._cv(K, Y, [self.gamma_], blocks, weights)[0]


class LSSVMRegressor(RegressorMixin, _LSSVM):
    """Least-squares support vector regression with a Gaussian kernel, tuned by exact errors.

    Kernel ridge regression with a bias that is not penalised. Leave-one-out and k-fold errors come
    from the fit itself, exactly as if every part had been refitted, so that a whole grid of gamma
    and sigma2 costs one eigendecomposition per sigma2.

    Parameters
    ----------
    gamma : float, list of float or "tune", default="tune"
        Weight of the errors against the smoothness: larger, a closer fit.
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
        Mean squared cross-validation error, in squared units of the target.
    cv_residuals_ : array, of the shape of y
        Residual of every sample when it (or its fold) is left out.
    cv_results_ : list of dict
        The error of every pair.
    dual_coef_, intercept_ : arrays
        beta and b.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import friedman
    >>> data = friedman(100, random_state=0)
    >>> model = LSSVMRegressor().fit(data.X, data.y)
    >>> bool(model.cv_error_ < 0.5 * data.y.var())
    True
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune and fit.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        sample_weight : array of shape (n_samples,), optional
            How much each squared error counts: a weight of 2 is the sample twice.
        """
        X = dense(check_features(self, X, reset=True))
        Y, self._one_target = check_target(y, len(X))
        refuse_constant(Y, check_weights(sample_weight, len(X)))
        self._fit(X, Y, Y[:, 0] if self._one_target else Y, sample_weight)
        one = self._one_target
        self.dual_coef_ = self._dual[:, 0] if one else self._dual
        self.intercept_ = float(self._bias[0]) if one else self._bias
        self.cv_residuals_ = self._residuals[:, 0] if one else self._residuals
        return self

    def predict(self, X: Any) -> Floats:
        """Predicted targets, of the shape that y had."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_target else scores


class LSSVMClassifier(ClassifierMixin, _LSSVM):
    """Least-squares support vector classification: targets +1 and -1, one class against the rest.

    Parameters
    ----------
    gamma, sigma2, cv, standardize
        As for ``LSSVMRegressor``; values are compared by the squared error of the targets.

    Attributes
    ----------
    classes_ : array
        The class labels.
    cv_accuracy_ : float
        Share of samples classified rightly when left out.
    gamma_, sigma2_, cv_error_, cv_results_, n_features_in_, feature_names_in_
        As for ``LSSVMRegressor``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSSVMClassifier().fit(X, y)
    >>> bool(model.cv_accuracy_ > 0.93)
    True
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Tune and fit.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            How much each squared error counts: a weight of 2 is the sample twice.
        """
        X = dense(check_features(self, X, reset=True))
        labels = check_labels(y, len(X))
        self.classes_, codes = np.unique(labels, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise InputError(
                f"y has only one class ({labels[0]!r}); a classifier needs at least two."
            )
        if n_classes == 2:
            Y = np.where(codes == 1, 1.0, -1.0)[:, None]
        else:
            Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        self._fit(X, Y, labels, sample_weight)
        right = self._winners(Y - self._residuals) == codes
        self.cv_accuracy_ = float(np.average(right, weights=weights_of(sample_weight, len(X))))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Scores: one column per class, or for two classes one number, positive for the second."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self._scores(X)
        return self.classes_[self._winners(scores)]

    @staticmethod
    def _winners(scores: Floats) -> NDArray[np.intp]:
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.intp)
        return scores.argmax(axis=1)


class ReducedRankKernelRidge(RegressorMixin, _KernelMachine):
    """Kernel ridge regression on a few samples that stand for all, tuned by exact leave-one-out.

    Samples are taken by least mean reconstruction error, without a look at the target, until there
    are ``max_samples`` or until their kernel matrix is no longer invertible; all samples count in
    the fit. With the columns that a selector found (``columns``) it is the paper's sparse version.

    Parameters
    ----------
    gamma, sigma2, standardize
        As for ``LSSVMRegressor``.
    max_samples : int or None, default=None
        Most samples to take.
    tolerance : float, default=1e-10
        A sample of which less than this is left after reconstruction makes the matrix singular.
    columns : list of int or str, optional
        Inputs to use; default all.

    Attributes
    ----------
    samples_ : array of int
        The samples in use, in order of choice.
    gamma_, sigma2_, cv_error_, cv_residuals_, cv_results_, dual_coef_, intercept_
        As for ``LSSVMRegressor``.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(random_state=0)
    >>> model = ReducedRankKernelRidge(sigma2=[0.1, 1, 10], columns=[0]).fit(data.X, data.y)
    >>> len(model.samples_) < 50
    True
    """

    def __init__(
        self,
        gamma: float | str | Sequence[float] = "tune",
        sigma2: float | str | Sequence[float] = "tune",
        *,
        max_samples: int | None = None,
        tolerance: float = 1e-10,
        columns: Sequence[int] | Sequence[str] | None = None,
        standardize: bool = True,
    ) -> None:
        self.gamma = gamma
        self.sigma2 = sigma2
        self.max_samples = max_samples
        self.tolerance = tolerance
        self.columns = columns
        self.standardize = standardize

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose samples for every width, tune and fit.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The target.
        sample_weight : array of shape (n_samples,), optional
            How much each squared error counts: a weight of 2 is the sample twice, but
            for the tuning, which leaves it out as one.
        """
        X = dense(check_features(self, X, reset=True))
        Y, one = check_target(y, len(X))
        self._one_target = one
        refuse_constant(Y, check_weights(sample_weight, len(X)))
        weights, counted = self._counted(sample_weight, len(X))
        e = np.full_like(Y, np.nan)
        X, Y = X[counted], Y[counted]
        if self.max_samples is not None:
            whole(self.max_samples, "max_samples", 1)
        names = getattr(self, "feature_names_in_", None)
        given = column_indices(self.columns, names, X.shape[1], "columns")
        self._columns = np.array(given or range(X.shape[1]), dtype=np.intp)
        with Threads(1):
            Z = self._scaled(X[:, self._columns], weights)
            self.gamma_, self.sigma2_, self.cv_results_ = self._tune(Z, Y, None, weights)
            machine, chosen = self._machine(gaussian_kernel(Z, Z, self.sigma2_), Y, weights)
            self._dual, self._bias, e[counted] = machine.fit(self.gamma_)
        self._support, self.samples_ = Z[chosen], counted[chosen]
        self.dual_coef_ = self._dual[:, 0] if one else self._dual
        self.intercept_ = float(self._bias[0]) if one else self._bias
        self.cv_residuals_ = e[:, 0] if one else e
        return self

    def _machine(
        self, K: Floats, Y: Floats, weights: Floats | None
    ) -> tuple[ReducedRank, NDArray[np.intp]]:
        tolerance = positive(self.tolerance, "tolerance")
        basis = reconstruct(K, self.max_samples or len(K), tolerance, weights)
        return ReducedRank(basis, Y, weights), basis.chosen

    def _cv(
        self,
        K: Floats,
        Y: Floats,
        gammas: Sequence[float],
        blocks: list[Block] | None,
        weights: Floats | None,
    ) -> list[Floats]:
        machine, _ = self._machine(K, Y, weights)
        return [machine.fit(gamma)[2] for gamma in gammas]

    def predict(self, X: Any) -> Floats:
        """Predicted targets, of the shape that y had."""
        scores = self._scores(X)
        return scores[:, 0] if self._one_target else scores
