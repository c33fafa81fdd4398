"""Losses that count mistakes.

zero_one   one target, y = +-1: the prediction f = y - e has the other sign, that is y r >= p g;
           T targets (class against rest): the own class does not win, r_own - min_others r >= 2 p g
balanced   zero_one with v = g^2 / (number of classes * sum of g^2 over the sample's class)

Scores that differ by at most a ``blur`` are tied, and the first of the tied classes is predicted,
as in ``predict``: rounding must not separate scores that should be equal. So a class before the
true one wins a tie against it, and a class after it loses. The size of scores depends on the units
of the columns and on the penalty. A column of squared norm q, fitted alone, gives scores of at most
the size of the target times q / (alpha + q), its reach. The reach of a model is the sum over its
columns, and the blur is a tiny fraction of that.

Equal counts are frequent. The squared loss of the same models on the same held-out samples breaks
these ties; otherwise the order of the columns would decide (``update.pick``).
"""

from functools import reduce
from typing import Any

import numpy as np

from sparsepath._core import losses as core
from sparsepath.rls.criteria.losses import Loss, columns_like, sum_of
from sparsepath.system.arrays import Floats


class ZeroOne(Loss):
    """Error rate: one for each mistake."""

    name = "zero_one"
    coded = True
    counts = True
    kernel = core.ZeroOne()

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """Return the weight v where another class wins."""
        column = columns_like(p)
        several = len(residuals) > 1
        room = p * (2.0 * g if several else g)[column]
        near = np.multiply(blur, g[column], out=np.empty_like(room))  # lies in memory as room does
        if not several:
            y = Y[:, 0][column]
            return (residuals[0] * y >= room - near * y) * v[column]
        own = Y.argmax(1)
        earlier = (np.sign(own - place)[column] for place in range(len(residuals)))
        rivals = (r - near * sign for r, sign in zip(residuals, earlier, strict=True))
        least = reduce(np.minimum, rivals)  # the own class is not ahead of itself by any room
        for place, r in enumerate(residuals):
            r *= (own == place).astype(np.float64)[column]
        r_own = sum_of(iter(residuals))
        r_own -= least
        return (r_own >= room) * v[column]


class ZeroOneByIndex(ZeroOne):
    """Error rate; of candidates with equal rates the one with the lowest index is chosen.

    This is the rule of the greedy RLS paper, and of scikit-learn's ``SequentialFeatureSelector``.
    By default, ``loss="zero_one"``, the squared error decides between equal rates. A search
    continues when there are no mistakes left.
    """

    name = "zero_one_by_index"
    counts = False

    @property
    def label(self) -> str:
        """Name of the errors."""
        return "zero-one error"

    @property
    def metric(self) -> str:
        """Name of the metric for predictions on new data."""
        return "zero_one"


class Balanced(ZeroOne):
    """Mean of the error rates of the classes."""

    name = "balanced"
    balanced = True

    def sample_weights(self, Y: Floats, weights: Floats) -> Floats:
        """Return the weights v of the mean: every class that is present has the same total."""
        label = np.sign(Y[:, 0]) if Y.shape[1] == 1 else Y.argmax(1)
        _, index = np.unique(label, return_inverse=True)
        total = np.bincount(index, weights)
        present = total > 0
        share = np.divide(weights, total[index], where=present[index], out=np.zeros(len(index)))
        return share / present.sum()
