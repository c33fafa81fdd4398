r"""Grafting as the paper states it: one weight at a time, for a criterion with L0.

F, the free weights, starts with the intercept alone. At each step (section 3.2):

1. the gradient of the mean loss is taken for every weight outside F. A weight whose gradient is at
most
   l1_j cannot lower the criterion; if all are such, the procedure ends (the test of Omega_1);
2. of the others one is chosen: that of the largest gradient less l1_j, or that which minimises
   the estimate (9) of the change of C,

       l0_j - |w| (|g_j| - l1_j - l2_j |w|),        w the weight that was added last,

   where the L0 costs differ (``selection="auto"``). At the first step there
   is no w: the gradient decides;
3. it joins F and C is minimised over F (``update="all"``), or over it and the intercept alone
   ("newest", section 3.4: faster steps, no optimum);
4. if C, L0 included, did not fall, the step is undone and the procedure ends (``stop="first"``), or
   the next best weight is tried until none is left (``stop="exhaust"``);
5. weights that came back to zero leave F and stop counting in L0.

C falls at every step that is kept, so no set of free weights comes twice and the procedure ends.
Ties go to the lowest index; gradients that agree to ``TIED`` of the largest count as tied.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from sparsepath.base import Stop
from sparsepath.grafting.criterion import Penalty, row_norms
from sparsepath.grafting.engines import Engine
from sparsepath.grafting.steps import Indices
from sparsepath.path.steps import Move
from sparsepath.system.arrays import Floats

STOPS = ("first", "exhaust")
TIED = 1e-11
FALL = 1e-12  # relative fall of C below which it did not fall


@dataclass(eq=False, repr=False, kw_only=True)
class GraftingOptions:
    """Solver options; the estimators document them."""

    selection: str = "auto"
    stop: str = "first"
    update: str = "all"
    steps: str = "auto"
    max_features: int | None = None
    tol: float = 1e-9


def is_single(options: GraftingOptions, penalty: Penalty) -> bool:
    """Return whether weights are added one at a time."""
    return options.max_features is not None or is_stepwise(options, penalty)


def is_stepwise(options: GraftingOptions, penalty: Penalty) -> bool:
    """Return the same for a path over l1, where ``max_features`` alone does not require it."""
    return options.steps == "single" or bool(penalty.l0.any()) or options.update == "newest"


def of_each_l1(options: GraftingOptions, penalty: Penalty) -> GraftingOptions:
    """Return the options of each model on a path over l1.

    A path of optima is not limited one by one: it ends before the first that has more than
    ``max_features``.
    """
    return options if is_stepwise(options, penalty) else replace(options, max_features=None)


@dataclass(frozen=True)
class Graft:
    """One line of the history: what was done, the criterion after it, the gradient before.

    ``gradient`` is the size of the loss gradient of the weight that was tried; NaN for a drop.
    """

    step: int
    action: Literal["add", "drop", "undo"]
    feature: int
    criterion: float
    gradient: float


@dataclass(frozen=True, eq=False)
class WorkingModel:
    """The weights of one subset: rows of W in the order of ``features``."""

    features: tuple[int, ...]
    W: Floats
    b: Floats
    criterion: float
    loss: float


@dataclass(eq=False)
class Record:
    """Result of a procedure: best model per size, moves, history, and why it ended.

    The errors of the moves are mean losses.
    """

    models: dict[int, WorkingModel] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    history: list[Graft] = field(default_factory=list)
    stopped: str = ""
    _start: float = field(default_factory=time.perf_counter)

    @property
    def best(self) -> WorkingModel:
        """The model of least criterion."""
        return min(self.models.values(), key=lambda model: model.criterion)

    def note(self, model: WorkingModel) -> None:
        """Keep the model if it is the best of its size so far."""
        known = self.models.get(len(model.features))
        if known is None or model.criterion < known.criterion:
            self.models[len(model.features)] = model

    def move(
        self,
        action: Literal["add", "drop"],
        feature: int,
        criterion: float,
        loss: float,
        gradient: float = np.nan,
        step: int | None = None,
    ) -> None:
        """Write down that a feature came in or left, and the criterion and its loss after it."""
        self.moves.append(Move(action, feature, loss, time.perf_counter() - self._start))
        number = self.history[-1].step if step is None else step
        self.history.append(Graft(number, action, feature, criterion, gradient))


def choose_weight(
    sizes: Floats, penalty: Penalty, candidates: Indices, last: float, selection: str
) -> int:
    """The feature to try next among the ``candidates`` (indices); see step 2 of the module's notes.

    ``sizes`` are those of the loss gradients, ``last`` is that of the weight added last, 0 if none.
    """
    gains = sizes[candidates] - penalty.l1[candidates]
    if selection == "bound" and last > 0.0:
        scores = penalty.l0[candidates] - last * (gains - penalty.l2[candidates] * last)
    else:
        scores = -gains
    slack = TIED * float(np.abs(scores).max())
    return int(candidates[np.argmax(scores <= scores.min() + slack)])


def graft(
    engine: Engine,
    penalty: Penalty,
    options: GraftingOptions,
    scale: float,
    record: Record,
    watch: Callable[[], bool] | None = None,
) -> None:
    """Run the procedure from the empty model; the engine is left at the last model.

    The engine is at the empty model with the intercept at its best; ``scale`` is the largest
    gradient there, to which ``tol``, the violation left by each optimisation, is relative.
    ``watch`` is called after every step that is kept, and a true value ends the procedure.
    ``record`` is an empty one to write to, so that the models are known if an exception ends it.
    """
    selection, tol = options.selection, options.tol
    if selection == "auto":
        selection = "gradient" if np.ptp(penalty.l0) == 0.0 else "bound"
    usable = engine.design.usable
    limit = engine.design.n if options.max_features is None else options.max_features
    free: list[int] = []
    tried = np.zeros(engine.design.n, dtype=bool)
    last = 0.0
    here = _criterion(engine, penalty)
    record.note(_model(engine, free, here))
    step = 0
    gradient = engine.gradient()
    while True:
        if len(free) >= limit:
            record.stopped = Stop.MAX_FEATURES
            break
        sizes = row_norms(gradient)
        open_ = usable & ~tried & (sizes - penalty.l1 > tol * scale)
        open_[free] = False
        candidates = np.flatnonzero(open_)
        if not len(candidates):
            record.stopped = Stop.NO_WEIGHT if tried.any() else Stop.OPTIMAL
            break
        step += 1
        j = choose_weight(sizes, penalty, candidates, last, selection)
        before = (engine.W, engine.b, engine.F)
        engine.move_to(*before)
        movable = np.array([*free, j] if options.update == "all" else [j], dtype=np.intp)
        engine.optimise(movable, penalty, 0.1 * tol * scale)
        engine.settle_intercept()
        there = _criterion(engine, penalty)
        if not there < here - FALL * abs(here):
            engine.W, engine.b, engine.F = before
            record.history.append(Graft(step, "undo", j, there, float(sizes[j])))
            if options.stop == "first":
                record.stopped = Stop.RISES
                break
            tried[j] = True
            continue
        here = there
        tried[:] = False
        last = float(np.sqrt((engine.W[j] ** 2).sum()))
        loss = engine.loss_term()
        record.move("add", j, here, loss, float(sizes[j]), step)
        free.append(j)
        for i in [i for i in free if not engine.W[i].any()]:
            free.remove(i)
            record.move("drop", i, here, loss)
        record.note(_model(engine, free, here))
        if watch is not None and watch():
            break
        gradient = engine.gradient()


def _criterion(engine: Engine, penalty: Penalty) -> float:
    return engine.loss_term() + penalty.value(engine.W)


def _model(engine: Engine, free: list[int], criterion: float) -> WorkingModel:
    return WorkingModel(tuple(free), engine.W[free], engine.b.copy(), criterion, engine.loss_term())
