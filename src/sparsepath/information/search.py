"""Searches guided by mutual information: forward (MI-FW), forward and backward (MI-FWBW)."""

from collections.abc import Callable

import numpy as np

from sparsepath.information.kraskov import Estimator
from sparsepath.running import Trail
from sparsepath.steps import Step

SEARCHES = ("forward", "forward-backward")
Tell = Callable[[], bool]  # asked after every step; whether to end there


def _step(subset: tuple[int, ...], estimator: Estimator) -> Step:
    """The error of a subset is minus its mutual information."""
    found = estimator.of(subset)
    return Step(subset, -found.value, found.standard_error)


def forward(estimator: Estimator, features: list[int], most: int, trail: Trail, tell: Tell) -> None:
    """Add the feature with which the subset says most about the target, until all are in."""
    subset: tuple[int, ...] = ()
    while len(subset) < most:
        left = [i for i in features if i not in subset]
        values = [found.value for found in estimator.additions(subset, left)]
        subset = (*subset, left[int(np.argmax(values))])
        step = _step(subset, estimator)
        trail.offer(step, [trail.move("add", subset[-1], step.error)])
        if tell():
            return


def forward_backward(
    estimator: Estimator,
    features: list[int],
    most: int,
    trail: Trail,
    tell: Tell,
    n_restarts: int,
    random: np.random.Generator,
) -> None:
    """From random subsets, add or drop the feature that helps most until none does.

    Every subset that is judged on the way counts for its size, so that sizes at which no climb
    rests are not left empty.
    """
    for _ in range(n_restarts):
        size = int(random.integers(0, most + 1))
        drawn = random.permutation(len(features))[:size]
        subset = tuple(sorted(features[i] for i in drawn))
        if subset:
            trail.offer(_step(subset, estimator))
        while True:
            here = estimator.of(subset).value
            neighbours = [(i,) for i in subset]  # drops, then additions, each by column
            values = [found.value for found in estimator.removals(subset)] if subset else []
            left = [i for i in features if i not in subset] if len(subset) < most else []
            values += [found.value for found in estimator.additions(subset, left)]
            moves = [tuple(j for j in subset if j != i) for (i,) in neighbours]
            moves += [(*subset, i) for i in left]
            for move in moves:
                if move:
                    trail.offer(_step(tuple(sorted(move)), estimator))
            if not values or max(values) <= here:
                break
            subset = tuple(sorted(moves[int(np.argmax(values))]))
        if tell():
            return
