"""Compiled passes over the data. Plain loops over arrays: no checks, no allocation."""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 4096  # rows of a strip: the vectors stay in cache while the columns stream by


@njit(nogil=True, cache=True, fastmath=FAST)
def product(XT, start, which, a, out):  # type: ignore[no-untyped-def]
    """Add X'a to ``out`` in place, for some of the features and the rows from ``start`` on.

    ``XT`` is the whole matrix, features by samples, contiguous along the samples. Four features
    at a time, because four streams from memory come in faster than one.
    """
    n = which.size
    m = a.size
    for low in range(0, m, STRIP):
        high = min(m, low + STRIP)
        u = a[low:high]
        part = slice(start + low, start + high)
        for i in range(0, n - 3, 4):
            x1, x2 = XT[which[i], part], XT[which[i + 1], part]
            x3, x4 = XT[which[i + 2], part], XT[which[i + 3], part]
            u1 = u2 = u3 = u4 = 0.0
            for j in range(u.size):
                u1 += x1[j] * u[j]
                u2 += x2[j] * u[j]
                u3 += x3[j] * u[j]
                u4 += x4[j] * u[j]
            out[i] += u1
            out[i + 1] += u2
            out[i + 2] += u3
            out[i + 3] += u4
        for i in range(n - n % 4, n):
            x = XT[which[i], part]
            u1 = 0.0
            for j in range(u.size):
                u1 += x[j] * u[j]
            out[i] += u1


@njit(nogil=True, cache=True, fastmath=FAST)
def two_products(XT, start, which, a, b, out):  # type: ignore[no-untyped-def]
    """The same for two vectors, X'[a, b], reading X once."""
    n = which.size
    m = a.size
    for low in range(0, m, STRIP):
        high = min(m, low + STRIP)
        u, v = a[low:high], b[low:high]
        part = slice(start + low, start + high)
        for i in range(0, n - 3, 4):
            x1, x2 = XT[which[i], part], XT[which[i + 1], part]
            x3, x4 = XT[which[i + 2], part], XT[which[i + 3], part]
            u1 = u2 = u3 = u4 = v1 = v2 = v3 = v4 = 0.0
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
            out[i, 0] += u1
            out[i, 1] += v1
            out[i + 1, 0] += u2
            out[i + 1, 1] += v2
            out[i + 2, 0] += u3
            out[i + 2, 1] += v3
            out[i + 3, 0] += u4
            out[i + 3, 1] += v4
        for i in range(n - n % 4, n):
            x = XT[which[i], part]
            u1 = v1 = 0.0
            for j in range(u.size):
                u1 += x[j] * u[j]
                v1 += x[j] * v[j]
            out[i, 0] += u1
            out[i, 1] += v1


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
