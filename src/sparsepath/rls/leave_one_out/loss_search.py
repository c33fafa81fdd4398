"""A whole forward search by a loss without bounds: who chooses, and the numbers of the path.

Small data are searched in NumPy (``whole_losses.py``) until loading the compiled loop
(``compiled_loss_search.py``) has been paid for; large data by the loop. Which of the two it was
must not be seen: they choose the same features, and all numbers of the path are computed afresh
from these (``numbers.py``).
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import WRONG_CLASS, Counting
from sparsepath.rls.criteria.losses import LABEL_ROUNDING, NO_DECISION, ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.numbers import Noted, Whole, intercepts
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.leave_one_out.whole import Price
from sparsepath.rls.leave_one_out.whole_losses import NOBODY, ChosenByLoss, LossSearch
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING

LOSS_PRICE = Price("leave_one_out.compiled_loss_search", "advance")
CLASS_PLACES = 8  # numbers that a processor takes at once: a class has a multiple of them
NO_ORDER = np.zeros(0, dtype=np.uintp)


class LossNumbers(Noted):
    """The path through features that come one by one, judged by any loss.

    ``weights`` are those of the mean over samples that the loss is.
    """

    def __init__(
        self, design: Design, Y: Floats, of: Centred, alpha: float, size: int, loss: Loss
    ) -> None:
        super().__init__(design, of, alpha, size)
        self._Y, self._loss = Y, loss
        self.weights = loss.sample_weights(Y, design.weights)
        self._reach = reach_of(design.squares, alpha)
        T = Y.shape[1]
        marks = Y.T if T == 1 else Y.argmax(1) == np.arange(T)[:, None]
        self._marks = np.ascontiguousarray(marks, dtype=np.float64)

    def judge(self, subset: NDArray[np.intp]) -> Floats:
        """The errors of all sizes that have come."""
        new, design = self._stand(), self._design
        blur = self._loss.blur(np.append(0.0, np.cumsum(self._reach[subset]))[new])
        if self._loops is not None and isinstance(self._loss.carried, Counting):
            numbers = self._rp[new], self._errors[new], self._around[new]
            given = self._marks, np.sqrt(design.weights), self.weights, blur
            self._loops.sum_mistakes(*numbers, *given, ROOM)
        else:
            self._errors[new], self._around[new] = self._summed(new, blur)
        return self._errors[: self.size + 1]

    def path(self, subset: NDArray[np.intp], vanished: bool) -> Whole:
        """What has come, in the units of the data."""
        errors, k, design = self.judge(subset), self.size, self._design
        counted = design.n_counted
        coef = self._w[: k + 1, :, :k].transpose(0, 2, 1) * design.scales[subset, None]
        return Whole(
            subset,
            errors.copy(),
            np.sqrt(self._around[: k + 1] * (counted / (counted - 1))),
            coef,
            intercepts(self._of.y_mean, design.means[subset], coef),
            vanished,
        )

    def _summed(self, new: slice, blur: Floats) -> tuple[Floats, Floats]:
        """Sums of the losses of some sizes, and of their squares around the part of each sample."""
        r, p, g, v = (
            self._rp[new, :-1],
            self._rp[new, -1],
            np.sqrt(self._design.weights),
            self.weights,
        )
        losses = np.empty(p.shape)
        step = max(1, TUNING.losses_at_once // self._rp.shape[0])
        for low in range(0, p.shape[1], step):
            some = slice(low, low + step)
            residuals = [np.array(of.T) for of in r[..., some].transpose(1, 0, 2)]
            left = np.maximum(p[:, some], ROOM).T
            given = (g[some], v[some], self._Y[some], blur)
            losses[:, some] = self._loss.weighted(residuals, left, *given).T
        errors = losses.sum(1)
        for row, error in zip(losses, errors, strict=True):
            row -= error * v
        return np.where(p.min(1) > ROOM, errors, np.inf), np.vecdot(losses, losses)


def search_by_loss(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    loss: Loss,
    wanted: int,
    *,
    compiled: bool = False,
) -> tuple[Whole, bool]:
    """The path, and whether it ended because a count of mistakes came down to zero.

    Up to the size ``wanted`` it goes on nevertheless.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    size : int
        How many features to choose.
    allowed : array of bool
        The columns that may be chosen.
    loss : Loss
        How a leave-one-out residual is judged; it has loops (``carried``).
    wanted : int
        See above.
    compiled : bool
        Whether there is so much to do that a compiler may be waited for.
    """
    of, features = Centred.of(design, Y), (allowed & ~design.constant).nonzero()[0]
    numbers, began = LossNumbers(design, Y, of, alpha, size, loss), time.perf_counter()
    empty = float(numbers.judge(NOBODY)[0])
    squared = float(np.square(of.y / np.maximum(of.p, ROOM)).sum())
    if compiled or LOSS_PRICE.is_paid():
        given = of, size, features, loss, numbers.weights, empty, squared
        chosen = _compiled(design, Y, alpha, *given, wanted)
    else:
        given_too = of, size, features, loss, empty, squared / design.total
        chosen = LossSearch(design, Y, alpha, *given_too).run(wanted)
        LOSS_PRICE.spent += time.perf_counter() - began
    numbers.extend(columns_of(design, chosen.subset))
    return numbers.path(chosen.subset, chosen.vanished), chosen.clean


def by_class(
    own: NDArray[np.intp], classes: int
) -> tuple[NDArray[np.uintp], NDArray[np.uintp], Floats]:
    """Which sample lies where, class by class, where each class begins, and which places count.

    Places that are left over behind a class show the first sample once more, and count nothing.
    """
    counts = np.bincount(own, minlength=classes)
    ends = (-(-counts // CLASS_PLACES) * CLASS_PLACES).cumsum()
    places = np.arange(len(own)) + np.repeat(ends - counts.cumsum(), counts)
    order, real = np.zeros(ends[-1], dtype=np.uintp), np.zeros(ends[-1])
    order[places], real[places] = own.astype(np.int16).argsort(kind="stable"), 1.0
    return order, np.append(0, ends).astype(np.uintp), real


def _compiled(
    design: Design,
    Y: Floats,
    alpha: float,
    of: Centred,
    size: int,
    features: NDArray[np.intp],
    loss: Loss,
    v: Floats,
    empty: float,
    squared: float,
    wanted: int,
) -> ChosenByLoss:
    """The same as ``LossSearch``; ``squared`` is a sum over the samples, v their weights."""
    from sparsepath.rls.leave_one_out import compiled_loss_search as loops
    from sparsepath.rls.leave_one_out.compiled_loss_rows import begin
    from sparsepath.rls.leave_one_out.compiled_rows import PENDING

    (T, m), n, g = of.y.shape, len(features), np.sqrt(design.weights)
    squares, loop = design.squares[features], loss.carried
    assert loop is not None
    kind, given = loop.laid_out(Y, of.y, of.p, g, v)
    y, p, order, starts = of.y.copy(), of.p.copy(), NO_ORDER, NO_ORDER
    if kind == WRONG_CLASS:
        order, starts, real = by_class(Y.argmax(1), T)
        y, p, g = y.take(order, 1) * real, p[order], g[order] * real
        given, m = np.vstack([given[:3].take(order, 1) * real, np.empty((T - 1, len(p)))]), len(p)
    raw = design.by_feature().view()
    raw.flags.writeable = False  # one kind of array, so that loops are compiled once
    problem = (raw, (design.means, design.left, design.scales), g, features, order)
    S = squares + alpha
    state = (
        *(np.empty((n, m)), y, np.zeros((T, size)), np.zeros((size, m))),
        *(np.zeros((size, size)), np.zeros(size), p, S, np.empty((T, n)), S.copy()),
        *(np.zeros((size, n)), np.zeros((PENDING, n)), np.zeros(n), np.zeros((T, n))),
    )
    judging = (kind, given, starts, float(loop.delta), ROOM)
    columns = squares, of.floor[features], reach_of(squares, alpha)
    guards = (TIE, TIE_FLOOR, SECOND_GO, VANISHED, float(alpha), NO_DECISION, LABEL_ROUNDING)
    subset = np.empty(size, dtype=np.intp)
    begin(problem, state)
    about: Any = (problem, state, judging, columns, guards, (empty, squared), subset)
    k, ended = loops.advance(size, wanted, loss.counts, *about)
    return ChosenByLoss(subset[:k], ended == loops.ALL_FIT, ended == loops.WITHOUT_MISTAKES)
