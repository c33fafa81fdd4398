"""Searches over sets of features: which change comes next, and when to stop.

A search asks its model two questions, ``find_best_update`` and ``apply_update``, its constraints
(``constraints.py``) which features may enter and leave, and tells a ``Trail`` about every change.
The trail keeps the best set of each size, the moves and the clock, and says when to stop. What is
fitted and how it is judged is the model's business: exact leave-one-out
(``leave_one_out/model.py``) and folds (``splits/model.py``) are searched by the same code.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from sparsepath.data.blocks import Floats
from sparsepath.rls.constraints import Constraints
from sparsepath.rls.leave_one_out.whole import Whole
from sparsepath.rls.stopping import Rule, asked_before
from sparsepath.rls.update import TIE_FLOOR, Costs, Update, limit
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
        Called with the trail after every update; a true value stops the search.
    rules : sequence of callables
        Asked after every whole update; the first that gives a reason stops the search.
    admits : callable, optional
        Whether a set may be on the path; default: every set.
    backward : bool
        Whether sizes go down.

    Attributes
    ----------
    steps : dict of size to Step
    moves : list of Move
        Column by column.
    updates : list of Update
        As they were made; a group of columns is one, an exchange two.
    errors : list of float
        The criterion where the search set out and after every whole update: after an exchange,
        not in the middle of it.
    start : tuple of int
        The features the model began with: those that are forced, or all if it goes backward.
    size : int
        The size of the model now.
    first_error : float
        The criterion of the start.
    passed : Step or None
        The last model that may not be on the path, as long as none was met that may.
    stopped : str
        Why the search ended.
    form : str
        In which form the search was run, and why.
    """

    def __init__(
        self,
        watch: Callable[["Trail"], object] | None = None,
        rules: Sequence[Rule] = (),
        admits: Callable[[Sequence[int]], bool] | None = None,
        backward: bool = False,
    ) -> None:
        self.steps: dict[int, Step] = {}
        self.moves: list[Move] = []
        self.updates: list[Update] = []
        self.errors: list[float] = []
        self.start: tuple[int, ...] = ()
        self.stopped = ""
        self.form = ""
        self.size = 0
        self.first_error = np.inf
        self.passed: Step | None = None
        self.backward = backward
        self._chosen: list[int] = []
        self._watch = watch
        self._rules = rules
        self._admits = admits
        self._started = time.perf_counter()

    def seconds(self) -> float:
        """Time since the search began, that of an earlier run included."""
        return time.perf_counter() - self._started

    def begin(self, model: Model) -> None:
        """Record the model that the search begins with."""
        self.start, self.first_error = tuple(model.chosen), model.error
        self._chosen = list(model.chosen)
        self._record(model)

    def set_out(self, model: Model) -> None:
        """From here on the search decides, and rules count."""
        self.errors = [model.error] if self.steps else []

    def note(
        self, model: Model, update: Update, *, seconds: float | None = None, whole: bool = True
    ) -> bool:
        """Record where the model is after an update; return whether the search should stop.

        ``whole`` is false in the middle of an exchange and while a start set is put together: then
        no rule is asked. ``seconds`` are those of an earlier run that made the same update.
        """
        seconds = self._clock(seconds)
        now, before = set(model.chosen), set(self._chosen)
        moves = [Move("drop", i, model.error, seconds) for i in self._chosen if i not in now]
        moves += [Move("add", i, model.error, seconds) for i in model.chosen if i not in before]
        self.moves += moves
        self.updates.append(Update(update.action, update.feature, model.error, len(moves)))
        self._chosen = list(model.chosen)
        self._record(model)
        if whole and self.steps:
            self.errors.append(model.error)
        return self._ended(whole)

    def _clock(self, seconds: float | None) -> float:
        """The time of an update: now, or that of an earlier run."""
        if seconds is None:
            return self.seconds()
        self._started = min(self._started, time.perf_counter() - seconds)
        return seconds

    def _ended(self, whole: bool) -> bool:
        """Tell the watcher of an update and, if it is a whole one, the rules; whether to stop."""
        asked = whole and bool(self.steps)
        if self._watch is not None and self._watch(self):
            self.stopped = "asked to"
        elif asked:
            self.stopped = next(filter(None, (rule(self) for rule in self._rules)), "")
        else:
            self.stopped = ""
        return bool(self.stopped)

    def _record(self, model: Model) -> None:
        """Keep the model if it is the best of its size and may be on the path."""
        self.size = size = len(model.chosen)
        may = self._admits is None or self._admits(model.chosen)
        known = self.steps.get(size)
        if not may and self.steps:
            return
        if known is None or limit(model.error, model.empty_error) < known.error:
            step = Step(
                tuple(model.chosen),
                model.error,
                model.standard_error(),
                model.coef(),
                model.intercept(),
            )
            if may:
                self.steps[size], self.passed = step, None
            else:
                self.passed = step

    def take(self, found: Whole, ended: str, earlier: Sequence[Move] = ()) -> None:
        """Record a path that was found all at once, and tell of it step by step.

        ``ended`` is why it ended where it does; ``earlier`` are moves of a run before this one.
        """
        subset, errors, errors_se = (
            of.tolist() for of in (found.subset, found.errors, found.errors_se)
        )
        self.first_error = errors[0]
        for k, error in enumerate(errors):
            coef, intercept = found.coef[k, :k], found.intercept[k]
            self.steps[k] = Step(tuple(subset[:k]), error, errors_se[k], coef, intercept)
            self.errors.append(error)
            self.size, self._chosen = k, subset[:k]
            if k:
                seconds = self._clock(earlier[k - 1].seconds if k <= len(earlier) else None)
                self.moves.append(Move("add", subset[k - 1], error, seconds))
                self.updates.append(Update("add", subset[k - 1], error, 1))
                if self._ended(whole=True):
                    return
        self.stopped = ended
        if found.vanished and ended != "max_features":
            self.stopped = "residuals vanished" if errors[0] > 0 else "target vanished"

    def refuses(self, model: Model, update: Update, candidates: Sequence[int]) -> bool:
        """Whether a rule ends the search before this addition."""
        said = (asked_before(rule, self, model, update, candidates) for rule in self._rules)
        self.stopped = next(filter(None, said), "")
        return bool(self.stopped)

    def history(self) -> Iterator[tuple[Update, frozenset[int], frozenset[int]]]:
        """Every update, with the columns before and after it."""
        after, moves = frozenset(self.start), iter(self.moves)
        for update in self.updates:
            before, after = after, after ^ {m.feature for m in islice(moves, update.count)}
            yield update, before, after


