"""Compiled loops that go down a path over l1 with the products of all columns at hand.

With G = Z'sZ, c = Z's y and r = G w - c, the gradient of the loss at w, one move sets

    w_j = soft(G_jj w_j - r_j, l1_j) / (G_jj + 2 l2_j),        r += (change of w_j) G_j

for the columns of a working set, in matrices of these alone. Where that crawls, the minimum for the
present signs is solved for, and gone to until a weight changes its sign.
"""

import numpy as np
from numba import njit

from sparsepath.grafting.compiled import FAST

MOST_SETS = 50  # working sets of one value of l1
MOST_HELPED = 30  # times that one of them is helped
PASSES = 10  # passes before help, at least, and a third of the weights: that is its price
ZERO_PIVOT = 1e-12  # part of a column's square that others must leave of it
TIGHTER = 1e-4  # part of the tolerance beyond which descent gains nothing


@njit(nogil=True, cache=True, fastmath=FAST)
def path_by_products(  # type: ignore[no-untyped-def]
    G, c, yy, zero, l1s, factors, l2, usable, tol, scale, first, budget, W, R, figures, l1, some
):
    """Fill the rows of W (weights), R (gradients of the loss) and figures from ``first`` on.

    Row t of ``figures`` holds the mean loss, the criterion, the largest violation over ``scale``
    and the duality gap over the criterion, or over ``zero`` if that is more; both are within
    ``tol``, or as near as rounding lets them come. Ends after the row where ``budget`` (moves times
    columns) is used up, so that the caller is heard in between; returns the next row. ``l1`` and
    ``some`` are room for n numbers and n places.
    """
    n = c.size
    spent = 0.0
    t = first
    while t < l1s.size and spent < budget:
        w = W[t]
        r = R[t]
        before = l1s[max(t - 1, 0)]
        for j in range(n):
            l1[j] = l1s[t] * factors[j]
            w[j] = W[t - 1, j] if t > 0 else 0.0
        goal = tol * scale
        for turn in range(MOST_SETS):
            _gradient(G, c, w, r)
            spent += 10.0 * n
            violation = _violation(r, w, l1, l2, usable)
            loss, total, gap = _certificates(c, yy, r, w, l1, l2, usable)
            gap = max(gap, 0.0) / max(total, zero)
            if violation <= tol * scale and gap <= tol:
                break
            if violation <= goal:
                goal = 0.1 * min(goal, violation)
                if goal < TIGHTER * tol * scale:
                    break
            level = min(1.0, 2.0 - before / l1s[t]) if turn == 0 and l1s[t] > 0.0 else 1.0
            k = _working_set(r, w, l1, usable, level, some)
            if k == 0:
                break
            spent += _on_working_set(G, r, w, l1, l2, some, k, 0.5 * goal)
        figures[t, 0] = loss
        figures[t, 1] = total
        figures[t, 2] = violation / scale
        figures[t, 3] = gap
        t += 1
    return t


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _gradient(G, c, w, r):  # type: ignore[no-untyped-def]
    """Fill r = G w - c afresh."""
    n = c.size
    for i in range(n):
        r[i] = -c[i]
    for j in range(n):
        if w[j] != 0.0:
            row = G[j]
            for i in range(n):
                r[i] += w[j] * row[i]


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _working_set(r, w, l1, usable, level, some):  # type: ignore[no-untyped-def]
    """Fill in the weights in use and those of a gradient beyond ``level`` of l1; their number."""
    k = 0
    for j in range(w.size):
        if usable[j] and (w[j] != 0.0 or abs(r[j]) > level * l1[j]):
            some[k] = j
            k += 1
    return k


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _violation(r, w, l1, l2, usable):  # type: ignore[no-untyped-def]
    largest = 0.0
    for j in range(w.size):
        if usable[j]:
            if w[j] == 0.0:
                left = abs(r[j]) - l1[j]
            elif w[j] > 0.0:
                left = abs(r[j] + 2.0 * l2[j] * w[j] + l1[j])
            else:
                left = abs(r[j] + 2.0 * l2[j] * w[j] - l1[j])
            largest = max(largest, left)
    return largest


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _certificates(c, yy, r, w, l1, l2, usable):  # type: ignore[no-untyped-def]
    """The mean loss, the criterion and the duality gap (see ``criterion.py``).

    With u = Z w - y: mean u^2 = yy - c'w + r'w and mean u y = c'w - yy.
    """
    cw = 0.0
    rw = 0.0
    penalties = 0.0
    part = 1.0
    for j in range(w.size):
        if usable[j]:
            cw += c[j] * w[j]
            rw += r[j] * w[j]
            penalties += l1[j] * abs(w[j]) + l2[j] * w[j] * w[j]
            if l2[j] == 0.0 and abs(r[j]) > l1[j]:
                part = min(part, l1[j] / abs(r[j]))
    squares = max(yy - cw + rw, 0.0)
    soft = 0.0
    for j in range(w.size):
        if usable[j] and l2[j] > 0.0:
            over = max(part * abs(r[j]) - l1[j], 0.0)
            soft += over * over / (4.0 * l2[j])
    dual = -(0.5 * part * part * squares + part * (cw - yy)) - soft
    loss = 0.5 * squares
    return loss, loss + penalties, loss + penalties - dual


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _on_working_set(G, r, w, l1, l2, some, k, tol):  # type: ignore[no-untyped-def]
    """Descend in place over ``k`` columns until no move is above tol; returns the work."""
    H = np.empty((k, k))
    q = np.empty(k)
    u = np.empty(k)
    lam = np.empty(k)
    ridge = np.empty(k)
    for a in range(k):
        i = some[a]
        q[a] = r[i]
        u[a] = w[i]
        lam[a] = l1[i]
        ridge[a] = 2.0 * l2[i]
        row = G[i]
        for b in range(k):
            H[a, b] = row[some[b]]
    spent = float(k * k)
    for _ in range(MOST_HELPED):
        free = 0
        for a in range(k):
            if u[a] != 0.0:
                free += 1
        most = max(PASSES, free // 3)
        largest = 0.0
        for _ in range(most):
            largest = 0.0
            for a in range(k):
                curvature = H[a, a] + ridge[a]
                if curvature <= 0.0:
                    continue
                z = H[a, a] * u[a] - q[a]
                if z > lam[a]:
                    new = (z - lam[a]) / curvature
                elif z < -lam[a]:
                    new = (z + lam[a]) / curvature
                else:
                    new = 0.0
                d = new - u[a]
                if d != 0.0:
                    u[a] = new
                    row = H[a]
                    for b in range(k):
                        q[b] += d * row[b]
                    spent += k
                    largest = max(largest, abs(d) * curvature)
            if largest <= tol:
                break
        if largest <= tol:
            break
        spent += _solve_for_signs(H, q, u, lam, ridge)
    for a in range(k):
        w[some[a]] = u[a]
    return spent


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _solve_for_signs(H, q, u, lam, ridge):  # type: ignore[no-untyped-def]
    """Go to the minimum for the present signs, or to where the first weight comes to zero.

    A column that others reproduce keeps its weight. Returns the work.
    """
    k = u.size
    L = np.empty((k, k))
    held = np.empty(k, dtype=np.intp)
    step = np.empty(k)
    f = 0
    for a in range(k):
        if u[a] == 0.0:
            continue
        whole = H[a, a] + ridge[a]
        pivot = whole
        for i in range(f):
            total = H[a, held[i]]
            for e in range(i):
                total -= L[f, e] * L[i, e]
            L[f, i] = total / L[i, i]
            pivot -= L[f, i] * L[f, i]
        if pivot <= ZERO_PIVOT * whole:
            continue
        L[f, f] = pivot**0.5
        held[f] = a
        f += 1
    for i in range(f):
        a = held[i]
        total = -(q[a] + ridge[a] * u[a] + (lam[a] if u[a] > 0.0 else -lam[a]))
        for e in range(i):
            total -= L[i, e] * step[e]
        step[i] = total / L[i, i]
    for i in range(f - 1, -1, -1):
        step[i] /= L[i, i]
        for e in range(i):
            step[e] -= L[i, e] * step[i]
    part = 1.0
    crossing = -1
    for i in range(f):
        a = held[i]
        if step[i] * u[a] < 0.0 and -u[a] / step[i] < part:
            part = -u[a] / step[i]
            crossing = i
    for i in range(f):
        a = held[i]
        d = -u[a] if i == crossing else part * step[i]
        u[a] = 0.0 if i == crossing else u[a] + d
        row = H[a]
        for b in range(k):
            q[b] += d * row[b]
    return float(f) ** 3 / 3.0 + float(f * k)
