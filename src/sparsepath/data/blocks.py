"""Row blocks: the operations that algorithms need on a slice of the rows.

Arrays with one entry per sample stay with their rows; a block of rows computes products with them
and returns columns. In memory a block is a view of the data (nothing is copied, for any type and
order); values are read as stored and all sums use float64.

A block has ``shape`` and these methods:

``dot(V)``              X'V, n x c; or ``dot(V, some)``, for some columns of X
``gram(means, weights, some)``  sum over rows of weights * (x - mean)(x - mean)', some columns
``columns(indices)``    some columns as a float64 array in Fortran order, new or ``out``
``rows(indices)``       some rows as a float64 array
``spread(means, weights)``  sum over rows of weights * (x - mean)^2, for every column
``taken(indices)``      some rows as a block
``strips(height)``      blocks of neighbouring rows, or all rows if they cannot be cut easily
``marks(a)``            sum over rows of a * h(x), integers; see ``fingerprint.py``

``zeros_implicit`` says whether zeros are not stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import data as core
from sparsepath.data.memory_layout import turn
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

Marks = NDArray[np.uint64]

GRAM_ROWS = 4096  # rows centred at once for the products of all columns
MOST_BLOCKS = 16


class RowBlock(Protocol):
    """Interface of a slice of rows; see the module docstring."""

    zeros_implicit: bool

    @property
    def shape(self) -> tuple[int, int]: ...

    def dot(self, V: Floats, some: NDArray[np.intp] | None = None) -> Floats: ...

    def gram(self, means: Floats, weights: Floats | None, some: NDArray[np.intp]) -> Floats: ...

    def columns(
        self, indices: Sequence[int] | NDArray[np.intp], out: Floats | None = None
    ) -> Floats: ...

    def rows(self, indices: NDArray[np.intp]) -> Floats: ...

    def spread(self, means: Floats, weights: Floats | None) -> Floats: ...

    def taken(self, indices: NDArray[np.intp]) -> "RowBlock": ...

    def strips(self, height: int) -> "Iterable[RowBlock]": ...

    def marks(self, a: Marks) -> Marks: ...


class DenseBlock:
    """Rows ``start`` to ``stop`` of a dense matrix of any real type and memory order."""

    zeros_implicit = False

    def __init__(self, X: NDArray[Any], start: int = 0, stop: int | None = None) -> None:
        self.whole = X  # the matrix that the rows are part of
        self._start = start
        self._rows = X[start:stop]

    def _tiles(self, times: int = 1) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield tiles of rows and columns, with buffers in the same memory order.

        Buffers are reused where possible, because new memory is slower.
        """
        X, (m, n), most = self._rows, self.shape, times * TUNING.tile_numbers
        by_column = X.strides[0] == X.itemsize
        height = max(1, min(m, most if by_column else max(64, most // max(1, n))))
        width = max(1, min(n, most // height))
        space = np.empty(height * width)
        for j in range(0, n, width):
            for i in range(0, m, height):
                r, c = min(height, m - i), min(width, n - j)
                room = space[: r * c].reshape((r, c), order="F" if by_column else "C")
                yield slice(i, i + r), slice(j, j + c), room

    @property
    def shape(self) -> tuple[int, int]:
        return self._rows.shape

    def _compiled(self, any_order: bool = False) -> bool:
        """Return whether columns (or rows) are contiguous and large enough for a compiled loop."""
        X = self.whole
        if X.size < TUNING.compiled_pass_from:
            return False
        return X.flags.f_contiguous or (any_order and X.flags.c_contiguous)

    def dot(self, V: Floats, some: NDArray[np.intp] | None = None) -> Floats:
        X = self._rows
        n = X.shape[1]
        if 0 < V.shape[1] <= 2 and self._compiled():
            which = np.arange(n) if some is None else some
            return products(X, V, which)
        if some is not None:
            if 2 * len(some) > n:
                return self.dot(V)[some]
            if X.dtype == np.float64:
                return np.array([X[:, i] @ V for i in some]).reshape(len(some), V.shape[1])
            return X[:, some].astype(np.float64).T @ V
        out = np.zeros((n, V.shape[1]))
        if X.dtype == np.float64 and X.itemsize == min(X.strides):  # others NumPy would copy
            if V.shape[1] == 1:
                return (X.T @ V[:, 0])[:, None]
            return (V.T @ X).T  # a little faster than the other way round
        for rows, columns, tile in self._tiles(4):  # a product of matrices can do with few
            np.copyto(tile, X[rows, columns])
            out[columns] += tile.T @ V[rows]
        return out

    def gram(self, means: Floats, weights: Floats | None, some: NDArray[np.intp]) -> Floats:
        X = self._rows
        m, n = X.shape[0], len(some)
        runs = np.split(np.arange(n), np.flatnonzero(np.diff(some) != 1) + 1) if n else []
        out = np.zeros((n, n))
        space = np.empty((min(m, GRAM_ROWS), n), order="F" if X.strides[0] == X.itemsize else "C")
        for i in range(0, m, GRAM_ROWS):
            tile = space[: min(m - i, GRAM_ROWS)]
            for run in runs:
                here, there = slice(run[0], run[-1] + 1), slice(some[run[0]], some[run[-1]] + 1)
                np.subtract(X[i : i + GRAM_ROWS, there], means[there], out=tile[:, here])
            if weights is not None:
                tile *= np.sqrt(weights[i : i + GRAM_ROWS, None])
            out += tile.T @ tile
        return out

    def columns(
        self, indices: Sequence[int] | NDArray[np.intp], out: Floats | None = None
    ) -> Floats:
        if out is None:
            out = np.empty((self.shape[0], len(indices)), order="F")
        rows, count = self._rows, len(indices)
        if rows.dtype == np.float64 and rows.flags.f_contiguous:
            rows.T.take(indices, axis=0, out=out.T, mode="wrap")  # "raise" would copy them twice
            return out
        if count == self.shape[1] and np.array_equal(indices, np.arange(count)):
            turn(rows, out.T, Threads(1))
            return out
        if count > 1 and rows.flags.c_contiguous:
            for low in range(0, len(rows), GRAM_ROWS):  # neighbours come with a column
                out[low : low + GRAM_ROWS] = rows[low : low + GRAM_ROWS].take(indices, axis=1)
            return out
        for j, i in enumerate(indices):
            out[:, j] = rows[:, i]
        return out

    def rows(self, indices: NDArray[np.intp]) -> Floats:
        return self._rows[indices].astype(np.float64, copy=False)

    def taken(self, indices: NDArray[np.intp]) -> "DenseBlock":
        return DenseBlock(self._rows[indices])

    def strips(self, height: int) -> "Iterator[DenseBlock]":
        for low in range(0, self.shape[0], height):
            rows = slice(low, min(low + height, self.shape[0]))
            yield DenseBlock(self.whole, self._start + rows.start, self._start + rows.stop)

    def marks(self, a: Marks) -> Marks:
        m, n = self.shape
        out = np.zeros(n, dtype=np.uint64)
        if self._compiled(any_order=True):
            core.marks(self._rows, a, out)
            return out
        tile, by_column = TUNING.tile_numbers // 4, self._rows.strides[0] == self.whole.itemsize
        height = min(m, tile if by_column else max(16, tile // n))
        width = max(1, tile // height)
        for i in range(0, m, height):
            for j in range(0, n, width):
                h = bits(self._rows[i : i + height, j : j + width])
                out[j : j + width] += np.einsum("i,ij->j", a[i : i + height], h)
        return out

    def spread(self, means: Floats, weights: Floats | None) -> Floats:
        X = self._rows
        m, n = X.shape
        out = np.zeros(n)
        if self._compiled(any_order=True):
            core.spread(X, means, np.ones(m) if weights is None else weights, out)
            return out
        for rows, columns, tile in self._tiles():
            np.subtract(X[rows, columns], means[columns], out=tile)
            tile *= tile
            out[columns] += tile.sum(0) if weights is None else weights[rows] @ tile
        return out


def products(X: NDArray[Any], V: Floats, which: NDArray[np.intp]) -> Floats:
    """Return X'V for one or two vectors and some contiguous columns of X, with a compiled loop.

    Unlike NumPy's product, it releases the GIL even for small results.
    """
    out = np.zeros((len(which), V.shape[1]))
    core.products(X, which, np.ascontiguousarray(V.T), out)
    return out


class SparseBlock:
    """Rows in a SciPy CSC array; zeros stay implicit, centring never fills them in."""

    zeros_implicit = True

    def __init__(self, X: Any) -> None:
        self._X = X

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape

    def dot(self, V: Floats, some: NDArray[np.intp] | None = None) -> Floats:
        if some is not None:
            return self._X[:, some].T @ V
        # One vector at a time: SciPy's product with several is slower than that.
        transposed = self._X.T
        out = np.empty((self.shape[1], V.shape[1]), order="F")
        for j in range(V.shape[1]):
            out[:, j] = transposed @ np.ascontiguousarray(V[:, j])
        return out

    def gram(self, means: Floats, weights: Floats | None, some: NDArray[np.intp]) -> Floats:
        X = self._X[:, some].astype(np.float64)
        w = np.ones(X.shape[0]) if weights is None else weights
        mu = means[some]
        sums = np.outer(X.T @ w, mu)
        raw = (X.multiply(w[:, None]).tocsc().T @ X).toarray()
        return raw - sums - sums.T + w.sum() * np.outer(mu, mu)

    def columns(
        self, indices: Sequence[int] | NDArray[np.intp], out: Floats | None = None
    ) -> Floats:
        X = self._X
        if out is None:
            out = np.empty((X.shape[0], len(indices)), order="F")
        out[...] = 0.0
        for j, i in enumerate(indices):
            part = slice(X.indptr[i], X.indptr[i + 1])
            out[X.indices[part], j] = X.data[part]
        return out

    def rows(self, indices: NDArray[np.intp]) -> Floats:
        return self._X[indices].toarray().astype(np.float64)

    def taken(self, indices: NDArray[np.intp]) -> "SparseBlock":
        return SparseBlock(self._X[indices])

    def strips(self, height: int) -> "list[SparseBlock]":
        return [self]

    def marks(self, a: Marks) -> Marks:
        """Return marks from stored entries only: a zero counts nothing."""
        h = bits(self._X.data)
        h *= a[self._X.indices]
        return _sums(h, self._X.indptr)

    def spread(self, means: Floats, weights: Floats | None) -> Floats:
        X = self._X
        counts = np.diff(X.indptr)
        w = np.ones(X.shape[0]) if weights is None else weights
        of_entry = w[X.indices]
        off = X.data - np.repeat(means, counts)
        off *= off
        off *= of_entry
        return _sums(off, X.indptr) + self._empty(w, of_entry) * means**2

    def _empty(self, w: Floats, of_entry: Floats) -> Floats:
        """Return the weight of the implicit zeros of every column.

        The difference of total and stored weight has rounding errors, which the squared mean
        amplifies. So with many entries, zeros are searched: a column without implicit zeros gets
        exactly zero.
        """
        X = self._X
        empty = np.maximum(w.sum() - _sums(of_entry, X.indptr), 0.0)
        filled = _sums((of_entry > 0).astype(np.float64), X.indptr)
        counted = np.count_nonzero(w)
        empty[filled == counted] = 0.0
        for i in np.flatnonzero((2 * filled > counted) & (filled < counted)):
            left = w.copy()
            left[X.indices[X.indptr[i] : X.indptr[i + 1]]] = 0.0
            empty[i] = left.sum()
        return empty


def bits(values: NDArray[Any]) -> Marks:
    """Return the bits of float64 numbers with both halves combined; minus zero equals zero."""
    h = np.add(values, 0.0, dtype=np.float64).view(np.uint64)
    h ^= h >> np.uint64(32)
    return h


def _sums(values: NDArray[Any], indptr: NDArray[Any]) -> NDArray[Any]:
    """Return the sums of segments of ``values`` bounded by ``indptr``; an empty one sums to
    zero.
    """
    out = np.zeros(len(indptr) - 1, dtype=values.dtype)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        out[filled] = np.add.reduceat(values, indptr[filled])
    return out


def row_blocks(X: Any, n_blocks: int | None = None) -> list[RowBlock]:
    """Cut ``X`` (dense, or SciPy sparse) into row blocks without copying dense data.

    The number of blocks follows from the shape alone, never from the number of threads, so that
    sums are taken in the same order, and results are the same to the last bit, on any machine.

    >>> [block.shape for block in row_blocks(np.zeros((10, 3)), n_blocks=3)]
    [(4, 3), (3, 3), (3, 3)]
    """
    if not isinstance(X, np.ndarray):
        if X.format == "csr" and (n_blocks or 0) != 1:
            cuts = _cuts(X.shape[0], n_blocks or _block_count(X.shape[0], X.nnz * 4))
            return [SparseBlock(_tidy(X[a:b].tocsc())) for a, b in cuts]
        if (n_blocks or 1) == 1:
            return [SparseBlock(_tidy(X.tocsc()))]
        return row_blocks(X.tocsr(), n_blocks)
    m = X.shape[0]
    return [DenseBlock(X, a, b) for a, b in _cuts(m, n_blocks or _block_count(m, X.size))]


def _tidy(X: Any) -> Any:
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _block_count(m: int, numbers: int) -> int:
    most = max(1, min(MOST_BLOCKS, numbers // TUNING.block_numbers, m // TUNING.block_rows))
    return 1 << (most.bit_length() - 1)


def _cuts(m: int, n_blocks: int) -> list[tuple[int, int]]:
    n_blocks = max(1, min(n_blocks, m))
    if n_blocks == 1:
        return [(0, m)]
    size, rest = divmod(m, n_blocks)
    edges = np.cumsum([0] + [size + (i < rest) for i in range(n_blocks)])
    return [(int(a), int(b)) for a, b in pairwise(edges)]
