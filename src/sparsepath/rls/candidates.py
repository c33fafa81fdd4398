"""Columns of candidates, less their part in the chosen ones, as the blocks of rows keep them.

With the letters of ``state.py``: t = Z'x, w = x - Z t. Several candidates at a time are judged and
forgotten. A single one is held: if it is added next, nothing has to be computed again.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.rls.rows import Rows, added

if TYPE_CHECKING:
    from sparsepath.rls.state import State

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
        self._ahead: tuple[int, int, Floats] | None = None

    def project(
        self, state: "State", which: NDArray[np.intp], overlaps: Floats | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Take some columns, less their part in the chosen ones; t, squared norms, W'r."""

        def load(rows: Rows) -> None:
            rows.load(which, state.design.means[which], state.design.scales[which])

        def products(rows: Rows) -> Floats:
            load(rows)
            return rows.Z.T @ rows.W

        def project(rows: Rows) -> tuple[Floats, Floats]:
            load(rows)
            return rows.project(t)

        if overlaps is not None:
            t = overlaps
        elif state.chosen:
            t = state.sum(products)
        else:
            t = np.zeros((0, len(which)))
        squares, across = zip(*state.each(project), strict=True)
        return t, added(squares), added(across)

    def look_ahead(
        self, state: "State", feature: int, columns: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """Take the candidate that is likely to be held next; return Z'u and X'(g u) of columns.

        Its Z'w comes with Z'u from one reading of Z; with the Gram matrix it is held at once.
        """
        if _has_gram(state):
            _, Zu, products = self._hold_by_gram(state, feature, columns)
            return Zu, products

        def work(rows: Rows) -> tuple[Floats, Floats]:
            return _take(state, rows, feature, with_u=True), rows.column_products(columns)

        both, products = map(added, zip(*state.each(work), strict=True))
        self._held = None
        self._ahead = (len(state.history), feature, both[:, 0].copy())
        return both[:, 1:], products

    def hold(self, state: "State", feature: int) -> Held:
        """Take one column, less its part in the chosen ones; at once if it is held already.

        It is projected twice if little is left of it, so that Z stays as good as new.
        """
        now = (len(state.history), feature)
        if self._held is not None and (self._held.age, self._held.feature) == now:
            return self._held
        if _has_gram(state):
            return self._hold_by_gram(state, feature, np.zeros(0, dtype=np.intp))[0]
        if self._ahead is not None and self._ahead[:2] == now:
            t = self._ahead[2]
        else:
            t = state.sum(lambda rows: _take(state, rows, feature, with_u=False))[:, 0].copy()
        self._ahead = None
        square, products = _project_held(state, t)
        if square < SECOND_GO**2 * state.design.squares[feature]:
            t, square, products = _once_more(
                state, t, state.sum(lambda rows: rows.overlaps(rows.held))
            )
        self._held = Held(*now, t, square, products)
        return self._held

    def _hold_by_gram(
        self, state: "State", feature: int, columns: NDArray[np.intp]
    ) -> tuple[Held, Floats, Floats]:
        """Hold a candidate by its t = R^-T X_S'x of the Gram matrix; with it Z'u, X'(g u).

        One reading of Z projects it and tells what is left of t, which is taken off if it shows.
        """
        t = state.solve(state.design.gram_column(feature)[state.chosen], transposed=True)
        which, mean, scale = _column(state, feature)
        parts = state.each(
            lambda rows: (*rows.hold_less(which, mean, scale, t), rows.column_products(columns))
        )
        both, squares, across, products = map(added, zip(*parts, strict=True))
        square, along = float(squares[0]), across[0]
        if np.abs(_left(state, t, both[:, 0])).max(initial=0.0) > OVERLAP * np.sqrt(square):
            t, square, along = _once_more(state, t, both[:, 0])
        self._held = Held(len(state.history), feature, t, square, along)
        return self._held, both[:, 1:], products


def _has_gram(state: "State") -> bool:
    """Whether the whole Gram matrix is at hand, and the loops are compiled."""
    return state.design.has_whole_gram and state.rows[0].is_compiled


def _left(state: "State", t: Floats, Zw: Floats) -> Floats:
    """What is left of t in w = x - Z t: Z'w, less what belongs there because of the penalty."""
    return Zw - state.alpha * state.solve(state.solve(t), transposed=True)


def _once_more(state: "State", t: Floats, Zw: Floats) -> tuple[Floats, float, Floats]:
    """Project the candidate held by what is left; its t, squared norm and w'r."""
    left = _left(state, t, Zw)
    square, products = _project_held(state, left)
    return t + left, square, products


def _column(state: "State", feature: int) -> tuple[NDArray[np.intp], Floats, Floats]:
    which = np.array([feature], dtype=np.intp)
    return which, state.design.means[which], state.design.scales[which]


def _take(state: "State", rows: Rows, feature: int, *, with_u: bool) -> Floats:
    return rows.hold(*_column(state, feature), with_u)


def _project_held(state: "State", t: Floats) -> tuple[float, Floats]:
    squares, products = zip(*state.each(lambda rows: rows.project_held(t)), strict=True)
    return float(added(squares)[0]), added(products)[0]
