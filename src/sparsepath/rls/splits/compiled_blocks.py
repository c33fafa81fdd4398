"""A forward search over folds from what is left of the test rows, in one loop; see ``blocks.py``.

Arrays have the columns of the data last, so that every loop runs along them: D is rows x n, ``s``
and ``dd`` are folds x n, ``c`` and ``ed`` folds x targets x n. The letters are those of
``blocks.py``; vectors over the rows are in the order of the folds, each filled up with zeros to a
multiple of four; the zeros have one row of D, the last one, in common.

``data`` are the columns, samples last, their means, what is left of these and their scales; which
sample each row is and the root of its weight; where the folds begin; the rows of D; the targets.
``about`` are alpha, weights of all rows and of the training parts, the targets' means there, the
number of intercepts, and what squared errors of a fold are divided by. ``state`` are pivots, d'd,
c, e'd, squared errors, D and the last u, which are pending: not yet taken off D. ``chosen`` are, of
the columns that were chosen, z, d, alpha + s, pivots and sizes in the training parts, A^-1 in two
parts (``_blurs``), and of the last one u, x'z of those before, v and x.
"""

import numpy as np
from numba import njit

from sparsepath.rls.splits.compiled import FAST

POSTPONED = 4  # changes that are not yet taken off D


@njit(nogil=True, cache=True)
def _column(i, data, out):  # type: ignore[no-untyped-def]
    """Column i as it stands, times the roots of the weights."""
    raw, means, lefts, scales, rows, g = data[:6]
    for r in range(rows.size):
        out[r] = g[r] * (((raw[i, rows[r]] - means[i]) - lefts[i]) * scales[i])


