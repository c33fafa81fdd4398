"""From data to a pruned network: scaling, solving, zero weights, pruning.

Constant inputs and copies of earlier inputs (in any units) are removed first: the distance depends
only on the sum of the weights of copies. A rule without a scale decides which weights of a barrier
solution are zero. At the solution for mu the multiplier of w_i >= 0 is mu / (d w_i) and that of its
budget mu / (t - sum w); a weight is zero if, relative to its budget, it is smaller than its
multiplier relative to the budget's multiplier:

    w_i / t < mu/(d w_i) (t - sum w)/mu     <=>     w_i < sqrt(t (t - sum w) / d)

The bound is at most one hundredth of the largest weight, because it is meaningless if the budget is
not exhausted. The coefficients are then computed exactly for the remaining weights (see ``lasso``),
which leaves few of them. The result must fit as well as the solution, within one per cent of the
training error: otherwise weights that were set to zero are restored, the largest first. Finally,
centres that are hardly needed are removed, for 0.2 per cent of the error in total. A nonzero weight
can still be too small to matter; ``relevance``, a fraction of the largest weight, is the threshold.
Removing an irrelevant input increases the training error, because the input has fitted noise, and
lowers the error on new data: on problem (15) with a hundred samples, the training error grows by 3
to 18 per cent. So inputs below the threshold are kept only if the error without them grows by more
than one per cent, and by more than q irrelevant inputs gain by chance (four standard deviations
above the mean of a chi-squared variable with q degrees of freedom, divided by N: (q + 4 sqrt(2 q))
/ N). Inputs of larger weight are restored first.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.base import Formula, Gaussian, Predictor
from sparsepath.base.targets import dense
from sparsepath.data.columns import are_copies, moments
from sparsepath.rbf.alternating import solve_alternating
from sparsepath.rbf.barrier import Budget, InteriorPoint, start
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.lasso import BudgetLasso
from sparsepath.rbf.narrowing import MANY, solve_narrowed
from sparsepath.rbf.network import RBFNetwork, gaussians
from sparsepath.rbf.primal_dual import PrimalDual, RBFSolution, Told, solve
from sparsepath.system.arrays import Floats

CAP = 0.01
PRUNED = 1.01  # training error after pruning, over that before, at most
THINNED = 1.002  # the same of the last step, which leaves out centres
BY_CHANCE = 4.0  # standard deviations above the mean of what useless inputs gain by chance


@dataclass(frozen=True)
class Scaling:
    """Zero mean and unit variance, of inputs and target."""

    mean: Floats
    scale: Floats
    y_mean: float
    y_scale: float
    varies: NDArray[np.bool_]  # inputs that are not constant, to rounding

    @classmethod
    def of(cls, X: Floats, y: Floats, weights: Floats | None = None) -> "Scaling":
        mean, scale, varies = moments(X, weights)
        y_mean = np.average(y, weights=weights)
        y_scale = float(np.sqrt(np.average((y - y_mean) ** 2, weights=weights)))
        return cls(mean, scale, float(y_mean), y_scale if y_scale > 0 else 1.0, varies)

    def inputs(self, X: Floats) -> Floats:
        return (X - self.mean) / self.scale

    def target(self, y: Floats) -> Floats:
        return (y - self.y_mean) / self.y_scale


@dataclass(eq=False, repr=False, kw_only=True)
class RBFOptions:
    """Solver parameters shared by all RBF estimators."""

    solver: str = "direct"
    schedule: str = "robust"  # deprecated
    centres: Any = "auto"
    placing: str = "kmeans"
    n_init: int = 1
    mu_min: float = 1e-6
    max_iter: int = 100
    relevance: float = 0.01
    random_state: Any = 0


# Part of the error: a mu at which a fit is near enough to compare budgets. With .005 the same
# inputs and errors on 15 problems, in 1.15 times the time.
ENOUGH = 0.02


@dataclass(frozen=True)
class RBFModel(Predictor):
    """Network of the inputs and centres in use, in units of the data."""

    parts: ClassVar = {
        "columns": "column d",
        "kept": "int u",
        "centres": "float u d",
        "weights": "float d",
        "relative": "float d",
        "coef": "float u",
        "intercept": "float",
    }
    columns: NDArray[np.intp]  # inputs in use, by falling weight
    kept: NDArray[np.intp]  # centres in use, as samples or as rows of the candidates
    centres: Floats  # in use x inputs in use
    weights: Floats  # of the inputs in use, per squared unit of the data
    relative: Floats  # the same for standardised inputs, whose sum is within t
    coef: Floats
    intercept: float

    def predict(self, X: Any) -> Floats:
        """Outputs for samples with all the columns that the fit had."""
        if not len(self.columns) or not len(self.coef):
            return np.full(X.shape[0], self.intercept + self.coef.sum())
        # Distances are taken from the centres' mean, so that no digits are lost to an offset.
        middle = self.centres.mean(axis=0)
        K = gaussians(dense(X[:, self.columns]) - middle, self.centres - middle, self.weights)
        return self.coef @ K + self.intercept

    def moved(self, by: Floats) -> "RBFModel":
        return replace(self, intercept=self.intercept + float(by[0]))

    def formula(self) -> Formula:
        if not len(self.columns) or not len(self.coef):
            constant = np.array([self.intercept + self.coef.sum()])
            return Formula.linear(np.zeros(0, dtype=np.intp), np.zeros((0, 1)), constant)
        middle, roots = self.centres.mean(axis=0), np.sqrt(self.weights)
        units = Gaussian((self.centres - middle) * roots, np.ones(len(self.coef)))
        slopes, coef = np.zeros((len(self.columns), 1)), self.coef[:, None]
        intercept = np.array([self.intercept])
        return Formula(self.columns, middle, 1.0 / roots, slopes, intercept, units, coef)


def empty_model(mean: float) -> RBFModel:
    """Return the network without inputs: the mean."""
    none, nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
    return RBFModel(none, none, np.zeros((0, 0)), nothing, nothing, nothing, mean)


@dataclass(frozen=True)
class Training:
    """A model and the history of its fit."""

    model: RBFModel
    solution: RBFSolution
    dropped: NDArray[np.intp]  # inputs with a weight below the relevance that are not missed
    error: float  # of the model on the training data, in variances of the target


def nonzero_weights(w: Floats, t: float) -> NDArray[np.bool_]:
    """Return which weights are not zero; see the module docstring."""
    bound = np.sqrt(t * max(t - w.sum(), 0.0) / len(w))
    return w >= min(bound, CAP * w.max())


def by_chance(q: int) -> float:
    """Return the expected gain of q irrelevant inputs from noise, times the error of a sample."""
    return q + BY_CHANCE * np.sqrt(2.0 * q)


def random_start(
    budget: Budget, n_alpha: int, n_inputs: int, rng: np.random.Generator
) -> InteriorPoint:
    """Return the start of the paper: |alpha| = 0.99 s with random signs."""
    x = start(budget, n_alpha, n_inputs)
    s = x.s
    alpha = 0.99 * s * rng.choice([-1.0, 1.0], n_alpha)
    return InteriorPoint.of(s, alpha, x.w, x.left_r, x.left_t)


class Trainer:
    """Scales, solves and prunes; ``so_far`` gives what there is of it at any time.

    ``centres`` are in the units of the data, sample weights above zero. If centres are samples,
    ``samples`` are the numbers of these.
    """

    def __init__(
        self,
        X: Floats,
        y: Floats,
        centres: Floats,
        r: float,
        t: float,
        options: RBFOptions,
        weights: Floats | None = None,
        samples: NDArray[np.intp] | None = None,
    ) -> None:
        self.scaling = Scaling.of(X, y, weights)
        self.centres, self.weights, self.samples = centres, weights, samples
        self.r, self.t, self.options = r, t, options
        varies = self.scaling.varies
        self.inputs = np.flatnonzero(varies if varies.any() else ~varies)
        self.Z = self.scaling.inputs(X)[:, self.inputs]
        self.C = self.scaling.inputs(centres)[:, self.inputs]
        copies = are_copies(np.vstack([self.Z, self.C]))
        if varies.any() and copies.any():
            self.inputs = self.inputs[~copies]
            self.Z, self.C = self.Z[:, ~copies], self.C[:, ~copies]
        self.target = self.scaling.target(y)
        self.network = RBFNetwork(self.Z, self.target, self.C, weights)
        self._enough = 0.0  # the part of the error at which mu may end
        self._best: RBFSolution | None = None  # of the starts that are finished
        self._last: RBFSolution | None = None  # of the start under way

    @classmethod
    def placed(
        cls,
        data: tuple[Floats, Floats, Floats | None],
        rows: NDArray[np.intp],
        r: float,
        t: float,
        options: RBFOptions,
    ) -> "Trainer":
        """With centres where the options say, on inputs, target and weights of some samples."""
        X, y, weights = data
        places, at = place_centres(
            X, options.centres, options.placing, options.random_state, weights
        )
        return cls(X, y, places, r, t, options, weights, None if at is None else rows[at])

    def at(self, r: float, t: float) -> "Trainer":
        """The same data with other budgets; one of those that share data may run at a time."""
        other = copy(self)
        other.r, other.t, other._best, other._last = r, t, None, None
        return other

    def so_far(self) -> Training | None:
        """The best start that is finished, else the last stage that is."""
        if self._best is not None:
            return self.pruned(self._best)
        return None if self._last is None else self.pruned(replace(self._last, converged=False))

    def run(self, told: Told = None, start: RBFSolution | None = None) -> Training:
        """The best J of ``n_init`` starts; the callback runs after every stage but the last.

        ``start``: a solution with the same centres and inputs, to go on from.
        """
        return self.pruned(self._best_of_starts(told, start))

    def _best_of_starts(self, told: Told = None, start: RBFSolution | None = None) -> RBFSolution:
        if start is not None and self._continues:
            return self._continued(start)
        rng = np.random.default_rng(self.options.random_state)

        def staged(solution: RBFSolution) -> None:
            self._last = solution
            if told is not None:
                told(solution)

        for i in range(self.options.n_init):
            # The first start, alpha = 0, is not drawn; its J was the best or nearly so.
            drawn = rng if i else None
            if self.network.n_inputs > MANY:
                on_some = partial(self._solved_on, drawn)
                found = solve_narrowed(self.network, self.r, self.t, on_some, staged)
            else:
                found = self._solved(self.network, drawn, staged)
            if self._best is None or found.J < self._best.J:
                self._best = found
        assert self._best is not None
        return self._best

    def at_start(self) -> RBFSolution:
        """Where the solver starts: the bias of the target, which is zero."""
        network = self.network
        x = start(Budget(self.r, self.t), network.n_centres + 1, network.n_inputs)
        return PrimalDual(network, Budget(self.r, self.t), self.options.mu_min, x).solution([])

    def quick(self, start: RBFSolution | None = None) -> RBFSolution:
        """A solution that is near enough to compare budgets; ``start`` as for ``run``."""
        other = self.at(self.r, self.t)
        other._enough = ENOUGH
        return other._best_of_starts(start=start)

    @property
    def _continues(self) -> bool:
        """Whether a fit can go on from a solution."""
        options = self.options
        once = options.solver == "direct" and options.n_init == 1
        return once and self.network.n_inputs <= MANY

    def _continued(self, start: RBFSolution) -> RBFSolution:
        """From a solution with these budgets down to the last mu."""
        left_r, left_t = self.r - start.s.sum(), self.t - start.w.sum()
        x = InteriorPoint.of(start.s, start.alpha, start.w, left_r, left_t)
        return solve(
            self.network, self.r, self.t, x=x, mu_max=start.mu, mu_min=self.options.mu_min,
            most=self.options.max_iter, enough=self._enough,
        )  # fmt: skip

    def outputs(self, solution: RBFSolution, X: Floats) -> Floats:
        """Return the outputs of an unpruned solution for samples in units of the data."""
        Z = self.scaling.inputs(X)[:, self.inputs]
        K = gaussians(Z, self.C, solution.w)
        scaling, alpha = self.scaling, solution.alpha
        return scaling.y_scale * (alpha[0] + alpha[1:] @ K) + scaling.y_mean

    def used(self, solution: RBFSolution) -> NDArray[np.intp]:
        """The inputs whose weights are neither zero nor below the relevance, by falling effect.

        The effect of an input is the mean square of w_i d yhat / d w_i: to first order, what the
        outputs change by without it. A linear effect needs little weight, but has this.
        """
        if not self.scaling.varies.any():
            return self.inputs[:0]
        w = solution.w
        self.network.place(w)
        self.network.gradient(solution.alpha)
        effects = w * w * self.network.weight_effects()
        in_use = nonzero_weights(w, self.t) & (w >= self.options.relevance * w.max())
        order = np.argsort(-effects, kind="stable")
        return self.inputs[order[in_use[order]]]

    def _solved(
        self, network: RBFNetwork, drawn: np.random.Generator | None, told: Told
    ) -> RBFSolution:
        """The solution on a network, from alpha = 0 or from a start that is drawn."""
        options, n, d = self.options, network.n_centres + 1, network.n_inputs
        budget = Budget(self.r, self.t)
        x = start(budget, n, d) if drawn is None else random_start(budget, n, d, drawn)
        mu_min, most = options.mu_min, options.max_iter
        if options.solver != "direct":
            return solve_alternating(
                network, self.r, self.t, x=x, mu_min=mu_min, most=most, told=told
            )
        return solve(
            network, self.r, self.t, x=x, mu_min=mu_min, most=most, enough=self._enough, told=told
        )

    def _solved_on(
        self, drawn: np.random.Generator | None, inputs: NDArray[np.intp], told: Told
    ) -> RBFSolution:
        return self._solved(self._on(inputs), drawn, told)

    def _on(self, inputs: NDArray[np.intp]) -> RBFNetwork:
        """The problem on some of the inputs."""
        return RBFNetwork(self.Z[:, inputs], self.target, self.C[:, inputs], self.weights)

    def pruned(self, solution: RBFSolution) -> Training:
        """Return the pruned network of a solution."""
        scaling, w = self.scaling, solution.w
        if not scaling.varies.any():
            return Training(empty_model(scaling.y_mean), solution, self.inputs[:0], solution.error)
        order = np.argsort(-w, kind="stable")
        limit = PRUNED * solution.error + solution.mu
        # With all inputs it is within: the solution's own coefficients keep to the budget too.
        nonzero = int(np.count_nonzero(nonzero_weights(w, self.t)))
        used, exact = self._fewest(solution, order, (nonzero, len(w)), lambda left_out: limit)
        size = int(np.count_nonzero(w[order[:used]] >= self.options.relevance * w.max()))
        if size < used:
            n, least = len(self.Z), exact.error

            def allowed(left_out: int) -> float:
                return max(limit, (1.0 + by_chance(left_out) / n) * least)

            size, exact = self._fewest(solution, order[:used], (size, used), allowed)
        alpha, error = exact.thinned(min(THINNED * exact.error, max(limit, exact.error)))
        rows, columns = np.flatnonzero(alpha[1:]), self.inputs[order[:size]]
        model = RBFModel(
            columns=columns,
            kept=rows if self.samples is None else self.samples[rows],
            centres=self.centres[np.ix_(rows, columns)].astype(np.float64),
            weights=w[order[:size]] / scaling.scale[columns] ** 2,
            relative=w[order[:size]],
            coef=alpha[1 + rows] * scaling.y_scale,
            intercept=float(alpha[0] * scaling.y_scale + scaling.y_mean),
        )
        return Training(model, solution, self.inputs[order[size:used]], error)

    def _fewest(
        self,
        solution: RBFSolution,
        order: NDArray[np.intp],
        sizes: tuple[int, int],
        limit: Callable[[int], float],
    ) -> tuple[int, BudgetLasso]:
        """How many of the inputs, the first in this order, keep the error within the limit.

        ``limit`` is by the number of inputs that are left out. The larger of the two sizes is
        within; between them it is found by halving.
        """
        few, enough = sizes
        exact = self._exact(solution, order[:few])
        if few == enough or exact.error <= limit(len(order) - few):
            return few, exact
        while enough - few > 1:
            middle = (few + enough) // 2
            if self._exact(solution, order[:middle]).error > limit(len(order) - middle):
                few = middle
            else:
                enough = middle
        return enough, self._exact(solution, order[:enough])

    def _exact(self, solution: RBFSolution, inputs: NDArray[np.intp]) -> BudgetLasso:
        """Return the exact coefficients with these inputs at their weights."""
        w = np.zeros_like(solution.w)
        w[inputs] = solution.w[inputs]
        return BudgetLasso(self.network.at(w), self.network.y, self.r, solution.alpha)
