r"""Ranking: least squares on all pairs of samples of the same query, judged over any splits.

With d_i = y_i - x_i w what is minimised is, over the pairs of each query q,

    sum_q sum_{i<j} u_i u_j (d_i - d_j)^2 + alpha |w|^2,

u being sample weights. With U_q = sum of u over the query and d_q the weighted mean of d there,

    sum_{i<j} u_i u_j (d_i - d_j)^2  =  U_q sum_i u_i (d_i - d_q)^2,

so that pairs never have to be written out: it is least squares on rows that are centred within
their query and weigh u_i U_q, without intercept. A part of the rows (a training or a test part)
has the pairs that lie in it, so each query is centred and weighed *within the part*: a query that
is left out as a whole, the usual case, leaves those of the others as they were. All that
``folds/model.py`` needs of a part are its sums of products; with these instead of sums over
samples it gives the exact pairwise criterion: half the mean of (d_i - d_j)^2 over pairs, so that it
is on the scale of a squared error per sample (half the mean squared difference of two draws is
their variance). Twice the pairs of a part, both orders, weigh U_q^2 - sum_i u_i^2, by which the sum
above is divided.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sparsepath._core import fold_losses as core
from sparsepath.data.columns import CONSTANT
from sparsepath.data.splits import Split
from sparsepath.rls.criteria.losses import NO_DECISION
from sparsepath.rls.criteria.pairs import pairs_weigh
from sparsepath.rls.criteria.residuals import SQUARED
from sparsepath.rls.design import Design
from sparsepath.rls.folds.losses import FoldLossModel
from sparsepath.rls.folds.moments import ROWS_AT_ONCE, SplitSums
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import sum_results

Codes = NDArray[np.intp]


def vary_within(design: Design, queries: Codes, *, standardize: bool) -> None:
    """Return which columns vary within some query; the others count as constant.

    If requested, the varying columns are scaled to unit variance within queries, since pairs within
    a query do not contain what is common to it. The variance is half the mean squared difference
    over all ordered pairs of a query's samples, including a sample with itself; for a single query
    that is the usual variance.
    """
    sums, total = QuerySums.over_all(design, queries), np.bincount(queries, design.weights)
    design.constant = design.constant | (sums <= CONSTANT * total.max() * design.sizes**2)
    if standardize:
        live, factors = ~design.constant, np.ones(design.n_features)
        factors[live] = np.sqrt(total @ total / sums[live])
        design.rescale(factors)


class QuerySums(SplitSums):
    """Sums of products over the pairs of samples in parts of the rows; see ``SplitSums``.

    Samples with the same integer in ``queries`` are ranked among each other.
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
        """Return only the squares of all columns over the pairs of all rows."""
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
        """Return the query of every row of a part, its weight u U, and the matrix of weighted
        means.
        """
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
        return sum_results(np.einsum("ij,ij->j", rows, rows) for _, rows in self._centred(part))

    def _products(self, part: Codes) -> Floats:
        _, weight, _ = self._shape(part)
        right = self._ready(self._right, part) / np.where(weight > 0, np.sqrt(weight), 1.0)[:, None]
        joined = (np.hstack([rows, right[some]]) for some, rows in self._centred(part))
        return sum_results(both.T @ both for both in joined)

    def _centred(self, part: Codes) -> Any:
        """Yield rows centred within their query, times the root of their weight."""
        query, weight, mean = self._shape(part)
        places = np.split(np.arange(len(part)), range(ROWS_AT_ONCE, len(part), ROWS_AT_ONCE))
        means = sum(mean[:, some] @ self._design.rows(part[some]) for some in places)
        for some in places:
            rows = self._design.rows(part[some])
            rows -= means[query[some]]
            rows *= np.sqrt(weight[some])[:, None]
            yield some, rows