@njit(nogil=True, cache=True, fastmath=FAST)
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def _take_off(out, factor, row):  # type: ignore[no-untyped-def]
    for j in range(out.size):
        out[j] -= factor * row[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def _three_of_eight(A, B, C, D, H, K, L, M, r, z, d, v, g, h, G):  # type: ignore[no-untyped-def]
    """The products of eight rows with two vectors, and add those with a third one."""
    z0, z1, z2, z3, z4, z5, z6, z7 = z[r : r + 8]
    d0, d1, d2, d3, d4, d5, d6, d7 = d[r : r + 8]
    v0, v1, v2, v3, v4, v5, v6, v7 = v[r : r + 8]
    for i in range(g.size):
        a, b, c, e, p, q, s, t = A[i], B[i], C[i], D[i], H[i], K[i], L[i], M[i]
        g[i] = z0 * a + z1 * b + z2 * c + z3 * e + (z4 * p + z5 * q + z6 * s + z7 * t)
        h[i] = d0 * a + d1 * b + d2 * c + d3 * e + (d4 * p + d5 * q + d6 * s + d7 * t)
        G[i] += v0 * a + v1 * b + v2 * c + v3 * e + (v4 * p + v5 * q + v6 * s + v7 * t)


@njit(nogil=True, cache=True, fastmath=FAST)
def _three_of_four(A, B, C, D, r, z, d, v, g, h, G):  # type: ignore[no-untyped-def]
    """Add the products of four rows with three vectors."""
    z0, z1, z2, z3 = z[r], z[r + 1], z[r + 2], z[r + 3]
    d0, d1, d2, d3 = d[r], d[r + 1], d[r + 2], d[r + 3]
    v0, v1, v2, v3 = v[r], v[r + 1], v[r + 2], v[r + 3]
    for i in range(g.size):
        g[i] += z0 * A[i] + z1 * B[i] + z2 * C[i] + z3 * D[i]
        h[i] += d0 * A[i] + d1 * B[i] + d2 * C[i] + d3 * D[i]
        G[i] += v0 * A[i] + v1 * B[i] + v2 * C[i] + v3 * D[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def _three_products(low, high, first, last, D, rows, z, d, v, g, h, G):  # type: ignore[no-untyped-def]
    """The products of a fold with two vectors, and add those with a third one."""
    r = first
    if last - first >= 8:
        at = rows[r : r + 8]
        A, B, C, E = D[at[0], low:high], D[at[1], low:high], D[at[2], low:high], D[at[3], low:high]
        H, K, L, M = D[at[4], low:high], D[at[5], low:high], D[at[6], low:high], D[at[7], low:high]
        _three_of_eight(A, B, C, E, H, K, L, M, r, z, d, v, g, h, G)
        r += 8
    else:
        for i in range(g.size):
            g[i] = h[i] = 0.0
    while r < last:
        at = rows[r : r + 4]
        A, B, C, E = D[at[0], low:high], D[at[1], low:high], D[at[2], low:high], D[at[3], low:high]
        _three_of_four(A, B, C, E, r, z, d, v, g, h, G)
        r += 4


@njit(nogil=True, cache=True, fastmath=FAST)
def _correct(u, factors, g, h, G):  # type: ignore[no-untyped-def]
    """Take a pending change off the products."""
    a, b, c = factors
    for i in range(u.size):
        g[i] -= a * u[i]
        h[i] -= b * u[i]
        G[i] -= c * u[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def _write(row, d0, d1, d2, d3, a, b, c, e):  # type: ignore[no-untyped-def]
    """Take four changes off a row."""
    for i in range(row.size):
        row[i] -= d0 * a[i] + d1 * b[i] + d2 * c[i] + d3 * e[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def _stand(row, g, mean, left, scale):  # type: ignore[no-untyped-def]
    """A row of the data as it stands; the two means are not to be added up before."""
    for i in range(row.size):
        row[i] = g * (((row[i] - mean[i]) - left[i]) * scale[i])


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_squares(A, B, C, D, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] += A[i] * A[i] + B[i] * B[i] + C[i] * C[i] + D[i] * D[i]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _fill(low, high, data, about, state, squares, space):  # type: ignore[no-untyped-def]
    """Columns from ``low`` to ``high`` before anything is chosen, and all of their products."""
    _, means, lefts, scales, _, g, starts, rows, Y = data
    alpha, total, trains, nu, base, _ = about
    s, dd, c, ed, _, D, pending = state
    F, T, width = trains.size, Y.shape[0], high - low
    square, sums = squares[low:high], space[0, :width]
    mean, left, scale = means[low:high], lefts[low:high], scales[low:high]
    for i in range(width):
        square[i] = 0.0
    for t in range(T):
        for i in range(width):
            space[1 + t, i] = 0.0
    for f in range(F):
        own, first, last, mu = dd[f, low:high], starts[f], starts[f + 1], pending[0, f, low:high]
        for i in range(width):
            own[i] = 0.0
        for r in range(first, last):
            _stand(D[rows[r], low:high], g[r], mean, left, scale)
        for r in range(first, last, 4):
            at = rows[r : r + 4]
            A, B, C, E = (
                D[at[0], low:high],
                D[at[1], low:high],
                D[at[2], low:high],
                D[at[3], low:high],
            )
            _add_squares(A, B, C, E, own)
        for t in range(T):
            beside, whole = ed[f, t, low:high], space[1 + t, :width]
            _three_products(low, high, first, last, D, rows, g, Y[t], Y[t], sums, beside, whole)
        for i in range(width):
            square[i] += own[i]
            mu[i] = -sums[i] / trains[f] if base == 1 else 0.0
    for f in range(F):
        rest, own, mu, w = s[f, low:high], dd[f, low:high], pending[0, f, low:high], trains[f]
        more = total + w
        for i in range(width):  # over a fold the column adds up to -w mu
            rest[i] = alpha + square[i] - own[i] - w * mu[i] * mu[i]
            own[i] += more * mu[i] * mu[i]
        for t in range(T):
            product, beside, whole = c[f, t, low:high], ed[f, t, low:high], space[1 + t, :width]
            for i in range(width):
                product[i] = whole[i] - beside[i] - w * nu[f, t] * mu[i]
                beside[i] += more * nu[f, t] * mu[i]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _judge(each, s, dd, c, ed, errors):  # type: ignore[no-untyped-def]
    """Add what each of some columns changes of the errors in a fold."""
    for i in range(errors.size):
        omega = c[i] / s[i]
        errors[i] += each * omega * (omega * dd[i] - 2.0 * ed[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _follow_squares(u, h, pivot, d_bb, s, dd, least):  # type: ignore[no-untyped-def]
    """Pivots and d'd in a fold follow an addition."""
    for i in range(u.size):
        left = s[i] - u[i] * u[i] * pivot
        s[i] = left
        least[i] = min(least[i], left)
        dd[i] += u[i] * (u[i] * d_bb - 2.0 * h[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _follow_target(u, h, numbers, each, s, dd, c, ed, errors):  # type: ignore[no-untyped-def]
    """Products of a target, c and e'd, in a fold follow an addition, and columns are judged."""
    omega_b, c_b, step = numbers
    for i in range(u.size):
        product, beside = c[i] - u[i] * c_b, ed[i] - u[i] * step - h[i] * omega_b
        c[i], ed[i] = product, beside
        omega = product / s[i]
        errors[i] += each * omega * (omega * dd[i] - 2.0 * beside)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _enter(b, k, data, alpha, state, chosen):  # type: ignore[no-untyped-def]
    """What the vectors of b are, and what is left of it in the training parts."""
    starts = data[6]
    Z, d, sigma, pivots, sizes, _, _, U, G, v, x = chosen
    _column(b, data, x)
    z = Z[k]
    for r in range(x.size):
        z[r] = x[r]
    for before in range(k):
        G[before] = _dot(Z[before], x)
    for before in range(k):
        _take_off(z, G[before] / sigma[before], Z[before])
    sigma[k] = alpha + _dot(x, z)
    square = _dot(x, x)
    for f in range(starts.size - 1):
        first, last = starts[f], starts[f + 1]
        x_f, v_f, d_f = x[first:last], v[first:last], d[k, first:last]
        for r in range(x_f.size):
            v_f[r] = d_f[r] = x_f[r]
        sizes[f, k] = max(square - _dot(x_f, x_f), 0.0)
        for before in range(k):
            z_f = Z[before, first:last]
            _take_off(v_f, _dot(z_f, x_f) / sigma[before], z_f)
            u = (G[before] - _dot(z_f, d_f)) / pivots[f, before]
            _take_off(d_f, u, d[before, first:last])
            U[f, before] = u
        pivots[f, k] = state[0][f, b]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _blurs(k, base, most, chosen):  # type: ignore[no-untyped-def]
    """Whether with b rounding takes too many digits of everything; what A^-1 becomes is noted."""
    pivots, sizes, G, inverse, U = chosen[3:8]
    worst = 0.0
    for f in range(pivots.shape[0]):
        v, pivot = G[f, k], pivots[f, k]
        for j in range(k):
            v[j] = 0.0
        for before in range(base, k):
            _take_off(v[: before + 1], U[f, before], G[f, before])
        v[k] = 1.0
        inverse[f, k] = 0.0
        for j in range(base, k + 1):
            inverse[f, j] += v[j] * v[j] / pivot
            worst = max(worst, sizes[f, j] * inverse[f, j])
    return worst >= most


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _add(b, k, begun, data, state, chosen, steps):  # type: ignore[no-untyped-def]
    """The model with b: squared errors, and what columns follow it with."""
    numbers, factors = steps
    starts, Z, d, pivots, v = data[6], chosen[0], chosen[1], chosen[3], chosen[9]
    c, ed, sse = state[2], state[3], state[4]
    for f in range(sse.size):
        first, last = starts[f], starts[f + 1]
        d_f = d[k, first:last]
        d_bb = _dot(d_f, d_f)
        numbers[f, 0, 0] = d_bb
        for t in range(c.shape[1]):
            c_b, e_b = c[f, t, b], ed[f, t, b]
            omega = c_b / pivots[f, k]
            numbers[f, 1, t], numbers[f, 2, t], numbers[f, 3, t] = omega, c_b, e_b - omega * d_bb
            sse[f] += omega * (omega * d_bb - 2.0 * e_b)
        sse[f] = max(sse[f], 0.0)
        for before in range(begun, k):
            d_l = d[before, first:last]
            factors[f, before - begun, 0] = _dot(Z[k, first:last], d_l)
            factors[f, before - begun, 1] = _dot(d_f, d_l)
            factors[f, before - begun, 2] = _dot(v[first:last], d_l)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _follow(low, high, k, begun, data, share, state, chosen, steps, space, found):  # type: ignore[no-untyped-def]
    """Columns from ``low`` to ``high`` follow the last addition, and are judged."""
    numbers, factors = steps
    starts, rows, Z, d = data[6], data[7], chosen[0], chosen[1]
    pivots, v = chosen[3], chosen[9]
    s, dd, c, ed, sse, D, pending = state
    F, width, full = sse.size, high - low, k - begun == POSTPONED
    z_b, d_b, G = Z[k], d[k], space[0, :width]
    errors, least, now = found[0][low:high], found[1][low:high], (sse / share).sum()
    for i in range(width):
        G[i], errors[i], least[i] = 0.0, now, np.inf
    for f in range(F):
        g, h = space[1 + f, :width], space[1 + F + f, :width]
        first, last = starts[f], starts[f + 1]
        if full:
            p, q = pending[0, f, low:high], pending[1, f, low:high]
            t, u = pending[2, f, low:high], pending[3, f, low:high]
            for r in range(first, last):
                d0, d1, d2, d3 = d[begun, r], d[begun + 1, r], d[begun + 2, r], d[begun + 3, r]
                if rows[r] < D.shape[0] - 1:
                    _write(D[rows[r], low:high], d0, d1, d2, d3, p, q, t, u)
        _three_products(low, high, first, last, D, rows, z_b, d_b, v, g, h, G)
        if not full:
            for before in range(k - begun):
                _correct(pending[before, f, low:high], factors[f, before], g, h, G)
    place = 0 if full else k - begun
    for f in range(F):
        g, h, u = space[1 + f, :width], space[1 + F + f, :width], pending[place, f, low:high]
        left, square, inverse = s[f, low:high], dd[f, low:high], 1.0 / pivots[f, k]
        for i in range(width):
            u[i] = (G[i] - g[i]) * inverse
        _follow_squares(u, h, pivots[f, k], numbers[f, 0, 0], left, square, least)
        for t in range(c.shape[1]):
            of_b = (numbers[f, 1, t], numbers[f, 2, t], numbers[f, 3, t])
            product, beside = c[f, t, low:high], ed[f, t, low:high]
            _follow_target(u, h, of_b, 1.0 / share[f], left, square, product, beside, errors)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _is_doubtful(i, data, fine, square, state, x):  # type: ignore[no-untyped-def]
    """Whether in some training part too little is left of column i for sums of products."""
    starts = data[6]
    _column(i, data, x)
    for f in range(starts.size - 1):
        x_f = x[starts[f] : starts[f + 1]]
        if not state[0][f, i] > fine * max(square - _dot(x_f, x_f), 0.0):
            return True
    return False


@njit(nogil=True, cache=True, error_model="numpy")
def advance(until, tile, allowed, ties, data, about, state, chosen, steps, space, found, subset):  # type: ignore[no-untyped-def]
    """Features up to ``until``; how many, whether residuals vanished, whether sums told enough.

    An intercept is the first of the columns that are ``chosen``, and there from the beginning.
    """
    tie, floor, vanished, fine = ties
    alpha, base, share = about[0], about[4], about[5]
    s, dd, c, ed, sse = state[:5]
    errors, least, squares = found
    n, begun, empty, first = errors.size, 0, (sse / share).sum(), sse.sum()
    for low in range(0, n, tile):
        high = min(n, low + tile)
        _fill(low, high, data, about, state, squares, space)
        for i in range(low, high):
            errors[i], least[i] = empty, np.inf
        for f in range(sse.size):
            left, square = s[f, low:high], dd[f, low:high]
            for i in range(low, high):
                least[i] = min(least[i], s[f, i])
            for t in range(c.shape[1]):
                given = (c[f, t, low:high], ed[f, t, low:high], errors[low:high])
                _judge(1.0 / share[f], left, square, *given)
    k = 0
    while True:
        if sse.sum() <= vanished * first:
            return k, True, True
        if k == until:
            return k, False, True
        best = np.inf
        for i in range(n):
            if allowed[i]:
                if not least[i] > fine * squares[i] and _is_doubtful(
                    i, data, fine, squares[i], state, chosen[10]
                ):
                    return k, False, False
                best = min(best, errors[i])
        if not best < np.inf:
            return k, False, True
        most, b = best + tie * abs(best) + floor * empty, -1
        for i in range(n):
            if allowed[i] and errors[i] <= most:
                b = i
                break
        at = k + base
        _enter(b, at, data, alpha, state, chosen)
        if _blurs(at, base, 1.0 / fine, chosen):
            return k, False, False
        _add(b, at, begun, data, state, chosen, steps)
        if k + 1 < until:
            more = (data, share, state, chosen, steps, space, found)
            for low in range(0, n, tile):
                _follow(low, min(n, low + tile), at, begun, *more)
            if at - begun == POSTPONED:
                begun = at
        allowed[b] = False
        subset[k] = b
        k += 1
