"""Compiled loops over one candidate, its column or its bound: parts of ``compiled_parts.py``.

They are inlined there. The derivation of the bounds is there too.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_rows import FAST

SURE_PART = 0.99  # of what leverage adds; the rest is more than rounding


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def dot(a, b):  # type: ignore[no-untyped-def]
    """The product of two vectors."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def take_off(row, f, D):  # type: ignore[no-untyped-def]
    """Take f D off a row, in place."""
    for j in range(row.size):
        row[j] -= f * D[j]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def copy(a, row):  # type: ignore[no-untyped-def]
    """In a loop: an assignment of slices is compiled for seconds, with all it might complain of."""
    for j in range(a.size):
        row[j] = a[j]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def products(Q, k, v, out):  # type: ignore[no-untyped-def]
    """Products of the first k rows of Q, as far as v goes, with v: four at a time."""
    i, m = 0, v.size
    while i + 4 <= k:
        A, B, C, D = Q[i, :m], Q[i + 1, :m], Q[i + 2, :m], Q[i + 3, :m]
        a = b = c = d = 0.0
        for j in range(m):
            a += A[j] * v[j]
            b += B[j] * v[j]
            c += C[j] * v[j]
            d += D[j] * v[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    while i < k:
        out[i] = dot(Q[i, :m], v)
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def take_off_all(row, t, Q, low, k):  # type: ignore[no-untyped-def]
    """Take t Q, from ``low`` to k, off a row, four at a time, in place."""
    i, width = low, row.size
    while i + 4 <= k:
        a, b, c, d = t[i], t[i + 1], t[i + 2], t[i + 3]
        A, B, C, D = Q[i, :width], Q[i + 1, :width], Q[i + 2, :width], Q[i + 3, :width]
        for j in range(width):
            row[j] -= a * A[j] + b * B[j] + c * C[j] + d * D[j]
        i += 4
    while i < k:
        take_off(row, t[i], Q[i, :width])
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def afresh(row, x, Q, alpha, along, k, little):  # type: ignore[no-untyped-def]
    """The row of column x, orthogonal to the first k rows of Q, in place; its square and alpha.

    Once more where little is left of it, as in ``numbers.Noted``.
    """
    m = x.size
    before, left = dot(x, x), 0.0
    copy(x, row)
    for j in range(m, row.size):
        row[j] = 0.0
    for _ in range(2):
        products(Q, k, row[:m], along)
        for i in range(k):
            for j in range(m, m + k):
                along[i] += alpha * Q[i, j] * row[j]
        take_off_all(row[: m + k], along, Q, 0, k)
        left = dot(row[:m], row[:m]) + alpha * dot(row[m : m + k], row[m : m + k])
        if left > little * before:
            break
    return left + alpha


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def measure(V, p, weights, room, u, inverses, losses):  # type: ignore[no-untyped-def]
    """Fill u = r/p^2, 1/p^2 and the losses; sum of losses, its deviation, tight samples, r'r."""
    m = p.size
    total = tight = squares = weight = 0.0
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
    for j in range(m):
        total += losses[j]
        weight += weights[j]
    mean, around = total / weight, 0.0
    for j in range(m):
        inverses[j] *= inverses[j]
        off = losses[j] - mean * weights[j]
        around += off * off
    return total, around, tight, squares


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def judged(z, inverse, tau, V, p, w, left, room):  # type: ignore[no-untyped-def]
    """Sum of ((r - z tau) / (p - z^2 inverse))^2; infinite without room; |z w|, |z|_4."""
    tight = total = heavy = fourth = 0.0
    r, step = V[0], tau[0]
    for j in range(z.size):
        square = z[j] * z[j]
        heavy += square * (w[j] * w[j])
        fourth += square * square
        left[j] = p[j] - square * inverse
        tight += 1.0 if left[j] <= room else 0.0
        e = (r[j] - z[j] * step) / left[j]
        total += e * e
    for t in range(1, tau.size):
        r, step = V[t], tau[t]
        for j in range(z.size):
            e = (r[j] - z[j] * step) / left[j]
            total += e * e
    return total if tight == 0.0 else np.inf, np.sqrt(heavy), np.sqrt(np.sqrt(fourth))


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def column_norms(x, g, mean, scale, w):  # type: ignore[no-untyped-def]
    """|z w| and |z|_4 of a column as it stands, before anything was taken off it."""
    heavy = fourth = 0.0
    for j in range(g.size):
        z = g[j] * ((x[j] - mean) * scale)
        square = z * z
        heavy += square * (w[j] * w[j])
        fourth += square * square
    return np.sqrt(heavy), np.sqrt(np.sqrt(fourth))


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def extremes(w, p):  # type: ignore[no-untyped-def]
    """The largest of w and the least of p: four at a time, since each has to wait for the last."""
    a, b, c, d = w[0], w[0], w[0], w[0]
    e, f, g, h = p[0], p[0], p[0], p[0]
    whole = p.size - p.size % 4
    for j in range(0, whole, 4):
        a, b = max(a, w[j]), max(b, w[j + 1])
        c, d = max(c, w[j + 2]), max(d, w[j + 3])
        e, f = min(e, p[j]), min(f, p[j + 1])
        g, h = min(g, p[j + 2]), min(h, p[j + 3])
    for j in range(whole, p.size):
        a, e = max(a, w[j]), min(e, p[j])
    return max(max(a, b), max(c, d)), min(min(e, f), min(g, h))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def spikes(V, p, room, w, space):  # type: ignore[no-untyped-def]
    """Bring w = |r| p^-3/2 up to date: by how much it changed, its largest, and min(p)^-3/2."""
    change = 0.0
    for j in range(p.size):
        space[j] = V[0, j] * V[0, j]
    for t in range(1, V.shape[0]):
        for j in range(p.size):
            space[j] += V[t, j] * V[t, j]
    for j in range(p.size):
        room_here = max(p[j], room)
        new = np.sqrt(space[j] / (room_here * room_here * room_here))
        off = (new - w[j]) * (new - w[j])
        change += off * off
        w[j] = new
    largest, narrow = extremes(w, p)
    return np.sqrt(np.sqrt(change)), largest, max(narrow, room) ** -1.5


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def lift(known, away, drift, largest, narrow, tau, pivot):  # type: ignore[no-untyped-def]
    """By how much leverage raises a bound at least: (2 / pivot) N^2, less a part for rounding.

    ``known`` are |z0 w0| and |z0|_4; ``away`` is |d|, ``drift`` the sum of |w - w0|_4 over steps,
    ``largest`` max(w), ``narrow`` min(p)^-3/2 and ``tau`` a length.
    """
    heavy, fourth = known
    now = fourth + away
    N = heavy - fourth * drift - largest * away - tau * narrow * now * now
    return SURE_PART * 2.0 * N * N / pivot if N > 0.0 else 0.0


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def lifted(then, s, c, alpha, doubt, drift, widest):  # type: ignore[no-untyped-def]
    """The lift of a candidate by what was known of it ``then``."""
    length, pivot = np.sqrt(dot(c, c)), alpha + s
    away = np.sqrt(max(then[2] - s, 0.0) + doubt)
    known, (largest, narrow) = (then[0], then[1]), widest
    return lift(known, away, drift - then[3], largest, narrow, length / pivot, pivot)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def bound(c, h, unsure, uu, norms, given):  # type: ignore[no-untyped-def]
    """A lower bound of the criterion, less its rounding; h is known up to what is ``unsure``."""
    s, q, square, size, alpha, bound, rounding, trusted = given
    unit = rounding * size
    s_error = 2.0 * unit * np.sqrt(square)
    pivot = max(s, 0.0) + alpha
    if not s_error <= trusted * pivot:
        return -np.inf
    for o in range(c.size):
        tau = c[o] / pivot
        h_error = unsure[o] + unit * np.sqrt(uu[o])
        length = abs(tau)
        tau_error = (unit * norms[o] + length * s_error) / pivot
        bound -= 2.0 * tau * h[o] - tau * tau * q
        bound -= 2.0 * length * h_error + tau * tau * s_error
        bound -= 2.0 * tau_error * (abs(h[o]) + h_error + length * q)
    return bound
