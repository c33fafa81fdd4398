r"""The coefficients for given Gaussians, solved outright: least squares within a budget.

The barrier leaves all coefficients a little away from zero, and wide Gaussians are so much alike
that many small ones do the work of a few. At the final weights of the inputs the problem

    minimise |B'a - y|^2 / N   subject to   sum |a_m| <= r            (rows of B: basis functions)

is convex, and its exact solution has few coefficients. Its set of outputs B'a is the convex hull of
the points r b_m, -r b_m and 0 (a budget not used up), of which the one nearest to y is wanted: the
method of Wolfe (1976, "Finding the nearest point in a polytope"). A corner enters, the one that
the gradient points at most; among the corners in use the nearest point of their plane is found by
least squares, with differences of corners, in which nothing large cancels; on the way there corners
whose share would fall below zero leave. With g the gradient by a, no a within the budget has
an error less than that of the present one by more than

    gap = a'g + r max |g|

which says when to end. There are finitely many sets of corners and the error falls, so it does end.

The least error may need several corners that lie so near each other that it is hardly larger
without some of them. So corners are left out again, the one that costs least first, as long as the
error stays within a small fraction of the least (``thinned``). With the shares x of the k corners,
whose sum is r, and differences of corners D = Q R, V = T (R'R)^-1 T' is the covariance of the
shares, where T has the unit matrix and a last row of -1: without corner m the squared error is
larger by x_m^2 / V_mm, and V becomes V - V_m V_m' / V_mm.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq, qr
from scipy.linalg.lapack import dgels, dgeqrf, dtrtrs

from sparsepath.arrays import Floats

GAP = 1e-6  # of the error: what could still be gained at the end
SLACK = 0  # the corner at zero: what is not used of the budget
MOST_IDLE = 5  # corners in a row by which the error does not fall
DEPENDENT = 1e-10  # of the largest: what is left of a corner by the others
FULL = 1e-9  # of the budget: less that is not used is rounding
PLAIN = 1e-7  # the same, above which columns need not be exchanged to tell
USED = 1e-3  # of the largest coefficient of a start: what is less is left out of it


def budget_lasso(B: Floats, y: Floats, r: float, start: Floats | None = None) -> Floats:
    """The coefficients a of the least |B'a - y|^2 with sum |a| <= r; most of them are zero.

    Parameters
    ----------
    B : array of shape (M, N)
        Basis functions by samples.
    y : array of shape (N,)
        The target.
    r : float
        The budget.
    start : array of shape (M,), optional
        Coefficients to begin with, not far from the best: it takes a few steps from there, and
        about one for every coefficient in use from zero. The end is the same.
    """
    n = len(y)
    enough = 1e-12 * float(y @ y) / n
    corners, shares, points = _corners(B, start, r)
    least, idle = np.inf, 0
    for _ in range(10 * len(B) + 10):
        while len(corners) > 1:
            found = _nearest(points, y, r)
            falling = found <= 0.0
            if not falling.any():
                shares = found
                break
            ways = shares[falling] / (shares[falling] - found[falling])
            way = float(ways.min())
            shares = shares + way * (found - shares)
            shares[np.flatnonzero(falling)[ways <= way]] = 0.0
            kept = shares > 0.0
            corners = [c for c, keep in zip(corners, kept, strict=True) if keep]
            shares, points = shares[kept], points[kept]
        if len(corners) == 1:
            shares = np.array([r])
        off = shares @ points - y
        error = float(off @ off) / n
        g = (2.0 / n) * (B @ off)
        m = int(np.argmax(np.abs(g)))
        gap = float((2.0 / n) * (shares @ points) @ off) + r * float(abs(g[m]))
        corner = -(m + 1) if g[m] > 0 else m + 1
        idle = 0 if error < least else idle + 1
        least = min(error, least)
        # A corner whose plane has been searched, or errors that do not fall: rounding.
        if gap <= GAP * error + enough or corner in corners or idle > MOST_IDLE:
            break
        corners.append(corner)
        shares = np.append(shares, 0.0)
        points = np.vstack([points, np.sign(corner) * B[m]])
    a = np.zeros(len(B))
    for corner, share in zip(corners, shares, strict=True):
        if corner != SLACK:
            a[abs(corner) - 1] += np.sign(corner) * share
    return a


def thinned(B: Floats, y: Floats, r: float, a: Floats, most: float) -> Floats:
    """The solution a of ``budget_lasso`` with fewer coefficients, if the error allows it.

    Parameters
    ----------
    B, y, r : array, array, float
        As there. The first of the basis functions stays: it is the constant one.
    a : array of shape (M,)
        The solution.
    most : float
        What |B'a - y|^2 / N may become at most.
    """
    from sparsepath.rbf.compiled import drop_corners

    used = np.flatnonzero(a)
    shares, points = np.abs(a[used]), np.sign(a[used])[:, None] * B[used]
    may_go = used > 0
    slack = r - float(shares.sum())
    if slack > FULL * r:
        shares, points = np.append(shares, slack), np.vstack([points, np.zeros(B.shape[1])])
        may_go = np.append(may_go, False)
    off = a @ B - y
    room = len(y) * most - float(off @ off)
    k = len(shares)
    if room <= 0.0 or k < 2 or k - 1 > len(y):
        return a
    R = dgeqrf((points[:-1] - points[-1]).T)[0][: k - 1]
    if _close(R):
        return a
    inverse = dtrtrs(R, np.eye(k - 1), trans=1)[0]
    inverse = np.column_stack([inverse, -inverse.sum(axis=1)])
    left = shares.copy()
    drop_corners(np.ascontiguousarray(inverse.T @ inverse), left, may_go, room)
    kept = left > 0.0
    if kept.all():
        return a
    # The shares from scratch: what was left out step by step has gathered rounding.
    found = _nearest(points[kept], y, r)
    off = found @ points[kept] - y
    if found.min() < 0.0 or float(off @ off) > len(y) * most:
        return a
    out = np.zeros_like(a)
    kept = kept[: len(used)]
    out[used[kept]] = np.sign(a[used[kept]]) * found[: np.count_nonzero(kept)]
    return out


def _corners(B: Floats, start: Floats | None, r: float) -> tuple[list[int], Floats, Floats]:
    """The corners that coefficients use (m + 1 for b_m, -(m + 1) for -b_m), the share of each, and
    the points that they are.

    Of corners that depend on each other only some stay, those of large shares before others.
    """
    alone = [SLACK], np.array([r]), np.zeros((1, B.shape[1]))
    if start is None or not start.any():
        return alone
    used = np.flatnonzero(np.abs(start) > USED * np.abs(start).max())
    used = used[_independent(start[used] * B[used].T)]
    if not len(used):
        return alone
    shares, signs = np.abs(start[used]), np.sign(start[used])
    shares *= min(1.0, 0.999 * r / shares.sum())
    corners = [SLACK, *(signs.astype(int) * (used + 1)).tolist()]
    points = np.vstack([np.zeros(B.shape[1]), signs[:, None] * B[used]])
    return corners, np.append(r - shares.sum(), shares), points


def _independent(columns: Floats) -> NDArray[np.intp]:
    """Columns that do not depend on each other, by the triangular factor of a QR decomposition."""
    n, m = columns.shape
    if m <= n and not _close(dgeqrf(columns)[0]):
        return np.arange(m)
    triangle, order = qr(columns, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(triangle))
    return np.sort(order[: np.count_nonzero(sizes > DEPENDENT * sizes[0])])


def _nearest(points: Floats, y: Floats, r: float) -> Floats:
    """Shares of sum r, of any sign, with which the points come nearest to y."""
    if len(points) == 1:
        return np.array([r])
    from_last, rest = (points[:-1] - points[-1]).T, y - r * points[-1]
    n, m = from_last.shape
    others = None
    if m <= n:
        triangle, solved, _ = dgels(from_last, rest)
        others = None if _close(triangle) else solved[:m]
    if others is None:
        others = lstsq(from_last, rest, lapack_driver="gelsy", check_finite=False)[0]
    return np.append(others, r - others.sum())


def _close(triangle: Floats) -> bool:
    """Whether columns with this triangular factor are so close to dependent that their order
    matters; telling it that way takes a third of the time of exchanging them.
    """
    sizes = np.abs(np.diag(triangle))
    return not float(sizes.min()) > PLAIN * float(sizes.max())
