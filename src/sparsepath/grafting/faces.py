"""What the grafting estimators share: checks of parameters and data, the linear model, faces."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import compute_class_weight

from sparsepath.arrays import Floats
from sparsepath.classes import coded
from sparsepath.data.door import check_features, check_weights
from sparsepath.errors import InputError
from sparsepath.faces.linear import LinearFace
from sparsepath.faces.parameters import as_record, count, number, one_of, positive, share
from sparsepath.faces.targets import ClassifierFace, RegressorFace
from sparsepath.grafting.criterion import (
    ConvexLoss,
    HuberLoss,
    Logistic,
    Penalty,
    Softmax,
    SquaredLoss,
)
from sparsepath.grafting.fitting import GraftingProblem, check_factors
from sparsepath.grafting.procedure import STOPS, GraftingOptions
from sparsepath.judging.repeating import Repetition, Searched
from sparsepath.selector import SearchingSelector

Factors = ArrayLike | Mapping[str, float] | None
ALLOWED = {
    "selection": ("auto", "gradient", "bound"),
    "stop": STOPS,
    "update": ("all", "newest"),
    "steps": ("auto", "single", "batch"),
}
ERRORS = ("loss", "zero_one")


@dataclass(eq=False, repr=False)
class GraftingSelector(SearchingSelector):
    """What all grafting estimators share.

    What else there is to know of the model in use is kept by size: fitted attributes, by name.
    """

    _: KW_ONLY
    feature_costs: Factors = None
    l1_factors: Factors = None
    l2_factors: Factors = None
    max_features: int | None = None
    standardize: bool = True

    def _penalty(self, l1: float, l0: float, n_outputs: int = 1) -> Penalty:
        """Of the features, and of connections to several outputs with factor 1."""
        for name, value in (("l1", l1), ("l2", self.l2), ("l0", l0)):
            number(name, value)
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        others = np.ones(n_outputs if n_outputs > 1 else 0)

        def factors(name: str) -> Floats:
            return np.append(check_factors(getattr(self, name), names, n, name), others)

        of_l1, of_l2, of_l0 = map(factors, ("l1_factors", "l2_factors", "feature_costs"))
        return Penalty(l1 * of_l1, self.l2 * of_l2, l0 * of_l0)

    def _take(self, size: int) -> None:
        super()._take(size)
        for name, value in self._of_size[size].items():
            setattr(self, name, value)


@dataclass(eq=False, repr=False)
class LinearGrafting(LinearFace, GraftingSelector, GraftingOptions):
    """What all linear grafting estimators share: parameters, penalties, the linear model."""

    _: KW_ONLY
    fit_intercept: bool = True

    def _options(self) -> GraftingOptions:
        for name, allowed in ALLOWED.items():
            one_of(name, getattr(self, name), allowed)
        share("tol", self.tol)
        if self.max_features is not None:
            count("max_features", self.max_features, 0)
        batch_only = self.l0 == 0 and self.max_features is None and self.update == "all"
        if self.steps == "batch" and not batch_only:
            raise InputError(
                "steps='batch' finds the convex optimum; l0, max_features and update='newest' "
                "need steps='single' or 'auto'."
            )
        return as_record(GraftingOptions, self)

    def _problem(self, X: Any, Y: Floats, weights: Floats, loss: Any, threads: Any) -> Any:
        ways = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        return GraftingProblem(X, Y, weights, loss, threads, **ways)


class GraftingNumbers(RegressorFace):
    """Targets in, predictions out."""

    loss = "squared"
    delta = 1.0
    _error = "loss"  # what the test parts of cross-validation measure

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, ConvexLoss]:
        loss = self._stream_loss()
        weights = check_weights(sample_weight, m)
        return self._numbers(y, m, weights), weights, loss

    def _stream_loss(self, classes: Any = None) -> ConvexLoss:
        """The loss that the parameters name."""
        huber = one_of("loss", self.loss, ("squared", "huber")) == "huber"
        return HuberLoss(positive("delta", self.delta)) if huber else SquaredLoss()


@dataclass(eq=False, repr=False)
class LinearNumbers(GraftingNumbers):
    """The same for linear models, whose searches can be repeated all at once."""

    _: KW_ONLY
    loss: str = "squared"
    delta: float = 1.35

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[Searched | None] | None:
        """What repetitions of the search leave, all at once; see ``judging.repeating``."""
        from sparsepath.grafting.repeated import search_many

        X = check_features(self, X, reset=True)
        return search_many(self, X, self._numbers(y, X.shape[0]), given, repetitions)


@dataclass(eq=False, repr=False)
class GraftingClasses(ClassifierFace):
    """Labels in, classes and probabilities out."""

    _: KW_ONLY
    class_weight: Any = None
    _yardstick = "logistic"

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, ConvexLoss]:
        weights = check_weights(sample_weight, m)
        codes = self._codes(y, m, weights)
        if self.class_weight is not None:
            counted = weights > 0
            factors = compute_class_weight(
                self.class_weight,
                classes=self.classes_,
                y=self.classes_[codes[counted]],
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
            return coded(codes, 2), weights, Logistic()
        return (codes[:, None] == np.arange(len(self.classes_))).astype(float), weights, Softmax()

    def _stream_loss(self, classes: NDArray[Any]) -> ConvexLoss:
        """The loss for data that are read in passes, now that the classes are known."""
        self.classes_ = classes
        if self.class_weight is not None:
            raise InputError("class_weight needs data in memory; give sample weights instead.")
        if len(classes) > 2:
            raise InputError(
                f"y has {len(classes)} classes, for which grafting needs data in memory; "
                "SparseRLSClassifier does not."
            )
        return Logistic()

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


@dataclass(eq=False, repr=False)
class JudgedClasses(GraftingClasses):
    """The same with what the test parts of cross-validation measure."""

    _: KW_ONLY
    error: str = "loss"

    @property
    def _error(self) -> str:
        """What the test parts of cross-validation measure."""
        return one_of("error", self.error, ERRORS)
