r"""Losses of counts, costs and other targets that are not negative: half Tweedie deviances.

The linear predictor f is the logarithm of the mean, mu = exp(f), and the variance of y grows as
mu^p. With p the ``power``, half the unit deviance and its derivatives in f are

    L   = y^(2-p) / ((1-p)(2-p)) - y mu^(1-p) / (1-p) + mu^(2-p) / (2-p)
    L'  = mu^(2-p) - y mu^(1-p)
    L'' = (2-p) mu^(2-p) - (1-p) y mu^(1-p)

with the limits y log(y / mu) - y + mu at p = 1 (Poisson: counts) and y / mu - 1 - log(y / mu) at
p = 2 (Gamma: positive amounts). Between the two (Tweedie: amounts, many of them zero) every term of
L'' is positive, so that L is convex for all 1 <= p <= 2.

**Conjugate**, for the duality gap: L*(u) = u f - L(f) at the f where L'(f) = u. For p = 1 that is
mu = y + u, for p = 2 mu = y / (1 - u); between them f is found by Newton steps in a bracket.
"""

import numpy as np

from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.system.arrays import Floats

NAMES = {1.0: "Poisson deviance", 2.0: "Gamma deviance"}
POWERS = {"poisson": 1.0, "gamma": 2.0}
STEEPEST = 700.0  # of f: exp beyond it is no number
STEPS = 200


class TweedieLoss(ConvexLoss):
    """Half the Tweedie deviance of mu = exp(f); see the module."""

    link = "log"
    error_factor = 2.0

    def __init__(self, power: float = 1.0) -> None:
        self.power = float(power)
        self.error_name = NAMES.get(self.power, f"Tweedie deviance (power {power:g})")

    def check(self, Y: Floats) -> None:
        """Refuse targets that the loss has no value for."""
        least = float(Y.min(initial=0.0) if self.power < 2 else Y.min(initial=np.inf))
        if least < 0 or (self.power == 2 and least == 0):
            wanted = "greater than zero" if self.power == 2 else "zero or more"
            raise InputError(
                f"y has the value {float(Y.min()):g}; the {self.error_name} needs targets "
                f"{wanted}. Use loss='squared' for other targets."
            )

    def value(self, F: Floats, Y: Floats) -> Floats:
        return deviances(Y[:, 0], F[:, 0], self.power) / 2

    def slope(self, F: Floats, Y: Floats) -> Floats:
        p = self.power
        with np.errstate(over="ignore", invalid="ignore"):
            return np.exp((2 - p) * F) - Y * np.exp((1 - p) * F)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        p = self.power
        with np.errstate(over="ignore", invalid="ignore"):
            return (2 - p) * np.exp((2 - p) * F) + (p - 1) * Y * np.exp((1 - p) * F)

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


def deviances(y: Floats, f: Floats, power: float) -> Floats:
    """Unit deviances of targets y at logarithms f of the mean.

    >>> deviances(np.array([0.0, 2.0]), np.log([1.0, 2.0]), 1.0).tolist()
    [2.0, 0.0]
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if power == 2:
            off = np.log(y) - f
            return np.asarray(2 * np.maximum(np.expm1(off) - off, 0.0))
        if power == 1:
            off = f - np.log(np.where(y > 0, y, 1.0))
            return 2 * np.where(y > 0, y * np.maximum(np.expm1(off) - off, 0.0), np.exp(f))
        p = power
        own = np.where(y > 0, y, 1.0) ** (2 - p) / ((1 - p) * (2 - p)) * (y > 0)
        part = np.where(y > 0, y * np.exp((1 - p) * f) / (1 - p), 0.0)
        return 2 * np.maximum(own - part + np.exp((2 - p) * f) / (2 - p), 0.0)
