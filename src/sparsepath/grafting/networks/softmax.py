r"""Grown networks with one output per class, for three classes and more.

    f_k(x) = sum_j v_jk g_j(x) + b_k,       g_j(x) = g(a_j + sum_i w_ij z_i)

The softmax of the outputs gives the probabilities of the classes. With all v_jk = 1, as in the
paper for one output, every unit would add the same number to all classes, which does not change the
softmax. So a unit is created for one output, its *home*, where v = 1 is fixed; this sets its scale,
as in the network with one output. Its connections to other outputs start at zero, are candidates of
the gradient test like those from features, and have the same penalties with factor 1. With R = s
L'(F), an m x K matrix, and B = R V' the derivatives of the loss term are

    in w_ij:  sum_t B_tj g'_tj z_ti       in v_jk:  sum_t R_tk g_tj
    in a_j:   sum_t B_tj g'_tj            in b_k:   sum_t R_tk

and a new unit with home k has sum_t R_tk z_ti / 2. For the second derivatives let J_k be the
derivatives of f_k and p the class probabilities; then H = sum_t s_t (sum_k p_k J_k J_k' - (sum_k
p_k J_k)(...)') plus the second derivatives of f: g'' B in the block of each unit's own parameters,
and R_tk g' z between v_jk and those. Adding a constant to all b_k changes nothing; the network with
sum b_k = 0 is used.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.networks.network import HiddenLayer, Ints, LayerCriterion
from sparsepath.system.arrays import Floats


@dataclass(frozen=True, eq=False)
class SoftmaxNetwork(HiddenLayer):
    """A hidden layer and K outputs.

    Attributes
    ----------
    homes : array of int
        The output for which each unit was born, to which it is connected with weight 1.
    out_units, out_classes, out_weights : arrays
        The further connections, from units to outputs.
    output_biases : array of shape (K,)
    """

    parts: ClassVar = {
        **HiddenLayer.parts,
        "homes": "index:t h",
        "out_units": "index:h o",
        "out_classes": "index:t o",
        "out_weights": "float o",
        "output_biases": "float t",
    }
    homes: Ints
    out_units: Ints
    out_classes: Ints
    out_weights: Floats
    output_biases: Floats

    @classmethod
    def empty(cls, output_biases: Floats) -> "SoftmaxNetwork":
        """No units."""
        none, nothing = np.empty(0, dtype=np.intp), np.empty(0)
        return cls(none, none, nothing, nothing, none, none, none, nothing, output_biases)

    @property
    def n_outputs(self) -> int:
        return len(self.output_biases)

    @property
    def more_columns(self) -> int:
        return self.n_outputs

    @property
    def n_connections(self) -> int:
        return len(self.weights) + len(self.out_weights)

    def out_matrix(self) -> Floats:
        """The weights v as units x outputs."""
        V = np.zeros((self.n_hidden, self.n_outputs))
        V[np.arange(self.n_hidden), self.homes] = 1.0
        V[self.out_units, self.out_classes] = self.out_weights
        return V

    def scores(self, Z: Floats) -> Floats:
        return self.hidden(Z) @ self.out_matrix() + self.output_biases

    def output_layer(self) -> tuple[Floats, Floats]:
        return self.out_matrix(), self.output_biases

    def tidy(self) -> "SoftmaxNetwork":
        keep = self.weights != 0
        alive = np.unique(self.units[keep])
        gone = np.setdiff1d(np.arange(self.n_hidden), alive)
        out = (self.out_weights != 0) & np.isin(self.out_units, alive)
        constants = np.tanh(0.5 * self.biases[gone]) @ self.out_matrix()[gone]
        biases = self.output_biases + constants
        return SoftmaxNetwork(
            np.searchsorted(alive, self.units[keep]),
            self.features[keep],
            self.weights[keep],
            self.biases[alive],
            self.homes[alive],
            np.searchsorted(alive, self.out_units[out]),
            self.out_classes[out],
            self.out_weights[out],
            biases - biases.mean(),
        )

    def places(self, n: int) -> tuple[Ints, Ints]:
        rows = np.concatenate([self.units, self.out_units])
        return rows, np.concatenate([self.features, n + self.out_classes])

    def place_weights(self) -> Floats:
        return np.concatenate([self.weights, self.out_weights])

    def with_place(self, row: int, column: int, n: int) -> "SoftmaxNetwork":
        made = self
        if row >= self.n_hidden:
            homes = np.append(self.homes, row - self.n_hidden)
            made = replace(self, biases=np.append(self.biases, 0.0), homes=homes)
        if column >= n:
            return replace(
                made,
                out_units=np.append(self.out_units, row),
                out_classes=np.append(self.out_classes, column - n),
                out_weights=np.append(self.out_weights, 0.0),
            )
        return replace(
            made,
            units=np.append(self.units, min(row, self.n_hidden)),
            features=np.append(self.features, column),
            weights=np.append(self.weights, 0.0),
        )

    def with_unit(
        self, features: Ints, weights: Floats, bias: float, output: int
    ) -> "SoftmaxNetwork":
        made = super().with_unit(features, weights, bias, output)
        return replace(made, homes=np.append(self.homes, output))

    def slopes(self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss) -> tuple[Floats, Floats]:
        G, V = self.hidden(Z), self.out_matrix()
        R = s[:, None] * loss.slope(G @ V + self.output_biases, Y)
        outward = np.zeros((self.n_hidden + self.n_outputs, self.n_outputs))
        outward[: self.n_hidden] = G.T @ R
        # The home has its weight for good, and a new unit has no other output yet.
        outward[np.arange(self.n_hidden), self.homes] = 0.0
        return np.column_stack([R @ V.T * (0.5 * (1.0 - G * G)), 0.5 * R]), outward

    def criterion(
        self, Z: Floats, Y: Floats, s: Floats, loss: ConvexLoss, l1: Floats, l2: Floats
    ) -> "SoftmaxCriterion":
        return SoftmaxCriterion(self, Z, Y, s, loss, l1, l2)


class SoftmaxCriterion(LayerCriterion[SoftmaxNetwork]):
    """C of several outputs.

    A vector of parameters holds the weights w and v, the biases of the units and of the outputs.
    """

    def __init__(
        self,
        network: SoftmaxNetwork,
        Z: Floats,
        Y: Floats,
        s: Floats,
        loss: ConvexLoss,
        l1: Floats,
        l2: Floats,
    ) -> None:
        super().__init__(network, Z, Y, s, loss, l1, l2)
        self.inward, self.K = len(network.weights), network.n_outputs
        self._V = network.out_matrix()

    def pack(self) -> Floats:
        net = self.shape
        return np.concatenate([net.weights, net.out_weights, net.biases, net.output_biases])

    def unpack(self, p: Floats) -> SoftmaxNetwork:
        net, i, c, h = self.shape, self.inward, self.c, self.h
        return replace(
            net,
            weights=p[:i].copy(),
            biases=p[c : c + h].copy(),
            out_weights=p[i:c].copy(),
            output_biases=p[c + h :] - p[c + h :].mean(),
        )

    def _forward(self, p: Floats) -> tuple[Floats, Floats]:
        net, i, c = self.shape, self.inward, self.c
        self._W[self.rows, self.cols] = p[:i]
        self._V[net.out_units, net.out_classes] = p[i:c]
        G = np.tanh(0.5 * (self.Z @ self._W + p[c : c + self.h]))
        return G, G @ self._V + p[c + self.h :]

    def smooth(self, p: Floats) -> tuple[float, Floats]:
        G, F = self._forward(p)
        w = p[: self.c]
        value = float(self.s @ self.loss.value(F, self.Y) + self.l2 @ (w * w))
        R = self.s[:, None] * self.loss.slope(F, self.Y)
        back = R @ self._V.T * (0.5 * (1.0 - G * G))
        in_w = (self.Z.T @ back)[self.rows, self.cols]
        in_v = (G.T @ R)[self.shape.out_units, self.shape.out_classes]
        g = np.concatenate([in_w, in_v, back.sum(0), R.sum(0)])
        g[: self.c] += 2.0 * self.l2 * w
        return value, g

    def hessian(self, p: Floats, *, exact: bool = True) -> Floats:
        G, F = self._forward(p)
        net, V, i, c, h = self.shape, self._V, self.inward, self.c, self.h
        bend = 0.5 * (1.0 - G * G)
        shares = self.loss.curvature(F, self.Y)
        R = self.s[:, None] * self.loss.slope(F, self.Y)
        inputs = self.Z[:, self.rows]
        H = np.zeros((len(p), len(p)))
        mean = np.zeros((len(self.Z), len(p)))
        for k in range(self.K):
            J = np.zeros((len(self.Z), len(p)))
            J[:, :i] = inputs * bend[:, self.cols] * V[self.cols, k]
            J[:, i:c] = G[:, net.out_units] * (net.out_classes == k)
            J[:, c : c + h] = bend * V[:, k]
            J[:, c + h + k] = 1.0
            share = shares[:, k, None]
            H += (J * (self.s[:, None] * share)).T @ J
            mean += share * J
        H -= (mean * self.s[:, None]).T @ mean
        curve = (R @ V.T) * (-G * bend)  # g'' = -g g'
        for j in range(h if exact else 0):
            own = np.append(np.flatnonzero(self.cols == j), c + j)
            E = np.column_stack([inputs[:, own[:-1]], np.ones(len(self.Z))])
            H[np.ix_(own, own)] += (E * curve[:, j, None]).T @ E
            out = np.flatnonzero(net.out_units == j)
            if len(out):
                cross = (E * bend[:, j, None]).T @ R[:, net.out_classes[out]]
                H[np.ix_(own, i + out)] += cross
                H[np.ix_(i + out, own)] += cross.T
        H[np.arange(c), np.arange(c)] += 2.0 * self.l2
        return H
