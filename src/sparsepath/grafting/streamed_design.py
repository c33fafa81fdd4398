"""The columns of rows that are read in passes, as grafting sees them, from sums over the rows."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.columns import is_constant
from sparsepath.data.fingerprint import name_from
from sparsepath.data.moments import FAR_FROM_SHIFT, Cells, Coding, Sums
from sparsepath.data.sources import Source
from sparsepath.grafting.design import GraftingDesign
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew


class StreamedGrafting(GraftingDesign):
    """Columns z_j as ``GraftingDesign`` has them, for rows that are read in passes.

    ``total`` is the sum of the sample weights, and s are these over it; ``left`` are the means less
    the shift about which the sums were taken; ``cells`` are those of the rows, and ``factors`` what
    the weights of each are multiplied by: zero where they are left out.
    """

    def __init__(
        self,
        source: Source,
        crew: Crew,
        coding: Coding,
        sums: Sums,
        cells: Cells,
        factors: Floats | None = None,
        *,
        fit_intercept: bool,
        standardize: bool,
    ) -> None:
        self.source, self.crew, self.coding = source, crew, coding
        self.cells, self.factors, self.by_cell = cells, factors, sums
        self.standardize = standardize
        whole = np.ones(cells.count) if factors is None else factors
        self.sums = sums = replace(sums, moments=sums.moments.over(whole[None]))
        self.fit_intercept = fit_intercept
        m = sums.moments
        self.m, self.n = int(sums.counts[0]), m.n
        right, squares = m.right[0], m.squares[0]
        self.total = float(right[-1, -1])
        averages = right[: self.n, -1] / self.total
        self.left = averages if fit_intercept else -m.shift
        self.means = m.shift + averages if fit_intercept else np.zeros(self.n)
        spread = squares / self.total - 2 * self.left * averages + self.left**2
        self.spread = np.maximum(spread, 0.0)
        self.scales = np.ones(self.n)
        self.usable: NDArray[np.bool_] = np.ones(self.n, dtype=bool)
        size = np.maximum(self.spread + self.means**2, (m.shift + averages) ** 2)
        known = self.spread > 1e-15 * squares / self.total  # sums know no better
        self.varies = ~is_constant(self.spread, size) & known
        if standardize:
            self.usable = self.varies
            self.scales = np.where(self.usable, np.sqrt(self.spread), 1.0)
        self.norms = None
        self.worth_choosing = 0

    def weighted(self, factors: Floats) -> "StreamedGrafting":
        """The same with other factors of the weights."""
        return StreamedGrafting(
            self.source, self.crew, self.coding, self.by_cell, self.cells, factors,
            fit_intercept=self.fit_intercept, standardize=self.standardize,
        )  # fmt: skip

    @property
    def off_centre(self) -> bool:
        """Whether the shift was so inaccurate that digits were lost."""
        off = self.left**2 > FAR_FROM_SHIFT**2 * self.spread
        return bool(self.fit_intercept and np.any(off & self.varies))

    def name(self) -> str:
        """The fingerprint."""
        return name_from(self.m, *self.sums.marked)

    def reduced(self) -> tuple[Floats, Floats, float]:
        """Return rows R and targets equivalent to all rows, each of weight 1 / (n + 1), and the
        mean of y.
        """
        m, n, a = self.sums.moments, self.n, self.left
        assert m.products is not None
        right = m.right[0] / self.total
        x, y, xy = right[:n, -1], right[n, -1], right[:n, 0]
        mean = float(y) if self.fit_intercept else 0.0
        G = m.products[0] / self.total - np.outer(x, a) - np.outer(a, x) + np.outer(a, a)
        c = xy - a * y - x * mean + a * mean
        yy = max(float(right[n, 0] - 2 * mean * y + mean**2), 0.0)
        root = np.sqrt(yy) or 1.0  # for the digits of what is left of small columns
        A = np.empty((n + 1, n + 1))
        A[:n, :n], A[n, n] = G / np.outer(self.scales, self.scales), yy / root**2
        A[:n, n] = A[n, :n] = c / (self.scales * root)
        A[:n][~self.usable] = 0.0
        A[:, :n][:, ~self.usable] = 0.0
        values, V = np.linalg.eigh(A)
        R = np.sqrt(np.maximum(values, 0.0) * (n + 1))[:, None] * V.T
        return np.asfortranarray(R[:, :n]), R[:, n:] * root, mean
