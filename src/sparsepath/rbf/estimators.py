"""RBF networks that select inputs and basis functions, as scikit-learn estimators."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from sparsepath.base import Found, Run, fitting, open_fit
from sparsepath.base.parameters import positive
from sparsepath.base.targets import dense, weights_of
from sparsepath.errors import warn_user
from sparsepath.path.steps import Step
from sparsepath.rbf.base import _Regression, _SparseRBF, _TwoClasses
from sparsepath.rbf.grid import mean_se
from sparsepath.rbf.model import Trainer, Training, empty_model
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.threads import Threads


@dataclass(eq=False, repr=False)
class _OneFit(_SparseRBF):
    """A fit at one (r, t)."""

    r: float = 50.0
    t: float = 0.5
    _trainer: ClassVar[type[Trainer]] = Trainer

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,)
            The target.
        sample_weight : array of shape (n_samples,), optional
            How much each squared error counts, and each sample in the standardisation; only ratios
            matter.
        groups : array of shape (n_samples,), optional
            Samples that belong together: the validation leaves them out together.
        """
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        X = whole = dense(X)
        weights = weights_of(sample_weight, len(X))
        y = self._target(y, len(X), weights)
        counted = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        if weights is not None:
            X, y, weights = X[counted], y[counted], weights[counted]
        r, t = positive("r", self.r), positive("t", self.t)
        options = self._options()

        def found() -> Found | None:
            training = trainer.so_far()
            return None if training is None else self._found(training, X, y, weights, (r, t))

        with Threads(1):
            trainer = self._trainer.placed((X, y, weights), counted, r, t, options)
            seed = options.random_state
            with Run(self, given, whole, method="rbf", found=found, seed=seed) as run:
                trainer.run(lambda solution: run.check(f"mu = {solution.mu:.1e}"))
            run.settle()
        if not run.stopped:
            self._warn(self._of_size[len(self.selected_)][1])
        return self

    def _found(
        self,
        training: Training,
        X: Floats,
        y: Floats,
        weights: Floats | None,
        budgets: tuple[float, float],
    ) -> Found:
        """The path of this fit: the empty model and the network."""
        mean = float(np.average(y, weights=weights))
        steps = {0: _step((), (y - mean) ** 2, weights)}
        of_size = {0: (budgets, replace(training, model=empty_model(mean)))}
        subset = tuple(training.model.columns.tolist())
        if subset:
            steps[len(subset)] = _step(subset, (y - training.model.predict(X)) ** 2, weights)
            of_size[len(subset)] = (budgets, training)
        return Found(
            steps,
            criterion="squared error",
            error_kind="training",
            fitted={"_of_size": of_size},
            models={size: fit.model for size, (_, fit) in of_size.items()},
            size=len(subset),
        )

    def _warn(self, training: Training) -> None:
        """Say what a reader of the fit should know."""
        solution = training.solution
        if not solution.converged:
            last = solution.stages[-1]
            warn_user(
                f"the fit did not converge: at mu={last.mu:.1e} the objective could still decrease "
                f"by about {last.decrement:.1e}; increase max_iter, or use solver='direct'.",
            )
        slack = (
            ("r", 1.0 - solution.s.sum() / self.r_),
            ("t", 1.0 - solution.w.sum() / self.t_),
        )
        loose = [f"{name} (by {part:.0%})" for name, part in slack if part > 0.05]
        if loose and solution.converged and len(training.model.columns):
            warn_user(
                f"the budget {' and '.join(loose)} is not exhausted; a larger one has no effect.",
            )


@dataclass(eq=False, repr=False)
class SparseRBFRegressor(_Regression, _OneFit):
    """RBF network with simultaneous selection of inputs and basis functions.

    Every input has its own weight in the distance. Weights and coefficients have budgets, which
    make both sparse: an interior-point method minimises the mean squared error subject to
    sum |alpha| <= r, sum w <= t and w >= 0, where alpha are the coefficients and w the weights of
    the inputs (Tikka 2008). Inputs and target are standardised internally.

    A fit usually uses its budgets in full, so with pure noise many inputs are selected.
    :class:`SparseRBFRegressorCV` chooses the budgets, and selects nothing in noise.

    Parameters
    ----------
    r : float, default=50.0
        Budget of the coefficients including the bias; larger values give more basis functions.
    t : float, default=0.5
        Budget of the input weights; larger values give narrower Gaussians and more inputs.
    solver : {"direct", "alternating"}, default="direct"
        Optimise all parameters jointly, or coefficients and weights alternately, which is slower
        and may stop short of the optimum if the two are strongly coupled.
    schedule : {"robust", "paper"}, default="robust"
        Deprecated: there is one schedule, "robust".
    centres : "auto", "all", int or array of shape (M, n_features), default="auto"
        Candidate centres of basis functions: all samples, a number of them, or an array. "auto":
        all samples, or a random subset of 100 if there are more. Run time grows with the cube of
        their number.
    placing : {"kmeans", "reconstruction"}, default="kmeans"
        How centres are placed if their number is given: by k-means, or at the samples from which
        the kernel of all others is best reconstructed (mean reconstruction error).
    n_init : int, default=1
        Number of starts. The first is at alpha = 0, the others have random signs; the best is
        kept.
    relevance : float, default=0.01
        Inputs with less than this fraction of the largest weight are removed and the coefficients
        refitted, unless the training error then grows by more than one per cent and by more than
        chance explains. 0: keep all nonzero inputs.
    mu_min : float, default=1e-6
        Final barrier parameter of the interior-point method; smaller values end closer to the
        optimum. ``duality_gap_`` measures how close; it also grows with ``r``.
    max_iter : int, default=100
        Maximum number of iterations for each value of the barrier parameter.
    random_state : int, RandomState or None, default=0
        Random seed for starts, centres and k-means.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": five), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every value of the barrier parameter but the last; a true
        return value stops the fit and keeps the result so far (``path_.stopped`` is then "asked
        to"). Ctrl-C does the same once there is a result.

    Attributes
    ----------
    selected_ : array of int
        Selected inputs, by decreasing weight.
    feature_weights_, feature_importances_ : arrays of shape (n_features,)
        Weights of the standardised inputs, zero if not selected; the same divided by their sum. A
        weight is not an effect size: see ``permutation_importances``.
    centres_ : array
        Centres in use, restricted to the selected inputs, in units of the data.
    selected_centres_ : array of int
        Their indices among the samples (or among the given or placed centres).
    coef_, intercept_ : array, float
        Coefficients of the basis functions and the bias, in units of the target.
    duality_gap_ : float
        How much the linearised error could still decrease within the budgets, relative to the
        variance of the target.
    objective_, training_error_ : float
        Objective J and the mean squared error of standardised data, before pruning.
    converged_, n_iter_, stages_ : bool, int, list
        Whether the last stage converged; number of iterations in total and per stage.
    solution_ : RBFSolution
        Result of the solver, for standardised data and before pruning: ``alpha`` (bias, then
        all candidate centres) and ``w`` (all inputs but constant ones and copies).
    r_, t_ : float
        Budgets in use.
    path_ : SelectionPath
        The empty model and this one, with training errors; ``SparseRBFRegressorCV`` has more.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(random_state=0)
    >>> model = SparseRBFRegressor(r=5.95, t=4.67).fit(data.X, data.y)
    >>> model.selected_, len(model.centres_), model.converged_
    (array([0]), 8, True)
    """


