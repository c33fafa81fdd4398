"""What growing networks share that choose l0 and l1 by cross-validation: parameters, the splits."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from sparsepath.arrays import Floats
from sparsepath.data.door import check_features
from sparsepath.data.splitting import splits_of
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.faces.parameters import count
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.faces import Factors
from sparsepath.grafting.fitting import check_penalties
from sparsepath.grafting.folds import judge
from sparsepath.grafting.growing import Grower, samples
from sparsepath.grafting.mlp_base import GrownNetworks
from sparsepath.grafting.network import HiddenLayer
from sparsepath.grafting.network_folds import FoldState, NetworkTask, end, state_of
from sparsepath.running import Callback, Found, Given, Run, Stop, fitting
from sparsepath.steps import Step

LARGEST = 0.1  # part of the empty model's loss from which the grid of l0 goes down


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
    feature_costs: Factors = None
    l1_factors: Factors = None
    l2_factors: Factors = None
    l0_per: str = "connection"
    look_ahead: int = 5
    max_hidden: int | None = 50
    max_connections: int | None = 200
    max_features: int | None = None
    patience: int = 5
    cv: Any = 5
    choose: str | int | float = "one_se"
    standardize: bool = True
    tol: float = 1e-5
    max_iter: int = 200
    n_jobs: int | None = None
    validation: Any = "auto"
    callback: Callback = None

    @fitting
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the networks and settle on a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,)
            The target: numbers, or class labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            Used in the training and in the test parts.
        groups : array of shape (n_samples,), optional
            Folds keep them whole.
        """
        given = Given.of(X, y, sample_weight=sample_weight, groups=groups)
        X = check_features(self, X, reset=True)
        Y, weights, loss = self._targets(y, sample_weight, X.shape[0])
        (growth,), factors = self._growths(), self._penalty(Y.shape[1], 1.0, 1.0)
        l1s = _descending("l1s", self.l1s)
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
            return _descending("l0s", self.l0s)
        n_l0s = count("n_l0s", self.n_l0s)
        if not 0 < self.least < LARGEST:
            raise InputError(
                f"least={self.least!r}; give a part of the empty model's loss between 0 and "
                f"{LARGEST}."
            )
        return null * np.geomspace(LARGEST, self.least, n_l0s)

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
            means, ses = table.mean(0), np.full(table.shape[1], np.nan)
            if len(errors) > 1:
                ses = table.std(0, ddof=1) / np.sqrt(len(errors))
            l0s = [float(task.l0s[0]), *(float(l0) for l0 in task.l0s if l0 >= best)]
            ends = [0, *(end(states, l0) for l0 in l0s[1:])]
            offers = list(zip(ends, l0s, means, ses, strict=False))
        else:
            offers = [(k, best, factor * each.loss, np.nan) for k, each in enumerate(states)]
        steps: dict[int, Step] = {}
        networks: dict[int, tuple[tuple[int, ...], HiddenLayer, float, float]] = {}
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
            networks[size] = (state.order, state.network, criterion, state.loss)
            history = grower.grown.history[: state.written]
            of_size[size] = {"l1_": l1, "l0_": l0, "history_": history}
        name = task.loss.error_name if self._error == "loss" else "zero-one error"
        return Found(
            steps,
            [replace(move, error=factor * move.error) for move in grower.grown.moves],
            criterion=f"{len(errors)}-split {name}" if whole else task.loss.error_name,
            error_kind="selection" if whole else "training",
            fitted={
                "l1s_": task.l1s,
                "l0s_": task.l0s,
                "cv_errors_": np.array(errors)[:, :, 1:],
                "n_iter_": max(1, len(grower.grown.history)),
                "_of_size": of_size,
                "_networks": networks,
            }
            if errors
            else {"_of_size": of_size, "_networks": networks},
            models={size: self._model(net, design) for size, (_, net, *_) in networks.items()},
            stopped=Stop.ALL_L0,
        )

    def _take(self, size: int) -> None:
        super()._take(size)
        for name, value in self._of_size[size].items():
            setattr(self, name, value)


def _best(task: NetworkTask, errors: list[Floats]) -> tuple[float, float]:
    """The l1 and l0 of the least mean error; of equal ones the largest."""
    mean = np.mean(errors, axis=0)[:, 1:]
    i, j = np.unravel_index(int(mean.argmin()), mean.shape)
    return float(task.l1s[i]), float(task.l0s[j])


def _descending(name: str, values: ArrayLike) -> Floats:
    given = np.unique(np.asarray(values, dtype=np.float64))[::-1]
    if not len(given):
        raise InputError(f"{name} is empty; give a list of numbers.")
    for value in given:
        check_penalties(**{name: float(value)})
    return np.ascontiguousarray(given)
