r"""Look-ahead: inputs that explain the loss only jointly.

The gradient test considers one connection at a time. For y = z_1 z_2 every gradient is zero. Here
sets of inputs are evaluated jointly, and a new unit starts with connections from all inputs of a
set.

**The gain of a set.** Let r_t be the slopes of the loss, h_t its curvatures, s_t the weights of the
samples, and p_1, p_2 polynomials of degree one and two in the ranks of an input, orthonormal under
s. For a set S of inputs and degrees d_i the product q(x) = prod_{i in S} p_{d_i}(z_i) times a
coefficient, added to f, lowers the mean loss by about

    gain = (sum_t s_t r_t q_t)^2 / (2 sum_t s_t h_t)

The gain of a pair is the sum over the four products of degrees one and two; that of a single input
is of degree two (the gradient test covers degree one); that of three or more inputs is of degree
one. All pairs at once are four products of matrices; sets of order q are products of those of the
order below: C(n, q) m multiplications, in single precision. Orders that would need more than
``MOST_WORK`` multiplications are skipped. Sets of more than ``FEW_INPUTS`` are tried only while no
smaller set is significant. Ranks make the gain independent of the scale and robust to heavy tails
of the inputs.

**Significance.** Without any effect, N (sum s r q)^2 / sum s r^2 is approximately chi-squared,
where N is the number of samples; sums over products have as many degrees of freedom as products. A
set is tried only if this exceeds the value that the largest of all sets of its order would exceed
by chance with probability ``ONCE_BY_CHANCE``. Weights that are whole numbers count as repetitions;
with others N is (sum w)^2 / sum w^2.

**The units.** tanh((a + w'z_S) / 2) starts at several scales, directions and biases, all fixed in
advance, so that nothing is random. A single unit adds 1 or -1 nearly everywhere, which is often too
much for a product, so pairs of units are tried as well: with G the outputs of the starts, the
second-order expansion of the loss gives the change for all pairs of starts from one matrix G'hG.
The best are improved by damped Gauss-Newton steps on their own parameters and the bias of the
output.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from scipy.special import chdtri

from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.system.arrays import Floats

Singles = NDArray[np.float32]

MOST_WORK = 2e10  # multiplications of one order
FEW_INPUTS = (
    3  # as good as always trying all orders, in 0.8 of the time (docs/benchmarks/nonlinear.md)
)
ONCE_BY_CHANCE = 0.01
BEST_SETS = 3  # of each order that are tried
SET_STRIP = 512  # products of one half of a set that are held at once
SCALES = (0.7, 2.0, 6.0)
BIASES = (-2.0, -1.3, -0.6, 0.0, 0.6, 1.3, 2.0)  # times the scale
BEST_STARTS = 2  # as good as 6 (docs/benchmarks/nonlinear.md)
MOST_DESCENTS = 25
IMPROVED_ENOUGH = 1e-2  # relative fall below which a start has been improved enough
ROWS_COMPARED = 4000  # samples on which units are compared; those that are best join on all


@dataclass(frozen=True, eq=False)
class Units:
    """New units over the same inputs, for one output, and their gain.

    ``fall`` is the decrease of the mean loss if everything else is unchanged, except the bias of
    the output.
    """

    features: tuple[int, ...]
    weights: Floats  # units x features
    biases: Floats
    output: int
    fall: float


def rank_polynomials(Z: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Polynomials of degree one and two in the ranks of every column, orthonormal under s.

    Where a column has too few values for a degree, that is zero.
    """
    first, second = np.empty(Z.shape), np.empty(Z.shape)
    for j in range(Z.shape[1]):
        _, places = np.unique(Z[:, j], return_inverse=True)
        mass = np.bincount(places, weights=s)
        u = (np.cumsum(mass) - 0.5 * mass)[places]
        first[:, j] = _unit(u - s @ u, s)
        v = first[:, j] ** 2 - 1.0
        second[:, j] = _unit(v - (s * v) @ first[:, j] * first[:, j], s)
    return first, second


