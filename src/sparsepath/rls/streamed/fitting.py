"""From a source to a fitted estimator: what is read first, the search, the honest errors."""

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from sparsepath.data.crew import Crew
from sparsepath.data.listing import groups_of, in_order, labels_listed
from sparsepath.data.moments import Cells, Coding, Sums, coding_of, read_centred
from sparsepath.data.opening import taken
from sparsepath.data.sources import Source
from sparsepath.errors import InputError, warn_user
from sparsepath.judging import validation
from sparsepath.judging.by_fold import (
    Models,
    left_out_by_fold,
    linear_models,
    losses_by_pass,
    number_of_folds,
    squared_losses,
)
from sparsepath.judging.honest import Honest
from sparsepath.judging.left_out import LeftOut
from sparsepath.path import SelectionPath
from sparsepath.rls.asking import Asked, refuse_overflows, warn_still
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.driver import run as search_for
from sparsepath.rls.paths import RLSProblem
from sparsepath.rls.splits.asked import Splits, read_splits
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.folds import CellSums, nested
from sparsepath.rls.task import Task
from sparsepath.rls.trail import SearchTrail
from sparsepath.running import Given

GRAM_OF_MEMORY = 0.25  # part of the memory that products of all columns may take
DEFAULT_MEMORY = 2.0**31
MOST_CELLS = 256
NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Parting:
    """How rows are parted: cells, and which of them every split trains on and tests.

    ``folds`` says that every cell is tested once on the model of all others.
    """

    cells: Cells
    trains: NDArray[np.bool_] | None
    tests: NDArray[np.bool_] | None
    label: str
    folds: bool

    @property
    def splits(self) -> Splits | None:
        """For the name of the criterion; the rows themselves are not listed."""
        return None if self.tests is None else Splits((), self.label)


def parting_of(
    cv: Any,
    validation: Any,
    source: Source,
    crew: Crew,
    coding: Coding,
    n_folds: int,
    groups: NDArray[Any] | None = None,
) -> Parting:
    """The cells that the search's own splits, or the folds of the validation, ask for."""
    m, classifier = source.n_samples, coding.classes is not None
    singly = isinstance(cv, str) and cv == "loo"
    if singly and groups is not None and (count := len(np.unique(groups))) > MOST_CELLS:
        raise InputError(
            f"cv='loo' leaves out each of {count} groups, and data that are read in passes have at "
            f"most {MOST_CELLS} parts; use cv=10, which makes folds of whole groups."
        )
    if singly and groups is None:
        if validation is None:
            return Parting(Cells(), None, None, "", False)
        count = number_of_folds(validation, n_folds, m)
        return Parting(Cells(dealt=True, count=count), None, None, f"{count}-fold", True)
    if validation is not None and validation not in ("auto", cv):
        raise InputError(
            f"validation={validation!r} with cv={cv!r}: data that are read in passes are validated "
            "on the folds of cv; use validation='auto' or None."
        )
    plain = not classifier and groups is None
    if plain and isinstance(cv, (int, np.integer)) and 2 <= int(cv) <= m:
        cv = KFold(int(cv))
    if plain and isinstance(cv, KFold) and not cv.shuffle:
        cells = Cells.folds(m, cv.n_splits)
        eye = np.eye(cv.n_splits, dtype=bool)
        return Parting(cells, ~eye, eye, f"{cv.n_splits}-fold", True)
    labels = in_order(*source.total(crew, NONE, labels_listed))
    thin = np.broadcast_to(np.zeros(1), (m, 1))
    splits = read_splits(cv, thin, labels, groups, classifier=classifier, leave_one_out=False)
    assert splits is not None
    return _from_splits(splits, m)


def _from_splits(splits: Splits, m: int) -> Parting:
    """Cells of any splits: rows that are on the same side of all of them."""
    code = np.zeros(m, dtype=np.int64)
    for train, test in splits:
        side = np.zeros(m, dtype=np.int64)
        for rows, mark in ((train, 1), (test, 2)):
            if len(np.unique(rows)) < len(rows):
                raise InputError("cv: rows that occur several times need data in memory.")
            side[rows] = mark
        known, code = np.unique(code * 3 + side, return_inverse=True)
        if len(known) > MOST_CELLS:
            raise InputError(
                f"cv cuts the rows into more than {MOST_CELLS} cells, whose products would have to "
                "be kept; use fewer splits for data that are read in passes."
            )
    count = int(code.max()) + 1
    trains, tests = np.zeros((2, len(splits), count), dtype=bool)
    for f, (train, test) in enumerate(splits):
        trains[f, code[train]] = True
        tests[f, code[test]] = True
    whole = bool((tests.sum(0) == 1).all() and (trains == ~tests).all() and len(splits) == count)
    if whole:  # the cells in the order of the folds
        code, trains, tests = tests.argmax(0)[code], ~np.eye(count, dtype=bool), np.eye(count) > 0
    cells = Cells(listed=code.astype(np.uint8), count=count)  # it is sent to every part
    return Parting(cells, trains, tests, splits.label, whole)


