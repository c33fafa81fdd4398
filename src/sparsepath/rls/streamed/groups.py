"""Columns that enter and leave as one, on data that are read in passes.

The derivation is that of ``wrappers/groups.py``. S and C come from products of columns, as T does,
so that one pass judges the model at hand together with all groups: a pass over all columns for
every step.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.sources import Columns
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import COLLINEAR
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.judging import GroupChange, Level, Plan, judge
from sparsepath.rls.streamed.leave_one_out import NOTHING, Streamed
from sparsepath.rls.wrappers.groups import Grouped


class StreamedGroups(Streamed):
    """As ``Streamed``, but what is judged beside the model is groups of columns."""

    def __init__(
        self,
        design: StreamDesign,
        alpha: float,
        loss: Loss,
        steps: int,
        groups: Sequence[Sequence[int]],
    ) -> None:
        live = ([i for i in group if not design.constant[i]] for group in groups)
        self._units = [group for group in live if group]
        super().__init__(design, alpha, loss, steps)

    def errors_of(self, action: str, firsts: Sequence[int], squared: bool) -> Floats:
        """The criterion after each of some groups, named by their first columns, came or went."""
        known, key = self._known.groups, self.key
        self._known.drops |= action == "drop"
        if any((key, action, first) not in known for first in firsts):
            self._look()
        return np.array([known[key, action, first][int(squared)] for first in firsts])

    def is_usable(self, column: int) -> bool:
        """Whether a column is no combination of the chosen ones."""
        return bool(self._projected(np.array([column], dtype=np.intp))[3][0])

    def _look(self, candidates: Columns = NOTHING, about: float | None = None) -> None:
        """One pass: the model at hand, and what each group does to it."""
        anew = about is not None
        if about is None:
            about = self._known.errors.get(self.key, (0.0,))[0]
            about = about if np.isfinite(about) else 0.0
        inside = set(self.chosen)
        changes = self._additions([unit for unit in self._units if not inside & set(unit)])
        if self._known.drops:
            held = ([i for i in self.chosen if i in unit] for unit in self._units)
            changes += [self._removal(unit) for unit in held if unit]
        T, k = self.a.shape[1], len(self.chosen)
        none, flat = np.zeros(0), np.zeros((0, T))
        level = Level(
            k, about, self._blur(self.chosen), NOTHING, np.zeros((k, 0)), none, flat, none,
            np.zeros((k, 0)), flat, none,
        )  # fmt: skip
        chosen = np.array(self.chosen, dtype=np.intp)
        live = [change for change in changes if change is not None]
        plan = Plan(chosen, self.R, self.a, (level,), tuple(live))
        view = self._view([*self.chosen, *(i for change in live for i in change.columns.tolist())])
        design = self.design
        told = design.source.total(design.crew, view.columns, judge, view, plan)
        self._keep(self.chosen, NOTHING, np.zeros(0, dtype=bool), level, told[:7], anew)
        key, known = self.key, self._known.groups
        for change, pair in zip(live, told[7] if live else [], strict=True):
            known.setdefault((key, change.action, change.first), (float(pair[0]), float(pair[1])))
        for unit in self._units:  # nothing is left of those that were not judged
            known.setdefault((key, "add", unit[0]), (np.inf, np.inf))

    def _additions(self, units: Sequence[list[int]]) -> list[GroupChange | None]:
        which = np.array([i for unit in units for i in unit], dtype=np.intp)
        t, pivots, c, usable = self._projected(which)
        made: list[GroupChange | None] = []
        ends = np.cumsum([0, *map(len, units)])
        for unit, low, high in zip(units, ends[:-1], ends[1:], strict=True):
            part = slice(low, high)
            columns, T = which[part], t[:, part]
            S = self.design.gram(columns)[columns] - T.T @ T
            np.fill_diagonal(S, pivots[part])
            root = np.sqrt(np.diag(S))
            values, vectors = np.linalg.eigh(S / np.outer(root, root))
            keep = values > COLLINEAR
            G = vectors[:, keep] / np.sqrt(values[keep]) / root[:, None]
            blur = self._blur([*self.chosen, *unit])
            change = GroupChange("add", unit[0], columns, T, G, G @ (G.T @ c[part]), blur)
            made.append(change if usable[part].any() else None)
        return made

    def _removal(self, held: list[int]) -> GroupChange:
        places = [self.chosen.index(i) for i in held]
        inverse = self._solve(np.eye(len(self.chosen)))
        A = inverse @ inverse.T
        L = np.linalg.cholesky(A[np.ix_(places, places)])
        Q = np.linalg.solve(L, inverse[places]).T
        tau = -np.linalg.solve(L, self._solve(self.a)[places])
        rest = [i for i in self.chosen if i not in set(held)]
        first = next(unit[0] for unit in self._units if held[0] in unit)
        none = np.zeros((len(self.chosen), 0))
        return GroupChange("drop", first, NOTHING, none, Q, tau, self._blur(rest))

    def _blur(self, columns: Sequence[int]) -> float:
        return float(self.loss.blur(self._reach[list(columns)].sum()))


class GroupedPasses(Grouped):
    """``Grouped``, of a model that judges all groups by one pass."""

    model: StreamedGroups  # type: ignore[assignment]

    def __init__(self, model: StreamedGroups, groups: Sequence[list[int]]) -> None:
        super().__init__(model, groups)  # type: ignore[arg-type]
        self.alone = set()  # one pass tells of all of them

    @property
    def fitted(self) -> Any:
        return self.model

    @property
    def form(self) -> str:
        return self.model.form

    def known(self) -> dict[str, Any]:
        """See ``Streamed.known``."""
        return self.model.known()

    def recall(self, record: Mapping[str, Any]) -> None:
        """See ``Streamed.recall``."""
        self.model.recall(record)

    def _errors(self, action: str, firsts: NDArray[np.intp], squared: bool = False) -> Floats:
        return self.model.errors_of(action, firsts.tolist(), squared)

    def _adds_something(self, column: int) -> bool:
        return self.model.is_usable(column)
