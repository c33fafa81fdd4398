"""Searches that the papers compare with: a wrapper, low-rank updates, random orders."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from sparsepath.base import Call, Found, Given, Run, Trail
from sparsepath.base.parameters import at_most, one_of, positive
from sparsepath.base.run import seed_of
from sparsepath.base.targets import dense
from sparsepath.data.splits import splits_of
from sparsepath.data.validation import check_features, check_labels, check_target
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.rls import rls_path
from sparsepath.system.arrays import Floats

Subset: TypeAlias = tuple[int, ...]
MEASURES = {"squared": "squared error", "zero_one": "error rate", "log": "log loss"}
TIE = 1e-10  # relative differences up to this are ties, which go to the lowest index


def wrapper_path(
    X: ArrayLike,
    y: ArrayLike,
    estimator: Any,
    max_features: int | None = None,
    *,
    cv: Any = 5,
    direction: Literal["forward", "backward"] = "forward",
    measure: Literal["squared", "zero_one", "log"] | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
) -> SelectionPath:
    """Select by refitting an estimator for every candidate and every split.

    With ``estimator=Ridge(...)`` and ``cv="loo"`` this is Algorithm 1 of "Linear time feature
    selection for regularized least-squares"; with a logistic regression, ``cv=None`` and
    ``direction="backward"`` the backward elimination of the grafting paper.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Target: numbers or class labels.
    estimator : scikit-learn estimator
        Estimator to refit; a classifier if y has classes.
    max_features : int, optional
        Largest size of a forward search; default: all. A backward search ends with none.
    cv : int, splitter, "loo" or None, default=5
        Splits; None: the error on the training data.
    direction : {"forward", "backward"}, default="forward"
        Start without features, or with all features.
    measure : {"squared", "zero_one", "log"}, optional
        Squared error, error rate, or log loss by ``predict_proba``. Default: squared error for
        regressors and error rate for classifiers.
    callback : callable, optional
        Called after every move with the path so far; a true return value stops the search.

    Returns
    -------
    SelectionPath
        Best subset met and its error for every size.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> wrapper_path(X, y, LinearRegression(), 2).names(2)
    ('bmi', 's5')
    """
    call = Call.of(locals(), but=("X", "y"))
    given = Given.of(X, y)
    A: Any = check_features(call, X, reset=True)
    one_of("direction", direction, ("forward", "backward"))
    most = at_most("max_features", max_features, A.shape[1])
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(f"estimator={estimator!r}; give an estimator, such as Ridge().")
    classes = is_classifier(estimator)
    measure = measure or ("zero_one" if classes else "squared")
    _check_measure(measure, estimator)
    labels = _one_target(y, A) if measure == "squared" else check_labels(y, A.shape[0])
    rows = np.arange(len(labels))
    splits = [(rows, rows)] if cv is None else splits_of(cv, A, labels, classifier=classes)

    def error(subset: Subset) -> float:
        return _mean_loss(estimator, A[:, list(subset)], labels, splits, measure)

    n = A.shape[1]
    search = _additions(n, most, error) if direction == "forward" else _removals(n, error)
    criterion, kind = MEASURES[measure], "training"
    if cv is not None:
        criterion, kind = f"cross-validated {criterion}", "selection"
    return _path(call, given, A, search, criterion, kind)


def low_rank_path(
    X: ArrayLike,
    y: ArrayLike,
    max_features: int | None = None,
    *,
    alpha: float = 1.0,
    callback: Callable[[SelectionPath], object] | None = None,
) -> SelectionPath:
    """Forward selection for the least-squares support vector machine with low-rank updates.

    Algorithm 2 of "Linear time feature selection for regularized least-squares", after Ojeda,
    Suykens and De Moor: G = (X_S X_S' + alpha I)^-1 is kept, so that a candidate costs the square
    of the number of samples. No intercept, columns as they are; leave-one-out squared error.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Target.
    max_features : int, optional
        Largest size; default: all features.
    alpha : float, default=1.0
        Penalty, above zero.
    callback : callable, optional
        Called after every move with the path so far; a true return value stops the search.

    Returns
    -------
    SelectionPath
        The same subsets and errors as greedy RLS without intercept and standardisation.

    Examples
    --------
    >>> from sparsepath import rls_path
    >>> from sparsepath.data.synthetic import sparse_linear
    >>> data = sparse_linear(50, 8, 3, random_state=0)
    >>> same = {"fit_intercept": False, "standardize": False}
    >>> low_rank_path(data.X, data.y, 3).subsets == rls_path(data.X, data.y, 3, **same).subsets
    True
    """
    call = Call.of(locals(), but=("X", "y"))
    given = Given.of(X, y)
    positive("alpha", alpha)
    A = dense(check_features(call, X, reset=True))
    most = at_most("max_features", max_features, A.shape[1])
    search = _low_rank(A, _one_target(y, A), most, alpha)
    return _path(call, given, A, search, "leave-one-out squared error", "selection")


def random_path(
    X: ArrayLike, y: ArrayLike, *, random_state: int | None = None, **options: Any
) -> SelectionPath:
    """Return the path of features that enter in a random order.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like
        Target.
    random_state : int, optional
        Seed of the order.
    **options
        Options of ``rls_path``, such as ``alpha``, ``loss`` or ``cv``, except ``start``.

    Returns
    -------
    SelectionPath
        Errors and models of ridge regression for these subsets.
    """
    if "start" in options:
        raise InputError("random_path draws the order of all features; remove start.")
    n = check_features(Call(), X, reset=True).shape[1]
    order = np.random.default_rng(seed_of(random_state)).permutation(n)
    return rls_path(X, y, start=order.tolist(), **options)


def _check_measure(measure: str, estimator: Any) -> None:
    one_of("measure", measure, MEASURES)
    if measure != "squared" and not is_classifier(estimator):
        name = type(estimator).__name__
        raise InputError(f"measure={measure!r} needs a classifier, which {name} is not.")
    if measure == "log" and not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise InputError(f"measure='log' needs predict_proba, which {name} does not have.")


def _one_target(y: ArrayLike, X: Any) -> Floats:
    Y, _ = check_target(y, X.shape[0])
    if Y.shape[1] != 1:
        raise InputError(f"y has {Y.shape[1]} targets; give one.")
    return Y[:, 0]


Action: TypeAlias = Literal["add", "drop"]
Visited: TypeAlias = tuple[Subset, float, Action, int]  # subset, error, and the move to it


def _path(
    call: Call, given: Given, X: Any, search: Iterator[Visited], criterion: str, kind: str
) -> SelectionPath:
    """Run a search to its end."""
    trail = Trail()
    first = next(search)

    def found() -> Found | None:
        more: Any = {"criterion": criterion, "error_kind": kind, "start": first[0]}
        return Found.on(trail, **more) if trail.steps else None

    with Run(call, given, X, method="baseline", found=found) as run:
        trail.offer(Step(*first[:2]), [])
        for subset, error, action, feature in search:
            trail.offer(Step(subset, error), [trail.move(action, feature, error)])
            if run.tell():
                break
    return run.path()


def _additions(n: int, most: int, error: Callable[[Subset], float]) -> Iterator[Visited]:
    chosen: Subset = ()
    yield chosen, error(chosen), "add", -1
    while len(chosen) < most:
        errors = {j: error((*chosen, j)) for j in range(n) if j not in chosen}
        best = _first_least(errors)
        chosen = (*chosen, best)
        yield chosen, errors[best], "add", best


def _removals(n: int, error: Callable[[Subset], float]) -> Iterator[Visited]:
    chosen: Subset = tuple(range(n))
    yield chosen, error(chosen), "drop", -1
    while chosen:
        errors = {j: error(tuple(i for i in chosen if i != j)) for j in chosen}
        best = _first_least(errors)
        chosen = tuple(i for i in chosen if i != best)
        yield chosen, errors[best], "drop", best


def _low_rank(X: Floats, y: Floats, most: int, alpha: float) -> Iterator[Visited]:
    m, n = X.shape
    G = np.eye(m) / alpha

    def updated(j: int) -> Floats:
        v = G @ X[:, j]
        return np.asarray(G - np.outer(v, v) / (1.0 + X[:, j] @ v))

    def error(G: Floats) -> float:
        return float(np.mean((G @ y / np.diag(G)) ** 2))

    chosen: Subset = ()
    yield chosen, error(G), "add", -1
    while len(chosen) < most:
        errors = {j: error(updated(j)) for j in range(n) if j not in chosen}
        best = _first_least(errors)
        G, chosen = updated(best), (*chosen, best)
        yield chosen, errors[best], "add", best


def _first_least(errors: dict[int, float]) -> int:
    least = min(errors.values())
    return next(j for j, error in errors.items() if error <= least + TIE * abs(least))


def _mean_loss(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    splits: list[tuple[NDArray[Any], NDArray[Any]]],
    measure: str,
) -> float:
    """Mean over the splits of the mean loss of their test samples; no columns: a constant."""
    means = []
    for train, test in splits:
        A, B = X[train], X[test]
        if not X.shape[1]:  # a column of zeros, so that the estimator fits its intercept alone
            A, B = np.zeros((len(train), 1)), np.zeros((len(test), 1))
        model = clone(estimator).fit(A, y[train])
        if measure == "squared":
            losses = (np.asarray(model.predict(B), dtype=float) - y[test]) ** 2
        elif measure == "zero_one":
            losses = (model.predict(B) != y[test]).astype(float)
        else:
            known = y[test][:, None] == model.classes_  # a class that is new has probability 0
            losses = -np.log(np.maximum((model.predict_proba(B) * known).sum(1), 1e-300))
        means.append(float(np.mean(losses)))
    return float(np.mean(means))
