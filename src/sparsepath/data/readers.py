"""Tables on disk: read as features and target, write columns back.

=============================  ====================================================
ending                         what it holds
=============================  ====================================================
.csv .tsv .txt (.gz .bz2)      text with , ; or tab between columns, names on top
.parquet .pq                   Apache Parquet, one file
.feather .arrow                Apache Arrow, one file
.json .jsonl .ndjson           a list of records, or one record per line
.svm .svmlight .libsvm .dat    sparse rows ``label index:value ...`` (.gz .bz2 too)
.xlsx .xlsm .xlsb .xls .ods    a sheet of a workbook, names on top
.npy                           one 2-D array
.npz                           an array ``X`` (or one 2-D array), and other arrays
=============================  ====================================================

A table comes out ready for use or not at all: text, dates, missing and infinite values among the
features are an :class:`~sparsepath.errors.InputError` that names the columns.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.column_lookup import (
    Key,
    Rows,
    checked_target,
    find_column,
    is_known,
    refuse_rows_as_columns,
    rows_where,
    several,
)
from sparsepath.data.formats import (
    Array,
    file_format,
    named_columns,
    read_columns,
    reading,
    reason_of,
    shorten,
    stack_columns,
)
from sparsepath.data.layout import BY_NUMBER, Layout
from sparsepath.data.names import NumberedNames
from sparsepath.errors import FileError, InputError
from sparsepath.system.files import replacing
from sparsepath.tables.cells import naming_the_file, raw_table
from sparsepath.tables.dates import DateFormats, check_formats, kind_of_dates, parse_dates

MOST_NAMED = 1000  # characters of names of columns to leave out, in a message
COUNTED = 10  # rows from which on a column that counts them is no accident
_SVMLIGHT_TARGET = "y"
HOW = " (--missing drop-rows)"  # rows without a target are left out


@dataclass(frozen=True, eq=False)
class Table:
    """Result of :func:`read_table`."""

    # (m, n), column-major, or SciPy CSR of svmlight files: integers if all columns are, float32 if
    # all are, otherwise float64.
    X: Any
    y: Array | None  # (m,) or (m, T): numbers, booleans or strings
    names: Sequence[str]  # the names of the n features
    target: str | tuple[str, ...] | None  # the name of the target, or the names of several
    source: str  # the file
    # (m,): the columns that were asked for beside the features.
    beside: dict[str, Array] = field(default_factory=dict)
    # Columns left out because they only number the rows.
    index: list[str] = field(default_factory=list)
    layout: Layout | None = None  # what the columns of the file are known by
    unknown: int = 0  # rows left out because their target is missing
    left_out: tuple[str, ...] = ()  # columns of the file that are no features, in its order
    # Which rows are used: a column, "==" or "!=", and a value of it; None: all.
    where: tuple[str, str, Any] | None = None
    converted: bool = False  # whether y are numbers made of dates or of texts such as "$5"
    dates: dict[str, str] | None = None  # kind and format of a target that is a date


def read_table(
    path: str | os.PathLike[str],
    *,
    target: Key | Sequence[Key] | None = None,
    drop: Sequence[Key] = (),
    rows: Rows | None = None,
    beside: Sequence[Key] = (),
    keep_index: bool | Sequence[str] = True,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    n_features: int | None = None,
    mixed: bool = False,
    drop_unknown: bool = False,
    date_format: DateFormats = None,
) -> Table:
    """Read a file as features and target; the suffix determines the format.

    Parameters
    ----------
    path : path
        The file.
    target : str, int, sequence of these or None
        The column to predict, by name or by position (negative from the end; also ``"-1"`` if no
        column has this name); in an npz file also the name of an array beside the features. A
        sequence gives ``y`` of shape (m, T). None, for data to predict on: no ``y``, and every
        column is a feature. An svmlight file contains its target, called ``"y"``.
    drop : sequence of str or int
        Columns to leave out.
    rows : (column, value), (column, "!=", value) or None
        Keep the rows in which the column has this value (or another one), and drop the column; for
        example ``("split", "train")``.
    beside : sequence of str or int
        Columns to return separately, such as sample weights: ``Table.beside``.
    keep_index : bool or sequence of str
        Whether to keep columns that only number the rows (an unnamed first column, as pandas and R
        write it, or one that counts 0, 1, 2, ... or 1, 2, 3, ... in ten rows or more), or the names
        of such columns to keep. ``Table.index`` has the dropped ones.
    delimiter : str or None
        Column separator of a CSV file; None: detect one of , ; | and tab.
    decimal : str or None
        Decimal mark of a CSV file; None: detect it.
    encoding : str or None
        Encoding of a CSV file; None: UTF-8, or UTF-16 if there is a byte order mark.
    sheet : str or None
        Sheet of a workbook; None: the only sheet with cells.
    n_features : int or None
        The number of features of an svmlight file whose last columns are empty, as in a test set.
    mixed : bool
        Whether text, dates and missing values are allowed; if there are any, ``X`` is a
        ``RawTable``.
    drop_unknown : bool
        Whether to drop rows with a missing target; ``Table.unknown`` is their number.
    date_format : str, dict of str to str or None
        Date format for ``datetime.strptime``: for columns by name, or for all columns that match.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        The file is absent, empty, damaged or of an unknown format.
    InputError
        A column is unknown, or a feature contains values that are not finite numbers.

    Notes
    -----
    A CSV file needs names in its first line. If that line is all numbers, the columns are called
    ``x0``, ``x1``, ... as are those of npy and npz files; those of svmlight files are called
    ``x1``, ``x2``, ... after the indices in the file. Empty fields, ``NA``, ``NaN``, ``null`` and
    ``?`` in a CSV file count as missing. Booleans become 0 and 1 (uint8) as features.
    """
    path = Path(path)
    if file_format(path) == "svmlight":
        return _sparse_table(path, target, drop, rows, beside, n_features)
    features, arrays, layout, unnamed, orders = read_columns(
        path, delimiter=delimiter, decimal=decimal, encoding=encoding, sheet=sheet
    )
    check_formats(date_format)
    if isinstance(date_format, Mapping) and (lost := sorted({*date_format} - {*features})):
        raise InputError(f"{path}: date_format: there is no column {lost[0]!r}.")
    with naming_the_file(path):
        features = {n: parse_dates(n, values, date_format) for n, values in features.items()}
    names = list(features)
    every = arrays | features
    n_rows = len(features[names[0]]) if names else 0

    def column(key: Key) -> tuple[str, Array]:
        if key not in every and names:
            refuse_rows_as_columns(path, key, features[names[0]])
        name = find_column(path, key, names, arrays)
        if len(every[name]) != n_rows:
            raise InputError(
                f"{path}: array {name!r} has {len(every[name])} rows, the features have {n_rows}."
            )
        return name, every[name]

    keep: Any = slice(None)
    where = None
    left_out = {find_column(path, key, names, arrays) for key in several(drop)}
    if rows is not None:
        name, values = column(rows[0])
        keep = rows_where(path, name, values, rows)
        where = _where(name, values, keep, rows)
        left_out.add(name)
    extra = dict(column(key) for key in several(beside))
    left_out.update(extra)
    y: Array | None = None
    unknown = 0
    target_name: str | tuple[str, ...] | None = None
    converted = False
    if target is not None:
        found = [column(key) for key in several(target)]
        left_out.update(name for name, _ in found)
        if drop_unknown:
            known = np.logical_and.reduce([is_known(values) for _, values in found])
            wanted = np.zeros(n_rows, dtype=bool)
            wanted[keep] = True
            keep, unknown = wanted & known, int(np.count_nonzero(wanted & ~known))
        checked = [checked_target(path, name, values[keep], HOW) for name, values in found]
        numeric = zip(found, checked, strict=True)
        converted = any(was.dtype.kind in "OM" and y.dtype.kind == "f" for (_, was), y in numeric)
        if isinstance(target, str | int | np.integer):
            y, target_name = checked[0], found[0][0]
            place = names.index(target_name) if target_name in features else None
            layout = Layout(layout.kind, layout.columns, target=place)
        else:
            y, target_name = _side_by_side(path, checked), tuple(name for name, _ in found)
    index = []
    if keep_index is not True:
        kept = {*left_out, *(() if isinstance(keep_index, bool) else keep_index)}
        offered = {name: values for name, values in features.items() if name not in kept}
        index = [n for n, values in offered.items() if n == unnamed or _counts_rows(values)]
        left_out.update(index)
    used = {name: values[keep] for name, values in features.items() if name not in left_out}
    row_numbers = np.arange(1, n_rows + 1)[keep]
    raw = None
    if mixed and used and not _all_numbers(used):
        with naming_the_file(path):
            raw = raw_table({name: features[name] for name in used}, orders)[keep]
    else:
        _check_features(path, used, row_numbers, decimal or ".")
    beside_features = {
        name: checked_target(path, name, values[keep], called="column")
        for name, values in extra.items()
    }
    X = stack_columns(used) if raw is None else raw
    dates = None
    if y is not None and isinstance(target_name, str) and every[target_name].dtype.kind == "M":
        form = date_format.get(target_name) if isinstance(date_format, Mapping) else date_format
        dates = {"kind": kind_of_dates(y), "format": form or ""}
    return Table(
        X, y, list(used), target_name, str(path), beside_features, index, layout, unknown,
        tuple(name for name in names if name in left_out), where, converted, dates,
    )  # fmt: skip


def _where(
    name: str, values: Array, keep: NDArray[np.bool_], rows: Rows
) -> tuple[str, str, Any] | None:
    """Return a mask of the rows to keep and the value in the type of the column; None for
    all rows.
    """
    unequal = len(rows) == 3 and rows[1] == "!="
    value = values[~keep if unequal else keep][:1].tolist()
    return (name, "!=" if unequal else "==", value[0]) if value else None


def _all_numbers(columns: Mapping[str, Array]) -> bool:
    """Return whether all columns are numbers or booleans without missing values."""
    return all(
        values.dtype.kind in "biu" or (values.dtype.kind == "f" and not np.isnan(values).any())
        for values in columns.values()
    )


def _counts_rows(values: Array) -> bool:
    """Return whether a column is 0, 1, 2, ... or 1, 2, 3, ... in order, with enough rows to be
    sure.
    """
    if len(values) < COUNTED or values.dtype.kind not in "iuf" or values[0] not in (0, 1):
        return False
    start = values[0]
    return bool((values[:COUNTED] == start + np.arange(COUNTED)).all()) and bool(
        (values == start + np.arange(len(values))).all()
    )


def write_table(path: str | os.PathLike[str], columns: Mapping[str, ArrayLike]) -> None:
    """Write columns as CSV, Parquet or npy, according to the suffix; an existing file is replaced.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .txt, .parquet, .pq or .npy
        File to write. An npy file contains only numbers, as one 2-D array without names.
    columns : mapping of str to array of shape (m,)
        The columns in order.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (allowed := (".csv", ".tsv", ".txt", ".parquet", ".pq", ".npy")):
        raise FileError(f"cannot write {path}: its suffix must be one of {', '.join(allowed)}.")
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if (
        len({values.shape for values in arrays.values()}) != 1
        or next(iter(arrays.values())).ndim != 1
    ):
        shapes = ", ".join(f"{name!r} {values.shape}" for name, values in arrays.items())
        raise InputError(
            f"cannot write {path}: columns must be 1-D and equally long, got {shapes or 'none'}."
        )
    if suffix == ".npy":
        if text := [name for name, values in arrays.items() if values.dtype.kind not in "biuf"]:
            raise InputError(
                f"cannot write {path}: text in {named_columns(text)}; choose .csv or .parquet."
            )
        with replacing(path, "wb") as stream:
            np.save(stream, stack_columns(arrays), allow_pickle=False)
        return

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        table = pa.table(arrays)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"cannot write {path}: {reason_of(error)}.") from error
    with replacing(path, "wb") as stream:
        if suffix in (".parquet", ".pq"):
            pyarrow.parquet.write_table(table, stream)
        else:
            delimiter = "\t" if suffix == ".tsv" else ","
            pyarrow.csv.write_csv(table, stream, pyarrow.csv.WriteOptions(delimiter=delimiter))


