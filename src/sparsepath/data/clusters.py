"""Rows on a Dask cluster: partitions stay on their workers; only messages and small results are
sent.

A partition is loaded into memory once, on the worker that computes it, and kept there. Workers have
no other state: every message is self-contained. If a worker is lost, Dask recomputes its partitions
elsewhere; new workers can join at any time.

The user provides the client. Without one, the threads of this process compute the partitions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import row_blocks
from sparsepath.data.prepared import PreparedPart
from sparsepath.data.sources import (
    Answer,
    ArrayPart,
    Columns,
    RowsOfPart,
    Slab,
    Source,
    is_a,
    plus,
    register,
)
from sparsepath.errors import InputError, SparsepathError
from sparsepath.system.threads import Threads
from sparsepath.tables.cells import cells_of
from sparsepath.tables.features import Feature, RawColumn

FAN = 8  # answers added up in one task
COPIED_ROWS = 256  # rows copied at once: both orders stay in cache
RETRIES = 10


class ClusterError(SparsepathError):
    """The cluster does not respond any more."""


@dataclass(frozen=True, eq=False)
class PartInMemory:
    """A partition in memory; its first row has the number ``start``."""

    data: Any
    start: int

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        for slab in self.data.read(columns):
            yield replace(slab, start=slab.start + self.start)  # parts know their own numbers

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        for cells, slab in self.data.cells(names):
            yield cells, replace(slab, start=slab.start + self.start)


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition on a worker: ``data`` is a future or a delayed object."""

    data: Any
    start: int
    n_rows: int

    def _here(self) -> PartInMemory:
        """Compute the partition in this process, if there is no cluster."""
        return PartInMemory(self.data.compute(scheduler="synchronous"), self.start)

    def read(self, columns: Columns | None) -> Iterator[Slab]:
        return self._here().read(columns)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        return self._here().cells(names)


def by_columns(X: NDArray[Any]) -> NDArray[Any]:
    """Return the array in Fortran order, copied strip by strip (four times as fast as NumPy)."""
    if X.flags.f_contiguous:
        return X
    made = np.empty(X.shape, X.dtype, order="F")
    for low in range(0, len(X), COPIED_ROWS):
        made[low : low + COPIED_ROWS] = X[low : low + COPIED_ROWS]
    return made


@dataclass(frozen=True, eq=False)
class NamedPart(ArrayPart):
    """Rows of a data frame of numbers."""

    names: tuple[str, ...] = ()

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        """Yield some raw columns, with targets and weights."""
        place = {name: i for i, name in enumerate(self.names)}
        found = [np.asarray(self.X[:, place[name]], dtype=np.float64) for name in names]
        (block,) = row_blocks(np.zeros((self.n_rows, 0)), 1)
        slab = Slab(block, self.y, self.weights, 0)
        yield [RawColumn(n, "number", v) for n, v in zip(names, found, strict=True)], slab


def load_partition(X: Any, y: Any, weights: Any) -> ArrayPart:
    """Return a partition as arrays in column order."""
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else ()
    if hasattr(X, "to_numpy"):
        plain = X.to_numpy()
        missing = {"dtype": np.float64, "na_value": np.nan}  # what pandas calls missing
        X = plain if plain.dtype.kind in "biuf" else X.to_numpy(**missing)
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    else:
        X = by_columns(X if X.dtype.kind in "biuf" else X.astype(np.float64))
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    part = ArrayPart(X, y, w, 0, X.shape[0])
    return NamedPart(**vars(part), names=names) if names else part


@dataclass(frozen=True, eq=False)
class FramePart:
    """A partition of a data frame with text columns, unchanged."""

    frame: Any
    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    start: ClassVar[int] = 0

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def cells(self, names: Sequence[str]) -> Iterator[tuple[list[RawColumn], Slab]]:
        """Yield some raw columns, with targets and weights."""
        (block,) = row_blocks(np.zeros((self.n_rows, 0)), 1)
        yield cells_of(self.frame, names), Slab(block, self.y, self.weights, 0)


def frame_partition(X: Any, y: Any, weights: Any) -> FramePart:
    """Return a partition of a data frame unchanged."""
    y = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    return FramePart(X, y, None if weights is None else np.asarray(weights, dtype=np.float64))


