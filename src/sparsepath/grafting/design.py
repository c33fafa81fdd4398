"""The features as grafting sees them: standardised, implicitly, dense or sparse."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.blocks import SparseBlock, row_blocks
from sparsepath.data.columns import is_constant
from sparsepath.data.threads import Threads
from sparsepath.tuning import TUNING


class GraftingDesign:
    """Columns z_j = (x_j - mean_j) / scale_j of data that are neither copied nor filled in.

    Standardised columns have mean zero and population standard deviation one over the samples,
    weighted by s, which sum to one (section 3.2.6 of the paper). Without an intercept they are not
    centred, and the scale is the root mean square. Constant columns are not ``usable`` and never
    selected. The mean of a sparse column is subtracted from results, never from its entries: zeros
    stay implicit; ``sparse`` is then the matrix in CSC form.

    ``norms`` bound those of the columns, weighted by s, where it pays to know them: big dense data.
    So many columns as ``worth_choosing`` are read sooner than all.
    """

    def __init__(
        self,
        X: Any,
        s: Floats,
        threads: Threads,
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> None:
        self.sparse: Any = None
        if isinstance(X, np.ndarray):
            self.blocks = row_blocks(X)
        else:
            X = X.tocsc()
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            self.sparse = X
            self.blocks = [SparseBlock(X)]
        self.m, self.n = X.shape
        self.s = s
        self.threads = threads
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        edges = np.cumsum([0] + [block.shape[0] for block in self.blocks])
        self._slices = [slice(a, b) for a, b in pairwise(edges.tolist())]
        self.means = np.zeros(self.n)
        self.scales = np.ones(self.n)
        self.usable: NDArray[np.bool_] = np.ones(self.n, dtype=bool)
        self.norms: Floats | None = None
        by_column = isinstance(X, np.ndarray) and X.flags.f_contiguous
        self.worth_choosing = self.n // 3 if by_column else self.n // 32
        self._whole = X if by_column and X.size >= TUNING.unread_from and not standardize else None
        if standardize and isinstance(X, np.ndarray) and X.size >= TUNING.unread_from:
            self.norms = np.ones(self.n)
        if standardize or fit_intercept:
            averages = self._raw_products(s[:, None])[:, 0]
            centres = averages if fit_intercept else self.means
            if standardize:
                spread = sum(
                    block.spread(centres, s[part])
                    for block, part in zip(self.blocks, self._slices, strict=True)
                )
                size = np.maximum(spread + centres**2, averages**2)
                self.usable = ~is_constant(np.asarray(spread), size)
                self.scales = np.where(self.usable, np.sqrt(spread), 1.0)
            self.means = centres

    def _raw_products(self, V: Floats, some: NDArray[np.intp] | None = None) -> Floats:
        if self.sparse is not None:
            if V.shape[1] == 1:
                return np.asarray(self.sparse.T @ V[:, 0], dtype=np.float64)[:, None]
            return np.asarray(self.sparse.T @ V, dtype=np.float64)
        parts = list(zip(self.blocks, self._slices, strict=True))
        if self._whole is not None and self.norms is None and V.shape[1] == 1:
            return self._products_and_norms(V)
        first, *rest = self.threads.map(lambda p: p[0].dot(V[p[1]], some), parts)
        return sum(rest, start=first)

    def _products_and_norms(self, V: Floats) -> Floats:
        """X'V and, in the same pass, the norms of the columns, which nobody has measured yet."""
        from sparsepath.grafting.compiled import products_and_squares

        assert self._whole is not None
        out, squares = np.empty(self.n), np.empty(self.n)
        products_and_squares(self._whole.T, np.ascontiguousarray(V[:, 0]), self.s, out, squares)
        self.norms = np.sqrt(squares)
        return out[:, None]

    def products(self, V: Floats, some: NDArray[np.intp] | None = None) -> Floats:
        """Z'V for V of shape (m, K), or those rows of it; zero for columns that are not usable."""
        which = slice(None) if some is None else some
        out = self._raw_products(V, some)
        if self.fit_intercept:
            out -= np.outer(self.means[which], V.sum(0))
        out /= self.scales[which, None]
        out[~self.usable[which]] = 0.0
        return out

    def columns(self, indices: NDArray[np.intp], out: Floats | None = None) -> Floats:
        """Those columns z_j as a float64 array in Fortran order, new or ``out``."""
        if out is None:
            out = np.empty((self.m, len(indices)), order="F")
        for block, part in zip(self.blocks, self._slices, strict=True):
            block.columns(indices, out[part])
        if self.fit_intercept:
            out -= self.means[indices]
        if self.standardize:
            out /= self.scales[indices]
        return out

    def outputs(self, W: Floats, b: Floats) -> Floats:
        """Z W + 1 b' from the rows of W that are not zero."""
        used = np.flatnonzero(W.any(1))
        if not len(used):
            return np.broadcast_to(b, (self.m, len(b))).copy()
        if self.sparse is not None:
            scaled = W[used] / self.scales[used][:, None]
            return np.asarray(self.sparse[:, used] @ scaled) + (b - self.means[used] @ scaled)
        return self.columns(used) @ W[used] + b
