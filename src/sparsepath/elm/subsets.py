"""Swap search: add, drop and exchange single features by the leave-one-out error.

This search is not in the paper. The score of a subset is the lowest leave-one-out error of a
machine on it, over a few common scalings and all prefixes of the neurons (one fit gives all
prefixes). The best subset of every size is kept, and whenever one improves, its neighbours are
evaluated again: one feature more, one less, one exchanged. So {1} -> {1, 2} -> {3, 2} is found
although {2, 3} does not contain {1}. A size is grown from the best few subsets of the previous
size, not only from the best one, because exchanging single features does not lead from one group of
correlated features to another. Interacting features are found by their products
(:mod:`sparsepath.elm.pairs`): the best subset of every size is tried with the pairs that best
explain its residuals.

If there are many features, most are useless, so not every subset is combined with every feature.
Only the best subset of a size is, which ranks the features for the next size. The other subsets use
the first features of that ranking. With up to twenty features, all are used. Unless a size was
requested, a path ends when several sizes in a row have gained nothing.

Subsets are evaluated in three stages, each for the best few of the previous one:

- all of them with the first few neurons, on a sample of the rows if there are many, from size three
  on with the common scaling that was best for the previous size;
- the best few with all neurons, on the same rows;
- those near the best of their size on all rows, with several draws of the neurons, whose mean
  decides. With a hundred neurons the score varies by one to three per cent between draws, so that
  the best of many subsets is partly best by chance.

Only the least useful features are exchanged. All subsets of a size are compared with the same
common scalings: all scalings up to size two, then the three around the best one of the previous
size. The best scores only decrease and there are finitely many subsets, so the search ends.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from sparsepath.elm.pairs import best_pairs, polynomials, unit_rows
from sparsepath.elm.polish import tune_ridge
from sparsepath.elm.pool import Pool
from sparsepath.elm.rough import RoughJudge, Subset
from sparsepath.elm.scaling import Best, Candidate
from sparsepath.system.threads import Threads

SCALINGS = (0.1, 0.2, 0.5, 1.0)
# Subsets of a size that the next is grown from, features of a subset that are exchanged, subsets
# that pass a stage.
FEW = 5
LISTED = 20  # features that are tried, by rank
PAIRS_OF = 400  # features of which all pairs are ranked: those that are best alone
GAINED = 0.99  # of the least score: what is less is a gain
FIRST_NEURONS, FIRST_ROWS = 30, 500  # of the first stage, at most
POOLS = 4  # draws of the neurons by which the few best are judged
# Times the error of the best of its size: a subset that passes a stage. Without this bound a search
# takes 1.15 times as long, with errors 1.1 % larger (standard error 1.3).
NEAR = 1.1
RIDGE = 1e-3  # at least, while subsets are compared: less lets chance fits of single machines win


class SwapSearch:
    """The swap search; call :meth:`run`.

    Parameters
    ----------
    pool : Pool
        Evaluates every subset that is tried.
    others : sequence of Pool
        More draws of equally many neurons; they also evaluate the best few subsets.
    features : sequence of int
        The columns on offer.
    most : int
        The size to which the search goes.
    threads : Threads
        Subsets are judged side by side; what is found does not depend on their number.
    patience : int, optional
        After so many sizes without a gain the search ends; default: never.
    wanted : int
        A size before which it does not end.
    """

    def __init__(
        self,
        pool: Pool,
        others: Sequence[Pool],
        features: Sequence[int],
        most: int,
        threads: Threads,
        patience: int | None = None,
        wanted: int = 0,
    ) -> None:
        ridge = max(pool.ridge, RIDGE)
        self.sample = pool.sample(FIRST_ROWS)
        self.on_sample = self.sample is not pool
        self.first = RoughJudge(self.sample, ridge, FIRST_NEURONS)
        self.judge = RoughJudge(self.sample, ridge)
        self.judge_all_rows, *self.others = (RoughJudge(each, ridge) for each in (pool, *others))
        self.features, self.threads = tuple(features), threads
        self.most = min(most, len(self.features))
        self.patience = self.most if patience is None else patience
        self.wanted = wanted
        self.best = Best()
        self.scalings: dict[int, tuple[float, ...]] = {}  # by size
        self.typical: dict[int, tuple[float, ...]] = {}  # by size: those of the first stage
        self.listed: dict[int, tuple[int, ...]] = {1: self.features}  # to be tried, by size
        self.seen: dict[Subset, Candidate] = {}  # with the error of the first few neurons
        self.known: dict[Subset, Candidate] = {}  # some of them, with the error of all its neurons
        self.steady: dict[Subset, Candidate] = {}  # some of these, with the mean error of all pools
        self.stopped = False
        self._functions = polynomials(self.sample.XT)
        self._paired = self.features

    def run(
        self, starts: Sequence[Subset] = (), watch: Callable[[Best], bool] | None = None
    ) -> Best:
        """Search size by size; ``watch`` is called after each and a true value stops the search.

        ``starts`` are subsets to be looked at when their size comes up.
        """
        for size in range(1, self.most + 1):
            self.scalings[size] = self._around(size)
            self.typical[size] = self.scalings[size] if size <= 2 else self._best_of(size - 1)
            fresh = [subset for subset in starts if len(subset) == size]
            if size > 1:
                fresh += self._with_pairs(size - 2)
            self._admit(fresh)
            self._look([*fresh, *self._grown(size)])
            if size == 1:
                alone = sorted(self.features, key=lambda i: (self.seen[i,].key, i))
                self._paired = tuple(sorted(alone[:PAIRS_OF]))
            changed = {size}
            while changed:
                level = min(changed)
                changed.discard(level)
                changed |= self._explore(level, size)
            if watch is not None and watch(self.best):
                self.stopped = True
                break
            if size >= self.wanted and self.gained_nothing():
                break
        return self.best

    def gains(self, size: int) -> bool:
        """Return whether the best score of a size is below those of all smaller sizes."""
        smaller = [self.best.criterion(k) for k in self.best.at if k < size]
        return self.best.criterion(size) < GAINED * min(smaller, default=np.inf)

    def gained_nothing(self) -> bool:
        """Return whether the last few sizes are no better than an earlier one."""
        scores = [self.best.criterion(size) for size in sorted(self.best.at)]
        before, last = scores[: -self.patience], scores[-self.patience :]
        return bool(before) and min(last) >= GAINED * min(before)

    def ranked(self, size: int) -> list[Subset]:
        """Subsets of a size, the best first: those that all pools have judged, then the others."""
        found = [subset for subset in self.known if len(subset) == size]
        scores = self.known | self.steady
        return sorted(found, key=lambda s: (s not in self.steady, scores[s].key, s))

    def _around(self, size: int) -> tuple[float, ...]:
        """Return the common scalings at which subsets of a size are compared."""
        if size <= 2:
            return SCALINGS
        at = SCALINGS.index(*self._best_of(size - 1))
        return SCALINGS[max(at - 1, 0) : at + 2]

    def _best_of(self, size: int) -> tuple[float]:
        """Return the common scaling of the best subset of a size."""
        return (float(self.best.at[size].scaling.max()),)

    def _explore(self, level: int, size: int) -> set[int]:
        """Look at the neighbours of the best subset of a level; the levels that improved."""
        subset = self.best.at[level].subset
        changed: set[int] = set()
        if level < size:
            self._rank(subset)
            changed |= self._look(self._larger(subset, self.features))
        if level + 1 < size:
            pairs = self._with_pairs(level)
            self._admit(pairs)
            changed |= self._look(pairs)
        few = [tuple(i for i in subset if i != left) for left in subset]
        if level > 1:
            changed |= self._look(few)
            few = sorted(few, key=lambda rest: (self.seen[rest].key, rest))[:FEW]
        exchanged = [other for rest in few for other in self._larger(rest, self.listed[level])]
        return changed | self._look(exchanged)

    def _grown(self, size: int) -> list[Subset]:
        """Return the best few subsets of the previous size with one more feature."""
        if size == 1:
            return [(i,) for i in self.features]
        first, *others = self.ranked(size - 1)[:FEW]
        self._rank(first)
        fresh = self._larger(first, self.features)
        for subset in others:
            fresh += self._larger(subset, {*self.listed[size], *first})
        return fresh

    def _with_pairs(self, level: int) -> list[Subset]:
        """Return the best subset of a level with pairs that explain most of its residuals.

        All neurons judge them: with a few it hardly shows what a weaker pair adds to a stronger.
        """
        pool, base = self.sample, self.best.at[level].subset if level else ()
        residuals, modulators = pool.target.rows, np.ones((1, pool.target.n))
        if base:
            machine = tune_ridge(pool, self.best.at[level].scaling)
            fit = pool.fit(machine.scaling, machine.which, machine.ridge)
            residuals, outputs = fit.leave_one_out().residuals, unit_rows(pool.target.rows - fit.E)
            modulators = np.vstack([modulators, self._functions[0, list(base)], outputs])
        rest = [i for i in self._paired if i not in base]
        pairs = best_pairs(self._functions[:, rest], residuals, modulators, FEW)
        return [tuple(sorted((*base, rest[i], rest[j]))) for i, j in pairs]

    def _admit(self, subsets: Sequence[Subset]) -> None:
        """Judge subsets by all neurons at once, whatever the first few would say of them."""
        for judge, known in ((self.first, self.seen), (self.judge, self.known)):
            known |= self._judged(judge, [s for s in subsets if s not in known])

    def _rank(self, subset: Subset) -> None:
        """List the features that are best together with a subset, for the next larger size."""
        larger = {other: i for i in self.features for other in self._larger(subset, [i])}
        unseen = [other for other in larger if other not in self.seen]
        self.seen |= self._judged(self.first, unseen)
        order = sorted(larger, key=lambda other: (self.seen[other].key, other))
        self.listed[len(subset) + 1] = (*subset, *(larger[other] for other in order[:LISTED]))

    @staticmethod
    def _larger(subset: Subset, features: Iterable[int]) -> list[Subset]:
        return [tuple(sorted((*subset, i))) for i in features if i not in subset]

    def _judged(self, judge: RoughJudge, subsets: Sequence[Subset]) -> dict[Subset, Candidate]:
        """Return the scores of subsets."""
        scalings = self.typical if judge is self.first else self.scalings
        found = self.threads.map(lambda subset: judge(subset, scalings[len(subset)]), subsets)
        return dict(zip(subsets, found, strict=True))

    def _look(self, subsets: Sequence[Subset]) -> set[int]:
        """Judge subsets, all of a size, as far as they are new; the size, if its best improved."""
        together = sorted(set(subsets))
        unseen = [s for s in together if s not in self.seen]
        self.seen |= self._judged(self.first, unseen)
        unknown = [s for s in together if s not in self.known]
        promising = self._few(unknown, self.seen)
        self.known |= self._judged(self.judge, promising)
        unsteady = [s for s in together if s in self.known and s not in self.steady]
        hopeful = self._few(unsteady, self.known)
        self.steady |= zip(hopeful, self._by_all(hopeful), strict=True)
        return {len(subset) for subset in hopeful if self.best.offer(self.steady[subset])}

    def _few(self, subsets: Sequence[Subset], scores: dict[Subset, Candidate]) -> list[Subset]:
        """Return the few subsets with scores near the best of their size."""
        few = sorted(subsets, key=lambda subset: scores[subset].key)[:FEW]
        if not few:
            return []
        size = len(few[0])
        best = self.best.at[size].subset if size in self.best.at else few[0]
        return [s for s in few if scores[s].key[0] <= NEAR * scores[best].key[0]]

    def _by_all(self, subsets: Sequence[Subset]) -> list[Candidate]:
        """Return machines with the mean score of all pools, on all rows, at one scaling."""
        judged = self.known
        if self.on_sample:
            judged = self._judged(self.judge_all_rows, subsets)
        found = [judged[subset] for subset in subsets]
        tasks = [(judge, machine) for machine in found for judge in self.others]
        scores = iter(
            self.threads.map(
                lambda task: task[0](task[1].subset, (float(task[1].scaling.max()),)).key, tasks
            )
        )
        steady = []
        for machine in found:
            keys = [machine.key, *(next(scores) for _ in self.others)]
            criterion, squares = np.mean(keys, axis=0).tolist()
            steady.append(replace(machine, key=(criterion, squares)))
        return steady
