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
from sparsepath.rls.leave_one_out.fused import BATCH, MOST, ROUNDING
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.update import TIE, TIE_FLOOR

KNOWN_WELL = 1e-6  # rounding of a product over the pivot up to which the Gram matrix may serve
TRUSTED = 0.1  # and up to which it may bound the criterion
KEPT = 64  # rows kept of candidates that were judged
GUARDS = (ROOM, TIE, TIE_FLOOR, SECOND_GO, VANISHED, ROUNDING)
BOUND_GUARDS = (ROOM, TIE, TIE_FLOOR, VANISHED, ROUNDING, KNOWN_WELL, TRUSTED, KEPT)


Products = tuple[Floats, Floats, Floats, Floats]


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
    if data is not None:
        from sparsepath.rls.leave_one_out.compiled_parts import bounded

        stand = (design.means, design.left, design.scales, design.squares, design.sizes)
        about = (w, alpha, floor, allowed & ~design.constant, BOUND_GUARDS, path)
        X, products = data
        k, vanished = bounded(X, np.sqrt(w), stand, products, y, p, *about)
        return _found(design, y_mean, k, vanished, *path)
    if columns is None:
        columns = columns_of(design, np.arange(design.n_features))
    columns = np.ascontiguousarray(columns)
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
    room, tie, tie_floor, second_go, vanished, rounding = guards
    (n, m), T, size = X.shape, len(y), len(subset)
    width = m + size
    C, V, U, Q = (np.zeros((rows, width)) for rows in (n, T, T, size))
    C[:, :m], V[:, :m] = X, y
    r, u, inverses = V[:, :m], U[:, :m], np.zeros(width)
    metric, D, dual = np.ones(width), np.zeros(width), np.zeros(width)
    metric[m:] = alpha
    live, computed, S = allowed.copy(), squares + alpha, np.empty_like(C)
    losses = np.zeros((size + 1, m))
    rest, k = 1.0 - 2.0 * rounding, 0
    second_go, everything = second_go**2, float(np.vdot(y, y))
    while True:
        tight = p.min() <= room
        inverse = 1.0 / (np.maximum(p, room) if tight else p)
        e = r * inverse
        np.multiply(e, inverse, out=u)
        np.multiply(inverse, inverse, out=inverses[:m])
        e *= e
        losses[k] = e[0] if T == 1 else e.sum(0)
        ur = float(losses[k].sum())
        errors[k] = np.inf if tight else ur
        coef[k] = V[:, m:].T
        ended = not float(np.vdot(r, r)) > vanished**2 * everything
        if ended or k == size:
            break
        if k:
            C = dger(-1.0, D, C @ dual, a=C.T, overwrite_a=1).T
        np.multiply(C, C, out=S)
        pivots = S @ metric
        pivots += alpha
        doubtful = pivots < second_go * computed
        if doubtful.any():
            again = (doubtful & live & (pivots > floor)).nonzero()[0]
            C[again] = _afresh(X[again], Q[:k], metric)
            S[again] = C[again] ** 2
            computed[again] = pivots[again] = S[again] @ metric + alpha
        np.maximum(computed, pivots, out=computed)
        closed = pivots <= floor
        closed |= ~live
        pivots[closed] = np.inf
        tau = (C @ (V * metric).T) / pivots[:, None]
        bounds = tau * (S @ inverses * rest)[:, None]
        bounds -= 2.0 * (C @ U.T)
        bounds *= tau
        bound = bounds[:, 0] if T == 1 else bounds.sum(1)
        bound += rest * ur
        bound[closed] = np.inf
        values = np.full(n, np.inf)
        some, batch, limit = bound.argmin()[None], BATCH, np.inf
        if closed[some]:
            break
        while len(some):
            z = C[some, :m]
            values[some] = _judged(z, 1.0 / pivots[some], tau[some], r, p, room)
            least = values.min()
            limit = least + tie * least + tie_floor * errors[0]
            bound[some] = np.inf
            some = (bound <= min(limit, MOST)).nonzero()[0]
            if len(some) > batch:
                some = some[np.argsort(bound[some], kind="stable")[:batch]]
                batch *= 4
        if not least < np.inf:
            break
        b = int((values <= limit).argmax())
        D, pivot = C[b].copy(), pivots[b]
        if pivot < second_go * squares[b]:
            D = _afresh(X[[b]], Q[:k], metric)[0]
            pivot = float((D * metric) @ D) + alpha
        D[m + k] = -1.0
        dual = D * metric
        dual /= pivot
        V -= (V @ dual)[:, None] * D
        q = np.multiply(D, pivot**-0.5, out=Q[k])[:m]
        p -= q * q
        live[b] = False
        subset[k] = b
        k += 1
    losses = losses[: k + 1]
    off = losses - (losses.sum(1) / weights.sum())[:, None] * weights
    around[: k + 1] = np.vecdot(off, off)
    return k, ended


def _judged(z: Floats, inverse: Floats, tau: Floats, r: Floats, p: Floats, room: float) -> Floats:
    """Sums of ((r - z tau) / (p - z^2 inverse))^2 for some rows z; infinite without room."""
    left = z * z
    left *= -inverse[:, None]
    left += p
    lowest = left.min(1)
    if lowest.min() <= room:
        np.maximum(left, room, out=left)
    out = np.zeros(len(z))
    for target, step in zip(r, tau.T, strict=True):
        e = z * -step[:, None]
        e += target
        e /= left
        out += np.vecdot(e, e)
    out[lowest <= room] = np.inf
    return out


def _afresh(X: Floats, Q: Floats, metric: Floats) -> Floats:
    """Rows of columns X, orthogonal to the rows of Q to the last digit."""
    rows = np.zeros((len(X), len(metric)))
    rows[:, : X.shape[1]] = X
    dual = (Q * metric).T
    for _ in range(2):
        rows -= (rows @ dual) @ Q
    return rows
