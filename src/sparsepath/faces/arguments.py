"""What the room's estimators ask of their arguments."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_target, check_weights, refuse_constant
from sparsepath.errors import InputError, warn_user


def dense(X: Any) -> Floats:
    """Checked features as a dense float64 array."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def one_target(y: Any, n_samples: int, weights: Floats | None = None) -> Floats:
    """A single target as a vector; a column is taken with scikit-learn's usual warning."""
    Y, plain = check_target(y, n_samples)
    if Y.shape[1] != 1:
        raise InputError(f"y has {Y.shape[1]} targets; this estimator takes one.")
    if not plain:
        warn_user(
            "A column-vector y was passed when a 1d array was expected.", DataConversionWarning
        )
    refuse_constant(Y, np.ones(n_samples) if weights is None else weights)
    return Y[:, 0]


def weights_of(sample_weight: Any, n_samples: int) -> Floats | None:
    """Checked sample weights; None if there are none."""
    if sample_weight is None:
        return None
    return check_weights(sample_weight, n_samples)


def positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    number = float(value) if isinstance(value, Real) and value is not True else np.nan
    if not 0 < number < np.inf:
        raise InputError(f"{name}={value!r}; give a finite number above zero.")
    return number


def whole(value: Any, name: str, least: int) -> int:
    """A whole number from ``least`` up."""
    number = int(value) if isinstance(value, Integral) and value is not True else None
    if number is None or number < least:
        raise InputError(f"{name}={value!r}; give a whole number from {least} up.")
    return number


def mean_se(values: Floats, weights: Floats | None = None) -> float:
    """Standard error of a (weighted) mean.

    >>> mean_se(np.array([1.0, 3.0])), mean_se(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    (1.0, 1.0)
    """
    n = len(values)
    if n < 2:
        return np.nan
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    off = shares * (values - shares @ values)
    return float(np.sqrt(off @ off * n / (n - 1)))
