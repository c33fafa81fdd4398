"""The columns of the data with what the chosen ones leave of them, in memory; see ``fused.py``.

A row holds z, of the length of the samples, and behind it b, one coefficient for every feature
that is chosen. All rows follow a change in one pass, which also takes the sums that are asked for.
"""

import copy
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.tuning import TUNING

PARTS = 4  # parts that every thread takes in turn
NO_CHANGE = -2
ADDITION = -1


@dataclass(frozen=True)
class CarriedChange:
    """What the rows have to follow: row - f D.

    For an addition f is the product of the row with ``dual``; for a removal minus the row's
    coefficient at ``place``. The squares of a row and alpha lose f^2 ``pivot``, its products with
    the targets f ``products``.
    """

    D: Floats
    dual: Floats
    pivot: float
    products: Floats
    place: int = ADDITION


class CarriedColumns:
    """Rows [z, b] of all columns, and the change that they have yet to follow.

    Parameters
    ----------
    design : Design
        The data; all columns are copied.
    room : int
        For how many coefficients there is room at first.
    compiled : bool
        Whether there is enough to do for compiled loops.

    Attributes
    ----------
    rows : array of shape (n, m + room)
    pending : CarriedChange or None
    """

    def __init__(self, design: Design, room: int, compiled: bool) -> None:
        self.design, self.compiled = design, compiled
        m, n = design.n_samples, design.n_features
        self.rows = np.zeros((n, m + room))
        fill(self.rows[:, :m], design, np.arange(n))
        self.pending: CarriedChange | None = None
        self._f = np.zeros(n)
        self.borrowed = False  # whether the rows are somebody else's, who follows all changes
        self._borrowers: weakref.WeakSet[CarriedColumns] = weakref.WeakSet()
        self._apart: tuple[int, Floats] | None = None

    def sums(self, live: NDArray[np.bool_], V: Floats, W: Floats) -> tuple[Floats, Floats]:
        """Follow the pending change, then rows V' and rows^2 W', with one pass over the rows.

        V and W are as wide as what is in use of the rows; W has two rows. Borrowed rows are left as
        they are: the change stays pending. Rows that are not live may be left out.
        """
        write = not self.borrowed
        if write and self.pending is not None:
            self.own()
        out = (self._compiled_sums if self.compiled else self._plain_sums)(live, V, W, write)
        if write:
            self.pending = None
        return out

    def _plain_sums(
        self, live: NDArray[np.bool_], V: Floats, W: Floats, write: bool
    ) -> tuple[Floats, Floats]:
        rows, change = self.rows[:, : V.shape[1]], self.pending
        if change is not None:
            if change.place == ADDITION:
                self._f = rows @ change.dual
            else:
                self._f = -rows[:, self.design.n_samples + change.place]
            moved = self._f[:, None] * change.D
            rows = np.subtract(rows, moved, out=rows if write else moved)
        return rows @ V.T, np.square(rows) @ W.T

    def _compiled_sums(
        self, live: NDArray[np.bool_], V: Floats, W: Floats, write: bool
    ) -> tuple[Floats, Floats]:
        from sparsepath.rls.leave_one_out.compiled_fused import follow

        n = len(self.rows)
        products, squares = np.zeros((n, len(V))), np.zeros((n, 2))
        given = (live, *self._change(V.shape[1]), write)
        sums = (np.ascontiguousarray(V), W[0].copy(), W[1].copy())

        def work(low: int, high: int) -> None:
            follow(self.rows, low, high, *given, *sums, self._f, products, squares)

        self.share_out(work, n)
        return products, squares

    def judged_by(
        self, judging: tuple[Any, ...], S: Floats, C: Floats, blur: Floats, follow: bool
    ) -> Floats:
        """Follow the pending change as ``sums`` does, and judge all rows by a loss meanwhile.

        S and C are the pivots and the products with the targets, T x n, and lose what the change
        takes off them if they are to ``follow`` it.
        """
        from sparsepath.rls.leave_one_out.compiled_losses import sweep_rows

        write, change = not self.borrowed, self.pending
        if write and change is not None:
            self.own()
        m, n = self.design.n_samples, len(self.rows)
        pivot, products = 0.0, np.zeros(len(C))
        if change is not None and follow:
            pivot, products = change.pivot, change.products
        width = self.rows.shape[1] if change is None else len(change.D)
        given = (m, *self._change(width), write, pivot, products, judging, S, C, blur)
        errors = np.empty(n)

        def work(low: int, high: int) -> None:
            sweep_rows(self.rows, low, high, *given, self._f, errors)

        self.share_out(work, n)
        if write:
            self.pending = None
        return errors

    def _change(self, width: int) -> tuple[Floats, Floats, int]:
        """The pending change for compiled loops: D, dual, and the place in a row."""
        change = self.pending
        if change is None:
            nothing = np.zeros(width)
            return nothing, nothing, NO_CHANGE
        place = change.place if change.place < 0 else self.design.n_samples + change.place
        return change.D, change.dual, place

    def judged(
        self,
        some: slice | NDArray[np.intp],
        inverse: Floats,
        tau: Floats,
        targets: Floats,
        p: Floats,
    ) -> Floats:
        """Sums of ((r - z tau) / (p - z^2 inverse))^2 for some rows; infinite without room in p."""
        m = self.design.n_samples
        if self.compiled:
            from sparsepath.rls.leave_one_out.compiled_fused import judge

            rows, D, f = self.as_they_lie()
            out = np.empty(len(tau))

            def work(low: int, high: int) -> None:
                judge(rows, some, low, high, D, f, tau, inverse, targets, p, ROOM, out)

            self.share_out(work, len(tau))
            return out
        z = self.some(some)
        left = z * z
        left *= -inverse[:, None]
        left += p
        full = np.count_nonzero(left <= ROOM)
        tight = left.min(1) <= ROOM if full else slice(0)
        if full:
            np.maximum(left, ROOM, out=left)
        out = np.zeros(len(tau))
        for r, step in zip(targets, tau.T, strict=True):
            e = z * -step[:, None]
            e += r[:m]
            e /= left
            out += np.vecdot(e, e)
        out[tight] = np.inf
        return out

    def some(self, which: slice | NDArray[np.intp]) -> Floats:
        """What is left of some columns, less the pending change."""
        m, change = self.design.n_samples, self.pending
        z = self.rows[which, :m]
        return z if change is None else z - self._f[which, None] * change.D[:m]

    def as_they_lie(self) -> tuple[Floats, Floats, Floats]:
        """The rows, and the pending change as D and f, which is empty if there is none."""
        change = self.pending
        if change is None:
            return self.rows, np.zeros(self.rows.shape[1]), np.zeros(0)
        return self.rows, change.D, self._f

    def share_out(self, work: Callable[[int, int], None], n: int) -> None:
        """Share out the rows among the threads; each row is computed in the same way anywhere."""
        threads, width = self.design.threads, self.rows.shape[1]
        step = max(1, TUNING.thread_numbers // width, -(-n // (PARTS * threads.n_threads)))
        step += step % 2  # some loops take two at a time
        parts = [(i, min(n, i + step)) for i in range(0, n, step)]
        threads.map(lambda part: work(*part), parts, n * width)

    # Rows that are shared -----------------------------------------------------------------------

    def duplicate(self) -> "CarriedColumns":
        """The same rows, lent until either side changes them."""
        other = copy.copy(self)
        other.borrowed, other._borrowers = True, weakref.WeakSet()
        self._borrowers.add(other)
        return other

    def own(self) -> None:
        """Make sure that nobody else sees what becomes of the rows."""
        if self.borrowed or len(self._borrowers):
            self.rows = self.rows.copy()
            self._borrowers = weakref.WeakSet()
            self.borrowed = False
        if self._apart is not None:
            feature, row = self._apart
            self.rows[feature, : len(row)] = row
            self._apart = None

    def put_back(self, feature: int, row: Floats) -> None:
        """The row of a feature that is no longer chosen; borrowed rows do not have it."""
        if self.borrowed:
            self._apart = feature, row
        else:
            self.own()
            self.rows[feature, : len(row)] = row

    def lacks(self, allowed: NDArray[np.bool_]) -> bool:
        """Whether borrowed rows lack one of those allowed."""
        return self._apart is not None and bool(allowed[self._apart[0]])

    def widen(self, more: int) -> None:
        """Make room for more coefficients."""
        self.own()
        self.rows = np.pad(self.rows, ((0, 0), (0, more)))


def fill(rows: Floats, design: Design, features: NDArray[np.intp]) -> None:
    """Some columns as they stand into rows, as many at once as stay in the cache."""
    n, m = rows.shape
    step = max(1, TUNING.thread_numbers // m)

    def put(low: int) -> None:
        rows[low : low + step] = columns_of(design, features[low : low + step])

    design.threads.map(put, range(0, n, step), m * n)


def columns_of(design: Design, features: Sequence[int] | NDArray[np.intp]) -> Floats:
    """Some columns as they stand, centred, scaled and weighted, as rows."""
    which = np.asarray(features, dtype=np.intp)
    parts = [block.columns(which).T for block in design.blocks]
    out = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    out -= design.means[which, None]
    if design.left[which].any():
        out -= design.left[which, None]
    if not design.uniform:
        out *= np.sqrt(design.weights)
    if design.standardize:
        out *= design.scales[which, None]
    return out
