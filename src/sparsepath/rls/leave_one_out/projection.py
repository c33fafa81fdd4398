"""Columns of candidates, less their part in the chosen ones, as the blocks of rows keep them.

With the letters of ``model.py``: t = Z'x, w = x - Z t. Several candidates at a time are judged and
forgotten. A single one is held: if it is added next, nothing has to be computed again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.leave_one_out.block import Rows, mixture
from sparsepath.rls.leave_one_out.fitted import Fitted

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


class Candidates:
    """What is held of the candidates of one state, and how it is come by."""

    def __init__(self) -> None:
        self._held: Held | None = None

    def project(
        self, state: Fitted, which: NDArray[np.intp], overlaps: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Take some columns, less their part in the chosen ones; t, squared norms, W'r."""
        columns = which, state.design.means[which], state.design.scales[which]
        if overlaps is not None:
            t = overlaps
        elif state.chosen:
            t = state.sum(Rows.load_overlaps, *columns)
        else:
            t = np.zeros((0, len(which)))
        squares, across = zip(*state.each(Rows.load_project, *columns, t), strict=True)
        return t, added(squares), added(across)

    def look_ahead(
        self,
        state: Fitted,
        feature: int,
        columns: NDArray[np.intp],
        overlaps: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Z'u and X'(g u) of some columns; on the way, hold the candidate that is likely next.

        ``overlaps`` is its t, if it is known to the last bit.
        """
        if state.is_compiled:
            return self._take(state, feature, columns, overlaps)
        Zu, products = map(added, zip(*state.each(Rows.ahead, columns), strict=True))
        return Zu, products

    def hold(self, state: Fitted, feature: int) -> Held:
        """Take one column, less its part in the chosen ones; at once if it is held already.

        It is projected twice if little is left of it, so that Z stays as good as new.
        """
        now = (len(state.history), feature)
        if self._held is None or (self._held.age, self._held.feature) != now:
            if state.is_compiled:
                self._take(state, feature, np.zeros(0, dtype=np.intp))
            else:
                self._held = None
                t = _overlaps_of(state, feature)
                square, products = _project_held(state, t)
                if square < SECOND_GO**2 * state.design.squares[feature]:
                    t, square, products = _once_more(state, t)
                self._held = Held(*now, t, square, products)
        assert self._held is not None
        return self._held

    def _take(
        self,
        state: Fitted,
        feature: int,
        columns: NDArray[np.intp],
        overlaps: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Hold a candidate, with compiled loops; return Z'u and X'(g u) of some columns.

        Where t is known, or t = R^-T X_S'x from the whole Gram matrix, Z is read once. Whether
        anything is left of the chosen columns, a mixture of them tells; it is taken off too.
        """
        design = state.design
        self._held = None
        if design.has_whole_gram:
            t = state.solve(design.gram_column(feature)[state.chosen], transposed=True)
        elif overlaps is not None:
            t = overlaps
        elif design.exchangeable:
            t = _raw_overlaps_of(state, feature)
        else:
            t = _overlaps_of(state, feature)

        parts = state.each(Rows.hold_less, *_column(state, feature), t, columns)
        Zu, (square, along, mixed), products = map(added, zip(*parts, strict=True))
        proper = mixture(state.design.n_features)[: len(t)] @ _due_to_penalty(state, t)
        if abs(mixed - proper) > OVERLAP * np.sqrt(square):
            t, square, along = _once_more(state, t)
        self._held = Held(len(state.history), feature, t, square, np.atleast_1d(along))
        return Zu[:, None], products


def _column(state: Fitted, feature: int) -> tuple[NDArray[np.intp], Floats, Floats]:
    """What a block has to know of a column to take it: which, its mean and scale."""
    which = np.array([feature], dtype=np.intp)
    return which, state.design.means[which], state.design.scales[which]


def _overlaps_of(state: Fitted, feature: int) -> Floats:
    """Z'x of a candidate, whose column is then held."""
    return state.sum(Rows.hold_overlaps, *_column(state, feature))


def _raw_overlaps_of(state: Fitted, feature: int) -> Floats:
    """Z'x of a candidate as a pass over X would give it: the same sums, to the last bit."""
    design = state.design
    parts = state.each(Rows.raw_overlaps, np.array([feature], dtype=np.intp))
    products, sums = map(added, zip(*parts, strict=True))
    return design.scales[feature] * (products - design.means[feature] * sums)


def _due_to_penalty(state: Fitted, t: Floats) -> Floats:
    """Z'w of w = x - Z t for t = Z'x: not zero, because of the penalty."""
    return state.alpha * state.solve(state.solve(t), transposed=True)


def _once_more(state: Fitted, t: Floats) -> tuple[Floats, float, Floats]:
    """Project the candidate held by what is left of t; its t, squared norm and w'r."""
    left = state.sum(Rows.held_overlaps) - _due_to_penalty(state, t)
    square, products = _project_held(state, left)
    return t + left, square, products


def _project_held(state: Fitted, t: Floats) -> tuple[float, Floats]:
    squares, products = zip(*state.each(Rows.project_held, t), strict=True)
    return float(added(squares)[0]), added(products)[0]
