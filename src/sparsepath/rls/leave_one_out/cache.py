"""P X of a block of rows in memory: every candidate is judged in one pass over it.

The letters are those of ``model.py``. Rows of the cache are columns of X, less their part in the
chosen ones, contiguous along the samples.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.rls.criteria.loops import Loops, Pending, Trials
from sparsepath.rls.criteria.losses import ROOM

if TYPE_CHECKING:
    from sparsepath.rls.leave_one_out.block import Rows

BATCH = 32  # columns of P X computed at once


class Cache:
    """P X of one block of rows, one row per feature that is not constant.

    The rows take on the signs of the target if the loss asks for it. Rows of zeros make their
    number a multiple of what the compiled loop takes at once.

    Parameters
    ----------
    rows : Rows
        The block of rows; W of it is used as a workplace.
    loops : Loops
        Those of the loss.
    means, scales : arrays of shape (n,)
        Of the columns.
    t : array of shape (n, k)
        X'Z.
    """

    def __init__(
        self, rows: "Rows", loops: Loops, means: Floats, scales: Floats, t: Floats
    ) -> None:
        from sparsepath.rls.criteria.compiled import AT_ONCE

        n = len(rows.live)
        signs = rows.Y[:, 0] if loops.signed else 1.0
        self._loops = loops
        self._columns = np.zeros((n + -n % AT_ONCE, len(rows.g)))
        self._pending: Pending = None
        for i in range(0, n, BATCH):
            part = rows.live[i : i + BATCH]
            rows.load(part, means[part], scales[part])
            rows.project(np.asfortranarray(t[part].T))
            np.multiply(rows.W.T, signs, out=self._columns[i : i + len(part)])

    def score(
        self, rows: "Rows", change: str, new: Floats, tau: Floats, inverse: Floats, blur: Floats
    ) -> Floats:
        """Bring P X up to the last change and return the block's share with each feature added.

        ``new`` holds the products of the columns with the column of Z that came or went.
        """
        n = len(rows.live)
        given = np.zeros((4, len(self._columns)))
        given[:, :n] = np.take([new, tau, inverse, blur], rows.live, axis=1)
        q = rows.Z[:, -1] if change == "add" else rows.released
        shares = np.full(len(new), np.inf)
        found, self._pending = self._loops.score(
            self._columns, self._pending, change != "none", rows.vectors, Trials(q, *given), ROOM
        )
        shares[rows.live] = found[:n]
        return shares

    def squares(
        self, rows: "Rows", features: NDArray[np.intp], tau: Floats, inverse: Floats
    ) -> Floats:
        """The block's share of the squared criterion with each of some features added.

        As P X stands since ``score``; for the losses that count.
        """
        from sparsepath.rls.leave_one_out.compiled import sum_squares

        out, r = np.empty(len(features)), rows.Y[:, 0] * rows.r[:, 0]
        places = np.searchsorted(rows.live, features)
        for i in range(0, len(places), BATCH):
            part = slice(i, i + BATCH)
            Z = self._columns[places[part]]
            if self._pending is not None:
                q, new = self._pending
                Z -= np.outer(new[places[part]], q)
            sum_squares(Z, r, rows.p, rows.share, tau[part], inverse[part], ROOM, out[part])
        return out
