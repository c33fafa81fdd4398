"""Changes of the selected subset, and the choice of the best one."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.arrays import Floats

TIE = 1e-10  # criteria closer than this (relative) are equal
TIE_FLOOR = 1e-14  # the same relative to the empty model's criterion
VANISHED = 1e-13  # norm left of the residuals, over the target's, that counts as nothing


@dataclass(frozen=True)
class Update:
    """A change of the chosen set by one feature, and the criterion after it.

    A group of columns that is added or removed together is identified by its first column;
    ``count`` is the number of its columns.

    Parameters
    ----------
    action : {"add", "drop"}
        Whether the feature is added or removed.
    feature : int
        Its column.
    error : float
        The criterion after the change; optional if you create an update.
    count : int
        Number of columns that are added or removed.
    squared : float
        For losses that count mistakes: the squared criterion after the change, which breaks ties.
    """

    action: str
    feature: int
    error: float = np.nan
    count: int = 1
    squared: float = field(default=np.nan, compare=False)

    def beats(self, other: "Update", gain: float) -> bool:
        """Return whether it is better by the fraction ``gain``; squares break ties of equal
        counts.
        """
        if self.error < other.error * (1 - gain):
            return True
        tied = self.error <= other.error * (1 + gain)
        return tied and self.squared < other.squared * (1 - gain)


@dataclass(frozen=True)
class Costs:
    """Costs of features: additions are compared by gain per cost, within a total budget."""

    of: Floats  # (n_features,): the cost of each feature, above zero
    budget: float = np.inf  # what all chosen features together may cost

    def worth(self, features: NDArray[np.intp], errors: Floats, now: float) -> Floats:
        """Return values to minimise: minus the gain per cost; for a loss, the loss times the cost.

        The value increases with the error, so a lower bound of the error gives one of the value.
        """
        gain = now - errors
        cost = self.of[features]
        return -np.where(gain > 0, gain / cost, gain * cost)


def limit(least: float, empty_error: float) -> float:
    """Return the largest criterion value that counts as a tie with ``least``."""
    return float(least + TIE * abs(least) + TIE_FLOOR * empty_error)


class Second(NamedTuple):
    """Squared criterion of some updates, the values to compare, and that of the empty model."""

    errors: Floats
    values: Floats
    empty_error: float


def pick(
    action: str,
    features: NDArray[np.intp],
    errors: Floats,
    empty_error: float,
    values: Floats | None = None,
    second: Callable[[NDArray[np.intp]], Second] | None = None,
) -> Update | None:
    """Return the update with the minimum value (default: the criterion); the lowest index breaks
    ties.

    A second criterion, if given, breaks ties first; it is evaluated for tied features only. None if
    no update has a finite criterion.
    """
    values = errors if values is None else values
    least = float(values[values.argmin()]) if len(values) else math.inf
    if not math.isfinite(least):
        return None
    best = (values <= limit(least, empty_error)).nonzero()[0]
    if second is None:
        i = best[features[best].argmin()]
        return Update(action, int(features[i]), float(errors[i]))
    squared, ranks, floor = second(features[best])
    tied = ranks <= limit(ranks.min(), floor)
    best, squared = best[tied], squared[tied]
    place = features[best].argmin()
    i = best[place]
    return Update(action, int(features[i]), float(errors[i]), squared=float(squared[place]))


def column_mask(columns: Sequence[int], n: int) -> NDArray[np.bool_]:
    """Return a mask of n columns; fast for a range.

    >>> column_mask(range(1, 3), 4).tolist(), column_mask((0, 3), 4).tolist()
    ([False, True, True, False], [True, False, False, True])
    """
    out = np.zeros(n, dtype=bool)
    if isinstance(columns, range):
        out[columns.start : columns.stop : columns.step] = True
    else:
        out[list(columns)] = True
    return out


def mask_of(features: Iterable[int] | None, n: int) -> NDArray[np.bool_] | None:
    """Return a mask of features, of n columns; None means all."""
    return None if features is None else _mask(features, n)


def _mask(features: Iterable[int], n: int) -> NDArray[np.bool_]:
    out = np.zeros(n, dtype=bool)
    which = features if isinstance(features, np.ndarray) else np.fromiter(features, np.intp)
    out[which] = True
    return out


def enterable(
    constant: NDArray[np.bool_], chosen: list[int], features: Iterable[int] | None
) -> NDArray[np.bool_]:
    """Return which features may be added: not constant, not selected, and allowed."""
    allowed = ~constant
    if features is not None:
        allowed &= _mask(features, len(allowed))
    allowed[chosen] = False
    return allowed
