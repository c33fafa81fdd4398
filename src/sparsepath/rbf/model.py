"""From data to a network that holds only what it uses: scaling, solving, telling zeros, pruning.

Which parameters of a barrier solution are zero is told without a scale. At the solution for mu the
multiplier of w_i >= 0 is mu / (d w_i) and that of its budget mu / (t - sum w); a weight is zero if,
relative to its budget, it is smaller than its multiplier relative to the budget's multiplier:

    w_i / t < mu/(d w_i) (t - sum w)/mu     <=>     w_i < sqrt(t (t - sum w) / d)

and likewise p_m = s_m + |alpha_m| < sqrt(2 r (r - sum s) / M) for a centre. Each bound is capped at
one hundredth of the largest, because a budget that is not used up says nothing. An input
that passes this test can still have a weight too small to matter: ``relevance``, a fraction of the
largest weight, is a threshold of its own.

Wide Gaussians take large coefficients of both signs, beside which one that looks like zero may
still matter. So what is left must fit as well as what was solved, to within one per cent of the
training error: centres are taken back, the largest first, until it does; and if it then does not
for want of an input, the coefficients are found again.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.rbf.alternating import solve_alternating
from sparsepath.rbf.barrier import Budget, Point, start
from sparsepath.rbf.network import Network, gaussians
from sparsepath.rbf.primal_dual import Solution, Told, solve
from sparsepath.rbf.printed import solve_printed
from sparsepath.running import Formula, Gaussian, Predictor

CAP = 0.01
PRUNED = 1.01  # training error after pruning, over that before, at most


@dataclass(frozen=True)
class Scaling:
    """Zero mean and unit variance, of inputs and target; a constant input stays constant."""

    mean: Floats
    scale: Floats
    y_mean: float
    y_scale: float
    varies: NDArray[np.bool_]  # inputs that are not constant, to rounding

    @classmethod
    def of(cls, X: Floats, y: Floats, weights: Floats | None = None) -> "Scaling":
        mean, y_mean = np.average(X, axis=0, weights=weights), np.average(y, weights=weights)
        scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
        # What varies by rounding alone is constant.
        varies = scale > 1e-13 * np.abs(X).max(axis=0, initial=0.0)
        y_scale = float(np.sqrt(np.average((y - y_mean) ** 2, weights=weights)))
        scale = np.where(varies, scale, 1.0)
        return cls(mean, scale, float(y_mean), y_scale if y_scale > 0 else 1.0, varies)

    def inputs(self, X: Floats) -> Floats:
        return (X - self.mean) / self.scale

    def target(self, y: Floats) -> Floats:
        return (y - self.y_mean) / self.y_scale


@dataclass(frozen=True)
class Options:
    """How to solve; the estimators' parameters of the same names."""

    solver: str = "direct"
    schedule: str = "robust"
    n_init: int = 1
    mu_min: float = 1e-6
    max_iter: int = 100
    relevance: float = 0.01
    seed: int = 0


@dataclass(frozen=True)
class Model(Predictor):
    """A network of the inputs and centres in use, in the units of the data."""

    columns: NDArray[np.intp]  # inputs in use, by falling weight
    kept: NDArray[np.intp]  # centres in use, as rows of the candidates
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
        part = X[:, self.columns]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        K = gaussians(part - middle, self.centres - middle, self.weights)
        return self.coef @ K + self.intercept

    def formula(self) -> Formula:
        if not len(self.columns) or not len(self.coef):
            constant = np.array([self.intercept + self.coef.sum()])
            return Formula.linear(np.zeros(0, dtype=np.intp), np.zeros((0, 1)), constant)
        middle, roots = self.centres.mean(axis=0), np.sqrt(self.weights)
        units = Gaussian((self.centres - middle) * roots, np.ones(len(self.coef)))
        slopes, coef = np.zeros((len(self.columns), 1)), self.coef[:, None]
        intercept = np.array([self.intercept])
        return Formula(self.columns, middle, 1.0 / roots, slopes, intercept, units, coef)


def empty_model(mean: float) -> Model:
    """The network without inputs: the mean."""
    none, nothing = np.zeros(0, dtype=np.intp), np.zeros(0)
    return Model(none, none, np.zeros((0, 0)), nothing, nothing, nothing, mean)


@dataclass(frozen=True)
class Training:
    """A model and how it came about."""

    model: Model
    solution: Solution
    dropped: NDArray[np.intp]  # inputs whose weight was above zero but below the relevance


def nonzero_weights(w: Floats, t: float) -> NDArray[np.bool_]:
    """Which weights are not zero; see the module."""
    bound = np.sqrt(t * max(t - w.sum(), 0.0) / len(w))
    return w >= min(bound, CAP * w.max())


def nonzero_alpha(alpha: Floats, s: Floats, r: float) -> NDArray[np.bool_]:
    """Which coefficients are not zero, the bias first; see the module."""
    p = s + np.abs(alpha)
    bound = np.sqrt(2.0 * r * max(r - s.sum(), 0.0) / max(len(p) - 1, 1))
    return p >= min(bound, CAP * p.max())


def needed_alpha(network: Network, solution: Solution, r: float, limit: float) -> NDArray[np.bool_]:
    """The coefficients that are not zero, and as many more as the training error needs.

    At the weights last placed; ``limit`` is what the error may be.
    """
    kept = nonzero_alpha(solution.alpha, solution.s, r)
    size = np.where(kept, np.inf, solution.s + np.abs(solution.alpha))
    order = np.argsort(-size, kind="stable")
    first = int(np.count_nonzero(kept))
    off = solution.alpha[order[:first]] @ network.basis[order[:first]] - network.y
    for m in order[first:]:
        if network.mean_square(off) <= limit:
            break
        kept[m] = True
        off = off + solution.alpha[m] * network.basis[m]
    return kept


