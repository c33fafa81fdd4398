r"""Exact coefficients for given Gaussians: least squares within a budget.

The barrier method makes no coefficient exactly zero, and wide Gaussians are so similar that many
small coefficients replace a few. At the final weights of the inputs the problem

    minimise |B'a - y|^2 / N   subject to   sum |a_m| <= r            (rows of B: basis functions)

is convex, and its exact solution has few coefficients. Its set of outputs B'a is the convex hull of
the points r b_m, -r b_m and 0 (an unused budget); the one nearest to y is wanted: the
method of Wolfe (1976, "Finding the nearest point in a polytope"). A corner enters, the one that
the gradient points at most; among the corners in use the nearest point of their plane is found by
least squares, with differences of corners, in which nothing large cancels; on the way there corners
whose share would fall below zero leave. With g the gradient by a, no a within the budget has
an error less than that of the present one by more than

    gap = a'g + r max |g|

which is the stopping criterion. There are finitely many sets of corners and the error decreases, so
the method ends.

The lowest error may need several corners that are so close to each other that some could be omitted
at almost no cost. So corners are removed, the one with the smallest cost first, as long as the
error stays within a small fraction of the lowest (``thinned``). With the shares x of the k corners,
whose sum is r, and differences of corners D = Q R, V = T (R'R)^-1 T' is the covariance of the
shares, where T has the unit matrix and a last row of -1: without corner m the squared error is
larger by x_m^2 / V_mm, and V becomes V - V_m V_m' / V_mm.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq, qr
from scipy.linalg.lapack import dgels, dgeqrf, dtrtrs

from sparsepath._core import rbf as core
from sparsepath.rbf.network import IN_USE
from sparsepath.system.arrays import Floats

SLACK = 0  # the corner at zero: what is not used of the budget
# Numerical tolerances
GAP = 1e-6  # of the error: what could still be gained at the end
MOST_IDLE = 5  # corners in a row by which the error does not fall
DEPENDENT = 1e-10  # of the largest: what is left of a corner by the others
FULL = 1e-9  # of the budget: less that is not used is rounding
PLAIN = 1e-7  # as DEPENDENT, above which columns need not be exchanged to tell
LAPACK_COLUMNS = 32  # that LAPACK takes at a time


class _Plane(NamedTuple):
    """The nearest point of a plane to a target."""

    shares: Floats  # of the points that span it, of any sign
    triangle: Floats | None  # of the differences to the last point, unless these nearly depend


class BudgetLasso:
    """Coefficients a that minimise |B'a - y|^2 with sum |a| <= r; most are zero.

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

    Attributes
    ----------
    a : array of shape (M,)
        The coefficients.
    error : float
        |B'a - y|^2 / N.
    """

    def __init__(self, B: Floats, y: Floats, r: float, start: Floats | None = None) -> None:
        self._B, self._y, self._r = B, y, r
        n = len(y)
        enough = 1e-12 * float(y @ y) / n
        corners, shares, points = self._begun(start)
        plane = _nearest(points, y, r)
        if plane.triangle is None and len(corners) > 1:
            corners, shares, points = self._begun(start, independent=True)
            plane = _nearest(points, y, r)
        least, idle = np.inf, 0
        for _ in range(10 * len(B) + 10):
            while (falling := plane.shares <= 0.0).any():
                ways = shares[falling] / (shares[falling] - plane.shares[falling])
                way = float(ways.min())
                shares = shares + way * (plane.shares - shares)
                shares[np.flatnonzero(falling)[ways <= way]] = 0.0
                kept = shares > 0.0
                corners, shares, points = corners[kept], shares[kept], points[kept]
                plane = _nearest(points, y, r)
            shares = plane.shares
            outputs = shares @ points
            off = outputs - y
            self.error = float(off @ off) / n
            g = (2.0 / n) * (B @ off)
            m = int(np.argmax(np.abs(g)))
            gap = (2.0 / n) * float(outputs @ off) + r * float(abs(g[m]))
            corner = -(m + 1) if g[m] > 0 else m + 1
            idle = 0 if self.error < least else idle + 1
            least = min(self.error, least)
            # A corner whose plane has been searched, or errors that do not fall: rounding.
            if gap <= GAP * self.error + enough or corner in corners or idle > MOST_IDLE:
                break
            corners, shares = np.append(corners, corner), np.append(shares, 0.0)
            points = np.vstack([points, np.sign(corner) * B[m]])
            plane = _nearest(points, y, r)
        self._corners, self._shares, self._points = corners, shares, points
        self._triangle = plane.triangle
        self.a = self._coefficients(corners, shares)

    def thinned(self, most: float) -> tuple[Floats, float]:
        """Fewer coefficients, if an error of at most ``most`` allows it, and their error.

        The first of the basis functions stays: it is the constant one.
        """
        corners, points, triangle = self._corners, self._points, self._triangle
        shares = self._shares.copy()
        kept = (corners != SLACK) | (shares > FULL * self._r)
        if not kept.all():
            corners, shares, points = corners[kept], shares[kept], points[kept]
            triangle = _nearest(points, self._y, self._r).triangle
        n, k = len(self._y), len(corners)
        room = n * (most - self.error)
        if room <= 0.0 or k < 2 or triangle is None:
            return self.a, self.error
        inverse = dtrtrs(triangle[: k - 1], np.eye(k - 1), trans=1)[0]
        inverse = np.column_stack([inverse, -inverse.sum(axis=1)])
        may_go = np.abs(corners) > 1
        core.drop_corners(np.ascontiguousarray(inverse.T @ inverse), shares, may_go, room)
        kept = shares > 0.0
        if kept.all():
            return self.a, self.error
        # The shares from scratch: what was left out step by step has gathered rounding.
        corners, points = corners[kept], points[kept]
        shares = _nearest(points, self._y, self._r).shares
        off = shares @ points - self._y
        error = float(off @ off) / n
        if shares.min() < 0.0 or error > most:
            return self.a, self.error
        return self._coefficients(corners, shares), error

    def _coefficients(self, corners: NDArray[np.intp], shares: Floats) -> Floats:
        a = np.zeros(len(self._B))
        real = corners != SLACK
        # A corner and its opposite may both be in use.
        np.add.at(a, np.abs(corners[real]) - 1, np.sign(corners[real]) * shares[real])
        return a

    def _begun(
        self, start: Floats | None, independent: bool = False
    ) -> tuple[NDArray[np.intp], Floats, Floats]:
        """The corners that coefficients use (m + 1 for b_m, -(m + 1) for -b_m), the share of each,
        and the points that they are; no more than there are samples.

        Of corners that depend on each other only some stay if requested, those of large
        shares before others.
        """
        B, r, used = self._B, self._r, np.zeros(0, dtype=np.intp)
        if start is not None and start.any():
            sizes = np.abs(start)
            used = np.flatnonzero(sizes > IN_USE * sizes.max())
            if independent:
                used = used[_independent(start[used] * B[used].T)]
            elif len(used) > B.shape[1]:
                used = np.sort(used[np.argsort(-sizes[used], kind="stable")[: B.shape[1]]])
        nothing = np.zeros((1, B.shape[1]))
        if start is None or not len(used):
            return np.array([SLACK]), np.array([r]), nothing
        shares, signs = np.abs(start[used]), np.sign(start[used])
        shares *= min(1.0, 0.999 * r / shares.sum())
        corners = np.append(SLACK, signs.astype(np.intp) * (used + 1))
        points = np.vstack([nothing, signs[:, None] * B[used]])
        return corners, np.append(r - shares.sum(), shares), points


def _independent(columns: Floats) -> NDArray[np.intp]:
    """Columns that do not depend on each other, by the triangular factor of a QR decomposition."""
    n, m = columns.shape
    if m <= n and not _close(dgeqrf(columns)[0]):
        return np.arange(m)
    triangle, order = qr(columns, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(triangle))
    return np.sort(order[: np.count_nonzero(sizes > DEPENDENT * sizes[0])])


def _nearest(points: Floats, y: Floats, r: float) -> _Plane:
    """Shares of sum r with which the points come nearest to y."""
    if len(points) == 1:
        return _Plane(np.array([r]), None)
    from_last, rest = (points[:-1] - points[-1]).T, y - r * points[-1]
    n, m = from_last.shape
    triangle = None
    if m <= n:
        triangle, others, _ = dgels(from_last, rest, lwork=(1 + LAPACK_COLUMNS) * m)
    if triangle is None or _close(triangle):
        triangle = None
        others = lstsq(from_last, rest, lapack_driver="gelsy", check_finite=False)[0]
    others = others[:m]
    return _Plane(np.append(others, r - others.sum()), triangle)


def _close(triangle: Floats) -> bool:
    """Whether columns with this triangular factor are so close to dependent that their order
    matters; telling it that way takes a third of the time of exchanging them.
    """
    sizes = np.abs(np.diag(triangle))
    return not float(sizes.min()) > PLAIN * float(sizes.max())
