"""Boosting on the selected columns as the final model, with the error of the whole procedure.

Selection by smooth models may find the right columns although such models do not predict best, for
example if the target has jumps or depends on codes of categories. Gradient boosting of trees
(scikit-learn's HistGradientBoosting) predicts such targets better. It replaces the model of the
selected size on the path. Its honest error repeats the whole procedure without each fold: the
searches, their own validation, the choice of the method and of the size, and the boosting.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Never, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from sparsepath.assessment.honest import Honest, honest_error
from sparsepath.base import Predictor
from sparsepath.base.targets import dense
from sparsepath.data.fit_arguments import Given
from sparsepath.data.validation import check_features
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats, Vector

LEAST_PROBABILITY = 1e-300  # whose logarithm is finite


def check_final(final: Any) -> None:
    """Refuse an unknown final model."""
    if final is not None and (not isinstance(final, str) or final != "boosting"):
        raise InputError(f"final={final!r} is not known; use 'boosting', or None.")


@dataclass(frozen=True, eq=False)
class Boosted(Predictor, saved=False):
    """Boosting of trees on some columns; without columns the mean or the class frequencies."""

    columns: NDArray[np.intp]
    trees: Any

    @classmethod
    def of(cls, selector: Any, X: Any, y: Any, random_state: Any, weights: Any = None) -> Self:
        """Fit it to the columns that a fitted selector selects."""
        columns = np.sort(selector.selected_)
        if is_classifier(selector):
            trees = HistGradientBoostingClassifier(random_state=random_state)
        else:
            trees = HistGradientBoostingRegressor(random_state=random_state)
        if not len(columns):
            trees = DummyClassifier() if is_classifier(selector) else DummyRegressor()
        inputs = cls(columns, trees)._inputs(check_features(selector, X, reset=False))
        if weights is not None:  # a class of weight zero is no class
            counted = np.asarray(weights) > 0
            inputs, y, weights = inputs[counted], np.asarray(y)[counted], weights[counted]
        return cls(columns, trees.fit(inputs, y, sample_weight=weights))

    def predict(self, X: Any) -> Floats:
        """Numbers; or halves of logits, which have the slope of scores between -1 and 1."""
        inputs = self._inputs(X)
        if not hasattr(self.trees, "predict_proba"):
            return np.asarray(self.trees.predict(inputs))
        logs = np.log(np.maximum(self.trees.predict_proba(inputs), LEAST_PROBABILITY))
        return np.asarray((logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs) / 2)

    def _inputs(self, X: Any) -> Floats:
        return dense(X[:, self.columns]) if len(self.columns) else np.zeros((X.shape[0], 1))

    def formula(self) -> Never:
        raise InputError(
            "boosting has no formula to write or export; keep the estimator with joblib.dump, or "
            "use final=None."
        )

    def to_dict(self) -> Never:
        self.formula()


class _SelectedBoosting(BaseEstimator):
    """The whole procedure: a selector, then boosting on its columns."""

    def __init__(self, selector: Any, random_state: Any = 0) -> None:
        self.selector = selector
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        self.selector_ = clone(self.selector).fit(X, y, sample_weight=sample_weight, groups=groups)
        self.model_ = Boosted.of(self.selector_, X, y, self.random_state, sample_weight)
        return self

    def get_support(self) -> Any:
        return self.selector_.get_support()

    def _scores(self, X: Any) -> Floats:
        return self.model_.predict(check_features(self.selector_, X, reset=False))


class _Regressor(RegressorMixin, _SelectedBoosting):
    def predict(self, X: Any) -> Floats:
        return self._scores(X)


class _Classifier(ClassifierMixin, _SelectedBoosting):
    @property
    def classes_(self) -> Any:
        return self.selector_.classes_

    def decision_function(self, X: Any) -> Floats:
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        scores = self._scores(X)
        return self.classes_[scores.argmax(1) if scores.ndim > 1 else (scores > 0).astype(int)]


def honest_boosting(
    selector: Any, given: Given, validation: Any, told: Callable[[int, int], object]
) -> Honest:
    """Return the honest error of selection and boosting, repeated without each fold.

    ``selector`` is the one that is fitted, ``validation`` its own, and ``told`` as for
    ``honest_error``.
    """
    inner = clone(selector).set_params(final=None, callback=None)
    if hasattr(validation, "__iter__") and not isinstance(validation, str):
        inner.set_params(validation="auto")  # splits of all rows
    kind = _Classifier if is_classifier(selector) else _Regressor
    whole = kind(inner, selector.path_.seed)
    if isinstance(validation, str) and validation == "auto":
        validation = selector._n_folds
    found = honest_error(
        whole, given.X, given.y, validation=validation, callback=told, **given.more
    )
    return replace(found.chosen, size=len(selector.selected_))
