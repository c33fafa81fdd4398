"""Constraints on subsets, and the features that may be added and removed.

Columns that are added and removed together form a *unit*: a group of columns without the constant
ones, or a single column. A subset may be on a path if

    it contains every forced unit, and none with a forbidden column;
    its units are complete, and it contains the parents of every feature;
    it has at most ``most`` columns and costs at most the budget.

Forward searches and the first half of an exchange always satisfy these, since a removal can violate
only the first two conditions. A backward search starts above ``most`` and the budget; subsets
before it satisfies them are not on its path (``admits``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.validation import column_indices
from sparsepath.errors import InputError
from sparsepath.rls.update import TIE, Costs, column_mask

Column = int | str
Parents = Mapping[int, tuple[int, ...]]


def parents_of(
    given: Mapping[Column, Sequence[Column]] | None, names: Iterable[str] | None, n: int
) -> dict[int, tuple[int, ...]]:
    """Return the parents of every child, by index; they may be given by name.

    >>> parents_of({"ab": ["a", "b"]}, ["a", "b", "ab"], 3)
    {2: (0, 1)}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"parents={given!r}; give a dict of columns to lists of their parents.")
    names = None if names is None else list(names)
    children = column_indices(list(given), names, n, "parents")  # type: ignore[arg-type]
    found: dict[int, tuple[int, ...]] = {}
    for child, parents in zip(children, given.values(), strict=True):
        if isinstance(parents, str) or not isinstance(parents, Iterable):
            raise InputError(f"parents: give a list of columns for each child, not {parents!r}.")
        found[child] = tuple(column_indices(list(parents), names, n, "parents"))  # type: ignore[arg-type]
    for child in found:
        above, seen = list(found[child]), set()
        while above:
            parent = above.pop()
            if parent == child:
                raise InputError(f"parents: column {child} is its own parent.")
            if parent not in seen:
                seen.add(parent)
                above += found.get(parent, ())
    return found


