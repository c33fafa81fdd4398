r"""MLP grafting: a network that grows connection by connection (paper, section 3.3.2).

The procedure is that of :mod:`sparsepath.grafting.procedure`. The candidates are all connections
that do not exist, from any feature to any unit, and from any feature to a new unit. All their
gradients come from one product with the data. A new unit brings its bias, which starts at zero.
With three classes and more a new unit is tried for every output, and connections from units to
further outputs are candidates too (:mod:`sparsepath.grafting.softmax_network`).

L0 is charged per connection, or per feature as equation (6) has it: then a second connection of a
feature that is in use is free, and so are those to outputs; little stops the growth if l1 is small,
and the caps on units and connections matter. How well each step is optimised matters a lot: a loose
tolerance loses the second unit that a variable needs, and sometimes the variable.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.grafting.criterion import Loss, Penalty, best_intercept
from sparsepath.grafting.design import Design
from sparsepath.grafting.network import HiddenLayer, Network
from sparsepath.grafting.procedure import FALL, TIE
from sparsepath.grafting.softmax_network import SoftmaxNetwork
from sparsepath.running import Stop
from sparsepath.steps import Move

L0_PER = ("connection", "feature")
Action = Literal["add", "drop", "undo"]


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
    """One line of the history; ``gradient`` is that of the connection tried, NaN for a drop.

    With three classes and more ``output`` is the number of the class for which a new unit is born,
    or, where ``feature`` is None, of that to which the unit is connected.
    """

    step: int
    action: Action
    unit: int
    feature: int | None
    criterion: float
    gradient: float
    output: int | None = None


@dataclass(eq=False)
class Grown:
    """What the procedure leaves; ``networks`` holds the best network per number of features.

    With each its features, criterion and mean loss; the errors of the moves are mean losses.
    """

    network: HiddenLayer
    criterion: float
    loss: float
    networks: dict[int, tuple[tuple[int, ...], HiddenLayer, float, float]] = field(
        default_factory=dict
    )
    moves: list[Move] = field(default_factory=list)
    history: list[NetworkGraft] = field(default_factory=list)
    stopped: str = ""


def grow(
    design: Design,
    Y: Floats,
    loss: Loss,
    penalty: Penalty,
    growth: Growth,
    watch: Callable[[], bool] | None = None,
    runs: list[Grown] | None = None,
) -> Grown:
    """Grow a network from the empty one.

    ``penalty`` has an entry per feature and, if Y has several columns, then one per output.
    ``watch`` is called after every step that is kept; a true value ends the growth. What grows is
    appended to ``runs`` at once, so that it is known if an exception ends the growth.
    """
    begun = time.perf_counter()
    s, n = design.s, design.n
    network = _empty(best_intercept(loss, np.zeros(Y.shape), Y, s))
    usable = np.append(design.usable, np.ones(len(penalty.l1) - n, dtype=bool))
    columns: dict[int, Floats] = {}

    def taken(net: HiddenLayer) -> Floats:
        for j in net.used:
            if int(j) not in columns:
                columns[int(j)] = design.columns(np.array([j]))[:, 0]
        out = np.empty((design.m, len(net.used)), order="F")
        for place, j in enumerate(net.used):
            out[:, place] = columns[int(j)]
        return out

    def charged(net: HiddenLayer) -> float:
        return float(penalty.l0[net.used if growth.l0_per == "feature" else net.places(n)[1]].sum())

    def mean_loss(net: HiddenLayer) -> float:
        return float(s @ loss.value(net.scores(taken(net)), Y))

    def line(
        action: Action, net: HiddenLayer, row: int, column: int, C: float, size: float
    ) -> None:
        new = row - net.n_hidden if row >= net.n_hidden and Y.shape[1] > 1 else None
        unit, feature = min(row, net.n_hidden), column if column < n else None
        output = new if column < n else column - n
        grown.history.append(NetworkGraft(step, action, unit, feature, C, size, output))

    here = mean_loss(network)
    grown = Grown(network, here, here)
    grown.networks[0] = ((), network, here, here)
    if runs is not None:
        runs.append(grown)
    order: list[int] = []
    failed: set[tuple[int, int]] = set()
    last, step, top = 0.0, 0, 0.0
    while True:
        if growth.max_connections is not None and network.n_connections >= growth.max_connections:
            grown.stopped = Stop.MAX_CONNECTIONS
            break
        sizes = candidate_gradients(design, network, taken(network), Y, loss)
        top = max(top, float(sizes.max()))
        gains = sizes - penalty.l1
        open_ = np.broadcast_to(usable, gains.shape) & (gains > growth.tol * top)
        open_[network.places(n)] = False
        if growth.max_hidden is not None and network.n_hidden >= growth.max_hidden:
            open_[network.n_hidden :] = False
        if growth.max_features is not None and len(order) >= growth.max_features:
            others = np.ones(n, dtype=bool)
            others[order] = False
            open_[:, np.flatnonzero(others)] = False
        for place in failed:
            open_[place] = False
        if not open_.any():
            grown.stopped = Stop.NO_CONNECTION if failed else Stop.OPTIMAL
            break
        step += 1
        row, column = _choose(gains, open_, network, penalty, growth, last, n)
        size = float(sizes[row, column])
        wider = network.with_place(row, column, n)
        task = wider.criterion(taken(wider), Y, s, loss, penalty.l1, penalty.l2)
        full, convex = task.minimise(growth.tol, growth.max_iter)
        trial = full.tidy()
        there = convex + charged(trial)
        if not there < here - FALL * abs(here):
            line("undo", network, row, column, there, size)
            if growth.stop == "first":
                grown.stopped = Stop.RISES
                break
            failed.add((row, column))
            continue
        last = float(abs((full.weights if column < n else full.place_weights())[-1]))
        here = there
        failed.clear()
        line("add", network, row, column, here, size)
        rows, where = full.places(n)
        for i in np.flatnonzero(full.place_weights() == 0).tolist():
            line("drop", full, int(rows[i]), int(where[i]), here, np.nan)
        network = trial
        used = set(network.used.tolist())
        seconds = time.perf_counter() - begun
        mean = mean_loss(network)
        for j in [j for j in order if j not in used]:
            order.remove(j)
            grown.moves.append(Move("drop", j, mean, seconds))
        for j in sorted(used.difference(order)):
            order.append(j)
            grown.moves.append(Move("add", j, mean, seconds))
        known = grown.networks.get(len(order))
        if known is None or here < known[2]:
            grown.networks[len(order)] = (tuple(order), network, here, mean)
        grown.network, grown.criterion, grown.loss = network, here, mean
        if watch is not None and watch():
            break
    return grown


def candidate_gradients(
    design: Design, network: HiddenLayer, Z: Floats, Y: Floats, loss: Loss
) -> Floats:
    """Sizes of the loss gradients of all connections, in the table of ``HiddenLayer``."""
    inward, outward = network.slopes(Z, Y, design.s, loss)
    sizes = np.abs(design.products(np.asfortranarray(inward))).T
    return sizes if outward is None else np.column_stack([sizes, np.abs(outward)])


def _empty(biases: Floats) -> HiddenLayer:
    if len(biases) > 1:
        return SoftmaxNetwork.empty(biases - biases.mean())
    nothing = np.empty(0, dtype=np.intp)
    return Network(nothing, nothing, np.empty(0), np.empty(0), float(biases[0]))


def _choose(
    gains: Floats,
    open_: NDArray[np.bool_],
    network: HiddenLayer,
    penalty: Penalty,
    growth: Growth,
    last: float,
    n: int,
) -> tuple[int, int]:
    """The connection to try: largest gradient or least estimate (9); ties: lowest row, column."""
    if growth.selection == "bound" and last > 0.0:
        cost = penalty.l0.copy()
        if growth.l0_per == "feature":
            cost[network.used] = 0.0
            cost[n:] = 0.0
        scores = cost - last * (gains - penalty.l2 * last)
    else:
        scores = -gains
    scores = np.where(open_, scores, np.inf)
    finite = scores[open_]
    limit = finite.min() + TIE * np.abs(finite).max()
    row, column = np.unravel_index(int(np.argmax(scores <= limit)), scores.shape)
    return int(row), int(column)
