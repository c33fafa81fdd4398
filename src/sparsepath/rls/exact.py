"""The best subset of every size by penalised training error, with a proof: branch and bound.

A swapping search, or with many columns the strong one (``strong.py``), gives a first set of every
size. Up to ``TREE`` columns one tree of removals (``_core/exact.cpp``) then proves or improves all
sizes at once. With more columns each size is proved by itself, with bounds from a relaxation. With
M and b as in ``training.py`` and Q = M - d I positive semidefinite, any coefficients v give for all
sets of k columns

    F(S)  >=  Y'Y - v'Qv - (sum of the k largest t_i),      t_i = |b_i - (Qv)_i|^2 / d,

since w'Qw >= 2 v'Qw - v'Qv, and the rest falls apart into one term for each column. Columns that
are in every set of a node count whatever their t_i. A column outside the k largest must be out of
every better set if the bound with it in place of the k-th is no less than the best value known, and
one inside must be in if the bound with the (k+1)-th in its place is. That leaves few columns, for
which d is larger, and then the bound is better; in the end the tree of removals decides. If columns
are left that cannot be decided, the node is split by the one with the largest t_i. The v with a
good bound minimises, for a price m of a column,

    v'Qv - 2 b'v + sum h(v_i),     h(v) = 2 sqrt(d m) |v| up to |v| = sqrt(m / d), then d v^2 + m,

by an accelerated proximal gradient method; any v is valid, so nothing depends on how well it works.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from sparsepath._core import exact as core
from sparsepath.base import Stop
from sparsepath.errors import InputError
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import Model
from sparsepath.rls.search import with_swaps
from sparsepath.rls.strong import TIME, strong
from sparsepath.rls.training import RidgeProducts, TrainingModel
from sparsepath.rls.update import Update
from sparsepath.system.arrays import Floats

CRITERION = "penalised training squared error"
TREE = 64  # free columns up to which one tree of removals decides
COLLINEAR = 1e-10  # part of a column that is left, below which a proof is not sound
SLACK = 1e-10  # part of Y'Y by which a set must be better
Columns = NDArray[np.intp]


def exact(
    model: Model,
    trail: SearchTrail,
    sets: Constraints,
    *,
    products: Callable[[], RidgeProducts],
    total: float,
    wanted: int = 0,
    seconds: float = np.inf,
) -> None:
    """Record the best subsets and their bounds on the trail.

    ``model`` has the forced features; ``total`` is the total sample weight, by which bounds are
    divided; ``wanted`` is the size to prove first.
    """
    search = _Exact(products(), sets, trail, seconds)
    try:
        search.run(list(model.chosen), wanted)
        trail.stopped = Stop.MAX_FEATURES if search.proved else TIME
    finally:
        reason = trail.stopped
        forced = len(model.chosen)
        for size, subset in sorted(search.subsets.items()):
            if size > forced:
                _change(model, subset)
                trail.note(model, Update("add", subset[-1]), whole=False)
        trail.stopped = reason
        trail.certificate = search.certificate(total)


def _change(model: Model, columns: Sequence[int]) -> None:
    """Change a model to some columns."""
    for i in set(model.chosen).difference(columns):
        model.drop(i)
    for i in columns:
        if i not in model.chosen:
            model.add(i)


class _Exact:
    """Best known subsets of every size, and their bounds."""

    def __init__(
        self, products: RidgeProducts, sets: Constraints, trail: SearchTrail, seconds: float
    ) -> None:
        self.products, self.sets, self.trail, self.seconds = products, sets, trail, seconds
        self.slack = SLACK * products.yy
        self.subsets: dict[int, tuple[int, ...]] = {}
        self.values: dict[int, float] = {}
        self.lower: dict[int, float] = {}
        self.whole: _Curvature | None = None

    @property
    def left(self) -> float:
        """Return the remaining seconds."""
        return self.seconds - self.trail.seconds

    @property
    def proved(self) -> bool:
        """Return whether every subset is proved best."""
        return all(self.lower[k] >= self.values[k] - self.slack for k in self.values)

    def certificate(self, total: float) -> dict[str, object]:
        """Return values and bounds for every size, per sample."""
        sizes = sorted(self.values)
        values = [self.values[k] / total for k in sizes]
        lower = [min(self.lower.get(k, 0.0), self.values[k]) / total for k in sizes]
        close = self.slack / total
        lower = [v if v - low <= close else low for v, low in zip(values, lower, strict=True)]
        return {"criterion": CRITERION, "sizes": sizes, "values": values, "lower_bounds": lower}

    def run(self, forced: list[int], wanted: int) -> None:
        """Find subsets and prove them."""
        free = np.array([i for i in self.sets.entering(forced) if i not in forced], dtype=np.intp)
        everything = np.sort(np.array([*forced, *free.tolist()], dtype=np.intp))
        self.forced = np.isin(everything, forced)
        self.columns, self.of = everything, self.products.only(everything)
        least = self._least()
        self._first(forced)
        for size in self.values:
            self.lower[size] = self.values[size] if size == len(forced) else least
        if len(free) <= TREE:
            kept = np.arange(len(everything))
            self._remove(kept, self.forced, sorted(self.values), self.lower)
            return
        first, *others = sorted(
            (k for k in self.values if k > len(forced)), key=lambda k: (k != wanted, k)
        )
        self._prove(first)
        every = np.arange(len(everything))
        for size in others:
            if size < len(everything) and self.left > 0:
                bound = self._relax(every, self.forced, size, self._curvature(every, None)).bound
                self.lower[size] = max(self.lower[size], min(bound, self.values[size]))
        for size in others:
            self._prove(size)

    def _least(self) -> float:
        """Return F of all columns, a lower bound for all subsets."""
        try:
            L, W = self.of.factor(np.arange(len(self.columns)))
            collinear = bool((L.diagonal() ** 2 < COLLINEAR * self.of.M.diagonal()).any())
        except LinAlgError:
            collinear = True
        if collinear:
            raise InputError(
                "search='exact' needs columns that are not collinear; use a larger alpha."
            )
        return self.of.yy - float((self.of.b * W).sum())

    def _first(self, forced: list[int]) -> None:
        """Return the initial subsets, from the swap or the strong search."""
        constant = np.zeros(len(self.products.b), dtype=bool)
        model, apart = TrainingModel(self.products, constant), SearchTrail()
        for i in forced:
            model.add(i)
        apart.begin(model)
        apart.set_out(model)
        apart._began = self.trail._began
        try:
            if len(self.columns) - len(forced) <= TREE:  # the tree corrects them at little cost
                with_swaps(model, apart, self.sets)
            else:
                strong(model, apart, self.sets, seconds=self.seconds)
        finally:
            for size, step in apart.steps.items():
                self.subsets[size], self.values[size] = step.subset, step.error

    def _better(self, size: int, columns: Columns, value: float) -> None:
        self.subsets[size] = tuple(sorted(self.columns[columns].tolist()))
        self.values[size] = value

    def _remove(
        self, kept: Columns, fixed: NDArray[np.bool_], sizes: list[int], lower: dict[int, float]
    ) -> None:
        """Decide some sizes by removals from the kept columns; the ``fixed`` ones stay.

        ``lower`` receives the bounds of branches that were not searched.
        """
        inside, free = kept[fixed[kept]], kept[~fixed[kept]]
        order = np.concatenate([free, inside])
        sub, m = self.of.only(order), len(free)
        L, W = sub.factor(np.arange(len(order)))
        inverse = cho_solve((L, True), np.eye(len(order)))
        B = np.ascontiguousarray(inverse[:m, :m])
        root = np.sqrt(B.diagonal())
        share = 0.999 / np.linalg.eigvalsh(B / np.outer(root, root))[-1] if m else 1.0
        d = share / B.diagonal()
        known = np.full(len(order) + 1, np.inf)
        for size in sizes:
            if size <= len(order):
                known[size] = self.values[size]
        F = sub.yy - float((sub.b * W).sum())
        tree = core.RemovalTree(
            B, np.ascontiguousarray(W[:m]), d, F, len(inside), known, self.slack
        )
        for size in sizes:
            lower[size] = F
        try:
            tree.run(self.left)
        finally:
            open_sets = tree.lower
            for size in sizes:
                if size > len(order):
                    lower[size] = np.inf
                    continue
                if tree.improved(size):
                    gone = set(tree.dropped(size))
                    stay = [i for i in range(m) if i not in gone]
                    columns = np.concatenate([free[stay], inside])
                    self._better(size, columns, self.of.value(columns))
                lower[size] = min(float(open_sets[size]), self.values[size])

    def _add(self, kept: Columns, inside: Columns, size: int) -> None:
        """Decide a size by trying every addition to the given columns."""
        closed = np.ones(len(self.columns), dtype=bool)
        closed[kept] = False
        model = TrainingModel(self.of, closed)
        for i in inside.tolist():
            model.add(i)
        update = model.best_addition()
        if update is not None and update.error < self.values[size] - self.slack:
            self._better(size, np.array([*inside, update.feature]), update.error)

    # More columns -------------------------------------------------------------------------------

    def _prove(self, size: int) -> None:
        """Prove one size, or find a lower bound."""
        every = np.arange(len(self.columns))
        stack = [_Node(every, self.forced, self.lower[size])]
        closed = np.inf
        while stack:
            node = stack.pop()
            try:
                bounds = self._split(node, size) if self.left > 0 else [node]
            except BaseException:
                self.lower[size] = min([closed, node.bound, *(n.bound for n in stack)])
                raise
            if self.left <= 0:
                rest = [n.bound for n in (*stack, *bounds)]
                self.lower[size] = min([closed, self.values[size], *rest])
                return
            stack += bounds
        self.lower[size] = self.values[size]

    def _split(self, node: "_Node", size: int) -> list["_Node"]:
        """Return the open nodes after bounding a node: none, the node itself (out of time),
        or two.
        """
        kept, fixed, bound, curvature = node.kept, node.fixed, node.bound, node.curvature
        while True:
            inside = int(fixed.sum())
            if not inside <= size <= len(kept):
                return []
            free = kept[~fixed[kept]]
            if size == inside + 1:
                self._add(kept, np.flatnonzero(fixed), size)
                return []
            if len(free) <= TREE or size in (inside, len(kept)):
                lower: dict[int, float] = {}
                self._remove(kept if inside < size else kept[fixed[kept]], fixed, [size], lower)
                is_open = lower[size] < self.values[size] - self.slack
                return [_Node(kept, fixed, max(bound, lower[size]))] if is_open else []
            curvature = self._curvature(kept, curvature)
            found = self._relax(kept, fixed, size, curvature)
            bound = max(bound, found.bound)
            value = self.values[size] - self.slack
            if bound >= value:
                return []
            out, must = found.decided(value)
            kept, fixed = np.setdiff1d(kept, free[out]), fixed.copy()
            fixed[free[must]] = True
            if self.left <= 0:
                return [_Node(kept, fixed, bound)]
            if np.count_nonzero(out | must) < max(1, len(free) // 5):
                break
        column = free[next(i for i in found.order if not must[i])]
        within = fixed.copy()
        within[column] = True
        without = np.setdiff1d(kept, [column])
        return [
            _Node(kept, within, bound, curvature),
            _Node(without, fixed, bound, curvature),
        ]

    def _curvature(self, kept: Columns, above: "_Curvature | None") -> "_Curvature":
        """Return the curvature bound of the kept columns, or of a slightly larger set."""
        if len(kept) == len(self.columns) and self.whole is not None:
            return self.whole
        if above is not None and len(kept) > 0.8 * above.columns:
            return above
        M = self.of.M[np.ix_(kept, kept)]
        found = _Curvature(_least_eigenvalue(M), _largest_eigenvalue(M), len(kept))
        if len(kept) == len(self.columns):
            self.whole = found
        return found

    def _relax(
        self, kept: Columns, fixed: NDArray[np.bool_], size: int, curvature: "_Curvature"
    ) -> "_Bound":
        """Return a lower bound for all subsets of a size among the kept columns; see the module
        docstring.
        """
        of = self.of.only(kept)
        inside = fixed[kept]
        k = size - int(inside.sum())
        d, step = curvature.least, 1.0 / curvature.largest
        value = self.values[size] - self.slack
        w = np.zeros_like(of.b)
        start = np.isin(self.columns[kept], self.subsets[size])
        if start.any():
            w[start] = of.factor(np.flatnonzero(start))[1]
        norms = np.sqrt((w[start & ~inside] ** 2).sum(1))
        price = d * float(norms.min(initial=np.inf)) ** 2
        price = price if 0 < price < np.inf else of.yy / len(kept)
        low, high = 0.0, np.inf
        best: _Bound | None = None
        for _ in range(ROUNDS):
            w = _proximal(of, d, step, price, inside, w)
            found = _bound(of, d, inside, k, w)
            if best is None or found.bound > best.bound:
                best = found
            used = np.minimum(np.sqrt((w[~inside] ** 2).sum(1) * d / price), 1.0).sum()
            low, high = (price, high) if used > k else (low, price)
            if best.bound >= value or self.left <= 0 or 0 < high < 1.01 * low:
                break
            if low == 0 or high == np.inf:
                price *= 1.3 if used > k else 1 / 1.3
            else:
                price = math.sqrt(low * high)
        assert best is not None
        return best


ROUNDS, ITERATIONS = 20, 40  # prices that are tried, and steps for each


@dataclass
class _Node:
    """Subsets with the fixed columns among the kept ones, and a lower bound."""

    kept: Columns
    fixed: NDArray[np.bool_]
    bound: float
    curvature: "_Curvature | None" = None


@dataclass
class _Curvature:
    """Bounds of the eigenvalues of M for some columns, also valid for fewer columns."""

    least: float
    largest: float
    columns: int


@dataclass
class _Bound:
    """A bound, and t of the free columns in descending order."""

    bound: float
    k: int
    t: Floats
    order: Columns

    def decided(self, value: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return columns that no better subset contains, and columns that every better subset
        contains.
        """
        top, rest = self.order[: self.k], self.order[self.k :]
        out = self.bound + self.t[top[-1]] - self.t >= value
        out[top] = False
        must = self.bound + self.t - self.t[rest[0]] >= value
        must[rest] = False
        return out, must


