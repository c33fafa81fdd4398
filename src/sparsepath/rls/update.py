"""Changes of the chosen set, and how the best of several is picked."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats

TIE = 1e-10  # criteria closer than this (relative) are equal: the lowest index wins
TIE_FLOOR = 1e-14  # the same relative to the empty model's criterion


@dataclass(frozen=True)
class Update:
    """A change of the chosen set by one feature, and the criterion after it.

    A group of columns that comes or goes as one is named by its first column; ``count`` is the
    number of its columns.
    """

    action: str
    feature: int
    error: float
    count: int = 1


@dataclass(frozen=True)
class Costs:
    """What features cost: additions are judged by gain per cost, within a total budget.

    Parameters
    ----------
    of : array of shape (n_features,)
        The cost of each feature, above zero.
    budget : float
        What all chosen features together may cost.
    """

    of: Floats
    budget: float = np.inf

    def worth(self, features: NDArray[np.intp], errors: Floats, now: float) -> Floats:
        """Lower is better: minus the gain per cost; where there is a loss, the loss times the cost.

        It grows with the error for every feature, so a lower bound of the error gives one of it.
        """
        gain = now - errors
        cost = self.of[features]
        return -np.where(gain > 0, gain / cost, gain * cost)

    def affordable(self, chosen: list[int], candidates: Iterable[int]) -> list[int]:
        """The candidates for which there is money left."""
        left = self.budget - self.of[chosen].sum()
        return [i for i in candidates if self.of[i] <= left * (1 + TIE)]


def limit(least: float, empty_error: float) -> float:
    """Values up to here are as good as ``least``."""
    return float(least + TIE * abs(least) + TIE_FLOOR * empty_error)


def pick(
    action: str,
    features: NDArray[np.intp],
    errors: Floats,
    empty_error: float,
    values: Floats | None = None,
) -> Update | None:
    """The update with the least value (default: the criterion), ties to the lowest index.

    None if there is none with a finite criterion.
    """
    values = errors if values is None else values
    least = float(values[values.argmin()]) if len(values) else math.inf
    if not math.isfinite(least):
        return None
    places = (values <= limit(least, empty_error)).nonzero()[0]
    place = places[features[places].argmin()]
    return Update(action, int(features[place]), float(errors[place]))
