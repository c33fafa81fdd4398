"""Cross-validation over splits from the sums of cells, without further passes."""

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.rls.design import OFF_CENTRE
from sparsepath.rls.folds.moments import STILL, SplitSums
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.system.arrays import Floats


class CellSums(SplitSums):
    """``SplitSums`` of a stream: every part is a sum of cells.

    ``trains`` and ``tests``, F x cells, say which are in the training and test part of every split.
    """

    plain = False  # rows cannot be asked
    few_rows = None

    def __init__(
        self, design: StreamDesign, trains: NDArray[np.bool_], tests: NDArray[np.bool_]
    ) -> None:
        m, n = design.sums.moments, design.n_features
        if m.products is None:
            raise InputError(
                f"k-fold cross-validation in passes keeps products of all {n} columns for each of "
                f"{len(m.squares)} parts, which do not fit into memory; use cv='loo', fewer folds "
                "or more memory."
            )
        factors = design.of_cells
        parts = m.over(np.concatenate([tests * factors, trains * factors, factors[None]]))
        assert parts.products is not None
        self.n_splits, self.tests = len(tests), tests
        self.test_corners = parts.right[: len(tests), n:]  # targets and one against each other
        w, left, scales = parts.right[:, -1, -1], design.left, design.scales
        if np.any(w <= 0):
            raise InputError(f"cv must yield parts with {self._needed}, train and test.")
        x0, y0 = parts.right[:, :n, -1], parts.right[:, n:-1, -1]
        self.weight, self.y_mean = w, design.y_mean
        self.x = scales * (x0 - w[:, None] * left)
        self.y = y0 - w[:, None] * self.y_mean
        G = parts.products
        G -= x0[:, :, None] * left + left[:, None] * x0[:, None]
        G += w[:, None, None] * np.outer(left, left)
        G *= np.outer(scales, scales)
        self._all_gram = G
        self.squares = np.maximum(np.einsum("fii->fi", G), 0.0)
        xy = parts.right[:, :n, :-1] - x0[:, :, None] * self.y_mean
        xy -= left[:, None] * self.y[:, None]
        self.xy = scales[:, None] * xy
        yy = parts.right[:, n:-1, :-1] - y0[:, :, None] * self.y_mean
        yy -= self.y_mean[:, None] * y0[:, None]
        self.yy = np.einsum("ftt->ft", yy) + w[:, None] * self.y_mean**2
        share = tests * factors / w[: self.n_splits, None]  # see ``folds.splits.overlap``
        self.overlap = float(m.ww @ share.sum(0) ** 2 / (m.ww @ (share**2).sum(0)))
        self._of = design

    def still(self, alpha: float) -> NDArray[np.bool_]:
        """Return columns that are constant in a training fold; see ``SplitSums.still``."""
        design, train = self._of, slice(self.n_splits, 2 * self.n_splits)
        if not design.fit_intercept:
            return np.zeros(design.n_features, dtype=bool)
        left = self.squares[train] - self.x[train] ** 2 / self.weight[train, None]
        nothing = (left <= STILL * self.squares[train]).any(0)
        return nothing & ~design.constant & (alpha <= (OFF_CENTRE * design.sizes) ** 2)

    def _sources(self) -> NDArray[np.int64]:
        return np.arange(self.n_splits, 2 * self.n_splits + 1)

    def products(self, i: int) -> Floats:
        """Return products of all columns with column i over every part: (2F + 1) x n."""
        return self._all_gram[:, i]

    column = products
