"""Evaluate subsets by refitting an estimator on each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from sparsepath.data.splits import splits_of
from sparsepath.errors import InputError

Losses = NDArray[np.float64]
Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors by size, with their name and kind."""

    # By size: what the error is the mean of: a number per sample of the data it was measured on.
    losses: Mapping[int, Losses]
    trained: Mapping[int, float]  # by size: the mean loss on the training data
    criterion: str  # what is measured, and whether on data that has been seen
    kind: str


def judge(
    subsets: Sequence[Subset],
    n_features: int,
    estimator: Any,
    X: Any,
    y: ArrayLike,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    cv: Any = None,
    selector: Any = None,
) -> Errors:
    """Refit an estimator on every subset; see :meth:`sparsepath.SelectionPath.evaluate`."""
    if (X_test is None) != (y_test is None):
        raise InputError("give both X_test and y_test, or neither.")
    if X_test is not None and cv is not None:
        raise InputError("give X_test and y_test, or cv, not both.")
    if selector is not None and cv is None:
        raise InputError("selector is for nested cross-validation: give cv as well, such as cv=5.")
    A, t, counts = _columns(X, n_features), np.asarray(y), is_classifier(estimator)
    if len(t) != A.shape[0]:
        raise InputError(f"X has {A.shape[0]} rows, but y has {len(t)}; the numbers must be equal.")
    fit = _fitter(estimator, counts)
    models = {len(s): fit(A[:, sorted(s)], t) for s in subsets}
    trained = {len(s): _losses(t, models[len(s)](A[:, sorted(s)]), counts) for s in subsets}
    losses, kind = trained, "training"
    if X_test is not None:
        B, u = _columns(X_test, n_features), np.asarray(y_test)
        losses = {len(s): _losses(u, models[len(s)](B[:, sorted(s)]), counts) for s in subsets}
        kind = "honest"
    elif cv is not None:
        splits = splits_of(cv, A, t, classifier=counts)
        losses = _cross_validated(subsets, fit, A, t, splits, counts, selector)
        kind = "selection" if selector is None else "honest"
    name = type(estimator).__name__
    return Errors(
        losses,
        {size: float(trained[size].mean()) for size in losses},
        f"{'error rate' if counts else 'squared error'} of {name}",
        kind,
    )


def _fitter(estimator: Any, counts: bool) -> Callable[[Any, Any], Callable[[Any], NDArray[Any]]]:
    """Return a function that fits clones; without columns, the mean or the most frequent class."""

    def fit(X: Any, y: Any) -> Callable[[Any], NDArray[Any]]:
        if X.shape[1]:
            model = clone(estimator).fit(X, y)
        else:
            from sklearn.dummy import DummyClassifier, DummyRegressor

            model = (DummyClassifier() if counts else DummyRegressor()).fit(X, y)
        return lambda Z: np.asarray(model.predict(Z))

    return fit


def _columns(X: Any, n_features: int) -> Any:
    """Return data whose columns can be selected by index."""
    A = X if hasattr(X, "tocsr") else np.asarray(X)
    if A.ndim != 2 or A.shape[1] != n_features:
        raise InputError(f"the data have shape {A.shape}; the path has {n_features} features.")
    return A.tocsr() if hasattr(A, "tocsr") else A


def _losses(y: NDArray[Any], predicted: NDArray[Any], counts: bool) -> Losses:
    if counts:
        return (y != predicted).astype(np.float64)
    errors = np.square(y - predicted.reshape(y.shape)).astype(np.float64)
    return errors if errors.ndim == 1 else errors.sum(1)


def _cross_validated(
    subsets: Sequence[Subset],
    fit: Callable[[Any, Any], Callable[[Any], NDArray[Any]]],
    X: Any,
    y: NDArray[Any],
    splits: Sequence[Any],
    counts: bool,
    selector: Any,
) -> dict[int, Losses]:
    """Return the losses of the test folds by size; with a selector, for its own subsets per fold.

    Sizes that the selector does not reach in every fold are omitted.
    """
    parts: dict[int, list[Losses]] = {len(s): [] for s in subsets}
    for train, test in splits:
        own = subsets
        if selector is not None:
            own = clone(selector).fit(X[train], y[train]).path_.subsets
        for subset in own:
            if len(subset) in parts:
                columns = sorted(subset)
                predict = fit(X[train][:, columns], y[train])
                predicted = predict(X[test][:, columns])
                parts[len(subset)].append(_losses(y[test], predicted, counts))
    return {size: np.concatenate(p) for size, p in parts.items() if len(p) == len(splits)}
