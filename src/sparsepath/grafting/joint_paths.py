r"""Paths over l1 on all rows and on training parts, side by side: dense columns, one output.

A training part is the same problem with other sample weights s, zero for the held-out rows. Its
standardisation can be expressed by penalties: with rho_j the standard deviation of z_j over the
part,

    (z_j - mean_j) / rho_j w_j = z_j v_j + constant,      v_j = w_j / rho_j,
    l1_j |w_j| + l2_j w_j^2 = l1_j rho_j |v_j| + l2_j rho_j^2 v_j^2

and the intercept absorbs the constant. So all paths share the columns of their working sets, the
gradients of all features are products X'U with one column of U per path (one pass over the data for
all), and the outputs f of the held-out rows are predictions. Nothing is copied.

The compiled core takes the steps of each path (``_core/convex_path.hpp``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import grafting as core
from sparsepath.grafting.criterion import ConvexLoss, HuberLoss, Logistic, Penalty, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.system.arrays import Flags, Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

SAFE = 1e-6  # least variance, relative to that over all rows, that a part must leave of a column
PER_SAMPLE = 11  # numbers that one path keeps


class PathOptimum(NamedTuple):
    """Weights of the standardised columns, intercept, and as ``solver.Solution`` has them."""

    w: Floats
    b: float
    gradient: Floats
    loss: float
    criterion: float
    violation: float
    gap: float
    certified: bool


@dataclass(eq=False)
class GraftingSplit:
    """A training part: sample weights, the rows left out, their targets and outputs for each l1."""

    weights: Floats
    test: NDArray[np.intp]
    Y: Floats
    outputs: list[Floats] = field(default_factory=list)
    certified: bool = True  # all optima so far


def has_joint_paths(design: GraftingDesign, loss: ConvexLoss, penalty: Penalty) -> bool:
    """Return whether paths of this criterion can be computed jointly.

    A column without penalty needs a separate dual point, which the solver computes.
    """
    bare = design.usable & (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    return isinstance(loss, Logistic | SquaredLoss | HuberLoss) and not bare.any()


class JointPaths:
    """The path on all rows and those on parts.

    Parameters
    ----------
    design : GraftingDesign
        Of all rows.
    y : array of shape (m,)
        Targets; -1 and 1 for the logistic loss.
    loss : Logistic, SquaredLoss or HuberLoss
    penalty : Penalty
        ``penalty.l1`` holds the factors.
    parts : sequence of GraftingSplit
        Where a part would lose digits, or all of them need too much memory, it does not go along:
        its ``outputs`` stay empty.
    """

    def __init__(
        self,
        design: GraftingDesign,
        y: Floats,
        loss: ConvexLoss,
        penalty: Penalty,
        parts: Sequence[GraftingSplit] = (),
    ) -> None:
        self.design = design
        room = TUNING.joint_numbers // (PER_SAMPLE * design.m) - 1
        if len(parts) > room:
            parts = ()
        self._store = core.ColumnStore(design.m, design.n)
        delta = {Logistic: 0.0, SquaredLoss: np.inf}.get(type(loss), getattr(loss, "delta", 0.0))

        def path(s: Floats, l1: Floats, l2: Floats, usable: Flags) -> core.ConvexPath:
            return core.ConvexPath(self._store, delta, y, s, l1, l2, usable, design.fit_intercept)

        self._whole = path(design.s, penalty.l1, penalty.l2, design.usable)
        self._parts: list[tuple[GraftingSplit, core.ConvexPath]] = []
        for part, found in zip(parts, _scales(design, parts), strict=True):
            if found is not None:
                rho, usable = found
                given = part.weights, penalty.l1 * rho, penalty.l2 * rho**2, usable
                self._parts.append((part, path(*given)))
        paths = [self._whole, *(path for _, path in self._parts)]
        self._slopes = np.empty((len(paths), design.m))
        for each, gradient in zip(paths, self._gradients(paths), strict=True):
            each.begin(gradient)

    def _gradients(self, paths: Sequence[core.ConvexPath]) -> Floats:
        """The gradients of all features, one row per path."""
        for path, row in zip(paths, self._slopes, strict=False):
            path.slopes_into(row)
        U = self._slopes[: len(paths)].T
        return np.ascontiguousarray(self.design.products(U).T)

    def optima(self, l1s: Sequence[float], tol: float, threads: Threads) -> Iterator[PathOptimum]:
        """The optima on all rows for descending l1; the parts go along."""
        whole = self._whole
        for l1 in l1s:
            under_way = [whole, *(path for part, path in self._parts if part.certified)]
            for path in under_way:
                path.aim(l1, tol)
            while under_way:
                new = np.unique([j for path in under_way for j in path.missing()])
                if len(new):
                    columns = self.design.columns(new.astype(np.intp))
                    self._store.add(new.astype(np.int64), np.ascontiguousarray(columns.T))
                threads.map(core.ConvexPath.optimise, under_way)
                known = zip(under_way, self._gradients(under_way), strict=True)
                under_way = [path for path, gradient in known if not path.certify(gradient)]
            for part, path in self._parts:
                part.certified &= path.certified
                if part.certified:
                    part.outputs.append(path.outputs(part.test))
            yield PathOptimum(
                whole.weights, whole.intercept, whole.gradient, whole.loss, whole.criterion,
                whole.violation, whole.gap, whole.certified,
            )  # fmt: skip


def _scales(
    design: GraftingDesign, parts: Sequence[GraftingSplit]
) -> Iterator[tuple[Floats, Flags] | None]:
    """For each part rho and which columns vary; None where digits would be lost."""
    ones = np.ones(design.n)
    if not design.standardize or not parts:
        yield from ((ones, design.usable) for _ in parts)
        return
    S = np.array([part.weights for part in parts]).T
    variances = design.squares(S)
    if design.fit_intercept:
        variances -= design.products(S) ** 2
    for part, variance in zip(parts, variances.T, strict=True):
        usable = design.usable.copy()
        low = np.flatnonzero(usable & (variance < SAFE))
        if len(low):
            columns = design.columns(low)[part.weights > 0]
            if np.ptp(columns, axis=0).any():
                yield None
                continue
            usable[low] = False
        yield np.sqrt(np.where(usable, variance, 1.0)), usable
