"""Base classes of grafting estimators: checks, the linear model, regressors and classifiers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.assessment.deviance import LOSSES as DEVIANCES
from sparsepath.assessment.deviance import power_of
from sparsepath.assessment.metrics import Metric, deviance
from sparsepath.assessment.repetitions import Repetition, RepetitionResult
from sparsepath.base.linear import LinearModelMixin
from sparsepath.base.parameters import as_record, count, flag, number, one_of, positive, share
from sparsepath.base.selector import SearchingSelector
from sparsepath.base.targets import PathClassifierMixin, PathRegressorMixin
from sparsepath.data.classes import class_weighted, encode_targets
from sparsepath.data.validation import check_features, check_weights
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import (
    ConvexLoss,
    HuberLoss,
    Logistic,
    Penalty,
    Softmax,
    SquaredHinge,
    SquaredLoss,
)
from sparsepath.grafting.deviance import TweedieLoss
from sparsepath.grafting.fitting import GraftingProblem, check_factors
from sparsepath.grafting.procedure import STOPS, GraftingOptions
from sparsepath.system.arrays import Floats

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
    """Base class of all grafting estimators.

    What else there is to know of the model in use is kept by size: fitted attributes, by name.
    """

    _: KW_ONLY
    feature_costs: Factors = None
    l1_factors: Factors = None
    l2_factors: Factors = None
    max_features: int | None = None
    standardize: bool = True

    def _penalty(self, l1: float, l0: float, n_outputs: int = 1) -> Penalty:
        """Return the penalty; connections to several outputs have factor 1."""
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
class LinearGrafting(LinearModelMixin, GraftingSelector, GraftingOptions):
    """Base class of linear grafting: parameters, penalties, the linear model."""

    _: KW_ONLY
    fit_intercept: bool = True
    _limits_each = True  # whether max_features ends every fit, rather than a path of them

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a fit, without the folds of the honest error."""
        n, p = X.shape
        return 2e-3 + 1e-8 * n * p + 3e-7 * p * min(n, p)

    def _options(self) -> GraftingOptions:
        for name, allowed in ALLOWED.items():
            one_of(name, getattr(self, name), allowed)
        share("tol", self.tol)
        flag("standardize", self.standardize)
        flag("fit_intercept", self.fit_intercept)
        if self.max_features is not None:
            count("max_features", self.max_features, 0)
        single = [
            name
            for name, given in (
                ("l0", number("l0", self.l0) > 0),
                ("max_features", self._limits_each and self.max_features is not None),
                ("update='newest'", self.update == "newest"),
            )
            if given
        ]
        if self.steps == "batch" and single:
            raise InputError(
                f"steps='batch' finds the convex optimum; {single[0]} needs steps='single' or "
                "'auto'."
            )
        return as_record(GraftingOptions, self)

    def _problem(self, X: Any, Y: Floats, weights: Floats, loss: Any, threads: Any) -> Any:
        ways = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        return GraftingProblem(X, Y, weights, loss, threads, **ways)


LOSSES = ("squared", "huber", *DEVIANCES)
MARGIN_LOSSES = ("logistic", "squared_hinge")


