"""A forward search by a loss without bounds in one compiled loop; see ``loss_search.py``.

Every step is one pass of ``compiled_losses.sweep_rows``; the letters are those of
``whole_losses.py``, which has the same steps in NumPy.
"""

import numpy as np
from numba import njit

from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS
from sparsepath.rls.leave_one_out.compiled_losses import sweep_rows
from sparsepath.rls.leave_one_out.compiled_rows import FAST, column, dot, take_off

NO_CHANGE, ADDITION = -2, -1  # as in ``carried.py``
ALL_CHOSEN, ALL_FIT, NONE_LEFT, WITHOUT_MISTAKES = 0, 1, 2, 3  # how a search ended


@njit(nogil=True, cache=True, fastmath=FAST)
def begin(problem, state):  # type: ignore[no-untyped-def]
    """Make the rows of all columns, and their products with the target."""
    raw, (means, lefts, scales), g, features = problem
    Z, V, C = state[0], state[1], state[5]
    m = g.size
    for i in range(features.size):
        row, b = Z[i], features[i]
        column(raw[b], g, means[b], lefts[b], scales[b], row)
        for j in range(m, row.size):
            row[j] = 0.0
        for t in range(C.shape[0]):
            C[t, i] = dot(row[:m], V[t, :m])


@njit(nogil=True, cache=True, fastmath=FAST)
def lay_out(kind, given, r, p, y):  # type: ignore[no-untyped-def]
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
                ahead = given[2, j] * (own - r[c, j]) - 2.0 * p[j]
                given[3 + c, j] = -np.inf if c == y[j] else ahead
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
def afresh(i, k, problem, alpha, Q, row):  # type: ignore[no-untyped-def]
    """What the chosen columns leave of column i, to the last digit."""
    raw, (means, lefts, scales), g, features = problem
    m, width, b = g.size, row.size, features[i]
    column(raw[b], g, means[b], lefts[b], scales[b], row)
    for j in range(m, width):
        row[j] = 0.0
    for _ in range(2):
        for past in range(k):
            q = Q[past]
            t = dot(row[:m], q[:m]) + alpha * dot(row[m:], q[m:])
            take_off(row, t, q)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def squared(row, pivot, c, V, p):  # type: ignore[no-untyped-def]
    """The sum of squares with a row added."""
    total, m = 0.0, p.size
    for t in range(V.shape[0]):
        r, tau = V[t], c[t] / pivot
        for j in range(m):
            e = (r[j] - row[j] * tau) / (p[j] - row[j] * row[j] / pivot)
            total += e * e
    return total


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def advance(size, wanted, counts, problem, state, judging, guards, numbers, subset):  # type: ignore[no-untyped-def]
    """Choose features up to ``size``; return how many, and how it ended.

    Counts that come down to zero end it from ``wanted`` features on.
    """
    Z, V, Q, p, S, C, D, dual, squares, floor, doubted, reach, y = state
    features, g = problem[3], problem[2]
    kind, given = judging[0], judging[1]
    tie, tie_floor, second_go, vanished, alpha, undecided, rounding = guards
    empty, empty_squares = numbers
    n, m, T, width = len(features), g.size, C.shape[0], Z.shape[1]
    live, errors, f = np.ones(n, dtype=np.bool_), np.empty(n), np.zeros(n)
    blur, ranks, one = np.empty(n), np.empty(n), np.zeros(T)
    products, pivot, reached, everything = np.zeros(T), 0.0, 0.0, 0.0
    for t in range(T):
        everything += dot(V[t], V[t])
    k = 0
    while True:
        left = 0.0
        for t in range(T):
            left += dot(V[t, :m], V[t, :m])
        if not left > vanished * vanished * everything:
            return k, ALL_FIT
        if k == size:
            return k, ALL_CHOSEN
        lay_out(kind, given, V[:, :m], p, y)
        for i in range(n):
            blur[i] = undecided * min(reached + reach[i], 1.0) + rounding
        place = NO_CHANGE if k == 0 else ADDITION
        used = m + k
        given_change = (D[:used], dual[:used], place, True, pivot, products, judging)
        sweep_rows(Z, 0, n, m, *given_change, S, C, blur, f, errors)
        for i in range(n):
            if doubted[i] > S[i] and live[i] and floor[i] < S[i]:
                row = Z[i]
                afresh(i, k, problem, alpha, Q, row)
                S[i] = dot(row[:m], row[:m]) + alpha * dot(row[m:], row[m:]) + alpha
                for t in range(T):
                    C[t, i] = dot(row[:m], V[t, :m]) + alpha * dot(row[m:], V[t, m:])
                doubted[i] = max(second_go * second_go * S[i], floor[i])
                given_none = (D[:used], dual[:used], NO_CHANGE, True, pivot, one, judging)
                sweep_rows(Z, i, i + 1, m, *given_none, S, C, blur, f, errors)
            if floor[i] >= S[i] or not live[i]:
                errors[i] = np.inf
        least, count, best = np.inf, 0, -1
        for i in range(n):
            least = min(least, errors[i])
        if not least < np.inf:
            return k, NONE_LEFT
        if counts and k >= wanted:
            now = undecided * min(reached, 1.0) + rounding
            if is_clean(kind, given, T, now):
                return k, WITHOUT_MISTAKES
        most = least + tie * abs(least) + tie_floor * empty
        for i in range(n):
            if errors[i] <= most:
                count += 1
                best = i if best < 0 else best
        if counts and count > 1:
            lowest = np.inf
            for i in range(n):
                ranks[i] = np.inf
                if errors[i] <= most:
                    ranks[i] = squared(Z[i], S[i], C[:, i], V, p)
                    lowest = min(lowest, ranks[i])
            most, best = lowest + tie * abs(lowest) + tie_floor * empty_squares, -1
            for i in range(n):
                if ranks[i] <= most:
                    best = i
                    break
        # The feature is added.
        for j in range(width):
            D[j] = Z[best, j]
        pivot = dot(D[:m], D[:m]) + alpha * dot(D[m:], D[m:]) + alpha
        if pivot < second_go * second_go * squares[best]:
            afresh(best, k, problem, alpha, Q, D)
            pivot = dot(D[:m], D[:m]) + alpha * dot(D[m:], D[m:]) + alpha
        D[m + k] = -1.0
        root = 1.0 / np.sqrt(pivot)
        for j in range(width):
            dual[j] = D[j] * ((1.0 if j < m else alpha) / pivot)
            Q[k, j] = D[j] * root
        for t in range(T):
            step = dot(V[t], dual)
            products[t] = step * pivot
            take_off(V[t], step, D)
        for j in range(m):
            p[j] -= Q[k, j] * Q[k, j]
        live[best] = False
        reached += reach[best]
        subset[k] = features[best]
        k += 1
