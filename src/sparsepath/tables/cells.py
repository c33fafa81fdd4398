"""Convert the columns of a data frame of any library, or of an array, to ``RawColumn``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.system.frames import frame_of
from sparsepath.tables.dates import DateFormats
from sparsepath.tables.features import RawColumn, infer_type


class RawTable:
    """Columns of all types, with selection of rows."""

    def __init__(self, cells: Iterable[RawColumn]) -> None:
        self.cells = tuple(cells)
        self.columns = [column.name for column in self.cells]
        self.shape = (len(self.cells[0].values) if self.cells else 0, len(self.cells))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "RawTable":
        rows = rows[0] if isinstance(rows, tuple) else rows
        return RawTable(column.rows(rows) for column in self.cells)

    @property
    def is_plain(self) -> bool:
        """True if all columns are numbers or booleans without missing values or conversion."""
        return all(
            column.kind in ("number", "flag") and not column.style and not column.n_missing
            for column in self.cells
        )

    def codes(self) -> Floats:
        """Return an integer per value, equal for equal values, to compare rows."""
        made = np.empty(self.shape, order="F")
        for j, column in enumerate(self.cells):
            if column.kind in ("text", "ordered"):
                texts = (str(text).encode(errors="surrogatepass") for text in column.values)
                made[:, j] = [crc32(text) for text in texts]
            else:
                made[:, j] = column.values.astype(np.float64)
        return np.nan_to_num(made, nan=np.finfo(np.float64).min)


def raw_table(
    columns: Mapping[str, NDArray[Any]], orders: Mapping[str, tuple[str, ...]] | None = None
) -> RawTable:
    """Return a table of arrays: numbers, booleans, dates, or objects (text or None)."""
    return RawTable(
        infer_type(_of_values(name, values, (orders or {}).get(name)))
        for name, values in columns.items()
    )


@contextmanager
def naming_the_file(path: object) -> Iterator[None]:
    """Context manager that adds the file name to errors about a column."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _of_values(name: str, values: NDArray[Any], order: tuple[str, ...] | None) -> RawColumn:
    kind = values.dtype.kind
    if kind == "b":
        return RawColumn(name, "flag", values.astype(np.float64))
    if kind in "iuf":
        return RawColumn(name, "number", values.astype(np.float64))
    if kind == "M":
        return RawColumn(name, "date", values.astype("datetime64[us]"))
    if kind not in "OUS":
        raise InputError(f"column {name!r} holds {values.dtype}; leave it out.")
    found = _texts(name, values.tolist())
    if found and all(value is None or isinstance(value, bool) for value in found):
        return RawColumn(name, "flag", _numbers(found))
    texts, declared = _array(found), order is not None
    return RawColumn(name, "ordered" if order else "text", texts, order or (), declared=declared)


def _array(texts: Sequence[Any]) -> NDArray[Any]:
    """Return texts as an array of objects."""
    return np.array([*map(_written, texts), None], object)[:-1]


def _written(value: Any) -> str | None:
    """Return a value as text; floats as in ``RawColumn.texts``."""
    if isinstance(value, float):
        return f"{value:.17g}"
    return None if value is None else str(value)


