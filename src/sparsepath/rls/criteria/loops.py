"""What a loss lays out for the loops that judge all candidates in one pass over P X.

A loss that such loops know carries its layout, ``Criterion.carried``; the loops are in
``leave_one_out/compiled_losses.py``, and in NumPy in ``leave_one_out/whole_losses.py``.
"""

from typing import Protocol

import numpy as np

from sparsepath.arrays import Floats

WRONG, WRONG_CLASS, ABSOLUTE, HUBER = 0, 1, 2, 3  # kinds of losses


class Judging(Protocol):
    """How a loss judges candidates as they lie in memory; ``delta`` is a number that it needs."""

    delta: float

    def laid_out(self, Y: Floats, r: Floats, p: Floats, g: Floats, v: Floats) -> tuple[int, Floats]:
        """The kind of the loss, and the vectors over the samples that it asks for, as rows.

        Targets Y are m x T, residuals r are T x m.
        """


class Counting:
    """Mistakes of +-1 targets."""

    delta = 0.0

    def laid_out(self, Y: Floats, r: Floats, p: Floats, g: Floats, v: Floats) -> tuple[int, Floats]:
        """What tells a mistake, divided by g; with what every class has in it, of several."""
        over = np.divide(1.0, g, where=g > 0, out=np.zeros(len(g)))
        if len(r) == 1:
            y = Y[:, 0] * over
            return WRONG, np.array([v, p, y, y * r[0] - p])
        own = Y.argmax(1)
        mine = own == np.arange(len(r))[:, None]
        ahead = np.where(mine, -np.inf, over * (r[own, np.arange(len(own))] - r) - 2.0 * p)
        return WRONG_CLASS, np.vstack([v, p, over, ahead, mine])


class Rounding:
    """Residuals by the loss of Huber, with its ``delta``."""

    def __init__(self, delta: float) -> None:
        self.delta = delta

    def laid_out(self, Y: Floats, r: Floats, p: Floats, g: Floats, v: Floats) -> tuple[int, Floats]:
        """What makes a residual of each number."""
        scale = np.divide(1.0, g, where=g > 0, out=np.zeros(len(g)))
        return HUBER, np.vstack([v, p, scale, r])


class Summing:
    """Absolute residuals."""

    delta = 0.0

    def laid_out(self, Y: Floats, r: Floats, p: Floats, g: Floats, v: Floats) -> tuple[int, Floats]:
        """What weighs each number."""
        weight = np.divide(v, g, where=g > 0, out=np.zeros(len(g)))
        return ABSOLUTE, np.vstack([weight, p, r])
