"""Exact cross-validation over any splits, by squared errors.

The derivation is at the top of ``_core/folds.hpp``, which contains the loops: from sums of products
over the parts of the splits, so that nothing grows with the number of samples. The products of a
chosen feature with all columns come from Gram matrices per part, or, where those would be larger
than the data, from one product with the data per step (``moments.py``). Wide data in folds with few
rows are searched by residual rows instead (``core.FoldBlocks``): 72 x 7129 in ten folds, 30
features, takes 31 instead of 46 ms, and a fit with its honest error 0.95 instead of 1.76 s.

Rounding. Sums of products give the residual norm of a column with an error of 1e-16 of its square,
which is multiplied by the largest K_jj (A^-1)_jj, with A = K + alpha I of the selected features. A
candidate with less than ``FINE`` of its square left, and every candidate once that number has
reached 1 / ``FINE``, is evaluated from the rows (``rows.py``), unless the data are too large for
that.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import folds as core
from sparsepath.data.splits import Split
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.rls.folds.rows import RowFits, coefficients
from sparsepath.rls.folds.splits import standard_error
from sparsepath.rls.model import ExhaustiveEngine
from sparsepath.rls.update import Update, mask_of
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

FINE = core.FINE  # part of a column's square that is left, up to which sums tell too little
COLLINEAR_IN_PART = core.COLLINEAR_IN_PART  # the same, up to which it counts as nothing
VANISHED = 1e-13  # part of the target's squares that is no more than rounding in such sums
SHARED_COLUMNS = 1 << 15  # columns times splits from which threads share a step


class FoldModel(ExhaustiveEngine):
    """Model on a changing subset, with the error on test folds.

    Splits are as yielded by a scikit-learn splitter. The error is the mean over splits of the mean
    squared error on the test fold, as in ``cross_val_score``; ``pooled``: all squared errors over
    all test rows. Precomputed sums of products serve every penalty.
    """

    counts = False  # whether mistakes are counted, so that the squared criterion settles ties
    squared = True  # whether the criterion is the squared error

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        splits: Sequence[Split],
        pooled: bool = False,
        sums: SplitSums | None = None,
    ) -> None:
        self.design, self.alpha, self.pooled = design, float(alpha), pooled
        self.sums = SplitSums(design, Y, splits) if sums is None else sums
        self._Y = Y
        numbers = design.n_samples * design.n_features
        self.by_rows = self.sums.plain and numbers * self.sums.n_splits <= TUNING.judged_by_rows
        large = design.n_features * self.sums.n_splits >= SHARED_COLUMNS
        self._threads = design.threads.n_threads if large else 1
        given = design.constant, self.alpha, design.fit_intercept, pooled
        self._blocks = self.sums.few_rows
        self._empty: core.Folds
        if self._blocks is None:
            self._empty = core.Folds(self.sums.moments, *given)
        else:
            of_rows = core.FoldRows(self._blocks.rows, self._blocks.weights, self._blocks.starts)
            self._empty = core.FoldBlocks(self.sums.moments, of_rows, *given)
        self.share = self._empty.share()
        self._reset()
        self.empty_error, self.empty_squared = self.error, self.squared_error

    def _reset(self) -> None:
        """Reset to the empty model."""
        self._core = self._empty.copy()
        self.rough = False  # whether everything has to be judged from the rows
        self._fits: RowFits | None = None
        self._dead = self.design.constant
        self.chosen: list[int] = []

    # The model ----------------------------------------------------------------------------------

    @property
    def fits(self) -> RowFits:
        """Fits of the selected columns to the rows of every training fold."""
        if self._fits is None:
            design, pairs = self.design, self.sums.pairs
            self._fits = RowFits(design, self._Y, self.alpha, pairs, self.chosen)
        return self._fits

    @property
    def sse(self) -> Floats:
        """Return the sum of squared errors on each test fold."""
        if not self.rough:
            return self._core.sse()
        parts = enumerate(self.fits.parts)
        return np.array([self._squares(f, part.e[:, :, None])[0] for f, part in parts])

    @property
    def fold_errors(self) -> Floats:
        """Return the mean squared error on each test fold."""
        return self.sse / self.sums.weight[: self.sums.n_splits]

    @property
    def error(self) -> float:
        """Return the criterion of the current model."""
        return self.squared_error

    @property
    def squared_error(self) -> float:
        """Return the squared criterion, whatever the loss."""
        return float((self.sse / self.share).sum()) if self.rough else self._core.error

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        left = float(self.sse.sum()) if self.rough else self._core.total_sse
        return left <= VANISHED * self._empty.total_sse

    def standard_error(self) -> float:
        """Return the standard error of the mean over splits (see ``splits.py``); NaN for a single
        one.
        """
        return standard_error(self.fold_errors, self.sums.overlap)

    def coef(self) -> Floats:
        """Return the coefficients on all rows in units of the data, |S| x T."""
        S = self.chosen
        if self.rough:
            fitted = coefficients(self.design, self._Y, self.alpha, S)
        else:
            fitted = self._core.coef()
        return self.design.scales[S, None] * fitted

    def intercept(self) -> Floats:
        """Return the intercepts, one per target."""
        return self.sums.y_mean - self.design.means[self.chosen] @ self.coef()

    def duplicate(self) -> Self:
        """Return a copy."""
        other = copy.copy(self)
        other._core = self._core.copy()
        return other

    # Changes ------------------------------------------------------------------------------------

    def add(self, b: int) -> None:
        """Add a feature."""
        if b in self.chosen:
            raise InputError(f"feature {b} is already selected.")
        if not self.can_add(b):
            raise InputError(f"feature {b} is collinear with the selected ones.")
        self.chosen, self._fits = [*self.chosen, int(b)], None
        if self._needs_rows(b):
            self.rough = True
            return
        if self._blocks is not None:
            assert isinstance(self._core, core.FoldBlocks)
            column = np.ascontiguousarray(self._blocks.rows[:, b])
            self._core.add_column(b, column, self._threads)
        else:
            self._core.add(b, self.sums.products(b), self._threads)
        self.rough = self.by_rows and FINE * self._core.blur() >= 1.0

    def can_add(self, b: int) -> bool:
        """Return whether a feature is not collinear with the selected ones in any training fold."""
        if not self._needs_rows(b):
            return self._core.is_usable(b)
        one = np.array([b])
        return not self._dead[b] and bool(np.isfinite(self._errors_by_rows(one, True)[0]))

    def _needs_rows(self, b: int) -> bool:
        """Return whether sums of products are too imprecise for a feature."""
        return self.by_rows and (self.rough or self._core.is_doubtful(b))

    def drop(self, b: int) -> None:
        """Remove a feature; the others are added again, which costs O(n |S|^2) but no pass over the
        data.
        """
        if b not in self.chosen:
            raise InputError(f"feature {b} is not selected; selected are: {self.chosen}.")
        self.refit([i for i in self.chosen if i != b])

    def refit(self, features: Iterable[int]) -> None:
        """Reset and add some features."""
        self._reset()
        for i in features:
            self.add(i)

    # Which change is best -----------------------------------------------------------------------

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""
        if self.rough or not self.squared or self.costs is not None:
            return super().best_addition(features)
        allowed = mask_of(features, self.design.n_features)
        if self._dead is not self.design.constant:
            allowed = ~self._dead if allowed is None else allowed & ~self._dead
        if self.by_rows and self._core.any_doubtful(allowed):
            return super().best_addition(features)
        feature, error = self._core.best_addition(allowed)
        return None if feature < 0 else Update("add", feature, error)

    def additions(self, features: NDArray[np.intp], squared: bool = False) -> Floats:
        """Return the criterion with each of some features added."""
        return self.errors_with(features, squared)[features]

    def errors_with(
        self, features: NDArray[np.intp] | None = None, squared: bool = False
    ) -> Floats:
        """Return the criterion with each feature added; infinite if collinear in some split.

        If only some features are given, the others may be infinite. ``squared`` returns the squared
        criterion, whatever the loss.
        """
        which = np.arange(len(self._dead)) if features is None else features
        if self.rough:
            errors = np.full(len(self._dead), np.inf)
        else:
            errors = self._core.additions() if squared else self._errors_by_sums()
            if not self.by_rows:
                return errors
            which = which[self._core.doubtful()[which]]
        if self.by_rows and len(which):
            errors[which] = np.inf
            out = self._dead.copy()
            out[self.chosen] = True
            which = which[~out[which]]
        if self.by_rows and len(which):
            errors[which] = self._errors_by_rows(which, squared)
        return errors

    def _errors_by_sums(self) -> Floats:
        return self._core.additions()

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""
        if not self.rough:
            return self._core.removals()
        reach, joined = self._reach_without(), self._joined_squares if squared else self._joined
        left = enumerate(self.fits.without(f) for f in range(self.sums.n_splits))
        return joined(np.array([self._from_rows(f, e, reach, squared) for f, e in left]))

    def is_collinear(self, feature: int) -> bool:
        """Return whether a feature is collinear with the selected ones on all rows."""
        if not self.by_rows:
            return self._core.is_collinear(feature, self.sums.products(feature))
        everyone = np.arange(self.design.n_samples)
        fits = RowFits(self.design, self._Y, self.alpha, [(everyone, everyone)], self.chosen)
        one = np.array([feature])
        return not fits.judge(0, one, self.design.columns(one)).usable[0]

    # From the rows ------------------------------------------------------------------------------

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """Return losses of residuals on the test rows of split f: rows x T x models to models.

        ``reach`` is that of each model; see ``criteria/losses.py``. The squared loss does not need
        it.
        """
        return self._squares(f, residuals)

    def _squares(self, f: int, residuals: Floats) -> Floats:
        w = self.design.weights[self.sums.pairs[f][1]]
        return np.asarray(np.einsum("i,itb,itb->b", w, residuals, residuals))

    def _from_rows(self, f: int, residuals: Floats, reach: Floats, squared: bool) -> Floats:
        """Return losses of residuals that were computed from the rows."""
        return self._squares(f, residuals) if squared else self._judge(f, residuals, reach)

    def _reach_with(self, features: NDArray[np.intp]) -> Floats:
        """Return the reach of the model with each of some features added."""
        return np.zeros(len(features))

    def _reach_without(self) -> Floats:
        """Return the reach of the model with each selected feature removed."""
        return np.zeros(len(self.chosen))

    def _joined(self, errors: Floats) -> Floats:
        """Combine the losses of models in every split into the criterion."""
        return self._joined_squares(errors)

    def _joined_squares(self, errors: Floats) -> Floats:
        return np.asarray((errors / self.share[:, None]).sum(0))

    def _errors_by_rows(self, which: NDArray[np.intp], squared: bool) -> Floats:
        """Return the criterion with each of some features added, computed from the rows."""
        fits, F = self.fits, self.sums.n_splits
        joined = self._joined_squares if squared else self._joined
        out = np.empty(len(which))
        width = max(1, TUNING.strip_numbers // self.design.n_samples)
        for i in range(0, len(which), width):
            some = which[i : i + width]
            X = self.design.columns(some)
            errors, usable = np.empty((F, len(some))), np.ones(len(some), dtype=bool)
            for f, part in enumerate(fits.parts):
                judged = fits.judge(f, some, X)
                usable &= judged.usable
                left = part.e[:, :, None] - judged.d[:, None] * judged.omega.T
                errors[f] = self._from_rows(f, left, self._reach_with(some), squared)
            out[i : i + width] = np.where(usable, joined(errors), np.inf)
            # What is collinear stays so while features are only added.
            self._dead = self._dead.copy()
            self._dead[some[~usable]] = True
        return out
