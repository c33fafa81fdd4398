r"""Proximal Newton steps on rows that are read in passes, for losses that are not squared.

Rows keep nothing: the point (W, b) is sent, and a pass answers with the sums of loss and slopes,
and for the requested columns the gradient Z'u and the Hessian blocks Z'hZ and Z'h, u and h being
slopes and curvatures times s. A Newton step is one pass over the columns of the working set (plus
one for every halving of a step); the test of all weights is one over all columns; the duality gap
is one over the columns in use. The steps are those of ``engines.py``, so the optimum is the same:
gradients are exact, and they alone decide.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.moments import Cells, Coding, weights_in
from sparsepath.data.sources import Answer, Columns, Slab
from sparsepath.grafting.criterion import ConvexLoss, Penalty
from sparsepath.grafting.engines import INNER_GRAM, Engine
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.screening import GradientBounds
from sparsepath.grafting.steps import Indices, minimise
from sparsepath.grafting.streamed_design import StreamedGrafting
from sparsepath.system.arrays import Floats

REMEMBERED = 4  # passes whose answers are kept
SLOPES_CENTRED = 1e-14  # part of the sizes of the slopes that their sum may be
NOTHING = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class ModelMessage:
    """A model, and what of the rows it needs: sent to every part.

    ``columns`` are those that are read (None: all), ``means``, ``scales`` and ``w`` theirs;
    ``used`` are the places of those that have a weight.
    """

    columns: Columns | None
    used: Columns
    means: Floats
    scales: Floats
    w: Floats
    b: float
    total: float
    coding: Coding
    loss: ConvexLoss
    cells: Cells
    factors: Floats | None

    def outputs(self, slab: Slab) -> tuple[Floats, Floats, Floats]:
        """Outputs, targets and s of a slab's rows."""
        Y = self.coding(slab.y)
        w = weights_in(slab, self.cells, self.factors)
        Z = self.standardised(slab, self.used)
        return (
            Z @ self.w[self.used][:, None] + self.b,
            Y,
            (np.ones(len(Y)) if w is None else w) / self.total,
        )

    def standardised(self, slab: Slab, places: Columns) -> Floats:
        """Return some of the columns, standardised."""
        Z = slab.block.columns(places)
        Z -= self.means[places]
        Z /= self.scales[places]
        return Z


def expand(slab: Slab, at: ModelMessage, hessian: bool) -> Answer:
    """Sums of s L, of the slopes, their sizes and the curvatures; gradient; Z'h and Z'hZ."""
    F, Y, s = at.outputs(slab)
    here = at.loss.expansion(F, Y)
    u, h = here.slope[:, 0] * s, here.curvature[:, 0] * s
    sums = np.array([s @ here.value, u.sum(), np.abs(u).sum(), h.sum()])
    if not hessian:
        q = slab.block.dot(u[:, None])[:, 0]
        return [sums, (q - at.means * sums[1]) / at.scales]
    Z = at.standardised(slab, np.arange(len(at.means)))
    return [sums, Z.T @ u, Z.T @ h, Z.T @ (h[:, None] * Z)]


def conjugates(slab: Slab, at: ModelMessage, part: float) -> Answer:
    """The sum of s L* at a part of the slopes."""
    F, Y, s = at.outputs(slab)
    return [np.array(s @ at.loss.conjugate(part * at.loss.slope(F, Y), Y))]


@dataclass(frozen=True, eq=False)
class Look:
    """Results of a pass at a point; the Hessian blocks only where requested."""

    value: float
    slope: float
    size: float
    curvature: float
    q: Floats
    c: Floats
    H: Floats


