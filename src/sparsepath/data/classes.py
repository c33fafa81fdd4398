"""Class encoding, prediction from scores, probabilities from scores.

Samples of weight zero count as absent, so a class with total weight zero does not exist.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats


def encode(
    labels: NDArray[Any], weights: Floats | None = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the classes of the samples that count, in order, and the class index of each sample.

    Samples of weight zero whose class has no other samples get the first class.

    >>> encode(np.array(["b", "a", "c"]), np.array([1.0, 2.0, 0.0]))[1].tolist()
    [1, 0, 0]
    """
    classes = np.unique(labels if weights is None else labels[weights > 0])
    known = np.isin(labels, classes)
    first = classes[:1] if len(classes) else labels[:1]
    return classes, np.searchsorted(classes, np.where(known, labels, first))


def class_weighted(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp], weights: Floats
) -> Floats:
    """Return sample weights times class weights; "balanced": all classes have the same total
    weight.

    >>> class_weighted("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1]), np.ones(4))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if class_weight is None:
        return weights
    return np.asarray(weights * class_factors(class_weight, classes, codes, weights)[codes])


def class_factors(
    class_weight: Any, classes: NDArray[Any], codes: NDArray[np.intp], weights: Floats
) -> Floats:
    """Return what the sample weights of every class are multiplied by."""
    from sklearn.utils import compute_class_weight

    counted = weights > 0
    labels = classes[codes[counted]]
    try:
        factors = compute_class_weight(
            class_weight, classes=classes, y=labels, sample_weight=weights[counted]
        )
    except (TypeError, ValueError) as error:
        raise InputError(f"class_weight={class_weight!r}: {error}") from error
    fine = np.isfinite(factors) & (factors > 0)
    if not fine.all():
        raise InputError(
            f"class_weight of class {classes[~fine][0]!s} is not a number above zero; to leave a "
            "class out, leave its samples out."
        )
    return np.asarray(factors, dtype=np.float64)


def encode_targets(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Return targets -1 and +1: one column for two classes (+1 for the second), else one per class.

    >>> encode_targets(np.array([0, 1]), 2).ravel().tolist()
    [-1.0, 1.0]
    """
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Y[:, 1:] if n_classes == 2 else Y


def winners(scores: Floats) -> NDArray[np.intp]:
    """Return the class with the largest score; for one column, 1 where it is positive.

    >>> winners(np.array([[0.2, 0.7], [0.5, 0.1]])).tolist()
    [1, 0]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores.argmax(1)
    return (scores.reshape(len(scores)) > 0).astype(np.intp)


USUAL_SLOPE = 2.0  # of scores that estimate targets -1 and +1: about (1 + f) / 2 in the middle


def log_probabilities(scores: Floats, slope: float = 1.0) -> Floats:
    """Return logarithms of the class probabilities, one column per class, by the logistic function.

    With scores s_c, the probability of class c is proportional to exp(slope s_c). A single column
    is the score of the second class against the first.

    >>> np.exp(log_probabilities(np.array([[0.0], [np.log(3.0)]]))).round(3).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    scores = slope * scores.reshape(len(scores), -1)
    if scores.shape[1] == 1:
        return np.asarray(-np.logaddexp(0.0, np.hstack([scores, -scores])))
    off = scores - scores.max(1, keepdims=True)
    return np.asarray(off - np.log(np.exp(off).sum(1, keepdims=True)))
