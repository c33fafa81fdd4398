"""exp without a call, for compiled loops: they go on in vector registers."""

import numpy as np
from numba import njit

LOG2_E = 1.4426950408889634
# The logarithm of 2 in two parts, the first with so few digits that a product with k is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
WHOLE = 6755399441055744.0  # 1.5 2^52: a number of moderate size added to it loses its fraction


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy", inline="always")
def exponential(x):  # type: ignore[no-untyped-def]
    """exp(x) for x between -708 and 700, to two units in the last place.

    exp(x) = 2^k exp(v) with k the whole number next to x / log 2, so that |v| <= log(2) / 2 and the
    series to the 13th power leaves 4e-18. Adding ``WHOLE`` puts k into the last bits of a double,
    from where it is shifted into the exponent.
    """
    z = x * LOG2_E + WHOLE
    k = z - WHOLE
    v = (x - k * LN2_HIGH) - k * LN2_LOW
    v2 = v * v
    v4 = v2 * v2
    low = (0.5 + v * (1 / 6.0)) + v2 * (1 / 24.0 + v * (1 / 120.0))
    mid = (1 / 720.0 + v * (1 / 5040.0)) + v2 * (1 / 40320.0 + v * (1 / 362880.0))
    top = (1 / 3628800.0 + v * (1 / 39916800.0)) + v2 * (1 / 479001600.0 + v * (1 / 6227020800.0))
    e = 1.0 + (v + v2 * (low + v4 * (mid + v4 * top)))
    bits = np.float64(e).view(np.int64) + (np.float64(z).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)
