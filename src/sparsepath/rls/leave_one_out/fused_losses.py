"""``fused.py`` for any loss of samples: every candidate is judged, from P X in memory.

There are no bounds for such losses, so a step costs two passes over the rows, one that follows the
last change and one that judges: in a compiled loop where the loss has one, and else in NumPy, some
rows at a time so that what is made of them stays in the processor's cache.
Equal counts of mistakes are told apart by the squared criterion of the same rows.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import Carried
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.fused import Fused
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
        *_, residuals, left = self._without()
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

    def _loss_errors(self, which: NDArray[np.intp], inverse: Floats, tau: Floats) -> Floats:
        """The criterion with each of some features added."""
        m, loop = self.design.n_samples, self.loss.carried
        reach = self._reach[self.chosen].sum() + self._reach[which]
        out = np.empty(len(which))
        if self._columns.compiled and loop is not None:
            rows, D, f = self._columns.as_they_lie()
            samples = (self._Y, self._V[: self._T, :m].copy(), self.p, self._g, self._v)
            given = Carried(rows, which, D, f, tau, inverse, self.loss.blur(reach), *samples)

            def work(low: int, high: int) -> None:
                loop.judge(low, high, given, ROOM, out)

            self._columns.share_out(work, len(which))
            return out
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
