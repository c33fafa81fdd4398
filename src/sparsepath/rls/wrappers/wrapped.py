"""A model around another: what it says of itself is what the one inside says."""

import copy
from typing import Generic, Protocol, Self, TypeVar

from sparsepath.arrays import Floats
from sparsepath.rls.update import Costs


class Readable(Protocol):
    """What can be read of a model of chosen features."""

    costs: Costs | None

    @property
    def chosen(self) -> list[int]: ...
    @property
    def error(self) -> float: ...
    @property
    def empty_error(self) -> float: ...
    @property
    def vanished(self) -> bool: ...
    def standard_error(self) -> float: ...
    def coef(self) -> Floats: ...
    def intercept(self) -> Floats: ...
    def duplicate(self) -> Self: ...


Inner = TypeVar("Inner", bound=Readable)


def _inside(name: str) -> property:
    """What the model inside says, and is told."""
    return property(
        lambda self: getattr(self.model, name),
        lambda self, value: setattr(self.model, name, value),
    )


class Wrapped(Generic[Inner]):
    """Answers all questions but those on updates, from the model inside."""

    chosen: list[int] = _inside("chosen")  # type: ignore[assignment]
    error: float = _inside("error")  # type: ignore[assignment]
    empty_error: float = _inside("empty_error")  # type: ignore[assignment]
    vanished: bool = _inside("vanished")  # type: ignore[assignment]
    costs: Costs | None = _inside("costs")  # type: ignore[assignment]

    def __init__(self, model: Inner) -> None:
        self.model = model

    def standard_error(self) -> float:
        """Standard error of the criterion."""
        return self.model.standard_error()

    def coef(self) -> Floats:
        """Coefficients of the chosen columns."""
        return self.model.coef()

    def intercept(self) -> Floats:
        """The constant term."""
        return self.model.intercept()

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = copy.copy(self)
        other.model = self.model.duplicate()
        return other
