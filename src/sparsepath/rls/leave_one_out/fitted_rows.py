"""The part of a model's state that lives with a block of rows: r, p and Z, and sums over them.

The letters are those of ``model.py``.
"""

import copy
from functools import cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.blocks import RowBlock, products
from sparsepath.rls.criteria.losses import ROOM, Loss, per_weight
from sparsepath.rls.criteria.residuals import SQUARED

SCORED_ROWS = 4096  # rows scored at once: a few candidates' worth stays in cache


@cache
def mixture(size: int) -> Floats:
    """Fixed numbers of size one to two and either sign.

    A vector that is orthogonal to the columns of Z mixed by them is orthogonal to each, but for
    a coincidence.
    """
    parts = np.random.default_rng(0).uniform(-1.0, 1.0, size)
    parts += np.sign(parts)
    parts.flags.writeable = False
    return parts


class Measured(NamedTuple):
    """Sums over rows: of v * loss, r^2 per target, (v (loss - about))^2 and v^2 (loss - about).

    ``tight`` counts the samples without room in p.
    """

    total: float
    tight: float
    squares: Floats
    around: float
    slope: float


class Weighed(NamedTuple):
    """Sums over rows with u = r / p^2: per target, g'u, u'u and u'r."""

    gu: Floats
    uu: Floats
    ur: Floats


