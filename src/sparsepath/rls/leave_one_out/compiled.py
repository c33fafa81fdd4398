"""Compiled loops: what a block of rows does with its vectors, in one pass over them.

``count_wrong`` and ``sum_absolute`` serve the cache search: ``cache`` becomes cache - new q', in
place unless it is left to the next step, and ``out[i]`` gets this block's share of the criterion
with feature i added: r - z tau_i and p - z^2 inverse_i, z the feature's row of the cache.
``sum_squares`` does the same for a few candidates as they stand. Without room in p the share is
infinite.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 2048  # samples of a strip: the vectors stay in cache while the features stream by
AT_ONCE = 3  # features counted at once


def _counting(write: bool) -> Callable[..., None]:
    """The loop that counts, which keeps the changes of the cache or not: to write takes as long."""

    @njit(nogil=True, cache=True, fastmath=FAST)
    def count(cache, q0, new0, q, new, r, p, g, v, tau, inverse, blur, room, out):  # type: ignore[no-untyped-def]
        """Weight v of the samples with r - z tau >= g (p - z^2 inverse - blur); see the module.

        The signs of the target are in z, q and r already. ``AT_ONCE`` features at a time, so that
        the vectors are loaded once for all; their number is a multiple of it. Two changes are made
        at once: new0 q0', left from the step before, and new q'.
        """
        n, m = cache.shape
        full = np.zeros(n)
        a = r - g * p
        out[:] = 0.0
        for low in range(0, m, STRIP):
            part = slice(low, min(m, low + STRIP))
            qs0, qs = q0[part], q[part]
            ps, gs, vs, most = p[part], g[part], v[part], a[part]
            for i in range(0, n, AT_ONCE):
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


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def sum_squares(candidates, r, p, share, tau, inverse, room, out):  # type: ignore[no-untyped-def]
    """Sum of share ((r - z tau) / (p - z^2 inverse))^2 for each row z of ``candidates``."""
    for i in range(candidates.shape[0]):
        z = candidates[i]
        t = tau[i]
        w = inverse[i]
        total = 0.0
        tight = 0.0
        for j in range(z.size):
            x = z[j]
            left = p[j] - x * x * w
            e = (r[j] - x * t) / left
            total += share[j] * e * e
            tight += 1.0 if left <= room else 0.0
        out[i] = total if tight == 0.0 else float("inf")


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def measure(r, p, share, g, v, about, room, losses, u):  # type: ignore[no-untyped-def]
    """Losses share (r / p)^2 and u = r / p^2 of every sample; return their sums.

    The sum of the losses, the number of samples without room in p, r'r, the sums of
    (loss - about v)^2 and of that difference times v; g'u, u'u and u'r.
    """
    total = tight = squares = around = slope = gu = uu = ur = 0.0
    for j in range(r.size):
        left = p[j] if p[j] > room else room
        e = r[j] / left
        weight = e / left
        loss = share[j] * e * e
        off = loss - about * v[j]
        losses[j] = loss
        u[j] = weight
        total += loss
        around += off * off
        slope += off * v[j]
        tight += 1.0 if p[j] <= room else 0.0
        squares += r[j] * r[j]
        gu += g[j] * weight
        uu += weight * weight
        ur += weight * r[j]
    return total, tight, squares, around, slope, gu, uu, ur


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


@njit(nogil=True, cache=True, fastmath=FAST)
def adopt(w, root, tau, part, z, r, p, mix):  # type: ignore[no-untyped-def]
    """Add w: z <- w / root, r <- r - w tau, p <- p - z^2 and mix <- mix + part z, in place."""
    inverse = 1.0 / root
    for j in range(w.size):
        z[j] = w[j] * inverse
        mix[j] += part * z[j]
        r[j] -= w[j] * tau
        p[j] -= z[j] * z[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def take_off(ZT, t, WT, RT, squares, across):  # type: ignore[no-untyped-def]
    """W <- W - Z t in place; ``squares`` <- the squared norms of its columns, ``across`` <- W'r.

    ``ZT``, ``WT`` and ``RT`` have a row per column. Six columns of Z are read at once, and serve
    all of W while they are in cache.
    """
    k, m = ZT.shape
    squares[:] = 0.0
    across[:] = 0.0
    for low in range(0, m, STRIP):
        part = slice(low, min(m, low + STRIP))
        for i in range(0, k - 5, 6):
            z1, z2, z3 = ZT[i, part], ZT[i + 1, part], ZT[i + 2, part]
            z4, z5, z6 = ZT[i + 3, part], ZT[i + 4, part], ZT[i + 5, part]
            for c in range(WT.shape[0]):
                w = WT[c, part]
                t1, t2, t3 = t[i, c], t[i + 1, c], t[i + 2, c]
                t4, t5, t6 = t[i + 3, c], t[i + 4, c], t[i + 5, c]
                for j in range(w.size):
                    first = z1[j] * t1 + z2[j] * t2 + z3[j] * t3
                    w[j] -= first + z4[j] * t4 + z5[j] * t5 + z6[j] * t6
        for c in range(WT.shape[0]):
            w = WT[c, part]
            for i in range(k - k % 6, k):
                z = ZT[i, part]
                for j in range(w.size):
                    w[j] -= z[j] * t[i, c]
            square = 0.0
            for j in range(w.size):
                square += w[j] * w[j]
            squares[c] += square
            for i in range(RT.shape[0]):
                r = RT[i, part]
                total = 0.0
                for j in range(w.size):
                    total += w[j] * r[j]
                across[c, i] += total


@njit(nogil=True, cache=True, fastmath=FAST)
def take_off_one(ZT, t, w, u, r, mix, out):  # type: ignore[no-untyped-def]
    """Take Z t off w in place; ``out`` <- Z'u; return w'w, w'r and w'mix of the new w."""
    k, m = ZT.shape
    out[:] = 0.0
    square = across = mixed = 0.0
    for low in range(0, m, STRIP):
        part = slice(low, min(m, low + STRIP))
        ws, us, rs, ms = w[part], u[part], r[part], mix[part]
        for i in range(0, k - 5, 6):
            z1, z2, z3 = ZT[i, part], ZT[i + 1, part], ZT[i + 2, part]
            z4, z5, z6 = ZT[i + 3, part], ZT[i + 4, part], ZT[i + 5, part]
            t1, t2, t3, t4, t5, t6 = t[i], t[i + 1], t[i + 2], t[i + 3], t[i + 4], t[i + 5]
            s1 = s2 = s3 = s4 = s5 = s6 = 0.0
            for j in range(ws.size):
                first = z1[j] * t1 + z2[j] * t2 + z3[j] * t3
                ws[j] -= first + z4[j] * t4 + z5[j] * t5 + z6[j] * t6
                s1 += z1[j] * us[j]
                s2 += z2[j] * us[j]
                s3 += z3[j] * us[j]
                s4 += z4[j] * us[j]
                s5 += z5[j] * us[j]
                s6 += z6[j] * us[j]
            out[i] += s1
            out[i + 1] += s2
            out[i + 2] += s3
            out[i + 3] += s4
            out[i + 4] += s5
            out[i + 5] += s6
        for i in range(k - k % 6, k):
            z = ZT[i, part]
            s1 = 0.0
            for j in range(ws.size):
                ws[j] -= z[j] * t[i]
                s1 += z[j] * us[j]
            out[i] += s1
        for j in range(ws.size):
            square += ws[j] * ws[j]
            across += ws[j] * rs[j]
            mixed += ws[j] * ms[j]
    return square, across, mixed
