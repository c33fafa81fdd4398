"""Algorithm 1 in one compiled piece. Arrays and numbers only; no checks.

A restart is some thirty small fits, too small for calls from Python and nearly too small for BLAS:
with up to a hundred neurons the loops here are as fast as its products, and a whole restart runs
without the interpreter, so that threads do not wait for each other. Letters are those of
:mod:`sparsepath.elm.network`, choices those of :mod:`sparsepath.elm.scaling`. U = L' is the upper
factor of A, row by row.
"""

import numpy as np
from numba import njit

from sparsepath.elm.compiled import FAST, leave_out, prefix_losses, squash

STRIP = 512  # samples at a time, so that the rows in use stay in cache
HALF, SIGN, LARGEST = range(3)  # the order of scaling.RULES
DECREASED = 1e-12


@njit(nogil=True, cache=True, fastmath=FAST)
def affine(W, XT, H):  # type: ignore[no-untyped-def]
    """H <- W XT, for few features: four rows of XT at a time."""
    d, n = XT.shape
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(W.shape[0]):
            h = H[j, low:high]
            h[:] = 0.0
            for k in range(0, d - 3, 4):
                x, y = XT[k, low:high], XT[k + 1, low:high]
                z, t = XT[k + 2, low:high], XT[k + 3, low:high]
                a, b, c, e = W[j, k], W[j, k + 1], W[j, k + 2], W[j, k + 3]
                for i in range(h.size):
                    h[i] += a * x[i] + b * y[i] + c * z[i] + e * t[i]
            for k in range(d - d % 4, d):
                x, a = XT[k, low:high], W[j, k]
                for i in range(h.size):
                    h[i] += a * x[i]


@njit(nogil=True, cache=True, fastmath=FAST)
def gram(H, A):  # type: ignore[no-untyped-def]
    """A <- H H', upper triangle, eight numbers at a time.

    A has room for rows and columns beyond the last neuron (see ``room``): there the last one is
    counted again instead of a case of its own.
    """
    m, n = H.shape
    last = m - 1
    A[: m + 1] = 0.0
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(0, m, 2):
            x, y = H[j, low:high], H[min(j + 1, last), low:high]
            for k in range(j, m, 4):
                a, b = H[k, low:high], H[min(k + 1, last), low:high]
                c, d = H[min(k + 2, last), low:high], H[min(k + 3, last), low:high]
                xa = xb = xc = xd = ya = yb = yc = yd = 0.0
                for i in range(x.size):
                    xa += x[i] * a[i]
                    xb += x[i] * b[i]
                    xc += x[i] * c[i]
                    xd += x[i] * d[i]
                    ya += y[i] * a[i]
                    yb += y[i] * b[i]
                    yc += y[i] * c[i]
                    yd += y[i] * d[i]
                A[j, k] += xa
                A[j, k + 1] += xb
                A[j, k + 2] += xc
                A[j, k + 3] += xd
                A[j + 1, k] += ya
                A[j + 1, k + 1] += yb
                A[j + 1, k + 2] += yc
                A[j + 1, k + 3] += yd


