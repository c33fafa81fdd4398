r"""Columns that enter and leave as one: the columns of a one-hot code, the terms of a polynomial.

With the letters of ``leave_one_out/model.py``, a group of r columns has residuals W = X_g - Z T
with T = Z'X_g and B = R^-1 T, and in the augmented space the products

    S = W'W + alpha B'B + alpha I  (r x r)        C = W'r + alpha B'(R^-1 a)  (r x T).

With S^-1 = G G' (directions in which the group is collinear with the chosen columns left out) the
group changes r to r - W G G'C and p to p minus the row sums of (W G)^2: an update of rank r.

Columns that are alone in their group are left to the model underneath, which finds the best of
them in its own way, all at once. A table has many of these beside a few categories.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.arrays import Floats
from sparsepath.errors import InputError
from sparsepath.rls.design import COLLINEAR
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.model import State
from sparsepath.rls.leave_one_out.neighbours import Neighbours
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.update import Costs, Second, Update, pick
from sparsepath.rls.wrappers.wrapped import Wrapped


def members_of(groups: ArrayLike | None, n: int) -> tuple[tuple[int, ...], ...]:
    """The columns of every group, groups in the order of their first column.

    >>> members_of(["a", "b", "a"], 3)
    ((0, 2), (1,))
    """
    if groups is None:
        return ()
    try:
        labels = np.asarray(groups)
    except ValueError:  # lists of unlike length
        labels = np.empty((0, 0))
    if labels.shape != (n,):
        raise InputError(
            f"feature_groups={groups!r:.60}: give one label for each of the {n} columns, as "
            "[0, 0, 1] for two groups of three columns."
        )
    found: dict[object, list[int]] = {}
    for column, label in enumerate(labels.tolist()):
        found.setdefault(label, []).append(column)
    return tuple(map(tuple, found.values()))


def error_with_all(state: Neighbours, features: Sequence[int], squared: bool = False) -> float:
    """The criterion (or the squared one) after adding all of these features at once."""
    which = np.asarray(features, dtype=np.intp)
    T, _, products = state.project(which)
    B = state.solve(T)
    S = state.sum(Rows.loaded_squares) + state.alpha * (B.T @ B + np.eye(len(T.T)))
    C = products + state.alpha * (B.T @ state.solve(state.a))
    if not state.usable(which, np.diag(S)).any():
        return np.inf
    values, vectors = np.linalg.eigh(S / np.sqrt(np.outer(np.diag(S), np.diag(S))))
    keep = values > COLLINEAR
    G = vectors[:, keep] / np.sqrt(values[keep]) / np.sqrt(np.diag(S))[:, None]
    blur = state.blur_of([*state.chosen, *features])
    return float(sum(state.each(Rows.score_all, G, G @ (G.T @ C), blur, squared)))


def error_without_all(state: Neighbours, features: Sequence[int], squared: bool = False) -> float:
    """The criterion (or the squared one) after dropping all of these features at once.

    With N = X_S A^-1 and A^-1_bb the block of the features, P gets N_b (A^-1_bb)^-1 N_b' back.
    """
    places = [state.chosen.index(i) for i in features]
    inverse = state.solve(np.eye(len(state.chosen)))
    A = inverse @ inverse.T
    L = np.linalg.cholesky(A[np.ix_(places, places)])
    Q = np.linalg.solve(L, inverse[places]).T
    tau = -np.linalg.solve(L, state.solve(state.a)[places])
    blur = state.blur_of([i for i in state.chosen if i not in set(features)])
    return float(sum(state.each(Rows.score_without_all, Q, tau, blur, squared)))


class Grouped(Wrapped[State | FoldModel]):
    """A model whose features come and go in groups; searched like any other.

    The model underneath is empty. Constant columns, and with alpha = 0 columns that are collinear
    with those before them, are left out of their group.
    """

    def __init__(self, model: State | FoldModel, groups: Sequence[list[int]]) -> None:
        super().__init__(model)
        constant = self.fitted.design.constant
        self.groups = [[i for i in group if not constant[i]] for group in groups]
        self.home = {i: g for g, group in enumerate(self.groups) for i in group}
        self.alone = {group[0] for group in self.groups if len(group) == 1}

    @property
    def fitted(self) -> Neighbours | FoldModel:
        """The model that knows what its neighbours are worth."""
        return self.model.model if isinstance(self.model, State) else self.model

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best group to add or drop, named by its first column."""
        inside = {self.home[i] for i in self.chosen}
        allowed = set(self.home if features is None else features)
        if action == "drop":
            groups = [g for g in sorted(inside) if allowed.issuperset(self._held(g))]
        else:
            groups = [
                g
                for g, group in enumerate(self.groups)
                if group and g not in inside and allowed.issuperset(group)
            ]
        firsts, errors = self._hopeful(action, [self.groups[g][0] for g in groups])
        values = self._values(action, firsts, errors)

        def second(tied: NDArray[np.intp]) -> Second:
            squared = self._errors(action, tied, squared=True)
            values = self._values(action, tied, squared, squared=True)
            return Second(squared, values, self.fitted.empty_squared)

        tell = second if self.fitted.counts else None
        best = pick(action, firsts, errors, self.empty_error, values, tell)
        if best is None:
            return None
        group = self.home[best.feature]
        count = len(self._held(group) if action == "drop" else self.groups[group])
        return replace(best, count=count)

    def apply_update(self, update: Update) -> None:
        """Add or drop the group of a column; nothing happens to what is there (or gone) already."""
        group = self.home[update.feature]
        if update.action == "drop":
            for i in self._held(group):
                self.model.drop(i)
            return
        for i in self.groups[group]:
            if i not in self.chosen and self._adds_something(i):
                self.model.add(i)

    def _hopeful(self, action: str, firsts: list[int]) -> tuple[NDArray[np.intp], Floats]:
        """Of some groups the best single column and all that have several, with their errors."""
        several = np.array([i for i in firsts if i not in self.alone], dtype=np.intp)
        errors = self._errors(action, several)
        single = self.alone.intersection(firsts)
        best = self.model.find_best_update(action, single) if single else None
        if best is None:
            return several, errors
        return np.append(several, best.feature), np.append(errors, best.error)

    def _errors(self, action: str, firsts: NDArray[np.intp], squared: bool = False) -> Floats:
        """The criterion after each of some groups, named by their first columns, came or went."""
        groups = [self.home[i] for i in firsts.tolist()]
        if action == "drop":
            errors = [self._error_without(self._held(g), squared) for g in groups]
        else:
            errors = [self._error_with(self.groups[g], squared) for g in groups]
        return np.array(errors, dtype=np.float64)

    def _values(
        self, action: str, firsts: NDArray[np.intp], errors: Floats, squared: bool = False
    ) -> Floats:
        """What groups are compared by: the criterion, or what it gains per cost of the group."""
        if action == "drop" or self.costs is None:
            return errors
        total = [self.costs.of[self.groups[self.home[i]]].sum() for i in firsts.tolist()]
        now = self.fitted.squared_error if squared else self.error
        return Costs(np.array(total)).worth(np.arange(len(firsts)), errors, now)

    def _held(self, group: int) -> list[int]:
        return [i for i in self.chosen if self.home[i] == group]

    def _adds_something(self, column: int) -> bool:
        if isinstance(self.fitted, Neighbours):
            return bool(np.isfinite(self.fitted.errors_with([column])[0]))
        return bool(np.isfinite(self.fitted.errors_with()[column]))

    def _error_with(self, group: list[int], squared: bool) -> float:
        if isinstance(self.fitted, Neighbours):
            return error_with_all(self.fitted, group, squared)
        trial = self.duplicate()
        trial.apply_update(Update("add", group[0], np.nan))
        if len(trial.chosen) == len(self.chosen):  # all of it is collinear with what is there
            return np.inf
        return trial.fitted.squared_error if squared else trial.error

    def _error_without(self, columns: list[int], squared: bool) -> float:
        if isinstance(self.fitted, Neighbours):
            return error_without_all(self.fitted, columns, squared)
        trial = self.fitted.duplicate()
        for i in columns:
            trial.drop(i)
        return trial.squared_error if squared else trial.error
