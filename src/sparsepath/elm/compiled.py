"""Compiled loops of the extreme learning machine. Arrays and numbers only; no checks.

Neurons are rows: H is m x n, neurons by samples, and so is Q, its orthogonalised form.
"""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


# tanh(x) = x P(x^2) / Q(x^2) up to |x| = 8.5, to 1.2e-8 of itself: a fit of least largest error.
P = (0.9999999881767, 0.1341324475853, 3.534024333242e-3, 2.125100496692e-5, 1.426917775869e-8)
Q = (1.0, 0.4674656749164, 2.602274161055e-2, 3.348860767791e-4, 8.145101955102e-7)
ONE_FROM = 8.5  # beyond that tanh is 1 in single precision


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def tanh_single(h, bias):  # type: ignore[no-untyped-def]
    """In place: h <- tanh(h + bias), with an error of a few units in the last place of 1.

    Returns the sum.
    """
    number = h.dtype.type
    far = number(ONE_FROM)
    p0, p1, p2, p3, p4 = number(P[0]), number(P[1]), number(P[2]), number(P[3]), number(P[4])
    q0, q1, q2, q3, q4 = number(Q[0]), number(Q[1]), number(Q[2]), number(Q[3]), number(Q[4])
    total = number(0.0)
    for i in range(h.size):
        x = min(max(h[i] + bias, -far), far)
        s = x * x
        above = p0 + s * (p1 + s * (p2 + s * (p3 + s * p4)))
        below = q0 + s * (q1 + s * (q2 + s * (q3 + s * q4)))
        x *= above / below
        h[i] = x
        total += x
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def tanh_double(h, bias):  # type: ignore[no-untyped-def]
    """In place: h <- tanh(h + bias); returns the sum.

    tanh(x) = e / (e + 2) with e = exp(2x) - 1. For v = x / 32 the Taylor series of exp(v) - 1 to
    the 13th power is exact to rounding, and six times e <- e (e + 2) doubles the exponent up to
    2x. The error is at most a few units in the last place; beyond |x| = 20, tanh is 1.
    """
    number = h.dtype.type
    far, part, two = number(20.0), number(0.03125), number(2.0)
    c2, c3, c4, c5 = number(0.5), number(1 / 6.0), number(1 / 24.0), number(1 / 120.0)
    c6, c7, c8 = number(1 / 720.0), number(1 / 5040.0), number(1 / 40320.0)
    c9, c10, c11 = number(1 / 362880.0), number(1 / 3628800.0), number(1 / 39916800.0)
    c12, c13 = number(1 / 479001600.0), number(1 / 6227020800.0)
    total = number(0.0)
    for i in range(h.size):
        v = min(max(h[i] + bias, -far), far) * part
        v2 = v * v
        v4 = v2 * v2
        low = (c2 + v * c3) + v2 * (c4 + v * c5)
        mid = (c6 + v * c7) + v2 * (c8 + v * c9)
        top = (c10 + v * c11) + v2 * (c12 + v * c13)
        e = v + v2 * (low + v4 * (mid + v4 * top))
        e = e * e + two * e
        e = e * e + two * e
        e = e * e + two * e
        e = e * e + two * e
        e = e * e + two * e
        e = e * e + two * e
        e /= e + two
        h[i] = e
        total += e
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def squash(H, biases, means):  # type: ignore[no-untyped-def]
    """In place: H <- tanh(H + bias), less its mean over the samples, which goes to ``means``."""
    n = H.shape[1]
    for j in range(H.shape[0]):
        h = H[j]
        total = tanh_single(h, biases[j]) if H.itemsize == 4 else tanh_double(h, biases[j])
        mean = total / H.dtype.type(n)
        means[j] = mean
        for i in range(n):
            h[i] -= mean