def forward(model: Model, trail: Trail, sets: Constraints) -> None:
    """Add the best feature until the model has as many as it may have (paper 000, Algorithm 3)."""
    while len(model.chosen) < sets.most:
        update = _addition(model, trail, sets)
        if update is None:
            return
        model.apply_update(update)
        if trail.note(model, update):
            return
    trail.stopped = "max_features"


def floating(
    model: Model, trail: Trail, sets: Constraints, *, epsilon: float | None = None
) -> None:
    """Add the best feature, then drop while that costs less than half of what the step gained.

    Paper 002, Algorithm 1, which stops when an addition gains less than ``epsilon``. Without
    ``epsilon`` the search goes on as far as it may; beyond the minimum, where additions no longer
    gain anything, a feature is dropped only if that beats the best set known of the smaller size.
    """
    gains, made = _so_far(trail, sets)
    while True:
        while leaving := sets.leaving(model.chosen):
            k = len(model.chosen)
            gain = gains.get(k, 0.0)
            below = model.error + 0.5 * gain if gain > 0 else np.inf
            removal = model.find_best_update("drop", leaving, below)
            if removal is None:
                break
            both = sets.units(model.chosen), sets.without(model.chosen, removal.feature)
            smaller = trail.steps.get(k - removal.count)
            if both in made or not _worthwhile(removal, model, gain, smaller):
                break
            made.add(both)
            model.apply_update(removal)
            if trail.note(model, removal):
                return
        if len(model.chosen) >= sets.most:
            trail.stopped = "max_features"
            return
        before = model.error
        update = _addition(model, trail, sets)
        if update is None:
            return
        if epsilon is not None and before - update.error < epsilon:
            trail.stopped = "epsilon"
            return
        model.apply_update(update)
        gains[len(model.chosen)] = before - model.error
        if trail.note(model, update):
            return


Units = frozenset[int]


def _so_far(trail: Trail, sets: Constraints) -> tuple[dict[int, float], set[tuple[Units, Units]]]:
    """From the updates so far: what the last addition to each size gained, and the removals made.

    A removal is not made twice from the same set, even if rounding makes it look worth while.
    """
    gains: dict[int, float] = {}
    made: set[tuple[Units, Units]] = set()
    error = trail.first_error
    for update, before, after in trail.history():
        if update.action == "add":
            gains[len(after)] = error - update.error
        else:
            made.add((sets.units(before), sets.units(after)))
        error = update.error
    return gains, made


