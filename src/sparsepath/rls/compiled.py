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

from sparsepath.data.compiled import two_products

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 2048  # samples of a strip: the vectors stay in cache while the features stream by
SHORT = 512  # and where a hundred columns are to stay in cache too


def _counting(write: bool) -> Callable[..., None]:
    """The loop that counts, which keeps the changes of the cache or not: to write takes as long."""

    @njit(nogil=True, cache=True, fastmath=FAST)
    def count(cache, q0, new0, q, new, y, r, p, g, v, tau, inverse, room, out):  # type: ignore[no-untyped-def]
        """Weight v of the samples with y (r - z tau) >= g (p - z^2 inverse); see the module.

        With a = y r - g p that is a + g z^2 inverse >= y z tau. Two features at a time, so that the
        vectors are loaded once for both; an odd one out is done twice. Two changes are made at
        once: new0 q0', left from the step before, and new q'.
        """
        n, m = cache.shape
        full = np.zeros(n)
        a = y * r - g * p
        out[:] = 0.0
        for low in range(0, m, STRIP):
            part = slice(low, min(m, low + STRIP))
            qs0, qs = q0[part], q[part]
            ys, ps, gs, vs, most = y[part], p[part], g[part], v[part], a[part]
            for i in range(0, n, 2):
                k = i + 1 if i + 1 < n else i
                z1, z2 = cache[i, part], cache[k, part]
                c1, b1, t1, w1 = new0[i], new[i], tau[i], inverse[i]
                t2, w2 = tau[k], inverse[k]
                c2, b2 = (new0[k], new[k]) if k > i else (0.0, 0.0)
                wrong1 = wrong2 = full1 = full2 = 0.0
                for j in range(z1.size):
                    x1 = (z1[j] - c1 * qs0[j]) - b1 * qs[j]
                    if write:
                        z1[j] = x1
                    s1 = x1 * x1 * w1
                    wrong1 += vs[j] if most[j] + s1 * gs[j] >= ys[j] * x1 * t1 else 0.0
                    full1 += 1.0 if ps[j] - s1 <= room else 0.0
                    x2 = (z2[j] - c2 * qs0[j]) - b2 * qs[j]
                    if write:
                        z2[j] = x2
                    s2 = x2 * x2 * w2
                    wrong2 += vs[j] if most[j] + s2 * gs[j] >= ys[j] * x2 * t2 else 0.0
                    full2 += 1.0 if ps[j] - s2 <= room else 0.0
                out[i] += wrong1
                full[i] += full1
                if k > i:
                    out[k] += wrong2
                    full[k] += full2
        for i in range(n):
            if full[i] > 0.0:
                out[i] = np.inf

    return count


count_wrong, count_wrong_writing = _counting(False), _counting(True)


@njit(nogil=True, cache=True, fastmath=FAST)
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


@njit(nogil=True, cache=True, fastmath=FAST)
def measure(r, p, share, g, v, about, losses, u):  # type: ignore[no-untyped-def]
    """Losses share (r / p)^2 and u = r / p^2 of every sample; return their sums.

    The sum of the losses, the smallest p, r'r, the sums of (loss - about v)^2 and of that
    difference times v; g'u, u'u and u'r.
    """
    total = squares = around = slope = gu = uu = ur = 0.0
    least = np.inf
    for j in range(r.size):
        e = r[j] / p[j]
        weight = e / p[j]
        loss = share[j] * e * e
        off = loss - about * v[j]
        losses[j] = loss
        u[j] = weight
        total += loss
        around += off * off
        slope += off * v[j]
        least = min(least, p[j])
        squares += r[j] * r[j]
        gu += g[j] * weight
        uu += weight * weight
        ur += weight * r[j]
    return total, least, squares, around, slope, gu, uu, ur


@njit(nogil=True, cache=True, fastmath=FAST)
def adopt(w, root, tau, z, r, p):  # type: ignore[no-untyped-def]
    """Add the candidate w: z <- w / root, r <- r - w tau and p <- p - z^2, in place."""
    inverse = 1.0 / root
    for j in range(w.size):
        z[j] = w[j] * inverse
        r[j] -= w[j] * tau
        p[j] -= z[j] * z[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def take_off(ZT, t, WT, RT, squares, across):  # type: ignore[no-untyped-def]
    """W <- W - Z t in place; ``squares`` <- the squared norms of its columns, ``across`` <- W'r.

    ``ZT``, ``WT`` and ``RT`` have a row per column. Four columns of Z are read at once, and serve
    all of W while they are in cache.
    """
    k, m = ZT.shape
    squares[:] = 0.0
    across[:] = 0.0
    for low in range(0, m, STRIP):
        part = slice(low, min(m, low + STRIP))
        for i in range(0, k - 3, 4):
            z1, z2, z3, z4 = ZT[i, part], ZT[i + 1, part], ZT[i + 2, part], ZT[i + 3, part]
            for c in range(WT.shape[0]):
                w = WT[c, part]
                t1, t2, t3, t4 = t[i, c], t[i + 1, c], t[i + 2, c], t[i + 3, c]
                for j in range(w.size):
                    w[j] -= z1[j] * t1 + z2[j] * t2 + z3[j] * t3 + z4[j] * t4
        for c in range(WT.shape[0]):
            w = WT[c, part]
            for i in range(k - k % 4, k):
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
def take_off_one(ZT, t, w, u, r, out):  # type: ignore[no-untyped-def]
    """Take Z t off w in place; ``out`` <- Z'[w, u] of the new w; return its w'w and w'r.

    Z comes from memory once: a short strip of it serves both products while it is in cache.
    """
    k, m = ZT.shape
    which = np.arange(k)
    out[:] = 0.0
    square = across = 0.0
    for low in range(0, m, SHORT):
        part = slice(low, min(m, low + SHORT))
        ws, us, rs = w[part], u[part], r[part]
        for i in range(0, k - 3, 4):
            z1, z2, z3, z4 = ZT[i, part], ZT[i + 1, part], ZT[i + 2, part], ZT[i + 3, part]
            t1, t2, t3, t4 = t[i], t[i + 1], t[i + 2], t[i + 3]
            for j in range(ws.size):
                ws[j] -= z1[j] * t1 + z2[j] * t2 + z3[j] * t3 + z4[j] * t4
        for i in range(k - k % 4, k):
            z = ZT[i, part]
            for j in range(ws.size):
                ws[j] -= z[j] * t[i]
        for j in range(ws.size):
            square += ws[j] * ws[j]
            across += ws[j] * rs[j]
        two_products(ZT, low, which, ws, us, out)
    return square, across