class Order(NamedTuple):
    """Target order of the rows of each query; ``_core/order.hpp`` counts mistakes."""

    rows: Codes  # those of some weight, those of a query together, larger targets first
    ends: Codes  # where each query ends
    depth: Codes  # the place of a row's target among those of its query, zero for the largest
    weights: Floats  # of these rows
    total: float  # the weight of all pairs with different targets

    @classmethod
    def of(cls, y: Floats, weights: Floats, queries: Codes) -> "Order":
        """Create the order by the target y."""
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
        return cls(rows, ends, depth.astype(np.intp), w, total)

    @property
    def compiled(self) -> core.Order:
        """The order in the form of the compiled loops."""
        two = len(self.ends) == 1 and self.depth[-1] == 1 and bool((self.weights == 1.0).all())
        larger = int(np.count_nonzero(self.depth == 0)) if two else -1
        return core.Order(self.ends, self.depth, self.weights, larger)

    def wrong(self, scores: Floats, blur: Floats) -> Floats:
        """Return the weight of pairs in the wrong order, half of those with tied scores.

        ``scores`` is rows x models; scores of a model that differ by at most its ``blur`` are tied.
        """
        blur = np.broadcast_to(np.asarray(blur, dtype=np.float64), scores.shape[1])
        of_rows = np.ascontiguousarray(scores.T[:, self.rows], dtype=np.float64)
        return self.compiled.wrong(of_rows, np.ascontiguousarray(blur))


class DisagreementModel(FoldLossModel):
    """Model with the fraction of pairs in the wrong order in the test folds of splits.

    Pairs of the same query with different targets count with the product of their weights; tied
    scores count one half. ``FoldLossModel`` computes the predictions of every candidate for the
    test rows. For ranking, the sums are over pairs; every test fold must have such pairs.
    """

    counts = True
    _by_callback = False

    def __init__(
        self, design: Design, Y: Floats, alpha: float, pooled: bool, sums: SplitSums, queries: Codes
    ) -> None:
        self._apart = NO_DECISION * float(np.ptp(Y))
        self._orders = [
            Order.of(Y[test, 0], design.weights[test], queries[test]) for _, test in sums.pairs
        ]
        super().__init__(design, Y, alpha, sums.pairs, pooled, SQUARED, sums)

    def _test_rows(self, Y: Floats, design: Design, sums: SplitSums) -> list[Codes]:
        parts = zip(sums.pairs, self._orders, strict=True)
        return [test[order.rows] for (_, test), order in parts]

    def _weights(self, Y: Floats, design: Design, pooled: bool) -> Floats:
        """Return the weight of every split in the criterion, over the weight of its pairs."""
        totals = np.array([order.total for order in self._orders])
        return np.full(len(totals), 1.0 / totals.sum()) if pooled else 1.0 / totals

    def _judged_rows(self, Y: Floats) -> core.TestRows:
        orders = [order.compiled for order in self._orders]
        return core.TestRows.ordered(self._starts, self._v, orders)

    def _shares(self) -> Floats:
        return self._v * np.array([order.total for order in self._orders])

    def _empty_residuals(self, Y: Floats, nu: Floats) -> Floats:
        """Return zeros: target and intercept do not affect the order of scores.

        This keeps all digits of the scores, however small they are.
        """
        return np.zeros((1, len(self._rows)))

    def _from_rows(self, f: int, residuals: Floats, reach: Floats, squared: bool) -> Floats:
        """Evaluate residuals computed from the rows, which contain the target."""
        if squared:
            return self._squares(f, residuals)
        return self._judge(f, residuals - self.fits.parts[f].y[:, :, None], reach)

    def _judge(self, f: int, residuals: Floats, reach: Floats) -> Floats:
        """Return the fraction of wrong pairs in the test rows of split f; residuals are minus the
        scores.
        """
        return self._orders[f].wrong(-residuals[:, 0], self._blur(reach)) * self._v[f]

    def _blur(self, reach: Floats) -> Floats:
        """Return the largest differences of scores that count as ties."""
        return np.asarray(self._apart * np.minimum(reach, 1.0))
