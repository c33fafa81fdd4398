"""The grid of both budgets: its range, the fits of one fold, and results per t.

A small t selects few inputs but also makes the Gaussians wide, so the inputs may be right and the
error still large. So for every t the selected inputs are refitted with new budgets ("relaxed"), on
every training part with the inputs selected there, so that the error is still a cross-validation
error. A descent over the nodes of the same grid, and beyond its ends unless the budgets were given,
finds these budgets. As in the paper, all pairs of budgets are tried, with complete fits;
``elimination`` is the search without given budgets and with relaxed refits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from sparsepath.base import Trail
from sparsepath.path.steps import Step
from sparsepath.rbf.model import RBFOptions, Trainer, Training, empty_model
from sparsepath.rbf.narrowing import BETTER
from sparsepath.rbf.primal_dual import RBFSolution
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
Node = tuple[int, int]
Place = TypeVar("Place")

SMALLEST_R, MOST_PER_CENTRE = 2.0, 4.0
DISTANCES = (0.04, 10.0)  # the mean weighted squared distance of two samples, at the ends of t

BEYOND = 3  # steps that relaxed budgets may go beyond the ends of their grid


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
    squares: Floats  # squared residuals of the test part
    weights: Floats | None  # of its samples
    columns: NDArray[np.intp]
    n_centres: int
    converged: bool

    def numbers(self) -> tuple[float, int, int, bool]:
        return self.error, len(self.columns), self.n_centres, self.converged


def score_fit(
    of_test: tuple[Floats, Floats, Floats | None],
    outputs: Floats,
    columns: NDArray[np.intp],
    n_centres: int,
    converged: bool,
) -> Fold:
    """Return the score of a fit from its outputs for a test fold."""
    _, y, weights = of_test
    squares = (y - outputs) ** 2
    error = float(np.average(squares, weights=weights)) if len(y) else np.nan
    return Fold(error, squares, weights, columns, n_centres, converged)


class SplitFits:
    """Fits on the training part of one split, which share its data: one may run at a time."""

    def __init__(self, data: GridData, split: Split) -> None:
        train, test = map(data.counted, split)
        X, y, weights = data.of(train)
        self._test = data.of(test)
        self._mean = float(np.average(y, weights=weights))
        self._trainer = None
        if X.shape[1]:
            self._trainer = Trainer.placed((X, y, weights), train, 1.0, 1.0, data.options)

    def at(self, r: float, t: float) -> Fold:
        """The fit of these budgets; without inputs it is the mean."""
        if self._trainer is None:
            means = np.full(len(self._test[1]), self._mean)
            return score_fit(self._test, means, np.zeros(0, dtype=np.intp), 0, True)
        fit = self._trainer.at(r, t).run()
        model, converged = fit.model, fit.solution.converged
        outputs = model.predict(self._test[0])
        return score_fit(self._test, outputs, model.columns, len(model.coef), converged)


def fold(data: GridData, split: Split, rs: Sequence[float], t: float) -> list[Fold]:
    """Return the fits of every r on one split."""
    with Threads(1):
        fits = SplitFits(data, split)
        return [fits.at(float(r), t) for r in rs]


def relax(
    data: GridData,
    splits: Sequence[Split],
    grid: Grid,
    chosen: Sequence[NDArray[np.intp]],
    starts: Sequence[Node],
) -> tuple[Node, list[Fold]]:
    """Budgets for inputs that were chosen on each split, and the fits on the splits.

    From the best of the starts to the best node around it as long as that is better, by a
    thousandth at least.
    """
    known: dict[Node, list[Fold]] = {}

    def error(node: Node) -> float:
        if node not in known:
            r, t = grid.at(node)
            known[node] = [each.at(r, t) for each in fits]
        return mean_error(known[node])

    with Threads(1):
        fits = [
            SplitFits(data.on(columns), split)
            for split, columns in zip(splits, chosen, strict=True)
        ]
        at = descend(min(starts, key=error), grid.around, error)
        return at, known[at]


def descend(
    start: Place, around: Callable[[Place], list[Place]], error: Callable[[Place], float]
) -> Place:
    """Descend from a node to better neighbours, by at least a thousandth."""
    at = start
    while True:
        best = min(around(at), key=error, default=at)
        if not error(best) < BETTER * error(at):
            return at
        at = best


class BudgetPath:
    """The path of a search: for every number of inputs the best budgets and fit to all data.

    ``trail`` has ((r, t), Training) of every size.
    """

    def __init__(self, data: GridData, splits: Sequence[Split], grid: Grid) -> None:
        self.data, self.splits, self.grid = data, splits, grid
        self.trail = Trail()
        self.tried: dict[Node, Sequence[Fold]] = {}  # the fits with all inputs

    def search(self, n_jobs: int | None) -> Iterator[str]:
        """Make the search; yields what was done."""
        raise NotImplementedError

    @property
    def ts(self) -> Floats:
        """The values of t."""
        return self.grid.t.values

    @property
    def rows(self) -> NDArray[np.intp]:
        """The samples that count."""
        return self.data.counted(np.arange(len(self.data.X)))

    def offer_mean(self) -> None:
        """If nothing predicts, the mean does: the empty model, where the solver starts."""
        nothing, budgets = self.data.on(np.zeros(0, dtype=np.intp)), self.grid.at((0, 0))
        empty = [fold(nothing, split, budgets[:1], budgets[1])[0] for split in self.splits]
        mean = float(np.average(self.data.y, weights=self.data.weights))
        with Threads(1):
            start = Trainer.placed(
                self.data.of(self.rows), self.rows, *budgets, self.data.options
            ).at_start()
        training = Training(empty_model(mean), start, np.zeros(0, dtype=np.intp), start.error)
        self.trail.offer(Step((), mean_error(empty), samples_se(empty)), model=(budgets, training))

    def offer(self, node: Node, fit: Training, folds: Sequence[Fold]) -> None:
        """A fit to all data, with those on the splits that say its error."""
        if subset := tuple(fit.model.columns.tolist()):
            X, y, weights = self.data.of(self.rows)
            off = np.average((y - fit.model.predict(X)) ** 2, weights=weights)
            error, se = mean_error(folds), samples_se(folds)
            step = Step(subset, error, se, train_error=float(off))
            self.trail.offer(step, model=(self.grid.at(node), fit))

    def complete(
        self,
        node: Node,
        columns: NDArray[np.intp] | None = None,
        start: Callable[[Trainer], RBFSolution | None] = lambda trainer: None,
    ) -> Training:
        """The fit to all data, of all inputs or of some; ``start`` is that of ``Trainer.run``."""
        data, rows = self.data if columns is None else self.data.on(columns), self.rows
        with Threads(1):
            trainer = Trainer.placed(data.of(rows), rows, *self.grid.at(node), data.options)
            fit = trainer.run(start=start(trainer))
        if columns is None:
            return fit
        of_all = replace(fit.model, columns=columns[fit.model.columns])
        return replace(fit, model=of_all, dropped=columns[fit.dropped])


class FullGrid(BudgetPath):
    """Every pair of budgets; the inputs of the best r of every t are then relaxed, if wanted."""

    @property
    def ts(self) -> Floats:
        """Values of t that are finished."""
        return self.grid.t.values[sorted({place for _, place in self.tried})]

    def __init__(
        self, data: GridData, splits: Sequence[Split], grid: Grid, *, relaxed: bool
    ) -> None:
        super().__init__(data, splits, grid)
        self.relaxed = relaxed

    def search(self, n_jobs: int | None) -> Iterator[str]:
        """Yields what was done."""
        self.offer_mean()
        yield "the mean"
        best: list[tuple[Node, NDArray[np.intp]]] = []  # of every t, with the inputs of its fit
        for place, t in enumerate(self.grid.t.values):
            best.append(self._best_at(place, n_jobs))
            yield f"t = {t:.3g}"
        if not self.relaxed:
            return
        least = min((node for node, _ in best), key=lambda node: mean_error(self.tried[node]))
        tasks = [(node, columns) for node, columns in best if self._relaxable(node, columns)]
        done = Parallel(n_jobs, return_as="generator")(
            delayed(relax)(self.data, self.splits, self.grid, self._of_splits(node), [node, least])
            for node, _ in tasks
        )
        try:
            for (node, columns), (at, folds) in zip(tasks, done, strict=True):
                self.offer(at, self.complete(at, columns), folds)
                yield f"t = {self.grid.at(node)[1]:.3g}, relaxed"
        finally:
            done.close()

    def _best_at(self, place: int, n_jobs: int | None) -> tuple[Node, NDArray[np.intp]]:
        """The best r for a t, and the inputs that it uses on all data."""
        rs, t = self.grid.r.values, float(self.grid.t.values[place])
        rows = Parallel(n_jobs)(delayed(fold)(self.data, split, rs, t) for split in self.splits)
        found = {(i, place): [row[i] for row in rows] for i in range(len(rs))}
        node = min(found, key=lambda node: mean_error(found[node]))
        fit = self.complete(node)
        self.offer(node, fit, found[node])
        self.tried |= found
        return node, np.sort(fit.model.columns)

    def _of_splits(self, node: Node) -> list[NDArray[np.intp]]:
        return [np.sort(each.columns) for each in self.tried[node]]

    def _relaxable(self, node: Node, columns: NDArray[np.intp]) -> bool:
        """Whether a node selected some of the inputs, or the grid can be extended there."""
        some = len(columns) < self.data.X.shape[1] or self.grid.leads_out(node)
        return len(columns) > 0 and some


def mean_error(folds: Sequence[Fold]) -> float:
    """The mean over the splits."""
    return float(np.mean([each.error for each in folds]))


def samples_se(folds: Sequence[Fold]) -> float:
    """Standard error of the mean squared error over all test samples.

    A few splits would give a few numbers, and a standard error that is often far too small.
    """
    squares = np.concatenate([each.squares for each in folds])
    if folds[0].weights is None:
        return mean_se(squares)
    return mean_se(squares, np.concatenate([each.weights for each in folds if len(each.squares)]))


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
