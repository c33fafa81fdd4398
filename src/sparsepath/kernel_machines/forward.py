"""LS-SVM with forward selection of inputs, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import Found, Run, Stop, Trail, fitting, gained_nothing, open_fit
from sparsepath.base.parameters import at_most
from sparsepath.base.selector import SizedSelector
from sparsepath.base.targets import PathRegressorMixin, dense
from sparsepath.kernel_machines.additions import Addition, Candidates
from sparsepath.kernel_machines.kernel_machine import (
    KernelModel,
    _KernelMachine,
    grid,
    left_out,
    warn_of_end,
)
from sparsepath.kernel_machines.lssvm import Blocks
from sparsepath.path.choosing import is_size
from sparsepath.path.steps import Step, mean_and_se
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

FEW_GAMMAS = np.logspace(0, 8, 9)
SIGMA2S = np.logspace(0, 3, 4)  # an addition changes the mean squared distance by 2


@dataclass(eq=False, repr=False)
class LSSVMForwardRegressor(PathRegressorMixin, SizedSelector, _KernelMachine):
    """Least-squares support vector regression on inputs added one at a time.

    Each step adds the input with the lowest exact cross-validation error at its best gamma and
    sigma2. With more than 50 samples, candidates are ranked by machines with 50 samples as centres,
    and the error of the best one is computed exactly.

    Parameters
    ----------
    max_features : int or None, default=None
        Largest size on the path. None: the search ends when three sizes in a row gain less than one
        per cent.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction; see ``SelectionPath.choose``.
    gamma, sigma2 : float, list of float or "tune", default="tune"
        Values to try at every step; "tune" tries gammas 1 to 1e8 and widths 1 to 1000, on
        standardised inputs.
    cv : "loo", int or splitter, default="loo"
        Exact leave-one-out, or folds that cover every sample once.
    standardize : bool, default=True
        Scale inputs to zero mean and unit variance first.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called with the path so far after every input; a true return value stops the search, as
        Ctrl-C does, with a warning. Before the first input has entered, the model is the mean.

    Attributes
    ----------
    path_ : SelectionPath
        Inputs and cross-validation error of every size.
    selected_ : array of int
        Inputs in use, in order of entry.
    gamma_, sigma2_ : float
        Values in use; ``parameters_`` has the pair of every size.
    dual_coef_, intercept_ : array, float
        beta and b.
    parameters_ : dict of size to tuple
        gamma and sigma2 of every size.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import friedman
    >>> data = friedman(80, 8, random_state=0)
    >>> model = LSSVMForwardRegressor(5, choose=5).fit(data.X, data.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2, 3, 4]
    """

    _: KW_ONLY
    choose: str | int | float = "one_se"
    gamma: float | str | Sequence[float] = "tune"
    sigma2: float | str | Sequence[float] = "tune"
    cv: Any = "loo"

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for the path and choose a size.

        Parameters
        ----------
        groups : array of shape (n_samples,), optional
            Samples that belong together: folds keep them whole, and "loo" leaves out a group at a
            time.
        """
        given, X = open_fit(self, X, y, groups=groups)
        X = dense(X)
        y = self._numbers(y, len(X))[:, 0]
        gammas = sorted(grid(self.gamma, "gamma", FEW_GAMMAS))
        sigma2s = sorted(grid(self.sigma2, "sigma2", SIGMA2S), reverse=True)
        blocks = left_out(self.cv, X, y, groups, classifier=False)
        Z, target = self._scaled(X, None), y[:, None]
        usable = np.flatnonzero(self._varies).tolist()
        trail, most = Trail(), at_most("max_features", self.max_features, len(usable))
        criterion = f"{'leave-one-out' if blocks is None else 'k-fold'} squared error"

        def model(subset: tuple[int, ...], added: Addition | None = None) -> KernelModel:
            """The machine of a subset; without one the mean."""
            columns = np.array(subset, dtype=np.intp)
            place = columns, self._mean[columns], self._scale[columns], Z[:, columns]
            if added is None:
                return KernelModel(*place, 1.0, np.zeros_like(target), target.mean(axis=0))
            return KernelModel(*place, added.sigma2, added.dual, added.bias)

        def found() -> Found | None:
            if not trail.steps:
                return None
            fitted = {"parameters_": dict(parameters)}
            return Found.on(trail, criterion=criterion, fitted=fitted, models=trail.models)

        parameters: dict[int, tuple[float, float]] = {}
        subset: tuple[int, ...] = ()
        wanted = self.choose if is_size(self.choose) else 0
        candidates = Candidates(Z, target, gammas, sigma2s, blocks)
        run = Run(self, given, X, method="lssvm-forward", found=found, subtasks=most)
        with Threads(1), run:
            empty = Step((), *mean_and_se(_mean_residuals(y, blocks) ** 2))
            trail.offer(empty, model=model(()))
            while len(subset) < most:
                added = candidates.best(usable)
                candidates.add(added.feature)
                usable.remove(added.feature)
                subset += (added.feature,)
                step = Step(subset, *mean_and_se(added.residuals[:, 0] ** 2))
                move = trail.move("add", added.feature, step.error)
                parameters[len(subset)] = added.gamma, added.sigma2
                trail.offer(step, [move], model=model(subset, added))
                if run.tell():
                    break
                errors = [step.error for step in trail.steps.values()]
                if self.max_features is None and gained_nothing(errors, wanted):
                    trail.stopped = Stop.NO_GAIN
                    break
        run.settle()
        if self.selected_.size:
            warn_of_end(self.gamma, self.gamma_, FEW_GAMMAS)
        return self

    def expected_seconds(self, X: Any) -> float:
        """Estimate the CPU seconds of a search, without the folds of the honest error.

        Accurate to a factor of two to three; assumes ten steps if no size limits the path.
        """
        n, d = X.shape
        steps = min(d, 10 if self.max_features is None else self.max_features)
        widths = 4 if isinstance(self.sigma2, str) else np.size(self.sigma2)
        # A candidate takes 2 ms at 500 rows and 8 ms at 2000; then one eigendecomposition.
        return float(steps * (1e-6 * widths * (n + 100) * d + 8e-11 * n**3))

    def _take(self, size: int) -> None:
        """The model of a size."""
        super()._take(size)
        self.gamma_, self.sigma2_ = self.parameters_.get(size, (np.nan, 1.0))
        model: Any = self.models_[size]
        self.dual_coef_, self.intercept_ = model.dual[:, 0], float(model.bias[0])


def _mean_residuals(y: Floats, blocks: Blocks) -> Floats:
    """Residuals of the empty model: y less the mean of the samples that are not left out."""
    if blocks is None:
        return (y - y.mean()) * len(y) / (len(y) - 1)
    e = np.empty_like(y)
    for block in blocks:
        e[block] = y[block] - np.delete(y, block).mean()
    return e
