"""The loops of ``small.c``, if they were built with the package (``tools/native.py``).

They need no compiler any more, so that first fits have them too. Where there are none, NumPy does
the same (``whole.py``).
"""

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import GUARDS, Centred

FILE = Path(__file__).with_name("libsmall.dll" if sys.platform == "win32" else "libsmall.so")
INTERFACE = 1  # as in small.c
GUARDS_SQUARED = np.array([*GUARDS[:3], GUARDS[3] ** 2, GUARDS[4] ** 2])
COUNT, NUMBER, ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class SmallLoops:
    """What the library does, with arrays of float64 and int64 that lie row by row."""

    def __init__(self, library: Any) -> None:
        self._room_to_choose = library.numbers_to_choose
        self._choose_forward = library.choose_forward
        self._extend_basis = library.extend_basis
        self._stand_at, self._sum_squares = library.stand_at, library.sum_squares
        self._room_to_choose.argtypes, self._room_to_choose.restype = [COUNT] * 4, COUNT
        self._choose_forward.argtypes = [*[COUNT] * 4, NUMBER, *[ARRAY] * 8]
        self._extend_basis.argtypes = [*[COUNT] * 4, NUMBER, NUMBER, ARRAY, ARRAY]
        self._stand_at.argtypes = [*[COUNT] * 5, *[ARRAY] * 4]
        self._sum_squares.argtypes = [*[COUNT] * 3, NUMBER, *[ARRAY] * 5]
        for loop in (self._choose_forward, self._extend_basis, self._stand_at, self._sum_squares):
            loop.restype = None

    def forward(
        self, design: Design, of: Centred, alpha: float, size: int, allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], bool]:
        """The features in the order in which they are chosen, and if all is fit."""
        features = allowed.nonzero()[0]
        (T, m), n = of.y.shape, len(features)
        X = np.ascontiguousarray(columns_of(design, features))
        work, at = np.empty(self._room_to_choose(m, n, T, size)), np.empty(2 + size + n, np.int64)
        given = X, of.y, of.p, of.floor[features], design.squares[features], work, at
        self._choose_forward(m, n, T, size, alpha, *map(_address, (GUARDS_SQUARED, *given)))
        return features[at[2 : 2 + at[0]]], bool(at[1])

    def extend_basis(
        self, rows: Floats, k: int, count: int, alpha: float, once_more: float
    ) -> None:
        """Make the rows from k on, whose columns are there, rows of the basis."""
        size, space = len(rows), np.empty(len(rows))
        given = rows.shape[1] - size, size, k, k + count, alpha, once_more
        self._extend_basis(*given, _address(rows), _address(space))

    def stand_at(self, rows: Floats, y: Floats, rp: Floats, w: Floats, k: int, until: int) -> None:
        """Residuals, 1 - leverages and coefficients of the sizes after k."""
        (T, m), size = y.shape, len(rows)
        self._stand_at(m, T, size, k, until, *map(_address, (rows, y, rp, w)))

    def sum_squares(
        self, rp: Floats, errors: Floats, around: Floats, share: Floats, room: float
    ) -> None:
        """Squared leave-one-out residuals of some sizes, and how they vary, as sums."""
        count, targets, m = rp.shape
        arrays = share, rp, np.empty(m), errors, around
        self._sum_squares(m, targets - 1, count, room, *map(_address, arrays))


_NOTHING = ctypes.c_char * 0


def _address(array: NDArray[Any]) -> int:
    """Where an array begins that lies row by row; it must have a name as long as it is used.

    Quicker than ``array.ctypes.data``.
    """
    return ctypes.addressof(_NOTHING.from_buffer(array))  # type: ignore[arg-type]


@cache
def small_loops() -> SmallLoops | None:
    """The loops; None if they were not built, or of another source."""
    try:
        library = ctypes.CDLL(str(FILE))
        known = library.interface_of_small() == INTERFACE
    except (OSError, AttributeError):
        return None
    return SmallLoops(library) if known else None
