"""A whole forward search at once, from the columns in memory: ``fused.py`` without the steps.

Where data are small, a search that is asked step by step spends its time between the steps. Here
all of it is one function: in plain NumPy below, with the letters, guards and rules of ``fused.py``;
as a compiled loop (``forward.py``); or, for many parts of the same tall data, by the products of
all columns and bounds (``compiled_parts.py``).

Small data are searched in NumPy until loading the compiled loop pays: a first fit waits for no
compiler. Which of the two it was must not be seen. They choose the same features, and the numbers
are computed afresh from what was chosen, by ``numbers_of``, whoever chose it.

Longer searches go step by step through the parts of the compiled loop (``search_in_parts``).
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.forward import GUARDS, Centred, CompiledForward
from sparsepath.rls.leave_one_out.fused import ROUNDING
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING

KNOWN_WELL = 1e-6  # rounding of a product over the pivot up to which the Gram matrix may serve
SURELY = 1e-8  # and up to which what is followed may judge a candidate; the margin is wide
TRUSTED = 0.1  # and up to which it may bound the criterion
KEPT = 64  # rows kept of candidates that were judged
BOUND_GUARDS = (ROOM, TIE, TIE_FLOOR, VANISHED, ROUNDING, KNOWN_WELL, SURELY, TRUSTED, KEPT)
ONCE_MORE = 0.25  # part of a square that is left, below which a column is projected once more
LOADING, LOADING_NUMBA, COMPILING = 0.3, 0.7, 20.0  # seconds, Numba imported or not, or no code yet


Products = tuple[Floats, Floats, Floats, Floats, NDArray[np.intp]]


@dataclass(frozen=True)
class Whole:
    """A forward path as arrays.

    Attributes
    ----------
    subset : array of int, shape (k,)
        Features in order of entry.
    errors, errors_se : arrays of shape (k + 1,)
        The criterion of every size, from the empty model on, and its standard error.
    coef : array of shape (k + 1, k, T)
        Coefficients of every size in the order of ``subset``, in the units of the data.
    intercept : array of shape (k + 1, T)
    vanished : bool
        Whether nothing is left of the residuals but rounding.
    """

    subset: NDArray[np.intp]
    errors: Floats
    errors_se: Floats
    coef: Floats
    intercept: Floats
    vanished: bool


def whole_search(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    *,
    compiled: bool | None = None,
    data: tuple[Floats, Products] | None = None,
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
        Whether by the compiled loop; default as soon as that pays.
    data : pair, optional
        The raw columns, features by samples, and what their products are made of: the search is
        then by bounds (``compiled_parts.py``) and copies no columns.
    """
    of, allowed = Centred.of(design, Y), allowed & ~design.constant
    if data is not None:
        return _by_products(design, of, alpha, size, allowed, data)
    if not compiled and is_small(design) and (compiled is not None or not PRICE.is_paid()):
        start = time.perf_counter()
        subset, vanished = forward(design, of, alpha, size, allowed)
        PRICE.spent += time.perf_counter() - start
        return numbers_of(design, of, alpha, subset, vanished)
    search = CompiledForward(design, of, alpha, size, allowed.nonzero()[0])
    search.run()
    return numbers_of(design, of, alpha, search.subset[: search.size], search.vanished)


