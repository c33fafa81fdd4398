"""What the grafting estimators share: checks of parameters and data, the linear model, faces."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import (
    check_features,
    check_labels,
    check_target,
    check_weights,
    refuse_constant,
)
from sparsepath.errors import InputError, warn_user
from sparsepath.grafting.criterion import Huber, Logistic, Loss, Penalty, Softmax, Squared
from sparsepath.grafting.fitting import Options, check_factors, check_penalties
from sparsepath.grafting.procedure import SELECTIONS, STOPS, UPDATES
from sparsepath.running import CallbackSupportMixin
from sparsepath.selector import PathSelector

Factors = ArrayLike | Mapping[str, float] | None
STEPS = ("auto", "single", "batch")


class LinearGrafting(PathSelector, CallbackSupportMixin, BaseEstimator):
    """What all linear grafting estimators share: data, penalties, the linear model."""

    l1_factors: Factors
    l2_factors: Factors
    feature_costs: Factors
    selection: str
    stop: str
    update: str
    steps: str
    max_features: int | None
    tol: float
    l2: float
    l0: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _options(self) -> Options:
        for name, allowed in (
            ("selection", SELECTIONS),
            ("stop", STOPS),
            ("update", UPDATES),
            ("steps", STEPS),
        ):
            if getattr(self, name) not in allowed:
                given = getattr(self, name)
                raise InputError(f"{name}={given!r}; use one of {', '.join(allowed)}.")
        if not 0 < self.tol < 1:
            raise InputError(f"tol={self.tol!r}; give a number between 0 and 1, such as 1e-9.")
        size = self.max_features
        if size is not None and (isinstance(size, bool) or size != int(size) or size < 0):
            raise InputError(f"max_features={size!r}; give a whole number from 0 up, or None.")
        batch_only = self.l0 == 0 and size is None and self.update == "all"
        if self.steps == "batch" and not batch_only:
            raise InputError(
                "steps='batch' finds the convex optimum; l0, max_features and update='newest' "
                "need steps='single' or 'auto'."
            )
        return Options(self.selection, self.stop, self.update, self.steps, size, self.tol)

    def _penalty(self, l1: float) -> Penalty:
        check_penalties(l1=l1, l2=self.l2, l0=self.l0)
        n = self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        factors = {
            name: check_factors(getattr(self, given), names, n, given)
            for name, given in (
                ("l1_factors", "l1_factors"),
                ("l2_factors", "l2_factors"),
                ("costs", "feature_costs"),
            )
        }
        return Penalty.of(n, l1, self.l2, self.l0, **factors)

    def _set_model(self, coef: Floats, intercept: Floats) -> None:
        raise NotImplementedError

    def _scores(self, X: Any) -> Floats:
        """X w + b from the selected columns alone."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)[:, self.selected_]
        return np.asarray(X[:, self.selected_] @ coef.T) + self.intercept_

    def _take(self, size: int) -> None:
        step = self.path_.step(size)
        assert step.coef is not None
        assert step.intercept is not None
        self.selected_ = np.array(step.subset, dtype=np.intp)
        coef = np.zeros((step.coef.shape[1], self.n_features_in_))
        coef[:, self.selected_] = step.coef.T
        self._set_model(coef, step.intercept.copy())


class RegressorFace(RegressorMixin):
    """Targets in, predictions out."""

    loss: str
    delta: float

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, Loss]:
        if self.loss not in ("squared", "huber"):
            raise InputError(f"loss={self.loss!r}; use 'squared' or 'huber'.")
        if self.loss == "huber" and not 0 < self.delta < np.inf:
            raise InputError(f"delta={self.delta!r}; give a number above zero.")
        Y, plain = check_target(y, m)
        if not plain:
            if Y.shape[1] > 1:
                raise InputError(f"y has {Y.shape[1]} targets; grafting takes one at a time.")
            warn_user(
                "A column-vector y was passed when a 1d array was expected.", DataConversionWarning
            )
        weights = check_weights(sample_weight, m)
        refuse_constant(Y, weights)
        return Y, weights, Huber(self.delta) if self.loss == "huber" else Squared()

    def _set_model(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef[0], float(intercept[0])

    def predict(self, X: Any) -> Floats:
        """Predicted targets."""
        return self._scores(X)[:, 0]


class ClassifierFace(ClassifierMixin):
    """Labels in, classes and probabilities out."""

    _yardstick = "logistic"

    class_weight: Any
    classes_: NDArray[Any]

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, Loss]:
        labels = check_labels(y, m)
        weights = check_weights(sample_weight, m)
        self.classes_ = np.unique(labels[weights > 0])
        if len(self.classes_) < 2:
            raise InputError(
                f"y has only one class ({self.classes_[0]!r}); a classifier needs at least two."
            )
        known = np.isin(labels, self.classes_)  # others have weight zero
        codes = np.searchsorted(self.classes_, np.where(known, labels, self.classes_[0]))
        if self.class_weight is not None:
            counted = weights > 0
            factors = compute_class_weight(
                self.class_weight,
                classes=self.classes_,
                y=labels[counted],
                sample_weight=weights[counted],
            )
            if not (np.isfinite(factors) & (factors > 0)).all():
                bad = self.classes_[~(np.isfinite(factors) & (factors > 0))][0]
                raise InputError(
                    f"class_weight of class {bad!s} is not a number above zero; to leave a class "
                    "out, leave its samples out."
                )
            weights = weights * factors[codes]
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None], weights, Logistic()
        return (codes[:, None] == np.arange(len(self.classes_))).astype(float), weights, Softmax()

    def _set_model(self, coef: Floats, intercept: Floats) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def decision_function(self, X: Any) -> Floats:
        """Scores: one column per class, or for two classes one number, positive for the second."""
        scores: Floats = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        scores = self.decision_function(X)
        winners = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(1)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, one column each."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities of the classes, one column each."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
        top = scores.max(1, keepdims=True)
        return scores - top - np.log(np.exp(scores - top).sum(1, keepdims=True))
