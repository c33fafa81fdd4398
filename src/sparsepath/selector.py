"""What fitted estimators with a path have in common."""

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features
from sparsepath.judging.honest import Honest
from sparsepath.path import SelectionPath
from sparsepath.running import Given, Linear, Predictor


class PathSelector(SelectorMixin):
    """An estimator that uses one of the models on its path, and only that model's columns.

    Attributes
    ----------
    path_ : SelectionPath
    models_ : dict of size to Predictor
        The model of every size on the path: small, frozen, as JSON by ``to_dict``. Empty if the
        selector does not predict.
    selected_ : array of int
        The columns in use.
    n_features_in_ : int
    honest_ : Honest or None
        The size in use and its error on data that the whole procedure never saw; None if
        ``validation`` is.
    """

    path_: SelectionPath
    selected_: NDArray[np.intp]
    n_features_in_: int
    honest_: Honest | None
    _n_folds = 10  # of the default validation

    @property
    def models_(self) -> dict[int, Predictor]:
        """The model of every size on the path; ``predict`` of each gives numbers or scores."""
        check_is_fitted(self)
        if known := getattr(self, "_models", None):
            return dict(known)
        linear = {len(step.subset): Linear.of(step) for step in self.path_.steps}
        return {size: model for size, model in linear.items() if model is not None}

    def _take(self, size: int) -> None:
        """Use the model of this size from now on."""
        self.selected_ = np.array(self.path_.subset(size), dtype=np.intp)

    def _scores(self, X: Any) -> Floats:
        """Outputs of the model in use, n x T; columns that are not selected have no influence."""
        check_is_fitted(self)
        scores = self.models_[len(self.selected_)].predict(check_features(self, X, reset=False))
        return scores.reshape(len(scores), -1)

    def _settle_on(self, path: SelectionPath, given: Given) -> int:
        """The size to use, on a path that came to its end.

        The one place where a size is settled on, unless the method itself says which it means.
        ``given`` holds the arguments of the fit, for a choice that looks at the data again.
        """
        return path.settle(getattr(self, "choose", "min"))

    def at_size(self, size: int) -> Self:
        """A copy of this fitted estimator that uses the model of another size on its path.

        Parameters
        ----------
        size : int
            One of ``path_.sizes``.
        """
        check_is_fitted(self)
        self.path_.step(size)  # raises if there is none
        other = copy.copy(self)
        other._take(size)
        honest = getattr(self, "honest_", None)
        if honest is not None:
            other.honest_ = honest.at(self.path_, size)
        return other

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask
