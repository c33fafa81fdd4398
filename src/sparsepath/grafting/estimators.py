"""Linear grafting as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sparsepath.base import Found, Given, Run, fitting, open_fit
from sparsepath.data.sources import is_source
from sparsepath.grafting.base import LinearClasses, LinearGrafting, LinearNumbers
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.streamed import StreamProblem
from sparsepath.system.arrays import Vector
from sparsepath.system.threads import Threads


@dataclass(eq=False, repr=False)
class _Grafting(LinearGrafting):
    """One fit at given penalties."""

    l1: float = 0.01
    l2: float = 0.0
    l0: float = 0.0
    _: KW_ONLY
    n_threads: int | None = None
    _reads_in_passes = True

    @fitting
    def fit(
        self, X: Any, y: Vector = None, sample_weight: Vector = None, groups: Vector = None
    ) -> Self:
        """Fit the model by minimising the penalised loss.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features. Or a source that is read in passes:
            ``sparsepath.open("data/*.parquet", target="y")``, a Dask array or data frame.
        """
        if is_source(X):
            with StreamProblem.opened(self, X, y, sample_weight, groups) as read:
                return self._minimise(read, read.given, read.source)
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        self._options()  # parameters are refused before they are used
        with Threads(self.n_threads) as threads:
            return self._minimise(self._problem(X, Y, weights, loss, threads), given, X)

    def _minimise(self, problem: GraftingProblem, given: Given, X: Any) -> Self:
        options, penalty = self._options(), self._penalty(self.l1, self.l0)
        fit: GraftingFit | None = None

        def found() -> Found | None:
            record = problem.so_far() if fit is None else fit.record
            if record is None:
                return None
            of_size = {k: {"criterion_": model.criterion} for k, model in record.models.items()}
            known: dict[str, Any] = {"history_": list(record.history), "_of_size": of_size}
            if fit is not None:
                known |= {"kkt_violation_": fit.solution.violation, "dual_gap_": fit.solution.gap}
                known["n_iter_"] = max(1, problem.engine.steps)
            return problem.found(record, **known)

        with Run(self, given, X, method="grafting", found=found, **problem.ways(self)) as run:
            fit = problem.fit(penalty, options, watch=run.tell)
        if fit is None and (record := problem.so_far()) is not None:
            fit = problem.cut_short(record, penalty, options)
        return run.settle()


@dataclass(eq=False, repr=False)
class GraftingRegressor(LinearNumbers, _Grafting):
    r"""Linear regression with L0, L1 and L2 penalties on the features, by grafting.

    Minimises, over weights w of the standardised features and an intercept,

    .. math:: \frac1m \sum_i L(f(x_i), y_i) + \sum_j \left(\lambda_1 a_{1j} |w_j| +
              \lambda_2 a_{2j} w_j^2 + \lambda_0 a_{0j} [w_j \ne 0]\right)

    With ``l0=0`` this is convex, and the result is the optimum, certified by two attributes. With
    ``l0 > 0`` features are grafted one at a time by the gradient test of the paper.

    Parameters
    ----------
    l1, l2, l0 : float, default=0.01, 0, 0
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
    fit_intercept, standardize : bool, default=True
        Whether to fit an intercept, which is not penalised; whether to scale features to mean 0 and
        standard deviation 1 internally (coefficients are always in units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum faster; "auto"
        uses single steps if ``l0``, ``max_features`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Stop when this many features are selected.
    tol : float, default=1e-9
        Tolerance of the optimality certificates.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": ten), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every accepted step, or with ``steps="batch"`` after
        every round; a true return value stops the work and keeps the result so far
        (``path_.stopped`` is then "asked to").

    Attributes
    ----------
    path_ : SelectionPath
        Best model of every size that was visited, by the criterion. Its errors are training
        errors without penalties: mean squared errors (not halves), or Huber losses.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_, intercept_ : array, float
        Coefficients and intercept in units of the data.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        Duality gap (without L0) relative to the criterion; NaN if a weight has no penalty.
    n_iter_ : int
        Number of Newton steps.
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
    >>> model = GraftingRegressor(l1=10.0).fit(X, y)
    >>> list(model.get_feature_names_out())
    ['bmi', 'bp', 's3', 's5']
    >>> model.kkt_violation_ < 1e-8 and model.dual_gap_ < 1e-8
    True
    """


@dataclass(eq=False, repr=False)
class GraftingClassifier(LinearClasses, _Grafting):
    r"""Linear classification with L0, L1 and L2 penalties on the features, by grafting.

    The criterion is that of :class:`GraftingRegressor` with the logistic loss (the paper's BNLL),
    the squared hinge, or with the multinomial loss for three classes and more; then a feature is
    one group over the classes: its norm is penalised, and it is selected for all classes or none.

    Parameters
    ----------
    l1 : float, default=0.01
        Penalty parameters lambda. ``l2`` multiplies the squares, without a factor of one half.
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
        uses single steps if ``l0``, ``max_features`` or ``update="newest"`` require them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        How the next weight is chosen: by the largest gradient, or by the bound (9) of the paper;
        "auto" uses the bound if the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would increase the criterion: stop, or try all others first.
    update : {"all", "newest"}, default="all"
        Weights that each step optimises: all, or only the new one and the intercept.
    max_features : int, optional
        Stop when this many features are selected.
    tol : float, default=1e-09
        Tolerance of the optimality certificates.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": ten), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every accepted step, or with ``steps="batch"`` after
        every round; a true return value stops the work and keeps the result so far
        (``path_.stopped`` is then "asked to").

    Attributes
    ----------
    path_ : SelectionPath
        Best model of every size that was visited, by the criterion. Its errors are training
        errors without penalties: mean squared errors (not halves), or Huber losses.
    selected_ : array of int
        Selected columns, in order of entry.
    coef_ : array, float
        Coefficients and intercept in units of the data. The errors of the path are mean log losses,
        and ``coef_`` has one row per class, a single one for two.
    intercept_ : array, float
        Coefficients and intercept in units of the data.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it; rejected steps included.
    criterion_ : float
        Criterion of the model in use, including L0; ``at_size`` gives that of another size.
    kkt_violation_ : float
        Largest violation of the optimality conditions (without L0), relative to the largest
        gradient of the empty model.
    dual_gap_ : float
        Duality gap (without L0) relative to the criterion; NaN if a weight has no penalty.
    n_iter_ : int
        Number of Newton steps.
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
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GraftingClassifier(l1=0.05, l0=0.001).fit(X, y)
    >>> [(step.action, model.path_.feature_names[step.feature]) for step in model.history_][:2]
    [('add', 'worst concave points'), ('add', 'worst radius')]
    >>> model.score(X, y) > 0.9
    True
    """
