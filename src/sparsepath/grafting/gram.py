"""One output, dense columns: proximal Newton steps with a stored matrix of second derivatives.

The matrix H = Z'hZ of the working set may belong to an earlier point: gradients are exact, so an
old matrix costs steps, never accuracy. It is rebuilt when the curvatures h have moved by ``DRIFT``,
or when convergence was slow and a new matrix is worth its cost; new columns are appended. For the
same reason a large matrix is computed in single precision, at half the cost, until a step does not
halve the violation: nearly collinear columns need all its digits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.grafting.criterion import ConvexLoss, Penalty
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.engines import INNER_GRAM, ColumnCache
from sparsepath.grafting.steps import minimise
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

DRIFT = 0.3  # relative change of the curvatures that makes the matrix too old
SLOW = 0.25  # a step that leaves more of the violation than this is slow; the fewer columns,
WORTH = 1000  # the sooner a new matrix pays: from (number of columns) / WORTH of the violation on
SINGLE_FROM = 1 << 27  # products from which single precision pays
NARROW = 32  # columns up to which both halves of a product take less time than one


class GramEngine(ColumnCache):
    """One output, dense columns: coordinate descent on H = Z'hZ; see the module."""

    part = 0.03  # with the matrix at hand a working set is cheaper than another look at all columns

    def __init__(self, design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> None:
        super().__init__(design, Y, loss)
        self._H = np.empty((0, 0))
        self._c = np.empty(0)
        self._h: Floats | None = None  # the curvatures of which H is made
        self._single = True  # whether big matrices may be made in single precision
        self._rough = False  # whether parts of H were

    def _widen(self) -> None:
        """Append to H the columns that have come in since it was made."""
        assert self._h is not None
        k, n_held = len(self._H), len(self.held)
        if k == n_held:
            return
        A = self.columns
        new = A[:, k:]
        H = np.empty((n_held, n_held))
        H[:k, :k] = self._H
        kind = self._type(n_held * new.shape[1])
        H[:, k:] = _weighted_products(A, new, self._h, kind)
        self._rough |= kind is np.float32
        H[k:, :k] = H[:k, k:].T
        self._H = H
        self._c = np.concatenate([self._c, new.T @ self._h])

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        h = self.curvatures()
        total = float(h.sum())
        drift = np.inf if self._h is None else float(np.abs(h - self._h).sum()) / total
        slow = ratio > min(SLOW, len(self.held) / WORTH)
        doubtful = ratio > 0.5 and self._rough
        self._single &= not doubtful
        if drift > DRIFT or (slow and drift > 1e-3) or doubtful:
            self._h = h
            kind = self._type(len(self.held) ** 2)
            self._H = _weighted_products(self.columns, None, h, kind)
            self._c = self.columns.T @ h
            self._rough = kind is np.float32
        self._widen()
        H, c = self._H, self._c
        r = q[:, 0]
        assert self._h is not None
        total = float(self._h.sum())
        if self.design.fit_intercept:
            H = H - np.outer(c / total, c)
            r = r - c * (beta[0] / total)
        least = np.where(self._free, 1e-14 * self._H.diagonal(), np.inf)
        D = minimise(H, r, np.ascontiguousarray(w[:, 0]), local, least, INNER_GRAM * violation)
        d = -(beta + c @ D) / total if self.design.fit_intercept else np.zeros(1)
        return D[:, None], d

    def _type(self, products: int) -> type:
        pays = self._single and self.design.m * products >= SINGLE_FROM
        return np.float32 if pays else np.float64


def _weighted_products(A: Floats, B: Floats | None, h: Floats, kind: type) -> Floats:
    """A' diag(h) B, or with the symmetric half once if B is None, in precision ``kind``."""
    from scipy.linalg.blas import dsyrk, ssyrk

    m, k = A.shape
    if m * k <= TUNING.tile_numbers and kind is np.float64:  # no strips, no copies
        if B is not None:
            return A.T @ (B * h[:, None])
        if k <= NARROW:
            return A.T @ (A * h[:, None])
        weighted = A * np.sqrt(h)[:, None]
        return weighted.T @ weighted  # which NumPy sees to be symmetric
    out: NDArray[Any] = np.zeros((k, k if B is None else B.shape[1]), dtype=kind, order="F")
    symmetric = ssyrk if kind is np.float32 else dsyrk
    step = max(1024, TUNING.weighted_numbers // k)
    root = np.sqrt(h)[:, None]
    for i in range(0, m, step):
        part = slice(i, i + step)
        left: NDArray[Any] = np.asfortranarray((A[part] * root[part]).astype(kind, copy=False))
        if B is None:
            out = symmetric(1.0, left, 1.0, out, trans=1, lower=0, overwrite_c=1)
        else:
            out += left.T @ (B[part] * root[part]).astype(kind, copy=False)
    if B is None:
        out = np.triu(out) + np.triu(out, 1).T
    return np.ascontiguousarray(out, dtype=np.float64)
