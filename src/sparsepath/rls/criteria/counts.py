"""Losses that count mistakes.

zero_one   one target, y = +-1: y f <= 0 for the prediction f = y - e, that is y r >= p g;
           T targets (class against rest): the own class does not win, r_own - min_others r >= 2 p g
balanced   zero_one with v = g^2 / (number of classes * sum of g^2 over the sample's class)

A score that beats its rivals by no more than a ``blur`` is no decision and counts as wrong: what
should be equal must not be told apart by rounding. How large scores are depends on the units of the
columns and on the penalty. A column of squared norm q, fitted alone, gives scores of the size of
the target times q / (alpha + q) at most, its reach; the reach of a model is the sum over its
columns, and the blur is a tiny part of that.

Counts tie often. Those that do are told apart by the squared loss of the same models, left out in
the same way: without it the order of the columns would decide (``update.pick``).
"""

from functools import reduce
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import Counting
from sparsepath.rls.criteria.losses import Loss, columns_like, sum_of


class ZeroOne(Loss):
    """One for a mistake: the error rate."""

    name = "zero_one"
    coded = True
    counts = True
    carried = Counting()

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """The weight v where another class wins, or none."""
        column = columns_like(p)
        several = len(residuals) > 1
        room = p * (2.0 * g if several else g)[column]
        room -= np.multiply(blur, g[column], out=np.empty_like(room))  # lies in memory as room does
        if not several:
            return (residuals[0] * Y[:, 0][column] >= room) * v[column]
        own, least = Y.argmax(1), reduce(np.minimum, residuals)  # not ahead of itself by any room
        for place, r in enumerate(residuals):
            r *= (own == place).astype(np.float64)[column]
        r_own = sum_of(iter(residuals))
        r_own -= least
        return (r_own >= room) * v[column]


class Balanced(ZeroOne):
    """The mean of the error rates of the classes."""

    name = "balanced"
    balanced = True

    def sample_weights(self, Y: Floats, weights: Floats) -> Floats:
        """The weights v of the mean: every class that is present weighs the same."""
        label = np.sign(Y[:, 0]) if Y.shape[1] == 1 else Y.argmax(1)
        _, index = np.unique(label, return_inverse=True)
        total = np.bincount(index, weights)
        present = total > 0
        share = np.divide(weights, total[index], where=present[index], out=np.zeros(len(index)))
        return share / present.sum()
