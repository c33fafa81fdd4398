"""Algorithm 1 in one compiled piece. Arrays and numbers only; no checks.

A restart is some thirty small fits, see :mod:`sparsepath.elm.layer`, and the whole of it runs
without the interpreter. Letters are those of :mod:`sparsepath.elm.network`, choices those of
:mod:`sparsepath.elm.scaling`.
"""

import numpy as np
from numba import njit

from sparsepath.elm.compiled import FAST
from sparsepath.elm.layer import BEYOND, STRIP, fit, left_out

HALF, SIGN, LARGEST = range(3)  # the order of scaling.RULES
DECREASED = 1e-12


@njit(nogil=True, cache=True, fastmath=FAST)
def gradient(XT, weights, H, means, w, E):  # type: ignore[no-untyped-def]
    """Gradient of the objective of a fit by the scalings of all features (equation 13)."""
    d, n = XT.shape
    number = H.dtype.type
    zero, one = number(0.0), number(1.0)
    g = np.zeros(d)
    r = np.empty(min(STRIP, n), H.dtype)
    for low in range(0, n, STRIP):
        high = min(n, low + STRIP)
        for j in range(H.shape[0]):
            h, mean, v = H[j, low:high], means[j], weights[j]
            r[: h.size] = zero
            for t in range(E.shape[0]):
                e, factor = E[t, low:high], number(w[t, j])
                for i in range(h.size):
                    r[i] += factor * e[i]
            for i in range(h.size):
                x = h[i] + mean
                r[i] *= one - x * x
            for k in range(0, d - 3, 4):
                a, b = XT[k, low:high], XT[k + 1, low:high]
                c, f = XT[k + 2, low:high], XT[k + 3, low:high]
                sa = sb = sc = sf = zero
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
                sa = zero
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
        Features, neurons and target, as everywhere in this room, in single or double precision.
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
        Room, of the same precision.
    keys, grids : arrays, (most + 1) x 2 and (most + 1) x d
        Out: criterion and squared error, and scalings in steps; keys come in as infinity.

    Returns
    -------
    bool
        False if a fit was not positive definite.
    """
    m, n = H.shape
    T = rows.shape[0]
    U, w = np.empty((m + BEYOND, m + BEYOND)), np.empty((T, m))
    means, E = np.empty(m, H.dtype), np.empty((T, n), H.dtype)
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
            first, squares = left_out(U, H, Q, E, own, least)
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
