"""Selectors of other tools by name, to compare with: forests, Boruta, recursive elimination.

Each is a scikit-learn selector of columns of numbers, followed by the model that people use with
it. Boruta (Kursa and Rudnicki 2010) adds a permuted copy of every column (its shadow), fits a
random forest, and counts how often the importance of a column exceeds that of the best shadow. A
column is accepted if it does so in more rounds than a fair coin would at level 0.05, rejected if in
fewer, with Bonferroni's correction; columns that are undecided in the end are not selected.

For survival times: Cox's model of the columns that are significant one by one, and of all columns,
both with a small ridge penalty.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFECV, SelectFromModel, SelectorMixin, VarianceThreshold
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsepath.errors import InputError
from sparsepath.tables.preparation import TablePreparation

USUAL_ROUNDS = 20  # of Boruta, until all columns are decided; each has twice the columns
TREES, DEPTH = 100, 7  # of the forests of Boruta; trees of the others
TREE_SECONDS, TRY_SECONDS = 5e-4, 2e-8  # measured at 300 x 20 to 1200 x 40; elimination below
ROUND_SECONDS = 1e-2  # of one column
COX_RIDGE = 0.01  # of squares of coefficients of standardised columns


class ShadowSelector(SelectorMixin, BaseEstimator):
    """Columns that are more important to a forest than permuted copies of all columns (Boruta).

    Parameters
    ----------
    forest : estimator with ``feature_importances_``
        The forest; it is cloned.
    n_rounds : int
        Largest number of forests.
    level : float
        Level of the test, with Bonferroni's correction.
    random_state : int, RandomState or None
        Seed of the permutations and forests.

    Attributes
    ----------
    hits_ : array of int
        In how many rounds each column was more important than the best shadow.
    support_ : array of bool
        Accepted columns.
    """

    def __init__(
        self, forest: Any, n_rounds: int = 40, level: float = 0.05, random_state: Any = None
    ) -> None:
        self.forest = forest
        self.n_rounds = n_rounds
        self.level = level
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Accept and reject columns.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : array of shape (n_samples,)
            Targets or classes.
        """
        X = validate_data(self, X)
        rng = check_random_state(self.random_state)
        n = X.shape[1]
        self.hits_ = np.zeros(n, dtype=np.intp)
        accepted, rejected = np.zeros((2, n), dtype=bool)
        for done in range(1, self.n_rounds + 1):
            left = np.flatnonzero(~rejected)
            shadows = np.column_stack([rng.permutation(X[:, j]) for j in left])
            forest = clone(self.forest).set_params(random_state=rng.randint(2**31 - 1))
            found = forest.fit(np.hstack((X[:, left], shadows)), y).feature_importances_
            self.hits_[left] += found[: len(left)] > found[len(left) :].max()
            open_ = ~(accepted | rejected)
            part = self.level / n
            accepted |= open_ & (binom.sf(self.hits_ - 1, done, 0.5) < part)
            rejected |= open_ & (binom.cdf(self.hits_, done, 0.5) < part)
            if (accepted | rejected).all() or rejected.all():
                break
        self.support_ = accepted
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_


