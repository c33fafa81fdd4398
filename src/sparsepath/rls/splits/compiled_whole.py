"""A forward search over splits in one compiled loop; see ``whole.py``.

Arrays of splits have the columns last, so that every loop runs along them: ``c`` and ``ed`` are
splits x targets x n. The letters are those of ``model.py``.
"""

import numpy as np
from numba import njit

from sparsepath.rls.splits.compiled import FAST

TILE = 512  # columns whose sums are taken together: they stay in the fastest cache


@njit(nogil=True, cache=True, fastmath=FAST)
def _take_off(out, factors, rows, count):  # type: ignore[no-untyped-def]
    """Take the first rows with their factors off a vector, four at a time."""
    i = 0
    while i + 4 <= count:
        a, b, c, d = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        A, B, C, D = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(out.size):
            out[j] -= a * A[j] + b * B[j] + c * C[j] + d * D[j]
        i += 4
    while i < count:
        a, A = factors[i], rows[i]
        for j in range(out.size):
            out[j] -= a * A[j]
        i += 1


@njit(nogil=True, cache=True, fastmath=FAST)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _judge(f, low, high, about, state, found):  # type: ignore[no-untyped-def]
    """The errors in split f with each of some columns, and what is left of them, to those found."""
    alpha, least, share, size = about[0], about[1], about[2], about[3]
    s, dd, c, ed, sse = state[0], state[1], state[2], state[3], state[4]
    errors, margin = found[0][low:high], found[1][low:high]
    left, square, most = s[f, low:high], dd[f, low:high], size[f, low:high]
    each = 1.0 / share[f]
    base = sse[f] * each
    for i in range(errors.size):
        errors[i] += base
    for i in range(margin.size):
        over = left[i] + alpha - least * most[i]
        margin[i] = over if over < margin[i] else margin[i]
    for t in range(c.shape[1]):
        product, beside = c[f, t, low:high], ed[f, t, low:high]
        for i in range(errors.size):
            omega = product[i] / (left[i] + alpha)
            errors[i] += each * omega * (omega * square[i] - 2.0 * beside[i])


