"""A whole forward search at once, from the columns in memory: ``fused.py`` without the steps.

Where data are small, a search that is asked step by step spends its time between the steps. Here
all of it is one function: in plain NumPy below, with the letters, guards and rules of ``fused.py``;
the same in loops that were built when the package was installed (``small.py``); or as a loop that
Numba compiles (``forward.py``). Tall data, and many parts of them, are searched by the products of
all columns (``by_products.py``).

Small data are searched in the loops of the package, or in NumPy where there are none, until loading
Numba's loop pays: a first fit waits for no compiler. Which of them it was must not be seen. They
choose the same features, and the numbers are computed afresh from what was chosen, by
``numbers_of``, whoever chose it.

Longer searches go step by step through the parts of the compiled loop (``search_in_parts``).
"""

import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from sparsepath.arrays import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out import small
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import GUARDS, Centred, CompiledForward
from sparsepath.rls.leave_one_out.numbers import (
    ONCE_MORE,
    Noted,
    Whole,
    in_units,
    loops_for,
    numbers_of,
)
from sparsepath.tuning import TUNING

FAINT = 1e-30  # in place of a product with the target that is zero, over the target's norm
NATIVE = 0.3  # time of loops built with the package, over that of NumPy
LOADING, LOADING_NUMBA, COMPILING = 0.3, 0.7, 20.0  # seconds, Numba imported or not, or no code yet


def whole_search(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    *,
    compiled: bool | None = None,
) -> Whole:
    """Search forward, by exact leave-one-out and the squared loss.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    size : int
        How many features to choose.
    allowed : array of bool
        The columns that may be chosen.
    compiled : bool, optional
        Whether by the loop that Numba compiles, or in NumPy; default what is the quickest.
    """
    of, allowed = Centred.of(design, Y), allowed & ~design.constant
    given, loops = (design, of, alpha, size, allowed), loops_for(design)
    if compiled is not None or loops is None or pays_to_compile(*design.shape):
        return numbers_of(design, of, alpha, *chosen_by(*given, compiled))
    start = time.perf_counter()
    subset, vanished, *numbers = loops.path(*given, ONCE_MORE)
    PRICE.spent += time.perf_counter() - start
    return in_units(design, of, len(subset), vanished, subset, *numbers)


def chosen_by(
    design: Design,
    of: Centred,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    compiled: bool | None = None,
) -> tuple[NDArray[np.intp], bool]:
    """The features in the order in which they are chosen, and if all is fit."""
    loops = small.small_loops() if compiled is None else None
    if compiled is None:
        compiled = pays_to_compile(*design.shape)
    if not compiled:
        start = time.perf_counter()
        if loops is None:
            found = forward(design, of, alpha, size, allowed)
        else:
            found = loops.forward(design, of, alpha, size, allowed)
        PRICE.spent += time.perf_counter() - start
        return found
    search = CompiledForward(design, of, alpha, size, allowed.nonzero()[0])
    search.run()
    return search.subset[: search.size], search.vanished


