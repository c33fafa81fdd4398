"""Columns of a table that are declared categorical or ordered."""

import difflib
import fnmatch
from dataclasses import replace

import numpy as np

from sparsepath.data.readers import Table
from sparsepath.errors import InputError
from sparsepath.tables.cells import RawTable, raw_table
from sparsepath.tables.features import RawColumn

Categorical = tuple[str, ...]  # columns, or patterns of them
Ordered = tuple[tuple[str, tuple[str, ...]], ...]  # and their values from low to high


def convert_types(table: Table, categorical: Categorical, ordered: Ordered) -> Table:
    """Return the table with columns converted to categorical or ordered."""
    orders = {
        name: order
        for option, given in (("--categorical", categorical), ("--ordered", ordered))
        for each in given
        for names, order in [(each, ()) if isinstance(each, str) else each]
        for name in _matching(table, names, option)
    }
    if not orders:
        return table
    raw = table.X
    if not isinstance(raw, RawTable):
        raw = raw_table({str(name): raw[:, j] for j, name in enumerate(table.names)})
    cells = [
        _as_category(table, cell, orders[cell.name]) if cell.name in orders else cell
        for cell in raw.cells
    ]
    return replace(table, X=RawTable(cells))


def _matching(table: Table, pattern: str, option: str) -> list[str]:
    """Return the columns that match a name or a pattern such as q*."""
    known = [str(name) for name in table.names]
    found = [pattern] if pattern in known else fnmatch.filter(known, pattern)
    if not found or hasattr(table.X, "tocsr"):
        close = difflib.get_close_matches(pattern, known, n=1)
        hint = f"; is {close[0]!r} meant?" if close else "."
        raise InputError(f"{table.source}: {option}: there is no column {pattern!r}{hint}")
    return found


def _as_category(table: Table, cell: RawColumn, order: tuple[str, ...]) -> RawColumn:
    texts = np.array([*cell.texts(), None], dtype=object)[:-1]
    if not order:
        return RawColumn(cell.name, "text", texts)
    if other := sorted({text for text in texts.tolist() if text is not None} - set(order)):
        raise InputError(
            f"{table.source}: --ordered: column {cell.name!r} has the value {other[0]!r}, which is "
            f"not among {' < '.join(order)}; add it."
        )
    return RawColumn(cell.name, "ordered", texts, order)
