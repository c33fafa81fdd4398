"""Sources: data that are not arrays, such as large files, memory maps and tables of other
libraries.

A **source** is a list of parts, each with some rows, in order. A part is small and can be sent: it
knows where its rows are and reads them on request, one **slab** at a time, with the requested
columns only. An algorithm sends a message (``executor.py``) that is applied to every slab, and the
results are added; so a pass over the data needs the memory of one slab per thread.

Kinds of sources register themselves: ``register(recognise, make)``. ``open`` tries the newest
first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import DenseBlock, RowBlock, row_blocks
from sparsepath.data.validation import some_of
from sparsepath.errors import InputError
from sparsepath.system.executor import Crew
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import memory
from sparsepath.tables.features import RawColumn

Columns = NDArray[np.intp]
Answer = list[Any]  # arrays, or what else can be added
SLAB_NUMBERS = 1 << 21  # numbers read at once: 16 MiB as float64
FEWEST_ROWS = 256
COLUMN_BYTES = 500  # that sums and results take for every column, at least


@dataclass(frozen=True, eq=False)
class Slab:
    """Some rows in memory."""

    block: RowBlock  # the columns that were asked for, in the order asked
    y: NDArray[Any]  # targets or labels of these rows, as they are
    weights: NDArray[np.float64] | None  # weights of the samples; None means ones
    start: int  # the number of the first row

    def strips(self, height: int) -> "Iterator[Slab]":
        """Yield the same rows in blocks of this height."""
        low = 0
        for block in self.block.strips(height):
            rows = slice(low, low + block.shape[0])
            weights = None if self.weights is None else self.weights[rows]
            yield Slab(block, self.y[rows], weights, self.start + low)
            low = rows.stop


class Part(Protocol):
    """Some rows of a source."""

    n_rows: int
    start: int

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        """Yield slabs of these rows, in order; None means all columns, an empty array none."""


@dataclass(frozen=True, eq=False)
class PartView:
    """The same rows as another part, read differently."""

    part: Any

    @property
    def start(self) -> int:
        return self.part.start

    @property
    def n_rows(self) -> int:
        return self.part.n_rows


@dataclass(frozen=True, eq=False)
class RowsOfPart:
    """Rows of a part, with targets ``y`` instead of its own."""

    part: Any
    rows: NDArray[np.intp]  # from the beginning of the part, ascending
    start: int
    y: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        for slab in self.part.read(columns):
            which, some = self._of(slab)
            if len(which):
                yield some

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        """Yield some raw columns, with targets and weights, one slab at a time."""
        for columns, slab in self.part.cells(names):
            which, some = self._of(slab)
            yield [column.rows(which) for column in columns], some

    def _of(self, slab: Slab) -> tuple[NDArray[np.intp], Slab]:
        """Return which rows of a slab are taken, and these as a slab."""
        begin = slab.start - self.part.start
        inside = slice(*np.searchsorted(self.rows, [begin, begin + slab.block.shape[0]]))
        which = self.rows[inside] - begin
        weights = None if slab.weights is None else slab.weights[which]
        block = slab.block.taken(which)
        return which, Slab(block, self.y[inside], weights, self.start + inside.start)


def sum_slabs(
    part: Part, columns: Columns | None, message: Callable[..., Answer], *args: Any
) -> Answer:
    """Return the sum of the results of a part's slabs for a message."""
    return reduce(plus, (message(slab, *args) for slab in part.read(columns)))


def plus(a: Answer, b: Answer) -> Answer:
    """Return the elementwise sum of two results."""
    return [x + y for x, y in zip(a, b, strict=True)]


@dataclass(frozen=True, eq=False)
class Joined:
    """A result that is not an array: ``join`` combines two of them."""

    value: Any
    join: Callable[[Any, Any], Any]

    def __add__(self, other: "Joined") -> "Joined":
        return Joined(self.join(self.value, other.value), self.join)


