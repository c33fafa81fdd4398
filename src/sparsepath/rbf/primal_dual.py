"""The robust solver: a primal-dual path to the solution of the barrier problem.

Every logarithm of equation 14 gets a multiplier z of its own, and each iteration is a Newton step
on stationarity together with x z = mu k (k the share of the logarithm), so that the curvature of a
logarithm is z / x rather than mu k / x^2 and steps stay long when mu is lowered. A stage ends at
the stationary point of equation 14 for that mu, as in the paper; the steps differ:

* the system is that of ``barrier`` with the Gauss-Newton Hessian of A.2, positive definite, so that
  J decreases along a step; once mu is small, the exact Hessian is used if it is positive definite
  too (the residuals do not vanish, and without their terms the last stages converge slowly);
* it is damped in the weights alone, because the outputs are linear in alpha, in the metric of
  relative changes (lam / w^2), and the damping is kept from stage to stage;
* if the boundary shortens a step below 0.9, further steps with the same factorisation are tried,
  and the one with the largest possible decrease of J is taken: first one that corrects for what the
  step leaves of the products x z (in the manner of Mehrotra), then ones that bring those products,
  at a step longer by a half, to within a factor of ten of mu k (in the manner of Gondzio);
* wide Gaussians are nearly collinear, so that E has a narrow valley, which is curved, because they
  depend on the weights: after a trial step, a step of alpha alone corrects the change of dE/dalpha
  that the model did not predict; it needs only the leading block of the factor and no evaluation of
  Gaussians;
* a step is halved until J decreases enough (Armijo); a stage ends when the decrement, the decrease
  predicted by the quadratic model of J, is a small fraction of mu, with a damping of at most some
  hundred times mu (the curvature of the logarithms is mu / d in the same metric); with more
  damping, it is reduced and the stage continues.

For fixed weights (``parts="alpha"``) the problem is convex, a lasso with a budget; the same steps
solve it to any accuracy, whatever the condition number, which coordinate descent does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sparsepath._core import rbf as core
from sparsepath.rbf.barrier import Budget, InteriorPoint, newton_system, start
from sparsepath.rbf.network import IN_USE, RBFNetwork
from sparsepath.system.arrays import Floats

# Numerical constants of the interior-point method
FRACTION = 0.995  # of the way to the boundary
LONG_STEP = 0.9  # a step that the boundary hardly shortens
RECENTRINGS = 2  # at most, of a step that the boundary shortens
LONGER = 0.5  # than the step at hand, the one that a recentring aims at
BAND = 10.0  # products x z are brought to within this factor of mu k
CENTRED = 1e4  # multipliers are kept within this factor of mu k / x
MOST_HALVINGS = 12
HOLDING = 100.0  # times mu: damping by which the weights are held rather than guided
RELEASED = 0.01  # of that damping is left where a stage would end by it
# The mu from which the exact Hessian is tried: it takes as long as the rest of a step. From 2e-4 on
# 5 to 10 % fewer steps, but 1.1 to 2 times the time; never: 1.5 times the steps, not all converged.
EXACT_FROM = 5e-5


@dataclass(frozen=True)
class Stage:
    """Statistics of one value of mu."""

    mu: float
    iterations: int
    decrement: float
    converged: bool


@dataclass
class RBFSolution:
    """A solution of the barrier problem at its last mu; alpha[0] is the bias."""

    alpha: Floats
    s: Floats
    w: Floats
    error: float  # E
    J: float
    mu: float
    nu: float  # multiplier of the budget r
    eta: float  # multiplier of the budget t
    gap: float
    converged: bool
    stages: list[Stage] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        return sum(stage.iterations for stage in self.stages)


Told = Callable[[RBFSolution], object] | None


def stationarity_gap(g: Floats, alpha: Floats, w: Floats, r: float, t: float) -> float:
    """Return how far the linearised error could fall within the budgets; zero at a solution.

    For fixed weights the problem is convex and this bounds how far E is above its minimum. It is
    g'alpha + r max|g| for the alphas, plus h'w + t max(0, -min h) for the weights' gradient h.
    """
    g_alpha, g_w = g[: len(alpha)], g[len(alpha) :]
    of_alpha = g_alpha @ alpha + r * np.abs(g_alpha).max()
    return float(of_alpha + g_w @ w + t * max(0.0, -g_w.min(initial=0.0)))


class PrimalDual:
    """The state of a solve and the moves on it.

    Parameters
    ----------
    network : RBFNetwork
    budget : Budget
    mu : float
        Where to begin.
    x : InteriorPoint, optional
        A strictly feasible start; default the paper's with alpha = 0.
    parts : {"both", "alpha", "weights"}
        What may move.
    """

    def __init__(
        self,
        network: RBFNetwork,
        budget: Budget,
        mu: float,
        x: InteriorPoint | None = None,
        parts: str = "both",
    ) -> None:
        self.network, self.budget, self.mu = network, budget, mu
        n, d = network.n_centres + 1, network.n_inputs
        self.shares = budget.shares(n, d)
        self.x = start(budget, n, d) if x is None else x.copy()
        self.z = InteriorPoint(mu * self.shares / self.x.all, n)
        self.turn(parts)
        network.place(self.x.w)
        self._rule = core.StepRule(FRACTION, LONG_STEP, LONGER, BAND, RECENTRINGS)
        self._objective = core.Objective(network.basis, network.y, self.shares)
        self._at = self._objective.trial(self.x.all, np.zeros_like(self.x.all), 0.0)
        self.gradient = network.gradient(self._at.alpha, self._at.off)

    # One mu -------------------------------------------------------------------------------------

    def stage(self, mu: float, tolerance: float, most: int) -> Stage:
        """Step until the decrement is below ``tolerance * mu``."""
        self.mu = mu
        decrement, iterations, done = np.inf, 0, False
        while not done and iterations < most:
            iterations += 1
            decrement, length = self._iterate()
            if length == 0.0:
                break
            done = decrement <= tolerance * mu and length > LONG_STEP
            if done and self.lam > HOLDING * mu:
                # What is promised is little because the weights are held, not because it is over.
                self.lam *= RELEASED
                done = False
        # A step too small to be seen in J is as far as rounding lets us go.
        seen = decrement > 1e-12 * abs(self.value())
        return Stage(mu, iterations, decrement, done or not seen)

    def turn(self, parts: str) -> None:
        """Let this part move from here on."""
        self.parts, self.lam = parts, 0.0
        n, d = self.network.n_centres + 1, self.network.n_inputs
        first, last = {"both": (0, n + d), "alpha": (0, n), "weights": (n, n + d)}[parts]
        self._rows = slice(first, last)
        order = last - first
        self._room = np.zeros((order, order), order="F")
        self._kept = np.zeros((order, order), order="F")
        self._fresh = False  # whether what is kept is of the Gaussians where they are

    def value(self) -> float:
        """J at the current point and mu."""
        return self._at.value(self.mu)

    @property
    def error(self) -> float:
        """E at the current point."""
        return self._at.error

    def _iterate(self) -> tuple[float, float]:
        """Take one step; return the decrement before it and its length."""
        system = self._system()
        plain = self.mu * self.shares
        move = system.direction(self.gradient, plain, self.x.all, self.z.all, self._rule)
        length = self._search(system, move)
        if length:
            core.move_multipliers(self.z.all, move.dual, plain, self.x.all, FRACTION, CENTRED)
            self.gradient = self.network.gradient(self._at.alpha, self._at.off)
        return move.decrement, length

    def _search(self, system: core.NewtonSystem, move: core.Move) -> float:
        """Move along the step; returns its length, or 0 if no length goes down."""
        network, n = self.network, self.x.n_alpha
        before, length, step = self.value(), move.longest, move.step
        for halvings in range(MOST_HALVINGS):
            if self.parts != "alpha":
                network.place(self.x.w + length * step[2 * n : -2])
            if self.parts == "both":
                best = system.straight_trial(
                    self._objective, self.x.all, self.z.all, self.gradient, move, length, FRACTION,
                    self.mu,
                )  # fmt: skip
            else:
                best = self._objective.trial(self.x.all, step, length)
            if best.value(self.mu) <= before + 1e-4 * length * move.slope + 1e-13 * abs(before):
                self._at = best
                self.x = InteriorPoint(best.x, n)
                if halvings:
                    raised = max(4.0 * self.lam, 10.0 * self.mu) * 4.0 ** (halvings - 1)
                    self.lam = min(raised, 1e10)
                else:
                    self.lam /= 4.0
                return length
            length *= 0.5 if halvings < 3 else 0.2
        if self.parts != "alpha":
            network.place(self.x.w)
        return 0.0

    def _system(self) -> core.NewtonSystem:
        """The system with the exact Hessian if mu is small and it is positive definite."""
        x, z = self.x, self.z
        curvature = InteriorPoint(z.all / x.all, x.n_alpha)
        lam, lam_w = 0.0, self.lam / (x.w * x.w)
        exact = self.parts == "both" and self.mu <= EXACT_FROM
        H = self._gauss_newton(again=exact)
        if exact:
            live = np.flatnonzero(x.w > IN_USE * x.w.max())
            cross, among = self.network.curvature(self._at.alpha, self._at.off, live)
            core.add_second_derivatives(H.T, x.n_alpha, live, cross, among)
            system = newton_system(H, curvature, self.parts, lam, lam_w)
            if system.positive:
                return system
            np.copyto(H, self._kept)
        while True:
            system = newton_system(H, curvature, self.parts, lam, lam_w)
            if system.positive:
                return system
            lam = max(100.0 * lam, 1e-14 * float(np.abs(curvature.u + curvature.v).max()))
            lam_w = lam_w + lam
            H = self._gauss_newton()

    def _gauss_newton(self, again: bool = False) -> Floats:
        """The Gauss-Newton Hessian of what moves, for a system to overwrite.

        ``again``: it may be needed again, and is kept; that of the Gaussians alone always is.
        """
        if self.parts == "alpha":
            if not self._fresh:
                self.network.gauss_newton(self._rows, self._kept)
                self._fresh = True
            np.copyto(self._room, self._kept)
            return self._room
        self.network.gauss_newton(self._rows, self._room)
        if again:
            np.copyto(self._kept, self._room)
        return self._room

    def solution(self, stages: Sequence[Stage]) -> RBFSolution:
        """The record of where it stands."""
        x, budget = self.x, self.budget
        gap = stationarity_gap(self.gradient, x.alpha, x.w, budget.r, budget.t)
        return RBFSolution(
            alpha=x.alpha,
            s=x.s,
            w=x.w.copy(),
            error=self._at.error,
            J=self.value(),
            mu=self.mu,
            nu=self.z.left_r,
            eta=self.z.left_t,
            gap=gap,
            converged=all(stage.converged for stage in stages[-1:]),
            stages=list(stages),
        )


def solve(
    network: RBFNetwork,
    r: float,
    t: float,
    *,
    mu_max: float = 1e-3,
    mu_min: float = 1e-6,
    factor: float = 0.1,
    tolerance: float = 0.1,
    most: int = 100,
    x: InteriorPoint | None = None,
    parts: str = "both",
    enough: float = 0.0,
    told: Told = None,
) -> RBFSolution:
    """Solve the barrier problem down to ``mu_min``; see the module.

    Parameters
    ----------
    network : RBFNetwork
        The problem.
    r, t : float
        Budgets of the coefficients and of the weights.
    mu_max, mu_min, factor : float
        Where mu begins and ends, and what it is multiplied by from stage to stage.
    tolerance : float
        The last stage ends when the decrement is below ``tolerance * mu_min``; earlier ones at mu.
    most : int
        Iterations per stage.
    x : InteriorPoint, optional
        A strictly feasible start.
    parts : {"both", "alpha", "weights"}
        What may move; the rest stays as in ``x``.
    enough : float
        It also ends where mu is no more than this part of the error.
    told : callable, optional
        Called with the solution so far after every stage but the last.
    """
    run = PrimalDual(network, Budget(r, t), mu_max, x, parts)
    stages: list[Stage] = []
    mu = mu_max
    while True:
        last = mu <= mu_min * (1 + 1e-9)
        stages.append(run.stage(mu, tolerance if last else 1.0, most))
        if last or mu <= enough * run.error:
            return run.solution(stages)
        if told is not None:
            told(run.solution(stages))
        mu = max(mu_min, factor * mu)