class FittedRows:
    """One block of rows: the data, and r, p, Z of the model fitted so far; ``totals`` is Z'g.

    Parameters
    ----------
    block : RowBlock
        The data, as they are.
    Y : array of shape (m, T)
        Targets of these rows, as given.
    g : array of shape (m,)
        Roots of the sample weights.
    v : array of shape (m,)
        Weights of the criterion's mean, which sum to one over all blocks.
    loss : Loss
        How a leave-one-out residual is judged.
    live : array of int
        The columns that are not constant: products with the others are not needed.
    compiled : bool
        Whether there is enough to do for compiled loops.
    left : array of shape (n,)
        What the columns' means leave of their offsets (``Design.left``).

    Attributes
    ----------
    is_compiled : bool
        Whether there are compiled loops for all that happens to a candidate: for one target.
    share : array of shape (m,)
        What the square of r / p weighs in the squared criterion.
    """

    def __init__(
        self,
        block: RowBlock,
        Y: Floats,
        g: Floats,
        v: Floats,
        loss: Loss,
        live: NDArray[np.intp],
        compiled: bool,
        left: Floats,
    ) -> None:
        self.block, self.live, self._left = block, live, left
        self.Y, self.g, self.v, self.loss = Y, g, v, loss
        self.even = bool(np.all(g == 1.0))
        self._large = compiled
        self.is_compiled = compiled and Y.shape[1] == 1
        self._squared = self.is_compiled and loss.bounded

    def begin(
        self, y_mean: Floats, y_left: Floats, total_weight: float, fit_intercept: bool
    ) -> None:
        """The empty model: r = P0 y, p = 1 less the intercept's share, no columns in Z."""
        g = self.g
        self.r = np.asfortranarray(g[:, None] * (self.Y - y_mean - y_left))
        self._plain = g * g / total_weight if self.loss.balanced else self.v
        self.share = per_weight(g, self._plain)
        self.p = 1.0 - g * g / total_weight if fit_intercept else np.ones(len(g))
        self._Z = np.empty((len(g), 8), order="F")
        self.size = 0
        self.totals = np.zeros(0)
        self._space = np.empty((len(g), 0), order="F")
        self.held = np.zeros(len(g))
        self._mixed, self._losses = np.zeros((2, len(g) if self.is_compiled else 0))
        self.u = np.empty((len(g) if self._squared else 0, 1))

    def lend(self, Z: Floats) -> None:
        """Columns of Z in memory of the caller's, none of them in use yet."""
        self._Z, self.size = Z, 0

    def extend(self, size: int, a: Floats) -> None:
        """Use this many of the columns lent, and do to r and p what they do."""
        Z = self._Z[:, self.size : size]
        self.r -= Z @ a[self.size : size]
        self.p -= np.einsum("ij,ij->i", Z, Z)
        self.size = size

    def reserve(self, size: int) -> None:
        """Make room for this many columns of Z; what is not used takes no memory."""
        if size > self._Z.shape[1]:
            grown = np.empty((len(self.g), size), order="F")
            grown[:, : self.size] = self.Z
            self._Z = grown

    @property
    def Z(self) -> Floats:  # noqa: N802 (the papers' letter)
        """The orthonormal columns in use."""
        return self._Z[:, : self.size]

    def duplicate(self) -> Self:
        """A copy to try changes on; the data are shared, and P X is not kept."""
        other = copy.copy(self)
        other.r, other.p = self.r.copy(order="F"), self.p.copy()
        other._Z = self._Z.copy(order="F")
        other.held, other.u = self.held.copy(), self.u.copy()
        other._mixed, other._losses = self._mixed.copy(), self._losses.copy()
        other._space = np.empty((len(self.g), 0), order="F")
        return other

    def without(self, direction: Floats, step: Floats) -> Self:
        """The rows with a feature dropped, whose direction is Z d, but for Z, which is shared."""
        other, q = copy.copy(self), self.Z @ direction
        other.r, other.p = np.asfortranarray(self.r - np.outer(q, step)), self.p + q * q
        other._weigh()
        return other

    # Updates ------------------------------------------------------------------------------------

    def adopt(self, root: float, tau: Floats) -> None:
        """Add the candidate held: a new column of Z, new residuals, new leverages."""
        if self.size == self._Z.shape[1]:
            self.reserve(2 * self.size)
        z = self.held
        q = self._Z[:, self.size]
        if self.is_compiled:
            from sparsepath.rls.leave_one_out.compiled import adopt

            part = mixture(self.block.shape[1])[self.size]
            adopt(z, root, tau[0], part, q, self.r[:, 0], self.p, self._mixed)
        else:
            np.divide(z, root, out=q)
            self._move_residuals(z, -tau)
            self.p -= q * q
        self.size += 1
        self.totals = np.append(self.totals, self.g @ q)

    def adopt_measured(self, about: float, blur: float, root: float, tau: Floats) -> "Measured":
        """``adopt``, and the criterion of the model after it."""
        self.adopt(root, tau)
        return self.criterion(about, blur)

    def release_measured(
        self, about: float, blur: float, Q: Floats, place: int, a: Floats
    ) -> "Measured":
        """``release``, and the criterion of the model after it."""
        self.release(Q, place, a)
        return self.criterion(about, blur)

    def release(self, Q: Floats, place: int, a: Floats) -> None:
        """Z <- ZQ without its last column q; r + q a and p + q^2 take its part back.

        Q leaves the columns before ``place`` as they are.
        """
        turn = Q[place:, place:]
        for i in range(0, len(self.g), SCORED_ROWS):
            part = self.Z[i : i + SCORED_ROWS, place:]
            part[...] = part @ turn
        q = self.Z[:, -1].copy()
        self.size -= 1
        self._move_residuals(q, a)
        self.p += q * q
        self.totals = self.g @ self.Z
        if self.is_compiled:
            self._mixed = self.Z @ mixture(self.block.shape[1])[: self.size]

    def _move_residuals(self, direction: Floats, steps: Floats) -> None:
        for r, step in zip(self.r.T, steps, strict=True):
            r += step * direction

    # Sums the driver asks for -------------------------------------------------------------------

    def overlaps(self, v: Floats) -> Floats:
        """Z'v."""
        if self._large:
            return products(self._Z, v[:, None], 0, np.arange(self.size))[:, 0]
        return self.Z.T @ v

    def _given(self, part: slice, squared: bool) -> tuple[Loss, tuple[Floats, Floats, Floats]]:
        loss, v = (SQUARED, self._plain) if squared else (self.loss, self.v)
        return loss, (self.g[part], v[part], self.Y[part])

    def criterion(self, about: float, blur: float = 0.0) -> "Measured":
        """Sums over the rows of the model as it stands; for the squared loss, also of u."""
        if self._squared:
            from sparsepath.rls.leave_one_out.compiled import measure

            r, u = self.r[:, 0], self.u[:, 0]
            given = (r, self.p, self.share, self.g, self.v, about, ROOM)
            sums = measure(*given, self._losses, u)
            self.weighed = Weighed(*np.array(sums[5:])[:, None])
            total, tight, squared, around, slope = sums[:5]
            return Measured(total, tight, np.array([squared]), around, slope)
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

    def _weigh(self) -> None:
        self.u = self.r / np.square(np.maximum(self.p, ROOM))[:, None]
        self.weighed = Weighed(
            self.g @ self.u,
            np.einsum("ij,ij->j", self.u, self.u),
            np.einsum("ij,ij->j", self.u, self.r),
        )

    def weighed_sums(self) -> Weighed:
        """Sums with u, as the last ``criterion`` left them."""
        return self.weighed

    def deviation(self, mean: float) -> float:
        """Sum of (v * (loss - mean))^2."""
        off = self._losses - self.v * mean
        return float(off @ off)

    def correlations(self) -> tuple[Floats, Floats]:
        """Sums g'r and X'(g r), the means not yet taken off."""
        return self.g @ self.r, self._dot(self.r)

    def overlaps_u(self) -> Floats:
        """Z'u, k x T."""
        return np.stack([self.overlaps(u) for u in self.u.T], axis=1)

    def sharpest(self, step: Floats) -> float:
        """The largest number kappa."""
        return float(self.sharpness(step).max())

    def sharpness(self, step: Floats) -> Floats:
        """The numbers kappa = (|r| + step sqrt(1 - p))^2 / p^3, summed over targets."""
        lever = np.sqrt(np.maximum(1.0 - self.p, 0.0))
        return np.square(np.abs(self.r) + lever[:, None] * step).sum(1) / self.p**3

    def sharp_product(self, step: Floats) -> Floats:
        """Z' diag(kappa) Z."""
        root = np.sqrt(self.sharpness(step))[:, None]
        out = np.zeros((self.size, self.size))
        for i in range(0, len(root), SCORED_ROWS):
            strip = self.Z[i : i + SCORED_ROWS] * root[i : i + SCORED_ROWS]
            out += strip.T @ strip
        return out

    def newest(self, weighed: bool) -> tuple[Floats, Floats]:
        """With V = [newest column of Z, u]: g'V and X'(g V), in one pass over X."""
        sums = np.append(self.totals[-1:], self.weighed.gu if weighed else [])
        return sums, self._dot(self._pick(1, weighed))

    def products(self, n_newest: int, weighed: bool) -> Floats:
        """X'(g [newest columns of Z, u]) in one pass over X, the means not yet taken off."""
        return self._dot(self._pick(n_newest, weighed))

    def every_product(self) -> tuple[Floats, Floats]:
        """Sums g'Z and X'(g Z), the means not yet taken off."""
        return self.g @ self.Z, self.products(self.size, False)

    def column_products(self, features: NDArray[np.intp]) -> Floats:
        """X'(g u) for some of the columns, the means not yet taken off."""
        if not len(features):
            return np.zeros((0, self.r.shape[1]))
        return self.block.dot(self._weighted(self.u), features)

    def _dot(self, V: Floats) -> Floats:
        if len(self.live) == self.block.shape[1]:
            return self.block.dot(self._weighted(V))
        out = np.zeros((self.block.shape[1], V.shape[1]))
        out[self.live] = self.block.dot(self._weighted(V), self.live)
        return out

    def _weighted(self, V: Floats) -> Floats:
        return V if self.even else V * self.g[:, None]

    def _pick(self, n_newest: int, weighed: bool) -> Floats:
        V = self.Z[:, self.size - n_newest :]
        return np.hstack([V, self.u]) if weighed else V