def numeric_partition(data: Any, features: tuple[Feature, ...]) -> ArrayPart:
    """Return a partition of a data frame or of files as numbers that stay in memory."""
    cells = data.cells([feature.name for feature in features])
    made = [
        (np.hstack([f.columns(column) for f, column in zip(features, columns, strict=True)]), slab)
        for columns, slab in cells
    ]
    X = by_columns(np.vstack([part for part, _ in made]))
    y = np.concatenate([slab.y for _, slab in made])
    weights = [slab.weights for _, slab in made if slab.weights is not None]
    return ArrayPart(X, y, np.concatenate(weights) if weights else None, 0, len(X))


def n_rows(data: Any) -> int:
    """Return the number of rows of a partition."""
    return int(data.n_rows)


def run_message(data: Any, start: int, message: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Run a message on a partition on its worker; BLAS uses one thread."""
    with Threads(1):
        return message(PartInMemory(data, start), *args)


def added_up(*answers: Answer) -> Answer:
    """Return the sum of results, in order."""
    return reduce(plus, answers)


class Cluster(Threads):
    """Executor of a Dask client; local work is done by its threads."""

    def __init__(self, client: Any, n_threads: int | None = None) -> None:
        super().__init__(n_threads)
        self.client = client

    def ask(
        self, parts: Sequence[Any], numbers: int | None, message: Any, *args: Any, **more: Any
    ) -> list[Any]:
        """Return the results of all parts for a message, in order."""
        return self._gathered(lambda: self._asked(parts, message, args))

    def total(self, parts: Sequence[Any], message: Any, *args: Any) -> list[NDArray[Any]]:
        """Return the sum of the results, computed on the workers."""

        def work() -> list[Any]:
            futures = self._asked(parts, message, args)
            while len(futures) > 1:
                futures = [
                    self._submit(added_up, *futures[i : i + FAN])
                    for i in range(0, len(futures), FAN)
                ]
            return futures

        return self._gathered(work)[0]

    def _asked(self, parts: Sequence[Any], message: Any, args: tuple[Any, ...]) -> list[Any]:
        return [self._submit(run_message, part.data, part.start, message, args) for part in parts]

    def _submit(self, task: Any, *args: Any) -> Any:
        return self.client.submit(task, *args, pure=False, retries=RETRIES)

    def _gathered(self, work: Callable[[], list[Any]]) -> list[Any]:
        """Return results of futures; a cluster failure raises one clear error."""
        from concurrent.futures import CancelledError

        from distributed import client as clients
        from distributed import comm, scheduler

        lost = (
            CancelledError,
            OSError,
            clients.FuturesCancelledError,
            getattr(clients, "ClosedClientError", OSError),
            comm.CommClosedError,
            scheduler.KilledWorker,
            scheduler.NoValidWorkerError,
        )
        try:
            return list(self.client.gather(work()))
        except SparsepathError:
            raise
        except lost as error:
            raise ClusterError(
                "the Dask cluster has lost its scheduler or too many workers "
                f"({type(error).__name__}); fix it, and resume with the same checkpoint (in a "
                "shell --checkpoint FILE --resume)."
            ) from error


@dataclass(eq=False)
class ClusterSource(Source):
    """Source with the partitions of a Dask array or data frame."""

    client: Any = None

    def prepared_part(self, part: Any, features: Any) -> Any:
        """Return a partition as numbers, kept on its worker; parts of files are read."""
        return self.over(
            part, PreparedPart if self._is_of_file(part) else numeric_partition, features
        )

    def _is_of_file(self, part: Any) -> bool:
        """Return whether a part is read by the workers; a delayed object has every attribute."""
        return self.client is not None and hasattr(part.data, "n_rows")

    def part_of(self, part: Any, rows: NDArray[np.intp], start: int, y: NDArray[Any]) -> Any:
        """Return some rows of a partition, on its worker."""
        return Partition(self.over(part, RowsOfPart, rows, 0, y).data, start, len(rows))

    def over(self, part: Any, kind: Callable[..., Any], *args: Any) -> Any:
        """Return a partition as another kind of part, on its worker."""
        if self._is_of_file(part):
            return replace(part, data=kind(part.data, *args))
        if self.client is not None:
            return replace(part, data=self.client.submit(kind, part.data, *args, pure=False))
        import dask

        data = dask.delayed(kind, pure=False)(part.data, *args)
        return replace(part, data=dask.persist(data, scheduler="threads")[0])

    def crew(self, n_threads: int | None) -> Any:
        """Return the cluster, or threads of this process if there is none."""
        return Threads(n_threads) if self.client is None else Cluster(self.client, n_threads)


def open_dask(
    what: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weights: Any = None,
    columns: Sequence[str] | None = None,
    memory: float | None = None,
) -> Source:
    """Open a Dask array with a separate y, or a data frame with a separate target or target
    column.
    """
    import dask

    names: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ()
    if hasattr(what, "columns"):
        known = list(what.columns)
        named = weights if isinstance(weights, str) else None
        if y is None and target not in known:
            raise InputError(f"target={target!r} is not a column.")
        others = [
            name for name in known if name not in ([named] if y is not None else [named, target])
        ]
        weights = weights if named is None else what[named]
        y = what[target] if y is None else y
        what = what[list(columns) if columns is not None else others]
        names = tuple(map(str, what.columns))
        plain = {"b": "flag", "i": "number", "u": "number", "f": "number"}
        kinds = tuple(plain.get(kind.kind, "text") for kind in what.dtypes)
        rows = what.to_delayed()
        n = len(names)
    else:
        if what.ndim != 2:
            raise InputError(f"X has {what.ndim} dimensions; give rows and columns.")
        what = what.rechunk({1: -1})
        n = what.shape[1]
        rows = what.to_delayed().ravel().tolist()
    if y is None:
        raise InputError("a Dask array has no target column: give y.")
    beside = [_aligned(vector, what, rows) for vector in (y, weights)]
    hold = dask.delayed(frame_partition if "text" in kinds else load_partition, pure=False)
    parts = [hold(X, *pair) for X, *pair in zip(rows, *beside, strict=True)]
    client = _client()
    if client is None:
        parts = list(dask.persist(*parts, scheduler="threads"))
        counts = [part.compute(scheduler="synchronous").n_rows for part in parts]
    else:
        parts = client.compute(parts)
        counts = client.gather([client.submit(n_rows, part, pure=False) for part in parts])
    starts = np.cumsum([0, *counts])
    found = [
        Partition(part, int(start), int(count))
        for part, start, count in zip(parts, starts, counts, strict=False)
        if count
    ]
    size = 8 * int(starts[-1]) * n
    return ClusterSource(
        found, n, names, "Dask", np.float64, size, kinds=kinds or None, client=client
    )


def on_cluster(source: Source, client: Any) -> Source:
    """Return a source whose parts are read by the workers of a cluster with access to the files."""
    parts = [Partition(part, 0, part.n_rows) for part in source.parts]
    given = {f.name: getattr(source, f.name) for f in fields(source) if f.init}
    return ClusterSource(**{**given, "parts": parts}, client=client)


def _client() -> Any:
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _aligned(vector: Any, X: Any, rows: Sequence[Any]) -> list[Any]:
    """Return the pieces of a vector that belong to the partitions of X."""
    count = len(rows)
    if vector is None:
        return [None] * count
    known: Sequence[Any] = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    unknown = bool(np.isnan(known).any())
    if hasattr(vector, "to_delayed"):
        if hasattr(vector, "rechunk"):
            vector = vector.rechunk({1: -1}) if vector.ndim > 1 else vector
            its = np.isnan(vector.chunks[0]).any()
            if not (unknown or its):
                _same_length(vector.shape[0], sum(known))
                vector = vector.rechunk({0: known})
        pieces = np.ravel(np.array(vector.to_delayed(), dtype=object)).tolist()
        if len(pieces) != count:
            raise InputError(
                f"y or the weights have {len(pieces)} partitions and X has {count}; the "
                "partitions must match."
            )
        return list(pieces)
    values = np.asarray(vector)
    if unknown:
        import dask

        known = dask.compute(*(dask.delayed(n_rows_of)(part) for part in rows))
    _same_length(len(values), sum(known))
    edges = np.cumsum([0, *known])
    return [values[a:b] for a, b in pairwise(edges)]


def n_rows_of(data: Any) -> int:
    """Return the number of rows of an array or a frame."""
    return int(data.shape[0])


def _same_length(count: int, rows: int) -> None:
    if count != rows:
        raise InputError(f"y or the weights have {count} entries for {rows} rows.")


register(lambda what: is_a(what, "dask") or is_a(what, "dask_expr"), open_dask)