def search_in_parts(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    least: int,
    noted: Noted | None = None,
) -> Iterator[Whole]:
    """The path as far as it is known, every few steps; at first to size ``least`` at least.

    On all threads of the design. The result does not depend on where it is cut. ``noted`` is where
    the features come one by one; default a new one.
    """
    of, features = Centred.of(design, Y), (allowed & ~design.constant).nonzero()[0]
    search = CompiledForward(design, of, alpha, size, features, design.threads)
    noted = Noted(design, of, alpha, size) if noted is None else noted
    steps = max(1, TUNING.told_numbers // (design.n_samples * max(1, len(features))))
    more = True
    while more:
        until = min(size, max(search.size + steps, least))
        more = search.advance(until) and search.size < size
        noted.extend(columns_of(design, search.subset[noted.size : search.size]))
        yield noted.path(search.subset[: search.size], search.vanished)


def is_small(design: Design) -> bool:
    """Whether a search takes too short a time to wait for a compiler."""
    return design.n_samples * design.n_features < TUNING.compiled_search_from


def pays_to_compile(m: int, n: int, ahead: float = 0.0) -> bool:
    """Whether the loop that Numba compiles is the quickest for m samples and n features.

    ``ahead`` are the seconds that NumPy would take for what is to be searched now.
    """
    numbers, loops = m * n, small.small_loops()
    if loops is not None and numbers < TUNING.native_search_up_to:
        return False
    return numbers >= TUNING.compiled_search_from or PRICE.is_paid(
        ahead if loops is None else NATIVE * ahead
    )


def is_short(design: Design) -> bool:
    """Whether a step takes too short a time to be heard of."""
    return design.n_samples * design.n_features < TUNING.stepwise_from


class Price:
    """What loading a compiled loop costs, against what went by without it: to rent or to buy.

    Parameters
    ----------
    loops, name : str
        The module of the loop, as in "leave_one_out.compiled_whole", and its name there.

    Attributes
    ----------
    spent : float
        Seconds that this process has searched in NumPy.
    """

    def __init__(self, loops: str, name: str) -> None:
        self._loops, self._name = loops, name
        self.spent = 0.0

    def is_paid(self, ahead: float = 0.0) -> bool:
        """Whether the loop is loaded, or would be for the time spent without it and ``ahead``."""
        loops = sys.modules.get(f"sparsepath.rls.{self._loops}")
        loop = getattr(loops, self._name, None)  # not there while another thread imports it
        if loop is not None and loop.overloads:
            return True
        price = LOADING if "numba" in sys.modules else LOADING_NUMBA
        spent = self.spent + ahead
        return spent > price and (spent > COMPILING or self._is_cached())

    def _is_cached(self) -> bool:
        """Whether the loop lies on disk, compiled."""
        folder, module = self._loops.split(".")
        beside = Path(__file__).parents[1] / folder / "__pycache__"
        place = Path(os.environ.get("NUMBA_CACHE_DIR", beside))
        return any(place.rglob(f"{module}.{self._name}-*.nbi"))


PRICE = Price("leave_one_out.compiled_whole", "advance")


def forward(
    design: Design, of: Centred, alpha: float, size: int, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], bool]:
    """The features in the order in which they are chosen, and if all is fit; in NumPy.

    Rows z have their coefficients behind them, times the root of alpha: one product takes both.
    With s the pivot and c = z'r of a row, its criterion is c^2 times the sum over samples of

        ((z - r s/c) / (z^2 - p s))^2,

    so that all rows follow from products of vectors, r with s/c and p with s; behind the samples p
    is infinite, so that coefficients count nothing.
    """
    room, tie, tie_floor, second_go, vanished, _ = GUARDS
    (T, m), root = of.y.shape, math.sqrt(alpha)
    features = allowed.nonzero()[0]  # of the rows of C, the last of which takes the place of a gap
    X = columns_of(design, np.arange(design.n_features))
    n, width = len(features), m + size
    C, V, Q = (np.zeros((rows, width)) for rows in (n, T, size))
    C[:, :m], V[:, :m] = X[features], of.y
    r, p = V[:, :m], np.full(width, np.inf)
    lefts, offs = np.empty((2, n, width))
    p[:m] = of.p
    second_go, everything = second_go**2, float(np.vdot(of.y, of.y))
    floor, subset = of.floor[features], np.zeros(size, dtype=np.intp)
    doubted = np.maximum(second_go * (design.squares[features] + alpha), floor)
    most = -room * (max(1.0, design.squares.max()) + alpha)
    e = r / np.maximum(of.p, room)
    first = float(np.vdot(e, e)) if of.p.min() > room else np.inf
    ended, k = not everything > 0, 0
    while not (ended or k == size or not n):
        rows, left, off = C[:n], lefts[:n], offs[:n]
        if k:
            dger(-1.0, Q[k - 1], rows @ Q[k - 1], a=rows.T, overwrite_a=1)
        pivots = np.vecdot(rows, rows)
        pivots += alpha
        closed = None
        if np.count_nonzero(pivots < doubted[:n]):
            again = ((pivots < doubted[:n]) & (pivots > floor[:n])).nonzero()[0]
            rows[again] = _afresh(X[features[again]], Q[:k])
            pivots[again] = np.vecdot(rows[again], rows[again]) + alpha
            doubted[again] = np.maximum(second_go * pivots[again], floor[again])
            closed = pivots <= floor[:n]
            pivots[closed] = 1.0
        np.multiply(rows, rows, out=left)
        dger(-1.0, p, pivots, a=left.T, overwrite_a=1)
        if left.item(left.argmax()) >= most:
            tight = left.max(1) >= -room * pivots
            closed = tight if closed is None else closed | tight
            np.minimum(left, -room * pivots[:, None], out=left)
        along = V @ rows.T
        if np.count_nonzero(along) < along.size:
            along[along == 0.0] = FAINT * math.sqrt(everything)
        sums = np.empty((T, n))
        for v, c, total in zip(V, along, sums, strict=True):
            np.copyto(off, rows)
            dger(-1.0, v, pivots / c, a=off.T, overwrite_a=1)
            np.divide(off, left, out=off)
            np.vecdot(off, off, out=total)
        sums *= along
        sums *= along
        values = sums[0] if T == 1 else sums.sum(0)
        if closed is not None:
            values[closed] = np.inf
        best = int(values.argmin())
        least = float(values[best])
        if not least < np.inf:
            break
        equal = values <= least + tie * least + tie_floor * first
        if np.count_nonzero(equal) > 1:
            tied = equal.nonzero()[0]
            best = int(tied[features[tied].argmin()])
        b, pivot, q = features[best], float(pivots[best]), Q[k]
        if pivot < second_go * design.squares[b]:
            q[:] = _afresh(X[[b]], Q[:k])[0]
            pivot = float(q @ q) + alpha
            along[:, best] = V @ q
        else:
            q[:] = rows[best]
        q[m + k] = -root
        q *= pivot**-0.5
        dger(-(pivot**-0.5), q, along[:, best], a=V.T, overwrite_a=1)
        p -= q * q
        n -= 1
        for places in (C, features, floor, doubted):
            places[best] = places[n]
        subset[k] = b
        k += 1
        ended = not float(np.vdot(r, r)) > vanished**2 * everything
    return subset[:k], ended


def _afresh(X: Floats, Q: Floats) -> Floats:
    """Rows of columns X, orthogonal to the rows of Q to the last digit."""
    rows = np.zeros((len(X), Q.shape[1]))
    rows[:, : X.shape[1]] = X
    for _ in range(2):
        rows -= (rows @ Q.T) @ Q
    return rows
