"""Compiled loops of the Kraskov estimator. Arrays and numbers only; no checks.

Features and targets are rows: XT is d x n, YT is q x n. Distances are absolute differences, joined
by the largest. They are compared with each other and never with sums; those that are equal to nine
digits count as equal, so no neighbour is counted or lost by rounding. Buffers of one row are a
multiple of ``PASSED_TOGETHER`` long, filled up with infinity. psi[m] is the digamma function of m,
up to n + 1. What a share is, with ties and classes, stands at the head of ``kraskov``.
"""

import numpy as np
from numba import njit

PASSED_TOGETHER = 16  # samples that are passed over together if none is near
BELOW, ABOVE = 1 - 1e-9, 1 + 1e-9  # times a distance: those below or above it beyond rounding
FAR = 2.0**500  # and its multiples, between classes: no neighbours


@njit(nogil=True, cache=True)
def padded(n):  # type: ignore[no-untyped-def]
    """A row of infinities for n numbers."""
    return np.full((n + PASSED_TOGETHER - 1) // PASSED_TOGETHER * PASSED_TOGETHER, np.inf)


@njit(nogil=True, cache=True)
def distances(rows, i, out):  # type: ignore[no-untyped-def]
    """Distances of sample i to all samples, to itself infinite, over all rows; to ``out``."""
    n = rows.shape[1]
    for a in range(rows.shape[0]):
        row = rows[a]
        here = row[i]
        if a == 0:
            for j in range(n):
                out[j] = abs(row[j] - here)
        else:
            for j in range(n):
                d = abs(row[j] - here)
                out[j] = d if d > out[j] else out[j]
    out[i] = np.inf


@njit(nogil=True, cache=True)
def insert(d, j, near, who):  # type: ignore[no-untyped-def]
    """Put the distance d of sample j where it belongs among the nearest, after its equals."""
    place = near.size - 1
    while place > 0 and near[place - 1] > d:
        near[place] = near[place - 1]
        who[place] = who[place - 1]
        place -= 1
    near[place] = d
    who[place] = j


@njit(nogil=True, cache=True)
def nearest(dx, dy, near, who):  # type: ignore[no-untyped-def]
    """The k least of max(dx, dy), ascending, to ``near``, and their places to ``who``."""
    k = near.size
    near[:] = np.inf
    who[:] = 0
    for start in range(0, dx.size, PASSED_TOGETHER):
        sx = dx[start : start + PASSED_TOGETHER]
        sy = dy[start : start + PASSED_TOGETHER]
        bound = near[k - 1]
        nearer = 0  # a count, because whole numbers can be summed in vector registers
        for j in range(PASSED_TOGETHER):
            nearer += 1 if (sx[j] < bound) & (sy[j] < bound) else 0
        if nearer:
            for j in range(PASSED_TOGETHER):
                d = sx[j] if sx[j] > sy[j] else sy[j]
                if d < near[k - 1]:
                    insert(d, start + j, near, who)


@njit(nogil=True, cache=True)
def by_ties(dx, dy, psi):  # type: ignore[no-untyped-def]
    """The share of a sample by the counts at distance zero, oneself included."""
    n = psi.size - 2
    nx = 1
    ny = 1
    both = 1
    for j in range(dx.size):
        same_x = dx[j] == 0.0
        same_y = dy[j] == 0.0
        nx += 1 if same_x else 0
        ny += 1 if same_y else 0
        both += 1 if same_x & same_y else 0
    return np.log(both) + np.log(n) - np.log(nx) - np.log(ny) - psi[n]


@njit(nogil=True, cache=True)
def term(dx, dy, near, who, psi, variant):  # type: ignore[no-untyped-def]
    """The share of one sample in the mutual information."""
    nearest(dx, dy, near, who)
    k = near.size
    while k > 0 and near[k - 1] >= FAR:
        k -= 1
    if k == 0:
        return -psi[psi.size - 2]
    eps = near[k - 1]
    if eps == 0.0:
        return by_ties(dx, dy, psi)
    if variant == 2:
        ex = 0.0
        ey = 0.0
        for j in who[:k]:
            ex = max(ex, dx[j])
            ey = max(ey, dy[j])
        if ex > 0.0 and ey > 0.0:
            nx = 0
            ny = 0
            sides = 0  # samples at the sides in x and in y: one each, without ties
            both = 0
            for j in range(dx.size):
                upto_x = dx[j] <= ex * ABOVE
                upto_y = dy[j] <= ey * ABOVE
                nx += 1 if upto_x else 0
                ny += 1 if upto_y else 0
                sides += 1 if upto_x & (dx[j] >= ex * BELOW) else 0
                sides += 1 if upto_y & (dy[j] >= ey * BELOW) else 0
                both += 1 if max(dx[j], dy[j]) <= eps * ABOVE else 0
            if both == k and sides == 2:
                return psi[k] - 1.0 / k - psi[nx] - psi[ny]
    bound = eps * BELOW
    while k > 1 and near[k - 2] >= bound:
        k -= 1
    nx = 1
    ny = 1
    for j in range(dx.size):
        nx += 1 if dx[j] < bound else 0
        ny += 1 if dy[j] < bound else 0
    return psi[k] - psi[nx] - psi[ny]


@njit(nogil=True, cache=True)
def subset_terms(XT, YT, low, high, k, psi, variant, out):  # type: ignore[no-untyped-def]
    """Terms of the samples low to high for all of XT; to ``out``."""
    n = XT.shape[1]
    dx, dy = padded(n), padded(n)
    near, who = np.empty(k), np.empty(k, np.int64)
    for i in range(low, high):
        distances(XT, i, dx)
        distances(YT, i, dy)
        out[i] = term(dx, dy, near, who, psi, variant)


@njit(nogil=True, cache=True)
def addition_terms(D, XT, features, YT, low, high, k, psi, variant, out):  # type: ignore[no-untyped-def]
    """Terms of the subset with distances D plus each feature in turn; to the rows of ``out``."""
    n = XT.shape[1]
    dx, dy = padded(n), padded(n)
    near, who = np.empty(k), np.empty(k, np.int64)
    for i in range(low, high):
        distances(YT, i, dy)
        for f in range(features.size):
            row = XT[features[f]]
            here = row[i]
            if D.size:
                kept = D[i]
                for j in range(n):
                    d = abs(row[j] - here)
                    dx[j] = d if d > kept[j] else kept[j]
            else:
                for j in range(n):
                    dx[j] = abs(row[j] - here)
            dx[i] = np.inf
            out[f, i] = term(dx, dy, near, who, psi, variant)


@njit(nogil=True, cache=True)
def removal_terms(XT, YT, low, high, k, psi, variant, out):  # type: ignore[no-untyped-def]
    """Terms of XT without each of its rows in turn; to the rows of ``out``.

    Largest distances over the rows before and after the one left out make the cost linear.
    """
    s, n = XT.shape
    near, who = np.empty(k), np.empty(k, np.int64)
    dy = padded(n)
    before, dx = padded(n), padded(n)
    after = np.empty((s + 1, n))
    for i in range(low, high):
        distances(YT, i, dy)
        after[s] = 0.0
        for a in range(s - 1, -1, -1):
            row = XT[a]
            here = row[i]
            later = after[a + 1]
            for j in range(n):
                d = abs(row[j] - here)
                after[a, j] = d if d > later[j] else later[j]
        before[:n] = 0.0
        for a in range(s):
            later = after[a + 1]
            for j in range(n):
                dx[j] = before[j] if before[j] > later[j] else later[j]
            dx[i] = np.inf
            out[a, i] = term(dx, dy, near, who, psi, variant)
            row = XT[a]
            here = row[i]
            for j in range(n):
                d = abs(row[j] - here)
                before[j] = d if d > before[j] else before[j]


@njit(nogil=True, cache=True)
def widen(D, row, low, high, first):  # type: ignore[no-untyped-def]
    """In place: D becomes the distances with one more feature; ``first`` means that D is unset."""
    for i in range(low, high):
        here = row[i]
        kept = D[i]
        if first:
            for j in range(row.size):
                kept[j] = abs(row[j] - here)
        else:
            for j in range(row.size):
                d = abs(row[j] - here)
                kept[j] = d if d > kept[j] else kept[j]


@njit(nogil=True, cache=True)
def every_k_terms(XT, YT, low, high, most, psi, out):  # type: ignore[no-untyped-def]
    """Terms of the first variant for k = 1 .. most at once; to the rows of ``out``."""
    n = XT.shape[1]
    dx, dy = padded(n), padded(n)
    near, who, bounds = np.empty(most), np.empty(most, np.int64), np.empty(most)
    inside = np.empty((2, most + 1), np.int64)
    for i in range(low, high):
        distances(XT, i, dx)
        distances(YT, i, dy)
        nearest(dx, dy, near, who)
        bounds[:] = near * BELOW
        inside[:] = 0
        for side in range(2):
            d = dx if side == 0 else dy
            for j in range(n):
                if d[j] < bounds[most - 1]:
                    low = 0  # the first k whose ball has the sample in it
                    high = most - 1
                    while low < high:
                        middle = (low + high) // 2
                        if d[j] < bounds[middle]:
                            high = middle
                        else:
                            low = middle + 1
                    inside[side, low] += 1
        nx = 1
        ny = 1
        nearer = 0  # neighbours strictly nearer than the one in question
        share = by_ties(dx, dy, psi) if near[0] == 0.0 else -psi[n]
        for k in range(most):
            nx += inside[0, k]
            ny += inside[1, k]
            while nearer < k and near[nearer] < bounds[k]:
                nearer += 1
            if 0.0 < near[k] < FAR:
                share = psi[nearer + 1] - psi[nx] - psi[ny]
            out[k, i] = share