@dataclass(eq=False)
class Source:
    """Rows of features and a target that need not fit into memory.

    Attributes
    ----------
    parts : list of Part
    n_features : int
    names : tuple of str or None
        Of the features.
    where : str
        What it is, for messages and records.
    dtype : type of the numbers as they are stored
    bytes : int
        That a pass over all columns reads.
    sparse : bool
        Whether zeros are implicit.
    index : tuple of str
        Columns of files that are no features: an index that was written without a name.
    groups : str or None
        The column that says which samples belong together; it is no feature.
    kinds : tuple of str or None
        What the columns of a table are: number, flag, or text, which is all else; None: numbers.
    typed : bool
        Whether the columns of the table have the types that all rows gave them; then ``kinds`` may
        be date and ordered too.
    most_threads : int or None
        Threads for which there is room within the memory that reading may take.
    passes : float
        Readings of all columns in the last fit; one of half of them counts half.
    listed : tuple of arrays or None
        Targets and weights of all rows, once they were needed.
    """

    parts: Sequence[Any]
    n_features: int
    names: Sequence[str] | None = None
    where: str = "data"
    dtype: Any = np.float64
    bytes: int = 0
    sparse: bool = False
    target: str | None = None
    kinds: tuple[str, ...] | None = None
    typed: bool = False
    index: tuple[str, ...] = ()
    groups: str | None = None
    most_threads: int | None = None
    passes: float = field(default=0.0, init=False)
    readings: int = field(default=0, init=False)
    listed: tuple[Any, ...] | None = field(default=None, init=False)  # targets and weights

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_samples, self.n_features

    def __len__(self) -> int:
        return self.n_samples

    def count_afresh(self) -> None:
        """Reset the count of readings at the start of a fit."""
        self.passes, self.readings, self.listed = 0.0, 0, None

    def record(self) -> dict[str, Any]:
        """Return how often the data were read."""
        told = {"passes": round(self.passes, 3), "readings": self.readings}
        return {"source": self.where, **told}

    def name_columns(self, estimator: Any) -> NDArray[Any] | None:
        """Set number and names of the features on an estimator."""
        if text := self.text:
            raise InputError(
                f"{self.where} holds text, categories or dates in column {some_of(text)}; drop "
                "them (columns=...), or let TableSelector prepare them."
            )
        if COLUMN_BYTES * self.n_features > memory():
            raise InputError(
                f"{self.where} has {self.n_features:,} columns; sums over the rows for each of "
                f"them take about {COLUMN_BYTES * self.n_features / 1e9:.3g} GB, and there are "
                f"{memory() / 1e9:.3g} GB."
            )
        estimator.n_features_in_ = self.n_features
        if self.names is None:
            vars(estimator).pop("feature_names_in_", None)
            return None
        names = estimator.feature_names_in_ = np.array(self.names, dtype=object)
        return names

    @property
    def text(self) -> list[str]:
        """Names of the non-numeric columns."""
        named = zip(self.names or (), self.kinds or (), strict=False)
        return [name for name, kind in named if kind == "text"]

    def taken(self, rows: NDArray[np.intp] | None, y: NDArray[Any]) -> "Source":
        """Return some rows (None: all), ascending, with targets ``y`` instead of their own."""
        rows = np.arange(len(self)) if rows is None else rows
        parts, begin, start = list[Any](), 0, 0
        for part in self.parts:
            end = begin + part.n_rows
            inside = slice(*np.searchsorted(rows, [begin, end]))
            if len(rows[inside]):
                parts.append(self.part_of(part, rows[inside] - begin, start, y[inside]))
                start += len(rows[inside])
            begin = end
        return replace(self, parts=parts, groups=None)

    def part_of(self, part: Any, rows: NDArray[np.intp], start: int, y: NDArray[Any]) -> Any:
        """Return some rows of a part, numbered from ``start``."""
        return RowsOfPart(part, rows, start, y)

    def over(self, part: Any, kind: Callable[..., Any], *args: Any) -> Any:
        """Return the rows of a part as another kind of part."""
        return kind(part, *args)

    def crew(self, n_threads: int | None) -> Any:
        """Return the executor, for a ``with`` statement."""
        threads = Threads(n_threads)
        if self.most_threads is None:
            return threads
        return Threads(min(threads.n_threads, self.most_threads))

    def total(
        self, crew: Crew, columns: Columns | None, message: Callable[..., Answer], *args: Any
    ) -> Answer:
        """Return the sum of the results of all rows for a message: one pass over these columns."""
        width = self.n_features if columns is None else len(columns)
        return self.asked(crew, width, sum_slabs, columns, message, *args)

    def asked(self, crew: Crew, width: int, message: Callable[..., Answer], *args: Any) -> Answer:
        """Return the sum of the results of all parts for a message: one pass over so many
        columns.
        """
        self.passes += width / max(1, self.n_features)
        self.readings += 1
        return crew.total(self.parts, message, *args)


