"""Elements of a selection path: steps and moves."""

import math
import operator
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
HONEST_NUMBERS = ("honest_error", "honest_error_se", "honest_gap_se", "honest_spread")
STEP_NUMBERS = ("error", "error_se", "train_error", *HONEST_NUMBERS)


@dataclass(frozen=True, eq=False)
class Step:
    """Best model of one size, the number of columns in ``subset``."""

    subset: tuple[int, ...]  # columns in order of entry
    error: float  # what the path's criterion names, per sample; lower is better; may be infinite
    error_se: float = math.nan  # standard error of ``error``; NaN if unknown
    coef: FloatArray | None = None  # size x n_targets, in the units of the data
    intercept: FloatArray | None = None  # n_targets
    train_error: float = math.nan  # the same loss on the training data; NaN if unknown
    honest_error: float = math.nan  # the loss on samples that the whole procedure never saw
    honest_error_se: float = math.nan  # its standard error
    honest_gap_se: float = math.nan  # and that of its difference to the least on the path
    honest_spread: float = math.nan  # how far from it the error of this one model may be: its s.d.

    def __post_init__(self) -> None:
        object.__setattr__(self, "subset", tuple(map(operator.index, self.subset)))
        for name in STEP_NUMBERS:
            if type(value := getattr(self, name)) is not float:
                object.__setattr__(self, name, number(value))
        for name in ("coef", "intercept"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
                getattr(self, name).setflags(write=False)
        if len(set(self.subset)) < len(self.subset):
            raise InputError(f"subset must hold different columns, not {self.subset}.")
        self._check_errors()
        if self.coef is not None and self.coef.shape[:-1] != (len(self.subset),):
            raise InputError(f"coef must be len(subset) x n_targets, not {self.coef.shape}.")

    def _check_errors(self) -> None:
        if not self.error > -math.inf or self.error_se < 0:
            raise InputError(f"error must be a number or inf, error_se >= 0 or NaN: {self}.")

    @classmethod
    def found(
        cls,
        subset: tuple[int, ...],
        error: float,
        error_se: float,
        coef: FloatArray,
        intercept: FloatArray,
    ) -> "Step":
        """Create a step from trusted values: only the errors are checked.

        Arrays are not copied and must be read-only.
        """
        step = object.__new__(cls)
        vars(step).update(
            subset=subset, error=error, error_se=error_se, coef=coef, intercept=intercept, **UNKNOWN
        )
        step._check_errors()
        return step


UNKNOWN = dict.fromkeys(STEP_NUMBERS[2:], math.nan)  # of a step that was just found


@dataclass(frozen=True)
class Move:
    """One move of a search: the feature, the error after it, seconds since the start."""

    action: Literal["add", "drop"]
    feature: int
    error: float
    seconds: float


@dataclass(frozen=True)
class Exchange:
    """Columns that entered together at ``size`` while others left."""

    size: int
    entered: tuple[int, ...]
    left: tuple[int, ...]


def exchange_columns(
    held: list[int], now: Collection[int]
) -> list[tuple[Literal["add", "drop"], int]]:
    """Change a list of columns, in order of entry, to a set, and return the moves (removals first).

    >>> held = [3, 1, 2]
    >>> exchange_columns(held, [2, 5, 3]), held
    ([('drop', 1), ('add', 5)], [3, 2, 5])
    """
    after, before = set(now), set(held)
    gone = [j for j in held if j not in after]
    new = [j for j in now if j not in before]
    held[:] = [j for j in held if j in after] + new
    return [*(("drop", j) for j in gone), *(("add", j) for j in new)]


def mean_and_se(values: FloatArray, axis: int = -1) -> tuple[Any, Any]:
    """Return the mean of values and its standard error, which is NaN for a single value.

    >>> mean_and_se(np.array([1.0, 3.0])) == (2.0, 1.0)
    True
    """
    mean, n = values.mean(axis), values.shape[axis]
    se = values.std(axis, ddof=1) / np.sqrt(n) if n > 1 else np.full_like(mean, np.nan)
    return mean, se


def number(value: Any) -> float:
    """Return the number, or NaN for None (its JSON form)."""
    return math.nan if value is None else float(value)
