"""Base class of sparse least squares estimators: parameters, search, choice of the size."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sparsepath.assessment.metrics import Metric
from sparsepath.base import Found, Given, Run, Stop
from sparsepath.base.linear import LinearModelMixin
from sparsepath.base.selector import SizedSelector
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.alphas import alpha_grid, loo_errors, loo_errors_in_passes
from sparsepath.rls.criteria.losses import Criterion, Loss
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.criteria.table import criterion_of
from sparsepath.rls.design import Design
from sparsepath.rls.engines import without_empty_folds
from sparsepath.rls.history import Rule, SearchTrail
from sparsepath.rls.parameters import Parameters, SearchSpec, penalty, rule_for, warn_without_se
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.rls.penalties import AUTO, PLAIN
from sparsepath.rls.problem import RLSProblem, design_for, endings, sums_for
from sparsepath.rls.searches import METHODS
from sparsepath.rls.surface import Surface
from sparsepath.system.arrays import Floats, Indices, Vector
from sparsepath.system.threads import Threads


@dataclass(eq=False, repr=False, kw_only=True)
class SearchParameters:
    """Parameters shared by searches over columns and over centres."""

    alpha: float | str | Sequence[float] = 1.0
    search: str = "forward"
    cv: Any = "loo"
    loss: str | Loss = "squared"
    n_threads: int | None = None
    checkpoint: str | Path | None = None


@dataclass(eq=False, repr=False)
class SparseRLS(LinearModelMixin, SizedSelector, SearchParameters):
    """Base class of linear models with selected features."""

    _known: ClassVar[Mapping[str, Criterion]]

    _: KW_ONLY
    standardize: bool = True
    forced: Sequence[int] | Sequence[str] | None = None
    forbidden: Sequence[int] | Sequence[str] | None = None
    start: Sequence[int] | Sequence[str] | None = None
    parents: Mapping[Any, Sequence[Any]] | None = None
    feature_groups: ArrayLike | None = None
    feature_costs: ArrayLike | None = None
    budget: float | None = None
    stop: Rule | Sequence[Rule] = ()
    epsilon: float | None = None
    time_budget: float | None = None
    pooled: bool = False

    @property
    def _criterion(self) -> Criterion:
        return criterion_of(self.loss, self._known)

    @property
    def _metric(self) -> str | Metric:
        return self._criterion.metric

    def _fold_seconds(self, n: int, p: int) -> float:
        """Return the approximate seconds of a search of n x p, from the shape alone."""
        moves = min(n, p, n if self.max_features is None else self.max_features)
        first, each = 2e-3, 1.3e-9
        if self.search != "forward" or self._metric == "ranking":
            each = 6e-8
        elif isinstance(self.cv, str) and self.loss == "squared" and self.alpha != "loo":
            first, each = 1e-3, 6e-10
        return np.size(self.alpha) * (first + each * n * p * moves)

    def expected_seconds(self, X: Any) -> float:
        """Return the approximate CPU seconds of a search, without the honest error.

        Accurate to a factor of three from 100 x 10 to 200,000 x 50; an upper bound for exchanges.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Features.
        """
        n, p = X.shape
        moves = min(n, p, n if self.max_features is None else self.max_features)
        numbers = int(getattr(X, "size", n * p))  # of a sparse matrix: the entries
        seconds = 2e-3 + 5e-10 * numbers * (p if self.search == "backward" else moves)
        # Of the moves that change subsets: 0.1 s for floating, 0.6 s for swap at 500 x 300.
        each = {"floating": 7e-9, "swap": 4e-8, "strong": 4e-7, "exact": 4e-7}
        seconds += each.get(self.search, 0.0) * min(n, 10 * p) * p * moves
        if self._metric == "ranking":
            seconds += 6e-8 * numbers * moves
        seconds *= self._n_searches(n, p)
        return float(min(seconds, np.inf if self.time_budget is None else self.time_budget))

    def _n_searches(self, n: int, p: int) -> int:
        """Return about how many searches a fit takes as long as."""
        return 3 if self.alpha == "loo" else int(np.size(self.alpha))

    @property
    def _method(self) -> str:
        return METHODS[self.search]

    def _fit(self, X: Any, Y: Floats, weights: Floats, labels: ArrayLike, given: Given) -> Self:
        parameters, groups = self._parameters(), given.more.get("groups")
        with Threads(self.n_threads) as threads:
            design = design_for(parameters, X, weights, threads)
            queries = self._queries(labels, groups, design)
            spec = without_empty_folds(
                design, Y, parameters.spec(X, labels, groups, design, queries)
            )
            alphas = self._alphas(design, Y, spec.candidates)
            problem = RLSProblem(design, Y, spec, sums_for(design, Y, spec, alphas))
            run = self._searched(given, X, labels, problem, alphas)
        return self._settled(run, spec)

    def _parameters(self) -> Parameters:
        """Return validated parameters of the search."""
        return Parameters(self, self._criterion, self._splitter())

    def _queries(self, labels: ArrayLike, groups: Vector, design: Design) -> Indices | None:
        """Return the query of every sample for ranking, else None."""
        return None

    def _searched(
        self,
        given: Given,
        X: Any,
        labels: ArrayLike,
        problem: RLSProblem,
        alphas: Sequence[float],
        validation: Mapping[str, Any] | None = None,
    ) -> Run:
        """Return the searches with all penalties, or those completed before an interrupt."""
        trails: dict[float, SearchTrail] = {}
        paths: dict[float, SelectionPath] = {}
        moves = (problem.spec.size - len(problem.spec.forced)) * len(alphas)
        run = Run(
            self,
            given,
            X,
            method=self._method,
            found=lambda: self._found(run, trails, problem, paths),
            subtasks=moves if self.search == "forward" else None,
            data=partial(problem.data, labels),
            validation=validation,
            paths=paths if len(alphas) > 1 else None,
        )
        with run:
            for alpha in alphas:
                trail = trails[alpha] = SearchTrail()
                now = partial(problem.found, trail, alpha)
                watch = (lambda _, now=now: run.tell("", now)) if run.watched else None
                problem.search(alpha, trail, watch, self._checkpoint(alpha, alphas[0]))
                if run.stopped:
                    break
        return run

    def _settled(self, run: Run, spec: SearchSpec) -> Self:
        run.settle()
        if self.honest_ is None:
            warn_without_se(self.choose, self._paths, spec.criterion)
        return self

    def _found(
        self,
        run: Run,
        trails: dict[float, SearchTrail],
        problem: RLSProblem,
        paths: dict[float, SelectionPath],
    ) -> Found | None:
        """Return the result for the penalty and size that the criterion selects."""
        each = {a: problem.found(trail, a) for a, trail in trails.items()}
        kept = {
            a: self._with_models(found, run.X, problem, a)
            for a, found in each.items()
            if found is not None
        }
        if not kept:
            return None
        last = next(reversed(trails))  # the one that an interrupt has cut
        stopped = {a: found.stopped for a, found in kept.items()}
        if run.stopped == Stop.INTERRUPTED and last in kept:
            stopped[last] = Stop.INTERRUPTED
        paths.update({a: run.made(found, stopped=stopped[a]) for a, found in kept.items()})
        alpha, size = Surface(paths).settle(rule_for(self.choose, paths))
        return Found(
            kept[alpha].steps,
            fitted={"alpha_": alpha, "refit_alpha_": alpha, "_paths": paths},
            path=paths[alpha],
            chosen=size,
            said=[text for a in kept for text in endings(paths[a], trails[a], problem.spec)],
        )

    def _with_models(self, found: Found, X: Any, problem: RLSProblem, alpha: float) -> Found:
        """Return the result of a search with other models of its columns, if the loss has them."""
        return found

    @property
    def paths_(self) -> dict[float, SelectionPath]:
        """Path of every penalty."""
        check_is_fitted(self)
        return {**self._paths, self.alpha_: self.path_}

    @paths_.setter
    def paths_(self, paths: Mapping[float, SelectionPath]) -> None:
        self._paths = dict(paths)

    @property
    def surface_(self) -> Surface:
        """Errors for all penalties and sizes."""
        return Surface(self.paths_)

    def at_size(self, size: int, alpha: float | None = None) -> Self:
        """Return a copy of this fitted estimator that uses the model of another size.

        Parameters
        ----------
        size : int
            One of the path's ``sizes``.
        alpha : float, optional
            Another penalty of ``paths_``.
        """
        other = copy.copy(self)
        if alpha is not None:
            if alpha not in self.paths_:
                known = ", ".join(map(repr, self.paths_))
                raise InputError(f"no path for alpha={alpha!r}; there is one for {known}.")
            if alpha != self.alpha_:  # scores of another scale
                other._slopes, other._thresholds = {}, {}
            other._paths = self.paths_
            other.alpha_ = other.refit_alpha_ = alpha
            other.path_ = other._paths[alpha]
        return LinearModelMixin.at_size(other, size)

    def _splitter(self) -> Any:
        """Return ``cv``; the result of a generator is stored, because it can be read only once."""
        if not hasattr(self.cv, "__next__"):
            return self.cv
        if getattr(self, "_drawn", (None,))[0] is not self.cv:
            self._drawn = (self.cv, list(self.cv))
        return self._drawn[1]

    def _alphas(self, design: Design, Y: Floats, candidates: Sequence[int]) -> list[float]:
        """Return the penalties of the searches."""
        if isinstance(self.alpha, str):
            if self.alpha == AUTO:
                return self._automatic(design)
            if self.alpha != "loo":
                raise InputError(
                    f"alpha={self.alpha!r}; use a number, a list of numbers, 'auto' or 'loo'."
                )
            grid = alpha_grid(design, candidates)
            loss = self._criterion
            loss = loss if isinstance(loss, Loss) else SQUARED
            if isinstance(design, StreamDesign):
                errors = loo_errors_in_passes(design, grid, loss, candidates)
            else:
                errors = loo_errors(design, Y, grid, loss, candidates)
            self.alpha_errors_ = dict(zip(grid.tolist(), errors.tolist(), strict=True))
            # Chosen with all features, used with few: of equal penalties the weakest.
            return [float(grid[errors.argmin()])]
        return self._given_alphas()

    def _given_alphas(self) -> list[float]:
        """Return the numeric penalties of ``alpha``."""
        if isinstance(self.alpha, float):
            return [penalty(self.alpha)]
        given: list[Any] = np.ravel(np.asarray(self.alpha, dtype=object)).tolist()
        if not given:
            raise InputError("alpha is an empty list; give at least one penalty.")
        return list(dict.fromkeys(penalty(value) for value in given))

    def _automatic(self, design: Design) -> list[float]:
        """Return the penalties of ``alpha="auto"``: one without honest errors."""
        return [PLAIN]

    def _checkpoint(self, alpha: float, first: float) -> Path | None:
        """Return the checkpoint file of a penalty: that of the user, or one next to it."""
        if self.checkpoint is None:
            return None
        path = Path(self.checkpoint)
        return path if alpha == first else path.with_name(f"{path.stem}-{alpha!r}{path.suffix}")
