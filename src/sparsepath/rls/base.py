"""What the estimators of sparse least squares share: parameters, search, choice of a size."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import (
    check_features,
    column_indices,
    some_of,
)
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.path import SelectionPath
from sparsepath.rls.alphas import alpha_grid, loo_errors
from sparsepath.rls.design import Design
from sparsepath.rls.groups import members_of
from sparsepath.rls.hierarchy import complete, parents_of
from sparsepath.rls.losses import Loss
from sparsepath.rls.paths import Task, finish, make_design, make_sums, run
from sparsepath.rls.search import SEARCHES, Trail
from sparsepath.rls.surface import Surface
from sparsepath.rls.update import Costs
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

    _losses: tuple[str, ...]

    def __init__(
        self,
        max_features: int | None = None,
        *,
        choose: str | int | float = "one_se",
        alpha: float | str | Sequence[float] = 1.0,
        search: str = "forward",
        cv: Any = "loo",
        loss: str = "squared",
        fit_intercept: bool = True,
        standardize: bool = False,
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

    def _fit(
        self, X: Any, Y: Floats, weights: Floats, labels: ArrayLike, groups: ArrayLike | None
    ) -> Self:
        names = getattr(self, "feature_names_in_", None)
        with Threads(self.n_threads) as threads:
            design = make_design(
                X,
                weights,
                threads,
                fit_intercept=self.fit_intercept,
                standardize=self.standardize,
                memory=self.memory_budget,
            )
            task = self._task(X, labels, groups, names, design)
            alphas = self._alphas(design, Y)
            sums = make_sums(design, Y, task)
            moves = task.size * len(alphas) if self.search == "forward" else None
            context = self._init_callback_context(max_subtasks=moves)
            context.call_on_fit_task_begin(estimator=self, X=X, y=labels)
            self.paths_: dict[float, SelectionPath] = {}
            for alpha in alphas:
                about = self._about(alpha, names)
                checkpoint = self._checkpoint(alpha, len(alphas))
                watch = self._watch(context, design, task, about)
                trail = run(design, Y, alpha, task, watch=watch, checkpoint=checkpoint, sums=sums)
                self.paths_[alpha] = finish(trail, design, task, names=names, **about)
                if trail.stopped in ("interrupted", "asked to"):
                    break
        self._settle(self.paths_)
        context.call_on_fit_task_end(estimator=self, X=X, y=labels)
        return self

    def _settle(self, paths: dict[float, SelectionPath]) -> None:
        """Take the best penalty and size, and the model that goes with them."""
        rule = self.choose
        cut = any(not path.complete or path.stopped == "asked to" for path in paths.values())
        if cut and _is_count(rule):
            # The size asked for may not have been reached; what was found is not thrown away.
            found = sorted({size for path in paths.values() for size in path.sizes})
            rule = min(found, key=lambda size: abs(size - int(self.choose)))
        self.alpha_, size = Surface(paths).choose(rule)
        self.path_ = paths[self.alpha_]
        self._take(size)

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
        if self.loss not in self._losses:
            raise InputError(f"loss={self.loss!r}; use one of {', '.join(self._losses)}.")
        if self.search not in SEARCHES:
            raise InputError(f"search={self.search!r}; use one of {', '.join(SEARCHES)}.")
        if self.epsilon is not None and not 0 <= self.epsilon < np.inf:
            raise InputError(f"epsilon={self.epsilon!r}; give a finite number, zero or more.")
        forced, start, forbidden, parents = self._columns(names, design)
        candidates = tuple(i for i in range(n) if i not in set(forbidden))
        splits = None
        if not (isinstance(self.cv, str) and self.cv == "loo"):
            splits = self._splits(X, labels, groups)
        return Task(
            search=self.search,
            size=self._size(len(forced), len(start), candidates, design),
            loss=self.loss,
            candidates=candidates,
            forced=tuple(forced),
            start=tuple(start),
            parents=parents,
            epsilon=self.epsilon,
            groups=self._groups(n),
            costs=self._costs(n),
            rules=(self.stop,) if callable(self.stop) else tuple(self.stop),
            splits=splits,
            pooled=self.pooled,
            memory=self.memory_budget,
        )

    def _columns(
        self, names: NDArray[Any] | None, design: Design
    ) -> tuple[list[int], list[int], list[int], dict[int, tuple[int, ...]]]:
        """The columns with which something special is to be done, checked."""
        n = design.n_features

        def named(columns: Iterable[int]) -> str:
            return some_of(sorted(columns) if names is None else names[sorted(columns)])

        forced = column_indices(self.forced, names, n, "forced")
        start = column_indices(self.start, names, n, "start")
        forbidden = column_indices(self.forbidden, names, n, "forbidden")
        parents = parents_of(self.parents, names, n)
        for what, columns in (("forced", forced), ("in the start set", start)):
            if both := set(columns) & set(forbidden):
                raise InputError(f"column {named(both)} is both {what} and forbidden.")
            if constant := [i for i in columns if design.constant[i]]:
                raise InputError(f"column {named(constant)} is constant and cannot be {what}.")
        given = {*forced, *start}
        if alone := given - set(complete(given, parents)):
            raise InputError(
                f"column {named(alone)} is forced or in the start set, but not all its parents are."
            )
        return forced, [i for i in start if i not in set(forced)], forbidden, parents

    def _groups(self, n: int) -> tuple[tuple[int, ...], ...]:
        if self.feature_groups is None:
            return ()
        return tuple(map(tuple, members_of(self.feature_groups, n)))

    def _costs(self, n: int) -> Costs | None:
        if self.feature_costs is None and self.budget is None:
            return None
        of = np.ones(n) if self.feature_costs is None else np.asarray(self.feature_costs, float)
        if of.shape != (n,) or not (np.isfinite(of) & (of > 0)).all():
            raise InputError(
                f"feature_costs must be {n} finite numbers above zero, one per feature; "
                f"given: shape {of.shape}."
            )
        budget = np.inf if self.budget is None else float(self.budget)
        if not budget >= 0:
            raise InputError(f"budget={self.budget!r}; give a number, zero or more.")
        return Costs(of, budget)

    def _splits(self, X: Any, labels: ArrayLike, groups: ArrayLike | None) -> list[Any]:
        if isinstance(self.cv, str):
            raise InputError(f"cv={self.cv!r}; use 'loo', a number of folds, or splits.")
        if hasattr(self.cv, "__next__"):  # a generator can be used once; what it gave is kept
            if getattr(self, "_drawn", (None,))[0] is not self.cv:
                self._drawn = (self.cv, list(self.cv))
            return list(self._drawn[1])
        splitter = check_cv(self.cv, labels, classifier=isinstance(self, ClassifierMixin))
        return list(splitter.split(X, labels, groups))

    def _size(self, n_forced: int, n_start: int, candidates: Sequence[int], design: Design) -> int:
        """The size to which the search goes."""
        usable = int(np.count_nonzero(~design.constant[list(candidates)]))
        if self.search == "backward":
            return n_forced
        n_given = n_forced + n_start
        if self.max_features is None:
            # With a sample left out there must be more samples than coefficients.
            return max(n_given, min(usable, design.n_samples - 1 - int(self.fit_intercept)))
        if not _is_count(self.max_features):
            raise InputError(
                f"max_features={self.max_features!r}; give a whole number from 0 up, or None."
            )
        if self.max_features < n_given:
            which = "forced features" if not n_start else "features that are forced or started from"
            raise InputError(
                f"max_features={self.max_features} is less than the {n_given} {which}."
            )
        return min(int(self.max_features), usable)

    def _alphas(self, design: Design, Y: Floats) -> list[float]:
        """The penalties to search with."""
        if isinstance(self.alpha, str):
            if self.alpha != "loo":
                raise InputError(
                    f"alpha={self.alpha!r}; use a number, a list of numbers, or 'loo'."
                )
            grid = alpha_grid(design)
            errors = loo_errors(
                design, Y, grid, Loss("squared" if self.loss == "auc" else self.loss)
            )
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
        self, context: Any, design: Design, task: Task, about: dict[str, Any]
    ) -> Callable[[Trail], bool] | None:
        """What is called after every move: scikit-learn's callbacks and the plain one."""
        if not is_watched(self):
            return None

        def watch(trail: Trail) -> bool:
            path = SelectionPath(
                trail.steps,
                n_features=design.n_features,
                moves=trail.moves,
                start=trail.start,
                feature_names=getattr(self, "feature_names_in_", None),
                criterion=task.criterion,
                complete=False,
                **about,
            )

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
