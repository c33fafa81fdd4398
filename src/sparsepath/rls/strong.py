"""The strong search: for every size a beam of sets that is improved until nothing helps.

It begins with what forward, swapping and floating searches find, with forward searches under other
penalties and with the order of least angle regression, all judged by the criterion of this search.
The ``WIDTH`` best sets of each size form a beam. A set of a beam is *expanded* once:

    every chosen feature is exchanged for the best other one;
    the best feature is added, which gives a set of the next size;
    the least useful one is dropped, which gives a set of the size before.

New sets that are good enough enter the beam of their size, from where they are expanded in turn.
The sizes are visited up and down, a little beyond the largest on the path, until no beam has a set
left to expand; then two features of the best set of every size are exchanged for two others, and if
that helps everything goes on. There are finitely many sets, none is expanded twice, and nothing is
drawn, so the search ends and its result is fixed. The best set of each size is never above what
forward, floating and swapping searches find.
"""

import copy
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sparsepath.base import Stop
from sparsepath.errors import InputError
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.history import SearchTrail
from sparsepath.rls.model import Model
from sparsepath.rls.search import floating, forward, with_swaps
from sparsepath.rls.update import Update, limit

WIDTH = 8  # sets in a beam, and
BEYOND = (
    2  # features more than the largest set on the path; both measured in docs/results/strong.md
)
TIME = "time"
FULL = ("no group fits", "budget")  # what no longer holds once another set was found


@dataclass(frozen=True, order=True)
class Member:
    """A subset in a beam, with its features in order of entry."""

    error: float
    number: int  # in order of discovery: the earlier of equals comes first
    columns: tuple[int, ...] = field(compare=False)


class _Ended(Exception):  # noqa: N818
    """Raised when the time budget is used up, or a callback stops the search."""


def strong(
    model: Model,
    trail: SearchTrail,
    sets: Constraints,
    *,
    orders: Iterable[Callable[[], Sequence[int]]] = (),
    seconds: float = np.inf,
) -> None:
    """Improve a beam of subsets of every size until no change helps.

    ``orders`` return further orders of features to start with; ``seconds`` limit the run time.
    """
    base = model.duplicate()
    others = [(find, trail.apart(), model.duplicate()) for find in (forward, floating)]
    with_swaps(model, trail, sets)
    reason = trail.stopped
    if reason in (Stop.ASKED, TIME):
        return
    try:
        for find, apart, trial in others:
            find(trial, apart, sets)
            if apart.stopped == TIME:
                raise _Ended
        found = [trail, *(apart for _, apart, _ in others)]
        beams = _Beams(base, trail, sets, seconds, max(max(one.steps) for one in found))
        for subset in [step.subset for one in found for step in one.steps.values()]:
            beams.offer(beams.at(subset))
        for order in orders:
            beams.check()
            beams.follow(order())
        beams.improve()
    except _Ended:
        reason = trail.stopped or TIME
    trail.stopped = Stop.MAX_FEATURES if reason in FULL and sets.most in trail.steps else reason


