"""Compiled loops: what a block of rows does with its vectors, in one pass over them.

``sum_squares`` gives this block's share of the squared criterion with a few candidates added, z:
r - z tau_i and p - z^2 inverse_i. Without room in p the share is infinite.
"""

from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
STRIP = 2048  # samples of a strip: the vectors stay in cache while the features stream by


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
