r"""MLP grafting: a network that grows connection by connection (Perkins et al. 2003, 3.3.2).

The procedure is that of :mod:`sparsepath.grafting.procedure`. The candidates are all connections
that do not exist, from any feature to any unit, and from any feature to a new unit. All their
gradients come from one product with the data. A new unit brings its bias, which starts at zero.
With three classes and more a new unit is tried for every output, and connections from units to
further outputs are candidates too (:mod:`sparsepath.grafting.networks.softmax`).

With ``look_ahead`` sets of inputs are tried for new units too: the step that lowers C most for each
connection is taken, and a feature that is not in use comes in only if its gradient is beyond chance
(:mod:`sparsepath.grafting.networks.look_ahead`).

L0 is charged per connection, or per feature as equation (6) has it: then a second connection of a
feature that is in use is free, and so are those to outputs; little stops the growth if l1 is small,
and the caps on units and connections matter. How well each step is optimised matters a lot: a loose
tolerance loses the second unit that a variable needs, and sometimes the variable.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sparsepath.base import Stop
from sparsepath.grafting.criterion import ConvexLoss, Penalty, best_intercept
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.networks.look_ahead import Scout, Units, best_units
from sparsepath.grafting.networks.network import GrownNetwork, HiddenLayer
from sparsepath.grafting.networks.softmax import SoftmaxNetwork
from sparsepath.grafting.procedure import FALL, TIED
from sparsepath.path.steps import Move, exchange_columns
from sparsepath.system.arrays import Floats

# Part of the loss at which sets of inputs are looked for again. With .8 a fit takes 8 % less, but
# inputs of noise came in on one of five seeds of Friedman's problem.
AGAIN = 0.95
L0_PER = ("connection", "feature")
Action = Literal["add", "drop", "undo"]


@dataclass(eq=False, repr=False, kw_only=True)
class Growth:
    """Parameters of the growth; those of ``MLPGraftingClassifier``."""

    l0_per: str = "connection"
    selection: str = "gradient"
    stop: str = "first"
    max_hidden: int | None = None
    max_connections: int | None = None
    max_features: int | None = None
    look_ahead: int = 1
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
class GrowthResult:
    """Result of the growth; ``networks`` has the best network per number of features.

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


@dataclass(frozen=True, eq=False)
class Trial:
    """A wider network at its minimum: with all connections, and without those that ended at zero.

    ``convex`` is its criterion without L0, ``places`` are the connections that were added.
    """

    full: HiddenLayer
    tidy: HiddenLayer
    convex: float
    places: tuple[tuple[int, int], ...]
    fall: float  # of the criterion without L0, for each connection more