# Formats


def _sparse_table(
    path: Path,
    target: Key | Sequence[Key] | None,
    drop: Sequence[Key],
    rows: Rows | None,
    beside: Sequence[Key],
    n_features: int | None,
) -> Table:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    if target not in (None, _SVMLIGHT_TARGET):
        raise InputError(
            f"{path}: svmlight files carry their own target, called {_SVMLIGHT_TARGET!r}; "
            f"target={target!r} cannot be chosen."
        )
    if len(several(beside)):
        raise InputError(f"{path}: svmlight files contain only features and a target.")
    with reading(path, "svmlight"):
        X, y = load_svmlight_file(str(path), zero_based=True)
    X = csr_array(X)
    if len(y) == 0:
        raise InputError(f"{path} has no rows.")
    first = 0 if (X.indices == 0).any() else 1  # most files count from 1
    width = X.shape[1] - first
    if n_features is not None:
        if n_features < width:
            raise InputError(f"{path} has {width} features, more than n_features={n_features}.")
        width = n_features
    every = NumberedNames(width, first)
    left_out = {every.index(find_column(path, key, every)) + first for key in several(drop)}
    if rows is not None:
        name = find_column(path, rows[0], every)
        number = every.index(name) + first
        values = np.zeros(len(y))
        at = X.indices == number
        values[np.repeat(np.arange(len(y)), np.diff(X.indptr))[at]] = X.data[at]
        keep = rows_where(path, name, values, rows)
        X, y = X[keep], y[keep]
        left_out.add(number)
    names = NumberedNames(width, first, left_out)
    # Columns are renumbered entry by entry: there may be far more columns than entries.
    gone = np.array(sorted(left_out), dtype=X.indices.dtype)
    if len(gone):
        X.data[np.isin(X.indices, gone)] = 0
        X.eliminate_zeros()
    columns = X.indices - first - np.searchsorted(gone, X.indices).astype(X.indices.dtype)
    X = csr_array((X.data, columns, X.indptr), shape=(len(y), len(names)))
    _check_sparse(path, X, names)
    layout = Layout(BY_NUMBER, width, first)
    target_values = checked_target(path, _SVMLIGHT_TARGET, y)
    return Table(X, target_values, names, _SVMLIGHT_TARGET, str(path), layout=layout)


