"""The grid of both budgets: its ends, the fits of one fold, and what they come to for every t.

A small t makes a fit sparse and wide at once, so that its inputs may be good and its error not. So
for every t the inputs that a fit chose are fitted again with budgets of their own ("relaxed"): on
every training part those that were chosen there, so that the error is one of cross-validation as
before. Their budgets are found by walking down from node to node of the same grid, beyond its ends
where these were not given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.threads import Threads
from sparsepath.rbf.model import RBFOptions, Trainer, Training, empty_model
from sparsepath.running import Trail
from sparsepath.steps import Step

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
Node = tuple[int, int]

SMALLEST_R, MOST_PER_CENTRE = 2.0, 4.0
DISTANCES = (0.04, 10.0)  # the mean weighted squared distance of two samples, at the ends of t

BEYOND = 3  # steps that relaxed budgets may go beyond the ends of their grid
BETTER = 0.999  # of the error: less makes a step worth while


def default_budgets(n_centres: int, n_r: int, n_t: int) -> tuple[Floats, Floats]:
    """Logarithmic grids of r and t.

    r goes from 2, little more than a bias and one Gaussian of a standardised target, to four per
    centre. The mean squared distance of two standardised samples is 2 t, however t is shared out:
    0.04 (nearly linear) at one end and 10 (hardly any overlap) at the other.
    """
    rs = np.geomspace(SMALLEST_R, max(MOST_PER_CENTRE * n_centres, 2 * SMALLEST_R), n_r)
    return rs, np.geomspace(DISTANCES[0] / 2, DISTANCES[1] / 2, n_t)


@dataclass(frozen=True)
class GridData:
    """What all fits of a search share; weights of zero are allowed here."""

    X: Floats
    y: Floats
    weights: Floats | None
    options: RBFOptions

    def of(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats, Floats | None]:
        """Inputs, target and weights of some samples."""
        weights = None if self.weights is None else self.weights[rows]
        return self.X[rows], self.y[rows], weights

    def on(self, columns: NDArray[np.intp]) -> "GridData":
        """The same with some of the inputs; all of these are used, unless their weight is zero."""
        centres = self.options.centres
        given = not isinstance(centres, str) and np.ndim(centres) > 0
        centres = np.asarray(centres)[:, columns] if given else centres
        options = replace(self.options, relevance=0.0, centres=centres)
        return replace(self, X=self.X[:, columns], options=options)

    def counted(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the samples whose weight is not zero."""
        return rows if self.weights is None else rows[self.weights[rows] > 0]


@dataclass(frozen=True)
class Scale:
    """Budgets of one kind, and how many steps it may go on beyond either end; None: none given."""

    values: Floats
    beyond: int | None

    def at(self, k: int) -> float:
        """The k-th value, on a logarithmic scale where that is beyond the ends."""
        values = self.values
        if 0 <= k < len(values):
            return float(values[k])
        return float(values[0] * (values[-1] / values[0]) ** (k / (len(values) - 1)))

    def next_to(self, k: int) -> list[int]:
        """The values around one."""
        beyond = self.beyond or 0
        return [m for m in (k - 1, k + 1) if -beyond <= m < len(self.values) + beyond]

    def ends_at(self, value: float) -> bool:
        """Whether a value is the last of those that may be tried, and a further one could be."""
        if self.beyond is None:
            return False
        low, high = self.at(-self.beyond), self.at(len(self.values) - 1 + self.beyond)
        return not 1.001 * low < value < 0.999 * high


@dataclass(frozen=True)
class Grid:
    """Nodes (i, j) for budgets (r, t)."""

    r: Scale
    t: Scale

    def at(self, node: Node) -> tuple[float, float]:
        """The budgets of a node."""
        return self.r.at(node[0]), self.t.at(node[1])

    def around(self, node: Node) -> list[Node]:
        """The nodes next to one."""
        i, j = node
        return [(k, j) for k in self.r.next_to(i)] + [(i, k) for k in self.t.next_to(j)]

    def leads_out(self, node: Node) -> bool:
        """Whether some node next to one is beyond the ends."""
        return any(
            not (0 <= i < len(self.r.values) and 0 <= j < len(self.t.values))
            for i, j in self.around(node)
        )


@dataclass(frozen=True)
class Fold:
    """A fit on a training part: its error on the test part, and what it uses."""

    error: float
    columns: NDArray[np.intp]
    n_centres: int
    converged: bool

    def numbers(self) -> tuple[float, int, int, bool]:
        return self.error, len(self.columns), self.n_centres, self.converged


class SplitFits:
    """Fits on the training part of one split, which share its data: one may run at a time."""

    def __init__(self, data: GridData, split: Split) -> None:
        train, test = map(data.counted, split)
        X, y, weights = data.of(train)
        self._X, self._y, self._weights = data.of(test)
        self._mean = float(np.average(y, weights=weights))
        self._trainer = None
        if X.shape[1]:
            self._trainer = Trainer.placed((X, y, weights), train, 1.0, 1.0, data.options)

    def at(self, r: float, t: float) -> Fold:
        """The fit of these budgets; without inputs it is the mean."""
        if self._trainer is None:
            return Fold(self._error(self._mean), np.zeros(0, dtype=np.intp), 0, True)
        fit = self._trainer.at(r, t).run()
        model = fit.model
        error = self._error(model.predict(self._X))
        return Fold(error, model.columns, len(model.coef), fit.solution.converged)

    def _error(self, outputs: Floats | float) -> float:
        return float(np.average((self._y - outputs) ** 2, weights=self._weights))


