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

A score that beats its rivals by no more than ``NO_DECISION`` is no decision and counts as wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError

LOSSES = ("squared", "absolute", "zero_one", "balanced")
NO_DECISION = 1e-10
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
        return self.name in ("zero_one", "balanced")

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

    def total(self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats) -> Floats:
        """Sums over the rows of ``weighted``, one per column: the inner loop of a search."""
        if self.name == "squared" and len(residuals) == 1:
            e = np.divide(residuals[0], p, out=residuals[0])
            return per_weight(g, v) @ np.square(e, out=e)
        return self.weighted(residuals, p, g, v, Y).sum(0)

    def weighted(
        self, residuals: list[Floats], p: Floats, g: Floats, v: Floats, Y: Floats
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
        room = p * g[column]
        if len(residuals) == 1:
            wrong = residuals[0] * Y[:, 0][column] >= (1.0 - NO_DECISION) * room
        else:
            own = Y.argmax(1)
            stack = np.stack(residuals)
            place = np.broadcast_to(own[column], stack.shape[1:])[None]
            r_own = np.take_along_axis(stack, place, 0)[0]
            np.put_along_axis(stack, place, np.inf, 0)
            wrong = r_own - stack.min(0) >= (2.0 - NO_DECISION) * room
        return wrong * v[column]


def _sum_of(parts: Iterator[Floats]) -> Floats:
    total = next(parts)
    for part in parts:
        total += part
    return total


def per_weight(g: Floats, v: Floats) -> Floats:
    """V / g^2, constant for the losses that use it; zero where the weight is zero."""
    return np.divide(v, g * g, where=g > 0, out=np.zeros(len(g)))


def disorder(gap: Floats, blur: float) -> Floats:
    """What pairs cost whose scores should differ by a positive gap: one, or a half if by none.

    >>> disorder(np.array([0.3, -0.2, 1e-15]), 1e-12)
    array([0. , 1. , 0.5])
    """
    return (gap < -blur) + 0.5 * (np.abs(gap) <= blur)
