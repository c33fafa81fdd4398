r"""A forward search with exchanges in one compiled loop; see ``swaps.py``, which has all arrays.

The rows, their sums and their changes are those of ``compiled_forward.py``. In the augmented space
of ``model.py`` let q_l = D_l / sqrt(pivot_l) be the basis of the chosen features, E_l its
coefficients. Feature b is dropped by taking out of the basis the direction

    g  =  sum_l E_lb q_l / |E_b|,        |E_b|^2  =  sum_l E_lb^2,

which alone of the basis has a coefficient on b. Rotations of two neighbours at a time from b on
leave g at the end and keep the others triangular: every product with the basis is rotated with it,
and the rows, the target and p get back what lay along g,

    row_i - e_i g      e_i  =  b_i[b] / |E_b|        r - s g      s  =  w_b / |E_b|        p + g^2.

**Which exchange is best.** With one feature dropped and x added the criterion is at least (the
bound of ``additions.py``, with u = r/p^2, beta = u'r/r'r of the set without b)

    u'r - 2 tau (beta z'r + |z| |u - beta r|) + tau^2 |z|^2,

and z'r = c - alpha b'w, |z|^2 = pivot - alpha - alpha b'b follow from the coefficients of x, in
which only b'g_c is not known for all pairs at once (g_c are the coefficients of g): it is at most
|b| |g_c|. With p <= 1 in place of p the same holds with beta = 1 and u = r, and needs no look at
the samples: on tall data that is enough for most. What is left is judged from its row, and what is
within ``NEARLY`` of the best of its b once more, from a row computed afresh: these values decide,
by the rules of ``search.with_swaps``.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_forward import _bound, _note, choose, fill, follow, judge
from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    afresh,
    column,
    dot,
    judged,
    sums_of,
    take_off,
    take_off_changes,
)

LOST = 1e-4  # part of a pivot that is left, below which sums that were followed tell nothing
SLACK = 1e-6  # part of the sums in a bound that may be rounding; wide
NEARLY = 1e-7  # values this close (relative) are told apart from rows computed afresh
MOST_MET = 64  # sets of one size that are remembered
DONE, NOBODY, UNSURE = 0, 1, 2  # how a search ended


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def take_out(place, k, D, d, pivots, g, gc):  # type: ignore[no-untyped-def]
    """Rotate a chosen feature to the end of a basis and out of it; g and gc get its direction.

    The basis is left with k - 1 vectors, and coefficients in the order of the other features.
    ``turns`` of the neighbours from ``place`` on are returned, cosines and sines.
    """
    turns = np.empty((2, k))
    scale = -1.0 / np.sqrt(pivots[place])
    for j in range(g.size):
        g[j] = scale * D[place, j]
    for o in range(k):
        gc[o] = scale * d[place, o] if o <= place else 0.0
    for old in range(place + 1, k):
        root = 1.0 / np.sqrt(pivots[old])
        mine, other = gc[place], root * d[old, place]
        size = np.sqrt(mine * mine + other * other)
        cos, sin = mine / size, other / size
        turns[0, old], turns[1, old] = cos, sin
        own = cos * root * d[old, old]
        pivots[old - 1] = 1.0 / (own * own)
        back = np.sqrt(pivots[old - 1])
        new, row = D[old - 1], D[old]
        for j in range(g.size):
            x, y = root * row[j], g[j]
            new[j] = back * (cos * x - sin * y)
            g[j] = cos * y + sin * x
        for o in range(old + 1):
            x, y = root * d[old, o], gc[o]
            gc[o] = cos * y + sin * x
            rotated = back * (cos * x - sin * y)
            if o < place:
                d[old - 1, o] = rotated
            elif o > place:
                d[old - 1, o - 1] = rotated
        d[old - 1, old - 1] = -1.0
    return turns


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def drop(place, problem, state, change, space, found, path, B, of):  # type: ignore[no-untyped-def]
    """Take the chosen feature at a place out; it is the last of the rows, and not open to return.

    All sums are taken anew, and bounds of every addition.
    """
    raw, (means, lefts, scales), weights, _, alpha, _ = problem
    Z, F, V, U, D, d, pivots, features, w, p, c, at, about, h, numbers, cube = state
    wanted, (subset, errors), (floors, squares) = change[6], path, of
    s, zw, blur, written, computed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    b2, floor, fourth = numbers[5], numbers[6], numbers[11]
    k, n, pending = at[0], at[1], at[2]
    T, m = V.shape
    feature, last = subset[place], k - 1
    g, gc, roots = np.empty(m), np.empty(k), np.empty(k)
    for i in range(n):
        take_off_changes(Z[i], i, F, D, k - pending, k)
    for past in range(place, k):
        roots[past] = np.sqrt(pivots[past])
    turns = take_out(place, k, D, d, pivots, g, gc)
    norm = gc[place]
    held = np.empty(n)  # products of all columns with what is taken out so far
    for i in range(n):
        held[i] = -roots[place] * F[place, i]
    for old in range(place + 1, k):
        cos, sin, root = turns[0, old], turns[1, old], roots[old]
        back = 1.0 / np.sqrt(pivots[old - 1])
        for i in range(n):
            x, y = root * F[old, i], held[i]
            F[old - 1, i] = back * (cos * x - sin * y)
            held[i] = cos * y + sin * x
    # What lay along g is given back to the rows, the target and p.
    for i in range(n):
        take_off(Z[i], -held[i], g)
    for o in range(k):
        to = o if o < place else o - 1
        if o != place:
            for i in range(n):
                B[to, i] = B[o, i] + held[i] * gc[o]
    for t in range(T):
        step = wanted[t, place] / norm
        take_off(V[t], step, g)
        for o in range(k):
            if o != place:
                wanted[t, o if o < place else o - 1] = wanted[t, o] - step * gc[o]
        wanted[t, last] = 0.0
        about[3 + t] = dot(V[t], V[t]) + alpha * dot(wanted[t, :last], wanted[t, :last])
    for j in range(m):
        p[j] += g[j] * g[j]
    # The feature itself becomes a row.
    x = space[0]
    j = feature
    column(raw[j], weights, means[j], lefts[j], scales[j], x)
    for past in range(last):
        F[past, n] = dot(x, D[past]) / pivots[past]
    for j in range(m):
        Z[n, j] = -g[j] / norm
    for o in range(k):
        if o != place:
            B[o if o < place else o - 1, n] = -gc[o] / norm
    features[n], floor[n], numbers[7, n] = feature, floors[feature], squares[feature]
    computed[n] = 1.0 / (norm * norm)
    for past in range(place, last):
        subset[past] = subset[past + 1]
    for past in range(k):
        d[last, past] = 0.0
    subset[last] = -1
    at[0], at[1], at[2], at[3], at[4] = last, n + 1, 0, 0, 0
    _note(problem, state, errors, space)
    for j in range(m):
        w[j] = x[j]
        cube[j] = w[j] * np.sqrt(w[j])
    n += 1
    shared = np.zeros((T, n))
    for i in range(n):
        b2[i] = 0.0
    for o in range(last):
        row = B[o]
        for i in range(n):
            b2[i] += alpha * row[i] * row[i]
        for t in range(T):
            f = alpha * wanted[t, o]
            for i in range(n):
                shared[t, i] += f * row[i]
    for i in range(n):
        square, zw[i], c[0, i], fourth[i] = sums_of(Z[i], w, V[0], cube)
        for t in range(1, T):
            c[t, i] = dot(Z[i], V[t])
        for t in range(T):
            c[t, i] += shared[t, i]
            h[t, i] = dot(Z[i], U[t])
        s[i] = written[i] = square + b2[i] + alpha
        computed[i] = max(computed[i], s[i])
        blur[i], fourth[i] = np.sqrt(zw[i]), np.sqrt(np.sqrt(fourth[i]))
    many, at[5] = at[5], 0  # the finer bound needs sums that are taken when rows follow
    _bound(0, n, problem, state, found)
    at[5] = many
    found[1][n - 1] = np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _bounds_without(place, n, alpha, inverse, gamma, state, B, abw, b_norm, target, out):  # type: ignore[no-untyped-def]
    """Bounds of the criterion with each row in place of a chosen feature, the samples not seen.

    ``target`` are, for each target, u'r, beta, |u - beta r|, s of the module's docstring, and
    alpha g_c'(w - s g_c).
    """
    c, numbers = state[10], state[14]
    s, written, f = numbers[0], numbers[3], B[place]
    for i in range(n):
        out[i] = 0.0
    for t in range(c.shape[0]):
        ur, beta, off, step, across = (
            *(target[t, 0], target[t, 1], target[t, 2]),
            *(target[t, 3], target[t, 4]),
        )
        most, wide, along = (1.0 - SLACK) * ur, beta * abs(step) * gamma, c[t]
        shared = abw[t]
        for i in range(n):
            e = f[i] * inverse
            pivot = s[i] + e * e
            far = b_norm[i] + abs(e) * gamma
            z2 = max((1.0 - SLACK) * pivot - alpha - far * far, 0.0)
            product = along[i] + e * step
            tau = product / pivot
            zr = product - shared[i] + e * across
            pull = 2.0 * (tau * zr * beta + abs(tau) * (wide * b_norm[i] + np.sqrt(pivot) * off))
            out[i] += most - pull - SLACK * abs(pull) + tau * tau * z2
    for i in range(n):
        if not s[i] > LOST * written[i]:
            out[i] = -np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _any_up_to(most, n, bounds):  # type: ignore[no-untyped-def]
    """Whether one of the bounds is no more."""
    some = 0
    for i in range(n):
        some += 1 if bounds[i] <= most else 0
    return some > 0


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def best_exchange(problem, state, change, space, path, B, gains, met, rows):  # type: ignore[no-untyped-def]
    """The place of the feature to exchange, -1 if none is to be; -2 if that cannot be said here.

    ``gains`` are the part and the part of the empty criterion by which an exchange must be better,
    and how steep a removal may be; ``met`` the sets since the last addition that was no exchange;
    ``rows`` room for all rows.
    """
    raw, (means, lefts, scales), weights, _, alpha, guards = problem
    Z, F, V, _, D, d, pivots, features, _, p, _, at, about, _, numbers, _ = state
    wanted, (subset, errors) = change[6], path
    s, b2, floor, squares = numbers[0], numbers[5], numbers[6], numbers[7]
    room, tie, tie_floor, second_go = guards[0], guards[1], guards[2], guards[3] * guards[3]
    gain, gain_floor, steep, column_squares = gains[0], gains[1], gains[2], gains[3][1]
    k, n, pending = at[0], at[1], at[2]
    T, m = V.shape
    empty, now = errors[0], about[0]
    least = now * (1.0 - gain) - gain_floor * empty
    if not (np.isfinite(errors[k]) and np.isfinite(empty)):
        return -2
    # Coefficients of the directions that removals take out, k x k, and what bounds share.
    G, norms, shares = np.zeros((k, k)), np.zeros(k), np.zeros((k, k))
    for past in range(k):
        over = 1.0 / pivots[past]
        for a in range(past + 1):
            f = over * d[past, a]
            for b in range(past + 1):
                G[a, b] += f * d[past, b]
    for a in range(k):
        norms[a] = np.sqrt(G[a, a])
        if G[a, a] * column_squares[subset[a]] > steep:
            return -2
        for b in range(k):
            G[a, b] /= norms[a]
            shares[b, a] = -d[b, a] / (pivots[b] * norms[a]) if b >= a else 0.0
    abw, b_norm = np.zeros((T, n)), np.empty(n)
    for t in range(T):
        for o in range(k):
            f = alpha * wanted[t, o]
            for i in range(n):
                abw[t, i] += f * B[o, i]
    for i in range(n):
        b_norm[i] = np.sqrt(max(b2[i], 0.0)) * (1.0 + SLACK)
    have = np.zeros(n, dtype=np.bool_)
    pivot_of, c_of = np.empty(n), np.empty((n, T))
    g, rest, left, hold = np.empty(m), np.empty((T, m)), np.empty(m), np.empty(m)
    z, x, tau = np.empty(m), np.empty(m), np.empty(T)
    bounds, values, target = np.empty(n), np.empty(n), np.empty((T, 5))
    copied, copied_d, copied_pivots = np.empty((k, m)), np.empty((k, k)), np.empty(k)
    gc, bc, fc, wc = np.empty(k), np.empty(k), np.empty(k), np.empty((T, k))
    best_place, best = -1, np.inf
    for place in np.argsort(subset[:k]):
        feature = subset[place]
        most = min(least, best) * (1.0 + SLACK) + gain_floor * empty
        inverse, own = 1.0 / norms[place], 0.0
        for o in range(k):
            own += G[place, o] * G[place, o]
        for t in range(T):
            step = wanted[t, place] * inverse
            along = squared = 0.0
            for o in range(k):
                w = wanted[t, o] - step * G[place, o]
                along += G[place, o] * w
                squared += w * w
            rr = about[3 + t] + step * step - alpha * squared
            target[t, 0], target[t, 1], target[t, 2] = rr, 1.0, 0.0
            target[t, 3], target[t, 4] = step, alpha * along
        given = (alpha, inverse, np.sqrt(alpha * own) * (1.0 + SLACK), state, B, abw, b_norm)
        if m >= n:
            _bounds_without(place, n, *given, target, bounds)
            if not _any_up_to(most, n, bounds):
                continue
        for j in range(m):
            g[j] = 0.0
        take_off_changes(g, place, shares, D, place, k)
        for j in range(m):
            left[j] = p[j] + g[j] * g[j]
        for t in range(T):
            step = target[t, 3]
            a1 = a2 = a3 = 0.0
            for j in range(m):
                y = V[t, j] - step * g[j]
                rest[t, j] = y
                u = y / (left[j] * left[j])
                a1 += u * y
                a2 += u * u
                a3 += y * y
            beta = a1 / max(a3, 1e-300)
            off = np.sqrt(max(a2 - beta * a1, 0.0) + 1e-14 * a2)
            target[t, 0], target[t, 1], target[t, 2] = a1, beta, off
        _bounds_without(place, n, *given, target, bounds)
        lowest, doubtful = np.inf, 0
        for i in range(n):
            values[i] = np.inf
            if bounds[i] > most or bounds[i] > lowest * (1.0 + 2.0 * NEARLY):
                continue
            row = rows[i]
            if not have[i]:
                have[i] = True
                for j in range(m):
                    row[j] = Z[i, j]
                take_off_changes(row, i, F, D, k - pending, k)
                pivot_of[i] = dot(row, row) + b2[i] + alpha
                for t in range(T):
                    c_of[i, t] = dot(row, V[t]) + abw[t, i]
            e = B[place, i] * inverse
            pivot = pivot_of[i] + e * e
            if pivot < second_go * (squares[i] + alpha) or not s[i] > LOST * numbers[3, i]:
                values[i] = -np.inf  # little is left: only a row computed afresh tells
                doubtful += 1
                continue
            if pivot <= 0.5 * floor[i]:
                continue
            for j in range(m):
                z[j] = row[j] - e * g[j]
            for t in range(T):
                tau[t] = (c_of[i, t] + e * target[t, 3]) / pivot
            values[i] = judged(z, 1.0 / pivot, tau, rest, left, hold, room)
            lowest = min(lowest, values[i])
        if lowest > most and doubtful == 0:
            continue
        # What decides: rows computed afresh, with the basis of the set without the feature.
        for past in range(k):
            for j in range(m):
                copied[past, j] = D[past, j]
            for o in range(k):
                copied_d[past, o] = d[past, o]
            copied_pivots[past] = pivots[past]
        take_out(place, k, copied, copied_d, copied_pivots, g, gc)
        for t in range(T):
            for o in range(k):
                to = o if o < place else o - 1
                if o != place:
                    wc[t, to] = wanted[t, o] - target[t, 3] * gc[o]
        lowest_now = np.inf
        for i in range(n):
            if not values[i] <= lowest * (1.0 + NEARLY):
                values[i] = np.inf
                continue
            if not values[i] < np.inf:
                continue
            j = features[i]
            column(raw[j], weights, means[j], lefts[j], scales[j], x)
            square = afresh(z, bc, x, fc, copied, copied_d, copied_pivots, alpha, k - 1)
            pivot = dot(z, z) + square + alpha
            values[i] = np.inf
            if pivot <= floor[i]:
                continue
            for t in range(T):
                tau[t] = (dot(z, rest[t]) + alpha * dot(bc[: k - 1], wc[t, : k - 1])) / pivot
            values[i] = judged(z, 1.0 / pivot, tau, rest, left, hold, room)
            lowest_now = min(lowest_now, values[i])
        if not lowest_now < least:
            continue
        chosen = -1
        for i in range(n):
            near = values[i] <= lowest_now + tie * lowest_now + tie_floor * empty
            if near and (chosen < 0 or features[i] < features[chosen]):
                chosen = i
        if _is_met(subset[:k], feature, features[chosen], met):
            continue
        if best_place < 0 or values[chosen] < best * (1.0 - gain):
            best_place, best = place, values[chosen]
    return best_place


@njit(nogil=True, cache=True)
def _is_met(subset, gone, new, met):  # type: ignore[no-untyped-def]
    """Whether a set was met with one of its features exchanged for another."""
    for past in range(met.shape[0]):
        same = met[past, new]
        for feature in subset:
            same &= feature == gone or met[past, feature]
        if same:
            return True
    return False


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
    """All moves of the search, and how it ended; a drop of feature i is -1 - i."""
    at, about, vanished, subset = state[11], state[12], problem[5][4], path[0]
    count, n_met, n_features = 0, 0, problem[0].shape[0]
    feature_rows = np.zeros(n_features, dtype=np.int64)
    met = np.zeros((MOST_MET, n_features), dtype=np.bool_)
    fill(0, at[1], problem, state, found)
    while at[0] < size and about[1] > vanished * vanished * about[2]:
        if not _append(problem, state, change, space, found, path, B, feature_rows):
            return count, NOBODY
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
                return count, UNSURE
            moves[count] = -1 - subset[place]
            drop(place, problem, state, change, space, found, path, B, gains[3])
            if not _append(problem, state, change, space, found, path, B, feature_rows):
                return count, UNSURE
            moves[count + 1] = subset[at[0] - 1]
            count += 2
    return count, DONE
