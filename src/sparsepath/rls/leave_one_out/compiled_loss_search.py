"""A forward search by a loss other than the squared one in one loop; see ``loss_search.py``.

The letters are those of ``whole_losses.py``, which has the same steps in NumPy; the rows are in
``compiled_loss_rows.py``. Which candidates, or which samples of a candidate, are looked at is told
by ``compiled_loss_bounds.py``.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS
from sparsepath.rls.leave_one_out.compiled_loss_bounds import (
    absolutes,
    is_tight,
    rounded,
    slopes,
    squared,
)
from sparsepath.rls.leave_one_out.compiled_loss_counts import count, is_clean, lay_out_margins
from sparsepath.rls.leave_one_out.compiled_loss_rows import (
    add,
    along,
    follow,
    follow_at_once,
    products,
    renew,
    write,
    write_all,
)
from sparsepath.rls.leave_one_out.compiled_rows import FAST, PENDING, dot, take_off_changes

ALL_CHOSEN, ALL_FIT, NONE_LEFT, WITHOUT_MISTAKES = 0, 1, 2, 3  # how a search ended
UNIT = 1e-13  # rounding of a followed sum, over its size
MANY = 8  # a part of the candidates that is many to be judged: one in so many
COUNTED_AT_ONCE = 1 << 15  # numbers in the rows that are counted before they leave the cache


@njit(nogil=True, cache=True, fastmath=FAST)
def lay_out(kind, given, r, p):  # type: ignore[no-untyped-def]
    """What of the layout of a convex loss (``criteria/loops.py``) changes with the model."""
    first = 2 if kind == ABSOLUTE else 3
    for j in range(p.size):
        given[1, j] = p[j]
    for t in range(r.shape[0]):
        for j in range(p.size):
            given[first + t, j] = r[t, j]


@njit(nogil=True, cache=True)
def renew_few(rows, k, problem, state, floor, second_go, alpha, u, space):  # type: ignore[no-untyped-def]
    """Compute those of some rows afresh of which little is left."""
    S, computed = state[7], state[9]
    for i in rows:
        if floor[i] < S[i] < second_go * second_go * computed[i]:
            renew(i, k, problem, state, alpha, u, space)


@njit(nogil=True, cache=True, fastmath=FAST)
def count_all(rows, k, problem, state, judging, columns, guards, blur, steps, over, space, errors):  # type: ignore[no-untyped-def]
    """Let all rows follow the last of k changes and count mistakes with each of them added.

    A few rows at a time, which stay in the cache in between.
    """
    Z, D, p, S, C, lag = state[0], state[3], state[6], state[7], state[8], state[11]
    _, given, starts, _, room = judging
    floor, second_go, alpha = columns[1], guards[2], guards[4]
    least_room = p.min() * alpha / (2.0 * room)
    at_once = 4 * max(1, COUNTED_AT_ONCE // (4 * p.size))
    for first in range(0, rows.size, at_once):
        some = rows[first : first + at_once]
        if k:
            follow_at_once(some, k, state, steps, over)
            renew_few(some, k, problem, state, floor, second_go, alpha, D[:0], space)
        count(some, lag[0], D[max(k - 1, 0)], Z, S, C, starts, blur, given, space[3], errors)
        for i in some:
            if not least_room > S[i]:
                write(i, k, min(k, 1), state)
                if is_tight(Z[i], 1.0 / S[i], p, room):
                    errors[i] = np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge(rows, k, q, now, state, judging, ties, least_room, u, space, errors):  # type: ignore[no-untyped-def]
    """A convex loss with each row that its bound does not rule out; infinite with the others.

    Return how many were judged.
    """
    Z, D, p, S, C, computed = state[0], state[3], state[6], state[7], state[8], state[9]
    lag, h = state[11], state[13]
    kind, given, _, delta, room = judging
    z, bounds, (tie, slack) = space[0], space[4], ties
    v, least, lead, judged, T = given[0], np.inf, rows[0], 0, C.shape[0]
    for i in rows:
        bounds[i] = now * (1.0 - 1e-12)
    for t in range(T):
        unit = 8.0 * UNIT * np.sqrt(dot(u[t], u[t]))
        for i in rows:
            tau = C[t, i] / S[i]
            bounds[i] -= tau * h[t, i] + abs(tau) * unit * np.sqrt(computed[i])
    for i in rows:
        lead = i if bounds[i] < bounds[lead] else lead
    for place in range(-1, rows.size):
        i = lead if place < 0 else rows[place]
        errors[i] = errors[i] if place >= 0 and i == lead else np.inf
        if (place < 0 or i != lead) and bounds[i] <= least + tie * abs(least) + slack:
            row, w, judged = Z[i], 1.0 / S[i], judged + 1
            for j in range(z.size):
                z[j] = row[j]
            take_off_changes(z, i, lag, D[k - q :], 0, q)
            if least_room > S[i] or not is_tight(z, w, p, room):
                errors[i] = 0.0
                for t in range(T):
                    tau = C[t, i] * w
                    if kind == ABSOLUTE:
                        errors[i] += absolutes(z, w, tau, v, p, given[2 + t])
                    else:
                        errors[i] += rounded(z, w, tau, v, p, given[2], given[3 + t], delta)
            least = min(least, errors[i])
    return judged


@njit(nogil=True, cache=True, error_model="numpy")
def advance(size, wanted, counts, problem, state, judging, columns, guards, numbers, subset):  # type: ignore[no-untyped-def]
    """Choose features up to ``size``; return how many, and how it ended.

    Counts that come down to zero end it from ``wanted`` features on.
    """
    Z, V, _, D, _, _, p, S, C = state[:9]
    squares, floor, reach = columns
    kind, given, starts, delta, room = judging
    tie, tie_floor, second_go, vanished, alpha, undecided, rounding = guards
    empty, empty_squares = numbers
    (T, n), m = C.shape, p.size
    features, rows = problem[3], np.arange(n)
    errors, blur, ranks = np.empty(n), np.zeros(n), np.empty(n)
    by_margins = kind in (WRONG, WRONG_CLASS)
    u, steps = np.zeros((0 if by_margins else T, m)), np.zeros(T)
    space = (
        *(np.empty(m), np.zeros(size + 1), np.zeros(size + 1), np.full(m, -np.inf)),
        np.empty(n),
    )
    over, slope = np.empty(size), np.empty((T, PENDING))
    reached, everything, now, k, q, many = 0.0, 0.0, 0.0, 0, 0, False
    for t in range(T):
        everything += dot(V[t], V[t])
    while True:
        left = 0.0
        for t in range(T):
            left += dot(V[t], V[t])
        if not left > vanished * vanished * everything:
            return k, ALL_FIT
        if k == size:
            return k, ALL_CHOSEN
        if q == PENDING or many:
            write_all(rows, k - 1, q, state)
            q = 0
        if by_margins:
            lay_out_margins(given, starts, V, p)
            for i in rows:
                blur[i] = undecided * min(reached + reach[i], 1.0) + rounding
        else:
            lay_out(kind, given, V, p)
            now = slopes(kind, given, delta, room, u)
        if k:
            along(k, q, state, alpha, u, over, slope)
        if by_margins:
            about = (problem, state, judging, columns, guards, blur, steps, over, space, errors)
            count_all(rows, k, *about)
            q = min(k, 1)
        elif k:
            follow(rows, k, q, state, steps, over, slope, u)
            renew_few(rows, k, problem, state, floor, second_go, alpha, u, space)
            q += 1
        else:
            products(Z, rows, D[0], u, state[12], state[13])
        rows = rows[S[rows] > floor[rows]]
        if rows.size == 0:
            return k, NONE_LEFT
        if not by_margins:
            ties = (tie, tie_floor * empty)
            least_room = p.min() * alpha / (2.0 * room)
            given_slopes = (now, state, judging, ties, least_room, u, space, errors)
            many = MANY * judge(rows, k, q, *given_slopes) > rows.size
        least, count_, best = np.inf, 0, -1
        for i in rows:
            least = min(least, errors[i])
        if not least < np.inf:
            return k, NONE_LEFT
        if counts and k >= wanted and is_clean(given, undecided * min(reached, 1.0) + rounding):
            return k, WITHOUT_MISTAKES
        most = least + tie * abs(least) + tie_floor * empty
        for i in rows:
            if errors[i] <= most:
                count_ += 1
                best = i if best < 0 else best
        if counts and count_ > 1:
            lowest = np.inf
            for i in rows:
                if errors[i] <= most:
                    write(i, k, q, state)
                    ranks[i] = squared(Z[i], 1.0 / S[i], C[:, i], V, p, space[0])
                    lowest = min(lowest, ranks[i])
            highest = lowest + tie * abs(lowest) + tie_floor * empty_squares
            for i in rows:
                if errors[i] <= most and ranks[i] <= highest:
                    best = i
                    break
        add(best, k, q, problem, state, squares, second_go, alpha, steps, space)
        rows = rows[rows != best]
        reached += reach[best]
        subset[k] = features[best]
        k += 1
