r"""Losses other than the squared one over the test parts of splits, on data read in passes.

Coefficients of every training part follow from the sums of cells, as in ``folds.py``; the losses on
the test rows do not, so they need a pass over the rows. With the letters of ``folds/model.py``,
columns less the means mu of a training part and W the coefficients of the chosen ones there,

    e = y - nu - x_S W        d_i = x_i - x_S A_i,    A = G'U        e - omega_i d_i

are the residuals of the model, the residual column of candidate i, and the residuals with it. One
pass over all columns judges the model at hand with every candidate added and, if requested, with
every chosen one dropped: one for each step. What is sent is as long as splits x chosen x columns.

The result of a pass depends on nothing but the chosen features and their order, so that it is kept
by these, and a search that resumes from a checkpoint gets the same to the bit.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.moments import Cells, Coding, weights_in
from sparsepath.data.sources import Answer, Columns, Slab, plus
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.folds.losses import RESIDUALS_AT_ONCE
from sparsepath.rls.folds.model import FoldModel
from sparsepath.rls.folds.splits import standard_error
from sparsepath.rls.passes.design import StreamDesign, class_weights
from sparsepath.rls.passes.folds import CellSums
from sparsepath.rls.passes.judging import ROWS_OF_A_STRIP
from sparsepath.system.arrays import Floats


@dataclass(frozen=True, eq=False)
class SplitModels:
    """Models of one split, to be evaluated on its test rows."""

    cells: NDArray[np.bool_]  # which cells are its test part
    mu: Floats  # means of the columns read and of the targets in the training part
    nu: Floats
    W: Floats  # (|S|, T)
    A: Floats  # (|S|, c) and (c, T): of the candidates
    omega: Floats
    without: Floats  # (|S|, b, T): coefficients with each of b chosen features dropped
    # (1,) and (classes,): what the weight of a sample, or of one of each class, is divided by.
    share: Floats


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Description of a pass: column scaling, models of all splits, tie tolerances."""

    columns: Columns
    shift: Floats
    scales: Floats
    chosen: Columns
    candidates: Columns
    parts: tuple[SplitModels, ...]
    blurs: tuple[Any, Any, Any]
    loss: Loss
    coding: Coding
    of_rows: Cells
    factors: Floats | None


def judge_folds(slab: Slab, plan: FoldPlan) -> Answer:
    """Return contributions to the criterion, splits x models: current, with each candidate, without
    each.
    """
    return reduce(plus, (_judged(strip, plan) for strip in slab.strips(ROWS_OF_A_STRIP)))


