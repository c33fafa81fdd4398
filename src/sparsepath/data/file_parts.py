"""Parts of files: row groups, record batches, rows or bytes, read one slab at a time.

A part remembers the size and time of its file. The error message names a file that changes while it
is read, or ends too soon.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import row_blocks
from sparsepath.data.formats import DAMAGE, native, reason_of
from sparsepath.data.sources import Columns, PartView, Slab
from sparsepath.errors import FileError, SparsepathError
from sparsepath.tables.cells import cells_of
from sparsepath.tables.features import RawColumn

Made = TypeVar("Made")


@dataclass(frozen=True)
class File:
    """A file with its size and time when it was opened."""

    path: str
    size: int
    changed: int

    @classmethod
    def of(cls, path: str | Path) -> "File":
        try:
            found = os.stat(path)
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
        return cls(str(path), found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Raise an error if the file has changed."""
        if self != File.of(self.path):
            raise FileError(f"{self.path} has changed since it was opened; start again.")

    def broken(self, error: Exception) -> FileError:
        """Return the error for a file that cannot be read to its end."""
        self.check()
        return FileError(
            f"{self.path} cannot be read to its end; it is damaged or truncated: "
            f"{reason_of(error)}."
        )

    @contextmanager
    def intact(self) -> Iterator[None]:
        """Context manager that adds the file name to errors of the libraries."""
        try:
            yield
        except SparsepathError:
            raise
        except DAMAGE as error:
            raise self.broken(error) from error


@dataclass(frozen=True)
class TablePart:
    """Row groups of a Parquet file, or record batches of a Feather file.

    ``features`` are all columns of the source; ``target`` and ``weights`` are columns too, or None
    if they are not in the file. ``origin`` is the file from which this one was converted.
    """

    file: File
    kind: str
    groups: tuple[int, ...]
    features: tuple[str, ...]
    target: str | None
    weights: str | None
    start: int
    n_rows: int
    height: int
    origin: File | None = None

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        names = self.features if columns is None else tuple(self.features[i] for i in columns)
        return self._whole(names, lambda batch, low: self._slab(batch, names, low))

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        """Yield some raw columns, with targets and weights, one slab at a time."""
        import pyarrow as pa

        def made(batch: Any, low: int) -> tuple[list[RawColumn], Slab]:
            return cells_of(pa.Table.from_batches([batch]), names), self._slab(batch, (), low)

        return self._whole(names, made)

    def _whole(self, names: Sequence[str], made: Callable[[Any, int], Made]) -> Iterator[Made]:
        """Yield the converted columns, target, weights and first row number of every batch."""
        import pyarrow as pa

        more = [name for name in (self.target, self.weights) if name is not None]
        self.file.check()
        if self.origin is not None:
            self.origin.check()
        low = self.start
        with self.file.intact():
            for batch in self._batches([*names, *more]):
                batch.validate(full=True)  # offsets out of bounds would end the process
                yield made(batch, low)
                low += batch.num_rows
                del batch
        pa.default_memory_pool().release_unused()  # it is kept for later otherwise
        if low != self.start + self.n_rows:
            raise self.file.broken(ValueError(f"{low - self.start} rows of {self.n_rows}"))

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.kind == "parquet":
            with native(self.file.path) as stream:
                opened = pq.ParquetFile(stream, buffer_size=1 << 16, pre_buffer=False)
                yield from opened.iter_batches(
                    batch_size=self.height,
                    row_groups=list(self.groups),
                    columns=list(names),
                    use_threads=False,
                )
            return
        with native(self.file.path) as stream, pa.ipc.open_file(stream) as opened:
            for group in self.groups:
                batch = opened.get_batch(group).select(list(names))
                for i in range(0, batch.num_rows, self.height):
                    yield batch.slice(i, self.height)
                del batch

    def _slab(self, batch: Any, names: Sequence[str], low: int) -> Slab:
        import pyarrow as pa

        m = batch.num_rows
        kinds = [_stored(batch.column(name).type) for name in names]
        small = bool(kinds) and np.result_type(*kinds, np.float32) == np.float32
        X = np.empty((m, len(names)), dtype=np.float32 if small else np.float64, order="F")
        for j, name in enumerate(names):
            X[:, j] = _numbers(batch.column(name), name, self.file.path)
        y, w = np.zeros(m), None
        if self.target is not None:
            told = batch.column(self.target)
            if told.null_count:
                raise FileError(f"{self.file.path}: the target {self.target!r} has missing values.")
            if pa.types.is_binary(told.type) or pa.types.is_large_binary(told.type):
                raise FileError(
                    f"{self.origin.path if self.origin else self.file.path}: the target "
                    f"{self.target!r} is not text in UTF-8; give its encoding (--encoding latin-1)."
                )
            y = told.to_numpy(zero_copy_only=False)
        if self.weights is not None:
            w = _numbers(batch.column(self.weights), self.weights, self.file.path)
            w = w.astype(np.float64)
        (block,) = row_blocks(X, 1)
        return Slab(block, y, w, low)


