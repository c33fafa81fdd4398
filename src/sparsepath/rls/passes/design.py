"""Centring and scaling of data read in passes, from sums over the rows."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sparsepath.data.moments import Cells, PassColumns, weights_in
from sparsepath.data.sources import Answer, Columns, Slab
from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats

PRODUCTS_TOGETHER = 32  # columns whose products are computed together


class StreamDesign(PassColumns, Design):
    """Columns less their means, scaled: as ``Design``, for rows that are read in passes.

    Attributes
    ----------
    scales, squares, sizes
        Of the columns; see ``PassColumns`` for the others.
    xy : array of shape (n, T)
        Products of the columns, as they stand, with the targets.
    """

    streamed = True

    def __post_init__(self) -> None:
        super().__post_init__()
        n, spread = len(self.left), self.variation
        self.scales = np.ones(n)
        if self.standardize:
            live = ~self.constant
            self.scales[live] = np.sqrt(self.total / spread[live])
        self.squares = spread * self.scales**2
        self.sizes = self.rough * self.scales
        self.xy = self.scales[:, None] * self.centred_xy
        self._gram: dict[int, Floats] = {}
        self.n_features, self.n_samples = n, int(self.sums.counts[0])
        self.uniform = self.sums.counts[2] == 0 and bool((self.of_cells % 1 == 0).all())

    @property
    def n_counted(self) -> int:
        """Number of samples with positive weight."""
        return self._counted

    def record(self) -> dict[str, Any]:
        """Return how often the data were read."""
        return self.source.record()

    @cached_property
    def _company(self) -> list[Columns]:
        """Return batches of columns whose products are computed together, the largest gain
        first.
        """
        gain = np.square(self.xy).sum(1) / np.maximum(self.squares, 1e-300)
        gain[self.constant] = -1.0
        order = np.argsort(-gain, kind="stable")
        return [order[i : i + PRODUCTS_TOGETHER] for i in range(0, len(order), PRODUCTS_TOGETHER)]

    def gram(self, columns: Columns) -> Floats:
        """Return products of all columns with some, scaled: n x len(columns).

        If not all are known, products are computed in fixed batches, the most promising first, so
        that results are bit-identical whenever they are computed.
        """
        if self.knows_all and not self._gram:
            G = self.centred_products() * (self.scales[:, None] * self.scales)
            self._gram = dict(enumerate(G))
        lacking = [int(i) for i in columns if int(i) not in self._gram]
        if lacking:
            batches = [batch for batch in self._company if np.isin(lacking, batch).any()]
            given = (batches, self.means, self.cells, self.factors)
            told = self.source.total(self.crew, None, products_with, *given)
            for which, dots, totals in zip(batches, told[::2], told[1::2], strict=True):
                G = dots - np.outer(self.means, totals)
                G *= self.scales[:, None] * self.scales[which]
                self._gram.update(zip(which.tolist(), G.T, strict=True))
        return np.array([self._gram[int(i)] for i in columns]).reshape(-1, self.n_features).T


def products_with(
    slab: Slab,
    batches: Sequence[Columns],
    means: Floats,
    cells: Cells,
    factors: Floats | None,
) -> Answer:
    """Return X'V and the sums of V, for batches of weighted columns V minus their means."""
    w = weights_in(slab, cells, factors)
    out: Answer = []
    for which in batches:
        V = slab.block.columns(which)
        V -= means[which]
        if w is not None:
            V *= w[:, None]
        out += [slab.block.dot(V), V.sum(0)]
    return out


def class_shares(design: StreamDesign) -> Floats:
    """Return class weights times their number, for the balanced loss."""
    return _shares(class_weights(design.right[design.n_features :]))


def shares_of(Y: Floats, weights: Floats) -> Floats:
    """Return the same for coded targets in memory."""
    V = np.column_stack([Y, np.ones(len(Y))])
    return _shares(class_weights(V.T @ (weights[:, None] * V)))


def _shares(weights: Floats) -> Floats:
    return np.where(weights > 0, weights, 1.0) * np.count_nonzero(weights > 0)


def class_weights(corner: Floats) -> Floats:
    """Return the weight of every class, from products of the coded targets and one."""
    total = corner[-1, -1]
    positive = (total + corner[-1, :-1]) / 2
    return positive if len(positive) > 1 else np.array([total - positive[0], positive[0]])
