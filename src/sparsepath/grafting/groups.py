r"""Several outputs: proximal Newton steps for the softmax, with features as groups of weights.

The step D minimises q'D + D'H D / 2 + sum_j l1_j |w_j + D_j| + l2_j |D_j|^2 by coordinate descent
over groups. That crawls where columns are nearly collinear; after some passes it is helped by
Newton steps on the groups u_j = w_j + D_j that are not zero, where the norms are smooth:

    second derivative of l1 |u| = l1 (I - u u' / |u|^2) / |u|

A step goes as far as the model falls along it. Where a group is on its way through zero this ends
close to zero; if the model is no higher with that group at zero, it leaves.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.engines import INNER, INNER_GRAM, TILE, ColumnCache, Indices
from sparsepath.grafting.group_products import GroupModel

BY_PRODUCTS = 300  # weights from which the matrix is not made
HELP_AFTER = 50  # passes after which Newton steps help
MOST_HELP = 20  # times
MOST_NEWTON = 30  # steps of each help
HELPED_UP_TO = 1500  # weights: beyond, a step would cost more than it is worth
NEAR_ZERO = 1e-2  # part of its norm at which a group is tried at zero


class GroupEngine(ColumnCache):
    """Several outputs with the softmax: a feature is a group of K weights, one per class.

    With z_i the row of the working set, a 1 appended for the intercepts, and p_i the class shares,

        H = sum_i s_i (z_i z_i') x (diag(p_i) - p_i p_i')        ("x": Kronecker product)

    The intercepts are eliminated with a pseudo-inverse, since adding a constant to all classes
    changes nothing.
    """

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        k, K = w.shape
        if k * K > BY_PRODUCTS:
            return self._by_products(q, beta, w, local, violation)
        H = self._hessian(self.expansion.curvature)
        r = (q + 2.0 * local.l2[:, None] * w).ravel()
        back = np.zeros((K, k * K))
        if self.design.fit_intercept:
            across = H[k * K :, : k * K]
            inverse = np.linalg.pinv(H[k * K :, k * K :], rcond=1e-12, hermitian=True)
            back = inverse @ across
            r = r - beta @ back
            H = H[: k * K, : k * K] - across.T @ back
            rest = -inverse @ beta
        else:
            H, rest = H[: k * K, : k * K], np.zeros(K)
        D = minimise_groups(
            np.ascontiguousarray(H), r, np.ascontiguousarray(w), local, self._free,
            INNER_GRAM * violation,
        )  # fmt: skip
        return D, rest - back @ D.ravel()

    def _by_products(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float
    ) -> tuple[Floats, Floats]:
        free = np.flatnonzero(self._free)
        Z = self.columns if len(free) == len(w) else self.columns[:, free]
        part = Penalty(local.l1[free], local.l2[free], local.l0[free])
        slope = q[free] + 2.0 * part.l2[:, None] * w[free]
        P = self.expansion.curvature
        intercept = self.design.fit_intercept
        model = GroupModel(Z, self.s, P, slope, beta, w[free], part, intercept)
        D = np.zeros_like(w)
        D[free], d = model.minimise(INNER * violation)
        return D, d

    def _hessian(self, P: Floats) -> Floats:
        m, k = self.columns.shape
        K = P.shape[1]
        size = (k + 1) * K
        H = np.zeros((k + 1, K, k + 1, K))
        outer = np.zeros((size, size))
        step = max(64, TILE // size)
        for i in range(0, m, step):
            part = slice(i, i + step)
            Z = np.column_stack([self.columns[part], np.ones(len(P[part]))])
            weighted = P[part] * self.s[part, None]
            for c in range(K):
                H[:, c, :, c] += Z.T @ (Z * weighted[:, c, None])
            V = (Z[:, :, None] * (P[part] * np.sqrt(self.s[part, None]))[:, None, :]).reshape(
                len(Z), size
            )
            outer += V.T @ V
        return H.reshape(size, size) - outer


def minimise_groups(
    H: Floats, q: Floats, w: Floats, local: Penalty, free: NDArray[np.bool_], tol: float
) -> Floats:
    """The step D of the module's notes; groups that are not ``free`` stay where they are."""
    from sparsepath.grafting.compiled import descend_groups

    k, K = w.shape
    blocks = np.stack([H[j * K : j * K + K, j * K : j * K + K] for j in range(k)])
    E, Q = np.linalg.eigh(blocks)
    E = np.where(free[:, None], np.maximum(E, 0.0), -np.inf)
    Q = np.ascontiguousarray(Q)
    D = np.zeros((k, K))
    r = q.copy()
    for _ in range(MOST_HELP):
        passes = descend_groups(
            H, r, w, D, local.l1, local.l2, Q, E, np.zeros((2, K)), np.empty(k, dtype=np.intp),
            tol, HELP_AFTER,
        )  # fmt: skip
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
    """Where on [0, 1] slope t + bent t^2 / 2 + sum_j l1_j |u_j + t p_j| is least, by halving."""

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
