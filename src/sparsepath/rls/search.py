"""Searches over sets of features: which change comes next, and when to stop.

A search asks its model two questions, ``find_best_update`` and ``apply_update``, and tells a
``Trail`` about every change. The trail keeps the best set of each size, the moves and the clock,
and says when to stop. What is fitted and how it is judged is the model's business: exact
leave-one-out (``state.py``) and folds (``folds.py``) are searched by the same code.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.rls.stopping import Rule, asked_before
from sparsepath.rls.update import Costs, Update, limit
from sparsepath.steps import Move, Step


class Model(Protocol):
    """What a search needs to know of the model it changes."""

    @property
    def chosen(self) -> list[int]: ...
    @property
    def error(self) -> float: ...
    @property
    def empty_error(self) -> float: ...
    @property
    def costs(self) -> Costs | None: ...
    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None: ...
    def apply_update(self, update: Update) -> None: ...
    def duplicate(self) -> "Model": ...
    def standard_error(self) -> float: ...
    def coef(self) -> Floats: ...
    def intercept(self) -> Floats: ...
    @property
    def vanished(self) -> bool: ...


class Trail:
    """What a search has done so far: the best model of each size, the moves, the time.

    Parameters
    ----------
    watch : callable, optional
        Called with the trail after every move; a true value stops the search.
    rules : sequence of callables
        Asked after every move; the first that gives a reason stops the search.

    Attributes
    ----------
    steps : dict of size to Step
    moves : list of Move
    start : tuple of int
        The features the model began with.
    size : int
        The size of the model now.
    first_error : float
        The criterion where the search began.
    stopped : str
        Why the search ended.
    form : str
        In which form the search was run, and why.
    """

    def __init__(
        self, watch: Callable[["Trail"], object] | None = None, rules: Sequence[Rule] = ()
    ) -> None:
        self.steps: dict[int, Step] = {}
        self.moves: list[Move] = []
        self.start: tuple[int, ...] = ()
        self.stopped = ""
        self.form = ""
        self.size = 0
        self._chosen: list[int] = []
        self.first_error = np.inf
        self._watch = watch
        self._rules = rules
        self._started = time.perf_counter()

    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self._started

    def note(
        self, model: Model, update: Update | None = None, seconds: float | None = None
    ) -> bool:
        """Record where the model is now; return whether the search should stop."""
        self.size = size = len(model.chosen)
        if not self.steps:
            self.first_error = model.error
        if update is not None:
            seconds = self.seconds() if seconds is None else seconds
            before, now = set(self._chosen), set(model.chosen)
            for i in self._chosen:
                if i not in now:
                    self.moves.append(Move("drop", i, model.error, seconds))
            for i in model.chosen:
                if i not in before:
                    self.moves.append(Move("add", i, model.error, seconds))
        self._chosen = list(model.chosen)
        known = self.steps.get(size)
        if known is None or limit(model.error, model.empty_error) < known.error:
            self.steps[size] = Step(
                tuple(model.chosen),
                model.error,
                model.standard_error(),
                model.coef(),
                model.intercept(),
            )
        if update is None:
            return False
        if self._watch is not None and self._watch(self):
            self.stopped = "asked to"
        else:
            self.stopped = next(filter(None, (rule(self) for rule in self._rules)), "")
        return bool(self.stopped)

    def refuses(self, model: Model, update: Update, candidates: Sequence[int]) -> bool:
        """Whether a rule ends the search before this addition."""
        said = (asked_before(rule, self, model, update, candidates) for rule in self._rules)
        self.stopped = next(filter(None, said), "")
        return bool(self.stopped)


def forward(
    model: Model, trail: Trail, *, size: int, candidates: Sequence[int], keep: Sequence[int] = ()
) -> None:
    """Add the best feature until the model has ``size`` of them (paper 000, Algorithm 3)."""
    while len(model.chosen) < size:
        update = _addition(model, trail, candidates)
        if update is None:
            return
        model.apply_update(update)
        if trail.note(model, update):
            return
    trail.stopped = "max_features"


def floating(
    model: Model,
    trail: Trail,
    *,
    size: int,
    candidates: Sequence[int],
    keep: Sequence[int] = (),
    epsilon: float | None = None,
) -> None:
    """Add the best feature, then drop while that costs less than half of what the step gained.

    Paper 002, Algorithm 1, which stops when an addition gains less than ``epsilon``. Without
    ``epsilon`` the search goes on to ``size``; beyond the minimum, where additions no longer gain
    anything, a feature is dropped only if that beats the best set known of the smaller size.
    """
    gains, made = _so_far(trail)
    while True:
        while len(model.chosen) > len(keep) + 1:
            k = len(model.chosen)
            gain = gains.get(k, 0.0)
            below = model.error + 0.5 * gain if gain > 0 else np.inf
            removal = model.find_best_update("drop", _without(model.chosen, keep), below)
            if removal is None or (frozenset(model.chosen), removal.feature) in made:
                break
            smaller = trail.steps.get(k - removal.count)
            if not _worthwhile(removal, model, gain, smaller):
                break
            made.add((frozenset(model.chosen), removal.feature))
            model.apply_update(removal)
            if trail.note(model, removal):
                return
        if len(model.chosen) >= size:
            trail.stopped = "max_features"
            return
        before = model.error
        update = _addition(model, trail, candidates)
        if update is None:
            return
        if epsilon is not None and before - update.error < epsilon:
            trail.stopped = "epsilon"
            return
        model.apply_update(update)
        gains[len(model.chosen)] = before - model.error
        if trail.note(model, update):
            return


def _so_far(trail: Trail) -> tuple[dict[int, float], set[tuple[frozenset[int], int]]]:
    """From the moves so far: what the last addition to each size gained, and the removals made.

    A removal is not made twice from the same set, even if rounding makes it look worth while.
    """
    gains: dict[int, float] = {}
    made: set[tuple[frozenset[int], int]] = set()
    chosen, before = frozenset(trail.start), trail.first_error
    for move in trail.moves:
        if move.action == "add":
            gains[len(chosen) + 1] = before - move.error
        else:
            made.add((chosen, move.feature))
        chosen ^= {move.feature}
        before = move.error
    return gains, made


def _worthwhile(removal: Update, model: Model, gain: float, smaller: Step | None) -> bool:
    """Whether a removal costs less than half the gain and beats the best set of that size."""
    loss = removal.error - model.error
    least = model.empty_error
    better = smaller is None or limit(removal.error, least) < smaller.error
    return better and (gain <= 0 or loss <= 0.5 * gain)


def backward(
    model: Model, trail: Trail, *, size: int, candidates: Sequence[int], keep: Sequence[int] = ()
) -> None:
    """Drop the feature that is missed least, from all candidates down to ``size``.

    Every removal keeps to the sets that came before, so small models are as good as the larger
    ones they come from; starting from all features costs one addition each.
    """
    while len(model.chosen) > size:
        update = model.find_best_update("drop", _without(model.chosen, keep))
        if update is None:
            trail.stopped = "nothing to drop"
            return
        model.apply_update(update)
        if trail.note(model, update):
            return
    trail.stopped = "min_features"


def with_swaps(
    model: Model, trail: Trail, *, size: int, candidates: Sequence[int], keep: Sequence[int] = ()
) -> None:
    """Add the best feature, then exchange one chosen for one other feature while that helps."""
    halfway = bool(trail.moves) and trail.moves[-1].action == "drop"
    if halfway and _complete(model, trail, candidates):
        return
    while True:
        if _swap(model, trail, candidates, keep):
            return
        if len(model.chosen) >= size:
            trail.stopped = "max_features"
            return
        update = _addition(model, trail, candidates)
        if update is None:
            return
        model.apply_update(update)
        if trail.note(model, update):
            return


def _swap(model: Model, trail: Trail, candidates: Sequence[int], keep: Sequence[int]) -> bool:
    """Make the best exchange while there is one that helps; return whether to stop.

    Exchanges are tried on copies, so that the model is the same whatever was tried.
    """
    while True:
        best: tuple[int, Update] | None = None
        least = model.error * (1 - SWAP_GAIN)
        for feature in sorted(_without(model.chosen, keep)):
            trial = model.duplicate()
            trial.apply_update(Update("drop", feature, np.nan))
            others = [i for i in candidates if i != feature]
            update = trial.find_best_update("add", others)
            if update is not None and update.error < least:
                best, least = (feature, update), update.error * (1 - SWAP_GAIN)
        if best is None:
            return False
        drop = Update("drop", best[0], np.nan)
        model.apply_update(drop)
        if trail.note(model, drop) or _complete(model, trail, candidates):
            return True


def _complete(model: Model, trail: Trail, candidates: Sequence[int]) -> bool:
    """Make the second half of an exchange, after the drop; return whether to stop."""
    leaving = trail.moves[-1].feature
    update = model.find_best_update("add", [i for i in candidates if i != leaving])
    if update is None:
        return False
    model.apply_update(update)
    return trail.note(model, update)


def _addition(model: Model, trail: Trail, candidates: Sequence[int]) -> Update | None:
    """The best addition, or None with the reason noted."""
    if model.vanished:
        trail.stopped = "residuals vanished"
        return None
    affordable = (
        candidates if model.costs is None else model.costs.affordable(model.chosen, candidates)
    )
    update = model.find_best_update("add", affordable)
    if update is None:
        spent = len(affordable) < len(candidates)
        trail.stopped = "budget" if spent else "no candidate left"
    elif trail.refuses(model, update, affordable):
        return None
    return update


def _without(features: Iterable[int], others: Iterable[int]) -> list[int]:
    kept = set(others)
    return [i for i in features if i not in kept]


SWAP_GAIN = 1e-9  # relative gain that makes an exchange worth while
SEARCHES = {
    "forward": forward,
    "floating": floating,
    "backward": backward,
    "swap": with_swaps,
}
