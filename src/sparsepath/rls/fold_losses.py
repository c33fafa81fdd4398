"""Losses other than the squared one over the test parts of splits.

A count of mistakes does not follow from sums of products: every candidate's predictions are needed.
They are at hand if d_i, what is left of column i on the test rows (``folds.py``), is kept for all
columns: candidate i changes the residuals e to e - omega_i d_i, and choosing b changes d_i to
d_i - u_i d_b. The training side is that of ``FoldModel``.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.folds import COLLINEAR, FoldModel, SplitSums
from sparsepath.rls.losses import Loss
from sparsepath.rls.splits import Split, standard_error

NUMBERS = 1 << 18  # candidates' residuals judged at once


class FoldLossModel(FoldModel):
    """A ``FoldModel`` judged by any loss; it keeps the test rows of every split in memory.

    Parameters
    ----------
    design, Y, alpha, splits, pooled, sums
        As for ``FoldModel``.
    loss : Loss
        How a test residual is judged; "balanced" is balanced within each test part (or within all
        test rows, if pooled).
    """

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
        self.loss, self._Y = loss, Y
        super().__init__(design, Y, alpha, splits, pooled, sums)

    def _reset(self) -> None:
        super()._reset()
        design, sums = self.design, self.sums
        w = design.weights
        tests = [test for _, test in sums.pairs]
        self._g = [np.sqrt(w[test]) for test in tests]
        if self.pooled:
            everyone = np.concatenate(tests)
            v = self.loss.sample_weights(self._Y[everyone], w[everyone])
            self._v = np.split(v, np.cumsum([len(test) for test in tests])[:-1])
        else:
            self._v = [self.loss.sample_weights(self._Y[test], w[test]) for test in tests]
        self._e = [
            self._Y[test] - sums.y_mean - nu for test, nu in zip(tests, self._nu, strict=True)
        ]
        self._d = [
            np.asfortranarray(design.rows(test) - mu)
            for test, mu in zip(tests, self._mu, strict=True)
        ]
        self._x: list[list[Floats]] = [[] for _ in tests]

    @property
    def fold_errors(self) -> Floats:
        """The mean loss on each test part (if pooled: its share of the criterion)."""
        return np.array([self._judge(f, e[:, :, None])[0] for f, e in enumerate(self._e)])

    @property
    def error(self) -> float:
        errors = self.fold_errors
        return float(errors.sum() if self.pooled else errors.mean())

    def standard_error(self) -> float:
        """Standard error of the mean over splits (see ``splits.py``); NaN for a single one."""
        shares = np.array([v.sum() for v in self._v])
        return standard_error(self.fold_errors / shares, self.sums.overlap)

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = super().duplicate()
        other._e = list(self._e)
        other._d = [d.copy(order="F") for d in self._d]
        other._x = [list(x) for x in self._x]
        return other

    def errors_with(self) -> Floats:
        """The criterion with each feature added; infinite where it is collinear in some split."""
        pivots = self.s + self.alpha
        fine = pivots > COLLINEAR * self._size
        omega = self.c / np.where(fine, pivots, 1.0)[:, :, None]
        errors = np.zeros(pivots.shape)
        for f, (e, d) in enumerate(zip(self._e, self._d, strict=True)):
            batch = max(1, NUMBERS // max(1, len(d)))
            for i in range(0, d.shape[1], batch):
                part = slice(i, i + batch)
                left = e[:, :, None] - d[:, None, part] * omega[f, part].T
                errors[f, part] = self._judge(f, left)
        total = errors.sum(0) if self.pooled else errors.mean(0)
        return np.where(fine.all(0), total, np.inf)

    def errors_without(self) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``."""
        W = self._coefficients_without()
        errors = np.zeros((len(self._e), len(self.chosen)))
        for f, (_, test) in enumerate(self.sums.pairs):
            y = self._Y[test] - self.sums.y_mean - self._nu[f]
            predicted = np.einsum("ij,jbt->itb", np.column_stack(self._x[f]), W[f])
            errors[f] = self._judge(f, y[:, :, None] - predicted)
        return errors.sum(0) if self.pooled else errors.mean(0)

    def add(self, b: int) -> None:
        """Add a feature."""
        super().add(b)
        column = self.design.column(b)
        for f, (_, test) in enumerate(self.sums.pairs):
            d_b = self._d[f][:, b].copy()
            self._e[f] = self._e[f] - np.outer(d_b, self._omega[f])
            self._d[f] -= np.outer(d_b, self._u[f])
            self._x[f].append(column[test] - self._mu[f, b])

    def _judge(self, f: int, residuals: Floats) -> Floats:
        """Sums of v * loss over the test rows of split f, for residuals rows x T x models."""
        test = self.sums.pairs[f][1]
        g, v = self._g[f], self._v[f]
        parts = [g[:, None] * residuals[:, t] for t in range(residuals.shape[1])]
        p = np.ones((len(test), residuals.shape[2]))
        return self.loss.weighted(parts, p, g, v, self._Y[test]).sum(0)
