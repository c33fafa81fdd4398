"""Compiled loops over pairs of samples: all pairs left out in turn, or pairs in the wrong order.

The letters are those of ``model.py``. The loops over pairs keep nothing of the size of the pairs.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


def _over_pairs(squared: bool, each: bool) -> Callable[..., float]:
    """The loop over pairs, by squares or by order, with or without the sum of every sample."""

    @njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
    def total(H, z, inverse, h, F, y, g, share, stop, begin, blur, room, own):  # type: ignore[no-untyped-def]
        """Sum of g_i^2 g_j^2 times the loss of the pairs i < stop, j >= begin, i < j.

        Of the model with H + zz' inverse, whose diagonal is h, and fitted values F; y is centred
        if there is an intercept, and then ``share`` is one over the weight of all samples. ``own``
        gets the sums over the pairs of every sample, without its own weight. Infinite if a pair
        leaves no room.
        """
        m = g.size
        p = 1.0 - share * g * g - h
        gy = g * y
        r = gy - F
        over = 1.0 / g
        part = F - h * gy  # less what the sample itself has in its fitted value
        weight = g * g
        all_pairs, tight = 0.0, 0.0
        for i in range(stop):
            zi, hi, pi, ri, fi = inverse * z[i], h[i], p[i], r[i], part[i]
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
                    edge = blur * det
                    loss = 0.5 * ((1.0 if gap < -edge else 0.0) + (1.0 if gap <= edge else 0.0))
                    loss = loss if yi != ys[j] else 0.0
                tight += 1.0 if det <= room else 0.0
                mine += weights[j] * loss
                if each:
                    owns[j] += weight_i * loss
            if each:
                own[i] += mine
            all_pairs += weight_i * mine
        return all_pairs if tight == 0.0 else np.inf

    return total


sum_pairs = {
    (squared, each): _over_pairs(squared, each)
    for squared in (False, True)
    for each in (False, True)
}


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
        total = 0
        for j in range(n_larger, m):
            low, high = scores[j] - blur[i], scores[j] + blur[i]
            wrong = 0
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