def _side_by_side(path: Path, targets: list[Array]) -> Array:
    if not targets:
        raise InputError(f"{path}: the list of targets is empty; name a column, or give None.")
    if len({values.dtype.kind == "U" for values in targets}) != 1:
        raise InputError(f"{path}: several targets must be all numbers or all text, not both.")
    return np.column_stack(targets)


def _check_features(
    path: Path, columns: Mapping[str, Array], row_numbers: NDArray[np.intp], decimal: str
) -> None:
    text = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    floats = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    missing = [name for name, values in floats.items() if np.isnan(values).any()]
    infinite = [name for name, values in floats.items() if np.isinf(values).any()]
    example = _example(columns[text[0]], row_numbers, decimal) if text else ""
    _refuse(path, len(columns), text, example, missing, infinite)


def _example(values: Array, row_numbers: NDArray[np.intp], decimal: str) -> str:
    """Return the first non-numeric value, or else the first value, and its row."""

    def is_number(value: object) -> bool:
        try:
            float(str(value).replace(decimal, "."))
        except ValueError:
            return False
        return True

    there = [i for i, value in enumerate(values) if value is not None]
    i = next((i for i in there if not is_number(values[i])), there[0] if there else 0)
    return f"such as {shorten(values[i])} in row {row_numbers[i]}"


