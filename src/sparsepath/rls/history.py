"""Record of a search: the best model of each size, its moves, and stopping.

Stopping rules (``stopping.py``) are functions of the trail; a rule may also be evaluated before an
addition.
"""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.base import Stop, Trail
from sparsepath.path.steps import Move, Step, exchange_columns
from sparsepath.rls.leave_one_out.forward_path import ForwardPath
from sparsepath.rls.model import Model, ReadableModel
from sparsepath.rls.update import Update, limit


class SearchTrail(Trail):
    """Record of a search so far: the best model of each size, the moves, the time.

    ``updates`` count a group of columns as one and an exchange as two; ``moves`` are by column.
    ``errors`` has the criterion at the start and after every complete update (after an exchange,
    not in the middle). ``start`` are the initial features, forced ones or all for a backward
    search, and ``first_error`` is their criterion; ``size`` is that of the current model.
    ``passed`` is the last model that violates the constraints, until one satisfies them; ``form``
    is the engine and the reason for it.
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

        ``watch`` is called with the trail after every update; a true value stops the search.
        ``rules`` are evaluated after every complete update; the first that returns a reason stops
        the search. ``backward`` says that sizes decrease.
        """
        self._watch, self._rules, self.backward = watch, rules, backward

    def hold_to(self, admits: Callable[[Sequence[int]], bool] | None) -> None:
        """Set the constraint on subsets of the path; None: no constraint."""
        self._admits = admits

    def begin(self, model: ReadableModel) -> None:
        """Record the initial model."""
        self.start, self.first_error = tuple(model.chosen), model.error
        self._chosen = list(model.chosen)
        self._record(model, ())

    def set_out(self, model: ReadableModel) -> None:
        """Start to evaluate stopping rules: from here on the search decides."""
        self.errors = [model.error] if self.steps else []

    def note(
        self,
        model: ReadableModel,
        update: Update,
        *,
        seconds: float | None = None,
        whole: bool = True,
    ) -> bool:
        """Record an update; return whether the search should stop.

        ``whole`` is False in the middle of an exchange and while a start set is added: no rule is
        evaluated then. ``seconds`` are those of an earlier run with the same update.
        """
        seconds = self._clock(seconds)
        made = exchange_columns(list(self._chosen), model.chosen)
        moves = [Move(*move, model.error, seconds) for move in made]
        self.updates.append(Update(update.action, update.feature, model.error, len(moves)))
        self._chosen = list(model.chosen)
        self._record(model, moves)
        if whole and self._best:
            self.errors.append(model.error)
        return self._ended(whole)

    def _clock(self, seconds: float | None) -> float:
        """Return the time of an update: now, or that of an earlier run."""
        if seconds is None:
            return self.seconds
        self._began = min(self._began, time.perf_counter() - seconds)
        return seconds

    def _ended(self, whole: bool) -> bool:
        """Report an update to the callback and, if complete, the rules; return whether to stop."""
        asked = whole and bool(self._best)
        if self._watch is not None and self._watch(self):
            self.stopped = Stop.ASKED
        elif asked:
            self.stopped = next(filter(None, (rule(self) for rule in self._rules)), "")
        else:
            self.stopped = ""
        return bool(self.stopped)

    def _record(self, model: ReadableModel, moves: Sequence[Move]) -> None:
        """Keep the model if it is the best of its size and satisfies the constraints."""
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
        """Record new results of a compiled search; return whether the search should stop.

        ``earlier`` are moves of an earlier run.
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
        """Whether a rule is evaluated before additions."""
        return any(getattr(rule, "before", None) is not None for rule in self._rules)

    def refuses(self, model: Model, update: Update, candidates: NDArray[np.intp]) -> bool:
        """Return whether a rule ends the search before this addition."""
        judges = filter(None, (getattr(rule, "before", None) for rule in self._rules))
        said = (before(self, model, update, candidates) for before in judges)
        self.stopped = next(filter(None, said), "")
        return bool(self.stopped)

    def duplicate(self) -> Self:
        """Return an independent copy."""
        best, moves = dict(self._best), self.moves
        other = copy.copy(self)
        other._best, other._moves = best, moves
        other.updates, other.errors = list(self.updates), list(self.errors)
        return other

    def record(self) -> dict[str, Any]:
        """Return the search record for the path, beside steps and moves."""
        said = {"form": self.form, "certificate": self.certificate}
        return {name: value for name, value in said.items() if value}

    def apart(self) -> Self:
        """Return an independent copy without callbacks."""
        other = self.duplicate()
        other._watch = None
        return other

    def history(self) -> Iterator[tuple[Update, frozenset[int], frozenset[int]]]:
        """Yield every update, with the columns before and after it."""
        after, moves = frozenset(self.start), iter(self.moves)
        for update in self.updates:
            before, after = after, after ^ {m.feature for m in islice(moves, update.count)}
            yield update, before, after


Rule = Callable[[SearchTrail], str | None]
