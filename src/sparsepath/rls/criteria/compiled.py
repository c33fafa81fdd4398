"""Compiled loops of losses: all candidates in one pass over P X, and the model in one over r.

``cache`` becomes cache - new q', in place unless it is left to the next step, and ``out[i]`` gets
this block's share of the criterion with feature i added: r - z tau_i and p - z^2 inverse_i, z the
feature's row of the cache. Without room in p the share is infinite.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 2048  # samples of a strip: the vectors stay in cache while the features stream by
FEATURES_AT_ONCE = 3  # features counted at once


def _counting(write: bool) -> Callable[..., None]:
    """The loop that counts, which keeps the changes of the cache or not: to write takes as long."""

    @njit(nogil=True, cache=True, fastmath=FAST)
    def count(cache, q0, new0, q, new, r, p, g, v, tau, inverse, blur, room, out):  # type: ignore[no-untyped-def]
        """Weight v of the samples with r - z tau >= g (p - z^2 inverse - blur); see the module.

        The signs of the target are in z, q and r already. ``FEATURES_AT_ONCE`` are taken at a time,
        so that the vectors are loaded once for all; their number is a multiple of it. Two changes
        are made at once: new0 q0', left from the step before, and new q'.
        """
        n, m = cache.shape
        full = np.zeros(n)
        a = r - g * p
        out[:] = 0.0
        for low in range(0, m, STRIP):
            part = slice(low, min(m, low + STRIP))
            qs0, qs = q0[part], q[part]
            ps, gs, vs, most = p[part], g[part], v[part], a[part]
            for i in range(0, n, FEATURES_AT_ONCE):
                z1, z2, z3 = cache[i, part], cache[i + 1, part], cache[i + 2, part]
                c1, c2, c3 = new0[i], new0[i + 1], new0[i + 2]
                b1, b2, b3 = new[i], new[i + 1], new[i + 2]
                t1, t2, t3 = tau[i], tau[i + 1], tau[i + 2]
                w1, w2, w3 = inverse[i], inverse[i + 1], inverse[i + 2]
                l1, l2, l3 = -blur[i], -blur[i + 1], -blur[i + 2]
                wrong1 = wrong2 = wrong3 = full1 = full2 = full3 = 0.0
                for j in range(z1.size):
                    x1 = (z1[j] - c1 * qs0[j]) - b1 * qs[j]
                    x2 = (z2[j] - c2 * qs0[j]) - b2 * qs[j]
                    x3 = (z3[j] - c3 * qs0[j]) - b3 * qs[j]
                    if write:
                        z1[j] = x1
                        z2[j] = x2
                        z3[j] = x3
                    s1, s2, s3 = w1 * x1, w2 * x2, w3 * x3
                    wrong1 += vs[j] if most[j] + x1 * (gs[j] * s1 - t1) >= gs[j] * l1 else 0.0
                    wrong2 += vs[j] if most[j] + x2 * (gs[j] * s2 - t2) >= gs[j] * l2 else 0.0
                    wrong3 += vs[j] if most[j] + x3 * (gs[j] * s3 - t3) >= gs[j] * l3 else 0.0
                    full1 += 1.0 if ps[j] - x1 * s1 <= room else 0.0
                    full2 += 1.0 if ps[j] - x2 * s2 <= room else 0.0
                    full3 += 1.0 if ps[j] - x3 * s3 <= room else 0.0
                out[i] += wrong1
                out[i + 1] += wrong2
                out[i + 2] += wrong3
                full[i] += full1
                full[i + 1] += full2
                full[i + 2] += full3
        for i in range(n):
            if full[i] > 0.0:
                out[i] = np.inf

    return count


count_wrong, count_wrong_writing = _counting(False), _counting(True)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def sum_absolute(cache, q, new, r, p, v, tau, inverse, room, out):  # type: ignore[no-untyped-def]
    """Sum of v |r - z tau| / (p - z^2 inverse); see the module."""
    for i in range(cache.shape[0]):
        z = cache[i]
        b = new[i]
        t = tau[i]
        w = inverse[i]
        total = 0.0
        tight = 0.0
        for j in range(z.size):
            x = z[j] - b * q[j]
            z[j] = x
            left = p[j] - x * x * w
            total += v[j] * abs(r[j] - x * t) / left
            tight += 1.0 if left <= room else 0.0
        out[i] = total if tight == 0.0 else float("inf")


@njit(nogil=True, cache=True, fastmath=FAST)
def measure_wrong(y, r, p, g, v, about, blur, room, losses):  # type: ignore[no-untyped-def]
    """Losses v where y r >= g (p - blur), else zero; return ``measure``'s first sums."""
    total = tight = squares = around = slope = 0.0
    for j in range(r.size):
        loss = v[j] if y[j] * r[j] - g[j] * p[j] >= -blur * g[j] else 0.0
        off = loss - about * v[j]
        losses[j] = loss
        total += loss
        around += off * off
        slope += off * v[j]
        tight += 1.0 if p[j] <= room else 0.0
        squares += r[j] * r[j]
    return total, tight, squares, around, slope


