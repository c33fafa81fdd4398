"""The step of a proximal Newton method: the minimum of a quadratic model with a penalty.

With one output the step D minimises q'D + D'H D / 2 + sum_j l1_j |w_j + D_j| + l2_j (w_j + D_j)^2
by coordinate descent and, where that is slow, exact solutions for the present signs. With several
outputs D_j is a group of weights and |.| its norm. Coordinate descent is slow if columns are nearly
collinear; after some passes, Newton steps on the nonzero groups u_j = w_j + D_j, where the norms
are smooth, accelerate it:

    second derivative of l1 |u| = l1 (I - u u' / |u|^2) / |u|

A step ends at the minimum of the model along it. If a group passes through zero, this is close to
zero; the group is set to zero if the model is not higher there.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import grafting as core
from sparsepath.grafting.criterion import Penalty
from sparsepath.system.arrays import Floats

Indices = NDArray[np.intp]

HELP_AFTER = 50  # passes after which descent is helped
MOST_HELP = 20  # times
MOST_NEWTON = 30  # steps of each help
HELPED_UP_TO = 1500  # weights: beyond, a step would cost more than it is worth
NEAR_ZERO = 1e-2  # part of its norm at which a group is tried at zero


def minimise(H: Floats, q: Floats, w: Floats, local: Penalty, least: Floats, tol: float) -> Floats:
    """The step D of the module's notes; q is the gradient of the loss at w.

    Coordinates whose curvature is at most ``least`` stay where they are.
    """
    return core.minimise(np.ascontiguousarray(H), q, w, local.l1, local.l2, least, tol) - w


def minimise_groups(
    H: Floats, q: Floats, w: Floats, local: Penalty, free: NDArray[np.bool_], tol: float
) -> Floats:
    """The step D of the module's notes; groups that are not ``free`` stay where they are."""
    k, K = w.shape
    blocks = np.stack([H[j * K : j * K + K, j * K : j * K + K] for j in range(k)])
    E, Q = np.linalg.eigh(blocks)
    E = np.where(free[:, None], np.maximum(E, 0.0), -np.inf)
    Q = np.ascontiguousarray(Q)
    D = np.zeros((k, K))
    r = q.copy()
    for _ in range(MOST_HELP):
        passes = core.descend_groups(H, r, w, D, local.l1, local.l2, Q, E, tol, HELP_AFTER)
        if passes < HELP_AFTER:
            break
        support = np.flatnonzero(free & (w + D).any(1))
        if 0 < len(support) * K <= HELPED_UP_TO:
            D = _newton_on_support(H, r, w, D, local, support, tol)
            r = q + H @ D.ravel()
    return D


def _newton_on_support(
    H: Floats, r: Floats, w: Floats, D: Floats, local: Penalty, S: Indices, tol: float
) -> Floats:
    """Newton steps on the groups ``S``, all of them not zero; r = q + H D."""
    D = D.copy()
    K = w.shape[1]
    for _ in range(MOST_NEWTON):
        rows = (S[:, None] * K + np.arange(K)).ravel()
        A = H[np.ix_(rows, rows)]
        l1, l2 = local.l1[S], local.l2[S]
        u = w[S] + D[S]
        norms = np.linalg.norm(u, axis=1)
        push = r[rows].reshape(u.shape) + 2.0 * l2[:, None] * D[S] + (l1 / norms)[:, None] * u
        if np.abs(push).max() <= tol:
            break
        bend = A.copy()
        unit = u / norms[:, None]
        for i in range(len(S)):
            part = slice(i * K, i * K + K)
            bend[part, part] += 2.0 * l2[i] * np.eye(K)
            bend[part, part] += l1[i] / norms[i] * (np.eye(K) - np.outer(unit[i], unit[i]))
        bend[np.diag_indices(len(rows))] *= 1.0 + 1e-13
        try:
            p = -np.linalg.solve(bend, push.ravel()).reshape(u.shape)
        except np.linalg.LinAlgError:
            break
        smooth = push - (l1 / norms)[:, None] * u
        slope = float((smooth * p).sum())
        if not np.isfinite(p).all() or slope + float(l1 @ ((unit * p).sum(1))) >= 0:
            break
        Ap = A @ p.ravel()
        bent = float(p.ravel() @ Ap) + 2.0 * float(l2 @ (p * p).sum(1))
        t = least_along(u, p, l1, slope, bent)
        move = t * p
        r = r + H[:, rows] @ move.ravel()
        D[S] += move
        u = w[S] + D[S]
        small = np.linalg.norm(u, axis=1) <= NEAR_ZERO * norms
        gone = np.zeros(len(S), dtype=bool)
        for i in np.flatnonzero(small).tolist():
            own = slice(S[i] * K, S[i] * K + K)
            change = float((r[own] + 2.0 * l2[i] * D[S[i]]) @ -u[i])
            change += 0.5 * float(u[i] @ H[own, own] @ u[i]) + l2[i] * float(u[i] @ u[i])
            if change <= l1[i] * float(np.linalg.norm(u[i])):
                r = r - H[:, own] @ u[i]
                D[S[i]] = -w[S[i]]
                gone[i] = True
        S = S[~gone]
        if not len(S):
            break
    return D


def least_along(u: Floats, p: Floats, l1: Floats, slope: float, bent: float) -> float:
    """Return the t in [0, 1] that minimises slope t + bent t^2 / 2 + sum_j l1_j |u_j + t p_j|."""

    def falls(t: float) -> bool:
        v = u + t * p
        norms = np.linalg.norm(v, axis=1)
        along = (v * p).sum(1) / np.where(norms > 0, norms, 1.0)
        return slope + bent * t + float(l1 @ along) <= 0

    if falls(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falls(middle) else (low, middle)
    return low
