"""Input of a search: a table or source, with weights and groups."""

import glob
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.cli.output import naming_stdin
from sparsepath.data.column_lookup import Rows
from sparsepath.data.column_types import Categorical, Ordered, convert_types
from sparsepath.data.file_sources import without_empty
from sparsepath.data.formats import ending_format, named_columns, read_columns, reason_of
from sparsepath.data.layout import BY_NAME
from sparsepath.data.opening import open
from sparsepath.data.readers import COUNTED, Table, read_table
from sparsepath.data.sources import Source, described
from sparsepath.data.survival import Event, happened, survival_task
from sparsepath.data.task import TargetTask, find_task
from sparsepath.errors import FileError, InputError
from sparsepath.report.outcome import Remark
from sparsepath.tables.cells import RawTable, raw_table
from sparsepath.tables.dates import DateFormats
from sparsepath.tables.features import quote_values
from sparsepath.tables.lags import Lags, earlier, history

SAMPLE = 200_000  # rows of a source whose target tells numbers from classes


@dataclass(frozen=True)
class TableOptions:
    """Missing values, dates, and columns that are categorical or ordered."""

    missing: str = "error"
    dates: str = "error"
    categorical: Categorical = ()
    ordered: Ordered = ()
    date_format: DateFormats = None
    transform_target: str | None = None
    lags: Mapping[str, int | list[int]] | None = None
    horizon: int | None = None

    @property
    def in_time(self) -> bool:
        """Whether rows are used with the rows before or after them."""
        return self.lags is not None or self.horizon is not None

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of ``TableSelector``; rows and columns are dropped before it."""
        missing = self.missing if self.missing in ("median", "indicator") else "error"
        found = {"missing": missing, "dates": self.dates}
        more = {
            "date_format": self.date_format,
            "transform_target": self.transform_target,
            "lags": self.lags,
            "horizon": self.horizon,
        }
        return found | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True)
class InputSpec:
    """Specification of the input: file, columns, rows and format."""

    path: Path
    target: str | None = None
    drop: list[str] = field(default_factory=list)
    rows: Rows | None = None
    weights: str | None = None
    groups: str | None = None
    keep_index: bool | list[str] = False  # or the columns to keep, whatever they are
    preparing: TableOptions = field(default_factory=TableOptions)
    writing: Mapping[str, str] = field(default_factory=dict)  # how a text file is written
    names: Path | None = None  # a file of names for columns that have none
    sample: tuple[int, int] | None = None  # rows to draw, and the seed
    event: Event | None = None  # of survival times


@dataclass(frozen=True)
class Problem:
    """Data of a search: a table or source, with weights and groups.

    Of a source, ``y`` are the targets of the first rows.
    """

    table: Table
    weights: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    preparing: TableOptions = field(default_factory=TableOptions)
    remarks: Sequence[Remark] = ()  # of what was left out
    memory: float | None = None  # bytes, for data that are read in passes
    events: NDArray[np.bool_] | None = None  # of survival times: whether the event happened
    # With lags: the columns and the target of all rows, from which ``table`` was made.
    series: RawTable | None = None

    @property
    def y(self) -> NDArray[Any]:
        assert self.table.y is not None
        return self.table.y

    @property
    def fitted_y(self) -> NDArray[Any]:
        """The target; of survival times with their events."""
        return self.y if self.events is None else np.column_stack((self.y, self.events))

    @property
    def in_passes(self) -> bool:
        """Whether the data are read in passes."""
        return isinstance(self.table.X, Source)

    @property
    def fit_arguments(self) -> tuple[Any, Any, dict[str, Any]]:
        """X, y and more arguments of ``fit``; a source has all of them itself."""
        if self.in_passes:
            return self.table.X, None, {}
        if self.series is not None:
            return self.series, self.table.target, {}
        extras = {"sample_weight": self.weights, "groups": self.groups}
        return self.table.X, self.fitted_y, {name: v for name, v in extras.items() if v is not None}

    def task(self, task: str) -> TargetTask:
        """Regression or classification, as given or as inferred from the target."""
        table = self.table
        label = f"{table.source}: target {table.target!r}"
        if self.events is not None:
            return survival_task(label, self.y, self.events, task)
        sparse = table.X.sparse if self.in_passes else is_sparse(Path(table.source))
        return find_task(self.y, task, label, labels=sparse)


def read(source: InputSpec) -> Problem:
    """Read the features, the target and what goes with the rows."""
    sparse = is_sparse(source.path)
    event = None if source.event is None else source.event[0]
    beside = [name for name in (source.weights, source.groups, event) if name is not None]
    if sparse and beside:
        raise InputError(
            f"{source.path}: svmlight files have no columns for --weights, --groups or --event."
        )
    if source.target is None and not sparse:
        columns = read_columns(source.path, **source.writing)
        known = [*columns.beside, *columns.features]
        some = ", ".join(known if len(known) <= 12 else [*known[:6], "...", *known[-5:]])
        raise InputError(
            f"say which column to predict with --target; {source.path} has the columns {some}."
        )
    if source.target in beside:
        raise InputError(
            f"column {source.target!r} is the target; --weights, --groups and --event need another."
        )
    table = read_table(
        source.path,
        target=source.target,
        drop=source.drop,
        rows=source.rows,
        beside=beside,
        keep_index=source.keep_index,
        mixed=not sparse,
        drop_unknown=source.preparing.missing == "drop-rows",
        date_format=source.preparing.date_format,
        **source.writing,  # type: ignore[arg-type]
    )
    table = replace(table, source=naming_stdin(table.source))
    drawn: list[Remark] = []
    if table.unknown:
        rows = f"{table.unknown:,} row{'s' * (table.unknown != 1)}"
        told = f"Note: {rows} without a value of {table.target!r} left out."
        drawn.append(Remark((), "", False, told))
    if source.sample is not None:
        table, said = sample_rows(table, *source.sample)
        drawn += said
    policy = source.preparing
    table = convert_types(table, policy.categorical, policy.ordered)
    series = None
    if policy.in_time:
        table, series = _with_lags(table, source)
    table, remarks = ready(table, policy)
    if policy.transform_target is not None:
        table = as_raw(table, "--transform-target")
    extra = list(table.beside.values())
    if table.target in table.beside:
        raise InputError(
            f"column {table.target!r} is the target; --weights, --groups and --event need another."
        )
    table = _without_empty(table) if sparse else table
    events = None if source.event is None else happened(table, source.event)
    problem = Problem(
        table if source.names is None else name_columns(table, source.names),
        extra[0] if source.weights is not None else None,
        extra[-1 if event is None else -2] if source.groups is not None else None,
        source.preparing,
        [*_not_features(source), *drawn, *remarks],
        events=events,
        series=series,
    )
    if problem.weights is not None and problem.weights.dtype.kind not in "biuf":
        raise InputError(f"{source.path}: --weights {source.weights} is text; it must be numbers.")
    if len(problem.y) < 2:
        raise InputError(f"{source.path} has only one row; selection needs at least two.")
    return problem


def _not_features(source: InputSpec) -> list[Remark]:
    """Columns that the user has excluded from the features."""
    of_rows = () if source.rows is None else (str(source.rows[0]),)
    told = {
        "left out by --drop": tuple(source.drop),
        "says which rows are used (--rows)": of_rows,
        "says how much rows count (--weights)": (source.weights,),
        "says which rows belong together (--groups)": (source.groups,),
        "says whether the event happened (--event)": (source.event and source.event[0],),
    }
    return [
        Remark(tuple(map(str, names)), why, True)
        for why, names in told.items()
        if names and names[0] is not None
    ]


def _without_empty(table: Table) -> Table:
    """Return a sparse table without empty columns.

    Numbers in a file may be as large as one likes, so there may be far more of these than of all
    else; the names of the others identify them.
    """
    from scipy.sparse import csr_array

    X = table.X
    some = np.unique(X.indices)
    if len(some) == X.shape[1] or not len(some):
        return table
    columns = np.searchsorted(some, X.indices).astype(X.indices.dtype)
    X = csr_array((X.data, columns, X.indptr), shape=(X.shape[0], len(some)))
    return replace(table, X=X, names=[table.names[j] for j in some.tolist()])


def is_sparse(path: Path) -> bool:
    """Return whether the suffix is that of an svmlight file, compressed or not."""
    return ending_format(path)[0] == "svmlight"


def ready(table: Table, policy: TableOptions) -> tuple[Table, list[Remark]]:
    """Drop rows or columns with missing values, if requested; return notes on that."""
    raw, said = table.X, list[Remark]()
    if not isinstance(raw, RawTable):
        return table, said
    lacking = [column for column in raw.cells if column.n_missing]
    if lacking and policy.missing == "drop-columns":
        gone = [column.name for column in lacking]
        raw = RawTable(column for column in raw.cells if column.name not in gone)
        note = f"Note: left out for missing values: {quote_values(gone, 12)}."
        said.append(Remark(tuple(gone), "missing values (--missing drop-columns)", True, note))
        if not raw.cells:
            raise InputError(f"{table.source}: every column has missing values; none is left.")
    elif lacking and policy.missing == "drop-rows":
        there = np.ones(len(raw), dtype=bool)
        for column in lacking:
            there &= np.array([text is not None for text in column.texts()])
        left = int(there.sum())
        if left < 2:
            raise InputError(
                f"{table.source}: {left} rows have no missing value; at least two are needed."
            )
        most = max(lacking, key=lambda column: column.n_missing)
        note = (
            f"Note: {len(raw) - left:,} of {len(raw):,} rows with missing values left out, "
            f"{most.n_missing:,} of them for {most.name!r}."
        )
        said.append(Remark((), "", False, note))
        raw = raw[there]
        beside = {name: values[there] for name, values in table.beside.items()}
        table = replace(table, y=None if table.y is None else table.y[there], beside=beside)
    X: Any = raw
    if raw.is_plain:
        X = np.asfortranarray(np.column_stack([column.values for column in raw.cells]))
    return replace(table, X=X, names=raw.columns), said


def as_raw(table: Table, option: str) -> Table:
    """Return a numeric table in the form that ``TableSelector`` takes by name."""
    if isinstance(table.X, RawTable):
        return table
    if hasattr(table.X, "tocsr"):
        raise InputError(f"{table.source}: {option} does not work with svmlight files.")
    columns = {str(name): table.X[:, j] for j, name in enumerate(table.names)}
    return replace(table, X=raw_table(columns))


def _with_lags(table: Table, source: InputSpec) -> tuple[Table, RawTable]:
    """Return the table of the rows that have all lags, and the series that it is made of."""
    given = {
        "--weights": source.weights,
        "--groups": source.groups,
        "--event": source.event,
        "--sample": source.sample,
        "--missing drop-rows": source.preparing.missing == "drop-rows",
    }
    if wrong := [option for option, value in given.items() if value]:
        raise InputError(f"--lags and --horizon need all rows in their order; remove {wrong[0]}.")
    table, policy = as_raw(table, "--lags"), source.preparing
    lags = Lags.of(policy.lags, policy.horizon or 0)
    assert lags is not None
    assert table.y is not None
    own = raw_table({str(table.target): table.y})
    series = RawTable([*table.X.cells, *own.cells])
    places = lags.places(series.columns, str(table.target))
    made = earlier(series, places, lags.horizon)
    first = history(places) + lags.horizon
    y = table.y[first : first + len(made)]
    return replace(table, X=made, y=y, names=made.columns), series


def sample_rows(table: Table, count: int, seed: int) -> tuple[Table, list[Remark]]:
    """Return a random sample of the rows, in order; all rows if there are no more."""
    rows = int(table.X.shape[0])
    if count >= rows:
        return table, []
    kept = np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))
    beside = {name: values[kept] for name, values in table.beside.items()}
    y = None if table.y is None else table.y[kept]
    said = f"Note: {count:,} of {rows:,} rows were drawn (seed {seed}); the others are not used."
    return replace(table, X=table.X[kept], y=y, beside=beside), [Remark((), "", False, said)]


def name_columns(table: Table, file: Path) -> Table:
    """Return a table with names read from a file, one per line."""
    layout = table.layout
    if layout is None or layout.kind == BY_NAME:
        raise InputError(f"{table.source} has its own names; remove --names.")
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
        raise InputError(f"{file}: names must be unique and not empty, unlike {again[0]!r}.")
    return replace(table, names=names, layout=replace(layout, numbers=numbers))


def needs_passes(data: Path, memory: float | None, dask: str | None) -> bool:
    """Return whether data are read in passes: a memory limit, a cluster, a folder or a pattern."""
    return bool(
        memory or dask or data.is_dir() or (glob.has_magic(str(data)) and not data.exists())
    )


def read_in_passes(spec: InputSpec, memory: float | None, client: Any = None) -> Problem:
    """Open a source; the first rows determine the task."""
    source, index = open_source(spec, memory)
    remarks = [Remark((), "", False, f"Note: {described(source)}; the data are read in passes.")]
    if index:
        said = "numbers the rows and is" if len(index) == 1 else "number the rows and are"
        note = f"Note: {named_columns(index)} only {said} left out; --keep-index takes it."
        remarks.append(Remark(tuple(index), "numbers the rows", True, note))
    if source.names is None:  # by their places in the file
        place = int(str(source.target).removeprefix("x")) if source.target else source.n_features
        places = (i for i in range(source.n_features + 1) if i != place)
        source.names = tuple(f"x{i}" for i in places)
    y = _first_targets(source)
    if client is not None:
        from sparsepath.data.clusters import on_cluster

        source = on_cluster(source, client)
    names, target = list(source.names or ()), source.target or "y"
    table = Table(source, y, names, target, source.where, index=index)
    return Problem(table, preparing=spec.preparing, remarks=remarks, memory=memory)


def _first_targets(source: Source) -> Any:
    found: list[Any] = []
    for part in source.parts:
        found += [slab.y for slab in part.read(np.zeros(0, dtype=np.intp))]
        if sum(map(len, found)) >= SAMPLE:
            break
    return np.concatenate(found)


def open_source(spec: InputSpec, memory: float | None) -> tuple[Source, list[str]]:
    """Return the source without dropped columns and columns of row numbers.

    The names of the row-number columns are returned too.
    """
    data, keep_index = spec.path, spec.keep_index
    if "sheet" in spec.writing:
        raise InputError(f"{data} has no sheets; remove --sheet.")

    def read(columns: Sequence[str] | None) -> Source:
        given: dict[str, Any] = {"weights": spec.weights, "groups": spec.groups, **spec.writing}
        given |= {"columns": columns, "drop": spec.drop, "memory": memory}
        return open(str(data), target=spec.target, **given)

    source = without_empty(read(None))
    names = [*(source.names or ()), *source.index]
    kept = set[str]() if isinstance(keep_index, bool) else {*map(str, keep_index)}
    if source.names is None or (keep_index is True and not source.index):
        return source, []
    index = [] if keep_index is True else [*source.index, *_row_numbers(source, kept)]
    index = [name for name in index if name not in kept]
    wanted = [name for name in names if name not in index]
    return (source if wanted == list(source.names) else read(wanted)), index


def _row_numbers(source: Source, kept: Collection[str]) -> list[str]:
    """Columns that are 0, 1, 2, ... or 1, 2, 3, ...; those that begin so are read to their end."""
    if source.kinds is None or source.names is None or len(source) < COUNTED:
        return []
    named = zip(source.names, source.kinds, strict=True)
    left = [name for name, kind in named if kind == "number" and name not in kept]
    first: dict[str, float] = {}
    for part in source.parts:
        for columns, slab in part.cells(left):
            rows = np.arange(slab.start, slab.start + len(slab.y))
            if not slab.start:
                first = {column.name: column.values[0] for column in columns}
            left = [
                column.name
                for column in columns
                if first[column.name] in (0, 1)
                and column.name in left
                and (column.values == first[column.name] + rows).all()
            ]
            if not left:
                return []
    return left
