"""The data of a problem made ready, and the empty model that a task asks for."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.data.blocks import row_blocks
from sparsepath.data.fingerprint import drawn
from sparsepath.data.threads import Threads
from sparsepath.data.turning import turned
from sparsepath.errors import InputError, warn_user
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import Design, is_by_column
from sparsepath.rls.forms import FORMS, TURNED_FROM, Form, default_memory, form_for
from sparsepath.rls.leave_one_out.additions import BoundFinder, EveryFinder
from sparsepath.rls.leave_one_out.elimination import Elimination
from sparsepath.rls.leave_one_out.following import Follower
from sparsepath.rls.leave_one_out.fused import Fused
from sparsepath.rls.leave_one_out.fused_losses import FusedLoss
from sparsepath.rls.leave_one_out.model import Finder, State
from sparsepath.rls.leave_one_out.small import small_loops
from sparsepath.rls.pairs.model import LeavePairOut, PairModel, RankModel
from sparsepath.rls.pairs.queries import DisagreementModel, QuerySums
from sparsepath.rls.splits.asked import Splits, label_of
from sparsepath.rls.splits.blocks import Folds, folds_for
from sparsepath.rls.splits.elimination import FoldElimination
from sparsepath.rls.splits.losses import FoldLossModel
from sparsepath.rls.splits.model import FoldModel
from sparsepath.rls.splits.sums import SplitSums
from sparsepath.rls.stopping import StopRule
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.fold_losses import StreamedFolds
from sparsepath.rls.streamed.folds import CellSums
from sparsepath.rls.streamed.groups import GroupedPasses, StreamedGroups
from sparsepath.rls.streamed.leave_one_out import Streamed
from sparsepath.rls.task import Task
from sparsepath.rls.trail import Model
from sparsepath.rls.wrappers.groups import Grouped
from sparsepath.tuning import TUNING

RESERVED = 128  # features for which there is room from the start


def make_design(
    X: Any,
    weights: Floats,
    threads: Threads,
    *,
    fit_intercept: bool = True,
    standardize: bool = False,
    n_blocks: int | None = None,
    memory: float | None = None,
    measured: tuple[Floats, Floats] | None = None,
) -> Design:
    """The data of a problem, ready for any target, penalty and search.

    Data that do not lie in memory column by column as float64 are turned once, large ones if a copy
    takes no more than ``memory`` bytes (default: a quarter of the machine's), and small ones if the
    loops of ``small.c`` are there to read them.
    """
    limit = default_memory() if memory is None else memory
    loops, marks = small_loops(), None
    if isinstance(X, np.ndarray):
        if X.size >= TURNED_FROM:
            X = turned(X, threads) if 8 * X.size <= limit else X
        elif loops is not None and X.size < TUNING.turned_late_from:
            X = np.asarray(X, dtype=np.float64, order="F")
    blocks = row_blocks(X, n_blocks)
    if measured is None and fit_intercept and loops is not None and len(blocks) == 1:
        few = is_by_column(X) and X.size < TUNING.compiled_pass_from
        if few and (weights == 1.0).all():
            means, squares, marks = loops.measure(X, drawn(0, len(X)))
            measured = means, squares
    return Design(
        blocks,
        weights,
        threads,
        fit_intercept=fit_intercept,
        standardize=standardize,
        measured=measured,
        marks=marks,
    )


def is_plain(design: Design, task: Task) -> bool:
    """Whether a search begins with nothing, goes forward, and every column may come at any time."""
    judging = any(isinstance(rule, StopRule) and rule.judges_additions for rule in task.rules)
    bound = task.forced or task.start or task.parents or task.groups or task.costs or judging
    plain = not task.backward and task.form == "auto"
    plain &= task.queries is None
    return plain and not bound and not design.streamed


def folds_of(design: Design, task: Task) -> Folds | None:
    """The folds that are searched at once by what is left of their test rows, without sums."""
    squared = task.loss.by_sums and not task.loss.pairs
    if task.splits is None or not squared or task.search != "forward":
        return None
    return folds_for(design, task.splits) if is_plain(design, task) else None


def make_sums(design: Design, Y: Floats, task: Task) -> SplitSums | None:
    """The sums of products over the parts of the task's splits, which serve every penalty."""
    if task.splits is None:
        return None
    splits = counted(design, Y, task, quiet=True).splits
    assert splits is not None
    if task.queries is None:
        sums = SplitSums(design, Y, splits, once=task.search == "forward")
    else:
        sums = QuerySums(design, Y, splits, task.queries)
    sums.memory = default_memory() if task.memory is None else task.memory
    return sums


def counted(design: Design, Y: Floats, task: Task, *, quiet: bool = False) -> Task:
    """The task with those splits only whose test part can be judged; a word if some cannot."""
    if task.splits is None:
        return task
    w, one = design.weights, np.zeros(design.n_samples, dtype=np.intp)
    queries = one if task.queries is None else task.queries
    tests = [np.arange(design.n_samples)[np.asarray(test)] for _, test in task.splits]
    needed = task.loss.needs
    counts = [task.loss.can_judge(Y[test], w[test], queries[test]) for test in tests]
    if all(counts) and counts:
        return task
    if not any(counts):
        raise InputError(
            f"cv: none of the {len(counts)} test parts has {needed}; use other splits, shuffled or "
            "stratified ones for instance."
        )
    if not quiet and task.queries is None:  # a query of one sample is no loss
        warn_user(
            f"{len(counts) - sum(counts)} of {len(counts)} test parts do not have {needed} and are "
            "left out; the errors are means over the others."
        )
    splits = Splits(tuple(task.splits), label_of(task.splits))
    return replace(task, splits=splits.only(counts))


def make_model(
    design: Design, Y: Floats, alpha: float, task: Task, sums: SplitSums | None = None
) -> Model:
    """The empty model, judged as the task asks; ``sums`` are those of ``make_sums``, if known."""
    model: State | Fused | Elimination | FoldModel | LeavePairOut | Streamed
    sums = make_sums(design, Y, task) if sums is None else sums
    if task.splits is None or sums is None:
        model = _left_out_singly(design, Y, alpha, task)
    elif task.loss.by_sums:
        plain = task.form == "auto" and not design.streamed
        dropping = task.backward and not task.groups and plain
        kind = FoldElimination if dropping else FoldModel
        model = kind(design, Y, alpha, task.splits, task.pooled, sums)
    elif task.loss.pairs:
        one = np.zeros(design.n_samples, dtype=np.intp)
        queries = one if task.queries is None else task.queries
        model = DisagreementModel(design, Y, alpha, task.pooled, sums, queries)
    elif isinstance(design, StreamDesign):
        assert isinstance(sums, CellSums)
        model = StreamedFolds(design, alpha, task.pooled, _loss(task), sums)
    else:
        model = FoldLossModel(design, Y, alpha, task.splits, task.pooled, _loss(task), sums)
    model.costs = task.costs
    if not task.groups:
        return model
    if isinstance(model, StreamedGroups):
        return GroupedPasses(model, [list(group) for group in task.groups])
    if isinstance(model, StreamedFolds):
        raise InputError(
            f"loss={model.loss.name!r} over folds with feature_groups, or with categories, needs "
            "data in memory; use cv='loo', or loss='squared'."
        )
    if not isinstance(model, State | FoldModel):
        raise InputError("leaving out pairs goes with single columns, not with feature_groups.")
    return Grouped(model, [list(group) for group in task.groups])


def _left_out_singly(
    design: Design, Y: Floats, alpha: float, task: Task
) -> State | Fused | Elimination | LeavePairOut | Streamed:
    """The models without splits: samples, or pairs of samples, are left out one at a time."""
    if isinstance(design, StreamDesign):
        given = design, alpha, _loss(task), task.size
        return StreamedGroups(*given, task.groups) if task.groups else Streamed(*given)
    if task.loss.pairs:  # of classes, or of queries
        coded = task.loss.coded
        return PairModel(design, Y, alpha) if coded else RankModel(design, Y, alpha, task.loss)
    loss = _loss(task)
    if task.backward and loss.bounded and not task.groups and task.form == "auto":
        return Elimination(design, Y, alpha, loss)
    if task.form not in FORMS:
        raise InputError(f"form={task.form!r} is not known; use one of {', '.join(FORMS)}.")
    form = form_for(
        design,
        loss=loss,
        steps=task.size,
        grouped=bool(task.groups),
        asked=task.form,
        memory=task.memory,
    )
    model: State | Fused
    if form.name == "fused" and loss.bounded:
        model = Fused(design, Y, alpha, task.size, form.compiled)
    elif form.name == "fused":
        model = FusedLoss(design, Y, alpha, loss, task.size, form.compiled)
    else:
        finder = _finder(form, task.size)
        if isinstance(finder, Follower) and not task.backward:
            finder.prepare(design)
        model = State(design, Y, alpha, loss, finder)
        model.model.reserve(min(task.size, RESERVED))
    model.form = str(form)
    return model


def _loss(task: Task) -> Loss:
    """The criterion of a task without pairs."""
    assert isinstance(task.loss, Loss)
    return task.loss


def _finder(form: Form, steps: int) -> Finder:
    if form.name == "blocks":
        return EveryFinder()
    return BoundFinder("auto" if form.name == "bounds" else form.name, steps)
