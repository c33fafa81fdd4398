"""Growing networks with l0 and l1, and so the number of features, chosen by cross-validation."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.base import Found, Run, Stop, fitting, open_fit
from sparsepath.base.parameters import count, real
from sparsepath.data.splits import splits_of
from sparsepath.errors import InputError
from sparsepath.grafting.along import descending
from sparsepath.grafting.base import CrossValidatedClasses
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.folds import judge
from sparsepath.grafting.networks.estimators import GrownNetworks, ScaledNumbers, of_network
from sparsepath.grafting.networks.folds import FoldState, NetworkTask, end, state_of
from sparsepath.grafting.networks.growing import Grower, samples
from sparsepath.path.steps import Step, mean_and_se
from sparsepath.system.arrays import Floats, Vector
from sparsepath.system.threads import Threads

LARGEST_L0 = 0.1  # part of the empty model's loss from which the grid of l0 goes down


@dataclass(eq=False, repr=False)
class MLPGraftingCV(GrownNetworks):
    """Growths on the training parts judge all l0; then growths on all data, one for each l1."""

    selection = "gradient"
    stop = "first"
    _is_scaled = False
    l1s: ArrayLike = (1e-3, 1e-4)
    l0s: ArrayLike | None = None
    _: KW_ONLY
    n_l0s: int = 16
    least: float = 3e-4
    l2: float = 0.0
    patience: int = 5
    cv: Any = 5
    choose: str | int | float = "one_se"
    tol: float = 1e-5
    max_iter: int = 200
    n_jobs: int | None = None

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Vector = None, groups: Vector = None) -> Self:
        """Grow the networks and choose a size."""
        given, X = open_fit(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        (growth,), factors = self._growths(), self._penalty(1.0, 1.0, Y.shape[1])
        l1s = descending("l1s", self.l1s)
        classes = isinstance(self, ClassifierMixin)
        splits = splits_of(self.cv, X, y, groups, classifier=classes, weights=weights)
        counted = weights > 0
        part, targets, w = X[counted], Y[counted], weights[counted]
        s = w / w.sum()
        scaled = self._scaled(targets, s)
        grower: Grower
        states: list[FoldState] = []
        errors: list[Floats] = []

        def found() -> Found | None:
            if not states:
                return None
            return self._found(task, design, grower, list(states), errors, whole=whole)

        with Threads(1) as threads:
            design = GraftingDesign(part, s, threads, standardize=self.standardize)
            grower = Grower(design, scaled, loss, factors, growth, samples(w))
            task = NetworkTask(
                X, Y, weights, loss, factors, growth, l1s, self._l0s(grower.convex),
                count("patience", self.patience), self.standardize, self._is_scaled, self._error,
            )  # fmt: skip
            states.append(state_of(grower, factors))
            whole = False
            with Run(self, given, X, method="mlp-grafting", found=found) as run:
                # The first split chooses l1; on the others only that one is tried.
                judge(task.errors, splits[:1], self.n_jobs, errors, run.tell)
                if not run.stopped and len(splits) > 1:
                    kept = int(np.flatnonzero(l1s == _best(task, errors)[0])[0])
                    rest = replace(task, kept=kept).errors
                    judge(rest, splits[1:], self.n_jobs, errors, run.tell)
                if not run.stopped:
                    grower.penalty = task.penalty(*_best(task, errors))
                    while grower.step():
                        states.append(state_of(grower, factors))
                        if run.tell():
                            break
                    else:
                        whole = True
            return run.settle()

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a fit, without the folds of the honest error.

        Accurate to a factor of four: 0.3 to 1.2 s at 100 x 10 and 0.4 to 3 s at 400 x 20,
        more for larger networks.
        """
        n, d = X.shape
        folds = self.cv if isinstance(self.cv, int) else 5
        return (0.06 * n / (n + 50) + 8e-6 * n * d) * (np.size(self.l1s) + folds)

    def _l0s(self, null: float) -> Floats:
        if self.l0s is not None:
            return descending("l0s", self.l0s)
        n_l0s = count("n_l0s", self.n_l0s)
        if not 0 < real(self.least) < LARGEST_L0:
            raise InputError(
                f"least={self.least!r}; give a fraction of the empty model's loss between 0 and "
                f"{LARGEST_L0}."
            )
        return null * np.geomspace(LARGEST_L0, self.least, n_l0s)

    def _found(
        self,
        task: NetworkTask,
        design: GraftingDesign,
        grower: Grower,
        states: list[FoldState],
        errors: list[Floats],
        *,
        whole: bool,
    ) -> Found:
        """The best network of every size: by the splits, or before that by the training data."""
        factor = task.loss.error_factor * self._y_scale**2
        l1, best = _best(task, errors) if errors else (float(task.l1s[0]), float(task.l0s[-1]))
        if whole:
            table = np.array(errors)[:, int(np.flatnonzero(task.l1s == l1)[0])]
            means, ses = mean_and_se(table, 0)
            l0s = [float(task.l0s[0]), *(float(l0) for l0 in task.l0s if l0 >= best)]
            ends = [0, *(end(states, l0) for l0 in l0s[1:])]
            offers = list(zip(ends, l0s, means, ses, strict=False))
        else:
            offers = [(k, best, factor * each.loss, np.nan) for k, each in enumerate(states)]
        steps: dict[int, Step] = {}
        of_size: dict[int, dict[str, Any]] = {}
        for k, l0, error, se in offers:
            state = states[k]
            size = len(state.order)
            if size in steps and not error < steps[size].error:
                continue
            trained = factor * state.loss
            steps[size] = Step(
                state.order, error=float(error), error_se=float(se), train_error=trained
            )
            criterion = state.convex + l0 * state.charge
            history = grower.grown.history[: state.written]
            known = of_network(state.network, criterion, state.loss)
            of_size[size] = {"l1_": l1, "l0_": l0, "history_": history, **known}
        fitted: dict[str, Any] = {"_of_size": of_size}
        if errors:
            fitted |= {"l1s_": task.l1s, "l0s_": task.l0s}
            fitted["cv_errors_"] = np.array(errors)[:, :, 1:]
            fitted["n_iter_"] = max(1, len(grower.grown.history))
        name = task.loss.error_name if self._error == "loss" else "zero-one error"
        return Found(
            steps,
            [replace(move, error=factor * move.error) for move in grower.grown.moves],
            criterion=f"{len(errors)}-split {name}" if whole else task.loss.error_name,
            error_kind="selection" if whole else "training",
            fitted=fitted,
            models={k: self._model(each["network_"], design) for k, each in of_size.items()},
            stopped=Stop.ALL_L0,
        )


