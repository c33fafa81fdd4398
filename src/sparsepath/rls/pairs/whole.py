r"""A whole forward search over splits at once, by the order of scores: two classes, plain weights.

As in ``splits/whole.py`` the features are chosen in one compiled loop (``compiled_whole.py``), or
by the steps of the model until loading that has been paid for, and the numbers are computed afresh
from what was chosen. With u and omega of ``FoldNumbers``, the scores on the test rows follow from

    d_j  <-  d_j - u_j d_b            e  <-  e - omega d_b,

column by column in the order of entry, so that no number knows which sizes come later.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.leave_one_out.whole import Price, is_small
from sparsepath.rls.pairs.queries import DisagreementModel
from sparsepath.rls.splits.asked import standard_error
from sparsepath.rls.splits.numbers import FoldNumbers
from sparsepath.rls.splits.whole import MOST_STEPS, Chosen, by_steps, laid_out
from sparsepath.rls.splits.whole import is_short as is_short_over

ORDER_PRICE = Price("pairs.compiled_whole", "advance")


def is_short(model: DisagreementModel) -> bool:
    """Whether a search is a matter of milliseconds; from the data alone."""
    return model.compares and model.sums.plain and is_short_over(model)


def whole_search(
    model: DisagreementModel,
    size: int,
    allowed: NDArray[np.bool_],
    wanted: int = 0,
    *,
    compiled: bool | None = None,
) -> tuple[Whole, bool, bool]:
    """Search forward from the empty model; see ``splits.whole.whole_search``.

    The third answer is whether it ended because there were no mistakes left; up to the size
    ``wanted`` it goes on nevertheless.
    """
    if compiled is None:
        compiled = not is_small(model.design) or ORDER_PRICE.is_paid()
    most, start, numbers = min(size, MOST_STEPS), time.perf_counter(), OrderNumbers(model)
    choose = _compiled if compiled else by_steps
    chosen = choose(model, most, allowed & ~model.design.constant, wanted)
    if not compiled:
        ORDER_PRICE.spent += time.perf_counter() - start
    path = numbers.path(chosen.subset, chosen.vanished, compiled=compiled)
    return path, chosen.is_all(size), chosen.clean


def _compiled(
    model: DisagreementModel, size: int, allowed: NDArray[np.bool_], wanted: int
) -> Chosen:
    from sparsepath.rls.pairs.compiled_whole import advance

    subset = np.empty(size, dtype=np.intp)
    given: Any = (*laid_out(model, size), subset, model.ordered(), model.empty_error)
    k, vanished, told, clean = advance(size, wanted, allowed, *given)
    return Chosen(subset[:k], vanished, told, clean)


class OrderNumbers(FoldNumbers):
    """The path through features in an order of entry: pairs in the wrong order over splits.

    Parameters
    ----------
    model : DisagreementModel
        The empty model.
    """

    def __init__(self, model: DisagreementModel) -> None:
        super().__init__(model)
        self._ranked, self._first = model, model.fold_errors

    def path(self, S: NDArray[np.intp], vanished: bool, *, compiled: bool = False) -> Whole:
        """The numbers of every size."""
        found, model = super().path(S, vanished, compiled=compiled), self._ranked
        tests = [test for _, test in model.sums.pairs]
        left = self._left(S, tests)
        reach = np.cumsum(model.reach[S])
        errors = np.empty((len(S) + 1, len(tests)))
        errors[0] = self._first
        for f, rows in enumerate(np.split(left, np.cumsum([len(t) for t in tests])[:-1], axis=1)):
            errors[1:, f] = model.judged_order(f, rows.T, reach)
        shares = np.array([v.sum() for v in model.weights_of_splits])
        joined = errors.sum(1) if model.pooled else errors.mean(1)
        around = standard_error(errors / shares, model.sums.overlap)
        return replace(found, errors=joined, errors_se=around)

    def _left(self, S: NDArray[np.intp], tests: list[NDArray[np.intp]]) -> Floats:
        """Minus the scores of every size on the test rows, sizes by rows."""
        model, k = self._ranked, len(S)
        split = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        X = model.design.columns(S)
        d = X[np.concatenate(tests)].T - model.mu[:, S].T[:, split]
        e = np.zeros((k + 1, len(split)))
        for b, u in enumerate(self.steps):
            of_rows = u[:, split]
            d[b + 1 :] -= of_rows[:-1] * d[b]
            e[b + 1] = e[b] - of_rows[-1] * d[b]
        return e[1:]
