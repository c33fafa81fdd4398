"""Both budgets by cross-validation, as scikit-learn estimators."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sparsepath.base import Found, Run, fitting, open_fit
from sparsepath.base.parameters import count, flag, is_list, numbers, positive
from sparsepath.base.targets import dense, weights_of
from sparsepath.data.splits import splits_of
from sparsepath.errors import InputError, warn_user
from sparsepath.rbf.base import _Regression, _SparseRBF, _TwoClasses
from sparsepath.rbf.centres import AUTO, place_centres
from sparsepath.rbf.elimination import CoarseToFine
from sparsepath.rbf.grid import (
    BEYOND,
    BudgetPath,
    Fold,
    FullGrid,
    Grid,
    GridData,
    Node,
    Scale,
    default_budgets,
)
from sparsepath.rbf.narrowing import MANY
from sparsepath.system.arrays import Axes, Floats, Vector
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING


@dataclass(eq=False, repr=False)
class _GridSearch(_SparseRBF):
    """A search over a grid of (r, t)."""

    rs: Any = 6
    ts: Any = 6
    _: KW_ONLY
    cv: Any = 5
    choose: str | int | float = "one_se"
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
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        X = dense(X)
        weights = weights_of(sample_weight, len(X))
        labels, y = y, self._target(y, len(X), weights)
        options = self._options()
        flag("relaxed", self.relaxed)
        data = GridData(X, y, weights, options)
        classes = is_classifier(self)
        splits = splits_of(self.cv, X, labels, groups, classifier=classes, weights=weights)
        grid = self._grid(data)
        work = len(grid.r.values) * len(grid.t.values) * len(splits) * len(X) ** 2
        n_jobs = self.n_jobs if work > TUNING.workers_from else 1
        is_listed = np.ndim(self.rs) > 0 or np.ndim(self.ts) > 0
        search: BudgetPath
        if is_listed or not self.relaxed:
            search = FullGrid(data, splits, grid, relaxed=self.relaxed)
        else:
            search = CoarseToFine(data, splits, grid)
        run = Run(
            self,
            given,
            X,
            method="rbf",
            found=lambda: self._found(search),
            seed=options.random_state,
        )
        with run:
            for name in search.search(n_jobs):
                run.check(name)
        run.settle()
        if not self.converged_:
            other = "" if self.solver == "direct" else ", or use solver='direct'"
            warn_user(f"the network in use has not converged; increase max_iter{other}.")
        each = (("r", grid.r, self.r_), ("t", grid.t, self.t_))
        ends = [f"{name} = {value:.3g}" for name, scale, value in each if scale.ends_at(value)]
        if len(self.selected_) and ends:
            warn_user(
                f"the best {' and '.join(ends)} is at the end of the grid; pass a list of "
                "budgets with a wider range."
            )
        return self

    def _found(self, search: BudgetPath) -> Found | None:
        """The path so far, and the table of errors."""
        if not search.trail.steps:
            return None
        table = _table(search.tried, search.grid)
        of_size = dict(sorted(search.trail.models.items()))
        grid = search.grid
        fitted = {
            "rs_": grid.r.values,
            "ts_": search.ts,
            "cv_results_": table,
            "_of_size": of_size,
        }
        models = {size: fit.model for size, (_, fit) in of_size.items()}
        criterion = f"{len(search.splits)}-split squared error"
        return Found.on(search.trail, criterion=criterion, fitted=fitted, models=models)

    def _grid(self, data: GridData) -> Grid:
        X, _, weights = data.of(data.counted(np.arange(len(data.X))))
        with Threads(1):
            options = data.options
            places, _ = place_centres(
                X, options.centres, options.placing, options.random_state, weights
            )
        asked = ("rs", self.rs), ("ts", self.ts)
        counts = [1 if is_list(v) else count(n, v) for n, v in asked]
        defaults = default_budgets(len(places), *counts)
        scales = []
        for (name, given), default in zip(asked, defaults, strict=True):
            if is_list(given) or len(default) < 2:
                scales.append(Scale(_listed(name, given) if is_list(given) else default, None))
            else:
                scales.append(Scale(default, BEYOND if self.relaxed else 0))
        return Grid(*scales)

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a fit, without the folds of the honest error.

        Accurate to a factor of two to three: 0.6 s at 300 x 30, 3 s at 2000 x 30,
        1.7 s at 500 x 300.
        """
        (n, d), M = X.shape, self.centres
        if not isinstance(M, int):
            M = min(n, AUTO) if isinstance(M, str) and M == "auto" else n
        fits = 110
        if np.ndim(self.rs) or np.ndim(self.ts) or not self.relaxed:
            fits = 20 * (np.size(self.rs) if np.ndim(self.rs) else self.rs)
            fits *= np.size(self.ts) if np.ndim(self.ts) else self.ts
        return 1.5e-9 * fits * n * float(M + min(d, MANY)) ** 2

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
        grid = np.full((len(self.rs_), len(self.ts_)), np.nan)
        rows = np.searchsorted(self.rs_, self.cv_results_["param_r"])
        grid[rows, np.searchsorted(self.ts_, self.cv_results_["param_t"])] = values
        return plot_surface(self.rs_, self.ts_, grid, label, (self.r_, self.t_), ax=ax)


