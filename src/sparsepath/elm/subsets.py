"""Swap search: forward, drop and exchange one feature at a time, judged by leave-one-out.

Not in the paper. A subset is worth the least leave-one-out error of a machine on it, over a few
common scalings and over all prefixes of the neurons; one fit gives all prefixes. The best subset of
every size is kept, and whenever one improves its neighbours are looked at again: one feature more,
one less, one exchanged. So {1} -> {1, 2} -> {3, 2} is found although {1} is no part of {2, 3}. A
size is grown from the best few of the size before, not from the best alone: exchanging one feature
at a time does not lead from one group of correlated features to another. At size two, where two
features that are good only together first show, all pairs are looked at if they are not too many.

The number of subsets that are looked at grows with the features times the sizes, and most are
hopeless. So they are judged in three stages, each for the few that were best in the one before:

- all of them by the first few neurons, on a sample of the rows if there are many;
- the few best of those looked at together by all neurons;
- those near the best of their size by several draws of the neurons, of which the mean decides. The
  score depends on the draw by one to three per cent with a hundred neurons, and the best of many
  subsets is one that was lucky in its draw.

Only the features that are missed least, when left out, are exchanged. All subsets of a size are
compared at the same common scalings: all of them up to size two, then the three around the best of
the size before. Scores of the best only fall and there are finitely many subsets, so the search
ends.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.data.threads import Threads
from sparsepath.elm.network import ROOM, Pool
from sparsepath.elm.scaling import Best, Candidate

SCALINGS = (0.1, 0.2, 0.5, 1.0)
BEAM = 5  # subsets of a size that the next larger size is grown from
EXCHANGED = 5  # features of a subset that are exchanged
PAIRS = 2000  # all pairs are looked at if there are no more than that: up to 63 features
FIRST_NEURONS, FIRST_ROWS = 30, 500  # of the first stage, at most
POOLS = 4  # draws of the neurons by which the few best are judged
PROMISING, LIKELY = 6, 1.3  # of those looked at together: at most so many, if so near, pass stage 1
HOPEFUL, NEAR = 5, 1.05  # and stage 2
RIDGE = 1e-3  # at least, while subsets are compared: less lets chance fits of single machines win
Subset = tuple[int, ...]
Judge = Callable[[Pool, Subset, Sequence[float]], Candidate]


def judge(pool: Pool, subset: Subset, scalings: Sequence[float] = SCALINGS) -> Candidate:
    """The best machine on a subset over common scalings and prefixes of the neurons."""
    found: list[Candidate] = []
    for value in scalings:
        scaling = np.zeros(len(pool.XT))
        scaling[list(subset)] = value
        found.append(best_prefix(pool, scaling))
    return min(found, key=lambda candidate: candidate.key)  # the first of equals


def judge_quickly(pool: Pool, subset: Subset, scalings: Sequence[float] = SCALINGS) -> Candidate:
    """The same in one compiled piece, for few neurons: there calls take longer than products."""
    from sparsepath.elm import descent

    neurons, target = pool.neurons, pool.target
    criterion, squares, place, m = descent.screen(
        pool.XT,
        neurons.weights,
        neurons.biases,
        target.rows,
        target.own,
        pool.ridge,
        ROOM,
        np.array(subset),
        np.array(scalings),
    )
    scaling = np.zeros(len(pool.XT))
    scaling[list(subset)] = scalings[place]
    return Candidate((criterion, squares), scaling, np.arange(m), pool.ridge)


def best_prefix(pool: Pool, scaling: Floats) -> Candidate:
    """The best machine of the first 1, 2, ..., m neurons of the pool at a scaling."""
    criteria, squares = pool.fit(scaling, slice(None)).prefixes()
    m = int(np.lexsort((squares, criteria))[0])
    key = (float(criteria[m]), float(squares[m]))
    return Candidate(key, scaling, np.arange(m + 1), pool.ridge)


class SwapSearch:
    """The search; call :meth:`run`.

    Parameters
    ----------
    pool : Pool
        Judges every subset that is looked at.
    others : sequence of Pool
        More draws of as many neurons; they judge the few best too.
    features : sequence of int
        The columns on offer.
    most : int
        The size to which the search goes.
    threads : Threads
        Subsets are judged side by side; what is found does not depend on their number.
    """

    def __init__(
        self,
        pool: Pool,
        others: Sequence[Pool],
        features: Sequence[int],
        most: int,
        threads: Threads,
    ) -> None:
        ridge = max(pool.ridge, RIDGE)
        self.pool, *self.others = (each.drawn(each.neurons, ridge) for each in (pool, *others))
        n = pool.target.n
        rows = np.random.default_rng(n).permutation(n)[:FIRST_ROWS]
        self.first = pool.part(FIRST_NEURONS, np.sort(rows), ridge)
        self.features, self.threads = tuple(features), threads
        self.most = min(most, len(self.features))
        self.best = Best()
        self.scalings: dict[int, tuple[float, ...]] = {}  # by size
        self.seen: dict[Subset, Candidate] = {}  # with the error of the first few neurons
        self.known: dict[Subset, Candidate] = {}  # some of them, with the error of the one pool
        self.steady: dict[Subset, Candidate] = {}  # some of these, with the mean error of all pools
        self.stopped = False

    def run(
        self, starts: Sequence[Subset] = (), watch: Callable[[Best], bool] | None = None
    ) -> Best:
        """Search size by size; ``watch`` is called after each and a true value stops the search.

        ``starts`` are subsets to be looked at when their size comes up.
        """
        for size in range(1, self.most + 1):
            self.scalings[size] = self._around(size)
            fresh = [subset for subset in starts if len(subset) == size]
            self.seen |= self._judged(judge_quickly, self.first, fresh)
            self.known |= self._judged(judge, self.pool, fresh)
            for subset in self.ranked(size - 1)[:BEAM] if size > 1 else [()]:
                fresh += self._larger(subset)
            if size == 2 and comb(len(self.features), 2) <= PAIRS:
                fresh += combinations(self.features, 2)
            self._look(fresh)
            changed = {size}
            while changed:
                level = min(changed)
                changed.discard(level)
                changed |= self._explore(level, size)
            if watch is not None and watch(self.best):
                self.stopped = True
                break
        return self.best

    def ranked(self, size: int) -> list[Subset]:
        """Subsets of a size, the best first: those that all pools have judged, then the others."""
        found = [subset for subset in self.known if len(subset) == size]
        scores = self.known | self.steady
        return sorted(found, key=lambda s: (s not in self.steady, scores[s].key, s))

    def _around(self, size: int) -> tuple[float, ...]:
        """The common scalings at which subsets of a size are compared."""
        if size <= 2:
            return SCALINGS
        at = SCALINGS.index(float(self.best.at[size - 1].scaling.max()))
        return SCALINGS[max(at - 1, 0) : at + 2]

    def _explore(self, level: int, size: int) -> set[int]:
        """Look at the neighbours of the best subset of a level; the levels that improved."""
        subset = self.best.at[level].subset
        changed: set[int] = set()
        if level < size:
            changed |= self._look(self._larger(subset))
        rests = [tuple(i for i in subset if i != left) for left in subset]
        if level > 1:
            changed |= self._look(rests)
            rests = sorted(rests, key=lambda rest: (self.seen[rest].key, rest))[:EXCHANGED]
        return changed | self._look([other for rest in rests for other in self._larger(rest)])

    def _larger(self, subset: Subset) -> list[Subset]:
        return [tuple(sorted((*subset, i))) for i in self.features if i not in subset]

    def _judged(
        self, judge: Judge, pool: Pool, subsets: Sequence[Subset]
    ) -> dict[Subset, Candidate]:
        """What a pool says of subsets."""
        found = self.threads.map(
            lambda subset: judge(pool, subset, self.scalings[len(subset)]), subsets
        )
        return dict(zip(subsets, found, strict=True))

    def _look(self, subsets: Sequence[Subset]) -> set[int]:
        """Judge subsets, all of a size, as far as they are new; the size, if its best improved."""
        together = sorted(set(subsets))
        unseen = [s for s in together if s not in self.seen]
        self.seen |= self._judged(judge_quickly, self.first, unseen)
        unknown = [s for s in together if s not in self.known]
        promising = self._few(unknown, self.seen, PROMISING, LIKELY)
        self.known |= self._judged(judge, self.pool, promising)
        unsteady = [s for s in together if s in self.known and s not in self.steady]
        hopeful = self._few(unsteady, self.known, HOPEFUL, NEAR)
        judged = self.threads.map(lambda subset: self._by_all(self.known[subset]), hopeful)
        self.steady |= zip(hopeful, judged, strict=True)
        return {len(subset) for subset in hopeful if self.best.offer(self.steady[subset])}

    def _few(
        self, subsets: Sequence[Subset], scores: dict[Subset, Candidate], most: int, near: float
    ) -> list[Subset]:
        """The few with scores near that of the best of their size, or near the first of them."""
        few = sorted(subsets, key=lambda subset: scores[subset].key)[:most]
        if not few:
            return []
        size = len(few[0])
        best = self.best.at[size].subset if size in self.best.at else few[0]
        return [s for s in few if scores[s].key[0] <= near * scores[best].key[0]]

    def _by_all(self, found: Candidate) -> Candidate:
        """The same machine with the mean of the scores of all pools at its common scaling."""
        keys = [found.key, *(best_prefix(pool, found.scaling).key for pool in self.others)]
        criterion, squares = np.mean(keys, axis=0).tolist()
        return Candidate((criterion, squares), found.scaling, found.which, found.ridge)
