"""Compiled passes over the data. Plain loops over arrays: no checks, no allocation."""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 4096  # rows of a strip: the two vectors stay in cache while the columns stream by


@njit(nogil=True, cache=True, fastmath=FAST)
def two_products(XT, start, a, b, out):  # type: ignore[no-untyped-def]
    """Add X'[a, b] to ``out`` in place, for the rows from ``start`` on, reading X once.

    ``XT`` is the whole matrix, features by samples, contiguous along the samples. Two features
    at a time, because two streams from memory come in faster than one.
    """
    n = XT.shape[0]
    m = a.size
    for low in range(0, m, STRIP):
        high = min(m, low + STRIP)
        u = a[low:high]
        v = b[low:high]
        for i in range(0, n - 1, 2):
            x = XT[i, start + low : start + high]
            y = XT[i + 1, start + low : start + high]
            xu = 0.0
            xv = 0.0
            yu = 0.0
            yv = 0.0
            for j in range(u.size):
                xu += x[j] * u[j]
                xv += x[j] * v[j]
                yu += y[j] * u[j]
                yv += y[j] * v[j]
            out[i, 0] += xu
            out[i, 1] += xv
            out[i + 1, 0] += yu
            out[i + 1, 1] += yv
        if n % 2:
            x = XT[n - 1, start + low : start + high]
            xu = 0.0
            xv = 0.0
            for j in range(u.size):
                xu += x[j] * u[j]
                xv += x[j] * v[j]
            out[n - 1, 0] += xu
            out[n - 1, 1] += xv
