"""P X of a block of rows in memory: every candidate is judged in one pass over it.

The letters are those of ``model.py``. Rows of the cache are columns of X, less their part in the
chosen ones, contiguous along the samples.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import Loops, Pending, Trials, Vectors
from sparsepath.rls.criteria.losses import ROOM

COLUMNS_AT_ONCE = 32  # columns of P X computed at once


class Cache:
    """P X of one block of rows, one row per feature that is not constant.

    The rows take on the signs of the target if the loss asks for it. Rows of zeros make their
    number a multiple of what the compiled loop takes at once.

    Parameters
    ----------
    loops : Loops
        Those of the loss.
    live : array of int
        The features that are not constant.
    y : array of shape (m,)
        The signs of the target.
    """

    def __init__(self, loops: Loops, live: NDArray[np.intp], y: Floats) -> None:
        from sparsepath.rls.criteria.compiled import FEATURES_AT_ONCE

        n = len(live)
        self._loops, self._live = loops, live
        self._signs = y if loops.signed else 1.0
        self._columns = np.zeros((n + -n % FEATURES_AT_ONCE, len(y)))
        self._pending: Pending = None

    def put(self, first: int, W: Floats) -> None:
        """Columns of P X, from a place among those that are not constant on."""
        np.multiply(W.T, self._signs, out=self._columns[first : first + W.shape[1]])

    def score(
        self,
        rows: Vectors,
        q: Floats,
        changed: bool,
        new: Floats,
        tau: Floats,
        inverse: Floats,
        blur: Floats,
    ) -> Floats:
        """Bring P X up to the last change and return the block's share with each feature added.

        ``q`` is the column of Z that came or went, ``new`` its products with all columns.
        """
        n = len(self._live)
        given = np.zeros((4, len(self._columns)))
        given[:, :n] = np.take([new, tau, inverse, blur], self._live, axis=1)
        shares = np.full(len(new), np.inf)
        found, self._pending = self._loops.score(
            self._columns, self._pending, changed, rows, Trials(q, *given), ROOM
        )
        shares[self._live] = found[:n]
        return shares

    def squares(
        self,
        rows: Vectors,
        share: Floats,
        features: NDArray[np.intp],
        tau: Floats,
        inverse: Floats,
    ) -> Floats:
        """The block's share of the squared criterion with each of some features added.

        As P X stands since ``score``; ``share`` is what the square of r / p weighs.
        """
        from sparsepath.rls.leave_one_out.compiled import sum_squares

        out, r = np.empty(len(features)), self._signs * rows.r
        places = np.searchsorted(self._live, features)
        for i in range(0, len(places), COLUMNS_AT_ONCE):
            part = slice(i, i + COLUMNS_AT_ONCE)
            Z = self._columns[places[part]]
            if self._pending is not None:
                q, new = self._pending
                Z -= np.outer(new[places[part]], q)
            sum_squares(Z, r, rows.p, share, tau[part], inverse[part], ROOM, out[part])
        return out
