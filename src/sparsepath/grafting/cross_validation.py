"""Linear grafting with l1 chosen by cross-validation."""

import time
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.arrays import Floats, Vector
from sparsepath.data.splitting import splits_of
from sparsepath.data.threads import Threads
from sparsepath.grafting.along import best_of_each_size, grid, path_moves
from sparsepath.grafting.faces import JudgedClasses, LinearGrafting, LinearNumbers
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.folds import PathTask, judge, path_errors
from sparsepath.running import Found, Run, Stop, fitting, opened
from sparsepath.steps import mean_and_se


@dataclass(eq=False, repr=False)
class _GraftingCV(LinearGrafting):
    """The path on all data; errors of its models from the paths on the training parts."""

    l1s: ArrayLike | None = None
    _: KW_ONLY
    n_l1s: int = 30
    least: float = 0.01
    l2: float = 0.0
    l0: float = 0.0
    cv: Any = 5
    choose: str | int | float = "one_se"
    n_jobs: int | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Fit the paths and settle on a size."""
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        options, penalty, error = self._options(), self._penalty(1.0, self.l0), self._error
        splits = splits_of(self.cv, X, y, groups, classifier=isinstance(self, ClassifierMixin))
        begun = time.perf_counter()
        scale = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        fits: list[GraftingFit] = []
        errors: list[list[float]] = []

        def found() -> Found | None:
            seconds = time.perf_counter() - begun
            return self._found(problem, l1s, list(fits), list(errors), seconds) if fits else None

        with Threads(1) as threads:
            problem = self._problem(X, Y, weights, loss, threads)
            l1s = grid(problem, penalty, self.l1s, self.n_l1s, self.least)
            with Run(self, given, X, method="grafting-cv", found=found) as run:
                sums = problem.shared_sums(penalty, options, len(l1s))
                problem.path(l1s.tolist(), penalty, options, watch=run.tell, fits=fits, sums=sums)
                if not run.stopped:
                    task = PathTask(X, Y, weights, loss, l1s, penalty, options, error, scale, sums)
                    judge(partial(path_errors, task), splits, self.n_jobs, errors, run.tell)
            return run.settle()

    def _found(
        self,
        problem: GraftingProblem,
        l1s: Floats,
        fits: list[GraftingFit],
        errors: list[list[float]],
        seconds: float,
    ) -> Found:
        """The path, with the mean errors of the splits so far.

        Before the first split is done there are only the errors on the training data.
        """
        l1s = l1s[: len(fits)]
        cv_errors = np.array(errors).reshape(len(errors), len(fits)).T
        trained = np.array([problem.error(fit.solution.loss) for fit in fits])
        means, ses = mean_and_se(cv_errors) if errors else (trained, np.full(len(fits), np.nan))
        finals = [fit.final for fit in fits]
        steps = [problem.step(*each) for each in zip(finals, means, ses, strict=True)]
        known = [
            {
                "l1_": l1,
                "criterion_": fit.criterion,
                "kkt_violation_": fit.solution.violation,
                "dual_gap_": fit.solution.gap,
                "history_": fit.record.history,
            }
            for l1, fit in zip(l1s.tolist(), fits, strict=True)
        ]
        best = best_of_each_size(steps, known)
        name = "zero-one error" if errors and self._error != "loss" else problem.loss.error_name
        return Found(
            best.steps,
            path_moves(problem, fits, seconds),
            criterion=f"{len(errors)}-split {name}" if errors else name,
            error_kind="selection" if errors else "training",
            fitted={"l1s_": l1s, "cv_errors_": cv_errors, "_of_size": best.models},
            stopped=Stop.ALL_L1,
        )


@dataclass(eq=False, repr=False)
class GraftingRegressorCV(LinearNumbers, _GraftingCV):
    """Grafting regression with l1, and so the number of features, chosen by cross-validation.

    A path over l1 is fitted to all data and to every training part; each model is judged by the
    mean squared error of its l1 on the test parts (or by the mean Huber loss).

    Parameters
    ----------
    l1s : array, optional
        The values of l1 to try.
    n_l1s, least : int, float, default=30, 0.01
        Without ``l1s``: this many, from the largest useful one down to this part of it.
    l2, l0, feature_costs, l1_factors, l2_factors, loss, delta
        As for ``GraftingRegressor``.
    cv : int, splitter or list of splits, default=5
    choose
        As for ``SparseRLSRegressor``.
    fit_intercept, standardize, steps, selection, stop, update, max_features, tol
        As for ``GraftingRegressor``.
    n_jobs : int, optional
        Splits that run at the same time; results do not depend on it.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called with the path so far after every l1 on all data (errors: on these data), then
        after every split (errors: the mean of the splits so far). A true value ends the work, and
        what was found is kept: ``path_.stopped`` is then "asked to", after Ctrl-C "interrupted".

    Attributes
    ----------
    path_ : SelectionPath
        For every size that the path passes the model of least cross-validation error.
    l1_, l1s_ : float, array
        The l1 in use; all that were tried, from the largest down.
    cv_errors_ : array of shape (n_l1s, n_splits)
        On the scale of the path: mean squared errors of the test parts.
    selected_, coef_, intercept_, history_, criterion_, kkt_violation_, dual_gap_
        Of the model in use, as for ``GraftingRegressor``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GraftingRegressorCV().fit(X, y)
    >>> list(model.get_feature_names_out())
    ['sex', 'bmi', 'bp', 's3', 's5', 's6']
    """


@dataclass(eq=False, repr=False)
class GraftingClassifierCV(JudgedClasses, _GraftingCV):
    """Grafting classification with l1, and so the number of features, chosen by cross-validation.

    Parameters
    ----------
    l1s, n_l1s, least, cv, choose, n_jobs, validation, callback
        As for ``GraftingRegressorCV``.
    error : {"loss", "zero_one"}, default="loss"
        What the test parts measure: the mean log loss, or the error rate.
    l2, l0, feature_costs, l1_factors, l2_factors, class_weight
        As for ``GraftingClassifier``.
    fit_intercept, standardize, steps, selection, stop, update, max_features, tol
        As for ``GraftingRegressor``.

    Attributes
    ----------
    path_, l1_, l1s_, cv_errors_, selected_, coef_, intercept_, history_, criterion_, \
kkt_violation_, dual_gap_
        As for ``GraftingRegressorCV``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GraftingClassifierCV(n_l1s=10).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """
