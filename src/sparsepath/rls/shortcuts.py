"""The short-cuts of paper 002 for searches of one's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sparsepath.data.door import check_features, check_target, check_weights
from sparsepath.data.threads import Threads
from sparsepath.rls.paths import Task, make_design, make_model
from sparsepath.rls.state import State


@contextmanager
def rls_state(
    X: Any,
    y: ArrayLike,
    *,
    alpha: float = 1.0,
    loss: str = "squared",
    fit_intercept: bool = True,
    standardize: bool = False,
    sample_weight: ArrayLike | None = None,
    n_threads: int | None = None,
) -> Iterator[State]:
    """The empty model, ready for ``find_best_update`` and ``apply_update``; use it in a ``with``.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; +1 and -1 for the losses that count mistakes.
    alpha, loss, fit_intercept, standardize, n_threads
        As for ``SparseRLSRegressor``; ``loss`` may also be "zero_one" or "balanced".
    sample_weight : array of shape (n_samples,), optional
        Weights.

    Yields
    ------
    State
        Its ``chosen`` features and ``error`` (leave-one-out, exact) are always up to date, as
        are ``coef()`` and ``intercept()``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with rls_state(X, y, alpha=0.01) as state:
    ...     update = state.find_best_update("add")
    ...     state.apply_update(update)
    >>> update.feature, state.chosen
    (2, [2])
    """
    X = check_features(BaseEstimator(), X, reset=True)
    Y, _ = check_target(y, X.shape[0])
    weights = check_weights(sample_weight, X.shape[0])
    with Threads(n_threads) as threads:
        design = make_design(
            X, weights, threads, fit_intercept=fit_intercept, standardize=standardize
        )
        state = make_model(design, Y, alpha, Task(loss=loss, form="bounds"))
        assert isinstance(state, State)
        yield state