def fold(data: GridData, split: Split, rs: Sequence[float], t: float) -> list[Fold]:
    """The fits of every r on one split."""
    with Threads(1):
        fits = SplitFits(data, split)
        return [fits.at(float(r), t) for r in rs]


def relax(
    data: GridData,
    splits: Sequence[Split],
    grid: Grid,
    chosen: Sequence[NDArray[np.intp]],
    starts: Sequence[Node],
) -> tuple[Node, Floats]:
    """Budgets for inputs that were chosen on each split, and the errors of the splits.

    From the best of the starts to the best node around it as long as that is better, by a
    thousandth at least.
    """
    errors: dict[Node, Floats] = {}

    def error(node: Node) -> float:
        if node not in errors:
            r, t = grid.at(node)
            errors[node] = np.array([each.at(r, t).error for each in fits])
        return float(errors[node].mean())

    with Threads(1):
        fits = [
            SplitFits(data.on(columns), split)
            for split, columns in zip(splits, chosen, strict=True)
        ]
        at = min(starts, key=error)
        while True:
            best = min(grid.around(at), key=error, default=at)
            if not error(best) < BETTER * error(at):
                return at, errors[at]
            at = best


class GridFollower:
    """Takes the errors of one t after another and fits the best r of each to all data."""

    def __init__(self, data: GridData, splits: Sequence[Split], grid: Grid) -> None:
        self.data, self.splits, self.grid = data, splits, grid
        self.done: list[tuple[float, Floats]] = []  # every t with its results, splits x r x 4
        self.trail = Trail()  # with ((r, t), Training) of every size
        self._chosen: list[tuple[Node, float, NDArray[np.intp], list[NDArray[np.intp]]]] = []

    def take(self, t: float, found: Sequence[Sequence[Fold]]) -> None:
        """The results of all splits for a t."""
        values = np.array([[each.numbers() for each in row] for row in found], dtype=np.float64)
        best = int(values[..., 0].mean(axis=0).argmin())
        errors, r = values[:, best, 0], float(self.grid.r.values[best])
        fit = self._fit(None, r, t)
        if not self.done:
            # If nothing predicts, the mean does: the empty model, with the smallest budgets.
            nothing = self.data.on(np.zeros(0, dtype=np.intp))
            empty = np.array([fold(nothing, split, [r], t)[0].error for split in self.splits])
            mean = float(np.average(self.data.y, weights=self.data.weights))
            model = replace(fit, model=empty_model(mean))
            step = Step((), float(empty.mean()), mean_se(empty))
            self.trail.offer(step, model=((r, t), model))
        self._offer(fit, errors, r, t)
        node = (best, len(self.done))
        columns = np.sort(fit.model.columns)
        self._chosen.append(
            (node, float(errors.mean()), columns, [np.sort(row[best].columns) for row in found])
        )
        self.done.append((t, values))

    def relaxable(self, place: int) -> bool:
        """Whether the t at a place chose some of the inputs, or is best where the grid goes on."""
        node, _, columns, _ = self._chosen[place]
        some = len(columns) < self.data.X.shape[1] or self.grid.leads_out(node)
        return len(columns) > 0 and some

    def task(self, place: int) -> tuple[list[NDArray[np.intp]], list[Node]]:
        """What is to be relaxed there: the inputs of each split, and nodes to start at."""
        node, _, _, of_splits = self._chosen[place]
        return of_splits, [node, min(self._chosen, key=lambda each: each[1])[0]]

    def take_relaxed(self, place: int, found: tuple[Node, Floats]) -> None:
        """The outcome of a task."""
        r, t = self.grid.at(found[0])
        self._offer(self._fit(self._chosen[place][2], r, t), found[1], r, t)

    def _fit(self, columns: NDArray[np.intp] | None, r: float, t: float) -> Training:
        """The fit to all data, of all inputs or of some."""
        data = self.data if columns is None else self.data.on(columns)
        rows = data.counted(np.arange(len(data.X)))
        with Threads(1):
            fit = Trainer.placed(data.of(rows), rows, r, t, data.options).run()
        if columns is None:
            return fit
        of_all = replace(fit.model, columns=columns[fit.model.columns])
        return replace(fit, model=of_all, dropped=columns[fit.dropped])

    def _offer(self, fit: Training, errors: Floats, r: float, t: float) -> None:
        if subset := tuple(fit.model.columns.tolist()):
            X, y, weights = self.data.of(self.data.counted(np.arange(len(self.data.X))))
            off = np.average((y - fit.model.predict(X)) ** 2, weights=weights)
            step = Step(subset, float(errors.mean()), mean_se(errors), train_error=float(off))
            self.trail.offer(step, model=((r, t), fit))


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
