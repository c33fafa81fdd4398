"""Rules of ``choose``: select a size on one path or on several."""

import math
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError, warn_user

CHOICES = "'min', 'one_se', an integer (that size), a float below 1 (within that part of the least)"


def is_size(rule: object) -> TypeGuard[int]:
    """True if a rule is a number of features."""
    if isinstance(rule, str | bool):
        return False
    return isinstance(rule, Integral)


def check_rule(rule: Any) -> None:
    """Raise an error for an invalid rule.

    >>> check_rule("min"), check_rule(5), check_rule(0.05)
    (None, None, None)
    """
    if isinstance(rule, str):
        fine = rule in ("min", "one_se")
    elif is_size(rule):
        fine = True
    else:
        share = isinstance(rule, Real) and not isinstance(rule, bool)
        if share and 1 <= rule < math.inf:
            raise InputError(
                f"cannot choose by {rule!r}: a size is an integer, such as {round(rule)}; a float "
                "is a fraction of the minimum error between 0 and 1, such as 0.05 for 5 %."
            )
        fine = share and 0 <= rule < 1
    if not fine:
        raise InputError(f"cannot choose by {rule!r}; allowed are {CHOICES}.")


def worst_allowed(rule: Any, least: Any, se: Any) -> Any:
    """Return the largest error that a rule allows.

    ``least`` is the minimum error and ``se`` its standard error (for "one_se"). A fraction allows
    (1 + fraction) times the minimum. Numbers or arrays.
    """
    if isinstance(rule, str):
        limit = least + (se if rule == "one_se" else 0)
    elif isinstance(rule, Real) and 0 <= float(rule) < math.inf:
        # abs: an error below zero (minus a mutual information) is relaxed upwards too
        limit = least + float(rule) * np.abs(least)
    else:
        raise InputError(f"cannot choose by {rule!r}; allowed are {CHOICES}.")
    if np.isnan(limit).any():
        raise InputError("no standard error at the minimum; use 'min' or within=.")
    return limit


def places(
    rule: Any,
    errors: NDArray[np.float64],
    allowance: Callable[[NDArray[np.intp]], NDArray[np.float64]],
) -> NDArray[np.intp]:
    """Return the index of the size that a rule selects, for each row of errors (ascending sizes).

    ``allowance`` maps the indices of the minima to the margin of "one_se" above them.
    """
    best = errors.argmin(1)  # the first of equals: the smallest
    least = errors[np.arange(len(errors)), best][:, None]
    se = allowance(best) if isinstance(rule, str) and rule == "one_se" else 0.0
    return (errors <= worst_allowed(rule, least, se)).argmax(1)


def nearest(size: int, sizes: Iterable[int], n_features: int, *, quiet: bool = False) -> int:
    """Return the nearest available size (the smaller of two), with a warning if it differs."""
    known = tuple(sorted(set(sizes)))
    if size in known:
        return size
    if not 0 <= size <= n_features:
        raise InputError(f"no model of size {size}; the sizes are {ranges(known)}.")
    found = min(known, key=lambda other: abs(other - size))
    if not quiet:
        warn_user(
            f"the path has no size {size}, only {ranges(known)}; the nearest size, {found}, is "
            "used."
        )
    return found


def ranges(sizes: tuple[int, ...]) -> str:
    """Format ascending sizes as ranges.

    >>> ranges((0, 1, 2, 5))
    '0-2, 5'
    """
    runs: list[list[int]] = []
    for size in sizes:
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
