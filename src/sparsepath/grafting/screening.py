r"""The gradient of all weights; columns are not read if a bound shows that they cannot matter.

Between two points the slopes of the loss change from U to U'. By Cauchy and Schwarz the gradient
g_j = sum_i s_i z_ij U_i of feature j changes by no more than

    |g_j' - g_j| <= |z_j| |U' - U|        (norms weighted by s; |z_j| = 1 for standardised columns)

so the sum of these bounds since column j was last read limits the error of its old gradient. A
weight at zero with |g_j| + bound <= l1_j is optimal, whatever its current gradient is, and the test
of optimality and the duality gap need nothing more. Towards the end of a solution steps are short,
and hardly any column is read. This is not a heuristic: columns that are not read are proved not to
matter.
"""

import numpy as np

from sparsepath.grafting.criterion import Penalty, row_norms
from sparsepath.grafting.design import GraftingDesign
from sparsepath.system.arrays import Floats

ROUNDING_OF_L1 = 1e-9  # of l1: room for the rounding of gradients


class GradientBounds:
    """The gradient as it was when each column was last read, and how far ``off`` it can be."""

    def __init__(self, design: GraftingDesign) -> None:
        self.design = design
        self.gradient: Floats | None = None
        self.off = np.zeros(design.n)
        self._slopes: Floats | None = None

    @property
    def exact(self) -> bool:
        """Return whether all columns were read at the same point."""
        return not self.off.any()

    def set(self, gradient: Floats, slopes: Floats) -> None:
        """Store a gradient that is exact at these slopes (without s)."""
        self.gradient, self._slopes = gradient, slopes
        self.off[:] = 0.0

    def at(self, slopes: Floats, W: Floats, penalty: Penalty) -> Floats:
        """The gradient at these slopes; old where W is zero and the bound is within l1."""
        weighted = slopes * self.design.s[:, None]
        norms = self.design.norms
        if self.gradient is None or self._slopes is None or norms is None:
            self.set(self.design.products(weighted), slopes)
            assert self.gradient is not None
            return self.gradient
        moved = slopes - self._slopes
        self.off += norms * float(np.sqrt(np.vdot(moved, moved * self.design.s[:, None])))
        self._slopes = slopes
        sizes = row_norms(self.gradient)
        matters = sizes + self.off > (1.0 - ROUNDING_OF_L1) * penalty.l1
        some = np.flatnonzero((matters | W.any(1)) & self.design.usable)
        if len(some) > self.design.worth_choosing:
            self.set(self.design.products(weighted), slopes)
        else:
            self.gradient = self.gradient.copy()
            self.gradient[some] = self.design.products(weighted, some)
            self.off[some] = 0.0
        return self.gradient
