"""Record of a search: the best model of each size, the moves, elapsed time, and why it ended."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sparsepath.path.steps import Move, Step

PATIENCE = 3  # sizes without a gain after which a search ends that has no largest size
GAINED = 0.99  # of the least error so far: a gain is at least this one per cent


def gained_nothing(errors: Sequence[float], wanted: int = 0) -> bool:
    """True if the last sizes are no better than a smaller one, from errors by size.

    ``wanted`` is a size up to which a search goes in any case.

    >>> gained_nothing([5.0, 1.0, 0.995, 0.999, 1.0]), gained_nothing([5.0, 1.0, 0.9, 1.0, 1.0])
    (True, False)
    """
    before, last = errors[:-PATIENCE], errors[-PATIENCE:]
    return len(errors) > max(PATIENCE, wanted) and min(last) >= GAINED * min(before)


class Trail:
    """The best step of each size, the model behind it, and the moves of a search.

    What is written down at a time becomes visible by one assignment, so that Ctrl-C finds it whole
    wherever it comes.

    Attributes
    ----------
    stopped : str
        Why the search ended, if it says so itself.
    """

    def __init__(self) -> None:
        self.stopped = ""
        self._best: dict[int, tuple[Step, Any]] = {}
        self._moves: list[Move] = []
        self._seen = 0  # moves that count
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self._began

    @property
    def steps(self) -> dict[int, Step]:
        """The best step of each size."""
        return {size: step for size, (step, _) in self._best.items()}

    @property
    def models(self) -> dict[int, Any]:
        """What was handed in with the best step of each size."""
        return {size: model for size, (_, model) in self._best.items()}

    @property
    def moves(self) -> list[Move]:
        """Moves in order."""
        return self._moves[: self._seen]

    def move(self, action: Literal["add", "drop"], feature: int, error: float) -> Move:
        """Return a move that is made now, for ``offer``."""
        return Move(action, feature, error, self.seconds)

    def offer(self, step: Step, moves: Iterable[Move] = (), model: Any = None) -> bool:
        """Record the moves that led to a step, and keep the step if it is the best of its size.

        The first of equals stays.
        """
        size = len(step.subset)
        better = size not in self._best or step.error < self._best[size][0].error
        self.enter(moves, step if better else None, model)
        return better

    def enter(self, moves: Iterable[Move], step: Step | None = None, model: Any = None) -> None:
        """Record moves and, if they led to one, the best step of its size."""
        del self._moves[self._seen :]
        self._moves += moves
        if step is not None:
            self._best[len(step.subset)] = (step, model)
        self._seen = len(self._moves)
