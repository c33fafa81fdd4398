"""Linear grafting as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sparsepath.arrays import Vector
from sparsepath.data.sources import is_source
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.grafting.faces import GraftingClasses, LinearGrafting, LinearNumbers
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.grafting.streamed import StreamProblem
from sparsepath.running import Found, Given, Run, fitting, opened


@dataclass(eq=False, repr=False)
class _Grafting(LinearGrafting):
    """One fit at given penalties."""

    l1: float = 0.01
    l2: float = 0.0
    l0: float = 0.0
    _: KW_ONLY
    n_threads: int | None = None

    @fitting
    def fit(
        self, X: Any, y: Vector = None, sample_weight: Vector = None, groups: Vector = None
    ) -> Self:
        """Minimise the criterion.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features. Or a source that is read in passes:
            ``sparsepath.open("data/*.parquet", target="y")``, a Dask array or data frame.
        """
        if is_source(X):
            if groups is not None:
                raise InputError("groups of samples need data in memory; leave them out.")
            with StreamProblem.opened(self, X, y, sample_weight) as read:
                return self._minimise(read, Given(read.source, None), read.source)
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
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

    With ``l0=0`` this is convex, and the result is the optimum with two certificates. With ``l0 >
    0`` features are grafted one at a time by the gradient test of the paper.

    Parameters
    ----------
    l1, l2, l0 : float, default=0.01, 0, 0
        The lambdas. ``l2`` multiplies the squares, not half of them.
    feature_costs : array or mapping of names to numbers, optional
        The factors of L0, a_0: what it costs to use a feature.
    l1_factors, l2_factors : array or mapping of names to numbers, optional
        The factors a_1, a_2; names that a mapping leaves out have factor 1.
    loss : {"squared", "huber"}, default="squared"
        (f - y)^2 / 2, or the same with straight tails beyond ``delta``.
    delta : float, default=1.35
        Where the Huber loss becomes straight, in the units of y.
    fit_intercept, standardize : bool, default=True
        A constant that is not penalised; features scaled to mean 0 and standard deviation 1
        inside (coefficients are always in the units of the data).
    steps : {"auto", "single", "batch"}, default="auto"
        One weight at a time as in the paper, or many, which finds the same optimum sooner; "auto"
        takes single steps if ``l0``, ``max_features`` or ``update="newest"`` ask for them.
    selection : {"auto", "gradient", "bound"}, default="auto"
        What chooses the next weight: the largest gradient, or the estimate (9) of the paper; "auto"
        takes the estimate where the L0 costs differ.
    stop : {"first", "exhaust"}, default="first"
        What to do when a weight would raise the criterion: end, or try all the others first.
    update : {"all", "newest"}, default="all"
        Which weights each step optimises: all, or the new one and the intercept (no optimum).
    max_features : int, optional
        End when this many features are in use.
    tol : float, default=1e-9
        For the certificates.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors: a number of
        folds ("auto": ten), a splitter of scikit-learn's, or rows. With None there are none.
    callback : callable, optional
        Called with the path so far after every step that is kept, or with ``steps="batch"`` after
        every round; a true value ends the work, and what was found is kept (``path_.stopped`` is
        then "asked to").

    Attributes
    ----------
    path_ : SelectionPath
        The best model of every size on the way, by the criterion. Its errors are those on the
        training data, without penalties: mean squared errors (not halves), or Huber losses.
    selected_ : array of int
        The columns in use, in order of entry.
    coef_, intercept_ : array, float
        In the units of the data.
    history_ : list of Graft
        Every step: feature, criterion after it, gradient before it, undone steps included.
    criterion_ : float
        The criterion of the model in use, L0 included; of another with ``at_size``.
    kkt_violation_ : float
        The largest violation of optimality over free and zero weights (L0 left out), relative to
        the largest gradient of the empty model.
    dual_gap_ : float
        The duality gap (L0 left out) relative to the criterion; NaN if a weight has no penalty.
    n_iter_ : int
        Newton steps made.

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
class GraftingClassifier(GraftingClasses, _Grafting):
    r"""Linear classification with L0, L1 and L2 penalties on the features, by grafting.

    The criterion is that of :class:`GraftingRegressor` with the logistic loss (the paper's BNLL),
    or with the multinomial loss for three classes and more; then a feature is one group over the
    classes: its norm is penalised, and it comes in or stays out for all of them.

    Parameters
    ----------
    l1, l2, l0, feature_costs, l1_factors, l2_factors
        As for ``GraftingRegressor``.
    class_weight : "balanced", mapping or None, default=None
        Factors of the sample weights, as in scikit-learn.
    fit_intercept, standardize, steps, selection, stop, update, max_features, tol
        As for ``GraftingRegressor``.
    n_threads, validation, callback
        As for ``GraftingRegressor``.

    Attributes
    ----------
    path_, selected_, coef_, intercept_, history_, criterion_, kkt_violation_, dual_gap_, n_iter_
        As for ``GraftingRegressor``; the errors of the path are mean log losses, and ``coef_`` has
        one row per class, a single one for two.

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
