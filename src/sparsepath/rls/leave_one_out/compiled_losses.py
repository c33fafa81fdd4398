"""Compiled loops of losses without bounds: a change is made and judged in one pass.

``sweep`` does what ``whole_losses.py`` does in NumPy, number for number. Columns are samples by
features, so that loops run over features: a sum over samples is taken sample by sample, in vector
registers, without any change of its order. Four samples go together, so that what belongs to a
feature is loaded once for all.

``sweep_rows`` has features by samples and sums in any order. Two features go together, so that what
belongs to a sample is loaded once for both.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
CLASS_STRIP = 512  # samples of a strip: what several classes ask for stays in the fastest cache
FEATURE_TILE = 256  # features whose sums are taken together: they stay in the fastest cache


@njit(nogil=True, cache=True, error_model="numpy")
def sweep(Z, m, first, D, dual, pivot, products, judging, S, C, blur, out):  # type: ignore[no-untyped-def]
    """Take a change off the columns and judge all of them; see ``whole_losses.sweep``."""
    space = np.empty((6, FEATURE_TILE))
    for low in range(0, Z.shape[1], FEATURE_TILE):
        high = min(Z.shape[1], low + FEATURE_TILE)
        f = space[0, : high - low]
        f[:] = 0.0
        if not first:
            _products(Z, low, dual, f)
            _follow(Z, low, m, D, f, pivot, products, S[low:high], C[:, low:high])
        columns = S[low:high], C[:, low:high], blur[low:high]
        _judge(Z, low, m, D, f, judging, columns, space, out[low:high])


@njit(nogil=True, cache=True, error_model="numpy")
def _products(Z, low, dual, f):  # type: ignore[no-untyped-def]
    high = low + f.size
    for j in range(0, dual.size, 4):
        z0, z1 = Z[j, low:high], Z[j + 1, low:high]
        z2, z3 = Z[j + 2, low:high], Z[j + 3, low:high]
        d0, d1, d2, d3 = dual[j], dual[j + 1], dual[j + 2], dual[j + 3]
        for i in range(f.size):
            f[i] = (((f[i] + z0[i] * d0) + z1[i] * d1) + z2[i] * d2) + z3[i] * d3


@njit(nogil=True, cache=True, error_model="numpy")
def _follow(Z, low, m, D, f, pivot, products, S, C):  # type: ignore[no-untyped-def]
    """What the change makes of pivots, products and coefficients."""
    for i in range(f.size):
        S[i] -= f[i] * f[i] * pivot
    for t in range(products.size):
        c, a = C[t], products[t]
        for i in range(f.size):
            c[i] -= f[i] * a
    for j in range(m, D.size):
        z, d = Z[j, low : low + f.size], D[j]
        for i in range(f.size):
            z[i] -= f[i] * d


@njit(nogil=True, cache=True, error_model="numpy")
def _judge(Z, low, m, D, f, judging, columns, space, out):  # type: ignore[no-untyped-def]
    """Make the change of the samples' part and judge it."""
    kind, given, own, delta, room = judging
    S, C, blur = columns
    n = f.size
    w, tau, left, some = space[1, :n], space[2, :n], space[3, :n], space[4, :n]
    for i in range(n):
        w[i] = 1.0 / S[i]
        left[i] = np.inf
        out[i] = 0.0
    if kind == WRONG_CLASS:
        taus = np.empty((C.shape[0], n))
        for t in range(C.shape[0]):
            for i in range(n):
                taus[t, i] = C[t, i] * w[i]
        _wrong_class(Z, low, m, D, f, w, taus, blur, given, own, tau, some, out, left)
    else:
        for t in range(C.shape[0]):
            for i in range(n):
                tau[i] = C[t, i] * w[i]
                some[i] = 0.0
            if kind == WRONG:
                _wrong(Z, low, m, D, f, w, tau, blur, given, some, left)
            elif kind == ABSOLUTE:
                _absolute(Z, low, m, D, f, w, tau, given, given[2 + t], some, left)
            else:
                _huber(Z, low, m, D, f, w, tau, given, given[3 + t], delta, some, left)
            for i in range(n):
                out[i] += some[i]
                f[i] = 0.0  # the change has been made
    for i in range(n):
        if left[i] <= room:
            out[i] = np.inf


@njit(nogil=True, cache=True, error_model="numpy")
def _less(a, b):  # type: ignore[no-untyped-def]
    return a if a < b else b