class StreamEngine(Engine):
    """One output, by passes. F is the point itself, weights and then the intercept: n + 1 numbers.

    So outputs are linear in it, and steps are added to it as they are to the outputs of rows.
    """

    design: StreamedGrafting

    part = GramEngine.part  # the same rounds as in memory

    def __init__(self, design: StreamedGrafting, loss: ConvexLoss) -> None:
        self.design, self.loss, self.steps = design, loss, 0
        self._free = slice(None)
        self._features: Indices = NOTHING
        self._seen: dict[tuple[bytes, bytes], Look] = {}
        self.known_gradient = GradientBounds(design)
        self._expanded = None
        self.W, self.b = np.zeros((design.n, 1)), np.zeros(1)
        self.F = np.zeros((design.n + 1, 1))
        self.settle_intercept()
        self.null_loss = self.loss_term()

    def move_to(self, W: Floats, b: Floats, F: Floats | None = None) -> None:
        self.W, self.b = W.copy(), b.copy()
        self.F = np.vstack([W, b[None]]) if F is None else F.copy()

    def _point(self, F: Floats, columns: Columns | None) -> ModelMessage:
        design = self.design
        which = np.arange(design.n) if columns is None else columns
        w = F[which, 0]
        return ModelMessage(
            columns, np.flatnonzero(w), design.means[which], design.scales[which], w,
            float(F[-1, 0]), design.total, design.coding, self.loss, design.cells, design.factors,
        )  # fmt: skip

    def _look(self, F: Floats, features: Indices | None) -> Look:
        """A point, and the Hessian of some features; with None the gradient of all."""
        name = b"all" if features is None else features.tobytes()
        key = F.tobytes(), name
        if key in self._seen:
            return self._seen[key]
        design = self.design
        columns: Columns | None = None
        if features is not None:
            columns = np.union1d(np.flatnonzero(F[:-1]), features)
        at = self._point(F, columns)
        answer = design.source.total(design.crew, columns, expand, at, columns is not None)
        sums, q, *blocks = answer
        if columns is None or features is None:
            q = np.where(design.usable, q, 0.0)
            blocks = [np.zeros(0), np.zeros((0, 0))]
        else:
            places = np.searchsorted(columns, features)
            q, blocks = q[places], [blocks[0][places], blocks[1][np.ix_(places, places)]]
        while len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        value, slope, size, curvature = sums.tolist()
        self._seen[key] = Look(value, slope, size, curvature, q, *blocks)
        return self._seen[key]

    def _any_look(self) -> Look:
        """Return the state at the current point, with a pass over the columns in use if needed."""
        here = self.F.tobytes()
        known = (look for (point, _), look in self._seen.items() if point == here)
        return next(known, None) or self._look(self.F, self._features)

    def settle_intercept(self) -> None:
        if not self.design.fit_intercept:
            return
        best = self._any_look()
        for _ in range(100):
            near = abs(best.slope) <= 1e-6 * best.size  # too flat for losses to be compared
            if abs(best.slope) <= SLOPES_CENTRED * best.size:
                break
            d = -best.slope / max(best.curvature, 1e-300)
            while True:
                F = self.F.copy()
                F[-1] += d
                there = self._look(F, NOTHING)
                if near or there.value <= best.value or abs(d) < 1e-10:
                    break
                d /= 2
            if near and abs(there.slope) >= abs(best.slope):
                break
            self.F, self.b, best = F, F[-1].copy(), there

    def gradient(self) -> Floats:
        return self._look(self.F, None).q[:, None]

    def gradient_for(self, penalty: Penalty) -> Floats:
        return self.gradient()

    def loss_term(self) -> float:
        return self._any_look().value

    def slope_sums(self) -> tuple[Floats, float]:
        look = self._any_look()
        return np.array([look.slope]), look.size

    def gap(self, penalty: Penalty, gradient: Floats, usable: NDArray[np.bool_]) -> float:
        """The duality gap; slopes are feasible as they are. NaN if a weight has no penalty."""
        l1, l2, sizes = penalty.l1[usable], penalty.l2[usable], np.abs(gradient[usable, 0])
        if np.any((l1 == 0) & (l2 == 0)):
            return float("nan")
        hard = (l2 == 0) & (sizes > l1)
        c = float(np.min(l1[hard] / sizes[hard])) if hard.any() else 1.0
        over = np.maximum(c * sizes - l1, 0.0)[l2 > 0]
        design, used = self.design, np.flatnonzero(self.F[:-1])
        at = self._point(self.F, used)
        (conjugate,) = design.source.total(design.crew, used, conjugates, at, c)
        dual = -float(conjugate) - float((over**2 / (4.0 * l2[l2 > 0])).sum())
        return self.loss_term() + replace(penalty, l0=np.zeros(design.n)).value(self.W) - dual

    # Steps --------------------------------------------------------------------------------------

    def _prepare(self, features: Indices) -> Indices:
        self._features = np.sort(features)
        return self._features

    def _derivatives(self) -> tuple[Floats, Floats]:
        look = self._look(self.F, self._features)
        return look.q[:, None], np.array([look.slope if self.design.fit_intercept else 0.0])

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        look = self._look(self.F, self._features)
        H, r = look.H, q[:, 0]
        least = 1e-14 * H.diagonal()
        if self.design.fit_intercept:
            H = H - np.outer(look.c / look.curvature, look.c)
            r = r - look.c * (beta[0] / look.curvature)
        D = minimise(H, r, np.ascontiguousarray(w[:, 0]), local, least, INNER_GRAM * violation)
        d = np.zeros(1)
        if self.design.fit_intercept:
            d = -(beta + look.c @ D) / look.curvature
        return D[:, None], d

    def _change(self, D: Floats, d: Floats) -> Floats:
        change = np.zeros_like(self.F)
        change[self._features], change[-1] = D, d
        return change

    def _try(self, change: Floats) -> float:
        F = self.F + change
        self._tried = F, None  # type: ignore[assignment]
        return self._look(F, self._features).value
