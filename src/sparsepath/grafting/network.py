r"""A network with one hidden layer of which only some connections exist (paper, section 3.3.2).

    f(x) = sum_j g(a_j + sum_i w_ij z_i) + b,       g(t) = 2 / (1 + exp(-t)) - 1 = tanh(t / 2)

Output weights are one, so a unit adds between -1 and +1. Over the weights w_ij that are free, C is
the mean loss plus sum (l1_i |w_ij| + l2_i w_ij^2); biases are not penalised. With r_t = s_t
L'(f_t) and g' = (1 - g^2) / 2 the derivatives of the loss term are

    in w_ij:  sum_t r_t g'_tj z_ti        in a_j:  sum_t r_t g'_tj        in b:  sum_t r_t

The same sums for connections that do not exist yet are the gradient test; a new unit has g' = 1/2
(the factor is missing in the paper). C is minimised by L-BFGS-B on w = u - v with u, v >= 0, which
has no kinks, and then polished by Newton steps on the weights that are not zero.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.grafting.criterion import Loss

Ints = NDArray[np.intp]
MOST_POLISH = 30


@dataclass(frozen=True, eq=False)
class Network:
    """Connections (unit, feature) with their weights, biases of the units, and of the output."""

    units: Ints
    features: Ints
    weights: Floats
    biases: Floats
    output_bias: float

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
        """What the units give for the ``used`` columns Z."""
        return np.tanh(0.5 * (Z @ self.matrix(self.used) + self.biases))

    def outputs(self, Z: Floats) -> Floats:
        """The output f for the ``used`` columns Z."""
        return self.hidden(Z).sum(1) + self.output_bias

    def tidy(self) -> "Network":
        """Without zero weights and without units that have none left, whose constants join b."""
        keep = self.weights != 0
        alive = np.unique(self.units[keep])
        gone = np.setdiff1d(np.arange(self.n_hidden), alive)
        return Network(
            np.searchsorted(alive, self.units[keep]),
            self.features[keep],
            self.weights[keep],
            self.biases[alive],
            self.output_bias + float(np.tanh(0.5 * self.biases[gone]).sum()),
        )

    def with_connection(self, unit: int, feature: int) -> "Network":
        """One more connection, of weight zero; a new unit (number ``n_hidden``) has bias zero."""
        new = [0.0] if unit == self.n_hidden else []
        return Network(
            np.append(self.units, unit),
            np.append(self.features, feature),
            np.append(self.weights, 0.0),
            np.append(self.biases, new),
            self.output_bias,
        )


class NetworkCriterion:
    """C (without L0) of a network's free parameters, for the columns Z that it uses.

    A vector of parameters holds the weights, the biases of the units and that of the output.
    """

    def __init__(
        self, network: Network, Z: Floats, Y: Floats, s: Floats, loss: Loss, l1: Floats, l2: Floats
    ) -> None:
        self.shape = network
        self.Z, self.Y, self.s, self.loss = Z, Y, s, loss
        self.rows = np.searchsorted(network.used, network.features)
        self.cols = network.units
        self.l1, self.l2 = l1[network.features], l2[network.features]
        self.c, self.h = len(network.weights), network.n_hidden
        self._W = np.zeros((Z.shape[1], self.h))

    def pack(self) -> Floats:
        net = self.shape
        return np.concatenate([net.weights, net.biases, [net.output_bias]])

    def unpack(self, p: Floats) -> Network:
        net, c, h = self.shape, self.c, self.h
        return Network(net.units, net.features, p[:c].copy(), p[c : c + h].copy(), float(p[-1]))

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

    def value(self, p: Floats) -> float:
        """C without L0."""
        return self.smooth(p)[0] + float(self.l1 @ np.abs(p[: self.c]))

    def hessian(self, p: Floats) -> Floats:
        """Second derivatives of :meth:`smooth`."""
        G, f = self._forward(p)
        bend = 0.5 * (1.0 - G * G)
        curve = -G * bend  # g'' = -g g'
        r = self.s * self.loss.slope(f, self.Y)[:, 0]
        J = np.column_stack([self.Z[:, self.rows] * bend[:, self.cols], bend, np.ones(len(self.Z))])
        H = (J * (self.s * self.loss.curvature(f, self.Y)[:, 0])[:, None]).T @ J
        for j in range(self.h):
            own = np.append(np.flatnonzero(self.cols == j), self.c + j)
            E = np.column_stack([self.Z[:, self.rows[own[:-1]]], np.ones(len(self.Z))])
            H[np.ix_(own, own)] += (E * (r * curve[:, j])[:, None]).T @ E
        H[np.arange(self.c), np.arange(self.c)] += 2.0 * self.l2
        return H

    def minimise(self, tol: float, max_iter: int) -> tuple[Network, float]:
        """The network at a local minimum near by, and C there (without L0)."""
        from scipy.optimize import minimize

        c = self.c

        def split(t: Floats) -> tuple[float, Floats]:
            p = np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]])
            value, g = self.smooth(p)
            total = value + float(self.l1 @ (t[:c] + t[c : 2 * c]))
            return total, np.concatenate([g[:c] + self.l1, self.l1 - g[:c], g[c:]])

        p = self.pack()
        start = np.concatenate([np.maximum(p[:c], 0), np.maximum(-p[:c], 0), p[c:]])
        bounds = [(0, None)] * (2 * c) + [(None, None)] * (len(p) - c)
        found = minimize(
            split, start, jac=True, bounds=bounds, method="L-BFGS-B",
            options={"gtol": tol, "ftol": 1e-15, "maxiter": max_iter, "maxfun": 2 * max_iter},
        )  # fmt: skip
        t = found.x
        p = np.concatenate([t[:c] - t[c : 2 * c], t[2 * c :]])
        p = self._polish(p, tol)
        return self.unpack(p), self.value(p)

    def _polish(self, p: Floats, tol: float) -> Floats:
        """Newton steps on what is not zero, while the gradient shrinks and C does not rise."""
        here, size = self.value(p), np.inf
        damping = 1e-12
        for _ in range(MOST_POLISH):
            g = self.smooth(p)[1]
            g[: self.c] += self.l1 * np.sign(p[: self.c])
            free = np.append(p[: self.c] != 0, np.ones(self.h + 1, dtype=bool))
            size = float(np.abs(g[free]).max())
            if size <= 1e-4 * tol or damping > 1.0:
                break
            H = self.hessian(p)[np.ix_(free, free)]
            E, Q = np.linalg.eigh(H)
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
