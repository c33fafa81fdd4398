"""Growing networks with l0 and l1, and so the number of features, chosen by cross-validation."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.arrays import Floats, Vector
from sparsepath.data.splitting import splits_of
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import count
from sparsepath.grafting.along import descending
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.faces import JudgedClasses
from sparsepath.grafting.folds import judge
from sparsepath.grafting.growing import Grower, samples
from sparsepath.grafting.mlp import GrownNetworks, ScaledNumbers, of_network
from sparsepath.grafting.network_folds import FoldState, NetworkTask, end, state_of
from sparsepath.running import Found, Run, Stop, fitting, opened
from sparsepath.steps import Step, mean_and_se

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
        """Grow the networks and settle on a size."""
        given, X = opened(self, X, y, sample_weight=sample_weight, groups=groups)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        (growth,), factors = self._growths(), self._penalty(1.0, 1.0, Y.shape[1])
        l1s = descending("l1s", self.l1s)
        splits = splits_of(self.cv, X, y, groups, classifier=isinstance(self, ClassifierMixin))
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
            with Run(self, given, X, method="mlp-grafting-cv", found=found) as run:
                judge(task.errors, splits, self.n_jobs, errors, run.tell)
                if not run.stopped:
                    grower.penalty = task.penalty(*_best(task, errors))
                    while grower.step():
                        states.append(state_of(grower, factors))
                        if run.tell():
                            break
                    else:
                        whole = True
            return run.settle()

    def _l0s(self, null: float) -> Floats:
        if self.l0s is not None:
            return descending("l0s", self.l0s)
        n_l0s = count("n_l0s", self.n_l0s)
        if not 0 < self.least < LARGEST_L0:
            raise InputError(
                f"least={self.least!r}; give a part of the empty model's loss between 0 and "
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
    i, j = np.unravel_index(int(mean.argmin()), mean.shape)
    return float(task.l1s[i]), float(task.l0s[j])


@dataclass(eq=False, repr=False)
class MLPGraftingRegressorCV(ScaledNumbers, MLPGraftingCV):
    """Regression by a network that grows, with l0 and l1 chosen by cross-validation.

    On every training part one network grows for each l1; it holds those of all values of l0, and
    its error on the test part ends the growth when it has not fallen for ``patience`` steps. The
    l1 of the least mean error is taken; with it a network grows on all data, and ``choose`` picks
    the number of features among those that the values of l0 leave.

    Parameters
    ----------
    l1s : array, default=(0.001, 0.0001)
        The values of l1 to try.
    l0s : array, optional
        The values of l0 to try; more of them cost nothing.
    n_l0s, least : int, float, default=16, 0.0003
        Without ``l0s``: this many, from a tenth of the loss of the empty model down to this part.
    l2, feature_costs, l1_factors, l2_factors, l0_per, look_ahead
        As for ``MLPGraftingRegressor``.
    max_hidden, max_connections, max_features, standardize, max_iter
        As for ``MLPGraftingRegressor``.
    patience : int, default=5
        Steps without a lower error on the test part after which a growth ends.
    cv : int, splitter or list of splits, default=5
    choose
        As for ``SparseRLSRegressor``.
    tol : float, default=1e-5
        Gradient at which an optimisation ends.
    n_jobs : int, optional
        Splits that run at the same time; results do not depend on it.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        How parts of the data are left out of the whole procedure for honest errors, by which the
        size is then chosen: a number of folds ("auto": five), a splitter of scikit-learn's, or
        rows. With None there are none, and the size is chosen by cross-validation alone; that
        takes a sixth of the time.
    callback : callable, optional
        Called with the path so far after every split and every step on all data; a true value
        ends the work, and what was found is kept.

    Attributes
    ----------
    path_ : SelectionPath
        For every size that the values of l0 leave the network of least cross-validation error.
    l1_, l0_ : float
        Of the network in use: ``MLPGraftingRegressor`` with them grows the same.
    l1s_, l0s_ : arrays
        All that were tried, from the largest down.
    cv_errors_ : array of shape (n_splits, n_l1s, n_l0s)
        Mean squared errors of the test parts.
    network_, n_hidden_, selected_, history_, criterion_, loss_
        Of the network in use, as for ``MLPGraftingRegressor``.
    n_iter_ : int
        Steps of the growth.

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
class MLPGraftingClassifierCV(JudgedClasses, MLPGraftingCV):
    """Classification by a network that grows, with l0 and l1 chosen by cross-validation.

    Parameters
    ----------
    l1s, l0s, n_l0s, least, l2, feature_costs, l1_factors, l2_factors, l0_per, look_ahead
        As for ``MLPGraftingRegressorCV``.
    max_hidden, max_connections, max_features, patience, cv, choose, standardize, tol, max_iter
        As for ``MLPGraftingRegressorCV``.
    n_jobs, validation, callback
        As for ``MLPGraftingRegressorCV``.
    class_weight : dict, "balanced" or None
        As for ``GraftingClassifier``.
    error : {"loss", "zero_one"}, default="loss"
        What the test parts measure: the mean log loss, or the error rate.

    Attributes
    ----------
    path_, l1_, l0_, l1s_, l0s_, cv_errors_
        As for ``MLPGraftingRegressorCV``.
    network_, n_hidden_, selected_, history_, criterion_, loss_
        Of the network in use, as for ``MLPGraftingClassifier``.
    n_iter_ : int
        Steps of the growth.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (150, 5))
    >>> y = X[:, 0] ^ X[:, 1]
    >>> model = MLPGraftingClassifierCV(l1s=[1e-3], cv=3, validation=None).fit(X, y)
    >>> sorted(model.selected_.tolist())
    [0, 1]
    """
