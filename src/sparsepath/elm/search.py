"""ELM-FS as a whole: restarts of Algorithm 1, swap search, polished scalings, one path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.data.threads import Threads
from sparsepath.elm.network import Machine, Pool
from sparsepath.elm.polish import polish
from sparsepath.elm.scaling import Best, Candidate, restart
from sparsepath.elm.subsets import SwapSearch, best_prefix
from sparsepath.path import Step

STRATEGIES = ("both", "scaling", "swap")
BATCH = 10  # restarts between two calls of the watcher
NEAR, RIVALS = 1.25, 3  # subsets whose score is that near the best are polished, at most so many
FIRST_ROUNDS = 5  # of polishing all of them, before one is chosen
CLEARLY = 0.9  # of the error of the best by score: less takes its place

Watch = Callable[[Best], bool]


@dataclass(frozen=True)
class Plan:
    """What is asked of a search."""

    strategy: str
    n_restarts: int
    n_levels: int  # k: the grid is 0, 1/k, ..., 1
    rule: str
    size: int  # the largest subset

    @property
    def n_reports(self) -> int:
        """The most calls of the watcher."""
        restarts = -(-self.n_restarts // BATCH) if self.strategy != "swap" else 0
        return restarts + (self.size + 1 if self.strategy != "scaling" else 0)


def search(
    pool: Pool,
    plan: Plan,
    seeds: Sequence[np.random.SeedSequence],
    threads: Threads,
    watch: Watch | None = None,
) -> tuple[Best, str]:
    """The best scaled machine of each size, and what stopped the search, if something did.

    ``scaling`` is the paper: restarts only. ``swap`` looks for subsets with common scalings, then
    polishes the scalings of the best few subsets of each size. ``both`` lets the subsets that the
    restarts found join the swap search, whose yardstick is the same for all and steadier than the
    luck of one machine, and polishes their machines too. The best subset by that yardstick stays
    unless another, polished, is clearly better.
    """
    best = Best()
    features = np.flatnonzero(pool.XT.any(1)).tolist()

    def tell(found: Best) -> bool:
        return watch is not None and watch(found)

    if plan.strategy != "swap":
        for low in range(0, len(seeds), BATCH):
            batch = seeds[low : low + BATCH]
            for found in threads.map(
                lambda seed: restart(pool, seed, plan.size, plan.n_levels, plan.rule, best), batch
            ):
                best.merge(found)
            if tell(best):
                return best, "asked to"
    if plan.strategy == "scaling":
        return best, ""

    def settled(found: Best) -> Best:
        """Subsets of the swap search; machines of the restarts where they are better on them."""
        machines = Best()
        for size, candidate in found.at.items():
            # The swap search has a ridge of its own, so the error is taken afresh.
            machines.offer(best_prefix(pool, candidate.scaling))
            if size in best.at and best.at[size].subset == candidate.subset:
                machines.offer(best.at[size])
        return machines

    swaps = SwapSearch(pool, features, plan.size, threads)
    starts = [candidate.subset for candidate in best.at.values()]
    found = swaps.run(starts, None if watch is None else lambda found: tell(settled(found)))
    machines = settled(found)
    if swaps.stopped:
        return machines, "asked to"
    tasks = [
        (size, candidate)
        for size in sorted(found.at)
        for candidate in _rivals(pool, swaps, best, size)
    ]
    least = 1.0 / plan.n_levels
    polished = threads.map(lambda task: polish(pool, task[1], least, FIRST_ROUNDS), tasks)
    chosen = []
    for size in sorted(found.at):
        known = [c for (s, _), c in zip(tasks, polished, strict=True) if s == size]
        leading = min((c for c in known if c.subset == known[0].subset), key=lambda c: c.key)
        winner = min(known, key=lambda c: c.key)
        clear = winner.key[0] < CLEARLY * leading.key[0]
        chosen.append(winner if clear else leading)
    machines = Best()
    for candidate in threads.map(lambda c: polish(pool, c, least), chosen):
        machines.offer(candidate)
    return machines, "asked to" if tell(machines) else ""


def _rivals(pool: Pool, swaps: SwapSearch, best: Best, size: int) -> list[Candidate]:
    """Machines of a size to polish: on the best subsets by score, and those of the restarts.

    The score compares all subsets by common scalings, which is steady but coarse: where a feature
    wants a scaling of its own, the second best can be the best by far once polished. The first
    machine is on the best subset by score.
    """
    scored = sorted((c.key, subset) for subset, c in swaps.known.items() if len(subset) == size)
    near = [subset for key, subset in scored if key[0] <= NEAR * scored[0][0][0]][:RIVALS]
    machines = [best_prefix(pool, swaps.known[subset].scaling) for subset in near]
    return machines + ([best.at[size]] if size in best.at else [])


def models(
    pool: Pool, best: Best, centre: Floats, scale: Floats
) -> tuple[list[Step], dict[int, Machine]]:
    """Steps of the path and machines to predict with, by size; the constant model is of size 0."""
    target = pool.target
    empty = target.empty()
    steps = [Step((), empty.criterion, empty.standard_error, train_error=_at_rest(pool))]
    machines = {0: Machine.constant(target)}
    before: tuple[int, ...] = ()
    for size in sorted(best.at):
        candidate: Candidate = best.at[size]
        fit = pool.fit(candidate.scaling, candidate.which)
        loo = fit.leave_one_out()
        features = np.array(candidate.subset)
        kept = tuple(i for i in before if i in candidate.subset)
        before = (*kept, *(i for i in candidate.subset if i not in kept))
        trained = target.judge(fit.E, np.ones(target.n)).criterion
        steps.append(Step(before, loo.criterion, loo.standard_error, train_error=trained))
        machines[size] = Machine.of(fit, features, centre[features], scale[features])
    return steps, machines


def _at_rest(pool: Pool) -> float:
    return pool.target.judge(pool.target.rows, np.ones(pool.target.n)).criterion