@njit(nogil=True, cache=True, error_model="numpy")
def _wrong(Z, low, m, D, f, w, tau, blur, given, out, left):  # type: ignore[no-untyped-def]
    v, p, a, y = given[0], given[1], given[2], given[3]
    high = low + f.size
    for j in range(0, m, 4):
        z0, z1 = Z[j, low:high], Z[j + 1, low:high]
        z2, z3 = Z[j + 2, low:high], Z[j + 3, low:high]
        d0, d1, d2, d3 = D[j], D[j + 1], D[j + 2], D[j + 3]
        a0, a1, a2, a3 = a[j], a[j + 1], a[j + 2], a[j + 3]
        y0, y1, y2, y3 = y[j], y[j + 1], y[j + 2], y[j + 3]
        v0, v1, v2, v3 = v[j], v[j + 1], v[j + 2], v[j + 3]
        p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
        for i in range(f.size):
            b, t, far = f[i], tau[i], -blur[i]
            x0, x1, x2, x3 = z0[i] - b * d0, z1[i] - b * d1, z2[i] - b * d2, z3[i] - b * d3
            z0[i], z1[i], z2[i], z3[i] = x0, x1, x2, x3
            s0, s1, s2, s3 = x0 * w[i], x1 * w[i], x2 * w[i], x3 * w[i]
            total = out[i]
            total += v0 if a0 + x0 * (s0 - y0 * t) >= far else 0.0
            total += v1 if a1 + x1 * (s1 - y1 * t) >= far else 0.0
            total += v2 if a2 + x2 * (s2 - y2 * t) >= far else 0.0
            total += v3 if a3 + x3 * (s3 - y3 * t) >= far else 0.0
            out[i] = total
            least = _less(_less(p0 - x0 * s0, p1 - x1 * s1), _less(p2 - x2 * s2, p3 - x3 * s3))
            left[i] = _less(least, left[i])


@njit(nogil=True, cache=True, error_model="numpy")
def _wrong_class(Z, low, m, D, f, w, taus, blur, given, own, q, hit, out, left):  # type: ignore[no-untyped-def]
    v, p, over = given[0], given[1], given[2]
    high = low + f.size
    for j in range(m):
        z, d, mine, oj, vj, pj = Z[j, low:high], D[j], own[j], over[j], v[j], p[j]
        tau = taus[mine]
        for i in range(f.size):
            x = z[i] - f[i] * d
            z[i] = x
            s = x * w[i]
            q[i] = 2.0 * s
            hit[i] = 0.0
            left[i] = _less(pj - x * s, left[i])
        for c in range(taus.shape[0]):
            if c == mine:
                continue
            a, t = given[3 + c, j], taus[c]
            for i in range(f.size):
                far = a + z[i] * (q[i] - oj * (tau[i] - t[i])) >= -blur[i]
                hit[i] = vj if far else hit[i]
        for i in range(f.size):
            out[i] += hit[i]


@njit(nogil=True, cache=True, error_model="numpy")
def _absolute(Z, low, m, D, f, w, tau, given, r, out, left):  # type: ignore[no-untyped-def]
    v, p = given[0], given[1]
    high = low + f.size
    for j in range(0, m, 4):
        z0, z1 = Z[j, low:high], Z[j + 1, low:high]
        z2, z3 = Z[j + 2, low:high], Z[j + 3, low:high]
        d0, d1, d2, d3 = D[j], D[j + 1], D[j + 2], D[j + 3]
        r0, r1, r2, r3 = r[j], r[j + 1], r[j + 2], r[j + 3]
        v0, v1, v2, v3 = v[j], v[j + 1], v[j + 2], v[j + 3]
        p0, p1, p2, p3 = p[j], p[j + 1], p[j + 2], p[j + 3]
        for i in range(f.size):
            b, t = f[i], tau[i]
            x0, x1, x2, x3 = z0[i] - b * d0, z1[i] - b * d1, z2[i] - b * d2, z3[i] - b * d3
            z0[i], z1[i], z2[i], z3[i] = x0, x1, x2, x3
            l0, l1 = p0 - x0 * (x0 * w[i]), p1 - x1 * (x1 * w[i])
            l2, l3 = p2 - x2 * (x2 * w[i]), p3 - x3 * (x3 * w[i])
            total = out[i]
            total += v0 * abs(r0 - x0 * t) / l0
            total += v1 * abs(r1 - x1 * t) / l1
            total += v2 * abs(r2 - x2 * t) / l2
            total += v3 * abs(r3 - x3 * t) / l3
            out[i] = total
            left[i] = _less(_less(_less(l0, l1), _less(l2, l3)), left[i])


