"""The grid of both budgets: its ends, the fits of one fold, and what they come to for every t."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sparsepath.data.blocks import Floats
from sparsepath.data.threads import Threads
from sparsepath.rbf.base import renumbered
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.model import Options, empty_model, train
from sparsepath.running import Trail
from sparsepath.steps import Step

Split = tuple[NDArray[np.intp], NDArray[np.intp]]

SMALLEST_R, MOST_PER_CENTRE = 2.0, 4.0
DISTANCES = (0.04, 10.0)  # the mean weighted squared distance of two samples, at the ends of t


def default_budgets(n_centres: int, n_r: int, n_t: int) -> tuple[Floats, Floats]:
    """Logarithmic grids of r and t.

    r goes from 2, little more than a bias and one Gaussian of a standardised target, to four per
    centre. The mean squared distance of two standardised samples is 2 t, however t is shared out:
    0.04 (nearly linear) at one end and 10 (hardly any overlap) at the other.
    """
    rs = np.geomspace(SMALLEST_R, max(MOST_PER_CENTRE * n_centres, 2 * SMALLEST_R), n_r)
    return rs, np.geomspace(DISTANCES[0] / 2, DISTANCES[1] / 2, n_t)


@dataclass(frozen=True)
class Data:
    """What all fits of a search share; weights of zero are allowed here."""

    X: Floats
    y: Floats
    weights: Floats | None
    centres: Any
    placing: str
    options: Options

    def of(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats, Floats | None]:
        """Inputs, target and weights of some samples."""
        weights = None if self.weights is None else self.weights[rows]
        return self.X[rows], self.y[rows], weights

    def counted(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the samples whose weight is not zero."""
        return rows if self.weights is None else rows[self.weights[rows] > 0]


def fold(data: Data, split: Split, rs: Floats, t: float) -> list[tuple[float, int, int, bool]]:
    """Test error, inputs, centres and convergence of every r on one split."""
    X, y, weights = data.of(data.counted(split[0]))
    X_test, y_test, of_test = data.of(data.counted(split[1]))
    options = data.options
    with threadpool_limits(1, user_api="blas"):
        places, _ = place_centres(X, data.centres, data.placing, options.seed, weights)
        out = []
        for r in rs:
            fit = train(X, y, places, float(r), t, options, weights)
            model = fit.model
            error = float(np.average((y_test - model.predict(X_test)) ** 2, weights=of_test))
            out.append((error, len(model.columns), len(model.coef), fit.solution.converged))
    return out


class Follower:
    """Takes the errors of one t after another and fits the best r of each to all data."""

    def __init__(
        self,
        data: Data,
        splits: Sequence[Split],
        places: Floats,
        samples: NDArray[np.intp] | None,
        rs: Floats,
    ) -> None:
        self.data, self.splits, self.places, self.samples, self.rs = (
            data, splits, places, samples, rs,
        )  # fmt: skip
        self.done: list[tuple[float, Floats]] = []  # every t with its results, splits x r x 4
        self.trail = Trail()  # with ((r, t), Training) of every size

    def take(self, t: float, found: Any) -> None:
        """The results of all splits for a t."""
        data = self.data
        values = np.array(found, dtype=np.float64)
        best = int(values[..., 0].mean(axis=0).argmin())
        errors, r = values[:, best, 0], float(self.rs[best])
        X, y, weights = data.of(data.counted(np.arange(len(data.X))))
        with Threads(1):
            fit = train(X, y, self.places, r, t, data.options, weights)
        if self.samples is not None:
            fit = renumbered(fit, self.samples)
        if not self.done:
            # If nothing predicts, the mean does: the empty model, with the smallest budgets.
            empty = np.array([self._empty(*split) for split in self.splits])
            mean = float(np.average(y, weights=weights))
            model = replace(fit, model=empty_model(mean))
            step = Step((), float(empty.mean()), mean_se(empty))
            self.trail.offer(step, model=((r, t), model))
        if subset := tuple(fit.model.columns.tolist()):
            off = np.average((y - fit.model.predict(X)) ** 2, weights=weights)
            step = Step(subset, float(errors.mean()), mean_se(errors), train_error=float(off))
            self.trail.offer(step, model=((r, t), fit))
        self.done.append((t, values))

    def _empty(self, train_rows: NDArray[np.intp], test_rows: NDArray[np.intp]) -> float:
        _, y, weights = self.data.of(train_rows)
        _, y_test, of_test = self.data.of(test_rows)
        mean = np.average(y, weights=weights)
        return float(np.average((y_test - mean) ** 2, weights=of_test))


def mean_se(values: Floats, weights: Floats | None = None) -> float:
    """Standard error of a (weighted) mean.

    >>> mean_se(np.array([1.0, 3.0])), mean_se(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    (1.0, 1.0)
    """
    n = len(values)
    if n < 2:
        return np.nan
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    off = shares * (values - shares @ values)
    return float(np.sqrt(off @ off * n / (n - 1)))
