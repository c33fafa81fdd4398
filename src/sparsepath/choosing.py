"""Choosing a size from a curve of errors: one rule for paths, surfaces and resamples."""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError

CHOICES = "'min', 'one_se', an integer (that size), a float >= 0 (within that part of the least)"


def is_number(value: Any) -> bool:
    """Whether a value is a real number; True and False are none."""
    return isinstance(value, numbers.Real) and value is not True and value is not False


def places(rule: Any, errors: NDArray[np.float64], allowance: Any) -> NDArray[np.intp]:
    """Which size each row of errors chooses: the first whose error is within reach of the least.

    Parameters
    ----------
    rule : "min", "one_se" or float
        How far above the least an error may be: not at all, by the allowance, by this part of it.
    errors : array of shape (B, K)
        By ascending size.
    allowance : callable
        Given the places of the least, what ``"one_se"`` allows: an array of shape (B, K).
    """
    best = errors.argmin(1)  # the first of equals: the smallest
    least = errors[np.arange(len(errors)), best][:, None]
    if rule == "one_se":
        limit = least + allowance(best)
    elif rule == "min":
        limit = least
    elif is_number(rule) and 0 <= float(rule) < math.inf:
        # an error below zero (minus a mutual information) is relaxed upwards too
        limit = least + float(rule) * np.abs(least)
    else:
        raise InputError(f"cannot choose by {rule!r}; allowed are {CHOICES}.")
    return (errors <= limit).argmax(1)
