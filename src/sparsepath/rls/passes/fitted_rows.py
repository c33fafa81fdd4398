"""A block of rows of a fitted model: r, p and Z, current candidates, and sums over the rows.

The letters are those of ``engine.py``. W contains the current candidates, z in the derivation.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import tall as core
from sparsepath.data.blocks import RowBlock
from sparsepath.rls.criteria.losses import ROOM, Loss, per_weight
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.system.arrays import Floats

SCORED_ROWS = 4096  # rows scored at once: a few candidates' worth stays in cache


class Measured(NamedTuple):
    """Sums over rows: of v * loss, r^2 per target, (v (loss - about))^2 and v^2 (loss - about).

    ``tight`` counts the samples whose leverage is nearly one.
    """

    total: float
    tight: float
    squares: Floats
    around: float
    slope: float


class WeightedSums(NamedTuple):
    """Sums over rows with u = r / p^2: per target, u'u and u'r."""

    uu: Floats
    ur: Floats


class FittedRows:
    """One block of rows: the data, and r, p, Z of the current model.

    Parameters
    ----------
    block : RowBlock
        The data.
    Y : array of shape (m, T)
        Raw targets of these rows.
    g : array of shape (m,)
        Square roots of the sample weights.
    v : array of shape (m,)
        Weights of the criterion's mean, which sum to one over all blocks.
    loss : Loss
        Loss of a leave-one-out residual.
    left : array of shape (n,)
        Remaining means of the centred columns (``Design.left``).
    """

    def __init__(
        self, block: RowBlock, Y: Floats, g: Floats, v: Floats, loss: Loss, left: Floats
    ) -> None:
        self.block, self._left = block, left
        self.Y, self.g, self.v, self.loss = Y, g, v, loss
        self._even = bool(np.all(g == 1.0))

    def begin(
        self, y_mean: Floats, y_left: Floats, total_weight: float, fit_intercept: bool
    ) -> None:
        """Set up the empty model: r = P0 y, p = 1 minus the intercept's share, no columns in Z."""
        g = self.g
        self.r = np.asfortranarray(g[:, None] * (self.Y - y_mean - y_left))
        self._plain = g * g / total_weight if self.loss.balanced else self.v
        self._share = per_weight(g, self._plain)
        self.p = 1.0 - g * g / total_weight if fit_intercept else np.ones(len(g))
        self.lend(np.empty((len(g), 0), order="F"))
        self._space = np.empty((len(g), 0), order="F")

    def lend(self, Z: Floats) -> None:
        """Use memory of the caller for columns of Z."""
        self._Z, self.size = Z, 0

    def extend(self, size: int, a: Floats) -> None:
        """Use this many of the columns, and update r and p."""
        Z = self._Z[:, self.size : size]
        self.r -= Z @ a[self.size : size]
        self.p -= np.einsum("ij,ij->i", Z, Z)
        self.size = size

    @property
    def Z(self) -> Floats:  # noqa: N802 (the papers' letter)
        """Orthonormal columns in use."""
        return self._Z[:, : self.size]

    # Candidates ---------------------------------------------------------------------------------

    def load(self, features: NDArray[np.intp], means: Floats, scales: Floats, out: Floats) -> None:
        """Write some columns, centred, scaled and weighted."""
        self.block.columns(features, out)
        out -= means
        left = self._left[features]
        if left.any():
            out -= left
        if not self._even:
            out *= self.g[:, None]
        if not np.all(scales == 1.0):
            out *= scales

    def _room(self, width: int) -> Floats:
        """Return a reused buffer for candidates, because new memory is slow."""
        if self._space.shape[1] < width:
            self._space = np.empty((len(self.g), width), order="F")
        return self._space[:, :width]

    # Shares of the criterion --------------------------------------------------------------------

    def score(self, pivots: Floats, tau: Floats, blur: Any = 0.0, squared: bool = False) -> Floats:
        """Return this block's contribution to the criterion with each candidate of W added.

        Adding z changes r to r - z tau and p to p - z^2 / pivot (tau is c x T). Infinite where a
        leverage reaches one. ``squared`` returns the squared criterion, whatever the loss.
        """
        W, out = self.W, np.zeros(len(pivots))
        if self.r.shape[1] == 1 and (squared or self.loss.bounded):
            inverse, steps = 1.0 / pivots, np.ascontiguousarray(tau[:, 0])
            core.sum_squares(W.T, self.r[:, 0], self.p, self._share, steps, inverse, ROOM, out)
            return out
        full = np.zeros(len(pivots), dtype=bool)
        for i in range(0, len(self.g), SCORED_ROWS):
            part = slice(i, i + SCORED_ROWS)
            z = W[part]
            p = z * z
            p *= -1.0 / pivots
            p += self.p[part, None]
            tight = p.min(axis=0) <= ROOM
            if tight.any():
                full |= tight
                np.maximum(p, ROOM, out=p)
            residuals = []
            for r, coefficients in zip(self.r.T, tau.T, strict=True):
                e = z * -coefficients
                e += r[part, None]
                residuals.append(e)
            loss, vectors = self._given(part, squared)
            out += loss.total(residuals, p, *vectors, blur)
        out[full] = np.inf
        return out

    def score_without(
        self, directions: Floats, tau: Floats, blur: Any = 0.0, squared: bool = False
    ) -> Floats:
        """Return this block's contribution to the criterion with each of some features removed."""
        self.W = self._room(len(tau))
        np.matmul(directions.T, self.Z.T, out=self.W.T)
        return self.score(np.full(len(tau), -1.0), tau, blur, squared)

    def score_all(self, G: Floats, tau: Floats, blur: float = 0.0, squared: bool = False) -> float:
        """Return this block's contribution to the criterion with all candidates of W added
        together.
        """
        p = self.p - np.square(self.W @ G).sum(1)
        return self._score_one(p, self.r - self.W @ tau, blur, squared)

    def score_without_all(
        self, directions: Floats, tau: Floats, blur: float = 0.0, squared: bool = False
    ) -> float:
        """Return this block's contribution to the criterion with several features removed
        together.
        """
        q = self.Z @ directions
        return self._score_one(self.p + np.square(q).sum(1), self.r - q @ tau, blur, squared)

    def score_squared(self) -> float:
        """Return this block's contribution to the squared criterion of the current model."""
        return self._score_one(self.p, self.r, 0.0, True)

    def _score_one(self, p: Floats, r: Floats, blur: float, squared: bool) -> float:
        if p.min() <= ROOM:
            return np.inf
        loss, vectors = self._given(slice(None), squared)
        return float(loss.weighted(list(r.T.copy()), p, *vectors, blur).sum())

    def _given(self, part: slice, squared: bool) -> tuple[Loss, tuple[Floats, Floats, Floats]]:
        loss, v = (SQUARED, self._plain) if squared else (self.loss, self.v)
        return loss, (self.g[part], v[part], self.Y[part])

    def criterion(self, about: float = 0.0, blur: float = 0.0) -> Measured:
        """Return sums over the rows for the current model; for the squared loss, also of u."""
        residuals = list(self.r.T.copy())
        p = np.maximum(self.p, ROOM)
        loss, vectors = self._given(slice(None), False)
        self._losses = loss.weighted(residuals, p, *vectors, blur)
        if self.loss.bounded:
            self._weigh()
        off = self._losses - about * self.v
        whole, squares = float(self._losses.sum()), np.einsum("ij,ij->j", self.r, self.r)
        full = int(np.count_nonzero(self.p <= ROOM))
        return Measured(whole, full, squares, float(off @ off), float(off @ self.v))

    # Sums for bounds ----------------------------------------------------------------------------

    def _weigh(self) -> None:
        self.u = self.r / np.square(np.maximum(self.p, ROOM))[:, None]
        self.weighed = WeightedSums(
            np.einsum("ij,ij->j", self.u, self.u),
            np.einsum("ij,ij->j", self.u, self.r),
        )
