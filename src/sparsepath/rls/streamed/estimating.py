"""An estimator of sparse least squares fitted to data that are read in passes."""

import copy
import dataclasses
from typing import Any

import numpy as np

from sparsepath.choosing import check_rule
from sparsepath.data.listing import groups_of
from sparsepath.data.moments import coding_of
from sparsepath.data.opening import taken
from sparsepath.errors import InputError
from sparsepath.judging import validation
from sparsepath.judging.by_fold import judged
from sparsepath.judging.honest import Honest
from sparsepath.path import SelectionPath
from sparsepath.rls.asking import Asked
from sparsepath.rls.constraints import marked
from sparsepath.rls.driver import run as search_for
from sparsepath.rls.parameters import refuse_wide, warn_still
from sparsepath.rls.streamed import fitting
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.folds import CellSums
from sparsepath.rls.task import Task
from sparsepath.rls.trail import SearchTrail
from sparsepath.running import Given


def fit_source(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, classifier: bool
) -> Any:
    """The whole of ``fit`` for a source, or for what can be opened as one."""
    source = taken(X, y, sample_weight)
    loss = estimator._criterion
    asking = Asked.of(estimator, criterion=loss)
    asking.check()
    check_rule(estimator.choose)
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
        parting = fitting.parting_of(estimator.cv, *given)
        design = fitting.read(
            source,
            crew,
            coding,
            parting,
            estimator.memory_budget,
            fit_intercept=estimator.fit_intercept,
            standardize=estimator.standardize,
        )
        refuse_wide(design, names)
        if not classifier:
            estimator._one_target = len(design.y_mean) == 1
        task = estimator._task(asking, None, None, None, names, design)
        task = dataclasses.replace(task, splits=parting.splits)
        nothing = np.zeros((0, len(design.y_mean)))  # targets stay with their rows
        alphas = estimator._alphas(design, None, task.candidates)
        sums = fitting.sums_for(design, parting)
        if sums is not None and estimator.search != "backward":
            candidate = marked(task.candidates, design.n_features)
            warn_still(candidate & sums.still(min(alphas)), names)

        def search(without: StreamDesign, sums: CellSums | None) -> SearchTrail:
            """The whole of it without some rows; a penalty that these settle is settled anew."""
            fresh = copy.copy(estimator)._alphas(without, None, task.candidates)
            return _best(without, fresh, task, sums)

        def validate(path: SelectionPath, rule: Any) -> tuple[SelectionPath, Honest | None]:
            if asked is None or not fitting.has_honest(design, parting, loss):
                return path, None
            found = judged(path, fitting.honest(design, parting, loss, search, path.sizes), rule)
            found[0].data.update(design.record())  # with the passes of the searches without a fold
            return found

        run = estimator._searched(
            Given(source, None), source, nothing, nothing, design, task, alphas, sums, validate
        )
        return estimator._settled(run, task)


def _best(design: StreamDesign, alphas: Any, task: Task, sums: CellSums | None) -> SearchTrail:
    """The search with every penalty; the one with the least error."""
    nothing = np.zeros((0, len(design.y_mean)))
    trails = [search_for(design, nothing, alpha, task, sums=sums) for alpha in alphas]
    return min(trails, key=lambda trail: min(step.error for step in trail.steps.values()))
