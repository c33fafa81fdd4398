"""SparseRBFRegressorCV: both budgets by cross-validation."""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

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
    weights_of,
    whole,
)
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.estimators import _SparseRBF, renumbered
from sparsepath.rbf.model import Options, Training, empty_model, train
from sparsepath.steps import Step
from sparsepath.watching import tell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Split = tuple[NDArray[np.intp], NDArray[np.intp]]

SMALLEST_R, MOST_PER_CENTRE = 2.0, 4.0
DISTANCES = (0.04, 10.0)  # the mean weighted squared distance of two samples, at the ends of t
WORTH_WORKERS = 1e7  # fits times squared samples: some seconds, which starting workers takes too


def default_budgets(n_centres: int, n_r: int, n_t: int) -> tuple[Floats, Floats]:
    """Logarithmic grids of r and t.

    r goes from 2, little more than a bias and one Gaussian of a standardised target, to four per
    centre. The mean squared distance of two standardised samples is 2 t, however t is shared out:
    0.04 (nearly linear) at one end and 10 (hardly any overlap) at the other.
    """
    rs = np.geomspace(SMALLEST_R, max(MOST_PER_CENTRE * n_centres, 2 * SMALLEST_R), n_r)
    return rs, np.geomspace(DISTANCES[0] / 2, DISTANCES[1] / 2, n_t)


