"""Rules that end a search. They compose: a search stops when any of its rules says so.

A rule is any function of the trail so far that returns why to stop, or nothing. The error of the
empty model (or, going backward, of the full one) is where a trail begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparsepath.errors import InputError

if TYPE_CHECKING:
    from sparsepath.rls.search import Trail

Rule = Callable[["Trail"], str | None]


@dataclass(frozen=True)
class Tolerance:
    """Stop when the best error of the newest size is not better by this fraction.

    Compared with the size before: with ``Tolerance(0.01)`` a feature must lower the criterion by
    one per cent of what it was.
    """

    fraction: float

    def __post_init__(self) -> None:
        if not 0 <= self.fraction < 1:
            raise InputError(f"Tolerance({self.fraction!r}); give a fraction from 0 up to 1.")

    def __call__(self, trail: "Trail") -> str | None:
        size = max(trail.steps)
        if trail.size < size or size - 1 not in trail.steps:
            return None
        before, now = trail.steps[size - 1].error, trail.steps[size].error
        return "tolerance" if before - now < self.fraction * before else None


@dataclass(frozen=True)
class Patience:
    """Stop when this many moves in a row have not brought a new least error."""

    moves: int

    def __post_init__(self) -> None:
        if self.moves < 1:
            raise InputError(f"Patience({self.moves!r}); give a whole number from 1 up.")

    def __call__(self, trail: "Trail") -> str | None:
        errors = [trail.first_error, *(move.error for move in trail.moves)]
        since = len(errors) - 1 - errors.index(min(errors))
        return "patience" if since >= self.moves else None


@dataclass(frozen=True)
class TimeLimit:
    """Stop after the first move that ends later than this many seconds from the start."""

    seconds: float

    def __call__(self, trail: "Trail") -> str | None:
        return "time" if trail.moves and trail.moves[-1].seconds >= self.seconds else None


@dataclass(frozen=True)
class PastOneSE:
    """Stop once the error has risen from its least value by one standard error."""

    def __call__(self, trail: "Trail") -> str | None:
        least = min(trail.steps.values(), key=lambda step: step.error)
        return "one_se" if trail.moves[-1].error > least.error + least.error_se else None
