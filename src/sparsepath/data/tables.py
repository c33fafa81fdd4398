"""Files that are read a slab at a time: Parquet, Feather, CSV, npy, svmlight; folders, patterns.

What reads them is in ``file_parts.py``; CSV files are converted once (``csv_cache.py``).
"""

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparsepath.data.csv_cache import CACHE, INDEX, ROW_GROUP, converted
from sparsepath.data.csv_form import UNNAMED
from sparsepath.data.door import some_of
from sparsepath.data.file_parts import Beside, File, NpyPart, SvmlightPart, TablePart
from sparsepath.data.sources import FEWEST_ROWS, SLAB_NUMBERS, Source, is_a, register
from sparsepath.errors import FileError, InputError
from sparsepath.tuning import TUNING

PROGRAM = 3.6e8  # bytes that the program itself takes, its libraries loaded
SLAB_COPIES = 32  # of a slab as float64, in all threads together
SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".npy": "npy",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
}
PACKED = (".gz", ".bz2")  # CSV only


# Opening -----------------------------------------------------------------------------------------


def open_files(
    what: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weights: Any = None,
    columns: Sequence[str] | None = None,
    memory: float | None = None,
    groups: str | None = None,
    **writing: Any,
) -> Source:
    """A source of one file or several, which must have the same columns, in any order.

    The target is a column, or for tables y, with a number or label for every row. ``writing`` says
    how CSV files are written.
    """
    paths = find(what)
    kinds = {kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{what} has files of different kinds: {', '.join(sorted(kinds))}.")
    (kind,) = kinds
    if writing and kind != "csv":
        raise InputError(f"{', '.join(writing)}: that is said of CSV files, and these are {kind}.")
    texts: list[Path | None] = [None] * len(paths)
    if kind == "csv":
        texts = list(paths)
        paths, kind = [converted(path, **writing) for path in paths], "parquet"
    if kind in ("npy", "svmlight"):
        if y is not None:
            raise InputError(f"{kind} files have their target in them: give target=..., not y.")
        if weights is not None or columns is not None or groups is not None:
            raise InputError(f"{kind} files have no names for weights=, groups= or columns=.")
        opened = [_npy(path, target) for path in paths] if kind == "npy" else _svmlight(paths)
    else:
        named = weights if isinstance(weights, str) else None
        given = (kind, target, named, columns, memory, y is not None, groups)
        opened = [_table(path, text, *given) for path, text in zip(paths, texts, strict=True)]
    source = _joined(opened, str(what))
    return source if y is None else _beside(source, y, weights)


def _beside(source: Source, y: Any, weights: Any) -> Source:
    """The source with targets, and weights that are no column, from arrays."""
    y, w = np.asarray(y), None
    if weights is not None and not isinstance(weights, str):
        w = np.asarray(weights, dtype=np.float64)
    for values in (y, *([] if w is None else [w])):
        if len(values) != len(source):
            raise InputError(
                f"y or the weights have {len(values)} entries for {len(source)} rows of "
                f"{source.where}; give one for each."
            )
    source.parts = [
        Beside(part, y[rows], None if w is None else w[rows])
        for part in source.parts
        for rows in [slice(part.start, part.start + part.n_rows)]
    ]
    return source


def _joined(opened: list[Source], where: str) -> Source:
    """The rows of several sources with the same columns; of tables in the order of the first."""
    first = opened[0]
    parts: list[Any] = []
    start = 0
    for source in opened:
        _refuse_unlike(first, source)
        for part in source.parts:
            named = {"features": first.names} if isinstance(part, TablePart) else {}
            parts.append(replace(part, start=start, **named))
            start += part.n_rows
    joined = replace(first, parts=parts, where=where, bytes=sum(s.bytes for s in opened))
    if start < 2:
        raise InputError(f"{where} has {start} rows; at least two are needed.")
    return joined


def _refuse_unlike(first: Source, other: Source) -> None:
    """Name what two files do not have in common."""
    mine, its = (s.names or () for s in (first, other))
    for a, b, which in ((first, other, sorted({*mine} - {*its})), (other, first, {*its} - {*mine})):
        if which:
            raise InputError(
                f"{b.where} has no column {some_of(sorted(which))}, which {a.where} has; give "
                "columns=..., or mend it."
            )
    if first.n_features != other.n_features:
        raise InputError(
            f"{other.where} has {other.n_features} columns and {first.where} {first.n_features}."
        )
    if unlike := sorted({*first.text} ^ {*other.text}):
        raise InputError(
            f"column {some_of(unlike)} holds numbers in one of {first.where} and {other.where}, "
            "and text or nothing in the other; mend it, or leave it out."
        )


def find(what: Any) -> list[Path]:
    """The files that a path, a pattern, a directory or a list of these means, in order.

    In directories, names that begin with a point or a line are those of other programs.
    """
    if isinstance(what, (list, tuple)):
        return [path for item in what for path in find(item)]
    text = os.fspath(what)
    folder = Path(text)
    if folder.is_dir():
        found = sorted(
            path for path in folder.rglob("*")
            if _known(path) and not any(n[0] in "._" for n in path.relative_to(folder).parts)
        )  # fmt: skip
    elif glob.has_magic(text) and not folder.exists():
        found = [Path(path) for path in sorted(glob.glob(text, recursive=True))]
    else:
        found = [folder]
        File.of(text)
    found = [path for path in found if not path.name.endswith(CACHE)]
    if not found:
        raise FileError(f"{text}: there are no such files ({', '.join(SUFFIXES)}).")
    return found


def _known(path: Path) -> str | None:
    """What kind of file this is, by its name; None if it is another."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in PACKED
    kind = SUFFIXES.get("".join(suffixes[-2:-1] if packed else suffixes[-1:]))
    return None if packed and kind != "csv" else kind


def kind_of(path: Path) -> str:
    """What kind of file this is, by its name."""
    kind = _known(path)
    if kind is None:
        raise FileError(
            f"{path}: its kind is not known; use one of {', '.join(SUFFIXES)}, or CSV packed as "
            ".gz or .bz2."
        )
    return kind


def _table(
    path: Path,
    text: Path | None,
    kind: str,
    target: str | None,
    weights: str | None,
    columns: Sequence[str] | None,
    memory: float | None,
    beside: bool,
    groups: str | None,
) -> Source:
    """A Parquet or Feather file; a part for every row group.

    ``text`` is the CSV file that it was made of; ``beside``: the target is no column of it. An
    index that pandas wrote without a name is no feature.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = File.of(path)
    try:
        if kind == "parquet":
            with pq.ParquetFile(path) as opened:
                schema, meta = opened.schema_arrow, opened.metadata
                counts = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        else:
            with pa.OSFile(str(path)) as stream, pa.ipc.open_file(stream) as opened:
                schema = opened.schema
                counts = [opened.get_batch(i).num_rows for i in range(opened.num_record_batches)]
    except (OSError, ValueError) as error:
        if "Not an Arrow file" in str(error):
            raise FileError(
                f"{path} is no Arrow file: a stream of Arrow, or something else; write it as "
                "Feather or Parquet."
            ) from error
        raise file.broken(error) from error
    target = None if beside else _named(target, schema.names, path, "target")
    weights = None if weights is None else _named(weights, schema.names, path, "weights")
    index = {*UNNAMED, (schema.metadata or {}).get(INDEX, b"").decode()} & {*schema.names}
    groups = None if groups is None else _named(groups, schema.names, path, "groups")
    others = [name for name in schema.names if name not in (target, weights, groups)]
    if columns is None:
        others = [name for name in others if name not in index]
    if columns is not None:
        others = [_named(name, others, path, "columns") for name in columns]
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
    named = tuple(others)
    return Source(
        parts, len(named), named, str(path), np.float64, size,
        target=target, kinds=kinds, index=left_out, groups=groups,
    )  # fmt: skip


def _height(n: int, memory: float | None) -> int:
    """Rows of a slab: what is read and made of it takes some times its numbers in every thread."""
    numbers = SLAB_NUMBERS
    if memory is not None:
        numbers = min(numbers, int(max(memory - PROGRAM, memory / 8) / (8 * SLAB_COPIES)))
    return max(FEWEST_ROWS, numbers // max(1, n))


def _named(name: Any, known: Sequence[str], path: Path, what: str) -> str:
    if name is None:
        raise InputError(f"{path}: which column is the target? Give {what}=...")
    if name not in known:
        import difflib

        close = difflib.get_close_matches(str(name), known, n=3)
        hint = f"; did you mean {some_of(close)}?" if close else "."
        raise InputError(f"{str(path).removesuffix(CACHE)} has no column {name!r} for {what}{hint}")
    return str(name)


def _kind(kind: Any) -> str:
    import pyarrow.types as types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "flag"
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return "number" if numbers else "text"


def _width(kind: Any) -> int:
    return max(1, kind.bit_width // 8) if _kind(kind) != "text" else 8


def _npy(path: Path, target: str | None) -> Source:
    file = File.of(path)
    with path.open("rb") as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0
            if version != (1, 0):
                read = np.lib.format.read_array_header_2_0
            shape, by_column, dtype = read(stream)
        except ValueError as error:
            raise file.broken(error) from error
        offset = stream.tell()
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise InputError(f"{path} has shape {shape} and type {dtype}; give a matrix of numbers.")
    m, n = shape
    if file.size < offset + m * n * dtype.itemsize:
        raise FileError(f"{path} is cut short: {file.size} bytes for {m} x {n} numbers.")
    place = _place(target, n, path)
    step = max(FEWEST_ROWS, TUNING.part_bytes // (n * dtype.itemsize))
    parts = [
        NpyPart(file, offset, (m, n), by_column, dtype.str, place, i, i, min(step, m - i))
        for i in range(0, m, step)
    ]
    size = m * n * dtype.itemsize
    return Source(parts, n - 1, None, str(path), dtype, size, target=f"x{place}")


def _place(target: str | None, n: int, path: Path) -> int:
    text = str(n - 1 if target is None else target).removeprefix("x")
    if not text.lstrip("-").isdigit() or not -n <= int(text) < n:
        raise InputError(f"{path}: target={target!r}; it has columns x0 to x{n - 1}.")
    return int(text) % n


def _svmlight(paths: Sequence[Path]) -> list[Source]:
    """Cut at ends of lines; the columns are those that occur in any of the files."""
    found = [_lines_of(path) for path in paths]
    zero_based = min(least for *_, least, _ in found) == 0
    most = max(most for *_, most in found)
    n = most + 1 if zero_based else most
    names = None if zero_based else tuple(f"x{i}" for i in range(1, n + 1))
    made = []
    for file, spans, _, _ in found:
        parts, start = [], 0
        for low, length, rows in spans:
            if rows:
                parts.append(SvmlightPart(file, low, length, n, zero_based, start, rows))
                start += rows
        made.append(Source(parts, n, names, file.path, np.float64, file.size, sparse=True))
    return made


def _lines_of(path: Path) -> tuple[File, list[tuple[int, int, int]], int, int]:
    """Where bytes of whole lines begin, how many they are, their rows; and the columns named."""
    file = File.of(path)
    spans: list[tuple[int, int, int]] = []
    least, most, offset = 1, 0, 0
    with path.open("rb") as stream:
        while lines := stream.readlines(TUNING.part_bytes // 4):
            length, rows = sum(map(len, lines)), 0
            for line in lines:
                entries = line.split(b"#")[0].split()
                rows += bool(entries)
                if len(entries) > 1:
                    try:
                        places = [int(entries[i].split(b":")[0]) for i in (1, -1)]
                    except ValueError as error:
                        raise FileError(
                            f"{path} is no svmlight file: {line[:40].decode(errors='replace')!r}."
                        ) from error
                    least, most = min(least, places[0]), max(most, places[1])
            spans.append((offset, length, rows))
            offset += length
    return file, spans, least, most


# Tables of other programs ------------------------------------------------------------------------


def _dataset(what: Any, y: Any = None, **given: Any) -> Source:
    """A pyarrow dataset: its files, where they hold just its rows and columns; else written."""
    import pyarrow.parquet as pq

    files = [Path(file) for file in getattr(what, "files", [])]
    plain = getattr(what, "_scan_options", None) == {}  # no filter
    kinds = {file.suffix for file in files} <= set(SUFFIXES) and all(f.exists() for f in files)
    if files and plain and kinds and not len(getattr(what.partitioning, "schema", ())):
        taken = {given.get("target"), given.get("weights")} if y is None else set()
        names = given.get("columns") or [name for name in what.schema.names if name not in taken]
        return open_files(files, y, **{**given, "columns": names})

    def write(path: Path) -> None:
        with pq.ParquetWriter(path, what.schema) as writer:
            for batch in what.to_batches():
                writer.write_batch(batch, row_group_size=ROW_GROUP)

    return _written(write, "pyarrow dataset", y, given)


def _lazy(what: Any, y: Any = None, **given: Any) -> Source:
    """A polars lazy frame: its result is written."""

    def write(path: Path) -> None:
        what.sink_parquet(path, row_group_size=ROW_GROUP)

    return _written(write, "polars lazy frame", y, given)


def _written(write: Any, where: str, y: Any, given: dict[str, Any]) -> Source:
    """A table that is written once, in passes, to a file of the system's, gone with the source."""
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
    """Whether this names files."""
    items = what if isinstance(what, (list, tuple)) and what else [what]
    return all(isinstance(item, (str, os.PathLike)) for item in items)


register(is_path, open_files)
register(lambda what: is_a(what, "pyarrow", "Dataset"), _dataset)
register(lambda what: is_a(what, "polars", "LazyFrame"), _lazy)
