"""Sheets of workbooks (Excel, OpenDocument) as named columns; python-calamine reads them."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import FileError, InputError

WORKBOOKS = (".xls", ".xlsx", ".xlsm", ".xlsb", ".ods")
EMPTY_CELLS = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "#N/A"))


def read_sheet(path: Path, sheet: str | None = None) -> dict[str, NDArray[Any]]:
    """The columns of a sheet by the names in its first row.

    Without ``sheet`` there must be one only that has cells.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise FileError(
            f"cannot read {path}: workbooks need one more package; install it by pip install "
            f"'sparsepath[excel]', or save the sheet as CSV and give "
            f"{path.with_suffix('.csv').name}."
        ) from None
    try:
        with CalamineWorkbook.from_path(path) as book:
            sheets = {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}
    except (CalamineError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise FileError(f"cannot read {path} as a workbook: {reason}.") from error
    rows = _rows(path, sheets, sheet)
    names = [str(name).strip() or f"x{j}" for j, name in enumerate(rows[0])]
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path}: more than one column is called {again!r}; rename them.")
    return {name: _values([row[j] for row in rows[1:]]) for j, name in enumerate(names)}


def _rows(path: Path, sheets: dict[str, list[list[Any]]], wanted: str | None) -> list[list[Any]]:
    """The rows of one sheet, the first of them names, without those that are empty."""
    known = ", ".join(map(repr, sheets))
    if wanted is not None and wanted not in sheets:
        raise InputError(f"{path}: no sheet {wanted!r}; it has {known}.")
    full = {
        name: rows for name, rows in sheets.items() if rows and name in (wanted or name, wanted)
    }
    if len(full) > 1:
        raise InputError(f"{path} has several sheets, {known}; say which with --sheet NAME.")
    if not full:
        raise FileError(f"cannot read {path}: it is empty.")
    (rows,) = full.values()
    return [row for row in rows if any(cell != "" for cell in row)]


def _values(cells: Sequence[Any]) -> NDArray[Any]:
    """Numbers, booleans or dates where all cells are, text otherwise; None or NaN for no value."""
    gone = [isinstance(cell, str) and cell.strip() in EMPTY_CELLS for cell in cells]
    kinds = {type(cell) for cell, lacks in zip(cells, gone, strict=True) if not lacks}
    if kinds == {bool} and not any(gone):
        return np.array(cells, dtype=bool)
    if kinds <= {bool, int, float}:
        return np.array([np.nan if g else float(c) for c, g in zip(cells, gone, strict=True)])
    if kinds <= {datetime.date, datetime.datetime}:
        moments = ["NaT" if g else c.isoformat() for c, g in zip(cells, gone, strict=True)]
        return np.array(moments, dtype="datetime64[us]")
    texts = [None if g else _text(c) for c, g in zip(cells, gone, strict=True)]
    return np.array([*texts, None], dtype=object)[:-1]


def _text(cell: Any) -> str:
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)
