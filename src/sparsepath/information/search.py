"""Searches guided by mutual information: forward (MI-FW), forward and backward (MI-FWBW)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs

from sparsepath.base import Trail
from sparsepath.information.kraskov import Estimator
from sparsepath.path.steps import Step
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads, sent_elsewhere

MI_SEARCHES = ("forward", "forward-backward")
Tell = Callable[[], bool]  # asked after every step; whether to end there


def _step(subset: tuple[int, ...], estimator: Estimator) -> Step:
    """Return a step whose error is minus the mutual information of the subset."""
    found = estimator.of(subset)
    return Step(subset, -found.value, found.standard_error)


def forward(estimator: Estimator, features: list[int], most: int, trail: Trail, tell: Tell) -> None:
    """Add the feature that increases the mutual information with the target most, until none is
    left.
    """
    subset: tuple[int, ...] = ()
    while len(subset) < most:
        left = [i for i in features if i not in subset]
        values = [found.value for found in estimator.additions(subset, left)]
        subset = (*subset, left[int(np.argmax(values))])
        step = _step(subset, estimator)
        trail.offer(step, [trail.move("add", subset[-1], step.error)])
        if tell():
            return


Subset = tuple[int, ...]


def climb(estimator: Estimator, features: list[int], most: int, start: Subset) -> Iterator[Step]:
    """From a subset, add or remove the most helpful feature until none helps.

    Every subset that is judged on the way, in order.
    """
    subset = start
    if subset:
        yield _step(subset, estimator)
    while True:
        here = estimator.of(subset).value
        values = [found.value for found in estimator.removals(subset)] if subset else []
        left = [i for i in features if i not in subset] if len(subset) < most else []
        values += [found.value for found in estimator.additions(subset, left)]
        moves = [tuple(j for j in subset if j != i) for i in subset]  # drops, then additions
        moves += [tuple(sorted((*subset, i))) for i in left]
        for move in moves:
            if move:
                yield _step(move, estimator)
        if not values or max(values) <= here:
            return
        subset = moves[int(np.argmax(values))]


@dataclass(frozen=True, eq=False)
class Climber:
    """Runs climbs in a separate process, with its own estimator."""

    XT: Floats
    YT: Floats
    k: int
    variant: int
    features: list[int]
    most: int

    def __call__(self, start: Subset) -> list[Step]:
        with Threads(1) as threads:
            estimator = Estimator(self.XT, self.YT, self.k, self.variant, threads)
            return list(climb(estimator, self.features, self.most, start))


def forward_backward(
    estimator: Estimator,
    features: list[int],
    most: int,
    trail: Trail,
    tell: Tell,
    n_restarts: int,
    random: np.random.Generator,
) -> None:
    """Climbs from random subsets.

    Every subset that is judged on the way counts for its size, so that sizes at which no climb
    rests are not left empty. Climbs share the estimates that are known, unless joblib takes them to
    a cluster: there each has its own, which are the same.
    """
    starts: list[Subset] = []
    for _ in range(n_restarts):
        size = int(random.integers(0, most + 1))
        drawn = random.permutation(len(features))[:size]
        starts.append(tuple(sorted(features[i] for i in drawn)))
    far = sent_elsewhere()
    at_once = 2 * effective_n_jobs(-1) if far else 1
    climber = Climber(estimator.XT, estimator.YT, estimator.k, estimator.variant, features, most)
    for low in range(0, n_restarts, at_once):
        some = starts[low : low + at_once]
        climbs: Iterable[Iterable[Step]] = (
            estimator.threads.spread(climber, some)
            if far
            else [climb(estimator, features, most, start) for start in some]
        )
        for steps in climbs:
            for step in steps:
                trail.offer(step)
            if tell():
                return
