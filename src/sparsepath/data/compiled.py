"""Compiled passes over the data. Plain loops over arrays: no checks, no allocation."""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 4096  # rows of a strip: the two vectors stay in cache while the columns stream by


@njit(nogil=True, cache=True, fastmath=FAST)
def two_products(XT, start, a, b, out):  # type: ignore[no-untyped-def]
    """Add X'[a, b] to ``out`` in place, for the rows from ``start`` on, reading X once.

    ``XT`` is the whole matrix, features by samples, contiguous along the samples. Four features
    at a time, because four streams from memory come in faster than one.
    """
    n = XT.shape[0]
    m = a.size
    for low in range(0, m, STRIP):
        high = min(m, low + STRIP)
        u, v = a[low:high], b[low:high]
        part = slice(start + low, start + high)
        for i in range(0, n - 3, 4):
            x1, x2, x3, x4 = XT[i, part], XT[i + 1, part], XT[i + 2, part], XT[i + 3, part]
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
            x = XT[i, part]
            u1 = v1 = 0.0
            for j in range(u.size):
                u1 += x[j] * u[j]
                v1 += x[j] * v[j]
            out[i, 0] += u1
            out[i, 1] += v1
