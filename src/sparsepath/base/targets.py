"""Targets of estimators: numbers of the shape that they came in, classes as -1 and +1.

One rule for samples of weight zero: they are absent. So a target that varies only where weights
are zero is constant, and a class of weight zero is none (``classes.py``).
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
    """Checked features as a dense float64 array."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def several_targets(y: Any, n_samples: int, weights: Floats | None = None) -> tuple[Floats, bool]:
    """Targets, n x T, that vary where samples count, and whether they came as a vector."""
    Y, plain = check_target(y, n_samples)
    refuse_constant(Y if weights is None or weights.all() else Y[weights > 0])
    refuse_extremes(Y)
    return Y, plain


def one_target(y: Any, n_samples: int, weights: Floats | None = None) -> Floats:
    """A single target as a column, n x 1, that varies where samples count."""
    from sklearn.utils.validation import column_or_1d

    Y, plain = several_targets(y, n_samples, weights)
    if Y.shape[1] != 1:
        raise InputError(f"y has {Y.shape[1]} targets; this estimator takes one.")
    if not plain:
        column_or_1d(y, warn=True)  # says that a vector was expected
    return Y


def weights_of(sample_weight: Any, n_samples: int) -> Floats | None:
    """Checked sample weights; None if there are none."""
    if sample_weight is None:
        return None
    return check_weights(sample_weight, n_samples)


class RegressorFace(RegressorMixin):
    """Numbers in, numbers out; ``_scores`` of the estimator are n x T."""

    _several = False  # whether it takes several targets at once
    _one_target = True  # whether y was a vector

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags

    def _numbers(self, y: Any, n_samples: int, weights: Floats | None = None) -> Floats:
        """The targets of a fit, n x T; they must vary where samples count."""
        if not self._several:
            return one_target(y, n_samples, weights)
        Y, self._one_target = several_targets(y, n_samples, weights)
        return Y

    def _shaped(self, values: Floats) -> Floats:
        """In the shape that y had."""
        return values[:, 0] if self._one_target else values

    def predict(self, X: Any) -> Floats:
        """Predicted targets, of the shape that y had."""
        return self._shaped(self._scores(X))


def check_threshold(estimator: Any, n_classes: int) -> None:
    """Refuse a ``threshold`` that cannot be chosen."""
    rule = rule_of(getattr(estimator, "threshold", None))
    if rule is not None and n_classes != 2:
        raise InputError(f"threshold is for two classes, and y has {n_classes}.")


class ClassifierFace(ClassifierMixin):
    """Labels in, labels out; ``_scores`` of the estimator have a column per class, one for two.

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
        """The class of each sample, by number; ``classes_`` are those of samples that count."""
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
        """Scores: one column per class, or for two classes one number, positive for the second."""
        scores: Floats = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; for two, the second above ``threshold``."""
        scores = self._scores(X)  # which says so if there is no model yet
        return self.classes_[winners(scores - self._threshold_at(self._size_in_use()))]

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, one column each.

        They are the logistic function (of more than two classes softmax) of the scores times a
        slope. The slope of every size is the one of least log loss on the samples that validation
        leaves out; without validation it is 2, and the probabilities are not calibrated.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities of the classes, one column each."""
        scores = self._scores(X)
        return log_probabilities(scores, self._slope_at(self._size_in_use()))

    def _size_in_use(self) -> int:
        """Number of selected features; 0 for models that select none."""
        return len(getattr(self, "selected_", ()))

    def _slope_at(self, size: int) -> float:
        """What multiplies the scores of a size before the logistic function."""
        return float(getattr(self, "_slopes", {}).get(size, USUAL_SLOPE))

    def _threshold_at(self, size: int) -> float:
        """The score of a size above which the second of the two classes is predicted."""
        return float(getattr(self, "_thresholds", {}).get(size, 0.0))
