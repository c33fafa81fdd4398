"""Read files of each format as unchecked named columns; ``readers.py`` creates tables from them.

Workbooks (Excel, OpenDocument) are read by python-calamine.
"""

import datetime
import errno
import json
import os
import re
import struct
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.csv_dialect import NOT_UTF8, UNNAMED, csv_form
from sparsepath.data.layout import BY_NAME, BY_PLACE, Layout
from sparsepath.errors import FileError, InputError, SparsepathError
from sparsepath.system.tuning import memory

WORKBOOKS = (".xls", ".xlsx", ".xlsm", ".xlsb", ".ods")
EMPTY_CELLS = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", "#N/A"))


def read_sheet(path: Path, sheet: str | None = None) -> dict[str, NDArray[Any]]:
    """Return the columns of a worksheet by the names in its first row.

    Without ``sheet``, exactly one worksheet must contain data.
    """
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise FileError(
            f"cannot read {path}: workbooks need another package: pip install "
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
    """Return the nonempty rows of one worksheet; the first contains the names."""
    known = ", ".join(map(repr, sheets))
    if wanted is not None and wanted not in sheets:
        raise InputError(f"{path}: no sheet {wanted!r}; it has {known}.")
    full = {
        name: rows for name, rows in sheets.items() if rows and name in (wanted or name, wanted)
    }
    if len(full) > 1:
        raise InputError(f"{path} has several sheets, {known}; choose one with --sheet NAME.")
    if not full:
        raise FileError(f"cannot read {path}: it is empty.")
    (rows,) = full.values()
    return [row for row in rows if any(cell != "" for cell in row)]


def _values(cells: Sequence[Any]) -> NDArray[Any]:
    """Return numbers, booleans or dates if all cells are of that type, else text; None or NaN if
    missing.
    """
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


Array = NDArray[Any]

ENDINGS = {  # of all files that are read, and their formats
    **dict.fromkeys([".csv", ".tsv", ".txt"], "CSV"),
    **dict.fromkeys([".parquet", ".pq"], "Parquet"),
    **dict.fromkeys([".feather", ".arrow"], "Feather"),
    **dict.fromkeys([".json", ".jsonl", ".ndjson"], "JSON"),
    **dict.fromkeys([".svm", ".svmlight", ".libsvm", ".dat"], "svmlight"),
    **dict.fromkeys([".npy", ".npz"], "NumPy"),
    **dict.fromkeys(WORKBOOKS, "workbook"),
}
# What the libraries raise on files that are damaged, or of another kind than their name says.
DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    ValueError,
    TypeError,
    EOFError,
    MemoryError,
    OverflowError,
    LookupError,
    RuntimeError,
    SyntaxError,  # the header of an npy file is Python
    tokenize.TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_RAGGED = re.compile(
    r"CSV parse error:.*Expected (?P<due>\d+) columns, got (?P<got>\d+): (?P<row>.*)"
)
_OBSCURE = (OverflowError, LookupError, SyntaxError, tokenize.TokenError, struct.error)
CELL = 40  # characters of a value that a message quotes


class FileColumns(NamedTuple):
    """Raw content of a dense file: its columns, and other arrays of an npz file.

    ``layout`` says how columns are identified, ``unnamed`` which column is an unnamed index, and
    ``orders`` has the values of ordered categories, and nothing for those without an order.
    """

    features: dict[str, Array]
    beside: dict[str, Array]
    layout: Layout
    unnamed: str | None = None
    orders: Mapping[str, tuple[str, ...]] = {}


def read_columns(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> FileColumns:
    """Read a dense file as named columns, without checks.

    Numbers and booleans keep their type, missing numbers are NaN, text is an array of objects.
    """
    path = Path(path)
    kind = file_format(path)
    if sheet is not None and kind != "workbook":
        raise InputError(f"{path} has no sheets; remove --sheet.")
    with reading(path, kind):
        if kind == "workbook":
            found = read_sheet(path, sheet)
            columns = FileColumns(found, {}, Layout(BY_NAME, len(found)))
        elif kind == "CSV":
            columns = _read_csv(path, delimiter, decimal, encoding)
        elif kind in ("Parquet", "Feather", "JSON"):
            columns = _read_arrow(path, kind)
        elif kind == "NumPy":
            columns = _read_numpy(path)
        else:
            raise InputError(f"{path}: {kind} files are sparse and have no dense columns.")
    if any(len(values) == 0 for values in columns.features.values()):
        raise InputError(f"{path} has no rows, only {len(columns.features)} columns.")
    return columns


def stack_columns(columns: Mapping[str, Array]) -> Array:
    """Combine numeric columns into a column-major array of their common type.

    Integers and booleans stay integers, float32 stays float32, other types become float64.

    >>> stack_columns({"a": np.array([True, False]), "b": np.array([3, 4], dtype=np.int8)})
    array([[1, 3],
           [0, 4]], dtype=int16)
    """
    types = [np.dtype(np.uint8) if c.dtype.kind == "b" else c.dtype for c in columns.values()]
    common = np.result_type(*types)
    if any(t.kind == "f" for t in types):
        single = all(t.kind == "f" and t.itemsize <= 4 for t in types)
        common = np.dtype(np.float32 if single else np.float64)
    X = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=common, order="F")
    for j, values in enumerate(columns.values()):
        X[:, j] = values
    return X


def ending_format(path: Path) -> tuple[str | None, bool]:
    """Return the format of a file name suffix, or None, and whether the file is compressed.

    >>> ending_format(Path("a.CSV.gz")), ending_format(Path("a.doc"))
    (('CSV', True), (None, False))
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] in ([".gz"], [".bz2"])
    return ENDINGS.get("".join(suffixes[-2:-1] if packed else suffixes[-1:])), packed


def file_format(path: Path) -> str:
    """Return the format of an existing, nonempty file from its suffix."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason_of(error)}.") from error
    if path.is_dir():
        raise FileError(f"cannot read {path}: it is a folder, not a file.")
    kind, packed = ending_format(path)
    if kind is None or (packed and kind not in ("CSV", "svmlight")):
        raise FileError(
            f"cannot read {path}: its suffix must be one of {', '.join(ENDINGS)}, and only text "
            f"formats may be compressed as .gz or .bz2."
        )
    if size == 0:
        raise FileError(f"cannot read {path}: the file is empty.")
    return kind


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Context manager that converts library errors on damaged files to ``FileError`` with the file
    name.
    """
    try:
        yield
    except SparsepathError:
        raise
    except DAMAGE as error:
        reason = reason_of(error)
        if kind == "CSV" and ("UTF8" in reason or "utf-8" in reason):
            reason = NOT_UTF8
        if isinstance(error, RecursionError):
            reason = "it is nested too deeply"
        place = isinstance(error, OSError) and error.errno == errno.EINVAL  # one it has not
        if place or isinstance(error, _OBSCURE):
            reason = "it is damaged, or another kind of file"
        elif isinstance(error, UnicodeDecodeError):
            reason = NOT_UTF8
        elif "mmap length" in reason:
            reason = "its header claims more numbers than the file holds"
        elif cells := _RAGGED.match(reason):
            reason = f"a row has {cells['got']} cells instead of {cells['due']}: {cells['row']}"
        raise FileError(f"cannot read {path} as {kind}: {reason}.") from error


def reason_of(error: Exception) -> str:
    """Return the first line of an error message, without its full stop."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    line = text.strip().splitlines()[0].rstrip(".")
    return line if len(line) <= 5 * CELL else f"{line[: 5 * CELL]}..."