@njit(nogil=True, cache=True, fastmath=FAST)
def _read(b, k, data, about, state, space):  # type: ignore[no-untyped-def]
    """Products of all columns with x_b and d_b over the test parts, by one reading of the rows."""
    (rows, weights, starts), mu = data[2], about[4]
    U, d = state[5], state[7]
    products, y = space[0], space[1]
    F, n = products.shape
    for f in range(F):
        first, last = starts[f], starts[f + 1]
        d_b, total = d[k, first:last], 0.0
        for r in range(first, last):
            d_b[r - first] = rows[r, b] - mu[f, b]
        for before in range(k):
            u, other = U[f, before, b], d[before, first:last]
            for r in range(d_b.size):
                d_b[r] -= u * other[r]
        for r in range(first, last):
            total += weights[r] * d_b[r - first]
        for low in range(0, n, TILE):
            high = min(n, low + TILE)
            x, e, means = products[f, low:high], y[f, low:high], mu[f, low:high]
            for i in range(x.size):
                x[i] = 0.0
                e[i] = -total * means[i]
            r = first
            while r + 2 <= last:
                A, B = rows[r, low:high], rows[r + 1, low:high]
                p, q = weights[r] * rows[r, b], weights[r + 1] * rows[r + 1, b]
                for i in range(x.size):
                    x[i] += p * A[i] + q * B[i]
                p, q = weights[r] * d_b[r - first], weights[r + 1] * d_b[r + 1 - first]
                for i in range(x.size):
                    e[i] += p * A[i] + q * B[i]
                r += 2
            if r < last:
                A = rows[r, low:high]
                p, q = weights[r] * rows[r, b], weights[r] * d_b[r - first]
                for i in range(x.size):
                    x[i] += p * A[i]
                    e[i] += q * A[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def _sum_parts(b, data, space):  # type: ignore[no-untyped-def]
    """Products of all columns with x_b over all rows."""
    gram, sources, by_rows = data[0], data[1], data[2][0].shape[0] > 0
    products, (F, n), everywhere = space[0], space[1].shape, space[2]
    if sources[F] >= 0:
        whole = gram[sources[F], b]
        for i in range(n):
            everywhere[i] = whole[i]
        return
    for i in range(n):
        everywhere[i] = 0.0
    for f in range(F):
        part = products[f] if by_rows else gram[f, b]
        for i in range(n):
            everywhere[i] += part[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def _numbers_of(f, b, k, data, state, factors):  # type: ignore[no-untyped-def]
    """What the sums over the features before b are taken with, and d_b'd_l."""
    (rows, weights, starts), (a, u, d_l) = data[2], factors
    U, H, d, DD, pivots = state[5:10]
    for before in range(k):
        u[before] = U[f, before, b]
        a[before] = u[before] * pivots[f, before]
    for before in range(k):
        total = 0.0
        if rows.shape[0] > 0:
            for r in range(starts[f], starts[f + 1]):
                total += weights[r] * d[k, r] * d[before, r]
        else:
            total = H[f, before, b] - _dot(u[:k], DD[f, before, :k])
        d_l[before] = DD[f, k, before] = DD[f, before, k] = total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _follow(b, k, data, about, state, space, found):  # type: ignore[no-untyped-def]
    """All columns follow the addition of b, and are judged."""
    gram, sources, by_rows = data[0], data[1], data[2][0].shape[0] > 0
    alpha, mu, w_test, w_train, x_test = about[0], about[4], about[5], about[6], about[7]
    s, dd, c, ed, _, U, H, _, DD, pivots = state[:10]
    products, y, everywhere, factors, of_b, tile = space
    (a, u_b, d_l), (omega, c_b, e_b) = factors, of_b
    F, n = s.shape
    T = c.shape[1]
    if by_rows:
        _read(b, k, data, about, state, space)
    _sum_parts(b, data, space)
    for i in range(n):
        found[0][i], found[1][i] = 0.0, np.inf
    for f in range(F):
        pivot, d_bb, m_b = s[f, b] + alpha, dd[f, b], mu[f, b]
        _numbers_of(f, b, k, data, state, factors)
        DD[f, k, k], pivots[f, k] = d_bb, pivot
        for t in range(T):
            c_b[t], e_b[t] = c[f, t, b], ed[f, t, b]
            omega[t] = c_b[t] / pivot
        tests = products[f] if by_rows else gram[f, b]
        trains = everywhere if sources[f] < 0 else gram[sources[f], b]
        rest = 1.0 if sources[f] < 0 else 0.0  # of the test part, which is taken off all rows
        shift, back = w_train[f] * m_b, w_test[f] * m_b - x_test[f, b]
        inverse = 1.0 / pivot
        for low in range(0, n, TILE):
            high = min(n, low + TILE)
            width = high - low
            u, g = tile[0, :width], tile[1, :width]
            e, means, x = y[f, low:high], mu[f, low:high], x_test[f, low:high]
            test, train, before = tests[low:high], trains[low:high], U[f, :, low:high]
            for i in range(width):
                u[i] = train[i] - rest * test[i] - shift * means[i]
            _take_off(u, a, before, k)
            if not by_rows:
                for i in range(width):
                    e[i] = test[i] + back * means[i] - m_b * x[i]
                _take_off(e, u_b, H[f, :, low:high], k)
                h = H[f, k, low:high]
                for i in range(width):
                    h[i] = e[i]
            for i in range(width):
                g[i] = e[i]
            _take_off(g, d_l, before, k)
            kept, left, square = U[f, k, low:high], s[f, low:high], dd[f, low:high]
            for i in range(width):
                u[i] *= inverse
                kept[i] = u[i]
            for i in range(width):
                left[i] -= u[i] * u[i] * pivot
                square[i] += u[i] * (u[i] * d_bb - 2.0 * g[i])
            for t in range(T):
                product, beside = c[f, t, low:high], ed[f, t, low:high]
                step = e_b[t] - omega[t] * d_bb
                for i in range(width):
                    product[i] -= u[i] * c_b[t]
                    beside[i] -= u[i] * step + g[i] * omega[t]
            _judge(f, low, high, about, state, found)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add(b, about, state):  # type: ignore[no-untyped-def]
    """The squared errors of every split with b."""
    s, dd, c, ed, sse = state[0], state[1], state[2], state[3], state[4]
    for f in range(sse.size):
        for t in range(c.shape[1]):
            omega = c[f, t, b] / (s[f, b] + about[0])
            sse[f] += omega * (omega * dd[f, b] - 2.0 * ed[f, t, b])
        sse[f] = max(sse[f], 0.0)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _blurs(b, k, about, state, subset):  # type: ignore[no-untyped-def]
    """Whether with b rounding takes too many digits of everything; what A^-1 becomes is noted."""
    alpha, size, most = about[0], about[3], about[8]
    s, U, G, inverse = state[0], state[5], state[10], state[11]
    worst = 0.0
    for f in range(s.shape[0]):
        pivot = s[f, b] + alpha
        v = G[f, k]
        for j in range(k):
            v[j] = 0.0
        for before in range(k):
            u = U[f, before, b]
            for j in range(before + 1):
                v[j] -= u * G[f, before, j]
        v[k] = 1.0
        for j in range(k):
            inverse[f, j] += v[j] * v[j] / pivot
            worst = max(worst, size[f, subset[j]] * inverse[f, j])
        inverse[f, k] = 1.0 / pivot
        worst = max(worst, size[f, b] / pivot)
    return worst >= most


@njit(nogil=True, cache=True, error_model="numpy")
def advance(until, allowed, ties, data, about, state, space, found, subset):  # type: ignore[no-untyped-def]
    """Features up to ``until``; how many, whether residuals vanished, whether sums told enough."""
    tie, floor, vanished, trusting = ties
    s, sse = state[0], state[4]
    F, n = s.shape
    errors, margin = found
    for i in range(n):
        errors[i], margin[i] = 0.0, np.inf
    for f in range(F):
        _judge(f, 0, n, about, state, found)
    empty, first = 0.0, sse.sum()
    for f in range(F):
        empty += sse[f] / about[2][f]
    k = 0
    while True:
        if sse.sum() <= vanished * first:
            return k, True, True
        if k == until:
            return k, False, True
        least = np.inf
        for i in range(n):
            if allowed[i]:
                if not margin[i] > 0.0:
                    if not trusting:
                        return k, False, False
                    continue
                if errors[i] < least:
                    least = errors[i]
        if not least < np.inf:
            return k, False, True
        most, b = least + tie * abs(least) + floor * empty, -1
        for i in range(n):
            if allowed[i] and margin[i] > 0.0 and errors[i] <= most:
                b = i
                break
        if _blurs(b, k, about, state, subset) and not trusting:
            return k, False, False
        _add(b, about, state)
        if k + 1 < until:
            _follow(b, k, data, about, state, space, found)
        allowed[b] = False
        subset[k] = b
        k += 1