def _check_sparse(path: Path, X: Any, names: Sequence[str]) -> None:
    missing = [names[j] for j in np.unique(X.indices[np.isnan(X.data)])]
    infinite = [names[j] for j in np.unique(X.indices[np.isinf(X.data)])]
    _refuse(path, len(names), [], "", missing, infinite)


def _refuse(
    path: Path,
    n_features: int,
    text: Sequence[str],
    example: str,
    missing: Sequence[str],
    infinite: Sequence[str],
) -> None:
    """Raise one error for all problems with the features, if there are any."""
    if n_features == 0:
        raise InputError(f"{path}: no feature column remains besides the target.")
    wrong = []
    if text:
        wrong.append(f"text or dates ({example}) in {named_columns(text)}")
    if missing:
        wrong.append(f"missing values in {named_columns(missing)}")
    if infinite:
        wrong.append(f"infinite values in {named_columns(infinite)}")
    if wrong:
        remedies = ["encode them as numbers"] if text else []
        remedies += ["impute the values"] if missing or infinite else []
        columns = str(list(dict.fromkeys([*text, *missing, *infinite])))
        which = f"by drop={columns}" if len(columns) <= MOST_NAMED else "(drop)"
        raise InputError(
            f"{path} has {', and '.join(wrong)}: {' and '.join(remedies)} first, or drop what "
            f"cannot be used {which}."
        )
