"""A change of the chosen set by one feature, and how the best of several is picked."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats

TIE = 1e-10  # criteria closer than this (relative) are equal: the lowest index wins
TIE_FLOOR = 1e-14  # the same relative to the empty model's criterion


@dataclass(frozen=True)
class Update:
    """A change of the chosen set by one feature, and the criterion after it."""

    action: str
    feature: int
    error: float


def limit(least: float, empty_error: float) -> float:
    """Criteria up to here are as good as ``least``."""
    return float(least * (1 + TIE) + TIE_FLOOR * empty_error)


def pick(
    action: str, features: NDArray[np.intp], errors: Floats, empty_error: float
) -> Update | None:
    """The update with the least criterion, ties to the lowest index; None if all are infinite."""
    least = errors.min(initial=np.inf)
    if not np.isfinite(least):
        return None
    feature = int(features[errors <= limit(least, empty_error)].min())
    return Update(action, feature, float(errors[features == feature][0]))
