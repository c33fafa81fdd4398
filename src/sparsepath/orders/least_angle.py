"""The order in which columns enter least angle regression."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from sparsepath.arrays import Floats


def lars_entries(X: Floats, y: Floats, most: int) -> NDArray[np.intp]:
    """The first columns to enter, at most so many; one that depends on others is passed over.

    scikit-learn lets an iteration pass without an entry when a coefficient changes its sign, as if
    it were to be dropped (the rule of the lasso), so a number of iterations is no number of
    columns: iterations are doubled until there are enough columns, or no more come.
    """
    active: list[int] = []
    iterations, before = most, -1
    while before < len(active) < most:
        iterations, before = 2 * iterations, len(active)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            active = lars_path(X, y, method="lar", max_iter=iterations)[1]
    return np.array(active[:most], dtype=np.intp)
