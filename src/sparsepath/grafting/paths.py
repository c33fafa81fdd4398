"""The path of grafting over l1: warm starts, screening, one record."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.base import Callback, Found, Run, Stop, open_fit
from sparsepath.grafting.along import best_of_each_size, grid, path_moves
from sparsepath.grafting.base import MARGIN_LOSSES, Factors
from sparsepath.grafting.criterion import ConvexLoss
from sparsepath.grafting.estimators import GraftingClassifier, GraftingRegressor
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.procedure import GraftingOptions
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads


@dataclass(frozen=True, eq=False)
class GraftingPath:
    """The models along a path of l1; arrays have one entry per l1, from the largest down.

    Attributes
    ----------
    l1s : array of shape (L,)
    coefs, intercepts : arrays of shape (L, K, n) and (L, K)
        In units of the data; K is the number of classes if there are three or more, otherwise 1.
    criteria, losses : arrays of shape (L,)
        The criterion, including L0, and its loss term (half the squared error).
    kkt_violations, dual_gaps : arrays of shape (L,)
        The optimality certificates, as attributes of the estimators.
    n_selected : array of shape (L,)
    path : SelectionPath
        One model per size, the one with the smallest l1. Its errors are training errors: mean
        squared errors, log losses or Huber losses. If a callback or Ctrl-C ended the path early,
        ``stopped`` says so, and all arrays end there.
    fits : list
        For every l1 the result of the solver, with its history.
    """

    l1s: Floats
    coefs: Floats
    intercepts: Floats
    criteria: Floats
    losses: Floats
    kkt_violations: Floats
    dual_gaps: Floats
    n_selected: NDArray[np.intp]
    path: SelectionPath
    fits: list[GraftingFit]


def collect(
    problem: GraftingProblem, l1s: Floats, fits: list[GraftingFit], path: SelectionPath
) -> GraftingPath:
    """Put the fits and their selection path into one record."""
    K, solutions = problem.Y.shape[1], [fit.solution for fit in fits]
    coefs, intercepts = np.zeros((len(l1s), K, problem.design.n)), np.zeros((len(l1s), K))
    for i, solution in enumerate(solutions):
        V, intercepts[i] = problem.original(solution.W, solution.b)
        coefs[i] = V.T
    return GraftingPath(
        l1s,
        coefs,
        intercepts,
        np.array([fit.criterion for fit in fits]),
        np.array([solution.loss for solution in solutions]),
        np.array([solution.violation for solution in solutions]),
        np.array([solution.gap for solution in solutions]),
        np.array([len(fit.final.features) for fit in fits]),
        path,
        fits,
    )


def grafting_path(
    X: Any,
    y: ArrayLike,
    *,
    l1s: ArrayLike | None = None,
    n_l1s: int = 30,
    least: float = 0.01,
    l2: float = 0.0,
    l0: float = 0.0,
    loss: str | ConvexLoss = "auto",
    delta: float = 1.35,
    power: float = 1.5,
    feature_costs: Factors = None,
    l1_factors: Factors = None,
    l2_factors: Factors = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Any = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    tol: float = 1e-9,
    n_threads: int | None = None,
    callback: Callback = None,
) -> GraftingPath:
    """Compute grafting models for decreasing l1, each starting from the previous optimum.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features.
    y : array of shape (n_samples,)
        Numbers, or class labels.
    l1s : array, optional
        Values of l1, used in decreasing order.
    n_l1s, least : int, float
        Without ``l1s``: number of values, evenly spaced in their logarithm, from the largest useful
        one down to this fraction of it.
    loss : str or ConvexLoss, default="auto"
        A loss of ``GraftingRegressor`` or ``GraftingClassifier``. "auto": "squared" if y contains
        numbers that are not whole, otherwise "logistic". A custom ``ConvexLoss`` is for regression
        in the first case, otherwise for classification.
    l2, l0 : float, default=0.0
        The other penalty parameters. ``l2`` multiplies the squares, without a factor of one half.
    feature_costs : array or mapping of names to numbers, optional
        Factors a_0 of the L0 penalty: the cost of using a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors a_1, a_2; names that are missing from a mapping have factor 1.
    delta : float, default=1.35
        Where the Huber loss becomes linear, in units of y.
    power : float, default=1.5
        Power of the Tweedie loss, between 1 and 2.
    class_weight : "balanced", mapping or None, default=None
        Factors of the sample weights, as in scikit-learn.
    sample_weight : array of shape (n_samples,), optional
        The loss term becomes the weighted mean.
    fit_intercept, standardize : bool, default=True
        Whether to fit an intercept, which is not penalised; whether to scale features to mean 0 and
        standard deviation 1 internally (coefficients are always in units of the data).
    tol : float, default=1e-09
        Tolerance of the optimality certificates.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    callback : callable, optional
        Called with the path so far after every l1; a true return value ends the path, as Ctrl-C
        does.

    Returns
    -------
    GraftingPath

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = grafting_path(X, y, n_l1s=5)
    >>> found.n_selected.tolist()
    [0, 2, 5, 9, 13]
    >>> bool(found.kkt_violations.max() < 1e-8)
    True
    """
    from sklearn.utils.multiclass import type_of_target

    asked = dict(locals())
    usual = "squared" if type_of_target(y).startswith("continuous") else "logistic"
    asked["loss"] = usual if loss == "auto" else loss
    kind = asked["loss"] if isinstance(asked["loss"], str) else usual
    face: Any = (GraftingClassifier if kind in MARGIN_LOSSES else GraftingRegressor)()
    known = face.get_params()
    face.set_params(**{name: asked[name] for name in known if name in asked}, l1=1.0)
    given, X = open_fit(face, X, y, sample_weight=sample_weight)
    Y, weights, loss_term = face._targets(y, sample_weight, X.shape[0])
    options: GraftingOptions = face._options()
    penalty = face._penalty(1.0, l0)
    begun = time.perf_counter()
    with Threads(n_threads) as threads:
        problem = GraftingProblem(
            X, Y, weights, loss_term, threads, fit_intercept=fit_intercept, standardize=standardize
        )
        values = grid(problem, penalty, l1s, n_l1s, least)

        fits: list[GraftingFit] = []

        def found() -> Found | None:
            if not fits:
                return None
            steps = [problem.step(fit.final) for fit in fits]
            best = best_of_each_size(steps, fits).steps
            return Found(
                best,
                path_moves(problem, fits, time.perf_counter() - begun),
                criterion=loss_term.error_name,
                error_kind="training",
                parameters={"l1": values[: len(fits)]},
                stopped=Stop.ALL_L1,
                models=problem.linked(best.values()),
            )

        with Run(face, given, X, method="grafting-path", found=found) as run:
            problem.path(values.tolist(), penalty, options, watch=run.tell, fits=fits)
        path = run.path()
        run.warn(path)
        return collect(problem, values[: len(fits)], fits, path)
