"""CSV files converted once: a Parquet file beside each, which says what it was made of.

The file is read block by block, by the rules of ``csv_form.py``, so that the columns are those of
the same file read into memory. What a column holds is told by its first block; if a later one
contradicts, the whole is looked through once for what every column holds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparsepath.data.csv_form import CsvForm, csv_form
from sparsepath.data.file_parts import File
from sparsepath.errors import FileError, InputError
from sparsepath.files import replacing
from sparsepath.tuning import TUNING

CACHE = ".sparsepath.parquet"
MADE_OF = b"sparsepath made of"
INDEX = b"sparsepath index"
FORM = 2  # of what is written
ROW_GROUP = 1 << 17  # rows of a group in files that are made here


def converted(path: Path, **writing: Any) -> Path:
    """The Parquet file beside a CSV file, made if it is not there or was made of another.

    ``writing`` says how it is written: ``delimiter``, ``decimal``, ``encoding``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = File.of(path)
    mark = f"{FORM} {file.size} {file.changed} {sorted(writing.items())}".encode()
    cache = path.with_name(path.name + CACHE)
    if cache.exists():
        try:
            known = pq.read_schema(cache).metadata or {}
        except (OSError, ValueError):
            known = {}
        if known.get(MADE_OF) == mark:
            return cache
    try:
        form = csv_form(path, **writing)
        if form.packed:
            raise InputError(
                f"{path}: columns parted by blanks are read in memory only; write commas between "
                "them, or Parquet."
            )
        form.read.block_size = max(form.read.block_size, TUNING.part_bytes // 4)
        try:
            _write(form, cache, mark)
        except pa.ArrowInvalid as error:
            if "conversion error" not in str(error):
                raise
            form.convert.column_types = _types(form)
            _write(form, cache, mark)
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise file.broken(error) from error
    file.check()
    return cache


def _write(form: CsvForm, cache: Path, mark: bytes) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    reader = csv.open_csv(form.source, form.read, form.parse, form.convert)
    names, index = form.names(reader.schema.names)
    about = {MADE_OF: mark, **({} if index is None else {INDEX: index.encode()})}
    fields = [field.with_name(name) for field, name in zip(reader.schema, names, strict=True)]
    schema = pa.schema(fields, about)
    try:
        with (
            replacing(cache, "wb") as stream,
            pq.ParquetWriter(stream, schema, compression="zstd") as writer,
        ):
            for batch in _batches(reader):
                table = pa.Table.from_arrays(batch.columns, schema=schema)
                writer.write_table(table, row_group_size=ROW_GROUP)
    except FileError as error:
        raise FileError(
            f"{error} It is what {form.source} is converted to, once; put that into a folder that "
            "can be written, or make Parquet of it."
        ) from error


def _batches(reader: Any) -> Iterator[Any]:
    """What is read; packed text that is damaged is no trouble with writing."""
    import pyarrow as pa

    try:
        yield from reader
    except OSError as error:
        raise pa.ArrowInvalid(str(error)) from error


def _types(form: CsvForm) -> dict[str, Any]:
    """The narrowest type of every column that takes all its values; as ``csv.read_csv`` has it."""
    import pyarrow as pa
    from pyarrow import csv

    reader = csv.open_csv(form.source, form.read, form.parse, form.convert)
    types = {field.name: field.type for field in reader.schema}
    as_text = csv.ConvertOptions(
        null_values=form.convert.null_values,
        strings_can_be_null=True,
        column_types=dict.fromkeys(types, pa.string()),
    )
    mark = form.convert.decimal_point
    for batch in csv.open_csv(form.source, form.read, form.parse, as_text):
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            types[name] = _widened(types[name], values, mark)
    return types


def _widened(kind: Any, values: Any, mark: str) -> Any:
    """A type that takes these values too."""
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
