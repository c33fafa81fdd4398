r"""Ranking: least squares on all pairs of samples of the same query, judged over any splits.

With d_i = y_i - x_i w what is minimised is, over the pairs of each query q,

    sum_q sum_{i<j} u_i u_j (d_i - d_j)^2 + alpha |w|^2,

u being sample weights. With U_q = sum of u over the query and d_q the weighted mean of d there,

    sum_{i<j} u_i u_j (d_i - d_j)^2  =  U_q sum_i u_i (d_i - d_q)^2,

so that pairs never have to be written out: it is least squares on rows that are centred within
their query and weigh u_i U_q, without intercept. A part of the rows (a training or a test part)
has the pairs that lie in it, so each query is centred and weighed *within the part*: a query that
is left out as a whole, the usual case, leaves those of the others as they were. All that
``splits/model.py`` needs of a part are its sums of products; with these instead of sums over
samples it gives the exact pairwise criterion: half the mean of (d_i - d_j)^2 over pairs, so that it
is on the scale of a squared error per sample (half the mean squared difference of two draws is
their variance). Twice the pairs of a part, both orders, weigh U_q^2 - sum_i u_i^2, by which the sum
above is divided.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sparsepath.arrays import Floats
from sparsepath.data.columns import CONSTANT
from sparsepath.data.crew import added
from sparsepath.data.splitting import Split
from sparsepath.rls.criteria.losses import NO_DECISION
from sparsepath.rls.criteria.pairs import pairs_weigh
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.whole import Price
from sparsepath.rls.splits.losses import FoldLossModel
from sparsepath.rls.splits.sums import ROWS_AT_ONCE, SplitSums

Codes = NDArray[np.intp]

COMPARED = 256  # rows up to which every pair of them is compared
LAST_BITS = 1e-15  # of a score, which may hold something else
PAIRS_PRICE = Price("pairs.compiled", "count_disorder")


def vary_within(design: Design, queries: Codes, *, standardize: bool) -> None:
    """Columns that do not vary within any query say nothing about an order: they are constant.

    If asked for, the others are scaled to unit variance within queries, since what is common to a
    query is in no pair. The variance is half the mean squared difference over all ordered pairs of
    a query's samples, a sample with itself included; for a single query that is the plain one.
    """
    sums, total = QuerySums.over_all(design, queries), np.bincount(queries, design.weights)
    design.constant = design.constant | (sums <= CONSTANT * total.max() * design.sizes**2)
    if standardize:
        live, factors = ~design.constant, np.ones(design.n_features)
        factors[live] = np.sqrt(total @ total / sums[live])
        design.rescale(factors)


class QuerySums(SplitSums):
    """Sums of products over the pairs of samples in parts of the rows; see ``SplitSums``.

    Samples with the same of the ``queries``, whole numbers from zero, are ranked among each other.
    """

    plain = False
    _needed = "pairs of samples of the same query"

    def __init__(self, design: Design, Y: Floats, splits: Sequence[Split], queries: Codes) -> None:
        self._design, self._queries = design, queries
        super().__init__(design, Y, splits)
        parts = [b for _, b in self.pairs] + [a for a, _ in self.pairs] + [np.arange(len(queries))]
        self.weight = np.array([self._weight(part) for part in parts])

    @classmethod
    def over_all(cls, design: Design, queries: Codes) -> Floats:
        """The squares of all columns over the pairs of all rows, and nothing else."""
        sums = cls.__new__(cls)
        sums._design, sums._queries = design, queries
        return sums._spread(np.arange(len(queries)))

    def _weight(self, part: Codes) -> float:
        weights = self._design.weights[part]
        # What rounding leaves of a difference of equal numbers is no pair.
        weight = pairs_weigh(weights, self._queries[part])
        return weight if np.count_nonzero(weights) > 1 and weight > 0 else 0.0

    def _adds_up(self, parts: Sequence[Codes]) -> bool:
        return sum(len(np.unique(self._queries[part])) for part in parts) == len(
            np.unique(self._queries)
        )

    def _shape(self, part: Codes) -> tuple[Codes, Floats, sparse.csr_array]:
        """Of a part: the query of every row, its weight u U, and the matrix of weighted means."""
        u = self._design.weights[part]
        _, query = np.unique(self._queries[part], return_inverse=True)
        total = np.bincount(query, u)
        share = np.divide(u, total[query], out=np.zeros(len(u)), where=total[query] > 0)
        mean = sparse.csr_array((share, (query, np.arange(len(part)))), (len(total), len(part)))
        return query, u * total[query], mean

    def _ready(self, V: Floats, part: Codes) -> Floats:
        query, weight, mean = self._shape(part)
        return weight[:, None] * (V[part] - (mean @ V[part])[query])

    def _spread(self, part: Codes) -> Floats:
        return added(np.einsum("ij,ij->j", rows, rows) for _, rows in self._centred(part))

    def _products(self, part: Codes) -> Floats:
        _, weight, _ = self._shape(part)
        right = self._ready(self._right, part) / np.where(weight > 0, np.sqrt(weight), 1.0)[:, None]
        joined = (np.hstack([rows, right[some]]) for some, rows in self._centred(part))
        return added(both.T @ both for both in joined)

    def _centred(self, part: Codes) -> Any:
        """Rows centred within their query and times the root of their weight, some at a time."""
        query, weight, mean = self._shape(part)
        places = np.split(np.arange(len(part)), range(ROWS_AT_ONCE, len(part), ROWS_AT_ONCE))
        means = sum(mean[:, some] @ self._design.rows(part[some]) for some in places)
        for some in places:
            rows = self._design.rows(part[some])
            rows -= means[query[some]]
            rows *= np.sqrt(weight[some])[:, None]
            yield some, rows


class Order(NamedTuple):
    r"""The order that the rows of each query belong in.

    The weight of the pairs in the wrong order is had by sorting. With y_i > y_j for a pair,

        sum u_i u_j ([s_i < s_j] + [s_i = s_j] / 2)
            =  sum u_i u_j [s_i < s_j] / 2  +  sum u_i u_j [s_i <= s_j] / 2,

    and each of the two sums is taken in the order of the scores: what has come so far is kept by
    target in a tree of sums, so that a row asks for the weight of those above it in log time.
    """

    rows: Codes  # those of some weight, those of a query together
    ends: Codes  # where each query ends
    depth: Codes  # the place of a row's target among those of its query, zero for the largest
    weights: Floats  # of these rows
    total: float  # the weight of all pairs with different targets
    plain: bool  # whether there are two targets in one query, and all rows weigh the same

    @property
    def is_short(self) -> bool:
        """Whether pairs are compared sooner than rows are sorted, and all weights are one."""
        return len(self.rows) <= COMPARED and bool(self.weights[0] == 1.0)

    @classmethod
    def of(cls, y: Floats, weights: Floats, queries: Codes) -> "Order":
        """The order by the target y."""
        rows = np.lexsort((-y, queries))
        rows = rows[weights[rows] > 0]
        y, w, query = y[rows], weights[rows], queries[rows]
        new_query = np.append(True, query[1:] != query[:-1])[: len(rows)]
        new_level = new_query | np.append(True, y[1:] != y[:-1])[: len(rows)]
        begins = np.flatnonzero(new_query)
        level = np.cumsum(new_level) - 1
        depth = level - np.repeat(level[begins], np.diff(np.append(begins, len(rows))))
        sums = np.bincount(level, w) if len(rows) else np.zeros(0)
        within = np.split(sums, np.unique(level[begins])[1:])
        total = float(sum(some[1:] @ np.cumsum(some)[:-1] for some in within))
        ends = np.append(begins[1:], len(rows))[: len(begins)]
        plain = len(ends) == 1 and depth[-1] == 1 and bool(np.all(w == w[0]))
        return cls(rows, ends, depth.astype(np.intp), w, total, plain)

    def wrong(self, scores: Floats, blur: Floats) -> Floats:
        """The weight of pairs in the wrong order, half of those that are not told apart.

        ``scores`` is rows x models, and scores of a model that differ by no more than its ``blur``
        are not told apart.
        """
        blur = np.broadcast_to(np.asarray(blur, dtype=np.float64), scores.shape[1])
        out, left = np.empty(len(blur)), np.ones(len(blur), dtype=bool)
        if self.plain:
            out, left = self._by_places(scores, blur)
        if left.any():
            from sparsepath.rls.pairs.compiled import sum_disorder

            some, wrong = scores.T[left].take(self.rows, axis=1), np.empty(np.count_nonzero(left))
            sum_disorder(some, self.ends, self.depth, self.weights, blur[left], wrong)
            out[left] = wrong
        return out

    def _by_places(self, scores: Floats, blur: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The same where the order is plain, and for which models it is not said: there are ties.

        Of scores that are all told apart, the places in their order say which pairs are wrong: N
        rows of the larger target come after those of the smaller in sum of places less N(N-1)/2
        pairs. The target is kept in the last bit of a score: what that may change is no gap.
        """
        few = scores.T.take(self.rows, axis=1)
        bits = few.view(np.int64)
        bits &= -2
        bits |= self.depth
        few.sort(axis=1)
        ends = np.maximum(np.abs(few[:, 0]), np.abs(few[:, -1]))
        gaps = np.diff(few, axis=1).min(axis=1, initial=np.inf)
        m, smaller = few.shape[1], int(self.depth.sum())
        bits &= 1
        places = bits.astype(np.float64) @ np.arange(float(m))
        wrong = places - 0.5 * smaller * (smaller - 1)
        near = blur + LAST_BITS * ends + np.finfo(float).tiny
        return wrong * self.weights[0] ** 2, gaps <= near


