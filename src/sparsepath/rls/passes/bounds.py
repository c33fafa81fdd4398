"""Lower bounds of the criterion after an addition; derived in ``engine.py``."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.arrays import Floats

ROUNDED_PRODUCTS = 1e-11  # error of a product of two columns of norm one, with a wide margin
TRUSTED = 0.1  # that error over the pivot up to which there is a bound


class ColumnStatistics(Protocol):
    """Statistics of all columns: squared norms, and norms before centring."""

    squares: Floats
    sizes: Floats
    total: float


def least_errors(
    design: ColumnStatistics,
    features: NDArray[np.intp],
    alpha: float,
    target_squares: float,
    uu: Floats,
    ur: Floats,
    s: Floats,
    c: Floats,
    q: Floats,
    h: Floats,
    off: Floats,
) -> Floats:
    """Return the bound u'r - 2 tau h + tau^2 q per sample for some features, minus its rounding
    error.

    ``off`` times |z| bounds the error of h for each target, before rounding. q = |z|^2 is a
    difference of two sums: for a column with nothing else left it is rounding, and its root many
    times that. Minus infinity where s is unknown.
    """
    unit = ROUNDED_PRODUCTS * design.sizes[features]
    s_error = 2 * unit * np.sqrt(design.squares[features])
    trusted = s_error <= TRUSTED * (s + alpha)
    pivot = np.where(trusted, s + alpha, 1.0)
    tau = c / pivot[:, None]
    h_error = np.outer(np.sqrt(q + s_error), off) + np.outer(unit, np.sqrt(uu))
    c_error = (unit * np.sqrt(target_squares))[:, None]
    tau_error = (c_error + np.abs(tau) * s_error[:, None]) / pivot[:, None]
    gain = 2 * tau * h - tau**2 * q[:, None]
    error = (
        2 * np.abs(tau) * h_error
        + 2 * tau_error * (np.abs(h) + h_error + np.abs(tau) * q[:, None])
        + tau**2 * s_error[:, None]
    )
    bounds = (ur.sum() - (gain + error).sum(1)) / design.total
    bounds[~trusted] = -np.inf
    return bounds
