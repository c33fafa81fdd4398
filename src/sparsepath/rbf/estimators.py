"""RBF networks that select inputs and basis functions, as a scikit-learn estimator."""

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError, PathWarning
from sparsepath.path import SelectionPath
from sparsepath.rbf.arguments import (
    dense,
    fingerprint,
    mean_se,
    one_target,
    positive,
    seed_of,
    weights_of,
    whole,
)
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.model import Model, Options, Scaling, Training, empty_model, train
from sparsepath.steps import Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOLVERS = ("direct", "alternating")
SCHEDULES = ("robust", "paper")


class _SparseRBF(SelectorMixin, RegressorMixin, BaseEstimator):
    """What the fit at one (r, t) and the search over many share."""

    path_: SelectionPath
    _of_size: dict[int, tuple[tuple[float, float], Training]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _options(self) -> Options:
        p = self.get_params(deep=False)
        if p["solver"] not in SOLVERS:
            raise InputError(f"solver={p['solver']!r}; use one of {', '.join(SOLVERS)}.")
        if p["schedule"] not in SCHEDULES:
            raise InputError(f"schedule={p['schedule']!r}; use one of {', '.join(SCHEDULES)}.")
        relevance = p["relevance"]
        if not isinstance(relevance, int | float | np.number) or not 0 <= relevance < 1:
            raise InputError(f"relevance={relevance!r}; give a number from 0 up to 1.")
        return Options(
            solver=p["solver"],
            schedule=p["schedule"],
            n_init=whole(p["n_init"], "n_init", 1),
            mu_min=positive(p["mu_min"], "mu_min"),
            max_iter=whole(p["max_iter"], "max_iter", 1),
            relevance=float(relevance),
            seed=seed_of(p["random_state"]),
        )

    def _take(self, training: Training, r: float, t: float) -> None:
        """The fitted attributes of a model."""
        model, solution = training.model, training.solution
        self._model = model
        self.r_, self.t_ = r, t
        self.selected_ = model.columns
        self.selected_centres_ = model.kept
        self.centres_ = model.centres
        self.coef_, self.intercept_ = model.coef, model.intercept
        weights = np.zeros(self.n_features_in_)
        weights[model.columns] = model.relative
        self.feature_weights_ = weights
        total = weights.sum()
        self.feature_importances_ = weights / total if total > 0 else weights
        self.training_error_ = solution.error
        self.objective_ = solution.J
        self.duality_gap_ = solution.gap
        self.converged_ = solution.converged
        self.n_iter_ = solution.iterations
        self.stages_ = solution.stages

    def at_size(self, size: int) -> Self:
        """A copy of this fitted estimator that uses another model of its path.

        Parameters
        ----------
        size : int
            One of ``path_.sizes``.
        """
        check_is_fitted(self)
        self.path_.step(size)  # raises if there is none
        other = copy.copy(self)
        (r, t), training = self._of_size[size]
        other._take(training, r, t)
        return other

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask

    def predict(self, X: Any) -> Floats:
        """The outputs of the network; columns that are not selected have no influence."""
        check_is_fitted(self)
        model: Model = self._model
        return model.predict(dense(check_features(self, X, reset=False)))

    def permutation_importances(
        self, X: Any, y: ArrayLike, *, n_repeats: int = 10, random_state: int = 0
    ) -> Floats:
        """How much the mean squared error grows when a column is shuffled, for every column.

        A weight says how fast the network bends along an input, not how much the input matters: a
        linear effect needs little weight. This says how much it matters.

        Parameters
        ----------
        X, y : arrays
            Data, better not those of the fit.
        n_repeats : int
            Shuffles per column.
        random_state : int
            The seed of the shuffles.
        """
        check_is_fitted(self)
        X = dense(check_features(self, X, reset=False))
        y = one_target(y, len(X))
        model: Model = self._model
        base = float(np.mean((y - model.predict(X)) ** 2))
        rng = np.random.default_rng(random_state)
        orders = [rng.permutation(len(X)) for _ in range(n_repeats)]
        out = np.zeros(self.n_features_in_)
        for i in self.selected_:
            shuffled = X.copy()
            for order in orders:
                shuffled[:, i] = X[order, i]
                out[i] += float(np.mean((y - model.predict(shuffled)) ** 2)) - base
        return out / n_repeats

    def plot_weights(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the weights of the inputs as shares of their sum (Figures 3 and 6 of the paper)."""
        from sparsepath.rbf.plots import plot_weights

        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return plot_weights(self.feature_importances_, names, ax=ax)


class SparseRBFRegressor(_SparseRBF):
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
    centres : "all", int or array of shape (M, n_features), default="all"
        Where basis functions may sit: on the samples, on so many places, or as given.
    placing : {"kmeans", "reconstruction"}, default="kmeans"
        How a number of centres is placed: k-means, or the samples of least mean reconstruction
        error.
    n_init : int, default=1
        Starts. The first is at alpha = 0, the others (with ``schedule="paper"``: all) draw signs;
        the best is kept.
    relevance : float, default=0.01
        An input with less than this part of the largest weight is not selected, and the
        coefficients are found again without it. 0: all that are not zero.
    mu_min : float, default=1e-6
        Where the barrier ends: about a fifth of the duality gap.
    max_iter : int, default=100
        Iterations for each value of the barrier parameter.
    random_state : int, RandomState or None, default=0
        For drawn starts and k-means.

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
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(random_state=0)
    >>> model = SparseRBFRegressor(r=5.95, t=4.67).fit(data.X, data.y)
    >>> model.selected_, len(model.centres_), model.converged_
    (array([0]), 11, True)
    """

    def __init__(
        self,
        r: float = 50.0,
        t: float = 0.5,
        *,
        solver: str = "direct",
        schedule: str = "robust",
        centres: Any = "all",
        placing: str = "kmeans",
        n_init: int = 1,
        relevance: float = 0.01,
        mu_min: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.r = r
        self.t = t
        self.solver = solver
        self.schedule = schedule
        self.centres = centres
        self.placing = placing
        self.n_init = n_init
        self.relevance = relevance
        self.mu_min = mu_min
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        """
        X = dense(check_features(self, X, reset=True))
        weights = weights_of(sample_weight, len(X))
        y = one_target(y, len(X), weights)
        counted = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
        if weights is not None:
            X, y, weights = X[counted], y[counted], weights[counted]
        r, t = positive(self.r, "r"), positive(self.t, "t")
        options = self._options()
        with Threads(1):
            places, rows = place_centres(X, self.centres, self.placing, options.seed, weights)
            training = train(X, y, places, r, t, options, weights)
        if rows is not None:
            training = renumbered(training, counted[rows])
        self._take(training, r, t)
        self._warn(training, X, y, weights)
        squares = (y - training.model.predict(X)) ** 2
        mean = float(np.average(y, weights=weights))
        steps = {0: _step((), (y - mean) ** 2, weights)}
        nothing = replace(training, model=empty_model(mean))
        self._of_size = {0: ((r, t), nothing)}
        if len(self.selected_):
            subset = tuple(int(i) for i in self.selected_)
            steps[len(subset)] = _step(subset, squares, weights)
            self._of_size[len(subset)] = ((r, t), training)
        self.path_ = SelectionPath(
            steps,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion="squared error",
            error_kind="training",
            method="sparse-rbf",
            parameters=self.get_params(deep=False),
            seed=options.seed,
            data={"n_samples": len(X), "n_features": X.shape[1], "fingerprint": fingerprint(X, y)},
        )
        return self

    def _warn(self, training: Training, X: Floats, y: Floats, weights: Floats | None) -> None:
        """Say what a reader of the fit should know."""
        solution = training.solution
        if not solution.converged:
            last = solution.stages[-1]
            warnings.warn(
                f"the fit is not finished: at mu={last.mu:.1e} the objective could still fall by "
                f"about {last.decrement:.1e}; raise max_iter, or use solver='direct' with "
                "schedule='robust'.",
                PathWarning,
                stacklevel=3,
            )
        slack = {
            name: 1.0 - float(used) / budget
            for name, used, budget in (
                ("r", solution.s.sum(), self.r_),
                ("t", solution.w.sum(), self.t_),
            )
        }
        loose = [f"{name} (by {part:.0%})" for name, part in slack.items() if part > 0.05]
        if loose and solution.converged:
            warnings.warn(
                f"the budget {' and '.join(loose)} is not used up: a larger one changes nothing.",
                PathWarning,
                stacklevel=3,
            )
        error = np.average((y - training.model.predict(X)) ** 2, weights=weights)
        error /= Scaling.of(X, y, weights).y_scale ** 2
        if len(training.dropped) and error > 1.2 * solution.error + 0.01:
            warnings.warn(
                f"inputs {training.dropped.tolist()} have little weight, but leaving them out "
                f"raises the training error from {solution.error:.3g} to {error:.3g} of the "
                "variance; lower relevance to keep them.",
                PathWarning,
                stacklevel=3,
            )


def renumbered(training: Training, samples: NDArray[np.intp]) -> Training:
    """The same with centres told by the samples that they are."""
    model = replace(training.model, kept=samples[training.model.kept])
    return replace(training, model=model)


def _step(subset: tuple[int, ...], squares: Floats, weights: Floats | None) -> Step:
    error = float(np.average(squares, weights=weights))
    return Step(subset, error, mean_se(squares, weights), train_error=error)
