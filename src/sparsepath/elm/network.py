r"""Extreme learning machines: random hidden neurons, least squares on top, exact leave-one-out.

Letters as in Frénay et al. (2012): n samples, d features, m neurons. Features are standardised and
scaled by :math:`\beta \ge 0` before they are passed to the neurons (figure 4 of the paper). Neurons
are rows here:

.. math:: H_{ji} = \tanh(\textstyle\sum_k W_{jk} \beta_k X_{ik} + b_j), \qquad j = 1..m,\ i = 1..n

The output layer has an intercept that is not penalised and, because H is nearly always short of
full rank when few features are in use, a small ridge that grows with n. With H and Y less their
means over the samples,

.. math::

   A = H H' + \rho n I = L L' \qquad Q = L^{-1} H \qquad z = Q Y \qquad w = L^{-T} z \\
   e = Y - H' w = Y - Q' z \qquad p_i = 1 - 1/n - \textstyle\sum_j Q_{ji}^2

and the residual of sample i when it is left out, intercept refitted, neurons and :math:`\rho n`
kept, is :math:`e_i / p_i` (PRESS, equation 9). The leading blocks of L belong to the first neurons,
so sums over the first rows of Q give the leave-one-out error of every prefix of the neurons.
Predictions are clipped, see :mod:`sparsepath.elm.limits`.

The error that is minimised over w, :math:`J(\beta) = |e|^2 / n + \rho |w|^2`, has by the envelope
theorem the gradient of equation 13, with w held fixed:

.. math:: \partial J / \partial \beta_k
   = -\tfrac{2}{n} \textstyle\sum_j W_{jk} \sum_i X_{ik} (1 - H_{ji}^2) \sum_t w_{jt} e_{it}
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sparsepath._core import elm as core
from sparsepath.base import Formula, Frozen, Gaussian, Predictor, Tanh
from sparsepath.base.parameters import one_of
from sparsepath.base.targets import dense
from sparsepath.elm.limits import Limits, clipped_residuals, limits, others_limits
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats

Indices = NDArray[np.intp]
ACTIVATIONS = ("tanh", "gaussian")
ROOM = 1e-10  # 1 - leverage at or below this: the sample decides its own prediction


@dataclass(frozen=True, eq=False)
class Neurons(Frozen):
    """Random neurons, m of them, on d standardised features.

    ``tanh``: weights and biases; ``gaussian``: centres (in ``weights``) and widths (in ``biases``),
    exp(-width |x - centre|^2).
    """

    parts: ClassVar = {"weights": "float m d", "biases": "float m", "activation": "tanh|gaussian"}
    weights: Floats  # m x d
    biases: Floats  # m
    activation: str = "tanh"

    def __len__(self) -> int:
        return len(self.biases)

    def take(self, which: Indices | slice) -> "Neurons":
        """Return some of the neurons."""
        return Neurons(self.weights[which], self.biases[which], self.activation)

    def on(self, features: Any, scaling: Floats) -> "Neurons":
        """Return the neurons restricted to scaled features (tanh only)."""
        return Neurons(self.weights[:, features] * scaling, self.biases, self.activation)

    def outputs(self, XT: Floats, out: Floats, means: Floats) -> None:
        """Outputs, m x n, less their means; XT holds the features as rows."""
        np.matmul(self.weights, XT, out=out)
        if self.activation == "tanh":
            core.squash(out, self.biases, means)
            return
        out *= 2.0
        out -= np.square(self.weights).sum(1)[:, None]
        out -= np.square(XT).sum(0)
        np.minimum(out, 0.0, out=out)  # minus a squared distance
        out *= self.biases[:, None]
        np.exp(out, out=out)
        out.mean(1, out=means)
        out -= means[:, None]


def draw_neurons(
    n_neurons: int, n_features: int, activation: str, random: np.random.Generator
) -> Neurons:
    """Neurons for standardised features.

    Weights and biases of tanh neurons are standard normal. Gaussian centres are standard normal,
    and widths are such that the squared distance at which they fall to 1/e lies, evenly in its
    logarithm, between a third and ten times the number of features.
    """
    one_of("activation", activation, ACTIVATIONS)
    weights = random.standard_normal((n_neurons, n_features))
    if activation == "tanh":
        return Neurons(weights, random.standard_normal(n_neurons), activation)
    reach = 10.0 ** random.uniform(-0.5, 1.0, n_neurons) * max(n_features, 1)
    return Neurons(weights, 1.0 / reach, activation)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Leave-one-out of one fit: the residuals, T x n, and what they cost."""

    residuals: Floats
    criterion: float  # mean per sample of what is minimised; infinite if a sample is not left out
    squares: float  # mean per sample of the squared residuals
    losses: Floats  # the criterion sample by sample
    key: tuple[float, float]  # criterion and squares of predictions that nothing holds back

    @property
    def standard_error(self) -> float:
        """Return the standard error of the criterion over samples."""
        if not np.isfinite(self.criterion):
            return float("nan")
        return float(self.losses.std(ddof=1) / np.sqrt(len(self.losses)))


