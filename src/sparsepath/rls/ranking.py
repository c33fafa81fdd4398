"""Ranking on a few features: least squares on pairs of samples, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.arrays import Floats, Vector
from sparsepath.data.door import check_features, check_target, check_weights
from sparsepath.errors import InputError
from sparsepath.faces.targets import one_target
from sparsepath.rls.base import SparseRLS
from sparsepath.rls.criteria.losses import NO_DECISION
from sparsepath.rls.criteria.table import QUERIES
from sparsepath.rls.design import Design
from sparsepath.rls.pairs.queries import Order, vary_within
from sparsepath.running import Linear, fitting, opened


@dataclass(eq=False, repr=False)
class SparseRankRLS(RegressorMixin, SparseRLS):
    """Ranking by least squares on pairs (RankRLS) with few features, chosen by cross-validation.

    The scores x'w minimise the sum of ((y_i - y_j) - (x_i - x_j)'w)^2 over all pairs of samples, or
    over those of the same query, plus alpha |w|^2. Features are chosen as in
    ``SparseRLSRegressor``, with the same choices and errors as refitting every model from scratch.

    Parameters
    ----------
    max_features, choose, validation, search, forced, forbidden, start, parents
        As for ``SparseRLSRegressor``.
    alpha : float or list of float, default=1.0
        The penalty, beside the sum over all pairs. A list: a path for each, the best pair of
        penalty and size is used.
    cv : "loo", int, splitter or list of splits, default="loo"
        The criterion. "loo" leaves out one query at a time, or without queries one pair of samples
        at a time (up to some thousands of samples). A number of folds, a splitter or splits: pairs
        within the test part are judged by the fit to the pairs within the training part; a number
        gives folds of whole queries.
    loss : {"squared", "disagreement"}, default="squared"
        What a pair costs: half the square of what the difference of the scores is off, the scale
        of a squared error per sample (two samples err twice the square of one); or one if the
        scores are in the wrong order and a half if they are equal, and then pairs with equal
        targets do not count. The squared loss is the faster one.
    standardize : bool, default=True
        Penalise as if all columns had unit variance, within queries if there are any; coefficients
        stay in the units of the data. False: penalise the columns as they are.
    feature_groups, feature_costs, budget, stop, epsilon
        As for ``SparseRLSRegressor``.
    pooled : bool, default=False
        For queries and splits: one mean over all pairs, rather than the mean of the means of the
        queries or test parts.
    n_threads, callback, checkpoint
        As for ``SparseRLSRegressor``.

    Attributes
    ----------
    path_, selected_, coef_, alpha_, paths_, surface_, n_features_in_, feature_names_in_
        As for ``SparseRLSRegressor``.
    intercept_ : float
        It changes no order; it gives the scores the mean of y.

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
        """Search for the path and settle on a size.

        Parameters
        ----------
        y : array of shape (n_samples,)
            What to rank by, the largest first.
        groups : array of shape (n_samples,), optional
            The query of every sample: samples of the same query are ranked among each other.
        """
        given, X = opened(self, X, y, groups=groups)
        Y = one_target(y, X.shape[0])
        return self._fit(X, Y, np.ones(X.shape[0]), Y[:, 0], given)

    def _queries(self, labels: ArrayLike, groups: Vector, design: Design) -> NDArray[np.intp]:
        queries = _codes(groups, design.n_samples)
        if not Order.of(np.asarray(labels), design.weights, queries).total > 0:
            raise InputError("y is constant within every query; there is no order to find.")
        if groups is not None and not queries.any():
            raise InputError("groups holds one query only; give two or more, or no groups.")
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
        """Scores: the larger, the higher in the order."""
        return self._scores(X)[:, 0]

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """The share of pairs in the right order (concordance); pairs of equal scores count half.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array of shape (n_samples,)
            What to rank by; pairs with equal values do not count.
        sample_weight : array of shape (n_samples,), optional
            A pair weighs the product of its samples' weights.
        groups : array of shape (n_samples,), optional
            The query of every sample; pairs of different queries do not count.
        """
        check_is_fitted(self)
        model = Linear(self.selected_, self.coef_[self.selected_, None], np.zeros(1))
        # without the intercept, beside which small scores would be lost
        scores = model.predict(check_features(self, X, reset=False))
        Y, _ = check_target(y, len(scores))
        weights = check_weights(sample_weight, len(scores))
        wanted = Order.of(Y[:, 0], weights, _codes(groups, len(scores)))
        if not wanted.total > 0:
            raise InputError("y is constant within every query; there is no order to judge.")
        wrong = wanted.wrong(scores, NO_DECISION * np.ptp(scores, axis=0))[0]
        return float(1 - wrong / wanted.total)


def _codes(groups: ArrayLike | None, m: int) -> NDArray[np.intp]:
    """The query of every sample as a whole number from zero."""
    if groups is None:
        return np.zeros(m, dtype=np.intp)
    labels = np.asarray(groups)
    if labels.shape != (m,):
        raise InputError(
            f"groups has shape {labels.shape}; give the query of each of the {m} samples."
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
