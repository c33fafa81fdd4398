"""Linear grafting with l1 chosen by cross-validation."""

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.base import Found, Run, Stop, fitting, open_fit
from sparsepath.base.parameters import flag
from sparsepath.data.splits import splits_of
from sparsepath.errors import InputError
from sparsepath.grafting.along import best_of_each_size, grid, longer, path_moves, still_falls
from sparsepath.grafting.base import (
    CrossValidatedClasses,
    LinearClasses,
    LinearGrafting,
    LinearNumbers,
)
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.folds import PathTask, judge, path_errors, training_parts
from sparsepath.grafting.procedure import GraftingOptions, is_stepwise, of_each_l1
from sparsepath.grafting.relaxation import MIXES, relaxed
from sparsepath.path.steps import mean_and_se
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.threads import Threads


@dataclass(eq=False)
class _PathErrors:
    """Values of l1, the fits there, and for every split the errors of its own path."""

    l1s: Floats
    fits: list[GraftingFit] = field(default_factory=list)
    errors: list[list[float]] = field(default_factory=list)

    def run(
        self,
        problem: GraftingProblem,
        task: PathTask,
        options: GraftingOptions,
        splits: Sequence[tuple[Any, Any]],
        n_jobs: int | None,
        run: Run,
    ) -> None:
        """Fit the paths."""
        jointly = (
            task.sums is None and not task.relax and problem.goes_jointly(task.penalty, options)
        )
        parts = training_parts(problem, task, splits) if jointly else [None] * len(splits)
        known: dict[str, Any] = {"sums": task.sums, "parts": parts if jointly else ()}
        l1s = self.l1s.tolist()
        problem.path(l1s, task.penalty, options, watch=run.tell, fits=self.fits, **known)
        if not run.stopped:
            task = replace(task, l1s=self.l1s[: len(self.fits)])
            work = [(*split, part) for split, part in zip(splits, parts, strict=True)]
            judge(partial(path_errors, task), work, n_jobs, self.errors, run.tell)