class DisagreementModel(FoldLossModel):
    """Scores judged by the share of pairs in the wrong order, in the test parts of splits.

    Pairs of the same query with different targets count, each with the product of its weights; one
    that the scores do not tell apart counts half. ``FoldLossModel`` has what every candidate
    predicts for the test rows. The sums are for ranking those over pairs; there are such pairs in
    every test part.
    """

    def __init__(
        self, design: Design, Y: Floats, alpha: float, pooled: bool, sums: SplitSums, queries: Codes
    ) -> None:
        self._blur = NO_DECISION * float(np.ptp(Y))
        self._orders = [
            Order.of(Y[test, 0], design.weights[test], queries[test]) for _, test in sums.pairs
        ]
        self._short = all(order.plain and order.is_short for order in self._orders)
        super().__init__(design, Y, alpha, sums.pairs, pooled, SQUARED, sums)

    counts = True

    @property
    def compares(self) -> bool:
        """Whether pairs are compared: few rows of two classes in every split, weights of one."""
        return self._short and self._d is not None

    @property
    def reach(self) -> Floats:
        """Of every column; see ``criteria/losses.py``."""
        return self._reach

    @property
    def weights_of_splits(self) -> list[Floats]:
        """What every split weighs in the criterion."""
        return self._v

    def ordered(self) -> tuple[Any, ...]:
        """What a compiled loop asks for of the empty model.

        What is left of the columns on the test rows, rows by columns, those of the larger target
        first in every split; the same of the target, which is zero; where every split begins, how
        many rows have the larger target, what a pair weighs; the reach of all columns, and the
        difference of scores of full reach that decides nothing.
        """
        assert self._d is not None
        orders = self._orders
        d = np.vstack([left[order.rows] for left, order in zip(self._d, orders, strict=True)])
        starts = np.cumsum([0, *(len(order.rows) for order in orders)])
        larger = np.array([len(order.rows) - int(order.depth.sum()) for order in orders])
        each = [v[0] / order.total for v, order in zip(self._v, orders, strict=True)]
        shares = np.array(each) / (1.0 if self.pooled else len(each))
        return d, np.zeros(len(d)), starts, larger, shares, self._reach, self._blur

    def judged_order(self, f: int, left: Floats, reach: Floats) -> Floats:
        """The share of wrong pairs of split f, of models that leave this of zero, rows x models."""
        return self._judge(f, left[:, None], reach)

    def _errors_by_sums(self) -> Floats:
        """The criterion with each feature added, in a compiled loop where that is quicker."""
        if self._d is None or not self._short:
            return super()._errors_by_sums()
        if not PAIRS_PRICE.is_paid():
            start = time.perf_counter()
            found = super()._errors_by_sums()
            PAIRS_PRICE.spent += time.perf_counter() - start
            return found
        pivots, fine = self._pivots()
        reach = self._reach_with(np.arange(self.design.n_features))
        errors = self._compared(self._d, self.c[:, :, 0] / pivots, reach)
        return np.where(fine, self._joined(errors), np.inf)

    def _judged_folds(self) -> Floats:
        if self.rough or not (self._short and PAIRS_PRICE.is_paid()):
            return super()._judged_folds()
        nothing = [np.zeros((len(e), 1), order="F") for e in self._e]
        reach = self._reach[self.chosen].sum(keepdims=True)
        return self._compared(nothing, np.zeros((len(nothing), 1)), reach)[:, 0]

    def _compared(self, left: list[Floats], omega: Floats, reach: Floats) -> Floats:
        """The share of wrong pairs of every split, with omega times each column taken off e."""
        from sparsepath.rls.pairs.compiled import count_disorder

        errors, blur = np.empty(omega.shape), self._blurs(reach)
        for f, (order, D, e) in enumerate(zip(self._orders, left, self._e, strict=True)):
            larger = len(order.rows) - int(order.depth.sum())
            count_disorder(D, e[:, 0], omega[f], order.rows, larger, blur, errors[f])
            errors[f] *= self._v[f][0] / order.total
        return errors

    def _reset(self) -> None:
        super()._reset()
        total = sum(order.total for order in self._orders)
        self._v = [
            np.array([order.total / total if self.pooled else 1.0]) for order in self._orders
        ]

    def _empty_residuals(self) -> list[Floats]:
        """Zeros: neither the target nor the constant term has a part in the order of scores.

        What is taken off them is the scores to the last digit, however small these are.
        """
        return [np.zeros((len(test), 1)) for _, test in self.sums.pairs]

    def _from_rows(self, f: int, residuals: Floats, reach: Floats, squared: bool) -> Floats:
        """As above: what was computed from the rows has the target in it."""
        if squared:
            return self._squares(f, residuals)
        return self._judge(f, residuals - self.fits.parts[f].y[:, :, None], reach)

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """The share of wrong pairs in the test rows of split f; residuals are minus the scores."""
        order = self._orders[f]
        wrong = order.wrong(-residuals[:, 0], self._blurs(reach))
        return wrong * (self._v[f][0] / order.total)

    def _blurs(self, reach: Floats) -> Floats:
        """The differences of scores up to which they are not told apart."""
        return np.asarray(self._blur * np.minimum(reach, 1.0))
