"""What a search has done: the best model of each size, its moves, and when to stop.

The rules that end a search (``stopping.py``) are functions of the trail; a rule may also be asked
before an addition.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.base import Stop, Trail
from sparsepath.path.steps import Move, Step, exchanged
from sparsepath.rls.leave_one_out.forward_path import ForwardPath
from sparsepath.rls.model import Model, ReadableModel
from sparsepath.rls.update import Update, limit


class SearchTrail(Trail):
    """What a search has done so far: the best model of each size, the moves, the time.

    ``updates`` are as they were made, a group of columns one and an exchange two, ``moves`` column
    by column. ``errors`` has the criterion where the search set out and after every whole update:
    after an exchange, not in the middle of it. ``start`` are the features the model began with,
    those that are forced, or all if it goes backward, and ``first_error`` is their criterion;
    ``size`` is that of the model now. ``passed`` is the last model that may not be on the path, as
    long as none was met that may; ``form`` says in which form the search was run, and why.

    """

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[Update] = []
        self.errors: list[float] = []
        self.start: tuple[int, ...] = ()
        self.form = ""
        self.size = 0
        self.first_error = np.inf
        self.passed: Step | None = None
        self.certificate: dict[str, Any] = {}
        self._chosen: list[int] = []
        self.equip()
        self.hold_to(None)

    def equip(
        self,
        watch: Callable[["SearchTrail"], object] | None = None,
        rules: Sequence["Rule"] = (),
        backward: bool = False,
    ) -> None:
        """Set the callbacks.

        ``watch`` is called with the trail after every update, and a true value stops the search;
        ``rules`` are asked after every whole update, and the first that gives a reason stops it.
        ``backward`` says that sizes go down.
        """
        self._watch, self._rules, self.backward = watch, rules, backward

    def hold_to(self, admits: Callable[[Sequence[int]], bool] | None) -> None:
        """Say which sets may be on the path; None: all."""
        self._admits = admits

    def begin(self, model: ReadableModel) -> None:
        """Record the model that the search begins with."""
        self.start, self.first_error = tuple(model.chosen), model.error
        self._chosen = list(model.chosen)
        self._record(model, ())

    def set_out(self, model: ReadableModel) -> None:
        """From here on the search decides, and rules count."""
        self.errors = [model.error] if self.steps else []

    def note(
        self,
        model: ReadableModel,
        update: Update,
        *,
        seconds: float | None = None,
        whole: bool = True,
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
        """Report an update to the watcher and, if complete, the rules; return whether to stop."""
        asked = whole and bool(self._best)
        if self._watch is not None and self._watch(self):
            self.stopped = Stop.ASKED
        elif asked:
            self.stopped = next(filter(None, (rule(self) for rule in self._rules)), "")
        else:
            self.stopped = ""
        return bool(self.stopped)

    def _record(self, model: ReadableModel, moves: Sequence[Move]) -> None:
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
        for array in arrays:
            array.setflags(write=False)
        step = Step.found(tuple(model.chosen), *numbers, *arrays)
        self.enter(moves, step if may else None)
        self.passed = None if may else step

    def take(self, found: ForwardPath, earlier: Sequence[Move] = ()) -> bool:
        """Record what was found beyond what is known; return whether the search should stop.

        ``earlier`` are moves of a run before this one.
        """
        begin, errors = len(self.errors), found.errors.tolist()
        subset, errors_se = found.subset.tolist(), found.errors_se.tolist()
        coefs, intercepts = found.coef, found.intercept
        coefs.setflags(write=False)
        intercepts.setflags(write=False)
        decided = self._watch is None and not self._rules  # nobody can end it
        for k in range(begin, len(errors)):
            error = errors[k]
            step = Step.found(tuple(subset[:k]), error, errors_se[k], coefs[k, :k], intercepts[k])
            self.errors.append(error)
            self.size, self._chosen = k, subset[:k]
            if not k:
                self.first_error = error
                self.enter((), step)
                continue
            seconds = self._clock(earlier[k - 1].seconds if k <= len(earlier) else None)
            self.updates.append(Update("add", subset[k - 1], error, 1))
            self.enter((Move("add", subset[k - 1], error, seconds),), step)
            if not decided and self._ended(whole=True):
                return True
        return False

    @property
    def judges_additions(self) -> bool:
        """Whether a rule is asked before an addition."""
        return any(getattr(rule, "before", None) is not None for rule in self._rules)

    def refuses(self, model: Model, update: Update, candidates: NDArray[np.intp]) -> bool:
        """Whether a rule ends the search before this addition."""
        judges = filter(None, (getattr(rule, "before", None) for rule in self._rules))
        said = (before(self, model, update, candidates) for before in judges)
        self.stopped = next(filter(None, said), "")
        return bool(self.stopped)

    def duplicate(self) -> Self:
        """A copy that goes its own way."""
        best, moves = dict(self._best), self.moves
        other = copy.copy(self)
        other._best, other._moves = best, moves
        other.updates, other.errors = list(self.updates), list(self.errors)
        return other

    def record(self) -> dict[str, Any]:
        """What a path says of the search beside its steps and moves."""
        said = {"form": self.form, "certificate": self.certificate}
        return {name: value for name, value in said.items() if value}

    def apart(self) -> Self:
        """A copy that goes its own way and that nobody watches."""
        other = self.duplicate()
        other._watch = None
        return other

    def history(self) -> Iterator[tuple[Update, frozenset[int], frozenset[int]]]:
        """Every update, with the columns before and after it."""
        after, moves = frozenset(self.start), iter(self.moves)
        for update in self.updates:
            before, after = after, after ^ {m.feature for m in islice(moves, update.count)}
            yield update, before, after


Rule = Callable[[SearchTrail], str | None]
