"""Sparse regularised least squares as scikit-learn estimators."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from sparsepath.arrays import Floats, Vector
from sparsepath.classes import coded, encode
from sparsepath.data.door import (
    check_features,
    check_labels,
    check_target,
    check_weights,
)
from sparsepath.data.sources import is_source
from sparsepath.errors import InputError
from sparsepath.faces.targets import ClassifierFace, RegressorFace
from sparsepath.judging.repeating import Repetition, Searched
from sparsepath.rls.base import SparseRLS
from sparsepath.rls.criteria.table import CLASSES, NUMBERS
from sparsepath.rls.repeated import search_many
from sparsepath.rls.streamed.fitting import fit_source
from sparsepath.running import fitting, opened


@dataclass(eq=False, repr=False)
class PredictingRLS(SparseRLS):
    """What the regressor and the classifier share: the fit, and what ranking has no use for."""

    _: KW_ONLY
    fit_intercept: bool = True
    memory_budget: float | None = None

    @fitting
    def fit(
        self, X: Any, y: Vector = None, sample_weight: Vector = None, groups: Vector = None
    ) -> Self:
        """Search for the path and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features of any real type, read as they are. Or a source that is read in passes:
            ``sparsepath.open("data/*.parquet", target="y")``, a Dask array or data frame.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets; several share the chosen features, their losses are added up. For a classifier
            one class label of any kind for each sample.
        sample_weight : array of shape (n_samples,), optional
            A sample that is left out is left out with its whole weight.
        groups : array of shape (n_samples,), optional
            Samples that belong together and are left out together: ``cv="loo"`` then leaves out a
            group at a time, a number means folds of whole groups, and a splitter gets them.
        """
        if is_source(X):
            classifier = isinstance(self, ClassifierMixin)
            return fit_source(self, X, y, sample_weight, groups, classifier=classifier)
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        weights = check_weights(sample_weight, X.shape[0])
        Y, labels = self._aims(y, weights)
        return self._fit(X, Y, weights, labels, given)

    def _aims(self, y: Any, weights: Floats) -> tuple[Floats, NDArray[Any]]:
        """Targets, m x T, and what splits are made by; they must vary where samples count."""
        raise NotImplementedError

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        """The targets alone, of a search that is repeated."""
        raise NotImplementedError

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[Searched] | None:
        """What repetitions of the search leave, all at once; see ``judging.repeating``."""
        self._asked()
        X = check_features(self, X, reset=True)
        return search_many(self, X, self._aims_again(y, X.shape[0]), given, repetitions)


@dataclass(eq=False, repr=False)
class SparseRLSRegressor(RegressorFace, PredictingRLS):
    """Regularised least squares on a few features, chosen by exact cross-validation.

    Features are added (and, if asked, dropped) one at a time, each time the one that gives the
    least cross-validation error of ridge regression on the chosen set: the same choices and errors
    as refitting every model from scratch, at the cost of about one reading of the data per step.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path. None: as many as columns and samples allow, but at most 100
        (``sparsepath.path.LONGEST_PATH``), of ``feature_groups`` at most the columns of the 100
        largest; a backward search begins with all, and a ``budget`` is a limit of its own.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Which size to use for prediction: the smallest not clearly above the least error (within one
        standard error; of honest errors that of their difference, sample by sample), that of the
        least error, a given size (with a warning the nearest, if there is no such one), or the
        smallest within a fraction, below one, of the least error. A single split has no standard
        error; "one_se" is then "min", with a warning.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors, by which the
        size is then chosen: a number of folds ("auto": ten, of nonlinear methods five), a splitter
        of scikit-learn's, or rows. With None there are none, and the size is chosen by the
        criterion of the search.
    alpha : float, list of float or "loo", default=1.0
        The ridge penalty, zero or more; with 0, ordinary least squares, features that are collinear
        with the chosen ones are passed over. A list: a path for each, and ``choose`` is over all
        pairs of penalty and size (see ``Surface.choose``). "loo": chosen by leave-one-out with all
        features that are not forbidden.
    search : {"forward", "floating", "backward", "swap"}, default="forward"
        Forward; forward with removals while they cost less than half of what was gained
        (floating); from all features down; forward with exchanges of one feature for another.
    cv : "loo", int, splitter or list of splits, default="loo"
        The criterion: exact leave-one-out, or the mean error over the test parts of any splits
        (with ``groups``: leave-one-group-out, folds of whole groups).
    loss : {"squared", "absolute", "huber", "log_cosh"} or ResidualLoss, default="squared"
        What a cross-validation residual costs: its square, its absolute value, or something between
        the two, ``Huber(delta)`` and ``LogCosh(scale)`` of ``sparsepath.rls`` with their
        parameters in the units of the target (1.35 and 1 by default), or a loss of your own. The
        fit is ridge regression in any case. The squared loss is the fastest by far.
    fit_intercept : bool, default=True
        A constant term, not penalised, refitted whenever a sample is left out.
    standardize : bool, default=True
        Penalise as if all columns had unit variance, so that units do not matter; coefficients
        stay in the units of the data. False: penalise the columns as they are.
    forced, forbidden : list of int or str, optional
        Columns, by index or name, that every model must have, or none may have. The path begins
        with the forced ones.
    start : list of int or str, optional
        Columns to start from, which searches that drop may drop again; a backward search starts
        from these alone.
    parents : dict of int or str to list of int or str, optional
        Columns that may enter only after others, as an interaction after its parents: for each
        its parents, which stay as long as it does.
    feature_groups : array of shape (n_features,), optional
        Labels: columns with the same label enter and leave as one.
    feature_costs : array of shape (n_features,), optional
        What each feature costs: additions are then judged by what they gain per cost.
    budget : float, optional
        What all chosen features together may cost (without ``feature_costs``: their number).
    stop : callable or list of callables, default=()
        Rules that end the search early: ``Tolerance``, ``Patience``, ``TimeLimit``, ``PastOneSE``,
        ``MaxT`` of ``sparsepath.rls``, joined by ``|`` and ``&`` if you like, or functions of your
        own; see ``sparsepath.rls.stopping``.
    epsilon : float, optional
        For search="floating": stop when an addition gains less.
    pooled : bool, default=False
        For splits: pool the errors of all test samples, rather than average the splits' means.
    memory_budget : float, optional
        Bytes that may be used for copies of the data and for intermediate results of their size;
        default a quarter of the machine's memory. It changes the speed only.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.
    callback : callable, optional
        Called after every move with the path so far; a true value stops the search.
    checkpoint : path, optional
        A file in which progress is kept, and from which an interrupted search goes on. A search
        that a rule in ``stop`` has ended ends there again.

    Attributes
    ----------
    path_ : SelectionPath
        Best subset, error and coefficients for every size.
    selected_ : array of int
        The columns in use, in order of entry.
    coef_, intercept_ : arrays
        Coefficients in the units of the data, zero for columns not in use.
    alpha_ : float
        The penalty in use.
    paths_ : dict
        The path of every penalty.
    surface_ : Surface
        The errors over penalties and sizes; ``to_frame()``, ``plot()``, ``choose(rule)``.

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

    _known = NUMBERS
    _several = True

    def _aims(self, y: Any, weights: Floats) -> tuple[Floats, NDArray[Any]]:
        Y = self._numbers(y, len(weights), weights)
        return Y, Y if Y.shape[1] > 1 else Y[:, 0]

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        return check_target(y, n_samples)[0]