@dataclass(frozen=True, eq=False)
class PartWithTargets(PartView):
    """Rows of a table with targets, and possibly weights, in separate arrays."""

    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        for slab in self.part.read(columns):
            yield self._completed(slab)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        for cells, slab in self.part.cells(names):
            yield cells, self._completed(slab)

    def _completed(self, slab: Slab) -> Slab:
        low = slab.start - self.part.start
        rows = slice(low, low + slab.block.shape[0])
        w = slab.weights if self.weights is None else self.weights[rows]
        return replace(slab, y=self.y[rows], weights=w)


def _stored(kind: Any) -> np.dtype[Any]:
    """Return the stored type of numbers."""
    kind = getattr(kind, "value_type", kind)  # of a dictionary
    made = np.dtype(kind.to_pandas_dtype())
    return made if made.kind in "biuf" else np.dtype(np.float64)  # decimals


def _numbers(column: Any, name: str, path: str) -> NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if column.null_count:
        raise FileError(
            f"{path}: column {name!r} has missing values; impute or drop "
            "them first, or let TableSelector do so (missing='median' or 'indicator', --missing)."
        )
    return column.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class NpyPart:
    """Rows of an npy file; one column is the target."""

    file: File
    offset: int
    shape: tuple[int, int]
    by_column: bool
    dtype: str
    target: int
    start: int
    first: int
    n_rows: int
    height: int

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        self.file.check()
        n = self.shape[1]
        others = np.delete(np.arange(n), self.target)
        which = others if columns is None else others[columns]
        with open_binary(self.file.path) as stream:
            for low in range(0, self.n_rows, self.height):
                rows = min(self.height, self.n_rows - low)
                X = self._rows(stream, self.first + low, rows)
                (block,) = row_blocks(X[:, which], 1)
                yield Slab(block, X[:, self.target].copy(), None, self.start + low)

    def _rows(self, stream: Any, low: int, rows: int) -> NDArray[Any]:
        dtype, (m, n) = np.dtype(self.dtype), self.shape
        if not self.by_column:
            stream.seek(self.offset + low * n * dtype.itemsize)
            X = np.fromfile(stream, dtype, rows * n)
        else:
            X = np.empty(rows * n, dtype)
            for j in range(n):
                stream.seek(self.offset + (j * m + low) * dtype.itemsize)
                part = np.fromfile(stream, dtype, rows)
                X[j * rows : j * rows + len(part)] = part
        if len(X) < rows * n:
            raise self.file.broken(ValueError(f"{len(X) // n} rows of {rows}"))
        return X.reshape((rows, n), order="F" if self.by_column else "C")


@dataclass(frozen=True, eq=False)
class SvmlightPart:
    """A range of bytes of an svmlight file: the lines that begin in it."""

    file: File
    offset: int
    length: int
    n_features: int
    zero_based: bool
    start: int
    n_rows: int
    kept: NDArray[np.int64] | None = None  # the columns to take of all; None: all

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        from sklearn.datasets import load_svmlight_file

        self.file.check()
        with open_binary(self.file.path) as stream:
            stream.seek(self.offset)
            text = io.BytesIO(stream.read(self.length))
        with self.file.intact():
            X, y = load_svmlight_file(text, n_features=self.n_features, zero_based=self.zero_based)
        if X.shape[0] != self.n_rows:
            raise self.file.broken(ValueError(f"{X.shape[0]} rows of {self.n_rows}"))
        if self.kept is not None:  # renumbered entry by entry: there may be far more columns
            places = np.searchsorted(self.kept, X.indices).astype(X.indices.dtype)
            X = type(X)((X.data, places, X.indptr), shape=(X.shape[0], len(self.kept)))
        (block,) = row_blocks(X if columns is None else X[:, columns], 1)
        yield Slab(block, y, None, self.start)


def open_binary(path: str) -> Any:
    """Open the file for reading."""
    return Path(path).open("rb")
