r"""A forward search with exchanges in one compiled loop; see ``swaps.py``, which has all arrays.

The rows, their sums and their changes are those of ``compiled_forward.py``. In the augmented space
of ``model.py`` let q_l = D_l / sqrt(pivot_l) be the basis of the chosen features, E_l its
coefficients. Feature b is dropped by taking out of the basis the direction

    g  =  sum_l E_lb q_l / |E_b|,        |E_b|^2  =  sum_l E_lb^2,

which alone of the basis has a coefficient on b. Rotations of two neighbours at a time from b on
leave g at the end and keep the others triangular: every product with the basis is rotated with it,
and the rows, the target and p get back what lay along g,

    row_i - e_i g      e_i  =  b_i[b] / |E_b|        r - s g      s  =  w_b / |E_b|        p + g^2.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_forward import _bound, _note, choose, fill, follow, judge
from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    dot,
    original,
    sums_of,
    take_off,
    take_off_changes,
)
from sparsepath.rls.leave_one_out.compiled_swap_choice import best_exchange, take_out

MOST_MET = 64  # sets of one size that are remembered


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def drop(place, problem, state, change, space, found, path, B, of):  # type: ignore[no-untyped-def]
    """Take the chosen feature at a place out; it is the last of the rows, and not open to return.

    All sums are taken anew, and bounds of every addition.
    """
    raw, stand, weights, _, alpha, _ = problem
    Z, F, V, U, D, d, pivots, features, w, p, c, at, about, h, numbers, cube = state
    wanted, (subset, errors), (floors, squares) = change[6], path, of
    s, zw, blur, written, computed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    b2, floor, fourth = numbers[5], numbers[6], numbers[11]
    k, n, pending = at[0], at[1], at[2]
    T, m = V.shape
    feature, last = subset[place], k - 1
    g, gc, roots, held = np.zeros(m), np.zeros(k), np.empty(k), np.empty(n)
    for past in range(place, k):
        f = d[past, place] / pivots[past]
        take_off(g, -f, D[past])
        take_off(gc[: past + 1], -f, d[past, : past + 1])
        roots[past] = np.sqrt(pivots[past])
    norm = np.sqrt(gc[place])
    for j in range(m):
        g[j] /= norm
        p[j] += g[j] * g[j]
    for o in range(k):
        gc[o] /= norm
    for t in range(T):
        step = wanted[t, place] / norm
        take_off(V[t], step, g)
        for o in range(k):
            if o != place:
                wanted[t, o if o < place else o - 1] = wanted[t, o] - step * gc[o]
        wanted[t, last] = 0.0
        about[3 + t] = dot(V[t], V[t]) + alpha * dot(wanted[t, :last], wanted[t, :last])
    at[0] = last
    _note(problem, state, errors, space)
    for j in range(m):
        w[j] = space[0][j]
        cube[j] = w[j] * np.sqrt(w[j])
    # The feature itself becomes a row; the others get back what lay along g.
    for i in range(n):
        held[i] = -B[place, i] / norm
    for o in range(k):
        if o != place:
            to = o if o < place else o - 1
            for i in range(n):
                B[to, i] = B[o, i] + held[i] * gc[o]
            B[to, n] = -gc[o] / norm
    for j in range(m):
        Z[n, j] = -g[j] / norm
    features[n], floor[n], numbers[7, n] = feature, floors[feature], squares[feature]
    computed[n] = 1.0 / (norm * norm)
    shared = np.zeros((T, n + 1))
    for i in range(n + 1):
        b2[i] = 0.0
    for o in range(last):
        row = B[o]
        for i in range(n + 1):
            b2[i] += alpha * row[i] * row[i]
        for t in range(T):
            f = alpha * wanted[t, o]
            for i in range(n + 1):
                shared[t, i] += f * row[i]
    for i in range(n + 1):
        if i < n:
            take_off_changes(Z[i], i, F, D, k - pending, k)
            take_off(Z[i], -held[i], g)
        square, zw[i], c[0, i], fourth[i] = sums_of(Z[i], w, V[0], cube)
        for t in range(1, T):
            c[t, i] = dot(Z[i], V[t])
        for t in range(T):
            c[t, i] += shared[t, i]
            h[t, i] = dot(Z[i], U[t])
        s[i] = written[i] = square + b2[i] + alpha
        computed[i] = max(computed[i], s[i])
        blur[i], fourth[i] = np.sqrt(zw[i]), np.sqrt(np.sqrt(fourth[i]))
    # The basis, and products of all columns with it.
    turns = take_out(place, k, D, d, pivots, g, gc)
    for i in range(n):
        held[i] = -roots[place] * F[place, i]
    for old in range(place + 1, k):
        cos, sin, root = turns[0, old], turns[1, old], roots[old]
        back = 1.0 / np.sqrt(pivots[old - 1])
        for i in range(n):
            x, y = root * F[old, i], held[i]
            F[old - 1, i] = back * (cos * x - sin * y)
            held[i] = cos * y + sin * x
    x = space[0]
    original(raw, features, n, weights, stand, x)
    for past in range(last):
        F[past, n] = dot(x, D[past]) / pivots[past]
        subset[past] = subset[past + 1] if past >= place else subset[past]
    for past in range(k):
        d[last, past] = 0.0
    subset[last] = -1
    n += 1
    at[1], at[2], at[3], at[4] = n, 0, 0, 0
    many, at[5] = at[5], 0  # the finer bound needs sums that are taken when rows follow
    _bound(0, n, problem, state, found)
    at[5] = many
    found[1][n - 1] = np.inf


@njit(nogil=True, cache=True)
def _append(problem, state, change, space, found, path, B, feature_rows):  # type: ignore[no-untyped-def]
    """Choose the best of the rows that bounds leave, and let the coefficients of all follow.

    Return whether there was one.
    """
    at, features, F, d = state[11], state[7], state[1], state[5]
    n, empty = at[1], path[1][0]
    if n == 0:
        return False
    lead = int(np.argmin(found[1][:n]))
    least = judge(lead, lead + 1, np.inf, empty, problem, state, change, space, found)
    least = judge(0, n, least, empty, problem, state, change, space, found)
    if least == np.inf:
        return False
    k = at[0]
    for i in range(n):
        feature_rows[features[i]] = i
    choose(least, problem, state, change, space, found, path)
    gone, last = feature_rows[path[0][k]], at[1]
    for o in range(k):
        B[o, gone] = B[o, last]
    follow(0, last, problem, state, change, space, found)
    for i in range(last):
        B[k, i] = 0.0
    for o in range(k + 1):
        f = d[k, o]
        for i in range(last):
            B[o, i] -= f * F[k, i]
    return True


@njit(nogil=True, cache=True)
def search(size, problem, state, change, space, found, path, B, gains, rows, moves):  # type: ignore[no-untyped-def]
    """All moves of the search, and whether they are sure; a drop of feature i is -1 - i."""
    at, about, vanished, subset = state[11], state[12], problem[5][4], path[0]
    count, n_met, n_features = 0, 0, problem[1][0].size
    feature_rows = np.zeros(n_features, dtype=np.int64)
    met = np.zeros((MOST_MET, n_features), dtype=np.bool_)
    fill(0, at[1], problem, state, found)
    while at[0] < size and about[1] > vanished * vanished * about[2]:
        if not _append(problem, state, change, space, found, path, B, feature_rows):
            return count, True
        moves[count] = subset[at[0] - 1]
        count += 1
        met[:n_met] = False
        n_met = 0
        while about[1] > vanished * vanished * about[2]:
            for feature in subset[: at[0]]:
                met[n_met, feature] = True
            n_met += 1
            given = (problem, state, change, space, path, B, gains, met[:n_met], rows)
            place = best_exchange(*given)
            if place == -1:
                break
            if place < 0 or count + 3 > len(moves) or n_met == MOST_MET:
                return count, False
            moves[count] = -1 - subset[place]
            drop(place, problem, state, change, space, found, path, B, gains[3])
            if not _append(problem, state, change, space, found, path, B, feature_rows):
                return count, False
            moves[count + 1] = subset[at[0] - 1]
            count += 2
    return count, True