@dataclass(eq=False, repr=False)
class SparseRLSClassifier(ClassifierFace, PredictingRLS):
    """Regularised least-squares classification on a few features, chosen by exact cross-validation.

    Ridge regression on targets +1 and -1, one per class against the rest when there are more than
    two; all classes share the chosen features. The search is that of ``SparseRLSRegressor``.

    Parameters
    ----------
    max_features, choose, validation, alpha, search, cv, fit_intercept, standardize
        As for ``SparseRLSRegressor``.
    forced, forbidden, start, parents
        As for ``SparseRLSRegressor``.
    loss : str or ResidualLoss, default="squared"
        What the search minimises: the squared residual ("squared"), the error rate ("zero_one"),
        the mean of the error rates of the classes ("balanced"), or the share of pairs of a positive
        and a negative sample that are ranked wrongly when both are left out ("auc": one minus the
        area under the ROC curve; two classes, up to some thousands of samples; with splits: of the
        test parts, as ``roc_auc_score`` has it). Residuals of the targets +1 and -1 may also
        be judged as in ``SparseRLSRegressor``. The squared loss is the fastest by far.
    feature_groups, feature_costs, budget, stop, epsilon, pooled
        As for ``SparseRLSRegressor``.
    memory_budget, n_threads, callback, checkpoint
        As for ``SparseRLSRegressor``.

    Attributes
    ----------
    path_, selected_, coef_, intercept_, alpha_, paths_, surface_, n_features_in_, feature_names_in_
        As for ``SparseRLSRegressor``; ``coef_`` has one row per class, a single one for two.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = SparseRLSClassifier(10, loss="zero_one").fit(X, y)
    >>> model.path_.names(2)
    ('worst concave points', 'worst radius')
    """

    _known = CLASSES

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
        return coded(codes, len(self.classes_)), self.classes_[codes]

    def _aims_again(self, y: Any, n_samples: int) -> Floats:
        classes, codes = encode(check_labels(y, n_samples))
        return coded(codes, len(classes))