@dataclass(frozen=True)
class _Data:
    """What all fits of a search share; weights of zero are allowed here."""

    X: Floats
    y: Floats
    weights: Floats | None
    centres: Any
    placing: str
    options: Options

    def of(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats, Floats | None]:
        """Inputs, target and weights of some samples."""
        weights = None if self.weights is None else self.weights[rows]
        return self.X[rows], self.y[rows], weights

    def counted(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Those of the samples whose weight is not zero."""
        return rows if self.weights is None else rows[self.weights[rows] > 0]


def _fold(data: _Data, split: Split, rs: Floats, t: float) -> list[tuple[float, int, int, bool]]:
    """Test error, inputs, centres and convergence of every r on one split."""
    X, y, weights = data.of(data.counted(split[0]))
    X_test, y_test, of_test = data.of(data.counted(split[1]))
    options = data.options
    with threadpool_limits(1, user_api="blas"):
        places, _ = place_centres(X, data.centres, data.placing, options.seed, weights)
        out = []
        for r in rs:
            fit = train(X, y, places, float(r), t, options, weights)
            model = fit.model
            error = float(np.average((y_test - model.predict(X_test)) ** 2, weights=of_test))
            out.append((error, len(model.columns), len(model.coef), fit.solution.converged))
    return out


class SparseRBFRegressorCV(CallbackSupportMixin, _SparseRBF):
    """``SparseRBFRegressor`` with both budgets chosen by cross-validation.

    Every pair (r, t) of a grid is fitted on every training part; nothing is carried from one fit to
    another, so that results depend neither on the order nor on the number of workers. For every t
    the best r is fitted to all data: the selection path over t. An interrupt (Ctrl-C) keeps the
    path over the t that are done.

    Parameters
    ----------
    rs, ts : int or list of float, default=6
        Budgets to try, or how many, on a logarithmic scale whose ends follow from the data.
    cv : int, splitter or list of splits, default=5
        The splits.
    choose : {"min", "one_se"}, int or float, default="min"
        Which model of the path to use: least error, the fewest inputs within one standard error of
        it, a number of inputs, or the fewest within a fraction of the least error.
    n_jobs : int or None, default=None
        Workers, as in joblib; Dask or any other backend can take them. It changes the speed only; a
        search of a few seconds starts none.
    solver, schedule, centres, placing, n_init, relevance, mu_min, max_iter, random_state
        As for ``SparseRBFRegressor``.
    callback : callable, optional
        Called with the path so far when a t is done; the search ends if it returns true.

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
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(60, 3, random_state=0)
    >>> model = SparseRBFRegressorCV(rs=[4, 8], ts=[2, 5], cv=3).fit(data.X, data.y)
    >>> model.path_.subset(1), model.cv_results_["mean_test_score"].shape
    ((0,), (4,))
    """

    def __init__(
        self,
        rs: Any = 6,
        ts: Any = 6,
        *,
        cv: Any = 5,
        choose: str | int | float = "min",
        n_jobs: int | None = None,
        solver: str = "direct",
        schedule: str = "robust",
        centres: Any = "all",
        placing: str = "kmeans",
        n_init: int = 1,
        relevance: float = 0.01,
        mu_min: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = 0,
        callback: Callable[[SelectionPath], object] | None = None,
    ) -> None:
        self.rs = rs
        self.ts = ts
        self.cv = cv
        self.choose = choose
        self.n_jobs = n_jobs
        self.solver = solver
        self.schedule = schedule
        self.centres = centres
        self.placing = placing
        self.n_init = n_init
        self.relevance = relevance
        self.mu_min = mu_min
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
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
            For a ``cv`` that splits by groups.
        """
        X = dense(check_features(self, X, reset=True))
        weights = weights_of(sample_weight, len(X))
        y = one_target(y, len(X), weights)
        options = self._options()
        data = _Data(X, y, weights, self.centres, self.placing, options)
        splits = list(check_cv(self.cv, y).split(X, y, groups))
        counted = data.counted(np.arange(len(X)))
        with Threads(1):
            part = data.of(counted)
            places, rows = place_centres(part[0], self.centres, self.placing, options.seed, part[2])
        rs, ts = self._grid(len(places))
        samples = None if rows is None else counted[rows]
        context = self._init_callback_context(max_subtasks=len(ts))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        follow = _Follower(data, splits, places, samples, rs)
        work = len(rs) * len(ts) * len(splits) * len(X) ** 2
        # One task per t and split: small enough to share out, large enough to pay for the way.
        done = Parallel(n_jobs=self.n_jobs if work > WORTH_WORKERS else 1, return_as="generator")(
            delayed(_fold)(data, split, rs, float(t)) for t in ts for split in splits
        )
        try:
            for t in ts:
                follow.take(float(t), [next(done) for _ in splits])
                path = self._path(follow, complete=len(follow.ts) == len(ts))
                if self._told(context, path, follow):
                    break
        except KeyboardInterrupt:
            if not follow.ts:
                raise
            path = self._path(follow, complete=False)
        finally:
            done.close()
        self._settle(path, follow)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _told(self, context: Any, path: SelectionPath, follow: "_Follower") -> bool:
        """Tell the plain callback and scikit-learn's; whether one of them asks to stop."""

        def state() -> Any:
            so_far = copy.copy(self)
            so_far._settle(path, follow)
            return so_far

        return tell(self, context, path, state, f"t = {follow.ts[-1]:.3g}")

    def _path(self, follow: "_Follower", complete: bool) -> SelectionPath:
        X, y = follow.data.X, follow.data.y
        parameters = self.get_params(deep=False)
        del parameters["callback"]
        return SelectionPath(
            dict(sorted(follow.steps.items())),
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion=f"{len(follow.splits)}-split squared error",
            method="sparse-rbf",
            parameters=parameters,
            seed=follow.data.options.seed,
            data={"n_samples": len(X), "n_features": X.shape[1], "fingerprint": fingerprint(X, y)},
            complete=complete,
        )

    def _settle(self, path: SelectionPath, follow: "_Follower") -> None:
        """The fitted attributes of a search, finished or not."""
        self.rs_, self.ts_ = follow.rs, np.array(follow.ts)
        self._report(np.array(follow.found).transpose(1, 2, 0, 3))
        self.path_, self._of_size = path, dict(follow.fits)
        choose: Any = self.choose
        if not path.complete and isinstance(choose, Integral) and choose not in path.sizes:
            # The size asked for may not have been reached; what was found is not thrown away.
            choose = min(path.sizes, key=lambda size: abs(size - int(choose)))
        (r, t), fit = self._of_size[path.choose(choose)]
        self._take(fit, r, t)

    def _grid(self, n_centres: int) -> tuple[Floats, Floats]:
        counts = [whole(v, n, 1) if np.ndim(v) == 0 else 1 for n, v in self._given()]
        rs, ts = default_budgets(n_centres, *counts)
        out = []
        for (name, given), default in zip(self._given(), (rs, ts), strict=True):
            if np.ndim(given) == 0:
                out.append(default)
            else:
                values = sorted({positive(value, name) for value in given})
                if not values:
                    raise InputError(f"{name} is empty; give at least one budget.")
                out.append(np.array(values))
        return out[0], out[1]

    def _given(self) -> tuple[tuple[str, Any], tuple[str, Any]]:
        return ("rs", self.rs), ("ts", self.ts)

    def _report(self, found: Floats) -> None:
        """cv_results_ of errors, inputs, centres and convergence: splits x r x t x 4."""
        n_splits, n_r, n_t, _ = found.shape
        flat = found.reshape(n_splits, n_r * n_t, 4)
        r, t = np.repeat(self.rs_, n_t), np.tile(self.ts_, n_r)
        scores = -flat[..., 0]
        mean = scores.mean(axis=0)
        self.cv_results_: dict[str, Any] = {
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
        unconverged = int(self.cv_results_["n_unconverged"].sum())
        if unconverged:
            warnings.warn(
                f"{unconverged} of {n_splits * n_r * n_t} fits are not finished; see "
                "cv_results_['n_unconverged'], raise max_iter, or use solver='direct'.",
                PathWarning,
                stacklevel=3,
            )

    def plot_surface(self, what: str = "error", ax: "Axes | None" = None) -> "Axes":
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


class _Follower:
    """Takes the errors of one t after another and fits the best r of each to all data."""

    def __init__(
        self,
        data: _Data,
        splits: Sequence[Split],
        places: Floats,
        samples: NDArray[np.intp] | None,
        rs: Floats,
    ) -> None:
        self.data, self.splits, self.places, self.samples, self.rs = (
            data, splits, places, samples, rs,
        )  # fmt: skip
        self.ts: list[float] = []
        self.found: list[Any] = []  # for every t: splits x r x 4
        self.steps: dict[int, Step] = {}
        self.fits: dict[int, tuple[tuple[float, float], Training]] = {}

    def take(self, t: float, found: Any) -> None:
        """The results of all splits for a t."""
        data = self.data
        values = np.array(found, dtype=np.float64)
        best = int(values[..., 0].mean(axis=0).argmin())
        errors, r = values[:, best, 0], float(self.rs[best])
        X, y, weights = data.of(data.counted(np.arange(len(data.X))))
        with Threads(1):
            fit = train(X, y, self.places, r, t, data.options, weights)
        if self.samples is not None:
            fit = renumbered(fit, self.samples)
        if not self.ts:
            # If nothing predicts, the mean does: the empty model, with the smallest budgets.
            empty = np.array([self._empty(*split) for split in self.splits])
            self.steps[0] = Step((), float(empty.mean()), mean_se(empty))
            mean = float(np.average(y, weights=weights))
            self.fits[0] = ((r, t), replace(fit, model=empty_model(mean)))
        self.ts.append(t)
        self.found.append(values)
        subset = tuple(int(i) for i in fit.model.columns)
        size = len(subset)
        if size and (size not in self.steps or errors.mean() < self.steps[size].error):
            off = np.average((y - fit.model.predict(X)) ** 2, weights=weights)
            self.steps[size] = Step(
                subset, float(errors.mean()), mean_se(errors), train_error=float(off)
            )
            self.fits[size] = ((r, t), fit)

    def _empty(self, train_rows: NDArray[np.intp], test_rows: NDArray[np.intp]) -> float:
        _, y, weights = self.data.of(train_rows)
        _, y_test, of_test = self.data.of(test_rows)
        mean = np.average(y, weights=weights)
        return float(np.average((y_test - mean) ** 2, weights=of_test))
