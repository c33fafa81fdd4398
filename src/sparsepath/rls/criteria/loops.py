"""Compiled loops of a loss: one pass over P X judges all candidates of a block of rows.

A loss that has such loops carries them (``Criterion.cached``). P X is kept by
``leave_one_out/cache.py``, a row per column of X, contiguous along the samples.
"""

from typing import NamedTuple, Protocol

import numpy as np

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


class Counting:
    """Mistakes of +-1 targets."""

    signed = True

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


class Summing:
    """Absolute residuals."""

    signed = False

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
