"""SparseRBFRegressorCV: both budgets by cross-validation."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_features
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError, PathWarning
from sparsepath.path import SelectionPath, Step
from sparsepath.rbf.centres import place_centres
from sparsepath.rbf.estimators import (
    _SparseRBF,
    dense,
    fingerprint,
    one_target,
    positive,
    whole,
)
from sparsepath.rbf.model import Options, Scaling, empty_model, train

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_R, MOST_PER_CENTRE = 2.0, 4.0
DISTANCES = (0.04, 10.0)  # the median weighted squared distance of two samples, at the ends of t


def default_budgets(X: Floats, n_centres: int, n_r: int, n_t: int) -> tuple[Floats, Floats]:
    """Logarithmic grids of r and t for data X.

    r goes from 2, little more than a bias and one Gaussian of a standardised target, to four per
    centre. t, shared out equally, makes the median squared distance of two samples 0.04 (nearly
    linear) at one end and 10 (hardly any overlap) at the other.
    """
    Z = Scaling.of(X, np.arange(len(X), dtype=np.float64)).inputs(X)
    rows = Z[np.unique(np.linspace(0, len(Z) - 1, 200).astype(int))]
    squares = (rows * rows).sum(1)
    D = squares[:, None] + squares - 2.0 * rows @ rows.T
    apart = D[np.triu_indices(len(rows), 1)]
    median = max(float(np.median(apart)) / X.shape[1], 1e-3)
    rs = np.geomspace(SMALLEST_R, max(MOST_PER_CENTRE * n_centres, 2 * SMALLEST_R), n_r)
    return rs, np.geomspace(DISTANCES[0] / median, DISTANCES[1] / median, n_t)


def _fold(
    X: Floats,
    y: Floats,
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    nodes: Sequence[tuple[float, float]],
    centres: Any,
    placing: str,
    options: Options,
) -> list[tuple[float, int, int, bool]]:
    """Test error, inputs, centres and convergence of every node on one split."""
    a, b = split
    with threadpool_limits(1, user_api="blas"):
        places, _ = place_centres(X[a], centres, placing, options.seed)
        out = []
        for r, t in nodes:
            fit = train(X[a], y[a], places, r, t, options)
            error = float(np.mean((y[b] - fit.model.predict(X[b])) ** 2))
            model = fit.model
            out.append((error, len(model.columns), len(model.coef), fit.solution.converged))
    return out


class SparseRBFRegressorCV(_SparseRBF):
    """``SparseRBFRegressor`` with both budgets chosen by cross-validation.

    Every pair (r, t) of a grid is fitted on every training part; nothing is carried from one fit to
    another, so that results depend neither on the order nor on the number of workers. For every t
    the best r is fitted to all data: the selection path over t.

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
        Workers, as in joblib; Dask or any other backend can take them. It changes the speed only.
    solver, schedule, centres, placing, n_init, relevance, mu_min, max_iter, random_state
        As for ``SparseRBFRegressor``.

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

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search the grid and fit to all data.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The inputs.
        y : array of shape (n_samples,)
            The target.
        groups : array of shape (n_samples,), optional
            For a ``cv`` that splits by groups.
        """
        X = dense(check_features(self, X, reset=True))
        y = one_target(y, len(X))
        options = self._options()
        splits = list(check_cv(self.cv, y).split(X, y, groups))
        with Threads(1):
            places, _ = place_centres(X, self.centres, self.placing, options.seed)
        self.rs_, self.ts_ = self._grid(X, len(places))
        # One task per split and t: small enough to share out, large enough to pay for the way.
        tasks = [(split, [(r, t) for r in self.rs_]) for split in splits for t in self.ts_]
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(_fold)(X, y, split, nodes, self.centres, self.placing, options)
            for split, nodes in tasks
        )
        shape = (len(splits), len(self.ts_), len(self.rs_), 4)
        found = np.array(done, dtype=np.float64).reshape(shape).transpose(0, 2, 1, 3)
        self._report(found)
        self._follow(X, y, places, splits, found[..., 0], options)
        return self

    def _grid(self, X: Floats, n_centres: int) -> tuple[Floats, Floats]:
        counts = [whole(v, n, 1) if np.ndim(v) == 0 else 1 for n, v in self._given()]
        rs, ts = default_budgets(X, n_centres, *counts)
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

    def _follow(
        self,
        X: Floats,
        y: Floats,
        places: Floats,
        splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
        errors: Floats,
        options: Options,
    ) -> None:
        """Fit the best r of every t to all data, and settle on one of them."""
        root = np.sqrt(len(splits))
        empty = np.array([np.mean((y[b] - y[a].mean()) ** 2) for a, b in splits])
        steps = {0: Step((), float(empty.mean()), _se(empty, root))}
        best_r = errors.mean(axis=0).argmin(axis=0)
        nodes = [(float(self.rs_[i]), float(t)) for i, t in zip(best_r, self.ts_, strict=True)]
        with Threads(1):
            fits = [train(X, y, places, r, t, options) for r, t in nodes]
        # If nothing predicts, the mean does: the empty model, with the smallest budgets.
        chosen = {0: (nodes[0], replace(fits[0], model=empty_model(float(y.mean()))))}
        for j, (node, fit) in enumerate(zip(nodes, fits, strict=True)):
            subset = tuple(int(i) for i in fit.model.columns)
            values = errors[:, best_r[j], j]
            size = len(subset)
            if size and (size not in steps or values.mean() < steps[size].error):
                steps[size] = Step(
                    subset,
                    float(values.mean()),
                    _se(values, root),
                    train_error=float(np.mean((y - fit.model.predict(X)) ** 2)),
                )
                chosen[size] = (node, fit)
        self.path_ = SelectionPath(
            steps,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            criterion=f"{len(splits)}-split squared error",
            method="sparse-rbf",
            parameters=self.get_params(deep=False),
            seed=options.seed,
            data={"n_samples": len(X), "n_features": X.shape[1], "fingerprint": fingerprint(X, y)},
        )
        self._of_size = chosen
        (r, t), fit = chosen[self.path_.choose(self.choose)]
        self._take(fit, r, t)

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


def _se(values: Floats, root: float) -> float:
    return float(values.std(ddof=1) / root) if len(values) > 1 else np.nan