class Constraints:
    """Constraints on the subsets of a path.

    ``candidates`` are the columns that are not forbidden, ``constant`` columns are never selected,
    ``forced`` ones are in every subset, columns of a group are added and removed together, and a
    child requires its ``parents`` (within a group in any order). ``most`` is the maximum number of
    columns; ``costs`` have a budget.

    >>> sets = Constraints(range(4), np.zeros(4, bool), groups=[(0, 1), (2,), (3,)],
    ...     parents={3: (0,)}, most=3)
    >>> sets.entering([]), sets.entering([0, 1]), sets.leaving([0, 1, 3])
    (array([0, 1, 2]), array([2, 3]), [3])
    """

    def __init__(
        self,
        candidates: Sequence[int],
        constant: NDArray[np.bool_],
        *,
        forced: Sequence[int] = (),
        groups: Sequence[tuple[int, ...]] = (),
        parents: Parents | None = None,
        costs: Costs | None = None,
        most: float = np.inf,
    ) -> None:
        n = len(constant)
        label = np.arange(n)
        for group in groups:
            label[list(group)] = group[0]
        live = np.flatnonzero(~np.asarray(constant, dtype=bool))
        places = np.arange(len(live))
        if groups:
            _, places = np.unique(label[live], return_inverse=True)
        count = int(places.max(initial=-1)) + 1
        self._unit = np.full(n, count, dtype=np.intp)  # of a constant column: no unit
        self._unit[live] = places
        self._columns_by_unit = live[np.argsort(places, kind="stable")]
        self._counts = np.bincount(places, minlength=count)
        self._ends = np.cumsum(self._counts)
        numbers = np.bincount(places, weights=column_mask(candidates, n)[live], minlength=count)
        self._open, self._partly = numbers == self._counts, numbers > 0
        self.costs, self.most = costs, most
        prices = np.zeros(n) if costs is None else costs.of
        self._prices = np.bincount(places, weights=prices[live], minlength=count)
        self._above: dict[int, set[int]] = {}
        for child, above in (parents or {}).items():
            outside = {p for p in above if label[p] != label[child]}
            if outside and self._unit[child] < count:
                self._above.setdefault(int(self._unit[child]), set()).update(outside)
        self.forced = tuple(forced)
        self._kept = {int(self._unit[i]) for i in forced}

    # Which moves there are ----------------------------------------------------------------------

    def entering(self, chosen: Sequence[int], but: Iterable[int] = ()) -> NDArray[np.intp]:
        """Return the columns whose units may be added, except those of the features ``but``."""
        free = self._ready(chosen)
        free[self._places(but)] = False
        free &= self._fitting(chosen) & self._affordable(chosen)
        return np.append(free, False)[self._unit].nonzero()[0]

    def leaving(self, chosen: Sequence[int]) -> list[int]:
        """Return the selected columns whose units may be removed: not forced, and not a required
        parent.
        """
        kept = set(self._kept)
        for place in self.units(chosen) & self._above.keys():
            kept.update(self._places(self._above[place]).tolist())
        return [
            i for i, place in zip(chosen, self._places(chosen), strict=True) if place not in kept
        ]

    def obstacle(self, chosen: Sequence[int]) -> str:
        """Return the reason why nothing can be added."""
        ready = self._ready(chosen)
        fitting, affordable = self._fitting(chosen), self._affordable(chosen)
        if (ready & fitting & ~affordable).any():
            return "budget"
        if (ready & ~fitting).any():
            return "no group fits"
        inside = np.zeros(len(self._open), dtype=bool)
        inside[self._places(chosen)] = True
        if not ready.any() and (self._partly & ~inside).any():
            return "held back"
        return "no candidate left"

    def admits(self, chosen: Sequence[int]) -> bool:
        """Return whether a subset is small and cheap enough."""
        return len(chosen) <= self.most and self.cost(chosen) <= self._limit

    # Sets of units ------------------------------------------------------------------------------

    def units(self, features: Iterable[int]) -> frozenset[int]:
        """Return the set of units of a subset, which identifies it."""
        return frozenset(self._places(features).tolist())

    def with_feature(self, chosen: Iterable[int], feature: int) -> frozenset[int]:
        """Return the units after adding the unit of a feature."""
        return self.units(chosen) | self.units([feature])

    def without(self, chosen: Iterable[int], feature: int) -> frozenset[int]:
        """Return the units after removing the unit of a feature."""
        return self.units(chosen) - self.units([feature])

    def rest(self, chosen: Iterable[int], feature: int) -> list[int]:
        """Return the columns that remain after removing the unit of a feature."""
        return [i for i in chosen if self._unit[i] != self._unit[feature]]

    def first_of_each(self, features: Iterable[int]) -> list[int]:
        """Return the first column of every unit among the features, ascending."""
        found: dict[int, int] = {}
        for i in sorted(features):
            found.setdefault(int(self._unit[i]), i)
        return list(found.values())

    def in_order(self, features: Iterable[int]) -> list[int]:
        """Return the features with their complete units, each unit after its parents.

        Features that lack a parent, or whose unit has a forbidden column, are omitted.
        """
        found: dict[int, None] = {}
        places = dict.fromkeys(self._places(features).tolist())
        left = [place for place in places if place < len(self._open) and self._open[place]]
        while True:
            waiting = []
            for place in left:
                if self._above.get(place, set()) <= found.keys():
                    found.update(dict.fromkeys(self._members(place)))
                else:
                    waiting.append(place)
            if len(waiting) == len(left):
                return list(found)
            left = waiting

    def has_parents(self, chosen: Iterable[int], feature: int) -> bool:
        """Return whether the parents of the unit of a feature are selected."""
        return self._above.get(int(self._unit[feature]), set()) <= set(chosen)

    def cost(self, features: Iterable[int]) -> float:
        """Return the total cost of columns."""
        return 0.0 if self.costs is None else float(self.costs.of[list(features)].sum())

    def check(
        self, start: Sequence[int], named: Callable[[Iterable[int]], str], *, down: bool
    ) -> None:
        """Raise an error for forced columns and start sets that violate the constraints.

        ``down``: for backward searches, only the forced columns must satisfy size and budget.
        """
        for given, what in (
            (self.forced, "forced"),
            ((*self.forced, *start), "forced or started from"),
        ):
            asked = set(given).union(*(self._members(u) for u in self.units(given)))
            closed = [u for u in self.units(given) if not self._open[u]]
            if closed:
                mates = [i for u in closed for i in self._members(u)]
                raise InputError(
                    f"the columns {named(mates)} form one group; one of them is {what} and "
                    "another forbidden."
                )
            if alone := asked - set(self.in_order(given)):
                raise InputError(f"column {named(alone)} is {what}, but not all its parents are.")
            if down and what != "forced":
                continue
            if len(asked) > self.most:
                groups = " (with the columns of their groups)" if len(asked) > len(given) else ""
                raise InputError(
                    f"max_features={self.most} is less than the {len(asked)} features that are "
                    f"{what}{groups}."
                )
            if self.cost(asked) > self._limit:
                assert self.costs is not None
                raise InputError(
                    f"budget={self.costs.budget!r} is less than the {self.cost(asked):.6g} that "
                    f"the {what} features cost: {named(asked)}."
                )

    # Small parts --------------------------------------------------------------------------------

    @property
    def _limit(self) -> float:
        """Budget including a rounding tolerance."""
        return np.inf if self.costs is None else self.costs.budget * (1 + TIE)

    def _members(self, place: int) -> list[int]:
        """Columns of a unit, ascending."""
        end = self._ends[place]
        return self._columns_by_unit[end - self._counts[place] : end].tolist()

    def _places(self, features: Iterable[int]) -> NDArray[np.intp]:
        return self._unit[np.fromiter(features, dtype=np.intp)]

    def _ready(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        """Return units outside the subset that may be added and have their parents."""
        free = self._open.copy()
        free[self._places(chosen)] = False
        there = set(chosen)
        for place, above in self._above.items():
            free[place] &= above <= there
        return free

    def _fitting(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        return self._counts <= self.most - len(chosen)

    def _affordable(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        return self.cost(chosen) + self._prices <= self._limit