def _best(task: NetworkTask, errors: list[Floats]) -> tuple[float, float]:
    """The l1 and l0 of the least mean error; of equal ones the largest."""
    mean = np.mean(errors, axis=0)[:, 1:]
    i, j = np.unravel_index(int(np.nanargmin(mean)), mean.shape)
    return float(task.l1s[i]), float(task.l0s[j])


@dataclass(eq=False, repr=False)
class MLPGraftingRegressorCV(ScaledNumbers, MLPGraftingCV):
    """Regression by a network that grows, with l0 and l1 chosen by cross-validation.

    On the first two training parts one network grows for each l1, on the others only for the l1
    with the lowest mean error so far; it contains the networks of all values of l0. Growth stops
    when the error on the test part has not decreased for ``patience`` steps. The same l1 is used to
    grow a network on all data, and ``choose`` selects the number of features among the sizes that
    the values of l0 give.

    Parameters
    ----------
    l1s : array, default=(0.001, 0.0001)
        Values of l1 to try.
    l0s : array, optional
        Values of l0 to try; more values take no extra time.
    n_l0s, least : int, float, default=16, 0.0003
        Without ``l0s``: number of values, from a tenth of the loss of the empty model down to this
        fraction of it.
    l2 : float, default=0.0
        Penalties of the connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors of the penalties L0, L1 and L2 per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. With "feature", as in equation (6) of the paper, further connections of a
        selected feature are free, and growth may continue up to a limit.
    look_ahead : int, default=5
        Largest number of inputs that are tested jointly, to detect interactions; more than three
        only while no smaller set helps. Orders that would take too long for the number of features
        and samples are skipped. 1: the gradient test of the paper only.
    max_hidden : int or None, default=50
        Maximum number of hidden units.
    max_connections : int or None, default=200
        Maximum number of connections.
    max_features : int or None, default=None
        Maximum number of features.
    standardize : bool, default=True
        Whether to standardise the features internally.
    max_iter : int, default=200
        Maximum number of iterations of each optimisation.
    patience : int, default=5
        Growth stops after this many steps without a lower error on the test part.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses l1 and l0.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    tol : float, default=1e-5
        Gradient norm at which an optimisation stops.
    n_jobs : int, optional
        Number of splits that run in parallel. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": five), a scikit-learn splitter, or a list of splits. None: no honest errors;
        the size is chosen by the inner cross-validation alone, in a sixth of the time.
    callback : callable, optional
        Called with the path so far after every split and every step on all data; a true value
        stops the work and keeps what was found.

    Attributes
    ----------
    path_ : SelectionPath
        For every size that some l0 gives, the network with the lowest cross-validation error.
    l1_, l0_ : float
        Penalties of the network in use; ``MLPGraftingRegressor`` with these grows the same network.
    l1s_, l0s_ : arrays
        All values tried, in decreasing order.
    cv_errors_ : array of shape (n_splits, n_l1s, n_l0s)
        Mean squared errors of the test parts; NaN for an l1 that was not tried there.
    network_ : GrownNetwork
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights
        are those of the standardised features.
    n_hidden_ : int
        Number of hidden units.
    selected_ : array of int
        Selected columns, in order of entry.
    history_ : list of NetworkGraft
        Every step of the growth.
    criterion_, loss_ : float
        Criterion including L0, and its loss term (half the squared error, standardised target).
    n_iter_ : int
        Number of growth steps.
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
    >>> X = np.random.default_rng(0).standard_normal((150, 5))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> model = MLPGraftingRegressorCV(l1s=[1e-3], cv=3, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2]
    """


