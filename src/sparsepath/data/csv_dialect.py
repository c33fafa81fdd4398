"""Dialect of a CSV file: delimiter, decimal mark, header."""

import codecs
import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsepath.errors import FileError, InputError

NOT_UTF8 = "it is not text in UTF-8; give its encoding, such as --encoding latin-1"
UNNAMED = ("Unnamed: 0", "__index_level_0__")  # what pandas calls an index without a name
HEAD = 1 << 20  # bytes that are looked at
NO_DELIMITERS = ('"', "\r", "\n", "\0")
NO_ENCODINGS = ("idna", "punycode")  # of names in the Internet


@dataclass(frozen=True, eq=False)
class CsvForm:
    """Options of a CSV file for pyarrow, and its source.

    ``source`` is the file, or the text itself if columns are separated by blanks (``packed``).
    """

    source: Any
    read: Any
    parse: Any
    convert: Any
    has_names: bool
    packed: bool
    n_columns: int
    row_bytes: int  # room for a row: numbers are longer than names

    def text(self) -> Any:
        """Return a stream of the text."""
        return decompress(self.source) if isinstance(self.source, Path) else self.source

    def names(self, given: Sequence[str]) -> tuple[list[str], str | None]:
        """Return the names of the columns, including an unnamed index."""
        names = [(self.has_names and name) or f"x{j}" for j, name in enumerate(given)]
        return names, names[0] if self.has_names and given[0] in ("", *UNNAMED) else None


def csv_form(
    path: Path,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> CsvForm:
    """Infer the dialect of a CSV file from its first lines, unless it is given."""
    from pyarrow import csv as arrow_csv

    if delimiter is not None and not (
        len(delimiter) == 1 and delimiter.isascii() and delimiter not in NO_DELIMITERS
    ):
        raise InputError(
            f"{path}: delimiter must be one ASCII character, no quote and no end of line; got "
            f"{delimiter!r}."
        )
    if encoding is not None:
        _check_encoding(path, encoding)
    with decompress(path) as stream:
        head = stream.read(HEAD)
    if encoding is None:
        encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    shown = head.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    lines = [line for line in io.StringIO(shown, newline=None) if line.strip("\r\n")]
    if not lines:
        raise FileError(f"cannot read {path}: the file is empty.")
    first = lines[0]
    if "\0" in first or "\ufffd" in first:
        raise FileError(f"cannot read {path} as CSV: {NOT_UTF8}.")
    source: Any = path
    whole = lines if len(head) < HEAD else lines[:-1]
    delimiter = delimiter or (" " if _is_in_blanks(whole[:100]) else _guess_delimiter(first))
    if packed := delimiter == " ":
        first, source, encoding = " ".join(first.split()), _single_blanks(path, encoding), "utf-8"
    decimal = decimal or _guess_decimal(lines[1:100], delimiter)
    fields = next(csv.reader([first], delimiter=delimiter))
    has_names = not _is_data(fields, decimal)
    row_bytes = min(32 * len(first), (1 << 31) - 1)
    read = arrow_csv.ReadOptions(
        autogenerate_column_names=not has_names,
        block_size=max(1 << 20, row_bytes),
        encoding=encoding,
    )
    convert = arrow_csv.ConvertOptions(
        null_values=[*arrow_csv.ConvertOptions().null_values, "?"],
        strings_can_be_null=True,
        decimal_point=decimal,
    )
    parse = arrow_csv.ParseOptions(delimiter=delimiter)
    return CsvForm(source, read, parse, convert, has_names, packed, len(fields), row_bytes)


def decompress(path: Path) -> Any:
    """Return the bytes of a file, decompressed according to its suffix.

    The file is opened by Python because pyarrow requires names in UTF-8.
    """
    import pyarrow as pa

    packing = {".gz": "gzip", ".bz2": "bz2"}.get(path.suffix.lower())
    return pa.input_stream(pa.OSFile(os.fsencode(path)), compression=packing)


def _check_encoding(path: Path, encoding: str) -> None:
    """Raise an error for an encoding that cannot be decoded in blocks."""
    try:
        known = codecs.lookup(encoding).name not in NO_ENCODINGS
        sample = "a,1\n"
        known = known and sample.encode(encoding).decode(encoding) == sample
    except (LookupError, ValueError):
        known = False
    if not known:
        raise InputError(f"{path}: unknown text encoding {encoding!r}; try latin-1.")


def _guess_delimiter(line: str) -> str:
    """Return the most frequent of comma, semicolon, tab and bar outside quotes.

    >>> _guess_delimiter('"height, cm";weight;age')
    ';'
    """
    unquoted = "".join(line.split('"')[::2])
    return max(",;\t|", key=unquoted.count)


def _is_in_blanks(lines: Sequence[str]) -> bool:
    """Return whether blanks separate the columns: the same number in every line, no other
    delimiter.

    >>> _is_in_blanks(["a  b", "1  2"]), _is_in_blanks(["body mass", "1"]), _is_in_blanks(["a,b c"])
    (True, False, False)
    """
    counts = {len(line.split()) for line in lines}
    return len(counts) == 1 and counts != {1} and not set(lines[0]) & set(",;\t|")


def _single_blanks(path: Path, encoding: str) -> Any:
    """Return the text with single blanks between columns."""
    import pyarrow as pa

    with decompress(path) as stream:
        text = stream.read().decode("utf-8-sig" if encoding == "utf-8" else encoding)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return pa.BufferReader("\n".join(line for line in lines if line).encode())


def _guess_decimal(lines: Sequence[str], delimiter: str) -> str:
    """Return a comma if numbers use it as decimal mark and it is not the delimiter.

    >>> _guess_decimal(["1,5;2,0"], ";"), _guess_decimal(["1.5;2"], ";"), _guess_decimal(["1"], ",")
    (',', '.', '.')
    """
    if delimiter == ",":
        return "."
    fields = [field.strip() for line in lines for field in line.split(delimiter)]
    with_comma = any(re.fullmatch(r"[-+]?\d+,\d+", field) for field in fields)
    with_point = any(re.fullmatch(r"[-+]?\d*\.\d+", field) for field in fields)
    return "," if with_comma and not with_point else "."


def _is_data(fields: Sequence[str], decimal: str) -> bool:
    """Whether a first line is made of numbers rather than names.

    Names 0, 1, 2, ... are those that pandas gives to a bare array, hence names.

    >>> _is_data(["5.1", "", "2"], "."), _is_data(["age", "2"], "."), _is_data(["0", "1"], ".")
    (True, False, False)
    """
    filled = [field.strip() for field in fields if field.strip()]
    if len(filled) > 1 and filled == [str(j) for j in range(len(filled))]:
        return False
    try:
        return len([float(field.replace(decimal, ".")) for field in filled]) > 0
    except ValueError:
        return False