@dataclass(eq=False, repr=False)
class SparseRBFRegressorCV(_Regression, _GridSearch):
    """RBF network with selection of inputs and centres; budgets chosen by cross-validation.

    Budgets are searched from coarse to fine by cross-validation. The inputs of the best budgets are
    then removed step by step, the one first whose permutation raises the error on the test parts
    least, and the best of these subsets has its own budgets, because a small t makes Gaussians wide
    as well as inputs sparse. If lists of budgets are given, every pair (r, t) is fitted completely
    on every training part, as in the paper; the best r of every t gives the path, and the inputs of
    every t are refitted. Results do not depend on the number of workers. Ctrl-C keeps the path that
    was found so far.

    Parameters
    ----------
    rs, ts : int or list of float, default=6
        Budgets to try, all of them; or their number, on a logarithmic scale whose ends follow from
        the data, where only promising pairs are tried unless ``relaxed`` is False.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses the budgets.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Model of the path to use: the fewest inputs within one standard error of the minimum error,
        the minimum error, a number of inputs, or the fewest inputs within a fraction of the
        minimum.
    relaxed : bool, default=True
        Whether selected inputs are refitted with their own budgets, found by a walk over the grid,
        and up to three steps beyond its ends unless these were given. More accurate with few
        inputs. False: every pair of budgets is fitted completely, as in the paper, which is slower
        than the search from coarse to fine.
    n_jobs : int or None, default=None
        Number of joblib workers; Dask or any other backend can be used. Affects speed only; a
        search of a few seconds starts none.
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
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every part of the search; a true return value stops it.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per pair that was tried on every split, with all inputs: ``param_r``,
        ``param_t``, ``params``, ``split<i>_test_score`` (minus the mean squared error),
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``mean_n_inputs``,
        ``mean_n_centres``, ``n_unconverged``.
    rs_, ts_ : arrays
        Grid of budgets.
    r_, t_ : float
        Budgets in use.
    path_ : SelectionPath
        For every number of inputs that was tried, the model with the least cross-validation error.
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
    >>> from sparsepath.data.synthetic import bump
    >>> data = bump(60, 3, random_state=0)
    >>> search = SparseRBFRegressorCV(rs=[4, 8], ts=[2, 5], cv=3, validation=None)
    >>> model = search.fit(data.X, data.y)
    >>> model.path_.subset(1), model.cv_results_["mean_test_score"].shape
    ((0,), (4,))
    """


@dataclass(eq=False, repr=False)
class SparseRBFClassifierCV(_TwoClasses, _GridSearch):
    """RBF network for two classes; both budgets chosen by cross-validation.

    Parameters
    ----------
    rs, ts : int or list of float, default=6
        Budgets to try, all of them; or their number, on a logarithmic scale whose ends follow from
        the data, where only promising pairs are tried unless ``relaxed`` is False.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses the budgets; a number of folds is stratified by class.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Model of the path to use: the fewest inputs within one standard error of the minimum error,
        the minimum error, a number of inputs, or the fewest inputs within a fraction of the
        minimum.
    relaxed : bool, default=True
        Whether selected inputs are refitted with their own budgets, found by a walk over the grid,
        and up to three steps beyond its ends unless these were given. More accurate with few
        inputs. False: every pair of budgets is fitted completely, as in the paper, which is slower
        than the search from coarse to fine.
    n_jobs : int or None, default=None
        Number of joblib workers; Dask or any other backend can be used. Affects speed only; a
        search of a few seconds starts none.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of folds
        ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of splits.
        None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every part of the search; a true return value stops it.
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

    Attributes
    ----------
    classes_ : array
        The two labels; the second has the target +1.
    cv_results_ : dict of arrays
        One entry per pair that was tried on every split, with all inputs: ``param_r``, ``param_t``,
        ``params``, ``split<i>_test_score`` (minus the mean squared error of the
        targets -1 and +1), ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``mean_n_inputs``, ``mean_n_centres``, ``n_unconverged``.
    rs_, ts_ : arrays
        Grid of budgets.
    r_, t_ : float
        Budgets in use.
    path_ : SelectionPath
        For every number of inputs the best model found over t, by the same error.
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
    values = sorted({positive(name, value) for value in np.ravel(numbers(name, given))})
    if not values:
        raise InputError(f"{name} is empty; give at least one budget.")
    return np.array(values)


def _table(tried: Mapping[Node, Sequence[Fold]], grid: Grid) -> dict[str, Any]:
    """cv_results_ of the nodes that were tried on every split; empty before the first."""
    if not tried:
        return {}
    nodes = sorted(tried)
    r, t = np.array([grid.at(node) for node in nodes]).T
    numbers = np.array([[fold.numbers() for fold in tried[node]] for node in nodes], dtype=float)
    scores = -numbers[..., 0]
    mean = scores.mean(axis=1)
    return {
        "param_r": r,
        "param_t": t,
        "params": [{"r": float(a), "t": float(b)} for a, b in zip(r, t, strict=True)],
        **{f"split{i}_test_score": scores[:, i] for i in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + (mean[:, None] < mean).sum(axis=1),
        "mean_n_inputs": numbers[..., 1].mean(axis=1),
        "mean_n_centres": numbers[..., 2].mean(axis=1),
        "n_unconverged": (numbers[..., 3] == 0).sum(axis=1),
    }
