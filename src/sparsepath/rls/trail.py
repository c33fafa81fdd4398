"""What a search has done: the best model of each size, its moves, and when to stop.

A search knows its model by the questions of ``Model``. The trail asks the rules that end a search
(``stopping.py``): functions of the trail, which may also be asked before an addition.
"""

import copy
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.listed import AddingMoves, Nested
from sparsepath.rls.leave_one_out.numbers import Whole
from sparsepath.rls.update import Update, limit
from sparsepath.rls.wrappers.wrapped import Readable
from sparsepath.running import Stop, Trail
from sparsepath.steps import Move, Step, exchanged

# What follows of a path that was found all at once.
WRITTEN = ("_best", "_moves", "_seen", "_chosen", "updates", "errors", "size")


class Model(Readable, Protocol):
    """What a search needs to know of the model it changes."""

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None: ...
    def apply_update(self, update: Update) -> None: ...


class Stated(Protocol):
    """What is written down of a model."""

    @property
    def chosen(self) -> list[int]: ...
    @property
    def error(self) -> float: ...
    @property
    def empty_error(self) -> float: ...
    def standard_error(self) -> float: ...
    def coef(self) -> Floats: ...
    def intercept(self) -> Floats: ...


@runtime_checkable
class Exchanging(Protocol):
    """A model that can tell which exchanges are not worth a trial."""

    def may_exchange(
        self, feature: int, others: Callable[[], Iterable[int]], below: float
    ) -> bool: ...


