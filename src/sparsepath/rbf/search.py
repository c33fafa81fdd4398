"""Both budgets by cross-validation, as scikit-learn estimators."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sparsepath.arrays import Axes, Floats, Vector
from sparsepath.data.splitting import splits_of
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError, warn_user
from sparsepath.faces.parameters import count, positive
from sparsepath.faces.targets import dense, weights_of
from sparsepath.rbf.base import _Regression, _SparseRBF, _TwoClasses
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.grid import (
    BEYOND,
    Grid,
    GridData,
    GridFollower,
    Scale,
    default_budgets,
    fold,
    relax,
)
from sparsepath.running import Found, Run, fitting, opened
from sparsepath.tuning import TUNING


@dataclass(eq=False, repr=False)
class _GridSearch(_SparseRBF):
    """A search over a grid of (r, t)."""

    rs: Any = 6
    ts: Any = 6
    _: KW_ONLY
    cv: Any = 5
    choose: str | int | float = "min"
    relaxed: bool = True
    n_jobs: int | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Search the grid and fit to all data.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,)
            The target.
        sample_weight : array of shape (n_samples,), optional
            How much each squared error counts, in the fits and in the cross-validation errors.
        groups : array of shape (n_samples,), optional
            Folds keep them whole.
        """
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        X = dense(X)
        weights = weights_of(sample_weight, len(X))
        labels, y = y, self._target(y, len(X), weights)
        options = self._options()
        data = GridData(X, y, weights, options)
        splits = splits_of(self.cv, X, labels, groups, classifier=is_classifier(self))
        grid = self._grid(data)
        follow = GridFollower(data, splits, grid)
        work = len(grid.r.values) * len(grid.t.values) * len(splits) * len(X) ** 2
        n_jobs = self.n_jobs if work > TUNING.workers_from else 1
        # One task per t and split: small enough to share out, large enough to pay for the way.
        done = Parallel(n_jobs, return_as="generator")(
            delayed(fold)(data, split, grid.r.values, float(t))
            for t in grid.t.values
            for split in splits
        )
        run = Run(
            self,
            given,
            X,
            method="sparse-rbf",
            found=lambda: self._found(follow),
            subtasks=(2 if self.relaxed else 1) * len(grid.t.values),
            seed=options.random_state,
        )
        try:
            with run:
                for t in grid.t.values:
                    follow.take(float(t), [next(done) for _ in splits])
                    run.check(f"t = {t:.3g}")
                if self.relaxed:
                    places = range(len(grid.t.values))
                    done = Parallel(n_jobs, return_as="generator")(
                        delayed(relax)(data, splits, grid, *follow.task(place))
                        for place in places
                        if follow.relaxable(place)
                    )
                    for place in places:
                        if follow.relaxable(place):
                            follow.take_relaxed(place, next(done))
                        run.check(f"t = {grid.t.at(place):.3g}, relaxed")
        finally:
            done.close()
        run.settle()
        unconverged = int(self.cv_results_["n_unconverged"].sum())
        if unconverged:
            other = "" if self.solver == "direct" else ", or use solver='direct'"
            warn_user(
                f"{unconverged} of {len(self.cv_results_['params']) * len(splits)} fits are not "
                f"finished; see cv_results_['n_unconverged'], or raise max_iter{other}."
            )
        each = (("r", grid.r, self.r_), ("t", grid.t, self.t_))
        ends = [f"{name} = {value:.3g}" for name, scale, value in each if scale.ends_at(value)]
        if len(self.selected_) and ends:
            warn_user(
                f"the best {' and '.join(ends)} is at the end of what was tried; give a list of "
                "budgets that goes further."
            )
        return self

    def _found(self, follow: GridFollower) -> Found | None:
        """The path over the t that are done, and the table of their errors."""
        if not follow.done:
            return None
        ts = np.array([t for t, _ in follow.done])
        table = _table(np.array([values for _, values in follow.done]), follow.grid.r.values, ts)
        of_size = dict(sorted(follow.trail.models.items()))
        fitted = {"rs_": follow.grid.r.values, "ts_": ts, "cv_results_": table, "_of_size": of_size}
        criterion = f"{len(follow.splits)}-split squared error"
        models = {size: fit.model for size, (_, fit) in of_size.items()}
        return Found.on(follow.trail, criterion=criterion, fitted=fitted, models=models)

    def _grid(self, data: GridData) -> Grid:
        X, _, weights = data.of(data.counted(np.arange(len(data.X))))
        with Threads(1):
            options = data.options
            places, _ = place_centres(
                X, options.centres, options.placing, options.random_state, weights
            )
        asked = ("rs", self.rs), ("ts", self.ts)
        counts = [count(n, v) if np.ndim(v) == 0 else 1 for n, v in asked]
        defaults = default_budgets(len(places), *counts)
        scales = []
        for (name, given), default in zip(asked, defaults, strict=True):
            if np.ndim(given) or len(default) < 2:
                scales.append(Scale(_listed(name, given) if np.ndim(given) else default, None))
            else:
                scales.append(Scale(default, BEYOND if self.relaxed else 0))
        return Grid(*scales)

    def plot_surface(self, what: str = "error", ax: Axes | None = None) -> Axes:
        """Draw the cross-validation error, or the inputs or centres in use, over both budgets.

        Parameters
        ----------
        what : {"error", "inputs", "centres"}
            Figure 5 of the paper, left and right, or the basis functions.
        ax : matplotlib Axes, optional
            Where to draw; without it a figure is made.
        """
        from sparsepath.rbf.plots import plot_surface

        check_is_fitted(self)
        kinds = {
            "error": ("cross-validation error", -self.cv_results_["mean_test_score"]),
            "inputs": ("inputs, mean over splits", self.cv_results_["mean_n_inputs"]),
            "centres": ("basis functions, mean over splits", self.cv_results_["mean_n_centres"]),
        }
        if what not in kinds:
            raise InputError(f"what={what!r}; use one of {', '.join(kinds)}.")
        label, values = kinds[what]
        grid = values.reshape(len(self.rs_), len(self.ts_))
        return plot_surface(self.rs_, self.ts_, grid, label, (self.r_, self.t_), ax=ax)


