"""An estimator of sparse least squares fitted to data that are read in passes."""

import copy
import dataclasses
from typing import Any

import numpy as np

from sparsepath.data.sources import Source, open
from sparsepath.errors import InputError
from sparsepath.judging.honest import attach, told
from sparsepath.path import CUT, SelectionPath
from sparsepath.rls.parameters import refuse_wide, warn_still, warn_without_se
from sparsepath.rls.paths import Task, finish, run
from sparsepath.rls.search import Trail
from sparsepath.rls.streamed import fitting
from sparsepath.rls.streamed.design import StreamDesign
from sparsepath.rls.streamed.folds import CellSums
from sparsepath.running import validation


def fit_source(
    estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, classifier: bool
) -> Any:
    """The whole of ``fit`` for a source, or for what can be opened as one."""
    source: Source = open(X, y, weights=sample_weight) if not isinstance(X, Source) else X
    if y is not None and source is X:
        raise InputError("a source has its target: y must be None; give open(..., target=...).")
    if groups is not None:
        raise InputError("groups of samples need data in memory; leave them out, or use cv=5.")
    estimator._check_parameters()
    loss = estimator._criterion
    if loss.pairs:
        raise InputError(f"loss={loss.name!r} compares pairs of samples and needs data in memory.")
    names = _names(estimator, source)
    with source.crew(estimator.n_threads) as crew:
        coding = fitting.coding_of(source, crew, classifier)
        if classifier:
            estimator.classes_ = coding.classes
        asked = estimator.validation
        if isinstance(asked, str) and asked == "auto" and not validation.BY_DEFAULT:
            asked = None
        given = estimator.cv, asked, source, crew, coding, estimator._n_folds
        parting = fitting.parting_of(*given)
        if parting.tests is not None and not loss.by_sums:
            raise InputError(
                f"loss={loss.name!r} over folds needs data in memory; use cv='loo', or "
                "loss='squared'."
            )
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
        task = estimator._task(None, None, None, names, design)
        task = dataclasses.replace(task, splits=parting.splits)
        nothing = np.zeros((0, len(design.y_mean)))  # targets stay with their rows
        alphas = estimator._alphas(design, None, task.candidates)
        sums = fitting.sums_for(design, parting)
        if sums is not None and estimator.search != "backward":
            candidate = np.isin(np.arange(design.n_features), task.candidates)
            warn_still(candidate & sums.still(min(alphas)), names)
        paths: dict[float, SelectionPath] = {}
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=source, y=None)
        for alpha in alphas:
            about = estimator._about(alpha, names)
            checkpoint = estimator._checkpoint(alpha, len(alphas))
            watch = estimator._watch(context, design, task, nothing, about)
            trail = run(design, nothing, alpha, task, watch=watch, checkpoint=checkpoint, sums=sums)
            paths[alpha] = finish(trail, design, task, nothing, names=names, **about)
            if trail.stopped in CUT:
                break
        settled = copy.copy(estimator)
        settled._settle(dict(paths))
        settled.honest_ = None
        found = None
        if asked is not None and all(path.complete for path in paths.values()):

            def search(without: StreamDesign, sums: CellSums | None) -> Trail:
                return _best(without, alphas, task, sums)

            found = fitting.honest(design, parting, loss, search, settled.path_.sizes)
    if found is not None:
        path = attach(settled.path_, found)
        settled.honest_ = told(found, path.settle(estimator.choose), estimator.choose)
        settled.path_ = settled.paths_[settled.alpha_] = path
        settled._take(settled.honest_.size)
    estimator.__dict__.update(vars(settled))
    if estimator.honest_ is None:
        warn_without_se(estimator.choose, estimator.paths_, task.criterion)
    context.call_on_fit_task_end(estimator=estimator, X=source, y=None)
    return estimator


def _names(estimator: Any, source: Source) -> Any:
    estimator.n_features_in_ = source.n_features
    if source.names is None:
        vars(estimator).pop("feature_names_in_", None)
        return None
    estimator.feature_names_in_ = np.array(source.names, dtype=object)
    return estimator.feature_names_in_


def _best(design: StreamDesign, alphas: Any, task: Task, sums: CellSums | None) -> Trail:
    """The search with every penalty; the one with the least error."""
    nothing = np.zeros((0, len(design.y_mean)))
    trails = [run(design, nothing, alpha, task, sums=sums) for alpha in alphas]
    return min(trails, key=lambda trail: min(step.error for step in trail.steps.values()))
