"""Targets of estimators: numbers of the shape that they came in, classes as -1 and +1.

One rule for samples of weight zero: they are absent. So a target that varies only where weights
are zero is constant, and a class of weight zero is none (``classes.py``).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from sparsepath.arrays import Floats
from sparsepath.classes import encode, winners
from sparsepath.data.door import (
    check_labels,
    check_target,
    check_weights,
    refuse_constant,
    refuse_extremes,
)
from sparsepath.errors import InputError


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


class ClassifierFace(ClassifierMixin):
    """Labels in, labels out; ``_scores`` of the estimator have a column per class, one for two.

    Attributes
    ----------
    classes_ : array
        The class labels.
    """

    classes_: NDArray[Any]
    _one_target = False

    def _codes(self, y: Any, n_samples: int, weights: Floats | None = None) -> NDArray[np.intp]:
        """The class of each sample, by number; ``classes_`` are those of samples that count."""
        self.classes_, codes = encode(check_labels(y, n_samples), weights)
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
        """The class with the largest score."""
        scores = self._scores(X)  # which says so if there is no model yet
        return self.classes_[winners(scores)]