def search_in_parts(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    least: int,
) -> Iterator[Whole]:
    """The path as far as it is known, every few steps; at first to size ``least`` at least.

    On all threads of the design. The result does not depend on where it is cut.
    """
    of, features = Centred.of(design, Y), (allowed & ~design.constant).nonzero()[0]
    search = CompiledForward(design, of, alpha, size, features, design.threads)
    noted = Noted(design, of, alpha, size)
    steps = max(1, TUNING.told_numbers // (design.n_samples * max(1, len(features))))
    more = True
    while more:
        until = min(size, max(search.size + steps, least))
        more = search.advance(until) and search.size < size
        for column in columns_of(design, search.subset[noted.size : search.size]):
            noted.add(column)
        yield noted.path(search.subset[: search.size], search.vanished)


def is_small(design: Design) -> bool:
    """Whether a search takes too short a time to wait for a compiler."""
    return design.n_samples * design.n_features < TUNING.compiled_search_from


def is_short(design: Design) -> bool:
    """Whether a step takes too short a time to be heard of."""
    return design.n_samples * design.n_features < TUNING.stepwise_from


class Price:
    """What loading a compiled loop costs, against what went by without it: to rent or to buy.

    Parameters
    ----------
    loops, name : str
        The module of the loop, in this folder, and its name there.

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
        loops = sys.modules.get(f"{__package__}.{self._loops}")
        loop = getattr(loops, self._name, None)  # not there while another thread imports it
        if loop is not None and loop.signatures:
            return True
        price = LOADING if "numba" in sys.modules else LOADING_NUMBA
        spent = self.spent + ahead
        return spent > price and (spent > COMPILING or self._is_cached())

    def _is_cached(self) -> bool:
        """Whether the loop lies on disk, compiled."""
        place = Path(os.environ.get("NUMBA_CACHE_DIR", Path(__file__).with_name("__pycache__")))
        return any(place.rglob(f"{self._loops}.{self._name}-*.nbi"))


PRICE = Price("compiled_whole", "advance")


def _by_products(
    design: Design,
    of: Centred,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    data: tuple[Floats, Products],
) -> Whole:
    from sparsepath.rls.leave_one_out.compiled_parts import bounded

    subset = np.full(size, -1, dtype=np.intp)
    errors, around = np.zeros((2, size + 1))
    path = (subset, errors, around, np.zeros((size + 1, size, len(of.y))))
    stand = (design.means, design.left, design.scales, design.squares, design.sizes)
    about = (design.weights, alpha, of.floor, allowed, BOUND_GUARDS, path)
    X, products = data
    k, vanished = bounded(X, np.sqrt(design.weights), stand, products, of.y, of.p, *about)
    return _in_units(design, of, k, vanished, *path)


def _in_units(
    design: Design,
    of: Centred,
    k: int,
    vanished: bool,
    subset: NDArray[np.intp],
    errors: Floats,
    around: Floats,
    coef: Floats,
) -> Whole:
    """The path of size k in the units of the data."""
    total, counted = design.total, np.count_nonzero(design.weights)
    subset = subset[:k]
    coef = coef[: k + 1, :k] * design.scales[subset, None]
    return Whole(
        subset,
        errors[: k + 1] / total,
        np.sqrt(around[: k + 1] * (counted / (counted - 1))) / total,
        coef,
        of.y_mean - design.means[subset] @ coef,
        bool(vanished),
    )


class Noted:
    """The path through features that come one by one, from their columns.

    Every feature adds a row to an orthonormal basis, z and its coefficients d in the augmented
    space of ``model.py``, once more made orthogonal where little is left of it.

    Attributes
    ----------
    size : int
        How many have come.
    """

    def __init__(self, design: Design, of: Centred, alpha: float, size: int) -> None:
        T, m = of.y.shape
        self._design, self._of, self._alpha, self.size = design, of, alpha, 0
        self._Z, self._d = np.empty((size, m)), np.zeros((size, size))
        self._r, self._p = np.empty((size + 1, T, m)), np.empty((size + 1, m))
        self._w = np.zeros((size + 1, T, size))
        self._r[0], self._p[0] = of.y, of.p

    def add(self, column: Floats) -> None:
        """Go on to the model that has one feature more, of this column."""
        k, alpha = self.size, self._alpha
        Z, d, b = self._Z[:k], self._d[:k, :k], np.zeros(k)
        z = column.copy()
        before = float(z @ z)
        for _ in range(2):
            t = Z @ z + alpha * (d @ b)
            z -= t @ Z
            b -= t @ d
            left = float(z @ z + alpha * (b @ b))
            if left > ONCE_MORE * before:
                break
        root = np.sqrt(left + alpha)
        q, e = np.divide(z, root, out=self._Z[k]), self._d[k, : k + 1]
        e[:k], e[k] = b / root, -1.0 / root
        r, w = self._r[k], self._w[k, :, : k + 1]
        a = (r @ q + alpha * (w @ e))[:, None]
        np.subtract(r, a * q, out=self._r[k + 1])
        np.subtract(w, a * e, out=self._w[k + 1, :, : k + 1])
        np.subtract(self._p[k], q * q, out=self._p[k + 1])
        self.size += 1

    def path(self, subset: NDArray[np.intp], vanished: bool) -> Whole:
        """What has come, in the units of the data."""
        k, weights, total = self.size, self._design.weights, self._design.total
        p = self._p[: k + 1]
        losses = np.square(self._r[: k + 1] / np.maximum(p, ROOM)[:, None]).sum(1)
        errors = losses.sum(1)
        losses -= (errors / total)[:, None] * weights
        errors[p.min(1) <= ROOM] = np.inf
        around, coef = np.vecdot(losses, losses), self._w[: k + 1, :, :k].transpose(0, 2, 1)
        return _in_units(self._design, self._of, k, vanished, subset, errors, around, coef)


def numbers_of(
    design: Design, of: Centred, alpha: float, subset: NDArray[np.intp], vanished: bool
) -> Whole:
    """The path through these features, size by size: no number knows which sizes come later."""
    noted = Noted(design, of, alpha, len(subset))
    for column in columns_of(design, subset):
        noted.add(column)
    return noted.path(subset, vanished)


def forward(
    design: Design, of: Centred, alpha: float, size: int, allowed: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], bool]:
    """The features in the order in which they are chosen, and if all is fit; in NumPy."""
    room, tie, tie_floor, second_go, vanished, _ = GUARDS
    (T, m), p = of.y.shape, of.p
    features = allowed.nonzero()[0]  # of the rows of C, the last of which takes the place of a gap
    X = columns_of(design, np.arange(design.n_features))
    n, width = len(features), m + size
    C, V, Q = (np.zeros((rows, width)) for rows in (n, T, size))
    C[:, :m], V[:, :m] = X[features], of.y
    r, metric, S = V[:, :m], np.ones(width), np.empty_like(C)
    metric[m:] = alpha
    low, E = np.empty((n, m)), np.empty((T, n, m))
    D, dual = np.zeros((2, width))
    second_go, everything = second_go**2, float(np.vdot(of.y, of.y))
    floor, subset = of.floor[features], np.zeros(size, dtype=np.intp)
    doubted = np.maximum(second_go * (design.squares[features] + alpha), floor)
    e = r / np.maximum(p, room)
    first = float(np.vdot(e, e)) if p.min() > room else np.inf
    ended, k = not everything > 0, 0
    while not (ended or k == size or not n):
        rows = C[:n]
        if k:
            dger(-1.0, D, rows @ dual, a=rows.T, overwrite_a=1)
        squared = np.multiply(rows, rows, out=S[:n])
        pivots = squared @ metric
        pivots += alpha
        closed = None
        if np.count_nonzero(pivots < doubted[:n]):
            again = ((pivots < doubted[:n]) & (pivots > floor[:n])).nonzero()[0]
            rows[again] = _afresh(X[features[again]], Q[:k], metric)
            squared[again] = rows[again] ** 2
            pivots[again] = squared[again] @ metric + alpha
            doubted[again] = np.maximum(second_go * pivots[again], floor[again])
            closed = pivots <= floor[:n]
            pivots[closed] = np.inf
        inverse = -1.0 / pivots[:, None]
        tau = rows @ (V * metric).T
        tau *= inverse
        left = np.multiply(squared[:, :m], inverse, out=low[:n])
        left += p
        if left.min() <= room:
            tight = left.min(1) <= room
            closed = tight if closed is None else closed | tight
            np.maximum(left, room, out=left)
        values = np.zeros(n)
        for t in range(T):
            e = np.multiply(rows[:, :m], tau[:, t, None], out=E[t, :n])
            e += r[t]
            e /= left
            values += np.vecdot(e, e)
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
        b, D, pivot = features[best], rows[best].copy(), float(pivots[best])
        if pivot < second_go * design.squares[b]:
            D = _afresh(X[[b]], Q[:k], metric)[0]
            pivot = float((D * metric) @ D) + alpha
            dual = D * (metric / pivot)
            D[m + k] = -1.0
            V -= (V @ dual)[:, None] * D
            p = p - D[:m] ** 2 / pivot
        else:
            D[m + k] = -1.0
            V += tau[best][:, None] * D
            p = left[best].copy()
        np.multiply(D, pivot**-0.5, out=Q[k])
        dual = D * metric
        dual *= 1.0 / pivot
        n -= 1
        for places in (C, features, floor, doubted):
            places[best] = places[n]
        subset[k] = b
        k += 1
        ended = not float(np.vdot(r, r)) > vanished**2 * everything
    return subset[:k], ended


def _afresh(X: Floats, Q: Floats, metric: Floats) -> Floats:
    """Rows of columns X, orthogonal to the rows of Q to the last digit."""
    rows = np.zeros((len(X), len(metric)))
    rows[:, : X.shape[1]] = X
    dual = (Q * metric).T
    for _ in range(2):
        rows -= (rows @ dual) @ Q
    return rows
