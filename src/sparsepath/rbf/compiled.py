"""Compiled loops of the solvers of the RBF room. Arrays and numbers only; no checks."""

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def add_beyond(upper, n, live, cross, among):  # type: ignore[no-untyped-def]
    """In place: what is beyond Gauss-Newton, in the transpose of a Hessian's lower triangle.

    ``cross`` (centres x ``live``) and ``among`` (``live`` x ``live``) belong to the ``live`` ones
    of the weights, whose rows begin at ``n``.
    """
    for m in range(len(cross)):
        for k in range(len(live)):
            upper[1 + m, n + live[k]] += cross[m, k]
    for k in range(len(live)):
        for j in range(k, len(live)):
            upper[n + live[k], n + live[j]] += among[k, j]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def eliminate(upper, curvature, n, n_alpha, lam, lam_w):  # type: ignore[no-untyped-def]
    """Add to a Hessian what the logarithms do, the slacks eliminated; c, 1 / b and theta.

    See ``barrier``. ``upper`` is the transpose of the Hessian, of which only the lower triangle is
    looked at; the first ``n`` of its rows belong to alpha (none, if alpha does not move).
    """
    order = len(upper)
    c, inverse, across = np.empty(n), np.empty(n), np.zeros(n)
    total = 0.0
    for m in range(n):
        of_u, of_v = curvature[m], curvature[n_alpha + m]
        c[m], inverse[m] = of_u - of_v, 1.0 / (lam + of_u + of_v)
        across[m] = c[m] * inverse[m]
        total += inverse[m]
        upper[m, m] += (lam + 2.0 * of_u) * ((lam + 2.0 * of_v) * inverse[m])
    q = curvature[-2]
    theta = q / (1.0 + q * total)
    for m in range(n):
        row, rest, part = upper[m, m:n], across[m:], theta * across[m]
        for i in range(len(row)):
            row[i] += part * rest[i]
    for i in range(order - n):
        upper[n + i, n + i] += curvature[2 * n_alpha + i] + lam_w[i]
        for j in range(i, order - n):
            upper[n + i, n + j] += curvature[-1]
    return c, inverse, theta


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _forward(upper, b):  # type: ignore[no-untyped-def]
    """In place: b <- L^-1 b, ``upper`` the transpose of L; four columns of L at a time.

    Loops run over slices from their first entry on: only these become vectors.
    """
    order = len(b)
    whole = order - order % 4
    for j in range(0, whole, 4):
        r0, r1, r2, r3 = upper[j], upper[j + 1], upper[j + 2], upper[j + 3]
        b0 = b[j] / r0[j]
        b1 = (b[j + 1] - b0 * r0[j + 1]) / r1[j + 1]
        b2 = (b[j + 2] - b0 * r0[j + 2] - b1 * r1[j + 2]) / r2[j + 2]
        b3 = (b[j + 3] - b0 * r0[j + 3] - b1 * r1[j + 3] - b2 * r2[j + 3]) / r3[j + 3]
        b[j], b[j + 1], b[j + 2], b[j + 3] = b0, b1, b2, b3
        rest, r0, r1, r2, r3 = b[j + 4 :], r0[j + 4 :], r1[j + 4 :], r2[j + 4 :], r3[j + 4 :]
        for i in range(len(rest)):
            rest[i] -= b0 * r0[i] + b1 * r1[i] + b2 * r2[i] + b3 * r3[i]
    for j in range(whole, order):
        b[j] /= upper[j, j]
        for i in range(j + 1, order):
            b[i] -= b[j] * upper[j, i]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _backward(upper, b):  # type: ignore[no-untyped-def]
    """In place: b <- L'^-1 b; see ``_forward``. Several sums in one loop would not be vectors."""
    order = len(b)
    whole = order - order % 4
    for j in range(order - 1, whole - 1, -1):
        b[j] = (b[j] - _dot(upper[j, j + 1 :], b[j + 1 :])) / upper[j, j]
    for j in range(whole - 4, -1, -4):
        r0, r1, r2, r3 = upper[j], upper[j + 1], upper[j + 2], upper[j + 3]
        rest = b[j + 4 :]
        s0, s1 = _dot(r0[j + 4 :], rest), _dot(r1[j + 4 :], rest)
        s2, s3 = _dot(r2[j + 4 :], rest), _dot(r3[j + 4 :], rest)
        b3 = (b[j + 3] - s3) / r3[j + 3]
        b2 = (b[j + 2] - s2 - r2[j + 3] * b3) / r2[j + 2]
        b1 = (b[j + 1] - s1 - r1[j + 2] * b2 - r1[j + 3] * b3) / r1[j + 1]
        b0 = (b[j] - s0 - r0[j + 1] * b1 - r0[j + 2] * b2 - r0[j + 3] * b3) / r0[j]
        b[j], b[j + 1], b[j + 2], b[j + 3] = b0, b1, b2, b3


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def solution(upper, c, inverse, theta, slopes, n_alpha, alpha_alone):  # type: ignore[no-untyped-def]
    """The step of (u, v, w, left_r, left_t) down the ``slopes`` by (alpha, s, w).

    ``upper`` is the transpose of the factor; ``c`` is empty if alpha does not move. With
    ``alpha_alone`` the weights stay: the factor of the alphas' block is the leading block of the
    factor L, so that with L y = right, L' p = (y, 0) gives p in its leading part.
    """
    n, order = len(c), len(upper)
    right = np.empty(order)
    mean = 0.0
    for m in range(n):
        mean += inverse[m] * slopes[n_alpha + m]
    mean *= theta
    for m in range(n):
        right[m] = c[m] * (inverse[m] * (slopes[n_alpha + m] - mean)) - slopes[m]
    for i in range(order - n):
        right[n + i] = -slopes[2 * n_alpha + i]
    _forward(upper, right)
    if alpha_alone:
        right[n:] = 0.0
    _backward(upper, right)
    step = np.zeros(len(slopes) + 2)
    mean = 0.0
    for m in range(n):
        mean += inverse[m] * (slopes[n_alpha + m] + c[m] * right[m])
    mean *= theta
    total = 0.0
    for m in range(n):
        of_s = inverse[m] * (mean - slopes[n_alpha + m] - c[m] * right[m])
        step[m] = of_s + right[m]
        step[n_alpha + m] = of_s - right[m]
        total += of_s
    step[-2] = -total
    total = 0.0
    for i in range(order - n):
        step[2 * n_alpha + i] = right[n + i]
        total += right[n + i]
    step[-1] = -total
    return step


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
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


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def along(slopes, step, n):  # type: ignore[no-untyped-def]
    """The derivative of J along a step."""
    total = 0.0
    for m in range(n):
        u, v = step[m], step[n + m]
        total += 0.5 * (slopes[m] * (u - v) + slopes[n + m] * (u + v))
    for i in range(2 * n, len(slopes)):
        total += slopes[i] * step[i]
    return total


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy", inline="always")
def furthest(x, step, fraction):  # type: ignore[no-untyped-def]
    """The longest step, at most 1, that leaves 1 - ``fraction`` of every x."""
    fastest = fraction
    for i in range(len(x)):
        fastest = max(fastest, -step[i] / x[i])
    return fraction / fastest


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy", inline="always")
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


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def move(  # type: ignore[no-untyped-def]
    upper, c, inverse, theta, gradient, targets, of_J, x, z, n, fraction
):
    """The step for ``targets`` in place of mu k, that of the multipliers, the slope and the length.

    ``of_J`` are the slopes of J itself, for the derivative along the step.
    """
    step = solution(upper, c, inverse, theta, slopes(gradient, targets, x, n), n, False)
    dual = np.empty(len(x))
    for i in range(len(x)):
        dual[i] = (targets[i] - z[i] * step[i]) / x[i] - z[i]
    return step, dual, along(of_J, step, n), furthest(x, step, fraction)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def direction(  # type: ignore[no-untyped-def]
    upper, c, inverse, theta, gradient, plain, x, z, n, fraction, long, recentrings, longer, band
):
    """The best of a step for ``plain`` (mu k) and, if the boundary shortens it, of corrections.

    Best is the one along which J may fall most. Returns the step, that of the multipliers, the
    slope of J along it, its length, and the decrement of J.
    """
    of_J = slopes(gradient, plain, x, n)
    targets, step, dual = plain, x, z
    slope, length, decrement = 0.0, 0.0, 0.0
    for correction in range(2 + recentrings):
        if correction == 0:
            other = plain.copy()
        elif length >= long:
            break
        elif correction == 1:
            other = plain - step * dual
        else:
            further = min(1.0, length + longer)
            other = targets + recentred(x, z, step, dual, plain, further, band)
        found = move(upper, c, inverse, theta, gradient, other, of_J, x, z, n, fraction)
        if correction == 0:
            decrement = -found[2]
        if correction == 0 or found[2] * found[3] < slope * length:
            targets, (step, dual, slope, length) = other, found
        elif correction > 1:
            break
    return step, dual, slope, length, decrement


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def move_multipliers(z, dual, middle, x, fraction, factor):  # type: ignore[no-untyped-def]
    """In place: as far along ``dual`` as the boundary allows, then, but for those of the budgets,
    to within a ``factor`` of ``middle`` / x.
    """
    length = furthest(z, dual, fraction)
    for i in range(len(z)):
        z[i] += length * dual[i]
        if i < len(z) - 2:
            central = middle[i] / x[i]
            z[i] = min(max(z[i], central / factor), central * factor)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def trial(x, step, length, shares, basis, y, n):  # type: ignore[no-untyped-def]
    """The point a step further, its alpha, residuals, mean squared error and sum of logarithms."""
    new, alpha = np.empty(len(x)), np.empty(n)
    logarithms = 0.0
    for i in range(len(x)):
        new[i] = x[i] + length * step[i]
        logarithms -= shares[i] * np.log(new[i])
    off = -y
    for m in range(n):
        row, part = basis[m], 0.5 * (new[m] - new[n + m])
        alpha[m] = part
        for i in range(len(off)):
            off[i] += part * row[i]
    error = 0.0
    for i in range(len(off)):
        error += off[i] * off[i]
    return new, alpha, off, error / len(off), logarithms


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def straightened(  # type: ignore[no-untyped-def]
    upper, c, inverse, theta, basis, off, expected, x, n, fraction
):
    """The step of alpha alone that undoes what dE/dalpha is beyond ``expected``, and its length."""
    wrong = np.zeros(len(x) - 2)
    scale = 2.0 / len(off)
    for m in range(n):
        row, total = basis[m], 0.0
        for i in range(len(off)):
            total += row[i] * off[i]
        wrong[m] = scale * total - expected[m]
    step = solution(upper, c, inverse, theta, wrong, n, True)
    return step, furthest(x, step, fraction)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def straight_trial(  # type: ignore[no-untyped-def]
    upper, c, inverse, theta, x, z, step, dual, length, shares, basis, y, slope, n, lam, near, mu
):
    """As ``trial``, or what straightening makes of it if J is lower there.

    ``slope`` is the gradient of E. What the model makes of dE/dalpha by a whole step is what the
    multipliers balance there, z_u - z_v, less the damping: the step solves that equation.
    """
    plain = trial(x, step, length, shares, basis, y, n)
    expected = np.empty(n)
    for m in range(n):
        balanced = z[m] + dual[m] - z[n + m] - dual[n + m] - 0.5 * lam * (step[m] - step[n + m])
        expected[m] = slope[m] + length * (balanced - slope[m])
    fix, far = straightened(upper, c, inverse, theta, basis, plain[2], expected, plain[0], n, near)
    other = trial(plain[0], fix, far, shares, basis, y, n)
    return other if other[3] + mu * other[4] < plain[3] + mu * plain[4] else plain


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def drop_corners(V, shares, may_go, room):  # type: ignore[no-untyped-def]
    """In place: leave out corners, the one that costs least first, for ``room`` at most in all.

    ``V`` is the covariance of the shares, whose sum is fixed. Leaving out corner m costs
    shares_m^2 / V_mm and moves the others by -V_im shares_m / V_mm; it is not left out if that
    takes some share below zero. What is left out has the share zero.
    """
    k = len(shares)
    tried = np.empty(k, np.bool_)
    while True:
        tried[:] = False
        gone = -1
        while gone < 0:
            m, least = -1, room
            for i in range(k):
                if may_go[i] and shares[i] > 0.0 and not tried[i] and V[i, i] > 0.0:
                    cost = shares[i] * shares[i] / V[i, i]
                    if cost < least:
                        m, least = i, cost
            if m < 0:
                return
            tried[m] = True
            part = shares[m] / V[m, m]
            gone = m
            for i in range(k):
                if i != m and shares[i] > 0.0 and shares[i] <= V[m, i] * part:
                    gone = -1
                    break
        room -= least
        row = V[gone].copy()
        for i in range(k):
            if shares[i] > 0.0:
                shares[i] -= row[i] * part
                factor, other = row[i] / row[gone], V[i]
                for j in range(k):
                    other[j] -= factor * row[j]
        shares[gone] = 0.0
