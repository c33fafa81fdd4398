"""Compiled loops of the sub-problems. Plain loops over arrays: no checks, no allocation.

All of them change a step D (and what follows from it) in place by coordinate descent on

    q'D + D'H D / 2 + sum_j l2_j D_j^2 + l1_j |w_j + D_j|

where q holds the gradient at w, that of the l2 term included. A coordinate's size of change is
measured in units of the gradient, so that ``tol`` compares with violations of optimality.
"""

from numba import njit

from sparsepath.data.compiled_exp import exponential

# Sums may be reordered, so that they run in vector registers; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}
ROUNDS = 20  # passes over the moving coordinates between passes over all


@njit(nogil=True, cache=True, inline="always")
def _shuffle(moving, n, seed):  # type: ignore[no-untyped-def]
    """In place: the first n in another order; returns the next seed.

    The order of a pass follows from the seed alone, so that results are the same every time. A new
    order for every pass takes half as many of them, and fewer, as one order for all where columns
    are much alike and numbered by something, as words are by how frequent they are.
    """
    for i in range(n - 1, 0, -1):
        seed = (seed * 1103515245 + 12345) % 2147483648
        j = (seed >> 8) % (i + 1)
        held = moving[i]
        moving[i] = moving[j]
        moving[j] = held
    return seed


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_gram(H, r, w, D, l1, l2, least, moving, tol, max_passes):  # type: ignore[no-untyped-def]
    """Descend in place with the matrix H at hand; r = q + H D is kept up to date.

    Coordinates whose curvature is at most ``least`` stay where they are. Returns the passes made.
    """
    k = w.size
    passes = 0
    while passes < max_passes:
        largest = 0.0
        n_moving = 0
        for j in range(k):
            change = _move(H, r, w, D, l1, l2, least, j)
            if change > largest:
                largest = change
            if change > 0.0 or w[j] + D[j] != 0.0:
                moving[n_moving] = j
                n_moving += 1
        passes += 1
        if largest <= tol:
            break
        for _ in range(ROUNDS):
            largest = 0.0
            for i in range(n_moving):
                change = _move(H, r, w, D, l1, l2, least, moving[i])
                if change > largest:
                    largest = change
            passes += 1
            if largest <= tol or passes >= max_passes:
                break
    return passes


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _move(H, r, w, D, l1, l2, least, j):  # type: ignore[no-untyped-def]
    a = H[j, j] + 2.0 * l2[j]
    if a <= least[j]:
        return 0.0
    old = w[j] + D[j]
    z = a * old - r[j] - 2.0 * l2[j] * D[j]
    if z > l1[j]:
        new = (z - l1[j]) / a
    elif z < -l1[j]:
        new = (z + l1[j]) / a
    else:
        new = 0.0
    d = new - old
    if d == 0.0:
        return 0.0
    if new == 0.0:
        D[j] = -w[j]
    else:
        D[j] += d
    row = H[j]
    for i in range(r.size):
        r[i] += d * row[i]
    return abs(d) * a


@njit(nogil=True, cache=True)
def violations_of_one(g, w, l1, l2, out):  # type: ignore[no-untyped-def]
    """Fill the v_j of ``criterion.py`` for one output."""
    for j in range(w.size):
        if w[j] == 0.0:
            out[j] = max(abs(g[j]) - l1[j], 0.0)
        else:
            out[j] = abs(g[j] + 2.0 * l2[j] * w[j] + (l1[j] if w[j] > 0.0 else -l1[j]))


@njit(nogil=True, cache=True, fastmath=FAST)
def penalty_of_one(w, l1, l2):  # type: ignore[no-untyped-def]
    """The sum of l1_j |w_j| + l2_j w_j^2."""
    total = 0.0
    for j in range(w.size):
        total += l1[j] * abs(w[j]) + l2[j] * w[j] * w[j]
    return total


@njit(nogil=True, cache=True, fastmath={"contract"}, error_model="numpy")
def expand_logistic(f, y, value, slope, curvature):  # type: ignore[no-untyped-def]
    """Fill L = log(1 + exp(-rho)), its slope and curvature by f, with rho = y f and y = -1 or 1.

    With e = exp(-|rho|), log(1 + e) = 2 (a + a^3 / 3 + a^5 / 5 + ...) with a = e / (2 + e),
    at most 1 / 3. Both to some units in the last place, also where e is small, and nothing here
    keeps the loop from running in vector registers. Below -700 e is what it is at -700, next to
    nothing beside |rho|. The curvature of samples far on the wrong side is raised: see
    ``Logistic.expansion``.
    """
    for i in range(f.size):
        rho = y[i] * f[i]
        x = max(-abs(rho), -700.0)
        e = exponential(x)
        a = e / (2.0 + e)
        b = a * a
        b2 = b * b
        b4 = b2 * b2
        first = (1.0 + b * (1 / 3.0)) + b2 * (1 / 5.0 + b * (1 / 7.0))
        second = (1 / 9.0 + b * (1 / 11.0)) + b2 * (1 / 13.0 + b * (1 / 15.0))
        third = (1 / 17.0 + b * (1 / 19.0)) + b2 * (1 / 21.0 + b * (1 / 23.0))
        fourth = (1 / 25.0 + b * (1 / 27.0)) + b2 * (1 / 29.0 + b * (1 / 31.0 + b * (1 / 33.0)))
        series = first + b4 * (second + b4 * (third + b4 * fourth))
        part = 1.0 / (1.0 + e)
        less = e * part
        value[i] = max(-rho, 0.0) + 2.0 * a * series
        slope[i] = -y[i] * (less if rho > 0.0 else part)
        raised = 0.02 / max(-rho, 1.0) if rho < -1.0 else 0.0
        curvature[i] = max(less * part, raised)


@njit(nogil=True, cache=True, fastmath=FAST)
def products_and_squares(XT, v, s, products, squares):  # type: ignore[no-untyped-def]
    """Fill x_j'v and sum_i s_i x_ij^2 for all columns, reading X once; ``XT`` is features first.

    Two features at a time: two streams from memory come in faster than one.
    """
    n, m = XT.shape
    for j in range(0, n, 2):
        x, y = XT[j], XT[min(j + 1, n - 1)]
        xv = xx = yv = yy = 0.0
        for i in range(m):
            xv += x[i] * v[i]
            yv += y[i] * v[i]
            xx += x[i] * x[i] * s[i]
            yy += y[i] * y[i] * s[i]
        products[j] = xv
        squares[j] = xx
        products[min(j + 1, n - 1)] = yv
        squares[min(j + 1, n - 1)] = yy


# Sparse columns: CSC arrays with unsigned row numbers (signed ones would be tested for being
# negative at every entry), z_j = x_j / scale_j.


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_products(indptr, rows, data, scales, features, g, q):  # type: ignore[no-untyped-def]
    """Fill q with z_j'g for the features."""
    for t in range(features.size):
        j = features[t]
        total = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            total += data[e] * g[rows[e]]
        q[t] = total / scales[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def sparse_outputs(indptr, rows, data, scales, features, D, out):  # type: ignore[no-untyped-def]
    """Add Z D to ``out`` in place."""
    for t in range(features.size):
        if D[t] != 0.0:
            j = features[t]
            step = D[t] / scales[j]
            for e in range(indptr[j], indptr[j + 1]):
                out[rows[e]] += step * data[e]


@njit(nogil=True, cache=True, fastmath=FAST)
def gather_weighted(  # type: ignore[no-untyped-def]
    indptr, rows, data, scales, features, root, starts, own_rows, weighted, c, a
):
    """Write the columns z_j * root one after the other; fill c_j = z_j'h and a_j = z_j'(h z_j).

    ``root`` holds the square roots of h; column t of the copy begins at ``starts[t]``.
    """
    place = 0
    for t in range(features.size):
        j = features[t]
        scale = 1.0 / scales[j]
        starts[t] = place
        sum_h = 0.0
        sum_a = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            i = rows[e]
            x = data[e] * scale * root[i]
            own_rows[place] = i
            weighted[place] = x
            sum_h += x * root[i]
            sum_a += x * x
            place += 1
        c[t] = sum_h
        a[t] = sum_a
    starts[features.size] = place


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_sparse(  # type: ignore[no-untyped-def]
    starts, rows, weighted, total, q, c, a, w, D, l1, l2, v, shift, moving, tol, max_passes
):
    """Descend in place on the columns of :func:`gather_weighted`; v = root * (Z D).

    The intercept follows every move: its step is -(beta + c'D) / total; ``shift[0]`` holds it. With
    ``total`` = 0 there is none. ``a`` holds the curvatures without the intercept. Returns the
    passes made.
    """
    k = w.size
    n_moving = k
    passes = 0
    everybody = True
    seed = 1
    while passes < max_passes:
        largest = 0.0
        kept = 0
        if not everybody:
            seed = _shuffle(moving, n_moving, seed)
        for place in range(n_moving):
            t = place if everybody else moving[place]
            curvature = a[t] + 2.0 * l2[t]
            if total > 0.0:
                curvature -= c[t] * c[t] / total
            if curvature <= 1e-12 * a[t]:
                continue
            start = starts[t]
            stop = starts[t + 1]
            dot = 0.0
            for e in range(start, stop):
                dot += weighted[e] * v[rows[e]]
            old = w[t] + D[t]
            slope = q[t] + dot + shift[0] * c[t] + 2.0 * l2[t] * D[t]
            z = curvature * old - slope
            if z > l1[t]:
                new = (z - l1[t]) / curvature
            elif z < -l1[t]:
                new = (z + l1[t]) / curvature
            else:
                new = 0.0
            d = new - old
            if d != 0.0:
                if new == 0.0:
                    D[t] = -w[t]
                else:
                    D[t] += d
                for e in range(start, stop):
                    v[rows[e]] += d * weighted[e]
                if total > 0.0:
                    shift[0] -= d * c[t] / total
                change = abs(d) * curvature
                if change > largest:
                    largest = change
            if new != 0.0 or d != 0.0:
                moving[kept] = t
                kept += 1
        passes += 1
        if everybody:
            if largest <= tol:
                break
            n_moving = kept
            everybody = False
        elif largest <= tol or passes % ROUNDS == 0:
            n_moving = k
            everybody = True
    return passes


@njit(nogil=True, cache=True, fastmath=FAST)
def descend_groups(H, r, W, D, l1, l2, Q, E, work, moving, tol, max_passes):  # type: ignore[no-untyped-def]
    """Descend in place over groups of K coordinates, each time to the exact minimum of a group.

    r = q + H D is kept up to date; weight c of group j is coordinate j K + c of H and r. Q, E hold
    eigenvectors (in columns) and eigenvalues of the diagonal blocks of H; a group whose
    eigenvalues are all zero stays where it is. Returns the passes made.
    """
    k, K = W.shape
    passes = 0
    n_moving = k
    everybody = True
    while passes < max_passes:
        largest = 0.0
        kept = 0
        for place in range(n_moving):
            j = place if everybody else moving[place]
            change = _move_group(H, r, W, D, l1[j], 2.0 * l2[j], Q[j], E[j], work, j)
            if change > largest:
                largest = change
            free = change > 0.0
            for c in range(K):
                free = free or W[j, c] + D[j, c] != 0.0
            if free:
                moving[kept] = j
                kept += 1
        passes += 1
        if everybody:
            if largest <= tol:
                break
            n_moving = kept
            everybody = False
        elif largest <= tol or passes % ROUNDS == 0:
            n_moving = k
            everybody = True
    return passes


@njit(nogil=True, cache=True, fastmath=FAST, inline="always")
def _move_group(H, r, W, D, l1, ridge, Q, E, work, j):  # type: ignore[no-untyped-def]
    """Take x = argmin x'(B + ridge) x / 2 - b'x + l1 |x| for group j, with B = Q E Q'.

    If |b| > l1 then x = (B + ridge + mu)^-1 b with mu |x| = l1, one equation for mu > 0.
    """
    K = E.size
    start = j * K
    b = work[0]
    x = work[1]
    top = E[K - 1] + ridge
    if top <= 0.0:
        return 0.0
    for c in range(K):
        b[c] = 0.0
    size = 0.0
    for a in range(K):
        # B (w + d) - slope without the group's own l2 part, in the eigenvectors' coordinates
        projected = 0.0
        slope = 0.0
        for c in range(K):
            projected += Q[c, a] * (W[j, c] + D[j, c])
            slope += Q[c, a] * (r[start + c] + ridge * D[j, c])
        b[a] = (E[a] + ridge) * projected - slope
        size += b[a] * b[a]
    size = size**0.5
    if size <= l1:
        for a in range(K):
            x[a] = 0.0
    else:
        mu = 0.0
        if l1 > 0.0:
            low = l1 * max(E[0] + ridge, 0.0) / (size - l1)
            high = l1 * top / (size - l1)
            mu = high
            for _ in range(100):
                norm = 0.0
                bend = 0.0
                for a in range(K):
                    v = b[a] / (max(E[a] + ridge, 0.0) + mu)
                    norm += v * v
                    bend += v * v * max(E[a] + ridge, 0.0) / (max(E[a] + ridge, 0.0) + mu)
                norm = norm**0.5
                value = mu * norm - l1
                if value > 0.0:
                    high = mu
                else:
                    low = mu
                if abs(value) <= 1e-14 * l1 or high - low <= 1e-15 * high:
                    break
                # d(mu |x|)/dmu = sum v^2 e / (e + mu) / |x|
                step = mu - value * norm / bend if bend > 0.0 else -1.0
                mu = step if low < step < high else 0.5 * (low + high)
        for a in range(K):
            whole = max(E[a] + ridge, 0.0) + mu
            x[a] = b[a] / whole if whole > 1e-13 * top else 0.0
    change = 0.0
    for c in range(K):
        new = 0.0
        for a in range(K):
            new += Q[c, a] * x[a]
        d = new - (W[j, c] + D[j, c])
        if size <= l1:
            d = -(W[j, c] + D[j, c])
            D[j, c] = -W[j, c]
        else:
            D[j, c] += d
        if d != 0.0:
            change = max(change, abs(d) * top)
            row = H[start + c]
            for i in range(r.size):
                r[i] += d * row[i]
    return change
