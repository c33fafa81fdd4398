"""The short-cuts for searches of one's own: the best change of a set, and making it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.data.door import check_weights, column_indices
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError
from sparsepath.path import SelectionPath
from sparsepath.rls.asking import penalty, targets_of
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.criteria.table import CLASSES, criterion_of
from sparsepath.rls.models import counted, make_design, make_model
from sparsepath.rls.paths import RLSProblem
from sparsepath.rls.splits.asked import leaves_out_singly, read_splits
from sparsepath.rls.task import Task
from sparsepath.rls.trail import Model, SearchTrail
from sparsepath.rls.update import Update
from sparsepath.rls.wrappers.wrapped import Wrapped
from sparsepath.running import Call, Run, opened


class RLSState(Wrapped[Model]):
    """A model that grows and shrinks feature by feature; ``rls_state`` makes one.

    Attributes
    ----------
    chosen : list of int
        The features in the model, in order of entry.
    error : float
        Its exact criterion; ``standard_error()``, ``coef()`` and ``intercept()`` go with it.
    """

    def __init__(self, model: Model, problem: RLSProblem, alpha: float, run: Run) -> None:
        super().__init__(model)
        self._problem, self._alpha, self._run = problem, alpha, run
        self._trail = SearchTrail()
        self._trail.begin(model)

    def find_best_update(
        self,
        action: str = "add",
        features: Iterable[int] | Iterable[str] | None = None,
        below: float = np.inf,
    ) -> Update | None:
        """The best single addition or removal, judged by the criterion after it.

        Parameters
        ----------
        action : {"add", "drop"}
            What to do with a feature.
        features : iterable of int or str, optional
            Those that may be added (default: all that are not chosen and not constant) or dropped
            (default: all chosen), by number or by name.
        below : float
            Removals that leave the criterion higher than this are of no interest: None may be the
            answer if there are no others, and is found sooner.

        Returns
        -------
        Update or None
            None if nothing can be added or dropped. Ties go to the lowest index, ties of counts
            to the least squared criterion first.
        """
        self._check_action(action)
        which = None if features is None else self._columns(list(features))
        return self.model.find_best_update(action, which, below)

    def apply_update(self, update: Update) -> None:
        """Make a change that ``find_best_update`` proposed, or an ``Update`` of your own."""
        self._check_action(update.action)
        (feature,) = self._columns([update.feature])
        made = Update(update.action, feature)
        self.model.apply_update(made)
        self._trail.note(self.model, made)

    def add(self, feature: int | str) -> None:
        """Add a feature, by number or by name."""
        (column,) = self._columns([feature])
        self.apply_update(Update("add", column))

    def drop(self, feature: int | str) -> None:
        """Take a chosen feature out again."""
        (column,) = self._columns([feature])
        self.apply_update(Update("drop", column))

    def path(self) -> SelectionPath:
        """The best set of each size that this state has been at, as a selection path."""
        found = self._problem.found(self._trail, self._alpha)
        assert found is not None  # it began somewhere
        return self._run.made(found, stopped="")

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = super().duplicate()
        other._trail = self._trail.duplicate()
        return other

    def _columns(self, given: list[Any]) -> list[int]:
        run = self._run
        names = getattr(run.estimator, "feature_names_in_", None)
        return column_indices(given, names, run.X.shape[1], "features")

    def _check_action(self, action: str) -> None:
        if action not in ("add", "drop"):
            raise InputError(f"action={action!r}; use 'add' or 'drop'.")


@contextmanager
def rls_state(
    X: Any,
    y: ArrayLike,
    *,
    alpha: float = 1.0,
    loss: str | Loss = "squared",
    cv: Any = "loo",
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_threads: int | None = None,
) -> Iterator[RLSState]:
    """The empty model, ready for ``find_best_update`` and ``apply_update``; use it in a ``with``.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; for the losses that count mistakes class labels of any kind. Two classes are
        coded -1 and +1, the larger label is +1; more have a target each, +1 for their samples.
    alpha : float, default=1.0
        The ridge penalty, zero or more.
    loss : str or ResidualLoss, default="squared"
        As for ``SparseRLSRegressor``. With class labels also "zero_one", "balanced" and "auc",
        which count mistakes.
    cv, fit_intercept, standardize, n_threads
        As for ``SparseRLSRegressor``.
    sample_weight, groups : arrays of shape (n_samples,), optional
        Weights, and groups of samples that ``cv`` keeps together.

    Yields
    ------
    RLSState
        Its ``chosen`` features and ``error`` (leave-one-out, for "auc" leave-pair-out, or over the
        splits of ``cv``; exact) are always up to date, as are ``coef()`` and ``intercept()``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with rls_state(X, y, alpha=0.01) as state:
    ...     update = state.find_best_update("add")
    ...     state.apply_update(update)
    >>> update.feature, state.chosen
    (2, [2])
    """
    call = Call.of(locals(), but=("X", "y", "sample_weight", "groups", "n_threads"))
    criterion = criterion_of(loss, CLASSES)
    alpha = penalty(alpha)
    given, X = opened(call, X, y, sample_weight=sample_weight, groups=groups)
    weights = check_weights(sample_weight, X.shape[0])
    Y = targets_of(y, weights, criterion)
    with Threads(n_threads) as threads:
        design = make_design(
            X, weights, threads, fit_intercept=fit_intercept, standardize=standardize
        )
        splits = read_splits(
            cv,
            X,
            y,
            groups,
            classifier=criterion.coded,
            leave_one_out=leaves_out_singly(criterion, weights, pooled=False),
        )
        task = counted(design, Y, Task(loss=criterion, form="bounds", splits=splits))
        model = make_model(design, Y, alpha, task)
        problem = RLSProblem(design, Y, task)
        data = partial(problem.data, y)
        run = Run(call, given, X, method="rls-state", found=lambda: None, data=data)
        yield RLSState(model, problem, alpha, run)
