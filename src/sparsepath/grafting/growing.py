r"""MLP grafting: a network that grows connection by connection (paper, section 3.3.2).

The procedure is that of :mod:`sparsepath.grafting.procedure`. The candidates are all connections
that do not exist, from any feature to any unit, and from any feature to a new unit. All their
gradients come from one product with the data. A new unit brings its bias, which starts at zero.

L0 is charged per connection, or per feature as equation (6) has it: then a second connection of a
feature that is in use is free, little stops the growth if l1 is small, and the caps on units and
connections matter. How well each step is optimised matters a lot: a loose tolerance loses the
second unit that a variable needs, and sometimes the variable.
"""

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.grafting.criterion import Loss, Penalty, best_intercept
from sparsepath.grafting.design import Design
from sparsepath.grafting.network import Network, NetworkCriterion
from sparsepath.grafting.procedure import FALL, INTERRUPTED, TIE
from sparsepath.path import Move

L0_PER = ("connection", "feature")


@dataclass(frozen=True)
class Growth:
    """How to grow; see ``MLPGraftingClassifier``."""

    l0_per: str = "connection"
    selection: str = "gradient"
    stop: str = "first"
    max_hidden: int | None = None
    max_connections: int | None = None
    max_features: int | None = None
    tol: float = 1e-7
    max_iter: int = 500


@dataclass(frozen=True)
class NetworkGraft:
    """One line of the history; ``gradient`` is that of the connection tried, NaN for a drop."""

    step: int
    action: Literal["add", "drop", "undo"]
    unit: int
    feature: int
    criterion: float
    gradient: float


@dataclass(eq=False)
class Grown:
    """What the procedure leaves; ``networks`` holds the best network per number of features."""

    network: Network
    criterion: float
    loss: float
    networks: dict[int, tuple[tuple[int, ...], Network, float, float]] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    history: list[NetworkGraft] = field(default_factory=list)
    stopped: str = ""


def grow(design: Design, Y: Floats, loss: Loss, penalty: Penalty, growth: Growth) -> Grown:
    """Grow a network from the empty one."""
    begun = time.perf_counter()
    s = design.s
    nothing = np.empty(0, dtype=np.intp)
    bias = best_intercept(loss, np.zeros((design.m, 1)), Y, s)
    network = Network(nothing, nothing, np.empty(0), np.empty(0), float(bias[0]))
    columns: dict[int, Floats] = {}

    def taken(net: Network) -> Floats:
        for j in net.used:
            if int(j) not in columns:
                columns[int(j)] = design.columns(np.array([j]))[:, 0]
        out = np.empty((design.m, len(net.used)), order="F")
        for place, j in enumerate(net.used):
            out[:, place] = columns[int(j)]
        return out

    def charged(net: Network) -> float:
        return float(penalty.l0[net.used if growth.l0_per == "feature" else net.features].sum())

    def mean_loss(net: Network) -> float:
        return float(s @ loss.value(net.outputs(taken(net))[:, None], Y))

    here = mean_loss(network)
    grown = Grown(network, here, here)
    grown.networks[0] = ((), network, here, here)
    order: list[int] = []
    failed: set[tuple[int, int]] = set()
    last, step, top = 0.0, 0, 0.0
    while True:
        if growth.max_connections is not None and len(network.weights) >= growth.max_connections:
            grown.stopped = "max_connections"
            break
        sizes = candidate_gradients(design, network, taken(network), Y, loss)
        top = max(top, float(sizes.max()))
        gains = sizes - penalty.l1
        open_ = np.broadcast_to(design.usable, gains.shape) & (gains > growth.tol * top)
        open_[network.units, network.features] = False
        if growth.max_hidden is not None and network.n_hidden >= growth.max_hidden:
            open_[-1] = False
        if growth.max_features is not None and len(order) >= growth.max_features:
            others = np.ones(design.n, dtype=bool)
            others[order] = False
            open_[:, others] = False
        for place in failed:
            open_[place] = False
        if not open_.any():
            grown.stopped = "no connection left lowers C" if failed else "optimal"
            break
        step += 1
        unit, feature = _choose(gains, open_, network, penalty, growth, last)
        wider = network.with_connection(unit, feature)
        task = NetworkCriterion(wider, taken(wider), Y, s, loss, penalty.l1, penalty.l2)
        try:
            full, convex = task.minimise(growth.tol, growth.max_iter)
        except KeyboardInterrupt:  # what has grown so far is not thrown away
            grown.stopped = INTERRUPTED
            break
        trial = full.tidy()
        there = convex + charged(trial)
        if not there < here - FALL * abs(here):
            size = float(sizes[unit, feature])
            grown.history.append(NetworkGraft(step, "undo", unit, feature, there, size))
            if growth.stop == "first":
                grown.stopped = "C would rise"
                break
            failed.add((unit, feature))
            continue
        last = float(abs(full.weights[-1]))
        network, here = trial, there
        failed.clear()
        size = float(sizes[unit, feature])
        grown.history.append(NetworkGraft(step, "add", unit, feature, here, size))
        for i in np.flatnonzero(full.weights == 0):
            lost = (int(full.units[i]), int(full.features[i]))
            grown.history.append(NetworkGraft(step, "drop", *lost, here, np.nan))
        used = set(network.used.tolist())
        seconds = time.perf_counter() - begun
        for j in [j for j in order if j not in used]:
            order.remove(j)
            grown.moves.append(Move("drop", j, here, seconds))
        for j in sorted(used.difference(order)):
            order.append(j)
            grown.moves.append(Move("add", j, here, seconds))
        known = grown.networks.get(len(order))
        if known is None or here < known[2]:
            grown.networks[len(order)] = (tuple(order), network, here, mean_loss(network))
    grown.network, grown.criterion, grown.loss = network, here, mean_loss(network)
    return grown


def candidate_gradients(
    design: Design, network: Network, Z: Floats, Y: Floats, loss: Loss
) -> Floats:
    """Sizes of the loss gradients of all connections: one row per unit, the last for a new one."""
    hidden = network.hidden(Z)
    f = (hidden.sum(1) + network.output_bias)[:, None]
    r = design.s[:, None] * loss.slope(f, Y)
    slopes = np.column_stack([0.5 * (1.0 - hidden * hidden), np.full(design.m, 0.5)])
    return np.abs(design.products(np.asfortranarray(r * slopes))).T


def _choose(
    gains: Floats,
    open_: NDArray[np.bool_],
    network: Network,
    penalty: Penalty,
    growth: Growth,
    last: float,
) -> tuple[int, int]:
    """The connection to try: largest gradient or least estimate (9); ties: lowest unit, feature."""
    if growth.selection == "bound" and last > 0.0:
        cost = penalty.l0.copy()
        if growth.l0_per == "feature":
            cost[network.used] = 0.0
        scores = cost - last * (gains - penalty.l2 * last)
    else:
        scores = -gains
    scores = np.where(open_, scores, np.inf)
    finite = scores[open_]
    limit = finite.min() + TIE * np.abs(finite).max()
    unit, feature = np.unravel_index(int(np.argmax(scores <= limit)), scores.shape)
    return int(unit), int(feature)