@njit(nogil=True, cache=True, error_model="numpy")
def _huber(Z, low, m, D, f, w, tau, given, r, delta, out, left):  # type: ignore[no-untyped-def]
    v, p, scale = given[0], given[1], given[2]
    high = low + f.size
    for j in range(0, m, 2):
        z0, z1, d0, d1 = Z[j, low:high], Z[j + 1, low:high], D[j], D[j + 1]
        r0, r1, v0, v1, p0, p1 = r[j], r[j + 1], v[j], v[j + 1], p[j], p[j + 1]
        g0, g1 = scale[j], scale[j + 1]
        for i in range(f.size):
            b, t = f[i], tau[i]
            x0, x1 = z0[i] - b * d0, z1[i] - b * d1
            z0[i], z1[i] = x0, x1
            l0, l1 = p0 - x0 * (x0 * w[i]), p1 - x1 * (x1 * w[i])
            e0, e1 = g0 * abs(r0 - x0 * t) / l0, g1 * abs(r1 - x1 * t) / l1
            n0, n1 = _less(e0, delta), _less(e1, delta)
            out[i] = (out[i] + v0 * n0 * (e0 - 0.5 * n0)) + v1 * n1 * (e1 - 0.5 * n1)
            left[i] = _less(_less(l0, l1), left[i])


