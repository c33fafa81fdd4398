"""Data whose columns do not lie in memory one by one as float64, and copies of them that do.

Fresh memory takes longer than to turn a matrix: up to a second for 400 MB, where a system has given
the pages back meanwhile. So large data stay as they are, whatever their type and order, and are
read tile by tile. Of those that lie row by row, columns are kept one by one as they are asked for,
and all of them when they were asked for so often that this would have paid (``blocks.py``): to rent
or to buy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.crew import Crew
from sparsepath.tuning import TUNING


class TurnedLate(np.ndarray[Any, Any]):
    """Data, row by row in memory, of which a copy by columns is made only when it is needed."""


def turned(X: NDArray[Any], threads: Crew, dtype: Any = None) -> NDArray[Any]:
    """The matrix with its columns one by one in memory; itself if that is what it is.

    ``dtype`` is by default that of ``kept_type``; then large data are left as they are, be it as
    ``TurnedLate``.

    >>> from sparsepath.data.threads import Threads
    >>> turned(np.ones((2, 3), dtype=np.int8), Threads(1)).flags.f_contiguous
    True
    """
    large = X.size >= TUNING.turned_late_from and np.can_cast(X.dtype, np.float64)
    if dtype is None and large:
        return X if X.strides[0] == X.itemsize else X.view(TurnedLate)
    kind = kept_type(X) if dtype is None else np.dtype(dtype)
    if X.dtype == kind and X.flags.f_contiguous:
        return X
    out = np.empty(X.shape[::-1], dtype=kind)
    turn(X, out, threads)
    return out.T


def turn(X: NDArray[Any], out: NDArray[Any], threads: Crew) -> None:
    """Write a matrix, features by samples, in tiles: both sides of these stay in the cache."""
    m, n = X.shape
    side = TUNING.turned_columns
    strips = range(0, m, max(side, m) if X.strides[0] == X.itemsize else side)

    def write(low: int) -> None:
        rows = X[low : low + strips.step]
        for i in range(0, n, side):
            out[i : i + side, low : low + strips.step] = rows[:, i : i + side].T

    threads.map(write, strips, m * n)


def kept_type(X: NDArray[Any]) -> np.dtype[Any]:
    """The type in which a copy of the data is kept: of large ones float32, if that is exact.

    >>> str(kept_type(np.ones((2**17, 64), dtype=np.int16)))
    'float32'
    """
    narrow = X.size >= TUNING.turned_late_from and np.can_cast(X.dtype, np.float32)
    return np.dtype(np.float32 if narrow else np.float64)
