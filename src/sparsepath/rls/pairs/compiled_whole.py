"""A forward search by the order of scores in test parts, in one compiled loop; see ``whole.py``.

The sums of the training parts are followed as in ``splits/compiled_whole.py``. What is left of the
columns on the test rows, d, is rows by columns, so that every loop runs along the columns.
"""

import numpy as np
from numba import njit

from sparsepath.rls.splits.compiled import FAST
from sparsepath.rls.splits.compiled_whole import _add, _blurs, _follow, _judge

LANES = 32  # columns whose scores are compared together, in vector registers; always so many


@njit(nogil=True, cache=True)
def _count(scores, rows, larger, near, wrong):  # type: ignore[no-untyped-def]
    """``wrong`` <- pairs in the wrong order, twice, of each of ``LANES`` columns of scores.

    The first rows, ``larger`` of them, belong above the others; scores no further apart than
    ``near`` are not told apart.
    """
    low, high = np.empty(LANES), np.empty(LANES)
    for i in range(LANES):
        wrong[i] = 0
    for r in range(larger, rows):
        other = scores[r]
        for i in range(LANES):
            low[i], high[i] = other[i] - near[i], other[i] + near[i]
        q = 0
        while q + 4 <= larger:
            a, b, c, d = scores[q], scores[q + 1], scores[q + 2], scores[q + 3]
            for i in range(LANES):
                least, most = low[i], high[i]
                first = np.int64(a[i] < least) + np.int64(a[i] <= most)
                second = np.int64(b[i] < least) + np.int64(b[i] <= most)
                third = np.int64(c[i] < least) + np.int64(c[i] <= most)
                fourth = np.int64(d[i] < least) + np.int64(d[i] <= most)
                wrong[i] += (first + second) + (third + fourth)
            q += 4
        while q < larger:
            a = scores[q]
            for i in range(LANES):
                wrong[i] += np.int64(a[i] < low[i]) + np.int64(a[i] <= high[i])
            q += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _disorder(reached, alpha, state, order, out):  # type: ignore[no-untyped-def]
    """The share of pairs in the wrong order with each column added, over all splits."""
    s, c = state[0], state[2]
    d, e, starts, larger, shares, reach, unclear = order
    F, n = s.shape
    scores, wrong = np.zeros((np.diff(starts).max(), LANES)), np.zeros(LANES, dtype=np.int64)
    near, omega = np.zeros(LANES), np.empty(LANES)
    for first in range(0, n, LANES):
        last = min(n, first + LANES)
        width, total = last - first, out[first:last]
        for i in range(width):
            near[i] = unclear * min(reached + reach[first + i], 1.0)
            total[i] = 0.0
        for f in range(F):
            begin, rows = starts[f], starts[f + 1] - starts[f]
            for i in range(width):
                omega[i] = c[f, 0, first + i] / (s[f, first + i] + alpha)
            for r in range(rows):
                row, score, rest = d[begin + r, first:last], scores[r], e[begin + r]
                for i in range(width):
                    score[i] = row[i] * omega[i] - rest
            _count(scores, rows, larger[f], near, wrong)
            for i in range(width):
                total[i] += shares[f] * (0.5 * wrong[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _follow_rows(b, k, alpha, steps, state, order):  # type: ignore[no-untyped-def]
    """What is left of the target and of all columns on the test rows, with b added."""
    U, (d, e, starts) = state[5], order[:3]
    for f in range(steps.size):
        u = U[f, k]
        for r in range(starts[f], starts[f + 1]):
            row = d[r]
            own = row[b]
            e[r] -= steps[f] * own
            for i in range(u.size):
                row[i] -= u[i] * own


@njit(nogil=True, cache=True, error_model="numpy")
def advance(until, wanted, allowed, ties, data, about, state, space, found, subset, order, empty):  # type: ignore[no-untyped-def]
    """Features up to ``until``; how many, whether residuals vanished, whether sums told enough.

    The last answer is whether it ended, from ``wanted`` features on, without a wrong pair.
    """
    tie, floor, vanished, trusting = ties
    alpha, s, c, sse, reach = about[0], state[0], state[2], state[4], order[5]
    F, n = s.shape
    squares, margin = found
    errors, steps, open_ = np.empty(n), np.empty(F), np.empty(n, dtype=np.bool_)
    for i in range(n):
        squares[i], margin[i] = 0.0, np.inf
    for f in range(F):
        _judge(f, 0, n, about, state, found)
    empty_square, first, reached, now, k = 0.0, sse.sum(), 0.0, empty, 0
    for f in range(F):
        empty_square += sse[f] / about[2][f]
    while True:
        if sse.sum() <= vanished * first:
            return k, True, True, False
        if k == until:
            return k, False, True, False
        for i in range(n):
            open_[i] = allowed[i] and margin[i] > 0.0
            if allowed[i] and not open_[i] and not trusting:
                return k, False, False, False
        _disorder(reached, alpha, state, order, errors)
        least, lowest, b = np.inf, np.inf, -1
        for i in range(n):
            if open_[i] and errors[i] < least:
                least = errors[i]
        if not least < np.inf:
            return k, False, True, False
        if now == 0.0 and k >= wanted:
            return k, False, True, True
        most = least + tie * abs(least) + floor * empty
        for i in range(n):
            if open_[i] and errors[i] <= most and squares[i] < lowest:
                lowest = squares[i]
        highest = lowest + tie * abs(lowest) + floor * empty_square
        for i in range(n):
            if open_[i] and errors[i] <= most and squares[i] <= highest:
                b = i
                break
        if _blurs(b, k, about, state, subset) and not trusting:
            return k, False, False, False
        for f in range(F):
            steps[f] = c[f, 0, b] / (s[f, b] + alpha)
        _add(b, about, state)
        if k + 1 < until:
            _follow(b, k, data, about, state, space, found)
            _follow_rows(b, k, alpha, steps, state, order)
        reached += reach[b]
        now = errors[b]
        allowed[b] = False
        subset[k] = b
        k += 1
