"""A whole forward search by the Gram matrix and bounds, in one compiled loop; see ``whole.py``.

The letters are those of ``additions.py`` and ``fused.py``. A candidate whose bound is the lowest of
all is looked at: first x'u is taken, for a better bound, then it is judged from its column.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_many import (
    FAST,
    _afresh,
    _dot,
    _judged,
    _measure,
    _take_off,
)


@njit(nogil=True, cache=True, fastmath=FAST)
def _column(x, g, mean, left, scale, out):  # type: ignore[no-untyped-def]
    """A column as it stands."""
    for j in range(g.size):
        out[j] = g[j] * ((x[j] - mean - left) * scale)


@njit(nogil=True, cache=True, fastmath=FAST)
def _take_off_all(row, t, Q, k):  # type: ignore[no-untyped-def]
    """Take t Q off a row, four at a time, in place."""
    i, width = 0, row.size
    while i + 4 <= k:
        a, b, c, d = t[i], t[i + 1], t[i + 2], t[i + 3]
        A, B, C, D = Q[i, :width], Q[i + 1, :width], Q[i + 2, :width], Q[i + 3, :width]
        for j in range(width):
            row[j] -= a * A[j] + b * B[j] + c * C[j] + d * D[j]
        i += 4
    while i < k:
        _take_off(row, t[i], Q[i, :width])
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def bounded(X, g, columns, gram, y, p, weights, alpha, floor, allowed, guards, more, subset, errors, around, coef):  # type: ignore[no-untyped-def]  # fmt: skip
    """Search forward from the columns X, features by samples; the size reached, and if all is fit.

    ``p`` and ``gram``, whose diagonal is replaced, are changed. ``columns`` are means, left, scales,
    squares and sizes; ``more`` of the guards are what is known well, and what is trusted.
    """
    room, tie, tie_floor, second_go, vanished, rounding = guards
    known_well, trusted = more
    means, lefts, scales, squares, sizes = columns
    n, m = X.shape
    T, size = y.shape[0], subset.size
    width = m + size
    V, Q = np.zeros((T, width)), np.zeros((size, width))
    V[:, :m] = y
    row, x, D, dual, metric = np.zeros((5, width))
    metric[:m] = 1.0
    metric[m:] = alpha
    u, gu, rho, zu = np.zeros((T, m)), np.zeros((T, m)), np.zeros((T, size)), np.zeros((T, size))
    inverses, losses, left = np.zeros((3, m))
    t, b = np.zeros((size, n)), np.zeros((size, n))
    c, s, ti = np.zeros((T, n)), squares.copy(), np.zeros(size)
    values, bounds, tau = np.zeros(n), np.zeros(n), np.zeros(T)
    fine, live = np.zeros(n, dtype=np.bool_), allowed.copy()
    su, off, beta, uu = np.zeros((4, T))
    for i in range(n):
        if live[i]:
            _column(X[i], g, means[i], lefts[i], scales[i], x)
            for o in range(T):
                c[o, i] = _dot(x[:m], V[o, :m])
    total, deviation, tight, rr = _measure(V[:, :m], p, weights, room, u, inverses, losses)
    errors[0] = total if tight == 0.0 else np.inf
    around[0] = deviation
    empty, everything, targets = errors[0], rr, np.zeros(T)
    for o in range(T):
        targets[o] = np.sqrt(_dot(y[o], y[o]))
    k = 0
    while k < size and rr > vanished * vanished * everything:
        ur = 0.0
        for o in range(T):
            r = V[o, :m]
            here, uu[o] = _dot(u[o], r), _dot(u[o], u[o])
            ur += here
            beta[o] = here / max(_dot(r, r), 1e-300)
            off[o] = np.sqrt(max(uu[o] - beta[o] * here, 0.0) + 1e-14 * uu[o])
            su[o] = 0.0
            for j in range(m):
                gu[o, j] = g[j] * u[o, j]
                su[o] += gu[o, j]
            for i in range(k):
                rho[o, i] = alpha * _dot(Q[i, m : m + k], V[o, m : m + k])
                zu[o, i] = _dot(Q[i, :m], u[o])
        for i in range(n):
            bounds[i] = _bound(i, k, T, alpha, s, c, t, b, rho, su, gu, zu, off, beta, uu, targets, ur, squares, sizes, rounding, trusted, X, means, scales, False) if live[i] else np.inf  # fmt: skip
            values[i] = np.inf
            fine[i] = False
        least, most = np.inf, np.inf
        while True:
            i = int(np.argmin(bounds))
            if not bounds[i] <= most or bounds[i] == np.inf:
                break
            if not fine[i] and bounds[i] > -np.inf:
                bounds[i] = _bound(i, k, T, alpha, s, c, t, b, rho, su, gu, zu, off, beta, uu, targets, ur, squares, sizes, rounding, trusted, X, means, scales, True)  # fmt: skip
                fine[i] = True
                continue
            bounds[i] = np.inf
            used = m + k
            _column(X[i], g, means[i], lefts[i], scales[i], x[:m])
            doubt = 2.0 * rounding * sizes[i] * np.sqrt(squares[i])
            if doubt <= known_well * (alpha + s[i]):
                ti[:k] = t[:k, i]
                row[:m] = x[:m]
                row[m:] = 0.0
                _take_off_all(row[:used], ti, Q, k)
            else:
                _afresh(row, x[:m], Q, metric, k)
            pivot = alpha
            for j in range(used):
                pivot += row[j] * row[j] * metric[j]
            if pivot <= floor[i]:
                continue
            for o in range(T):
                along = 0.0
                for j in range(used):
                    along += row[j] * V[o, j] * metric[j]
                tau[o] = along / pivot
            values[i] = _judged(row[:m], 1.0 / pivot, tau, V, p, left, room)
            if values[i] < least:
                least = values[i]
                most = least + tie * least + tie_floor * empty
        if least == np.inf:
            break
        chosen = 0
        while not values[chosen] <= most:
            chosen += 1
        _column(X[chosen], g, means[chosen], lefts[chosen], scales[chosen], x[:m])
        _afresh(D, x[:m], Q, metric, k)
        used = m + k
        pivot = alpha
        for j in range(used):
            pivot += D[j] * D[j] * metric[j]
        D[used] = -1.0
        used += 1
        root = np.sqrt(pivot)
        for j in range(used):
            dual[j] = D[j] * metric[j] / pivot
            Q[k, j] = D[j] / root
        new = t[k]
        new[:] = gram[chosen]
        for i in range(k):
            _take_off(new, t[i, chosen], t[i])
        for i in range(n):
            new[i] /= root
            s[i] -= new[i] * new[i]
        for i in range(k + 1):
            _take_off(b[i], Q[k, m + i], new)
        for o in range(T):
            a = _dot(V[o, :used], dual[:used])
            _take_off(V[o, :used], a, D[:used])
            _take_off(c[o], a * root, new)
        for j in range(m):
            p[j] -= Q[k, j] * Q[k, j]
        live[chosen] = False
        subset[k] = chosen
        k += 1
        total, deviation, tight, rr = _measure(V[:, :m], p, weights, room, u, inverses, losses)
        errors[k] = total if tight == 0.0 else np.inf
        around[k] = deviation
        for i in range(k):
            for o in range(T):
                coef[k, i, o] = V[o, m + i]
    return k, not rr > vanished * vanished * everything


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _bound(i, k, T, alpha, s, c, t, b, rho, su, gu, zu, off, beta, uu, targets, ur, squares, sizes, rounding, trusted, X, means, scales, fine):  # type: ignore[no-untyped-def]  # fmt: skip
    """A lower bound of the criterion with feature i, less its rounding; a ``fine`` one takes x'u."""
    unit = rounding * sizes[i]
    s_error = 2.0 * unit * np.sqrt(squares[i])
    pivot = max(s[i], 0.0) + alpha
    if not s_error <= trusted * pivot:
        return -np.inf
    q = max(s[i], 0.0)
    for j in range(k):
        q -= alpha * b[j, i] * b[j, i]
    q = max(q, 0.0)
    bound = ur
    for o in range(T):
        tau = c[o, i] / pivot
        if fine:
            h = scales[i] * (_dot(X[i], gu[o]) - means[i] * su[o])
            for j in range(k):
                h -= t[j, i] * zu[o, j]
            h_error = 0.0
        else:
            h = c[o, i]
            for j in range(k):
                h += t[j, i] * rho[o, j]
            h *= beta[o]
            h_error = np.sqrt(q) * off[o]
        h_error += unit * np.sqrt(uu[o])
        size = abs(tau)
        tau_error = (unit * targets[o] + size * s_error) / pivot
        bound -= 2.0 * tau * h - tau * tau * q
        bound -= 2.0 * size * h_error + 2.0 * tau_error * (abs(h) + h_error + size * q)
        bound -= tau * tau * s_error
    return bound
