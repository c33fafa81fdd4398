"""Subsets by mutual information, predictions by extreme learning machines."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.arrays import Floats
from sparsepath.data.columns import standardise
from sparsepath.elm import OPELMRegressor
from sparsepath.faces.targets import RegressorFace
from sparsepath.information.selectors import MutualInfoSearch
from sparsepath.running import Found, Linear, Predictor, Trail, fitting, opened, seed_of
from sparsepath.steps import Step, mean_and_se

OP_ELM_CRITERION = "leave-one-out squared error of OP-ELM"


@dataclass(eq=False, repr=False)
class MutualInfoRegressor(RegressorFace, MutualInfoSearch):
    """Subsets by mutual information; for each an optimally pruned extreme learning machine.

    Mutual information orders the subsets of one size; it does not predict, and it compares sizes
    badly. So the machine is fitted to the best subset of every size, and the error on the path is
    its leave-one-out error. For the empty subset that is the error of the mean.

    Parameters
    ----------
    max_features, search, n_neighbors, variant, n_restarts, n_threads
        As for ``MutualInfoSelector``.
    choose
        As for ``SparseRLSRegressor``.
    random_state : int, RandomState or None
        The seed of resampling, restarts and neurons.
    validation
        As for ``SparseRLSRegressor``.
    callback : callable, optional
        Called after every step or restart with the path so far; a true value stops the search, as
        Ctrl-C does.

    Attributes
    ----------
    path_ : SelectionPath
        Subsets by mutual information, errors of the machines.
    mutual_information_ : dict of size to float
        Of the subset of that size, in nats.
    n_neighbors_ : int
        The number of neighbours in use.

    Examples
    --------
    >>> from sparsepath.data.synthetic import xor_like
    >>> problem = xor_like(300, random_state=0)
    >>> model = MutualInfoRegressor(4, choose=3, random_state=0).fit(problem.X, problem.y)
    >>> sorted(model.selected_.tolist()), bool(model.score(problem.X, problem.y) > 0.8)
    ([0, 1, 2], True)
    """

    @fitting
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Search for the path, fit a machine to every subset, and settle on a size."""
        given, X = opened(self, X, y, groups=groups)
        Y = self._numbers(y, X.shape[0])
        seed = seed_of(self.random_state)
        mean = Linear(np.empty(0, dtype=np.intp), np.empty((0, 1)), Y.mean(0))
        known: dict[tuple[int, ...], Step] = {(): _empty(Y[:, 0])}
        machines: dict[tuple[int, ...], Predictor] = {}

        def judged(trail: Trail) -> Found:
            for subset in (step.subset for step in trail.steps.values()):
                if subset not in known:
                    columns = np.sort(subset)
                    machine = OPELMRegressor(random_state=seed).fit(X[:, columns], Y[:, 0])
                    machines[subset] = replace(machine._machine, features=columns)
                    known[subset] = Step(subset, machine.loo_error_, machine.loo_error_se_)
            steps = {size: known[step.subset] for size, step in trail.steps.items()}
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
            )

        return self._search(given, X, standardise(Y)[0], seed, judged)


def _empty(y: Floats) -> Step:
    """The mean, and its leave-one-out error."""
    squares = np.square((y - y.mean()) * len(y) / (len(y) - 1))
    return Step((), *mean_and_se(squares))
