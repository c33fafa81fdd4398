r"""Algorithm 1 of the ELM-FS paper for any regressor whose predictions are smooth in its inputs.

Scalings live on the grid {0, 1/k, ..., 1}^d. The gradient of the training error J by the scalings
is that at the fitted model: theta minimises the error, so that its change counts for nothing. It is
taken by central differences of the predictions, two for each feature. From a random start the walk
goes to one neighbour at a time, b - sign(G)/k with G = g + C1, clipped to the box. Where that does
not lower J + C1 \|b\|_1, C1 grows until the neighbour is sparser and the sum is lower, down to the
empty set. Every subset that is met has the cross-validated error of its scaled model.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from sparsepath.base import Call, Found, Given, Run
from sparsepath.base.parameters import at_most, count
from sparsepath.base.run import seed_of
from sparsepath.base.targets import dense, one_target
from sparsepath.data.columns import moments
from sparsepath.data.splits import splits_of
from sparsepath.data.validation import check_features
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.system.arrays import Floats

STEP = 1e-4  # of a scaling, for the differences
FALLS = 1e-12  # a relative decrease below this is rounding


def scaling_path(
    X: ArrayLike,
    y: ArrayLike,
    estimator: Any,
    max_features: int | None = None,
    *,
    cv: Any = 5,
    n_restarts: int = 20,
    n_levels: int = 10,
    random_state: int | None = 0,
    callback: Callable[[SelectionPath], object] | None = None,
) -> SelectionPath:
    """Select features by scaling them: Algorithm 1 of the ELM-FS paper with any smooth regressor.

    Features and target are standardised; a feature is selected if its scaling is not zero. For
    extreme learning machines use ``ELMFSRegressor(strategy="scaling")``, which is compiled and has
    tanh neurons; with other neurons give ``ELMRegressor(activation="gaussian", standardize=False)``
    as the estimator (a machine that standardises its features would undo the scalings).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Target.
    estimator : scikit-learn regressor
        Regressor to refit at every step. Its predictions must be smooth functions of the features;
        trees and nearest neighbours have no gradient.
    max_features : int, optional
        Largest size on the path; default: all.
    cv : int, splitter or "loo", default=5
        Splits for the error of every subset.
    n_restarts : int, default=20
        Random starts.
    n_levels : int, default=10
        Steps from scaling 0 to scaling 1.
    random_state : int or None, default=0
        Seed of the starts.
    callback : callable, optional
        Called after every start with the path so far; a true return value stops the search.

    Returns
    -------
    SelectionPath
        The best subset met of every size, with the squared error of its scaled model, in units of
        the target.

    Examples
    --------
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sparsepath.data.synthetic import xor_like
    >>> data = xor_like(150, random_state=0)
    >>> machine = KernelRidge(kernel="rbf", alpha=0.01, gamma=1.0)
    >>> path = scaling_path(data.X, data.y, machine, 3, n_restarts=2)
    >>> sorted(path.subset(3))
    [0, 1, 2]
    """
    call = Call.of(locals(), but=("X", "y"))
    given = Given.of(X, y)
    A = dense(check_features(call, X, reset=True))
    target = one_target(y, len(A))[:, 0]
    if isinstance(estimator, type) or not hasattr(estimator, "predict"):
        raise InputError(f"estimator={estimator!r}; give a regressor, such as KernelRidge().")
    if is_classifier(estimator):
        raise InputError(f"{type(estimator).__name__} is a classifier; give a regressor.")
    most = at_most("max_features", max_features, A.shape[1])
    levels, restarts = count("n_levels", n_levels), count("n_restarts", n_restarts)
    unit = float(target.std())
    mean, scale, varies = moments(A, None)
    Z, t = np.where(varies, (A - mean) / scale, 0.0), (target - target.mean()) / unit
    splits = splits_of(cv, Z, t)
    empty = [np.mean((t[test] - t[train].mean()) ** 2) for train, test in splits]
    best = {0: Step((), float(np.mean(empty)) * unit**2)}

    def found() -> Found | None:
        more: Any = {"criterion": "cross-validated squared error", "error_kind": "selection"}
        return Found(best, **more)

    rng = np.random.default_rng(seed_of(random_state))
    with Run(call, given, A, method="baseline", found=found) as run:
        for _ in range(restarts):
            start = np.where(varies, rng.integers(0, levels + 1, A.shape[1]), 0)
            for scaling in walk(lambda b: training_error(estimator, Z, t, b), start, levels):
                subset = tuple(np.flatnonzero(scaling).tolist())
                if len(subset) > most:
                    continue
                error = _left_out(estimator, Z * scaling, t, splits) * unit**2
                if len(subset) not in best or error < best[len(subset)].error:
                    best[len(subset)] = Step(subset, error)
            if run.tell():
                break
    return run.path()


def training_error(estimator: Any, Z: Floats, t: Floats, scaling: Floats) -> tuple[float, Floats]:
    """The training error of a model with scaled features, and its gradient by the scalings."""
    model = clone(estimator).fit(Z * scaling, t)
    off = t - np.asarray(model.predict(Z * scaling), dtype=float).ravel()
    gradient = np.zeros(len(scaling))
    for i in np.flatnonzero(Z.any(axis=0)):
        shift = np.zeros(len(scaling))
        shift[i] = STEP
        up, down = (model.predict(Z * (scaling + sign * shift)) for sign in (1.0, -1.0))
        gradient[i] = -2.0 * np.mean(off * (np.ravel(up) - np.ravel(down))) / (2.0 * STEP)
    return float(np.mean(off**2)), gradient


def walk(
    judge: Callable[[Floats], tuple[float, Floats]], start: NDArray[Any], levels: int
) -> Iterator[Floats]:
    """The scalings of a walk from a start, on the grid, to the last before the empty set."""
    grid, C1 = start.astype(int), 0.0
    if not grid.any():
        return
    J, g = judge(grid / levels)
    while grid.any():
        yield grid / levels
        new = neighbour(grid, g + C1, levels)
        J_new, g_new = judge(new / levels) if new.any() else (1.0, g)
        lower = J_new + C1 * new.sum() / levels < (J + C1 * grid.sum() / levels) * (1.0 - FALLS)
        if not lower:
            C1 = least_sparser(grid, g, C1, levels)
            new = neighbour(grid, g + C1, levels)
            J_new, g_new = judge(new / levels) if new.any() else (1.0, g)
            C1 = max(C1, (J_new - J) * levels / (grid.sum() - new.sum()))
        grid, J, g = new, J_new, g_new


def neighbour(grid: NDArray[Any], slopes: Floats, levels: int) -> NDArray[Any]:
    """The neighbour that the slopes point to."""
    return np.clip(grid - np.sign(slopes).astype(int), 0, levels)


def least_sparser(grid: NDArray[Any], g: Floats, C1: float, levels: int) -> float:
    """The least C1, to rounding, from which the neighbour has a smaller sum.

    The neighbour changes only where C1 passes some -g: at it, and just above it.
    """
    turns = np.unique(-g[-g >= C1])
    above = np.nextafter(turns, np.inf)
    for value in np.unique(np.concatenate([[C1, np.nextafter(C1, np.inf)], turns, above])):
        if neighbour(grid, g + value, levels).sum() < grid.sum():
            return float(value)
    raise AssertionError("above all of -g every scaling falls")


def _left_out(estimator: Any, Z: Floats, t: Floats, splits: list[Any]) -> float:
    """The mean over the splits of the mean squared error of their test samples."""
    errors = []
    for train, test in splits:
        model = clone(estimator).fit(Z[train], t[train])
        errors.append(np.mean((np.ravel(model.predict(Z[test])) - t[test]) ** 2))
    return float(np.mean(errors))
