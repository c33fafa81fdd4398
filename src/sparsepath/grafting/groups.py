r"""Several outputs: proximal Newton steps for the softmax, with features as groups of weights."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.engines import INNER, INNER_GRAM, ColumnCache
from sparsepath.grafting.steps import least_along, minimise_groups
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

MOST_TURNS = 30
PROXIMAL = 15  # gradient steps of a turn
NEWTON_TURN = 4  # Newton steps of a turn
MOST_CG = 300
LOOSE = 0.1  # part of the gradient to which a Newton step is solved
NEARLY = 0.999  # of the missing bend: what is left stays positive definite
POWER = 12  # steps for the largest curvature


@dataclass(eq=False)
class GroupModel:
    """The model of a step; see the module."""

    Z: Floats  # (m, k) and (m,) and (m, K): columns, sample weights, class shares
    s: Floats
    P: Floats
    q: Floats  # (k, K) and (K,): gradients in the weights (l2 included) and intercepts
    beta: Floats
    w: Floats  # (k, K)
    local: Penalty
    intercept: bool

    def times(self, D: Floats, d: Floats) -> tuple[Floats, Floats]:
        """Return H (D, d); the part of the intercepts is zero if there are none."""
        T = self.P * (self.Z @ D + d)
        T -= self.P * T.sum(1, keepdims=True)
        T *= self.s[:, None]
        return self.Z.T @ T, T.sum(0) * self.intercept

    def gradient(self, D: Floats, HD: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return the gradient without the terms of the norms."""
        return self.q + HD[0] + 2.0 * self.local.l2[:, None] * D, self.beta + HD[1]

    def left(self, D: Floats, g: tuple[Floats, Floats]) -> float:
        """The largest violation of optimality of the model."""
        u = self.w + D
        sizes = np.linalg.norm(u, axis=1)
        push = g[0] + (self.local.l1 / np.where(sizes > 0, sizes, 1.0))[:, None] * u
        push = np.linalg.norm(push, axis=1)
        push = np.where(sizes > 0, push, np.maximum(push - self.local.l1, 0.0))
        return max(float(push.max()), float(np.abs(g[1]).max()))

    def largest_curvature(self) -> float:
        D, d = np.array(self.q), np.array(self.beta)
        size = 1.0
        for _ in range(POWER):
            size = float(np.sqrt((D * D).sum() + d @ d))
            if size == 0.0:
                return 0.5
            D, d = self.times(D / size, d / size)
        return max(1.1 * float(np.sqrt((D * D).sum() + d @ d)), 1e-12)

    def minimise(self, tol: float) -> tuple[Floats, Floats]:
        """The step (D, d), to a violation of ``tol`` or as near as the turns come."""
        D, d = np.zeros_like(self.q), np.zeros_like(self.beta)
        HD = (np.zeros_like(D), np.zeros_like(d))
        L = self.largest_curvature()
        for _ in range(MOST_TURNS):
            D, d, HD = self._proximal(D, d, HD, L)
            if self.left(D, self.gradient(D, HD)) <= tol:
                break
            for _ in range(NEWTON_TURN):
                D, d, HD, whole = self._newton(D, d, HD, tol)
                if not whole or self.left(D, self.gradient(D, HD)) <= tol:
                    break
        return D, d

    def _proximal(
        self, D: Floats, d: Floats, HD: tuple[Floats, Floats], L: float
    ) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
        """Accelerated proximal gradient steps, restarted when they increase the criterion."""
        step = 1.0 / (L + 2.0 * self.local.l2)[:, None]
        E, e, HE = D, d, HD
        t = 1.0
        for _ in range(PROXIMAL):
            G, g = self.gradient(E, HE)
            u = self.w + E - step * G
            sizes = np.linalg.norm(u, axis=1, keepdims=True)
            shrunk = 1.0 - step * self.local.l1[:, None] / np.where(sizes > 0, sizes, 1.0)
            u *= np.maximum(shrunk, 0.0)
            new, new_d = u - self.w, e - g / L
            new[~u.any(1)] = -self.w[~u.any(1)]
            H_new = self.times(new, new_d)
            uphill = ((E - new) * (new - D)).sum() + (e - new_d) @ (new_d - d) > 0
            s = 1.0 if uphill else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            c = 0.0 if uphill else (t - 1.0) / s
            E, e = new + c * (new - D), new_d + c * (new_d - d)
            HE = (H_new[0] + c * (H_new[0] - HD[0]), H_new[1] + c * (H_new[1] - HD[1]))
            D, d, HD, t = new, new_d, H_new, s
        return D, d, HD

    def _newton(
        self, D: Floats, d: Floats, HD: tuple[Floats, Floats], tol: float
    ) -> tuple[Floats, Floats, tuple[Floats, Floats], bool]:
        """Take one Newton step on the nonzero groups; return it, and whether it was taken in
        full.
        """
        u = self.w + D
        S = np.flatnonzero(u.any(1))
        part = GroupModel(
            self.Z[:, S], self.s, self.P, self.q[S], self.beta, self.w[S],
            Penalty(self.local.l1[S], self.local.l2[S], self.local.l0[S]), self.intercept,
        )  # fmt: skip
        u, l1, l2 = u[S], part.local.l1, part.local.l2
        norms = np.linalg.norm(u, axis=1)
        unit = u / norms[:, None]
        smooth, g = self.gradient(D, HD)
        smooth = smooth[S]
        push = smooth + l1[:, None] * unit
        bend = (2.0 * l2 + l1 / norms)[:, None]
        curl = (l1 / norms)[:, None]

        def times(p: Floats, b: Floats) -> tuple[Floats, Floats]:
            Hp, Hb = part.times(p, b)
            return Hp + bend * p - curl * unit * (unit * p).sum(1, keepdims=True), Hb

        share = self.s @ (self.P * (1.0 - self.P))
        inverse, m = 1.0 / (share + bend), 1.0 / share
        goal = max(LOOSE * max(np.abs(push).max(), np.abs(g).max()), 0.1 * tol)
        worth = len(S) ** 2 // (2 * len(self.s))  # steps that cost what a better inverse does
        p, b, R, r = _conjugate_gradients(times, -push, -g, lambda A: inverse * A, m, goal, worth)
        if max(np.abs(R).max(), np.abs(r).max()) > goal:
            nearly = part.nearly_inverse(share, bend, curl, unit)
            more, most, *_ = _conjugate_gradients(times, R, r, nearly, m, goal, MOST_CG)
            p, b = p + more, b + most
        slope = float((smooth * p).sum() + g @ b)
        if not np.isfinite(slope) or slope + float(l1 @ (unit * p).sum(1)) >= 0.0:
            return D, d, HD, False
        Hp, Hb = self.times_of(S, p, b)
        bent = float((p * Hp[S]).sum() + b @ Hb) + 2.0 * float(l2 @ (p * p).sum(1))
        t = least_along(u, p, l1, slope, bent)
        D = D.copy()
        D[S] += t * p
        return D, d + t * b, (HD[0] + t * Hp, HD[1] + t * Hb), t == 1.0

    def nearly_inverse(
        self, share: Floats, bend: Floats, curl: Floats, unit: Floats
    ) -> Callable[[Floats], Floats]:
        """Return the preconditioner of conjugate gradients: equal curvature for all samples.

        With h_c = sum_i s_i p_ic (1 - p_ic) in place of each sample's curvature, G = Z'sZ, and D
        the diagonal of ``bend``, class c has the block B_c = h_c G + D. One decomposition
        D^-1/2 G D^-1/2 = Q E Q' inverts them all: D^-1/2 Q (h_c E + 1)^-1 Q' D^-1/2. Along u_j
        itself the norm of a group does not bend: that is taken off, one direction for each group,
        by the identity of Woodbury.
        """
        G = (self.Z * self.s[:, None]).T @ self.Z
        least = 1e-6 * float(share.max()) * np.maximum(G.diagonal(), 1e-300)
        root = 1.0 / np.sqrt(np.maximum(bend[:, 0], least))
        E, Q = np.linalg.eigh(G * np.outer(root, root))
        Q *= root[:, None]
        within = 1.0 / (1.0 + np.maximum(E, 0.0)[:, None] * share)
        along = unit * np.sqrt(NEARLY * curl)
        inner: Floats = np.eye(len(G))
        for c in range(len(share)):
            inner -= np.outer(along[:, c], along[:, c]) * ((Q * within[:, c]) @ Q.T)
        inner = np.asarray(np.linalg.inv(inner), dtype=np.float64)

        def times(R: Floats) -> Floats:
            Y = Q @ (within * (Q.T @ R))
            more = along * (inner @ (along * Y).sum(1))[:, None]
            return Y + Q @ (within * (Q.T @ more))

        return times

    def times_of(self, S: NDArray[np.intp], p: Floats, b: Floats) -> tuple[Floats, Floats]:
        """H times a step of some groups."""
        whole = np.zeros_like(self.q)
        whole[S] = p
        return self.times(whole, b)


def _conjugate_gradients(
    times: Callable[[Floats, Floats], tuple[Floats, Floats]],
    R: Floats,
    r: Floats,
    nearly: Callable[[Floats], Floats],
    m: Floats,
    goal: float,
    most: int,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Solve times(X, x) = (R, r) until no element of the residual exceeds ``goal``.

    ``nearly`` and m precondition R and r. Returns X and x, and what is left.
    """
    X, x = np.zeros_like(R), np.zeros_like(r)
    Y, y = nearly(R), m * r
    V, v = Y, y
    rho = float((R * Y).sum() + r @ y)
    for _ in range(most):
        A, a = times(V, v)
        bent = float((V * A).sum() + v @ a)
        if bent <= 0.0 or rho == 0.0:
            break
        t = rho / bent
        X, x, R, r = X + t * V, x + t * v, R - t * A, r - t * a
        if max(np.abs(R).max(), np.abs(r).max()) <= goal:
            break
        Y, y = nearly(R), m * r
        new = float((R * Y).sum() + r @ y)
        V, v, rho = Y + (new / rho) * V, y + (new / rho) * v, new
    return X, x, R, r


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
        if k * K > TUNING.products_from:
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
        step = max(64, TUNING.weighted_numbers // size)
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
