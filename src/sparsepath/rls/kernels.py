"""Sparse kernel models: the same search selects kernel centres instead of columns.

Reduced-set selection, after Pahikkala et al. (section 5). The candidates are columns k(x, centre)
for centres among the training samples. The model is

    f(x) = b + sum over selected centres of w_c k(x, c),       penalty alpha |w|^2.

It is linear for given centres, so exact cross-validation works as for columns of the data. Equal
samples are one candidate.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from sparsepath.assessment.validation import validate
from sparsepath.base import Given, document_fit, in_memory, open_fit
from sparsepath.base.parameters import numbers, random_state, real
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin
from sparsepath.data.validation import check_features, check_weights, refuse_wide
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.base import SearchParameters
from sparsepath.rls.estimators import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.rls.surface import Surface
from sparsepath.system.arrays import Floats, Vector, floats
from sparsepath.system.docstrings import parameters_like

Kernel = str | Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
KERNELS = {"gaussian": "rbf", "polynomial": "polynomial"}
ASKED_OF_SEARCH = (  # what is asked of the search among columns
    "choose", "alpha", "search", "cv", "loss", "fit_intercept", "n_threads", "callback",
    "checkpoint",
)  # fmt: skip


@dataclass(eq=False, repr=False)
class _SparseKernelRLS(SearchParameters, BaseEstimator):
    """Base class of the kernel regressor and classifier."""

    _linear: ClassVar[type[SparseRLSRegressor] | type[SparseRLSClassifier]]
    _n_folds = 10  # of the default validation
    _selects_columns = False

    max_centres: int | None = None
    _: KW_ONLY
    kernel: Kernel = "gaussian"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    candidates: int | ArrayLike | None = None
    choose: str | int | float = "one_se"
    alpha: float | str | Sequence[float] = 1e-3
    fit_intercept: bool = True
    callback: Callable[[SelectionPath], object] | None = None
    random_state: Any = None
    validation: Any = "auto"

    @in_memory
    @document_fit
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Select centres and choose their number.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets, or class labels.
        sample_weight : array of shape (n_samples,), optional
            Sample weights. A held-out sample is left out with its full weight.
        groups : array of shape (n_samples,), optional
            Group labels; groups are held out as a whole. ``cv="loo"`` then leaves out one group at
            a time, a number means folds of whole groups, and a splitter receives the groups.
        """
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        X = _dense(X)
        weights = check_weights(sample_weight, X.shape[0])
        self.gamma_ = self._gamma(X, weights)
        candidates, samples = self._candidates(X, weights)
        columns = self._columns(X, candidates)
        self.candidate_centres_, self.candidate_samples_ = candidates, samples
        self._take(self._search().fit(columns, y, sample_weight=weights, groups=groups))
        if self.path_.complete:
            self._validate(given)
        return self

    def _search(self) -> SparseRLSRegressor | SparseRLSClassifier:
        """Return the search among kernel columns, without validation."""
        # Kernel values have one scale, and the penalty is on their weights.
        asked = {name: getattr(self, name) for name in ASKED_OF_SEARCH}
        return self._linear(self.max_centres, standardize=False, validation=None, **asked)

    def _validate(self, given: Given) -> None:
        """Add honest errors to the path, and choose the number of centres by them."""
        path, honest = validate(self, self.path_, self.choose, given)
        if honest is None:
            return
        linear = copy.copy(self.linear_)
        linear.path_, linear.honest_ = path, honest
        linear._take(honest.size)
        self._take(linear)

    @property
    def _metric(self) -> Any:
        return self._search()._metric

    def _at_sizes(self, X: Any) -> tuple[Any, dict[int, Self]]:
        """Return samples, and the model of every size."""
        return X, {size: self.at_size(size) for size in self.path_.sizes}

    def _take(self, linear: SparseRLSRegressor | SparseRLSClassifier) -> None:
        """Use the model of a fit to the candidate columns."""
        self.linear_, self.honest_, self._one_target = linear, linear.honest_, linear._one_target
        self.paths_, self.path_, self.alpha_ = linear.paths_, linear.path_, linear.alpha_
        self.centres_ = self.candidate_centres_[linear.selected_]
        self.coef_ = np.atleast_2d(linear.coef_)[:, linear.selected_]
        self.intercept_ = linear.intercept_

    @property
    def surface_(self) -> Surface:
        """Errors for all penalties and numbers of centres."""
        return Surface(self.paths_)

    def at_size(self, size: int, alpha: float | None = None) -> Self:
        """Return a copy of this fitted estimator that uses another number of centres.

        Parameters
        ----------
        size : int
            One of the path's ``sizes``.
        alpha : float, optional
            Another penalty of ``paths_``.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._take(self.linear_.at_size(size, alpha))
        return other

    def _gamma(self, X: Floats, weights: Floats) -> float:
        if isinstance(self.gamma, str) and self.gamma == "scale":
            counted, w = X[weights > 0], weights[weights > 0]
            with np.errstate(over="ignore", invalid="ignore"):
                off = counted - np.average(counted, axis=0, weights=w)
                squares = np.average(off**2, axis=0, weights=w)
            refuse_wide(~np.isfinite(squares), getattr(self, "feature_names_in_", None))
            spread = float(squares.mean())
            return 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0
        if not 0 < real(self.gamma) < np.inf:
            raise InputError(f"gamma={self.gamma!r}; give a number above zero or 'scale'.")
        return float(self.gamma)

    def _candidates(self, X: Floats, weights: Floats) -> tuple[Floats, NDArray[np.intp] | None]:
        """Return the candidate centres (given, all distinct samples, or a subset) and their
        samples.
        """
        if self.candidates is None or isinstance(self.candidates, Integral):
            counted = np.flatnonzero(weights > 0)
            different, first = np.unique(X[counted], axis=0, return_index=True)
            samples = counted[first]
            if self.candidates is None or int(self.candidates) >= len(different):
                return different, samples
            if int(self.candidates) < 1:
                raise InputError(f"candidates={self.candidates!r}; give at least one.")
            random = random_state(self.random_state)
            some = np.sort(random.permutation(len(different))[: int(self.candidates)])
            return different[some], samples[some]
        given = numbers("candidates", self.candidates)
        if given.ndim != 2 or given.shape[1] != X.shape[1] or not len(given):
            raise InputError(
                f"candidates has shape {given.shape}; give a number, None, or an array of centres "
                f"with {X.shape[1]} columns."
            )
        return given, None

    def _columns(self, X: Floats, centres: Floats) -> Floats:
        """Return kernel values of samples with centres."""
        if callable(self.kernel):
            returned = self.kernel(X, centres)
            try:
                values = floats(returned)
            except (TypeError, ValueError) as error:
                raise InputError("kernel returned values that are not numbers.") from error
            if values.shape != (len(X), len(centres)):
                raise InputError(
                    f"kernel returned shape {values.shape} for {len(X)} samples and "
                    f"{len(centres)} centres."
                )
            if not np.isfinite(values).all():
                raise InputError("kernel returned NaN or infinite values.")
            return values
        if not isinstance(self.kernel, str) or self.kernel not in KERNELS:
            raise InputError(f"kernel={self.kernel!r}; use {', '.join(KERNELS)} or a function.")
        options: dict[str, float] = {"gamma": self.gamma_}
        if self.kernel == "polynomial":
            options |= {"degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, centres, metric=KERNELS[self.kernel], **options)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = _dense(check_features(self, X, reset=False))
        if not len(self.centres_):
            return np.zeros((len(X), len(self.coef_))) + self.intercept_
        return self._columns(X, self.centres_) @ self.coef_.T + self.intercept_


@parameters_like(SparseRLSRegressor)
@dataclass(eq=False, repr=False)
class SparseKernelRLSRegressor(PathRegressorMixin, _SparseKernelRLS):
    """Kernel ridge regression on a few centres, chosen by exact cross-validation.

    For the parameters of the search, columns are the candidate centres.

    Parameters
    ----------
    max_centres : int or None, default=None
        Largest number of centres; None: as many as samples allow, at most 100.
    kernel : {"gaussian", "polynomial"} or callable, default="gaussian"
        exp(-gamma |x - c|^2), (gamma x'c + coef0)^degree, or a function of two arrays of rows.
    gamma : float or "scale", default="scale"
        "scale": one over the number of features times their mean variance.
    degree, coef0 : float
        For the polynomial kernel.
    candidates : int, array or None, default=None
        Candidate centres: all distinct samples (None), a random subset of this size, or an array.
    alpha : float, list of float, "auto" or "loo", default=0.001
        Ridge penalty of the weights, zero or more; see ``SparseRLSRegressor``.
    search : {"forward", "floating", "backward", "swap"}, default="forward"
        The searches of ``SparseRLSRegressor``.
    random_state : int, RandomState or None
        Random seed for drawing candidates.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of folds
        ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of splits.
        None: no honest errors; the size is chosen by the criterion of the search. Centres and width
        come from the training samples only.

    Attributes
    ----------
    path_ : SelectionPath
        Best set of centres, error and coefficients for every number of centres; its features are
        the rows of ``candidate_centres_``.
    candidate_centres_ : array of shape (n_candidates, n_features)
        Candidate centres.
    candidate_samples_ : array of shape (n_candidates,) or None
        Sample index of each candidate (the first of equal ones); None if they were given.
    centres_ : array of shape (n_centres, n_features)
        The centres in use, in order of entry.
    coef_, intercept_ : arrays
        Coefficients of the centres in use, one row per target.
    alpha_, gamma_ : float
        Penalty and kernel width in use.
    paths_ : dict
        Path of every penalty.
    surface_ : Surface
        Errors over penalties and sizes; ``to_frame()``, ``plot()``, ``choose(rule)``.
    honest_ : Honest or None
        Number of centres in use and its honest error (nested cross-validation).
    linear_ : SparseRLSRegressor
        The search over the columns of the kernel matrix.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-3, 3, 60)[:, None]
    >>> model = SparseKernelRLSRegressor(10, gamma=1.0).fit(x, np.sin(2 * x[:, 0]))
    >>> len(model.centres_) <= 10, bool(model.score(x, np.sin(2 * x[:, 0])) > 0.99)
    (True, True)
    """

    _linear = SparseRLSRegressor
    _several = True


@parameters_like(SparseKernelRLSRegressor, attributes=True)
@dataclass(eq=False, repr=False)
class SparseKernelRLSClassifier(PathClassifierMixin, _SparseKernelRLS):
    """Kernel least-squares classification on a few centres, chosen by exact cross-validation.

    For the parameters of the search, columns are the candidate centres.

    Parameters
    ----------
    loss : str or ResidualLoss, default="squared"
        The losses of ``SparseRLSClassifier``.

    Attributes
    ----------
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = SparseKernelRLSClassifier(20, gamma=2.0, loss="zero_one").fit(X, y)
    >>> len(model.centres_) < 20, bool(model.score(X, y) > 0.95)
    (True, True)
    """

    _linear = SparseRLSClassifier

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
        """Class labels."""
        return self.linear_.classes_

    def _size_in_use(self) -> int:
        return len(self.centres_)


def _dense(X: Any) -> Floats:
    if not isinstance(X, np.ndarray):
        raise InputError(
            "Sparse data was passed, but kernels need a dense matrix; use X.toarray() for that."
        )
    return X.astype(np.float64, copy=False)