def read(
    source: Source,
    crew: Crew,
    coding: Coding,
    parting: Parting,
    memory: float | None,
    *,
    fit_intercept: bool,
    standardize: bool,
) -> StreamDesign:
    """The sums over the rows; products of all columns if they fit into memory."""
    limit = GRAM_OF_MEMORY * (DEFAULT_MEMORY if memory is None else memory)
    n, cells = source.n_features, parting.cells
    numbers = 8.0 * n * n * (3 * cells.count + 4)
    if numbers > limit and parting.tests is None and cells.count > 1:
        warn_user(
            f"products of {n} columns for {cells.count} folds do not fit into memory: there is no "
            "honest error, and the size is chosen by the criterion."
        )
        cells, numbers = Cells(), 8.0 * n * n * 7

    def made(sums: Sums) -> StreamDesign:
        told = (sums.moments, sums.counts, sums.marked)
        return StreamDesign(source, crew, coding, cells, *told, fit_intercept, standardize)

    design: StreamDesign = read_centred(source, crew, coding, cells, made, numbers <= limit)
    if not np.any(design.yy > 0):
        raise InputError("y is constant for all samples; there is nothing to select for.")
    return design


def sums_for(design: StreamDesign, parting: Parting) -> CellSums | None:
    """The sums of the splits; None for leave-one-out."""
    if parting.tests is None or parting.trains is None:
        return None
    return CellSums(design, parting.trains, parting.tests)


def has_honest(design: StreamDesign, parting: Parting, loss: Loss) -> bool:
    """Whether there are folds to be left out, and the loss is one of a mean over them."""
    if not parting.folds or design.cells.count < 2:
        return False
    known = isinstance(loss.yardstick, str) and not loss.balanced
    if not known:
        warn_user(
            f"loss={loss.name!r} has no honest error for data that are read in passes, and the "
            "size is chosen by the criterion; loss='squared' has one."
        )
    return known


def honest(
    design: StreamDesign,
    parting: Parting,
    loss: Loss,
    search: Callable[[StreamDesign, CellSums | None], SearchTrail],
    sizes: Sequence[int],
) -> LeftOut | None:
    """The search repeated without every fold, and its errors there."""

    def without(fold: int) -> tuple[Models, None]:
        part = design.without(fold)
        sums = None
        if parting.tests is not None:
            sums = CellSums(part, *nested(design.cells.count, fold))
        return linear_models(search(part, sums).steps), None

    moments, name = design.moments, str(loss.yardstick)
    weights, losses = moments.right[:, -1, -1], squared_losses(moments)
    if not loss.by_sums:
        total = partial(design.source.total, design.crew)
        losses = losses_by_pass(total, design.coding, design.cells, name)
    return left_out_by_fold(without, losses, weights, sizes, parting.label, yardstick=name)


def fit_source(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, classifier: bool
) -> Any:
    """The whole of ``fit`` for a source, or for what can be opened as one."""
    source = taken(X, y, sample_weight)
    loss = estimator._criterion
    asking = Asked(estimator, loss, estimator.cv)
    if loss.pairs:
        raise InputError(f"loss={loss.name!r} compares pairs of samples and needs data in memory.")
    names = source.name_columns(estimator)
    with source.crew(estimator.n_threads) as crew:
        coding = coding_of(source, crew, classifier)
        if classifier:
            estimator.classes_ = coding.classes
        asked = estimator.validation
        if isinstance(asked, str) and asked == "auto" and not validation.BY_DEFAULT:
            asked = None
        together = groups_of(source, crew, groups)
        given = (asked, source, crew, coding, estimator._n_folds, together)
        parting = parting_of(estimator.cv, *given)
        design = read(
            source,
            crew,
            coding,
            parting,
            estimator.memory_budget,
            fit_intercept=estimator.fit_intercept,
            standardize=estimator.standardize,
        )
        refuse_overflows(design, names)
        if not classifier:
            estimator._one_target = len(design.y_mean) == 1
        task = asking.task(None, None, None, design)
        task = dataclasses.replace(task, splits=parting.splits)
        nothing = np.zeros((0, len(design.y_mean)))  # targets stay with their rows
        alphas = estimator._alphas(design, None, task.candidates)
        sums = sums_for(design, parting)
        warn_still(task, sums, alphas)

        def search(without: StreamDesign, sums: CellSums | None) -> SearchTrail:
            """The whole of it without some rows; a penalty that these settle is settled anew."""
            fresh = copy.copy(estimator)._alphas(without, None, task.candidates)
            return _best(without, fresh, task, sums)

        def validate(path: SelectionPath, rule: Any) -> tuple[SelectionPath, Honest | None]:
            if asked is None or not has_honest(design, parting, loss):
                return path, None
            found = validation.judged(path, honest(design, parting, loss, search, path.sizes), rule)
            found[0].data.update(design.record())  # with the passes of the searches without a fold
            return found

        problem = RLSProblem(design, nothing, task, sums)
        run = estimator._searched(Given(source, None), source, nothing, problem, alphas, validate)
        return estimator._settled(run, task)


def _best(design: StreamDesign, alphas: Any, task: Task, sums: CellSums | None) -> SearchTrail:
    """The search with every penalty; the one with the least error."""
    nothing = np.zeros((0, len(design.y_mean)))
    trails = [search_for(design, nothing, alpha, task, sums=sums) for alpha in alphas]
    return min(trails, key=lambda trail: min(step.error for step in trail.steps.values()))