def _judged(slab: Slab, plan: FoldPlan) -> Answer:
    m, F = slab.block.shape[0], len(plan.parts)
    X = (slab.block.columns(np.arange(slab.block.shape[1])) - plan.shift) * plan.scales
    Y = plan.coding(slab.y)
    given = weights_in(slab, plan.of_rows, plan.factors)
    w = np.ones(m) if given is None else np.asarray(given, dtype=np.float64)
    cell = plan.of_rows(slab.start, m)
    n_drops = plan.parts[0].without.shape[1]
    out = [np.zeros((F, count)) for count in (1, len(plan.candidates), n_drops)]
    for f, part in enumerate(plan.parts):
        rows = np.flatnonzero(part.cells[cell])
        if not len(rows):
            continue
        x = X[rows] - part.mu
        chosen, others = x[:, plan.chosen], x[:, plan.candidates]
        y = Y[rows] - part.nu
        judge = _Judge(plan.loss, Y[rows], w[rows], part.share)
        e = y - chosen @ part.W
        out[0][f] = judge(e[:, :, None], plan.blurs[0])
        step = max(1, RESIDUALS_AT_ONCE // len(rows))
        for low in range(0, others.shape[1], step):
            some = slice(low, low + step)
            d = others[:, some] - chosen @ part.A[:, some]
            after = e[:, :, None] - d[:, None] * part.omega[some].T
            out[1][f, some] = judge(after, _of(plan.blurs[1], some))
        if n_drops:
            after = y[:, :, None] - np.einsum("ij,jbt->itb", chosen, part.without)
            out[2][f] = judge(after, plan.blurs[2])
    return list(out)


def _of(blurs: Any, some: slice) -> Any:
    """Return the values for some models; there may be one for all."""
    return blurs[some] if np.ndim(blurs) else blurs


class _Judge:
    """Sums of losses on some rows: rows x T x models to models."""

    def __init__(self, loss: Loss, Y: Floats, w: Floats, share: Floats) -> None:
        label: Any = 0
        if len(share) > 1:
            label = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(1)
        self.loss, self.Y, self.g, self.v = loss, Y, np.sqrt(w), w / share[label]

    def __call__(self, residuals: Floats, blur: Any) -> Floats:
        parts = [self.g[:, None] * residuals[:, t] for t in range(residuals.shape[1])]
        p = np.ones((len(self.g), residuals.shape[2]))
        return self.loss.weighted(parts, p, self.g, self.v, self.Y, blur).sum(0)


class StreamedFolds(FoldModel):
    """A ``FoldModel`` for any loss that is a mean over samples, computed in passes."""

    sums: CellSums
    squared = False

    def __init__(
        self, design: StreamDesign, alpha: float, pooled: bool, loss: Loss, sums: CellSums
    ) -> None:
        self.loss = loss
        self._told: dict[tuple[int, ...], list[Floats]] = {}
        self._drops = False  # whether removals are asked for in this search
        self._reach = reach_of(sums.squares[-1], alpha)
        self._shares = _shares(design, sums, loss, pooled)
        super().__init__(design, np.zeros((0, len(design.y_mean))), alpha, (), pooled, sums)

    @property
    def counts(self) -> bool:  # type: ignore[override]
        return self.loss.counts

    @property
    def fold_errors(self) -> Floats:
        """Return the mean loss on each test fold (if pooled: its contribution to the criterion)."""
        return self._asked()[0][:, 0]

    @property
    def error(self) -> float:
        return float(self._joined(self.fold_errors[:, None])[0])

    def standard_error(self) -> float:
        """Return the standard error of the mean over splits; NaN for a single one."""
        weights = (self._weights() / self._shares).sum(1)
        return standard_error(self.fold_errors / weights, self.sums.overlap)

    def _weights(self) -> Floats:
        """Return the weights of the samples of each test fold, or of each class."""
        if self.loss.balanced:
            return np.array([class_weights(corner) for corner in self.sums.test_corners])
        return self.sums.weight[: self.sums.n_splits, None]

    def _joined(self, errors: Floats) -> Floats:
        return np.asarray(errors.sum(0) if self.pooled else errors.mean(0))

    def _errors_by_sums(self) -> Floats:
        """Return the criterion with each feature added."""
        errors = np.full(self.design.n_features, np.inf)
        which = self._candidates()
        errors[which] = self._joined(self._asked()[1])
        return errors

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""
        if squared:
            return super().errors_without(squared)
        self._drops = True
        return self._joined(self._asked()[2])

    def _candidates(self) -> Columns:
        allowed = self._core.usable()
        allowed[self.chosen] = False
        return np.flatnonzero(allowed)

    def _asked(self) -> list[Floats]:
        """Results of a pass for the current model and its neighbours."""
        key = tuple(self.chosen)
        found = self._told.get(key)
        if found is None or (self._drops and found[2].shape[1] < len(key)):
            self._told[key] = found = self._pass()
        return found

    def _pass(self) -> list[Floats]:
        design, S, which = self.design, np.array(self.chosen, dtype=np.intp), self._candidates()
        assert isinstance(design, StreamDesign)
        columns = np.union1d(S, which).astype(np.intp)
        reach, F, train = self._reach[S], self.sums.n_splits, slice(self.sums.n_splits, -1)
        weight = self.sums.weight[train, None]
        mu = self.sums.x[train][:, columns] / weight * design.fit_intercept
        nu = design.y_mean + self.sums.y[train] / weight * design.fit_intercept
        W, A = self._core.training_coefficients(), self._core.regressions(which)
        omega, without = self._core.omegas(which), np.zeros((F, len(S), 0, W.shape[2]))
        if self._drops:
            steps = self._core.removal_directions().transpose(0, 2, 1)
            without = W[:, :, None] - steps[:, :, :, None] * W[:, None]
        parts = tuple(
            SplitModels(
                self.sums.tests[f], mu[f], nu[f], W[f], A[f], omega[f], without[f], self._shares[f],
            )
            for f in range(F)
        )  # fmt: skip
        blur, all_of = self.loss.blur, reach.sum(keepdims=True)
        blurs = (blur(all_of), blur(all_of + self._reach[which]), blur(all_of - reach))
        plan = FoldPlan(
            columns, design.shift[columns] + design.left[columns], design.scales[columns],
            np.searchsorted(columns, S), np.searchsorted(columns, which), parts, blurs,
            self.loss, design.coding, design.cells, design.factors,
        )  # fmt: skip
        return design.source.total(design.crew, columns, judge_folds, plan)


def _shares(design: StreamDesign, sums: CellSums, loss: Loss, pooled: bool) -> Floats:
    """Return the divisors of sample weights for every split: splits x 1, or x classes."""
    F = sums.n_splits
    if not loss.balanced:
        w = sums.weight[:F, None]
        return np.full_like(w, w.sum()) if pooled else w
    corners = np.asarray(sums.test_corners)
    if pooled:
        corners = np.broadcast_to(corners.sum(0), corners.shape)
    weights = np.array([class_weights(corner) for corner in corners])
    there = weights > 0
    return np.where(there, weights, 1.0) * there.sum(1)[:, None]
