"""Losses other than the squared one over the test parts of splits.

A count of mistakes does not follow from sums of products: every candidate's predictions are needed
(``_core/fold_losses.hpp``). What the chosen features leave of every column on the test rows is kept
if there is memory for it, and computed for some columns at a time where there is not or where it
would fill in the zeros of sparse data. The training side is that of ``FoldModel``, and so is the
squared criterion, which settles ties of counts.

A loss that the core knows (``Criterion.kernel``) is judged there. Any other, such as a loss of the
user's own, is evaluated in NumPy on the residuals of some candidates at a time, which is slower.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import fold_losses as core
from sparsepath.data.splits import Split
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.folds.model import FoldModel
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.folds.splits import standard_error
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

RESIDUALS_AT_ONCE = 1 << 18  # residuals of candidates that a loss in Python gets at once
SHARED_ROWS = 1 << 18  # numbers in the test rows from which threads share a step


class FoldLossModel(FoldModel):
    """A ``FoldModel`` with any loss.

    Parameters
    ----------
    design, Y, alpha, splits, pooled, sums
        The parameters of ``FoldModel``.
    loss : Loss
        Loss of a test residual; "balanced" is balanced within each test fold (or within all test
        rows, if pooled).
    """

    squared = False

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        splits: Sequence[Split],
        pooled: bool,
        loss: Loss,
        sums: SplitSums | None = None,
    ) -> None:
        self.loss = loss
        sums = SplitSums(design, Y, splits) if sums is None else sums
        self._reach = reach_of(sums.squares[-1], float(alpha))
        self._tests = self._test_rows(Y, design, sums)
        self._starts = np.cumsum([0, *map(len, self._tests)])
        self._split = np.repeat(np.arange(sums.n_splits), np.diff(self._starts))
        self._rows = np.concatenate(self._tests)
        self._v = self._weights(Y, design, pooled)
        train, F = slice(sums.n_splits, 2 * sums.n_splits), sums.n_splits
        self._mu = sums.x[train] / sums.weight[train, None] * design.fit_intercept
        nu = sums.y[train] / sums.weight[train, None] * design.fit_intercept
        e = self._empty_residuals(Y, sums.y_mean + nu)
        most = min(sums.memory / 8, TUNING.kept_of_sparse if design.sparse else np.inf)
        d = None
        if len(self._rows) * design.n_features <= most:
            d = design.rows(self._rows)
            for f in range(F):
                d[self._starts[f] : self._starts[f + 1]] -= self._mu[f]
        large = len(self._rows) * design.n_features >= SHARED_ROWS
        self._loss_threads = design.threads.n_threads if large else 1
        self._no_losses = core.FoldLosses(self._judged_rows(Y), d, design.n_features, e)
        self._keeps = d is not None
        super().__init__(design, Y, alpha, splits, pooled, sums)

    # What is judged -----------------------------------------------------------------------------

    def _test_rows(self, Y: Floats, design: Design, sums: SplitSums) -> list[NDArray[np.intp]]:
        """Return the test rows of every split, in order of evaluation."""
        return [test for _, test in sums.pairs]

    def _weights(self, Y: Floats, design: Design, pooled: bool) -> Floats:
        """Return the weights v of the test rows in the mean over a split, or over all if pooled."""
        w = design.weights
        if pooled:
            return self.loss.sample_weights(Y[self._rows], w[self._rows])
        return np.concatenate([self.loss.sample_weights(Y[test], w[test]) for test in self._tests])

    def _judged_rows(self, Y: Floats) -> core.TestRows:
        label = Y[:, 0] if Y.shape[1] == 1 else Y.argmax(1).astype(np.float64)
        kernel = SQUARED.kernel if self.loss.kernel is None else self.loss.kernel
        return core.TestRows(self._starts, self._v, label[self._rows], kernel)

    def _empty_residuals(self, Y: Floats, nu: Floats) -> Floats:
        """Return the test residuals of the empty model: T x rows."""
        return np.ascontiguousarray((Y[self._rows] - nu[self._split]).T)

    def _reset(self) -> None:
        super()._reset()
        self._losses = self._no_losses.copy()
        # The folds and the criterion, and the list of features they are for.
        self._judged: tuple[list[int], Floats, float] | None = None

    @property
    def counts(self) -> bool:  # type: ignore[override]
        return self.loss.counts

    @property
    def _by_callback(self) -> bool:
        """Return whether the loss is evaluated in NumPy."""
        return self.loss.kernel is None

    # The model ----------------------------------------------------------------------------------

    @property
    def fold_errors(self) -> Floats:
        """Return the mean loss on each test fold (if pooled: its contribution to the criterion)."""
        return self._measured()[1]

    def _measured(self) -> tuple[list[int], Floats, float]:
        if self._judged is None or self._judged[0] is not self.chosen:
            errors = self._judged_folds()
            self._judged = self.chosen, errors, float(self._joined(errors[:, None])[0])
        return self._judged

    def _judged_folds(self) -> Floats:
        reach = self._reach[self.chosen].sum(keepdims=True)
        if self.rough:
            left = enumerate(part.e[:, :, None] for part in self.fits.parts)
            return np.array([self._from_rows(f, e, reach, False)[0] for f, e in left])
        if self._by_callback:
            return self._by_split(self._losses.residuals()[:, :, None], reach)[:, 0]
        return self._losses.current(float(self._blur(reach)[0]))

    @property
    def error(self) -> float:
        """Return the criterion of the current model."""
        return self._measured()[2]

    def standard_error(self) -> float:
        """Return the standard error of the mean over splits (see ``splits.py``); NaN for a single
        one.
        """
        return standard_error(self.fold_errors / self._shares(), self.sums.overlap)

    def _shares(self) -> Floats:
        """Return the weight of every split."""
        return np.add.reduceat(self._v, self._starts[:-1])

    def duplicate(self) -> Self:
        """Return a copy."""
        other = super().duplicate()
        other._losses = self._losses.copy()
        return other

    def add(self, b: int) -> None:
        """Add a feature."""
        super().add(b)
        if len(self._core.chosen) < len(self.chosen):  # it is judged from the rows from now on
            return
        self._losses.follow(self._core, None if self._keeps else self._columns(b, b + 1)[:, 0])

    # Which change is best -----------------------------------------------------------------------

    def _errors_by_sums(self) -> Floats:
        """Return the criterion with each feature added, from projections on the test rows."""
        n, usable = self.design.n_features, self._core.usable()
        reach = self._reach_with(np.arange(n))
        if self._by_callback:
            errors = self._errors_by_callback(usable, reach)
        elif self._keeps:
            blur = self._blur(reach)
            errors = self._losses.additions(self._core, blur, n_threads=self._loss_threads)
        else:
            parts = [
                self._losses.additions(
                    self._core, self._blur(reach[i:j]), i, strip, self._loss_threads
                )
                for i, j, strip in self._strips(TUNING.strip_numbers)
            ]
            errors = np.concatenate(parts, axis=1)
        return np.where(usable, self._joined(errors), np.inf)

    def _errors_by_callback(self, usable: NDArray[np.bool_], reach: Floats) -> Floats:
        errors = np.zeros((self.sums.n_splits, len(usable)))
        e = self._losses.residuals()[:, :, None]
        for i, j, strip in self._strips(RESIDUALS_AT_ONCE):
            d = self._losses.left(self._core, i, j - i, strip)
            omega = self._core.omegas(np.arange(i, j)) * usable[i:j, None]
            step = omega[self._split].transpose(2, 0, 1)  # T x rows x candidates
            errors[:, i:j] = self._by_split(e - step * d, reach[i:j])
        return errors

    def _strips(self, numbers: int) -> Iterator[tuple[int, int, Floats | None]]:
        """Yield blocks of columns minus the training means, unless they are stored."""
        n, width = self.design.n_features, max(1, numbers // max(1, len(self._rows)))
        for i in range(0, n, width):
            j = min(n, i + width)
            yield i, j, None if self._keeps else self._columns(i, j)

    def _columns(self, i: int, j: int) -> Floats:
        """Return columns on the test rows minus the means of their training folds."""
        X = self.design.columns(np.arange(i, j))
        return np.ascontiguousarray(X[self._rows] - self._mu[:, i:j][self._split])

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""
        if self.rough or squared:
            return super().errors_without(squared)
        reach = self._reach_without()
        if not self._by_callback:
            return self._joined(self._losses.removals(self._core, self._blur(reach)))
        w = self._core.training_coefficients()[self._split].transpose(2, 0, 1)
        left = self._losses.residuals()[:, :, None] + w * self._losses.removed(self._core)
        return self._joined(self._by_split(left, reach))

    # The loss -----------------------------------------------------------------------------------

    def _joined(self, errors: Floats) -> Floats:
        return np.asarray(errors.sum(0) if self.pooled else errors.sum(0) / len(errors))

    def _reach_with(self, features: NDArray[np.intp]) -> Floats:
        return np.asarray(self._reach[self.chosen].sum() + self._reach[features])

    def _reach_without(self) -> Floats:
        reach = self._reach[self.chosen]
        return np.asarray(reach.sum() - reach)

    def _blur(self, reach: Floats) -> Floats:
        """Return the tie tolerance of scores for models of this reach."""
        return np.asarray(np.broadcast_to(self.loss.blur(reach), reach.shape))

    def _by_split(self, residuals: Floats, reach: Floats) -> Floats:
        """Return sums of v * loss over each test fold, for residuals T x rows x models."""
        g = np.sqrt(self.design.weights[self._rows])
        losses = self._weighted(residuals, g, self._v, self._Y[self._rows], reach)
        return np.add.reduceat(losses, self._starts[:-1], axis=0)

    def _weighted(
        self, residuals: Floats, g: Floats, v: Floats, Y: Floats, reach: Floats
    ) -> Floats:
        parts = [g[:, None] * of for of in residuals]
        return self.loss.weighted(parts, np.ones(parts[0].shape), g, v, Y, self.loss.blur(reach))

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """Return sums of v * loss over the test rows of split f, for residuals rows x T x
        models.
        """
        test, some = self._tests[f], slice(self._starts[f], self._starts[f + 1])
        g = np.sqrt(self.design.weights[test])
        left = residuals.transpose(1, 0, 2)
        return self._weighted(left, g, self._v[some], self._Y[test], reach).sum(0)
