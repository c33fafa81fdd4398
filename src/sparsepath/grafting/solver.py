"""The convex part of the criterion (L0 = 0), solved to a certified optimum.

Grafting adds one weight at a time. With L0 = 0 the minimum does not depend on the order in which
weights are added, so here many are added at a time: the working set is the support and an equal
number of the features with the largest violations. An engine optimises it; then one pass over all
features finds the next violations or proves that there are none.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sparsepath.grafting.criterion import Penalty, row_norms, violations
from sparsepath.grafting.engines import Engine
from sparsepath.grafting.procedure import WorkingModel
from sparsepath.grafting.steps import Indices
from sparsepath.system.arrays import Floats

FIRST = 10  # fewest features that enter together, or, if that is more,
SHARE = 50  # this part of all features, or
AT_ONCE = 2e6  # as many as have products with each other for so many multiplications
MOST_ROUNDS = 200
NO_GRADIENT = 1e-13  # part of the sizes of the slopes below which a gradient is zero
ZERO_LOSS = 1e-12  # part of the empty model's loss below which C is zero to rounding


@dataclass(frozen=True, eq=False)
class Round(WorkingModel):
    """Result of one round: its model, and the previous gradients."""

    gradients: Floats  # of the features of the support, before the round, as sizes


@dataclass(frozen=True, eq=False)
class Solution:
    """A point and its certificates.

    Attributes
    ----------
    W, b : arrays of shape (n, K), (K,)
        Weights of the standardised columns, intercepts.
    criterion, loss : float
        C without L0, and its loss term.
    violation : float
        The largest violation of optimality over free and zero weights and intercepts, relative to
        the largest gradient of the empty model.
    gap : float
        The duality gap relative to C; NaN where no dual point can be made.
    converged : bool
        Whether both are within the tolerance.
    gradient : array of shape (n, K)
        Of the loss term; of a feature that is proven to stay at zero perhaps an older one.
    rounds : list of Round
    asked : bool
        Whether the watcher ended it.
    """

    W: Floats
    b: Floats
    criterion: float
    loss: float
    violation: float
    gap: float
    converged: bool
    gradient: Floats
    rounds: list[Round] = field(default_factory=list)
    asked: bool = False


def gradient_scale(engine: Engine, gradient: Floats) -> float:
    """The largest gradient of the empty model, or 1 if all of them are zero to rounding."""
    top = float(row_norms(gradient).max(initial=0.0))
    return top if top > NO_GRADIENT * engine.slope_sums()[1] else 1.0


def solve(
    engine: Engine,
    penalty: Penalty,
    scale: float,
    tol: float = 1e-9,
    likely: Indices | None = None,
    gradient: Floats | None = None,
    rounds: list[Round] | None = None,
    watch: Callable[[], bool] | None = None,
    max_rounds: int = MOST_ROUNDS,
) -> Solution:
    """Minimise the criterion without L0 from the engine's present point.

    Parameters
    ----------
    engine : Engine
        The point to start from; it is left at the solution.
    penalty : Penalty
        Of all features; L0 is left out.
    scale : float
        The largest gradient of the empty model: what violations are relative to.
    tol : float
        For the violation, relative to ``scale``, and for the gap, relative to C.
    likely : array of int, optional
        Features to put into the first working set, as a screening rule predicts them.
    gradient : array of shape (n, K), optional
        The gradient at the present point, if it is known.
    rounds : list, optional
        An empty one, to which what every round did is written.
    watch : callable, optional
        Called after every round; a true value ends the work.
    max_rounds : int
        Rounds after which the solver gives up.
    """
    usable, convex = engine.design.usable, replace(penalty, l0=np.zeros_like(penalty.l0))
    previous, asked = np.inf, False
    for turn in range(max_rounds + 1):
        if gradient is None:
            engine.settle_intercept()
            gradient = engine.gradient_for(penalty)
        now, gradient = gradient, None
        left = np.where(usable, violations(now, engine.W, penalty), 0.0)
        violation = max(float(left.max(initial=0.0)), _intercept_violation(engine)) / scale
        stuck = turn > 5 and violation > 0.9 * previous and violation <= 1e-6
        last = turn == max_rounds or stuck
        gap = _gap(engine, convex, now, usable) if last or violation <= tol else np.inf
        good = violation <= tol and not gap > tol
        previous = min(previous, violation)
        if good or last:
            break
        support = engine.W[:, 0] != 0 if engine.W.shape[1] == 1 else engine.W.any(axis=1)
        working: NDArray[np.bool_] = np.array(support)
        if likely is not None:
            working[likely] = True
            working &= usable
            likely = None
        few = max(FIRST, engine.design.n // SHARE, int(np.sqrt(AT_ONCE / engine.design.m)))
        room = max(few, engine.greed * int(support.sum()))
        working[_worst(np.where(working, 0.0, left), room)] = True
        goal = engine.part * scale * max(violation, 1e-3 * tol)
        engine.optimise(np.flatnonzero(working), penalty, goal)
        if rounds is not None:
            rounds.append(_round(engine, penalty, now))
        if watch is not None and watch():
            asked, max_rounds = True, turn + 1  # the next turn takes the certificates
    loss = engine.loss_term()
    total = loss + convex.value(engine.W)
    W, b = engine.W.copy(), engine.b.copy()
    return Solution(W, b, total, loss, violation, gap, good, now, rounds or [], asked)


def _worst(left: Floats, room: int) -> Indices:
    """The features of largest violation, at most ``room`` and none without; ties: lowest index."""
    order = np.argsort(-left, kind="stable")[:room] if room < len(left) else np.arange(len(left))
    return order[left[order] > 0]


def _intercept_violation(engine: Engine) -> float:
    return float(np.abs(engine.slope_sums()[0]).max()) if engine.design.fit_intercept else 0.0


def _gap(engine: Engine, convex: Penalty, gradient: Floats, usable: NDArray[np.bool_]) -> float:
    """The duality gap relative to C without L0, or where C is nothing to the empty model's."""
    gap = engine.gap(convex, gradient, usable)
    total = engine.loss_term() + convex.value(engine.W)
    return (
        gap if np.isnan(gap) else max(gap, 0.0) / max(total, ZERO_LOSS * engine.null_loss, 1e-300)
    )


def _round(engine: Engine, penalty: Penalty, before: Floats) -> Round:
    support = np.flatnonzero(engine.W.any(1))
    loss = engine.loss_term()
    total, sizes = loss + penalty.value(engine.W), row_norms(before[support])
    W, b = engine.W[support], engine.b.copy()
    return Round(tuple(support.tolist()), W, b, total, loss, sizes)
