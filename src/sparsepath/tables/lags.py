"""Columns of earlier rows, for tables in time order with even steps.

A row is the moment at which a forecast is made: all its values are known, and the target lies
``horizon`` rows later. With a horizon of 0 the target is that of the row itself, and its own column
is used only with lags. A lag k of a column is its value k rows before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.tables.cells import RawTable, cells_of

MOST_LAGGED = 20_000  # columns that lags may make


class LaggedColumn(NamedTuple):
    """A column of a table some rows earlier."""

    column: str
    lag: int

    @property
    def name(self) -> str:
        return f"{self.column} lag {self.lag}" if self.lag else self.column


@dataclass(frozen=True)
class Lags:
    """Which earlier values are features, and how many rows later the target lies."""

    steps: Mapping[str, tuple[int, ...]]
    horizon: int = 0

    @classmethod
    def of(cls, lags: Any, horizon: Any) -> "Lags | None":
        """Check the parameters; None if there is nothing to do.

        >>> Lags.of({"load": 3, "sun": [24]}, 1).steps
        {'load': (1, 2, 3), 'sun': (24,)}
        """
        if isinstance(horizon, bool) or not isinstance(horizon, int | np.integer) or horizon < 0:
            raise InputError(f"horizon={horizon!r}; give a number of rows, 0 or more.")
        if lags is None and not horizon:
            return None
        if not isinstance(lags, Mapping | None):
            raise InputError(
                f"lags={lags!r}; give a dict of columns and their lags, such as "
                "{'load': 24} for 1 to 24 rows before, or {'load': [1, 24]}."
            )
        steps = {str(name): _checked(name, each) for name, each in (lags or {}).items()}
        return cls(steps, int(horizon))

    def places(self, columns: Sequence[str], target: str | None) -> tuple[LaggedColumn, ...]:
        """Return the columns to make of a table; the target's own value is known before it."""
        if lost := [name for name in self.steps if name not in columns]:
            raise InputError(f"lags: there is no column {lost[0]!r} in the table.")
        now = [name for name in columns if name != target or self.horizon]
        made = [LaggedColumn(name, 0) for name in now]
        made += [LaggedColumn(name, k) for name, steps in self.steps.items() for k in steps]
        if len(made) > MOST_LAGGED:
            raise InputError(f"lags make {len(made):,} columns; {MOST_LAGGED:,} are the most.")
        return tuple(made)


def _checked(name: Any, steps: Any) -> tuple[int, ...]:
    several = isinstance(steps, Iterable) and not isinstance(steps, str)
    found = [*steps] if several else steps
    if not several and isinstance(steps, int | np.integer) and steps >= 1:
        found = range(1, int(steps) + 1)
    whole = isinstance(found, list | range) and all(
        isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1 for k in found
    )
    if not whole or not len(found):
        raise InputError(
            f"lags: {name!r} has {steps!r}; give whole numbers of rows from 1 up, such as 24 or "
            "[1, 2, 24]."
        )
    return tuple(dict.fromkeys(int(k) for k in found))


def earlier(X: Any, places: Sequence[LaggedColumn], ahead: int = 0) -> RawTable:
    """Return the columns for all rows with enough rows before, and ``ahead`` rows after them."""
    names = list(dict.fromkeys(place.column for place in places))
    cells = dict(zip(names, cells_of(X, names), strict=True))
    first = history(places)
    last = len(next(iter(cells.values())).values) - ahead
    if last <= first:
        raise InputError(
            f"lags and horizon need {first + ahead + 1} rows or more; there are {last + ahead}."
        )
    made = []
    for place in places:
        rows = slice(first - place.lag, last - place.lag)
        made.append(replace(cells[place.column].rows(rows), name=place.name))
    return RawTable(made)


def history(places: Iterable[LaggedColumn]) -> int:
    """Return how many rows before a row are needed."""
    return max((place.lag for place in places), default=0)


def after_history(found: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return predictions for all rows: NaN, or None for labels, for those without history."""
    if rows <= 0:
        return found
    kind = np.float64 if found.dtype.kind in "fiub" and found.dtype.kind != "b" else object
    empty = np.full((rows, *found.shape[1:]), np.nan if kind is np.float64 else None, dtype=kind)
    return np.concatenate([empty, found.astype(kind)])
