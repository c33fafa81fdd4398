"""Compiled loops of losses without bounds: a change is made and judged in one pass.

Rows are features by samples. Two features go together, so that what belongs to a sample is loaded
once for both.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
CLASS_STRIP = 512  # samples of a strip: what several classes ask for stays in the fastest cache


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
    v, p, y, a = given[0], given[1], given[2], given[3]
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
