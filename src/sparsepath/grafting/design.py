"""The features as grafting sees them: standardised, implicitly, dense or sparse."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import grafting as core
from sparsepath.data.blocks import SparseBlock, row_blocks
from sparsepath.data.columns import is_constant, warn_tiny
from sparsepath.data.validation import FEW_DIGITS, refuse_wide
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


def _usable(X: Any, spread: Floats, size: Floats) -> NDArray[np.bool_]:
    """Return which columns vary; raise an error or warn if squares overflow or underflow."""
    refuse_wide(~np.isfinite(size))
    constant = is_constant(spread, size)
    tiny = ~constant & (spread < FEW_DIGITS)
    nothing = np.flatnonzero(size == 0.0)
    if len(nothing) and isinstance(X, np.ndarray):
        tiny[nothing] = np.ptp(X[:, nothing], axis=0) > 0.0
    warn_tiny(tiny)
    return ~constant & ~tiny


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
        plain = by_column and X.dtype == np.float64 and not standardize
        self._whole = X if plain and X.size >= TUNING.unread_from else None
        if standardize and isinstance(X, np.ndarray) and X.size >= TUNING.unread_from:
            self.norms = np.ones(self.n)
        if standardize or fit_intercept:
            averages = self._raw_products(s[:, None])[:, 0]
            centres = averages if fit_intercept else self.means
            if standardize:
                with np.errstate(over="ignore", invalid="ignore"):
                    spread = sum(
                        block.spread(centres, s[part])
                        for block, part in zip(self.blocks, self._slices, strict=True)
                    )
                    size = np.maximum(spread + centres**2, averages**2)
                self.usable = _usable(X, np.asarray(spread), size)
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
        """Return X'V and, from the same pass, the norms of the columns."""
        assert self._whole is not None
        out, squares = core.products_and_squares(self._whole.T, V.ravel(), self.s)
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

    def squares(self, V: Floats) -> Floats:
        """Sums over the rows of V times the squares of z_j, n x K."""
        out = np.empty((self.n, V.shape[1]))
        step = max(1, TUNING.weighted_numbers // self.m)
        for j in range(0, self.n, step):
            some = np.arange(j, min(j + step, self.n))
            Z = self.columns(some)
            out[some] = (Z * Z).T @ V
        return out

    def columns(self, indices: NDArray[np.intp], out: Floats | None = None) -> Floats:
        """Return some columns z_j as a float64 array in Fortran order, new or ``out``."""
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