@dataclass(eq=False, repr=False)
class _GraftingCV(LinearGrafting):
    """The path on all data; errors of its models from the paths on the training parts."""

    l1s: ArrayLike | None = None
    _: KW_ONLY
    n_l1s: int = 30
    least: float | None = None
    l2: float = 0.0
    l0: float = 0.0
    cv: Any = 5
    choose: str | int | float = "one_se"
    n_jobs: int | None = None
    _limits_each = False

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Fit the paths and choose a size."""
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        options, penalty, error = self._options(), self._penalty(1.0, self.l0), self._error
        classes = isinstance(self, ClassifierMixin)
        splits = splits_of(self.cv, X, y, groups, classifier=classes, weights=weights)
        begun = time.perf_counter()
        relax = self._relax(penalty)
        scale = {"fit_intercept": self.fit_intercept, "standardize": self.standardize}
        searches: list[_PathErrors] = []

        def found() -> Found | None:
            done = [one for one in searches if len(one.errors) == len(splits)] or searches[:1]
            if not done or not done[-1].fits:
                return None
            seconds = time.perf_counter() - begun
            best = done[-1]
            return self._found(problem, best.l1s, list(best.fits), list(best.errors), seconds)

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            problem = self._problem(X, Y, weights, loss, threads)
            l1s = self._values(problem, penalty)
            with Run(self, given, X, method="grafting", found=found) as run:
                each = of_each_l1(options, penalty)
                while True:
                    search = _PathErrors(l1s)
                    searches.append(search)
                    sums = None if relax else problem.shared_sums(penalty, options, len(l1s))
                    task = PathTask(
                        X, Y, weights, loss, l1s, penalty, each, error, scale, sums, relax
                    )
                    search.run(problem, task, options, splits, self.n_jobs, run)
                    if run.stopped or not self._goes_on(l1s, search.errors, penalty):
                        break
                    l1s = longer(l1s)
            return run.settle()

    def _relax(self, penalty: Penalty) -> bool:
        """Whether the path has refitted models too."""
        if not flag("relax", getattr(self, "relax", False)):
            return False
        if getattr(self, "loss", "") != "squared" or is_stepwise(self, penalty):
            raise InputError(
                "relax=True needs squared loss without l0 or single steps; leave it at False."
            )
        return True

    def _goes_on(self, l1s: Floats, errors: list[list[float]], penalty: Penalty) -> bool:
        """Whether a longer path is worth it: the errors still fall where this one ends."""
        mixes = len(MIXES) if self._relax(penalty) else 1
        whole = len(errors) > 0 and len(errors[0]) == len(l1s) * mixes
        several = len(getattr(self, "classes_", ())) > 2
        given = self.l1s is not None or self.least is not None
        if given or several or is_stepwise(self, penalty):
            return False
        first = len(l1s) <= self.n_l1s + 1
        if not first or not whole:
            return False
        return still_falls(np.mean(errors, axis=0).reshape(len(l1s), mixes).min(1))

    def _values(self, problem: GraftingProblem, penalty: Penalty) -> Floats:
        """The values of l1: with ``max_features`` from the largest, where nothing has entered."""
        l1s = grid(problem, penalty, self.l1s, self.n_l1s, self.least)
        if self.max_features is None or is_stepwise(self, penalty):
            return l1s
        free = int((problem.design.usable & (penalty.l1 == 0)).sum())
        if free > self.max_features:
            raise InputError(
                f"l1_factors leave {free} features unpenalised, more than "
                f"max_features={self.max_features}; penalise more of them or raise max_features."
            )
        largest = problem.largest_l1(penalty)
        return np.append(largest, l1s) if l1s[0] < largest else l1s

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a fit, without the folds of the honest error.

        Accurate to a factor of three if few features carry a signal; without one, fits take longer.
        """
        n, p = X.shape
        classes = 1 + isinstance(self, ClassifierMixin)
        return classes * (5e-3 + 3e-8 * n * p + 1.5e-6 * p * min(n, p))

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
        stopped = Stop.ALL_L1 if len(fits) == len(l1s) else Stop.MAX_FEATURES
        l1s = l1s[: len(fits)]
        models, mixes = [fit.final for fit in fits], 1
        penalty = self._penalty(1.0, self.l0)
        if errors and self._relax(penalty):
            models, mixes = list(relaxed(problem, fits, penalty)), len(MIXES)
        cv_errors = np.array(errors).reshape(len(errors), len(models)).T
        trained = np.array([problem.error(model.loss) for model in models])
        means, ses = mean_and_se(cv_errors) if errors else (trained, np.full(len(models), np.nan))
        steps = [problem.step(*each) for each in zip(models, means, ses, strict=True)]
        known = [
            {
                "l1_": l1,
                "criterion_": fit.criterion,
                "kkt_violation_": fit.solution.violation,
                "dual_gap_": fit.solution.gap,
                "history_": fit.record.history,
            }
            for l1, fit in zip(l1s.tolist(), fits, strict=True)
            for _ in range(mixes)
        ]
        cv_errors = cv_errors.reshape(len(fits), mixes, -1)[:, 0]
        best = best_of_each_size(steps, known)
        name = "zero-one error" if errors and self._error != "loss" else problem.loss.error_name
        return Found(
            best.steps,
            path_moves(problem, fits, seconds),
            criterion=f"{len(errors)}-split {name}" if errors else name,
            error_kind="selection" if errors else "training",
            fitted={"l1s_": l1s, "cv_errors_": cv_errors, "_of_size": best.models},
            stopped=stopped,
            models=problem.linked(best.steps.values()),
        )


@dataclass(eq=False, repr=False)
class GraftingRegressorCV(LinearNumbers, _GraftingCV):
    """Grafting regression with l1, and so the number of features, chosen by cross-validation.

    A path over l1 is fitted to all data and to every training part. Each model is evaluated by the
    mean squared error (or mean Huber loss) of its l1 on the test parts.

    Parameters
    ----------
    l1s : array, optional
        Values of l1 to try.
    n_l1s : int, default=30
        Without ``l1s``: number of values, evenly spaced in their logarithm from the largest useful
        one down to ``least`` of it.
    least : float, optional
        Without ``l1s``: the last value, as a fraction of the largest. None: 0.01, and on to 0.0001
        at the same spacing if the cross-validation error still falls at 0.01.
    l2, l0 : float, default=0.0
        Penalty parameters lambda. ``l2`` multiplies the squares, without a factor of one half.
    feature_costs : array or mapping of names to numbers, optional
        Factors a_0 of the L0 penalty: the cost of using a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors a_1, a_2; names that are missing from a mapping have factor 1.
    loss : {"squared", "huber", "poisson", "gamma", "tweedie"} or ConvexLoss, default="squared"
        (f - y)^2 / 2, or the same with linear tails beyond ``delta``. "poisson" (counts), "gamma"
        (positive amounts) and "tweedie" (amounts with zeros): half the deviance, where f is the
        logarithm of the mean; ``predict`` gives the mean, and the honest error is the deviance. A
        ``sparsepath.grafting.ConvexLoss`` is a loss of your own.
    delta : float, default=1.35
        Where the Huber loss becomes linear, in units of y.
    power : float, default=1.5
        Power of the Tweedie loss, between 1 (Poisson) and 2 (Gamma): the variance grows as mean **
        power.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses l1.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    fit_intercept, standardize : bool, default=True
        Whether to fit an intercept, which is not penalised; whether to scale features to mean 0 and
        standard deviation 1 internally (coefficients are always in units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum faster; "auto"
        uses single steps if ``l0`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Largest size on the path. The path over l1 starts with the empty model and ends before the
        first model with more features, so it can end below this size. With single steps each model
        stops at this size instead.
    tol : float, default=1e-09
        Tolerance of the optimality certificates.
    relax : bool, default=False
        Evaluate mixes of the penalised coefficients with those of a ridge regression on the same
        features (the relaxed lasso), and take the best for every size. For squared loss.
    n_jobs : int, optional
        Number of splits that run in parallel. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every l1 on all data (with training errors), then
        after every split (with means over the splits so far). A true return value stops the work
        and keeps the result so far: ``path_.stopped`` is then "asked to", after Ctrl-C
        "interrupted".

    Attributes
    ----------
    path_ : SelectionPath
        For every size on the path, the model with the lowest cross-validation error.
    l1_, l1s_ : float, array
        The l1 in use; all values tried, in decreasing order.
    cv_errors_ : array of shape (n_l1s, n_splits)
        Mean squared errors on the test parts, on the scale of the path; of the penalised models if
        ``relax``.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : array, float
        Coefficients and intercept in units of the data.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included. Of the
        model in use.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size. Of the
        model in use.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        Duality gap (without L0) relative to the criterion; NaN if a weight has no penalty. Of the
        model in use.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GraftingRegressorCV().fit(X, y)
    >>> list(model.get_feature_names_out())
    ['sex', 'bmi', 'bp', 's3', 's5', 's6']
    """

    _: KW_ONLY
    relax: bool = False


