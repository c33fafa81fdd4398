r"""Losses of counts, costs and other targets that are not negative: half Tweedie deviances.

The formulas are in ``assessment/deviance.py``.

**Conjugate**, for the duality gap: L*(u) = u f - L(f) at the f where L'(f) = u. For p = 1 that is
mu = y + u, for p = 2 mu = y / (1 - u); between them f is found by Newton steps in a bracket.
"""

import numpy as np

from sparsepath.assessment.deviance import check_targets, curvatures, deviances, name_of, slopes
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.system.arrays import Floats

STEEPEST = 700.0  # of f: exp beyond it is no number
STEPS = 200


class TweedieLoss(ConvexLoss):
    """Half the Tweedie deviance of mu = exp(f); see the module."""

    link = "log"
    error_factor = 2.0

    def __init__(self, power: float = 1.0) -> None:
        self.power = float(power)
        self.error_name = name_of(self.power)

    def check(self, Y: Floats) -> None:
        """Raise an error for targets without a deviance."""
        check_targets(Y, self.power)

    def value(self, F: Floats, Y: Floats) -> Floats:
        return deviances(Y[:, 0], F[:, 0], self.power) / 2

    def slope(self, F: Floats, Y: Floats) -> Floats:
        return slopes(Y, F, self.power)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        return curvatures(Y, F, self.power)

    def start(self, Y: Floats, s: Floats) -> Floats:
        """The logarithm of the mean: the best intercept of the empty model."""
        return np.log(np.maximum(s @ Y, 1e-300))

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        u, y = U[:, 0], Y[:, 0]
        f = self._point(u, y)
        # Where mu is zero, u f is zero or there is no finite value.
        reached = np.where(np.isfinite(f), u * np.where(np.isfinite(f), f, 0.0), 0.0)
        return reached - deviances(y, f, self.power) / 2

    def _point(self, u: Floats, y: Floats) -> Floats:
        """The f at which the slope is u."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.power == 1:
                return np.log(np.maximum(y + u, 0.0))
            if self.power == 2:
                return np.log(y / (1 - u))
        f, low = np.zeros_like(u), np.full_like(u, -STEEPEST)
        high = np.full_like(u, STEEPEST)
        F, Y = f[:, None], y[:, None]
        for _ in range(STEPS):
            off = self.slope(F, Y)[:, 0] - u
            low, high = np.where(off < 0, F[:, 0], low), np.where(off > 0, F[:, 0], high)
            with np.errstate(divide="ignore", invalid="ignore"):
                new = F[:, 0] - off / self.curvature(F, Y)[:, 0]
            new = np.where((new > low) & (new < high), new, (low + high) / 2)
            done = np.abs(new - F[:, 0]) <= 1e-15 * np.maximum(np.abs(new), 1.0)
            F = new[:, None]
            if done.all():
                break
        return np.where(F[:, 0] <= 1 - STEEPEST, -np.inf, F[:, 0])

    def within(self, U: Floats, Y: Floats) -> float:
        u, y = U[:, 0], Y[:, 0]
        if self.power == 2:
            return 1.0 if u.max() < 1 else np.nan
        if self.power > 1:
            return 1.0 if (u[y == 0] >= 0).all() else np.nan
        below = u < 0
        if (y[below] == 0).any():
            return np.nan
        return min(1.0, float((y[below] / -u[below]).min(initial=1.0)))
