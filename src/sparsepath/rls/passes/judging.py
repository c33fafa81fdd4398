"""Leave-one-out errors of models and their neighbours, computed slab by slab in one pass.

A slab keeps nothing between passes. From the chosen columns and the small arrays R and a (the
letters of ``engine.py``) it makes Z = X_S R^-1, r = P0 y - Z a and p for its rows
(``fitted_rows.py``). One pass judges several models at once, each with
more of the same columns than the one before, so that a search can look some steps ahead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm

from sparsepath.data.moments import Cells, Coding, weights_in
from sparsepath.data.sources import Answer, Columns, Slab, plus
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import COLLINEAR
from sparsepath.rls.passes.bounds import triangular
from sparsepath.rls.passes.design import StreamDesign, class_shares
from sparsepath.rls.passes.fitted_rows import FittedRows
from sparsepath.system.arrays import Floats

ROWS_OF_A_STRIP = 8192  # rows judged at once: what is made of them stays in cache
Key = frozenset[int]


class Buffers:
    """Reused arrays, because new memory is slow, especially on Dask workers.

    Dask configures them to return memory to the system whenever possible.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def __call__(self, name: str, m: int, n: int) -> Floats:
        """Return an uninitialised array m x n in Fortran order."""
        kept = self._kept.get(name)
        if kept is None or kept.size < m * n:
            kept = self._kept[name] = np.empty(m * n)
        return kept[: m * n].reshape((m, n), order="F")


@dataclass(frozen=True, eq=False)
class View:
    """Transformation of the columns and targets of a slab to those of the model."""

    # Those that are read, ascending, and all that is below is for these; None for all columns.
    columns: Columns | None
    shift: Floats  # A column is scales * (x - shift - left), times the root of the weight
    left: Floats
    scales: Floats
    y_mean: Floats
    y_left: Floats  # the mean of y - y_mean: a mean is rounded
    # The whole weight; for the balanced loss that of every class, times the number of classes.
    total: float
    shares: Floats | None
    fit_intercept: bool
    loss: Loss
    coding: Coding
    cells: Cells
    factors: Floats | None

    @classmethod
    def of(cls, design: StreamDesign, columns: Columns, loss: Loss) -> "View":
        """Create it for some columns of a source, given ascending."""
        shares = class_shares(design) if loss.balanced else None
        none = np.zeros_like(design.y_mean)
        return cls(
            columns, design.shift[columns], design.left[columns], design.scales[columns],
            design.y_mean, none, design.total, shares, design.fit_intercept, loss, design.coding,
            design.cells, design.factors,
        )  # fmt: skip

    def rows(self, slab: Slab) -> FittedRows:
        """Return the rows of a slab with the empty model."""
        Y = self.coding(slab.y)
        w = weights_in(slab, self.cells, self.factors)
        weights = np.ones(len(Y)) if w is None else np.asarray(w, dtype=np.float64)
        v = weights / self.total
        if self.shares is not None:
            label = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(1)
            v = weights / self.shares[label]
        rows = FittedRows(slab.block, Y, np.sqrt(weights), v, self.loss, self.left)
        rows.begin(self.y_mean, self.y_left, self.total, self.fit_intercept)
        return rows

    def taken(self, rows: FittedRows, features: Columns, out: Floats) -> Floats:
        """Return some columns, centred, scaled and weighted."""
        at = features if self.columns is None else np.searchsorted(self.columns, features)
        rows.load(at, self.shift[at], self.scales[at], out)
        return out


@dataclass(frozen=True, eq=False)
class Level:
    """A model, the first ``size`` of the columns, and its neighbours to be evaluated.

    ``t``, ``pivots`` and ``tau`` belong to the ``candidates``; ``directions`` and ``steps`` to
    removals of the features ``drops``. ``blur`` has the tie tolerances of the loss.
    """

    size: int
    about: float
    blur: float
    candidates: Columns
    t: Floats
    pivots: Floats
    tau: Floats
    blurs: Floats
    drops: Sequence[int]
    directions: Floats
    steps: Floats
    drop_blurs: Floats


class Projection(NamedTuple):
    """Projected candidates: t (k x c), pivots, c (c x T), and which are usable."""

    t: Floats
    pivots: Floats
    c: Floats
    usable: NDArray[np.bool_]

    def only(self, part: slice) -> "Projection":
        """Return some of them."""
        return Projection(self.t[:, part], self.pivots[part], self.c[part], self.usable[part])


