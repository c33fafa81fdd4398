"""Cache of CSV files converted to Parquet.

The cache folder is ``SPARSEPATH_CACHE``, or ``sparsepath`` in the user's cache folder; it may be
deleted at any time. A cached file records its source.

The file is read in blocks, with the rules of ``csv_dialect.py``, so that the columns are the same
as when the file is read into memory. The type of a column is inferred from its first block; if a
later block contradicts, one more pass determines all types.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparsepath.data.csv_dialect import CsvForm, csv_form
from sparsepath.data.file_parts import File
from sparsepath.data.formats import DAMAGE, native, refuse_repeated
from sparsepath.errors import FileError, InputError
from sparsepath.system.files import replacing
from sparsepath.system.tuning import TUNING

CACHE = ".sparsepath.parquet"
VARIABLE = "SPARSEPATH_CACHE"
MADE_OF = b"sparsepath made of"
INDEX = b"sparsepath index"
FORM = 2  # of what is written
# Measured (tests/cli/test_memory.py): pyarrow reads ahead, and the writer keeps what it packs.
BLOCKS = 46  # times the bytes of a block of text that reading and converting takes
WRITER = 3e7, 2.5e4  # bytes that are taken besides, and for every column
SMALLEST_BLOCK = 1 << 18
GROUP = 16  # part of the memory in which rows are gathered to a row group
ROW_GROUP = 1 << 17  # rows of a group in files that are made here


def cache_folder() -> Path:
    """Return the cache folder."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparsepath"


def cache_file(path: Path) -> Path:
    """Return the cache file of a CSV file, from its full name."""
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    return cache_folder() / f"{digest}{CACHE}"


def convert(path: Path, memory: float | None = None, **writing: Any) -> Path:
    """Return the Parquet file of a CSV file; convert it if it is missing or outdated.

    ``memory`` limits the bytes used; ``writing`` has ``delimiter``, ``decimal`` and ``encoding``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = File.of(path)
    mark = f"{FORM} {file.size} {file.changed} {sorted(writing.items())}".encode()
    cache = cache_file(path)
    if os.path.exists(cache):
        try:
            with native(cache) as stream:
                known = pq.read_schema(stream).metadata or {}
        except DAMAGE:
            known = {}
        if known.get(MADE_OF) == mark:
            return cache
    with file.intact():
        form = csv_form(path, **writing)
        if form.packed:
            raise InputError(
                f"{path}: columns separated by blanks are read in memory only; use commas between "
                "them, or convert the file to Parquet."
            )
        form.read.block_size = _block(path, form, memory)
        group = form.read.block_size if memory is None else memory / GROUP
        try:
            _write(form, cache, mark, group)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            form.convert.column_types = _types(form)
            _write(form, cache, mark, group)
    file.check()
    return cache


def _block(path: Path, form: CsvForm, memory: float | None) -> int:
    """Return the number of bytes of text to convert at a time; at least one row must fit."""
    block: int = max(form.read.block_size, TUNING.part_bytes // 4)
    if memory is None:
        return block
    least = max(SMALLEST_BLOCK, form.row_bytes)
    fixed = WRITER[0] + WRITER[1] * form.n_columns
    if (needed := fixed + BLOCKS * least) > memory:
        raise InputError(
            f"{path} cannot be converted within {memory / 1e6:.4g} MB: it takes about "
            f"{needed / 1e6:.0f} MB; increase --memory, or convert the file to Parquet."
        )
    return max(least, min(block, int((memory - fixed) / BLOCKS)))


def _write(form: CsvForm, cache: Path, mark: bytes, group: float) -> None:
    """Convert the text; row groups have about ``group`` bytes in Arrow format.

    The writer keeps a record of every column of every row group until the end.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    reader = csv.open_csv(form.text(), form.read, form.parse, form.convert)
    names, index = form.names(reader.schema.names)
    refuse_repeated(form.source, names)
    about = {MADE_OF: mark, **({} if index is None else {INDEX: index.encode()})}
    fields = [field.with_name(name) for field, name in zip(reader.schema, names, strict=True)]
    schema = pa.schema(fields, about)
    try:
        _make_folder(cache.parent)
        with (
            replacing(cache, "wb") as stream,
            pq.ParquetWriter(stream, schema, compression="zstd") as writer,
        ):
            for batches in _gathered(_batches(reader), group):
                table = pa.Table.from_batches(batches).rename_columns(names)
                writer.write_table(table.cast(schema), row_group_size=ROW_GROUP)
    except FileError as error:
        raise FileError(
            f"{error} It is what {form.source} is converted to, once; set {VARIABLE} to a folder "
            "that can be written, or make Parquet of it."
        ) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror or error}.") from error


def _gathered(batches: Iterator[Any], size: float) -> Iterator[list[Any]]:
    """Yield lists of batches with at least this many bytes, except the last."""
    found: list[Any] = []
    for batch in batches:
        found.append(batch)
        if sum(b.nbytes for b in found) >= size:
            yield found
            found = []
    if found:
        yield found


def _batches(reader: Any) -> Iterator[Any]:
    """Yield batches; damaged compressed text raises an error about the source, not the cache."""
    import pyarrow as pa

    try:
        yield from reader
    except OSError as error:
        raise pa.ArrowInvalid(str(error)) from error


def _types(form: CsvForm) -> dict[str, Any]:
    """Return the narrowest type of every column that holds all its values."""
    import pyarrow as pa
    from pyarrow import csv

    reader = csv.open_csv(form.text(), form.read, form.parse, form.convert)
    types = {field.name: field.type for field in reader.schema}
    as_text = csv.ConvertOptions(
        null_values=form.convert.null_values,
        strings_can_be_null=True,
        column_types=dict.fromkeys(types, pa.string()),
    )
    mark = form.convert.decimal_point
    for batch in csv.open_csv(form.text(), form.read, form.parse, as_text):
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            types[name] = _widened(types[name], values, mark)
    return types


def _widened(kind: Any, values: Any, mark: str) -> Any:
    """Return a type that also holds these values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count == len(values) or kind == pa.string():
        return kind
    plain = pc.utf8_trim_whitespace(values)
    for wider in (*([] if kind == pa.null() else [kind]), pa.int64(), pa.float64()):
        text = pc.replace_substring(plain, mark, ".") if wider == pa.float64() else plain
        try:
            pc.cast(text, wider)
        except pa.ArrowInvalid:
            continue
        return wider
    return pa.string()
