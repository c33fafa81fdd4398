"""LS-SVM with forward selection of inputs, as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.arrays import Floats
from sparsepath.data.threads import Threads
from sparsepath.faces.parameters import at_most
from sparsepath.faces.targets import RegressorFace, dense
from sparsepath.kernel_machines.kernel_machine import (
    KernelModel,
    _KernelMachine,
    grid,
    left_out,
    warn_of_end,
)
from sparsepath.kernel_machines.lssvm import LSSVM, Blocks, best_addition, gaussian_kernel
from sparsepath.running import Found, Run, Trail, fitting, opened
from sparsepath.selector import SizedSelector
from sparsepath.steps import Step, mean_and_se

FEW_GAMMAS = np.logspace(0, 8, 9)
SIGMA2S = np.logspace(0, 3, 4)  # an addition changes the mean squared distance by 2


@dataclass(eq=False, repr=False)
class LSSVMForwardRegressor(RegressorFace, SizedSelector, _KernelMachine):
    """Least-squares support vector regression on inputs added one at a time.

    Each step adds the input of least exact cross-validation error, at the best gamma and sigma2 for
    it. A candidate costs one factorisation per sigma2 and no refitting, whatever the number of
    folds and of gammas.

    Parameters
    ----------
    max_features : int or None, default=None
        The size to which the path goes; None: all inputs.
    choose : {"min", "one_se"}, int or float, default="min"
        Which size to use for prediction; see ``SelectionPath.choose``.
    gamma, sigma2 : float, list of float or "tune", default="tune"
        Values to try at every step; "tune" tries gammas 1 to 1e8 and widths 1 to 1000, on
        standardised inputs.
    cv : "loo", int or splitter, default="loo"
        Exact leave-one-out, or folds that cover every sample once.
    standardize : bool, default=True
        Scale inputs to zero mean and unit variance first.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called with the path so far after every input; a true value ends the search there. Ctrl-C
        ends it too, with a warning, once an input is in.

    Attributes
    ----------
    path_ : SelectionPath
        Inputs and cross-validation error of every size.
    selected_ : array of int
        Inputs in use, in order of entry.
    gamma_, sigma2_ : float
        In use; ``parameters_`` has the pair of every size.
    dual_coef_, intercept_ : array, float
        beta and b.
    parameters_ : dict of size to tuple
        gamma and sigma2 of every size.

    Examples
    --------
    >>> from sparsepath.data.synthetic import friedman
    >>> data = friedman(80, 8, random_state=0)
    >>> model = LSSVMForwardRegressor(5, choose=5).fit(data.X, data.y)
    >>> sorted(model.selected_.tolist())
    [0, 1, 2, 3, 4]
    """

    _: KW_ONLY
    choose: str | int | float = "min"
    gamma: float | str | Sequence[float] = "tune"
    sigma2: float | str | Sequence[float] = "tune"
    cv: Any = "loo"

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for the path and settle on a size.

        Parameters
        ----------
        groups : array of shape (n_samples,), optional
            Samples that belong together: folds keep them whole, and "loo" leaves out a group at a
            time.
        """
        given, X = opened(self, X, y, groups=groups)
        X = dense(X)
        y = self._numbers(y, len(X))[:, 0]
        gammas = sorted(grid(self.gamma, "gamma", FEW_GAMMAS))
        sigma2s = sorted(grid(self.sigma2, "sigma2", SIGMA2S), reverse=True)
        blocks = left_out(self.cv, X, y, groups, classifier=False)
        Z, target = self._scaled(X, None), y[:, None]
        usable = np.flatnonzero(self._varies).tolist()
        known: dict[int, KernelModel] = {}
        trail, most = Trail(), at_most("max_features", self.max_features, len(usable))
        criterion = f"{'leave-one-out' if blocks is None else 'k-fold'} squared error"

        def found() -> Found | None:
            if most and not trail.moves:
                return None
            parameters = {k: pair for k, pair in trail.models.items() if k}
            for k, step in trail.steps.items():
                if k not in known:
                    columns = np.array(step.subset, dtype=np.intp)
                    known[k] = self._machine(Z, target, columns, parameters.get(k))
            fitted = {"parameters_": parameters}
            return Found.on(trail, criterion=criterion, fitted=fitted, models=dict(known))

        subset: tuple[int, ...] = ()
        near = np.zeros((len(Z), len(Z)))
        run = Run(self, given, X, method="lssvm-forward", found=found, subtasks=most)
        with Threads(1), run:
            trail.offer(Step((), *mean_and_se(_mean_residuals(y, blocks) ** 2)))
            while len(subset) < most:
                added = best_addition(Z, target, near, usable, gammas, sigma2s, blocks)
                near += (Z[:, added.feature, None] - Z[:, added.feature]) ** 2
                usable.remove(added.feature)
                subset += (added.feature,)
                step = Step(subset, *mean_and_se(added.residuals[:, 0] ** 2))
                move = trail.move("add", added.feature, step.error)
                trail.offer(step, [move], model=(added.gamma, added.sigma2))
                if run.tell():
                    break
        run.settle()
        if self.selected_.size:
            warn_of_end(self.gamma, self.gamma_, FEW_GAMMAS)
        return self

    def _machine(
        self, Z: Floats, target: Floats, columns: NDArray[np.intp], pair: tuple[float, float] | None
    ) -> KernelModel:
        """The machine on some columns, with its gamma and sigma2; without these the mean."""
        support = np.ascontiguousarray(Z[:, columns])
        gamma, sigma2 = pair or (np.nan, 1.0)
        dual, bias = np.zeros_like(target), target.mean(axis=0)
        if pair is not None:
            with Threads(1):
                dual, bias = LSSVM(gaussian_kernel(support, support, sigma2), target).fit(gamma)
        mean, scale = self._mean[columns], self._scale[columns]
        return KernelModel(columns, mean, scale, support, sigma2, dual, bias)

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
