r"""A whole forward search over folds from what is left of the test rows: small folds, many columns.

``model.py`` works with sums of products over parts, and every candidate is taken off every feature
that was chosen before, in every fold: O(|S|) each. Where folds have few rows it is less to keep
what those sums are of. Let the test parts make up all rows, each training part being all others.
With the letters of ``leave_one_out/model.py`` on *all* rows (P, z = P x, s = x'z), rows times the
roots g of their weights, P has the block P_ff on the test rows f of a fold, and what is left of a
column or the target on these rows, with the coefficients of the training part, is

    d_f = (P_ff)^-1 z_f            e_f = (P_ff)^-1 r_f:

the block form of the leave-one-out residual. The inverse is not needed: adding b takes u d_b off
d_i in each fold, and the products over the training part that make up u are those over all rows
less a correction,

    u_i = (x_i'z_b - z_b,f'd_i,f) / pivot_b            pivot_i = alpha + s_i - z_i,f'd_i,f,

where the product over all rows comes from the same numbers, since z_i,f = P_ff d_i,f:

    x_b'z_i = sum_f v_f'd_i,f      v_f = P_ff x_b,f = x_b,f - g_f g_f'x_b,f / W - Z_f Z_f'x_b,f

(g g'/W is what an intercept takes off). So each number of D, rows x columns, is multiplied by z_b,
d_b and v of its row, and then changed: three products and one change, whatever was chosen before.
pivot, c, d'd and e'd follow as in ``model.py``, which has the criterion. Before anything is chosen
d_f = x_f - mu_f g_f, and with products over all rows, centred, and weights W of all rows

    pivot_i = alpha + x_i'x_i + W mu_i^2 - d_i'd_i          c_i = x_i'y + W mu_i nu - e'd_i.

Products over training parts are thus had by subtraction, as those of ``sums.py`` are, and known to
as many digits. Where that is too little, by the same rules as there, the search ends here and goes
on step by step. The numbers on a path are computed from the rows of what was chosen, whoever chose
it: until loading the loop has been paid for, the steps of ``model.py``.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.splitting import Split
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.leave_one_out.whole import Price, is_small
from sparsepath.rls.splits import whole
from sparsepath.rls.splits.model import FINE, VANISHED, FoldModel
from sparsepath.rls.splits.numbers import PartProducts, PathNumbers, Shares
from sparsepath.rls.splits.sums import GRAM, READ_AGAIN, READ_ONCE, SplitSums
from sparsepath.rls.splits.whole import Chosen, by_steps
from sparsepath.rls.update import TIE, TIE_FLOOR
from sparsepath.tuning import TUNING

BLOCKS_PRICE = Price("splits.compiled_blocks", "advance")
WIDEST, NARROWEST = 400, 64  # columns that are followed at once
# Nanoseconds to bring a number of the data into order, and, of every step, for a number, for one
# that is far, not to be had from the second cache, for a column in a fold, for a row and a fold of
# the feature that is chosen, and once. Then for a column in a fold by sums of products, from Gram
# matrices, from the rows, or step by step.
BLOCK_FILL, BLOCK_NUMBER, BLOCK_FAR, BLOCK_PAIR = 2.0, 0.5, 0.3, 2.1
BLOCK_SAMPLE, BLOCK_FOLD, BLOCK_STEP = 25.0, 350.0, 5e3
PAIR_BY_GRAM, PAIR_BY_ROWS, PAIR_BY_STEPS = 24.0, 14.0, 50.0
FAR_FROM = 1 << 18  # numbers from which all are far
STEPS_ABOUT = 20  # of a search, about


class Folds(NamedTuple):
    """Test parts that make up all rows, every training part being all others.

    ``order`` are the rows fold by fold, and ``starts`` where the folds begin there.
    """

    splits: Sequence[Split]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    weight: Floats  # of the folds

    @classmethod
    def of(cls, design: Design, splits: Sequence[Split]) -> "Folds | None":
        """The folds, if the splits are some, and every part has rows that count."""
        m, everyone = design.n_samples, np.arange(design.n_samples)
        tests = [everyone[np.asarray(test)] for _, test in splits]
        if sum(map(len, tests)) != m:
            return None
        for (train, _), test in zip(splits, tests, strict=True):
            seen = np.zeros(m, dtype=bool)
            seen[test] = True
            rest = everyone[np.asarray(train)]
            seen[rest] = True
            if len(rest) + len(test) != m or not seen.all():
                return None
        order = np.concatenate(tests)
        starts = np.cumsum([0, *map(len, tests)])
        if len(tests) < 2 or np.bincount(order, minlength=m).max() > 1 or min(map(len, tests)) < 1:
            return None
        weight = np.add.reduceat(design.weights[order], starts[:-1])
        if weight.min() <= 0 or (design.total - weight).min() <= 0:
            return None
        return cls(splits, order, starts, weight)


def folds_for(design: Design, splits: Sequence[Split]) -> Folds | None:
    """The folds to be searched by what is left of the test rows; None if they are not.

    That is a matter of the data alone, so that no number knows how far a search will go.
    """
    m, n, F = design.n_samples, design.n_features, len(splits)
    large = m * n > TUNING.read_from_cache or m * n * F > TUNING.judged_by_rows
    if large or design.sparse or seconds(m, n, F) > seconds_by_sums(m, n, F):
        return None
    return Folds.of(design, splits)


def seconds(m: int, n: int, F: int) -> float:
    """What a search of some steps takes: rows as they are read, pairs of a column and a fold.

    >>> [seconds(*shape, 10) < seconds_by_sums(*shape, 10)
    ...  for shape in ((72, 2000), (2000, 500), (300, 30))]
    [True, False, False]
    """
    number = BLOCK_NUMBER + BLOCK_FAR * min(1.0, m * n / FAR_FROM)
    step = number * m * n + BLOCK_PAIR * n * F + BLOCK_SAMPLE * m + BLOCK_FOLD * F + BLOCK_STEP
    return 1e-9 * (BLOCK_FILL * m * n + STEPS_ABOUT * step)


def seconds_by_sums(m: int, n: int, F: int) -> float:
    """The same by sums of products: from the rows, or from Gram matrices; see ``sums.py``."""
    gram, again = GRAM * n, READ_AGAIN * STEPS_ABOUT
    pair = PAIR_BY_GRAM if gram < again else PAIR_BY_ROWS
    if n * F > whole.MOST_COLUMNS:
        pair = PAIR_BY_STEPS
    return 1e-9 * ((READ_ONCE + min(gram, again)) * m * n + STEPS_ABOUT * pair * n * F)


class BlockNumbers(PathNumbers):
    """The path through features in an order of entry, from their rows; see ``numbers.py``."""

    def __init__(self, design: Design, Y: Floats, alpha: float, folds: Folds, pooled: bool) -> None:
        self.y_mean = np.zeros(Y.shape[1])
        if design.fit_intercept:
            self.y_mean = (design.weights @ Y) / design.total
        F, weight = len(folds.weight), folds.weight
        self.share = np.full(F, weight.sum()) if pooled else weight * F
        super().__init__(design, alpha, self.y_mean, Shares(self.share, weight, 1.0))
        self._Y, self._folds = Y - self.y_mean, folds

    def _products(self, S: NDArray[np.intp]) -> PartProducts:
        design, (_, order, starts, test) = self._design, self._folds
        k, T, F = len(S), self._Y.shape[1], len(test)
        V = np.empty((T + k, len(order)))  # the targets first: sums do not know what comes later
        V[:T], V[T:] = self._Y[order].T, design.columns(S)[order].T
        weighted = V if design.uniform else V * design.weights[order]
        P = np.zeros((T + k, T + k, F))  # nobody asks for what is below the diagonal
        for i, row in enumerate(weighted):
            P[: i + 1, i] = np.add.reduceat(V[: i + 1] * row, starts[:-1], axis=1)
        sums = np.add.reduceat(weighted, starts[:-1], axis=1)
        train, beside = design.total - test, P[:T, T:].swapaxes(0, 1)
        mu = -sums / train if design.fit_intercept else np.zeros_like(sums)
        own = np.einsum("ttf->tf", P[:T, :T]) - (2 * sums[:T] - test * mu[:T]) * mu[:T]
        last = np.roll(np.arange(T + k), -T)
        P, sums, mu = P[T:, last], sums[last], mu[last]
        P[:, k:] = beside
        square = mu[:k, None] * mu
        A, D = np.empty((k, k + T, F + 1)), P - sums[:k, None] * mu - mu[:k, None] * sums
        D += test * square
        A[:, :, F] = np.add.accumulate(P, axis=2)[:, :, -1]
        A[:, :, :F] = A[:, :, F:] - P - train * square
        return PartProducts(A, D, own.sum(0))


def whole_search(
    design: Design,
    Y: Floats,
    alpha: float,
    folds: Folds,
    pooled: bool,
    size: int,
    allowed: NDArray[np.bool_],
    *,
    sums: SplitSums | None = None,
    compiled: bool | None = None,
) -> tuple[Whole, bool]:
    """Search forward; return the path, and whether it is all that there is.

    Parameters
    ----------
    design, Y, alpha, folds, pooled
        The problem.
    size : int
        How many features to choose.
    allowed : array of bool
        The columns that may be chosen.
    sums : SplitSums, optional
        Those of the folds, if they are known.
    compiled : bool, optional
        Whether by the compiled loop; default as soon as that pays.
    """
    if compiled is None:
        compiled = not is_small(design) or BLOCKS_PRICE.is_paid()
    most, allowed, start = (
        min(size, whole.MOST_STEPS),
        allowed & ~design.constant,
        time.perf_counter(),
    )
    numbers = BlockNumbers(design, Y, alpha, folds, pooled)
    if compiled:
        chosen = _compiled(design, Y, alpha, folds, numbers, most, allowed)
    else:
        sums = SplitSums(design, Y, folds.splits, once=True) if sums is None else sums
        model = FoldModel(design, Y, alpha, folds.splits, pooled, sums)
        chosen = by_steps(model, most, allowed)
        BLOCKS_PRICE.spent += time.perf_counter() - start
    path = numbers.path(chosen.subset, chosen.vanished, compiled=compiled)
    return path, chosen.is_all(size)


def _compiled(
    design: Design,
    Y: Floats,
    alpha: float,
    folds: Folds,
    numbers: BlockNumbers,
    size: int,
    allowed: NDArray[np.bool_],
) -> Chosen:
    from sparsepath.rls.splits.compiled_blocks import POSTPONED, advance

    (m, n), T, F = (design.n_samples, design.n_features), Y.shape[1], len(folds.weight)
    heights = np.diff(folds.starts)
    starts = np.cumsum([0, *(heights + -heights % 4)])
    R = int(starts[-1])
    place = np.arange(m) + np.repeat(starts[:-1] - folds.starts[:-1], heights)
    order, rows, g, y = np.zeros(R, dtype=np.intp), np.full(R, m), np.zeros(R), np.zeros((T, R))
    order[place], rows[place] = folds.order, np.arange(m)
    g[place] = np.sqrt(design.weights[folds.order])
    y[:, place] = (Y - numbers.y_mean)[folds.order].T
    y *= g
    total, train, base, nu = design.total, design.total - folds.weight, 0, np.zeros((F, T))
    if design.fit_intercept:
        base, nu = 1, -np.add.reduceat(g * y, starts[:-1], axis=1).T / train[:, None]
    e = y - g * np.repeat(nu, np.diff(starts), axis=0).T
    sse = np.add.reduceat(e * e, starts[:-1], axis=1).sum(0)

    raw = design.by_feature().view()
    raw.flags.writeable = False  # one kind of array, so that the loop is compiled once
    D = np.empty((m + 1, n))  # and a row of zeros
    D[np.argsort(folds.order)], D[m] = raw.T, 0.0
    data = (raw, design.means, design.left, design.scales, order, g, starts, rows, y)
    about = (float(alpha), total, train, np.ascontiguousarray(nu), base, numbers.share)
    sums = (np.empty((F, n)), np.empty((F, n)), np.empty((F, T, n)), np.empty((F, T, n)))
    state = (*sums, sse, D, np.empty((POSTPONED, F, n)))
    room = size + base
    Z, d, sigma, pivots = (np.empty(shape) for shape in ((room, R), (room, R), room, (F, room)))
    if base:  # the intercept is a column that is there from the beginning
        Z[0] = d[0] = g
        pivots[:, 0], sigma[0] = train, total
    inverses = (np.empty((F, room)), np.zeros((F, room, room)), np.zeros((F, room)))
    last = (np.empty((F, room)), np.empty(room), np.empty(R), np.empty(R))
    chosen = (Z, d, sigma, pivots, *inverses, *last)
    steps = (np.empty((F, 4, T)), np.empty((F, POSTPONED, 3)))
    tile = min(WIDEST, max(NARROWEST, TUNING.tile_numbers // (R + 2 * F)))
    tile = -(-n // -(-n // tile))  # all of them alike
    space, found = np.empty((1 + max(2 * F, T), tile)), np.empty((3, n))
    subset, ties = np.empty(size, dtype=np.intp), (TIE, TIE_FLOOR, VANISHED, FINE)
    given: Any = (data, about, state, chosen, steps, space, found, subset)
    k, vanished, told = advance(size, tile, allowed, ties, *given)
    return Chosen(subset[:k], vanished, told)
