r"""Backward search over splits: a removal changes everything by rank one.

With the letters of ``model.py``, of every split let A = K + alpha I over the chosen features,
w = A^-1 c its training coefficients, B = A^-1 D A^-1 and h = A^-1 (D w - e'd), e'd being the
products of the test columns with the test target. Dropping l changes w to w - (A^-1)_l phi with
phi = w_l / (A^-1)_ll, and the squared test error to

    SSE - 2 phi h_l + phi^2 B_ll:

three numbers per feature and split. With a = (A^-1)_b, s = (A^-1)_bb and beta = B_b, dropping b
makes

    A^-1 - a a'/s      w - a phi      h - beta phi - a (h_b - B_bb phi)/s
    B - (a beta' + beta a')/s + a a' B_bb/s^2.

The model on all rows is one more split, without test rows. Everything is set up again from the sums
when half of the features are gone, or when little is left of a diagonal element of A^-1.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsepath._core.folds import take_out
from sparsepath.errors import InputError
from sparsepath.rls.folds.model import COLLINEAR_IN_PART, FINE, VANISHED, FoldModel
from sparsepath.rls.folds.moments import SplitSums
from sparsepath.system.arrays import Floats

LEFT = 1e-3  # part of a diagonal element of A^-1 that is left, below which all is set up again


class FoldElimination(FoldModel):
    """Model over splits that starts with many features and removes them one by one.

    The parameters are those of ``FoldModel``.
    """

    _dropping = False

    def begin(self, features: Sequence[int]) -> None:
        """Start the model with these features."""
        S, sums = list(features), self.sums
        if not S:
            return
        parts = centred_products(sums, S, self.design.fit_intercept)
        K, D, everywhere = parts.K, parts.D, parts.everywhere
        pivots = _pivots(K + self.alpha * np.eye(len(S)))
        # What sums of products tell too little of is for ``FoldModel``, which asks the rows.
        sizes = np.maximum(sums.squares[sums.n_splits : 2 * sums.n_splits, S], 0.0)
        low = (pivots <= (FINE if self.by_rows else COLLINEAR_IN_PART) * sizes).any(0)
        if low.any():
            raise InputError(f"feature {S[int(low.argmax())]} is collinear with the selected ones.")
        self._sums_of = (
            np.concatenate([K, everywhere[None]]),
            np.concatenate([D, np.zeros_like(everywhere)[None]]),
            np.concatenate([parts.c, parts.everywhere_c[None]]),
            np.concatenate([parts.ed, np.zeros_like(parts.everywhere_c)[None]]),
        )
        self.chosen, self._left, self._dropping = S, np.arange(len(S)), True
        self._numbers, self._begun_with = {i: place for place, i in enumerate(S)}, len(S)
        self._set_up()
        W, empty = self._w[:-1], self._empty.sse()
        self._sse = np.maximum(empty + np.einsum("fit,fit->f", W, D @ W - 2 * parts.ed), 0.0)

    @property
    def sse(self) -> Floats:
        """Return the sum of squared errors on each test fold."""
        return self._sse if self._dropping else super().sse

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        if not self._dropping:
            return super().vanished
        return bool(self._sse.sum() <= VANISHED * self._empty.total_sse)

    @property
    def squared_error(self) -> float:
        """Return the squared criterion."""
        return float((self._sse / self.share).sum()) if self._dropping else super().squared_error

    def _set_up(self) -> None:
        """Compute the inverses from the sums over the remaining features."""
        K, D, c, ed = self._sums_of
        some = np.ix_(np.arange(len(K)), self._left, self._left)
        A, D = K[some] + self.alpha * np.eye(len(self._left)), D[some]
        root = np.sqrt(np.einsum("fii->fi", A))
        square = root[:, :, None] * root[:, None]
        inverse = np.linalg.inv(A / square) / square
        self._inverse = (inverse + inverse.transpose(0, 2, 1)) / 2
        self._w = self._inverse @ c[:, self._left]
        self._B = self._inverse @ D @ self._inverse
        self._h = self._inverse @ (D @ self._w - ed[:, self._left])
        self._first = np.einsum("fii->fi", self._inverse).copy()
        self._begun = len(self._left)

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion with each selected feature removed, in the order of ``chosen``."""
        if not self._dropping:
            return super().errors_without(squared)
        phi = self._w / self._diagonal(self._inverse)[:, :, None]
        change = phi * (phi * self._diagonal(self._B)[:, :, None] - 2 * self._h)
        sse = self._sse[:, None] + change[:-1].sum(2)
        return (sse / self.share[:, None]).sum(0)[self._places()]

    def _diagonal(self, A: Floats) -> Floats:
        return np.einsum("fii->fi", A)[:, : len(self._left)]

    def _places(self) -> NDArray[np.intp]:
        """Return the array positions of the selected features."""
        of = np.empty(self._begun_with, dtype=np.intp)
        of[self._left] = np.arange(len(self._left))
        return of[[self._numbers[i] for i in self.chosen]]

    def drop(self, b: int) -> None:
        """Remove a feature."""
        if not self._dropping:
            super().drop(b)
            return
        if b not in self.chosen:
            raise InputError(f"feature {b} is not selected; selected are: {self.chosen}.")
        place, size = int(self._places()[self.chosen.index(b)]), len(self._left)
        a, beta = _column(self._inverse, place, size), _column(self._B, place, size)
        s, last = a[:, place], beta[:, place].copy()
        phi = self._w[:, place] / s[:, None]
        h_b = self._h[:, place] - last[:, None] * phi
        self._sse = np.maximum(
            self._sse + (phi * (phi * last[:, None] - 2 * self._h[:, place]))[:-1].sum(1), 0.0
        )
        share = a / s[:, None]
        # B - share beta' - beta share' + share share' B_bb, as two products of vectors.
        half = beta - 0.5 * last[:, None] * share
        self._w = self._w - a[:, :, None] * phi[:, None]
        self._h = self._h - beta[:, :, None] * phi[:, None] - share[:, :, None] * h_b[:, None]
        take_out(self._inverse, self._B, a, share, half, place, size)
        for of in (self._w, self._h, self._first):
            of[:, place] = of[:, size - 1]
        self._left[place] = self._left[-1]
        self._left = self._left[:-1]
        self._w, self._h, self._first = (of[:, :-1] for of in (self._w, self._h, self._first))
        self.chosen = [i for i in self.chosen if i != b]
        few = 2 * len(self._left) <= self._begun
        if few or (self._diagonal(self._inverse) < LEFT * self._first).any():
            self._set_up()

    def duplicate(self) -> Self:
        """Return a copy."""
        other = super().duplicate()
        if self._dropping:
            for name in ("_inverse", "_B", "_first", "_left"):
                setattr(other, name, getattr(self, name).copy())
        return other

    def coef(self) -> Floats:
        """Return the coefficients of the selected features in units of the data, |S| x T."""
        if not self._dropping:
            return super().coef()
        return self.design.scales[self.chosen, None] * self._w[-1][self._places()]


