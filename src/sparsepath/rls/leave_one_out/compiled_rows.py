"""Compiled loops over one row of P X, or a few: parts of ``compiled_forward.py``."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
PENDING = 8
READ_AT_ONCE = 32  # columns of data in C order that are read at once
LONG = 1000  # samples from which rows are read four at a time


@njit(nogil=True, cache=True)
def column(x, g, mean, left, scale, out):  # type: ignore[no-untyped-def]
    """A column as it stands; the two means are not to be added up before."""
    for j in range(g.size):
        out[j] = g[j] * (((x[j] - mean) - left) * scale)


@njit(nogil=True, cache=True)
def _read(X, across, along, features, out):  # type: ignore[no-untyped-def]
    """Columns of the numbers X, between which lie so many, into rows; tile by tile if that pays."""
    if along == 1:
        for i in range(features.size):
            x, row = X[features[i] * across :], out[i]
            for j in range(row.size):
                row[j] = x[j]
        return
    for low in range(0, features.size, READ_AT_ONCE):
        high = min(features.size, low + READ_AT_ONCE)
        for j in range(out.shape[1]):
            for i in range(low, high):
                out[i, j] = X[features[i] * across + j * along]


@njit(nogil=True, cache=True)
def read(raw, features, out):  # type: ignore[no-untyped-def]
    """Some columns of the data, of whatever type and order, into rows of float64.

    ``raw`` are the bytes of all data, how many numbers lie between columns, and between samples,
    and the type. Bytes are of one type, so that all loops are compiled once.
    """
    X, across, along, kind = raw
    if kind == 0:
        _read(X.view(np.float64), across, along, features, out)
    elif kind == 1:
        _read(X.view(np.float32), across, along, features, out)
    elif kind == 2:
        _read(X.view(np.int16), across, along, features, out)
    else:
        _read(X, across, along, features, out)


@njit(nogil=True, cache=True)
def original(raw, features, i, g, stand, out):  # type: ignore[no-untyped-def]
    """The column of feature i in a list, from the data, as it stands."""
    b, (means, lefts, scales) = features[i], stand
    read(raw, features[i : i + 1], out.reshape((1, out.size)))
    column(out, g, means[b], lefts[b], scales[b], out)


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
    m, i = D.size, low
    if m >= LONG:
        while i + 4 <= high:
            a, b, c, d = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
            aD = au = av = bD = bu = bv = cD = cu = cv = dD = du = dv = 0.0
            for j in range(m):
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
        aD = au = av = 0.0
        for j in range(m):
            x = Z[i, j]
            aD += x * D[j]
            au += x * u[j]
            av += x * v[j]
        zD[i], zu[i], zv[i] = aD, au, av
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST)
def products_of(Z, low, high, U, first, out):  # type: ignore[no-untyped-def]
    """Products of the rows from ``low`` to ``high`` with the vectors U from ``first`` on.

    Two vectors at a time, and long rows four at a time, as in ``three_products``.
    """
    m, T = Z.shape[1], U.shape[0]
    for t in range(first, T - 1, 2):
        u, v, i = U[t], U[t + 1], low
        while m >= LONG and i + 4 <= high:
            a, b, c, d = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
            au = av = bu = bv = cu = cv = du = dv = 0.0
            for j in range(m):
                x, y = u[j], v[j]
                au += a[j] * x
                av += a[j] * y
                bu += b[j] * x
                bv += b[j] * y
                cu += c[j] * x
                cv += c[j] * y
                du += d[j] * x
                dv += d[j] * y
            out[t, i], out[t, i + 1], out[t, i + 2], out[t, i + 3] = au, bu, cu, du
            out[t + 1, i], out[t + 1, i + 1], out[t + 1, i + 2], out[t + 1, i + 3] = av, bv, cv, dv
            i += 4
        while i < high:
            au = av = 0.0
            for j in range(m):
                au += Z[i, j] * u[j]
                av += Z[i, j] * v[j]
            out[t, i], out[t + 1, i] = au, av
            i += 1
    if (T - first) % 2 == 1:
        for i in range(low, high):
            out[T - 1, i] = dot(Z[i], U[T - 1])


@njit(nogil=True, cache=True, fastmath=FAST)
def squared_product(Z, low, high, v, out):  # type: ignore[no-untyped-def]
    """Products of the squares in the rows from ``low`` to ``high`` with a vector."""
    m, i = v.size, low
    if m >= LONG:
        while i + 4 <= high:
            a, b, c, d = Z[i], Z[i + 1], Z[i + 2], Z[i + 3]
            at = bt = ct = dt = 0.0
            for j in range(m):
                x = v[j]
                at += a[j] * a[j] * x
                bt += b[j] * b[j] * x
                ct += c[j] * c[j] * x
                dt += d[j] * d[j] * x
            out[i], out[i + 1], out[i + 2], out[i + 3] = at, bt, ct, dt
            i += 4
    while i < high:
        total = 0.0
        for j in range(m):
            total += Z[i, j] * Z[i, j] * v[j]
        out[i] = total
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST)
def sums_of(row, w, r, cube):  # type: ignore[no-untyped-def]
    """Squares of a row, plain and with weights w; its product with r; fourth powers with cube."""
    s = q = c = f = 0.0
    for j in range(row.size):
        x = row[j]
        square = x * x
        s += square
        q += square * w[j]
        c += x * r[j]
        f += square * square * cube[j]
    return s, q, c, f


@njit(nogil=True, cache=True, fastmath=FAST)
def write_rows(Z, low, high, f, D, first, w, r, cube, s, q, c, fourth):  # type: ignore[no-untyped-def]
    """Take eight changes off the rows from ``low`` to ``high``; sums as ``sums_of`` has them.

    The changes are those of D from ``first`` on, and f says how often to take each off which row.
    Long rows are taken two at a time, as in ``three_products``.
    """
    m, i = w.size, low
    A, B, C, E = D[first], D[first + 1], D[first + 2], D[first + 3]
    G, H, K, L = D[first + 4], D[first + 5], D[first + 6], D[first + 7]
    if m >= LONG:
        while i + 2 <= high:
            o = i + 1
            a1, b1, c1, e1, g1, h1, k1, l1 = (
                *(f[0, i], f[1, i], f[2, i], f[3, i]),
                *(f[4, i], f[5, i], f[6, i], f[7, i]),
            )
            a2, b2, c2, e2, g2, h2, k2, l2 = (
                *(f[0, o], f[1, o], f[2, o], f[3, o]),
                *(f[4, o], f[5, o], f[6, o], f[7, o]),
            )
            s1 = q1 = t1 = f1 = s2 = q2 = t2 = f2 = 0.0
            x, y = Z[i], Z[o]
            for j in range(m):
                Aj, Bj, Cj, Ej = A[j], B[j], C[j], E[j]
                Gj, Hj, Kj, Lj = G[j], H[j], K[j], L[j]
                u = x[j] - (a1 * Aj + b1 * Bj + c1 * Cj + e1 * Ej)
                v = y[j] - (a2 * Aj + b2 * Bj + c2 * Cj + e2 * Ej)
                u -= g1 * Gj + h1 * Hj + k1 * Kj + l1 * Lj
                v -= g2 * Gj + h2 * Hj + k2 * Kj + l2 * Lj
                x[j], y[j] = u, v
                s1 += u * u
                q1 += u * u * w[j]
                t1 += u * r[j]
                f1 += u * u * (u * u) * cube[j]
                s2 += v * v
                q2 += v * v * w[j]
                t2 += v * r[j]
                f2 += v * v * (v * v) * cube[j]
            s[i], q[i], c[i], fourth[i] = s1, q1, t1, f1
            s[o], q[o], c[o], fourth[o] = s2, q2, t2, f2
            i += 2
    while i < high:
        a1, b1, c1, e1 = f[0, i], f[1, i], f[2, i], f[3, i]
        g1, h1, k1, l1 = f[4, i], f[5, i], f[6, i], f[7, i]
        s1 = q1 = t1 = f1 = 0.0
        for j in range(m):
            u = Z[i, j] - (a1 * A[j] + b1 * B[j] + c1 * C[j] + e1 * E[j])
            u -= g1 * G[j] + h1 * H[j] + k1 * K[j] + l1 * L[j]
            Z[i, j] = u
            s1 += u * u
            q1 += u * u * w[j]
            t1 += u * r[j]
            f1 += u * u * (u * u) * cube[j]
        s[i], q[i], c[i], fourth[i] = s1, q1, t1, f1
        i += 1


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
def judged_pending(row, f, D, first, inverse, step, r, p, room):  # type: ignore[no-untyped-def]
    """The same for one target and a row that has yet to follow changes, f times each.

    They are those of D from ``first`` on, eight at most; f is zero beyond them.
    """
    last = D.shape[0] - 1
    A, B = D[min(first, last)], D[min(first + 1, last)]
    C, E = D[min(first + 2, last)], D[min(first + 3, last)]
    G, H = D[min(first + 4, last)], D[min(first + 5, last)]
    K, L = D[min(first + 6, last)], D[min(first + 7, last)]
    a, b, c, e, g, h, k, o = f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
    tight = total = 0.0
    for j in range(row.size):
        z = row[j] - (a * A[j] + b * B[j] + c * C[j] + e * E[j])
        z -= g * G[j] + h * H[j] + k * K[j] + o * L[j]
        left = p[j] - z * z * inverse
        tight += 1.0 if left <= room else 0.0
        off = (r[j] - z * step) / left
        total += off * off
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
