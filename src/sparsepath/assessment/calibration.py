"""Slope that converts scores to probabilities, fitted to held-out samples.

Scores of training samples are too extreme, especially with many columns; scores of held-out samples
are not. With scores s_ic of sample i for class c (two classes: 0 and the score),

    p_ic = exp(a s_ic) / sum over j of exp(a s_ij)

the slope a minimises the log loss. A single slope without offset keeps the order and the predicted
class. The target of the true class with n_c samples is (n_c + 1) / (n_c + C), that of the C - 1
others 1 / (n_c + C), so that separated classes have a finite slope (Platt 1999, *Probabilistic
outputs for support vector machines*). The loss is convex in a, with derivatives

    g = mean over i of sum over c of (p_ic - t_ic) s_ic        h = mean over i of var_p(s_i)

Newton steps are limited to an interval in which g changes its sign.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.arrays import Floats, Indices

MOST_ROWS = 2000  # that a slope is fitted to
FLATTEST, STEEPEST = 1e-3, 1e3
STEPS = 40
CLOSE = 1e-10


def slope_of(scores: Floats, index: Indices, weights: Floats, n_classes: int) -> float:
    """Return the slope for scores (samples x classes, one column for two classes) of held-out
    samples.

    >>> f = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    >>> steep = slope_of(f, np.array([0, 0, 1, 1]), np.ones(4), 2)
    >>> 1.0 < steep < 4.0
    True
    """
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    counts = np.bincount(index, minlength=n_classes)[index][:, None]
    own = index[:, None] == np.arange(n_classes)
    targets = np.where(own, counts + 1.0, 1.0) / (counts + n_classes)
    total = weights.sum()
    if not total > 0:
        return 1.0
    shares = weights / total
    off = scores - scores.max(1, keepdims=True)

    def derivatives(a: float) -> tuple[float, float]:
        p = np.exp(a * off)
        p /= p.sum(1, keepdims=True)
        mean = np.vecdot(p, scores)
        g = float(shares @ (mean - np.vecdot(targets, scores)))
        return g, float(shares @ (np.vecdot(p, scores**2) - mean**2))

    low, high = FLATTEST, STEEPEST
    if derivatives(low)[0] >= 0:
        return low
    if derivatives(high)[0] <= 0:
        return high
    a = 1.0
    for _ in range(STEPS):
        g, h = derivatives(a)
        low, high = (a, high) if g < 0 else (low, a)
        new = a - g / h if h > 0 else high
        if not low < new < high:
            new = float(np.sqrt(low * high))
        if abs(new - a) <= CLOSE * a:
            return new
        a = new
    return a


def some_rows(n: int) -> NDArray[np.intp]:
    """Return at most ``MOST_ROWS`` of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).round().astype(np.intp))