class Grower:
    """One network that grows; see the module. ``convex`` is its criterion without L0."""

    def __init__(
        self,
        design: GraftingDesign,
        Y: Floats,
        loss: ConvexLoss,
        penalty: Penalty,
        growth: Growth,
        count: float | None = None,
    ) -> None:
        self.design, self.Y, self.loss = design, Y, loss
        self.penalty, self.growth = penalty, growth
        self._columns: dict[int, Floats] = {}
        self.network = _empty(best_intercept(loss, np.zeros(Y.shape), Y, design.s))
        self.convex = here = self._mean_loss(self.network)
        self.grown = GrowthResult(self.network, here, here)
        self.grown.networks[0] = ((), self.network, here, here)
        self._begun = time.perf_counter()
        self._usable = np.append(design.usable, np.ones(len(penalty.l1) - design.n, dtype=bool))
        self._order: list[int] = []
        self._failed: set[tuple[int, int]] = set()
        self._scout: Scout | None = None
        if growth.look_ahead > 1:
            self._scout = Scout(
                design, growth.look_ahead, samples(design.s) if count is None else count
            )
        self._scouting = self._scout is not None
        self._scouted = np.inf  # the loss when it last looked
        self._sets: list[set[tuple[int, ...]]] = []
        self._last, self._number, self._top = 0.0, 0, 0.0

    def step(self) -> bool:
        """Add what lowers the criterion most for each connection; False if nothing does."""
        growth, grown, network = self.growth, self.grown, self.network
        while True:
            if (
                growth.max_connections is not None
                and network.n_connections >= growth.max_connections
            ):
                grown.stopped = Stop.MAX_CONNECTIONS
                return False
            Z = self._taken(network)
            sizes = candidate_gradients(self.design, network, Z, self.Y, self.loss)
            self._top = max(self._top, float(sizes.max()))
            trials = self._trials(sizes)
            if not trials:
                grown.stopped = Stop.NO_CONNECTION if self._failed else Stop.OPTIMAL
                return False
            self._number += 1
            trial = max(trials, key=lambda each: each.fall)
            there = trial.convex + self.charge(trial.tidy, self.penalty.l0)
            if there < grown.criterion - FALL * abs(grown.criterion):
                self._keep(trial, there, sizes)
                return True
            self._lines("undo", network, trial.places, there, sizes)
            if growth.stop == "first":
                grown.stopped = Stop.RISES
                return False
            if len(trial.places) > 1:
                self._scouting = False
            else:
                self._failed.update(trial.places)

    def _open(self, sizes: Floats, gains: Floats, full: bool) -> NDArray[np.bool_]:
        """Return which connections may be tried: gradient above l1, and within the limits."""
        network, growth, n = self.network, self.growth, self.design.n
        open_ = np.broadcast_to(self._usable, gains.shape) & (gains > growth.tol * self._top)
        open_[network.places(n)] = False
        if full:
            open_[network.n_hidden :] = False
        if growth.max_features is not None and len(self._order) >= growth.max_features:
            others = np.ones(n, dtype=bool)
            others[self._order] = False
            open_[:, np.flatnonzero(others)] = False
        for place in self._failed:
            open_[place] = False
        if self._scout is not None:
            inward, _ = network.slopes(self._taken(network), self.Y, self.design.s, self.loss)
            others = np.setdiff1d(np.arange(n), self._order)
            open_[:, others] &= self._scout.beyond_chance(inward, sizes[:, others], n)
        return open_

    def _trials(self, sizes: Floats) -> list[Trial]:
        """The best single connection, and the best unit of several if it promises more."""
        network, growth, n = self.network, self.growth, self.design.n
        full = growth.max_hidden is not None and network.n_hidden >= growth.max_hidden
        gains = sizes - self.penalty.l1
        open_ = self._open(sizes, gains, full)
        trials = []
        if open_.any():
            place = self._choose(gains, open_)
            trials.append(self._tried(network.with_place(*place, n), (place,)))
        if self._scouting and not full:
            units, promised = self._best_units()
            if units is not None and promised > max((t.fall for t in trials), default=0.0):
                wider, places = network, []
                for weights, bias in zip(units.weights, units.biases, strict=True):
                    row = network.n_hidden + units.output
                    places += [(row, j) for j in units.features]
                    wider = wider.with_unit(
                        np.array(units.features), weights, float(bias), units.output
                    )
                trials.append(self._tried(wider, tuple(places)))
        return trials

    def _choose(self, gains: Floats, open_: NDArray[np.bool_]) -> tuple[int, int]:
        """Return the connection to try: largest gradient, or lowest estimate (9); lowest row,
        column.
        """
        scores, last = -gains, self._last
        if self.growth.selection == "bound" and last > 0.0:
            cost = self.penalty.l0.copy()
            if self.growth.l0_per == "feature":
                cost[self.network.used] = 0.0
                cost[self.design.n :] = 0.0
            scores = cost - last * (gains - self.penalty.l2 * last)
        scores = np.where(open_, scores, np.inf)
        finite = scores[open_]
        limit = finite.min() + TIED * np.abs(finite).max()
        row, column = np.unravel_index(int(np.argmax(scores <= limit)), scores.shape)
        return int(row), int(column)

    def _tried(self, wider: HiddenLayer, places: tuple[tuple[int, int], ...]) -> Trial:
        """The minimum near a wider network."""
        l1, l2, growth = self.penalty.l1, self.penalty.l2, self.growth
        task = wider.criterion(self._taken(wider), self.Y, self.design.s, self.loss, l1, l2)
        full, convex = task.minimise(growth.tol, growth.max_iter)
        tidy = full.tidy()
        more = max(1, tidy.n_connections - self.network.n_connections)
        return Trial(full, tidy, convex, places, (self.convex - convex) / more)

    def _best_units(self) -> tuple[Units | None, float]:
        """New units of several inputs that lower C most for each connection, and by how much.

        Sets of inputs are those that the scout finds, and those of the units that there are. The
        scout looks again when the loss has fallen to a part of what it was.
        """
        assert self._scout is not None
        network, growth, s = self.network, self.growth, self.design.s
        F = network.scores(self._taken(network))
        slopes = s[:, None] * self.loss.slope(F, self.Y)
        curvature = s @ self.loss.curvature(F, self.Y)
        if len(curvature) > 1:
            curvature = curvature * (1.0 - curvature)
        most_features = max(growth.max_features or self.design.n, len(self._order))
        most = (growth.max_connections or np.inf) - network.n_connections
        two = growth.max_hidden is None or network.n_hidden + 2 <= growth.max_hidden
        known = {
            tuple(sorted(network.features[network.units == unit].tolist()))
            for unit in np.flatnonzero(np.bincount(network.units) > 1)
        }
        if self.grown.loss < AGAIN * self._scouted:
            self._scouted = self.grown.loss
            self._sets = [
                {S for _, S in self._scout.sets(slopes[:, output], float(curvature[output]))}
                for output in range(F.shape[1])
            ]
        best, promised = None, 0.0
        for output in range(F.shape[1]):
            for S in sorted(known.union(self._sets[output])):
                counts = tuple(k for k in (1, 2)[: 1 + two] if k * len(S) <= most)
                wide = len(S) > growth.look_ahead
                if wide or not counts or len(set(self._order).union(S)) > most_features:
                    continue
                Z, inputs = self._column_table(S), list(S)
                for units in best_units(S, Z, F, self.Y, s, self.loss, output, counts):
                    w = units.weights
                    price = np.abs(w) @ self.penalty.l1[inputs] + w**2 @ self.penalty.l2[inputs]
                    fall = (units.fall - float(price.sum())) / w.size
                    if fall > promised:
                        best, promised = units, fall
        return best, promised

    def _keep(self, trial: Trial, there: float, sizes: Floats) -> None:
        """Make the trial the present network, and write down what came in and left."""
        grown, full, n = self.grown, trial.full, self.design.n
        if trial.places[-1][1] < n:
            self._last = float(abs(full.weights[-1]))
        else:
            self._last = float(abs(full.place_weights()[-1]))
        self._failed.clear()
        self._scouting = self._scout is not None
        self._lines("add", self.network, trial.places, there, sizes)
        rows, where = full.places(n)
        gone = np.flatnonzero(full.place_weights() == 0)
        self._lines("drop", full, [(int(rows[i]), int(where[i])) for i in gone], there)
        self.network, self.convex = trial.tidy, trial.convex
        network = self.network
        seconds = time.perf_counter() - self._begun
        mean = self._mean_loss(network)
        moves = exchange_columns(self._order, sorted(network.used.tolist()))
        grown.moves += [Move(*move, mean, seconds) for move in moves]
        known = grown.networks.get(len(self._order))
        if known is None or there < known[2]:
            grown.networks[len(self._order)] = (tuple(self._order), network, there, mean)
        grown.network, grown.criterion, grown.loss = network, there, mean

    def _lines(
        self,
        action: Action,
        net: HiddenLayer,
        places: Iterable[tuple[int, int]],
        C: float,
        sizes: Floats | None = None,
    ) -> None:
        """Write history: one line for each connection."""
        n = self.design.n
        for row, column in places:
            new = row - net.n_hidden if row >= net.n_hidden and self.Y.shape[1] > 1 else None
            unit, feature = min(row, net.n_hidden), column if column < n else None
            output = new if column < n else column - n
            size = np.nan if sizes is None else float(sizes[row, column])
            self.grown.history.append(
                NetworkGraft(self._number, action, unit, feature, C, size, output)
            )

    def _taken(self, net: HiddenLayer) -> Floats:
        """The standardised columns that a network uses."""
        return self._column_table(net.used.tolist())

    def _column_table(self, features: Sequence[int]) -> Floats:
        out = np.empty((self.design.m, len(features)), order="F")
        for place, j in enumerate(features):
            if j not in self._columns:
                self._columns[j] = self.design.columns(np.array([j]))[:, 0]
            out[:, place] = self._columns[j]
        return out

    @property
    def order(self) -> tuple[int, ...]:
        """The features in use, in order of entry."""
        return tuple(self._order)

    def charge(self, net: HiddenLayer, l0: Floats) -> float:
        """The L0 terms of a network."""
        per = net.used if self.growth.l0_per == "feature" else net.places(self.design.n)[1]
        return float(l0[per].sum())

    def _mean_loss(self, net: HiddenLayer) -> float:
        return float(self.design.s @ self.loss.value(net.scores(self._taken(net)), self.Y))


def candidate_gradients(
    design: GraftingDesign, network: HiddenLayer, Z: Floats, Y: Floats, loss: ConvexLoss
) -> Floats:
    """Sizes of the loss gradients of all connections, in the table of ``HiddenLayer``."""
    inward, outward = network.slopes(Z, Y, design.s, loss)
    sizes = np.abs(design.products(np.asfortranarray(inward))).T
    return sizes if outward is None else np.column_stack([sizes, np.abs(outward)])


def samples(weights: Floats) -> float:
    """Return the number of samples that weights represent; integer weights are repetitions."""
    if np.array_equal(weights, np.round(weights)):
        return float(weights.sum())
    return float(weights.sum() ** 2 / (weights @ weights))


def _empty(biases: Floats) -> HiddenLayer:
    if len(biases) > 1:
        return SoftmaxNetwork.empty(biases - biases.mean())
    nothing = np.empty(0, dtype=np.intp)
    return GrownNetwork(nothing, nothing, np.empty(0), np.empty(0), float(biases[0]))
