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


@njit(nogil=True, cache=True)
def _count_clear(scores, rows, larger, near, wrong):  # type: ignore[no-untyped-def]
    """``wrong`` <- the pairs that are clearly in the wrong order: half of ``_count``, at most.

    Four rows are compared with two at a time, so that few numbers are loaded twice.
    """
    for i in range(LANES):
        wrong[i] = 0
    r = larger
    while r + 4 <= rows:
        q = 0
        while q + 2 <= larger:
            for i in range(LANES):
                t, x, y, total = near[i], scores[q, i], scores[q + 1, i], wrong[i]
                a, b = scores[r, i] - t, scores[r + 1, i] - t
                c, d = scores[r + 2, i] - t, scores[r + 3, i] - t
                total += np.int64(x < a)
                total += np.int64(x < b)
                total += np.int64(x < c)
                total += np.int64(x < d)
                total += np.int64(y < a)
                total += np.int64(y < b)
                total += np.int64(y < c)
                total += np.int64(y < d)
                wrong[i] = total
            q += 2
        if q < larger:
            for i in range(LANES):
                t, x, total = near[i], scores[q, i], wrong[i]
                total += np.int64(x < scores[r, i] - t)
                total += np.int64(x < scores[r + 1, i] - t)
                total += np.int64(x < scores[r + 2, i] - t)
                total += np.int64(x < scores[r + 3, i] - t)
                wrong[i] = total
        r += 4
    while r < rows:
        q = 0
        while q + 4 <= larger:
            for i in range(LANES):
                a, total = scores[r, i] - near[i], wrong[i]
                total += np.int64(scores[q, i] < a)
                total += np.int64(scores[q + 1, i] < a)
                total += np.int64(scores[q + 2, i] < a)
                total += np.int64(scores[q + 3, i] < a)
                wrong[i] = total
            q += 4
        while q < larger:
            for i in range(LANES):
                wrong[i] += np.int64(scores[q, i] < scores[r, i] - near[i])
            q += 1
        r += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _disorder(first, clear, reached, alpha, state, order, space, out):  # type: ignore[no-untyped-def]
    """The share of pairs in the wrong order with each of ``LANES`` columns, over all splits.

    Or of those that are clearly so: what it is at least.
    """
    s, c = state[0], state[2]
    d, e, starts, larger, shares, reach, unclear = order
    scores, wrong, near, omega = space
    F, n = s.shape
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
        if clear:
            _count_clear(scores, rows, larger[f], near, wrong)
            for i in range(width):
                total[i] += shares[f] * wrong[i]
        else:
            _count(scores, rows, larger[f], near, wrong)
            for i in range(width):
                total[i] += shares[f] * (0.5 * wrong[i])


@njit(nogil=True, cache=True, error_model="numpy")
def _least(open_, tie, slack, reached, alpha, state, order, space, errors):  # type: ignore[no-untyped-def]
    """The least share of wrong pairs; ``errors`` of columns that are far from it are infinite.

    Pairs whose scores are told apart are counted for all columns, which is less than the share or,
    where no scores are equal, the share itself; the rest for those that this leaves open.
    """
    n, least, lead = errors.size, np.inf, -1
    for first in range(0, n if n > LANES else 0, LANES):
        _disorder(first, True, reached, alpha, state, order, space, errors)
    if n <= LANES:
        errors[:] = 0.0
    for i in range(n):
        if not open_[i]:
            errors[i] = np.inf
        elif lead < 0 or errors[i] < errors[lead]:
            lead = i
    if lead < 0:
        return least
    lead = lead // LANES * LANES
    for place in range(-1, (n + LANES - 1) // LANES):
        first = lead if place < 0 else place * LANES
        last, least_here = min(n, first + LANES), np.inf
        if place >= 0 and first == lead:
            continue
        for i in range(first, last):
            least_here = min(least_here, errors[i])
        if not (least_here < np.inf and least_here <= least + tie * abs(least) + slack):
            for i in range(first, last):
                errors[i] = np.inf
            continue
        _disorder(first, False, reached, alpha, state, order, space, errors)
        for i in range(first, last):
            if not open_[i]:
                errors[i] = np.inf
            least = min(least, errors[i])
    return least


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
    space_too = (
        *(np.zeros((np.diff(order[2]).max(), LANES)), np.zeros(LANES, dtype=np.int64)),
        *(np.zeros(LANES), np.zeros(LANES)),
    )
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
        least = _least(open_, tie, floor * empty, reached, alpha, state, order, space_too, errors)
        lowest, b = np.inf, -1
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
