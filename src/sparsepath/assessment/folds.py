"""Held-out parts: a number of folds, a splitter, splits, one sample at a time, or in time order."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, TimeSeriesSplit

from sparsepath.data.folds import Rows, cases, dealt, strata_of
from sparsepath.data.sources import Source
from sparsepath.data.splits import checked_split, count_groups, group_codes
from sparsepath.errors import InputError, warn_user

USUAL = 10  # folds
TIME_PARTS, TIME_FEWEST = 10, 4  # parts in time order, and rows in each of them at the least


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and test rows of the parts, their name, and the clusters of dependent rows."""

    splits: list[tuple[Rows, Rows]]
    label: str  # as "10-fold"
    clusters: Rows  # (n,): which rows hang together
    repeats: int = 1  # random assignments to folds, one after another in the splits
    at_random: bool = False  # whether every case was assigned to a fold by itself


def parts_of(
    validation: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    weights: Any = None,
    *,
    classes: bool = False,
    repeats: int = 1,
) -> Parts:
    """Return the parts for ``validation``: a number of folds, splitter, splits, "loo" or "time".

    Folds are stratified if y are ``classes``. A number of folds is assigned ``repeats`` times.
    """
    if isinstance(validation, Parts):
        return validation
    n = len(y)
    clusters: Rows = np.arange(n)
    if groups is not None:
        count_groups(groups, n)
        clusters = group_codes(groups, n)
    check_validation(validation)
    if isinstance(validation, Integral):
        found = _folds(int(validation), X, y, groups, weights, clusters, classes, repeats)
        return (
            found
            if found.repeats == 1
            else replace(found, label=f"{found.label}, {found.repeats} times")
        )
    if isinstance(validation, str) and validation == "loo":
        if groups is None:
            return _singly(X, y, weights)
        return parts_of(LeaveOneGroupOut(), X, y, groups, weights)
    if isinstance(validation, str):
        if groups is not None:
            raise InputError("validation='time' uses the order of the rows; remove groups.")
        return in_time(n)
    if hasattr(validation, "get_n_splits"):
        thin = np.broadcast_to(np.zeros(1), (n, 1)) if isinstance(X, Source) else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            splits = _checked(validation.split(thin, y, groups), n)
        label = _label(validation, len(splits))
    else:
        splits = _checked(validation, n)
        label = f"{len(splits)} given splits"
    if groups is None:
        _warn_of_copies(splits, X, y, weights)
    return Parts(splits, label, clusters)


def check_validation(validation: Any, n: int | None = None) -> None:
    """Raise an error for an invalid ``validation`` or, given n rows, for invalid splits.

    >>> check_validation(10)
    """
    if hasattr(validation, "get_n_splits"):
        return
    if isinstance(validation, Integral) and validation is not True and validation is not False:
        if validation < 2:
            raise InputError(f"validation={validation!r}; give two folds or more, or None.")
    elif isinstance(validation, str):
        if validation not in ("loo", "time"):
            raise _nothing_like(validation)
    elif not hasattr(validation, "__iter__") or getattr(validation, "ndim", 1) == 0:
        raise _nothing_like(validation)
    elif n is not None and isinstance(validation, Sequence):
        _checked(validation, n)


def _nothing_like(validation: Any) -> InputError:
    return InputError(
        f"validation={validation!r}; give a number of folds, 'loo', 'time', a scikit-learn "
        "splitter, a list of (train, test) rows, or None."
    )


def _checked(splits: Iterable[Any], n: int) -> list[tuple[Rows, Rows]]:
    """Return ascending row numbers of splits; no row may be on both sides."""
    everyone = np.arange(n)
    found = [checked_split("validation", pair, i, everyone) for i, pair in enumerate(splits)]
    if not found:
        raise InputError("validation yields no splits; give at least one.")
    if empty := [i for i, (train, _) in enumerate(found) if not len(train)]:
        raise InputError(f"validation: the training part of split {empty[0]} has no rows.")
    return [(np.sort(train), np.sort(test)) for train, test in found]