@dataclass(frozen=True, eq=False)
class GroupChange:
    """A group of columns, named by the first, that is added to or removed from the largest model.

    ``G`` and ``tau`` are those of ``groups.py``; for a removal, its directions.
    """

    action: str
    first: int
    columns: Columns
    t: Floats
    G: Floats
    tau: Floats
    blur: float

    @classmethod
    def addition(
        cls, group: Sequence[int], found: Projection, gram: Floats, blur: float
    ) -> "GroupChange":
        """Return the addition of a group; ``gram`` are the products of its columns."""
        S = gram - found.t.T @ found.t
        np.fill_diagonal(S, found.pivots)
        root = np.sqrt(np.where(found.pivots > 0, found.pivots, 1.0))
        values, vectors = np.linalg.eigh(S / np.outer(root, root))
        keep = values > COLLINEAR
        G = vectors[:, keep] / np.sqrt(values[keep]) / root[:, None]
        columns = np.array(group, dtype=np.intp)
        return cls("add", group[0], columns, found.t, G, G @ (G.T @ found.c), blur)

    @classmethod
    def removal(
        cls, first: int, places: Sequence[int], R: Floats, a: Floats, blur: float
    ) -> "GroupChange":
        """Return the removal of the group with this first column, at some places.

        With N = X_S A^-1 and A^-1_bb the block of these columns, P becomes
        P + N_b (A^-1_bb)^-1 N_b'.
        """
        inverse = triangular(R, np.eye(len(R)))
        block = inverse[list(places)]
        L = np.linalg.cholesky(block @ block.T)
        Q = np.linalg.solve(L, block).T
        tau = -np.linalg.solve(L, triangular(R, a)[list(places)])
        return cls("drop", first, np.zeros(0, dtype=np.intp), np.zeros((len(R), 0)), Q, tau, blur)

    def score(self, rows: FittedRows, squared: bool) -> float:
        """Return the contribution to the criterion after the change; added columns are in W."""
        how = rows.score_all if self.action == "add" else rows.score_without_all
        return how(self.G, self.tau, self.blur, squared)


@dataclass(frozen=True, eq=False)
class Plan:
    """Columns S of the largest model with R and a, and the smaller models."""

    chosen: Columns
    R: Floats
    a: Floats
    levels: tuple[Level, ...]
    groups: tuple[GroupChange, ...] = ()


@dataclass(frozen=True)
class ModelSums:
    """Sums over all rows for a model."""

    error: float
    about: float
    around: float
    slope: float
    squares: Floats
    uu: Floats
    ur: Floats
    vv: float


