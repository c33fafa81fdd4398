r"""Which exchange is best; ``compiled_swaps.py`` has the letters.

With one feature dropped and x added the criterion is at least (the bound of ``additions.py``, with
u_b = r/p^2 of the set without b)

    u_b'r - 2 tau z'u_b + tau^2 |z|^2,        |z|^2  =  pivot - alpha - alpha b'b.

With u and z_x of the model as it stands, z = z_x - e g and any number kappa,

    z'u_b  =  z_x'u - e g'u_b + kappa z_x'g + z_x'(u_b - u - kappa g),

in which z_x'u is known (``compiled_forward.py``), z_x'g = - alpha b_x'g_c is small, and so is the
last vector, with the kappa that makes it so, where not much is lost by dropping b: that is, where
an exchange may help. The terms that are not known for all pairs at once are at most
sqrt(alpha) |b_x| sqrt(alpha) |g_c| and |z_x| |u_b - u - kappa g|; g_c are the coefficients of g.

Before that, on tall data: p is at most one, so that the criterion is no less than

    r'r - 2 tau z'r + tau^2 |z|^2,        z'r  =  c - alpha b'w,

which needs no look at the samples and is enough for most. What is left is judged from its row, and
what is within ``ALMOST`` of the best of its b once more, from a row computed afresh: these values
decide, by the rules of ``search.with_swaps``.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    afresh,
    dot,
    judged,
    original,
    take_off_changes,
)

LOST = 1e-4  # part of a pivot that is left, below which sums that were followed tell nothing
BLURRED = 1e-6  # part of the sums in a bound that may be rounding; wide
ALMOST = 1e-7  # values this close (relative) are told apart from rows computed afresh


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
def _bounds_unseen(place, n, alpha, inverse, gamma, state, B, b_norm, abw, target, out):  # type: ignore[no-untyped-def]
    """Bounds of the criterion with each row in place of a chosen feature, the samples not seen.

    ``target`` are, for each target, r'r without the feature, s of the module's docstring, and
    alpha g_c'(w - s g_c).
    """
    c, numbers = state[10], state[14]
    s, written, f = numbers[0], numbers[3], B[place]
    for i in range(n):
        out[i] = 0.0
    for t in range(c.shape[0]):
        rr, step, across = target[t, 0], target[t, 1], target[t, 2]
        most, wide, along, shared = (1.0 - BLURRED) * rr, abs(step) * gamma, c[t], abw[t]
        for i in range(n):
            e = f[i] * inverse
            pivot = s[i] + e * e
            far = b_norm[i] + abs(e) * gamma
            z2 = max((1.0 - BLURRED) * pivot - alpha - far * far, 0.0)
            product = along[i] + e * step
            tau = product / pivot
            pull = 2.0 * (tau * (product - shared[i] + e * across) + abs(tau) * wide * b_norm[i])
            out[i] += most - pull - BLURRED * abs(pull) + tau * tau * z2
    for i in range(n):
        if not s[i] > LOST * written[i]:
            out[i] = -np.inf


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _bounds_seen(place, n, alpha, inverse, gamma, state, B, b_norm, root, target, out):  # type: ignore[no-untyped-def]
    """The same from the samples of the model without the feature.

    ``target`` are, for each target, u'r, s, g'u, |kappa| times ``gamma``, and |u_b - u - kappa g|.
    """
    c, h, numbers = state[10], state[13], state[14]
    s, written, f = numbers[0], numbers[3], B[place]
    for i in range(n):
        out[i] = 0.0
    for t in range(c.shape[0]):
        ur, step, own, wide, off = (
            *(target[t, 0], target[t, 1], target[t, 2]),
            *(target[t, 3], target[t, 4]),
        )
        most, along, beside = (1.0 - BLURRED) * ur, c[t], h[t]
        for i in range(n):
            e = f[i] * inverse
            pivot = s[i] + e * e
            far = b_norm[i] + abs(e) * gamma
            z2 = max((1.0 - BLURRED) * pivot - alpha - far * far, 0.0)
            tau = (along[i] + e * step) / pivot
            rest = wide * b_norm[i] + root[i] * off
            size = abs(tau) * (rest + BLURRED * (abs(beside[i]) + abs(e * own)))
            out[i] += most - 2.0 * (tau * (beside[i] - e * own) + size) + tau * tau * z2
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
    raw, stand, weights, _, alpha, guards = problem
    Z, F, V, U, D, d, pivots, features, _, p, _, at, about, _, numbers, _ = state
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
    abw, b_norm, root = np.zeros((T, n)), np.empty(n), np.empty(n)
    for t in range(T):
        for o in range(k):
            f = alpha * wanted[t, o]
            for i in range(n):
                abw[t, i] += f * B[o, i]
    for i in range(n):
        b_norm[i] = np.sqrt(max(b2[i], 0.0)) * (1.0 + BLURRED)
        root[i] = np.sqrt(max(s[i], 0.0)) * (1.0 + BLURRED)
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
        most = min(least, best) * (1.0 + BLURRED) + gain_floor * empty
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
            target[t, 0], target[t, 1], target[t, 2] = rr, step, alpha * along
        gamma = np.sqrt(alpha * own) * (1.0 + BLURRED)
        given = (alpha, inverse, gamma, state, B, b_norm)
        if m >= n:
            _bounds_unseen(place, n, *given, abw, target, bounds)
            if not _any_up_to(most, n, bounds):
                continue
        for j in range(m):
            g[j] = 0.0
        take_off_changes(g, place, shares, D, place, k)
        square = 0.0
        for j in range(m):
            left[j] = p[j] + g[j] * g[j]
            square += g[j] * g[j]
        for t in range(T):
            step = target[t, 1]
            a1 = a2 = a3 = a4 = 0.0
            for j in range(m):
                y = V[t, j] - step * g[j]
                rest[t, j] = y
                u = y / (left[j] * left[j])
                change = u - U[t, j]
                a1 += u * y
                a2 += u * g[j]
                a3 += change * g[j]
                a4 += change * change
            kappa = a3 / max(square, 1e-300)
            off = np.sqrt(max(a4 - kappa * a3, 0.0) + BLURRED * BLURRED * a4)
            target[t, 0], target[t, 2] = a1, a2
            target[t, 3], target[t, 4] = abs(kappa) * gamma, off
        _bounds_seen(place, n, *given, root, target, bounds)
        lowest, doubtful = np.inf, 0
        for i in range(n):
            values[i] = np.inf
            if bounds[i] > most or bounds[i] > lowest * (1.0 + 2.0 * ALMOST):
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
                tau[t] = (c_of[i, t] + e * target[t, 1]) / pivot
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
                    wc[t, to] = wanted[t, o] - target[t, 1] * gc[o]
        lowest_now = np.inf
        for i in range(n):
            if not values[i] <= lowest * (1.0 + ALMOST):
                values[i] = np.inf
                continue
            if not values[i] < np.inf:
                continue
            original(raw, features, i, weights, stand, x)
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
