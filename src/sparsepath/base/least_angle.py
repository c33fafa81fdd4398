"""The order in which columns enter least angle regression."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from sparsepath.system.arrays import Floats

SIZE = 10  # exponent of two of the largest number of y, for scikit-learn's end at 1e-7


def lars_entries(X: Floats, y: Floats, most: int) -> NDArray[np.intp]:
    """The first columns to enter, at most so many; collinear ones are skipped.

    scikit-learn lets an iteration pass without an entry when a coefficient changes its sign, as if
    it were to be dropped (the rule of the lasso), so a number of iterations is no number of
    columns: iterations are doubled until there are enough columns, or no more come. It also ends
    where what is left is below a fixed number, whatever the units of y: y is brought to ``SIZE``.
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
