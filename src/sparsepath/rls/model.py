"""Interface of engines: find the best change of the selected subset, and apply it.

An engine is a model of selected features that computes the criterion of neighbouring subsets.
Searches (``search.py``) use only this interface:

    best_addition(features)             the best feature to add, of those given
    best_removal(features, below)       the best feature to remove
    best_exchange(feature, features, below)   the best addition after removing a feature
    add(feature), drop(feature)         apply the change

``features=None`` means all. The result is an ``Update``, or None if there is none. The lowest index
breaks ties; ties of counts are first broken by the squared criterion.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.update import Costs, Second, Update, enterable, mask_of, pick
from sparsepath.system.arrays import Floats


class ReadableModel(Protocol):
    """Read-only interface of a model."""

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


class Model(ReadableModel, Protocol):
    """What a search needs to know of the model it changes; ``form`` says which engine, and why."""

    @property
    def form(self) -> str: ...
    def best_addition(self, features: Iterable[int] | None = None) -> Update | None: ...
    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best removal; None is allowed if all leave the criterion above ``below``."""

    def best_exchange(
        self, feature: int, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best addition after removing a feature, if the criterion is then below
        ``below``.

        Costs are ignored: exchanges minimise the criterion.
        """

    def add(self, feature: int) -> None: ...
    def drop(self, feature: int) -> None: ...


class SearchEngine(ABC):
    """Base class of engines; exchanges are tried on a copy."""

    costs: Costs | None = None
    form: str = ""

    @abstractmethod
    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""

    @abstractmethod
    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best single removal."""

    def best_exchange(
        self, feature: int, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best addition after removing a feature, if the criterion is then below
        ``below``.
        """
        trial = self.duplicate()
        trial.costs = None
        trial.drop(feature)
        update = trial.best_addition(features)
        return update if update is not None and update.error < below else None

    @abstractmethod
    def add(self, feature: int) -> None:
        """Add a feature."""

    @abstractmethod
    def drop(self, feature: int) -> None:
        """Remove a selected feature."""

    @abstractmethod
    def duplicate(self) -> Self:
        """Return a copy."""


class ExhaustiveEngine(SearchEngine):
    """Base class of engines that evaluate every neighbouring subset.

    Subclasses have ``error`` and ``squared_error``, the current criterion and squared criterion.
    """

    design: Any
    chosen: list[int]
    empty_error: float
    empty_squared: float

    @property
    @abstractmethod
    def counts(self) -> bool:
        """Whether mistakes are counted, so that the squared criterion breaks ties."""

    @abstractmethod
    def additions(self, features: NDArray[np.intp], squared: bool = False) -> Floats:
        """Return the criterion, or the squared one, with each of some features added."""

    @abstractmethod
    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""
        which = np.flatnonzero(enterable(self.design.constant, self.chosen, features))
        errors = self.additions(which)
        second = self._squared_with if self.counts else None
        worth = self._worth(which, errors, "error")
        return pick("add", which, errors, self.empty_error, worth, second)

    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best single removal; all are evaluated, whatever ``below`` is."""
        which = np.array(self.chosen, dtype=np.intp)
        allowed = mask_of(features, len(self.design.constant))
        keep = slice(None) if allowed is None else allowed[which]
        errors = self.errors_without()[keep]
        second = self._squared_without if self.counts else None
        return pick("drop", which[keep], errors, self.empty_error, second=second)

    def _squared_with(self, features: NDArray[np.intp]) -> Second:
        errors = self.additions(features, squared=True)
        worth = self._worth(features, errors, "squared_error")
        return Second(errors, worth, self.empty_squared)

    def _worth(self, features: NDArray[np.intp], errors: Floats, now: str) -> Floats:
        """Return the values by which additions are compared: errors, or gains per cost."""
        if self.costs is None:
            return errors
        return self.costs.worth(features, errors, getattr(self, now))

    def _squared_without(self, features: NDArray[np.intp]) -> Second:
        places = [self.chosen.index(i) for i in features]
        errors = self.errors_without(squared=True)[places]
        return Second(errors, errors, self.empty_squared)


Inner = TypeVar("Inner", bound=ReadableModel)


def _inside(name: str) -> property:
    """Attribute of the inner model."""
    return property(
        lambda self: getattr(self.model, name),
        lambda self, value: setattr(self.model, name, value),
    )


class Wrapped(Generic[Inner]):
    """Model that delegates everything except updates to an inner model."""

    chosen: list[int] = _inside("chosen")  # type: ignore[assignment]
    error: float = _inside("error")  # type: ignore[assignment]
    empty_error: float = _inside("empty_error")  # type: ignore[assignment]
    vanished: bool = _inside("vanished")  # type: ignore[assignment]
    costs: Costs | None = _inside("costs")  # type: ignore[assignment]

    def __init__(self, model: Inner) -> None:
        self.model = model

    def standard_error(self) -> float:
        """Return the standard error of the criterion."""
        return self.model.standard_error()

    def coef(self) -> Floats:
        """Return the coefficients of the selected columns."""
        return self.model.coef()

    def intercept(self) -> Floats:
        """Return the intercept."""
        return self.model.intercept()

    def duplicate(self) -> Self:
        """Return a copy."""
        other = copy.copy(self)
        other.model = self.model.duplicate()
        return other