@dataclass(eq=False, repr=False)
class MLPGraftingClassifierCV(CrossValidatedClasses, MLPGraftingCV):
    """Classification by a network that grows, with l0 and l1 chosen by cross-validation.

    Parameters
    ----------
    l1s : array, default=(0.001, 0.0001)
        Values of l1 to try.
    l0s : array, optional
        Values of l0 to try; more values take no extra time.
    n_l0s, least : int, float, default=16, 0.0003
        Without ``l0s``: number of values, from a tenth of the loss of the empty model down to this
        fraction of it.
    l2 : float, default=0.0
        Penalties of the connections from features to units; biases are not penalised.
    feature_costs, l1_factors, l2_factors : array or mapping of names to numbers, optional
        Factors of the penalties L0, L1 and L2 per feature.
    l0_per : {"connection", "feature"}, default="connection"
        What L0 counts. With "feature", as in equation (6) of the paper, further connections of a
        selected feature are free, and growth may continue up to a limit.
    look_ahead : int, default=5
        Largest number of inputs that are tested jointly, to detect interactions; more than three
        only while no smaller set helps. Orders that would take too long for the number of features
        and samples are skipped. 1: the gradient test of the paper only.
    max_hidden : int or None, default=50
        Maximum number of hidden units.
    max_connections : int or None, default=200
        Maximum number of connections.
    max_features : int or None, default=None
        Maximum number of features.
    patience : int, default=5
        Growth stops after this many steps without a lower error on the test part.
    cv : int, splitter or list of splits, default=5
        Cross-validation that chooses l1 and l0.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    standardize : bool, default=True
        Whether to standardise the features internally.
    tol : float, default=1e-05
        Gradient norm at which an optimisation stops.
    max_iter : int, default=200
        Maximum number of iterations of each optimisation.
    n_jobs : int, optional
        Number of splits that run in parallel. Affects speed only.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": five), a scikit-learn splitter, or a list of splits. None: no honest errors;
        the size is chosen by the inner cross-validation alone, in a sixth of the time.
    callback : callable, optional
        Called with the path so far after every split and every step on all data; a true value
        stops the work and keeps what was found.
    class_weight : dict, "balanced" or None
        Factors of the sample weights, as in scikit-learn.
    threshold : "balanced", "f1", float, array of shape (2, 2) or None, default=None
        Score above which the second of the two classes is predicted, chosen on the samples that
        validation leaves out: least balanced error, largest F1, or least cost, where
        ``threshold[i][j]`` is the cost of predicting class j for a sample of class i. A float: the
        probability of the second class above which it is predicted. None: score zero.
    error : {"loss", "zero_one"}, default="loss"
        What the test parts measure: the mean log loss, or the error rate.

    Attributes
    ----------
    path_ : SelectionPath
        For every size that some l0 gives, the network with the lowest cross-validation error.
    l1_, l0_ : float
        Penalties of the network in use; ``MLPGraftingRegressor`` with these grows the same network.
    l1s_, l0s_ : arrays
        All values tried, in decreasing order.
    cv_errors_ : array of shape (n_splits, n_l1s, n_l0s)
        Mean squared errors of the test parts; NaN for an l1 that was not tried there.
    network_ : GrownNetwork or SoftmaxNetwork
        Connections (``units``, ``features``, ``weights``), ``biases``, ``output_bias``; weights are
        those of the standardised features. With three classes and more also ``homes``, the class of
        each unit, further connections to outputs (``out_units``, ``out_classes``, ``out_weights``)
        and ``output_biases``.
    n_hidden_ : int
        Number of hidden units.
    selected_ : array of int
        Selected columns, in order of entry.
    history_ : list of NetworkGraft
        Every step of the growth.
    criterion_, loss_ : float
        Criterion including L0, and its loss term (half the squared error, standardised target).
    n_iter_ : int
        Number of growth steps.
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
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (150, 5))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> model = MLPGraftingClassifierCV(l1s=[1e-3], cv=3, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1]
    """
