"""Compiled passes over the data. Plain loops over arrays: no checks, no allocation."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP_ROWS = 1 << 14  # rows of a strip: the vectors stay in cache while the columns stream by
GATHERED = 256  # rows of a single column that are read at once
STREAMS = 6  # columns read at once: six streams from memory come in faster than one


@njit(nogil=True, cache=True, fastmath=FAST)
def product(XT, start, which, a, out):  # type: ignore[no-untyped-def]
    """Add X'a to ``out`` in place, for some of the features and the rows from ``start`` on.

    ``XT`` is the whole matrix, features by samples, contiguous along the samples. Where less than
    six features are left the last is read again, so that every sum is formed in the same way.
    """
    n, m = which.size, a.size
    for low in range(0, m, STRIP_ROWS):
        high = min(m, low + STRIP_ROWS)
        u = a[low:high]
        part = slice(start + low, start + high)
        for i in range(0, n, STREAMS):
            x1, x2 = XT[which[i], part], XT[which[min(i + 1, n - 1)], part]
            x3, x4 = XT[which[min(i + 2, n - 1)], part], XT[which[min(i + 3, n - 1)], part]
            x5, x6 = XT[which[min(i + 4, n - 1)], part], XT[which[min(i + 5, n - 1)], part]
            u1 = u2 = u3 = u4 = u5 = u6 = 0.0
            for j in range(u.size):
                p = u[j]
                u1 += x1[j] * p
                u2 += x2[j] * p
                u3 += x3[j] * p
                u4 += x4[j] * p
                u5 += x5[j] * p
                u6 += x6[j] * p
            sums = (u1, u2, u3, u4, u5, u6)
            for c in range(min(STREAMS, n - i)):
                out[i + c] += sums[c]


@njit(nogil=True, cache=True, fastmath=FAST)
def two_products(XT, start, which, a, b, out):  # type: ignore[no-untyped-def]
    """The same for two vectors, X'[a, b], reading X once."""
    n, m = which.size, a.size
    for low in range(0, m, STRIP_ROWS):
        high = min(m, low + STRIP_ROWS)
        u, v = a[low:high], b[low:high]
        part = slice(start + low, start + high)
        for i in range(0, n, STREAMS):
            x1, x2 = XT[which[i], part], XT[which[min(i + 1, n - 1)], part]
            x3, x4 = XT[which[min(i + 2, n - 1)], part], XT[which[min(i + 3, n - 1)], part]
            x5, x6 = XT[which[min(i + 4, n - 1)], part], XT[which[min(i + 5, n - 1)], part]
            u1 = u2 = u3 = u4 = u5 = u6 = v1 = v2 = v3 = v4 = v5 = v6 = 0.0
            for j in range(u.size):
                p, q = u[j], v[j]
                u1 += x1[j] * p
                v1 += x1[j] * q
                u2 += x2[j] * p
                v2 += x2[j] * q
                u3 += x3[j] * p
                v3 += x3[j] * q
                u4 += x4[j] * p
                v4 += x4[j] * q
                u5 += x5[j] * p
                v5 += x5[j] * q
                u6 += x6[j] * p
                v6 += x6[j] * q
            sums = (u1, u2, u3, u4, u5, u6), (v1, v2, v3, v4, v5, v6)
            for c in range(min(STREAMS, n - i)):
                out[i + c, 0] += sums[0][c]
                out[i + c, 1] += sums[1][c]


@njit(nogil=True, cache=True, fastmath=FAST)
def spread(XT, start, means, weights, out):  # type: ignore[no-untyped-def]
    """Sums of weights (x - mean)^2 for every feature and the rows from ``start`` on."""
    m = weights.size
    for i in range(XT.shape[0]):
        x = XT[i, start : start + m]
        mean = means[i]
        total = 0.0
        for j in range(m):
            off = x[j] - mean
            total += weights[j] * off * off
        out[i] = total


@njit(nogil=True, cache=True)
def marks(XT, start, a, out):  # type: ignore[no-untyped-def]
    """Sums of a h for every feature and the rows from ``start`` on, h the bits of x."""
    m = a.size
    half = np.uint64(32)
    for i in range(XT.shape[0]):
        x = XT[i, start : start + m]
        total = np.uint64(0)
        for j in range(m):
            h = np.float64(x[j] + 0.0).view(np.uint64)  # minus zero is zero
            total += a[j] * (h ^ (h >> half))
        out[i] = total


@njit(nogil=True, cache=True, fastmath=FAST)
def product_by_rows(X, a, out):  # type: ignore[no-untyped-def]
    """Add X'a to ``out`` in place, of a matrix whose rows are contiguous; strip by strip."""
    m, n = X.shape
    total = np.zeros(n)
    for low in range(0, m, STRIP_ROWS):
        high, j = min(m, low + STRIP_ROWS), low
        while j + 4 <= high:
            x1, x2, x3, x4 = X[j], X[j + 1], X[j + 2], X[j + 3]
            a1, a2, a3, a4 = a[j], a[j + 1], a[j + 2], a[j + 3]
            for i in range(n):
                total[i] += x1[i] * a1 + x2[i] * a2 + x3[i] * a3 + x4[i] * a4
            j += 4
        while j < high:
            for i in range(n):
                total[i] += X[j, i] * a[j]
            j += 1
        for i in range(n):
            out[i] += total[i]
            total[i] = 0.0


@njit(nogil=True, cache=True, fastmath=FAST)
def spread_by_rows(X, means, weights, out):  # type: ignore[no-untyped-def]
    """As ``spread``, of a matrix whose rows are contiguous; adds to ``out``."""
    for j in range(weights.size):
        x, w = X[j], weights[j]
        for i in range(x.size):
            off = x[i] - means[i]
            out[i] += w * off * off


@njit(nogil=True, cache=True)
def marks_by_rows(X, a, out):  # type: ignore[no-untyped-def]
    """As ``marks``, of a matrix whose rows are contiguous; adds to ``out``."""
    half = np.uint64(32)
    for j in range(a.size):
        x, weight = X[j], a[j]
        for i in range(x.size):
            h = np.float64(x[i] + 0.0).view(np.uint64)
            out[i] += weight * (h ^ (h >> half))


@njit(nogil=True, cache=True)
def gather(X, which, out):  # type: ignore[no-untyped-def]
    """Some columns of a matrix whose rows are contiguous, as rows of ``out``.

    Several are read row by row, since a line of the cache holds neighbours too; a single one in
    short runs, which processors look ahead of.
    """
    m, n = out.shape[1], which.size
    if n > 1:
        for j in range(m):
            for i in range(n):
                out[i, j] = X[j, which[i]]
        return
    for low in range(0, m if n else 0, GATHERED):
        for j in range(low, min(m, low + GATHERED)):
            out[0, j] = X[j, which[0]]
