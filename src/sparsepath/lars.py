"""Least angle regression as a selection path: a thin layer over scikit-learn."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features, refuse_constant
from sparsepath.elm.estimators import check_count, check_one_target, lars_entries
from sparsepath.elm.network import ROOM, Target, standardise
from sparsepath.errors import InputError
from sparsepath.path import SelectionPath
from sparsepath.steps import Move, Step


class LarsSelector(RegressorMixin, SelectorMixin, BaseEstimator):
    """Least angle regression: features in the order in which they enter.

    Features are brought to unit variance. The model of each size is least squares on the features
    that have entered, and its error is the exact leave-one-out error of that model; one
    orthogonalisation of the features in their order gives all of them.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path; None: all features, or as many as samples allow.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Which size to use for prediction: the smallest within one standard error of the least error,
        that of the least error, a given size, or the smallest within a fraction of the least error.

    Attributes
    ----------
    path_ : SelectionPath
        Subset, leave-one-out error and coefficients for every size.
    selected_ : array of int
        The columns in use, in order of entry.
    coef_, intercept_ : array, float
        Coefficients in the units of the data, zero for columns not in use.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> LarsSelector().fit(X, y).path_.names(4)
    ('bmi', 's5', 'bp', 's3')
    """

    def __init__(
        self, max_features: int | None = None, *, choose: str | int | float = "one_se"
    ) -> None:
        self.max_features = max_features
        self.choose = choose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Follow least angle regression and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            The target.
        """
        X = check_features(self, X, reset=True)
        Y = check_one_target(y, X.shape[0])
        refuse_constant(Y, np.ones(len(Y)))
        XT, centre, scale = standardise(X)
        usable = np.flatnonzero(XT.any(1))
        most = min(len(usable), len(Y) - 2)
        if self.max_features is not None:
            most = min(most, check_count(self.max_features, "max_features", least=0))
        target = Target(Y)
        order = usable[lars_entries(XT[usable].T, target.rows[0], most)].tolist()
        steps = _steps(XT, centre, scale, order, target)
        self.path_ = SelectionPath(
            steps,
            n_features=self.n_features_in_,
            moves=[Move("add", i, steps[k + 1].error, 0.0) for k, i in enumerate(order)],
            feature_names=getattr(self, "feature_names_in_", None),
            method="lars",
            parameters=self.get_params(deep=False),
            data={"n_samples": len(Y), "n_features": len(XT)},
        )
        self._take(self.path_.choose(self.choose))
        return self

    def _take(self, size: int) -> None:
        step = self.path_.step(size)
        if step.coef is None or step.intercept is None:
            raise InputError(f"the path has no coefficients at size {size}.")
        self.selected_ = np.array(step.subset, dtype=np.intp)
        self.coef_ = np.zeros(self.n_features_in_)
        self.coef_[self.selected_] = step.coef[:, 0]
        self.intercept_ = float(step.intercept[0])

    def at_size(self, size: int) -> Self:
        """A copy of this fitted estimator that uses the model of another size.

        Parameters
        ----------
        size : int
            One of ``path_.sizes``.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._take(size)
        return other

    def predict(self, X: Any) -> Floats:
        """Predicted targets, from the selected columns alone."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return np.asarray(X[:, self.selected_] @ self.coef_[self.selected_]) + self.intercept_

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask


def _steps(
    XT: Floats, centre: Floats, scale: Floats, order: list[int], target: Target
) -> list[Step]:
    """Least squares on the first 0, 1, 2, ... features of the order: X = Q R, leverages from Q."""
    Q, R = np.linalg.qr(XT[order].T)
    z = Q.T @ target.centred
    E, p = target.rows.copy(), np.full(target.n, 1.0 - 1.0 / target.n)
    steps = []
    for size in range(len(order) + 1):
        if size:
            E = E - z[size - 1] * Q[:, size - 1]
            p = p - np.square(Q[:, size - 1])
        loo = target.judge(E, p)
        subset = order[:size]
        coef = np.linalg.solve(R[:size, :size], z[:size]) / scale[subset, None]
        steps.append(
            Step(
                tuple(subset),
                loo.criterion if p.min() > ROOM else np.inf,
                loo.standard_error,
                coef,
                target.mean - centre[subset] @ coef,
                float(np.square(E).mean()),
            )
        )
    return steps
