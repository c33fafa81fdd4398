"""Files read in slabs: Parquet, Feather, CSV, npy, svmlight; folders, patterns.

``file_parts.py`` reads them; CSV files are converted once (``csv_cache.py``).
"""

import glob
import io
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.column_lookup import Key, find_column
from sparsepath.data.csv_cache import CACHE, INDEX, ROW_GROUP, convert
from sparsepath.data.csv_dialect import UNNAMED
from sparsepath.data.file_parts import File, NpyPart, PartWithTargets, SvmlightPart, TablePart
from sparsepath.data.formats import (
    ENDINGS,
    ending_format,
    native,
    reading,
    refuse_repeated,
    shorten,
)
from sparsepath.data.names import NumberedNames
from sparsepath.data.sources import FEWEST_ROWS, SLAB_NUMBERS, Source, is_a, register
from sparsepath.data.validation import some_of
from sparsepath.errors import FileError, InputError
from sparsepath.system.tuning import TUNING

# Memory, in the bytes that the process takes more than at its start, libraries loaded. Measured as
# peaks of resident memory (tests/cli/test_memory.py).
SLAB_COPIES = 10  # of a slab as float64, in a thread that reads it and works on it
SLABS = 6  # slabs of threads, with all their copies, that fit into the memory
FEWEST_READ = 32  # rows of a slab, however many columns there are
FOR_THREADS = 0.75  # of the memory; the rest is for sums of products, which threads share
PAGES = 2.7e6, 4.0  # of a column of Parquet: bytes at most, and times its bytes in a row group
BATCHES = 2.6  # times the bytes of a record batch of Feather: packed, and unpacked
TEXT_COPIES = 12  # of a stretch of svmlight text
IN_PASSES = {
    "Parquet": "parquet",
    "Feather": "feather",
    "CSV": "csv",
    "NumPy": "npy",
    "svmlight": "svmlight",
}
SUFFIXES = [  # .npz files are archives, which cannot be read from the middle
    ending for ending, kind in ENDINGS.items() if kind in IN_PASSES and ending != ".npz"
]
MOST_ENTRIES = 100_000  # of a folder and those below it


# Opening -----------------------------------------------------------------------------------------


