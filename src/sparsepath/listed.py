"""The steps of a path, ascending in size, and its moves: as they are, or from arrays.

A search that only adds leaves its path as a few arrays, of which steps and moves follow. To make
objects of all of them takes as long as a small search, and most are never looked at: ``Nested`` and
``AddingMoves`` make each when it is asked for. Nobody sees a difference.
"""

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np

from sparsepath.errors import InputError
from sparsepath.steps import FloatArray, Move, Step

One = TypeVar("One")


class Listed(tuple[Step, ...]):
    """Steps as they are.

    >>> Listed([Step((), 2.0), Step((4,), 1.0)]).sizes
    (0, 1)
    """

    __slots__ = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of columns of each."""
        return tuple([len(step.subset) for step in self])

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """The columns of each."""
        return [step.subset for step in self]

    @property
    def errors(self) -> FloatArray:
        """The error of each."""
        return np.array([step.error for step in self])

    @property
    def errors_se(self) -> FloatArray:
        """Its standard error."""
        return np.array([step.error_se for step in self])


class _Late(Sequence[One]):
    """A sequence whose items are made when they are asked for, and kept; equal to a tuple."""

    def __init__(self, count: int) -> None:
        self._made: list[One | None] = [None] * count

    def _make(self, place: int) -> One:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, place: int) -> One: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[One, ...]: ...
    def __getitem__(self, place: int | slice) -> One | tuple[One, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        known = self._made[place]
        if known is None:
            known = self._made[place] = self._make(place % len(self._made))
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Late | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))


class Nested(_Late[Step]):
    """The steps of a search that only added, from the empty model on.

    Parameters
    ----------
    subset : tuple of int
        The columns in order of entry.
    errors, errors_se : arrays of shape (k + 1,)
        Of every size.
    coef, intercept : arrays of shape (k + 1, k, T) and (k + 1, T)
        The same; not to be written to from now on.

    Examples
    --------
    >>> lines = np.zeros((3, 2, 1)), np.zeros((3, 1))
    >>> steps = Nested((4, 0), np.array([3.0, 2.0, 1.0]), np.full(3, np.nan), *lines)
    >>> steps.sizes, steps.subsets, steps[1].error, steps[-1].subset
    ((0, 1, 2), [(), (4,), (4, 0)], 2.0, (4, 0))
    """

    def __init__(
        self,
        subset: tuple[int, ...],
        errors: FloatArray,
        errors_se: FloatArray,
        coef: FloatArray,
        intercept: FloatArray,
    ) -> None:
        if not errors.min() > -np.inf:
            raise InputError("errors must be numbers or inf, and one of them is not.")
        super().__init__(len(errors))
        self._arrays = subset, errors, errors_se, coef, intercept

    def _make(self, place: int) -> Step:
        subset, errors, errors_se, coef, intercept = self._arrays
        numbers = float(errors[place]), float(errors_se[place])
        return Step.found(subset[:place], *numbers, coef[place, :place], intercept[place])

    def __reduce__(self) -> Any:
        return Nested, self._arrays

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of columns of each."""
        return tuple(range(len(self)))

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """The columns of each."""
        return [self._arrays[0][:size] for size in range(len(self))]

    @property
    def errors(self) -> FloatArray:
        """The error of each."""
        return self._arrays[1].copy()

    @property
    def errors_se(self) -> FloatArray:
        """Its standard error."""
        return self._arrays[2].copy()


class AddingMoves(_Late[Move]):
    """The moves of such a search, all of them made at a time.

    >>> AddingMoves((4, 0), np.array([3.0, 2.0, 1.0]), 0.5)[0]
    Move(action='add', feature=4, error=2.0, seconds=0.5)
    """

    def __init__(self, subset: tuple[int, ...], errors: FloatArray, seconds: float) -> None:
        super().__init__(len(subset))
        self._given = subset, errors, seconds

    def _make(self, place: int) -> Move:
        subset, errors, seconds = self._given
        return Move("add", subset[place], float(errors[place + 1]), seconds)

    def __reduce__(self) -> Any:
        return AddingMoves, self._given
