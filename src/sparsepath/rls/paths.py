"""``rls_path``: selection paths of regularised least squares without an estimator."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sparsepath.base import Call, Given, Run
from sparsepath.data.validation import (
    check_features,
    check_weights,
    refuse_constant,
    refuse_extremes,
)
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.criteria.table import CLASSES, criterion_of
from sparsepath.rls.engines import without_empty_folds
from sparsepath.rls.estimators import SparseRLSRegressor
from sparsepath.rls.history import Rule, SearchTrail
from sparsepath.rls.parameters import Parameters, penalty, targets_of
from sparsepath.rls.problem import RLSProblem, design_for, endings, sums_for
from sparsepath.rls.searches import METHODS
from sparsepath.system.docstrings import parameters_like
from sparsepath.system.threads import Threads


@parameters_like(SparseRLSRegressor, SparseRLSRegressor.fit)
def rls_path(
    X: Any,
    y: ArrayLike,
    max_features: int | None = None,
    *,
    alpha: float = 1.0,
    search: str = "forward",
    cv: Any = "loo",
    loss: str | Loss = "squared",
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    forced: Sequence[int] | Sequence[str] | None = None,
    forbidden: Sequence[int] | Sequence[str] | None = None,
    start: Sequence[int] | Sequence[str] | None = None,
    parents: Mapping[Any, Sequence[Any]] | None = None,
    feature_groups: ArrayLike | None = None,
    feature_costs: ArrayLike | None = None,
    budget: float | None = None,
    stop: Rule | Sequence[Rule] = (),
    epsilon: float | None = None,
    time_budget: float | None = None,
    pooled: bool = False,
    memory_budget: float | None = None,
    n_threads: int | None = None,
    callback: Callable[[SelectionPath], object] | None = None,
    checkpoint: str | Path | None = None,
) -> SelectionPath:
    """Compute a selection path without an estimator.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; for the losses that count mistakes class labels of any kind. Two classes are coded
        -1 and +1 (the larger label); with three or more, each class has its own target, +1 for its
        samples.
    alpha : float, default=1.0
        Ridge penalty, zero or more.
    loss : str or ResidualLoss, default="squared"
        The losses of ``SparseRLSRegressor``, and with class labels also "zero_one", "balanced" and
        "auc", which count mistakes.

    Returns
    -------
    SelectionPath
        Best subset, error and coefficients for every size. After Ctrl-C: what was found so far,
        with a warning.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> path = rls_path(X, y, 4)
    >>> path.names(4), path.choose("one_se")
    (('bmi', 's5', 'bp', 's1'), 2)
    """
    call = Call.of(locals(), but=("X", "y", "sample_weight", "groups"))
    given = Given.of(X, y, sample_weight=sample_weight, groups=groups)
    parameters = Parameters(call, criterion_of(loss, CLASSES), cv)
    penalty(alpha)
    X = check_features(call, X, reset=True)
    weights = check_weights(sample_weight, X.shape[0])
    Y = targets_of(y, weights, parameters.criterion)
    refuse_constant(Y[weights > 0])
    refuse_extremes(Y)
    labels = Y if Y.shape[1] > 1 else Y[:, 0]
    trail = SearchTrail()
    with Threads(n_threads) as threads:
        design = design_for(parameters, X, weights, threads)
        spec = without_empty_folds(design, Y, parameters.spec(X, labels, groups, design))
        problem = RLSProblem(design, Y, spec, sums_for(design, Y, spec, [alpha]))
        found, data = partial(problem.found, trail, float(alpha)), partial(problem.data, y)
        with Run(call, given, X, method=METHODS[search], found=found, data=data) as run:
            watch = (lambda _: run.tell()) if run.watched else None
            problem.search(float(alpha), trail, watch, checkpoint)
    path = run.path()
    run.warn(path, endings(path, trail, spec))
    return path
