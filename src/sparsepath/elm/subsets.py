"""Swap search: forward, drop and exchange one feature at a time, judged by leave-one-out.

Not in the paper. A subset is worth the least leave-one-out error of a machine on it, over a few
common scalings and over all prefixes of the neurons; one fit gives all prefixes. The best subset of
every size is kept, and whenever one improves its neighbours are looked at again: one feature more,
one less, one exchanged. So {1} -> {1, 2} -> {3, 2} is found although {1} is no part of {2, 3}. A
size is grown from the best few of the size before, not from the best alone: exchanging one feature
at a time does not lead from one group of correlated features to another.
Scores only fall and there are finitely many subsets, so the search ends.
"""

from collections.abc import Callable, Sequence

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.data.threads import Threads
from sparsepath.elm.network import Pool
from sparsepath.elm.scaling import Best, Candidate

SCALINGS = (0.1, 0.2, 0.5, 1.0)
BEAM = 5  # subsets of a size that the next larger size is grown from
RIDGE = 1e-3  # at least, while subsets are compared: less lets chance fits of single machines win
Subset = tuple[int, ...]


def judge(pool: Pool, subset: Subset) -> Candidate:
    """The best machine on a subset over common scalings and prefixes of the neurons."""
    found: list[Candidate] = []
    for value in SCALINGS:
        scaling = np.zeros(len(pool.XT))
        scaling[list(subset)] = value
        found.append(best_prefix(pool, scaling))
    return min(found, key=lambda candidate: candidate.key)  # the first of equals


def best_prefix(pool: Pool, scaling: Floats) -> Candidate:
    """The best machine of the first 1, 2, ..., m neurons of the pool at a scaling."""
    criteria, squares = pool.fit(scaling, slice(None)).prefixes()
    m = int(np.lexsort((squares, criteria))[0])
    key = (float(criteria[m]), float(squares[m]))
    return Candidate(key, scaling, np.arange(m + 1))


class SwapSearch:
    """The search; call :meth:`run`.

    Parameters
    ----------
    pool : Pool
    features : sequence of int
        The columns on offer.
    most : int
        The size to which the search goes.
    threads : Threads
        Subsets are judged side by side; what is found does not depend on their number.
    """

    def __init__(self, pool: Pool, features: Sequence[int], most: int, threads: Threads) -> None:
        self.pool = Pool(pool.XT, pool.target, pool.neurons, max(pool.ridge, RIDGE))
        self.features, self.threads = tuple(features), threads
        self.most = min(most, len(self.features))
        self.best = Best()
        self.known: dict[Subset, Candidate] = {}
        self.stopped = False

    def run(
        self, starts: Sequence[Subset] = (), watch: Callable[[Best], bool] | None = None
    ) -> Best:
        """Search size by size; ``watch`` is called after each and a true value stops the search.

        ``starts`` are subsets to be looked at when their size comes up.
        """
        for size in range(1, self.most + 1):
            for subset in self._leaders(size - 1):
                self._look(self._larger(subset))
            self._look([subset for subset in starts if len(subset) == size])
            changed = {size}
            while changed:
                level = min(changed)
                changed.discard(level)
                changed |= self._explore(level, size)
            if watch is not None and watch(self.best):
                self.stopped = True
                break
        return self.best

    def _explore(self, level: int, size: int) -> set[int]:
        """Look at the neighbours of the best subset of a level; the levels that improved."""
        subset = self.best.at[level].subset
        changed: set[int] = set()
        if level < size:
            changed |= self._look(self._larger(subset))
        rests = [tuple(i for i in subset if i != left) for left in subset]
        if level > 1:
            changed |= self._look(rests)
            # The feature that is missed least is exchanged first.
            rests.sort(key=lambda rest: self.known[rest].key)
        for rest in rests:
            improved = self._look(self._larger(rest))
            if improved:
                return changed | improved
        return changed

    def _leaders(self, size: int) -> list[Subset]:
        """The best few subsets of a size."""
        known = sorted((c.key, subset) for subset, c in self.known.items() if len(subset) == size)
        return [subset for _, subset in known[:BEAM]] if size else [()]

    def _larger(self, subset: Subset) -> list[Subset]:
        return [tuple(sorted((*subset, i))) for i in self.features if i not in subset]

    def _look(self, subsets: Sequence[Subset]) -> set[int]:
        """Judge those subsets that are new; the levels that improved."""
        new = [subset for subset in subsets if subset not in self.known]
        for subset, found in zip(
            new, self.threads.map(lambda s: judge(self.pool, s), new), strict=True
        ):
            self.known[subset] = found
        return {len(s) for s in sorted(new) if self.best.offer(self.known[s])}
