"""A whole forward search by a loss without bounds, in one compiled loop (large data).

What the loop (``compiled_loss_search.py``) finds is which features to take. All numbers of the path
are computed afresh from these, in NumPy: its own sums may be rounded in one way or another.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import LABEL_ROUNDING, NO_DECISION, ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.leave_one_out.whole import Noted, Whole
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING


class LossNumbers(Noted):
    """The path through features that come one by one, judged by any loss."""

    def __init__(
        self, design: Design, Y: Floats, of: Centred, alpha: float, size: int, loss: Loss
    ) -> None:
        super().__init__(design, of, alpha, size)
        self._Y, self._loss = Y, loss
        self._v = loss.sample_weights(Y, design.weights)
        self._reach = reach_of(design.squares, alpha)

    def path(self, subset: NDArray[np.intp], vanished: bool) -> Whole:
        """What has come, in the units of the data."""
        new, k, design, v = self._stand(), self.size, self._design, self._v
        reach = np.append(0.0, np.cumsum(self._reach[subset]))
        step, g = max(1, TUNING.losses_at_once // design.n_samples), np.sqrt(design.weights)
        for low in range(new.start, k + 1, step):
            some = slice(low, min(k + 1, low + step))
            r, p = self._rp[some, :-1], self._rp[some, -1]
            residuals = [np.array(of.T) for of in r.transpose(1, 0, 2)]
            given = (g, v, self._Y, self._loss.blur(reach[some]))
            losses = self._loss.weighted(residuals, np.maximum(p, ROOM).T, *given)
            losses = np.ascontiguousarray(losses.T)
            errors = losses.sum(1)
            losses -= errors[:, None] * v
            self._around[some] = np.vecdot(losses, losses)
            self._errors[some] = np.where(p.min(1) > ROOM, errors, np.inf)
        counted = np.count_nonzero(design.weights)
        coef = self._w[: k + 1, :, :k].transpose(0, 2, 1) * design.scales[subset, None]
        return Whole(
            subset,
            self._errors[: k + 1].copy(),
            np.sqrt(self._around[: k + 1] * (counted / (counted - 1))),
            coef,
            self._of.y_mean - design.means[subset] @ coef,
            vanished,
        )


def search_by_loss(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    loss: Loss,
    wanted: int,
) -> tuple[Whole, bool]:
    """The path, and whether it ended because a count of mistakes came down to zero.

    Up to the size ``wanted`` it goes on nevertheless. The other parameters are those of
    ``whole_losses.LossSearch``.
    """
    from sparsepath.rls.leave_one_out import compiled_loss_search as loops

    of = Centred.of(design, Y)
    numbers = LossNumbers(design, Y, of, alpha, size, loss)
    empty = numbers.path(np.zeros(0, dtype=np.intp), False)
    squares_of_empty = float(np.square(of.y / np.maximum(of.p, ROOM)).sum())
    features = (allowed & ~design.constant).nonzero()[0]
    (T, m), n, g = of.y.shape, len(features), np.sqrt(design.weights)
    raw = design.by_feature().view()
    raw.flags.writeable = False  # one kind of array, so that loops are compiled once
    problem = (raw, (design.means, design.left, design.scales), g, features)
    V, squares, floor = np.zeros((T, m + size)), design.squares[features], of.floor[features]
    V[:, :m] = of.y
    S, loop = squares + alpha, loss.carried
    assert loop is not None
    kind, given = loop.laid_out(Y, of.y, of.p, g, numbers._v)
    classes = Y.argmax(1)
    state = (
        *(np.empty((n, m + size)), V, np.zeros((size, m + size)), of.p.copy(), S),
        *(np.empty((T, n)), np.zeros(m + size), np.zeros(m + size), squares, floor),
        *(np.maximum(SECOND_GO**2 * S, floor), reach_of(squares, alpha), classes),
    )
    judging = (kind, given, classes, float(loop.delta), ROOM)
    guards = (TIE, TIE_FLOOR, SECOND_GO, VANISHED, float(alpha), NO_DECISION, LABEL_ROUNDING)
    scales = (float(empty.errors[0]), squares_of_empty)
    subset = np.empty(size, dtype=np.intp)
    loops.begin(problem, state)
    k, ended = loops.advance(
        size, wanted, loss.counts, problem, state, judging, guards, scales, subset
    )
    subset = subset[:k]
    numbers.extend(columns_of(design, subset))
    return numbers.path(subset, ended == loops.VANISHED), ended == loops.CLEAN