class _Beams:
    """Best subsets of every size, and the moves between them."""

    def __init__(
        self, base: Model, trail: SearchTrail, sets: Constraints, seconds: float, largest: int
    ) -> None:
        base.costs = None  # sets of one size are compared by the criterion alone
        self.base, self.trail, self.seconds = base, trail, seconds
        self.sets = copy.copy(sets)
        self.largest = largest  # on the path
        self.sets.most = largest + BEYOND
        self.least = min(trail.steps)
        self.beams: dict[int, list[Member]] = {}
        self.met: set[frozenset[int]] = set()
        self.expanded: set[int] = set()  # numbers of members
        self.paired: set[int] = set()

    def check(self) -> None:
        """End the search if its time is over."""
        if self.trail.seconds >= self.seconds:
            raise _Ended

    def at(self, columns: Sequence[int]) -> Model:
        """Return the model of a subset, derived from the initial model."""
        model, wanted = self.base.duplicate(), set(columns)
        for i in list(model.chosen):
            if i not in wanted and i in model.chosen:
                model.drop(i)
        for i in columns:
            if i not in model.chosen:
                model.add(i)
        return model

    def follow(self, order: Sequence[int]) -> None:
        """Offer the subsets that arise when features are added in an order."""
        model = self.base.duplicate()
        for feature in order:
            self.check()
            if model.vanished:
                return
            if feature not in self.sets.entering(model.chosen):
                continue
            trial = model.duplicate()
            try:
                trial.add(feature)
            except InputError:  # collinear
                continue
            model = trial
            self.offer(model)

    def offer(self, model: Model) -> None:
        """Put a subset into the beam of its size if it is good enough, and on the path if it is the
        best.
        """
        units = self.sets.units(model.chosen)
        size, error = len(model.chosen), float(model.error)
        if units in self.met or not error < self._worst(size):
            return
        self.met.add(units)
        beam = self.beams.setdefault(size, [])
        insort(beam, Member(error, len(self.met), tuple(model.chosen)))
        del beam[WIDTH:]
        known = self.trail.steps.get(size)
        better = known is None or limit(error, model.empty_error) < known.error
        if better and self.least <= size <= self.largest:
            last = Update("add", model.chosen[-1])  # the moves are those between the two sets
            if self.trail.note(model, last, whole=False):
                raise _Ended

    def _worst(self, size: int) -> float:
        """Return the criterion above which a subset of a size is not good enough."""
        beam = self.beams.get(size, [])
        return beam[-1].error if len(beam) == WIDTH else np.inf

    def improve(self) -> None:
        """Expand the subsets of all beams, up and down through the sizes; then try pairs."""
        while True:
            before = len(self.expanded)
            sizes = range(self.least, max(self.beams) + BEYOND + 1)
            for size in (*sizes, *reversed(sizes)):
                while (member := self._next(size)) is not None:
                    self._expand(member)
            if len(self.expanded) == before and not self._exchange_pairs():
                return

    def _next(self, size: int) -> Member | None:
        """Return the best unexpanded subset of a size."""
        beam = self.beams.get(size, ())
        return next((member for member in beam if member.number not in self.expanded), None)

    def _expand(self, member: Member) -> None:
        """Offer the neighbours of a subset."""
        self.expanded.add(member.number)
        model, sets = self.at(member.columns), self.sets
        chosen, size = list(model.chosen), len(model.chosen)
        for feature in sets.first_of_each(sets.leaving(chosen)):
            self.check()
            kept = sets.rest(chosen, feature)
            entering = sets.entering(kept, but=[feature])
            update = model.best_exchange(feature, entering, np.inf)
            self._offer_after(model, len(kept), Update("drop", feature), update)
        self.check()
        if not model.vanished:
            update = model.best_addition(sets.entering(chosen))
            self._offer_after(model, size, update)
        if size > self.least and (leaving := sets.leaving(chosen)):
            self._offer_after(model, size, model.best_removal(leaving))

    def _offer_after(self, model: Model, size: int, *updates: Update | None) -> None:
        """Offer the subset after some updates, the last one evaluated, if it is good enough.

        ``size`` is that before the last update.
        """
        units, last = self.sets.units(model.chosen), updates[-1]
        if last is None:
            return
        made = [update for update in updates if update is not None]
        for update in made:
            units = units ^ self.sets.units([update.feature])
        size += last.count if last.action == "add" else -last.count
        if units in self.met or last.error >= self._worst(size):
            return
        trial = model.duplicate()
        for update in made:
            change = trial.add if update.action == "add" else trial.drop
            change(update.feature)
        self.offer(trial)

    def _exchange_pairs(self) -> bool:
        """Exchange pairs of features in the best subset of every size; return whether that helped.

        For every first feature, the second is the least useful one after the first is removed:
        trying all pairs improved one more problem of 200.
        """
        before = len(self.met)
        for size in sorted(self.beams):
            best = self.beams[size][0]
            if best.number in self.paired:
                continue
            self.paired.add(best.number)
            model = self.at(best.columns)
            for first in self.sets.first_of_each(self.sets.leaving(model.chosen)):
                self.check()
                self._exchange_pair(model, first)
        return len(self.met) > before

    def _exchange_pair(self, model: Model, first: int) -> None:
        """Remove a feature and another, and offer the subset after the two best additions."""
        sets, trial, gone = self.sets, model.duplicate(), [first]
        trial.drop(first)
        leaving = sets.leaving(trial.chosen)
        second = trial.best_removal(leaving) if leaving else None
        if second is None:
            return
        gone.append(second.feature)
        trial.drop(second.feature)
        third = trial.best_addition(sets.entering(trial.chosen, but=gone))
        if third is None:
            return
        trial.add(third.feature)
        if trial.vanished:
            return
        fourth = trial.best_addition(sets.entering(trial.chosen, but=gone))
        self._offer_after(trial, len(trial.chosen), fourth)
