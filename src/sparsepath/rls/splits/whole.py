r"""A whole forward search over splits at once, by squared errors: ``model.py`` without the steps.

Where data are small, a search that is asked step by step spends its time between the steps. Here
the features are chosen in one compiled loop (``compiled_whole.py``), or, until loading that has
been paid for, by the steps of ``model.py``. Which of the two it was must not be seen: the numbers
are computed afresh from what was chosen, by ``FoldNumbers``, whoever chose it.

**Numbers.** Let A be the products of the chosen columns and the target over a training part, in
their order of entry, D those over the test part, both centred with training means. Eliminating
column b from both, with u = A_b / (A_bb + alpha),

    A_ij  <-  A_ij - u_i A_bj            D_ij  <-  D_ij - u_i (D_bj - u_j D_bb) - D_bi u_j,

where j runs over the target too: A then holds products of what is left of the training part, D
those of d and e, and D_yy is the test error of the first b columns. The same for all rows has the
coefficients: column j is sum_i B_ij x_i and what is left, where B_bj = u_j and B_ij loses B_ib u_j.
Nothing is summed over columns, so that no number knows which sizes come later.

**Where sums of products tell too little** (``model.py``), the search ends here, and goes on step by
step.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.leave_one_out.whole import Price, Whole, is_small
from sparsepath.rls.splits.asked import standard_error
from sparsepath.rls.splits.model import COLLINEAR_IN_PART, FINE, VANISHED, FoldModel
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
    return numbers.path(chosen), chosen.is_all(size)


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


class FoldNumbers:
    """The path through features in an order of entry: errors over splits, coefficients on all rows.

    Parameters
    ----------
    model : FoldModel
        The empty model.
    """

    def __init__(self, model: FoldModel) -> None:
        self._model = model
        self._c, self._ed, self._sse = model.c, model.ed, model.sse
        self._steps: list[Floats] = []  # u of each column, for those after it and the target

    def path(self, chosen: Chosen) -> Whole:
        """The numbers of every size."""
        model, S = self._model, chosen.subset
        sums, design, alpha = model.sums, model.design, model.alpha
        F, k, T = sums.n_splits, len(S), self._c.shape[2]
        A, D, B = np.empty((k, k + T, F + 1)), np.empty((k, k + T, F)), np.zeros((k, k + T))
        self._products(S, A, D)
        coef, changes = np.zeros((k + 1, k, T)), np.zeros((k + 1, F, T))
        self._steps = []
        for b in range(k):
            own, right = D[b, b], D[b, b + 1 :]
            u = A[b, b + 1 :] / (A[b, b] + alpha)
            A[b + 1 :, b + 1 :] -= u[: k - b - 1, None] * A[b, b + 1 :]
            tests = u[:, :F]
            self._steps.append(tests)
            rest = right - tests * own
            omega, e_b = tests[k - b - 1 :], right[k - b - 1 :]
            changes[b + 1] = (omega * (omega * own - 2.0 * e_b)).T
            D[b + 1 :, b + 1 :] -= tests[: k - b - 1, None] * rest
            D[b + 1 :, b + 1 :] -= right[: k - b - 1, None] * tests
            B[:b, b + 1 :] -= B[:b, b, None] * u[:, F]
            B[b, b + 1 :] = u[:, F]
            coef[b + 1, : b + 1] = B[: b + 1, k:]
        changes[0, :, 0] = self._sse
        sse = np.maximum(np.cumsum(changes, axis=0).sum(2), 0.0)
        coef *= design.scales[S, None]
        centre = np.zeros((k + 1, T))
        if k:
            centre = np.add.accumulate(design.means[S, None] * coef, axis=1)[:, -1]
        return Whole(
            S,
            (sse / model.share).sum(1),
            standard_error(sse / sums.weight[:F], sums.overlap),
            coef,
            sums.y_mean - centre,
            chosen.vanished,
        )

    def _products(self, S: NDArray[np.intp], A: Floats, D: Floats) -> None:
        """What training and test parts know of the chosen columns and the target."""
        model, sums = self._model, self._model.sums
        F, k, w = sums.n_splits, len(S), sums.weight
        P = sums.among(S)
        means, x = model.mu[:, S].T, sums.x[:F, S].T
        test, train = w[:F], w[F : 2 * F]
        A[:, :k, :F] = P[:, :, F : 2 * F] - (train * means)[:, None] * means
        A[:, :k, F] = P[:, :, -1]
        A[:, k:, :F] = self._c[:, S].transpose(1, 2, 0)
        A[:, k:, F] = sums.xy[-1][S]
        if model.design.fit_intercept:
            A[:, :k, F] -= np.outer(sums.x[-1, S], sums.x[-1, S]) / w[-1]
            A[:, k:, F] -= np.outer(sums.x[-1, S], sums.y[-1]) / w[-1]
        D[:, :k] = P[:, :, :F] - x[:, None] * means - means[:, None] * x
        D[:, :k] += (test * means)[:, None] * means
        D[:, k:] = self._ed[:, S].transpose(1, 2, 0)
