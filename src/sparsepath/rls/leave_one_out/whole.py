"""A whole forward search at once, from the columns in memory: ``fused.py`` without the steps.

Where data are small, a search that is asked step by step spends its time between the steps. Here
all of it is one function, with the letters, guards and rules of ``fused.py``: in plain NumPy below,
or as a compiled loop (``compiled_many.py``), where there is so much to do that it is worth while to
have a compiler loaded. For many parts of the same tall data there is a third, by the products of
all columns and bounds (``compiled_parts.py``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.fitted import COLLINEAR, OFF_CENTRE, VANISHED
from sparsepath.rls.leave_one_out.fused import ROUNDING
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.update import TIE, TIE_FLOOR

KNOWN_WELL = 1e-6  # rounding of a product over the pivot up to which the Gram matrix may serve
SURELY = 1e-8  # and up to which what is followed may judge a candidate; the margin is wide
TRUSTED = 0.1  # and up to which it may bound the criterion
KEPT = 64  # rows kept of candidates that were judged
GUARDS = (ROOM, TIE, TIE_FLOOR, SECOND_GO, VANISHED, ROUNDING)
BOUND_GUARDS = (ROOM, TIE, TIE_FLOOR, VANISHED, ROUNDING, KNOWN_WELL, SURELY, TRUSTED, KEPT)


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
    compiled: bool = True,
    by_bounds: bool = False,
    columns: Floats | None = None,
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
    compiled : bool
        Whether there is enough to do for a compiled loop.
    by_bounds : bool
        Whether that goes by the Gram matrix and bounds.
    columns : array of shape (n, m), optional
        All columns of the design, where they are known.
    data : pair, optional
        The raw columns, features by samples, and what their products are made of: the search is
        then by bounds (``compiled_parts.py``) and copies no columns.
    """
    w, total, T = design.weights, design.total, Y.shape[1]
    y_mean = (w @ Y) / total if design.fit_intercept else np.zeros(T)
    centred = Y - y_mean
    if design.fit_intercept:
        centred = centred - (w @ centred) / total
    y = np.ascontiguousarray((np.sqrt(w)[:, None] * centred).T)
    p = 1.0 - w / total if design.fit_intercept else np.ones(design.n_samples)
    floor = COLLINEAR**2 * design.squares + (OFF_CENTRE * design.sizes) ** 2
    subset = np.full(size, -1, dtype=np.intp)
    errors, around = np.zeros((2, size + 1))
    coef = np.zeros((size + 1, size, T))
    given = (w, alpha, floor, design.squares, allowed & ~design.constant, GUARDS)
    path = (subset, errors, around, coef)
    stand = (design.means, design.left, design.scales, design.squares, design.sizes)
    g = np.sqrt(w)
    if data is None:
        if columns is None:
            columns = columns_of(design, np.arange(design.n_features))
        columns = np.ascontiguousarray(columns)
        if by_bounds:
            none, one = np.zeros(len(columns)), np.ones(len(columns))
            stand, g = (none, none, one, *stand[3:]), np.ones(len(w))
            every = np.arange(len(columns))
            data = columns, (columns @ columns.T, np.zeros((0, 0)), none, none, every)
    if data is not None:
        from sparsepath.rls.leave_one_out.compiled_parts import bounded

        about = (w, alpha, floor, allowed & ~design.constant, BOUND_GUARDS, path)
        X, products = data
        k, vanished = bounded(X, g, stand, products, y, p, *about)
        return _found(design, y_mean, k, vanished, *path)
    assert columns is not None
    if compiled:
        from sparsepath.rls.leave_one_out.compiled_many import forward as compiled_forward

        k, vanished = compiled_forward(columns, y, p, *given, *path)
    else:
        k, vanished = forward(columns, y, p, *given, *path)
    return _found(design, y_mean, k, vanished, *path)


def _found(
    design: Design,
    y_mean: Floats,
    k: int,
    vanished: bool,
    subset: NDArray[np.intp],
    errors: Floats,
    around: Floats,
    coef: Floats,
) -> Whole:
    """The path of size k in the units of the data."""
    total, counted = design.total, np.count_nonzero(design.weights)
    subset, coef = subset[:k], coef[: k + 1, :k]
    coef *= design.scales[subset, None]
    return Whole(
        subset,
        errors[: k + 1] / total,
        np.sqrt(around[: k + 1] * (counted / (counted - 1))) / total,
        coef,
        y_mean - design.means[subset] @ coef,
        bool(vanished),
    )


def forward(
    X: Floats,
    y: Floats,
    p: Floats,
    weights: Floats,
    alpha: float,
    floor: Floats,
    squares: Floats,
    allowed: NDArray[np.bool_],
    guards: tuple[float, ...],
    subset: NDArray[np.intp],
    errors: Floats,
    around: Floats,
    coef: Floats,
) -> tuple[int, bool]:
    """Search forward from the columns X, features by samples; the size reached, and if all is fit.

    ``p`` is changed. ``subset``, ``errors`` (sums), ``around`` (sums of squares) and ``coef``
    get the path; ``guards`` are room, tie, tie floor, second go, vanished and rounding.
    """
    room, tie, tie_floor, second_go, vanished, _ = guards
    m, T, size = X.shape[1], len(y), len(subset)
    features = allowed.nonzero()[0]  # of the rows of C, the last of which takes the place of a gap
    n, width = len(features), m + size
    C, V, Q = (np.zeros((rows, width)) for rows in (n, T, size))
    C[:, :m], V[:, :m] = X[features], y
    r, metric, S = V[:, :m], np.ones(width), np.empty_like(C)
    metric[m:] = alpha
    low, E, left_out = np.empty((n, m)), np.empty((T, n, m)), np.empty((size + 1, T, m))
    D, dual = np.zeros((2, width))
    second_go, everything, k = second_go**2, float(np.vdot(y, y)), 0
    floor = floor[features]
    doubted = np.maximum(second_go * (squares[features] + alpha), floor)
    e = r / np.maximum(p, room)
    errors[0] = first = float(np.vdot(e, e)) if p.min() > room else np.inf
    while True:
        left_out[k] = e
        coef[k] = V[:, m:].T
        ended = not float(np.vdot(r, r)) > vanished**2 * everything
        if ended or k == size or not n:
            break
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
        if pivot < second_go * squares[b]:
            D = _afresh(X[[b]], Q[:k], metric)[0]
            pivot = float((D * metric) @ D) + alpha
            dual = D * (metric / pivot)
            D[m + k] = -1.0
            V -= (V @ dual)[:, None] * D
            p = p - D[:m] ** 2 / pivot
            e = r / p
            values[best] = np.vdot(e, e)
        else:
            D[m + k] = -1.0
            V += tau[best][:, None] * D
            p = left[best].copy()
            e = E[:, best]
        np.multiply(D, pivot**-0.5, out=Q[k])
        dual = D * metric
        dual *= 1.0 / pivot
        n -= 1
        for of in (C, features, floor, doubted):
            of[best] = of[n]
        subset[k] = b
        k += 1
        errors[k] = values[best]
    losses = np.square(left_out[: k + 1]).sum(1)
    off = losses - (losses.sum(1) / weights.sum())[:, None] * weights
    around[: k + 1] = np.vecdot(off, off)
    return k, ended


def _afresh(X: Floats, Q: Floats, metric: Floats) -> Floats:
    """Rows of columns X, orthogonal to the rows of Q to the last digit."""
    rows = np.zeros((len(X), len(metric)))
    rows[:, : X.shape[1]] = X
    dual = (Q * metric).T
    for _ in range(2):
        rows -= (rows @ dual) @ Q
    return rows
