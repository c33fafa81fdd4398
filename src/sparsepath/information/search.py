"""Searches guided by mutual information: forward (MI-FW), forward and backward (MI-FWBW)."""

import time
from collections.abc import Callable

import numpy as np

from sparsepath.information.kraskov import Estimator
from sparsepath.steps import Move, Step
from sparsepath.watching import ASKED

SEARCHES = ("forward", "forward-backward")


class Trail:
    """Best subset of each size so far, the moves, and the clock.

    The error of a subset is minus its mutual information.
    """

    def __init__(self, watch: Callable[["Trail"], bool] | None = None) -> None:
        self.steps: dict[int, Step] = {0: Step((), 0.0, 0.0)}
        self.moves: list[Move] = []
        self.stopped = ""
        self._watch = watch
        self._started = time.perf_counter()

    def offer(self, subset: tuple[int, ...], estimator: Estimator) -> None:
        """Keep the subset if none of its size is known that is as good."""
        found = estimator.of(subset)
        known = self.steps.get(len(subset))
        if known is None or -found.value < known.error:
            self.steps[len(subset)] = Step(subset, -found.value, found.standard_error)

    def added(self, feature: int, error: float) -> None:
        seconds = time.perf_counter() - self._started
        self.moves.append(Move("add", feature, error, seconds))

    def stop(self) -> bool:
        """Whether the watcher wants an end."""
        if self._watch is not None and self._watch(self):
            self.stopped = ASKED
        return bool(self.stopped)


def forward(estimator: Estimator, features: list[int], most: int, trail: Trail) -> None:
    """Add the feature with which the subset says most about the target, until all are in."""
    subset: tuple[int, ...] = ()
    while len(subset) < most:
        left = [i for i in features if i not in subset]
        values = [found.value for found in estimator.additions(subset, left)]
        subset = (*subset, left[int(np.argmax(values))])
        trail.offer(subset, estimator)
        trail.added(subset[-1], trail.steps[len(subset)].error)
        if trail.stop():
            return


def forward_backward(
    estimator: Estimator,
    features: list[int],
    most: int,
    trail: Trail,
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
            trail.offer(subset, estimator)
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
                    trail.offer(tuple(sorted(move)), estimator)
            if not values or max(values) <= here:
                break
            subset = tuple(sorted(moves[int(np.argmax(values))]))
        if trail.stop():
            return
