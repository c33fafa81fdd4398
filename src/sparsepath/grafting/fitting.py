"""From checked data to a fitted criterion: one fit, or a path over l1."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.base import Found, Stop
from sparsepath.base.parameters import numbers, real
from sparsepath.data.condensed import Condensed
from sparsepath.errors import InputError, warn_user
from sparsepath.grafting.criterion import ConvexLoss, Penalty, row_norms
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.engines import Engine, SparseEngine
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.groups import GroupEngine
from sparsepath.grafting.joint_paths import GraftingSplit, JointPaths, PathOptimum, has_joint_paths
from sparsepath.grafting.partial_likelihood import CoxEngine, CoxLoss
from sparsepath.grafting.procedure import (
    GraftingOptions,
    Record,
    WorkingModel,
    graft,
    is_single,
    is_stepwise,
    of_each_l1,
)
from sparsepath.grafting.solver import NO_GRADIENT, Round, Solution, gradient_scale, solve
from sparsepath.grafting.squares import SharedSums, by_squares
from sparsepath.grafting.steps import Indices
from sparsepath.models.predictors import Linear, Linked, Predictor
from sparsepath.path.steps import Step, exchange_columns
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

DENSE_UP_TO = 1 << 22  # numbers: sparse data this small are treated as dense columns, if they
FILLED = 0.1  # are filled to this part
TINY = 1 << 16  # or have no more numbers than this
WARN = 1e-8  # certificates above this (or ten tolerances) are not what was promised


def make_engine(design: GraftingDesign, Y: Floats, loss: ConvexLoss) -> Engine:
    """The engine for these data and this loss, at the empty model."""
    if isinstance(loss, CoxLoss):
        return CoxEngine(design, Y, loss)
    if Y.shape[1] > 1:
        return GroupEngine(design, Y, loss)
    if design.sparse is None:
        return GramEngine(design, Y, loss)
    numbers = design.m * design.n
    filled = numbers <= DENSE_UP_TO and design.sparse.nnz >= FILLED * numbers
    return (GramEngine if filled or numbers <= TINY else SparseEngine)(design, Y, loss)


@dataclass(frozen=True, eq=False)
class GraftingFit:
    """A fitted criterion: the point with its certificates, the models on the way, the history."""

    solution: Solution
    criterion: float  # L0 included
    start: WorkingModel | Record  # the empty model, or all of the record if it was kept

    @cached_property
    def record(self) -> Record:
        """The models on the way, the moves, the history."""
        if isinstance(self.start, Record):
            return self.start
        return _whole_record(self.solution, self.start)

    @cached_property
    def final(self) -> WorkingModel:
        return self.record.best


class GraftingProblem:
    """Standardised data, targets and loss, with an engine that keeps its point between fits."""

    _rows: tuple[Any, Floats, Floats] | None = None  # features, targets, weights as they were given

    def __init__(
        self,
        X: Any,
        Y: Floats,
        weights: Floats,
        loss: ConvexLoss,
        threads: Threads,
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> None:
        self._rows = X, Y, weights
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        s = weights / weights.sum()
        self.design = GraftingDesign(
            X, s, threads, fit_intercept=fit_intercept, standardize=standardize
        )
        # A target far from zero would cost the digits of its slopes and of the dual point.
        mean = float(s @ Y[:, 0]) if fit_intercept and loss.of_differences else 0.0
        self.Y, self.loss = Y - mean if mean else Y, loss.of_samples(Y, s)
        self.units = self.design.means, self.design.scales, mean
        self._begin(make_engine(self.design, self.Y, self.loss))

    def _begin(self, engine: Engine) -> None:
        """Compute the properties of the empty model."""
        self.engine = engine
        self.null = (self.engine.W.copy(), self.engine.b.copy(), self.engine.F.copy())
        self.null_gradient = self.engine.gradient()
        empty = np.empty((0, engine.W.shape[1]))
        loss_there = self.engine.loss_term()
        self.null_model = WorkingModel((), empty, self.engine.b.copy(), loss_there, loss_there)
        self.scale = gradient_scale(self.engine, self.null_gradient)
        self._record, self._rounds = Record(), list[Round]()  # of the fit under way

    @classmethod
    def condensed(cls, few: Condensed, loss: ConvexLoss, threads: Threads) -> "GraftingProblem":
        """Return the problem of few equivalent rows; see ``data.condensed``.

        Columns and target are centred: there is no intercept to look for.
        """
        M = len(few.y)
        root = np.sqrt(M / few.n_rows)
        weights, Y = np.ones(M), root * few.y[:, None]
        plain = {"fit_intercept": False, "standardize": False}
        problem = cls(root * few.Z, Y, weights, loss, threads, **plain)
        problem.units = few.centre, few.scale, few.mean
        return problem

    def ways(self, estimator: Any) -> dict[str, Any]:
        """Return how a run fingerprints and validates data that are not arrays."""
        return {}

    def restart(self) -> None:
        """Back to the empty model."""
        self.engine.move_to(*self.null)

    def largest_l1(self, penalty: Penalty) -> float:
        """The smallest l1 at which no feature enters; ``penalty.l1`` holds the factors."""
        self.restart()
        gradient = self.null_gradient
        unpenalised = np.flatnonzero((penalty.l1 == 0) & self.design.usable)
        if len(unpenalised):
            self.engine.optimise(unpenalised, penalty, 1e-9 * self.scale)
            self.engine.settle_intercept()
            gradient = self.engine.gradient()
            self.restart()
        penalised = (penalty.l1 > 0) & self.design.usable
        if not penalised.any():
            return self.scale
        sizes = row_norms(gradient)
        if sizes.max() <= NO_GRADIENT * self.engine.slope_sums()[1]:
            return self.scale
        return float((sizes[penalised] / penalty.l1[penalised]).max()) or self.scale

    def fit(
        self,
        penalty: Penalty,
        options: GraftingOptions,
        *,
        likely: Indices | None = None,
        gradient: Floats | None = None,
        watch: Callable[[], bool] | None = None,
    ) -> GraftingFit:
        """Minimise from the empty model (one at a time) or from the engine's point (convex).

        ``watch`` is called after every step, or round of the convex solver; a true value ends the
        work. What there is then, or when an exception ends it, is known to ``so_far``.
        """
        self._record, self._rounds = Record(), []
        if is_single(options, penalty):
            self.restart()
            graft(self.engine, penalty, options, self.scale, self._record, watch)
            return self._certified(self._record, penalty, options)
        if gradient is None and not self.engine.W.any():
            gradient = self.null_gradient
        solution = solve(
            self.engine, penalty, self.scale, options.tol, likely, gradient, self._rounds, watch
        )
        if not solution.converged and not solution.asked:
            bad = max(solution.violation, np.nan_to_num(solution.gap))
            if bad > max(WARN, 10 * options.tol):
                warn_user(
                    f"the solver reached {bad:.1e} instead of tol={options.tol:.1e}; "
                    "larger penalties, or standardize=True, make the problem easier."
                )
        return GraftingFit(solution, solution.criterion, self.null_model)

    def so_far(self) -> Record | None:
        """Return the results of the fit so far; None if there are none."""
        if self._rounds:
            return _record(self._rounds, self.null_model)[0]
        return self._record if self._record.models else None

    def cut_short(self, record: Record, penalty: Penalty, options: GraftingOptions) -> GraftingFit:
        """The fit whose exception left this result."""
        model = record.best
        W = np.zeros_like(self.engine.W)
        W[list(model.features)] = model.W
        self.engine.move_to(W, model.b)
        return self._certified(record, penalty, options)

    def _certified(self, record: Record, penalty: Penalty, options: GraftingOptions) -> GraftingFit:
        """The fit at the engine's point, which is the last one of the record."""
        solution = solve(self.engine, penalty, self.scale, options.tol, max_rounds=0)
        return GraftingFit(solution, solution.loss + penalty.value(solution.W), record)

    def path(
        self,
        l1s: Sequence[float],
        penalty: Penalty,
        options: GraftingOptions,
        *,
        watch: Callable[[], bool] | None = None,
        fits: list[GraftingFit] | None = None,
        sums: SharedSums | None = None,
        parts: Sequence[GraftingSplit] = (),
    ) -> list[GraftingFit]:
        """Fits for descending l1; ``penalty.l1`` holds the factors.

        Each starts from the one before. The sequential strong rule predicts which features can
        enter: those with |g_j| >= (2 l1_new - l1_old) times their factor; the solver's last pass
        over all features checks the prediction and corrects it where it was wrong.

        A path of optima ends before the first with more than ``max_features``. ``watch`` is called
        after each, and a true value ends the path. ``fits`` is an empty list to
        write to, so that the fits are known if an exception ends the path. ``sums`` are those of
        ``shared_sums``, if they are at hand. ``parts`` are training parts whose paths go along
        where they can.
        """
        self.restart()
        fits = [] if fits is None else fits
        each = of_each_l1(options, penalty)
        most = None if each is options else options.max_features
        optima = self._optima(l1s, penalty, each, parts, sums)
        found = (
            self._one_by_one(l1s, penalty, each)
            if optima is None
            else self._path_of(optima, l1s, penalty, each)
        )
        for fit in found:
            if most is not None and fits and np.count_nonzero(fit.solution.W.any(1)) > most:
                break
            fits.append(fit)
            if watch is not None and watch():
                break
        return fits

    def _one_by_one(
        self, l1s: Sequence[float], penalty: Penalty, options: GraftingOptions
    ) -> Iterator[GraftingFit]:
        """The fits by the solver, or by single steps."""
        gradient: Floats | None = None
        before = l1s[0]
        for l1 in l1s:
            now = replace(penalty, l1=l1 * penalty.l1)
            likely = None
            if gradient is not None:
                bound = (2.0 * l1 - before) * penalty.l1
                likely = np.flatnonzero((row_norms(gradient) >= bound) & self.design.usable)
            known = gradient if self.engine.known_gradient.exact else None
            fit = self.fit(now, options, likely=likely, gradient=known)
            yield fit
            gradient = None if is_single(options, now) else fit.solution.gradient
            before = l1

    def shared_sums(
        self, penalty: Penalty, options: GraftingOptions, n_l1s: int
    ) -> SharedSums | None:
        """The sums by which paths over so many values of l1 go, on all rows and on parts of them.

        None if they go by the rows.
        """
        if self._rows is None or is_stepwise(options, penalty):
            return None
        if not by_squares(self.design, self.loss, penalty, n_l1s):
            return None
        X, Y, weights = self._rows
        return SharedSums(X, Y[:, 0], weights, self.design)

    def _optima(
        self,
        l1s: Sequence[float],
        penalty: Penalty,
        options: GraftingOptions,
        parts: Sequence[GraftingSplit],
        sums: SharedSums | None,
    ) -> Iterator[PathOptimum] | None:
        """The optima by products of columns, or by steps of the core; None if only the solver can.

        The solver is asked again where an optimum is not certified.
        """
        sums = self.shared_sums(penalty, options, len(l1s)) if sums is None else sums
        problem = None if sums is None else sums.problem()
        if problem is not None:
            return problem.path(np.asarray(l1s), penalty, options.tol)
        if self.goes_jointly(penalty, options):
            paths = JointPaths(self.design, self.Y[:, 0], self.loss, penalty, parts)
            return paths.optima(l1s, options.tol, self.design.threads)
        return None

    def goes_jointly(self, penalty: Penalty, options: GraftingOptions) -> bool:
        """Return whether the path can be computed together with those of the training folds."""
        if is_stepwise(options, penalty) or not isinstance(self.engine, GramEngine):
            return False
        return has_joint_paths(self.design, self.loss, penalty)

    def _path_of(
        self,
        optima: Iterator[PathOptimum],
        l1s: Sequence[float],
        penalty: Penalty,
        options: GraftingOptions,
    ) -> Iterator[GraftingFit]:
        """The fits at these optima, each of them one round."""
        before = self.null_gradient[:, 0]
        for l1, found in zip(l1s, optima, strict=True):
            W, b = found.w[:, None], np.array([found.b])
            if found.certified:
                S = np.flatnonzero(found.w)
                criterion, loss = found.criterion, found.loss
                step = Round(tuple(S.tolist()), W[S], b, criterion, loss, np.abs(before[S]))
                solution = Solution(
                    W, b, criterion, loss, found.violation, found.gap, True,
                    found.gradient[:, None], [step],
                )  # fmt: skip
                yield GraftingFit(solution, criterion, self.null_model)
            else:
                self.engine.move_to(W, b)
                yield self.fit(replace(penalty, l1=l1 * penalty.l1), options)
            before = found.gradient

    def error(self, mean_loss: float) -> float:
        """A mean loss as the error that paths show, on the scale of other methods."""
        return self.loss.error_factor * mean_loss

    def step(
        self, model: WorkingModel, error: float | None = None, error_se: float = np.nan
    ) -> Step:
        """The model in the units of the data, as a path keeps it; without more its training error.

        The error of training is that of the model's own loss, without penalties.
        """
        coef, intercept = self.original(model.W, model.b, list(model.features))
        trained = self.error(model.loss)
        shown = trained if error is None else error
        return Step(model.features, shown, error_se, coef, intercept, trained)

    def original(
        self, W: Floats, b: Floats, rows: list[int] | slice = slice(None)
    ) -> tuple[Floats, Floats]:
        """Weights (of these features) and intercepts in the units of the data."""
        means, scales, mean = self.units
        V = W / scales[rows][:, None]
        return V, b + mean - means[rows] @ V

    def found(self, record: Record, **fitted: Any) -> Found:
        """The path of one fit: the best model of each size by the criterion, and its error."""
        steps = [self.step(model) for model in record.models.values()]
        return Found(
            steps,
            [replace(move, error=self.error(move.error)) for move in record.moves],
            criterion=self.loss.error_name,
            error_kind="training",
            fitted=fitted,
            size=len(record.best.features),
            stopped=record.stopped,
            models=self.linked(steps),
        )

    def linked(self, steps: Iterable[Step]) -> dict[int, Predictor]:
        """By size, the models of a loss with a link; none without."""
        if self.loss.link == "identity":
            return {}
        made = {len(step.subset): Linear.of(step) for step in steps}
        return {size: Linked(line, self.loss.link) for size, line in made.items() if line}