@dataclass(frozen=True, eq=False)
class ArrayPart:
    """Rows of an array, a memory map or a SciPy sparse matrix."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    start: int
    n_rows: int

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        n = self.X.shape[1] if columns is None else len(columns)
        height = max(FEWEST_ROWS, SLAB_NUMBERS // max(1, n))
        for low in range(self.start, self.start + self.n_rows, height):
            rows = slice(low, min(low + height, self.start + self.n_rows))
            weights = None if self.weights is None else self.weights[rows]
            yield Slab(self._block(rows, columns), self.y[rows], weights, low)

    def _block(self, rows: slice, columns: Columns | None) -> RowBlock:
        if columns is None and isinstance(self.X, np.ndarray):
            return DenseBlock(np.asarray(self.X), rows.start, rows.stop)
        (block,) = row_blocks(self.X[rows] if columns is None else self.X[rows][:, columns], 1)
        return block


def from_array(X: Any, y: Any, weights: Any = None, *, rows: int | None = None) -> Source:
    """Return a source of an array, memory map or sparse matrix, with ``rows`` rows per part."""
    sparse = not isinstance(X, np.ndarray)
    X = X.tocsr() if sparse else X
    m, n = X.shape
    y = np.asarray(y)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    step = rows or max(FEWEST_ROWS, 8 * SLAB_NUMBERS // max(1, n))
    parts = [ArrayPart(X, y, w, i, min(step, m - i)) for i in range(0, m, step)]
    size = X.data.nbytes if sparse else X.nbytes
    return Source(parts, n, where="array", dtype=X.dtype, bytes=size, sparse=sparse)


# Kinds of sources --------------------------------------------------------------------------------

Recognise = Callable[[Any], bool]
Make = Callable[..., Source]
KINDS: list[tuple[Recognise, Make]] = []


def register(recognise: Recognise, make: Make) -> None:
    """Register a kind of data: ``make(what, target=..., weights=..., memory=...)``."""
    KINDS.insert(0, (recognise, make))


def is_source(what: Any) -> bool:
    """Return whether data are read in passes, because they are not an array in memory."""
    if type(what) is np.ndarray:
        return False
    return isinstance(what, Source) or any(is_a(what, *kind) for kind in ELSEWHERE)


def is_a(what: Any, module: str, name: str = "") -> bool:
    """Return whether an object is of a class of an optional package, without importing the
    package.
    """
    kinds = ((kind.__module__, kind.__name__) for kind in type(what).__mro__)
    return any(of.split(".")[0] == module and kind.endswith(name) for of, kind in kinds)


ELSEWHERE = (("dask",), ("dask_expr",), ("pyarrow", "Dataset"), ("polars", "LazyFrame"))


def _array(what: Any, y: Any, *, weights: Any = None, **_: Any) -> Source:
    if y is None:
        raise InputError("an array has no target column: give y, as in open(X, y).")
    if len(y) != what.shape[0]:
        raise InputError(f"y has {len(y)} entries for {what.shape[0]} rows; give one for each.")
    return from_array(what, y, weights)


register(lambda what: isinstance(what, np.ndarray) or hasattr(what, "tocsr"), _array)
register(lambda what: isinstance(what, Source), lambda what, y=None, **_: what)


def described(source: Source) -> str:
    """Return rows, columns and bytes of a source in words."""
    m, n = source.shape
    return f"{m:,} rows x {n:,} columns, {in_bytes(source.bytes)} of numbers"


def in_bytes(count: float) -> str:
    """Return a number of bytes in words.

    >>> in_bytes(2_500_000)
    '2.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
