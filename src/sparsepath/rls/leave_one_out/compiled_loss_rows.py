"""The rows of a search by a loss, in compiled loops; see ``compiled_loss_search.py``.

As in ``compiled_forward.py`` the last few changes are left pending: a row as stored has lost each
change l ``made[l]`` times, and has yet to lose ``lag`` times those that are pending. So a step
reads the rows once, for their products with the change and, of a convex loss, with its slopes.
Since the changes are orthogonal to each other, together with their coefficients d, the product of
a row with the last change D is that of the row as stored, less the sum of made[l] alpha d_l'd.

Losses that count look at all numbers of all rows in every step. There only the last change is
pending, and that before is written in the loop that takes the product with the last one.
"""

from numba import njit

from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    LONG,
    PENDING,
    afresh,
    column,
    dot,
    take_off,
    take_off_changes,
)

STRIP = 1024  # samples that are written together


@njit(nogil=True, cache=True)
def stand(i, problem, out):  # type: ignore[no-untyped-def]
    """The column of row i as it stands."""
    raw, (means, lefts, scales), g, features, order = problem
    b = features[i]
    if order.size == 0:
        column(raw[b], g, means[b], lefts[b], scales[b], out)
        return
    x, mean, left, scale = raw[b], means[b], lefts[b], scales[b]
    for j in range(g.size):
        out[j] = g[j] * (((x[order[j]] - mean) - left) * scale)


@njit(nogil=True, cache=True, fastmath=FAST)
def begin(problem, state):  # type: ignore[no-untyped-def]
    """Make the rows of all columns, and their products with the target."""
    Z, V, C = state[0], state[1], state[8]
    for i in range(Z.shape[0]):
        row = Z[i]
        stand(i, problem, row)
        for t in range(V.shape[0]):
            C[t, i] = dot(row, V[t])


@njit(nogil=True, cache=True, fastmath=FAST)
def four_products(Z, rows, D, v, f, h):  # type: ignore[no-untyped-def]
    """Products of four rows with D and v."""
    A, B, C, E = rows[0], rows[1], rows[2], rows[3]
    a, b, c, e = Z[A], Z[B], Z[C], Z[E]
    x1 = x2 = x3 = x4 = y1 = y2 = y3 = y4 = 0.0
    for j in range(D.size):
        x, y = D[j], v[j]
        x1 += a[j] * x
        x2 += b[j] * x
        x3 += c[j] * x
        x4 += e[j] * x
        y1 += a[j] * y
        y2 += b[j] * y
        y3 += c[j] * y
        y4 += e[j] * y
    f[A], f[B], f[C], f[E] = x1, x2, x3, x4
    h[A], h[B], h[C], h[E] = y1, y2, y3, y4


@njit(nogil=True, cache=True, fastmath=FAST)
def products(Z, rows, D, u, f, h):  # type: ignore[no-untyped-def]
    """Products of some rows with D and with all u; long rows are taken four at a time."""
    first, v = 0, u[0]
    if D.size >= LONG:
        while first + 4 <= rows.size:
            four_products(Z, rows[first : first + 4], D, v, f, h[0])
            first += 4
    for i in rows[first:]:
        row, x, y = Z[i], 0.0, 0.0
        for j in range(D.size):
            x += row[j] * D[j]
            y += row[j] * v[j]
        f[i], h[0, i] = x, y
    for t in range(1, u.shape[0]):
        for i in rows:
            h[t, i] = dot(Z[i], u[t])


@njit(nogil=True, cache=True, fastmath=FAST)
def written_products(Z, rows, often, before, D, f):  # type: ignore[no-untyped-def]
    """Products of some rows with D, once they have lost so ``often`` the change ``before`` it."""
    first = 0
    while first + 4 <= rows.size:
        A, B, C, E = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        f1, f2, f3, f4 = often[A], often[B], often[C], often[E]
        x1 = x2 = x3 = x4 = 0.0
        for j in range(D.size):
            y1, y2 = Z[A, j] - f1 * before[j], Z[B, j] - f2 * before[j]
            y3, y4 = Z[C, j] - f3 * before[j], Z[E, j] - f4 * before[j]
            Z[A, j], Z[B, j], Z[C, j], Z[E, j] = y1, y2, y3, y4
            x1 += y1 * D[j]
            x2 += y2 * D[j]
            x3 += y3 * D[j]
            x4 += y4 * D[j]
        f[A], f[B], f[C], f[E] = x1, x2, x3, x4
        first += 4
    for i in rows[first:]:
        take_off(Z[i], often[i], before)
        f[i] = dot(Z[i], D)


@njit(nogil=True, cache=True, fastmath=FAST)
def along(k, q, state, alpha, u, over, slope):  # type: ignore[no-untyped-def]
    """Products of the last of k changes with those before it, and of q + 1 pending ones with u."""
    D, d = state[3], state[4]
    for past in range(k - 1):
        over[past] = alpha * dot(d[past, : past + 1], d[k - 1, : past + 1])
    for t in range(u.shape[0]):
        for past in range(q + 1):
            slope[t, past] = dot(D[k - 1 - q + past], u[t])


@njit(nogil=True, cache=True, fastmath=FAST)
def follow(rows, k, q, state, steps, over, slope, u):  # type: ignore[no-untyped-def]
    """Let some rows follow the last of k changes, of which q are pending before it."""
    Z, D, lag, f, h = state[0], state[3], state[11], state[12], state[13]
    low, high = rows[0], rows[-1] + 1
    products(Z, rows, D[k - 1], u, f, h)
    pivots_follow(low, high, k, q, state, steps, over)
    for t in range(u.shape[0]):
        for past in range(q + 1):
            take_off(h[t][low:high], slope[t, past], lag[past][low:high])


