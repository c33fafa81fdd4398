"""Classes as numbers: one encoder, one rule of who wins.

One rule for samples of weight zero: they are absent. So a class of which every sample has weight
zero is no class.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats


def encode(
    labels: NDArray[Any], weights: Floats | None = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes of the samples that count, in order, and the class of each sample by number.

    Samples of weight zero whose class is no other's are given the first.

    >>> encode(np.array(["b", "a", "c"]), np.array([1.0, 2.0, 0.0]))[1].tolist()
    [1, 0, 0]
    """
    classes = np.unique(labels if weights is None else labels[weights > 0])
    known = np.isin(labels, classes)
    first = classes[:1] if len(classes) else labels[:1]
    return classes, np.searchsorted(classes, np.where(known, labels, first))


def coded(codes: NDArray[np.intp], n_classes: int) -> Floats:
    """Targets -1 and +1: one column for two classes, +1 for the second; else one for each.

    >>> coded(np.array([0, 1]), 2).ravel().tolist()
    [-1.0, 1.0]
    """
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Y[:, 1:] if n_classes == 2 else Y


def winners(scores: Floats) -> NDArray[np.intp]:
    """The class with the largest score; of one column, or a vector, 1 where it is positive.

    >>> winners(np.array([[0.2, 0.7], [0.5, 0.1]])).tolist()
    [1, 0]
    """
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores.argmax(1)
    return (scores.reshape(len(scores)) > 0).astype(np.intp)
