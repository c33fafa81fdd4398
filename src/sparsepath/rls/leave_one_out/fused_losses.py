"""``fused.py`` for any loss of samples: every candidate is judged, from P X in memory.

There are no bounds for such losses, so a step costs two passes over the rows, one that follows the
last change and one that judges: in a compiled loop where the loss has one, and else in NumPy, some
rows at a time so that what is made of them stays in the processor's cache.
Equal counts of mistakes are told apart by the squared criterion of the same rows.
"""

from collections.abc import Callable, Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import CarriedChange
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.leave_one_out.whole_losses import NOBODY
from sparsepath.rls.update import Second, Update, pick
from sparsepath.tuning import TUNING


class FusedLoss(Fused):
    """A model on chosen features by exact leave-one-out; searched as ``State`` is.

    Parameters
    ----------
    design, Y, alpha, size, compiled
        As for ``Fused``.
    loss : Loss
        How a leave-one-out residual is judged.

    Attributes
    ----------
    squared_error, empty_squared : float
        The squared criterion, whatever the loss; that of the empty model.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        loss: Loss,
        size: int = 8,
        compiled: bool = False,
    ) -> None:
        self.loss, self.counts, self._Y = loss, loss.counts, Y
        self._g, self._v = np.sqrt(design.weights), loss.sample_weights(Y, design.weights)
        self._reach = reach_of(design.squares, float(alpha))
        super().__init__(design, Y, alpha, size, compiled)
        self.empty_squared = self.squared_error
        # For loops that judge rows as they follow a change: pivots and products with the targets.
        self._by_rows = loss.carried is not None and compiled
        self._followed: CarriedChange | None = None
        self._dropped: tuple[int, float, Floats] | None = None
        if self._by_rows:
            m, T = design.n_samples, self._T
            self._S = design.squares + self.alpha
            self._C = self._V[:T, :m] @ self._columns.rows[:, :m].T

    def _measure(self) -> None:
        """The criterion of the model as it stands."""
        super()._measure()
        self.squared_error = self.error
        residuals = self._V[: self._T, None, : self.design.n_samples].copy()
        p = np.maximum(self.p, ROOM)[None]
        self._losses = self._weighted(residuals, p, self._reach[self.chosen].sum())[:, 0]
        if np.isfinite(self.error):
            self.error = float(self._losses.sum())

    def standard_error(self) -> float:
        """Standard error of ``error`` as a mean over samples."""
        m = np.count_nonzero(self.design.weights)
        off = self._losses - self.error * self._v
        return float(np.sqrt((off @ off) * (m / (m - 1))))

    def errors_without(self) -> Floats:
        """The criterion after dropping each chosen feature, in the order of ``chosen``."""
        residuals, left = self._without()
        tight = left.min(1, initial=np.inf) <= ROOM
        reach = self._reach[self.chosen]
        losses = self._weighted(residuals, np.maximum(left, ROOM), reach.sum() - reach)
        return np.where(tight, np.inf, losses.sum(0))

    def may_exchange(self, feature: int, others: Callable[[], Iterable[int]], below: float) -> bool:
        """There is no bound: it does not know."""
        return True

    def _best_addition(self, allowed: NDArray[np.bool_]) -> Update | None:
        pivots, c, _, _ = self._sums(allowed)
        which = (allowed & (pivots > self._floor)).nonzero()[0]
        inverse = 1.0 / pivots[which]
        tau = c[which] * inverse[:, None]
        errors = self._loss_errors(which, inverse, tau)

        def second(tied: NDArray[np.intp]) -> Second:
            places = np.searchsorted(which, tied)
            squared = self._errors(tied, inverse[places], tau[places])
            costs, now = self.costs, self.squared_error
            values = squared if costs is None else costs.worth(tied, squared, now)
            return Second(squared, values, self.empty_squared)

        tell = second if self.counts else None
        return pick("add", which, errors, self.empty_error, self._values(errors, which), tell)

    def _swept(self) -> tuple[Floats, Floats, Floats]:
        """A pending change made and, if there are loops for it, all rows judged in the same pass.

        Pivots and products follow the change too: see ``whole_losses.py``.
        """
        loop, columns = self.loss.carried, self._columns
        self._judged: Floats | None = None
        if loop is None or not self._by_rows:
            return super()._swept()
        T, m, change = self._T, self.design.n_samples, columns.pending
        kind, given = loop.laid_out(self._Y, self._V[:T, :m], self.p, self._g, self._v)
        blur = self.loss.blur(self._reach[self.chosen].sum() + self._reach)
        judging = (kind, given, NOBODY, loop.delta, ROOM)
        follow, self._followed = change is not self._followed, change
        self._judged = columns.judged_by(judging, self._S, self._C, blur, follow)
        if self._dropped is not None and columns.borrowed:  # the row is not among the others
            self._put(*self._dropped)
        return self._S.copy(), self._C.T, self._S

    def _put(self, feature: int, pivot: float, products: Floats) -> None:
        """What is known of a feature that is no longer chosen."""
        self._S[feature], self._C[:, feature] = pivot, products

    def add(self, feature: int) -> None:
        """Add a feature."""
        super().add(feature)
        self._dropped = None

    def drop(self, feature: int) -> None:
        """Take a chosen feature out again."""
        super().drop(feature)
        change = self._columns.pending
        if self._by_rows and change is not None:
            self._dropped = feature, -change.pivot, change.products
            self._put(*self._dropped)

    def duplicate(self) -> Self:
        """A copy to try changes on; the rows are shared until one of the two changes them."""
        other = super().duplicate()
        if self._by_rows:
            other._S, other._C = self._S.copy(), self._C.copy()
        return other

    def _renew(self, features: NDArray[np.intp]) -> None:
        super()._renew(features)
        if self._by_rows:
            rows, metric = self._columns.rows[features, : self._width], self._W[0, : self._width]
            self._S[features] = self._computed[features]
            self._C[:, features] = (self._V[: self._T, : self._width] * metric) @ rows.T

    def _loss_errors(self, which: NDArray[np.intp], inverse: Floats, tau: Floats) -> Floats:
        """The criterion with each of some features added."""
        if self._judged is not None:
            return self._judged[which]
        m = self.design.n_samples
        reach = self._reach[self.chosen].sum() + self._reach[which]
        out = np.empty(len(which))
        step = max(1, TUNING.losses_at_once // m)
        for i in range(0, len(which), step):
            part = slice(i, i + step)
            z = self._columns.some(which[part])
            left = z * z
            left *= -inverse[part, None]
            left += self.p
            tight = left.min(1) <= ROOM
            if tight.any():
                np.maximum(left, ROOM, out=left)
            steps = tau[part].T[:, :, None]
            residuals = self._V[: self._T, None, :m] - z * steps
            out[part] = self._weighted(residuals, left, reach[part]).sum(0)
            out[part][tight] = np.inf
        return out

    def _weighted(self, residuals: Floats, p: Floats, reach: Floats) -> Floats:
        """The losses times v, samples x models, of residuals T x models x samples."""
        blur = self.loss.blur(reach)
        given = [r.T for r in residuals]
        return self.loss.weighted(given, p.T, self._g, self._v, self._Y, blur)