def _read_csv(
    path: Path, delimiter: str | None, decimal: str | None, encoding: str | None
) -> FileColumns:
    from pyarrow import csv as arrow_csv

    form = csv_form(path, delimiter=delimiter, decimal=decimal, encoding=encoding)
    table = arrow_csv.read_csv(form.text(), form.read, form.parse, form.convert)
    names, index = form.names(table.column_names)
    layout = Layout(BY_NAME if form.has_names else BY_PLACE, len(names))
    return FileColumns(_from_arrow(path, table.rename_columns(names)), {}, layout, index)


def _read_arrow(path: Path, kind: str) -> FileColumns:
    """Read a Parquet or Feather file, or JSON (a list of records, or one record per line)."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    if kind == "JSON":
        table = pa.Table.from_pylist(_records(path))
    else:
        with native(path) as stream:
            if kind == "Feather":
                table = pyarrow.feather.read_table(stream)
            else:
                table = pyarrow.parquet.ParquetFile(stream).read()
    table.validate(full=True)  # offsets out of bounds would end the process when they are used
    columns = _from_arrow(path, table)
    orders = {
        field.name: _order(column) if field.type.ordered else ()
        for field, column in zip(table.schema, table.columns, strict=True)
        if pa.types.is_dictionary(field.type)
        and (field.type.ordered or not _is_number(field.type.value_type))
    }
    index = next((name for name in UNNAMED if name in columns), None)
    return FileColumns(columns, {}, Layout(BY_NAME, len(columns)), index, orders)


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _order(column: Any) -> tuple[str, ...]:
    """Return the values of an ordered category, in order."""
    if not column.num_chunks:
        return ()
    return tuple(map(str, column.unify_dictionaries().chunk(0).dictionary.to_pylist()))


def _records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON file: a list of records, or one record per line."""
    text = path.read_text("utf-8-sig")
    lines = text if text.lstrip().startswith("[") else f"[{','.join(text.splitlines())}]"
    records = json.loads(lines)
    if not all(isinstance(record, dict) for record in records):
        raise InputError(
            f'{path} holds no records; give a list of them, [{{"a": 1, "y": 2}}, ...], or one per '
            "line."
        )
    return list(records)


