"""RBF networks that select inputs and basis functions, as scikit-learn estimators."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sparsepath.arrays import Floats, Vector
from sparsepath.data.threads import Threads
from sparsepath.errors import warn_user
from sparsepath.faces.parameters import positive
from sparsepath.faces.targets import dense, weights_of
from sparsepath.rbf.base import _Regression, _SparseRBF, _TwoClasses
from sparsepath.rbf.grid import mean_se
from sparsepath.rbf.model import Trainer, Training, empty_model
from sparsepath.running import Found, Run, fitting, opened
from sparsepath.steps import Step


@dataclass(eq=False, repr=False)
class _OneFit(_SparseRBF):
    """A fit at one (r, t)."""

    r: float = 50.0
    t: float = 0.5

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
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
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
            trainer = Trainer.placed((X, y, weights), counted, r, t, options)
            seed = options.random_state
            with Run(self, given, whole, method="sparse-rbf", found=found, seed=seed) as run:
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
                f"the fit is not finished: at mu={last.mu:.1e} the objective could still fall by "
                f"about {last.decrement:.1e}; raise max_iter, or use solver='direct' with "
                "schedule='robust'.",
            )
        slack = (
            ("r", 1.0 - solution.s.sum() / self.r_),
            ("t", 1.0 - solution.w.sum() / self.t_),
        )
        loose = [f"{name} (by {part:.0%})" for name, part in slack if part > 0.05]
        if loose and solution.converged:
            warn_user(
                f"the budget {' and '.join(loose)} is not used up: a larger one changes nothing.",
            )
        if training.missed:
            warn_user(
                f"inputs {training.dropped.tolist()} have little weight, but leaving them out "
                f"raises the training error from {solution.error:.3g} to {training.error:.3g} of "
                "the variance; lower relevance to keep them."
            )


@dataclass(eq=False, repr=False)
class SparseRBFRegressor(_Regression, _OneFit):
    """A network of Gaussians that selects its inputs and its basis functions at once.

    Every input has a weight of its own in the distance, and both the weights and the coefficients
    have a budget: few of either are left. The fit minimises the mean squared error of standardised
    data subject to sum |alpha| <= r and sum w <= t, w >= 0 (Tikka 2008), by an interior-point
    method. Inputs and target are standardised inside.

    Parameters
    ----------
    r : float, default=50.0
        Budget of the coefficients, bias included: larger, more basis functions.
    t : float, default=0.5
        Budget of the inputs' weights: larger, narrower Gaussians and more inputs.
    solver : {"direct", "alternating"}, default="direct"
        All parameters at once, or coefficients and weights by turns, which is slower and stops
        short of the optimum where the two are coupled strongly.
    schedule : {"robust", "paper"}, default="robust"
        A primal-dual path, or the printed Algorithms 1 to 3, which often end unconverged.
    centres : "auto", "all", int or array of shape (M, n_features), default="auto"
        Where basis functions may sit: on the samples, on so many places, or as given; "auto": on
        the samples up to 300 of them, beyond that on 300 places. A fit costs the cube of their
        number.
    placing : {"kmeans", "reconstruction"}, default="kmeans"
        How a number of centres is placed: k-means, or the samples of least mean reconstruction
        error.
    n_init : int, default=1
        Starts. The first is at alpha = 0, the others (with ``schedule="paper"``: all) draw signs;
        the best is kept.
    relevance : float, default=0.01
        An input with less than this part of the largest weight is not selected, and the
        coefficients are found again without it; a warning says so if it is missed, that is, if the
        training error grows by more than one per cent and more than by chance. 0: all that are not
        zero.
    mu_min : float, default=1e-6
        Where the barrier ends: the smaller, the nearer to the optimum. ``duality_gap_`` says how
        near, and grows with ``r`` as well.
    max_iter : int, default=100
        Iterations for each value of the barrier parameter.
    random_state : int, RandomState or None, default=0
        For drawn starts and k-means.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors: a number of
        folds ("auto": five), a splitter of scikit-learn's, or rows. With None there are none.
    callback : callable, optional
        Called with the path so far after every value of the barrier parameter but the last; a true
        value ends the fit, and what was found is kept (``path_.stopped`` is then "asked to").
        Ctrl-C does the same once there is something to keep.

    Attributes
    ----------
    selected_ : array of int
        Inputs in use, by falling weight.
    feature_weights_, feature_importances_ : arrays of shape (n_features,)
        Weights for standardised inputs, zero if not in use; the same as shares of their sum. A
        weight is not an effect size: see ``permutation_importances``.
    centres_ : array
        Centres in use, of the inputs in use, in the units of the data.
    selected_centres_ : array of int
        Which of the samples (or of the centres given, or placed by k-means) they are.
    coef_, intercept_ : array, float
        Coefficients of the basis functions and the bias, in the units of the target.
    duality_gap_ : float
        How much the linearised error could still fall within the budgets, of the variance.
    objective_, training_error_ : float
        J and the mean squared error of standardised data, before pruning.
    converged_, n_iter_, stages_
        Whether the last stage came to its end; iterations in all and stage by stage.
    r_, t_ : float
        The budgets.
    path_ : SelectionPath
        The empty model and this one, with training errors; ``SparseRBFRegressorCV`` has more.

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
    """``SparseRBFRegressor`` for two classes: a network fitted to the targets -1 and +1.

    Least squares to class numbers, as in ``LSSVMClassifier``. Three classes and more are refused,
    because each would select inputs of its own: ``sklearn.multiclass.OneVsRestClassifier`` fits one
    network for each.

    Parameters
    ----------
    r, t, solver, schedule, centres, placing, n_init, relevance, mu_min, max_iter
        As for ``SparseRBFRegressor``.
    random_state, validation, callback
        As for ``SparseRBFRegressor``.

    Attributes
    ----------
    classes_ : array
        The two labels; the second has the target +1.
    path_ : SelectionPath
        Its errors are squared errors of the targets -1 and +1.
    selected_, feature_weights_, feature_importances_, centres_, coef_, intercept_, duality_gap_
        As for ``SparseRBFRegressor``; so are the other attributes.
    r_, t_, converged_, n_iter_, objective_, selected_centres_, stages_, training_error_
        As for ``SparseRBFRegressor``.

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
