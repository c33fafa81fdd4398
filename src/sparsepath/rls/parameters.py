"""Validate user parameters and create a ``SearchSpec``."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from sparsepath.base.parameters import file_name, flag, function, number, one_of
from sparsepath.data.classes import encode, encode_targets
from sparsepath.data.columns import Names, warn_tiny
from sparsepath.data.splits import Split
from sparsepath.data.validation import (
    FEW_DIGITS,
    check_labels,
    check_target,
    column_indices,
    named_columns,
    refuse_wide,
)
from sparsepath.errors import InputError, warn_user
from sparsepath.path.choosing import check_rule, is_size
from sparsepath.path.selection_path import LONGEST_PATH, SelectionPath
from sparsepath.rls.constraints import Constraints, parents_of
from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.folds.splits import Splits, criterion_name, label_of, read_splits
from sparsepath.rls.groups import members_of
from sparsepath.rls.history import Rule
from sparsepath.rls.searches import EPSILON, SEARCHES, TIMED
from sparsepath.rls.update import Costs, column_mask
from sparsepath.system.arrays import Floats, Indices, Vector, floats


@dataclass(frozen=True)
class SearchSpec:
    """Search parameters, shared by all penalties.

    ``size`` is the size at which the search ends, and ``most`` the largest size of a backward path;
    ``names`` are for messages.
    """

    search: str = "forward"
    size: int = 1
    most: float = np.inf
    loss: Criterion = SQUARED
    candidates: Sequence[int] = ()
    forced: tuple[int, ...] = ()
    start: tuple[int, ...] = ()
    parents: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    epsilon: float | None = None
    splits: Sequence[Split] | None = None
    pooled: bool = False
    queries: NDArray[np.intp] | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    costs: Costs | None = None
    rules: tuple[Rule, ...] = ()
    seconds: float = np.inf  # for searches that take a time budget
    form: str = "auto"
    memory: float | None = None
    names: tuple[str, ...] | None = None
    wanted: int = 0  # a size that was asked for: the search goes on to it, whatever the error

    @property
    def backward(self) -> bool:
        return self.search == "backward"

    def named(self, columns: Iterable[int]) -> str:
        """Return columns for a message."""
        return named_columns(columns, self.names)

    def name(self) -> str:
        """Return a key of everything that determines the moves."""
        columns = tuple(self.candidates)
        plain = (self.search, self.size, self.loss.key, columns, self.forced, self.epsilon)
        more = (self.pooled, self.groups, self.start, sorted(self.parents.items()))
        digest = hashlib.blake2b(repr((*plain, *more)).encode(), digest_size=12)
        if self.queries is not None:
            digest.update(b"ranking" + self.queries.tobytes())
        if self.splits is not None:
            digest.update(label_of(self.splits).encode())
        for train, test in self.splits or ():
            digest.update(np.asarray(train).tobytes() + b"/" + np.asarray(test).tobytes())
        if self.costs is not None:
            digest.update(self.costs.of.tobytes() + repr(self.costs.budget).encode())
        return digest.hexdigest()

    @property
    def criterion(self) -> str:
        """Return the name of the criterion: how samples are left out, and the loss."""
        how = "leave-pair-out" if self.loss.pairs else "leave-one-out"
        if self.splits is not None:
            how = label_of(self.splits)
        if self.queries is not None and self.splits is not None:
            how = how.replace(" by groups", "")  # the folds of a ranking keep queries whole anyway
            queries = self.queries
            single = all(len(np.unique(queries[test])) == 1 for _, test in self.splits)
            if queries.any() and single and len(self.splits) > 1:
                how = "leave-query-out"
        return criterion_name(how, self.loss.label)

    def sets(self, constant: NDArray[np.bool_]) -> Constraints:
        """Return the constraints on subsets of the path."""
        return Constraints(
            self.candidates,
            constant,
            forced=self.forced,
            groups=self.groups,
            parents=self.parents,
            costs=self.costs,
            most=self.most if self.backward else self.size,
        )


@dataclass(frozen=True, eq=False)
class Parameters:
    """Validated parameters of a search; raises ``InputError`` if they are invalid.

    ``of`` has the parameters by the names of ``SparseRLSRegressor`` (an estimator or a function
    call); ``criterion`` is the loss; ``cv`` can be read repeatedly.
    """

    of: Any
    criterion: Criterion
    cv: Any

    def __post_init__(self) -> None:
        asked = self.of
        one_of("search", asked.search, SEARCHES)
        for name in ("fit_intercept", "standardize", "pooled"):
            flag(name, getattr(asked, name))
        if asked.epsilon is not None:
            number("epsilon", asked.epsilon)
            if asked.search not in EPSILON:
                raise InputError(
                    f"epsilon={asked.epsilon!r} is for search='forward' and 'floating', and search "
                    f"is {asked.search!r}; remove it, or use stop=Tolerance(...)."
                )
        self._check_time()
        if asked.memory_budget is not None:
            number("memory_budget", asked.memory_budget, finite=False)
        function("callback", asked.callback)
        file_name("checkpoint", getattr(asked, "checkpoint", None))
        stop_rules(asked.stop)
        check_rule(self.choose)
        _ = self.most

    def _check_time(self) -> None:
        """Raise an error for a time budget or checkpoint that the search does not support."""
        asked = self.of
        if asked.search in TIMED:
            if getattr(asked, "checkpoint", None) is not None:
                raise InputError(
                    f"search={asked.search!r} does not support checkpoints; remove checkpoint, or "
                    "use search='swap'."
                )
            if asked.time_budget is not None:
                number("time_budget", asked.time_budget, finite=False)
        elif asked.time_budget is not None:
            raise InputError(
                f"time_budget={asked.time_budget!r} is for search={' or '.join(map(repr, TIMED))}, "
                f"and search is {asked.search!r}; remove it, or change the search."
            )

    @property
    def choose(self) -> Any:
        """Rule that chooses a size; None for functions."""
        return getattr(self.of, "choose", "min")

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the columns."""
        return getattr(self.of, "feature_names_in_", None)

    @property
    def most(self) -> float:
        """Largest size of a path."""
        count = self.of.max_features
        if count is None:
            return np.inf
        if isinstance(count, bool) or not isinstance(count, Integral) or int(count) < 0:
            raise InputError(f"max_features={count!r}; give a whole number from 0 up, or None.")
        return int(count)

    def spec(
        self,
        X: Any,
        labels: Vector,
        groups: Vector,
        design: Design,
        queries: Indices | None = None,
    ) -> SearchSpec:
        """Return the search parameters for these data."""
        asked, n, names = self.of, design.n_features, self.names
        forced, start, forbidden = self._columns(design)
        closed = set(forbidden)
        given: dict[str, Any] = {
            "search": asked.search,
            "most": self.most,
            "loss": self.criterion,
            "candidates": tuple(i for i in range(n) if i not in closed) if closed else range(n),
            "forced": tuple(forced),
            "start": tuple(i for i in start if i not in set(forced)),
            "parents": parents_of(asked.parents, names, n),
            "epsilon": asked.epsilon,
            "groups": members_of(asked.feature_groups, n),
            "costs": self._costs(n),
            "rules": stop_rules(asked.stop),
            "seconds": np.inf if asked.time_budget is None else float(asked.time_budget),
            "splits": None if design.streamed else self._splits(X, labels, groups, design.weights),
            "pooled": asked.pooled,
            "queries": queries,
            "memory": asked.memory_budget,
            "names": None if names is None else tuple(names),
            "wanted": int(self.choose) if is_size(self.choose) else 0,
        }
        return SearchSpec(size=self._size(given, design), **given)

    def _columns(self, design: Design) -> tuple[list[int], list[int], list[int]]:
        """Return forced, start and forbidden columns."""
        names = self.names
        forced, start, forbidden = (
            column_indices(getattr(self.of, what), names, design.n_features, what)
            for what in ("forced", "start", "forbidden")
        )
        for what, columns in (("forced", forced), ("in the start set", start)):
            if both := set(columns) & set(forbidden):
                raise InputError(
                    f"column {named_columns(both, names)} is both {what} and forbidden."
                )
            if constant := [i for i in columns if design.constant[i]]:
                raise InputError(
                    f"column {named_columns(constant, names)} is constant and cannot be {what}."
                )
        return forced, start, forbidden

    def _size(self, asked: dict[str, Any], design: Design) -> int:
        """Return the largest size of a search; raise an error if no path can reach it."""
        down, most, least, given = asked["search"] == "backward", asked["most"], 0, 0
        if asked["forced"] or asked["start"] or asked["costs"] is not None:
            spec = SearchSpec(**{**asked, "search": "backward"})
            sets = spec.sets(design.constant)
            sets.check(spec.start, spec.named, down=down)
            least = len(sets.in_order(spec.forced))
            given = len(sets.in_order((*spec.forced, *spec.start)))
        offered = column_mask(asked["candidates"], design.n_features)
        usable = int(np.count_nonzero(offered & ~design.constant))
        if self.of.max_features is None and self.of.budget is None and not down:
            most = max(given, longest(asked["groups"]))
        self._check_choice(least, most, design.n_features)
        if down:
            return least
        if self.of.max_features is None:
            # With a sample left out there must be more samples than coefficients.
            room = design.n_counted - 1 - int(design.fit_intercept)
            return int(max(given, min(usable, most, room)))
        return int(min(most, usable))

    def _check_choice(self, least: int, most: float, n: int) -> None:
        """Raise an error for a size that no path can have."""
        if not is_size(size := self.choose) or least <= size <= min(most, n):
            return
        why = f"there are only {n} features"
        if size < 0:
            why = "sizes go from 0 up"
        elif size < least:
            why = f"{least} features are forced"
        elif size > most:
            why = f"max_features={self.of.max_features}"
            if self.of.max_features is None:
                why += f" goes to {most} at most, give a larger one"
        raise InputError(f"choose={size!r} is a size that no path can have: {why}.")

    def _costs(self, n: int) -> Costs | None:
        if self.of.feature_costs is None and self.of.budget is None:
            return None
        budget = np.inf
        if self.of.budget is not None:
            budget = number("budget", self.of.budget, finite=False)
        return Costs(costs_of(self.of.feature_costs, n), budget)

    def _splits(self, X: Any, labels: Any, groups: Vector, weights: Floats) -> Splits | None:
        """Return the splits of ``cv``; None for leave-one-out."""
        classes = self.criterion.coded or isinstance(self.of, ClassifierMixin)
        singly = not self.criterion.pairs
        more: dict[str, Any] = {"classifier": classes, "leave_one_out": singly, "weights": weights}
        return read_splits(self.cv, X, labels, groups, **more)