def native(path: str | os.PathLike[str]) -> Any:
    """Open a file for pyarrow, which takes names as UTF-8 unless they are bytes."""
    import pyarrow as pa

    return pa.OSFile(os.fsencode(path))


def refuse_repeated(path: object, names: Sequence[str]) -> None:
    """Raise an error for repeated column names."""
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InputError(
            f"{path}: more than one column is called {quote_names(repeated)}; rename them."
        )


def _from_arrow(path: Path, table: Any) -> dict[str, Array]:
    import pyarrow as pa

    def to_numpy(column: Any) -> Array:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            column = column.cast(pa.float64())
        if pa.types.is_boolean(column.type) and column.null_count:
            column = column.cast(pa.uint8())
        values: Array = column.to_numpy()
        return values

    names = table.column_names
    refuse_repeated(path, names)
    return {name: to_numpy(table.column(j)) for j, name in enumerate(names)}


def _read_numpy(path: Path) -> FileColumns:
    try:
        arrays = _arrays(path)
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise
        raise FileError(
            f"cannot read {path}: not a plain array; pickled objects are not read, because reading "
            f"them can run code, so save arrays of numbers or strings instead."
        ) from error
    tables = ["X"] if "X" in arrays else [name for name, a in arrays.items() if a.ndim == 2]
    if len(tables) != 1 or arrays[tables[0]].ndim != 2:
        found = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"{path}: needs one 2-D array of features, called 'X' if several; has {found}."
        )
    X = arrays.pop(tables[0])
    X = np.asfortranarray(X, dtype=X.dtype.newbyteorder("="))
    beside = {name: array for name, array in arrays.items() if array.ndim > 0}
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return FileColumns(columns, beside, Layout(BY_PLACE, X.shape[1]))


def _arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file; one whose header claims more than the file contains is
    not read.
    """
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            return {"X": np.load(path, mmap_mode="r", allow_pickle=False)}
        with zipfile.ZipFile(stream) as pack:
            unpacked = sum(entry.file_size for entry in pack.infolist())
        if unpacked > memory():
            raise FileError(
                f"cannot read {path}: it takes {unpacked / 1e9:.3g} GB uncompressed, and this "
                f"machine has {memory() / 1e9:.3g} GB of memory."
            )
        stream.seek(0)
        return dict(np.load(stream, allow_pickle=False))


def shorten(value: object, limit: int = CELL) -> str:
    """Return a value in quotes, cut if it is long.

    >>> shorten("n.d."), shorten("abcdefgh", 5)
    ("'n.d.'", "'abcde...'")
    """
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= limit else f"{text[:limit]}...")


def quote_names(names: Sequence[str], limit: int = 5, total: int | None = None) -> str:
    """Return the first few of many names in quotes.

    >>> quote_names(list("abcdefgh"))
    "'a', 'b', 'c', 'd', 'e' and 3 more"
    """
    total = len(names) if total is None else total
    more = f" and {total - limit} more" if total > limit else ""
    return ", ".join(shorten(name, 2 * CELL) for name in names[:limit]) + more


def named_columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {quote_names(names)}"
