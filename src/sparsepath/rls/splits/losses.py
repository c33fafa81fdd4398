"""Losses other than the squared one over the test parts of splits.

A count of mistakes does not follow from sums of products: every candidate's predictions are needed.
They are at hand if d_i, what is left of column i on the test rows (``model.py``), is kept for all
columns: candidate i changes the residuals e to e - omega_i d_i, and choosing b changes d_i to
d_i - u_i d_b. Where that would take too much memory, or fill in the zeros of sparse data, only the
d of the chosen features are kept and those of the others computed for some columns at a time. The
training side is that of ``FoldModel``, and so is the squared criterion, which settles ties of
counts and follows from sums of products.
"""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.splitting import Split
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.splits.asked import standard_error
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.tuning import TUNING

RESIDUALS_AT_ONCE = 1 << 18  # candidates' residuals judged at once


class FoldLossModel(FoldModel):
    """A ``FoldModel`` judged by any loss.

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
        self.loss = loss
        super().__init__(design, Y, alpha, splits, pooled, sums)

    @property
    def counts(self) -> bool:  # type: ignore[override]
        return self.loss.counts

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
        self._reach = reach_of(sums.squares[-1], self.alpha)
        self._e0 = self._empty_residuals()
        self._e = list(self._e0)
        self._judged: tuple[list[int], Floats] | None = None  # the folds, and the list they are for
        self._x: list[list[Floats]] = [[] for _ in tests]
        self._V = [np.zeros((len(test), 0)) for test in tests]  # d of the chosen features
        numbers = sum(map(len, tests)) * design.n_features
        most = min(sums.memory / 8, TUNING.kept_of_sparse if design.sparse else np.inf)
        self._d: list[Floats] | None = None
        if numbers <= most:
            self._d = [
                np.asfortranarray(design.rows(test) - mu)
                for test, mu in zip(tests, self.mu, strict=True)
            ]

    def _empty_residuals(self) -> list[Floats]:
        """What the training means leave of the target on the test rows of every split."""
        centre = zip(self.sums.pairs, self._nu, strict=True)
        return [self._Y[test] - self.sums.y_mean - nu for (_, test), nu in centre]

    @property
    def fold_errors(self) -> Floats:
        """The mean loss on each test part (if pooled: its share of the criterion)."""
        if self._judged is None or self._judged[0] is not self.chosen:
            self._judged = self.chosen, self._judged_folds()
        return self._judged[1]

    def _judged_folds(self) -> Floats:
        reach = self._reach[self.chosen].sum(keepdims=True)
        if self.rough:
            left = enumerate(part.e[:, :, None] for part in self.fits.parts)
            return np.array([self._from_rows(f, e, reach, False)[0] for f, e in left])
        return np.array([self._judge(f, e[:, :, None], reach)[0] for f, e in enumerate(self._e)])

    @property
    def error(self) -> float:
        errors = self.fold_errors
        return float(errors.sum() if self.pooled else errors.mean())

    def standard_error(self) -> float:
        """Standard error of the mean over splits (see ``asked.py``); NaN for a single one."""
        shares = np.array([v.sum() for v in self._v])
        return float(standard_error(self.fold_errors / shares, self.sums.overlap))

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = super().duplicate()
        other._e = list(self._e)
        if self._d is not None:
            other._d = [d.copy(order="F") for d in self._d]
        other._x, other._V = list(self._x), list(self._V)
        return other

    def _joined(self, errors: Floats) -> Floats:
        return np.asarray(errors.sum(0) if self.pooled else errors.mean(0))

    def _errors_by_sums(self) -> Floats:
        """The criterion with each feature added; what it leaves comes from the test rows."""
        pivots, fine = self._pivots()
        omega = self.c / pivots[:, :, None]
        errors = np.zeros(pivots.shape)
        reach = self._reach_with(np.arange(self.design.n_features))
        for part, left in self._left_of_columns():
            for f, d in enumerate(left):
                step = max(1, RESIDUALS_AT_ONCE // max(1, len(d)))
                for i in range(0, d.shape[1], step):
                    some = slice(part.start + i, min(part.start + i + step, part.stop))
                    after = self._e[f][:, :, None] - d[:, None, i : i + step] * omega[f, some].T
                    errors[f, some] = self._judge(f, after, reach[some])
        return np.where(fine, self._joined(errors), np.inf)

    def _reach_with(self, features: NDArray[np.intp]) -> Floats:
        return np.asarray(self._reach[self.chosen].sum() + self._reach[features])

    def _reach_without(self) -> Floats:
        reach = self._reach[self.chosen]
        return np.asarray(reach.sum() - reach)

    def _left_of_columns(self) -> Iterator[tuple[slice, list[Floats]]]:
        """Columns and what is left of them on the test rows of every split: d, if it is kept.

        If not, it is computed for some columns at a time: d_i = x_i - sum_l u_l,i d_l.
        """
        n, k = self.design.n_features, len(self.chosen)
        if self._d is not None:
            yield slice(0, n), self._d
            return
        width = max(1, TUNING.strip_numbers // self.design.n_samples)
        for first in range(0, n, width):
            part = slice(first, min(n, first + width))
            X = self.design.columns(np.arange(part.start, part.stop))
            yield (
                part,
                [
                    X[test] - self.mu[f, part] - self._V[f] @ self._UH[0, f, :k, part]
                    for f, (_, test) in enumerate(self.sums.pairs)
                ],
            )

    def errors_without(self, squared: bool = False) -> Floats:
        """The criterion with each chosen feature dropped, in the order of ``chosen``."""
        if self.rough or squared:
            return super().errors_without(squared)
        W = self._coefficients_without()
        errors = np.zeros((len(self._e), len(self.chosen)))
        reach = self._reach_without()
        for f, y in enumerate(self._e0):
            predicted = np.einsum("ij,jbt->itb", np.column_stack(self._x[f]), W[f])
            errors[f] = self._judge(f, y[:, :, None] - predicted, reach)
        return self._joined(errors)

    def add(self, b: int) -> None:
        """Add a feature."""
        k = len(self.chosen)
        u_b = self._UH[0, :, :k, b].copy()
        super().add(b)
        if self.rough:  # the rows are asked from now on
            return
        column = self.design.column(b)
        for f, (_, test) in enumerate(self.sums.pairs):
            x = column[test] - self.mu[f, b]
            d_b = x - self._V[f] @ u_b[f]
            self._e[f] = self._e[f] - np.outer(d_b, self._omega[f])
            if self._d is not None:
                self._d[f] -= np.outer(d_b, self._u[f])
            self._V[f] = np.column_stack([self._V[f], d_b])
            self._x[f] = [*self._x[f], x]

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """Sums of v * loss over the test rows of split f, for residuals rows x T x models.

        ``reach`` is that of each model; see ``criteria/losses.py``.
        """
        test = self.sums.pairs[f][1]
        g, v = self._g[f], self._v[f]
        parts = [g[:, None] * residuals[:, t] for t in range(residuals.shape[1])]
        p = np.ones((len(test), residuals.shape[2]))
        return self.loss.weighted(parts, p, g, v, self._Y[test], self.loss.blur(reach)).sum(0)