def open_files(
    what: Any,
    y: Any = None,
    *,
    target: Key | None = None,
    weights: Any = None,
    columns: Sequence[Key] | None = None,
    drop: Sequence[Key] = (),
    memory: float | None = None,
    groups: Key | None = None,
    **writing: Any,
) -> Source:
    """Return a source of one or several files with the same columns, in any order.

    The target is a column or, for tables, an array y with a number or label for every row.
    ``writing`` has the dialect of CSV files.
    """
    paths = find(what)
    kinds = {kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{what} has files of different kinds: {', '.join(sorted(kinds))}.")
    (kind,) = kinds
    if writing and kind != "csv":
        raise InputError(f"{', '.join(writing)}: only for CSV files, and these are {kind}.")
    texts: list[Path | None] = [None] * len(paths)
    if kind == "csv":
        texts = list(paths)
        paths = [convert(path, memory, **writing) for path in paths]
        kind = "parquet"
    if kind in ("npy", "svmlight"):
        if y is not None:
            raise InputError(f"{kind} files contain their target: give target=..., not y.")
        if weights is not None or columns is not None or groups is not None or len(drop):
            raise InputError(
                f"{kind} files are read in passes with all their columns: weights, groups, columns "
                "and drop need a table, such as Parquet."
            )
        opened = (
            [_npy(path, target, memory) for path in paths]
            if kind == "npy"
            else _svmlight(paths, memory)
        )
    else:
        named = weights if isinstance(weights, str | int) else None
        roles = Roles(target, named, groups, columns, drop, beside=y is not None)
        opened = [
            _table(path, text, kind, roles, memory) for path, text in zip(paths, texts, strict=True)
        ]
    source = _joined(opened, str(what))
    return source if y is None else _beside(source, y, weights)


def _beside(source: Source, y: Any, weights: Any) -> Source:
    """Return the source with targets, and weights that are not a column, from arrays."""
    y, w = np.asarray(y), None
    if weights is not None and not isinstance(weights, str | int):
        w = np.asarray(weights, dtype=np.float64)
    for values in (y, *([] if w is None else [w])):
        if len(values) != len(source):
            raise InputError(
                f"y or the weights have {len(values)} entries for {len(source)} rows of "
                f"{source.where}; give one for each."
            )
    source.parts = [
        PartWithTargets(part, y[rows], None if w is None else w[rows])
        for part in source.parts
        for rows in [slice(part.start, part.start + part.n_rows)]
    ]
    return source


def _joined(opened: list[Source], where: str) -> Source:
    """Return the rows of several sources with the same columns, in the column order of the
    first.
    """
    first = opened[0]
    parts: list[Any] = []
    start = 0
    for source in opened:
        _refuse_unlike(first, source)
        for part in source.parts:
            named = {"features": first.names} if isinstance(part, TablePart) else {}
            parts.append(replace(part, start=start, **named))
            start += part.n_rows
    most = min((s.most_threads for s in opened if s.most_threads is not None), default=None)
    size = sum(s.bytes for s in opened)
    joined = replace(first, parts=parts, where=where, bytes=size, most_threads=most)
    if start < 2:
        raise InputError(f"{where} has {start} rows; at least two are needed.")
    if not joined.n_features:
        raise InputError(f"{where}: no feature column remains besides the target.")
    return joined


def _refuse_unlike(first: Source, other: Source) -> None:
    """Raise an error that names the differences between two files."""
    mine, its = (s.names or () for s in (first, other))
    if mine == its:  # numbered ones are not listed: there may be far more than entries
        mine = its = ()
    for a, b, which in ((first, other, {*mine} - {*its}), (other, first, {*its} - {*mine})):
        if which:
            raise InputError(
                f"{b.where} has no column {some_of(sorted(which))}, which {a.where} has; give "
                "columns=..., or fix it."
            )
    if first.n_features != other.n_features:
        raise InputError(
            f"{other.where} has {other.n_features} columns and {first.where} {first.n_features}."
        )
    if unlike := sorted({*first.text} ^ {*other.text}):
        raise InputError(
            f"column {some_of(unlike)} holds numbers in one of {first.where} and {other.where}, "
            "and text or nothing in the other; fix or drop it."
        )


def find(what: Any) -> list[Path]:
    """Return the files of a path, a pattern, a directory or a list of these, in order.

    Files in directories whose names begin with a dot or underscore are ignored.
    """
    if isinstance(what, (list, tuple)):
        return [path for item in what for path in find(item)]
    text = os.fspath(what)
    folder = Path(text)
    if folder.is_dir():
        found = sorted(_walked(folder))
    elif glob.has_magic(text) and not folder.exists():
        found = [Path(path) for path in sorted(glob.glob(text, recursive=True))]
    else:
        found = [folder]
        File.of(text)
    found = [path for path in found if not path.name.endswith(CACHE)]
    if not found:
        raise FileError(f"{text}: no files found ({', '.join(SUFFIXES)}).")
    return found


def _walked(folder: Path) -> Iterator[Path]:
    """Return the files of known type below a folder."""
    seen = 0
    for place, inner, files in os.walk(folder):
        inner[:] = [name for name in inner if name[0] not in "._"]
        seen += len(inner) + len(files)
        if seen > MOST_ENTRIES:
            raise FileError(
                f"{folder} has more than {MOST_ENTRIES:,} entries, too many to search; name "
                f"the files by a pattern, such as '{folder / '*.parquet'}'."
            )
        for name in files:
            path = Path(place) / name
            if name[0] not in "._" and _known(path):
                yield path


def _known(path: Path) -> str | None:
    """Return the type of a file from its name; None if unknown."""
    kind, packed = ending_format(path)
    if kind not in IN_PASSES or path.suffix.lower() == ".npz" or (packed and kind != "CSV"):
        return None
    return IN_PASSES[kind]


def kind_of(path: Path) -> str:
    """Return the type of a file from its name; raise an error if unknown."""
    kind = _known(path)
    if kind is None:
        raise FileError(
            f"{path}: unknown file type; use one of {', '.join(SUFFIXES)}, or CSV compressed as "
            ".gz or .bz2."
        )
    return kind


@dataclass(frozen=True, eq=False)
class Roles:
    """What columns of a table are, by name or position; ``beside``: the target is no column."""

    target: Key | None
    weights: Key | None
    groups: Key | None
    columns: Sequence[Key] | None
    drop: Sequence[Key]
    beside: bool

    def of(
        self, path: Path, names: Sequence[str], index: Collection[str]
    ) -> tuple[str | None, str | None, str | None, list[str]]:
        """Return the target, weights, groups and features among the columns of a file.

        Columns of the ``index`` are features only if they are named.
        """

        def found(key: Key | None) -> str | None:
            return None if key is None else find_column(path, key, names)

        if self.target is None and not self.beside:
            raise InputError(f"{path}: which column is the target? Give target=...")
        target = None if self.beside else found(self.target)
        special = target, found(self.weights), found(self.groups)
        if target is not None and target in special[1:]:
            raise InputError(f"column {target!r} is the target; weights and groups need another.")
        left_out = {*special, *map(found, self.drop)}
        if self.columns is None:
            return *special, [name for name in names if name not in {*left_out, *index}]
        features = [find_column(path, key, names) for key in self.columns]
        if taken := [name for name in features if name in special]:
            raise InputError(f"{path}: column {taken[0]!r} is no feature; leave it out of columns.")
        return *special, [name for name in features if name not in left_out]


def _table(path: Path, text: Path | None, kind: str, roles: Roles, memory: float | None) -> Source:
    """Return a source for a Parquet or Feather file; one part per row group.

    ``text`` is the CSV file it was converted from. An unnamed index written by pandas is not a
    feature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = File.of(path)
    with _arrow(file), native(path) as stream:
        if kind == "parquet":
            with pq.ParquetFile(stream) as opened:
                schema, meta = opened.schema_arrow, opened.metadata
                counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
                pages = max(map(_pages, map(meta.row_group, range(len(counts)))), default=0.0)
        else:
            first = pa.ipc.IpcReadOptions(included_fields=[0])
            with pa.ipc.open_file(stream, options=first) as opened:
                counts = [opened.get_batch(i).num_rows for i in range(opened.num_record_batches)]
            with pa.ipc.open_file(stream) as opened:
                schema = opened.schema
            row = sum(_width(field.type) for field in schema)
            pages = BATCHES * max(max(counts, default=0) * row, file.size / max(1, len(counts)))
    shown = text or path  # the file that the user knows
    refuse_repeated(shown, schema.names)
    index = {*UNNAMED, (schema.metadata or {}).get(INDEX, b"").decode()} & {*schema.names}
    index -= {find_column(shown, key, schema.names) for key in roles.drop}
    target, weights, groups, others = roles.of(shown, schema.names, index)
    kinds = tuple(_kind(schema.field(name).type) for name in others)
    height = _height(len(others), memory)
    parts, start = [], 0
    origin = None if text is None else File.of(text)
    for i, rows in enumerate(counts):
        if rows:
            known = (tuple(others), target, weights, start, rows, height, origin)
            parts.append(TablePart(file, kind, (i,), *known))
            start += rows
    size = sum(_width(schema.field(name).type) for name in others) * start
    left_out = tuple(sorted(index - {*others}))
    threads = _threads(shown, memory, pages + 8 * SLAB_COPIES * height * len(others))
    named = tuple(others)
    return Source(
        parts, len(named), named, str(shown), np.float64, size,
        target=target, kinds=kinds, index=left_out, groups=groups, most_threads=threads,
    )  # fmt: skip


@contextmanager
def _arrow(file: File) -> Iterator[None]:
    """Raise an error if a file is not an Arrow file, or name the damage."""
    with file.intact():
        try:
            yield
        except ValueError as error:
            if "Not an Arrow file" not in str(error):
                raise
            raise FileError(
                f"{file.path} is not an Arrow file (Arrow streams are not supported); write it as "
                "Feather or Parquet."
            ) from error


def _height(n: int, memory: float | None) -> int:
    """Return the number of rows of a slab; reading takes several times its size in every thread.

    It does not depend on the number of threads, because sums are rounded slab by slab.
    """
    if memory is None:
        return max(FEWEST_ROWS, SLAB_NUMBERS // max(1, n))
    numbers = min(SLAB_NUMBERS, int(memory / (8 * SLAB_COPIES * SLABS)))
    return max(FEWEST_READ, numbers // max(1, n))


def _threads(path: object, memory: float | None, each: float) -> int | None:
    """Return how many threads fit into memory if each takes a number of bytes."""
    if memory is None:
        return None
    if each > memory:
        raise InputError(
            f"{path} cannot be read within {memory / 1e6:.4g} MB: its parts, and derived "
            f"arrays, take about {each / 1e6:.4g} MB; increase --memory, or write the file with "
            "smaller row groups or batches."
        )
    return max(1, int(FOR_THREADS * memory / max(each, 1.0)))


def _pages(group: Any) -> float:
    """Return the bytes needed to read a row group: a page and a dictionary per column."""
    columns = (group.column(j) for j in range(group.num_columns))
    return sum(min(PAGES[0], PAGES[1] * column.total_uncompressed_size) for column in columns)


def _kind(kind: Any) -> str:
    import pyarrow.types as types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "flag"
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if numbers else "text"


def _width(kind: Any) -> int:
    return max(1, kind.bit_width // 8) if _kind(kind) != "text" else 8


def _npy(path: Path, target: Key | None, memory: float | None) -> Source:
    file = File.of(path)
    with path.open("rb") as stream, file.intact():
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(stream)
        offset = stream.tell()
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise InputError(f"{path} has shape {shape} and type {dtype}; give a matrix of numbers.")
    m, n = shape
    if file.size < offset + m * n * dtype.itemsize:
        raise FileError(f"{path} is cut short: {file.size} bytes for {m} x {n} numbers.")
    place = _place(target, n, path)
    step = max(FEWEST_ROWS, TUNING.part_bytes // (n * dtype.itemsize))
    height = _height(n, memory)
    threads = _threads(path, memory, 8 * SLAB_COPIES * height * n)
    parts = [
        NpyPart(file, offset, (m, n), by_column, dtype.str, place, i, i, min(step, m - i), height)
        for i in range(0, m, step)
    ]
    size = m * n * dtype.itemsize
    return Source(
        parts, n - 1, None, str(path), dtype, size, target=f"x{place}", most_threads=threads
    )


def _place(target: Key | None, n: int, path: Path) -> int:
    text = str(n - 1 if target is None else target).removeprefix("x")
    place = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else n
    if not -n <= place < n:
        raise InputError(f"{path}: target={shorten(target)}; it has columns x0 to x{n - 1}.")
    return place % n


def _svmlight(paths: Sequence[Path], memory: float | None) -> list[Source]:
    """Cut svmlight files at ends of lines; the columns go up to the largest index in any file.

    Indices can be arbitrarily large, so most columns may be empty: ``without_empty`` drops these.
    """
    length = TUNING.part_bytes // 4
    if memory is not None:
        length = min(length, int(memory / (TEXT_COPIES * SLABS)))
    found = [_stretches(path, max(1, length)) for path in paths]
    known = np.unique(np.concatenate([columns for *_, columns in found]))
    first = 0 if len(known) and known[0] == 0 else 1
    n = int(known[-1]) + 1 - first if len(known) else 0
    longest = max((length for _, spans, _ in found for _, length, _ in spans), default=0)
    threads = _threads(paths[0], memory, float(TEXT_COPIES * longest))
    made: list[Source] = []
    for file, spans, _ in found:
        parts, start = [], 0
        for low, length, rows in spans:
            if rows:
                parts.append(SvmlightPart(file, low, length, n, first == 0, start, rows))
                start += rows
        names = NumberedNames(n, first)
        source = SvmlightSource(
            parts, n, names, file.path, np.float64, file.size,
            sparse=True, most_threads=threads, occupied=known - first,
        )  # fmt: skip
        made.append(source)
    return made


def _stretches(path: Path, length: int) -> tuple[File, list[tuple[int, int, int]], Any]:
    """Return the starts, bytes and rows of ranges of whole lines, and the columns with entries."""
    from sklearn.datasets import load_svmlight_file

    file = File.of(path)
    spans: list[tuple[int, int, int]] = []
    known, offset = np.zeros(0, dtype=np.int64), 0
    with path.open("rb") as stream, reading(path, "svmlight"):
        while lines := stream.readlines(length):
            text = b"".join(lines)
            X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
            known = np.union1d(known, X.indices)
            spans.append((offset, len(text), len(y)))
            offset += len(text)
    return file, spans, known


def without_empty(source: Source) -> Source:
    """Return the source without columns of svmlight files that have no entry.

    The names of the remaining columns contain their index.
    """
    if not isinstance(source, SvmlightSource) or len(source.occupied) == source.n_features:
        return source
    kept = source.occupied
    assert source.names is not None
    names = tuple(source.names[i] for i in kept.tolist())
    parts = [replace(part, kept=kept) for part in source.parts]
    return replace(source, parts=parts, n_features=len(kept), names=names)


@dataclass(eq=False)
class SvmlightSource(Source):
    """Rows of svmlight files; ``occupied`` are the columns with entries."""

    occupied: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


# Tables of other programs ------------------------------------------------------------------------


def _dataset(what: Any, y: Any = None, **given: Any) -> Source:
    """Return a source for a pyarrow dataset; it is written to a file if its files contain other
    rows or columns.
    """
    import pyarrow.parquet as pq

    files = [Path(file) for file in getattr(what, "files", [])]
    plain = getattr(what, "_scan_options", None) == {}  # no filter
    kinds = {file.suffix for file in files} <= {*SUFFIXES} and all(f.exists() for f in files)
    if files and plain and kinds and not len(getattr(what.partitioning, "schema", ())):
        names = what.schema.names
        keys = [given.get(role) for role in ("target", "weights", "groups")][y is not None :]
        taken = [find_column(files[0], k, names) for k in keys if isinstance(k, str | int)]
        given["columns"] = given.get("columns") or [name for name in names if name not in taken]
        return open_files(files, y, **given)

    def write(path: Path) -> None:
        with pq.ParquetWriter(path, what.schema) as writer:
            for batch in what.to_batches():
                writer.write_batch(batch, row_group_size=ROW_GROUP)

    return _written(write, "pyarrow dataset", y, given)


def _lazy(what: Any, y: Any = None, **given: Any) -> Source:
    """Return a source for a polars lazy frame, whose result is written to a file."""

    def write(path: Path) -> None:
        what.sink_parquet(path, row_group_size=ROW_GROUP)

    return _written(write, "polars lazy frame", y, given)


def _written(write: Any, where: str, y: Any, given: dict[str, Any]) -> Source:
    """Return a table written in passes to a temporary file that is deleted with the source."""
    import shutil
    import tempfile
    import weakref

    folder = tempfile.mkdtemp(prefix="sparsepath-")
    write(Path(folder) / "table.parquet")
    source = open_files(folder, y, **given)
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    source.where = where
    return source


def is_path(what: Any) -> bool:
    """Return whether this names files."""
    items = what if isinstance(what, (list, tuple)) and what else [what]
    return all(isinstance(item, (str, os.PathLike)) for item in items)


register(is_path, open_files)
register(lambda what: is_a(what, "pyarrow", "Dataset"), _dataset)
register(lambda what: is_a(what, "polars", "LazyFrame"), _lazy)