def check_custom(loss: ConvexLoss, Y: Floats) -> None:
    """Refuse a loss whose shapes are wrong or whose slope is not its derivative."""
    Y = Y[:: max(1, len(Y) // 20)][:20]
    F, step = np.linspace(-1.0, 1.0, len(Y))[:, None], 1e-6
    value, slope, curvature = (part(F, Y) for part in (loss.value, loss.slope, loss.curvature))
    shapes = {"value": np.shape(value), "slope": np.shape(slope), "curvature": np.shape(curvature)}
    for name, wanted in (("value", (len(Y),)), ("slope", F.shape), ("curvature", F.shape)):
        if shapes[name] != wanted:
            raise InputError(
                f"{name}() of the loss {type(loss).__name__} made shape {shapes[name]} of outputs "
                f"of shape {F.shape}; return shape {wanted}."
            )
    change = (loss.value(F + step, Y) - loss.value(F - step, Y)) / (2 * step)
    if not np.allclose(change, slope[:, 0], rtol=1e-3, atol=1e-3) or (curvature < 0).any():
        raise InputError(
            f"slope() of the loss {type(loss).__name__} is not the derivative of value() by the "
            "outputs, or its curvature() is negative; grafting needs a smooth convex loss."
        )


class GraftingNumbers(PathRegressorMixin):
    """Targets in, predictions out."""

    loss: ClassVar[Any] = "squared"
    delta = 1.0
    power = 1.5
    _error = "loss"  # what the test parts of cross-validation measure

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, ConvexLoss]:
        loss = self._loss_term()
        weights = check_weights(sample_weight, m)
        Y = self._numbers(y, m, weights)
        if isinstance(self.loss, ConvexLoss):
            check_custom(loss, Y)
        loss.check(Y[weights > 0])
        return Y, weights, loss

    def _loss_term(self) -> ConvexLoss:
        """The loss that the parameters name."""
        if isinstance(self.loss, ConvexLoss):
            return self.loss
        name = one_of("loss", self.loss, LOSSES)
        if (power := power_of(name, self.power)) is not None:
            return TweedieLoss(power)
        return HuberLoss(positive("delta", self.delta)) if name == "huber" else SquaredLoss()

    def _stream_loss(self, classes: Any = None) -> ConvexLoss:
        """The loss for data that are read in passes."""
        loss = self._loss_term()
        if loss.link != "identity":
            raise InputError(f"loss={self.loss!r} needs data in memory; load the table first.")
        return loss

    @property
    def _metric(self) -> Any:
        """Deviances for losses that have them, the loss itself if it is custom, else squares."""
        loss = self._loss_term()
        if isinstance(self.loss, ConvexLoss):
            return Metric(
                loss.error_name,
                lambda truth, outputs: loss.error_factor * loss.value(outputs, truth.values),
            )
        return deviance(loss.power) if isinstance(loss, TweedieLoss) else "squared"


@dataclass(eq=False, repr=False)
class LinearNumbers(GraftingNumbers):
    """Mixin of linear regressors, whose repetitions share work."""

    _: KW_ONLY
    loss: Any = "squared"  # type: ignore[misc]
    delta: float = 1.35
    power: float = 1.5

    def _search_many(
        self, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[RepetitionResult | None] | None:
        """Return the results of all repetitions, computed together; see
        ``assessment.repetitions``.
        """
        from sparsepath.grafting.repeated import search_many

        X = check_features(self, X, reset=True)
        return search_many(self, X, self._numbers(y, X.shape[0]), given, repetitions)


@dataclass(eq=False, repr=False)
class GraftingClasses(PathClassifierMixin):
    """Labels in, classes and probabilities out."""

    _: KW_ONLY
    class_weight: Any = None
    threshold: Any = None
    loss: ClassVar[Any] = "logistic"

    def _targets(self, y: Any, sample_weight: Any, m: int) -> tuple[Floats, Floats, ConvexLoss]:
        weights = check_weights(sample_weight, m)
        codes = self._codes(y, m, weights)
        weights = class_weighted(self.class_weight, self.classes_, codes, weights)
        loss = self._margin_loss(len(self.classes_))
        if len(self.classes_) > 2:
            return (codes[:, None] == np.arange(len(self.classes_))).astype(float), weights, loss
        Y = encode_targets(codes, 2)
        if isinstance(self.loss, ConvexLoss):
            check_custom(loss, Y)
        return Y, weights, loss

    def _margin_loss(self, n_classes: int) -> ConvexLoss:
        """The loss that the parameters name; multinomial for three classes and more."""
        loss = self.loss
        if not isinstance(loss, ConvexLoss):
            one_of("loss", loss, MARGIN_LOSSES)
        if loss == "logistic":
            return Logistic() if n_classes == 2 else Softmax()
        if n_classes > 2:
            raise InputError(
                f"loss={loss!r} is for two classes; y has {n_classes}. Use loss='logistic'."
            )
        return loss if isinstance(loss, ConvexLoss) else SquaredHinge()

    def _stream_loss(self, classes: NDArray[Any]) -> ConvexLoss:
        """The loss for data that are read in passes, now that the classes are known."""
        self.classes_ = classes
        if len(classes) > 2:
            raise InputError(
                f"y has {len(classes)} classes, for which grafting needs data in memory; "
                "SparseRLSClassifier does not."
            )
        return self._margin_loss(len(classes))

    @property
    def _metric(self) -> str:
        """The log loss where scores are logarithms of odds, else the error rate."""
        return "logistic" if self.loss == "logistic" else "zero_one"

    def _slope_at(self, size: int) -> float:
        return 1.0 if self.loss == "logistic" else super()._slope_at(size)


@dataclass(eq=False, repr=False)
class CrossValidatedClasses(GraftingClasses):
    """Mixin of classifiers with a cross-validated error."""

    _: KW_ONLY
    error: str = "loss"

    @property
    def _error(self) -> str:
        """Name of the error on the test folds of cross-validation."""
        return one_of("error", self.error, ERRORS)


@dataclass(eq=False, repr=False)
class LinearClasses(GraftingClasses):
    """Mixin of linear classifiers, whose loss can be chosen."""

    _: KW_ONLY
    loss: Any = "logistic"  # type: ignore[misc]
