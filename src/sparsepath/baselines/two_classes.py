"""Features and labels of the baselines for two classes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import Call
from sparsepath.base.targets import dense
from sparsepath.data.classes import encode
from sparsepath.data.validation import check_features, check_labels
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats


def two_classes(X: Any, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return dense features, and -1 for the first class in order and +1 for the second.

    >>> two_classes([[1.0], [2.0]], ["yes", "no"])[1]
    array([ 1., -1.])
    """
    A = dense(check_features(Call(), X, reset=True))
    classes, codes = encode(check_labels(y, len(A)))
    if len(classes) != 2:
        raise InputError(f"y has {len(classes)} classes; this baseline takes two.")
    return A, np.where(codes == 1, 1.0, -1.0)
