"""Solve problems with many inputs on working sets of inputs.

The cost of a solver step grows with the cube of the number of inputs, and in the end nearly all of
thousands of inputs have zero weight. An input keeps zero weight if, at the solution on the others,
increasing its weight does not lower the error faster than the inputs that share the budget t: with
the gradient h of E in the weights and the multiplier eta of the budget, if h_i >= -eta. So the
network is solved on some inputs, the gradient of all others is computed there, and those that would
lower the error faster replace inputs of zero weight, until there are none. The solution is then
also a stationary point of the full problem. Gradients only describe the next step and can lead to
poor minima; so half of the first inputs are those for which a parabola explains most of the target,
and half those with the largest gradient at equal weights. The procedure ends when a solution
improves by less than a thousandth.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparsepath.rbf.lasso import BudgetLasso
from sparsepath.rbf.network import IN_USE, RBFNetwork
from sparsepath.rbf.primal_dual import RBFSolution, Told, stationarity_gap
from sparsepath.system.arrays import Floats

# Inputs that are solved for at once. Friedman's problem, 500 x 300, two draws: with 100 error .060
# and .058 and the five inputs, with 300 at once .146 (four of the five) and .048.
MANY = 100
BETTER = 0.999  # of the error: less makes another round, or another pair of budgets, worth while

Inputs = NDArray[np.intp]


def solve_narrowed(
    network: RBFNetwork,
    r: float,
    t: float,
    solve_on: Callable[[Inputs, Told], RBFSolution],
    told: Told = None,
) -> RBFSolution:
    """Return a solution on working sets of inputs, equivalent to one on all inputs.

    Parameters
    ----------
    network : RBFNetwork
        The problem with all inputs.
    r, t : float
        The budgets.
    solve_on : callable
        From inputs and a callback to the solution on these alone.
    told : callable, optional
        Called with solutions on all inputs.
    """
    d = network.n_inputs
    offered = first_inputs(network, r, t)
    best: RBFSolution | None = None
    while True:
        inputs = np.sort(offered)

        def whole(part: RBFSolution, inputs: Inputs = inputs) -> RBFSolution:
            w = np.zeros(d)
            w[inputs] = part.w
            return replace(part, w=w)

        found = whole(solve_on(inputs, None if told is None else lambda part: told(whole(part))))
        network.place(found.w)
        gradient = network.gradient(found.alpha)
        slopes = gradient[len(found.alpha) :]
        found = replace(found, gap=stationarity_gap(gradient, found.alpha, found.w, r, t))
        if best is not None and not found.error < BETTER * best.error:
            return found if found.error < best.error else best
        best = found
        in_use = inputs[found.w[inputs] > IN_USE * found.w.max()]
        outside = np.setdiff1d(np.arange(d), inputs)
        steeper = outside[slopes[outside] < -found.eta]
        if not len(steeper):
            return found
        steeper = steeper[np.argsort(slopes[steeper], kind="stable")]
        room = max(MANY - len(in_use), MANY // 2)
        offered = np.concatenate([in_use, steeper[:room]])


def first_inputs(network: RBFNetwork, r: float, t: float) -> Inputs:
    """Return the first working set, ascending: all inputs if they are not many."""
    d = network.n_inputs
    if d <= MANY:
        return np.arange(d)
    alpha = BudgetLasso(network.place(np.full(d, 0.9 * t / d)), network.y, r).a
    first = np.argsort(-explained_by_parabolas(network.X, network.y), kind="stable")[: MANY // 2]
    steepest = np.argsort(network.gradient(alpha)[len(alpha) :], kind="stable")
    others = steepest[~np.isin(steepest, first)][: MANY - len(first)]
    return np.sort(np.append(first, others))


def explained_by_parabolas(X: Floats, y: Floats) -> Floats:
    """Return the sum of squares of y that a parabola in each column explains.

    >>> X = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])
    >>> explained_by_parabolas(X, X[:, 0] ** 2).round(6)
    array([9. , 4.5])
    """
    y = y - y.mean()
    line = X - X.mean(axis=0)
    bend = line**2
    bend -= bend.mean(axis=0)
    size = np.einsum("ni,ni->i", line, line)
    size[size == 0.0] = 1.0
    bend -= line * (np.einsum("ni,ni->i", line, bend) / size)
    rest = np.einsum("ni,ni->i", bend, bend)
    rest[rest <= 1e-12 * size**2] = np.inf  # two values: no parabola
    return np.asarray((y @ line) ** 2 / size + (y @ bend) ** 2 / rest)
