"""A table as it comes, before the search: rows or columns left out, the selector that takes it."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsepath.data.cells import RawTable
from sparsepath.data.features import quoted
from sparsepath.data.formats import reason_of
from sparsepath.data.layout import BY_NAME
from sparsepath.data.readers import Table
from sparsepath.errors import FileError, InputError


@dataclass(frozen=True)
class Remark:
    """What there is to say of some columns."""

    columns: tuple[str, ...]  # none of them where it is about the rows or the target
    why: str  # in few words, for the card of the data
    out: bool  # whether they take no part in the search
    said: str = ""  # a sentence to print before the search; empty: nobody needs to be told


MISSING_TYPED = ("error", "median", "indicator", "drop-rows", "drop-columns")


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


def sampled(table: Table, count: int, seed: int) -> tuple[Table, list[Remark]]:
    """Some rows, drawn at random and in their order; all of them if there are no more."""
    rows = int(table.X.shape[0])
    if count >= rows:
        return table, []
    kept = np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))
    beside = {name: values[kept] for name, values in table.beside.items()}
    y = None if table.y is None else table.y[kept]
    said = f"Note: {count:,} of {rows:,} rows were drawn (seed {seed}); the others are not used."
    return replace(table, X=table.X[kept], y=y, beside=beside), [Remark((), "", False, said)]


def named(table: Table, file: Path) -> Table:
    """A table whose columns have numbers or places only, with names from a file, one a line."""
    layout = table.layout
    if layout is None or layout.kind == BY_NAME:
        raise InputError(f"{table.source} has names of its own; leave --names out.")
    try:
        words = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {file}: {reason_of(error)}.") from error
    words = [word.strip() for word in words]
    while words and not words[-1]:
        words.pop()
    if layout.target is not None and len(words) == layout.columns - 1:
        words.insert(layout.target, str(table.target))  # of the features alone
    if len(words) != layout.columns:
        raise InputError(
            f"{file} has {len(words):,} names, one a line, and {table.source} has "
            f"{layout.columns:,} columns{' counted from 1' * (layout.first == 1)}."
        )
    numbers = tuple(int(name.removeprefix("x")) for name in table.names)
    names = [words[number - layout.first] for number in numbers]
    if again := [name for name, times in Counter(names).items() if times > 1 or not name]:
        raise InputError(f"{file}: {again[0]!r} names more than one column, or none.")
    return replace(table, names=names, layout=replace(layout, numbers=numbers))


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
