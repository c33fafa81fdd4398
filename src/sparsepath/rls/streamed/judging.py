"""What a pass tells of leave-one-out: models and their neighbours, judged slab by slab.

A slab keeps nothing between passes. From the chosen columns and the small arrays R and a (the
letters of ``leave_one_out/model.py``) it makes Z = X_S R^-1, r = P0 y - Z a and p for its rows, and
asks the same ``Rows`` as data in memory do. One pass judges several models at once, each with more
of the same columns than the one before, so that a search can look some steps ahead.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.data.moments import Cells, Coding
from sparsepath.data.sources import Answer, Columns, Slab
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import triangular
from sparsepath.rls.streamed.design import StreamDesign, weights_in
from sparsepath.tuning import TUNING

Key = frozenset[int]


@dataclass(frozen=True, eq=False)
class View:
    """How the columns and targets of a slab become those of the model.

    Attributes
    ----------
    columns : array of int
        Those that are read, ascending; everything below is for these.
    shift, left, scales : arrays
        A column is scales * (x - shift - left), times the root of the weight.
    total, shares : float, array
        The whole weight; for the balanced loss that of every class, times the number of classes.
    """

    columns: Columns
    shift: Floats
    left: Floats
    scales: Floats
    y_mean: Floats
    total: float
    shares: Floats | None
    fit_intercept: bool
    loss: Loss
    coding: Coding
    cells: Cells
    apart: int | None
    compiled: bool

    @classmethod
    def of(
        cls, design: StreamDesign, columns: Columns, loss: Loss, shares: Floats | None
    ) -> "View":
        """The view of some columns, given ascending."""
        compiled = design.n_samples * design.n_features >= TUNING.compiled_pass_from
        return cls(
            columns, design.shift[columns], design.left[columns], design.scales[columns],
            design.y_mean, design.total, shares, design.fit_intercept, loss, design.coding,
            design.cells, design.apart, compiled,
        )  # fmt: skip

    def rows(self, slab: Slab) -> Rows:
        """The rows of a slab with the empty model."""
        Y = self.coding(slab.y)
        w = weights_in(slab, self.cells, self.apart)
        weights = np.ones(len(Y)) if w is None else np.asarray(w, dtype=np.float64)
        v = weights / self.total
        if self.shares is not None:
            label = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(1)
            v = weights / self.shares[label]
        live = np.arange(len(self.columns))
        rows = Rows(slab.block, Y, np.sqrt(weights), v, self.loss, live, self.compiled, self.left)
        rows.begin(self.y_mean, np.zeros_like(self.y_mean), self.total, self.fit_intercept)
        return rows

    def taken(self, rows: Rows, features: Columns) -> Floats:
        """Some columns as the model sees them."""
        at = np.searchsorted(self.columns, features)
        rows.load(at, self.shift[at], self.scales[at])
        return np.asfortranarray(rows.W.copy(order="F"))


@dataclass(frozen=True, eq=False)
class Level:
    """A model, the first ``size`` of the columns at hand, and neighbours of it to be judged.

    ``t``, ``pivots`` and ``tau`` belong to the ``candidates``; ``directions`` and ``steps`` to
    removals (``State.removals``). ``blur``s are those of the loss.
    """

    size: int
    about: float
    blur: float
    candidates: Columns
    t: Floats
    pivots: Floats
    tau: Floats
    blurs: Floats
    directions: Floats
    steps: Floats
    drop_blurs: Floats


@dataclass(frozen=True, eq=False)
class Plan:
    """The columns S of the largest model with R and a, and the models on the way to it."""

    chosen: Columns
    R: Floats
    a: Floats
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class JudgedLevel:
    """Sums over all rows of a model as it stands."""

    error: float
    about: float
    around: float
    slope: float
    squares: Floats
    uu: Floats
    ur: Floats
    vv: float


class KnownModels:
    """What passes have told so far, by sets of features; copies of a model share it."""

    def __init__(self) -> None:
        self.models: dict[Key, JudgedLevel] = {}
        self.errors: dict[Key, tuple[float, float]] = {}
        self.steps_ahead = 1
        self.drops = False  # whether removals are asked for in this search
        self.foreseen: dict[Key, int] = {}


def judge(slab: Slab, view: View, plan: Plan) -> Answer:
    """The sums of every level: of the model itself, of its additions and of its removals.

    For each level: [loss, rows without room, |around|^2, slope, v'v, squared loss], squares of r,
    [g'u, u'u, u'r] per target, losses and squared losses with each candidate, and without each
    chosen one.
    """
    rows = view.rows(slab)
    X = view.taken(rows, plan.chosen)
    wanted = np.unique(np.concatenate([level.candidates for level in plan.levels]))
    others = view.taken(rows, wanted)
    Z = triangular(plan.R, X.T, transposed=True).T if len(plan.R) else X
    out: Answer = []
    rows.reserve(len(plan.R))
    for level in plan.levels:
        rows.extend(Z[:, rows.size : level.size], plan.a[rows.size : level.size])
        measured = rows.criterion(level.about, level.blur)
        own = rows.score_squared() if rows.loss.counts else measured.total
        seen = (measured.total, measured.tight, measured.around, measured.slope)
        out.append(np.array([*seen, rows.v @ rows.v, own]))
        out.append(measured.squares)
        T = len(measured.squares)
        squared = rows.loss.bounded
        out.append(np.stack(rows.weighed) if squared else np.zeros((3, T)))
        W = others[:, np.searchsorted(wanted, level.candidates)]
        if level.size and len(level.candidates):
            W = W - Z[:, : level.size] @ level.t
        rows.W = np.asfortranarray(W)
        given = level.pivots, level.tau, level.blurs
        out += _both(rows, rows.score, squared, *given)
        out += _both(
            rows, rows.score_without, squared, level.directions, level.steps, level.drop_blurs
        )
    return out


def _both(rows: Rows, score: Any, squared: bool, *given: Floats) -> Answer:
    """Shares of the loss, and of the squared loss where that is another."""
    if not len(given[1]):
        return [np.zeros(0), np.zeros(0)]
    first = score(*given)
    return [first, first if squared or not rows.loss.counts else score(*given, squared=True)]


def project(
    slab: Slab, view: View, chosen: Columns, R: Floats, a: Floats, which: Columns, t: Floats
) -> Answer:
    """With w = x - Z t for some columns: Z'w, w'w and w'r."""
    rows = view.rows(slab)
    X = view.taken(rows, chosen)
    Z = triangular(R, X.T, transposed=True).T if len(R) else X
    rows.extend(Z, a)
    W = view.taken(rows, which) - Z @ t
    return [Z.T @ W, np.einsum("ij,ij->j", W, W), W.T @ rows.r]
