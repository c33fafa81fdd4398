"""Find columns of a file by name or position, and rows by value; check targets."""

import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.formats import Array, quote_names, shorten
from sparsepath.errors import InputError
from sparsepath.tables.dates import as_days
from sparsepath.tables.features import quantities

Key = str | int
"""A column: its name, or its position (negative from the end)."""

Rows = tuple[Key, object] | tuple[Key, str, object]
"""Rows where a column has a value: (column, value), or (column, "!=", value) for all others."""


def several(keys: Key | Sequence[Key]) -> Sequence[Key]:
    """Return keys as a list; a single key is allowed."""
    return [keys] if isinstance(keys, str | int | np.integer) else keys


def find_column(path: Path, key: Key, names: Sequence[str], beside: Iterable[str] = ()) -> str:
    """Return the name of a column given by name or by position."""
    beside = list(beside)
    if isinstance(key, str) and (key in beside or key in names):
        return key
    try:
        return names[int(key)]
    except IndexError:
        raise InputError(
            f"{path} has {len(names)} columns, so there is no column number {key}."
        ) from None
    except ValueError:
        known = [*beside, *names[:10_000]]
        lower = {name.lower(): name for name in known}
        close = difflib.get_close_matches(str(key).lower(), lower, n=3)
        hint = f" (did you mean {' or '.join(repr(lower[c]) for c in close)}?)" if close else ""
        total = len(beside) + len(names)
        raise InputError(
            f"{path}: no column {shorten(key)}{hint} among {quote_names(known, total=total)}."
        ) from None


def refuse_rows_as_columns(path: Path, key: Key, first: Array) -> None:
    """Raise an error for a table with one row per feature (first cells are the names)."""
    if isinstance(key, str) and any(isinstance(v, str) and v == key for v in first.tolist()):
        raise InputError(
            f"{path}: no column {shorten(key)}, but a row with this name: the table is "
            "transposed, with one row per feature; transpose it first, for example with pandas: "
            f"read_csv({path.name!r}, index_col=0).T.to_csv('transposed.csv', index=False)."
        )


def rows_where(path: Path, name: str, values: Array, rows: Rows) -> NDArray[np.bool_]:
    """Return a mask of rows with a value in a column, or with any other value."""
    if len(rows) == 3 and rows[1] not in ("=", "!="):
        raise InputError(f"{path}: rows={rows!r}: the middle must be '=' or '!='.")
    unequal = len(rows) == 3 and rows[1] == "!="
    text = str(rows[-1])
    equal = np.zeros(len(values), dtype=bool)
    if values.ndim != 1:
        raise InputError(f"{path}: {name!r} has {values.ndim} dimensions; rows needs a 1-D array.")
    if values.dtype.kind in "iuf":
        with suppress(ValueError):
            equal = values == float(text)
    elif values.dtype.kind == "b":
        equal = values == {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    else:
        equal = np.array([_as_text(value) == text for value in values], dtype=bool)
    keep = ~equal if unequal else equal
    if not keep.any():
        if unequal:
            raise InputError(f"{path}: every row has {name!r} equal to {shorten(text)}.")
        some = list(dict.fromkeys(_as_text(value) for value in values))
        raise InputError(
            f"{path}: no row has {name!r} equal to {shorten(text)}; it has {quote_names(some)}."
        )
    return keep


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def is_known(values: Array) -> NDArray[np.bool_]:
    """Return a mask of known target values."""
    if values.dtype.kind == "f":
        return np.isfinite(values)
    if values.dtype.kind == "O":
        return np.array([value is not None for value in values], dtype=bool)
    return np.ones(len(values), dtype=bool)


def checked_target(
    path: Path, name: str, values: Array, how: str = "", *, called: str = "target"
) -> Array:
    """Return a target of numbers, booleans or strings without missing values, as a new array.

    ``how`` is the advice for rows without a value; ``called`` names the column if it is not the
    target.
    """
    if called == "target" and values.dtype.kind == "M":
        values = as_days(values)
    kind = values.dtype.kind
    if kind in "biuf":
        bad = 0 if kind != "f" else np.count_nonzero(~np.isfinite(values))
        values = np.array(values, dtype=values.dtype.newbyteorder("="))
    elif kind in "US":
        bad = 0
        values = values.astype(str) if kind == "U" else np.char.decode(values, errors="replace")
    elif kind == "O" and all(value is None or isinstance(value, str) for value in values.flat):
        bad = sum(value is None for value in values.flat)
        values = values.astype(str)
    else:
        raise InputError(
            f"{path}: {called} {name!r} must be numbers or text, not {shorten(values.flat[0])}."
        )
    if called == "target" and not bad and values.dtype.kind == "U" and values.ndim == 1:
        values = quantities(name, values)
    if bad:
        raise InputError(
            f"{path}: {called} {name!r} is missing or infinite in {bad} of {len(values)} rows; "
            f"leave those rows out{how}."
        )
    return values
