"""Algorithm 2 in a robust form: alpha and s for fixed weights, then the weights for fixed alpha.

For fixed weights the problem is a lasso with a budget, which is convex and solved completely for
the current mu. For fixed alpha, damped Gauss-Newton steps find the weights. Both halves are stages
of ``primal_dual``; they alternate until J converges, and then mu is lowered. If both halves are
strongly coupled, as with wide Gaussians, alternation zigzags down a curved valley and needs many
rounds. The direct solver follows the valley, so prefer it.
"""

from sparsepath.rbf.barrier import Budget, InteriorPoint
from sparsepath.rbf.network import RBFNetwork
from sparsepath.rbf.primal_dual import PrimalDual, RBFSolution, Stage, Told


def solve_alternating(
    network: RBFNetwork,
    r: float,
    t: float,
    *,
    x: InteriorPoint | None = None,
    mu_max: float = 1e-3,
    mu_min: float = 1e-6,
    factor: float = 0.1,
    most: int = 100,
    told: Told = None,
) -> RBFSolution:
    """Solve the barrier problem by turns; parameters as in ``primal_dual.solve``.

    ``most`` is the number of rounds for each mu.
    """
    budget = Budget(r, t)
    run = PrimalDual(network, budget, mu_max, x)
    stages: list[Stage] = []
    mu = mu_max
    while True:
        last = mu <= mu_min * (1 + 1e-9)
        before, fall, rounds = float("inf"), 1.0, 0
        while fall > mu and rounds < most:  # the relative fall of J in a round
            rounds += 1
            for part in ("alpha", "weights"):
                run.turn(part)
                stages.append(run.stage(mu, 0.1, 30))
            fall = (before - run.value()) / abs(run.value())
            before = run.value()
        settled = rounds < most
        stages[-1] = Stage(mu, stages[-1].iterations, stages[-1].decrement, settled)
        if last:
            return run.solution(stages)
        if told is not None:
            told(run.solution(stages))
        mu = max(mu_min, factor * mu)