class Target:
    """Centred targets, and classes if mistakes are counted.

    Parameters
    ----------
    Y : array, n x T
        Numbers; for classes -1 and +1, one column if there are two of them, else one each.
    own : int array, n, optional
        The class of each sample. If given the criterion is the leave-one-out error rate, with the
        squared error to break ties; otherwise the squared error, summed over targets.
    unit : float
        All that is inside is in this unit of the targets; reports are to be multiplied by it.
    reach : float
        Predictions leave the range of the targets by at most this fraction of it.
    """

    def __init__(
        self, Y: Floats, own: Indices | None = None, unit: float = 1.0, reach: float = np.inf
    ) -> None:
        Y = Y / unit
        self.unit, self.reach = unit, reach
        self.mean = Y.mean(0)
        self.Y = Y
        self.centred = Y - self.mean
        self.rows = np.ascontiguousarray(self.centred.T)
        self.n = len(Y)
        self.own = np.zeros(0, np.int64) if own is None else np.ascontiguousarray(own, np.int64)

    @cached_property
    def _others_limits(self) -> Limits:
        return others_limits(self.Y, self.reach)

    def take(self, which: Indices) -> "Target":
        """Return some of the samples."""
        own = self.own[which] if self.own.size else None
        return Target(self.Y[which] * self.unit, own, self.unit, self.reach)

    def prefixes(self, Q: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Criterion and squared error, as means, of the first 1, 2, ..., m rows of Q."""
        criteria, squares = np.empty(len(Q)), np.empty(len(Q))
        R, z = self.rows.copy(), np.ascontiguousarray(z)
        core.prefix_losses(Q, z, R, self.own, ROOM, criteria, squares)
        return criteria / self.n, squares / self.n

    def judge(self, E: Floats, p: Floats) -> LeaveOneOut:
        """Leave-one-out of the residuals E, T x n, with 1 - leverage p."""
        return self.judge_several(E[None], p[None])[0]

    def judge_several(self, E: Floats, P: Floats) -> list[LeaveOneOut]:
        """Evaluate several fits: E is r x T x n, P is r x n."""
        residuals = E / np.maximum(P, ROOM)[:, None]
        losses, squares = self._losses(residuals)
        keys = [losses.mean(1), squares.mean(1)]
        if np.isfinite(self.reach):
            residuals = clipped_residuals(self.Y.T, residuals, self._others_limits)
            losses, squares = self._losses(residuals)
        means = np.array([*keys, losses.mean(1), squares.mean(1)])
        means[:, P.min(1) <= ROOM] = np.inf
        return [
            LeaveOneOut(residuals[i], criterion, square, losses[i], (key, key_square))
            for i, (key, key_square, criterion, square) in enumerate(means.T.tolist())
        ]

    def training_error(self, E: Floats) -> float:
        """Return the criterion on the training data, from residuals E, T x n."""
        low, high = limits(self.Y, self.reach)
        losses, _ = self._losses(clipped_residuals(self.Y.T, E, (low[:, None], high[:, None])))
        return float(losses.mean())

    def _losses(self, residuals: Floats) -> tuple[Floats, Floats]:
        """Return criterion and squared error per sample."""
        squares = np.square(residuals).sum(-2)
        if self.own.size:
            return (self._winners(residuals) != self.own).astype(np.float64), squares
        return squares, squares

    def _winners(self, residuals: Floats) -> Indices:
        """Return the predicted left-out classes; -1 if undecided."""
        scores = self.Y.T - residuals
        if scores.shape[-2] == 1:
            only = scores[..., 0, :]
            return np.where(np.abs(only) <= 1e-10, -1, only > 0).astype(np.intp)
        ordered = np.sort(scores, axis=-2)
        ahead = ordered[..., -1, :] - ordered[..., -2, :]
        return np.where(ahead <= 1e-10, -1, scores.argmax(-2)).astype(np.intp)

    def empty(self) -> LeaveOneOut:
        """Leave-one-out of the constant model."""
        return self.judge(self.rows, np.full(self.n, 1.0 - 1.0 / self.n))


def dependent(ridge: float) -> InputError:
    """Return the error for a failed factorisation."""
    return InputError(
        f"ridge={ridge:g} is too small: the neurons are dependent to rounding; try 1e-8 or more."
    )


class Fit:
    """Output layer fitted to given neurons.

    Attributes
    ----------
    H, means : arrays, m x n and m
        Centred outputs of the neurons, and their means.
    U, z, w, E : arrays
        L' (upper triangle), and as in the module's first lines; z and w are m x T, E is T x n.
    mse, objective : float
        |e|^2 / n, and the same plus ridge |w|^2.
    """

    def __init__(self, neurons: Neurons, XT: Floats, target: Target, ridge: float) -> None:
        m = len(neurons)
        self.neurons, self.XT, self.target = neurons, XT, target
        self.H, self.means = np.empty((m, target.n)), np.empty(m)
        neurons.outputs(XT, self.H, self.means)
        self._gram = np.empty((m, m))
        core.gram(self.H, self._gram)
        self._moments = self.H @ target.centred
        self.ridge = ridge

    @cached_property
    def U(self) -> Floats:  # noqa: N802
        U = self._gram.copy()
        np.einsum("jj->j", U)[:] += self.ridge * self.target.n
        if not core.cholesky(U):
            raise dependent(self.ridge)
        return U

    @cached_property
    def z(self) -> Floats:
        return solve_triangular(self.U, self._moments, trans=1, check_finite=False)

    @cached_property
    def w(self) -> Floats:
        return solve_triangular(self.U, self.z, check_finite=False)

    @cached_property
    def E(self) -> Floats:  # noqa: N802
        return self.target.rows - np.matmul(self.w.T, self.H)

    @property
    def mse(self) -> float:
        return float(np.vdot(self.E, self.E)) / self.target.n

    @property
    def objective(self) -> float:
        return self.mse + self.ridge * float(np.vdot(self.w, self.w))

    def orthogonal(self) -> Floats:
        """Q = L^-1 H."""
        Q = np.empty_like(self.H)
        core.orthogonalise(self.U, self.H, Q)
        return Q

    def leave_one_out(self) -> LeaveOneOut:
        """Exact leave-one-out of all neurons."""
        Q = self.orthogonal()
        return self.target.judge(self.E, 1.0 - 1.0 / self.target.n - np.einsum("ji,ji->i", Q, Q))

    def leave_one_out_for(self, ridges: Sequence[float]) -> list[LeaveOneOut]:
        r"""Exact leave-one-out of all neurons for several ridges.

        With :math:`H H' = V \Lambda V'` and G = V'H, for every ridge
        :math:`e = Y - G' D V' H Y` and :math:`p = 1 - 1/n - \sum_j D_{jj} G_{ji}^2`, where
        :math:`D = (\Lambda + \rho n I)^{-1}`: one decomposition for all of them.
        """
        n, m = self.target.n, len(self.H)
        values, V = np.linalg.eigh(self._gram, UPLO="U")
        G, moments = V.T @ self.H, V.T @ self._moments
        D = 1.0 / (np.maximum(values, 0.0) + n * np.array(ridges)[:, None])
        weights = D[:, None, :] * moments.T
        E = self.target.rows - (weights.reshape(-1, m) @ G).reshape(len(D), -1, n)
        P = 1.0 - 1.0 / n - D @ np.square(G, out=G)
        return self.target.judge_several(E, P)

    def prefixes(self) -> tuple[Floats, Floats]:
        """Criterion and squared leave-one-out error of the first 1, 2, ..., m neurons."""
        return self.target.prefixes(self.orthogonal(), self.z)


@dataclass(frozen=True, eq=False)
class Machine(Predictor):
    """Fitted machine that predicts from raw features.

    ``neurons`` have the scaling in them and see the columns ``features``, standardised by
    ``centre`` and ``scale``.
    """

    parts: ClassVar = {
        "features": "column d",
        "centre": "float d",
        "scale": "float d",
        "neurons": "Neurons",
        "coef": "float m t",
        "intercept": "float t",
        "bounds": "float 2 t?",
    }
    features: Indices
    centre: Floats
    scale: Floats
    neurons: Neurons
    coef: Floats  # m x T
    intercept: Floats  # T
    bounds: Floats | None = None  # of the predictions, 2 x T

    @classmethod
    def constant(cls, target: Target) -> "Machine":
        """Return a machine that predicts the mean."""
        nothing, neurons = np.empty(0), Neurons(np.empty((0, 0)), np.empty(0))
        mean, coef = target.mean * target.unit, np.empty((0, len(target.mean)))
        return cls(np.empty(0, dtype=np.intp), nothing, nothing, neurons, coef, mean)

    @classmethod
    def of(cls, fit: Fit, features: Indices, centre: Floats, scale: Floats) -> "Machine":
        """Return the machine of a fit."""
        target = fit.target
        intercept = (target.mean - fit.means @ fit.w) * target.unit
        within = np.array(limits(target.Y, target.reach)) * target.unit
        bounds = within if np.isfinite(target.reach) else None
        return cls(features, centre, scale, fit.neurons, fit.w * target.unit, intercept, bounds)

    def predict(self, X: Any) -> Floats:
        """Predictions, n x T."""
        if not len(self.neurons):
            return np.repeat(self.intercept[None], X.shape[0], axis=0)
        Z = (dense(X[:, self.features]) - self.centre) / self.scale
        XT = np.ascontiguousarray(Z.T)
        H, means = np.empty((len(self.neurons), XT.shape[1])), np.empty(len(self.neurons))
        self.neurons.outputs(XT, H, means)
        H += means[:, None]
        out = H.T @ self.coef + self.intercept
        return out if self.bounds is None else np.clip(out, *self.bounds)

    def moved(self, by: Floats) -> "Machine":
        bounds = None if self.bounds is None else self.bounds + by
        return replace(self, intercept=self.intercept + by, bounds=bounds)

    def formula(self) -> Formula:
        slopes = np.zeros((len(self.features), len(self.intercept)))
        if not len(self.neurons):
            return Formula(self.features, self.centre, self.scale, slopes, self.intercept)
        weights, biases = self.neurons.weights, self.neurons.biases
        kind = Tanh if self.neurons.activation == "tanh" else Gaussian
        return Formula(
            self.features, self.centre, self.scale, slopes, self.intercept, kind(weights, biases),
            self.coef, self.bounds,
        )  # fmt: skip
