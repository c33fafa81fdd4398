"""Compiled loops over one row of P X, or a few: parts of ``compiled_forward.py``."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
PENDING = 4
LONG = 1000  # samples from which rows are read four at a time


@njit(nogil=True, cache=True)
def column(x, g, mean, left, scale, out):  # type: ignore[no-untyped-def]
    """A column as it stands; the two means are not to be added up before."""
    for j in range(g.size):
        out[j] = g[j] * (((x[j] - mean) - left) * scale)


@njit(nogil=True, cache=True, fastmath=FAST)
def dot(a, b):  # type: ignore[no-untyped-def]
    """The product of two vectors."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def take_off(row, f, D):  # type: ignore[no-untyped-def]
    """Take f D off a row, in place."""
    for j in range(row.size):
        row[j] -= f * D[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def take_off_changes(row, i, F, D, low, high):  # type: ignore[no-untyped-def]
    """Take the changes from ``low`` to ``high`` off what is to be row i."""
    past = low
    while past + 4 <= high:
        a, b, c, d = F[past, i], F[past + 1, i], F[past + 2, i], F[past + 3, i]
        A, B, C, E = D[past], D[past + 1], D[past + 2], D[past + 3]
        for j in range(row.size):
            row[j] -= a * A[j] + b * B[j] + c * C[j] + d * E[j]
        past += 4
    while past + 2 <= high:
        a, b, A, B = F[past, i], F[past + 1, i], D[past], D[past + 1]
        for j in range(row.size):
            row[j] -= a * A[j] + b * B[j]
        past += 2
    if past < high:
        take_off(row, F[past, i], D[past])


@njit(nogil=True, cache=True, fastmath=FAST)
def three_products(Z, low, high, D, u, v, zD, zu, zv):  # type: ignore[no-untyped-def]
    """Products of the rows from ``low`` to ``high`` with three vectors.

    Long rows are taken four at a time, so that the vectors, which fill the first cache, are read
    less often; short ones one by one, as they lie in memory.
    """
    i = low
    if Z.shape[1] >= LONG:
        while i + 4 <= high:
            a, b, c, d = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
            aD = au = av = bD = bu = bv = cD = cu = cv = dD = du = dv = 0.0
            for j in range(a.size):
                x, y, z = D[j], u[j], v[j]
                aD += a[j] * x
                au += a[j] * y
                av += a[j] * z
                bD += b[j] * x
                bu += b[j] * y
                bv += b[j] * z
                cD += c[j] * x
                cu += c[j] * y
                cv += c[j] * z
                dD += d[j] * x
                du += d[j] * y
                dv += d[j] * z
            zD[i], zD[i + 1], zD[i + 2], zD[i + 3] = aD, bD, cD, dD
            zu[i], zu[i + 1], zu[i + 2], zu[i + 3] = au, bu, cu, du
            zv[i], zv[i + 1], zv[i + 2], zv[i + 3] = av, bv, cv, dv
            i += 4
    while i < high:
        a = Z[i]
        aD = au = av = 0.0
        for j in range(a.size):
            aD += a[j] * D[j]
            au += a[j] * u[j]
            av += a[j] * v[j]
        zD[i], zu[i], zv[i] = aD, au, av
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST)
def three_sums(row, w, r):  # type: ignore[no-untyped-def]
    """Squares of a row, plain and with weights w; its product with r."""
    s = q = c = 0.0
    for j in range(row.size):
        x = row[j]
        s += x * x
        q += x * x * w[j]
        c += x * r[j]
    return s, q, c


@njit(nogil=True, cache=True, fastmath=FAST)
def written_sums(row, i, F, D, low, high, w, r):  # type: ignore[no-untyped-def]
    """Make the pending changes of row i; its sums as ``three_sums`` has them."""
    if high - low != PENDING:
        take_off_changes(row, i, F, D, low, high)
        return three_sums(row, w, r)
    a, b, e, f = F[low, i], F[low + 1, i], F[low + 2, i], F[low + 3, i]
    A, B, C, E = D[low], D[low + 1], D[low + 2], D[low + 3]
    s = q = c = 0.0
    for j in range(row.size):
        x = row[j] - (a * A[j] + b * B[j] + e * C[j] + f * E[j])
        row[j] = x
        s += x * x
        q += x * x * w[j]
        c += x * r[j]
    return s, q, c


@njit(nogil=True, cache=True, fastmath=FAST)
def coefficients_of(i, F, d, k, b):  # type: ignore[no-untyped-def]
    """Fill b with the coefficients of row i after k changes; their sum of squares."""
    for j in range(k):
        b[j] = 0.0
    for past in range(k):
        take_off(b[: past + 1], F[past, i], d[past, : past + 1])
    return dot(b[:k], b[:k])


@njit(nogil=True, cache=True, fastmath=FAST)
def afresh(z, b, x, f, D, d, pivots, alpha, k):  # type: ignore[no-untyped-def]
    """What the first k choices leave of column x, to the last digit: z, b, and how often each, f.

    Return alpha b'b.
    """
    for j in range(x.size):
        z[j] = x[j]
    for past in range(k):
        b[past] = f[past] = 0.0
    for _ in range(2):
        for past in range(k):
            t = (dot(z, D[past]) + alpha * dot(b[: past + 1], d[past, : past + 1])) / pivots[past]
            take_off(z, t, D[past])
            take_off(b[: past + 1], t, d[past, : past + 1])
            f[past] += t
    return alpha * dot(b[:k], b[:k])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judged(z, inverse, tau, V, p, left, room):  # type: ignore[no-untyped-def]
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


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judged_pending(row, i, F, D, low, high, inverse, step, r, p, room):  # type: ignore[no-untyped-def]
    """The same for one target and a row that has yet to follow four changes at most."""
    a = F[low, i] if low < high else 0.0
    b = F[low + 1, i] if low + 1 < high else 0.0
    c = F[low + 2, i] if low + 2 < high else 0.0
    d = F[low + 3, i] if low + 3 < high else 0.0
    last = D.shape[0] - 1
    A, B = D[min(low, last)], D[min(low + 1, last)]
    C, E = D[min(low + 2, last)], D[min(low + 3, last)]
    tight = total = 0.0
    for j in range(row.size):
        z = row[j] - (a * A[j] + b * B[j] + c * C[j] + d * E[j])
        left = p[j] - z * z * inverse
        tight += 1.0 if left <= room else 0.0
        e = (r[j] - z * step) / left
        total += e * e
    return total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def measure(V, p, room, u, w):  # type: ignore[no-untyped-def]
    """Fill u = r/p^2 and w = 1/p^2; sum of losses, tight samples, r'r."""
    total = tight = squares = 0.0
    for j in range(p.size):
        inverse = 1.0 / max(p[j], room)
        w[j] = inverse * inverse
        tight += 1.0 if p[j] <= room else 0.0
    for t in range(V.shape[0]):
        r = V[t]
        for j in range(p.size):
            u[t, j] = r[j] * w[j]
            total += r[j] * u[t, j]
            squares += r[j] * r[j]
    return total, tight, squares
