"""Lower bounds of the criterion after an addition; derived in ``additions.py``."""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.fitted_rows import Weighed

ROUNDED_PRODUCTS = 1e-11  # error of a product of two columns of norm one, with a wide margin
TRUSTED = 0.1  # that error over the pivot up to which there is a bound


def least_errors(
    design: Design,
    features: NDArray[np.intp],
    alpha: float,
    target_squares: float,
    weighed: Weighed,
    s: Floats,
    c: Floats,
    q: Floats,
    h: Floats,
    h_error: Floats,
) -> Floats:
    """The bound u'r - 2 tau h + tau^2 q per sample for some features, less its own rounding.

    ``h_error`` is how far h may be off, before rounding; minus infinity where s is not known.
    """
    unit = ROUNDED_PRODUCTS * design.sizes[features]
    s_error = 2 * unit * np.sqrt(design.squares[features])
    trusted = s_error <= TRUSTED * (s + alpha)
    pivot = np.where(trusted, s + alpha, 1.0)
    tau = c / pivot[:, None]
    h_error = h_error + np.outer(unit, np.sqrt(weighed.uu))
    c_error = (unit * np.sqrt(target_squares))[:, None]
    tau_error = (c_error + np.abs(tau) * s_error[:, None]) / pivot[:, None]
    gain = 2 * tau * h - tau**2 * q[:, None]
    error = (
        2 * np.abs(tau) * h_error
        + 2 * tau_error * (np.abs(h) + h_error + np.abs(tau) * q[:, None])
        + tau**2 * s_error[:, None]
    )
    bounds = (weighed.ur.sum() - (gain + error).sum(1)) / design.total
    bounds[~trusted] = -np.inf
    return bounds
