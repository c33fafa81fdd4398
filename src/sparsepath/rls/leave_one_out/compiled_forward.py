r"""Forward search from P X in memory, in compiled loops; see ``forward.py``, which has all arrays.

The letters are those of ``fused.py``: row i holds z_i, and b_i its coefficients on the chosen ones.

**Changes are left pending.** A step takes f_i D off every row. That needs f_i = <row_i, D>/pivot, a
read, but the row need not be written at once. With the last few changes not yet made, z_i stands
for z_i - sum f_il D_l, and since the D are orthogonal to each other <row_i, D> is that of the row
as it is stored, and z_i'u is less by sum f_il D_l'u. So a step reads the rows once, for three
products, and every ``PENDING`` steps writes them, which takes three times as long. Coefficients
need not be stored at all: b_i is minus the sum of f_il d_l over all changes, where d_l are the
coefficients in D_l, so that

    alpha b_i'd  =  - sum over l of  f_il (alpha d_l'd)

takes one number per row and change. Its square follows step by step, as s does.

**Bounds.** With w = 1/p^2 as it was when the rows were last written, w <= 1/p^2 since p only falls,

    criterion of i  >=  sum (r - tau z)^2/p^2  >=  r'u - 2 tau z'u + tau^2 sum z^2 w,     tau = c/s,

and sum z^2 w follows from row_i'(D w), the third product; s and c follow from f_i alone. Candidates
whose bound lies below the best value are judged exactly, from the row less what is pending.

Where leverages are large and candidates alike, that bound leaves nearly all of them. There is more:
1/(p - x)^2 is no less than 1/p^2 + 2x/p^3, so that for x = z^2/s, with norms over the samples,

    (2/s) |z (r - tau z) / p^1.5|^2  >=  (2/s) (|z g| - |tau| |z^2 / p^1.5|)^2,    g = |r| / p^1.5,

may be added, as long as the bracket is not negative. The first norm is that of the row as stored,
a fourth product, less |f| |D g| for every pending change; the second is the square of a norm of
fourth powers, taken when rows are written, which a change raises by no more than |f| times that of
D. It is used as soon as many had to be judged in a step.

**Rounding.** What follows from products has the rounding of the rows as stored: relative to their
size in the metric w and that of the changes taken off, which ``blur`` adds up; bounds are lowered
by more than that. Of a row that has lost most of itself since it was written nothing is followed:
it is judged. If p of a sample falls fast, the rows are written at once. A row of which less than
``SECOND_GO`` is left since it was last computed from the data is computed afresh.
"""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_rows import (
    FAST,
    PENDING,
    afresh,
    coefficients_of,
    column,
    dot,
    judged,
    judged_pending,
    measure,
    original,
    products_of,
    read,
    squared_product,
    sums_of,
    take_off,
    take_off_changes,
    three_products,
    write_rows,
)

LOST = 1e-4  # part of a pivot that is left, below which nothing is followed
WELL = 1e-2  # and above which it is followed to the last digits that decide
ALONG = 1e-3  # part of the norms that a product must be for the same
UNIT = 1e-13  # rounding of a followed sum, over its size
FASTEST = 16.0  # factor by which 1/p^2 may grow before the rows are written
ROWS_NEAR = 16  # rows that stay in the cache for the products with several targets
MANY = 8  # a part of the candidates that is many to be judged: one in so many
SAFE = 1.0 - 1e-6  # of a bound, against rounding


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _note(problem, state, errors, space):  # type: ignore[no-untyped-def]
    """The criterion of the model as it stands; its u, and 1/p^2 in the first space."""
    V, U, p, at, about = state[2], state[3], state[9], state[11], state[12]
    total, tight, rr = measure(V, p, problem[5][0], U, space[0])
    errors[at[0]] = total if tight == 0.0 else np.inf
    about[0], about[1] = total, rr


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def begin(problem, state, errors, space):  # type: ignore[no-untyped-def]
    """The empty model."""
    V, w, about, cube = state[2], state[8], state[12], state[15]
    _note(problem, state, errors, space)
    for j in range(w.size):
        w[j] = space[0][j]
        cube[j] = w[j] * np.sqrt(w[j])
    for t in range(V.shape[0]):
        about[3 + t] = dot(V[t], V[t])
        about[2] += about[3 + t]


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _bound(low, high, problem, state, found):  # type: ignore[no-untyped-def]
    """Bounds of the criterion with each of the rows from ``low`` to ``high``; nobody is judged."""
    rounding = problem[5][5]
    c, at, about, h, numbers = state[10], state[11], state[12], state[13], state[14]
    s, zw, blur, written, floor = numbers[0], numbers[1], numbers[2], numbers[3], numbers[6]
    fourth, leverage, lag = numbers[11], numbers[12], numbers[13]
    values, bounds = found
    ur = about[0]
    unit, most = 8.0 * UNIT * np.sqrt(ur), (1.0 - 2.0 * rounding) * ur
    for i in range(low, high):
        values[i] = np.inf
        bounds[i] = most
    for t in range(c.shape[0]):
        for i in range(low, high):
            tau = c[t, i] / s[i]
            q = max(zw[i] * (1.0 - 2.0 * rounding) - UNIT * blur[i] * blur[i], 0.0)
            bounds[i] += tau * (tau * q - 2.0 * h[t, i]) - abs(tau) * unit * blur[i]
    if at[5] == 1:
        grown = np.sqrt(about[-1]) / SAFE
        for i in range(low, high):
            across = abs(c[0, i]) / s[i] * fourth[i] * fourth[i] * grown
            more = max(SAFE * np.sqrt(leverage[i]) - lag[i] - across, 0.0)
            bounds[i] += 2.0 * SAFE / s[i] * more * more
    for i in range(low, high):
        if not s[i] > LOST * written[i]:
            bounds[i] = -np.inf
        if written[i] <= floor[i]:
            bounds[i] = np.inf


