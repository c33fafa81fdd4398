"""Order of entry of columns in least angle regression."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from sparsepath.system.arrays import Floats

SIZE = 10  # exponent of two of the largest number of y, for scikit-learn's end at 1e-7


def lars_entries(X: Floats, y: Floats, most: int) -> NDArray[np.intp]:
    """Return the first ``most`` columns to enter, without collinear ones.

    scikit-learn spends an iteration without an entry when a coefficient changes its sign (the lasso
    rule), so the number of iterations is doubled until there are enough columns or no more enter.
    scikit-learn also stops when the residual is below a fixed number, so y is scaled to ``SIZE``.
    """
    _, exponent = np.frexp(np.abs(y).max(initial=0.0))
    y = np.ldexp(y, SIZE - exponent)  # by a power of two, without rounding
    active: list[int] = []
    iterations, before = most, -1
    while before < len(active) < most:
        iterations, before = 2 * iterations, len(active)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            active = lars_path(X, y, method="lar", max_iter=iterations)[1]
    return np.array(active[:most], dtype=np.intp)