# Rows of P X as they lie, less f D where there is any f: candidates ``which[low:high]``. ----------


@njit(nogil=True, cache=True, fastmath=FAST)
def judge_wrong(rows, which, low, high, D, f, tau, inverse, blur, y, r, p, g, v, room, out):  # type: ignore[no-untyped-def]
    """Weight v of the samples with y (r - z tau) >= g (p - z^2 inverse - blur), y the signs."""
    for k in range(low, high):
        row, step = rows[which[k]], 0.0
        if f.size:
            step = f[which[k]]
        t, w, slack = tau[k], inverse[k], blur[k]
        total = tight = 0.0
        for j in range(p.size):
            x = row[j] - step * D[j]
            left = p[j] - x * x * w
            total += v[j] if y[j] * (r[j] - x * t) >= g[j] * (left - slack) else 0.0
            tight += 1.0 if left <= room else 0.0
        out[k] = total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST)
def judge_wrong_class(rows, which, low, high, D, f, tau, inverse, blur, y, r, p, g, v, room, out):  # type: ignore[no-untyped-def]
    """The same for several targets, e = r - z tau, y the own class: e_own - e_other is twice p."""
    m = p.size
    z, left, own, least = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for k in range(low, high):
        row, step = rows[which[k]], 0.0
        if f.size:
            step = f[which[k]]
        w, tight = inverse[k], 0.0
        for j in range(m):
            z[j] = row[j] - step * D[j]
            left[j] = p[j] - z[j] * z[j] * w
            tight += 1.0 if left[j] <= room else 0.0
        least[:] = np.inf
        for c in range(r.shape[0]):
            t, rc = tau[k, c], r[c]
            for j in range(m):
                e = rc[j] - z[j] * t
                mine = y[j] == c
                own[j] = e if mine else own[j]
                least[j] = least[j] if mine else min(least[j], e)
        total, slack = 0.0, blur[k]
        for j in range(m):
            far = own[j] - least[j] >= g[j] * (2.0 * left[j] - slack)
            total += v[j] if far else 0.0
        out[k] = total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge_huber(rows, which, low, high, D, f, tau, inverse, delta, r, p, scale, v, room, out):  # type: ignore[no-untyped-def]
    """Sum over targets of v n (e - n/2), n = min(e, delta), e = scale |r - z tau| / left."""
    for k in range(low, high):
        row, step = rows[which[k]], 0.0
        if f.size:
            step = f[which[k]]
        w = inverse[k]
        total = tight = 0.0
        for c in range(r.shape[0]):
            t, rc = tau[k, c], r[c]
            for j in range(p.size):
                x = row[j] - step * D[j]
                left = p[j] - x * x * w
                e = scale[j] * abs(rc[j] - x * t) / left
                near = min(e, delta)
                total += v[j] * near * (e - 0.5 * near)
                tight += 1.0 if left <= room else 0.0
        out[k] = total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge_absolute(rows, which, low, high, D, f, tau, inverse, r, p, v, room, out):  # type: ignore[no-untyped-def]
    """Sum over targets of v |r - z tau| / (p - z^2 inverse)."""
    for k in range(low, high):
        row, step = rows[which[k]], 0.0
        if f.size:
            step = f[which[k]]
        w = inverse[k]
        total = tight = 0.0
        for c in range(r.shape[0]):
            t, rc = tau[k, c], r[c]
            for j in range(p.size):
                x = row[j] - step * D[j]
                left = p[j] - x * x * w
                total += v[j] * abs(rc[j] - x * t) / left
                tight += 1.0 if left <= room else 0.0
        out[k] = total if tight == 0.0 else np.inf
