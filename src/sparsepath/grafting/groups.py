"""Several outputs: proximal Newton steps for the softmax, with features as groups of weights."""

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.engines import INNER, INNER_GRAM, ColumnCache
from sparsepath.grafting.group_products import GroupModel
from sparsepath.grafting.steps import minimise_groups
from sparsepath.tuning import TUNING


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
