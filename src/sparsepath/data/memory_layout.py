"""Copies of dense data with contiguous columns, written tile by tile."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.executor import Crew
from sparsepath.system.tuning import TUNING


def column_major(X: NDArray[Any], threads: Crew, dtype: Any = None) -> NDArray[Any]:
    """Return the matrix with contiguous columns; itself if it has them.

    ``dtype`` is by default that of ``kept_type``.

    >>> from sparsepath.system.threads import Threads
    >>> column_major(np.ones((2, 3), dtype=np.int8), Threads(1)).flags.f_contiguous
    True
    """
    kind = kept_type(X) if dtype is None else np.dtype(dtype)
    if X.dtype == kind and X.flags.f_contiguous:
        return X
    out = np.empty(X.shape[::-1], dtype=kind)
    turn(X, out, threads)
    return out.T


def turn(X: NDArray[Any], out: NDArray[Any], threads: Crew) -> None:
    """Transpose a matrix in tiles that fit into the cache."""
    m, n = X.shape
    side = TUNING.turned_columns
    strips = range(0, m, max(side, m) if X.strides[0] == X.itemsize else side)

    def write(low: int) -> None:
        rows = X[low : low + strips.step]
        for i in range(0, n, side):
            out[i : i + side, low : low + strips.step] = rows[:, i : i + side].T

    threads.map(write, strips, m * n)


def kept_type(X: NDArray[Any]) -> np.dtype[Any]:
    """Return the type of a copy of the data: float32 for large data if exact.

    >>> str(kept_type(np.ones((2**17, 64), dtype=np.int16)))
    'float32'
    """
    narrow = X.size >= TUNING.narrow_from and np.can_cast(X.dtype, np.float32)
    return np.dtype(np.float32 if narrow else np.float64)
