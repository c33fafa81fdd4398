"""Search from coarse to fine, with removal of inputs.

1. A walk over every second node of the grid starts at the middle r with every second t, and moves
   from the best node to better neighbours. It uses all inputs. A node that is clearly worse than
   the best one on two splits is not tried on the others.
2. The least important inputs of the best node are removed step by step. The importance of an input
   is the increase of the test error when it is permuted. Each fit starts from the solution with
   more inputs.
3. For the inputs with the lowest error, a second walk covers all nodes and extends beyond the ends
   of the grid; then inputs are removed again.

A small t selects few inputs but also makes the Gaussians wide, so the inputs may be right and the
error still large; hence the third step. Fits on training parts end when mu is a small fraction of
the error, and are not pruned; fits to all data for the path are complete. All training parts use
the same inputs, which depend on all test parts, so the errors are a selection criterion.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from sparsepath.rbf.grid import (
    BudgetPath,
    Fold,
    GridData,
    Node,
    Split,
    mean_error,
    samples_se,
    score_fit,
)
from sparsepath.rbf.model import Trainer, Training
from sparsepath.rbf.narrowing import BETTER, MANY, first_inputs
from sparsepath.rbf.network import IN_USE
from sparsepath.rbf.primal_dual import RBFSolution
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

Columns = NDArray[np.intp]

COARSE = 2  # nodes from one of the first walk to the next
FIRST_SPLITS = 2  # on which a node is tried at first,
LOSING = 1.1  # and times the error of the best there: it is not tried on the others
ONE_BY_ONE = 8  # inputs from which on one is left out at a time; of more of them half stay
LEAST_START = 1e-4  # of the largest weight: what an input starts with at least
SHUFFLES = 3  # of an input on a test part


@dataclass(frozen=True, eq=False)
class QuickFit:
    """Approximate solution for comparing budgets, and its test error."""

    fold: Fold  # its columns are places among the inputs that were offered
    trainer: Trainer | None = None  # None: no inputs
    solution: RBFSolution | None = None
    inputs: Columns = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def on(self, inputs: Columns, samples: Columns | None) -> RBFSolution | None:
        """Return the solution with some inputs as a start; None if its centres differ."""
        if self.trainer is None or self.solution is None or samples is None:
            return None
        centres = self.trainer.samples
        if centres is None or not np.array_equal(samples, centres):
            return None
        if not np.isin(inputs, self.inputs).all():
            return None
        w = self.solution.w[np.searchsorted(self.inputs, inputs)]
        lifted = np.maximum(w, LEAST_START * w.max())  # of many inputs some have no weight at all
        lifted *= w.sum() / lifted.sum()
        return replace(self.solution, w=lifted) if w.any() else None


def quick_fit(
    data: GridData,
    split: Split,
    columns: Columns,
    budgets: tuple[float, float],
    start: QuickFit | None = None,
) -> QuickFit:
    """Fit some inputs on the training fold of a split."""
    train, test = map(data.counted, split)
    part = data.on(columns)
    of_test = part.of(test)
    with Threads(1):
        trainer = Trainer.placed(part.of(train), train, *budgets, part.options)
        inputs = columns[trainer.inputs]
        solution = trainer.quick(None if start is None else start.on(inputs, trainer.samples))
        sizes = np.abs(solution.alpha[1:])
        n_centres = int(np.count_nonzero(sizes > IN_USE * sizes.max()))
        outputs = trainer.outputs(solution, of_test[0])
        used = trainer.used(solution)
    fold = score_fit(of_test, outputs, used, n_centres, solution.converged)
    return QuickFit(fold, trainer, solution, inputs)


def importances(data: GridData, split: Split, columns: Columns, fit: QuickFit) -> Floats:
    """Return the increase of the test error when each input is permuted."""
    X, y, weights = data.on(columns).of(data.counted(split[1]))
    out = np.zeros(len(columns))
    rng = np.random.default_rng(data.options.random_state)
    orders = [rng.permutation(len(X)) for _ in range(SHUFFLES)]
    Z = X.copy()
    if fit.trainer is None or fit.solution is None:
        return out
    with Threads(1):
        for i in fit.fold.columns:
            for order in orders:
                Z[:, i] = X[order, i]
                off = fit.trainer.outputs(fit.solution, Z) - y
                out[i] += float(np.average(off * off, weights=weights)) / SHUFFLES
            Z[:, i] = X[:, i]
            out[i] -= fit.fold.error
    return out


@dataclass(frozen=True, eq=False)
class NodeFits:
    """Some inputs at a grid node: fits on all splits, and last on all data."""

    node: Node
    columns: Columns  # ascending
    fits: list[QuickFit]

    @property
    def folds(self) -> list[Fold]:
        return [fit.fold for fit in self.fits[:-1]]

    @property
    def error(self) -> float:
        return mean_error(self.folds)


def next_size(size: int) -> int:
    """Return the next smaller number of inputs to try.

    >>> [next_size(30), next_size(9), next_size(8)]
    [15, 8, 7]
    """
    return size - 1 if size <= ONE_BY_ONE else max(ONE_BY_ONE, size // 2)


class CoarseToFine(BudgetPath):
    """See the module."""

    def search(self, n_jobs: int | None) -> Iterator[str]:
        """Yields what was done."""
        self._n_jobs = n_jobs
        rows = np.arange(len(self.data.X))
        self._parts = [*self.splits, (rows, rows[:0])]  # the last is all data
        middle_r, middle_t = (len(each.values) // 2 for each in (self.grid.r, self.grid.t))
        starts = [(middle_r, j) for j in range(0, len(self.grid.t.values), COARSE)]
        starts.sort(key=lambda node: abs(node[1] - middle_t))
        self.offer_mean()
        yield "the mean"
        self._everything = self._working_set(starts[0])
        first = self._candidate(starts[0], self._everything)
        self._offered(first)
        yield "first budgets"
        best = yield from self._walk(first, starts[1:], self._coarsely_around)
        found = yield from self._eliminated(best)
        least = min(found, key=lambda each: each.error)
        best = yield from self._walk(least, [], self.grid.around)
        for each in found:
            if best is least or len(each.columns) > len(best.columns):
                self._offered(each)
        if best is not least:
            for each in (yield from self._eliminated(best)):
                self._offered(each)
                yield f"{len(each.columns)} inputs"

    def _working_set(self, node: Node) -> Columns:
        """The inputs to search among; of many the first working set of a fit to all data."""
        rows, data = self.rows, self.data
        if data.X.shape[1] <= MANY:
            return np.arange(data.X.shape[1])
        with Threads(1):
            trainer = Trainer.placed(data.of(rows), rows, *self.grid.at(node), data.options)
            return trainer.inputs[first_inputs(trainer.network, trainer.r, trainer.t)]

    def _coarsely_around(self, node: Node) -> list[Node]:
        i, j = node
        n_r, n_t = len(self.grid.r.values), len(self.grid.t.values)
        around = [(i - COARSE, j), (i + COARSE, j), (i, j - COARSE), (i, j + COARSE)]
        return [(k, m) for k, m in around if 0 <= k < n_r and 0 <= m < n_t]

    def _walk(
        self, best: NodeFits, starts: Sequence[Node], around: Callable[[Node], list[Node]]
    ) -> Generator[str, None, NodeFits]:
        """Move from the best node to better neighbours, by at least a thousandth."""
        columns, tried = best.columns, {best.node}
        ahead = list(starts) or around(best.node)
        while ahead:
            before = best
            for node in ahead:
                if node not in tried:
                    tried.add(node)
                    found = self._raced(node, columns, best)
                    best = best if found is None else found
            yield f"r = {self.grid.at(best.node)[0]:.3g}, t = {self.grid.at(best.node)[1]:.3g}"
            ahead = around(best.node) if starts or best is not before else []
            starts = []
        return best

    def _raced(self, node: Node, columns: Columns, best: NodeFits) -> NodeFits | None:
        """Return the candidate at a node if it is better than the best one."""
        few = min(FIRST_SPLITS, len(self.splits))
        fits = self._fits(node, columns, range(few))
        error, bound = (mean_error([fit.fold for fit in each[:few]]) for each in (fits, best.fits))
        if error > LOSING * bound:
            return None
        rest = range(few, len(self.splits))
        fits += self._fits(node, columns, rest)
        folds = [fit.fold for fit in fits]
        if len(columns) == len(self._everything):
            self.tried[node] = folds
        if not mean_error(folds) < BETTER * best.error:
            return None
        return NodeFits(node, columns, fits + self._fits(node, columns, [len(self.splits)]))

    def _eliminated(self, best: NodeFits) -> Generator[str, None, list[NodeFits]]:
        """The candidate and those with fewer inputs, to the second in a row that is worse than the
        best by more than its standard error.
        """
        found = [best]
        while len(found[-1].columns) > 1:
            columns = self._most_important(found[-1], next_size(len(found[-1].columns)))
            found.append(self._candidate(best.node, columns, found[-1].fits))
            yield f"{len(columns)} inputs"
            least = min(found, key=lambda each: each.error)
            bound = least.error + samples_se(least.folds)
            if min(each.error for each in found[-2:]) > bound:
                break
        return found

    def _most_important(self, found: NodeFits, size: int) -> Columns:
        """Return the most important inputs, ascending."""
        each = zip(self.splits, found.fits, strict=False)  # not the fit to all data
        total = sum(
            Parallel(self._n_jobs)(
                delayed(importances)(self.data, split, found.columns, fit) for split, fit in each
            )
        )
        return np.sort(found.columns[np.argsort(-total, kind="stable")[:size]])

    def _candidate(self, node: Node, columns: Columns, starts: Sequence[QuickFit] = ()) -> NodeFits:
        found = NodeFits(node, columns, self._fits(node, columns, range(len(self._parts)), starts))
        if len(columns) == len(self._everything):
            self.tried[node] = found.folds
        return found

    def _fits(
        self, node: Node, columns: Columns, splits: Sequence[int],
        starts: Sequence[QuickFit] = (),
    ) -> list[QuickFit]:  # fmt: skip
        budgets = self.grid.at(node)
        return list(
            Parallel(self._n_jobs)(
                delayed(quick_fit)(
                    self.data, self._parts[k], columns, budgets, starts[k] if starts else None
                )
                for k in splits
            )
        )

    def _offered(self, found: NodeFits) -> Training:
        """Fit all data completely, and put the fit on the path."""
        columns, quick = found.columns, found.fits[-1]
        fit = self.complete(
            found.node, columns, lambda of: quick.on(columns[of.inputs], of.samples)
        )
        self.offer(found.node, fit, found.folds)
        return fit