def _worthwhile(removal: Update, model: Model, gain: float, smaller: Step | None) -> bool:
    """Whether a removal costs less than half the gain and beats the best set of that size."""
    loss = removal.error - model.error
    least = model.empty_error
    better = smaller is None or limit(removal.error, least) < smaller.error
    return better and (gain <= 0 or loss <= 0.5 * gain)


def backward(model: Model, trail: Trail, sets: Constraints) -> None:
    """Drop the feature that is missed least, from all candidates down to the forced ones.

    Every removal keeps to the sets that came before, so small models are as good as the larger
    ones they come from; starting from all features costs one addition each.
    """
    while leaving := sets.leaving(model.chosen):
        update = model.find_best_update("drop", leaving)
        if update is None:
            trail.stopped = "nothing to drop"
            return
        model.apply_update(update)
        if trail.note(model, update):
            return
    trail.stopped = "min_features"


def with_swaps(model: Model, trail: Trail, sets: Constraints) -> None:
    """Add the best feature, then exchange one chosen for one other feature while that helps."""
    met = _met(trail, sets)
    halfway = bool(trail.updates) and trail.updates[-1].action == "drop"
    if halfway and _complete(model, trail, sets, met):
        return
    while True:
        if _exchange(model, trail, sets, met):
            return
        if len(model.chosen) >= sets.most:
            trail.stopped = "max_features"
            return
        update = _addition(model, trail, sets)
        if update is None:
            return
        model.apply_update(update)
        met = {sets.units(model.chosen)}
        if trail.note(model, update):
            return


def _exchange(model: Model, trail: Trail, sets: Constraints, met: set[Units]) -> bool:
    """Make the best exchange while there is one that helps; return whether to stop.

    It must lower the criterion by more than rounding does, and lead to a set that was not ``met``
    since the last addition (before that, sets had fewer units), so that there is an end.
    Exchanges are tried on copies, so that the model is the same whatever was tried.
    """

    def clearly_below(error: float) -> float:
        return error * (1 - SWAP_GAIN) - TIE_FLOOR * model.empty_error

    while not model.vanished:
        best: tuple[Update, Update, Model, list[int]] | None = None
        least = clearly_below(model.error)
        for feature in sets.first_of_each(sets.leaving(model.chosen)):
            trial, drop = model.duplicate(), Update("drop", feature, np.nan)
            trial.apply_update(drop)
            others = sets.entering(trial.chosen, but=[feature])
            update = trial.find_best_update("add", others)
            if update is None or not update.error < least:
                continue
            if sets.with_feature(trial.chosen, update.feature) in met:
                continue
            if best is None or update.beats(best[1], SWAP_GAIN):
                best = drop, update, trial, others
        if best is None:
            return False
        drop, update, trial, others = best
        if trail.refuses(trial, update, others):
            return True
        model.apply_update(drop)
        if trail.note(model, drop, whole=False) or _complete(model, trail, sets, met):
            return True
    return False


def _complete(model: Model, trail: Trail, sets: Constraints, met: set[Units]) -> bool:
    """Make the second half of an exchange, after the drop; return whether to stop."""
    others = sets.entering(model.chosen, but=[trail.updates[-1].feature])
    update = model.find_best_update("add", others)
    if update is None:
        return False
    model.apply_update(update)
    met.add(sets.units(model.chosen))
    return trail.note(model, update)


def _met(trail: Trail, sets: Constraints) -> set[Units]:
    """From the updates so far: the sets met since the last addition that was no exchange."""
    met, halfway = {sets.units(trail.start)}, False
    for update, _, after in trail.history():
        if update.action == "add":
            met = {*(met if halfway else ()), sets.units(after)}
        halfway = update.action == "drop"
    return met


def _addition(model: Model, trail: Trail, sets: Constraints) -> Update | None:
    """The best addition, or None with the reason noted."""
    if model.vanished:
        trail.stopped = "residuals vanished" if model.empty_error > 0 else "target vanished"
        return None
    entering = sets.entering(model.chosen)
    update = model.find_best_update("add", entering)
    if update is None:
        trail.stopped = sets.obstacle(model.chosen)
    elif trail.refuses(model, update, entering):
        return None
    return update


SWAP_GAIN = 1e-9  # relative gain that makes an exchange worth while
SEARCHES: dict[str, Callable[..., None]] = {
    "forward": forward,
    "floating": floating,
    "backward": backward,
    "swap": with_swaps,
}
