"""The data as regularised least squares sees them: weighted, centred and scaled, implicitly."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats, RowBlock, SparseBlock
from sparsepath.data.threads import Threads

CONSTANT = 1e-26  # squared spread over squared size from which a column counts as constant
GRAM_SPEED = 22.0  # products X'v that take the time of n times X'X, divided by n; see the docs
GRAM_MEMORY = 0.05  # most features per sample for the Gram matrix: it stays a few % of X
GRAM_FREE = 2000  # up to this many features the Gram matrix is small whatever X is


class Design:
    """Row blocks with everything about the columns that does not depend on the target.

    Column i stands for ``g * (x_i - mean_i) * scale_i`` with g the roots of the sample weights;
    nothing is copied or filled in.

    Attributes
    ----------
    means, scales : arrays of shape (n,)
        Weighted means (zero without intercept) and scales (one unless standardised).
    squares : array of shape (n,)
        Squared norms of the columns as they stand.
    sizes : array of shape (n,)
        Norms before centring, which set the rounding error of products with the raw data.
    constant : boolean array of shape (n,)
    """

    def __init__(
        self,
        blocks: Sequence[RowBlock],
        weights: Floats,
        threads: Threads,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.blocks = list(blocks)
        self.threads = threads
        self.fit_intercept = fit_intercept
        self.weights = weights
        self.total = float(weights.sum())
        edges = np.cumsum([0] + [block.shape[0] for block in self.blocks])
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.n_samples = int(edges[-1])
        self.n_features = self.blocks[0].shape[1]

        parts = list(zip(self.blocks, self.slices, strict=True))
        averages = sum(threads.map(lambda b: b[0].dot(weights[b[1], None]), parts))[:, 0]  # type: ignore[index]
        averages /= self.total
        self.means = averages if fit_intercept else np.zeros(self.n_features)
        uniform = bool(np.all(weights == 1.0))
        self._weights = [None if uniform else weights[part] for part in self.slices]
        spread: Floats = sum(  # type: ignore[assignment]
            threads.map(
                lambda b: b[0].spread(self.means, b[1]),
                zip(self.blocks, self._weights, strict=True),
            )
        )
        raw = spread + self.means**2 * self.total
        self.constant: NDArray[np.bool_] = (spread <= CONSTANT * raw) | (
            spread + averages**2 * self.total == 0
        )
        if not fit_intercept:
            self.constant = raw == 0
        self.scales = np.ones(self.n_features)
        if standardize:
            live = ~self.constant
            self.scales[live] = np.sqrt(self.total / spread[live])
        self.squares = spread * self.scales**2
        self.sizes = np.sqrt(raw) * self.scales
        self._gram: Floats | None = None

    def spread(self, part: NDArray[np.intp]) -> Floats:
        """Weighted squared norms of the columns as they stand over some of the rows."""
        chosen = np.zeros(self.n_samples)
        np.add.at(chosen, part, self.weights[part])
        parts = zip(self.blocks, self.slices, strict=True)
        total = sum(self.threads.map(lambda b: b[0].spread(self.means, chosen[b[1]]), parts))
        return total * self.scales**2

    def gram_pays(self, n_steps: int) -> bool:
        """Whether X'X once is cheaper than a pass over X in each of ``n_steps`` steps.

        X'X costs about n / 22 products X'v (it runs at the speed of the processor, not of the
        memory); a step then still reads a few columns, about a fifth of a pass.
        """
        if any(isinstance(block, SparseBlock) for block in self.blocks):
            return False
        n, m = self.n_features, self.n_samples
        small = n <= GRAM_FREE or n <= GRAM_MEMORY * m
        return small and n / GRAM_SPEED < 0.8 * n_steps

    def gram_column(self, i: int) -> Floats:
        """Products of all columns with column i, from the Gram matrix (made on first use)."""
        if self._gram is None:
            self._gram = sum(  # type: ignore[assignment]
                self.threads.map(
                    lambda b: b[0].gram(b[1]), zip(self.blocks, self._weights, strict=True)
                )
            )
        column = self._gram[:, i] - (self.total * self.means[i]) * self.means  # type: ignore[index]
        return column * (self.scales * self.scales[i])