def _bound(of: RidgeProducts, d: float, inside: NDArray[np.bool_], k: int, v: Floats) -> _Bound:
    Qv = _times(of.M, v) - d * v
    t = ((of.b - Qv) ** 2).sum(1) / d
    free = t[~inside]
    order = np.argsort(-free, kind="stable")
    value = of.yy - float((v * Qv).sum()) - float(t[inside].sum()) - float(free[order[:k]].sum())
    return _Bound(value, k, free, order)


def _proximal(
    of: RidgeProducts, d: float, step: float, price: float, inside: NDArray[np.bool_], w: Floats
) -> Floats:
    """Run some proximal gradient steps on the relaxed problem."""
    v, x, momentum = w, w, 1.0
    edge = math.sqrt(price / d)
    for _ in range(ITERATIONS):
        u = v - step * (_times(of.M, v) - d * v - of.b)
        norms = np.sqrt((u * u).sum(1))
        shrunk = np.maximum(norms - step * math.sqrt(d * price), 0.0)
        large = norms / (1 + step * d)
        new = np.where(inside | (shrunk > edge), large, shrunk)
        now = u * np.divide(new, norms, where=norms > 0, out=np.zeros_like(norms))[:, None]
        after = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        v = now + (momentum - 1) / after * (now - x)
        x, momentum = now, after
    return x


def _times(M: Floats, v: Floats) -> Floats:
    """Return M v for a v with few nonzero rows."""
    rows = np.flatnonzero(v.any(1))
    return M @ v if len(rows) > len(v) // 4 else M[rows].T @ v[rows]


def _largest_eigenvalue(M: Floats) -> float:
    """Return an upper estimate of the largest eigenvalue."""
    x = np.ones(len(M))
    for _ in range(30):
        x = M @ x
        size = float(np.linalg.norm(x))
        x /= size
    return 1.1 * size


def _least_eigenvalue(M: Floats) -> float:
    """Return a lower bound of the smallest eigenvalue, verified by a factorisation."""
    L = cholesky(M, lower=True)
    x = np.random.default_rng(0).standard_normal(len(M))
    for _ in range(40):
        x = cho_solve((L, True), x)
        size = float(np.linalg.norm(x))
        x /= size
    d = 0.99 / size
    rows = np.diag_indices_from(M)
    while True:
        less = M.copy()
        less[rows] -= d
        try:
            cholesky(less, lower=True, overwrite_a=True)
        except LinAlgError:
            d *= 0.9
            continue
        return d
