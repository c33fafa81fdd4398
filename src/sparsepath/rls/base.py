"""What the estimators of sparse least squares share: parameters, search, choice of a size."""

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.choosing import check_rule, is_size
from sparsepath.data.blocks import Floats
from sparsepath.data.door import (
    check_features,
    column_indices,
    some_of,
)
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import flag, function, number, one_of
from sparsepath.judging.yardsticks import Yardstick
from sparsepath.path import CUT, SelectionPath
from sparsepath.rls.alphas import alpha_grid, loo_errors
from sparsepath.rls.constraints import parents_of
from sparsepath.rls.criteria.losses import Criterion, Loss
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.criteria.table import criterion_of
from sparsepath.rls.design import Design
from sparsepath.rls.parameters import (
    costs_of,
    longest,
    refuse_extremes,
    rule_for,
    stop_rules,
    warn_still,
    warn_without_se,
)
from sparsepath.rls.paths import (
    Task,
    constraints_of,
    counted,
    data_of,
    finish,
    make_design,
    make_sums,
    run,
    so_far,
)
from sparsepath.rls.search import SEARCHES, Trail
from sparsepath.rls.splits.asked import Splits, leaves_out_singly, read_splits
from sparsepath.rls.surface import Surface
from sparsepath.rls.update import Costs
from sparsepath.rls.wrappers.groups import members_of
from sparsepath.running import CallbackSupportMixin, Given
from sparsepath.running.validation import validated
from sparsepath.selector import PathSelector
from sparsepath.watching import is_watched, tell

METHODS = {
    "forward": "greedy-rls",
    "floating": "floating-rls",
    "backward": "backward-rls",
    "swap": "swap-rls",
}