def table_of(X: Any, formats: DateFormats = None) -> RawTable:
    """Return a table with inferred column types; see ``typed``."""
    if isinstance(X, RawTable):
        return X
    return RawTable(infer_type(column, formats) for column in cells_of(X))


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a data frame; None for arrays."""
    if isinstance(X, RawTable):
        return X.columns
    frame = _frame(X)
    return None if frame is None else [str(name) for name in frame.columns]


def text_names_of(X: Any) -> list[str] | None:
    """Return column names like ``names_of``, but None for a frame with numbered columns."""
    if isinstance(X, RawTable):
        return X.columns
    frame = _frame(X)
    if frame is None or not any(isinstance(name, str) for name in frame.columns):
        return None
    return [str(name) for name in frame.columns]


def _frame(X: Any) -> Any:
    if isinstance(X, np.ndarray | list | tuple) or not hasattr(X, "columns"):
        return None
    import narwhals as nw

    frame = frame_of(X)
    return frame if isinstance(frame, nw.DataFrame) else None


def cells_of(X: Any, names: Sequence[Any] | None = None, of: int | None = None) -> list[RawColumn]:
    """Return all columns of a table, or those given by name (for arrays: by position)."""
    frame: Any = X if isinstance(X, RawTable) else _frame(X)
    if frame is None:
        return _of_array(X, names, of)
    wanted = list(frame.columns) if names is None else list(names)
    known = {str(name): name for name in frame.columns}
    if lost := [name for name in wanted if str(name) not in known]:
        raise InputError(
            f"X lacks the column{'s' * (len(lost) > 1)} {', '.join(map(repr, lost[:5]))}."
        )
    if isinstance(X, RawTable):
        every = dict(zip(X.columns, X.cells, strict=True))
        return [every[str(name)] for name in wanted]
    native = frame.to_native()
    return [_of_series(str(name), frame.get_column(known[str(name)]), native) for name in wanted]


def _of_array(X: Any, places: Sequence[int] | None, of: int | None) -> list[RawColumn]:
    from sklearn.utils.validation import check_array

    with np.errstate(over="ignore", invalid="ignore"):
        array = check_array(X, dtype="numeric", ensure_all_finite="allow-nan")
    if of is not None and array.shape[1] != of:
        raise InputError(
            f"X has {array.shape[1]} features, but the table that was prepared had {of}."
        )
    places = range(array.shape[1]) if places is None else places
    return [RawColumn(f"x{j}", "number", array[:, j].astype(np.float64)) for j in places]


def _of_series(name: str, series: Any, native: Any) -> RawColumn:
    import narwhals as nw

    kind = series.dtype
    if kind == nw.Boolean:
        return RawColumn(name, "flag", _numbers(series.to_list()))
    if kind.is_numeric():
        try:
            return RawColumn(name, "number", series.cast(nw.Float64).to_numpy().astype(np.float64))
        except (TypeError, ValueError):  # missing values of a kind of their own
            return RawColumn(name, "number", _numbers(series.to_list()))
    if kind == nw.Date or kind == nw.Datetime:
        return RawColumn(name, "date", np.array([_moment(value) for value in series.to_list()]))
    if kind in (nw.String, nw.Categorical, nw.Enum, nw.Object) or isinstance(kind, nw.Enum):
        values = _texts(name, series.to_list())
        if kind == nw.Object and values and all(isinstance(v, bool) or v is None for v in values):
            return RawColumn(name, "flag", _numbers(values))
        order = _order(name, series, kind, native)
        category = kind == nw.Categorical or isinstance(kind, nw.Enum)
        declared = category and all(value is None or isinstance(value, str) for value in values)
        texts = _array(values)
        return RawColumn(name, "ordered" if order else "text", texts, order, declared=declared)
    if (kind == nw.Unknown or str(kind) == "Null") and series.null_count() == len(series):
        return RawColumn(name, "number", np.full(len(series), np.nan))
    raise InputError(
        f"column {name!r} holds {_kind(name, kind, native)}, which is not numbers, text or "
        "dates; leave it out."
    )


def _kind(name: str, kind: Any, native: Any) -> str:
    """Return the kind of a column, from the types of its own library if necessary."""
    if str(kind) != "Unknown" or not hasattr(native, "dtypes"):
        return str(kind)
    own = zip(native.columns, native.dtypes, strict=True)
    return str(next(each for column, each in own if str(column) == name))


def _order(name: str, series: Any, kind: Any, native: Any) -> tuple[str, ...]:
    """Return the values of an ordered category, in order."""
    import narwhals as nw

    if isinstance(kind, nw.Enum):
        return tuple(map(str, kind.categories))
    of = getattr(getattr(native, "schema", None), "field", None)
    if kind == nw.Categorical and callable(of) and getattr(of(name).type, "ordered", False):
        values = native.column(name).unify_dictionaries().chunk(0).dictionary.to_pylist()
        return tuple(map(str, values))
    return ()


def _texts(name: str, values: Sequence[Any]) -> list[Any]:
    """Return the text of values, each different one looked at once."""
    if len({*map(type, values)} - {str, type(None)}):  # True equals 1, and lists have no hash
        return [_text(name, value) for value in values]
    known = {value: _text(name, value) for value in {*values}}
    return [known[value] for value in values]


def _text(name: str, value: Any) -> Any:
    """Return the text of a value; None if it is missing or blank."""
    if isinstance(value, list | tuple | np.ndarray):
        raise InputError(f"column {name!r} holds lists, not text; drop it.")
    if _is_gone(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str | bool | int | float | np.generic):
        return value
    if isinstance(value, bytes):
        raise InputError(
            f"column {name!r} is not UTF-8 text, as in {value[:20]!r}; give the encoding of the "
            "file, such as --encoding latin-1, or drop the column."
        )
    raise InputError(f"column {name!r} holds {type(value).__name__}, not text; drop it.")


def _moment(value: Any) -> Any:
    """Return a date or time as a NumPy value without time zone."""
    if _is_gone(value):
        return np.datetime64("NaT", "us")
    plain = value.replace(tzinfo=None) if hasattr(value, "hour") else value
    return np.datetime64(plain, "us")


def _numbers(values: Sequence[Any]) -> Any:
    return np.array([np.nan if _is_gone(v) else float(v) for v in values])


def _is_gone(value: Any) -> bool:
    """True for None, NaN, NaT and pandas' NA, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