@njit(nogil=True, cache=True, fastmath=FAST)
def _add_all(out, over, F, low, high, first, last):  # type: ignore[no-untyped-def]
    """Add products with changes, of which each has its factor, for the rows from low to high."""
    past = first
    while past + 4 <= last:
        a, b, c, d = over[past], over[past + 1], over[past + 2], over[past + 3]
        A, B, C, D = (
            F[past, low:high],
            F[past + 1, low:high],
            F[past + 2, low:high],
            F[past + 3, low:high],
        )
        for i in range(out.size):
            out[i] += a * A[i] + b * B[i] + c * C[i] + d * D[i]
        past += 4
    while past < last:
        take_off(out, -over[past], F[past, low:high])
        past += 1


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fill(low, high, problem, state, found):  # type: ignore[no-untyped-def]
    """Make the rows from ``low`` to ``high``, take their first sums and bound their criteria."""
    raw, (means, lefts, scales), g, _, alpha, _ = problem
    Z, _, V, U, _, _, _, features, w, _, c, _, _, h, numbers, cube = state
    s, zw, blur, written, computed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    fourth = numbers[11]
    read(raw, features[low:high], Z[low:high])
    for i in range(low, high):
        row, b = Z[i], features[i]
        column(row, g, means[b], lefts[b], scales[b], row)
        square, zw[i], c[0, i], fourth[i] = sums_of(row, w, V[0], cube)
        s[i] = written[i] = computed[i] = square + alpha
        blur[i], fourth[i] = np.sqrt(zw[i]), fourth[i] ** 0.25
        h[0, i] = dot(row, U[0])
        for t in range(1, V.shape[0]):
            c[t, i] = dot(row, V[t])
            h[t, i] = dot(row, U[t])
    _bound(low, high, problem, state, found)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def follow(low, high, problem, state, change, space, found):  # type: ignore[no-untyped-def]
    """Let the rows from ``low`` to ``high`` follow the last change; bound their criteria."""
    raw, stand, g, _, alpha, guards = problem
    Z, F, V, U, D, d, pivots, features, w, _, c, at, _, h, numbers, cube = state
    Dw, Du, Dv, over, along, a, _, v2, Dg, D4 = change
    x, _, _, b, f = space
    s, zw, blur, written, computed = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    b2, floor, v, step, held = numbers[5], numbers[6], numbers[8], numbers[9], numbers[10]
    fourth, leverage, lag = numbers[11], numbers[12], numbers[13]
    new, full = at[0] - 1, at[3] == 1
    T, second_go, pivot = V.shape[0], guards[3] * guards[3], pivots[new]
    begun = new - at[4]  # the first change that is pending
    if full:
        if new - begun == PENDING:
            sums = (s, zw, c[0], fourth)
            write_rows(Z, low, high, F[begun:new], D, begun, w, V[0], cube, *sums)
        else:
            for i in range(low, high):
                take_off_changes(Z[i], i, F, D, begun, new)
                s[i], zw[i], c[0, i], fourth[i] = sums_of(Z[i], w, V[0], cube)
        doubtful = 0
        for i in range(low, high):
            s[i] += b2[i] + alpha
            doubtful += 1 if s[i] < second_go * computed[i] else 0
        for i in range(low, high if doubtful > 0 else low):
            if floor[i] < s[i] < second_go * computed[i]:
                original(raw, features, i, g, stand, x)
                b2[i] = afresh(Z[i], b, x, f, D, d, pivots, alpha, new)
                for past in range(new):
                    F[past, i] = f[past]
                square, zw[i], c[0, i], fourth[i] = sums_of(Z[i], w, V[0], cube)
                s[i] = computed[i] = square + b2[i] + alpha
        for i in range(low, high):
            computed[i] = max(computed[i], s[i])
            written[i] = s[i]
            blur[i], fourth[i] = np.sqrt(zw[i]), np.sqrt(np.sqrt(fourth[i]))
        products_of(Z, low, high, V, 1, c)
        begun = new
    near = max(1, high - low) if T == 1 else ROWS_NEAR
    for start in range(low, high, near):
        end = min(high, start + near)
        three_products(Z, start, end, D[new], U[0], Dw, step, h[0], v)
        products_of(Z, start, end, U, 1, h)
    for i in range(low, high):
        held[i] = 0.0
    own, size, square = Dv[new], np.sqrt(Dv[new]), over[new]
    if alpha > 0.0:
        _add_all(held[low:high], over, F, low, high, 0, begun)
    for i in range(low, high):
        step[i] = (step[i] + held[i]) / pivot
    if alpha > 0.0:
        _add_all(held[low:high], over, F, low, high, begun, new)
    _add_all(v[low:high], Dv, F, low, high, begun, new)
    for i in range(low, high):
        f_i = step[i]
        F[new, i] = f_i
        blur[i] += abs(f_i) * size
        fourth[i] += abs(f_i) * D4[0]
        s[i] -= f_i * f_i * pivot
        b2[i] += f_i * (f_i * square - 2.0 * held[i])
        zw[i] += f_i * (f_i * own - 2.0 * v[i])
    if at[5] == 1:
        squared_product(Z, low, high, v2, leverage)
        for i in range(low, high):
            lag[i] = 0.0
        for past in range(begun, new + 1):
            for i in range(low, high):
                lag[i] += abs(F[past, i]) * Dg[past]
    for t in range(T):
        _add_all(h[t, low:high], Du[t], F, low, high, begun, new + 1)
        if full and alpha > 0.0:
            _add_all(c[t, low:high], along[t], F, low, high, 0, new)
        elif not full:
            take_off(c[t, low:high], a[t] * pivot, F[new, low:high])
    _bound(low, high, problem, state, found)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def _judge(i, problem, state, change, space):  # type: ignore[no-untyped-def]
    """The criterion with row i added, a sum over the samples."""
    raw, stand, g, _, alpha, guards = problem
    Z, F, V, _, D, d, pivots, features, _, p, c, at, about, _, numbers, _ = state
    along, wanted = change[4], change[6]
    x, z, tau, b, f = space
    s, written, computed = numbers[0], numbers[3], numbers[4]
    b2, floor = numbers[5], numbers[6]
    k, q = at[0], at[2]
    T, room, second_go = V.shape[0], guards[0], guards[3] * guards[3]
    pivot = s[i]
    followed = pivot > WELL * written[i] and pivot > second_go * computed[i]
    for t in range(T):
        followed &= c[t, i] * c[t, i] > ALONG * ALONG * written[i] * about[3 + t]
        tau[t] = c[t, i] / pivot
    if followed and T == 1:
        for past in range(PENDING):
            f[past] = F[k - q + past, i] if past < q else 0.0
        return judged_pending(Z[i], f, D, k - q, 1.0 / pivot, tau[0], V[0], p, room)
    for j in range(z.size):
        z[j] = Z[i, j]
    take_off_changes(z, i, F, D, k - q, k)
    if not followed:
        square = b2[i]
        pivot = dot(z, z) + square + alpha
        if pivot <= floor[i]:
            return np.inf
        again = pivot < second_go * computed[i]
        if again:
            original(raw, features, i, g, stand, x)
            square = afresh(z, b, x, f, D, d, pivots, alpha, k)
            pivot = dot(z, z) + square + alpha
            if pivot <= floor[i]:
                return np.inf
        for t in range(T):
            product = dot(z, V[t])
            if again:
                product += alpha * dot(b[:k], wanted[t, :k])
            else:
                for past in range(k):
                    product += F[past, i] * along[t, past]
            tau[t] = product / pivot
    return judged(z, 1.0 / pivot, tau, V, p, x, room)


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def judge(low, high, least, empty, problem, state, change, space, found):  # type: ignore[no-untyped-def]
    """Judge those whose bound is no more than the least value, or nearly so; the new least."""
    tie, tie_floor = problem[5][1], problem[5][2]
    values, bounds = found
    for i in range(low, high):
        if bounds[i] <= least + tie * least + tie_floor * empty and bounds[i] < np.inf:
            if values[i] == np.inf:
                values[i] = _judge(i, problem, state, change, space)
            least = min(least, values[i])
    return least


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def choose(least, problem, state, change, space, found, path):  # type: ignore[no-untyped-def]
    """Add the best of those judged, the one with the lowest index if several are; note the model.

    The last of the rows moves to its place.
    """
    raw, stand, g, _, alpha, guards = problem
    Z, F, V, U, D, d, pivots, features, w, p, c, at, about, _, numbers, cube = state
    Dw, Du, Dv, over, along, a, wanted, v2, Dg, D4 = change
    x, _, _, b, f = space
    values, (subset, errors) = found[0], path
    tie, tie_floor, second_go = guards[1], guards[2], guards[3] * guards[3]
    k, n, q = at[0], at[1], at[2]
    m, T = p.size, V.shape[0]
    most, best, judged_now = least + tie * least + tie_floor * errors[0], -1, 0
    for i in range(n):
        judged_now += 1 if values[i] < np.inf else 0
        if values[i] <= most and (best < 0 or features[i] < features[best]):
            best = i
    feature = features[best]
    z = D[k]
    for j in range(m):
        z[j] = Z[best, j]
    take_off_changes(z, best, F, D, k - q, k)
    square = alpha * coefficients_of(best, F, d, k, b)
    for past in range(k - q, k):
        t = (dot(z, D[past]) + alpha * dot(b[: past + 1], d[past, : past + 1])) / pivots[past]
        take_off(z, t, D[past])
        take_off(b[: past + 1], t, d[past, : past + 1])
    pivot = dot(z, z) + square + alpha
    if pivot < second_go * numbers[7, best]:
        original(raw, features, best, g, stand, x)
        square = afresh(z, b, x, f, D, d, pivots, alpha, k)
        pivot = dot(z, z) + square + alpha
    b[k] = -1.0
    for past in range(k + 1):
        d[k, past] = b[past]
    for t in range(T):
        a[t] = (dot(z, V[t]) + alpha * dot(b[: k + 1], wanted[t, : k + 1])) / pivot
        take_off(V[t], a[t], z)
        take_off(wanted[t, : k + 1], a[t], b[: k + 1])
        about[3 + t] = dot(V[t], V[t]) + alpha * dot(wanted[t, : k + 1], wanted[t, : k + 1])
    for j in range(m):
        p[j] -= z[j] * z[j] / pivot
    last = n - 1
    for j in range(m):
        Z[best, j] = Z[last, j]
    for past in range(k):
        F[past, best] = F[past, last]
    for t in range(T):
        c[t, best] = c[t, last]
    for past in range(numbers.shape[0]):
        numbers[past, best] = numbers[past, last]
    features[best] = features[last]
    subset[k], pivots[k] = feature, pivot
    at[0], at[1] = k + 1, last
    _note(problem, state, errors, space)
    growth = 0.0
    for j in range(m):
        growth = max(growth, x[j] / w[j])
    full = q == PENDING or growth > FASTEST
    at[2], at[3], at[4] = 1 if full else q + 1, 1 if full else 0, q
    if full:
        for j in range(m):
            w[j] = x[j]
            cube[j] = x[j] * np.sqrt(x[j])
        growth = 1.0
    if T == 1 and MANY * judged_now > n:
        at[5] = 1
    about[-1] = growth * np.sqrt(growth)
    total = 0.0
    for j in range(m):
        Dw[j] = z[j] * w[j]
        total += z[j] * z[j] * (z[j] * z[j]) * cube[j]
    D4[0] = total**0.25
    if at[5] == 1:
        for j in range(m):
            v2[j] = V[0, j] * V[0, j] * (x[j] * np.sqrt(x[j]))
        for past in range(k if full else k - q, k + 1):
            total = 0.0
            for j in range(m):
                total += D[past, j] * D[past, j] * v2[j]
            Dg[past] = np.sqrt(total)
    # What the changes so far take off the products of the rows: with D w, u, the tails of D and r.
    for past in range(k if full else k - q, k + 1):
        Dv[past] = -dot(D[past], Dw)
        for t in range(T):
            Du[t, past] = -dot(D[past], U[t])
    Dv[k] = -Dv[k]
    for past in range(k):
        over[past] = -alpha * dot(d[past, : past + 1], b[: past + 1])
        for t in range(T):
            along[t, past] = -alpha * dot(d[past, : past + 1], wanted[t, : past + 1])
    over[k] = alpha * dot(b[: k + 1], b[: k + 1])
    for t in range(T):
        along[t, k] = -alpha * dot(d[k, : k + 1], wanted[t, : k + 1])
