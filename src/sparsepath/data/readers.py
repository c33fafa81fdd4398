"""Tables on disk: read as features and target, write columns back.

=============================  ====================================================
ending                         what it holds
=============================  ====================================================
.csv .tsv .txt (.gz .bz2)      text with , ; or tab between columns, names on top
.parquet .pq                   Apache Parquet, one file
.svm .svmlight .libsvm .dat    sparse rows ``label index:value ...`` (.gz .bz2 too)
.npy                           one 2-D array
.npz                           an array ``X`` (or one 2-D array) and others beside it
=============================  ====================================================

A table comes out ready for use or not at all: text, dates, missing and infinite values among the
features are an :class:`~sparsepath.errors.InputError` that names the columns.
"""

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.data.formats import (
    Array,
    file_format,
    listed,
    named_columns,
    read_columns,
    reading,
    reason_of,
    stack_columns,
)
from sparsepath.errors import FileError, InputError
from sparsepath.files import replacing

Key = str | int
"""A column: its name, or its position (negative from the end)."""

_SVMLIGHT_TARGET = "y"


@dataclass(frozen=True, eq=False)
class Table:
    """What :func:`read_table` found.

    Attributes
    ----------
    X : ndarray of shape (m, n), column-major, or SciPy CSR (svmlight files)
        The features: integers if all columns are, float32 if all are, otherwise float64.
    y : ndarray of shape (m,), or (m, T) for several targets, or None
        The target: numbers, booleans or strings.
    names : list of str
        The names of the n features.
    target : str, tuple of str or None
        The name of the target, or the names of several.
    source : str
        The file.
    """

    X: Any
    y: Array | None
    names: list[str]
    target: str | tuple[str, ...] | None
    source: str


def read_table(
    path: str | os.PathLike[str],
    *,
    target: Key | Sequence[Key] | None = None,
    drop: Sequence[Key] = (),
    rows: tuple[Key, object] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    n_features: int | None = None,
) -> Table:
    """Read a file as features and target; its ending tells the format.

    Parameters
    ----------
    path : path
        The file.
    target : str, int, sequence of these or None
        The column to predict, by name or by position (negative from the end; ``"-1"`` does as well
        if no column is called so); in an npz file also the name of an array beside the features.
        A sequence gives ``y`` of shape (m, T). None, for data to predict on: no ``y``, and every
        column is a feature. An svmlight file carries its target itself, named ``"y"``.
    drop : sequence of str or int
        Columns to leave out.
    rows : (column, value) or None
        Keep the rows where the column has this value, and leave that column out, for example
        ``("split", "train")``.
    delimiter : str or None
        What separates the columns of a CSV file; None finds out which of , ; and tab.
    decimal : str
        The decimal mark of a CSV file.
    n_features : int or None
        The number of features of an svmlight file whose last columns are empty, as in a test set.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        The file is absent, empty, damaged or of an unknown format.
    InputError
        A column is unknown, or a feature is not made of finite numbers.

    Notes
    -----
    A CSV file needs names in its first line. If that line is all numbers, the columns are called
    ``x0``, ``x1``, ... as are those of npy and npz files; those of svmlight files are called
    ``x1``, ``x2``, ... after the indices in the file. Empty fields, ``NA``, ``NaN``, ``null`` and
    ``?`` in a CSV file count as missing. Booleans become 0 and 1 (uint8) as features.
    """
    path = Path(path)
    if file_format(path) == "svmlight":
        return _sparse_table(path, target, drop, rows, n_features)
    features, beside = read_columns(path, delimiter=delimiter, decimal=decimal)
    names = list(features)
    every = beside | features
    n_rows = len(features[names[0]]) if names else 0

    def column(key: Key) -> tuple[str, Array]:
        name = _find(path, key, names, beside)
        if len(every[name]) != n_rows:
            raise InputError(
                f"{path}: array {name!r} has {len(every[name])} rows, the features have {n_rows}."
            )
        return name, every[name]

    keep: Any = slice(None)
    left_out = {_find(path, key, names, beside) for key in _several(drop)}
    if rows is not None:
        name, values = column(rows[0])
        keep = _rows_equal(path, name, values, rows[1])
        left_out.add(name)
    y: Array | None = None
    target_name: str | tuple[str, ...] | None = None
    if target is not None:
        found = [column(key) for key in _several(target)]
        left_out.update(name for name, _ in found)
        checked = [_checked_target(path, name, values[keep]) for name, values in found]
        if isinstance(target, str | int | np.integer):
            y, target_name = checked[0], found[0][0]
        else:
            y, target_name = _side_by_side(path, checked), tuple(name for name, _ in found)
    used = {name: values[keep] for name, values in features.items() if name not in left_out}
    _check_features(path, used)
    return Table(stack_columns(used), y, list(used), target_name, str(path))


