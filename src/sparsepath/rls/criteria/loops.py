"""Compiled loops of a loss: one pass over P X judges all candidates.

A loss that has such loops carries them: ``Criterion.cached`` for a block of rows, where P X is kept
by ``leave_one_out/cache.py``, and ``Criterion.carried`` for ``leave_one_out/fused_losses.py``. A
column of X is a row of P X, contiguous along the samples.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats

Pending = tuple[Floats, Floats] | None


class Vectors(NamedTuple):
    """A block of rows as it stands, for one target; ``y`` are the signs of the target.

    The letters are those of ``leave_one_out/model.py``.
    """

    y: Floats
    r: Floats
    p: Floats
    g: Floats
    v: Floats


class Trials(NamedTuple):
    """For every candidate: its product with the newest column q, c/pivot, 1/pivot, blur."""

    q: Floats
    new: Floats
    tau: Floats
    inverse: Floats
    blur: Floats


class Loops(Protocol):
    """What a loss can do with P X.

    Attributes
    ----------
    signed : bool
        Whether the rows of P X carry the signs of the target.
    """

    signed: bool

    def score(
        self,
        columns: Floats,
        pending: Pending,
        changed: bool,
        rows: Vectors,
        trials: Trials,
        room: float,
    ) -> tuple[Floats, Pending]:
        """The share of the criterion with each column added; infinite without room in p.

        P X becomes P X - new q', unless that is left pending for the next time.
        """

    def measure(
        self, rows: Vectors, about: float, blur: float, room: float, losses: Floats
    ) -> tuple[float, ...] | None:
        """The first sums of ``leave_one_out.compiled.measure``; None: without a loop."""


class Carried(NamedTuple):
    """Candidates as rows of P X, and the change f D that has yet to be taken off them.

    ``which`` are their places among the rows, and ``f`` is empty if there is no change. For each:
    c/pivot (per target), 1/pivot, blur. Of the samples: targets, residuals (T x m), and p, g, v.
    """

    rows: Floats
    which: NDArray[np.intp]
    D: Floats
    f: Floats
    tau: Floats
    inverse: Floats
    blur: Floats
    Y: Floats
    r: Floats
    p: Floats
    g: Floats
    v: Floats


class Judging(Protocol):
    """What a loss can do with candidates as they lie in memory."""

    def judge(self, low: int, high: int, given: Carried, room: float, out: Floats) -> None:
        """The criterion with each of the candidates from ``low`` to ``high`` added."""


class Counting:
    """Mistakes of +-1 targets."""

    signed = True

    def judge(self, low: int, high: int, given: Carried, room: float, out: Floats) -> None:
        """The weight of the mistakes with each candidate added."""
        from sparsepath.rls.criteria.compiled import judge_wrong, judge_wrong_class

        rows, which, D, f, tau, inverse, blur, Y, r, p, g, v = given
        if len(r) == 1:
            of = (D, f, tau[:, 0].copy(), inverse, blur, Y[:, 0].copy(), r[0], p, g, v)
            judge_wrong(rows, which, low, high, *of, room, out)
        else:
            own = Y.argmax(1).astype(np.float64)
            of = (D, f, tau, inverse, blur, own, r, p, g, v)
            judge_wrong_class(rows, which, low, high, *of, room, out)

    def score(
        self,
        columns: Floats,
        pending: Pending,
        changed: bool,
        rows: Vectors,
        trials: Trials,
        room: float,
    ) -> tuple[Floats, Pending]:
        """The weight of the mistakes with each column added."""
        from sparsepath.rls.criteria.compiled import count_wrong, count_wrong_writing

        out = np.empty(len(trials.new))
        q, r = rows.y * trials.q, rows.y * rows.r
        earlier = (q, np.zeros(len(trials.new))) if pending is None else pending
        # Every other change is left to be made with the next: writing takes as long as reading.
        write = changed and pending is not None
        count = count_wrong_writing if write else count_wrong
        vectors, numbers = (r, rows.p, rows.g, rows.v), (trials.tau, trials.inverse, trials.blur)
        count(columns, *earlier, q, trials.new, *vectors, *numbers, room, out)
        if changed:
            pending = None if write else (q, trials.new)
        return out, pending

    def measure(
        self, rows: Vectors, about: float, blur: float, room: float, losses: Floats
    ) -> tuple[float, ...] | None:
        """Sums over the mistakes of the model as it stands."""
        from sparsepath.rls.criteria.compiled import measure_wrong

        sums: tuple[float, ...] = measure_wrong(*rows, about, blur, room, losses)
        return sums


class Rounding:
    """Residuals by the loss of Huber, with its ``delta``."""

    def __init__(self, delta: float) -> None:
        self._delta = delta

    def judge(self, low: int, high: int, given: Carried, room: float, out: Floats) -> None:
        """The weighted sum of losses with each candidate added."""
        from sparsepath.rls.criteria.compiled import judge_huber

        rows, which, D, f, tau, inverse, _, _, r, p, g, v = given
        scale = np.divide(1.0, g, where=g > 0, out=np.zeros(len(g)))
        of = (D, f, tau, inverse, self._delta, r, p, scale, v)
        judge_huber(rows, which, low, high, *of, room, out)


class Summing:
    """Absolute residuals."""

    signed = False

    def judge(self, low: int, high: int, given: Carried, room: float, out: Floats) -> None:
        """The weighted sum of absolute residuals with each candidate added."""
        from sparsepath.rls.criteria.compiled import judge_absolute

        rows, which, D, f, tau, inverse, _, _, r, p, g, v = given
        v = np.divide(v, g, where=g > 0, out=np.zeros(len(g)))
        judge_absolute(rows, which, low, high, D, f, tau, inverse, r, p, v, room, out)

    def score(
        self,
        columns: Floats,
        pending: Pending,
        changed: bool,
        rows: Vectors,
        trials: Trials,
        room: float,
    ) -> tuple[Floats, Pending]:
        """The weighted sum of absolute residuals with each column added."""
        from sparsepath.rls.criteria.compiled import sum_absolute

        out = np.empty(len(trials.new))
        v = np.divide(rows.v, rows.g, where=rows.g > 0, out=np.zeros(len(rows.g)))
        sum_absolute(
            columns, trials.q, trials.new, rows.r, rows.p, v, trials.tau, trials.inverse, room, out
        )
        return out, None

    def measure(
        self, rows: Vectors, about: float, blur: float, room: float, losses: Floats
    ) -> tuple[float, ...] | None:
        """There is no loop."""
        return None