@njit(nogil=True, cache=True, fastmath=FAST)
def follow_at_once(rows, k, state, steps, over):  # type: ignore[no-untyped-def]
    """The same without slopes, and with one change pending: that before the last is written."""
    Z, D, made, lag, f = state[0], state[3], state[10], state[11], state[12]
    low, high, before = rows[0], rows[-1] + 1, max(k - 2, 0)
    written_products(Z, rows, lag[0], D[before], D[k - 1], f)
    take_off(made[before][low:high], -1.0, lag[0][low:high])
    pivots_follow(low, high, k, 0, state, steps, over)


@njit(nogil=True, cache=True, fastmath=FAST)
def pivots_follow(low, high, k, q, state, steps, over):  # type: ignore[no-untyped-def]
    """What the products of the rows from ``low`` to ``high`` with the last change make of them."""
    pivots, S, C, made, lag, f = state[5], state[7], state[8], state[10], state[11], state[12]
    new = k - 1
    pivot, f, lags, s = pivots[new], f[low:high], lag[q][low:high], S[low:high]
    for past in range(new):
        take_off(f, over[past], made[past][low:high])
    for i in range(f.size):
        f[i] /= pivot
        lags[i] = f[i]
        s[i] -= f[i] * f[i] * pivot
    for t in range(C.shape[0]):
        take_off(C[t][low:high], steps[t] * pivot, f)


@njit(nogil=True, cache=True, fastmath=FAST)
def write(i, k, q, state):  # type: ignore[no-untyped-def]
    """Row i loses the q changes, the last of k, that are pending."""
    row, D, made, lag = state[0][i], state[3], state[10], state[11]
    take_off_changes(row, i, lag, D[k - q :], 0, q)
    for past in range(q):
        made[k - q + past, i] += lag[past, i]
        lag[past, i] = 0.0


@njit(nogil=True, cache=True, fastmath=FAST)
def write_all(rows, k, q, state):  # type: ignore[no-untyped-def]
    """The same for many rows, a strip of samples after the other, so that D stays in the cache."""
    Z, D, made, lag = state[0], state[3], state[10], state[11]
    m, first, last = Z.shape[1], k - q, D.shape[0] - 1
    for low in range(0, m, STRIP):
        high = min(m, low + STRIP)
        if q:
            A, B = D[first][low:high], D[min(first + 1, last)][low:high]
            C, E = D[min(first + 2, last)][low:high], D[min(first + 3, last)][low:high]
            G, H = D[min(first + 4, last)][low:high], D[min(first + 5, last)][low:high]
            K, L = D[min(first + 6, last)][low:high], D[min(first + 7, last)][low:high]
            for i in rows:
                a, b, c, e = lag[0, i], lag[1, i], lag[2, i], lag[3, i]
                g, h, o, s = lag[4, i], lag[5, i], lag[6, i], lag[7, i]
                row = Z[i, low:high]
                if q == 1:
                    for j in range(A.size):
                        row[j] -= a * A[j]
                else:
                    for j in range(A.size):
                        x = row[j] - (a * A[j] + b * B[j] + c * C[j] + e * E[j])
                        row[j] = x - (g * G[j] + h * H[j] + o * K[j] + s * L[j])
    for past in range(q):
        made[first + past] += lag[past]
        lag[past] = 0.0


@njit(nogil=True, cache=True, fastmath=FAST)
def renew(i, k, problem, state, alpha, u, space):  # type: ignore[no-untyped-def]
    """Compute row i afresh from its column, after k changes."""
    Z, V, W, D, d, pivots, _, S, C, computed, made, lag, _, h = state
    x, b, f = space[0], space[1], space[2]
    row = Z[i]
    stand(i, problem, x)
    square = afresh(row, b, x, f, D, d, pivots, alpha, k)
    S[i] = computed[i] = dot(row, row) + square + alpha
    for past in range(k):
        made[past, i] = f[past]
    for past in range(PENDING):
        lag[past, i] = 0.0
    for t in range(V.shape[0]):
        C[t, i] = dot(row, V[t]) + alpha * dot(b[:k], W[t, :k])
    for t in range(u.shape[0]):
        h[t, i] = dot(row, u[t])


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def add(best, k, q, problem, state, squares, second_go, alpha, steps, space):  # type: ignore[no-untyped-def]
    """Add row ``best`` to the k chosen, of which q are pending."""
    Z, V, W, D, d, pivots, p = state[:7]
    made, x, b, f = state[10], space[0], space[1], space[2]
    z, m = D[k], p.size
    write(best, k, q, state)
    for j in range(m):
        z[j] = Z[best, j]
    for past in range(k):
        b[past] = 0.0
    for past in range(k):
        take_off(b[: past + 1], made[past, best], d[past, : past + 1])
    for past in range(k - q, k):
        t = (dot(z, D[past]) + alpha * dot(b[: past + 1], d[past, : past + 1])) / pivots[past]
        take_off(z, t, D[past])
        take_off(b[: past + 1], t, d[past, : past + 1])
    pivot = dot(z, z) + alpha * dot(b[:k], b[:k]) + alpha
    if pivot < second_go * second_go * squares[best]:
        stand(best, problem, x)
        pivot = afresh(z, b, x, f, D, d, pivots, alpha, k) + dot(z, z) + alpha
    b[k] = -1.0
    for past in range(k + 1):
        d[k, past] = b[past]
    pivots[k] = pivot
    for t in range(V.shape[0]):
        steps[t] = (dot(z, V[t]) + alpha * dot(b[: k + 1], W[t, : k + 1])) / pivot
        take_off(V[t], steps[t], z)
        take_off(W[t, : k + 1], steps[t], b[: k + 1])
    for j in range(m):
        p[j] -= z[j] * z[j] / pivot
