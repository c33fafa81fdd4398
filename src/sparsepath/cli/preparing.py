"""A table as it comes, before the search: rows or columns left out, the selector that takes it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparsepath.cli.screening import Remark
from sparsepath.data.cells import RawTable
from sparsepath.data.features import DATES, quoted
from sparsepath.data.readers import Table
from sparsepath.errors import InputError

MISSING = ("error", "median", "indicator", "drop-rows", "drop-columns")
__all__ = ["DATES", "MISSING", "Preparing", "asked_of", "beneath", "ready", "wrapped"]


@dataclass(frozen=True)
class Preparing:
    """What becomes of missing values and of dates."""

    missing: str = "error"
    dates: str = "error"


def ready(table: Table, asked: Preparing) -> tuple[Table, list[Remark]]:
    """Leave out rows or columns with missing values, if asked for; and what to say of it."""
    raw, said = table.X, list[Remark]()
    if not isinstance(raw, RawTable):
        return table, said
    lacking = [column for column in raw.cells if column.n_missing]
    if lacking and asked.missing == "drop-columns":
        gone = [column.name for column in lacking]
        raw = RawTable(column for column in raw.cells if column.name not in gone)
        note = f"Note: left out for missing values: {quoted(gone, 12)}."
        said.append(Remark(tuple(gone), "missing values (--missing drop-columns)", True, note))
        if not raw.cells:
            raise InputError(f"{table.source}: every column has missing values; none is left.")
    elif lacking and asked.missing == "drop-rows":
        there = np.ones(len(raw), dtype=bool)
        for column in lacking:
            there &= np.array([text is not None for text in column.texts()])
        left = int(there.sum())
        if left < 2:
            raise InputError(f"{table.source}: {left} rows have no missing value; two are needed.")
        note = f"Note: {len(raw) - left:,} of {len(raw):,} rows with missing values left out."
        said.append(Remark((), "", False, note))
        raw = raw[there]
        beside = {name: values[there] for name, values in table.beside.items()}
        table = replace(table, y=None if table.y is None else table.y[there], beside=beside)
    X: Any = raw
    if raw.is_plain:
        X = np.asfortranarray(np.column_stack([column.values for column in raw.cells]))
    return replace(table, X=X, names=raw.columns), said


def wrapped(model: Any, asked: Preparing) -> Any:
    """A selector on top of another that takes a table as it comes."""
    from sparsepath.table_selector import TableSelector

    return TableSelector(model, **asked_of(asked), choose="min", validation=None)


def asked_of(asked: Preparing) -> dict[str, Any]:
    """As parameters of ``TableSelector``; rows and columns are left out before."""
    missing = asked.missing if asked.missing in ("median", "indicator") else "error"
    return {"missing": missing, "dates": asked.dates}


def beneath(model: Any) -> Any:
    """The selector that searches: the model itself, or the one that it prepares the table for."""
    return getattr(model, "selector_", getattr(model, "selector", model))