class SplitProducts(NamedTuple):
    """Products of some columns in every split, centred as in ``_core/folds.hpp``."""

    K: Floats  # F x |S| x |S|
    D: Floats
    c: Floats  # F x |S| x T
    ed: Floats
    everywhere: Floats  # on all rows: |S| x |S|, and |S| x T
    everywhere_c: Floats


def centred_products(sums: SplitSums, S: list[int], fit_intercept: bool) -> SplitProducts:
    """Return products of the columns S over every split, and over all rows."""
    F, w = sums.n_splits, sums.weight[:, None, None]
    P, C = np.stack([sums.column(i)[:, S] for i in S], axis=1), sums.xy[:, S]
    x, y = sums.x[:, S, None], sums.y[:, None]
    mu, nu = fit_intercept * x / w, fit_intercept * y / w
    transposed, test, train = mu.transpose(0, 2, 1), slice(0, F), slice(F, 2 * F)
    K, c = P - w * mu * transposed, C - w * mu * nu
    mu, transposed, nu = mu[train], transposed[train], nu[train]
    D = P[test] - mu * x[test].transpose(0, 2, 1) - x[test] * transposed + w[test] * mu * transposed
    ed = C[test] - mu * y[test] - x[test] * nu + w[test] * mu * nu
    return SplitProducts(K[train], D, c[train], ed, K[-1], c[-1])


def _column(A: Floats, place: int, size: int) -> Floats:
    """Return a column of symmetric matrices stored as lower triangles."""
    return np.concatenate([A[:, place, :place], A[:, place:size, place]], axis=1)


def _pivots(A: Floats) -> Floats:
    """Return what remains of each diagonal element after elimination of the previous ones, zero if
    nothing.
    """
    root = np.sqrt(np.maximum(np.einsum("fii->fi", A), 0.0))  # rounding: nothing can be below it
    root[root == 0] = 1.0
    out = np.zeros(root.shape)
    for pivots, scale, matrix in zip(out, root, A, strict=True):
        L, failed = lapack.dpotrf(matrix / np.outer(scale, scale), lower=1)
        k = failed - 1 if failed > 0 else len(L)
        pivots[:k] = np.square(np.diag(L)[:k] * scale[:k])
    return out