def write_table(path: str | os.PathLike[str], columns: Mapping[str, ArrayLike]) -> None:
    """Write columns as CSV, Parquet or npy, as the ending says; an old file is replaced whole.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .txt, .parquet, .pq or .npy
        The file. An npy file takes numbers only, as one 2-D array without the names.
    columns : mapping of str to array of shape (m,)
        The columns in order.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (allowed := (".csv", ".tsv", ".txt", ".parquet", ".pq", ".npy")):
        raise FileError(f"cannot write {path}: its ending must be one of {', '.join(allowed)}.")
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
    rows: tuple[Key, object] | None,
    n_features: int | None,
) -> Table:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    if target not in (None, _SVMLIGHT_TARGET):
        raise InputError(
            f"{path}: svmlight files carry their own target, called {_SVMLIGHT_TARGET!r}; "
            f"target={target!r} cannot be chosen."
        )
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
        X.resize((len(y), first + n_features))
    names = [f"x{j}" for j in range(X.shape[1])]
    keep = np.ones(len(y), dtype=bool)
    left_out = {_find(path, key, names[first:]) for key in _several(drop)}
    if rows is not None:
        name = _find(path, rows[0], names[first:])
        keep = _rows_equal(path, name, X[:, [names.index(name)]].toarray().ravel(), rows[1])
        left_out.add(name)
    columns = [j for j in range(first, X.shape[1]) if names[j] not in left_out]
    if not keep.all() or len(columns) < X.shape[1]:
        X = X[keep][:, columns]
    names = [names[j] for j in columns]
    _check_sparse(path, X, names)
    return Table(
        X, _checked_target(path, _SVMLIGHT_TARGET, y[keep]), names, _SVMLIGHT_TARGET, str(path)
    )


# Columns by name, position or value


def _several(keys: Key | Sequence[Key]) -> Sequence[Key]:
    return [keys] if isinstance(keys, str | int | np.integer) else keys


def _find(path: Path, key: Key, names: Sequence[str], beside: Iterable[str] = ()) -> str:
    """The name of a column given by name or by position."""
    known = [*beside, *names]
    if isinstance(key, str) and key in known:
        return key
    try:
        return names[int(key)]
    except IndexError:
        raise InputError(f"{path} has {len(names)} columns, so there is no number {key}.") from None
    except ValueError:
        lower = {name.lower(): name for name in known}
        close = difflib.get_close_matches(str(key).lower(), lower, n=3)
        hint = f" (did you mean {' or '.join(repr(lower[c]) for c in close)}?)" if close else ""
        raise InputError(f"{path}: no column {key!r}{hint} among {listed(known)}.") from None


def _rows_equal(path: Path, name: str, values: Array, wanted: object) -> NDArray[np.bool_]:
    """Where a column has a value, which may be given as text."""
    text = str(wanted)
    keep = np.zeros(len(values), dtype=bool)
    if values.ndim != 1:
        raise InputError(f"{path}: {name!r} has {values.ndim} dimensions; rows needs a 1-D array.")
    if values.dtype.kind in "iuf":
        with suppress(ValueError):
            keep = values == float(text)
    elif values.dtype.kind == "b":
        keep = values == {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    else:
        keep = values.astype(str) == text
    if not keep.any():
        some = list(dict.fromkeys(str(value) for value in values))
        raise InputError(f"{path}: no row has {name!r} equal to {text!r}; it has {listed(some)}.")
    return keep


def _checked_target(path: Path, name: str, values: Array) -> Array:
    """A target of numbers, booleans or strings, with nothing missing, as an array of its own."""
    kind = values.dtype.kind
    if kind in "biuf":
        bad = 0 if kind != "f" else np.count_nonzero(~np.isfinite(values))
        values = np.array(values, dtype=values.dtype.newbyteorder("="))
    elif kind in "US":
        bad = 0
        values = values.astype(str)
    elif kind == "O" and all(value is None or isinstance(value, str) for value in values.flat):
        bad = sum(value is None for value in values.flat)
        values = values.astype(str)
    else:
        raise InputError(
            f"{path}: target {name!r} must be numbers or text, not {values.flat[0]!r}."
        )
    if bad:
        raise InputError(
            f"{path}: target {name!r} is missing or infinite in {bad} of {len(values)} rows; leave "
            f"those rows out."
        )
    return values


def _side_by_side(path: Path, targets: list[Array]) -> Array:
    if not targets:
        raise InputError(f"{path}: the list of targets is empty; name a column, or give None.")
    if len({values.dtype.kind == "U" for values in targets}) != 1:
        raise InputError(f"{path}: several targets must be all numbers or all text, not both.")
    return np.column_stack(targets)


def _check_features(path: Path, columns: Mapping[str, Array]) -> None:
    text = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    floats = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    missing = [name for name, values in floats.items() if np.isnan(values).any()]
    infinite = [name for name, values in floats.items() if np.isinf(values).any()]
    example = next((str(v) for name in text for v in columns[name] if v is not None), "")
    _refuse(path, len(columns), text, example, missing, infinite)


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
    """Raise one error for all that is wrong with the features, if anything is."""
    if n_features == 0:
        raise InputError(f"{path}: no feature column is left beside the target.")
    wrong = []
    if text:
        wrong.append(f"text or dates (such as {example!r}) in {named_columns(text)}")
    if missing:
        wrong.append(f"missing values in {named_columns(missing)}")
    if infinite:
        wrong.append(f"infinite values in {named_columns(infinite)}")
    if wrong:
        remedies = ["encode them as numbers"] if text else []
        remedies += ["impute the values"] if missing or infinite else []
        raise InputError(
            f"{path} has {', and '.join(wrong)}: leave these columns out with --drop (drop=), or "
            f"{' and '.join(remedies)} first."
        )