class SelectThenPredict(MetaEstimatorMixin, BaseEstimator):
    """A scikit-learn selector of standardised numbers, and a model of what it selects.

    Parameters
    ----------
    chooser : transformer with ``get_support``
        The selector; it is cloned.
    model : estimator
        Model of the selected columns; it is cloned.
    preparation : dict, optional
        For tables with text, dates or missing values: the parameters of ``TablePreparation``.
    forests : int
        Number of forests that a fit takes, for the estimate of its time.

    Attributes
    ----------
    support_ : array of bool
        Selected columns of the table.
    """

    def __init__(
        self,
        chooser: Any,
        model: Any,
        preparation: Mapping[str, Any] | None = None,
        forests: int = 0,
    ) -> None:
        self.chooser = chooser
        self.model = model
        self.preparation = preparation
        self.forests = forests

    def __sklearn_tags__(self) -> Any:
        tags, beneath = super().__sklearn_tags__(), get_tags(self.model)
        tags.estimator_type = beneath.estimator_type
        tags.classifier_tags, tags.regressor_tags = beneath.classifier_tags, beneath.regressor_tags
        return tags

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a fit.

        Parameters
        ----------
        X : array or table
            The data.
        """
        rows, columns = X.shape
        if not self.forests:
            return ROUND_SECONDS * float(columns)
        tried = rows * math.log2(rows + 2) * columns / 3
        return self.forests * TREES * (TREE_SECONDS + TRY_SECONDS * tried)

    def fit(self, X: Any, y: Any) -> Self:
        """Select, and fit the model.

        Parameters
        ----------
        X : array or table
            Samples.
        y : array of shape (n_samples,)
            Targets or classes.
        """
        n = int(X.shape[1])
        of: NDArray[np.intp] = np.arange(n)
        if self.preparation is not None:
            self.preparation_ = TablePreparation(**self.preparation).fit(X)
            of = self.preparation_.groups_
        Z = self._numbers(X)
        self.mean_ = Z.mean(0)
        spread = Z.std(0)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        Z = (Z - self.mean_) / self.scale_
        self.columns_ = np.flatnonzero(clone(self.chooser).fit(Z, y).get_support())
        self.support_ = np.isin(np.arange(n), of[self.columns_])
        kind = DummyClassifier if hasattr(self.model, "predict_proba") else DummyRegressor
        model = clone(self.model) if len(self.columns_) else kind()
        self.model_ = model.fit(Z[:, self.columns_] if len(self.columns_) else Z[:, :1], y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def _numbers(self, X: Any) -> Any:
        if self.preparation is not None:
            return self.preparation_.transform(X)
        return np.asarray(X, dtype=np.float64)

    def _used(self, X: Any) -> Any:
        Z = (self._numbers(X) - self.mean_) / self.scale_
        return Z[:, self.columns_] if len(self.columns_) else Z[:, :1]

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return which columns are selected.

        Parameters
        ----------
        indices : bool
            Whether to return their indices.
        """
        return np.flatnonzero(self.support_) if indices else self.support_

    def predict(self, X: Any) -> Any:
        """Predict.

        Parameters
        ----------
        X : array or table
            Samples.
        """
        return self.model_.predict(self._used(X))

    @property
    def _metric(self) -> Any:
        """The metric of the model, if it has one of its own."""
        return self.model._metric

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Return class probabilities.

        Parameters
        ----------
        X : array or table
            Samples.
        """
        return self.model_.predict_proba(self._used(X))


class SignificantForTimes(SelectorMixin, BaseEstimator):
    """Columns whose score test in Cox's model of one column is significant, at least the best one.

    The statistic is the correlation with the martingale residuals of the model without columns,
    times the root of the number of samples; with equal hazards it is asymptotically normal.

    Parameters
    ----------
    level : float
        Level of the tests, with Bonferroni's correction.

    Attributes
    ----------
    p_values_ : array
        Of every column.
    """

    def __init__(self, level: float = 0.05) -> None:
        self.level = level

    def fit(self, X: Any, y: Any) -> Self:
        """Test every column.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Numbers.
        y : array of shape (n_samples, 2)
            Times and events.
        """
        from sparsepath.grafting.partial_likelihood import CoxLoss, signed_times

        X = validate_data(self, X)
        Y = signed_times(y, len(X))
        residuals = -CoxLoss(Y, np.ones(len(X))).slope(np.zeros_like(Y), Y)[:, 0]
        Z = X - X.mean(0)
        spread = np.sqrt(np.square(Z).mean(0) * np.square(residuals).sum())
        z = np.abs(residuals @ Z) / np.where(spread > 0, spread, np.inf)
        self.p_values_ = 2 * norm.sf(z)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        found = self.p_values_ < self.level / len(self.p_values_)
        return found if found.any() else self.p_values_ == self.p_values_.min()


def _forest(classes: bool, seed: int, threads: int | None, **more: Any) -> Any:
    kind = RandomForestClassifier if classes else RandomForestRegressor
    tried = "sqrt" if classes else 1 / 3
    return kind(TREES, max_features=tried, random_state=seed, n_jobs=threads, **more)


def _boruta(classes: bool, seed: int, threads: int | None) -> tuple[Any, Any, int]:
    shadows = ShadowSelector(_forest(classes, seed, threads, max_depth=DEPTH), random_state=seed)
    return shadows, _forest(classes, seed, threads), 2 * USUAL_ROUNDS


def _importance(classes: bool, seed: int, threads: int | None) -> tuple[Any, Any, int]:
    forest = _forest(classes, seed, threads)
    return SelectFromModel(forest, threshold="mean"), forest, 2


def _elimination(classes: bool, seed: int, threads: int | None) -> tuple[Any, Any, int]:
    model = LogisticRegression(max_iter=1000) if classes else Ridge()
    return RFECV(model, n_jobs=threads), model, 0


OTHERS: dict[str, Callable[[bool, int, int | None], tuple[Any, Any, int]]] = {
    "boruta": _boruta,
    "forest-importance": _importance,
    "rfecv": _elimination,
}


def _cox(chooser: Any) -> tuple[Any, Any]:
    from sparsepath.grafting.survival import GraftingCox

    return chooser, GraftingCox(l1=0.0, l2=COX_RIDGE, validation=None)


FOR_TIMES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "univariate-cox": lambda: _cox(SignificantForTimes()),
    "cox-all": lambda: _cox(VarianceThreshold()),
}


def other_selector(
    name: str, task: str, options: Mapping[str, Any], preparation: Mapping[str, Any] | None
) -> SelectThenPredict:
    """Return a selector of ``OTHERS``, or for survival times of ``FOR_TIMES``.

    >>> type(other_selector("rfecv", "regression", {}, None).model).__name__
    'Ridge'
    """
    survival = task == "survival"
    if survival != (name in FOR_TIMES):
        able = "survival times" if name in FOR_TIMES else "regression and classification"
        raise InputError(f"{name} is for {able}; the task is {task}.")
    if survival:
        return SelectThenPredict(*FOR_TIMES[name](), preparation)
    seed, threads = options.get("seed", 0), options.get("threads")
    selector, model, forests = OTHERS[name](task == "classification", seed, threads)
    return SelectThenPredict(selector, model, preparation, forests)
