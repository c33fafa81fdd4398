"""Selection by mutual information and prediction by extreme learning machines."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import (
    Found,
    Linear,
    Predictor,
    Trail,
    fitting,
    gained_nothing,
    open_fit,
    seed_of,
)
from sparsepath.base.targets import PathRegressorMixin
from sparsepath.data.columns import standardise
from sparsepath.elm import OPELMRegressor
from sparsepath.information.selectors import MutualInfoSearch
from sparsepath.path.choosing import is_size
from sparsepath.path.steps import Step, mean_and_se
from sparsepath.system.arrays import Floats

OP_ELM_CRITERION = "leave-one-out squared error of OP-ELM"


@dataclass(eq=False, repr=False)
class MutualInfoRegressor(PathRegressorMixin, MutualInfoSearch):
    """Subsets by mutual information; for each an optimally pruned extreme learning machine.

    Mutual information ranks the subsets of one size, but it does not predict and is not suited for
    comparing sizes. So an OP-ELM is fitted to the best subset of every size, and the error on the
    path is its leave-one-out error. For the empty subset this is the error of the mean.

    Parameters
    ----------
    max_features : int or None, default=None
        The largest size on the path. None: a forward search ends when the models of three sizes in
        a row are no better than that of a smaller size.
    search : {"forward", "forward-backward"}, default="forward"
        "forward": add one feature at a time. "forward-backward": add and remove, from random sets.
    n_neighbors : int or "resampling", default=6
        Nearest neighbours of the mutual information estimator. "resampling": the number that best
        separates the features from shuffled copies of themselves.
    variant : {1, 2}, default=1
        Variant of the estimator of Kraskov et al. (2004).
    n_restarts : int, default=100
        Random subsets to start from; for search="forward-backward".
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.
    choose : {"one_se", "min"}, int or float, default="one_se"
        Size used for prediction. "one_se": the smallest size whose error is within one standard
        error of the minimum (for honest errors, the standard error of the paired difference).
        "min": the size with the minimum error. An integer: this size, or with a warning the nearest
        one on the path. A float below one: the smallest size within this fraction of the minimum.
        A single split has no standard error; "one_se" then means "min", with a warning.
    random_state : int, RandomState or None
        The seed of resampling, restarts and neurons.
    validation : "auto", int, splitter, list of splits or None, default="auto"
        Outer cross-validation for the honest errors, by which the size is chosen: a number of
        folds ("auto": ten, or five for nonlinear methods), a scikit-learn splitter, or a list of
        splits. None: no honest errors; the size is chosen by the criterion of the search.
    callback : callable, optional
        Called after every step or restart with the path so far; a true value stops the search, as
        Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Subsets by mutual information, with the errors of the fitted models.
    mutual_information_ : dict of size to float
        Mutual information of the subset of that size, in nats.
    n_neighbors_ : int
        The number of neighbours in use.
    models_ : dict of size to Predictor
        Model of every size on the path: small, immutable, JSON by ``to_dict``. Empty if the
        selector does not predict.
    selected_ : array of int
        Selected columns.
    honest_ : Honest or None
        Size in use and its honest error (nested cross-validation); None if ``validation`` is None.
    n_features_in_, feature_names_in_ : int, array of str
        Number of columns seen by ``fit``, and their names if X had any.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(300, random_state=0)
    >>> model = MutualInfoRegressor(4, choose=3, random_state=0).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist()), bool(model.score(problem.X, problem.y) > 0.8)
    ([0, 1, 2], True)
    """

    _usual_steps = 10

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Run the search, fit a machine to every subset, and choose a size.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Samples.
        y : array
            Targets.
        groups : array, optional
            Group labels; the honest error keeps groups together.
        """
        given, X = open_fit(self, X, y, groups=groups)
        Y = self._numbers(y, X.shape[0])
        seed = seed_of(self.random_state)
        mean = Linear(np.empty(0, dtype=np.intp), np.empty((0, 1)), Y.mean(0))
        known: dict[tuple[int, ...], Step] = {(): _empty(Y[:, 0])}
        machines: dict[tuple[int, ...], Predictor] = {}

        def fit_machines(trail: Trail) -> dict[int, Step]:
            for subset in (step.subset for step in trail.steps.values()):
                if subset not in known:
                    columns = np.sort(subset)
                    machine = OPELMRegressor(random_state=seed).fit(X[:, columns], Y[:, 0])
                    machines[subset] = replace(machine._machine, features=columns)
                    known[subset] = Step(subset, machine.loo_error_, machine.loo_error_se_)
            return {size: known[step.subset] for size, step in trail.steps.items()}

        def judged(trail: Trail) -> Found:
            steps = fit_machines(trail)
            moves = [
                replace(move, error=steps[size].error)  # of a forward search: one of each size
                for size, move in enumerate(trail.moves, start=1)
            ]
            return Found(
                steps,
                moves,
                criterion=OP_ELM_CRITERION,
                fitted={"mutual_information_": {k: -step.error for k, step in trail.steps.items()}},
                models={k: machines.get(step.subset, mean) for k, step in steps.items()},
                stopped=trail.stopped,
            )

        wanted = self.choose if is_size(self.choose) else 0

        def ended(trail: Trail) -> bool:
            """True if the machines of the last sizes are no better than a smaller one."""
            if self.max_features is not None:
                return False
            errors = [step.error for _, step in sorted(fit_machines(trail).items())]
            return gained_nothing(errors, wanted)

        return self._search(given, X, standardise(Y)[0], seed, judged, ended)


def _empty(y: Floats) -> Step:
    """Return the mean and its leave-one-out error."""
    squares = np.square((y - y.mean()) * len(y) / (len(y) - 1))
    return Step((), *mean_and_se(squares))
