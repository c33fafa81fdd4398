"""``sparsepath select``: build the estimator, fit it, repeat its search as requested.

A table and a source that is read in passes take the same steps.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from sparsepath.assessment import (
    coefficients,
    knockoffs,
    permutation_null,
    selective_p_values,
    stability,
)
from sparsepath.assessment.leaks import Suspect, suspects
from sparsepath.assessment.planning import duration
from sparsepath.assessment.validation import NEIGHBOURS, NEVER_PREDICTED, ON_ROWS_LEFT_OUT
from sparsepath.cli.estimator import EstimatorSpec, SelectionRequest, build
from sparsepath.cli.input import Problem
from sparsepath.cli.output import ProgressBar, say
from sparsepath.cli.values import as_command_line
from sparsepath.data.readers import Table
from sparsepath.errors import InputError
from sparsepath.methods import Method
from sparsepath.methods.auto_selector import summary_of
from sparsepath.methods.target_transform import SCALES
from sparsepath.path.selection_path import SelectionPath
from sparsepath.report import column_remarks, figures
from sparsepath.report.outcome import Outcome, Remark, beneath
from sparsepath.tables.cells import RawTable, naming_the_file

LONG = 6.0  # CPU seconds of a whole search, from which a note says so
MOST_AGAIN = 10 * LONG  # up to which the search is repeated without suspicious columns
CORRELATED = (
    "Warning: neighbouring rows have correlated errors ({:.2f}), so that the error with random "
    "folds is too optimistic"
)
IN_TIME = (
    "; the error is estimated in the order of the rows instead (--validation time). Several rows "
    "per person or site: use --groups COL. --validation 10 keeps random folds."
)
AS_THEY_ARE = (
    ". Rows in time order: use --validation time. Several per person or site: --groups COL."
)


def select(problem: Problem, request: SelectionRequest) -> Outcome:
    """Select features; where columns look like leaks, select once more without them."""
    spec = build(problem, request)
    remarks, suspicious = _look(problem, request, spec)
    _announce(problem, request, spec, remarks)
    outcome = _search(problem, request, spec, remarks)
    certain = tuple(each for each in suspicious if each.is_certain)
    if not suspicious or outcome.interrupted or problem.series is not None:
        return replace(outcome, leaks=certain)
    if _seconds(problem.table.X, spec, request) > MOST_AGAIN:
        return replace(outcome, leaks=certain)
    left = _without(problem, [each.name for each in suspicious])
    again = replace(request, task=outcome.task.name, null=0, halves=0, resamples=0, quiet=True)
    try:
        without = _search(left, again, build(left, again), [])
    except InputError:  # nothing is left to search, or too little
        return replace(outcome, leaks=certain)
    return _with_leaks(outcome, without, suspicious)


def _look(
    problem: Problem, request: SelectionRequest, spec: EstimatorSpec
) -> tuple[list[Remark], list[Suspect]]:
    """Remarks on the data, and columns that predict the target suspiciously well."""
    remarks, suspicious = [*problem.remarks], list[Suspect]()
    if not problem.in_passes:
        remarks += column_remarks.remarks_on(problem.table, spec.task)
        suspicious = _suspects(problem, spec, request.options)
        certain = [each for each in suspicious if each.is_certain]
        remarks += column_remarks.leaks(certain, remarks)
    remarks += [Remark((), "", False, f"Note: {note}") for note in spec.notes]
    return remarks, suspicious


def _announce(
    problem: Problem, request: SelectionRequest, spec: EstimatorSpec, remarks: Sequence[Remark]
) -> None:
    """Print the remarks, and a note on the cost of a long search."""
    for remark in remarks:
        if remark.said and not (request.quiet and problem.in_passes):
            say(remark.said)
    if not request.quiet and not problem.in_passes and not {"r", "t"} <= request.options.keys():
        _say_cost(problem.table.X, spec, request)
        if spec.entry.is_choice:
            X, y, extras = problem.fit_arguments
            if isinstance(X, RawTable):  # a note before an error would hide it
                with naming_the_file(problem.table.source):
                    spec.model._check(X, y)
            if said := beneath(spec.model).announcement(X, **extras):
                say(f"Note: {said}.")


def _search(
    problem: Problem, request: SelectionRequest, spec: EstimatorSpec, remarks: list[Remark]
) -> Outcome:
    """Fit, and repeat the search on permuted targets and halves as requested."""
    table, (X, _, extras) = problem.table, problem.fit_arguments
    model, notes, correlation = _fit(problem, request, spec)
    if isinstance(X, RawTable):
        remarks = [*remarks, *column_remarks.uninformative_columns(model.preparation_)]
        notes += [note for note in model.preparation_.notes_.values() if note not in notes]
    if problem.in_passes:
        table = replace(table, names=list(model.feature_names_in_))
    else:
        _name(model, table)
    model, rule, notes = _settle(model, spec, notes)
    notes += _scale(model)
    if spec.entry.is_choice:
        notes.append(summary_of(model))
    notes += filter(None, [spec.method_note])
    if correlation is not None:
        in_time = spec.model.validation != model.validation
        notes.append(CORRELATED.format(correlation) + (IN_TIME if in_time else AS_THEY_ARE))
    model, null, halves, cut, more = _repeat(model, problem, request, notes, tuple(table.names))
    notes = [*dict.fromkeys([*notes, *more]), *_never_predicted(model, spec.entry)]
    intervals = None
    if request.resamples and model.path_.complete and not cut:
        intervals, said, cut = _again("coefficients", coefficients, model, problem, request)
        notes += said
    tests, said = _tests(model, problem, request)
    notes += said
    known = _figures(model, problem, spec)
    return Outcome(
        model,
        table,
        spec.task,
        rule,
        notes,
        spec.entry.name,
        remarks,
        known,
        null,
        halves,
        cut,
        extras,
        coefficients=intervals,
        **tests,
        y=None if problem.in_passes else problem.fitted_y,
    )


def _scale(model: Any) -> list[str]:
    """On which scale the target was fitted, if one was requested."""
    if getattr(model, "transform_target", None) is None:
        return []
    if model.transform_ is None:
        return ["--transform-target auto: the target is fitted as it is."]
    words = SCALES[model.transform_].words
    return [
        f"the {words} of the target is fitted. Errors and predictions are in its own units; "
        "predictions are medians, which for skewed errors lie below the mean."
    ]


def _fit(
    problem: Problem, request: SelectionRequest, spec: EstimatorSpec
) -> tuple[Any, list[str], float | None]:
    """Return the fitted model, its warnings, and the error correlation of neighbouring rows.

    If these are correlated, and nothing else was requested, rows are validated in their order.
    """
    X, y, extras = problem.fit_arguments
    model = spec.model
    silent = request.quiet or (spec.calls == 0 and model.validation is None)
    unit, backward = spec.entry.unit, spec.backward
    bar = ProgressBar(spec.calls, spec.searches, unit=unit, backward=backward, quiet=silent)
    with bar:
        if bar.shown:
            bar.folds = spec.folds(*X.shape)
            model.set_params(callback=bar.callback)
        with naming_the_file(problem.table.source) if isinstance(X, RawTable) else nullcontext():
            with warnings_as_notes() as notes:
                model.fit(X, y, **extras)
            honest = getattr(model, "honest_", None)
            correlation = None if honest is None else honest.neighbours
            if honest is not None and correlation is not None and honest.whole:
                model, notes = _in_row_order(model, notes, X, y, extras)
    if bar.shown:
        model.set_params(callback=None)  # it is no part of the model
    return model, notes, correlation


def _in_row_order(
    model: Any, notes: list[str], X: Any, y: Any, extras: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    """Return the model validated in row order, if the validation is "auto"."""
    if model.validation != "auto" or not model.honest_.whole:
        return model, notes
    in_time = clone(model).set_params(validation="time")
    try:
        with warnings_as_notes() as said:
            in_time.fit(X, y, **extras)
    except InputError:  # as for classes of which one is not in every part
        return model, notes
    done = in_time.honest_ is not None and in_time.honest_.whole
    return (in_time, said) if done else (model, notes)


def _settle(
    model: Any, spec: EstimatorSpec, notes: list[str]
) -> tuple[Any, str | int | float, list[str]]:
    """The model at the size that --choose requests where the estimator has no such rule."""
    own = (NEIGHBOURS, NEVER_PREDICTED, ON_ROWS_LEFT_OUT)  # the command line says these itself
    notes = [note for note in notes if not any(text in note for text in own)]
    rule, wanted, path = rule_of(model), spec.rule, model.path_
    if rule != "own" or wanted is None:
        return model, rule, notes
    if wanted == "one_se" and not path.is_validated:
        raise InputError(
            f"--choose one_se needs standard errors, and the {path.criterion} has none; "
            "use min, a number of features, or a fraction such as 0.05."
        )
    with warnings_as_notes() as said:
        model = model.at_size(path.settle(wanted))
    return model, wanted, [*notes, *said]


def rule_of(model: Any) -> str | int | float:
    """Return the rule that chose the size; "own": the method determines its size."""
    selector, path = beneath(model), model.path_
    if "choose" not in selector.get_params(deep=False):
        return "own"
    rule: str | int | float = getattr(model, "_asked_size", selector.choose)
    if rule == "one_se" and not path.is_validated and math.isnan(path.error_se(path.choose("min"))):
        return "min"
    return rule


def _repeat(
    model: Any,
    problem: Problem,
    request: SelectionRequest,
    notes: Sequence[str],
    names: tuple[str, ...],
) -> tuple[Any, Any, Any, bool, list[str]]:
    """Repeat the search on permuted targets and on halves, as requested."""
    cut = any("validation was interrupted" in note for note in notes)
    null, halves, more = None, None, list[str]()
    if request.null and model.path_.complete and not cut:
        null, said, cut = _again("null", permutation_null, model, problem, request)
        more += said
        model = model if null is None else null.applied_to(model)
    if request.halves and model.path_.complete and not cut:
        halves, said, cut = _again("stability", stability, model, problem, request)
        more += said
        halves = None if halves is None else replace(halves, feature_names=names)
    return model, null, halves, cut, more


def _tests(
    model: Any, problem: Problem, request: SelectionRequest
) -> tuple[dict[str, Any], list[str]]:
    """Return a selection at a false discovery rate and p-values, as requested, and notes."""
    jobs: dict[str, tuple[str, Callable[..., Any]]] = {}
    if request.fdr is not None:
        jobs["discoveries"] = "--fdr", partial(_discoveries, fdr=request.fdr)
    if request.p_values:
        jobs["p_values"] = "--p-values", selective_p_values
    found, notes = dict[str, Any](), list[str]()
    for name, (option, job) in jobs.items() if model.path_.complete else ():
        X, y, _ = problem.fit_arguments
        try:
            found[name] = job(model, X, y)
        except InputError as error:
            notes.append(f"Warning: there is no {option}: {error}")
    return found, notes


def _discoveries(model: Any, X: Any, y: Any, fdr: float) -> Any:
    names = model.path_.feature_names
    if hasattr(model, "_as_numbers"):
        if len(model.preparation_.groups_) > len(set(model.preparation_.groups_.tolist())):
            raise InputError("columns of text and dates become several; leave them out (--drop).")
        X, y, model = model._as_numbers(X, y)
        names = model.path_.feature_names
    return knockoffs(model, X, y, fdr).named(names)


def _again(
    what: str,
    repeat: Callable[..., Any],
    model: Any,
    problem: Problem,
    request: SelectionRequest,
) -> tuple[Any, list[str], bool]:
    """Repeat the search; the result, notes on it, and whether Ctrl-C came."""
    unit, times = {
        "null": ("shuffles", request.null),
        "stability": ("halves", request.halves),
        "coefficients": ("resamples", request.resamples),
    }[what]
    X, y, extras = problem.fit_arguments
    bar = ProgressBar(None, 1, unit=unit, backward=False, quiet=request.quiet, what=what)
    try:
        with bar, warnings_as_notes():
            found = repeat(model, X, y, times, callback=bar.count, **extras)
    except KeyboardInterrupt:
        return None, [f"interrupted: there is no --{what}."], True
    except InputError as error:
        return None, [f"there is no --{what}: when the search was repeated, {error}"], False
    count = {"stability": "n_runs", "coefficients": "n_resamples"}.get(what)
    done = len(found.null_errors) if count is None else getattr(found, count)
    if done == times:
        return found, [], False
    return found, [f"interrupted: --{what} is of {done} {unit} instead of {times}."], True


def _figures(model: Any, problem: Problem, spec: EstimatorSpec) -> dict[str, float]:
    """Return the error in familiar measures."""
    size = len(model.selected_)
    if spec.task.name != "classification":
        return {} if spec.entry.ranks else figures.of_numbers(model.path_, size, model.honest_)
    if model.honest_ is not None:
        return figures.on_held_out_rows(model.honest_)
    X, y, extras = problem.fit_arguments
    return {} if problem.in_passes else figures.of_classes(model, X, y, extras, size)


def _never_predicted(model: Any, entry: Method) -> list[str]:
    """Warn about classes that were never predicted for held-out rows."""
    honest = model.honest_
    if honest is None or honest.confusion is None or not len(model.selected_):
        return []
    table = np.asarray(honest.confusion)
    share = table.sum(1) / table.sum()
    weighted = "class-weight" in entry.options
    remedy = (
        "use --class-weight balanced or --threshold balanced"
        if weighted
        else "try greedy-rls --class-weight balanced"
    )
    return [
        f"Warning: class {str(model.classes_[c])!r} ({share[c]:.1%} of the rows) is never "
        f"predicted; {remedy}.".replace("%", " %")
        for c in np.flatnonzero((table.sum(0) < 0.5) & (share > 0))
    ]


def _suspects(problem: Problem, spec: EstimatorSpec, options: Mapping[str, Any]) -> list[Suspect]:
    """Columns that predict the target suspiciously well and that no option names."""
    table = problem.table
    named = {name for option in ("force", "forbid", "start") for name in options.get(option, ())}
    if table.X.shape[1] < 2:
        return []
    classes = spec.task.name == "classification"
    found = suspects(table.X, table.names, problem.y, classes=classes)
    return [each for each in found if each.name not in named]


def _without(problem: Problem, names: list[str]) -> Problem:
    """Return the problem without some columns."""
    table = problem.table
    kept = [j for j, name in enumerate(table.names) if name not in names]
    if isinstance(table.X, RawTable):
        X: Any = RawTable(table.X.cells[j] for j in kept)
    else:
        X = np.asfortranarray(table.X[:, kept])
    left = replace(table, X=X, names=[table.names[j] for j in kept], layout=None, index=[])
    return replace(problem, table=left, remarks=())


def _with_leaks(outcome: Outcome, without: Outcome, found: list[Suspect]) -> Outcome:
    """Return the outcome with suspected leaks, judged against the other columns together."""
    known = without.figures
    others = known.get("r2", known.get("auc", 0.0))
    leaks = [each for each in found if each.is_certain or each.is_far_better(others)]
    late = column_remarks.leaks([each for each in leaks if not each.is_certain], outcome.remarks)
    for remark in late:
        say(remark.said)
    return replace(
        outcome,
        leaks=tuple(leaks),
        without=without if leaks else None,
        remarks=[*outcome.remarks, *late],
    )


def _seconds(X: Any, spec: EstimatorSpec, request: SelectionRequest) -> float:
    """CPU seconds of the search with all its repetitions; zero without an estimate."""
    if not hasattr(spec.model, "expected_seconds"):
        return 0.0
    return spec.repeats(request, *X.shape) * float(spec.model.expected_seconds(X))


def _say_cost(X: Any, spec: EstimatorSpec, request: SelectionRequest) -> None:
    """Report the cost of a search of a large input, with all its repetitions, beforehand."""
    rows, columns = X.shape
    repeats, seconds = spec.repeats(request, rows, columns), _seconds(X, spec, request)
    if seconds < LONG:
        return
    entry, steps = spec.entry, spec.steps * spec.searches
    numbers = int(getattr(X, "size", rows * columns))
    gigabytes = numbers * getattr(X, "dtype", np.dtype(np.float64)).itemsize / 1e9
    size = f" ({gigabytes:.2g} GB)" if gigabytes >= 0.1 else ""
    means = ["a smaller --max-features shortens it"] * ("max-features" in entry.options)
    means += ["Ctrl-C keeps the path so far"]
    if "checkpoint" in entry.options:
        means += ["and with --checkpoint FILE a later run resumes"]
    if entry.is_choice:
        means.insert(0, "a single method (--method greedy-rls) shortens it")
    elif spec.folds(rows, columns) > 5:
        means.insert(0, "fewer folds (--validation 5) or --no-validation shorten it")
    elif repeats > 1:
        means.insert(0, "--no-validation shortens it")
    many = f"{steps:,} steps" if entry.sizes != "own" else "many steps"
    work = "several methods" if entry.is_choice else f"{many}, each {entry.cost}"
    again = f", all of it about {repeats:.0f} times to know the error on new data"
    taken = f"; about {duration(seconds)} of one core in all"
    say(
        f"Note: this may take a while: {rows:,} rows x {columns:,} columns{size}, "
        f"and {work}{again * (repeats > 1)}{taken}; {', '.join(means)}."
    )


def _name(model: Any, table: Table) -> None:
    """Give the model and its paths the names of the columns, and how the file identified them.

    Arrays have no names, and a frame made to carry them would be a second copy of the data.
    """
    names, path = table.names, model.path_
    model._dates = table.dates
    model.feature_names_in_ = np.array(names, dtype=object)
    data = {} if table.layout is None else {"layout": table.layout.to_dict()}
    constraints = {
        key: [names[i] for i in path.parameters[key]]
        for key in ("forced", "forbidden", "start")
        if path.parameters.get(key)
    }

    def named(path: SelectionPath) -> SelectionPath:
        return path.replaced(
            feature_names=tuple(names) or path.feature_names,
            data={**path.data, **data},
            parameters={**path.parameters, **constraints},
        )

    every = getattr(model, "paths_", {})
    paths = {id(path): named(path) for path in (model.path_, *every.values())}
    model.path_ = paths[id(model.path_)]
    if every:
        model._paths = {alpha: paths[id(path)] for alpha, path in every.items()}


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Collect warnings; errors that scikit-learn raises about the input become ours."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield said
        except ValueError as error:
            if not (isinstance(error, InputError) or _from_sklearn(error)):
                raise
            raise InputError(as_command_line(str(error))) from error
        finally:
            wanted = (w for w in found if issubclass(w.category, UserWarning | RuntimeWarning))
            said += dict.fromkeys(as_command_line(str(warning.message)) for warning in wanted)


def _from_sklearn(error: BaseException) -> bool:
    """Return whether scikit-learn's input checks raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith("sklearn.")