def _record(rounds: list[Round], null: WorkingModel) -> tuple[Record, list[int]]:
    """The rounds of the solver as moves: what left, then what came in, by falling gradient.

    Beside the record the features of the last round, in order of entry.
    """
    record = Record()
    record.note(null)
    features: list[int] = []
    for number, done in enumerate(rounds, start=1):
        place, sizes = {j: i for i, j in enumerate(done.features)}, done.gradients
        by_size = [done.features[i] for i in np.argsort(-sizes, kind="stable").tolist()]
        for action, j in exchange_columns(features, by_size):
            size = float(sizes[place[j]]) if action == "add" else np.nan
            record.move(action, j, done.criterion, done.loss, size, step=number)
        rows = [place[j] for j in features]
        record.note(replace(done, features=tuple(features), W=done.W[rows]))
    return record, features


def _whole_record(solution: Solution, null: WorkingModel) -> Record:
    """The rounds, and the solution itself."""
    record, order = _record(solution.rounds, null)
    record.stopped = Stop.OPTIMAL if solution.converged else Stop.INEXACT
    exchange_columns(order, np.flatnonzero(solution.W.any(1)).tolist())
    final = WorkingModel(
        tuple(order), solution.W[order], solution.b, solution.criterion, solution.loss
    )
    record.models[len(order)] = final
    return record


def check_factors(
    given: ArrayLike | Mapping[str, float] | None, names: NDArray[Any] | None, n: int, what: str
) -> Floats:
    """One number per feature, zero or more, from an array or from a mapping of names."""
    if given is None:
        return np.ones(n)
    if isinstance(given, Mapping):
        known = {} if names is None else {str(name): i for i, name in enumerate(names)}
        out = np.ones(n)
        for name, value in given.items():
            if name not in known:
                raise InputError(
                    f"{what}: there is no column {name!r}; give names of columns of X."
                )
            out[known[name]] = real(value)
    else:
        out = numbers(what, given)
    if out.shape != (n,):
        raise InputError(f"{what} has shape {out.shape}; give one number per feature ({n}).")
    if not (np.isfinite(out) & (out >= 0)).all():
        raise InputError(f"{what} must hold finite numbers, zero or more.")
    return out