class SearchTrail(Trail):
    """What a search has done so far: the best model of each size, the moves, the time.

    ``updates`` are as they were made, a group of columns one and an exchange two, ``moves`` column
    by column. ``errors`` has the criterion where the search set out and after every whole update:
    after an exchange, not in the middle of it. ``start`` are the features the model began with,
    those that are forced, or all if it goes backward, and ``first_error`` is their criterion;
    ``size`` is that of the model now. ``passed`` is the last model that may not be on the path, as
    long as none was met that may; ``form`` says in which form the search was run, and why.

    A path that was found all at once, and of which nobody has to be told step by step, is kept as
    the arrays that it is. What follows of it is written down when it is asked for.
    """

    _once: "tuple[Whole, float] | None" = None  # such a path, and the time when it was found

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[Update] = []
        self.errors: list[float] = []
        self.start: tuple[int, ...] = ()
        self.form = ""
        self.size = 0
        self.first_error = np.inf
        self.passed: Step | None = None
        self._chosen: list[int] = []
        self.equip()
        self.hold_to(None)

    def equip(
        self,
        watch: Callable[["SearchTrail"], object] | None = None,
        rules: Sequence["Rule"] = (),
        backward: bool = False,
    ) -> None:
        """Say who is told and asked.

        ``watch`` is called with the trail after every update, and a true value stops the search;
        ``rules`` are asked after every whole update, and the first that gives a reason stops it.
        ``backward`` says that sizes go down.
        """
        self._watch, self._rules, self.backward = watch, rules, backward

    def hold_to(self, admits: Callable[[Sequence[int]], bool] | None) -> None:
        """Say which sets may be on the path; None: all."""
        self._admits = admits

    def __getattr__(self, name: str) -> Any:
        if name not in WRITTEN or self._once is None:
            raise AttributeError(f"a trail has no {name}")
        found, seconds = self._once
        trail = SearchTrail()
        trail._write_down(found, [seconds] * len(found.subset))
        vars(self).update({name: vars(trail)[name] for name in WRITTEN}, _once=None)
        return vars(self)[name]

    def record(self) -> tuple[Sequence[Step], Sequence[Move]]:
        """The best step of each size, and the moves."""
        if self._once is None:
            return list(self.steps.values()), self.moves
        found, seconds = self._once
        subset = tuple(found.subset.tolist())
        arrays = found.errors, found.errors_se, found.coef, found.intercept
        return Nested(subset, *arrays), AddingMoves(subset, found.errors, seconds)

    def begin(self, model: Stated) -> None:
        """Record the model that the search begins with."""
        self.start, self.first_error = tuple(model.chosen), model.error
        self._chosen = list(model.chosen)
        self._record(model, ())

    def set_out(self, model: Stated) -> None:
        """From here on the search decides, and rules count."""
        self.errors = [model.error] if self.steps else []

    def note(
        self, model: Stated, update: Update, *, seconds: float | None = None, whole: bool = True
    ) -> bool:
        """Record where the model is after an update; return whether the search should stop.

        ``whole`` is false in the middle of an exchange and while a start set is put together: then
        no rule is asked. ``seconds`` are those of an earlier run that made the same update.
        """
        seconds = self._clock(seconds)
        made = exchanged(list(self._chosen), model.chosen)
        moves = [Move(*move, model.error, seconds) for move in made]
        self.updates.append(Update(update.action, update.feature, model.error, len(moves)))
        self._chosen = list(model.chosen)
        self._record(model, moves)
        if whole and self._best:
            self.errors.append(model.error)
        return self._ended(whole)

    def _clock(self, seconds: float | None) -> float:
        """The time of an update: now, or that of an earlier run."""
        if seconds is None:
            return self.seconds
        self._began = min(self._began, time.perf_counter() - seconds)
        return seconds

    def _ended(self, whole: bool) -> bool:
        """Tell the watcher of an update and, if it is a whole one, the rules; whether to stop."""
        asked = whole and bool(self._best)
        if self._watch is not None and self._watch(self):
            self.stopped = Stop.ASKED
        elif asked:
            self.stopped = next(filter(None, (rule(self) for rule in self._rules)), "")
        else:
            self.stopped = ""
        return bool(self.stopped)

    def _record(self, model: Stated, moves: Sequence[Move]) -> None:
        """Keep the model if it is the best of its size and may be on the path."""
        self.size = size = len(model.chosen)
        may = self._admits is None or self._admits(model.chosen)
        known = self._best.get(size)
        wanted = may or not self._best
        better = known is None or limit(model.error, model.empty_error) < known[0].error
        if not (wanted and better):
            self.enter(moves)
            return
        numbers = float(model.error), float(model.standard_error())
        arrays = np.array(model.coef()), np.array(model.intercept())
        step = Step.found(tuple(model.chosen), *numbers, *arrays)
        self.enter(moves, step if may else None)
        self.passed = None if may else step

    def take(self, found: Whole, earlier: Sequence[Move] = ()) -> bool:
        """Record what was found beyond what is known, and tell of it step by step.

        ``earlier`` are moves of a run before this one. Return whether the search should stop.
        """
        asked = any(getattr(rule, "judges_moves", True) for rule in self._rules)
        told = self._watch is not None or asked
        if told or earlier or self.errors:
            return self._write_down(found, [move.seconds for move in earlier], told)
        self.first_error, self._once = float(found.errors[0]), (found, self.seconds)
        for name in WRITTEN:
            del vars(self)[name]
        return False

    def _write_down(self, found: Whole, earlier: Sequence[float], told: bool = False) -> bool:
        """Record what was found step by step, and tell of it if somebody is to be ``told``."""
        begin = len(self.errors)
        subset, errors, errors_se = found.subset.tolist(), found.errors.tolist(), found.errors_se
        coef, intercept = found.coef[begin:].copy(), found.intercept[begin:].copy()
        for k, error_se in enumerate(errors_se[begin:].tolist(), begin):
            chosen, error = subset[:k], errors[k]
            arrays = coef[k - begin, :k], intercept[k - begin]
            step = Step.found(tuple(chosen), error, error_se, *arrays)
            self.errors.append(error)
            self.size, self._chosen = k, chosen
            if not k:
                self.first_error = error
                self.enter((), step)
                continue
            seconds = self._clock(earlier[k - 1] if k <= len(earlier) else None)
            self.updates.append(Update("add", chosen[-1], error, 1))
            self.enter((Move("add", chosen[-1], error, seconds),), step)
            if told and self._ended(whole=True):
                return True
        return False

    def refuses(self, model: Model, update: Update, candidates: Sequence[int]) -> bool:
        """Whether a rule ends the search before this addition."""
        judges = filter(None, (getattr(rule, "before", None) for rule in self._rules))
        said = (before(self, model, update, candidates) for before in judges)
        self.stopped = next(filter(None, said), "")
        return bool(self.stopped)

    def duplicate(self) -> Self:
        """A copy that goes its own way."""
        best, moves = dict(self._best), self.moves  # which are written down now, if not before
        other = copy.copy(self)
        other._best, other._moves = best, moves
        other.updates, other.errors = list(self.updates), list(self.errors)
        return other

    def history(self) -> Iterator[tuple[Update, frozenset[int], frozenset[int]]]:
        """Every update, with the columns before and after it."""
        after, moves = frozenset(self.start), iter(self.moves)
        for update in self.updates:
            before, after = after, after ^ {m.feature for m in islice(moves, update.count)}
            yield update, before, after


Rule = Callable[[SearchTrail], str | None]
