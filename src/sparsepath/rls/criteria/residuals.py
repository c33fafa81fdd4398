"""Losses of residuals: squared, absolute, and two between them.

squared    sum over targets of e^2        v e^2 = (r/p)^2 / sum g^2, since v = g^2 / sum g^2
absolute   sum over targets of |e|
huber      e^2 / 2 up to |e| = delta, and the straight line delta (|e| - delta/2) beyond: Huber
           (1964), Robust Estimation of a Location Parameter
log_cosh   scale^2 log cosh(e / scale): e^2 / 2 near zero, scale |e| for large e, smooth between
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsepath._core import losses as core
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ResidualLoss, columns_like, per_weight, sum_of
from sparsepath.system.arrays import Floats


class Squared(ResidualLoss):
    """Squared residual."""

    name = "squared"
    bounded = True
    by_sums = True
    kernel = core.Squared()
    metric = "squared"

    def of(self, e: Floats) -> Floats:
        """e^2."""
        return np.square(e)

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """(r/p)^2 v/g^2."""
        total = sum_of(np.square(r, out=r) for r in residuals)
        total /= p
        total /= p
        total *= per_weight(g, v)[columns_like(p)]
        return total


class Absolute(ResidualLoss):
    """Absolute residual."""

    name = "absolute"
    kernel = core.Absolute()
    metric = "absolute"

    def of(self, e: Floats) -> Floats:
        """|e|."""
        return np.abs(e)


@dataclass(frozen=True, repr=False)
class Huber(ResidualLoss):
    """Half the square up to a residual of ``delta``, linear beyond, in units of the target.

    Parameters
    ----------
    delta : float
        Size of a residual above which the loss is linear.

    Examples
    --------
    >>> Huber(2.0).of(np.array([-1.0, 2.0, 5.0]))
    array([0.5, 2. , 8. ])
    """

    delta: float = 1.35

    name = "huber"

    def __post_init__(self) -> None:
        above_zero("Huber", "delta", self.delta)

    @property
    def kernel(self) -> core.Huber:
        return core.Huber(float(self.delta))

    @property
    def label(self) -> str:
        return f"Huber error (delta {self.delta:g})"

    def of(self, e: Floats) -> Floats:
        """e^2 / 2, or delta (|e| - delta/2)."""
        far = np.abs(e)
        near = np.minimum(far, self.delta)
        return near * (far - 0.5 * near)


@dataclass(frozen=True, repr=False)
class LogCosh(ResidualLoss):
    """Half the square near zero, the absolute residual far away, in units of the target.

    Parameters
    ----------
    scale : float
        Size of a residual at which the loss changes from quadratic to linear.

    Examples
    --------
    >>> LogCosh().of(np.array([1e-4, 1.0, 100.0])).round(10)
    array([5.00000000e-09, 4.33780830e-01, 9.93068528e+01])
    """

    scale: float = 1.0

    name = "log_cosh"

    def __post_init__(self) -> None:
        above_zero("LogCosh", "scale", self.scale)

    @property
    def kernel(self) -> core.LogCosh:
        return core.LogCosh(float(self.scale))

    @property
    def label(self) -> str:
        return f"log-cosh error (scale {self.scale:g})"

    def of(self, e: Floats) -> Floats:
        """scale^2 log cosh(e / scale); cosh x = 1 + 2 sinh^2(x/2) keeps the digits near zero."""
        x = np.abs(e) / self.scale
        near = np.log1p(2.0 * np.square(np.sinh(0.5 * np.minimum(x, 1.0))))
        far = x + np.log1p(np.exp(-2.0 * x)) - np.log(2.0)
        return self.scale**2 * np.where(x < 1.0, near, far)


def above_zero(of: str, name: str, value: Any) -> None:
    """Raise an error unless a parameter of a loss is a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        fine = False
    else:
        fine = 0 < float(value) < np.inf
    if not fine:
        raise InputError(
            f"{of}({name}={value!r}); give a number above zero, in the units of the target."
        )


SQUARED = Squared()