class ModelCache:
    """Results of all passes so far, by subset; copies of a model share them."""

    def __init__(self) -> None:
        self.models: dict[Key, ModelSums] = {}
        self.errors: dict[Key, tuple[float, float]] = {}
        self.steps_ahead = 1
        self.drops = False  # whether removals are asked for in this search
        self.foreseen: dict[Key, int] = {}
        self.groups: dict[tuple[Key, str, int], tuple[float, float]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "models": [[sorted(key), *map(_plain, astuple(m))] for key, m in self.models.items()],
            "errors": [[sorted(key), *pair] for key, pair in self.errors.items()],
            "foreseen": [[sorted(key), i] for key, i in self.foreseen.items()],
            "groups": [[sorted(key), *how, *pair] for (key, *how), pair in self.groups.items()],
            "steps_ahead": self.steps_ahead,
            "drops": self.drops,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "ModelCache":
        """Return the bit-identical object that ``to_dict`` converted."""
        made = cls()
        for key, *told in record["models"]:
            numbers = [np.array(v) if isinstance(v, list) else float(v) for v in told]
            made.models[frozenset(key)] = ModelSums(*numbers)  # type: ignore[arg-type]
        made.errors = {frozenset(key): (float(a), float(b)) for key, a, b in record["errors"]}
        made.foreseen = {frozenset(key): int(i) for key, i in record["foreseen"]}
        for key, action, first, *pair in record["groups"]:
            made.groups[frozenset(key), str(action), int(first)] = (float(pair[0]), float(pair[1]))
        made.steps_ahead, made.drops = int(record["steps_ahead"]), bool(record["drops"])
        return made


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def judge(slab: Slab, view: View, plan: Plan) -> Answer:
    """Return the sums of every level: of the model, its additions and its removals.

    For each level: [loss, rows with leverage one, |around|^2, slope, v'v, squared loss], squares of
    r, [u'u, u'r] per target, losses and squared losses with each candidate, and without each
    selected feature. With groups, finally loss and squared loss after each of their changes.
    """
    space, strips = Buffers(), slab.strips(ROWS_OF_A_STRIP)
    return reduce(plus, (_judged(strip, view, plan, space) for strip in strips))


def _judged(slab: Slab, view: View, plan: Plan, space: Buffers) -> Answer:
    rows = view.rows(slab)
    m, k = slab.block.shape[0], len(plan.chosen)
    asked = [level.candidates for level in plan.levels]
    wanted = np.unique(np.concatenate([*asked, *(change.columns for change in plan.groups)]))
    both = space("columns", m, k + len(wanted))
    view.taken(rows, np.concatenate([plan.chosen, wanted]), both)
    Z, others = orthonormal(both[:, :k], plan.R), both[:, k:]
    rows.lend(Z)
    out: Answer = []
    for level in plan.levels:
        rows.extend(level.size, plan.a)
        measured = rows.criterion(level.about, level.blur)
        own = rows.score_squared() if rows.loss.counts else measured.total
        seen = (measured.total, measured.tight, measured.around, measured.slope)
        out.append(np.array([*seen, rows.v @ rows.v, own]))
        out.append(measured.squares)
        T = len(measured.squares)
        squared = rows.loss.bounded
        out.append(np.stack(rows.weighed) if squared else np.zeros((2, T)))
        places = np.searchsorted(wanted, level.candidates)
        W, off = (space(name, m, len(places)) for name in ("W", "off"))
        np.take(others.T, places, axis=0, out=W.T, mode="clip")
        if level.size and len(places):
            W -= np.matmul(level.t.T, Z[:, : level.size].T, out=off.T).T
        rows.W = W
        given = level.pivots, level.tau, level.blurs
        out += _both(rows, rows.score, squared, *given)
        out += _both(
            rows, rows.score_without, squared, level.directions, level.steps, level.drop_blurs
        )
    if plan.groups:
        scores = np.empty((len(plan.groups), 2))
        for change, pair in zip(plan.groups, scores, strict=True):
            rows.W = others[:, np.searchsorted(wanted, change.columns)] - Z @ change.t
            pair[0] = change.score(rows, False)
            pair[1] = change.score(rows, True) if rows.loss.counts else pair[0]
        out.append(scores)
    return out


def _both(rows: FittedRows, score: Any, squared: bool, *given: Floats) -> Answer:
    """Return contributions to the loss, and to the squared loss if it differs."""
    if not len(given[1]):
        return [np.zeros(0), np.zeros(0)]
    first = score(*given)
    return [first, first if squared or not rows.loss.counts else score(*given, squared=True)]


def project(
    slab: Slab, view: View, chosen: Columns, R: Floats, a: Floats, which: Columns, t: Floats
) -> Answer:
    """Return Z'w, w'w and w'r for some columns, with w = x - Z t."""
    rows = view.rows(slab)
    m, k = slab.block.shape[0], len(chosen)
    both = view.taken(
        rows, np.concatenate([chosen, which]), np.empty((m, k + len(which)), order="F")
    )
    Z = _fit(rows, both[:, :k], R, a)
    W = both[:, k:] - Z @ t
    return [Z.T @ W, np.einsum("ij,ij->j", W, W), W.T @ rows.r]


def weighed_products(slab: Slab, view: View, chosen: Columns, R: Floats, a: Floats) -> Answer:
    """Return X'u of all stored columns, times the roots of the weights; sums of u; Z'u."""
    rows = view.rows(slab)
    X = view.taken(rows, chosen, np.empty((slab.block.shape[0], len(chosen)), order="F"))
    Z = _fit(rows, X, R, a)
    rows.criterion()
    V = rows.g[:, None] * rows.u
    return [slab.block.dot(V), V.sum(0), Z.T @ rows.u]


def _fit(rows: FittedRows, X: Floats, R: Floats, a: Floats) -> Floats:
    """Set rows to the model of some columns (overwritten) and return Z."""
    Z = orthonormal(X, R)
    rows.lend(Z)
    rows.extend(len(R), a)
    return Z


def orthonormal(X: Floats, R: Floats) -> Floats:
    """Compute Z = X R^-1 in place."""
    return dtrsm(1.0, R, X, side=1, overwrite_b=True) if len(R) else X
