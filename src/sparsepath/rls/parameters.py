"""Checks of parameters: what was given, what is allowed, before anything is computed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.door import FEW_DIGITS, some_of
from sparsepath.data.door import refuse_extremes as refuse_extreme_targets
from sparsepath.errors import InputError, warn_user
from sparsepath.path import LONGEST_PATH, SelectionPath
from sparsepath.rls.design import Design

LARGEST = np.finfo(np.float64).max


def stop_rules(stop: Any) -> tuple[Callable[..., Any], ...]:
    """One rule or several."""
    if callable(stop) and not isinstance(stop, type):
        return (stop,)
    rules = None if isinstance(stop, (str, type)) or not isinstance(stop, Iterable) else tuple(stop)
    if rules is None or not all(callable(rule) and not isinstance(rule, type) for rule in rules):
        raise InputError(
            f"stop={stop!r}; give a rule such as Patience(3), a function of the trail, or a list "
            "of them."
        )
    return rules


def costs_of(feature_costs: Any, n: int) -> Floats:
    """What every feature costs: given, or one."""
    if feature_costs is None:
        return np.ones(n)
    try:
        of = np.asarray(feature_costs, dtype=np.float64)
    except (TypeError, ValueError):
        of = np.full(0, np.nan)
    if of.shape != (n,) or not (np.isfinite(of) & (of > 0)).all():
        shown = f"shape {of.shape}" if of.size and of.ndim else repr(feature_costs)
        raise InputError(
            f"feature_costs must be {n} finite numbers above zero, one per feature; given: {shown}."
        )
    return of


def rule_for(choose: Any, paths: Mapping[float, SelectionPath]) -> Any:
    """The rule by which a size is chosen; "min" for "one_se" where no standard error is known."""
    if isinstance(choose, str) and choose == "one_se" and not _has_se(paths.values()):
        return "min"
    return choose


def warn_without_se(choose: Any, paths: Mapping[float, SelectionPath], how: str) -> None:
    """Say that the rule of one standard error could not be used."""
    if rule_for(choose, paths) != choose:
        warn_user(
            f"choose='one_se' needs a standard error, and {how} has none: the size of the least "
            "error is used instead. Use choose='min', or splits whose test parts differ."
        )


def _has_se(paths: Iterable[SelectionPath]) -> bool:
    return any(math.isfinite(step.error_se) for path in paths for step in path.steps)


# Numbers that floating point cannot square --------------------------------------------------------


def refuse_extremes(design: Design, Y: Floats, names: NDArray[Any] | None) -> None:
    """Columns whose squares are infinite are refused, as targets are; others are told of."""
    refuse_extreme_targets(Y)
    refuse_wide(design, names)
    faint = np.flatnonzero(design.sizes**2 < FEW_DIGITS * design.scales**2)
    tiny = np.zeros(design.n_features, dtype=bool)
    counted = design.weights > 0
    for i in faint.tolist():
        tiny[i] = np.any(np.concatenate([b.columns([i])[:, 0] for b in design.blocks])[counted])
    if tiny.any():
        design.constant = design.constant | tiny
        warn_user(
            f"column {_which(tiny, names)} has numbers whose squares floating point cannot hold "
            "(1e-150 and less) and counts as constant; divide by their size."
        )


def refuse_wide(design: Design, names: NDArray[Any] | None) -> None:
    """Columns whose squares are infinite are refused."""
    wide = ~np.isfinite(design.squares) | ~np.isfinite(design.sizes)
    if wide.any():
        raise InputError(
            f"column {_which(wide, names)} has numbers whose squares floating point cannot hold "
            "(1e150 and more); divide by their size."
        )


def warn_still(still: NDArray[np.bool_], names: NDArray[Any] | None) -> None:
    """Say which candidates are passed over because of a single training part."""
    if still.any():
        warn_user(
            f"column {_which(still, names)} does not vary in some training part of cv, cannot be "
            "judged there and so is passed over everywhere; use a penalty alpha above zero, or "
            "other splits."
        )


def _which(mask: NDArray[np.bool_], names: NDArray[Any] | None) -> str:
    columns: Sequence[Any] = np.flatnonzero(mask).tolist()
    return some_of(columns if names is None else names[columns])


def longest(groups: Sequence[tuple[int, ...]]) -> int:
    """The most columns of a path whose length was left open: every group counts as a feature."""
    return sum(sorted(map(len, groups))[-LONGEST_PATH:]) if groups else LONGEST_PATH
