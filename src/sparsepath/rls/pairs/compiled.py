"""Compiled loops over pairs of samples: all pairs left out in turn, or pairs in the wrong order.

The letters are those of ``model.py``. The loops over pairs keep nothing of the size of the pairs.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


def _over_pairs(squared: bool, each: bool) -> Callable[..., None]:
    """The loop over pairs, by squares or by order, with or without the sum of every sample."""

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def totals(H, Z, low, high, inverse, tau, F, y, g, share, stop, begin, blur, room, own, out):  # type: ignore[no-untyped-def]
        """``out`` <- sums of g_i^2 g_j^2 times the loss of the pairs i < stop, j >= begin, i < j.

        Of each of the models from ``low`` to ``high``, with H + zz' inverse and F + z tau,
        z a row of Z; y is centred if there is an intercept, and then ``share`` is one over the
        weight of all samples. ``own`` gets the sums over the pairs of every sample, without its own
        weight. Infinite if a pair leaves no room.
        """
        m = g.size
        gy, over, weight = g * y, 1.0 / g, g * g
        h, p, r, part = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
        for c in range(low, high):
            z, step = Z[c], inverse[c]
            for j in range(m):
                f = F[j] + z[j] * tau[c]
                h[j] = H[j, j] + z[j] * z[j] * step
                p[j] = 1.0 - share * weight[j] - h[j]
                r[j] = gy[j] - f
                part[j] = f - h[j] * gy[j]  # less what the sample itself has in its fitted value
            all_pairs, tight = 0.0, 0.0
            for i in range(stop):
                zi, hi, pi, ri, fi = step * z[i], h[i], p[i], r[i], part[i]
                gi, gyi, yi, over_i, weight_i = g[i], gy[i], y[i], over[i], weight[i]
                # Vectors from the first partner on: places counted from zero are known to be there.
                first = max(i + 1, begin)
                row, zs, ps, rs = H[i, first:], z[first:], p[first:], r[first:]
                hs, parts, gs, gys = h[first:], part[first:], g[first:], gy[first:]
                ys, overs, weights, owns = y[first:], over[first:], weight[first:], own[first:]
                mine = 0.0
                for j in range(m - first):
                    x = row[j] + zi * zs[j]
                    cross = -share * gi * gs[j] - x
                    det = pi * ps[j] - cross * cross
                    if squared:
                        e_i = (ps[j] * ri - cross * rs[j]) * over_i
                        e_j = (pi * rs[j] - cross * ri) * overs[j]
                        gap = (e_i - e_j) / det if det > room else 0.0
                        loss = gap * gap
                    else:
                        a, b = fi - x * gys[j], parts[j] - x * gyi
                        rest = -share * (gi * gyi + gs[j] * gys[j])
                        gap = rest * (hi - hs[j] + x * (gs[j] * over_i - gi * overs[j]))
                        gap += (ps[j] * a - cross * b) * over_i - (pi * b - cross * a) * overs[j]
                        gap = gap if yi > ys[j] else -gap
                        edge = blur[c] * det
                        loss = 0.5 * ((1.0 if gap < -edge else 0.0) + (1.0 if gap <= edge else 0.0))
                        loss = loss if yi != ys[j] else 0.0
                    tight += 1.0 if det <= room else 0.0
                    mine += weights[j] * loss
                    if each:
                        owns[j] += weight_i * loss
                if each:
                    own[i] += mine
                all_pairs += weight_i * mine
            out[c] = all_pairs if tight == 0.0 else np.inf

    return totals


sum_pairs = {
    (squared, each): _over_pairs(squared, each)
    for squared in (False, True)
    for each in (False, True)
}


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def count_pairs(H, Z, low, high, inverse, tau, fitted, y, share, stop, blur, room, out):  # type: ignore[no-untyped-def]
    """The same by order for two classes, those before ``stop`` the larger, and weights of one.

    With x = H_ij, q = p - share and a = F - h y, the terms of ``model.py`` are

        a_i q_j - a_j q_i - share (y_i + y_j) (h_i - h_j)
            + x ((a_j - y_j q_j) - (a_i - y_i q_i) - x (y_i - y_j)).
    """
    m = y.size
    n = m - stop
    yi, yj = y[0], y[m - 1]
    rest, apart = -share * (yi + yj), yi - yj
    h, q, a = np.empty(m), np.empty(m), np.empty(m)
    level, back = np.empty(n), np.empty(n)
    for c in range(low, high):
        z, step, near = Z[c], inverse[c], blur[c]
        for j in range(m):
            h[j] = H[j, j] + z[j] * z[j] * step
            q[j] = 1.0 - 2.0 * share - h[j]
            a[j] = fitted[j] + z[j] * tau[c] - h[j] * y[j]
        zs, qs, others = z[stop:], q[stop:], a[stop:]
        for j in range(n):
            level[j] = rest * h[stop + j]
            back[j] = others[j] - yj * qs[j]
        total = tight = 0.0
        for i in range(stop):
            zi, qi, ai = step * z[i], q[i], a[i]
            own, lead, pi = rest * h[i], yi * qi - ai, qi + share
            row = H[i, stop:]
            for j in range(n):
                x = row[j] + zi * zs[j]
                cross = share + x
                det = pi * (qs[j] + share) - cross * cross
                gap = (own - level[j]) + (ai * qs[j] - qi * others[j])
                gap += x * ((back[j] + lead) - x * apart)
                edge = near * det
                total += (1.0 if gap < -edge else 0.0) + (1.0 if gap <= edge else 0.0)
                tight += 1.0 if det <= room else 0.0
        out[c] = 0.5 * total if tight == 0.0 else np.inf


@njit(nogil=True, cache=True)
def count_disorder(D, e, omega, rows, n_larger, blur, out):  # type: ignore[no-untyped-def]
    """``out`` <- the pairs in the wrong order of the scores D omega_i - e, for each column of D.

    ``rows`` are those of the larger target first, ``n_larger`` of them. As ``sum_disorder`` where
    all weights are one: few rows are compared sooner than they are sorted. No product is joined
    with a difference, so that scores are those of NumPy to the last bit.
    """
    m = rows.size
    scores = np.empty(m)
    for i in range(D.shape[1]):
        for j in range(m):
            scores[j] = -(e[rows[j]] - D[rows[j], i] * omega[i])
        larger = scores[:n_larger]
        total = np.int64(0)
        for j in range(n_larger, m):
            low, high = scores[j] - blur[i], scores[j] + blur[i]
            wrong = np.int64(0)
            for k in range(n_larger):
                wrong += np.int64(larger[k] < low) + np.int64(larger[k] <= high)
            total += wrong
        out[i] = 0.5 * total


@njit(nogil=True, cache=True)
def _put(tree, place, weight):  # type: ignore[no-untyped-def]
    """Add a weight at a place of a tree of sums (Fenwick), in place."""
    place += 1
    while place < tree.size:
        tree[place] += weight
        place += place & -place


@njit(nogil=True, cache=True)
def _before(tree, place):  # type: ignore[no-untyped-def]
    """The sum of what was put at the places before this one."""
    total = 0.0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@njit(nogil=True, cache=True)
def sum_disorder(scores, ends, depth, weights, blur, out):  # type: ignore[no-untyped-def]
    """``out`` <- the weight of pairs in the wrong order, of each row of scores; see ``Order``."""
    for c in range(scores.shape[0]):
        total, begin = 0.0, 0
        for end in ends:
            s, d, w = scores[c, begin:end], depth[begin:end], weights[begin:end]
            order = np.argsort(s)
            below, up_to = np.zeros((2, d.max() + 2))
            a = b = 0
            for j in order:
                while a < s.size and s[order[a]] < s[j] - blur[c]:
                    _put(below, d[order[a]], w[order[a]])
                    a += 1
                while b < s.size and s[order[b]] <= s[j] + blur[c]:
                    _put(up_to, d[order[b]], w[order[b]])
                    b += 1
                total += w[j] * (_before(below, d[j]) + _before(up_to, d[j]))
            begin = end
        out[c] = 0.5 * total