def _unit(v: Floats, s: Floats) -> Floats:
    size = float(np.sqrt(s @ (v * v)))
    return v / size if size > 1e-6 else np.zeros_like(v)


class Scout:
    """Finds the sets of inputs that gain most, up to ``most_inputs`` of them; see the module.

    ``count`` is the number of samples, N.
    """

    def __init__(self, design: GraftingDesign, most_inputs: int, count: float) -> None:
        self.s, self.count = design.s, count
        self.usable = np.flatnonzero(design.usable)
        m, n = design.m, len(self.usable)
        self.orders = [
            q
            for q in range(1, min(most_inputs, n) + 1)
            if m * _subsets(n, q) * (4 if q == 2 else 1) <= MOST_WORK
        ]
        if self.orders:
            first, second = rank_polynomials(design.columns(self.usable), design.s)
            self.first, self.second = first.astype(np.float32), second.astype(np.float32)

    def sets(self, slopes: Floats, curvature: float) -> list[tuple[float, tuple[int, ...]]]:
        """The sets beyond chance, the best of every order, with their gains.

        ``slopes`` holds s_t r_t of one output, ``curvature`` is sum_t s_t h_t.
        """
        noise = float(slopes @ (slopes / self.s)) / self.count
        out: list[tuple[float, tuple[int, ...]]] = []
        n = len(self.usable)
        r = slopes.astype(np.float32)
        for order in self.orders:
            if out and order > FEW_INPUTS:
                break
            freedom = 4 if order == 2 else 1
            least = noise * float(chdtri(freedom, ONCE_BY_CHANCE / _subsets(n, order)))
            for square, subset in self._order(order, r):
                if square > least:
                    features = tuple(int(self.usable[i]) for i in subset)
                    out.append((0.5 * float(square) / curvature, features))
        return sorted(out, key=lambda each: (-each[0], each[1]))

    def beyond_chance(self, inward: Floats, sizes: Floats, n: int) -> NDArray[np.bool_]:
        """Return whether single-connection gradients exceed the largest of n by chance.

        ``inward`` holds the vectors whose products with a feature are gradients, one column for
        each row of ``sizes``.
        """
        noise = np.einsum("tj,tj->j", inward, inward / self.s[:, None]) / self.count
        return sizes**2 > noise[:, None] * float(chdtri(1, ONCE_BY_CHANCE / n))

    def _order(self, order: int, r: Singles) -> list[tuple[float, tuple[int, ...]]]:
        """The best sets of an order with their squared sums."""
        if order == 1:
            squares = (self.second.T @ r) ** 2
            return [(float(squares[i]), (int(i),)) for i in _largest(squares)]
        if order == 2:
            rows, columns = np.triu_indices(self.first.shape[1], 1)
            squares = pair_squares(self.first, self.second, r)[rows, columns]
            return [(float(squares[i]), (int(rows[i]), int(columns[i]))) for i in _largest(squares)]
        return largest_products(self.first, r, order)


def pair_squares(first: Singles, second: Singles, r: Singles) -> Floats:
    """For all pairs the sum of (sum_t r_t p_d(z_i) p_e(z_j))^2 over degrees d, e of one and two."""
    total = np.zeros((first.shape[1], first.shape[1]))
    for left in (first, second):
        weighted = left * r[:, None]
        for right in (first, second):
            total += (weighted.T @ right) ** 2
    return total


