"""A forward search by a loss other than the squared one in one loop; see ``loss_search.py``.

The letters are those of ``whole_losses.py``, which has the same steps in NumPy; the rows are in
``compiled_loss_rows.py``. Which candidates, or which samples of a candidate, are looked at is told
by ``compiled_loss_bounds.py``.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS
from sparsepath.rls.leave_one_out.compiled_loss_bounds import (
    BUCKETS,
    absolutes,
    count_among,
    count_one,
    count_three,
    is_tight,
    largest,
    rounded,
    slopes,
    sort_margins,
    squared,
)
from sparsepath.rls.leave_one_out.compiled_loss_rows import (
    add,
    along,
    follow,
    products,
    renew,
    write,
    write_all,
)
from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    PENDING,
    dot,
    take_off,
    take_off_changes,
)

ALL_CHOSEN, ALL_FIT, NONE_LEFT, WITHOUT_MISTAKES = 0, 1, 2, 3  # how a search ended
UNIT = 1e-13  # rounding of a followed sum, over its size
WORTH_SORTING = 1.0  # times the mean margin: who may turn samples beyond looks at all of them
MANY = 8  # a part of the candidates that is many to be judged: one in so many


@njit(nogil=True, cache=True, fastmath=FAST)
def lay_out(kind, given, y, r, p):  # type: ignore[no-untyped-def]
    """What of the layout of a loss (``criteria/loops.py``) changes with the model."""
    T, m = r.shape
    for j in range(m):
        given[1, j] = p[j]
    if kind == WRONG:
        for j in range(m):
            given[2, j] = given[3, j] * r[0, j] - p[j]
    elif kind == WRONG_CLASS:
        for j in range(m):
            own = r[y[j], j]
            for c in range(T):
                given[3 + c, j] = given[2, j] * (own - r[c, j]) - 2.0 * p[j]
            given[3 + y[j], j] = -np.inf
    else:
        first = 2 if kind == ABSOLUTE else 3
        for t in range(T):
            for j in range(m):
                given[first + t, j] = r[t, j]


@njit(nogil=True, cache=True, fastmath=FAST)
def is_clean(kind, given, T, blur):  # type: ignore[no-untyped-def]
    """Whether the model as it stands makes no mistake."""
    m, first = given.shape[1], 2 if kind == WRONG else 3
    for c in range(1 if kind == WRONG else T):
        for j in range(m):
            if given[0, j] > 0.0 and given[first + c, j] >= -blur:
                return False
    return True


@njit(nogil=True, cache=True, fastmath=FAST)
def sort_samples(kind, given, T, sorting):  # type: ignore[no-untyped-def]
    """Sort the samples by their margins, up to one that is returned."""
    a, order, counts, beyond, bucket = sorting[:5]
    m, total = a.size, 0.0
    for j in range(m):
        a[j] = given[2, j] if kind == WRONG else given[3, j]
    for c in range(1, T if kind == WRONG_CLASS else 1):
        other = given[3 + c]
        for j in range(m):
            a[j] = other[j] if other[j] > a[j] else a[j]
    for j in range(m):
        total += abs(a[j])
    limit = max(WORTH_SORTING * total / m, 1e-290)
    sort_margins(a, given[0], limit, order, counts, beyond, bucket)
    return limit


@njit(nogil=True, cache=True)
def gather(first, last, given, D, order, near, turns):  # type: ignore[no-untyped-def]
    """What the sorted samples from ``first`` to ``last`` ask for, and what is theirs of D."""
    for line in range(given.shape[0]):
        if line != 1:  # p, which only tells whether there is room
            for j in range(first, last):
                near[line, j] = given[line, order[j]]
    for past in range(D.shape[0]):
        for j in range(first, last):
            turns[past, j] = D[past, order[j]]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def count_near(rows, given, D, state, of_rows, sorting, space, errors):  # type: ignore[no-untyped-def]
    """Mistakes with each of some rows added, from the samples that it may turn.

    The rows that may turn too many are left at the beginning of ``rows``; return how many. D are
    the changes that are pending.
    """
    Z, S, C, top, lag = state[0], state[7], state[8], state[10], state[12]
    blur, limit, least_room, own_most = of_rows
    order, counts, beyond, _, near, turns = sorting[1:]
    x, taus, most = space[0], space[3], space[4]
    T, scale, rest, ready = C.shape[0], BUCKETS / limit, 0, 0
    for i in rows:
        w = 1.0 / S[i]
        low = high = taus[0] = C[0, i] * w
        for t in range(1, T):
            tau = taus[t] = C[t, i] * w
            low, high = min(low, tau), max(high, tau)
        span = own_most * abs(high) if T == 1 else own_most * (high - low) + top[i] * w
        span = top[i] * (top[i] * w + span) * (1.0 + 1e-9) + blur[i]
        if not (least_room > S[i] and span < limit):
            rows[rest] = i
            rest += 1
            continue
        b = int(span * scale)
        some = x[: counts[b]]
        if ready < counts[b]:
            gather(ready, counts[b], given, D, order, near, turns)
            ready = counts[b]
        for j in range(some.size):
            some[j] = Z[i, order[j]]
        take_off_changes(some, i, lag, turns, 0, D.shape[0])
        errors[i] = beyond[b] + count_among(some, w, taus, blur[i], near, most)
    return rest


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def count(rows, f, D, state, judging, of_rows, space, errors):  # type: ignore[no-untyped-def]
    """Mistakes with each of some rows added, which lose f times D."""
    Z, p, S, C = state[0], state[6], state[7], state[8]
    given, room = judging[1], judging[4]
    blur, least_room, taus, most = of_rows[0], of_rows[2], space[3], space[4]
    if C.shape[0] == 1:
        count_one(rows, Z, f, D, S, C, blur, given, errors)
    elif C.shape[0] == 3:
        count_three(rows, Z, f, D, S, C, blur, given, errors)
    else:
        for i in rows:
            take_off(Z[i], f[i], D)
            for t in range(taus.size):
                taus[t] = C[t, i] / S[i]
            errors[i] = count_among(Z[i], 1.0 / S[i], taus, blur[i], given, most)
    for i in rows:
        if not least_room > S[i] and is_tight(Z[i], 1.0 / S[i], p, room):
            errors[i] = np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge(rows, k, q, now, state, judging, ties, least_room, u, space, errors):  # type: ignore[no-untyped-def]
    """A convex loss with each row that its bound does not rule out; infinite with the others.

    Return how many were judged.
    """
    Z, D, p, S, C, computed = state[0], state[3], state[6], state[7], state[8], state[9]
    lag, h = state[12], state[14]
    kind, given, _, delta, room = judging
    z, bounds, (tie, slack) = space[0], space[5], ties
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
def advance(size, wanted, counts, problem, state, judging, columns, guards, numbers, sorts, subset):  # type: ignore[no-untyped-def]
    """Choose features up to ``size``; return how many, and how it ended.

    Counts that come down to zero end it from ``wanted`` features on; ``sorts`` is whether samples
    are sorted by their margins.
    """
    Z, V, _, D, _, _, p, S, C, computed = state[:10]
    squares, floor, reach, own_most = columns
    kind, given, y, delta, room = judging
    tie, tie_floor, second_go, vanished, alpha, undecided, rounding = guards
    empty, empty_squares = numbers
    (T, n), m = C.shape, p.size
    features, rows = problem[3], np.arange(n)
    errors, blur, ranks = np.empty(n), np.zeros(n), np.empty(n)
    by_margins = kind in (WRONG, WRONG_CLASS)
    u, steps = np.zeros((0 if by_margins else T, m)), np.zeros(T)
    space = (
        *(np.empty(m), np.zeros(size + 1), np.zeros(size + 1), np.zeros(T), np.empty((2, m))),
        np.empty(n),
    )
    sorted_ = m if by_margins and sorts else 0
    sorting = (
        *(np.empty(sorted_), np.empty(sorted_, dtype=np.int64)),
        *(np.zeros(BUCKETS + 1, dtype=np.int64), np.zeros(BUCKETS)),
        np.empty(sorted_, dtype=np.int32),
        *(np.empty((given.shape[0], sorted_)), np.empty((PENDING, sorted_))),
    )
    nothing = np.zeros(n)
    over, slope = np.empty(size), np.empty((T, PENDING))
    reached, everything, limit, now, k, q, many = 0.0, 0.0, 0.0, 0.0, 0, 0, False
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
        lay_out(kind, given, y, V, p)
        least_room = p.min() * alpha / (2.0 * room)
        if not by_margins:
            now = slopes(kind, given, delta, room, u)
        else:
            for i in rows:
                blur[i] = undecided * min(reached + reach[i], 1.0) + rounding
        if k and (q == PENDING or many):
            write_all(rows, k - 1, q, state, by_margins)
            q = 0
        if sorted_ and k:
            limit = sort_samples(kind, given, T, sorting)
        most = largest(D[k - 1]) if sorted_ and k else 0.0
        if k:
            along(k, q, state, alpha, u, over, slope)
        before, q = q, q + 1 if k else 0
        if k:
            follow(rows, k, before, state, steps, over, slope, u, most)
        elif not by_margins:
            products(Z, rows, D[0], u, state[13], state[14])
        for i in rows:
            if floor[i] < S[i] < second_go * second_go * computed[i]:
                renew(i, k, problem, state, alpha, u, space)
        rows = rows[S[rows] > floor[rows]]
        if rows.size == 0:
            return k, NONE_LEFT
        if by_margins:
            of_rows, f = (blur, limit, least_room, own_most), nothing
            some = rows
            if limit > 0.0:
                some = rows.copy()
                near = (state, of_rows, sorting, space, errors)
                some = some[: count_near(some, given, D[k - q : k], *near)]
                for i in some:
                    write(i, k, q, state, True)
            elif k:
                f = state[12][0]
            count(some, f, D[max(k - 1, 0)], state, judging, of_rows, space, errors)
            if k and not sorted_:  # short rows have all been written
                state[11][k - 1] += state[12][0]
                state[12][0] = 0.0
                q = 0
        else:
            ties = (tie, tie_floor * empty)
            given_slopes = (now, state, judging, ties, least_room, u, space, errors)
            many = MANY * judge(rows, k, q, *given_slopes) > rows.size
        least, count_, best = np.inf, 0, -1
        for i in rows:
            least = min(least, errors[i])
        if not least < np.inf:
            return k, NONE_LEFT
        if (
            counts
            and k >= wanted
            and is_clean(kind, given, T, undecided * min(reached, 1.0) + rounding)
        ):
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
                    write(i, k, q, state, sorted_ > 0)
                    ranks[i] = squared(Z[i], S[i], C[:, i], V, p)
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
