"""``rls_state``: the engine interface for custom searches."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import Call, Run, open_fit
from sparsepath.data.validation import check_weights, column_indices
from sparsepath.errors import InputError, warn_user
from sparsepath.path.selection_path import SelectionPath
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.criteria.table import CLASSES, criterion_of
from sparsepath.rls.engines import make_design, make_model, without_empty_folds
from sparsepath.rls.estimators import SparseRLSRegressor
from sparsepath.rls.folds.splits import read_splits
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import Model, Wrapped
from sparsepath.rls.parameters import SearchSpec, penalty, targets_of
from sparsepath.rls.problem import RLSProblem
from sparsepath.rls.update import Update
from sparsepath.system.docstrings import parameters_like
from sparsepath.system.threads import Threads


class RLSState(Wrapped[Model]):
    """A model that is changed feature by feature; created by ``rls_state``.

    Attributes
    ----------
    chosen : list of int
        Selected features, in order of entry.
    error : float
        Exact criterion of the current model; see also ``standard_error()``, ``coef()`` and
        ``intercept()``.
    """

    def __init__(self, model: Model, problem: RLSProblem, alpha: float, run: Run) -> None:
        super().__init__(model)
        self._problem, self._alpha, self._run = problem, alpha, run
        self._trail = SearchTrail()
        self._trail.begin(model)

    def best_addition(self, features: Iterable[int] | Iterable[str] | None = None) -> Update | None:
        """Return the best single addition, by the criterion after it.

        Parameters
        ----------
        features : iterable of int or str, optional
            Candidates, by index or name; default: all that are neither selected nor constant.

        Returns
        -------
        Update or None
            None if nothing can be added. The lowest index breaks ties; ties of counts are first
            broken by the squared criterion.
        """
        return self.model.best_addition(self._some(features))

    def best_removal(
        self, features: Iterable[int] | Iterable[str] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best single removal, by the criterion after it.

        Parameters
        ----------
        features : iterable of int or str, optional
            Candidates, by index or name; default: all selected features.
        below : float
            The result may be None if all removals leave the criterion above this; this is faster.

        Returns
        -------
        Update or None
            None if nothing can be removed.
        """
        return self.model.best_removal(self._some(features), below)

    def best_exchange(
        self,
        feature: int | str,
        features: Iterable[int] | Iterable[str] | None = None,
        below: float = np.inf,
    ) -> Update | None:
        """Return the best addition after removing a selected feature, without changing the model.

        Parameters
        ----------
        feature : int or str
            Selected feature to remove.
        features : iterable of int or str, optional
            Candidates, by index or name; default: all that are neither selected nor constant.
        below : float
            Return only an exchange that brings the criterion below this.

        Returns
        -------
        Update or None
            None if no exchange brings the criterion below ``below``.
        """
        (column,) = self._columns([feature])
        if column not in self.chosen:
            raise InputError(f"feature {column} is not selected; selected are: {self.chosen}.")
        return self.model.best_exchange(column, self._some(features), below)

    def add(self, feature: int | str) -> None:
        """Add a feature.

        Parameters
        ----------
        feature : int or str
            Index or name.
        """
        self._change("add", feature)

    def drop(self, feature: int | str) -> None:
        """Remove a selected feature.

        Parameters
        ----------
        feature : int or str
            Index or name.
        """
        self._change("drop", feature)

    def _change(self, action: str, feature: int | str) -> None:
        (column,) = self._columns([feature])
        change = self.model.add if action == "add" else self.model.drop
        change(column)
        self._trail.note(self.model, Update(action, column))

    def find_best_update(
        self,
        action: str = "add",
        features: Iterable[int] | Iterable[str] | None = None,
        below: float = np.inf,
    ) -> Update | None:
        """Former name of ``best_addition`` and ``best_removal``.

        Parameters
        ----------
        action : {"add", "drop"}
            Which of the two.
        features : iterable of int or str, optional
            Candidates, by index or name.
        below : float
            Threshold of ``best_removal``.
        """
        _check_action(action)
        _warn_former("find_best_update", "best_addition and best_removal")
        return (
            self.best_addition(features) if action == "add" else self.best_removal(features, below)
        )

    def apply_update(self, update: Update) -> None:
        """Former name of ``add`` and ``drop``.

        Parameters
        ----------
        update : Update
            The change to apply.
        """
        _check_action(update.action)
        _warn_former("apply_update", "add and drop")
        self._change(update.action, update.feature)

    def path(self) -> SelectionPath:
        """Return the best subset of each size visited so far, as a selection path."""
        found = self._problem.found(self._trail, self._alpha)
        assert found is not None  # it began somewhere
        return self._run.made(found, stopped="")

    def duplicate(self) -> Self:
        """Return a copy."""
        other = super().duplicate()
        other._trail = self._trail.duplicate()
        return other

    def _columns(self, given: list[Any]) -> list[int]:
        run = self._run
        names = getattr(run.estimator, "feature_names_in_", None)
        return column_indices(given, names, run.X.shape[1], "features")

    def _some(self, features: Iterable[int] | Iterable[str] | None) -> list[int] | None:
        return None if features is None else self._columns(list(features))


def _check_action(action: str) -> None:
    if action not in ("add", "drop"):
        raise InputError(f"action={action!r}; use 'add' or 'drop'.")


def _warn_former(name: str, successor: str) -> None:
    warn_user(
        f"{name} is now {successor}; the old name will be removed in version 1.0.", FutureWarning
    )


@parameters_like(SparseRLSRegressor, SparseRLSRegressor.fit)
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
    """Context manager for your own search: an empty model with ``best_addition``, ``add``, ...

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Features.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets; for the losses that count mistakes class labels of any kind. Two classes are coded
        -1 and +1 (the larger label); with three or more, each class has its own target, +1 for its
        samples.
    alpha : float, default=1.0
        Ridge penalty, zero or more.
    loss : str or ResidualLoss, default="squared"
        The losses of ``SparseRLSRegressor``, and with class labels also "zero_one", "balanced" and
        "auc", which count mistakes.
    sample_weight, groups : arrays of shape (n_samples,), optional
        Sample weights, and group labels of samples that ``cv`` keeps together.

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
    ...     update = state.best_addition()
    ...     state.add(update.feature)
    >>> update.feature, state.chosen
    (2, [2])
    """
    call = Call.of(locals(), but=("X", "y", "sample_weight", "groups", "n_threads"))
    criterion = criterion_of(loss, CLASSES)
    alpha = penalty(alpha)
    given, X = open_fit(call, X, y, sample_weight=sample_weight, groups=groups)
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
            leave_one_out=not criterion.pairs,
            weights=weights,
        )
        spec = without_empty_folds(design, Y, SearchSpec(loss=criterion, splits=splits))
        model = make_model(design, Y, alpha, spec)
        problem = RLSProblem(design, Y, spec)
        data = partial(problem.data, y)
        run = Run(call, given, X, method="rls-state", found=lambda: None, data=data)
        yield RLSState(model, problem, alpha, run)
