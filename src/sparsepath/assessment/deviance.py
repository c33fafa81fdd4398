r"""Tweedie deviances of counts, costs and other targets that are not negative.

The linear predictor f is the logarithm of the mean, mu = exp(f), and the variance of y grows as
mu^p. With p the ``power``, half the unit deviance and its derivatives in f are

    L   = y^(2-p) / ((1-p)(2-p)) - y mu^(1-p) / (1-p) + mu^(2-p) / (2-p)
    L'  = mu^(2-p) - y mu^(1-p)
    L'' = (2-p) mu^(2-p) - (1-p) y mu^(1-p)

with the limits y log(y / mu) - y + mu at p = 1 (Poisson: counts) and y / mu - 1 - log(y / mu) at
p = 2 (Gamma: positive amounts). Between the two (Tweedie: amounts, many of them zero) every term of
L'' is positive, so that L is convex for all 1 <= p <= 2.
"""

import numpy as np

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats

POWERS = {"poisson": 1.0, "gamma": 2.0}
LOSSES = (*POWERS, "tweedie")


def power_of(loss: object, power: object) -> float | None:
    """Return the power of a loss by name; None if the loss is no deviance.

    ``power`` is that of "tweedie", and checked.

    >>> power_of("poisson", 1.5), power_of("tweedie", 1.5), power_of("squared", 1.5)
    (1.0, 1.5, None)
    """
    if not isinstance(loss, str) or loss not in LOSSES:
        return None
    if loss in POWERS:
        return POWERS[loss]
    if isinstance(power, bool) or not isinstance(power, int | float) or not 1 <= power <= 2:
        raise InputError(f"power={power!r}; the Tweedie loss needs 1 <= power <= 2.")
    return float(power)


def name_of(power: float) -> str:
    """Return the name of a deviance."""
    return {1.0: "Poisson deviance", 2.0: "Gamma deviance"}.get(
        power, f"Tweedie deviance (power {power:g})"
    )


def check_targets(y: Floats, power: float) -> None:
    """Raise an error for targets without a deviance."""
    least = float(y.min(initial=0.0) if power < 2 else y.min(initial=np.inf))
    if least < 0 or (power == 2 and least == 0):
        wanted = "greater than zero" if power == 2 else "zero or more"
        raise InputError(
            f"y has the value {float(y.min()):g}; the {name_of(power)} needs targets {wanted}. Use "
            "loss='squared' for other targets."
        )


def deviances(y: Floats, f: Floats, power: float) -> Floats:
    """Return unit deviances of targets y at logarithms f of the mean.

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


def slopes(y: Floats, f: Floats, power: float) -> Floats:
    """Return the derivatives in f of half the deviances."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.exp((2 - power) * f) - y * np.exp((1 - power) * f))


def curvatures(y: Floats, f: Floats, power: float) -> Floats:
    """Return the second derivatives in f of half the deviances."""
    p = power
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((2 - p) * np.exp((2 - p) * f) + (p - 1) * y * np.exp((1 - p) * f))