def largest_products(P: Singles, r: Singles, order: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return the largest (sum_t r_t prod_i P_ti)^2 of all sets of three or more inputs.

    A set is a left part, grouped by its largest member c, and a right part whose members are all
    above c; right parts stand in the order of their first member, so that those of one c are the
    last ones.
    """
    n = P.shape[1]
    a = (order + 1) // 2
    features = np.ascontiguousarray(P.T)  # as rows, which can be picked as wholes
    rights = list(combinations(range(n), order - a))
    R = _products(features, rights)
    begin = np.searchsorted([right[0] for right in rights], np.arange(n), side="right")
    found: list[tuple[float, tuple[int, ...]]] = []
    for c in range(a - 1, n):
        start = int(begin[c])
        heads = list(combinations(range(c), a - 1)) if start < len(rights) else []
        for k in range(0, len(heads), SET_STRIP):
            lefts = [(*head, c) for head in heads[k : k + SET_STRIP]]
            squares = (_products(features, lefts) * r) @ R[start:].T
            squares *= squares
            least = found[-1][0] if len(found) == BEST_SETS else -1.0
            if squares.max() < least:
                continue
            for i in _largest(squares.ravel()):
                left, right = divmod(int(i), squares.shape[1])
                found.append((float(squares.flat[i]), lefts[left] + rights[start + right]))
            found = sorted(found, key=lambda each: (-each[0], each[1]))[:BEST_SETS]
    return found


def _products(features: Singles, sets: list[tuple[int, ...]]) -> Singles:
    """The product of the features, given as rows, of each set."""
    index = np.array(sets)
    out = features[index[:, 0]]
    for k in range(1, index.shape[1]):
        out *= features[index[:, k]]
    return out


def _largest(squares: NDArray[Any]) -> NDArray[np.intp]:
    k = min(BEST_SETS, len(squares))
    if not k:
        return np.empty(0, dtype=np.intp)
    best = np.argpartition(-squares, k - 1)[:k]
    return best[np.argsort(-squares[best], kind="stable")]


def _subsets(n: int, order: int) -> float:
    out = 1.0
    for i in range(order):
        out *= (n - i) / (i + 1)
    return out


@lru_cache
def starts(order: int) -> Floats:
    """Weights and, in the last column, biases from which a unit of so many inputs is tried.

    The second half are the first with the other sign.
    """
    if order == 2:
        angles = np.arange(8) * np.pi / 8
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
    else:
        signs = product((1.0,), *[(1.0, -1.0)] * (order - 1))
        directions = np.array(list(signs)) / np.sqrt(order)
    with_biases = [np.append(d, bias) for d in directions for bias in BIASES]
    half = np.array([scale * p for p in with_biases for scale in SCALES])
    return np.concatenate([half, -half])


def best_units(
    features: tuple[int, ...],
    Z: Floats,
    F: Floats,
    Y: Floats,
    s: Floats,
    loss: ConvexLoss,
    output: int,
    counts: tuple[int, ...] = (1, 2),
) -> list[Units]:
    """The best new units found over these features: one alone, and two together.

    Z holds the columns of the features, F the outputs so far.
    """
    if len(s) > ROWS_COMPARED:
        some = slice(None, None, -(-len(s) // ROWS_COMPARED))
        Z, F, Y, s = Z[some], F[some], Y[some], s[some] / s[some].sum()
    task = UnitsCriterion(Z, F, Y, s, loss, output)
    P = starts(Z.shape[1])
    changes = task.expected_changes(P)
    here = float(s @ loss.value(F, Y))
    found = []
    for count in counts:
        chosen = np.array(lowest(changes, count))
        p, least = min((task.improve(P[which]) for which in chosen), key=lambda each: each[1])
        found.append(Units(features, p[:, :-1], p[:, -1], output, here - least))
    return found


def lowest(changes: Singles, count: int) -> list[tuple[int, ...]]:
    """The starts, or pairs of each with its best partner, of the least expected change."""
    if count == 1:
        alone = changes.diagonal()
        return [(int(i),) for i in np.argsort(alone, kind="stable")[:BEST_STARTS]]
    pairs = changes.copy()
    np.fill_diagonal(pairs, np.inf)
    partners = pairs.argmin(axis=1)
    values = pairs[np.arange(len(pairs)), partners]
    best: dict[tuple[int, ...], None] = {}
    for i in np.argsort(values, kind="stable")[: 2 * BEST_STARTS]:
        j = int(partners[i])
        best[(min(int(i), j), max(int(i), j))] = None
    return list(best)[:BEST_STARTS]


class UnitsCriterion:
    """The mean loss with new units g(a + w'z) for an output, over rows p = (w, a).

    The mean of the units is taken off, as the bias of the output would.
    """

    def __init__(
        self, Z: Floats, F: Floats, Y: Floats, s: Floats, loss: ConvexLoss, output: int
    ) -> None:
        self.E = np.column_stack([Z, np.ones(len(Z))])
        self.F, self.Y, self.s, self.loss, self.output = F, Y, s, loss, output

    def expected_changes(self, P: Floats) -> Singles:
        """Return the second-order change of the loss for single units (diagonal) and pairs.

        The second half of P must be the first with the other sign: its units are those of the first
        with the other sign. In single precision: they only rank the starts.
        """
        slopes, h = (v.astype(np.float32) for v in self._slopes_and_curvatures(self.F))
        G = self.E.astype(np.float32) @ (0.5 * P[: len(P) // 2].T).astype(np.float32)
        np.tanh(G, out=G)
        G -= self.s.astype(np.float32) @ G
        first = G.T @ slopes
        G *= np.sqrt(h)[:, None]
        second = G.T @ G
        bent = 0.5 * second.diagonal()
        alone = np.concatenate([bent + first, bent - first])
        changes = np.block([[second, -second], [-second, second]])
        changes += alone
        changes += alone[:, None]
        np.fill_diagonal(changes, alone)
        return changes

    def _slopes_and_curvatures(self, G: Floats) -> tuple[Floats, Floats]:
        h = self.loss.curvature(G, self.Y)[:, self.output]
        if G.shape[1] > 1:
            h = h * (1.0 - h)
        return self.s * self.loss.slope(G, self.Y)[:, self.output], self.s * h

    def _outputs(self, p: Floats) -> tuple[Floats, Floats]:
        g = np.tanh(0.5 * (self.E @ p.T))
        total = g.sum(1)
        G = self.F.copy()
        G[:, self.output] += total - self.s @ total
        return g, G

    def value(self, p: Floats) -> float:
        """The mean loss at p."""
        return self._value(self._outputs(p)[1])

    def _value(self, G: Floats) -> float:
        return float(self.s @ self.loss.value(G, self.Y))

    def derivatives(self, p: Floats) -> tuple[Floats, Floats]:
        """The gradient, and the matrix of Gauss and Newton, over p row by row."""
        return self._derivatives(*self._outputs(p))

    def _derivatives(self, g: Floats, G: Floats) -> tuple[Floats, Floats]:
        bend = 0.5 * (1.0 - g * g)
        J = (bend[:, :, None] * self.E[:, None, :]).reshape(len(G), -1)
        J -= self.s @ J
        slopes, h = self._slopes_and_curvatures(G)
        return J.T @ slopes, (J * h[:, None]).T @ J

    def improve(self, p: Floats) -> tuple[Floats, float]:
        """A better point near by and its value, by damped steps of Gauss and Newton."""
        outputs, damping = self._outputs(p), 1e-2
        here = self._value(outputs[1])
        for _ in range(MOST_DESCENTS):
            gradient, H = self._derivatives(*outputs)
            fall = 0.0
            while damping < 1e6 and fall <= 0.0:
                damped = H.copy()
                damped.reshape(-1)[:: len(H) + 1] += damping * (H.diagonal() + 1e-12)
                _, step, failed = dposv(damped, gradient)
                if not failed:
                    trial = p - step.reshape(p.shape)
                    there = self._outputs(trial)
                    fall = here - self._value(there[1])
                damping = damping * 8 if fall <= 0 else max(damping / 5, 1e-8)
            if fall <= 0.0:
                break
            p, here, outputs = trial, here - fall, there
            if fall < IMPROVED_ENOUGH * here:
                break
        return p, here
