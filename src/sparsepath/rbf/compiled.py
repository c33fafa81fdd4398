"""Compiled loops of the RBF room. Arrays and numbers only; no checks."""

import numpy as np
from numba import njit

SMALLEST = -708.0  # below it exp is less than any normal number
LOG2_E = 1.4426950408889634
# The logarithm of 2 in two parts, the first with so few digits that a product with k is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 2^52: a number of moderate size added to it loses its fraction


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def exponentials(H):  # type: ignore[no-untyped-def]
    """In place: H <- exp(H), for entries below 700; what would be below 1e-307 becomes 0.

    exp(x) = 2^k exp(v) with k the whole number next to x / log 2, so that |v| <= log(2) / 2 and the
    series to the 13th power leaves 4e-18. Adding ``ROUND`` puts k into the last bits of a double,
    from where it is shifted into the exponent; nothing here keeps a loop from running in vector
    registers, as a call of exp does. The error is at most two units in the last place.
    """
    for j in range(H.shape[0]):
        h = H[j]
        for i in range(len(h)):
            x = h[i]
            z = x * LOG2_E + ROUND
            k = z - ROUND
            v = (x - k * LN2_HIGH) - k * LN2_LOW
            v2 = v * v
            v4 = v2 * v2
            low = (0.5 + v * (1 / 6.0)) + v2 * (1 / 24.0 + v * (1 / 120.0))
            mid = (1 / 720.0 + v * (1 / 5040.0)) + v2 * (1 / 40320.0 + v * (1 / 362880.0))
            top = (1 / 3628800.0 + v * (1 / 39916800.0)) + v2 * (
                1 / 479001600.0 + v * (1 / 6227020800.0)
            )
            e = 1.0 + (v + v2 * (low + v4 * (mid + v4 * top)))
            bits = np.float64(e).view(np.int64) + (np.float64(z).view(np.int64) << 52)
            h[i] = 0.0 if x < SMALLEST else np.int64(bits).view(np.float64)


# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def without_slacks(c, inverse, theta, slopes, n_alpha, order):  # type: ignore[no-untyped-def]
    """The right-hand side for alpha and w, the slacks eliminated; see ``barrier``.

    ``slopes`` are those by (alpha, s, w); ``c`` is empty if alpha does not move, and ``order``
    tells whether the weights do.
    """
    n = len(c)
    right = np.empty(order)
    mean = 0.0
    for m in range(n):
        mean += inverse[m] * slopes[n_alpha + m]
    mean *= theta
    for m in range(n):
        right[m] = c[m] * (inverse[m] * (slopes[n_alpha + m] - mean)) - slopes[m]
    for i in range(order - n):
        right[n + i] = -slopes[2 * n_alpha + i]
    return right


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def with_slacks(p, c, inverse, theta, slopes, n_alpha):  # type: ignore[no-untyped-def]
    """The step of (u, v, w, left_r, left_t) from that of alpha and w."""
    n = len(c)
    step = np.zeros(len(slopes) + 2)
    mean = 0.0
    for m in range(n):
        mean += inverse[m] * (slopes[n_alpha + m] + c[m] * p[m])
    mean *= theta
    total = 0.0
    for m in range(n):
        d_s = inverse[m] * (mean - slopes[n_alpha + m] - c[m] * p[m])
        step[m] = d_s + p[m]
        step[n_alpha + m] = d_s - p[m]
        total += d_s
    step[-2] = -total
    total = 0.0
    for i in range(len(p) - n):
        step[2 * n_alpha + i] = p[n + i]
        total += p[n + i]
    step[-1] = -total
    return step


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def slopes(gradient, targets, x, n):  # type: ignore[no-untyped-def]
    """Gradient of J by alpha, s and w, with ``targets`` in place of mu k."""
    n_w = len(gradient) - n
    out = np.empty(2 * n + n_w)
    of_r, of_t = targets[-2] / x[-2], targets[-1] / x[-1]
    for m in range(n):
        a, b = targets[m] / x[m], targets[n + m] / x[n + m]
        out[m] = gradient[m] - a + b
        out[n + m] = of_r - a - b
    for i in range(2 * n, 2 * n + n_w):
        out[i] = gradient[i - n] - targets[i] / x[i] + of_t
    return out


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def along(slopes, step, n):  # type: ignore[no-untyped-def]
    """The derivative of J along a step."""
    total = 0.0
    for m in range(n):
        u, v = step[m], step[n + m]
        total += 0.5 * (slopes[m] * (u - v) + slopes[n + m] * (u + v))
    for i in range(2 * n, len(slopes)):
        total += slopes[i] * step[i]
    return total


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def furthest(x, step, fraction):  # type: ignore[no-untyped-def]
    """The longest step, at most 1, that leaves 1 - ``fraction`` of every x."""
    fastest = fraction
    for i in range(len(x)):
        fastest = max(fastest, -step[i] / x[i])
    return fraction / fastest


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def recentred(x, z, step, dual, middle, length, band):  # type: ignore[no-untyped-def]
    """What the products x z lack, at a step of this length, to be within ``band`` of ``middle``.

    No product is asked to fall by more than ``band`` times its ``middle``: one that is far too
    large would rule the direction.
    """
    lack = np.empty(len(x))
    for i in range(len(x)):
        product = (x[i] + length * step[i]) * (z[i] + length * dual[i])
        within = min(max(product, middle[i] / band), middle[i] * band)
        lack[i] = max(within - product, -middle[i] * band)
    return lack
