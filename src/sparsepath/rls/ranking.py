"""Ranking on a few features: least squares on pairs of samples, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.base import Linear, fitting, open_fit
from sparsepath.base.targets import one_target
from sparsepath.data.splits import group_codes
from sparsepath.data.validation import check_features, check_target, check_weights
from sparsepath.errors import InputError
from sparsepath.rls.base import SparseRLS
from sparsepath.rls.criteria.losses import NO_DECISION
from sparsepath.rls.criteria.table import QUERIES
from sparsepath.rls.design import Design
from sparsepath.rls.estimators import SparseRLSRegressor
from sparsepath.rls.pairs.queries import Order, vary_within
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.docstrings import parameters_like


@parameters_like(SparseRLSRegressor, attributes=True)
@dataclass(eq=False, repr=False)
class SparseRankRLS(RegressorMixin, SparseRLS):
    """Ranking by least squares on pairs (RankRLS) with few features, chosen by cross-validation.

    The scores x'w minimise the sum of ((y_i - y_j) - (x_i - x_j)'w)^2 over all pairs of samples, or
    over those of the same query, plus alpha |w|^2. Features are chosen as in
    ``SparseRLSRegressor``, with the same choices and errors as refitting every model from scratch.

    Parameters
    ----------
    search : {"forward", "floating", "backward", "swap", "strong"}, default="forward"
        The searches of ``SparseRLSRegressor``.
    alpha : float or list of float, default=1.0
        Ridge penalty, added to the sum over all pairs. A list: one path per value; the best pair
        of penalty and size is used.
    cv : "loo", int, splitter or list of splits, default="loo"
        Criterion of the search. "loo" leaves out one query at a time, or without queries one pair
        of samples at a time (up to a few thousand samples). With a number of folds, a splitter or
        splits, pairs within the test part are evaluated by the fit to pairs within the training
        part; a number means folds of whole queries.
    loss : {"squared", "disagreement"}, default="squared"
        Loss of a pair. "squared": half the squared error of the score difference, which is on the
        scale of a squared error per sample. "disagreement": 1 if the scores are in the wrong
        order, 0.5 if they are equal; pairs with equal targets do not count. "squared" is faster.
    standardize : bool, default=True
        If True, penalise columns as if they had unit variance (within queries if there are any);
        coefficients stay in units of the data. If False, penalise the columns unscaled.
    pooled : bool, default=False
        If True, average over all pairs; if False, average the means per query or test part.

    Attributes
    ----------
    intercept_ : float
        Does not affect the order; it gives the scores the mean of y.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, query = rng.standard_normal((60, 5)), np.repeat(np.arange(12), 5)
    >>> offset = 10 * rng.standard_normal(12)  # what is common to a query says nothing about order
    >>> y = X[:, 1] - X[:, 3] + offset[query]
    >>> model = SparseRankRLS(3).fit(X, y, groups=query)
    >>> model.path_.subset(2), model.score(X, y, groups=query) > 0.99
    ((1, 3), True)
    """

    _known = QUERIES
    _one_target = True
    fit_intercept = True  # it cancels within pairs
    memory_budget = None

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Run the search and choose a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Values to rank by, the largest first.
        groups : array of shape (n_samples,), optional
            Query of every sample: samples of the same query are ranked among each other.
        """
        given, X = open_fit(self, X, y, groups=groups)
        Y = one_target(y, X.shape[0])
        return self._fit(X, Y, np.ones(X.shape[0]), Y[:, 0], given)

    def _queries(self, labels: ArrayLike, groups: Vector, design: Design) -> NDArray[np.intp]:
        queries = _codes(groups, design.n_samples)
        if not Order.of(np.asarray(labels), design.weights, queries).total > 0:
            raise InputError("y is constant within every query; there is nothing to rank.")
        if groups is not None and not queries.any():
            raise InputError("groups has only one query; give two or more, or no groups.")
        vary_within(design, queries, standardize=self.standardize and groups is not None)
        return queries

    def _alphas(self, design: Design, Y: Floats, candidates: Sequence[int]) -> list[float]:
        if isinstance(self.alpha, str):
            raise InputError(f"alpha={self.alpha!r}; use a number or a list of numbers.")
        return super()._alphas(design, Y, candidates)

    @property
    def _method(self) -> str:
        return "rank-rls"

    def predict(self, X: Any) -> Floats:
        """Return scores; a larger score means a higher rank.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        """
        return self._scores(X)[:, 0]

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Return the fraction of pairs in the right order (concordance); tied scores count one
        half.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            Values to rank by; pairs with equal values do not count.
        sample_weight : array of shape (n_samples,), optional
            The weight of a pair is the product of the weights of its samples.
        groups : array of shape (n_samples,), optional
            Query of every sample; pairs of different queries do not count.
        """
        check_is_fitted(self)
        model = Linear(self.selected_, self.coef_[self.selected_, None], np.zeros(1))
        # without the intercept, beside which small scores would be lost
        scores = model.predict(check_features(self, X, reset=False))
        Y, _ = check_target(y, len(scores))
        weights = check_weights(sample_weight, len(scores))
        wanted = Order.of(Y[:, 0], weights, _codes(groups, len(scores)))
        if not wanted.total > 0:
            raise InputError("y is constant within every query; there is no order to evaluate.")
        wrong = wanted.wrong(scores, NO_DECISION * np.ptp(scores, axis=0))[0]
        return float(1 - wrong / wanted.total)


def _codes(groups: ArrayLike | None, m: int) -> NDArray[np.intp]:
    """Return the query of every sample as an integer from zero."""
    if groups is None:
        return np.zeros(m, dtype=np.intp)
    return group_codes(groups, m)