def random_start(budget: Budget, n_alpha: int, n_inputs: int, rng: np.random.Generator) -> Point:
    """The paper's start: |alpha| = 0.99 s with signs at random."""
    x = start(budget, n_alpha, n_inputs)
    s = x.s
    alpha = 0.99 * s * rng.choice([-1.0, 1.0], n_alpha)
    return Point.of(s, alpha, x.w, x.left_r, x.left_t)


class Trainer:
    """Scales, solves and prunes; ``so_far`` gives what there is of it at any time.

    ``centres`` are in the units of the data, sample weights above zero.
    """

    def __init__(
        self,
        X: Floats,
        y: Floats,
        centres: Floats,
        r: float,
        t: float,
        options: Options,
        weights: Floats | None = None,
    ) -> None:
        self.scaling = Scaling.of(X, y, weights)
        self.centres, self.weights = centres, weights
        self.r, self.t, self.options = r, t, options
        self.Z, self.C = self.scaling.inputs(X), self.scaling.inputs(centres)
        self.target = self.scaling.target(y)
        self.network = Network(self.Z, self.target, self.C, weights)
        self._best: Solution | None = None  # of the starts that are finished
        self._last: Solution | None = None  # of the start under way

    def so_far(self) -> Training | None:
        """The best start that is finished, else the last stage that is."""
        if self._best is not None:
            return self.pruned(self._best)
        return None if self._last is None else self.pruned(replace(self._last, converged=False))

    def run(self, told: Told = None) -> Training:
        """The best J of ``n_init`` starts; ``told`` is called after every stage but the last."""
        network, options = self.network, self.options
        budget = Budget(self.r, self.t, 1.0 / network.n_centres, 1.0 / network.n_inputs)
        n, d = network.n_centres + 1, network.n_inputs
        rng = np.random.default_rng(options.seed)

        def staged(solution: Solution) -> None:
            self._last = solution
            if told is not None:
                told(solution)

        for i in range(options.n_init):
            if options.schedule == "paper":
                x = random_start(budget, n, d, rng)
                found = solve_printed(
                    network,
                    self.r,
                    self.t,
                    x,
                    solver=options.solver,
                    mu_min=options.mu_min,
                    told=staged,
                )
            else:
                # The first start, alpha = 0, is not drawn; its J was the best or nearly so.
                x = start(budget, n, d) if i == 0 else random_start(budget, n, d, rng)
                method = solve if options.solver == "direct" else solve_alternating
                found = method(
                    network,
                    self.r,
                    self.t,
                    x=x,
                    mu_min=options.mu_min,
                    most=options.max_iter,
                    told=staged,
                )
            if self._best is None or found.J < self._best.J:
                self._best = found
        assert self._best is not None
        return self.pruned(self._best)

    def pruned(self, solution: Solution) -> Training:
        """The network of what a solution needs."""
        network, scaling, centres = self.network, self.scaling, self.centres
        limit = PRUNED * solution.error + solution.mu
        network.place(solution.w)
        kept = needed_alpha(network, solution, self.r, limit)
        alpha = np.where(kept, solution.alpha, 0.0)
        # The weight of a constant input changes nothing, so it may be anything.
        used = nonzero_weights(solution.w, self.t) & scaling.varies
        largest = solution.w.max(where=scaling.varies, initial=0.0)
        relevant = used & (solution.w >= self.options.relevance * largest)
        rows = np.flatnonzero(kept[1:])
        if len(rows) and not relevant.all():
            part = Network(
                self.Z[:, relevant], self.target, self.C[np.ix_(rows, relevant)], self.weights
            )
            part.place(solution.w[relevant])
            if part.error(alpha[np.append(0, 1 + rows)]) > limit:
                again = _refit(part, solution.w[relevant], self.r)
                alpha[1 + rows], alpha[0] = again[1:], again[0]
        columns = np.flatnonzero(relevant)
        columns = columns[np.argsort(-solution.w[columns], kind="stable")]
        model = Model(
            columns=columns,
            kept=rows,
            centres=centres[np.ix_(rows, columns)].astype(np.float64),
            weights=solution.w[columns] / scaling.scale[columns] ** 2,
            relative=solution.w[columns],
            coef=alpha[1 + rows] * scaling.y_scale,
            intercept=float(alpha[0] * scaling.y_scale + scaling.y_mean),
        )
        return Training(model, solution, np.flatnonzero(used & ~relevant))


def train(
    X: Floats,
    y: Floats,
    centres: Floats,
    r: float,
    t: float,
    options: Options,
    weights: Floats | None = None,
) -> Training:
    """All the work of a ``Trainer``."""
    return Trainer(X, y, centres, r, t, options, weights).run()


def _refit(network: Network, w: Floats, r: float) -> Floats:
    """The coefficients for fixed weights: a lasso with a budget, by the barrier to 1e-6."""
    t = 2.0 * float(w.sum())  # does not bind: the weights stay
    n, d = network.n_centres + 1, network.n_inputs
    x = start(Budget(r, t, 1.0 / network.n_centres, 1.0 / d), n, d)
    x = Point.of(x.s, x.alpha, w, x.left_r, t - float(w.sum()))
    return solve(network, r, t, x=x, parts="alpha").alpha
