"""A forward search in compiled loops (``compiled_forward.py``), as far at a time as is wanted.

What it finds is which features to take. Its sums may be rounded in one way or another, as compiled
loops are inlined or not; the numbers on a path are computed in NumPy (``whole.py``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import Crew
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import LIE_AS, Design
from sparsepath.rls.leave_one_out.carried import PARTS
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.fused import ROUNDING
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING

GUARDS = (ROOM, TIE, TIE_FLOOR, SECOND_GO, VANISHED, ROUNDING)

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Centred:
    """Targets as the columns stand, T x m; 1 - leverage of the empty model; least pivots."""

    y: Floats
    y_mean: Floats
    p: Floats
    floor: Floats

    @classmethod
    def of(cls, design: Design, Y: Floats) -> Self:
        """For these targets, m x T."""
        w, total, y = design.weights, design.total, Y.T.copy()
        y_mean, p = np.zeros(len(y)), np.ones(len(w))
        if design.fit_intercept:
            y_mean = (y @ w) / total
            y -= y_mean[:, None]
            y -= ((y @ w) / total)[:, None]
            p -= w / total
        if not design.uniform:
            y *= np.sqrt(w)
        return cls(y, y_mean, p, design.floor())


def as_bytes(X: NDArray[Any]) -> tuple[NDArray[np.uint8], int, int, int]:
    """The data as compiled loops read them: see ``read`` in ``compiled_rows.py``."""
    along, across = (stride // X.itemsize for stride in X.strides)
    flat = X.ravel(order="K").view(np.uint8)
    flat.flags.writeable = False  # one kind of array, so that loops are compiled once
    return flat, across, along, LIE_AS.index(X.dtype.type)


class CompiledForward:
    """The search and what it has found.

    Parameters
    ----------
    design : Design
        The data, dense.
    of : Centred
        The targets.
    alpha : float
        The penalty.
    size : int
        How many features to choose at most.
    features : array of int
        The columns that may be chosen.
    threads : Crew, optional
        Who shares the work; default the caller alone.

    Attributes
    ----------
    subset : array of int
        The features in order of entry, -1 beyond ``size``.
    errors : array
        Sums of the losses of every size.
    """

    def __init__(
        self,
        design: Design,
        of: Centred,
        alpha: float,
        size: int,
        features: NDArray[np.intp],
        threads: Crew | None = None,
    ) -> None:
        from sparsepath.rls.leave_one_out import compiled_forward as loops
        from sparsepath.rls.leave_one_out.compiled_rows import PENDING

        self._pending = PENDING
        self._loops, (T, m), n = loops, of.y.shape, len(features)
        self.subset = np.full(size, -1, dtype=np.intp)
        self.errors = np.zeros(size + 1)
        self._path = (self.subset, self.errors)
        self._columns = (of.floor, design.squares)
        stand = (design.means, design.left, design.scales)
        g = np.sqrt(design.weights)
        self._problem = (
            as_bytes(design.as_they_lie()),
            stand,
            g,
            design.weights,
            float(alpha),
            GUARDS,
        )
        numbers = np.zeros((14, n))
        numbers[6], numbers[7] = of.floor[features], design.squares[features]
        # chosen, rows, pending, if to write, pending before, if many were judged
        self._at = np.array([0, n, 0, 0, 0, 0])
        self._about = np.zeros(4 + T)  # u'r, r'r, y'y, <y, y> left of each target, growth of 1/p^3
        self._state = (
            np.empty((n, m)),
            np.empty((size, n)),
            of.y.copy(),
            np.zeros((T, m)),
            np.zeros((size, m)),
            np.zeros((size, size)),
            np.zeros(size),
            features.copy(),
            np.zeros(m),
            of.p.copy(),
            np.zeros((T, n)),
            self._at,
            self._about,
            np.zeros((T, n)),
            numbers,
            np.zeros(m),
        )
        self._change = (
            np.zeros(m),
            np.zeros((T, size)),
            np.zeros(size),
            np.zeros(size),
            np.zeros((T, size)),
            np.zeros(T),
            np.zeros((T, size)),
            np.zeros(m),
            np.zeros(size),
            np.zeros(1),
        )
        self._found = np.zeros(n), np.zeros(n)
        self._threads = threads
        loops.begin(self._problem, self._state, self.errors, self._space())

    @property
    def size(self) -> int:
        """How many features are chosen."""
        return int(self._at[0])

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return not self._about[1] > VANISHED**2 * self._about[2]

    def run(self) -> None:
        """Search to the end in one loop."""
        from sparsepath.rls.leave_one_out.compiled_whole import advance

        given = (self._problem, self._state, self._change, self._space())
        advance(len(self.subset), *given, self._found, self._path)

    def advance(self, until: int) -> bool:
        """Choose features until there are so many; whether there may be more."""
        while self.size < until and not self.vanished:
            if not self._step():
                return False
        return not self.vanished

    def _step(self) -> bool:
        """Choose one more feature; whether there was one."""
        loops, given, found = self._loops, (self._problem, self._state), self._found
        more, n = (*given, self._change), int(self._at[1])
        if not n:
            return False
        if self.size:
            self._share_out(lambda i, j: loops.follow(i, j, *more, self._space(), found))
        else:
            self._share_out(lambda i, j: loops.fill(i, j, *given, found))
        lead = int(found[1][:n].argmin())

        def judge(low: int, high: int) -> float:
            return float(loops.judge(low, high, least, self.errors[0], *more, self._space(), found))

        least = np.inf
        least = judge(lead, lead + 1)
        least = min(self._share_out(judge))
        if least < np.inf:
            loops.choose(least, *more, self._space(), found, self._path)
        return bool(least < np.inf)

    def _share_out(self, work: Callable[[int, int], Answer]) -> list[Answer]:
        """Share out the rows among the threads; each is computed in the same way anywhere.

        Some are taken four at a time, so that a part begins with the fourth, the eighth, ...
        """
        n, width = int(self._at[1]), self._state[0].shape[1]
        if self._threads is None or self._threads.n_threads == 1:
            return [work(0, n)]
        least = max(1, TUNING.thread_numbers // width)
        step = -(-max(least, -(-n // (PARTS * self._threads.n_threads))) // 4) * 4
        parts = [(i, min(n, i + step)) for i in range(0, n, step)]
        return self._threads.map(lambda part: work(*part), parts, n * width)

    def _space(self) -> tuple[Floats, ...]:
        """Room for what is as long as the samples, twice, the targets, or the path, twice."""
        (T, m), size = self._state[2].shape, max(len(self.subset), self._pending)
        return np.zeros(m), np.zeros(m), np.zeros(T), np.zeros(size), np.zeros(size)