def penalty(alpha: Any) -> float:
    """Return a finite penalty of at least zero, or raise an error."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 <= float(alpha) < np.inf:
        raise InputError(f"alpha={alpha!r}; penalties must be finite numbers, zero or more.")
    return float(alpha)


def targets_of(y: Any, weights: Floats, loss: Criterion) -> Floats:
    """Return targets in the form of a criterion, m x T: numbers, or class labels as +-1."""
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
    return encode_targets(codes, len(classes))


def stop_rules(stop: Any) -> tuple[Callable[..., Any], ...]:
    """Return stopping rules as a list; one or several are allowed."""
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
    """Return the cost of every feature; default: one."""
    if feature_costs is None:
        return np.ones(n)
    try:
        of = floats(feature_costs)
    except (TypeError, ValueError):
        of = np.full(0, np.nan)
    if of.shape != (n,) or not (np.isfinite(of) & (of > 0)).all():
        shown = f"shape {of.shape}" if of.size and of.ndim else repr(feature_costs)
        raise InputError(
            f"feature_costs must be {n} finite numbers above zero, one per feature; given: {shown}."
        )
    return of


def rule_for(choose: Any, paths: Mapping[float, SelectionPath]) -> Any:
    """Return the rule that chooses the size: "min" instead of "one_se" without a standard error."""
    one_se = isinstance(choose, str) and choose == "one_se"
    errors_se = (se for path in paths.values() for se in path.errors_se.tolist())
    return "min" if one_se and not any(map(math.isfinite, errors_se)) else choose


def warn_without_se(choose: Any, paths: Mapping[float, SelectionPath], how: str) -> None:
    """Warn that "one_se" could not be used."""
    if rule_for(choose, paths) != choose:
        warn_user(
            f"choose='one_se' needs a standard error, and {how} has none: the size with the "
            "minimum error is used instead. Use choose='min', or splits whose test parts differ."
        )


# Numbers that floating point cannot square --------------------------------------------------------


def check_squares(design: Design, names: Names) -> None:
    """Raise an error if squares of a column overflow; warn if they underflow."""
    refuse_overflows(design, names)
    faint = (design.sizes < math.sqrt(FEW_DIGITS) * design.scales).nonzero()[0]
    if not len(faint):
        return
    tiny = np.zeros(design.n_features, dtype=bool)
    counted = design.weights > 0
    for i in faint.tolist():
        tiny[i] = np.any(np.concatenate([b.columns([i])[:, 0] for b in design.blocks])[counted])
    design.constant = design.constant | tiny
    warn_tiny(tiny, names)


def refuse_overflows(design: Design, names: Names) -> None:
    """Raise an error for columns whose squares are infinite."""
    refuse_wide(~np.isfinite(design.squares + design.sizes), names)


def warn_still(spec: SearchSpec, sums: SplitSums | None, alphas: Sequence[float]) -> None:
    """Warn about candidates that are skipped because of a single training fold."""
    if sums is None or spec.backward:
        return
    still = sums.still(min(alphas))
    passed = np.flatnonzero(still & column_mask(spec.candidates, len(still)))
    if len(passed):
        warn_user(
            f"column {spec.named(passed)} is constant in a training fold of cv, cannot be "
            "evaluated there and is skipped everywhere; use a penalty alpha above zero, or "
            "other splits."
        )


def longest(groups: Sequence[tuple[int, ...]]) -> int:
    """Return the default maximum size of a path; every group counts as a feature."""
    return sum(sorted(map(len, groups))[-LONGEST_PATH:]) if groups else LONGEST_PATH
