"""Several outputs: proximal Newton steps for the softmax, with features as groups of weights."""

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.engines import INNER_GRAM, MOST_PASSES, TILE, ColumnCache


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
        from sparsepath.grafting.compiled import descend_groups

        k, K = w.shape
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
        blocks = np.stack([H[j * K : j * K + K, j * K : j * K + K] for j in range(k)])
        E, Q = np.linalg.eigh(blocks)
        E = np.where(self._free[:, None], np.maximum(E, 0.0), -np.inf)
        D = np.zeros((k, K))
        descend_groups(
            np.ascontiguousarray(H), r, np.ascontiguousarray(w), D, local.l1, local.l2,
            np.ascontiguousarray(Q), E, np.zeros((2, K)), np.empty(k, dtype=np.intp),
            INNER_GRAM * violation, MOST_PASSES,
        )  # fmt: skip
        return D, rest - back @ D.ravel()

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