# Features by samples -----------------------------------------------------------------------------


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def sweep_rows(rows, low, high, m, D, dual, place, write, pivot, products, judging, S, C, blur, f, out):  # type: ignore[no-untyped-def]  # fmt: skip # noqa: E501
    """Take a change off the rows from ``low`` (even) to ``high`` and judge them.

    A row becomes row - f D, in place if ``write``: for an addition (``place`` -1) f is its product
    with ``dual``, for a removal minus what it has at ``place``; S, the pivots, lose f^2 ``pivot``
    and C, the products with the targets, f ``products``. -2 is no change.
    """
    kind, given, _, delta, room = judging
    width, T = D.size, products.size
    scratch, taus = np.zeros((3, rows.shape[1])), np.empty((2, T))
    space = np.empty((4, CLASS_STRIP))
    for i in range(low, high, 2):
        other = i + 1 if i + 1 < high else i
        row1, row2 = rows[i], scratch[2]
        if other > i:
            row2 = rows[other]
        f1 = f2 = 0.0
        if place == -1:
            for j in range(width):
                f1 += row1[j] * dual[j]
                f2 += row2[j] * dual[j]
        elif place >= 0:
            f1, f2 = -row1[place], -row2[place]
        f[other], f[i] = f2, f1
        if other > i:
            S[other] -= f2 * f2 * pivot
        S[i] -= f1 * f1 * pivot
        for t in range(T):
            if other > i:
                C[t, other] -= f2 * products[t]
            C[t, i] -= f1 * products[t]
        w1, w2 = 1.0 / S[i], 1.0 / S[other]
        for t in range(T):
            taus[0, t], taus[1, t] = C[t, i] * w1, C[t, other] * w2
        if write:
            for j in range(m, width):
                row1[j] -= f1 * D[j]
                row2[j] -= f2 * D[j]
        elif kind == WRONG_CLASS or T > 1:
            for j in range(m):
                scratch[0, j], scratch[1, j] = row1[j], row2[j]
            row1, row2 = scratch[0], scratch[1]
        there = write or kind == WRONG_CLASS or T > 1
        if kind == WRONG:
            t1, t2, l1, l2 = taus[0, 0], taus[1, 0], blur[i], blur[other]
            e1, e2 = _wrong_two(row1, row2, f1, f2, D, there, t1, t2, w1, w2, l1, l2, given, room)
        elif kind == WRONG_CLASS:
            for j in range(m):
                row1[j] -= f1 * D[j]
                row2[j] -= f2 * D[j]
            l1, l2 = blur[i], blur[other]
            e1, e2 = _wrong_class_two(row1, row2, taus, w1, w2, l1, l2, given, room, space)
        else:
            e1 = e2 = 0.0
            for t in range(T):
                t1, t2 = taus[0, t], taus[1, t]
                if kind == ABSOLUTE:
                    r = given[2 + t]
                    a1, a2 = _absolute_two(
                        row1, row2, f1, f2, D, there, t1, t2, w1, w2, given, r, room
                    )
                else:
                    r = given[3 + t]
                    a1, a2 = _huber_two(
                        row1, row2, f1, f2, D, there, t1, t2, w1, w2, given, r, delta, room
                    )
                e1 += a1
                e2 += a2
                f1 = f2 = 0.0  # the change has been made
        out[other] = e2
        out[i] = e1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _wrong_two(z1, z2, f1, f2, D, write, t1, t2, w1, w2, l1, l2, given, room):  # type: ignore[no-untyped-def]
    v, p, a, y = given[0], given[1], given[2], given[3]
    total1 = total2 = full1 = full2 = 0.0
    for j in range(p.size):
        x1, x2 = z1[j] - f1 * D[j], z2[j] - f2 * D[j]
        if write:
            z1[j] = x1
            z2[j] = x2
        s1, s2 = w1 * x1, w2 * x2
        total1 += v[j] if a[j] + x1 * (s1 - y[j] * t1) >= -l1 else 0.0
        total2 += v[j] if a[j] + x2 * (s2 - y[j] * t2) >= -l2 else 0.0
        full1 += 1.0 if p[j] - x1 * s1 <= room else 0.0
        full2 += 1.0 if p[j] - x2 * s2 <= room else 0.0
    return total1 if full1 == 0.0 else np.inf, total2 if full2 == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _wrong_class_two(z1, z2, taus, w1, w2, l1, l2, given, room, space):  # type: ignore[no-untyped-def]
    T, m = taus.shape[1], given.shape[1]
    total1 = total2 = full1 = full2 = 0.0
    for low in range(0, m, CLASS_STRIP):
        some = slice(low, min(m, low + CLASS_STRIP))
        v, p, over, y1, y2 = given[0, some], given[1, some], given[2, some], z1[some], z2[some]
        most1, most2, mine1, mine2 = space[0], space[1], space[2], space[3]
        for c in range(T):
            t1, t2 = taus[0, c], taus[1, c]
            a, own = given[3 + c, some], given[3 + T + c, some]
            first = c == 0
            for j in range(p.size):
                b1, b2 = a[j] + over[j] * y1[j] * t1, a[j] + over[j] * y2[j] * t2
                o1, o2 = own[j] * t1, own[j] * t2
                most1[j] = b1 if first or b1 > most1[j] else most1[j]
                most2[j] = b2 if first or b2 > most2[j] else most2[j]
                mine1[j] = o1 if first else mine1[j] + o1
                mine2[j] = o2 if first else mine2[j] + o2
        for j in range(p.size):
            x1, x2 = y1[j], y2[j]
            s1, s2 = w1 * x1, w2 * x2
            far1 = most1[j] + x1 * (2.0 * s1 - over[j] * mine1[j])
            far2 = most2[j] + x2 * (2.0 * s2 - over[j] * mine2[j])
            total1 += v[j] if far1 >= -l1 else 0.0
            total2 += v[j] if far2 >= -l2 else 0.0
            full1 += 1.0 if p[j] - x1 * s1 <= room else 0.0
            full2 += 1.0 if p[j] - x2 * s2 <= room else 0.0
    return total1 if full1 == 0.0 else np.inf, total2 if full2 == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _absolute_two(z1, z2, f1, f2, D, write, t1, t2, w1, w2, given, r, room):  # type: ignore[no-untyped-def]
    v, p = given[0], given[1]
    total1 = total2 = full1 = full2 = 0.0
    for j in range(p.size):
        x1, x2 = z1[j] - f1 * D[j], z2[j] - f2 * D[j]
        if write:
            z1[j] = x1
            z2[j] = x2
        left1, left2 = p[j] - x1 * x1 * w1, p[j] - x2 * x2 * w2
        total1 += v[j] * abs(r[j] - x1 * t1) / left1
        total2 += v[j] * abs(r[j] - x2 * t2) / left2
        full1 += 1.0 if left1 <= room else 0.0
        full2 += 1.0 if left2 <= room else 0.0
    return total1 if full1 == 0.0 else np.inf, total2 if full2 == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy", inline="always")
def _huber_two(z1, z2, f1, f2, D, write, t1, t2, w1, w2, given, r, delta, room):  # type: ignore[no-untyped-def]
    v, p, scale = given[0], given[1], given[2]
    total1 = total2 = full1 = full2 = 0.0
    for j in range(p.size):
        x1, x2 = z1[j] - f1 * D[j], z2[j] - f2 * D[j]
        if write:
            z1[j] = x1
            z2[j] = x2
        left1, left2 = p[j] - x1 * x1 * w1, p[j] - x2 * x2 * w2
        e1, e2 = scale[j] * abs(r[j] - x1 * t1) / left1, scale[j] * abs(r[j] - x2 * t2) / left2
        n1, n2 = e1 if e1 < delta else delta, e2 if e2 < delta else delta
        total1 += v[j] * n1 * (e1 - 0.5 * n1)
        total2 += v[j] * n2 * (e2 - 0.5 * n2)
        full1 += 1.0 if left1 <= room else 0.0
        full2 += 1.0 if left2 <= room else 0.0
    return total1 if full1 == 0.0 else np.inf, total2 if full2 == 0.0 else np.inf