@njit(nogil=True, cache=True, fastmath=FAST)
def centre(H, means):  # type: ignore[no-untyped-def]
    """In place: every row of H less its mean, which goes to ``means``."""
    n = H.shape[1]
    for j in range(H.shape[0]):
        h = H[j]
        total = 0.0
        for i in range(n):
            total += h[i]
        mean = total / n
        means[j] = mean
        for i in range(n):
            h[i] -= mean


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def leverage_left(Q, p):  # type: ignore[no-untyped-def]
    """To p: 1 - 1/n less the sum over the neurons of Q^2, sample by sample."""
    n = Q.shape[1]
    p[:] = 1.0 - 1.0 / n
    for j in range(Q.shape[0]):
        q = Q[j]
        for i in range(n):
            p[i] -= q[i] * q[i]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def weigh(K, v, out):  # type: ignore[no-untyped-def]
    """To out: K with the samples weighed by v."""
    for j in range(K.shape[0]):
        k, o = K[j], out[j]
        for i in range(v.size):
            o[i] = k[i] * v[i]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def slope_of_press(R, K, H, means, v, w, u, a, E):  # type: ignore[no-untyped-def]
    """In place: R <- n times the derivatives of PRESS by what goes into the neurons.

    R comes in as 2 (K V K' - w a' / 2) H, see :mod:`sparsepath.elm.polish`; w and a are m x T, u
    and E T x n. The mean over the samples is taken off because H is centred, and the slope of tanh
    is 1 - h^2, h being the output before its mean was taken off.
    """
    n = H.shape[1]
    number = H.dtype.type
    zero, one, two = number(0.0), number(1.0), number(2.0)
    for j in range(H.shape[0]):
        r, k, h = R[j], K[j], H[j]
        for i in range(n):
            r[i] = two * v[i] * k[i] - r[i]
        for t in range(E.shape[0]):
            x, y = w[j, t], a[j, t]
            for i in range(n):
                r[i] -= x * u[t, i] + y * E[t, i]
        total = zero
        for i in range(n):
            total += r[i]
        total /= number(n)
        mean = means[j]
        for i in range(n):
            x = h[i] + mean
            r[i] = two * (r[i] - total) * (one - x * x)


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def count_wrong(R, p, own):  # type: ignore[no-untyped-def]
    """Samples whose class, left out, does not win: with y = +-1, y r >= p, or r_own - r >= 2 p.

    A score that beats its rivals by no more than 1e-10 is no decision and counts as wrong.
    """
    count = 0
    if R.shape[0] == 1:
        for i in range(own.size):
            sign = 2.0 * own[i] - 1.0
            if sign * R[0, i] >= (1.0 - 1e-10) * p[i]:
                count += 1
        return count
    for i in range(own.size):
        rival = np.inf
        for t in range(R.shape[0]):
            if t != own[i]:
                rival = min(rival, R[t, i])
        if R[own[i], i] - rival >= (2.0 - 1e-10) * p[i]:
            count += 1
    return count


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def prefix_losses(Q, z, R, p, own, least, squares, wrong):  # type: ignore[no-untyped-def]
    """Leave-one-out losses of the first 1, 2, ..., m neurons; R and p are changed in place.

    Parameters
    ----------
    Q, z : arrays, m x n and m x T
        L^-1 H and L^-1 H Y: the fit of the first j neurons is the sum of Q_i' z_i over i <= j.
    R, p : arrays, T x n and n
        Residuals and 1 - leverages of the constant model; afterwards of all neurons.
    own : int array, n, or empty
        The class of each sample: 0 and 1 for one column of targets, else its column. Empty:
        mistakes are not counted.
    least : float
        The least 1 - leverage at which a sample still counts as left out.
    squares, wrong : arrays, m
        Out: sums over the samples of |r / p|^2, and the number of mistakes.
    """
    n = Q.shape[1]
    T = R.shape[0]
    zero, one = Q.dtype.type(0.0), Q.dtype.type(1.0)
    for j in range(Q.shape[0]):
        q = Q[j]
        total = tight = zero
        for i in range(n):
            x = p[i] - q[i] * q[i]
            p[i] = x
            tight += one if x <= least else zero
        for t in range(T):
            r = R[t]
            factor = z[j, t]
            for i in range(n):
                x = r[i] - q[i] * factor
                r[i] = x
                x /= p[i]
                total += x * x
        if tight > zero:
            squares[j] = np.inf
            wrong[j] = np.inf
            continue
        squares[j] = total
        if own.size:
            wrong[j] = count_wrong(R, p, own)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def leave_out(Q, E, p, own, least):  # type: ignore[no-untyped-def]
    """Sums of ``prefix_losses`` for all neurons alone; E are their residuals, p as there."""
    n = Q.shape[1]
    for j in range(Q.shape[0]):
        q = Q[j]
        for i in range(n):
            p[i] -= q[i] * q[i]
    total = tight = 0.0
    for i in range(n):
        tight += 1.0 if p[i] <= least else 0.0
    if tight > 0.0:
        return np.inf, np.inf
    for t in range(E.shape[0]):
        e = E[t]
        for i in range(n):
            x = e[i] / p[i]
            total += x * x
    return total, float(count_wrong(E, p, own)) if own.size else 0.0
