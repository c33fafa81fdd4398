"""A whole forward search by the Gram matrix and bounds, in one compiled loop; see ``whole.py``.

The letters are those of ``additions.py`` and ``fused.py``. A candidate whose bound is the lowest of
all is looked at: first x'u is taken, for a better bound, then it is judged from its column.

The bound of ``additions.py`` forgets that a new feature takes leverage: 1/(p - v) > 1/p, where
v = z^2/pivot. Of candidates that were judged before, something is known of that. Since 1/(p - v)^2
is convex in v,

    LOO(x)  >=  sum (r - z tau)^2 / p^2  +  (2 / pivot) N^2,   N = | z (r - z tau) p^-3/2 |,

and with w = |r| p^-3/2 and norms |.|_4 of fourth powers

    N  >=  |z w| - |tau| |z^2 p^-3/2|  >=  |z w| - |tau| min(p)^-3/2 |z|_4^2.

When the candidate was judged, at z0 and w0, |z0 w0| and |z0|_4 were found on the way. The steps
since took parts d = z0 - z off it, orthogonal to each other, so that |d|^2 is at most what s has
lost; and

    |z w|  >=  |z0 w0| - |z0|_4 |w - w0|_4 - max(w) |d|,      |z|_4  <=  |z0|_4 + |d|,

where |w - w0|_4 is at most the sum of the changes from step to step. In the same way z'(u - beta r)
is known, from when x'u was taken last, up to |z| times the change of u - beta r since, and |d|
times what it was.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_candidates import (
    afresh,
    bound,
    column_norms,
    copy,
    dot,
    judged,
    lifted,
    measure,
    products,
    spikes,
    take_off,
    take_off_all,
)
from sparsepath.rls.leave_one_out.compiled_rows import FAST, column

SLIGHT = 1e-6  # part of a column that is left, below which sums of products tell too little of it


@njit(nogil=True, cache=True, fastmath=FAST)
def picked(X, rows, means, g, out):  # type: ignore[no-untyped-def]
    """Some samples of the columns X, features by samples, centred and weighted."""
    for i in range(X.shape[0]):
        for j in range(rows.size):
            out[i, j] = g[rows[j]] * (X[i, rows[j]] - means[i])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def bounded(until, X, g, columns, gram, y, weights, alpha, floor, guards, path, state):  # type: ignore[no-untyped-def]  # fmt: skip
    """Search forward from the columns X, features by samples, up to a size; if all is fit.

    Products of columns, centred and not scaled, are G - H + ef' + fe', where
    ``gram`` holds G, H (empty if there is none), e, f; for every feature its row in G and H, -1
    if there is none, and its products are taken when it is chosen; the features whose products
    are not known well by a difference, and are taken in every step; and the products of the columns
    with y, features by targets, if they are known. ``columns`` are means,
    left, scales, squares and sizes; ``guards`` room, tie, tie floor, vanished, rounding, what is
    known well, what is known to the last, what is trusted, and what part of a square is little.
    ``path`` is the subset, and errors, their deviations and coefficients of every size, to be
    filled; ``state`` is what a later call goes on from, see ``by_products.py``.

    Whatever orders the work, the numbers of a path come from the columns that are chosen: Q is made
    of these alone, so that no number depends on how products were come by.
    """
    room, tie, tie_floor, vanished, rounding, known_well, surely, trusted, little = guards
    subset, errors, around, coef = path
    means, lefts, scales, squares, sizes = columns
    G, H, e, f, row_of, again, start = gram
    at, about, V, Q, p, u, live, factors, held, known, turns_of = state
    t, b, b2, c, s = factors
    kept, owner, place, done = held  # rows of columns that were judged, up to which step, and whose
    then, w = known  # |z w|, |z|_4, s and the changes of w when one was judged
    rest, turned, taken, taken_at, taken_s = turns_of  # u - beta r, its changes; z'(u - beta r)
    n, m = X.shape
    T, size, places = y.shape[0], subset.size, owner.size
    width = m + size
    x, D, dual, metric = np.zeros(m), np.zeros(width), np.zeros(width), np.ones(width)
    turns = np.zeros(size)
    metric[m:] = alpha
    gu, zu = np.zeros((T, m)), np.zeros((T, size))
    inverses, losses, left = np.zeros(m), np.zeros(m), np.zeros(m)
    h, values, bounds, tau = np.zeros((T, n)), np.zeros(n), np.zeros(n), np.zeros(T)
    fine, lifts, rough = np.zeros(n, dtype=np.bool_), np.zeros(n), np.zeros((T, n))
    sure, unsure = np.zeros(T), np.zeros(T)
    su, off, uu, norms = np.zeros(T), np.zeros(T), np.zeros(T), np.zeros(T)
    for o in range(T):
        norms[o] = np.sqrt(dot(y[o], y[o]))
    if at[0] < 0:
        for o in range(T):
            copy(y[o], V[o])
            for j in range(m):
                gu[o, j] = g[j] * y[o, j]
                su[o] += gu[o, j]
            for i in range(n):
                if start.size:
                    c[o, i] = scales[i] * start[i, o]
                elif live[i]:
                    c[o, i] = scales[i] * (dot(X[i], gu[o]) - means[i] * su[o])
        total, deviation, tight, rr = measure(V[:, :m], p, weights, room, u, inverses, losses)
        errors[0] = total if tight == 0.0 else np.inf
        around[0] = deviation
        at[0], about[0], about[1], about[2] = 0, errors[0], rr, rr
    k, follows, empty, everything, rr, drift = at[0], at[1], about[0], about[1], about[2], about[3]
    while k < until and rr > vanished * vanished * everything:
        ur, used = 0.0, m + k
        for o in range(T):
            r = V[o, :m]
            here, uu[o] = dot(u[o], r), dot(u[o], u[o])
            ur += here
            beta = here / max(dot(r, r), 1e-300)
            off[o] = np.sqrt(max(uu[o] - beta * here, 0.0) + 1e-14 * uu[o])
            total = change = 0.0
            for j in range(m):
                gu[o, j] = g[j] * u[o, j]
                total += gu[o, j]
                now = u[o, j] - beta * r[j]
                change += (now - rest[o, j]) * (now - rest[o, j])
                rest[o, j] = now
            su[o], turned[o] = total, turned[o] + np.sqrt(change)
            for i in range(n):
                rough[o, i] = beta * c[o, i]
            products(Q, k, u[o], zu[o])
            for i in range(k):
                take_off(rough[o], -beta * alpha * dot(Q[i, m:used], V[o, m:used]), t[i])
        change, largest, narrow = spikes(V[:, :m], p, room, w, left)
        drift, widest = drift + change, (largest, narrow)
        for i in range(n):
            values[i], bounds[i], fine[i], lifts[i] = np.inf, np.inf, False, 0.0
            if live[i]:
                q = max(max(s[i], 0.0) - alpha * b2[i], 0.0)
                doubt = 2.0 * rounding * sizes[i] * np.sqrt(squares[i])
                length = np.sqrt(q + doubt)  # at least |z|
                for o in range(T):
                    h[o, i], unsure[o] = rough[o, i], length * off[o]
                    if taken_s[i] >= 0.0:
                        gone, unit = turned[o] - taken_at[o, i], rounding * sizes[i]
                        away = np.sqrt(max(taken_s[i] - s[i], 0.0) + doubt)
                        now = length * gone + away * (off[o] + gone) + unit * np.sqrt(uu[o])
                        if now < unsure[o]:
                            h[o, i] += taken[o, i]
                            unsure[o] = now
                if then[i, 0] > 0.0 and doubt <= known_well * (alpha + s[i]):
                    lifts[i] = lifted(then[i], s[i], c[:, i], alpha, doubt, drift, widest)
                given = (s[i], q, squares[i], sizes[i], alpha, ur + lifts[i], rounding, trusted)
                bounds[i] = bound(c[:, i], h[:, i], unsure, uu, norms, given)
        least, most = np.inf, np.inf
        while True:
            i = int(np.argmin(bounds))
            if not bounds[i] <= most or bounds[i] == np.inf:
                break
            if not fine[i] and bounds[i] > -np.inf:
                for o in range(T):
                    h[o, i] = scales[i] * (dot(X[i], gu[o]) - means[i] * su[o])
                    for j in range(k):
                        h[o, i] -= t[j, i] * zu[o, j]
                    taken[o, i], taken_at[o, i] = h[o, i] - rough[o, i], turned[o]
                taken_s[i] = s[i]
                doubt = 2.0 * rounding * sizes[i] * np.sqrt(squares[i])
                if then[i, 0] == 0.0 and doubt <= known_well * (alpha + s[i]):
                    then[i, 0], then[i, 1] = column_norms(X[i], g, means[i], scales[i], w)
                    then[i, 2], then[i, 3] = squares[i], drift
                    lifts[i] = lifted(then[i], s[i], c[:, i], alpha, doubt, drift, widest)
                q = max(max(s[i], 0.0) - alpha * b2[i], 0.0)
                given = (s[i], q, squares[i], sizes[i], alpha, ur + lifts[i], rounding, trusted)
                bounds[i] = bound(c[:, i], h[:, i], sure, uu, norms, given)
                fine[i] = True
                continue
            bounds[i] = np.inf
            if place[i] < 0:
                if owner[follows] >= 0:
                    place[owner[follows]] = -1
                place[i], owner[follows] = follows, i
                row = kept[follows]
                column(X[i], g, means[i], lefts[i], scales[i], row[:m])
                row[m:] = 0.0
                done[i] = 0
                follows = (follows + 1) % places
            row = kept[place[i]]
            doubt = 2.0 * rounding * sizes[i] * np.sqrt(squares[i])
            if doubt <= known_well * (alpha + s[i]):
                take_off_all(row[:used], t[:, i], Q, done[i], k)
            else:
                column(X[i], g, means[i], lefts[i], scales[i], x)
                afresh(row, x, Q, alpha, turns, k, little)
            done[i] = k
            pivot = alpha + s[i]
            followed = doubt <= surely * pivot  # s and c are as exact as sums over the row
            for o in range(T):
                followed &= rounding * sizes[i] * norms[o] <= surely * abs(c[o, i])
                tau[o] = c[o, i] / pivot
            if not followed:
                pivot = alpha
                for j in range(used):
                    pivot += row[j] * row[j] * metric[j]
            if pivot <= floor[i]:
                continue
            if not followed:
                for o in range(T):
                    inner = 0.0
                    for j in range(used):
                        inner += row[j] * V[o, j] * metric[j]
                    tau[o] = inner / pivot
            values[i], heavy, fourth = judged(row[:m], 1.0 / pivot, tau, V, p, w, left, room)
            then[i, 0], then[i, 1], then[i, 2], then[i, 3] = heavy, fourth, s[i], drift
            if values[i] < least:
                least = values[i]
                most = least + tie * least + tie_floor * empty
        if least == np.inf:
            at[2] = 1
            break
        chosen = 0
        while not values[chosen] <= most:
            chosen += 1
        column(X[chosen], g, means[chosen], lefts[chosen], scales[chosen], x)
        pivot = afresh(D, x, Q, alpha, turns, k, little)
        D[used] = -1.0
        used += 1
        root = np.sqrt(pivot)
        for j in range(used):
            dual[j] = D[j] * metric[j] / pivot
            Q[k, j] = D[j] / root
        new, known_at = t[k], row_of[chosen]
        slight = pivot < SLIGHT * squares[chosen]
        if slight or known_at < 0 or again.size:
            total = 0.0
            for j in range(m):
                x[j] = g[j] * (D[j] if slight else x[j])
                total += x[j]
        if known_at >= 0 and not slight:
            copy(G[known_at], new)
            if H.size:
                take_off(new, 1.0, H[known_at])
            for i in range(n):
                new[i] += e[chosen] * f[i] + f[chosen] * e[i]
                new[i] *= scales[chosen] * scales[i]
            for j in range(again.size):
                i = again[j]
                if live[i]:
                    new[i] = scales[i] * (dot(X[i], x) - means[i] * total)
        else:
            for i in range(n):
                if live[i]:
                    new[i] = scales[i] * (dot(X[i], x) - means[i] * total)
        for i in range(0 if slight else k):
            take_off(new, t[i, chosen], t[i])
        for i in range(n):
            new[i] /= root
            s[i] -= new[i] * new[i]
            b2[i] = 0.0
        for i in range(k + 1):
            take_off(b[i], Q[k, m + i], new)
            for j in range(n):
                b2[j] += b[i, j] * b[i, j]
        for o in range(T):
            a = dot(V[o, :used], dual[:used])
            take_off(V[o, :used], a, D[:used])
            take_off(c[o], a * root, new)
        for j in range(m):
            p[j] -= Q[k, j] * Q[k, j]
        live[chosen] = False
        subset[k] = chosen
        k += 1
        total, deviation, tight, rr = measure(V[:, :m], p, weights, room, u, inverses, losses)
        errors[k] = total if tight == 0.0 else np.inf
        around[k] = deviation
        for i in range(k):
            for o in range(T):
                coef[k, i, o] = V[o, m + i]
    at[0], at[1], about[2], about[3] = k, follows, rr, drift
    return not rr > vanished * vanished * everything
