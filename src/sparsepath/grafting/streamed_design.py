"""The columns of rows that are read in passes, as grafting sees them, from sums over the rows."""

import numpy as np

from sparsepath.data.moments import PassColumns
from sparsepath.grafting.design import GraftingDesign
from sparsepath.system.arrays import Flags, Floats


class StreamedGrafting(PassColumns, GraftingDesign):
    """Columns z_j as ``GraftingDesign`` has them, for rows that are read in passes.

    ``total`` is the sum of the sample weights, and s are these over it.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.m, self.n = int(self.sums.counts[0]), len(self.left)
        self.scales = np.ones(self.n)
        self.usable: Flags = np.ones(self.n, dtype=bool)
        if self.standardize:
            self.usable = ~self.constant
            self.scales = np.where(self.usable, np.sqrt(self.variation / self.total), 1.0)
        self.norms = None
        self.worth_choosing = 0

    def reduced(self) -> tuple[Floats, Floats, float]:
        """Return rows R and targets equivalent to all rows, each of weight 1 / (n + 1), and the
        mean of y.
        """
        n = self.n
        yy = float(self.yy[0]) / self.total
        root = np.sqrt(yy) or 1.0  # for the digits of what is left of small columns
        A = np.empty((n + 1, n + 1))
        A[:n, :n] = self.centred_products() / (self.total * np.outer(self.scales, self.scales))
        A[n, n] = yy / root**2
        A[:n, n] = A[n, :n] = self.centred_xy[:, 0] / (self.total * self.scales * root)
        A[:n][~self.usable] = 0.0
        A[:, :n][:, ~self.usable] = 0.0
        values, V = np.linalg.eigh(A)
        R = np.sqrt(np.maximum(values, 0.0) * (n + 1))[:, None] * V.T
        return np.asfortranarray(R[:, :n]), R[:, n:] * root, float(self.y_mean[0])
