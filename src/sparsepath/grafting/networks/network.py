r"""A hidden layer with only some of its connections (Perkins et al. 2003, section 3.3.2).

    f(x) = sum_j g(a_j + sum_i w_ij z_i) + b,       g(t) = 2 / (1 + exp(-t)) - 1 = tanh(t / 2)

Output weights are one, so a unit adds between -1 and +1. Over the weights w_ij that are free, C is
the mean loss plus sum (l1_i |w_ij| + l2_i w_ij^2); biases are not penalised. With r_t = s_t
L'(f_t) and g' = (1 - g^2) / 2 the derivatives of the loss term are

    in w_ij:  sum_t r_t g'_tj z_ti        in a_j:  sum_t r_t g'_tj        in b:  sum_t r_t

The same sums for connections that do not exist yet are the gradient test; a new unit has g' = 1/2
(the factor is missing in the paper). ``Descent`` minimises C: L-BFGS-B on split
weights w = u - v with u, v >= 0, which has no kinks; what is not zero at the end is polished by
Newton steps with the exact second derivatives. Networks for
three classes and more are in :mod:`sparsepath.grafting.networks.softmax`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import grafting as core
from sparsepath.base import Formula, Frozen, Predictor, Tanh
from sparsepath.base.targets import dense
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.system.arrays import Floats

MOST_POLISH = 30
FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e6
FLAT = 1e-5  # relative fall of C below which exact Newton steps take over
Net = TypeVar("Net")


class Descent(ABC, Generic[Net]):
    """C (without L0) over a vector of parameters; the first ``c`` are penalised."""

    c: int
    l1: Floats

    @abstractmethod
    def pack(self) -> Floats:
        """The parameters of the network at hand."""

    @abstractmethod
    def unpack(self, p: Floats) -> Net:
        """The network of these parameters."""

    @abstractmethod
    def smooth(self, p: Floats) -> tuple[float, Floats]:
        """Loss and l2 terms with their gradient."""

    @abstractmethod
    def hessian(self, p: Floats, *, exact: bool = True) -> Floats:
        """Second derivatives of :meth:`smooth`; if not exact, without those of the outputs."""

    def value(self, p: Floats) -> float:
        """C without L0."""
        return self.smooth(p)[0] + float(self.l1 @ np.abs(p[: self.c]))

    def minimise(self, tol: float, max_iter: int) -> tuple[Net, float]:
        """The network at a local minimum near by, and C there (without L0).

        Levenberg-Marquardt steps: each is the least value of the l1 terms and a damped quadratic
        model with the Gauss-Newton matrix. When they gain little, exact Newton steps take over.
        """
        p = self.pack()
        l1 = np.append(self.l1, np.zeros(len(p) - self.c))
        none, damping, fall = np.zeros_like(l1), FIRST_DAMPING, np.inf
        value, g = self.smooth(p)
        here = value + float(l1 @ np.abs(p))
        for _ in range(max_iter):
            H = self.hessian(p, exact=False)
            own = H.diagonal().copy()
            while damping < MOST_DAMPING:
                H[np.diag_indices(len(p))] = own + damping * (own + 1e-12)
                trial = core.minimise(H, g, p, l1, none, none, 0.1 * tol)
                value, slopes = self.smooth(trial)
                fall = here - (value + float(l1 @ np.abs(trial)))
                if fall > 0:
                    break
                damping *= 8.0
            if not fall > 0:
                break
            p, g, here = trial, slopes, here - fall
            damping = max(damping / 5.0, 1e-8)
            if fall <= FLAT * here:
                break
        p = self._polish(p, tol)
        return self.unpack(p), self.value(p)

    def _polish(self, p: Floats, tol: float) -> Floats:
        """Newton steps on what is not zero, while the gradient shrinks and C does not rise."""
        here, size = self.value(p), np.inf
        damping = 1e-12
        for _ in range(MOST_POLISH):
            g = self.smooth(p)[1]
            g[: self.c] += self.l1 * np.sign(p[: self.c])
            free = np.append(p[: self.c] != 0, np.ones(len(p) - self.c, dtype=bool))
            size = float(np.abs(g[free]).max())
            if size <= 1e-4 * tol or damping > 1.0:
                break
            E, Q = np.linalg.eigh(self.hessian(p)[np.ix_(free, free)])
            ridge = damping * max(float(E[-1]), 1e-300)
            step = np.zeros_like(p)
            step[free] = -Q @ ((Q.T @ g[free]) / np.maximum(np.abs(E), ridge))
            trial = p + step
            trial[: self.c][p[: self.c] * trial[: self.c] < 0] = 0.0
            there = self.value(trial)
            if there <= here + 1e-15 * abs(here):
                p, here, damping = trial, there, max(damping / 10, 1e-12)
            else:
                damping *= 100
        return p


Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class HiddenLayer(Frozen, ABC):
    """Connections (unit, feature) with their weights, and the biases of the units.

    While a network grows, a connection has a place in a table: the row is the unit, or beyond the
    last one a new unit, one row per output; the column is the feature, and beyond the last one, if
    there are several outputs, the output to which the unit is connected.
    """

    parts: ClassVar[Mapping[str, str]] = {
        "units": "index:h w",
        "features": "column w",
        "weights": "float w",
        "biases": "float h",
    }
    units: Ints
    features: Ints
    weights: Floats
    biases: Floats

    @property
    def n_hidden(self) -> int:
        return len(self.biases)

    @property
    def used(self) -> Ints:
        """The features in use, ascending."""
        return np.unique(self.features)

    def matrix(self, columns: Ints) -> Floats:
        """Weights as columns x units."""
        W = np.zeros((len(columns), self.n_hidden))
        W[np.searchsorted(columns, self.features), self.units] = self.weights
        return W

    def hidden(self, Z: Floats) -> Floats:
        """Return the outputs of the units for the ``used`` columns Z."""
        return np.tanh(0.5 * (Z @ self.matrix(self.used) + self.biases))

    @property
    def n_connections(self) -> int:
        return len(self.weights)

    @property
    def more_columns(self) -> int:
        """Columns of the table beyond the features."""
        return 0

    @abstractmethod
    def scores(self, Z: Floats) -> Floats:
        """The outputs, one column each, for the ``used`` columns Z."""

    @abstractmethod
    def output_layer(self) -> tuple[Floats, Floats]:
        """Weights from units to outputs, and the biases of the outputs."""

    @abstractmethod
    def tidy(self) -> Self:
        """Without zero weights and without units that have none left, whose constants join b."""

    @abstractmethod
    def places(self, n: int) -> tuple[Ints, Ints]:
        """Rows and columns of the connections that exist, in their order; n features."""

    @abstractmethod
    def place_weights(self) -> Floats:
        """The weights of these connections."""

    @abstractmethod
    def with_place(self, row: int, column: int, n: int) -> Self:
        """One more connection, of weight zero; a new unit has bias zero."""

    def with_unit(self, features: Ints, weights: Floats, bias: float, output: int) -> Self:
        """One more unit, for that output, with these connections."""
        return replace(
            self,
            units=np.append(self.units, np.full(len(features), self.n_hidden)),
            features=np.append(self.features, features),
            weights=np.append(self.weights, weights),
            biases=np.append(self.biases, bias),
        )

    @abstractmethod
    def slopes(
        self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss
    ) -> tuple[Floats, Floats | None]:
        """Vectors whose products with a feature are the loss gradients of the rows of the table.

        With several outputs, also the gradients of connections from units to outputs.
        """

    @abstractmethod
    def criterion(
        self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss, l1: Floats, l2: Floats
    ) -> Descent[Self]:
        """C of the free parameters; l1 and l2 have one entry per column of the table."""


@dataclass(frozen=True, eq=False)
class NetworkModel(Predictor):
    """A network on raw columns, and what its outputs are scaled by."""

    parts: ClassVar = {
        "network": "HiddenLayer",
        "means": "float d",
        "scales": "float d",
        "unit": "float",
        "origin": "float",
    }
    network: HiddenLayer
    means: Floats  # of the columns in use, ascending
    scales: Floats
    unit: float = 1.0
    origin: float = 0.0

    def check(self) -> None:
        if len(self.network.used) != len(self.means):
            raise InputError(f"means has {len(self.means)} numbers, not one per column in use.")

    def predict(self, X: Any) -> Floats:
        Z = (dense(X[:, self.network.used]) - self.means) / self.scales
        return self.network.scores(Z) * self.unit + self.origin

    def formula(self) -> Formula:
        net = self.network
        coef, biases = net.output_layer()
        units = Tanh(0.5 * net.matrix(net.used).T, 0.5 * net.biases)
        slopes = np.zeros((len(net.used), len(biases)))
        intercept = biases * self.unit + self.origin
        return Formula(
            net.used, self.means, self.scales, slopes, intercept, units, coef * self.unit
        )


@dataclass(frozen=True, eq=False)
class GrownNetwork(HiddenLayer):
    """A hidden layer and the bias of the single output."""

    parts: ClassVar = {**HiddenLayer.parts, "output_bias": "float"}
    output_bias: float

    def scores(self, Z: Floats) -> Floats:
        return (self.hidden(Z).sum(1) + self.output_bias)[:, None]

    def output_layer(self) -> tuple[Floats, Floats]:
        return np.ones((self.n_hidden, 1)), np.array([self.output_bias])

    def tidy(self) -> "GrownNetwork":
        keep = self.weights != 0
        alive = np.unique(self.units[keep])
        gone = np.setdiff1d(np.arange(self.n_hidden), alive)
        return GrownNetwork(
            np.searchsorted(alive, self.units[keep]),
            self.features[keep],
            self.weights[keep],
            self.biases[alive],
            self.output_bias + float(np.tanh(0.5 * self.biases[gone]).sum()),
        )

    def places(self, n: int) -> tuple[Ints, Ints]:
        return self.units, self.features

    def place_weights(self) -> Floats:
        return self.weights

    def with_place(self, row: int, column: int, n: int) -> "GrownNetwork":
        return replace(
            self,
            units=np.append(self.units, row),
            features=np.append(self.features, column),
            weights=np.append(self.weights, 0.0),
            biases=np.append(self.biases, [0.0] * (row == self.n_hidden)),
        )

    def slopes(self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss) -> tuple[Floats, None]:
        hidden = self.hidden(Z)
        f = (hidden.sum(1) + self.output_bias)[:, None]
        r = s[:, None] * loss.slope(f, Y)
        bends = np.column_stack([0.5 * (1.0 - hidden * hidden), np.full(len(s), 0.5)])
        return r * bends, None

    def criterion(
        self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss, l1: Floats, l2: Floats
    ) -> "NetworkCriterion":
        return NetworkCriterion(self, Z, Y, s, loss, l1, l2)


Network = TypeVar("Network", bound=HiddenLayer)


class LayerCriterion(Descent[Network]):
    """C (without L0) of a network's free parameters, for the columns Z that it uses.

    ``l1`` and ``l2`` have an entry per column of the table of connections.
    """

    def __init__(
        self,
        network: Network,
        Z: Floats,
        Y: Floats,
        s: Floats,
        loss: ConvexLoss,
        l1: Floats,
        l2: Floats,
    ) -> None:
        self.shape = network
        self.Z, self.Y, self.s, self.loss = Z, Y, s, loss
        self.rows = np.searchsorted(network.used, network.features)
        self.cols = network.units
        columns = network.places(len(l1) - network.more_columns)[1]
        self.l1, self.l2 = l1[columns], l2[columns]
        self.c, self.h = network.n_connections, network.n_hidden
        self._W = np.zeros((Z.shape[1], self.h))


class NetworkCriterion(LayerCriterion[GrownNetwork]):
    """C of one output.

    A vector of parameters holds the weights, the biases of the units and that of the output.
    """

    def pack(self) -> Floats:
        net = self.shape
        return np.concatenate([net.weights, net.biases, [net.output_bias]])

    def unpack(self, p: Floats) -> GrownNetwork:
        weights, biases = p[: self.c].copy(), p[self.c : self.c + self.h].copy()
        return replace(self.shape, weights=weights, biases=biases, output_bias=float(p[-1]))

    def _forward(self, p: Floats) -> tuple[Floats, Floats]:
        self._W[self.rows, self.cols] = p[: self.c]
        G = np.tanh(0.5 * (self.Z @ self._W + p[self.c : self.c + self.h]))
        return G, (G.sum(1) + p[-1])[:, None]

    def smooth(self, p: Floats) -> tuple[float, Floats]:
        """Loss and l2 terms with their gradient."""
        G, f = self._forward(p)
        w = p[: self.c]
        value = float(self.s @ self.loss.value(f, self.Y) + self.l2 @ (w * w))
        r = self.s * self.loss.slope(f, self.Y)[:, 0]
        back = r[:, None] * (0.5 * (1.0 - G * G))
        in_w = (self.Z.T @ back)[self.rows, self.cols] + 2.0 * self.l2 * w
        return value, np.concatenate([in_w, back.sum(0), [r.sum()]])

    def hessian(self, p: Floats, *, exact: bool = True) -> Floats:
        """Second derivatives of :meth:`smooth`; if not exact, without those of the outputs."""
        G, f = self._forward(p)
        bend = 0.5 * (1.0 - G * G)
        curve = -G * bend  # g'' = -g g'
        r = self.s * self.loss.slope(f, self.Y)[:, 0]
        J = np.column_stack([self.Z[:, self.rows] * bend[:, self.cols], bend, np.ones(len(self.Z))])
        H = (J * (self.s * self.loss.curvature(f, self.Y)[:, 0])[:, None]).T @ J
        for j in range(self.h if exact else 0):
            own = np.append(np.flatnonzero(self.cols == j), self.c + j)
            E = np.column_stack([self.Z[:, self.rows[own[:-1]]], np.ones(len(self.Z))])
            H[np.ix_(own, own)] += (E * (r * curve[:, j])[:, None]).T @ E
        H[np.arange(self.c), np.arange(self.c)] += 2.0 * self.l2
        return H