@dataclass(eq=False, repr=False)
class SparseRBFRegressorCV(_Regression, _GridSearch):
    """``SparseRBFRegressor`` with both budgets chosen by cross-validation.

    Every pair (r, t) of a grid is fitted on every training part; nothing is carried from one fit to
    another, so that results depend neither on the order nor on the number of workers. For every t
    the best r is fitted to all data: the selection path over t. Then the inputs that each t chose
    are fitted with budgets of their own, because a small t makes a network wide as well as sparse.
    An interrupt (Ctrl-C) keeps the path over the t that are done.

    Parameters
    ----------
    rs, ts : int or list of float, default=6
        Budgets to try, or how many, on a logarithmic scale whose ends follow from the data.
    cv : int, splitter or list of splits, default=5
        The splits.
    choose : {"min", "one_se"}, int or float, default="min"
        Which model of the path to use: least error, the fewest inputs within one standard error of
        it, a number of inputs, or the fewest within a fraction of the least error.
    relaxed : bool, default=True
        Whether the inputs that each t chose are fitted again with budgets of their own, found by
        walking over the grid, and up to three steps beyond its ends where they were not given. It
        takes up to four times as long and shows what few inputs can do.
    n_jobs : int or None, default=None
        Workers, as in joblib; Dask or any other backend can take them. It changes the speed only; a
        search of a few seconds starts none.
    solver, schedule, centres, placing, n_init, relevance, mu_min, max_iter, random_state
        As for ``SparseRBFRegressor``.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called with the path so far when a t is done, and again when its inputs have been fitted
        with budgets of their own; the search ends if it returns true.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per node: ``param_r``, ``param_t``, ``params``, ``split<i>_test_score`` (minus the
        mean squared error), ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``mean_n_inputs``, ``mean_n_centres``, ``n_unconverged``.
    rs_, ts_ : arrays
        The grid.
    r_, t_ : float
        In use.
    path_ : SelectionPath
        For every number of inputs the best model found over t, by cross-validation error.
    selected_, feature_weights_, feature_importances_, centres_, coef_, intercept_, duality_gap_
        Of the fit to all data, as for ``SparseRBFRegressor``.
    converged_, n_iter_, objective_, selected_centres_, stages_, training_error_
        As for ``SparseRBFRegressor``.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(60, 3, random_state=0)
    >>> search = SparseRBFRegressorCV(rs=[4, 8], ts=[2, 5], cv=3, validation=None)
    >>> model = search.fit(data.X, data.y)
    >>> model.path_.subset(1), model.cv_results_["mean_test_score"].shape
    ((0,), (4,))
    """


@dataclass(eq=False, repr=False)
class SparseRBFClassifierCV(_TwoClasses, _GridSearch):
    """``SparseRBFClassifier`` with both budgets chosen by cross-validation.

    Parameters
    ----------
    rs, ts, cv, choose, relaxed, n_jobs, validation, callback
        As for ``SparseRBFRegressorCV``; a number of folds is stratified by class.
    solver, schedule, centres, placing, n_init, relevance, mu_min, max_iter, random_state
        As for ``SparseRBFRegressor``.

    Attributes
    ----------
    classes_ : array
        The two labels; the second has the target +1.
    cv_results_, rs_, ts_, r_, t_
        As for ``SparseRBFRegressorCV``; scores are minus squared errors of the targets -1 and +1.
    path_ : SelectionPath
        For every number of inputs the best model found over t, by the same error.
    selected_, feature_weights_, feature_importances_, centres_, coef_, intercept_, duality_gap_
        Of the fit to all data, as for ``SparseRBFRegressor``.
    converged_, n_iter_, objective_, selected_centres_, stages_, training_error_
        As for ``SparseRBFRegressor``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 5))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")     # no linear method sees this
    >>> search = SparseRBFClassifierCV(rs=[20, 60], ts=[0.5, 2], cv=3, validation=None)
    >>> model = search.fit(X, y)
    >>> sorted(model.selected_[:2].tolist())                     # the two of largest weight
    [0, 1]
    """


def _listed(name: str, given: Any) -> Floats:
    """Budgets that the user gave."""
    values = sorted({positive(name, value) for value in given})
    if not values:
        raise InputError(f"{name} is empty; give at least one budget.")
    return np.array(values)


def _table(found: Floats, rs: Floats, ts: Floats) -> dict[str, Any]:
    """cv_results_ of errors, inputs, centres and convergence: t x splits x r x 4."""
    n_t, n_splits, n_r, _ = found.shape
    flat = found.transpose(1, 2, 0, 3).reshape(n_splits, n_r * n_t, 4)
    r, t = np.repeat(rs, n_t), np.tile(ts, n_r)
    scores = -flat[..., 0]
    mean = scores.mean(axis=0)
    return {
        "param_r": r,
        "param_t": t,
        "params": [{"r": float(a), "t": float(b)} for a, b in zip(r, t, strict=True)],
        **{f"split{i}_test_score": scores[i] for i in range(n_splits)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": 1 + (mean[:, None] < mean).sum(axis=1),
        "mean_n_inputs": flat[..., 1].mean(axis=0),
        "mean_n_centres": flat[..., 2].mean(axis=0),
        "n_unconverged": (flat[..., 3] == 0).sum(axis=0),
    }
