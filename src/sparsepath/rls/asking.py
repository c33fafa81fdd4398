"""From what a user asks to a ``Task``: parameters checked, columns found, sizes settled."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.arrays import Floats
from sparsepath.choosing import is_size
from sparsepath.classes import coded, encode
from sparsepath.data.door import FEW_DIGITS, check_labels, check_target, column_indices, some_of
from sparsepath.data.door import refuse_extremes as refuse_extreme_targets
from sparsepath.errors import InputError, warn_user
from sparsepath.faces.parameters import flag, function, number, one_of
from sparsepath.path import LONGEST_PATH, SelectionPath
from sparsepath.rls.constraints import marked, parents_of
from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.design import Design
from sparsepath.rls.search import SEARCHES
from sparsepath.rls.splits.asked import Splits, leaves_out_singly, read_splits
from sparsepath.rls.task import Task
from sparsepath.rls.update import Costs
from sparsepath.rls.wrappers.groups import members_of


@dataclass(frozen=True, eq=False)
class Asked:
    """What a search is asked for, as ``SparseRLSRegressor`` names it; ``criterion`` is the loss."""

    criterion: Criterion
    max_features: Any = None
    choose: Any = "min"
    search: Any = "forward"
    cv: Any = "loo"
    forced: Any = None
    forbidden: Any = None
    start: Any = None
    parents: Any = None
    feature_groups: Any = None
    feature_costs: Any = None
    budget: Any = None
    stop: Any = ()
    epsilon: Any = None
    pooled: Any = False
    memory_budget: Any = None
    fit_intercept: Any = True
    standardize: Any = True
    callback: Any = None

    @classmethod
    def of(cls, estimator: Any, **more: Any) -> "Asked":
        """The parameters of an estimator, some of them replaced."""
        names = {field.name for field in dataclasses.fields(cls)} - more.keys()
        known = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
        return cls(**known, **more)

    def check(self) -> None:
        """What can be said without the data."""
        one_of("search", self.search, SEARCHES)
        for name in ("fit_intercept", "standardize", "pooled"):
            flag(name, getattr(self, name))
        if self.epsilon is not None:
            number("epsilon", self.epsilon)
            if self.search != "floating":
                raise InputError(
                    f"epsilon={self.epsilon!r} is for search='floating', and search is "
                    f"{self.search!r}; leave it out, or use stop=Tolerance(...)."
                )
        if self.memory_budget is not None:
            number("memory_budget", self.memory_budget, finite=False)
        function("callback", self.callback)
        stop_rules(self.stop)

    def task(
        self,
        X: Any,
        labels: ArrayLike,
        groups: ArrayLike | None,
        names: NDArray[Any] | None,
        design: Design,
        *,
        classifier: bool,
    ) -> Task:
        """What is asked, of these data."""
        n = design.n_features
        forced, start, forbidden = self._columns(names, design)
        closed = set(forbidden)
        task = Task(
            search=self.search,
            most=self._most(),
            loss=self.criterion,
            candidates=tuple(i for i in range(n) if i not in closed) if closed else range(n),
            forced=tuple(forced),
            start=tuple(i for i in start if i not in set(forced)),
            parents=parents_of(self.parents, names, n),
            epsilon=self.epsilon,
            groups=self._groups(n),
            costs=self._costs(n),
            rules=stop_rules(self.stop),
            splits=None if design.streamed else self._splits(X, labels, groups, design, classifier),
            pooled=self.pooled,
            memory=self.memory_budget,
            names=None if names is None else tuple(names),
            wanted=int(self.choose) if is_size(self.choose) else 0,
        )
        return self._sized(task, design)

    def _columns(
        self, names: NDArray[Any] | None, design: Design
    ) -> tuple[list[int], list[int], list[int]]:
        """The columns that are forced, started from and forbidden."""
        n = design.n_features

        def named(columns: Iterable[int]) -> str:
            return some_of(sorted(columns) if names is None else names[sorted(columns)])

        forced = column_indices(self.forced, names, n, "forced")
        start = column_indices(self.start, names, n, "start")
        forbidden = column_indices(self.forbidden, names, n, "forbidden")
        for what, columns in (("forced", forced), ("in the start set", start)):
            if both := set(columns) & set(forbidden):
                raise InputError(f"column {named(both)} is both {what} and forbidden.")
            if constant := [i for i in columns if design.constant[i]]:
                raise InputError(f"column {named(constant)} is constant and cannot be {what}.")
        return forced, start, forbidden

    def _most(self) -> float:
        """The largest size that a path may have."""
        if self.max_features is None:
            return np.inf
        count = self.max_features
        if isinstance(count, bool) or not isinstance(count, Integral) or int(count) < 0:
            raise InputError(f"max_features={count!r}; give a whole number from 0 up, or None.")
        return int(count)

    def _sized(self, task: Task, design: Design) -> Task:
        """The task with the size to which the search goes; refused if no path can be so."""
        down, most, least, given = task.backward, task.most, 0, 0
        if task.forced or task.start or task.costs is not None:
            sets = dataclasses.replace(task, search="backward").sets(design.constant)
            sets.check(task.start, task.named, down=down)
            least = len(sets.in_order(task.forced))
            given = len(sets.in_order((*task.forced, *task.start)))
        offered = marked(task.candidates, design.n_features)
        usable = int(np.count_nonzero(offered & ~design.constant))
        if self.max_features is None and self.budget is None and not down:
            most = max(given, longest(task.groups))
        self._check_choice(least, most, design.n_features)
        if down:
            size = least
        elif self.max_features is None:
            # With a sample left out there must be more samples than coefficients.
            room = design.n_counted - 1 - int(design.fit_intercept)
            size = int(max(given, min(usable, most, room)))
        else:
            size = int(min(most, usable))
        return dataclasses.replace(task, size=size)

    def _check_choice(self, least: int, most: float, n: int) -> None:
        """Refuse a size that no path can have; one that the path then has not is another matter."""
        if not is_size(size := self.choose) or least <= size <= min(most, n):
            return
        why = f"there are only {n} features"
        if size < 0:
            why = "sizes go from 0 up"
        elif size < least:
            why = f"{least} features are forced"
        elif size > most:
            why = f"max_features={self.max_features}"
            if self.max_features is None:
                why += f" goes to {most} at most, give a larger one"
        raise InputError(f"choose={size!r} is a size that no path can have: {why}.")

    def _groups(self, n: int) -> tuple[tuple[int, ...], ...]:
        if self.feature_groups is None:
            return ()
        return tuple(map(tuple, members_of(self.feature_groups, n)))

    def _costs(self, n: int) -> Costs | None:
        if self.feature_costs is None and self.budget is None:
            return None
        budget = np.inf
        if self.budget is not None:
            budget = number("budget", self.budget, finite=False)
        return Costs(costs_of(self.feature_costs, n), budget)

    def _splits(
        self, X: Any, labels: ArrayLike, groups: ArrayLike | None, design: Design, classifier: bool
    ) -> Splits | None:
        """The splits of ``cv``; None if samples are left out one at a time."""
        singly = leaves_out_singly(self.criterion, design.weights, pooled=self.pooled)
        return read_splits(self.cv, X, labels, groups, classifier=classifier, leave_one_out=singly)


def penalty(alpha: Any) -> float:
    """A finite number, zero or more."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 <= float(alpha) < np.inf:
        raise InputError(f"alpha={alpha!r}; penalties must be finite numbers, zero or more.")
    return float(alpha)


def targets_of(y: Any, weights: Floats, loss: Criterion) -> Floats:
    """Targets as a criterion needs them, m x T: numbers, or class labels as +-1."""
    if not loss.coded:
        return check_target(y, len(weights))[0]
    if np.ndim(y) > 1 and np.shape(y)[1] > 1:
        raise InputError(
            f"loss={loss.name!r} counts mistakes: give y as one class label for each sample; it "
            f"has {np.shape(y)[1]} columns."
        )
    labels = check_labels(y, len(weights))
    classes, codes = encode(labels, weights)
    if len(classes) < 2 or (len(classes) > 2 and not loss.several):
        needed = "at least two classes" if loss.several else "two classes"
        raise InputError(f"loss={loss.name!r} needs {needed}; y has {len(classes)}.")
    return coded(codes, len(classes))


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
