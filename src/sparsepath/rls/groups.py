r"""Columns that are added and removed together: indicators of a category, terms of a polynomial.

With the letters of ``passes/engine.py``, a group of r columns has residuals W = X_g - Z T with T =
Z'X_g and B = R^-1 T, and in the augmented space the products

    S = W'W + alpha B'B + alpha I  (r x r)        C = W'r + alpha B'(R^-1 a)  (r x T).

With S^-1 = G G' (without directions in which the group is collinear with the selected columns), the
group changes r to r - W G G'C and p to p minus the row sums of (W G)^2: an update of rank r.

Single-column groups use the underlying model, which finds the best of them at once. A table usually
has many of these and a few categories.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsepath.errors import InputError
from sparsepath.rls.folds.model import FoldModel
from sparsepath.rls.model import SearchEngine, Wrapped
from sparsepath.rls.passes.engine import InPasses
from sparsepath.rls.update import Costs, Second, Update, pick
from sparsepath.system.arrays import Floats


def members_of(groups: ArrayLike | None, n: int) -> tuple[tuple[int, ...], ...]:
    """Return the columns of every group, groups in the order of their first column.

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


class Grouped(Wrapped[InPasses | FoldModel], SearchEngine):
    """A model whose features are added and removed in groups, searched like any other.

    The underlying model is empty. Constant columns, and with alpha = 0 columns that are collinear
    with earlier ones on all rows, are omitted from their group. Over splits, a group with a column
    that is collinear only in some training fold cannot be added, because it would be incomplete
    there.
    """

    def __init__(self, model: InPasses | FoldModel, groups: Sequence[list[int]]) -> None:
        super().__init__(model)
        constant = self.model.design.constant
        self.groups = [[i for i in group if not constant[i]] for group in groups]
        self.home = {i: g for g, group in enumerate(self.groups) for i in group}
        self.alone = {group[0] for group in self.groups if len(group) == 1}

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best group to add, named by its first column."""
        inside = {self.home[i] for i in self.chosen}
        allowed = set(self.home if features is None else features)
        groups = [
            g
            for g, group in enumerate(self.groups)
            if group and g not in inside and allowed.issuperset(group)
        ]
        return self._best("add", groups)

    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best group to remove, named by its first column; all are evaluated."""
        inside = sorted({self.home[i] for i in self.chosen})
        allowed = set(self.home if features is None else features)
        return self._best("drop", [g for g in inside if allowed.issuperset(self._held(g))])

    def _best(self, action: str, groups: Sequence[int]) -> Update | None:
        firsts, errors = self._hopeful(action, [self.groups[g][0] for g in groups])
        values = self._values(action, firsts, errors)

        def second(tied: NDArray[np.intp]) -> Second:
            squared = self._errors(action, tied, squared=True)
            values = self._values(action, tied, squared, squared=True)
            return Second(squared, values, self.model.empty_squared)

        tell = second if self.model.counts else None
        best = pick(action, firsts, errors, self.empty_error, values, tell)
        if best is None:
            return None
        group = self.home[best.feature]
        count = len(self._held(group) if action == "drop" else self.groups[group])
        return replace(best, count=count)

    def drop(self, feature: int) -> None:
        """Remove the group of a column."""
        for i in self._held(self.home[feature]):
            self.model.drop(i)

    def add(self, feature: int) -> None:
        """Add the group of a column."""
        group = self.home[feature]
        if isinstance(self.model, FoldModel):
            with_group = self._with(self.model, group)
            if with_group is None:
                raise InputError(
                    f"the group of column {feature} is collinear with the chosen columns in "
                    "a training part."
                )
            self.model = with_group
            return
        for i in self.groups[group]:
            if i not in self.chosen and self.model.is_usable(i):
                self.model.add(i)

    def _with(self, model: FoldModel, group: int) -> FoldModel | None:
        """Return a copy of the model with a group added; None if the group would be incomplete."""
        trial = model.duplicate()
        for i in self.groups[group]:
            if i in trial.chosen:
                continue
            if trial.can_add(i):
                trial.add(i)
            elif not trial.is_collinear(i):
                return None
        return trial

    def _hopeful(self, action: str, firsts: list[int]) -> tuple[NDArray[np.intp], Floats]:
        """Return the best single column and all larger groups, with their errors."""
        several = np.array([i for i in firsts if i not in self.alone], dtype=np.intp)
        errors = self._errors(action, several)
        single = self.alone.intersection(firsts)
        find = self.model.best_addition if action == "add" else self.model.best_removal
        best = find(single) if single else None
        if best is None:
            return several, errors
        return np.append(several, best.feature), np.append(errors, best.error)

    def _errors(self, action: str, firsts: NDArray[np.intp], squared: bool = False) -> Floats:
        """Return the criterion after adding or removing each of some groups, named by first
        column.
        """
        if isinstance(self.model, InPasses):
            return self.model.group_errors(action, firsts.tolist(), squared)
        groups = [self.home[i] for i in firsts.tolist()]
        if action == "drop":
            errors = [self._error_without(self._held(g), squared) for g in groups]
        else:
            errors = [self._error_with(self.groups[g], squared) for g in groups]
        return np.array(errors, dtype=np.float64)

    def _values(
        self, action: str, firsts: NDArray[np.intp], errors: Floats, squared: bool = False
    ) -> Floats:
        """Return the values by which groups are compared: the criterion, or the gain per cost."""
        if action == "drop" or self.costs is None:
            return errors
        total = [self.costs.of[self.groups[self.home[i]]].sum() for i in firsts.tolist()]
        now = self.model.squared_error if squared else self.error
        return Costs(np.array(total)).worth(np.arange(len(firsts)), errors, now)

    @property
    def form(self) -> str:  # type: ignore[override]
        """The engine underneath, and why it runs."""
        return self.model.form

    def known(self) -> dict[str, Any]:
        """Return the state for a checkpoint; see ``InPasses.known``."""
        return self.model.known() if isinstance(self.model, InPasses) else {}

    def recall(self, record: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint; see ``InPasses.recall``."""
        if isinstance(self.model, InPasses):
            self.model.recall(record)

    def _held(self, group: int) -> list[int]:
        return [i for i in self.chosen if self.home[i] == group]

    def _error_with(self, group: list[int], squared: bool) -> float:
        assert isinstance(self.model, FoldModel)
        trial = self._with(self.model, self.home[group[0]])
        # All of it may be collinear with the chosen columns.
        if trial is None or len(trial.chosen) == len(self.chosen):
            return np.inf
        return trial.squared_error if squared else trial.error

    def _error_without(self, columns: list[int], squared: bool) -> float:
        trial = self.model.duplicate()
        for i in columns:
            trial.drop(i)
        return trial.squared_error if squared else trial.error
