r"""Clip predictions to a range; scale targets internally.

A network is unreliable outside of its training data: neurons that cancel each other within the data
need not cancel outside. So predictions are clipped to the range of the training target, extended on
both sides by a fraction of it, the reach.

The reported leave-one-out prediction of such a machine is :math:`Y_i - e_i / p_i`, clipped to the
range of the *other* samples, which differs from that of all samples only for the smallest and the
largest target. Searches compare machines by the unclipped :math:`e_i / p_i`, which are smooth in
the scalings and not smaller in size (unless the target itself is beyond the limits of the others),
so that no machine is selected because of the clipping.
"""

import numpy as np

from sparsepath.system.arrays import Floats

Limits = tuple[Floats, Floats]


def unit_of(Y: Floats) -> float:
    """Return a power of two near the spread of the targets, so that scaling does not round."""
    return float(np.ldexp(1.0, int(np.frexp(np.abs(Y - Y.mean(0)).max())[1])))


def limits(Y: Floats, reach: float) -> Limits:
    """Return the limits of predictions for each target, T each; Y is n x T."""
    return _extended(Y.min(0), Y.max(0), reach)


def others_limits(Y: Floats, reach: float) -> Limits:
    """Return the limits, T x n each, when each sample in turn is left out."""
    rows = Y.T
    ordered = np.sort(rows, axis=1)
    low, second, below, high = (ordered[:, [k]] for k in (0, 1, -2, -1))
    return _extended(np.where(rows == low, second, low), np.where(rows == high, below, high), reach)


def _extended(low: Floats, high: Floats, reach: float) -> Limits:
    if np.isinf(reach):
        return np.full_like(low, -np.inf), np.full_like(high, np.inf)
    margin = reach * (high - low)
    return low - margin, high + margin


def clipped_residuals(rows: Floats, residuals: Floats, limits: Limits) -> Floats:
    """Residuals, T x n, of predictions that are brought between limits."""
    predictions = rows - residuals
    return np.where(
        (predictions < limits[0]) | (predictions > limits[1]),
        rows - np.clip(predictions, *limits),
        residuals,
    )