class SparseRLS(PathSelector, CallbackSupportMixin, BaseEstimator):
    """A linear model on chosen features; the regressor and the classifier say of what kind."""

    _known: Mapping[str, Criterion]

    def __init__(
        self,
        max_features: int | None = None,
        *,
        choose: str | int | float = "one_se",
        validation: Any = "auto",
        alpha: float | str | Sequence[float] = 1.0,
        search: str = "forward",
        cv: Any = "loo",
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        standardize: bool = True,
        forced: Sequence[int] | Sequence[str] | None = None,
        forbidden: Sequence[int] | Sequence[str] | None = None,
        start: Sequence[int] | Sequence[str] | None = None,
        parents: Mapping[Any, Sequence[Any]] | None = None,
        feature_groups: ArrayLike | None = None,
        feature_costs: ArrayLike | None = None,
        budget: float | None = None,
        stop: Callable[[Trail], str | None] | Sequence[Callable[[Trail], str | None]] = (),
        epsilon: float | None = None,
        pooled: bool = False,
        memory_budget: float | None = None,
        n_threads: int | None = None,
        callback: Callable[[SelectionPath], object] | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.max_features = max_features
        self.choose = choose
        self.validation = validation
        self.alpha = alpha
        self.search = search
        self.cv = cv
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.forced = forced
        self.forbidden = forbidden
        self.start = start
        self.parents = parents
        self.feature_groups = feature_groups
        self.feature_costs = feature_costs
        self.budget = budget
        self.stop = stop
        self.epsilon = epsilon
        self.pooled = pooled
        self.memory_budget = memory_budget
        self.n_threads = n_threads
        self.callback = callback
        self.checkpoint = checkpoint

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Fitting ------------------------------------------------------------------------------------

    @property
    def _criterion(self) -> Criterion:
        return criterion_of(self.loss, self._known)

    @property
    def _yardstick(self) -> str | Yardstick:
        return self._criterion.yardstick

    def _fit(self, X: Any, Y: Floats, weights: Floats, labels: ArrayLike, given: Given) -> Self:
        self._check_parameters()
        names, groups = getattr(self, "feature_names_in_", None), given.more.get("groups")
        check_rule(self.choose)
        with Threads(self.n_threads) as threads:
            design = make_design(
                X,
                weights,
                threads,
                fit_intercept=self.fit_intercept,
                standardize=self.standardize,
                memory=self.memory_budget,
            )
            refuse_extremes(design, Y, names)
            task = counted(design, Y, self._task(X, labels, groups, names, design))
            alphas = self._alphas(design, Y, task.candidates)
            sums = make_sums(design, Y, task)
            if sums is not None and self.search != "backward":
                candidate = np.isin(np.arange(design.n_features), task.candidates)
                warn_still(candidate & sums.still(min(alphas)), names)
            moves = (task.size - len(task.forced)) * len(alphas)
            count = moves if self.search == "forward" else None
            context = self._init_callback_context(max_subtasks=count)
            context.call_on_fit_task_begin(estimator=self, X=X, y=labels)
            paths: dict[float, SelectionPath] = {}
            for alpha in alphas:
                about = self._about(alpha, names)
                checkpoint = self._checkpoint(alpha, len(alphas))
                watch = self._watch(context, design, task, labels, about)
                trail = run(design, Y, alpha, task, watch=watch, checkpoint=checkpoint, sums=sums)
                paths[alpha] = finish(trail, design, task, labels, names=names, **about)
                if trail.stopped in CUT:
                    break
        settled = copy.copy(self)  # all of it or nothing, whenever Ctrl-C comes
        settled._settle(dict(paths))
        settled._validate(given)
        self.__dict__.update(vars(settled))
        if self.honest_ is None:
            warn_without_se(self.choose, self.paths_, task.criterion)
        context.call_on_fit_task_end(estimator=self, X=X, y=labels)
        return self

    def _settle(self, paths: dict[float, SelectionPath]) -> None:
        """Take the best penalty and size, and the model that goes with them."""
        self.paths_ = paths
        self.alpha_, size = Surface(paths).settle(rule_for(self.choose, paths))
        self.path_ = paths[self.alpha_]
        self._take(size)

    def _validate(self, given: Given) -> None:
        """Honest errors for the path in use, and the size that they choose."""
        self.honest_ = None
        if all(path.complete for path in self.paths_.values()):
            path, self.honest_ = validated(
                self, self.path_, self.choose, given.X, given.y, given.more, self._ask
            )
            self.path_ = self.paths_[self.alpha_] = path
        if self.honest_ is not None:
            self._take(self.honest_.size)

    def _ask(self, done: int, of: int) -> object:
        """Whether the callback wants the validation to end."""
        return self.callback is not None and self.callback(self.path_)

    @property
    def surface_(self) -> Surface:
        """The errors over penalties and sizes."""
        return Surface(self.paths_)

    def _take(self, size: int) -> None:
        step = self.path_.step(size)
        assert step.coef is not None
        assert step.intercept is not None
        self.selected_ = np.array(step.subset, dtype=np.intp)
        coef = np.zeros((step.coef.shape[1], self.n_features_in_))
        coef[:, self.selected_] = step.coef.T
        self._set_model(coef, step.intercept.copy())

    def _set_model(self, coef: Floats, intercept: Floats) -> None:
        raise NotImplementedError

    def at_size(self, size: int, alpha: float | None = None) -> Self:
        """A copy of this fitted estimator that uses the best model of another size.

        Parameters
        ----------
        size : int
            One of the path's ``sizes``.
        alpha : float, optional
            Another penalty of ``paths_``.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        if alpha is not None:
            if alpha not in self.paths_:
                known = ", ".join(map(repr, self.paths_))
                raise InputError(f"no path for alpha={alpha!r}; there is one for {known}.")
            other.alpha_, other.path_ = alpha, self.paths_[alpha]
        return PathSelector.at_size(other, size)

    def _task(
        self,
        X: Any,
        labels: ArrayLike,
        groups: ArrayLike | None,
        names: NDArray[Any] | None,
        design: Design,
    ) -> Task:
        n = design.n_features
        forced, start, forbidden = self._columns(names, design)
        splits = None if design.streamed else self._splits(X, labels, groups, design)
        task = Task(
            search=self.search,
            most=self._most(),
            loss=self._criterion,
            candidates=tuple(i for i in range(n) if i not in set(forbidden)),
            forced=tuple(forced),
            start=tuple(i for i in start if i not in set(forced)),
            parents=parents_of(self.parents, names, n),
            epsilon=self.epsilon,
            groups=self._groups(n),
            costs=self._costs(n),
            rules=stop_rules(self.stop),
            splits=splits,
            pooled=self.pooled,
            memory=self.memory_budget,
            names=None if names is None else tuple(names),
            wanted=int(self.choose) if is_size(self.choose) else 0,
        )
        return self._sized(task, design)

    def _columns(
        self, names: NDArray[Any] | None, design: Design
    ) -> tuple[list[int], list[int], list[int]]:
        """The columns that are forced, started from and forbidden, checked."""
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
        if not _is_count(self.max_features):
            raise InputError(
                f"max_features={self.max_features!r}; give a whole number from 0 up, or None."
            )
        return int(self.max_features)

    def _sized(self, task: Task, design: Design) -> Task:
        """The task with the size to which the search goes; refused if no path can be so."""
        sets = constraints_of(dataclasses.replace(task, search="backward"), design)
        down = task.backward
        sets.check(task.start, task.named, down=down)
        least = len(sets.in_order(task.forced))
        usable = int(np.count_nonzero(~design.constant[list(task.candidates)]))
        given = len(sets.in_order((*task.forced, *task.start)))
        most = task.most
        if self.max_features is None and self.budget is None and not down:
            most = max(given, longest(task.groups))
        self._check_choice(least, most, design.n_features)
        if down:
            size = least
        elif self.max_features is None:
            # With a sample left out there must be more samples than coefficients.
            room = design.n_counted - 1 - int(self.fit_intercept)
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
        self, X: Any, labels: ArrayLike, groups: ArrayLike | None, design: Design
    ) -> Splits | None:
        """The splits of ``cv``; None if samples are left out one at a time."""
        cv = self.cv
        if hasattr(cv, "__next__"):  # a generator can be used once; what it gave is kept
            if getattr(self, "_drawn", (None,))[0] is not cv:
                self._drawn = (cv, list(cv))
            cv = self._drawn[1]
        classifier = isinstance(self, ClassifierMixin)
        plain = self._leaves_out_singly(design.weights)
        return read_splits(cv, X, labels, groups, classifier=classifier, leave_one_out=plain)

    def _leaves_out_singly(self, weights: Floats) -> bool:
        return leaves_out_singly(self._criterion, weights, pooled=self.pooled)

    def _check_parameters(self) -> None:
        """What can be said of the parameters without the data."""
        criterion_of(self.loss, self._known)
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
        if getattr(self, "memory_budget", None) is not None:
            number("memory_budget", self.memory_budget, finite=False)
        function("callback", self.callback)
        stop_rules(self.stop)

    def _alphas(self, design: Design, Y: Floats, candidates: Sequence[int]) -> list[float]:
        """The penalties to search with."""
        if isinstance(self.alpha, str):
            if self.alpha != "loo":
                raise InputError(
                    f"alpha={self.alpha!r}; use a number, a list of numbers, or 'loo'."
                )
            if design.streamed:
                raise InputError(
                    "alpha='loo' needs data in memory; give a list of penalties, which share the "
                    "passes of k-fold cross-validation."
                )
            grid = alpha_grid(design, candidates)
            loss = self._criterion
            loss = loss if isinstance(loss, Loss) else SQUARED
            errors = loo_errors(design, Y, grid, loss, candidates)
            self.alpha_errors_ = dict(zip(grid.tolist(), errors.tolist(), strict=True))
            # Chosen with all features, used with few: of equal penalties the weakest.
            return [float(grid[errors.argmin()])]
        given: list[Any] = np.ravel(np.asarray(self.alpha, dtype=object)).tolist()
        if not given:
            raise InputError("alpha is an empty list; give at least one penalty.")
        for value in given:
            if (
                isinstance(value, bool)
                or not isinstance(value, Real)
                or not 0 <= float(value) < np.inf
            ):
                raise InputError(
                    f"alpha={value!r}; penalties must be finite numbers, zero or more."
                )
        return [float(value) for value in given]

    def _about(self, alpha: float, names: Sequence[str] | None) -> dict[str, Any]:
        told = self.get_params(deep=False)
        skipped = ("callback", "checkpoint", "n_threads", "memory_budget", "alpha", "stop")
        parameters = {name: value for name, value in told.items() if name not in skipped}
        return {"method": METHODS[self.search], "parameters": {**parameters, "alpha": alpha}}

    def _checkpoint(self, alpha: float, n_alphas: int) -> Path | None:
        """The file of this penalty; one per penalty if there are several."""
        if self.checkpoint is None:
            return None
        path = Path(self.checkpoint)
        return path if n_alphas == 1 else path.with_name(f"{path.stem}-{alpha!r}{path.suffix}")

    def _watch(
        self,
        context: Any,
        design: Design,
        task: Task,
        y: ArrayLike,
        about: dict[str, Any],
    ) -> Callable[[Trail], bool] | None:
        """What is called after every move: scikit-learn's callbacks and the plain one."""
        if not is_watched(self):
            return None

        def watch(trail: Trail) -> bool:
            names = getattr(self, "feature_names_in_", None)
            told = {"data": data_of(trail, design, y), **about}
            path = so_far(trail, design, task, names=names, complete=False, **told)

            def state() -> Any:
                so_far = copy.copy(self)
                so_far._settle({about["parameters"]["alpha"]: path})
                return so_far

            return tell(self, context, path, state)

        return watch

    # Using --------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """X w + b from the selected columns alone."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        coef = np.atleast_2d(self.coef_)[:, self.selected_]
        part = X[:, self.selected_]
        return np.asarray(part @ coef.T) + self.intercept_


def _is_count(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= 0
