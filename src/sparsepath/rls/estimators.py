"""Sparse regularised least squares as scikit-learn estimators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from sparsepath.assessment.deviance import LOSSES as DEVIANCES
from sparsepath.assessment.deviance import check_targets, power_of
from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.metrics import Metric, deviance
from sparsepath.assessment.repetitions import (
    LOADED,
    Repetition,
    RepetitionResult,
    data_by_rows,
    quiet_copy,
)
from sparsepath.assessment.validation import is_validated
from sparsepath.base import Found, Given, fitting, open_fit
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin
from sparsepath.data.classes import class_weighted, encode, encode_targets
from sparsepath.data.opening import as_source
from sparsepath.data.row_values import groups_of
from sparsepath.data.sources import Source, is_source
from sparsepath.data.validation import (
    check_features,
    check_labels,
    check_target,
    check_weights,
)
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.rls.base import SparseRLS
from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.criteria.table import CLASSES, NUMBERS, criterion_of
from sparsepath.rls.design import Design
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.rls.passes.fitting import fit_source
from sparsepath.rls.penalties import (
    AUTO,
    MOST_SAMPLES,
    PLAIN,
    ClassPenalties,
    GivenPenalties,
    Penalties,
    PenaltyGrid,
    RatePenalties,
    penalty_matters,
    rate_models,
    scale_of,
)
from sparsepath.rls.problem import RLSProblem
from sparsepath.rls.rate_refits import RateRefits
from sparsepath.rls.resampling import search_many
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.docstrings import parameters_like


@dataclass(eq=False, repr=False)
class PredictingRLS(SparseRLS):
    """Base class of regressor and classifier: the fit, and everything that ranking does not
    need.
    """

    _: KW_ONLY
    alpha: float | str | Sequence[float] = AUTO
    fit_intercept: bool = True
    memory_budget: float | None = None
    _reads_in_passes = True
    _grid: ClassVar[type[PenaltyGrid]] = PenaltyGrid

    @fitting
    def fit(
        self, X: Any, y: Vector = None, sample_weight: Vector = None, groups: Vector = None
    ) -> Self:
        """Run the search and choose a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features of any real type. Or a source that is read in passes:
            ``sparsepath.open("data/*.parquet", target="y")``, a Dask array or data frame.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets; several targets share the selected features, and their losses are added. For a
            classifier, one class label of any type per sample.
        sample_weight : array of shape (n_samples,), optional
            Sample weights. A held-out sample is left out with its full weight.
        groups : array of shape (n_samples,), optional
            Group labels; groups are held out as a whole. ``cv="loo"`` then leaves out one group at
            a time, a number means folds of whole groups, and a splitter receives the groups.
        """
        if is_source(X):
            source = as_source(X, y, sample_weight)
            if self._is_loaded(source):
                return self._fit_loaded(source, groups)
            return fit_source(self, source, groups, classifier=isinstance(self, ClassifierMixin))
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        weights = check_weights(sample_weight, X.shape[0])
        Y, labels = self._aims(y, weights)
        return self._fit(X, Y, self._class_weighted(labels, weights), labels, given)

    def _class_weighted(self, labels: NDArray[Any], weights: Floats) -> Floats:
        """Return sample weights times class weights, if there are any."""
        return weights

    def _aims(self, y: Any, weights: Floats) -> tuple[Floats, NDArray[Any]]:
        """Return targets, m x T, and the labels for splits; they must not be constant."""
        raise NotImplementedError

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        """Return the targets of a repeated search."""
        raise NotImplementedError

    def _automatic(self, design: Design) -> list[float]:
        """Return the penalties of the searches of ``alpha="auto"``."""
        n, p = design.n_samples, design.n_features
        if isinstance(design, StreamDesign) or not is_validated(self, n):
            return [PLAIN]
        return self._grid.searches(n, p, scale_of(design))

    def _n_searches(self, n: int, p: int) -> int:
        if isinstance(self.alpha, str) and self.alpha == AUTO:
            return 2 if self._is_refitted(n, p) and is_validated(self, n) else 1
        return super()._n_searches(n, p)

    def _is_refitted(self, n_samples: int, n_features: int) -> bool:
        """Return whether ``alpha="auto"`` fits the columns of a search again."""
        return penalty_matters(n_samples, n_features)

    def _is_loaded(self, source: Source) -> bool:
        """Return whether a small source is read into memory, so that honest errors can choose the
        penalty.
        """
        m, n = source.shape
        automatic = isinstance(self.alpha, str) and self.alpha == AUTO and self._is_refitted(m, n)
        return automatic and m * n <= LOADED and is_validated(self, m)

    def _fit_loaded(self, source: Source, groups: Any) -> Self:
        """Fit an array in memory, with the names of the source."""
        source.name_columns(self)
        X, y, given, _ = data_by_rows(source, None, {}, LOADED)
        with source.crew(self.n_threads) as crew:
            given["groups"] = groups_of(source, crew, groups)
        self.fit(X, y, **given)
        self.path_.data.update(source.record())
        return self

    def _ways(self, X: Any, y: Any, given: Mapping[str, Any]) -> GivenPenalties | None:
        """Return the penalties among which honest errors choose; None if there is one."""
        if not isinstance(self.alpha, str):
            alphas = self._given_alphas()
            return GivenPenalties(self, alphas) if len(alphas) > 1 else None
        if self.alpha != AUTO or isinstance(X, Source):
            return None
        other = clone(self)
        X = check_features(other, X, reset=True)
        if not self._is_refitted(*X.shape) or not is_validated(self, X.shape[0]):
            return None
        weights = check_weights(given.get("sample_weight"), X.shape[0])
        _, labels = other._aims(y, weights)
        weights = other._class_weighted(labels, weights)
        return self._grid(self, X, self._aims_again(y, X.shape[0]), weights)

    def _of_way(
        self,
        judged: HeldOutLosses,
        path: SelectionPath,
        given: Given,
        paths: Mapping[float, SelectionPath],
    ) -> tuple[SelectionPath, dict[str, Any]]:
        """Return the path and fitted attributes of the penalties that honest errors chose.

        ``path`` is the choice of the search alone; ``paths`` are the known paths.
        """
        way: Penalties = judged.way
        ways = self._ways(given.X, given.y, given.more)
        assert ways is not None
        known = {**getattr(self, "_paths", {}), **paths}
        if len(ways.estimators) == 1:
            known[way.search] = path
        if way.search not in known:
            other = quiet_copy(self).set_params(alpha=way.search)
            new = other.fit(given.X, given.y, **given.more).path_
            same = {"feature_names": path.feature_names, "data": path.data}
            known[way.search] = new.replaced(**same)
        found = ways.refitted(known[way.search], way.refit)
        return found, {"alpha_": way.search, "refit_alpha_": way.refit, "_paths": known}

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[RepetitionResult] | None:
        """Return the results of all repetitions, computed together; see
        ``assessment.repetitions``.
        """
        self._parameters()
        if getattr(self, "class_weight", None) is not None:
            return None  # each part has its own weights
        X = check_features(self, X, reset=True)
        return search_many(self, X, self._aims_again(y, X.shape[0]), given, repetitions)


@dataclass(eq=False, repr=False)
class SparseRLSRegressor(PathRegressorMixin, PredictingRLS):
    """Ridge regression on few features, selected by exact cross-validation.

    Features are added (and, depending on ``search``, removed) one at a time. Each step takes the
    feature with the lowest cross-validation error of ridge regression on the selected subset.
    Choices and errors are the same as if every model were refitted from scratch, at the cost of
    about one pass over the data per step.

    Parameters
    ----------
    max_features : int or None, default=None
        Largest size on the path. None: as many as columns and samples allow, but at most 100, or
        with ``feature_groups`` the columns of the 100 largest groups. A backward search starts with
        all features; ``budget`` is a separate limit.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    alpha : float, list of float, "auto" or "loo", default="auto"
        Ridge penalty, zero or more. With 0 (ordinary least squares) features that are collinear
        with the selected ones are skipped. "auto": two searches with penalties that depend on the
        data, and refits of their columns with five; of the combinations whose lowest honest error
        is within one standard error of the lowest of all, the strongest penalty is used (with
        ``choose="min"`` the lowest). Without validation, with ten samples or more per column, with
        more than 10,000 samples, and with data read in passes, "auto" means 1.0. A list: one search
        per penalty; the honest errors choose among them, or without validation the criterion (see
        ``Surface.choose``). "loo": chosen by leave-one-out with all features that are not
        forbidden.
    search : {"forward", "floating", "backward", "swap", "strong", "exact"}, default="forward"
        "forward": forward selection. "floating": forward selection with removals while they cost
        less than half of what was gained. "backward": elimination, starting with all features.
        "swap": forward selection with exchanges of one feature for another. "strong": a beam of
        sets of every size, improved by exchanges of one and two features, additions and removals
        until no change helps; 10 to 1000 times the time of "forward". "exact": the sets with the
        least penalised training error, by branch and bound, with a lower bound for every size
        (``path_.certificate``); for ``cv="loo"``, which then only gives the errors on the path.
    cv : "loo", int, splitter or list of splits, default="loo"
        Criterion of the search: exact leave-one-out, or the mean error over the test parts of any
        splits. With ``groups``: leave-one-group-out, or folds of whole groups.
    loss : {"squared", "absolute", "huber", "log_cosh", "poisson", "gamma", "tweedie"} or \
            ResidualLoss, default="squared"
        Loss of a cross-validation residual: squared, absolute, or between the two, ``Huber(delta)``
        and ``LogCosh(scale)`` from ``sparsepath.rls``, with parameters in units of the target
        (1.35 and 1 by default), or a custom loss. The model is fitted by ridge regression in every
        case. The squared loss is by far the fastest.
        "poisson" (counts), "gamma" (positive amounts), "tweedie" (amounts, many of them zero): the
        search minimises the squared error, and the models are generalised linear models of the
        selected columns, with the logarithm of the mean as linear predictor and ``alpha`` as ridge
        penalty; the honest error, by which penalty and size are chosen, is their deviance.
    power : float, default=1.5
        With ``loss="tweedie"``: the variance grows as the mean to this power, from 1 to 2.
    fit_intercept : bool, default=True
        Whether to fit an intercept. It is not penalised, and refitted for every held-out sample.
    standardize : bool, default=True
        If True, penalise columns as if they had unit variance, so that units do not matter;
        coefficients stay in units of the data. If False, penalise the columns unscaled.
    forced, forbidden : list of int or str, optional
        Columns, by index or name, that every model must contain, or that no model may contain. The
        path starts with the forced ones.
    start : list of int or str, optional
        Columns to start from; searches that remove features may remove them. A backward search
        starts from these alone.
    parents : dict of int or str to list of int or str, optional
        Columns that may enter only after others, such as an interaction after its main effects:
        maps a column to its parents, which stay as long as it does.
    feature_groups : array of shape (n_features,), optional
        Group labels: columns with the same label enter and leave together.
    feature_costs : array of shape (n_features,), optional
        Cost of each feature. Candidates are ranked by error reduction per unit cost.
    budget : float, optional
        Maximum total cost of the selected features (without ``feature_costs``: their number).
    stop : callable or list of callables, default=()
        Rules that stop the search early: ``Tolerance``, ``Patience``, ``TimeLimit``, ``PastOneSE``
        and ``MaxT`` from ``sparsepath.rls``, combined with ``|`` and ``&``, or your own functions;
        see ``sparsepath.rls.stopping``.
    epsilon : float, optional
        For ``search="forward"`` and ``"floating"``: stop when an addition would lower the error by
        less than this.
    time_budget : float, optional
        For ``search="strong"`` and ``"exact"``: seconds after which the search ends with what it
        has found (``path_.stopped`` is then "time"). A search that ends earlier does not depend on
        it.
    pooled : bool, default=False
        If True, average the loss over all test samples; if False, average the means per split.
    memory_budget : float, optional
        Bytes that may be used for copies of the data and intermediate results of their size;
        default: a quarter of the machine's memory. Affects speed only.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    callback : callable, optional
        Called after every move with the path so far; a true return value stops the search.
    checkpoint : path, optional
        File in which progress is saved, and from which an interrupted search resumes. A search that
        was stopped by a rule in ``stop`` stops there again. With several penalties, the first one
        uses this file, and the others files next to it with the penalty in the name.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset, error and coefficients for every size.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : arrays
        Coefficients in units of the data, zero for columns that are not selected.
    alpha_ : float
        Penalty of the search in use.
    refit_alpha_ : float
        Penalty of the coefficients: that of the search, unless ``alpha="auto"``.
    paths_ : dict
        Path of every penalty.
    surface_ : Surface
        Errors over penalties and sizes; ``to_frame()``, ``plot()``, ``choose(rule)``.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = SparseRLSRegressor().fit(X, y)
    >>> list(model.get_feature_names_out())
    ['sex', 'bmi', 'bp', 's1', 's2', 's5']
    >>> model.path_.names(4)
    ('bmi', 's5', 'bp', 's1')
    """

    _: KW_ONLY
    power: float = 1.5
    _known = NUMBERS
    _several = True

    @property
    def _power(self) -> float | None:
        """Power of the deviance; None if the models are ridge regressions."""
        return power_of(self.loss, self.power)

    @property
    def _criterion(self) -> Criterion:
        if self._power is not None:
            return SQUARED
        return criterion_of(self.loss, self._known, DEVIANCES)

    @property
    def _metric(self) -> str | Metric:
        return super()._metric if self._power is None else deviance(self._power)

    def _is_loaded(self, source: Source) -> bool:
        if self._power is not None:
            raise InputError(f"loss={self.loss!r} needs data in memory; load the table first.")
        return super()._is_loaded(source)

    def _ways(self, X: Any, y: Any, given: Mapping[str, Any]) -> GivenPenalties | None:
        if self._power is None or self.alpha == "loo":
            return super()._ways(X, y, given)
        other = clone(self)
        X = check_features(other, X, reset=True)
        weights = check_weights(given.get("sample_weight"), X.shape[0])
        alphas = None if isinstance(self.alpha, str) else self._given_alphas()
        return RatePenalties(self, X, self._aims_again(y, X.shape[0]), weights, alphas)

    def _with_models(self, found: Found, X: Any, problem: RLSProblem, alpha: float) -> Found:
        if self._power is None:
            return found
        design, steps = problem.design, tuple(cast(Iterable[Step], found.steps))
        refits = RateRefits(
            X,
            problem.Y,
            design.weights,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            power=self._power,
        )
        models = refits.models({len(step.subset): step.subset for step in steps}, alpha)
        coefs = ((step, *models[len(step.subset)]) for step in steps)
        steps = tuple(replace(step, coef=w, intercept=b) for step, w, b in coefs)
        return replace(found, steps=steps, models=rate_models(steps))

    def _aims(self, y: Any, weights: Floats) -> tuple[Floats, NDArray[Any]]:
        Y = self._numbers(y, len(weights), weights)
        if self._power is not None:
            check_targets(Y[weights > 0], self._power)
            if Y.shape[1] > 1:
                raise InputError(f"loss={self.loss!r} takes one target, and y has {Y.shape[1]}.")
        return Y, Y if Y.shape[1] > 1 else Y[:, 0]

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        return check_target(y, n_samples)[0]


@parameters_like(SparseRLSRegressor, attributes=True)
@dataclass(eq=False, repr=False)
class SparseRLSClassifier(PathClassifierMixin, PredictingRLS):
    """Ridge classification on few features, selected by exact cross-validation.

    Ridge regression on targets +1 and -1, one per class against the rest when there are more than
    two; all classes share the chosen features. The search is that of ``SparseRLSRegressor``. With
    ``alpha="auto"`` the models are logistic (multinomial) ones of the selected features, and sizes
    are chosen by their log loss, or by the loss of the search if that counts errors.

    Parameters
    ----------
    alpha : float, list of float, "auto" or "loo", default="auto"
        Ridge penalty, zero or more. With 0 (ordinary least squares) features that are collinear
        with the selected ones are skipped. "auto": two searches with penalties that depend on the
        data (one with 1.0 if there are ten samples or more per column), and logistic models of
        their columns with two penalties; of the combinations whose lowest honest log loss is within
        one standard error of the lowest of all, the strongest penalty is used (with
        ``choose="min"`` the lowest). Without validation, with more than 10,000 samples, and with
        data read in passes, "auto" means 1.0. A list: one search per penalty, without logistic
        models; the honest errors choose among them, or without validation the criterion (see
        ``Surface.choose``). "loo": chosen by leave-one-out with all features that are not
        forbidden.
    loss : str or ResidualLoss, default="squared"
        What the search minimises: the squared residual ("squared"), the error rate ("zero_one"),
        the mean of the error rates of the classes ("balanced"), or the share of pairs of a positive
        and a negative sample that are ranked wrongly when both are left out ("auc": one minus the
        area under the ROC curve; two classes, up to some thousands of samples; with splits: of the
        test parts, as in ``roc_auc_score``). The losses of ``SparseRLSRegressor`` apply to
        targets +1 and -1. The squared loss is by far the fastest.
    class_weight : "balanced", mapping or None, default=None
        Factors for the sample weights of each class. "balanced": all classes have the same total
        weight, so that the model also predicts rare classes; the criterion of the search and the
        honest error weigh the classes equally. None: classes count by their frequency.
    threshold : "balanced", "f1", float, array of shape (2, 2) or None, default=None
        Score above which the second of the two classes is predicted, chosen on the samples that
        validation leaves out: least balanced error, largest F1, or least cost, where
        ``threshold[i][j]`` is the cost of predicting class j for a sample of class i. A float: the
        probability of the second class above which it is predicted. None: score zero.

    Attributes
    ----------
    coef_, intercept_ : arrays
        Coefficients in units of the data, zero for columns that are not selected: one row per
        class, a single one for two.
    classes_ : array
        Class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SparseRLSClassifier(10, loss="zero_one").fit(X, y)
    >>> model.path_.names(2)
    ('worst concave points', 'worst radius')
    """

    _: KW_ONLY
    class_weight: Any = None
    threshold: Any = None
    _known = CLASSES
    _grid = ClassPenalties

    def _is_refitted(self, n_samples: int, n_features: int) -> bool:
        return n_samples <= MOST_SAMPLES

    def _class_weighted(self, labels: NDArray[Any], weights: Floats) -> Floats:
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        return class_weighted(self.class_weight, self.classes_, codes, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = CLASSES.get(self.loss) if isinstance(self.loss, str) else None
        tags.classifier_tags.multi_class = named is None or named.several
        return tags

    def _aims(self, y: Any, weights: Floats) -> tuple[Floats, NDArray[Any]]:
        codes = self._codes(y, len(weights), weights)
        if len(self.classes_) > 2 and not self._criterion.several:
            raise InputError(
                f"Only binary classification is supported with loss={self.loss!r}, and y has "
                f"{len(self.classes_)} classes; use loss='balanced'."
            )
        return encode_targets(codes, len(self.classes_)), self.classes_[codes]

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        classes, codes = encode(check_labels(y, n_samples))
        return encode_targets(codes, len(classes))
