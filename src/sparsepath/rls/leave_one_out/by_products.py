"""A forward search by the products of all columns and bounds (``compiled_parts.py``).

For tall data, of which the products are small, and for many parts of the same rows, which share
them. No columns are copied but those chosen, and some of those that were judged.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.forms import KEPT
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.fused import ROUNDING
from sparsepath.rls.leave_one_out.numbers import ONCE_MORE, Whole, in_units
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING

KNOWN_WELL = 1e-6  # rounding of a product over the pivot up to which the Gram matrix may serve
SURELY = 1e-8  # and up to which what is followed may judge a candidate; the margin is wide
TRUSTED = 0.1  # and up to which it may bound the criterion
PRODUCT_GUARDS = (ROOM, TIE, TIE_FLOOR, VANISHED, ROUNDING, KNOWN_WELL, SURELY, TRUSTED, ONCE_MORE)

# G, H, e, f, rows of G, features known badly, products with y: see ``compiled_parts.bounded``.
Products = tuple[Floats, Floats, Floats, Floats, NDArray[np.intp], NDArray[np.intp], Floats]


def by_gram(design: Design) -> tuple[Floats, Products]:
    """All of the data for a search by products: the raw columns, and the Gram matrix."""
    n = design.n_features
    none, zeros = np.zeros((0, 0)), np.zeros(n)
    rows, again = np.arange(n), np.zeros(0, dtype=np.intp)
    return design.by_feature(), (design.products, none, zeros, zeros, rows, again, none)


class ProductSearch:
    """The search and what it has found.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    size : int
        How many features to choose at most.
    allowed : array of bool
        The columns that may be chosen.
    data : pair
        The raw columns, features by samples, and what their products are made of.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        size: int,
        allowed: NDArray[np.bool_],
        data: tuple[Floats, Products],
    ) -> None:
        of, (X, products) = Centred.of(design, Y), data
        (T, m), n = of.y.shape, design.n_features
        self._design, self._of = design, of
        places, width = min(KEPT, n), m + size
        errors, around = np.zeros((2, size + 1))
        coef = np.zeros((size + 1, size, T))
        self._path = (np.full(size, -1, dtype=np.intp), errors, around, coef)
        stand = (design.means, design.left, design.scales, design.squares, design.sizes)
        given = (X, np.sqrt(design.weights), stand, products, of.y)
        self._given = (*given, design.weights, float(alpha), of.floor, PRODUCT_GUARDS, self._path)
        # Chosen, -1: not begun; the place in ``held`` that is next; if nobody is left.
        self._at = np.array([-1, 0, 0])
        factors = np.zeros((size, n)), np.zeros((size, n)), np.zeros(n), np.zeros((T, n))
        owner, place, done = np.full(places, -1), np.full(n, -1), np.zeros(n, dtype=np.intp)
        turns = np.zeros((T, m)), np.zeros(T), np.zeros((T, n)), np.zeros((T, n)), np.full(n, -1.0)
        self._state = (
            self._at,
            np.zeros(4),  # the criterion of the empty model, y'y, r'r, changes of w
            np.zeros((T, width)),
            np.zeros((size, width)),
            of.p.copy(),
            np.zeros((T, m)),
            allowed & ~design.constant,
            (*factors, design.squares.copy()),
            (np.zeros((places, width)), owner, place, done),
            (np.zeros((n, 4)), np.zeros(m)),
            turns,
        )
        self.vanished = False

    @property
    def basis(self) -> Floats:
        """The rows of the path as in ``numbers.Noted``, which the search makes on its way."""
        return self._state[3]

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return max(0, int(self._at[0]))

    def advance(self, until: int) -> bool:
        """Choose features until there are so many; whether there may be more."""
        from sparsepath.rls.leave_one_out.compiled_parts import bounded

        self.vanished = bool(bounded(until, *self._given, self._state))
        return not (self.vanished or self._at[2])

    def whole(self) -> Whole:
        """The whole path."""
        self.advance(len(self._path[0]))
        return self.path()

    def path(self) -> Whole:
        """The path as far as it goes."""
        return in_units(self._design, self._of, self.size, self.vanished, *self._path)

    def in_parts(self, least: int) -> Iterator[Whole]:
        """The path as far as it is known, every few steps; at first to size ``least`` at least."""
        size, design, more = len(self._path[0]), self._design, True
        steps = max(1, TUNING.told_numbers // (design.n_samples * design.n_features))
        while more:
            until = min(size, max(self.size + steps, least))
            more = self.advance(until) and self.size < size
            yield self.path()
