"""The algorithms printed in the paper: Algorithm 3 inside Algorithm 1 or 2.

Algorithm 3 makes Newton steps on J with the Gauss-Newton Hessian and damping lam on all parameters,
halved when the quadratic model foretells the fall of J well (ratio above 0.75) and doubled when it
does not (below 0.25). What the paper leaves open is settled so:

* the longest step inside an open set does not exist: 1 if the boundary lies beyond it, else 0.99 of
  the way there;
* "relative decrement during the last five iterations": (J[l-5] - J[l]) / |J[l-5]|, and 50
  iterations at most;
* the model in the ratio is without lam; a step that does not lower J is not made, lam is doubled;
* lam is kept between 1e-14 and 1e10.

With lam back at 1 for every mu, as printed, most stages end after a few short steps, far from their
stationary point: fits come out unfinished, at times badly so. ``carried=True`` keeps lam instead.
The slacks are eliminated (see ``barrier``), which changes the arithmetic and not the iterates.
"""

from dataclasses import dataclass

import numpy as np

from sparsepath import SparseRBFRegressor
from sparsepath._core import rbf as core
from sparsepath.rbf.barrier import Budget, InteriorPoint, barrier, newton_system
from sparsepath.rbf.model import Trainer, random_start
from sparsepath.rbf.network import RBFNetwork
from sparsepath.rbf.primal_dual import RBFSolution, Stage, Told, stationarity_gap
from sparsepath.system.arrays import Floats

WINDOW = 5
DECREMENT = 1e-4
MOST_STEPS = 50
SMALLEST, LARGEST = 1e-14, 1e10
PARTS = {"direct": ("both",), "alternating": ("alpha", "weights")}


@dataclass
class QuasiNewton:
    """Algorithm 3: minimise J for one mu; keeps the point and the damping between calls."""

    network: RBFNetwork
    budget: Budget
    x: InteriorPoint
    lam: float = 1.0

    def run(self, mu: float, parts: str = "both") -> Stage:
        """Step until J settles; x and lam are changed."""
        network, budget = self.network, self.budget
        n = network.n_centres + 1
        rows = {"both": slice(None), "alpha": slice(n), "weights": slice(n, None)}[parts]
        shares = budget.shares(n, network.n_inputs)
        network.place(self.x.w)
        history = [network.error(self.x.alpha) + mu * barrier(shares, self.x, parts)]
        gradient: Floats | None = None
        while True:
            if gradient is None:
                gradient = network.gradient(self.x.alpha)
                H = network.gauss_newton(rows)
            x = self.x
            by = InteriorPoint(mu * shares / x.all, n)  # what the logarithms add to the slopes
            curvature = InteriorPoint(by.all / x.all, n)
            of_w = np.full(network.n_inputs, self.lam)
            system = newton_system(H.copy(order="F"), curvature, parts, self.lam, of_w)
            slopes = core.slopes(gradient, mu * shares, x.all, n)
            step = InteriorPoint(system.solve(slopes), n)
            inside = core.longest_step(x.all, step.all, 1.0)
            length = 1.0 if inside >= 1.0 else 0.99 * inside
            slope = core.slope_along(slopes, step.all, n)
            squared = float(step.alpha @ step.alpha + step.s @ step.s + step.w @ step.w)
            bend = -slope - self.lam * squared
            foretold = -(length * slope + 0.5 * length * length * bend)
            trial = x.moved(step, length)
            if parts != "alpha":
                network.place(trial.w)
            value = network.error(trial.alpha) + mu * barrier(shares, trial, parts)
            ratio = (history[-1] - value) / foretold if foretold > 0 else -np.inf
            if ratio > 0.75:
                self.lam = max(self.lam / 2.0, SMALLEST)
            elif ratio < 0.25:
                self.lam = min(2.0 * self.lam, LARGEST)
            if value < history[-1]:
                self.x, gradient = trial, None
                history.append(value)
            else:
                history.append(history[-1])
                if parts != "alpha":
                    network.place(self.x.w)
            done = settled(history)
            if done or len(history) > MOST_STEPS:
                return Stage(mu, len(history) - 1, -slope, done)


def settled(values: list[float]) -> bool:
    """Whether the relative decrement over the last five is below 1e-4."""
    if len(values) <= WINDOW:
        return False
    before = values[-1 - WINDOW]
    return (before - values[-1]) / abs(before) < DECREMENT


def solve_printed(
    network: RBFNetwork,
    r: float,
    t: float,
    x: InteriorPoint,
    *,
    solver: str = "direct",
    mu_max: float = 1e-3,
    mu_min: float = 1e-6,
    factor: float = 0.85,
    most: int = 400,
    carried: bool = False,
    told: Told = None,
) -> RBFSolution:
    """Algorithm 1 (``solver="direct"``) or 2 (``"alternating"``) with the printed schedule.

    Parameters
    ----------
    network : RBFNetwork
        The problem.
    r, t : float
        The budgets.
    x : InteriorPoint
        A strictly feasible start; the paper draws the signs of |alpha| = 0.99 s.
    solver : {"direct", "alternating"}
        The algorithm.
    mu_max, mu_min, factor, most
        The paper's 1e-3, 1e-6, 0.85 and k_max = 400.
    carried : bool
        Keep lam from one mu to the next.
    told : callable, optional
        Called with the solution so far after every mu but the last.
    """
    budget = Budget(r, t)
    shares = budget.shares(network.n_centres + 1, network.n_inputs)
    newton = {part: QuasiNewton(network, budget, x) for part in PARTS[solver]}
    stages: list[Stage] = []
    values: list[float] = []
    mu = mu_max
    for k in range(most):
        for part, solve in newton.items():
            solve.x = x
            solve.lam = solve.lam if carried else 1.0
            stages.append(solve.run(mu, part))
            x = solve.x
        network.place(x.w)
        error = network.error(x.alpha)
        values.append(error + mu * barrier(shares, x))
        alpha = x.alpha
        ended = all(stage.converged for stage in stages[-len(newton) :])
        solution = RBFSolution(
            alpha=alpha,
            s=x.s,
            w=x.w,
            error=error,
            J=values[-1],
            mu=mu,
            nu=mu / x.left_r,
            eta=mu / x.left_t,
            gap=stationarity_gap(network.gradient(alpha), alpha, x.w, r, t),
            converged=mu <= mu_min and ended,
            stages=list(stages),
        )
        if (mu <= mu_min and settled(values)) or k == most - 1:
            break
        if told is not None:
            told(solution)
        mu = max(mu_min, factor * mu)
    return solution


class PrintedTrainer(Trainer):
    """Solves by the printed algorithms, from one start with random signs."""

    def _best_of_starts(self, told: Told = None, start: RBFSolution | None = None) -> RBFSolution:
        network, options = self.network, self.options
        budget, rng = Budget(self.r, self.t), np.random.default_rng(options.random_state)
        x = random_start(budget, network.n_centres + 1, network.n_inputs, rng)
        self._best = solve_printed(
            network, self.r, self.t, x, solver=options.solver, mu_min=options.mu_min, told=told
        )
        return self._best


class PrintedRBFRegressor(SparseRBFRegressor):
    """The regressor with the algorithms of the paper, which often do not converge."""

    _trainer = PrintedTrainer
