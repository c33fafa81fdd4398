"""Targets of estimators: regression targets in their original shape, classes as -1 and +1.

Samples of weight zero are treated as absent. So a target that varies only where weights are zero is
constant, and a class with total weight zero does not exist (``classes.py``).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from sparsepath.assessment.thresholds import rule_of
from sparsepath.data.classes import USUAL_SLOPE, encode, log_probabilities, winners
from sparsepath.data.validation import (
    check_labels,
    check_target,
    check_weights,
    refuse_constant,
    refuse_extremes,
)
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats


def dense(X: Any) -> Floats:
    """Return checked features as a dense float64 array."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def several_targets(y: Any, n_samples: int, weights: Floats | None = None) -> tuple[Floats, bool]:
    """Return non-constant targets, n x T, and whether they came as a vector."""
    Y, plain = check_target(y, n_samples)
    refuse_constant(Y if weights is None or weights.all() else Y[weights > 0])
    refuse_extremes(Y)
    return Y, plain


def one_target(y: Any, n_samples: int, weights: Floats | None = None) -> Floats:
    """Return a single non-constant target as a column, n x 1."""
    from sklearn.utils.validation import column_or_1d

    Y, plain = several_targets(y, n_samples, weights)
    if Y.shape[1] != 1:
        raise InputError(f"y has {Y.shape[1]} targets; this estimator takes one.")
    if not plain:
        column_or_1d(y, warn=True)  # says that a vector was expected
    return Y


def weights_of(sample_weight: Any, n_samples: int) -> Floats | None:
    """Return checked sample weights, or None."""
    if sample_weight is None:
        return None
    return check_weights(sample_weight, n_samples)


class PathRegressorMixin(RegressorMixin):
    """Mixin of regressors; ``_scores`` of the estimator returns n x T numbers."""

    _several = False  # whether it takes several targets at once
    _one_target = True  # whether y was a vector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags

    def _numbers(self, y: Any, n_samples: int, weights: Floats | None = None) -> Floats:
        """Return the targets of a fit, n x T; raise an error if they are constant."""
        if not self._several:
            return one_target(y, n_samples, weights)
        Y, self._one_target = several_targets(y, n_samples, weights)
        return Y

    def _shaped(self, values: Floats) -> Floats:
        """Return values in the shape of y."""
        return values[:, 0] if self._one_target else values

    def predict(self, X: Any) -> Floats:
        """Predict targets, in the shape of the training targets.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples with the columns of the fit.
        """
        return self._shaped(self._scores(X))


def check_threshold(estimator: Any, n_classes: int) -> None:
    """Raise an error for an invalid ``threshold``."""
    rule = rule_of(getattr(estimator, "threshold", None))
    if rule is not None and n_classes != 2:
        raise InputError(f"threshold is for two classes, and y has {n_classes}.")


class PathClassifierMixin(ClassifierMixin):
    """Mixin of classifiers; ``_scores`` has one column per class, or one for two classes.

    Attributes
    ----------
    classes_ : array
        Class labels.
    """

    classes_: NDArray[Any]
    _one_target = False
    # By size, what multiplies scores before the logistic function; see assessment.calibration.
    _slopes: Mapping[int, float]
    # By size, the score above which the second of the two classes wins; see assessment.thresholds.
    _thresholds: Mapping[int, float]

    def _codes(self, y: Any, n_samples: int, weights: Floats | None = None) -> NDArray[np.intp]:
        """Return the class index of each sample; set ``classes_`` (samples of weight zero are
        ignored).
        """
        self.classes_, codes = encode(check_labels(y, n_samples), weights)
        self._thresholds = {}
        check_threshold(self, len(self.classes_))
        if len(self.classes_) < 2:
            raise InputError(
                f"y has only one class ({self.classes_.tolist()[0]!r}); a classifier needs at "
                "least two."
            )
        return codes

    def decision_function(self, X: Any) -> Floats:
        """Return scores: one column per class; for two classes one number, positive for the second.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples with the columns of the fit.
        """
        scores: Floats = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each sample: the one with the largest score.

        With two classes, predict the second class if its score is above ``threshold``.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples with the columns of the fit.
        """
        scores = self._scores(X)  # which says so if there is no model yet
        return self.classes_[winners(scores - self._threshold_at(self._size_in_use()))]

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, one column per class.

        They are the logistic function (softmax for three or more classes) of a slope times the
        scores. For logistic models the slope is 1. For others the slope and the offset of each
        class, which is part of the intercept, minimise the log loss on the samples that
        validation holds out. Without validation the slope is then 2, there is no offset, and the
        probabilities are not calibrated. With ``class_weight``, or
        ``loss="balanced"``, they belong to the classes with these weights.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples with the columns of the fit.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return logarithms of the class probabilities, one column per class.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples with the columns of the fit.
        """
        scores = self._scores(X)
        return log_probabilities(scores, self._slope_at(self._size_in_use()))

    def _size_in_use(self) -> int:
        """Number of selected features; 0 for models that select none."""
        return len(getattr(self, "selected_", ()))

    def _slope_at(self, size: int) -> float:
        """Return the factor of the scores of a size in the logistic function."""
        return float(getattr(self, "_slopes", {}).get(size, USUAL_SLOPE))

    def _threshold_at(self, size: int) -> float:
        """Return the score of a size above which the second class is predicted."""
        return float(getattr(self, "_thresholds", {}).get(size, 0.0))