@njit(nogil=True, cache=True)
def room(m):  # type: ignore[no-untyped-def]
    """A square matrix for ``gram`` of m neurons."""
    return np.empty((m + 1, m + 4))


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def cholesky(A, m):  # type: ignore[no-untyped-def]
    """In place, upper triangle: A = U'U, row by row; False if A is not positive definite."""
    for k in range(m):
        u = A[k, k:m]
        for p in range(0, k - 3, 4):
            a, b, c, d = A[p, k:m], A[p + 1, k:m], A[p + 2, k:m], A[p + 3, k:m]
            a0, b0, c0, d0 = a[0], b[0], c[0], d[0]
            for i in range(u.size):
                u[i] -= a0 * a[i] + b0 * b[i] + c0 * c[i] + d0 * d[i]
        for p in range(k - k % 4, k):
            a = A[p, k:m]
            a0 = a[0]
            for i in range(u.size):
                u[i] -= a0 * a[i]
        if not u[0] > 0.0:
            return False
        factor = 1.0 / np.sqrt(u[0])
        for i in range(u.size):
            u[i] *= factor
    return True


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def orthogonalise(U, H, Q):  # type: ignore[no-untyped-def]
    """Q <- U'^-1 H, two rows at a time."""
    m, n = H.shape
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for k in range(0, m, 2):
            o = min(k + 1, m - 1)  # of an odd number the last row comes twice
            q, r = Q[k, low:high], Q[o, low:high]
            for i in range(q.size):
                q[i], r[i] = H[k, low + i], H[o, low + i]
            if o == k:
                r = np.empty_like(q)
            for p in range(0, k - 3, 4):
                a, b = Q[p, low:high], Q[p + 1, low:high]
                c, d = Q[p + 2, low:high], Q[p + 3, low:high]
                qa, qb, qc, qd = U[p, k], U[p + 1, k], U[p + 2, k], U[p + 3, k]
                ra, rb, rc, rd = U[p, o], U[p + 1, o], U[p + 2, o], U[p + 3, o]
                for i in range(q.size):
                    q[i] -= qa * a[i] + qb * b[i] + qc * c[i] + qd * d[i]
                    r[i] -= ra * a[i] + rb * b[i] + rc * c[i] + rd * d[i]
            for p in range(k - k % 4, k):
                a, qa, ra = Q[p, low:high], U[p, k], U[p, o]
                for i in range(q.size):
                    q[i] -= qa * a[i]
                    r[i] -= ra * a[i]
            factor = 1.0 / U[k, k]
            for i in range(q.size):
                q[i] *= factor
            ra, factor = U[k, o], 1.0 / U[o, o]
            for i in range(q.size):
                r[i] = (r[i] - ra * q[i]) * factor


@njit(nogil=True, cache=True, fastmath=FAST, error_model="numpy")
def fit(XT, weights, biases, rows, ridge, scaling, H, means, U, w, E):  # type: ignore[no-untyped-def]
    """Fit the output layer; U, w (T x m), E (T x n) and H are filled.

    Returns the mean squared error, the same plus ridge |w|^2, and whether all went well.
    """
    m, n = H.shape
    active = np.flatnonzero(scaling)
    affine(weights[:, active] * scaling[active], XT[active], H)
    squash(H, biases, means)
    gram(H, U)
    for j in range(m):
        U[j, j] += ridge * n
    if not cholesky(U, m):
        return 0.0, 0.0, False
    squares = size = 0.0
    for t in range(rows.shape[0]):
        y, e, v = rows[t], E[t], w[t]
        for j in range(m):
            h = H[j]
            total = 0.0
            for i in range(n):
                total += h[i] * y[i]
            v[j] = total
        for j in range(m):
            v[j] /= U[j, j]
            for k in range(j + 1, m):
                v[k] -= v[j] * U[j, k]
        for j in range(m - 1, -1, -1):
            total = v[j]
            for k in range(j + 1, m):
                total -= U[j, k] * v[k]
            v[j] = total / U[j, j]
            size += v[j] * v[j]
        for i in range(n):
            e[i] = y[i]
        for j in range(m):
            h, factor = H[j], v[j]
            for i in range(n):
                e[i] -= factor * h[i]
        for i in range(n):
            squares += e[i] * e[i]
    return squares / n, squares / n + ridge * size, True


@njit(nogil=True, cache=True, error_model="numpy")
def screen(XT, weights, biases, rows, own, ridge, least, subset, scalings):  # type: ignore[no-untyped-def]
    """The best of the first 1, 2, ..., m neurons at common scalings of a subset.

    Returns the criterion, the squared leave-one-out error, the place of the scaling and m; the
    first of equals. A factorisation that fails is infinitely bad.
    """
    n, m, T = XT.shape[1], biases.size, rows.shape[0]
    H, Q, U, means = np.empty((m, n)), np.empty((m, n)), room(m), np.empty(m)
    z, squares, wrong = np.empty((m, T)), np.empty(m), np.empty(m)
    W, seen = weights[:, subset], XT[subset]
    first, second, place, count = np.inf, np.inf, 0, m
    for s in range(scalings.size):
        affine(W * scalings[s], seen, H)
        squash(H, biases, means)
        gram(H, U)
        for j in range(m):
            U[j, j] += ridge * n
        if not cholesky(U, m):
            continue
        orthogonalise(U, H, Q)
        for j in range(m):
            for t in range(T):
                z[j, t] = (Q[j] * rows[t]).sum()
        p = np.full(n, 1.0 - 1.0 / n)
        prefix_losses(Q, z, rows.copy(), p, own, least, squares, wrong)
        for j in range(m):
            value = (wrong[j] if own.size else squares[j]) / n
            if value < first or (value == first and squares[j] / n < second):
                first, second, place, count = value, squares[j] / n, s, j + 1
    return first, second, place, count


