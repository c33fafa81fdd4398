"""Paths judged alike: one estimator refitted on the subsets of any path, on any data."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from sparsepath.errors import InputError
from sparsepath.path import SelectionPath, Step


def evaluate(
    path: SelectionPath,
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    cv: Any = None,
) -> SelectionPath:
    """Refit an estimator on the subset of every size, and say how well it does.

    The errors of paths are not all of one kind: leave-one-out squared error here, minus mutual
    information there. This puts them on one scale, so that they can be compared and drawn together.
    The error is the mean squared error, summed over targets, or for a classifier the error rate.

    Parameters
    ----------
    path : SelectionPath
        Of any method.
    X, y : array or data frame, array
        The data to fit on; the columns are those that the path was made of.
    estimator : scikit-learn regressor or classifier
        It is cloned for every size. With a fixed ``random_state`` equal subsets get equal errors.
    X_test, y_test : array or data frame, array, optional
        Data that neither the search nor the fits have seen: the error is honest.
    cv : int, splitter or list of splits, optional
        Without test data: cross-validate on X. The path was chosen on these samples, so the error
        still flatters it, and is called a selection error.

    Returns
    -------
    SelectionPath
        The same subsets. ``error`` and ``error_se`` are of the kind that ``error_kind`` names, and
        ``train_error`` of each step is the error on X. Without test data and ``cv`` the error is
        the training error.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sparsepath.data.synthetic import functional
    >>> from sparsepath.lars import LarsSelector
    >>> problem = functional(600, random_state=0)
    >>> X, y, X_test, y_test = problem.X[:300], problem.y[:300], problem.X[300:], problem.y[300:]
    >>> path = LarsSelector().fit(X, y).path_
    >>> judged = evaluate(
    ...     path, X, y, estimator=KNeighborsRegressor(), X_test=X_test, y_test=y_test
    ... )
    >>> judged.error_label
    'squared error of KNeighborsRegressor (honest error)'
    >>> bool(judged.error(4) < judged.error(0))
    True
    """
    if (X_test is None) != (y_test is None):
        raise InputError("give both X_test and y_test, or neither.")
    if X_test is not None and cv is not None:
        raise InputError("give X_test and y_test, or cv, not both.")
    A, t = _columns(X, path), np.asarray(y)
    counts = is_classifier(estimator)
    steps = []
    for step in path.steps:
        subset = sorted(step.subset)  # so that equal subsets get equal errors
        model = _Fitted(estimator, A[:, subset], t, counts)
        trained = _losses(t, model.predict(A[:, subset]), counts)
        if X_test is not None:
            losses = _losses(
                np.asarray(y_test), model.predict(_columns(X_test, path)[:, subset]), counts
            )
        elif cv is not None:
            losses = _cross_validated(estimator, A[:, subset], t, cv, counts)
        else:
            losses = trained
        error_se = losses.std(ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else np.nan
        steps.append(Step(step.subset, losses.mean(), error_se, train_error=float(trained.mean())))
    kind = "honest" if X_test is not None else "training" if cv is None else "selection"
    name = type(estimator).__name__
    return SelectionPath(
        steps,
        n_features=path.n_features,
        feature_names=path.feature_names,
        criterion=f"{'error rate' if counts else 'squared error'} of {name}",
        error_kind=kind,
        method=path.method,
        parameters={**path.parameters, "evaluated_by": repr(estimator)},
        data=path.data,
        seed=path.seed,
        complete=path.complete,
        stopped=path.stopped,
    )


class _Fitted:
    """A clone of the estimator fitted to some columns; to none: the mean or the commonest class."""

    def __init__(self, estimator: Any, X: Any, y: NDArray[Any], counts: bool) -> None:
        if X.shape[1]:
            self._model = clone(estimator).fit(X, y)
            return
        from sklearn.dummy import DummyClassifier, DummyRegressor

        self._model = (DummyClassifier() if counts else DummyRegressor()).fit(X, y)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self._model.predict(X))


def _columns(X: Any, path: SelectionPath) -> Any:
    """The data as something whose columns can be taken by number."""
    A = X if hasattr(X, "tocsr") else np.asarray(X)
    if A.ndim != 2 or A.shape[1] != path.n_features:
        raise InputError(
            f"the data have shape {A.shape}; the path was made of {path.n_features} features."
        )
    return A.tocsr() if hasattr(A, "tocsr") else A


def _losses(y: NDArray[Any], predicted: NDArray[Any], counts: bool) -> NDArray[np.float64]:
    if counts:
        return (y != predicted).astype(np.float64)
    errors = np.square(y - predicted.reshape(y.shape)).astype(np.float64)
    return errors if errors.ndim == 1 else errors.sum(1)


def _cross_validated(
    estimator: Any, X: Any, y: NDArray[Any], cv: Any, counts: bool
) -> NDArray[np.float64]:
    """The losses of the samples in the test parts."""
    from sklearn.model_selection import check_cv

    parts = []
    for train, test in check_cv(cv, y, classifier=counts).split(X, y):
        model = _Fitted(estimator, X[train], y[train], counts)
        parts.append(_losses(y[test], model.predict(X[test]), counts))
    return np.concatenate(parts)
