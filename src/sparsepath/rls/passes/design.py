"""Centring and scaling of data read in passes, from sums over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Marks
from sparsepath.data.columns import is_constant
from sparsepath.data.fingerprint import name_from
from sparsepath.data.moments import FAR_FROM_SHIFT, Cells, Coding, Moments, weights_in
from sparsepath.data.sources import Answer, Columns, Slab, Source
from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew

PRODUCTS_TOGETHER = 32  # columns whose products are computed together


@dataclass(eq=False)
class StreamDesign(Design):
    """Columns less their means, scaled: as ``Design``, for rows that are read in passes.

    Attributes
    ----------
    source, crew, coding
        The rows, who reads them, and what their targets mean.
    cells : Cells
        Which rows the sums are kept apart for.
    moments : Moments
        Sums over the rows, by cell.
    factors : array of shape (cells,) or None
        What the weights of the rows in a cell are multiplied by; zero: they count as absent.
    shift, left, means, scales, squares, sizes, constant
        Of the columns. ``means`` is ``shift`` plus ``left``, rounded.
    y_mean, yy : arrays of shape (T,)
        Mean and centred squares of the targets.
    xy : array of shape (n, T)
        Products of the columns, as they stand, with the targets.
    """

    source: Source
    crew: Crew
    coding: Coding
    cells: Cells
    moments: Moments
    counts: NDArray[np.int64]
    marked: tuple[Marks, Marks, Marks | None]
    fit_intercept: bool
    standardize: bool
    factors: Floats | None = None

    streamed = True

    def __post_init__(self) -> None:
        m = replace(self.moments, products=None).over(self.of_cells[None])
        right, squares = m.right[0], m.squares[0]
        n = m.n
        self.right, self._counted = right, int(m.counted[0])
        self.total = float(right[-1, -1])
        sums, y_sums = right[:n, -1], right[n:-1, -1]
        T = len(y_sums)
        self.left = sums / self.total if self.fit_intercept else -m.shift
        self.shift = m.shift
        self.means = m.shift + self.left if self.fit_intercept else np.zeros(n)
        averages = m.shift + sums / self.total
        spread = squares - 2 * self.left * sums + self.total * self.left**2
        self.variation = spread = np.maximum(spread, 0.0)
        raw = spread + self.means**2 * self.total
        self.constant: NDArray[np.bool_] = is_constant(spread, raw) | (
            spread + averages**2 * self.total == 0
        )
        self.constant |= spread <= 1e-15 * squares  # sums about a shift know no better
        if not self.fit_intercept:
            self.constant = raw == 0
        self.scales = np.ones(n)
        if self.standardize:
            live = ~self.constant
            self.scales[live] = np.sqrt(self.total / spread[live])
        self.squares = spread * self.scales**2
        self.sizes = np.sqrt(squares + self.left**2 * self.total) * self.scales
        self.y_mean = y_sums / self.total if self.fit_intercept else np.zeros(T)
        centred = right[n:-1, :-1] - np.outer(y_sums, self.y_mean)
        self.yy = np.maximum(np.diag(centred), 0.0)
        if not self.fit_intercept:
            self.yy = np.diag(right[n:-1, :-1]).copy()
        xy = right[:n, :-1] - np.outer(self.left, y_sums) - np.outer(sums, self.y_mean)
        xy += self.total * np.outer(self.left, self.y_mean)
        self.xy = self.scales[:, None] * xy
        self._gram: dict[int, Floats] = {}
        self.n_features, self.n_samples = n, int(self.counts[0])
        self.uniform = self.counts[2] == 0 and bool((self.of_cells % 1 == 0).all())

    @property
    def off_centre(self) -> bool:
        """Whether the shift was so inaccurate that digits were lost."""
        off = self.left**2 * self.total > FAR_FROM_SHIFT**2 * self.variation
        return bool(self.fit_intercept and np.any(off & ~self.constant))

    @property
    def n_counted(self) -> int:
        """Number of samples with positive weight."""
        return self._counted

    @property
    def of_cells(self) -> Floats:
        """What the weights of the rows in a cell are multiplied by."""
        return np.ones(len(self.moments.ww)) if self.factors is None else self.factors

    def record(self) -> dict[str, Any]:
        """Return how often the data were read."""
        return self.source.record()

    def name(self, y: Any = None) -> str:
        """Return the fingerprint."""
        X, labels, weights = self.marked
        return name_from(self.n_samples, X, labels, weights)

    def weighted(self, factors: Floats | None) -> "StreamDesign":
        """Return the same data with other factors of the weights."""
        return replace(self, factors=factors)

    @cached_property
    def _company(self) -> list[Columns]:
        """Return batches of columns whose products are computed together, the largest gain
        first.
        """
        gain = np.square(self.xy).sum(1) / np.maximum(self.squares, 1e-300)
        gain[self.constant] = -1.0
        order = np.argsort(-gain, kind="stable")
        return [order[i : i + PRODUCTS_TOGETHER] for i in range(0, len(order), PRODUCTS_TOGETHER)]

    @property
    def knows_all(self) -> bool:
        """Whether all products of columns are known, so that they need no pass."""
        return self.moments.products is not None

    def gram(self, columns: Columns) -> Floats:
        """Return products of all columns with some, scaled: n x len(columns).

        If not all are known, products are computed in fixed batches, the most promising first, so
        that results are bit-identical whenever they are computed.
        """
        if self.moments.products is not None and not self._gram:
            sums = self.right[: self.n_features, -1]
            G = np.tensordot(self.of_cells, self.moments.products, 1)
            G -= np.outer(sums, self.left) + np.outer(self.left, sums)
            G += self.total * np.outer(self.left, self.left)
            G *= self.scales[:, None] * self.scales
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