@njit(nogil=True, cache=True, fastmath=FAST)
def gradient(XT, weights, H, means, w, E):  # type: ignore[no-untyped-def]
    """Gradient of the objective of a fit by the scalings of all features (equation 13)."""
    d, n = XT.shape
    g = np.zeros(d)
    r = np.empty(min(STRIP, n))
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(H.shape[0]):
            h, mean, v = H[j, low:high], means[j], weights[j]
            r[: h.size] = 0.0
            for t in range(E.shape[0]):
                e, factor = E[t, low:high], w[t, j]
                for i in range(h.size):
                    r[i] += factor * e[i]
            for i in range(h.size):
                x = h[i] + mean
                r[i] *= 1.0 - x * x
            for k in range(0, d - 3, 4):
                a, b = XT[k, low:high], XT[k + 1, low:high]
                c, f = XT[k + 2, low:high], XT[k + 3, low:high]
                sa = sb = sc = sf = 0.0
                for i in range(h.size):
                    sa += r[i] * a[i]
                    sb += r[i] * b[i]
                    sc += r[i] * c[i]
                    sf += r[i] * f[i]
                g[k] += v[k] * sa
                g[k + 1] += v[k + 1] * sb
                g[k + 2] += v[k + 2] * sc
                g[k + 3] += v[k + 3] * sf
            for k in range(d - d % 4, d):
                a = XT[k, low:high]
                sa = 0.0
                for i in range(h.size):
                    sa += r[i] * a[i]
                g[k] += v[k] * sa
    g *= -2.0 / n
    return g


@njit(nogil=True, cache=True)
def neighbour(G, grid, k, rule):  # type: ignore[no-untyped-def]
    """Steps of -1, 0, +1 on the grid against the gradient G, as the rule says."""
    steps = np.zeros(G.size, np.int64)
    most, first = 0.0, -1
    for i in range(G.size):
        if (G[i] < 0 and grid[i] < k) or (G[i] > 0 and grid[i] > 0):
            steps[i] = -1 if G[i] > 0 else 1
            if abs(G[i]) > most:
                most, first = abs(G[i]), i
    for i in range(G.size):
        if (rule == LARGEST and i != first) or (rule == HALF and abs(G[i]) < 0.5 * most):
            steps[i] = 0
    return steps


@njit(nogil=True, cache=True)
def breakpoints(g, grid, k, rule):  # type: ignore[no-untyped-def]
    """Values of C1 at which the neighbour can change from more moves up to more moves down.

    With D the largest g + C1 of those that can go down, U the largest -(g + C1) of those that can
    go up: ``sign`` changes where some g + C1 = 0; ``largest`` where D = U, or D = 0. ``half`` drops
    all below max(D, U) / 2, which a coordinate crosses, while U is the larger, at -(2 g - U) / 3
    going down and at -U - 2 g going up (U here being the largest -g), while D is the larger, at
    D - 2 g and at -(2 g + D) / 3 (D being the largest g).
    """
    if rule == SIGN:
        return -g
    top, bottom = -np.inf, np.inf
    for i in range(g.size):
        if grid[i] > 0:
            top = max(top, g[i])
        if grid[i] < k:
            bottom = min(bottom, g[i])
    points = np.empty(2 + 4 * g.size)
    points[0], count = -top, 1
    if bottom < np.inf:
        points[1], count = -(top + bottom) / 2, 2
    if rule == HALF:
        for i in range(g.size):
            if grid[i] > 0:
                points[count], points[count + 1] = top - 2 * g[i], -(2 * g[i] + bottom) / 3
                count += 2 if bottom < np.inf else 1
            if grid[i] < k:
                points[count], points[count + 1] = bottom - 2 * g[i], -(2 * g[i] + top) / 3
                count += 2
    return points[:count]


