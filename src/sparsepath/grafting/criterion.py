r"""Parts of the criterion that grafting minimises: losses, penalties, certificates.

For weights W (n features x K outputs), intercepts b and outputs F = X W + 1 b' (Perkins, Lacker and
Theiler 2003, equation 7, with sample weights s that sum to one in place of 1/m):

    C = sum_i s_i L(F_i, y_i) + sum_j (l1_j |W_j| + l2_j |W_j|^2 + l0_j [W_j != 0])

l1_j, l2_j, l0_j are the lambdas times the factors of feature j. The l2 term has no 1/2; intercepts
are never penalised. K = 1 except for the softmax, where a feature is one group: |W_j| is the
Euclidean norm over the classes, so a feature is selected for all classes or for none.

**Optimality** (l0 = 0). With g = gradient of the loss term in W_j, C is minimal if and only if
every

    v_j = |g_j + 2 l2_j W_j + l1_j W_j/|W_j||   (W_j free)     v_j = max(0, |g_j| - l1_j)  (W_j = 0)

and the gradients in b are zero. :func:`violations` returns the v_j over free *and* zero weights.

**Duality gap.** With the conjugates L*(u) = sup_f (u f - L(f)) and those of the penalties,

    C(W, b) >= D(U) = - sum_i s_i L*(U_i) - sum_j (|x_j'(s U)| - l1_j)_+^2 / (4 l2_j)

for every U with sum_i s_i U_i = 0; where l2_j = 0, the last term is replaced by the condition
|x_j'(s U)| <= l1_j. U = c L'(F) with the largest such c <= 1 gives :func:`duality_gap`, a bound on
C - min C. If a weight has no penalty, its column must be orthogonal to s U: U is first made
orthogonal, which changes it little if that weight is nearly optimal.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath._core import grafting as core
from sparsepath.system.arrays import Floats


class Expansion(NamedTuple):
    """A loss and its first two derivatives at outputs F, per sample, as the methods of a loss
    return them.
    """

    value: Floats
    slope: Floats
    curvature: Floats


class ConvexLoss(ABC):
    """A convex loss of outputs F (m x K) and targets Y (m x K), with one value per sample.

    A custom loss is a subclass with ``value``, ``slope`` and ``curvature``; K is 1, and the targets
    for two classes are -1 and +1. With ``conjugate`` a fit also has a duality gap. The errors of a
    path are ``error_factor`` times the loss, and are called ``error_name``.
    """

    error_name = "log loss"
    error_factor = 1.0
    of_differences = False  # whether it depends on F - Y alone
    link = "identity"  # what F is of a prediction; see models.predictors

    def check(self, Y: Floats) -> None:  # noqa: B027
        """Raise an error for targets for which the loss is undefined."""

    def of_samples(self, Y: Floats, s: Floats) -> "ConvexLoss":
        """Return the loss for some samples, if it depends on all samples jointly."""
        return self

    def start(self, Y: Floats, s: Floats) -> Floats:
        """Intercepts to start from."""
        return np.zeros(Y.shape[1])

    @abstractmethod
    def value(self, F: Floats, Y: Floats) -> Floats:
        """L, of shape (m,)."""

    @abstractmethod
    def slope(self, F: Floats, Y: Floats) -> Floats:
        """The derivative in F, m x K."""

    @abstractmethod
    def curvature(self, F: Floats, Y: Floats) -> Floats:
        """Return the second derivative for K = 1 (smoothed at jumps), or class probabilities."""

    def expansion(self, F: Floats, Y: Floats) -> Expansion:
        """Return value, slope and a curvature suitable for Newton steps, computed together."""
        return Expansion(self.value(F, Y), self.slope(F, Y), self.curvature(F, Y))

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        """Return the conjugate L* at U, of shape (m,); U is a slope times a factor up to 1. NaN:
        none.
        """
        return np.full(len(U), np.nan)

    def within(self, U: Floats, Y: Floats) -> float:
        """Return the largest c <= 1 for which L* is finite at c U; NaN if there is none."""
        return 1.0


class Logistic(ConvexLoss):
    """log(1 + exp(-y f)) for y = +-1: the binomial negative log likelihood, BNLL."""

    def value(self, F: Floats, Y: Floats) -> Floats:
        rho = (Y * F)[:, 0]
        return np.maximum(-rho, 0.0) + _log_of_one_and(np.exp(-np.abs(rho)))

    def slope(self, F: Floats, Y: Floats) -> Floats:
        rho = Y * F
        e = np.exp(-np.abs(rho))
        return -Y * np.where(rho > 0, e, 1.0) / (1.0 + e)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        e = np.exp(-np.abs(F))
        return e / (1.0 + e) ** 2

    def expansion(self, F: Floats, Y: Floats) -> Expansion:
        """Return the expansion, with larger curvature for badly misclassified samples.

        There L is nearly straight, and a step by its own curvature, exp(-|rho|), would go out of
        sight: a little of the parabola that touches L there, 1 / (2 |rho|), is put in its place.
        """
        value, slope, curvature = core.expand_logistic(*(np.ravel(each) for each in (F, Y)))
        return Expansion(value, slope[:, None], curvature[:, None])

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        p = np.clip(-(Y * U)[:, 0], 0.0, 1.0)
        return _entropy(p) + _entropy(1.0 - p)

    def within(self, U: Floats, Y: Floats) -> float:
        p = -(Y * U)
        return np.nan if p.min() < 0.0 else 1.0 / max(1.0, float(p.max()))


class SquaredHinge(ConvexLoss):
    """max(0, 1 - rho)^2 for rho = y f, y = +-1, as in scikit-learn's ``LinearSVC``.

    The hinge of the paper's Figure 1 has a corner; its square has the derivative that grafting
    needs. With p = -y u, which is not negative, L* is the largest -p rho - L, at rho = 1 - p/2.
    """

    error_name = "squared hinge loss"

    def value(self, F: Floats, Y: Floats) -> Floats:
        return np.square(_missing_margin(F, Y)[:, 0])

    def slope(self, F: Floats, Y: Floats) -> Floats:
        return -2.0 * Y * _missing_margin(F, Y)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        return np.where(_missing_margin(F, Y) > 0, 2.0, 2e-3)  # zero would let go

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        p = -(Y * U)[:, 0]
        return p * (0.25 * p - 1.0)

    def within(self, U: Floats, Y: Floats) -> float:
        return np.nan if (Y * U).max() > 0.0 else 1.0


class SquaredLoss(ConvexLoss):
    """(f - y)^2 / 2."""

    error_name, error_factor, of_differences = "squared error", 2.0, True

    def value(self, F: Floats, Y: Floats) -> Floats:
        return 0.5 * ((F - Y) ** 2)[:, 0]

    def slope(self, F: Floats, Y: Floats) -> Floats:
        return F - Y

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        return np.ones_like(F)

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        return (0.5 * U * U + U * Y)[:, 0]


class HuberLoss(ConvexLoss):
    """(f - y)^2 / 2 up to |f - y| = delta, a straight line beyond."""

    of_differences = True

    def __init__(self, delta: float = 1.35) -> None:
        self.delta, self.error_name = delta, f"Huber loss (delta {delta:g})"

    def value(self, F: Floats, Y: Floats) -> Floats:
        r = np.abs(F - Y)[:, 0]
        a = np.minimum(r, self.delta)
        return a * (r - 0.5 * a)

    def slope(self, F: Floats, Y: Floats) -> Floats:
        return np.clip(F - Y, -self.delta, self.delta)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        # On the straight part a little of the parabola that touches L there: zero would let go.
        r = np.abs(F - Y)
        return np.where(r <= self.delta, 1.0, 0.05 * self.delta / np.maximum(r, self.delta))

    conjugate = SquaredLoss.conjugate  # the same parabola, as far as ``within`` lets it

    def within(self, U: Floats, Y: Floats) -> float:
        return self.delta / max(self.delta, float(np.abs(U).max()))


class Softmax(ConvexLoss):
    """log sum_k exp(f_k) - f_y for Y with one 1 per row, that of the sample's class."""

    def value(self, F: Floats, Y: Floats) -> Floats:
        # From the sample's own class, so that a loss far below 1 keeps its digits.
        D = F - (F * Y).sum(1, keepdims=True)
        top = D.max(1)
        others = (np.exp(D - top[:, None]) * (1.0 - Y)).sum(1)
        return np.where(top > 0, top + np.log(np.exp(-top) + others), np.log1p(others))

    def slope(self, F: Floats, Y: Floats) -> Floats:
        others = self.curvature(F, Y) * (1.0 - Y)
        return others - Y * others.sum(1, keepdims=True)

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        """The class shares p; the second derivative is diag(p) - p p'."""
        e = np.exp(F - F.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        return _entropy(np.clip(U + Y, 0.0, 1.0)).sum(1)

    def within(self, U: Floats, Y: Floats) -> float:
        others = np.where(Y > 0, 0.0, U)
        return np.nan if others.min() < 0.0 else 1.0 / max(1.0, float(-(U * Y).sum(1).min()))


def _missing_margin(F: Floats, Y: Floats) -> Floats:
    """The distance of the margins below one: max(0, 1 - y f)."""
    return np.maximum(1.0 - Y * F, 0.0)


def row_norms(W: Floats) -> Floats:
    """The Euclidean norm of every row: of a feature's weights or gradients over the outputs."""
    return np.sqrt(np.einsum("jk,jk->j", W, W))


def _log_of_one_and(e: Floats) -> Floats:
    """log(1 + e) for e in [0, 1]; several times faster than log1p, and as exact where e is small.

    The series ends with an error of e^4 / 5 in relative terms.
    """
    series = e * (1.0 - e * (1.0 / 2 - e * (1.0 / 3 - e / 4)))
    return np.where(e < 1e-4, series, np.log(1.0 + e))


def _entropy(p: Floats) -> Floats:
    """Return p log p, zero at zero."""
    return p * np.log(np.where(p > 0, p, 1.0))


@dataclass(frozen=True, eq=False)
class Penalty:
    """The lambdas times the factors of every feature: arrays of shape (n,)."""

    l1: Floats
    l2: Floats
    l0: Floats

    @classmethod
    def of(
        cls,
        n: int,
        l1: float = 0.0,
        l2: float = 0.0,
        l0: float = 0.0,
        *,
        l1_factors: ArrayLike | None = None,
        l2_factors: ArrayLike | None = None,
        costs: ArrayLike | None = None,
    ) -> "Penalty":
        """Three lambdas and the factors of the features (ones if not given)."""

        def times(value: float, factors: ArrayLike | None) -> Floats:
            return value * (np.ones(n) if factors is None else np.asarray(factors, np.float64))

        return cls(times(l1, l1_factors), times(l2, l2_factors), times(l0, costs))

    def value(self, W: Floats) -> float:
        """The whole penalty, L0 included."""
        norms = np.abs(W[:, 0]) if W.shape[1] == 1 else row_norms(W)
        total = self.l1 @ norms + self.l2 @ (norms * norms)
        return float(total + self.l0 @ (norms > 0) if self.l0.any() else total)


def violations(gradient: Floats, W: Floats, penalty: Penalty) -> Floats:
    """Return each feature's violation of the optimality conditions: v_j in the module docstring.

    ``gradient`` is that of the loss term alone, n x K.
    """
    if W.shape[1] == 1:
        return core.violations(gradient.ravel(), W.ravel(), penalty.l1, penalty.l2)
    norms = row_norms(W)
    safe = np.where(norms > 0, norms, 1.0)
    push = gradient + (2.0 * penalty.l2 + penalty.l1 / safe)[:, None] * W
    sizes = row_norms(push)
    return np.where(norms > 0, sizes, np.maximum(sizes - penalty.l1, 0.0))


def duality_gap(
    loss: ConvexLoss,
    mean_loss: float,
    U: Floats,
    Y: Floats,
    s: Floats,
    penalty: Penalty,
    W: Floats,
    gradient: Floats,
    usable: NDArray[np.bool_],
) -> float:
    """C minus a lower bound of its minimum (without L0), see the module's notes.

    The intercepts must be at their best, so that the slopes sum to zero. U are the slopes, or what
    was made of them, and ``gradient`` is that of U. NaN if no multiple of U is feasible.
    """
    sizes = row_norms(gradient)[usable]
    l1, l2 = penalty.l1[usable], penalty.l2[usable]
    hard = (l2 == 0) & (sizes > l1) & (l1 > 0)
    c = min(loss.within(U, Y), float(np.min(l1[hard] / sizes[hard])) if hard.any() else 1.0)
    over = np.maximum(c * sizes - l1, 0.0)
    soft = over**2 / np.where(l2 > 0, 4.0 * l2, 1.0)
    dual = -float(s @ loss.conjugate(c * U, Y)) - float(soft[l2 > 0].sum())
    norms = row_norms(W)
    primal = mean_loss + float(penalty.l1 @ norms + penalty.l2 @ norms**2)
    return primal - dual if np.isfinite(c) else float("nan")


def orthogonal(U: Floats, columns: Floats, s: Floats) -> Floats:
    """U made orthogonal, under the weights s, to the columns."""
    root = np.sqrt(s)[:, None]
    for _ in range(2):  # the second time takes away the rounding of the first
        away = np.linalg.lstsq(columns * root, U * root, rcond=1e-12)[0]
        U = U - columns @ away
    return U


def best_intercept(loss: ConvexLoss, F: Floats, Y: Floats, s: Floats) -> Floats:
    """The change of the intercepts that makes the slopes sum to zero, by damped Newton steps."""
    b = best = np.zeros(F.shape[1])
    here, least = float(s @ loss.value(F, Y)), np.inf
    for _ in range(100):
        slope = s @ loss.slope(F + b, Y)
        size = float(np.abs(slope).max())
        near = size <= 1e-6 * max(
            1.0, float(s @ np.abs(Y).max(1))
        )  # from here on the loss is too flat to be compared
        if size < least:
            least, best = size, b
        elif near:
            break
        if size == 0.0:
            break
        curvature = loss.curvature(F + b, Y)
        if len(b) == 1:
            step = -slope / max(float(s @ curvature[:, 0]), 1e-300)
        else:
            H = np.diag(s @ curvature) - (curvature * s[:, None]).T @ curvature
            step = -np.asarray(np.linalg.lstsq(H, slope, rcond=1e-12)[0], dtype=np.float64)
        t = 1.0
        while not near:
            there = float(s @ loss.value(F + b + t * step, Y))
            if there <= here or t < 1e-10:
                here = there
                break
            t /= 2
        b = b + t * step
    return best
