"""What a leave-one-out residual costs.

With rows scaled by g = sqrt(sample weight), residuals r (m x T) and p = 1 - leverage, the
leave-one-out residual of sample j is e_j = r_j / (p_j g_j). A loss turns e_j into a number; the
criterion is its mean with weights v_j that sum to one. Everything here returns v_j * loss_j
directly, in a form that never divides by g_j, so a sample of weight zero does no harm:

squared    sum over targets of e^2      v = g^2 / sum g^2     v e^2  = (r/p)^2 / sum g^2
absolute   sum over targets of |e|      same v                v |e|  = g |r| / p / sum g^2
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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError

LOSSES = ("squared", "absolute", "zero_one", "balanced")
COUNTING = ("zero_one", "balanced", "auc", "disagreement")  # the last two count pairs
NO_DECISION = 1e-10  # difference of two scores, over their reach, that decides nothing
LABEL_ROUNDING = 4e-15  # and what rounding leaves of a difference of labels and residuals
ROOM = 1e-10  # 1 - leverage below this: the sample decides its own prediction, nothing is left out


@dataclass(frozen=True)
class Loss:
    """One of ``LOSSES``; ``counts`` says that it counts mistakes and so needs +-1 targets."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise InputError(f"loss={self.name!r} is not known; use one of {', '.join(LOSSES)}.")

    @property
    def counts(self) -> bool:
        return self.name in COUNTING

    @property
    def cached(self) -> bool:
        """Whether there is a compiled loop that judges P X kept in memory by this loss."""
        return self.counts or self.name == "absolute"

    def blur(self, reach: Any) -> Any:
        """How little a score of models of this reach may beat its rivals and decide nothing."""
        return NO_DECISION * np.minimum(reach, 1.0) + LABEL_ROUNDING

    def sample_weights(self, Y: Floats, weights: Floats) -> Floats:
        """The weights v of the mean: they sum to one over all samples."""
        if self.name != "balanced":
            return weights / weights.sum()
        label = np.sign(Y[:, 0]) if Y.shape[1] == 1 else Y.argmax(1)
        _, index = np.unique(label, return_inverse=True)
        total = np.bincount(index, weights)
        present = total > 0
        share = np.divide(weights, total[index], where=present[index], out=np.zeros(len(index)))
        return share / present.sum()

    def total(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """Sums over the rows of ``weighted``, one per column: the inner loop of a search."""
        if self.name == "squared" and len(residuals) == 1:
            e = np.divide(residuals[0], p, out=residuals[0])
            return per_weight(g, v) @ np.square(e, out=e)
        return self.weighted(residuals, p, g, v, Y, blur).sum(0)

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats, blur: Any = 0.0
    ) -> Floats:
        """The numbers v_j * loss_j, for one model or, column by column, for several.

        Parameters
        ----------
        residuals : list of arrays, one per target
            r, of shape (m,) or (m, c) for c models at once. They may be overwritten.
        p : array
            1 - leverage, of the same shape.
        g, v : arrays of shape (m,)
            Roots of the sample weights; weights of the mean.
        Y : array of shape (m, T)
            Targets as given (+-1 for the losses that count).
        blur : float, or array of shape (c,)
            Of each model, for the losses that count.
        """
        many = p.ndim == 2
        column = (slice(None), None) if many else slice(None)
        if self.name == "squared":
            total = _sum_of(np.square(r, out=r) for r in residuals)
            total /= p
            total /= p
            total *= per_weight(g, v)[column]
            return total
        if self.name == "absolute":
            total = _sum_of(np.abs(r, out=r) for r in residuals)
            total /= p
            total *= (per_weight(g, v) * g)[column]
            return total
        room, slack = p * g[column], blur * g[column]
        if len(residuals) == 1:
            wrong = residuals[0] * Y[:, 0][column] >= room - slack
        else:
            own = Y.argmax(1)
            stack = np.stack(residuals)
            place = np.broadcast_to(own[column], stack.shape[1:])[None]
            r_own = np.take_along_axis(stack, place, 0)[0]
            np.put_along_axis(stack, place, np.inf, 0)
            wrong = r_own - stack.min(0) >= 2.0 * room - slack
        return wrong * v[column]


SQUARED = Loss("squared")


def reach_of(squares: Floats, alpha: float) -> Floats:
    """Of every column: q / (alpha + q) for its squared norm q."""
    whole = squares + alpha
    return np.divide(squares, whole, where=whole > 0, out=np.zeros(len(squares)))


def class_targets(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Targets +-1 of classes 0, 1, ...: one column for two of them, else one for each.

    >>> class_targets(np.array([1, 0, 1]), 2)[:, 0]
    array([ 1., -1.,  1.])
    """
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def _sum_of(parts: Iterator[Floats]) -> Floats:
    total = next(parts)
    for part in parts:
        total += part
    return total


def per_weight(g: Floats, v: Floats) -> Floats:
    """V / g^2, constant for the losses that use it; zero where the weight is zero."""
    return np.divide(v, g * g, where=g > 0, out=np.zeros(len(g)))
