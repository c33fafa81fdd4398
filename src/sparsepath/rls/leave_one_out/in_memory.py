"""Leave-one-out search for dense data that fit in memory: the compiled class behind one interface.

The derivation stands at the head of ``_core/leave_one_out.hpp``, where the loops are. A loss that
the core knows (``Criterion.kernel``) is judged there. Any other, such as a loss of the user's own,
is evaluated in NumPy on the residuals of some candidates at a time, which is slower.
"""

import math
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import leave_one_out as core
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.forward_path import (
    CentredTargets,
    ForwardPath,
    ForwardSearch,
    columns_of,
    intercepts,
)
from sparsepath.rls.model import ExhaustiveEngine
from sparsepath.rls.update import Update, limit, mask_of, pick
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

LOSSES_AT_ONCE = 1 << 15  # numbers in the rows that NumPy judges by a loss without bounds
ROOM_AT_FIRST = 128  # features for which there is room from the start, at most


class InMemory(ExhaustiveEngine):
    """Ridge model on selected features, with exact leave-one-out error.

    Parameters
    ----------
    design : Design
        The data; all columns are copied.
    Y : array of shape (m, T)
        Targets.
    alpha : float
        Ridge penalty.
    loss : Loss
        Loss of leave-one-out residuals.
    size : int
        Expected number of selected features.
    n_threads : int, optional
        Threads that share a step; by default those of the design, for large data.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        loss: Loss,
        size: int = 8,
        n_threads: int | None = None,
    ) -> None:
        self.design, self.alpha, self.loss, self.form = design, float(alpha), loss, ""
        m, n, w = design.n_samples, design.n_features, design.weights
        of = CentredTargets.of(design, Y)
        self.y_mean = of.y_mean
        if n_threads is None:
            n_threads = design.threads.n_threads if m * n >= TUNING.shared_from else 1
        self._threads = n_threads
        room = max(4, min(size, n, ROOM_AT_FIRST))
        self._core = core.LeaveOneOut(n, room, of.y, of.p, self.alpha, design.total)
        self._load()
        self._core.set_columns(design.squares, of.floor, ~design.constant)
        self._Y, self._g = Y, np.sqrt(w)
        self._v = loss.sample_weights(Y, w)
        self._reach = reach_of(design.squares, self.alpha)
        self._by_callback = loss.kernel is None
        kernel = SQUARED.kernel if loss.kernel is None else loss.kernel
        Y = np.ascontiguousarray(Y)
        self._core.set_loss(kernel, self._v, self._g, Y, self._reach)
        self._measured: tuple[float, Floats] | None = None
        self.empty_error, self.empty_squared = self.error, self._core.empty_squared

    def _load(self) -> None:
        """Copy all columns, centred, scaled and weighted; in blocks if the type differs."""
        design = self.design
        m, n, roots = design.n_samples, design.n_features, np.sqrt(design.weights)
        X, step = design.whole_matrix(), n
        if X is None:
            step = max(1, TUNING.thread_numbers // m)
        for low in range(0, n, step):
            part = slice(low, low + step)
            some = np.arange(n)[part]
            columns = X
            if columns is None:
                columns = np.concatenate([block.columns(some) for block in design.blocks])
            known = design.means[part], design.left[part], design.scales[part]
            self._core.load(columns, low, *known, roots, self._threads)

    # The model ----------------------------------------------------------------------------------

    @property
    def counts(self) -> bool:
        """Whether mistakes are counted, so that the squared criterion breaks ties."""
        return self.loss.counts

    @property
    def chosen(self) -> list[int]:  # type: ignore[override]
        """Selected features, in order of entry."""
        return self._core.chosen

    @property
    def error(self) -> float:
        """Criterion of the current model."""
        return self._by_samples()[0] if self._by_callback else self._core.error

    @property
    def squared_error(self) -> float:
        """Return the squared criterion, whatever the loss."""
        return self._core.squared_error

    def standard_error(self) -> float:
        """Return the standard error of ``error`` as a mean over samples."""
        if not self._by_callback:
            return math.sqrt(self._core.spread() * self._correction)
        error, losses = self._by_samples()
        off = losses - error * self._v
        return math.sqrt((off @ off) * self._correction)

    @property
    def _correction(self) -> float:
        m = self.design.n_counted
        return m / (m - 1)

    def _by_samples(self) -> tuple[float, Floats]:
        """Return the criterion and the contribution of each sample."""
        if not self._by_callback:
            return self._core.error, self._core.losses()
        if self._measured is None:
            r, p = self._core.residuals(), self._core.p()
            losses = self._weighted(r[:, None], p[None], self._reach[self.chosen].sum())[:, 0]
            tight = p.min() <= ROOM
            self._measured = (np.inf if tight else float(losses.sum())), losses
        return self._measured

    def coef(self) -> Floats:
        """Return the coefficients of the selected features in units of the data, |S| x T."""
        return self.design.scales[self.chosen, None] * self._core.coef()

    def intercept(self) -> Floats:
        """Return the intercepts, one per target."""
        return intercepts(self.y_mean, self.design.means[self.chosen], self.coef()[None])[0]

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        return self._core.vanished

    def duplicate(self) -> Self:
        """Return a copy."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._core = self._core.copy()
        return other

    # Changes ------------------------------------------------------------------------------------

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is already selected.")
        self._follow()
        column = None
        if self._core.needs_column(feature):
            column = columns_of(self.design, [feature])[0]
        if not self._core.add(feature, column):
            raise InputError(f"feature {feature} is collinear with the selected ones.")
        self._measured = None

    def drop(self, feature: int) -> None:
        """Remove a selected feature."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not selected; selected are: {self.chosen}.")
        self._follow()
        self._core.drop(feature)
        self._measured = None

    def _follow(self) -> None:
        """Update all rows after the last change; recompute those that lost precision."""
        self._core.follow(self._threads)
        if self._core.is_doubtful:
            self._renew()

    def _renew(self) -> None:
        which = np.array(self._core.doubtful, dtype=np.intp)
        step = max(1, LOSSES_AT_ONCE // self.design.n_samples)
        for i in range(0, len(which), step):
            some = which[i : i + step]
            for feature, column in zip(some.tolist(), columns_of(self.design, some), strict=True):
                self._core.renew(feature, np.ascontiguousarray(column))

    # A whole forward search ---------------------------------------------------------------------

    def path(self, size: int, allowed: NDArray[np.bool_]) -> ForwardPath:
        """Return the forward path up to a size, from the empty model; later calls continue it."""
        if not self.chosen:
            self._core.start_path()
        while not self._core.advance(size, allowed, self._threads):
            update = self.best_addition(np.flatnonzero(allowed))
            if update is None:
                break
            self.add(update.feature)
        errors, spreads, flat = self._core.path()
        subset = np.array(self.chosen, dtype=np.intp)
        coef = flat.reshape(len(errors), len(subset), self._Y.shape[1])
        coef *= self.design.scales[subset, None]
        return ForwardPath(
            subset,
            errors,
            np.sqrt(spreads * self._correction),
            coef,
            intercepts(self.y_mean, self.design.means[subset], coef),
            self.vanished,
        )

    # Which change is best -----------------------------------------------------------------------

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""
        self._follow()
        if self.costs is not None or self.counts or self._by_callback:
            return super().best_addition(features)
        allowed = mask_of(features, self.design.n_features)
        feature, error = self._core.best_addition(allowed, self._threads)
        return None if feature < 0 else Update("add", feature, error)

    def additions(self, features: NDArray[np.intp], squared: bool = False) -> Floats:
        """Return the criterion with each of some features added; infinite where impossible."""
        if squared or self.loss.bounded:  # costs need the exact values of all
            return self._core.squared_additions(features)
        if not self._by_callback:
            return self._core.additions(None, self._threads)[features]
        pivots, products = self._core.pivots(), self._core.products()
        r, p = self._core.residuals(), self._core.p()
        reach = self._reach[self.chosen].sum() + self._reach
        errors, floor = np.full(len(features), np.inf), self.design.floor()
        free = (pivots[features] > floor[features]).nonzero()[0]
        step = max(1, LOSSES_AT_ONCE // self.design.n_samples)
        for i in range(0, len(free), step):
            some = features[free[i : i + step]]
            z, inverse = self._core.rows(some), 1.0 / pivots[some]
            left = p - z * z * inverse[:, None]
            residuals = r[:, None] - z * (products[some] * inverse[:, None]).T[:, :, None]
            losses = self._weighted(residuals, np.maximum(left, ROOM), reach[some]).sum(0)
            errors[free[i : i + step]] = np.where(left.min(1) <= ROOM, np.inf, losses)
        return errors

    def errors_without(self, squared: bool = False) -> Floats:
        """Return the criterion after removing each selected feature, in the order of ``chosen``."""
        if squared or not self._by_callback:
            return self._core.removals(squared)
        out = np.empty(len(self.chosen))
        reach = self._reach[self.chosen]
        for place in range(len(out)):
            r, p = self._core.removal(place)
            losses = self._weighted(r[:, None], p[None], reach.sum() - reach[place])
            out[place] = losses.sum() if p.min() > ROOM else np.inf
        return out

    def best_exchange(
        self, feature: int, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best addition after removing a feature, if the criterion is then below
        ``below``.

        Costs are ignored: exchanges minimise the criterion.
        """
        self._follow()
        allowed = mask_of(features, self.design.n_features)
        if self._by_callback or self._core.is_steep():
            given = None if allowed is None else allowed.nonzero()[0]
            return super().best_exchange(feature, given, below)
        place = self.chosen.index(feature)
        errors = self._core.exchanges(place, allowed, below, self._threads)
        which = (errors < below).nonzero()[0]
        if not len(which):
            return None
        if not self.counts:
            return pick("add", which, errors[which], self.empty_error)
        least = limit(errors[which].min(), self.empty_error)
        return super().best_exchange(feature, which[errors[which] <= least])

    def _weighted(self, residuals: Floats, p: Floats, reach: Floats) -> Floats:
        """Return v times the losses, samples x models, of residuals T x models x samples."""
        given = [np.ascontiguousarray(r.T) for r in residuals]
        blur = self.loss.blur(reach)
        return self.loss.weighted(given, np.ascontiguousarray(p.T), self._g, self._v, self._Y, blur)


class InMemorySearch(ForwardSearch):
    """A plain forward search of an empty model in memory, with a compiled loss."""

    def __init__(self, model: InMemory, size: int, allowed: NDArray[np.bool_]) -> None:
        super().__init__(model.design, size)
        self._model, self._allowed = model, allowed

    def path(self, until: int) -> ForwardPath:
        """Select features up to this number; return the path so far."""
        return self._model.path(until, self._allowed)
