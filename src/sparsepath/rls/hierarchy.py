"""Features that come after others: an interaction only after its parents.

A candidate may enter once all its parents are in; a parent may leave once none of its children is
in. Which moves these are depends on the chosen set alone, so a model that is wrapped here can be
searched like any other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sparsepath.data.door import column_indices
from sparsepath.errors import InputError
from sparsepath.rls.search import Model
from sparsepath.rls.update import Update
from sparsepath.rls.wrapped import Wrapped

Column = int | str
Parents = Mapping[int, tuple[int, ...]]


def parents_of(
    given: Mapping[Column, Sequence[Column]] | None, names: Iterable[str] | None, n: int
) -> dict[int, tuple[int, ...]]:
    """The parents of every child, by index; they may be given by name.

    >>> parents_of({"ab": ["a", "b"]}, ["a", "b", "ab"], 3)
    {2: (0, 1)}
    """
    if given is None:
        return {}
    names = None if names is None else list(names)
    children = column_indices(list(given), names, n, "parents")  # type: ignore[arg-type]
    found: dict[int, tuple[int, ...]] = {}
    for child, parents in zip(children, given.values(), strict=True):
        if isinstance(parents, str):
            raise InputError(f"parents: give a list of columns for each child, not {parents!r}.")
        found[child] = tuple(column_indices(list(parents), names, n, "parents"))  # type: ignore[arg-type]
    for child in found:
        above, seen = list(found[child]), set()
        while above:
            parent = above.pop()
            if parent == child:
                raise InputError(f"parents: column {child} comes after itself.")
            if parent not in seen:
                seen.add(parent)
                above += found.get(parent, ())
    return found


def complete(features: Iterable[int], parents: Parents) -> list[int]:
    """The features all of whose parents, and theirs in turn, are among the features."""
    left = list(features)
    while True:
        there = set(left)
        kept = [i for i in left if there.issuperset(parents.get(i, ()))]
        if len(kept) == len(left):
            return kept
        left = kept


class Hierarchy(Wrapped[Model]):
    """A model in which some features come after others.

    Parameters
    ----------
    model : Model
        The model underneath.
    parents : mapping of int to tuple of int
        For every child its parents.
    groups : sequence of tuples of int
        Columns that enter and leave as one; they need not wait for each other.
    """

    def __init__(
        self, model: Model, parents: Parents, groups: Sequence[tuple[int, ...]] = ()
    ) -> None:
        super().__init__(model)
        self.parents = parents
        self.family = {i: frozenset(group) for group in groups for i in group}

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best addition whose parents are in, or removal that leaves no child behind."""
        if action == "drop":
            needed = self.needed()
            some = self.chosen if features is None else features
            free = [i for i in some if i not in needed]
            return self.model.find_best_update("drop", free, below)
        assert features is not None, "a search says which features may enter"
        there = set(self.chosen)
        free = [i for i in features if self._parents_outside(i) <= there]
        return self.model.find_best_update("add", free)

    def apply_update(self, update: Update) -> None:
        """Make a change."""
        self.model.apply_update(update)

    def needed(self) -> set[int]:
        """The chosen features that a chosen child rests on, with all that leave with them."""
        parents = {p for i in self.chosen for p in self._parents_outside(i)}
        return parents.union(*(self.family.get(p, ()) for p in parents))

    def _parents_outside(self, i: int) -> set[int]:
        """The parents of a feature that do not come with it."""
        return set(self.parents.get(i, ())) - self.family.get(i, frozenset())


class Kept(Sequence[int]):
    """What a search must not drop now: the forced features and the parents that are needed."""

    def __init__(self, model: Hierarchy, forced: Sequence[int]) -> None:
        self._model, self._forced = model, forced

    def _now(self) -> list[int]:
        return list(dict.fromkeys([*self._forced, *sorted(self._model.needed())]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self._now()[place]
