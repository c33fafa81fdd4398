"""A whole forward search in one compiled loop; see ``whole.py``, whose ``forward`` it is.

What is made with NumPy stays outside of the loops: a compiler takes seconds for it.
"""

from typing import Any

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _take_off(row, f, D):  # type: ignore[no-untyped-def]
    """Take f D off a row, in place."""
    for j in range(row.size):
        row[j] -= f * D[j]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _copy(a, row):  # type: ignore[no-untyped-def]
    """In a loop: an assignment of slices is compiled for seconds, with all it might complain of."""
    for j in range(a.size):
        row[j] = a[j]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _afresh(row, x, Q, metric, k):  # type: ignore[no-untyped-def]
    """The row of column x, orthogonal to the rows of Q to the last digit, in place."""
    m = x.size
    width = m + k
    _copy(x, row)
    for j in range(m, row.size):
        row[j] = 0.0
    for _ in range(2):
        for i in range(k):
            t = 0.0
            for j in range(width):
                t += row[j] * Q[i, j] * metric[j]
            _take_off(row[:width], t, Q[i, :width])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _judged(z, inverse, tau, V, p, left, room):  # type: ignore[no-untyped-def]
    """Sum of ((r - z tau) / (p - z^2 inverse))^2; infinite without room."""
    tight = total = 0.0
    r, step = V[0], tau[0]
    for j in range(z.size):
        left[j] = p[j] - z[j] * z[j] * inverse
        tight += 1.0 if left[j] <= room else 0.0
        e = (r[j] - z[j] * step) / left[j]
        total += e * e
    for t in range(1, tau.size):
        r, step = V[t], tau[t]
        for j in range(z.size):
            e = (r[j] - z[j] * step) / left[j]
            total += e * e
    return total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _measure(V, p, weights, room, u, inverses, losses):  # type: ignore[no-untyped-def]
    """Fill u = r/p^2, 1/p^2 and the losses; sum of losses, its deviation, tight samples, r'r."""
    m = p.size
    total = tight = squares = 0.0
    for j in range(m):
        losses[j] = 0.0
        inverses[j] = 1.0 / max(p[j], room)
        tight += 1.0 if p[j] <= room else 0.0
    for t in range(V.shape[0]):
        r = V[t]
        for j in range(m):
            e = r[j] * inverses[j]
            u[t, j] = e * inverses[j]
            losses[j] += e * e
            squares += r[j] * r[j]
    weight = 0.0
    for j in range(m):
        total += losses[j]
        weight += weights[j]
    mean, around = total / weight, 0.0
    for j in range(m):
        inverses[j] *= inverses[j]
        off = losses[j] - mean * weights[j]
        around += off * off
    return total, around, tight, squares


def forward(
    X: Any,
    y: Any,
    p: Any,
    weights: Any,
    alpha: float,
    floor: Any,
    squares: Any,
    allowed: Any,
    guards: Any,
    *path: Any,
) -> tuple[int, bool]:
    """Search forward from the columns X, features by samples; the size reached, and if all is fit.

    ``p`` is changed. ``path``, that is subset, errors (sums), around (sums of squares) and coef, is
    filled; ``guards`` are room, tie, tie floor, second go, vanished and rounding.
    """
    (n, m), T, size = X.shape, len(y), len(path[0])
    width = m + size
    C, V, Q, (D, dual) = (np.zeros((rows, width)) for rows in (n, T, size, 2))
    C[:, :m], V[:, :m] = X, y
    metric = np.ones(width)
    metric[m:] = alpha
    rows = C, V, Q, D, dual, metric, np.zeros((T, m)), *np.zeros((3, m))
    columns = allowed.copy(), squares + alpha, *np.zeros((2, n)), np.zeros((n, T))
    found: tuple[int, bool] = _forward(
        X, p, weights, alpha, floor, squares, guards, path, rows, columns
    )
    return found


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _forward(X, p, weights, alpha, floor, squares, guards, path, rows, columns):  # type: ignore[no-untyped-def]
    """The loop of ``forward``; ``rows`` and ``columns`` are of their lengths."""
    room, tie, tie_floor, second_go, vanished, rounding = guards
    subset, errors, around, coef = path
    C, V, Q, D, dual, metric, u, inverses, losses, left = rows
    live, computed, values, pivots, tau = columns
    n, m = X.shape
    T, size = V.shape[0], subset.size
    total, off, tight, rr = _measure(V[:, :m], p, weights, room, u, inverses, losses)
    errors[0] = total if tight == 0.0 else np.inf
    around[0] = off
    empty, everything = errors[0], rr
    k = 0
    while k < size and rr > vanished * vanished * everything:
        ur = 0.0
        for t in range(T):
            ur += _dot(u[t], V[t, :m])
        least = np.inf
        used = m + k
        for i in range(n):
            values[i] = np.inf
            if not live[i]:
                continue
            row = C[i, :used]
            if k:
                _take_off(row, _dot(row, dual[:used]), D[:used])
            pivot = 0.0
            for j in range(used):
                pivot += row[j] * row[j] * metric[j]
            pivot += alpha
            if pivot <= floor[i]:
                continue
            if pivot < second_go * second_go * computed[i]:
                _afresh(C[i], X[i], Q, metric, k)
                pivot = alpha
                for j in range(used):
                    pivot += row[j] * row[j] * metric[j]
                computed[i] = pivot
                if pivot <= floor[i]:
                    continue
            computed[i] = max(computed[i], pivot)
            pivots[i] = pivot
            z = row[:m]
            zw = 0.0
            for j in range(m):
                zw += z[j] * z[j] * inverses[j]
            bound = (1.0 - 2.0 * rounding) * ur
            for t in range(T):
                c = _dot(z, V[t, :m])
                for j in range(m, used):
                    c += alpha * row[j] * V[t, j]
                step = c / pivot
                tau[i, t] = step
                bound += step * (step * zw * (1.0 - 2.0 * rounding) - 2.0 * _dot(z, u[t]))
            if bound <= least + tie * least + tie_floor * empty:
                values[i] = _judged(z, 1.0 / pivot, tau[i], V, p, left, room)
                least = min(least, values[i])
        if least == np.inf:
            break
        b = 0
        while not values[b] <= least + tie * least + tie_floor * empty:
            b += 1
        pivot = pivots[b]
        if pivot < second_go * second_go * squares[b]:
            _afresh(C[b], X[b], Q, metric, k)
            pivot = alpha
            for j in range(used):
                pivot += C[b, j] * C[b, j] * metric[j]
        _copy(C[b], D)
        D[used] = -1.0
        used += 1
        root = np.sqrt(pivot)
        for j in range(used):
            dual[j] = D[j] * metric[j] / pivot
            Q[k, j] = D[j] / root
        for t in range(T):
            _take_off(V[t, :used], _dot(V[t, :used], dual[:used]), D[:used])
        for j in range(m):
            p[j] -= Q[k, j] * Q[k, j]
        live[b] = False
        subset[k] = b
        k += 1
        total, off, tight, rr = _measure(V[:, :m], p, weights, room, u, inverses, losses)
        errors[k] = total if tight == 0.0 else np.inf
        around[k] = off
        for i in range(k):
            for t in range(T):
                coef[k, i, t] = V[t, m + i]
    return k, not rr > vanished * vanished * everything
