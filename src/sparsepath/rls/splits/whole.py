r"""A whole forward search over splits at once, by squared errors: ``model.py`` without the steps.

Where data are small, a search that is asked step by step spends its time between the steps. Here
the features are chosen in one compiled loop (``compiled_whole.py``), or, until loading that has
been paid for, by the steps of ``model.py``. Which of the two it was must not be seen: the numbers
are computed afresh from what was chosen (``numbers.py``), whoever chose it.

**Where sums of products tell too little** (``model.py``), the search ends here, and goes on step by
step.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.leave_one_out.whole import Price, is_small
from sparsepath.rls.splits.model import COLLINEAR_IN_PART, FINE, VANISHED, FoldModel
from sparsepath.rls.splits.numbers import FoldNumbers
from sparsepath.rls.update import TIE, TIE_FLOOR

MOST_COLUMNS = 1 << 15  # columns times splits up to which a search is short
MOST_STEPS = 100  # and steps; then it goes on step by step
FOLDS_PRICE = Price("splits.compiled_whole", "advance")


class Chosen(NamedTuple):
    """Features in the order of entry; whether residuals vanished, and sums told all of it.

    ``clean`` if it ended because there were no mistakes left.
    """

    subset: NDArray[np.intp]
    vanished: bool
    told: bool
    clean: bool = False

    def is_all(self, size: int) -> bool:
        """Whether there is no more of a search that is to go to this size."""
        most = min(size, MOST_STEPS)
        return self.told and (self.vanished or len(self.subset) < most or most == size)


def is_short(model: FoldModel) -> bool:
    """Whether a search is a matter of milliseconds; from the data alone."""
    sums = model.sums
    return sums.at_hand and model.design.n_features * sums.n_splits <= MOST_COLUMNS


def whole_search(
    model: FoldModel, size: int, allowed: NDArray[np.bool_], *, compiled: bool | None = None
) -> tuple[Whole, bool]:
    """Search forward from the empty model; return the path, and whether it is all that there is.

    Parameters
    ----------
    model : FoldModel
        The empty model; in which state it is left must not matter.
    size : int
        How many features to choose.
    allowed : array of bool
        The columns that may be chosen.
    compiled : bool, optional
        Whether by the compiled loop; default as soon as that pays.
    """
    if compiled is None:
        compiled = not is_small(model.design) or FOLDS_PRICE.is_paid()
    most, start = min(size, MOST_STEPS), time.perf_counter()
    numbers = FoldNumbers(model)
    chosen = (_compiled if compiled else by_steps)(model, most, allowed & ~model.design.constant)
    if not compiled:
        FOLDS_PRICE.spent += time.perf_counter() - start
    path = numbers.path(chosen.subset, chosen.vanished, compiled=compiled)
    return path, chosen.is_all(size)


def by_steps(model: FoldModel, size: int, allowed: NDArray[np.bool_], wanted: int = 0) -> Chosen:
    """Choose features by the steps of the model.

    Counts that come down to zero end it from ``wanted`` features on.
    """
    features, subset = allowed.nonzero()[0], list[int]()
    while True:
        now = np.array(subset, dtype=np.intp)
        if model.vanished or len(subset) == size:
            return Chosen(now, model.vanished, True)
        open_ = features[~np.isin(features, now)]
        if model.by_rows and model.doubtful[open_].any():
            return Chosen(now, False, False)
        update = model.find_best_update("add", open_)
        if update is None:
            return Chosen(now, False, True)
        if model.counts and model.error == 0 and len(subset) >= wanted:
            return Chosen(now, False, True, clean=True)
        model.add(update.feature)
        if model.rough:
            return Chosen(now, False, False)
        subset.append(update.feature)


def _compiled(model: FoldModel, size: int, allowed: NDArray[np.bool_]) -> Chosen:
    from sparsepath.rls.splits.compiled_whole import advance

    subset = np.empty(size, dtype=np.intp)
    given: Any = (*laid_out(model, size), subset)
    k, vanished, told = advance(size, allowed, *given)
    return Chosen(subset[:k], vanished, told)


def laid_out(model: FoldModel, size: int) -> tuple[Any, ...]:
    """What compiled loops ask for of an empty model: see ``compiled_whole.advance``."""
    from sparsepath.rls.splits.compiled_whole import TILE

    sums, (F, n, T) = model.sums, model.c.shape
    rows, data = 0, sums.laid_out()
    if sums.by_parts is not None:
        rows = model.design.n_samples
    w, least = sums.weight, FINE if model.by_rows else COLLINEAR_IN_PART
    given = (model.share, model.sizes, model.mu, w[:F], w[F : 2 * F], sums.x[:F])
    # One kind of array, so that the loop is compiled once.
    about = (model.alpha, least, *map(np.ascontiguousarray, given), 1.0 / FINE)
    state = (
        model.s.copy(),
        model.dd.copy(),
        model.c.transpose(0, 2, 1).copy(),
        model.ed.transpose(0, 2, 1).copy(),
        model.sse.copy(),
        np.empty((F, size, n)),
        np.empty((0 if rows else F, size, n)),
        np.empty((size, rows)),
        np.zeros((F, size, size)),
        np.empty((F, size)),
        np.zeros((F, size, size)),
        np.zeros((F, size)),
    )
    space = (
        np.empty((F if rows else 0, n)),
        np.empty((F, n)),
        np.empty(n),
        np.empty((3, size)),
        np.empty((3, T)),
        np.empty((2, TILE)),
    )
    ties = (TIE, TIE_FLOOR, VANISHED, not model.by_rows)
    return ties, data, about, state, space, np.empty((2, n))
