"""Columns of candidates, less their part in the chosen ones, as the blocks of rows keep them.

With the letters of ``model.py``: t = Z'x, w = x - Z t. Several candidates at a time are judged and
forgotten. A single one is held: if it is added next, nothing has to be computed again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import Fitted
from sparsepath.rls.leave_one_out.fitted_rows import mixture

SECOND_GO = 1e-2  # norm left of a column, over its norm, below which it is projected once more
OVERLAP = 1e-13  # what may be left of the chosen columns in a candidate, over its norm


@dataclass(frozen=True)
class Held:
    """A candidate judged on its own; ``age`` is the length of the history at the time."""

    age: int
    feature: int
    t: Floats
    square: float
    products: Floats


class Projected(Fitted):
    """A fitted model that takes columns of candidates, less their part in the chosen ones."""

    _held: Held | None = None

    def project(
        self, which: NDArray[np.intp], overlaps: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Take some columns, less their part in the chosen ones; t, squared norms, W'r."""
        columns = which, self.design.means[which], self.design.scales[which]
        if overlaps is not None:
            t = overlaps
        elif self.chosen:
            t = self.sum(Rows.load_overlaps, *columns)
        else:
            t = np.zeros((0, len(which)))
        squares, across = zip(*self.each(Rows.load_project, *columns, t), strict=True)
        return t, added(squares), added(across)

    def look_ahead(
        self, feature: int, columns: NDArray[np.intp], overlaps: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Z'u and X'(g u) of some columns; on the way, hold the candidate that is likely next.

        ``overlaps`` is its t, if it is known to the last bit.
        """
        if self.is_compiled:
            return self._take(feature, columns, overlaps)
        Zu, products = map(added, zip(*self.each(Rows.ahead, columns), strict=True))
        return Zu, products

    def hold(self, feature: int) -> Held:
        """Take one column, less its part in the chosen ones; at once if it is held already.

        It is projected twice if little is left of it, so that Z stays as good as new.
        """
        now = (len(self.history), feature)
        if self._held is None or (self._held.age, self._held.feature) != now:
            if self.is_compiled:
                self._take(feature, np.zeros(0, dtype=np.intp))
            else:
                self._held = None
                t = self._overlaps_of(feature)
                square, products = self._project_held(t)
                if square < SECOND_GO**2 * self.design.squares[feature]:
                    t, square, products = self._once_more(t)
                self._held = Held(*now, t, square, products)
        assert self._held is not None
        return self._held

    def _take(
        self, feature: int, columns: NDArray[np.intp], overlaps: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Hold a candidate, with compiled loops; return Z'u and X'(g u) of some columns.

        Where t is known, or t = R^-T X_S'x from the whole Gram matrix, Z is read once. Whether
        anything is left of the chosen columns, a mixture of them tells; it is taken off too.
        """
        design = self.design
        self._held = None
        if design.has_whole_gram:
            t = self.solve(design.gram_column(feature)[self.chosen], transposed=True)
        elif overlaps is not None:
            t = overlaps
        elif design.exchangeable:
            t = self._raw_overlaps_of(feature)
        else:
            t = self._overlaps_of(feature)

        parts = self.each(Rows.hold_less, *self._column(feature), t, columns)
        Zu, (square, along, mixed), products = map(added, zip(*parts, strict=True))
        proper = mixture(design.n_features)[: len(t)] @ self._due_to_penalty(t)
        if abs(mixed - proper) > OVERLAP * np.sqrt(square):
            t, square, along = self._once_more(t)
        self._held = Held(len(self.history), feature, t, square, np.atleast_1d(along))
        return Zu[:, None], products

    def _column(self, feature: int) -> tuple[NDArray[np.intp], Floats, Floats]:
        """What a block has to know of a column to take it: which, its mean and scale."""
        which = np.array([feature], dtype=np.intp)
        return which, self.design.means[which], self.design.scales[which]

    def _overlaps_of(self, feature: int) -> Floats:
        """Z'x of a candidate, whose column is then held."""
        return self.sum(Rows.hold_overlaps, *self._column(feature))

    def _raw_overlaps_of(self, feature: int) -> Floats:
        """Z'x of a candidate as a pass over X would give it: the same sums, to the last bit."""
        design = self.design
        parts = self.each(Rows.raw_overlaps, np.array([feature], dtype=np.intp))
        products, sums = map(added, zip(*parts, strict=True))
        return design.scales[feature] * (products - design.means[feature] * sums)

    def _due_to_penalty(self, t: Floats) -> Floats:
        """Z'w of w = x - Z t for t = Z'x: not zero, because of the penalty."""
        return self.alpha * self.solve(self.solve(t), transposed=True)

    def _once_more(self, t: Floats) -> tuple[Floats, float, Floats]:
        """Project the candidate held by what is left of t; its t, squared norm and w'r."""
        left = self.sum(Rows.held_overlaps) - self._due_to_penalty(t)
        square, products = self._project_held(left)
        return t + left, square, products

    def _project_held(self, t: Floats) -> tuple[float, Floats]:
        squares, products = zip(*self.each(Rows.project_held, t), strict=True)
        return float(added(squares)[0]), added(products)[0]
