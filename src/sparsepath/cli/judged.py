"""A selector that cannot predict, given a model that can: what the command line does with it."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features, check_target, refuse_constant
from sparsepath.elm import OPELMRegressor
from sparsepath.errors import InputError
from sparsepath.information import MutualInfoSelector
from sparsepath.path import SelectionPath
from sparsepath.selector import PathSelector
from sparsepath.steps import Step

CRITERION = "leave-one-out squared error of OP-ELM"


class MutualInfoRegressor(RegressorMixin, PathSelector, BaseEstimator):
    """Subsets by mutual information; for each an optimally pruned extreme learning machine.

    Mutual information orders the subsets of one size; it does not predict, and it compares sizes
    badly. So the machine is fitted to the best subset of every size, and the error on the path is
    its leave-one-out error. For the empty subset that is the error of the mean.

    Parameters
    ----------
    max_features, search, n_restarts, n_threads, callback
        As for ``MutualInfoSelector``.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Which size to use for prediction.
    random_state : int, default=0
        The seed of restarts and neurons.

    Attributes
    ----------
    path_ : SelectionPath
        Subsets by mutual information, errors of the machines.
    selector_ : MutualInfoSelector
        Its own path has the mutual information.
    selected_ : array of int
        The columns in use.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    def __init__(
        self,
        max_features: int | None = None,
        *,
        choose: str | int | float = "one_se",
        search: str = "forward",
        n_restarts: int = 100,
        random_state: int = 0,
        n_threads: int | None = None,
        callback: Callable[[SelectionPath], object] | None = None,
    ) -> None:
        self.max_features = max_features
        self.choose = choose
        self.search = search
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.n_threads = n_threads
        self.callback = callback

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Search for the path, fit a machine to every subset, and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            The target.
        """
        X = check_features(self, X, reset=True)
        Y, _ = check_target(y, X.shape[0])
        if Y.shape[1] != 1:
            raise InputError(f"y has {Y.shape[1]} targets; this estimator takes one.")
        refuse_constant(Y, np.ones(len(Y)))
        self.selector_ = MutualInfoSelector(
            self.max_features,
            choose="min",
            search=self.search,
            n_restarts=self.n_restarts,
            random_state=self.random_state,
            n_threads=self.n_threads,
            callback=self.callback,
        ).fit(X, Y[:, 0])
        self.selector_.set_params(callback=None)  # it is no part of the model
        found = self.selector_.path_
        self._mean = float(Y.mean())
        self._machines: dict[int, OPELMRegressor] = {}
        steps = []
        for size, subset in zip(found.sizes, found.subsets, strict=True):
            if size:
                machine = OPELMRegressor(random_state=self.random_state)
                self._machines[size] = machine.fit(X[:, sorted(subset)], Y[:, 0])
                steps.append(Step(subset, machine.loo_error_, machine.loo_error_se_))
            else:
                squares = np.square((Y[:, 0] - self._mean) * len(Y) / (len(Y) - 1))
                se = squares.std(ddof=1) / np.sqrt(len(Y))
                steps.append(Step(subset, float(squares.mean()), float(se)))
        self.path_ = SelectionPath(
            steps,
            n_features=found.n_features,
            moves=found.moves,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion=CRITERION,
            method=found.method,
            parameters={**found.parameters, "choose": self.choose},
            data={"n_samples": len(Y), "n_features": found.n_features},
            seed=self.random_state,
            complete=found.complete,
            stopped=found.stopped,
        )
        self._take(self.path_.settle(self.choose))
        return self

    def _take(self, size: int) -> None:
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)

    def predict(self, X: Any) -> Floats:
        """Predicted targets, from the selected columns alone."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        if not len(self.selected_):
            return np.full(X.shape[0], self._mean)
        return self._machines[len(self.selected_)].predict(X[:, np.sort(self.selected_)])