@njit(nogil=True, cache=True)
def increase(g, C1, grid, k, rule):  # type: ignore[no-untyped-def]
    """The least C1 not below the given one from which the neighbour is sparser; and its steps."""
    found = np.sort(breakpoints(g, grid, k, rule))
    points, count = np.empty(found.size + 1), 1
    points[0] = C1
    for point in found:
        if point > points[count - 1]:
            points[count] = point
            count += 1
    low, high = 0, count - 1  # beyond the last point everything goes down
    while low < high:
        middle = (low + high) // 2
        steps = neighbour(g + (points[middle] + points[middle + 1]) / 2, grid, k, rule)
        if steps.sum() < 0:
            high = middle
        else:
            low = middle + 1
    at = points[low]
    inside = (at + points[low + 1]) / 2 if low + 1 < count else at + 1.0 + abs(at)
    return at, neighbour(g + inside, grid, k, rule)


@njit(nogil=True, cache=True, error_model="numpy")
def descend(  # type: ignore[no-untyped-def]
    XT, weights, biases, rows, own, ridge, least, start, k, rule, known, H, Q, keys, grids
):
    """One restart: the best machine of each size among those that become the current one.

    Parameters
    ----------
    XT, weights, biases, rows, own, ridge
        Features, neurons and target, as everywhere in this room.
    least : float
        The least 1 - leverage at which a sample still counts as left out.
    start : int array, d
        The scalings to start from, in steps of 1/k.
    k, rule : int
        Steps of the grid; which coordinates move.
    known : array, most + 1
        Criterion by size that need not be improved on by more than equality; sizes beyond the end
        are not asked for.
    H, Q : arrays, m x n
        Room.
    keys, grids : arrays, (most + 1) x 2 and (most + 1) x d
        Out: criterion and squared error, and scalings in steps; keys come in as infinity.

    Returns
    -------
    bool
        False if a fit was not positive definite.
    """
    m, n = H.shape
    T = rows.shape[0]
    U, means, w, E = room(m), np.empty(m), np.empty((T, m)), np.empty((T, n))
    empty = np.square(rows).sum() / n
    grid, C1 = start.copy(), 0.0
    mse = J = J_new = 0.0
    if grid.any():
        mse, J, fine = fit(XT, weights, biases, rows, ridge, grid / k, H, means, U, w, E)
        if not fine:
            return False
    while grid.any():
        size = np.count_nonzero(grid)
        # The leave-one-out error is not below the training error.
        if size < known.size and (own.size or mse <= min(known[size], keys[size, 0])):
            orthogonalise(U, H, Q)
            squares, wrong = leave_out(Q, E, np.full(n, 1.0 - 1.0 / n), own, least)
            squares, first = squares / n, (wrong if own.size else squares) / n
            if first < keys[size, 0] or (first == keys[size, 0] and squares < keys[size, 1]):
                keys[size, 0], keys[size, 1] = first, squares
                for i in range(grid.size):
                    grids[size, i] = grid[i]
        g = gradient(XT, weights, H, means, w, E)
        new = grid + neighbour(g + C1, grid, k, rule)
        old = J + C1 * grid.sum() / k
        J_new = np.inf
        moved = (new != grid).any()
        if moved:
            J_new = empty
            if new.any():
                mse, J_new, fine = fit(XT, weights, biases, rows, ridge, new / k, H, means, U, w, E)
                if not fine:
                    return False
        if not moved or not J_new + C1 * new.sum() / k < old - DECREASED * abs(old):
            C1, steps = increase(g, C1, grid, k, rule)
            if (new != grid + steps).any():
                new = grid + steps
                J_new = empty
                if new.any():
                    mse, J_new, fine = fit(
                        XT, weights, biases, rows, ridge, new / k, H, means, U, w, E
                    )
                    if not fine:
                        return False
            C1 = max(C1, (J_new - J) / ((grid - new).sum() / k))
        grid, J = new, J_new
    return True
