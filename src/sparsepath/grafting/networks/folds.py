r"""Choose when growth ends: one growth covers many values of l0, evaluated on test folds.

Which connections are tried, and where their minimum is, does not depend on l0 (see
``growing.py``): it only says when to end. With C_k the criterion without L0
after step k, and c_k the sum of the L0 factors then, the network that l0 would leave is the first
at which

    C_{k+1} + l0 c_{k+1} >= C_k + l0 c_k

So one growth with the smallest l0 holds the networks of all larger ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsepath.base.targets import dense
from sparsepath.grafting.criterion import ConvexLoss, Penalty
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.folds import Halt, mean_error, refuse_empty
from sparsepath.grafting.networks.growing import Grower, Growth, samples
from sparsepath.grafting.networks.network import HiddenLayer
from sparsepath.grafting.procedure import FALL
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads


@dataclass(frozen=True, eq=False)
class FoldState:
    """A network on its way: its features in order of entry, C without L0, L0 factors, mean loss.

    ``written`` is the number of lines of history that led to it.
    """

    network: HiddenLayer
    order: tuple[int, ...]
    convex: float
    charge: float
    loss: float
    written: int


def state_of(grower: Grower, factors: Penalty) -> FoldState:
    """Return the current state of a growth."""
    net, grown = grower.network, grower.grown
    charge = grower.charge(net, factors.l0)
    return FoldState(net, grower.order, grower.convex, charge, grown.loss, len(grown.history))


def end(states: Sequence[FoldState], l0: float) -> int:
    """The state at which a growth with this l0 would have ended."""
    for k in range(len(states) - 1):
        here, there = (state.convex + l0 * state.charge for state in states[k : k + 2])
        if not there < here - FALL * abs(here):
            return k
    return len(states) - 1


@dataclass(frozen=True, eq=False)
class NetworkTask:
    """The data, and what to grow on every training part; penalties are per unit of l1 and l0."""

    X: Any
    Y: Floats
    weights: Floats
    loss: ConvexLoss
    factors: Penalty
    growth: Growth
    l1s: Floats
    l0s: Floats
    patience: int
    standardize: bool
    scaled: bool  # whether the target is brought to mean 0 and standard deviation 1
    error: str
    kept: int | None = None  # the place of the only l1 that is still tried; None: all are

    def penalty(self, l1: float, l0: float) -> Penalty:
        return Penalty(l1 * self.factors.l1, self.factors.l2, l0 * self.factors.l0)

    def errors(self, split: tuple[Any, Any], halt: Halt) -> Floats | None:
        """Mean errors on the test part, l1s x l0s, those of the empty network before them.

        NaN for values of l1 that are not tried any more. None if it was ended early.

        A growth ends when the error of the test part has not fallen for ``patience`` steps; what
        smaller values of l0 would have added is then judged as the network at the end.
        """
        train, test = split
        weights = self.weights[train]
        used = weights > 0
        refuse_empty(weights, self.weights[test])
        weights, train = weights[used], np.asarray(train)[used]
        s = weights / weights.sum()
        Y, T = self.Y[train], self.Y[test]
        unit, origin = spread(Y, s) if self.scaled else (1.0, 0.0)
        out = np.full((len(self.l1s), 1 + len(self.l0s)), np.nan)
        with Threads(1) as threads:
            design = GraftingDesign(self.X[train], s, threads, standardize=self.standardize)
            for i, l1 in enumerate(self.l1s):
                if self.kept not in (None, i):
                    continue
                grower = Grower(
                    design,
                    (Y - origin) / unit,
                    self.loss,
                    self.penalty(l1, float(self.l0s[-1])),
                    self.growth,
                    samples(weights),
                )
                states, errors, best = [], [], 0
                while True:
                    if halt.is_set:
                        return None
                    states.append(state_of(grower, self.factors))
                    errors.append(self._error(grower.network, design, test, T, unit, origin))
                    best = len(errors) - 1 if errors[-1] < errors[best] else best
                    if len(errors) - 1 - best >= self.patience or not grower.step():
                        break
                out[i] = errors[0], *(errors[end(states, float(l0))] for l0 in self.l0s)
        return out

    def _error(
        self,
        net: HiddenLayer,
        design: GraftingDesign,
        test: Any,
        T: Floats,
        unit: float,
        origin: float,
    ) -> float:
        rows = dense(self.X[test][:, net.used])
        Z = (rows - design.means[net.used]) / design.scales[net.used]
        F = net.scores(Z) * unit + origin
        return mean_error(self.loss, F, T, self.weights[test], self.error)


def spread(Y: Floats, s: Floats) -> tuple[float, float]:
    """Standard deviation (1 if there is none) and mean of a single target."""
    mean = float(s @ Y[:, 0])
    size = float(np.sqrt(s @ (Y[:, 0] - mean) ** 2))
    return size if size > 0 else 1.0, mean
