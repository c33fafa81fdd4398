r"""Clip predictions to a range; scale targets internally.

A network knows nothing beyond its training data and may say anything there: the tails of neurons
that cancel each other within the data need not cancel outside. So a prediction is brought back into
the range of the training target, extended on both sides by a fraction of it, the reach.

The leave-one-out prediction of such a machine is :math:`Y_i - e_i / p_i` brought into the range of
the *other* samples, which differs from that of all only for the least and the largest target. That
is what is reported. Searches compare machines by the plain :math:`e_i / p_i`: they are smooth in
the scalings, and no less in size unless the target itself is out of the others' reach, so no
machine is chosen because it is held back.
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
