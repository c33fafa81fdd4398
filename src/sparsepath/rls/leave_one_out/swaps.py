"""A forward search with exchanges at once, and the numbers of the models that it goes through.

Which moves are made is found in one compiled loop (``compiled_swaps.py``), or step by step until
loading that has been paid for; the rules are those of ``search.with_swaps``. Which of the two it
was must not be seen: all numbers are computed afresh from the moves, here.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred, CompiledForward
from sparsepath.rls.leave_one_out.fused_exchanges import STEEP
from sparsepath.rls.leave_one_out.numbers import Noted, Whole
from sparsepath.rls.leave_one_out.whole import Price
from sparsepath.rls.update import TIE_FLOOR, Update

SWAP_PRICE = Price("leave_one_out.compiled_swaps", "search")
MOVES = 8  # moves for which there is room, for every feature that is to be chosen


class CompiledSwaps(CompiledForward):
    """A search with exchanges; the parameters are those of ``CompiledForward``, without threads."""

    def moves(self, gain: float) -> list[Update] | None:
        """All moves, if an exchange must gain this part; None if rounding would decide on one."""
        from sparsepath.rls.leave_one_out.compiled_swaps import search

        size, features = len(self.subset), self._state[7]
        made = np.zeros(MOVES * (size + 1), dtype=np.intp)
        rows = np.empty_like(self._state[0])
        coefficients = np.zeros((size, len(features)))
        gains = (gain, TIE_FLOOR, STEEP, self._columns)
        given = (self._problem, self._state, self._change, self._space(), self._found, self._path)
        count, sure = search(size, *given, coefficients, gains, rows, made)
        if not sure:
            return None
        return [
            Update("add", move) if move >= 0 else Update("drop", -1 - move)
            for move in made[:count].tolist()
        ]


class Chain(Noted):
    """The models of a search that adds and drops, from the columns of their features.

    A drop goes back to where the feature came in, and the later ones come again. So the numbers of
    a model follow from the moves that led to it alone.
    """

    def __init__(self, design: Design, Y: Floats, alpha: float, size: int) -> None:
        super().__init__(design, Centred.of(design, Y), alpha, size)
        self.chosen: list[int] = []
        self._read: dict[int, Floats] = {}

    def read(self, features: Sequence[int]) -> None:
        """Have the columns of some features ready."""
        if more := [i for i in dict.fromkeys(features) if i not in self._read]:
            self._read.update(zip(more, columns_of(self._design, more), strict=True))

    def add(self, features: Sequence[int]) -> None:
        """Go on to models that have these features too."""
        if features:
            self.read(features)
            self.extend(np.array([self._read[i] for i in features]))
            self.chosen += features

    def drop(self, feature: int, then: Sequence[int] = ()) -> None:
        """Go on to the model without a feature, and then with others."""
        place = self.chosen.index(feature)
        rest = self.chosen[place + 1 :]
        del self.chosen[place:]
        self.size, self._known = place, min(self._known, place + 1)
        self._d[place:] = 0.0
        self.add([*rest, *then])

    def standing(self, sizes: Iterable[int]) -> list["Standing"]:
        """The models of some sizes on the way to the one as it is."""
        found = self.path(np.array(self.chosen, dtype=np.intp), False)
        y_mean = self._of.y_mean
        return [Standing(self._design, y_mean, found, self.chosen[:k], k) for k in sizes]


class Standing:
    """A model of which all numbers are known."""

    def __init__(
        self, design: Design, y_mean: Floats, found: Whole, chosen: list[int], k: int
    ) -> None:
        self._design, self._y_mean, self._found, self._k = design, y_mean, found, k
        self.chosen, self.error = chosen, float(found.errors[k])
        self.empty_error = float(found.errors[0])

    def standard_error(self) -> float:
        """Standard error of ``error``."""
        return float(self._found.errors_se[self._k])

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        return self._found.coef[self._k, : self._k]

    def intercept(self) -> Floats:
        """The constant term; a sum over the features of this size, whatever comes later."""
        return np.asarray(self._y_mean - self._design.means[self.chosen] @ self.coef())


def told(chain: Chain, moves: Sequence[Update]) -> Iterator[Standing]:
    """The empty model, and the model after each of the moves; the chain is empty at first."""
    chain.read([move.feature for move in moves])
    places = [i for i, move in enumerate(moves) if move.action == "drop"]
    for begin, end in pairwise((0, *places, len(moves))):
        first, added = len(chain.chosen), [move.feature for move in moves[begin:end]]
        if begin:
            first -= 1
            chain.drop(added[0], added[1:])
        else:
            chain.add(added)
        yield from chain.standing(range(first, len(chain.chosen) + 1))