@dataclass(eq=False, repr=False)
class SparseRBFClassifier(_TwoClasses, _OneFit):
    """RBF network for two classes with selection of inputs and basis functions.

    Least squares on targets -1 and +1, as in ``LSSVMClassifier``. Three or more classes raise an
    error, because each would select its own inputs: ``sklearn.multiclass.OneVsRestClassifier`` fits
    one network per class.

    Parameters
    ----------
    r : float, default=50.0
        Budget of the coefficients including the bias; larger values give more basis functions.
    t : float, default=0.5
        Budget of the input weights; larger values give narrower Gaussians and more inputs.
    solver : {"direct", "alternating"}, default="direct"
        Optimise all parameters jointly, or coefficients and weights alternately, which is slower
        and may stop short of the optimum if the two are strongly coupled.
    schedule : {"robust", "paper"}, default="robust"
        Deprecated: there is one schedule, "robust".
    centres : "auto", "all", int or array of shape (M, n_features), default="auto"
        Candidate centres of basis functions: all samples, a number of them, or an array. "auto":
        all samples, or a random subset of 100 if there are more. Run time grows with the cube of
        their number.
    placing : {"kmeans", "reconstruction"}, default="kmeans"
        How centres are placed if their number is given: by k-means, or at the samples from which
        the kernel of all others is best reconstructed (mean reconstruction error).
    n_init : int, default=1
        Number of starts. The first is at alpha = 0, the others have random signs; the best is
        kept.
    relevance : float, default=0.01
        Inputs with less than this fraction of the largest weight are removed and the coefficients
        refitted, unless the training error then grows by more than one per cent and by more than
        chance explains. 0: keep all nonzero inputs.
    mu_min : float, default=1e-06
        Final barrier parameter of the interior-point method; smaller values end closer to the
        optimum. ``duality_gap_`` measures how close; it also grows with ``r``.
    max_iter : int, default=100
        Maximum number of iterations for each value of the barrier parameter.
    random_state : int, RandomState or None, default=0
        Random seed for starts, centres and k-means.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors: a number of folds ("auto": five), a
        scikit-learn splitter, or a list of splits. None: no honest errors.
    callback : callable, optional
        Called with the path so far after every value of the barrier parameter but the last; a true
        return value stops the fit and keeps the result so far (``path_.stopped`` is then "asked
        to"). Ctrl-C does the same once there is a result.

    Attributes
    ----------
    classes_ : array
        The two labels; the second has the target +1.
    path_ : SelectionPath
        Its errors are squared errors of the targets -1 and +1.
    selected_ : array of int
        Selected inputs, by decreasing weight.
    feature_weights_, feature_importances_ : arrays of shape (n_features,)
        Weights of the standardised inputs, zero if not selected; the same divided by their sum. A
        weight is not an effect size: see ``permutation_importances``.
    centres_ : array
        Centres in use, restricted to the selected inputs, in units of the data.
    coef_, intercept_ : array, float
        Coefficients of the basis functions and the bias, in units of the target.
    duality_gap_ : float
        How much the linearised error could still decrease within the budgets, relative to the
        variance of the target.
    r_, t_ : float
        Budgets in use.
    converged_, n_iter_, stages_ : bool, int, list
        Whether the last stage converged; number of iterations in total and per stage.
    solution_ : RBFSolution
        Result of the solver, for standardised data and before pruning: ``alpha`` (bias, then
        all candidate centres) and ``w`` (all inputs but constant ones and copies).
    objective_, training_error_ : float
        Objective J and the mean squared error of standardised data, before pruning.
    selected_centres_ : array of int
        Their indices among the samples (or among the given or placed centres).
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SparseRBFClassifier(r=10, t=0.5).fit(X[50:], y[50:])
    >>> model.classes_, bool(model.score(X[50:], y[50:]) > 0.95)
    (array([1, 2]), True)
    """


def _step(subset: tuple[int, ...], squares: Floats, weights: Floats | None) -> Step:
    error = float(np.average(squares, weights=weights))
    return Step(subset, error, mean_se(squares, weights), train_error=error)
