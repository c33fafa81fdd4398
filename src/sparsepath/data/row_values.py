"""Values of all rows of a source: targets, weights, groups, hashes.

Only these are collected for all rows.
"""

import operator
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.sources import Answer, Columns, Joined, Slab, Source
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew
from sparsepath.system.tuning import TUNING
from sparsepath.tables.cells import RawTable

SEED = 0
NONE = np.zeros(0, dtype=np.intp)


def _listed(labels: NDArray[Any], start: int) -> Answer:
    return [Joined([(start, labels)], operator.add)]


def in_order(found: Joined) -> NDArray[Any]:
    """Return the labels of all parts in order."""
    return np.concatenate([labels for _, labels in sorted(found.value, key=lambda pair: pair[0])])


def targets_listed(slab: Slab) -> Answer:
    """Return targets and weights."""
    w = np.ones(len(slab.y)) if slab.weights is None else np.asarray(slab.weights, np.float64)
    return [*_listed(np.asarray(slab.y), slab.start), *_listed(w, slab.start)]


def columns_listed(slab: Slab) -> Answer:
    """Return the columns that were read."""
    return _listed(slab.block.columns(np.arange(slab.block.shape[1])), slab.start)


def cells_listed(part: Any, names: tuple[str, ...]) -> Answer:
    """Return the raw columns of a part."""
    return [Joined([(slab.start, cells) for cells, slab in part.cells(names)], operator.add)]


def hashes_listed(slab: Slab) -> Answer:
    """Return the hash of every row."""
    m, n = slab.block.shape
    height = max(1, TUNING.tile_numbers // max(1, n))
    tiles = (np.arange(i, min(i + height, m)) for i in range(0, m, height))
    found = [row_hashes(slab.block.taken(tile).columns(np.arange(n))) for tile in tiles]
    return _listed(np.concatenate(found), slab.start)


def rows_listed(slab: Slab, rows: NDArray[np.intp]) -> Answer:
    """Return some rows, given by ascending row numbers."""
    inside = rows[np.searchsorted(rows, slab.start) :]
    inside = inside[: np.searchsorted(inside, slab.start + slab.block.shape[0])]
    part = slab.block.taken(inside - slab.start)
    return _listed(part.columns(np.arange(part.shape[1])), slab.start)


def row_hashes(A: Any) -> NDArray[np.uint64]:
    """Return an integer per row, equal for equal rows: the sum of bits times odd numbers, modulo
    2^64.
    """
    rng = np.random.default_rng(SEED)
    odd = rng.integers(0, 2**63, A.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if hasattr(A, "indptr"):
        A = A.astype(np.float64)
        terms = (A.data + 0.0).view(np.uint64) * odd[A.indices]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
        return np.asarray(sums[A.indptr[1:]] - sums[A.indptr[:-1]])
    total = np.zeros(A.shape[0], dtype=np.uint64)
    if not A.flags.f_contiguous:  # a few rows at a time
        height = max(1, TUNING.tile_numbers // max(1, A.shape[1]))
        for i in range(0, len(A), height):
            bits = (A[i : i + height] + 0.0).view(np.uint64)
            total[i : i + height] = np.einsum("ij,j->i", bits, odd)
        return total
    for j in range(A.shape[1]):
        total += (A[:, j] + 0.0).view(np.uint64) * odd[j]
    return total


class SourceRows:
    """The rows of a source; each method takes one pass."""

    def __init__(self, source: Source, n_threads: int | None = None) -> None:
        self.source, self._n_threads = source, n_threads
        self.shape = source.shape

    def _asked(self, columns: Columns | None, message: Any, *args: Any) -> list[NDArray[Any]]:
        with self.source.crew(self._n_threads) as crew:
            return [in_order(each) for each in self.source.total(crew, columns, message, *args)]

    def targets(self) -> tuple[NDArray[Any], Floats]:
        """Return the target and the weight of every row."""
        if self.source.listed is None:
            self.source.listed = tuple(self._asked(NONE, targets_listed))
        y, weights = self.source.listed
        return y, weights

    def first(self, count: int) -> Floats:
        """Return the first columns."""
        (found,) = self._asked(np.arange(min(count, self.shape[1])), columns_listed)
        return found

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash per row; see ``row_hashes``."""
        (found,) = self._asked(None, hashes_listed)
        return found

    def loaded(self) -> Any:
        """Return all rows in memory: an array, or a table if the columns have names."""
        if self.source.typed:
            with self.source.crew(self._n_threads) as crew:
                names = tuple(self.source.names or ())
                (found,) = self.source.asked(crew, len(names), cells_listed, names)
            slabs = sorted(found.value, key=itemgetter(0))
            columns = zip(*(cells for _, cells in slabs), strict=True)
            return RawTable(
                replace(one, values=np.concatenate([column.values for column in (one, *more)]))
                for one, *more in columns
            )
        (found,) = self._asked(None, columns_listed)
        if self.source.names is None:
            return found
        import pyarrow as pa

        return pa.table(dict(zip(self.source.names, found.T, strict=True)))

    def columns(self, rows: NDArray[np.intp]) -> Iterator[NDArray[Any]]:
        """Return the columns of some rows, in any order of the rows."""
        (found,) = self._asked(None, rows_listed, np.sort(rows))
        yield from found.T


def group_labels(part: Any, name: str) -> Answer:
    """Return the values of the column with group labels."""
    found, start = [], None
    for (column,), slab in part.cells((name,)):
        if column.n_missing:
            raise InputError(f"groups: column {name!r} has missing values; every row needs one.")
        found.append(column.values.astype(str) if column.kind == "text" else column.values)
        start = slab.start if start is None else start
    return _listed(np.concatenate(found), start or 0)


def groups_of(source: Source, crew: Crew, given: Any) -> NDArray[Any] | None:
    """Return the group of every row as a small integer: from an array, or a column of the
    source.
    """
    if isinstance(given, str):
        raise InputError(
            f"groups={given!r}: name the column when the data are opened, open(..., groups=...), "
            "or give an array, one for each row."
        )
    if given is None and source.groups is None:
        return None
    if given is None:
        given = in_order(*source.asked(crew, 1, group_labels, source.groups))
    values = np.asarray(given)
    if values.shape != (len(source),):
        raise InputError(
            f"groups has shape {values.shape}; give the group of each of the {len(source)} samples."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int32)