@dataclass(eq=False, repr=False)
class GraftingClassifierCV(LinearClasses, CrossValidatedClasses, _GraftingCV):
    """Grafting classification with l1, and so the number of features, chosen by cross-validation.

    Parameters
    ----------
    l1s : array, optional
        Values of l1 to try.
    n_l1s : int, default=30
        Without ``l1s``: number of values, evenly spaced in their logarithm from the largest useful
        one down to ``least`` of it.
    least : float, optional
        Without ``l1s``: the last value, as a fraction of the largest. None: 0.01, and on to 0.0001
        at the same spacing if there are two classes and the cross-validation error still falls at
        0.01.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses l1.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    n_jobs : int, optional
        Number of splits that run in parallel. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every l1 on all data (with training errors), then
        after every split (with means over the splits so far). A true return value stops the work
        and keeps the result so far: ``path_.stopped`` is then "asked to", after Ctrl-C
        "interrupted".
    error : {"loss", "zero_one"}, default="loss"
        What the test parts measure: the mean log loss, or the error rate.
    l2, l0 : float, default=0.0
        Penalty parameters lambda. ``l2`` multiplies the squares, without a factor of one half.
    feature_costs : array or mapping of names to numbers, optional
        Factors a_0 of the L0 penalty: the cost of using a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors a_1, a_2; names that are missing from a mapping have factor 1.
    loss : {"logistic", "squared_hinge"} or ConvexLoss, default="logistic"
        The logistic loss (multinomial for three classes and more); for two classes also the loss
        max(0, 1 - y f)^2 of a support vector machine, or a ``sparsepath.grafting.ConvexLoss`` of
        your own. The honest error is then the error rate.
    class_weight : "balanced", mapping or None, default=None
        Factors of the sample weights, as in scikit-learn.
    threshold : "balanced", "f1", float, array of shape (2, 2) or None, default=None
        Score above which the second of the two classes is predicted, chosen on the samples that
        validation leaves out: least balanced error, largest F1, or least cost, where
        ``threshold[i][j]`` is the cost of predicting class j for a sample of class i. A float: the
        probability of the second class above which it is predicted. None: score zero.
    fit_intercept, standardize : bool, default=True
        Whether to fit an intercept, which is not penalised; whether to scale features to mean 0 and
        standard deviation 1 internally (coefficients are always in units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum faster; "auto"
        uses single steps if ``l0`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Largest size on the path. The path over l1 starts with the empty model and ends before the
        first model with more features, so it can end below this size. With single steps each model
        stops at this size instead.
    tol : float, default=1e-09
        Tolerance of the optimality certificates.

    Attributes
    ----------
    path_ : SelectionPath
        For every size on the path, the model with the lowest cross-validation error.
    l1_, l1s_ : float, array
        The l1 in use; all values tried, in decreasing order.
    cv_errors_ : array of shape (n_l1s, n_splits)
        Mean log losses, or error rates, on the test parts.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : array, float
        Coefficients and intercept in units of the data.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included. Of the
        model in use.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size. Of the
        model in use.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        Duality gap (without L0) relative to the criterion; NaN if a weight has no penalty. Of the
        model in use.
    classes_ : array
        Class labels.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GraftingClassifierCV(n_l1s=10).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """
