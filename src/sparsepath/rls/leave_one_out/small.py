"""The loops of ``small.c``, if they were built with the package (``tools/native.py``).

They need no compiler any more, so that first fits have them too. Where there are none, NumPy does
the same (``whole.py``).
"""

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.blocks import Marks
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import GUARDS, Centred

FILE = Path(__file__).with_name("libsmall.dll" if sys.platform == "win32" else "libsmall.so")
INTERFACE = 4  # as in small.c
GUARDS_SQUARED = np.array([*GUARDS[:3], GUARDS[3] ** 2, GUARDS[4] ** 2])
C_COUNT, C_NUMBER, C_ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p


class SmallLoops:
    """What the library does, with arrays of float64 and int64 that lie row by row."""

    def __init__(self, library: Any) -> None:
        self._measure_columns = library.measure_columns
        self._centre_columns = library.centre_columns
        self._room = library.numbers_to_search
        self._search_forward = library.search_forward
        self._choose_forward = library.choose_forward
        self._extend_basis = library.extend_basis
        self._stand_at, self._sum_squares = library.stand_at, library.sum_squares
        self._measure_columns.argtypes = [C_COUNT] * 2 + [C_ARRAY] * 5
        self._centre_columns.argtypes = [C_COUNT] * 2 + [C_ARRAY] * 6
        self._measure_columns.restype = self._centre_columns.restype = None
        self._sum_mistakes = library.sum_mistakes
        self._room.argtypes, self._room.restype = [C_COUNT] * 4, C_COUNT
        self._search_forward.argtypes = [*[C_COUNT] * 4, C_NUMBER, C_NUMBER, *[C_ARRAY] * 12]
        self._choose_forward.argtypes = [*[C_COUNT] * 4, C_NUMBER, *[C_ARRAY] * 8]
        self._extend_basis.argtypes = [*[C_COUNT] * 4, C_NUMBER, C_NUMBER, C_ARRAY, C_ARRAY]
        self._stand_at.argtypes = [*[C_COUNT] * 5, *[C_ARRAY] * 4]
        self._sum_squares.argtypes = [*[C_COUNT] * 3, C_NUMBER, *[C_ARRAY] * 5]
        self._sum_mistakes.argtypes = [*[C_COUNT] * 3, C_NUMBER, *[C_ARRAY] * 8]
        self._search_forward.restype = self._choose_forward.restype = None
        self._sum_mistakes.restype = None
        self._extend_basis.restype = self._stand_at.restype = self._sum_squares.restype = None

    def measure(self, X: Floats, rows: Marks) -> tuple[Floats, Floats, Marks]:
        """Means of columns one by one in memory, squares around them, and what marks them.

        ``rows`` are the numbers of the rows of ``data/fingerprint.py``.
        """
        m, n = X.shape
        found = np.empty(n), np.empty(n), np.empty(n, np.uint64)
        self._measure_columns(m, n, X.ctypes.data, rows.ctypes.data, *map(_address, found))
        return found

    def columns_of(self, design: Design, features: NDArray[np.intp]) -> Floats:
        """Some columns as they stand, as rows: ``carried.columns_of``, where they lie plainly."""
        X = design.lies_plainly()
        if X is None:
            return columns_of(design, features)
        which, out = np.ascontiguousarray(features, np.int64), np.empty((len(features), len(X)))
        arrays = which, design.means, design.left, design.scales, out
        self._centre_columns(*out.shape[::-1], X.ctypes.data, *map(_address, arrays))
        return out

    def forward(
        self, design: Design, of: Centred, alpha: float, size: int, allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], bool]:
        """The features in the order in which they are chosen, and if all is fit."""
        given = self._given(design, of, size, allowed)
        self._choose_forward(*given.shape, alpha, *map(_address, given.arrays))
        return given.found()

    def path(
        self,
        design: Design,
        of: Centred,
        alpha: float,
        size: int,
        allowed: NDArray[np.bool_],
        once_more: float,
    ) -> tuple[NDArray[np.intp], bool, Floats, Floats, Floats]:
        """The same, and sums of the losses of every size, what is around them, coefficients."""
        given, T = self._given(design, of, size, allowed), len(of.y)
        w, errors, around = np.empty((size + 1) * T * size), np.empty(size + 1), np.empty(size + 1)
        *arrays, work, at = given.arrays
        arrays += [design.weights / design.total, work, at, w, errors, around]
        self._search_forward(*given.shape, alpha, once_more, *map(_address, arrays))
        subset, vanished = given.found()
        k = len(subset)
        coef = w[: (k + 1) * T * k].reshape(k + 1, T, k).transpose(0, 2, 1)
        return subset, vanished, errors[: k + 1], around[: k + 1], coef

    def _given(
        self, design: Design, of: Centred, size: int, allowed: NDArray[np.bool_]
    ) -> "_Given":
        features = allowed.nonzero()[0]
        X, (T, m), n = self.columns_of(design, features), of.y.shape, len(features)
        columns = of.floor[features], design.squares[features]
        space = np.empty(self._room(m, n, T, size)), np.empty(2 + size + n, np.int64)
        arrays = GUARDS_SQUARED, np.ascontiguousarray(X), of.y, of.p, *columns, *space
        return _Given(features, (m, n, T, size), arrays)

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

    def sum_mistakes(
        self,
        rp: Floats,
        errors: Floats,
        around: Floats,
        marks: Floats,
        g: Floats,
        v: Floats,
        blur: Floats,
        room: float,
    ) -> None:
        """The same of mistakes; ``marks`` are one target, or a one for the own class of several."""
        count, targets, m = rp.shape
        arrays = marks, g, v, blur, rp, np.empty(2 * m), errors, around
        self._sum_mistakes(m, targets - 1, count, room, *map(_address, arrays))


class _Given(NamedTuple):
    """What a search takes; the last of the arrays is where it leaves what it found."""

    features: NDArray[np.intp]
    shape: tuple[int, int, int, int]
    arrays: tuple[NDArray[Any], ...]

    def found(self) -> tuple[NDArray[np.intp], bool]:
        at = self.arrays[-1]
        return self.features[at[2 : 2 + at[0]]], bool(at[1])


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