def in_time(n: int, gap: int = 0) -> Parts:
    """Return parts in time order, each predicted from all rows before it; the first one only
    trains. The last ``gap`` rows before a part do not train.

    The rows of a part form one cluster: errors of neighbouring rows are correlated, so standard
    errors are computed from differences between parts.
    """
    fewest = 3 * TIME_FEWEST + gap
    if n < fewest:
        raise InputError(f"validation='time' needs {fewest} rows, and there are {n}.")
    k = min(TIME_PARTS, n // (TIME_FEWEST + gap) - 1) or 1
    together: Rows = np.arange(n)
    splits = list(TimeSeriesSplit(k, gap=gap).split(together))
    clusters = together.copy()
    for _, test in splits:
        together[test] = clusters[test[0]]
    return Parts(splits, f"{k} parts in time order", together)


def _singly(X: Any, y: Any, weights: Any) -> Parts:
    """Return one part per case, in order of first occurrence."""
    counted = _counted(y, weights)
    case, _ = cases(X, y, counted)
    rows = np.flatnonzero(counted)
    order = rows[np.argsort(case[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(case[order])) + 1
    tests = sorted(np.split(order, ends), key=lambda test: int(test[0]))
    if len(tests) < 2:
        raise InputError("all samples are equal; there is nothing to hold out.")
    splits = [(np.setdiff1d(rows, test), test) for test in tests]
    return Parts(splits, "leave-one-out", case)


def _counted(y: Any, weights: Any) -> NDArray[np.bool_]:
    """Return the rows that count as samples."""
    return np.ones(len(y), dtype=bool) if weights is None else np.asarray(weights) > 0


def _warn_of_copies(splits: list[tuple[Rows, Rows]], X: Any, y: Any, weights: Any) -> None:
    """Warn that held-out rows have copies among the training rows."""
    counted = _counted(y, weights)
    case, _ = cases(X, y, counted)
    if len(np.unique(case[counted])) == counted.sum():
        return
    seen, known = np.zeros(len(case), dtype=bool), np.zeros(len(case), dtype=bool)
    for train, test in splits:
        known[:] = False
        known[case[train[counted[train]]]] = True
        seen[test] |= known[case[test]] & counted[test]
    if seen.any():
        warn_user(
            f"{seen.sum()} rows held out by validation have copies, in X and y, among the "
            "training rows, so their errors are too low. A number of folds holds "
            "out copies together, and so do groups."
        )


def _folds(
    k: int,
    X: Any,
    y: Any,
    groups: Any,
    weights: Any,
    clusters: Rows,
    classes: bool,
    repeats: int,
) -> Parts:
    if groups is not None:
        count = len(np.unique(clusters))
        k = _at_most(k, count, "groups")
        if k < 2:
            raise InputError("groups has only one group; give at least two.")
        repeats = repeats if k < count else 1  # one group at a time: there is one assignment
        deals = [GroupKFold(k)]
        deals += [GroupKFold(k, shuffle=True, random_state=r) for r in range(1, repeats)]
        splits = [split for deal in deals for split in deal.split(clusters, y, groups)]
        return Parts(splits, f"{k}-fold by groups", clusters, repeats)
    counted = _counted(y, weights)
    case, mark = cases(X, y, counted)
    first = np.unique(case[counted], return_index=True)[1]  # a row of every case
    k = _at_most(k, len(first), "different samples" if len(first) < len(y) else "samples")
    if k < 2:
        raise InputError("all samples are equal; there is nothing to hold out.")
    strata = strata_of(y, classes)[counted][first]
    repeats = repeats if k < len(first) else 1  # one case at a time: there is one assignment
    folds = [dealt(strata, k, mark, r)[case] for r in range(repeats)]
    tests = [(fold == part) & counted for fold in folds for part in range(k)]
    splits = [(np.flatnonzero(counted & ~test), np.flatnonzero(test)) for test in tests]
    return Parts(splits, f"{k}-fold", case, repeats, at_random=True)


def _at_most(k: int, count: int, what: str) -> int:
    """Return the number of folds, with a warning if there are fewer cases."""
    if k > max(count, USUAL):  # nobody asked for the usual number
        warn_user(f"validation={k} is more than the {count} {what}; using leave-one-out.")
    return min(k, count)


def _label(splitter: Any, number: int) -> str:
    name = type(splitter).__name__
    if name in ("KFold", "StratifiedKFold"):
        return f"{number}-fold"
    named = {"LeaveOneOut": "leave-one-out", "LeaveOneGroupOut": "leave-one-group-out"}
    return named.get(name, f"{number} splits of {name}")
