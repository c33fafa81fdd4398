"""What a search has done: the best model of each size, the moves, the clock, why it ended."""

import time
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Literal

from sparsepath.steps import Move, Step


class Stop(StrEnum):
    """Why a search ended; a path keeps the text."""

    ASKED = "asked to"  # a callback wanted it
    INTERRUPTED = "interrupted"  # Ctrl-C
    MAX_FEATURES = "max_features"
    MIN_FEATURES = "min_features"
    NO_CANDIDATE = "no candidate left"
    NOTHING_TO_DROP = "nothing to drop"
    VANISHED = "residuals vanished"
    EPSILON = "epsilon"
    NO_GAIN = "several sizes gained nothing"
    OPTIMAL = "optimal"
    INEXACT = "tolerance not reached"
    RISES = "C would rise"
    NO_WEIGHT = "no weight left lowers C"
    NO_CONNECTION = "no connection left lowers C"
    MAX_CONNECTIONS = "max_connections"
    ALL_L1 = "all l1"
    ALL_L0 = "all l0"

    @property
    def cut(self) -> bool:
        """Whether somebody ended the search before it came to its end."""
        return self in (Stop.ASKED, Stop.INTERRUPTED)


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
        """The moves in their order."""
        return self._moves[: self._seen]

    def move(self, action: Literal["add", "drop"], feature: int, error: float) -> Move:
        """A move that is being made now, to be handed to ``offer``."""
        return Move(action, feature, error, self.seconds)

    def offer(self, step: Step, moves: Iterable[Move] = (), model: Any = None) -> bool:
        """Write down the moves that led to a step, and keep it if it is the best of its size.

        The first of equals stays.
        """
        size = len(step.subset)
        better = size not in self._best or step.error < self._best[size][0].error
        self.enter(moves, step if better else None, model)
        return better

    def enter(self, moves: Iterable[Move], step: Step | None = None, model: Any = None) -> None:
        """Write down moves and, if they led to one, the best step of its size."""
        del self._moves[self._seen :]
        self._moves += moves
        if step is not None:
            self._best[len(step.subset)] = (step, model)
        self._seen = len(self._moves)
