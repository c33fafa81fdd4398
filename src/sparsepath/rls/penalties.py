"""``alpha="auto"``: the penalty of the search and that of the coefficients, by honest errors.

The search and the coefficients need different penalties. A strong penalty in the search averages
over noisy columns, as in wide data; the coefficients of the selected columns need a separate one.
So the columns of one or two searches are refitted with several penalties: numbers by ridge
regression (``shrinkage.py``), classes by logistic models (``logistic_refits.py``), counts and
amounts, if the loss says so, by Poisson, Gamma and Tweedie models (``rate_refits.py``). All are
evaluated on the same held-out samples. With ``choose="one_se"`` the strongest refit is used whose
lowest honest error is within one standard error (paired) of the overall minimum, and of two
searches the first one; with "min" the pair with the lowest error. ``choose`` then selects the size
on its path. The error is corrected for both choices. If it is then not below that of the empty
model (with "one_se": clearly below), the empty model is chosen.

Penalties are relative to the mean squared norm of the columns, as scaled: the number of samples if
columns are standardised. They were chosen on half of some forty real and simulated sets and judged
on the other half, three to five splits of each. Squared error as a ratio to alpha = 1 (geometric
means; spectra of both halves, a standard error is 0.03):

    searches and refits                       chosen on   judged on   spectra
    1 and 0.01; 1 to 1e-4 (five)                   0.95        0.96      0.94
    1 and 0.01; 10 to 1e-6 (seven)                 0.95        0.96      0.94
    1 and 10; 10 to 1e-6 (seven)                   0.96        1.01      0.99
    1, 0.01 and 10; 10 to 1e-6 (seven)             0.95        1.00      0.95
    1 alone                                        0.96        1.01      0.99
    0.01 alone                                     0.99        0.96      0.98
    1 and 0.01; the lowest error                   0.97        1.04      1.05

Binary error rate and log loss less those of alpha = 1, in points and nats, and the error
rate of three to ten classes (a standard error is 1 for wide data; "wide" has columns >= rows):

    searches and refits                       chosen on      judged on      wide    many classes
    1 and 10; logistic, 0.1 and 0.01          -4.5, -.06     -4.8, -.06     -7.3         -1.7
    1 and 10; logistic, 0.1, 0.01, 0.001      -4.4, -.01     -4.8, -.06     -7.3         -0.6
    1 alone; logistic, three                  -4.0, -.01     -1.7, -.04     -4.2
    10 alone; logistic, three                 -4.4, +.01     -4.6, -.06     -7.2
    1 and 10; ridge, seven                    -4.4           -2.7           -6.2

(L1 logistic regression by cross-validation: -5.9, -.04; -4.9, -.04; -8.6.) With several classes the
search is one, with alpha = 1; ten digits have 5.7 % errors instead of 8.4 %.

The criterion of the search cannot choose a penalty: in wide data it always likes the weakest. So
without validation the penalty is ``PLAIN``, and so it is beyond ``MOST_SAMPLES`` samples. With
``ROWS_PER_COLUMN`` samples for every column, where little depends on it, the search has that
penalty too, and numbers are not refitted.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from sparsepath.assessment.deviance import power_of
from sparsepath.assessment.metrics import METRICS, Metric
from sparsepath.assessment.out_of_sample import metric_of
from sparsepath.assessment.repetitions import RepetitionResult
from sparsepath.data.classes import class_weighted
from sparsepath.models.predictors import Linear, Linked, Predictor
from sparsepath.path.choosing import is_size
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.rls.design import Design
from sparsepath.rls.engines import make_design
from sparsepath.rls.logistic_refits import LogisticRefits
from sparsepath.rls.rate_refits import RateRefits
from sparsepath.rls.shrinkage import Refits
from sparsepath.system.arrays import Floats, Indices
from sparsepath.system.threads import Threads

AUTO = "auto"
PLAIN = 1.0
SEARCHES, REFITS = (1.0, 1e-2), (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
CLASS_SEARCHES, CLASS_REFITS = (1.0, 10.0), (1e-1, 1e-2)
RATE_REFITS = (1e-1, 1e-2, 1e-3)
MOST_SAMPLES = 10_000
ROWS_PER_COLUMN = 10


class Penalties(NamedTuple):
    """Penalty of the search, and penalty of the coefficients."""

    search: float
    refit: float


def penalty_matters(n_samples: int, n_features: int) -> bool:
    """Return whether the data are small and wide enough for the choice of a penalty to matter."""
    return n_samples <= MOST_SAMPLES and n_samples < ROWS_PER_COLUMN * n_features


class GivenPenalties:
    """Searches with given penalties, whose models are used unchanged."""

    metric: Metric | None = None  # None: that of the estimator
    plain: Sequence[Any] = ()

    def __init__(self, estimator: Any, alphas: Sequence[float]) -> None:
        self.estimators: Mapping[Any, Any] = {
            alpha: clone(estimator).set_params(alpha=alpha) for alpha in alphas
        }
        self.names = [Penalties(alpha, alpha) for alpha in sorted(alphas, reverse=True)]

    def outputs(
        self, name: float, found: RepetitionResult, train: Indices, test: Indices
    ) -> Mapping[Penalties, Mapping[int, Floats]]:
        """Return the outputs of the models of a search."""
        return {Penalties(name, name): found.outputs(test)}

    def are_logits(self, name: Penalties, metric: Metric) -> bool:
        """Return whether the outputs are logarithms of odds."""
        return metric == METRICS["logistic"]

    def refitted(self, path: SelectionPath, alpha: float) -> SelectionPath:
        """Return the path of a search."""
        return path


class PenaltyGrid(GivenPenalties):
    """One or two searches, and refits of their columns with several penalties.

    The strongest refit is preferred, then the first search.
    """

    _kind: type[Refits] | type[LogisticRefits] | type[RateRefits] = Refits
    _alphas: tuple[float, ...] = REFITS
    _searches: tuple[float, ...] = SEARCHES

    def __init__(self, estimator: Any, X: Any, Y: Floats, weights: Floats) -> None:
        scale = float(weights.sum())
        if not estimator.standardize:
            design = make_design(X, weights, Threads(1), fit_intercept=estimator.fit_intercept)
            scale = scale_of(design)
        n, p = X.shape
        super().__init__(estimator, self.searches(n, p, scale))
        self._X, self._Y, self._weights = X, Y, weights
        self._options: dict[str, Any] = {
            name: getattr(estimator, name) for name in ("fit_intercept", "standardize")
        }
        self._refits = [scale * alpha for alpha in self._alphas]
        self.names = [Penalties(name, alpha) for alpha in self._refits for name in self.estimators]

    @classmethod
    def searches(cls, n_samples: int, n_features: int, scale: float) -> list[float]:
        """Return the penalties of the searches."""
        wide = penalty_matters(n_samples, n_features)
        return [scale * alpha for alpha in cls._searches] if wide else [PLAIN]

    def outputs(
        self, name: float, found: RepetitionResult, train: Indices, test: Indices
    ) -> Mapping[Penalties, Mapping[int, Floats]]:
        """Return the outputs of the refitted models, by size."""
        models = self._models(train)
        each = models.outputs(found.subsets, self._refits, self._X[test])
        return {
            Penalties(name, alpha): {size: of[i] for size, of in each.items()}
            for i, alpha in enumerate(self._refits)
        }

    def refitted(self, path: SelectionPath, alpha: float) -> SelectionPath:
        """Return the path of a search with the models of a penalty; its errors are still those of
        the search.
        """
        subsets = dict(zip(path.sizes, path.subsets, strict=True))
        models = self._models(slice(None)).models(subsets, alpha)
        steps = []
        for step in path.steps:
            coef, intercept = models[len(step.subset)]
            steps.append(replace(step, coef=coef, intercept=intercept))
        return path.replaced(steps=steps)

    def on(self, X: Any, Y: Floats | None = None) -> Self:
        """Return the same penalties for other features, or targets too, of the same samples."""
        other = copy.copy(self)
        other._X = X
        if Y is not None:
            other._Y = Y
        return other

    @property
    def targets(self) -> Floats:
        """The targets, samples x targets."""
        return self._Y

    def _models(self, rows: Any) -> Refits | LogisticRefits | RateRefits:
        return self._kind(self._X[rows], self._Y[rows], self._weights[rows], **self._options)


class ClassPenalties(PenaltyGrid):
    """One or two searches, and logistic models of their columns with several penalties.

    Outputs are logarithms of odds, judged by the log loss, or by the loss of the search if that is
    of decisions or of orders. If it counts classes alike, so do the models.
    """

    _kind = LogisticRefits

    def are_logits(self, name: Penalties, metric: Metric) -> bool:
        """Return whether the outputs are logarithms of odds."""
        return True

    _alphas = CLASS_REFITS
    _searches = CLASS_SEARCHES

    def __init__(self, estimator: Any, X: Any, Y: Floats, weights: Floats) -> None:
        super().__init__(estimator, X, Y, weights)
        self._options["always"] = wanted_sizes(estimator)
        own = metric_of(estimator)
        self.metric = own if own.decides or own.by_part else METRICS["logistic"]
        if own.balanced:
            codes = Y.argmax(1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(np.intp)
            names = np.arange(max(2, Y.shape[1]))
            self._weights = class_weighted("balanced", names, codes, weights)


class RatePenalties(PenaltyGrid):
    """Searches by squared error, and Poisson, Gamma or Tweedie models of their columns.

    Parameters
    ----------
    estimator : SparseRLSRegressor
        With a loss that is a deviance.
    alphas : list of float or None
        Penalties of the searches and of the models; None: those of ``alpha="auto"``.
    """

    _kind = RateRefits
    _alphas = RATE_REFITS

    def __init__(
        self,
        estimator: Any,
        X: Any,
        Y: Floats,
        weights: Floats,
        alphas: Sequence[float] | None,
    ) -> None:
        super().__init__(estimator, X, Y, weights)
        self._options["always"] = wanted_sizes(estimator)
        self._options["power"] = power_of(estimator.loss, estimator.power)
        if alphas is None and not penalty_matters(*X.shape):
            alphas = [PLAIN]
        if alphas is not None:
            self._refits = list(alphas)
            GivenPenalties.__init__(self, estimator, alphas)
        self.estimators = {
            alpha: each.set_params(loss="squared") for alpha, each in self.estimators.items()
        }
        refits = sorted(self._refits, reverse=True)
        self.names = [Penalties(name, alpha) for alpha in refits for name in self.estimators]

    def refitted(self, path: SelectionPath, alpha: float) -> SelectionPath:
        """Return the path of a search with the models of a penalty."""
        found = super().refitted(path, alpha)
        return found.replaced(_models=rate_models(found.steps))


def rate_models(steps: Iterable[Step]) -> dict[int, Predictor]:
    """Return models of the mean, by size, of steps whose coefficients predict its logarithm."""
    lines = {len(step.subset): Linear.of(step) for step in steps}
    return {size: Linked(line, "log") for size, line in lines.items() if line is not None}


def wanted_sizes(estimator: Any) -> list[int]:
    """Return the size that the user chose, if it is a number."""
    return [int(estimator.choose)] if is_size(estimator.choose) else []


def scale_of(design: Design) -> float:
    """Return the mean squared norm of the varying columns, after scaling."""
    live = design.squares[~design.constant]
    return design.total if design.standardize or not len(live) else float(live.mean())
