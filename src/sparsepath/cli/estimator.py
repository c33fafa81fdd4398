"""Create the estimator for a command, as a Python user would."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparsepath.assessment.folds import TIME_PARTS
from sparsepath.assessment.repetitions import repetitions
from sparsepath.cli.input import Problem
from sparsepath.data.readers import Table
from sparsepath.data.task import TargetTask
from sparsepath.data.time_order import in_time_order
from sparsepath.data.validation import column_indices
from sparsepath.errors import InputError
from sparsepath.methods import METHODS, OPTIONS, Method, check, in_passes
from sparsepath.methods.method import OF_COUNTS
from sparsepath.path.selection_path import LONGEST_PATH
from sparsepath.report.outcome import beneath
from sparsepath.system.tuning import memory
from sparsepath.tables.cells import RawTable
from sparsepath.tables.features import MISSING


@dataclass(frozen=True)
class SelectionRequest:
    """Requested selection; ``options`` are those of the method, by name."""

    method: str = ""  # empty: see default_method
    options: Mapping[str, Any] = field(default_factory=dict)
    task: str = "auto"
    # Folds that are held out of the whole procedure; "loo": one row or group at a time; "time":
    # parts in row order, each predicted from the rows before it; None: none.
    validation: Any = "auto"
    null: int = 0  # repetitions with permuted targets
    halves: int = 0  # repetitions on halves of the rows
    quiet: bool = False  # no progress, and no note on the cost
    resamples: int = 0  # bootstrap resamples for intervals of coefficients
    fdr: float | None = None  # false discovery rate of a selection by knockoffs
    p_values: bool = False  # selective, of the steps of a forward search


@dataclass(frozen=True)
class EstimatorSpec:
    """An estimator ready to fit, and properties of its search."""

    model: Any
    entry: Method
    task: TargetTask
    rule: str | int | float | None  # the size requested by --choose
    steps: int  # the largest size on the path
    searches: int  # one per penalty
    calls: int | None  # how often the callback comes; None: unknown
    backward: bool
    notes: tuple[str, ...] = ()
    method_note: str = ""  # why there is no choice between methods

    def folds(self, rows: int, columns: int) -> int:
        """Return the number of held-out parts; of few rows, several assignments to folds."""
        validation, usual = self.model.validation, int(self.model._n_folds)
        if validation == "auto":
            return usual * repetitions(self.model, rows, columns, usual)
        named = {"loo": rows, "time": TIME_PARTS, None: 0}
        return int(named.get(validation, validation))

    def repeats(self, request: SelectionRequest, rows: int, columns: int) -> float:
        """Return how often the work of one search is done in total."""
        folds = self.folds(rows, columns)
        return 1 + folds + request.null + request.halves / 2 + request.resamples


def build(problem: Problem, request: SelectionRequest) -> EstimatorSpec:
    """Build the estimator, or raise an error that says what does not go together."""
    table, name, why = problem.table, request.method, ""
    if not name:
        name, why = default_method(problem, request)
    entry = METHODS[name]
    task = _task(problem, request, entry)
    check(entry, task.name, request.options, len(np.unique(problem.y)))
    _refuse(problem, entry, request.options)
    options = dict(request.options)
    notes = _complete_classes(options, problem, task, entry)
    rule, validation = options.pop("choose", None), request.validation
    alone = "groups" not in options and not entry.ranks
    if problem.series is not None:
        validation = _in_time(problem, request)
        alone = False
    if validation == "auto" and alone and (when := in_time_order(table.X)) is not None:
        validation = "time"
        notes.append(
            f"rows are in the order of {when!r}: the error is estimated by predicting each "
            "part from earlier rows (--validation time); --validation 10 for random folds."
        )
    steps = _steps(table.X, entry, options)
    largest = min(steps, options.get("max-features", steps))
    if isinstance(rule, int) and rule > largest:
        raise InputError(
            f"--choose {rule} is more than the {largest} feature{'s' * (largest != 1)} of "
            "the path" + ("; raise --max-features." if largest < _most(table.X) else ".")
        )
    if "max-features" in options:
        options["max-features"] = largest
    elif entry.longest is not None and isinstance(rule, int):
        options["max-features"] = steps  # a path that ends where it sees fit may be too short
    _complete(options, table)
    parameters = {OPTIONS[name].parameter: value for name, value in options.items()}
    if rule is not None:
        parameters["choose"] = rule
    from sparsepath.rls import SparseRLSClassifier, SparseRLSRegressor

    model = entry.make(task.name, **parameters, validation=validation)
    if request.resamples and not isinstance(model, SparseRLSRegressor | SparseRLSClassifier):
        raise InputError(
            "--coefficients is for greedy-rls, floating-rls, backward-rls and swap-rls; "
            f"{entry.name} has no such intervals."
        )
    if request.p_values and (entry.name != "greedy-rls" or task.name != "regression"):
        raise InputError("--p-values is for regression by greedy-rls; remove it.")
    if (request.null or request.halves) and getattr(model, "_chooses_method", False):
        raise InputError(
            "--null and --stability repeat one search, and --method auto chooses among several; "
            "give the method that it chose."
        )
    if problem.memory is not None and "memory_budget" in model.get_params(deep=False):
        model.set_params(memory_budget=problem.memory)
    if takes_table(problem):
        from sparsepath.methods.table_selector import TableSelector

        model = TableSelector(model, **problem.preparing.parameters, validation=validation)
    alphas = options.get("alpha")
    return EstimatorSpec(
        model,
        entry,
        task,
        rule,
        steps,
        len(alphas) if isinstance(alphas, list) else 1,
        _calls(model, problem, entry, options, steps),
        _is_backward(entry, options),
        tuple(notes),
        why,
    )


def default_method(problem: Problem, request: SelectionRequest) -> tuple[str, str]:
    """Return the method if none is named, and why it is not the choice between several."""
    if problem.events is not None:
        return "grafting", ""
    single = {
        "null": request.null,
        "stability": request.halves,
        "coefficients": request.resamples,
        "fdr": request.fdr,
        "p-values": request.p_values,
        "lags or --horizon": problem.series is not None,
        "no-validation": request.validation is None,
    }
    options = [name for name, given in single.items() if given]
    options += sorted(request.options.keys() - METHODS["auto"].options)
    if not options and not problem.in_passes:
        return "auto", ""
    what = f"--{options[0]} needs" if options else "data read in passes need"
    return "greedy-rls", f"{what} a single method: greedy-rls is used; --method names another."


def _in_time(problem: Problem, request: SelectionRequest) -> Any:
    """Return the validation of rows that are used with rows before them."""
    if request.validation not in ("auto", "time", None):
        raise InputError(
            f"--validation {request.validation}: with --lags or --horizon each part is predicted "
            "from earlier rows (--validation time)."
        )
    given = request.null, request.halves, request.resamples, request.fdr, request.p_values
    if any(given):
        raise InputError(
            "--null, --stability, --coefficients, --fdr and --p-values assume rows that do not "
            "depend on each other; with --lags and --horizon they do. Remove them."
        )
    return request.validation and "time"


def takes_table(problem: Problem) -> bool:
    """Return whether columns must be encoded or imputed before the search."""
    X = problem.table.X
    if problem.in_passes:
        return bool(X.text or problem.preparing.missing != "error")
    return isinstance(X, RawTable) or problem.series is not None


def _task(problem: Problem, request: SelectionRequest, entry: Method) -> TargetTask:
    task, numbers = request.task, problem.y.dtype.kind in "biuf"
    if problem.events is not None:
        return problem.task(task)
    counts = request.options.get("loss") in OF_COUNTS
    if task == "auto" and (counts or (entry.ranks and numbers)):
        task = "regression"  # grades and counts are few whole numbers, and yet no classes
    found = problem.task(task)
    if task == "auto" and found.name not in entry.tasks and numbers:
        raise InputError(
            f"{entry.name} supports only regression, and the target ({found.why}) is treated as "
            "classes; use --task regression to treat it as numbers."
        )
    return found


def _refuse(problem: Problem, entry: Method, options: Mapping[str, Any]) -> None:
    """Refuse what the data do not allow: too little memory, or no work in passes."""
    if both := [name for name in options.get("force", ()) if name in options.get("forbid", ())]:
        raise InputError(f"--force and --forbid both have {both[0]!r}; remove it from one of them.")
    rows, columns = problem.table.X.shape
    if not problem.in_passes:
        needed = 0.0 if entry.memory is None else entry.memory(rows, columns)
        if needed > memory():
            raise InputError(
                f"{entry.name} needs about {needed / 1e9:.3g} GB of memory for {rows:,} rows and "
                f"{columns:,} columns, and there are {memory() / 1e9:.3g} GB; leave columns out "
                "with --drop, or use greedy-rls, which needs little more than the data."
            )
        return
    missing = problem.preparing.missing
    if missing not in MISSING:
        raise InputError(
            f"--missing {missing} needs data in memory; use {' or '.join(MISSING[1:])}."
        )
    if not entry.reads_in_passes(options):
        raise InputError(
            f"--method {entry.name} needs data in memory; these read data in passes: {in_passes()}."
        )


def _complete_classes(
    options: dict[str, Any], problem: Problem, task: TargetTask, entry: Method
) -> list[str]:
    """Convert typed labels to labels of the data; add options that a loss needs, with a note."""
    weights, notes = options.get("class-weight"), []
    if weights is not None and task.name != "classification":
        raise InputError("--class-weight is for classification; use --weights COL for regression.")
    if "threshold" in options and len(np.unique(problem.y)) != 2:
        raise InputError("--threshold is for a target with two classes; remove it.")
    if isinstance(weights, dict):
        labels = {str(label): label for label in np.unique(problem.y).tolist()}
        if unknown := [label for label in weights if label not in labels]:
            known = ", ".join(list(labels)[:12])
            raise InputError(
                f"--class-weight: {unknown[0]!r} is no class of the target; classes are {known}."
            )
        options["class-weight"] = {labels[label]: weight for label, weight in weights.items()}
    has = entry.options
    if options.get("loss") == "balanced" and weights is None and not problem.in_passes:
        notes.append(
            "--loss balanced compares sets of features by the balanced error; for a rare class add "
            "--class-weight balanced, which gives the classes equal weight in the fit."
        )
    pairs = options.get("loss") == "auc" and "cv" not in options
    if pairs and "cv" in has and isinstance(problem.table.X, RawTable):
        options["cv"] = min(10, int(np.unique(problem.y, return_counts=True)[1].min()))
        if options["cv"] < 2:
            raise InputError("--loss auc needs two rows or more of each class.")
        notes.append(f"--loss auc with text columns is computed over folds (--cv {options['cv']}).")
    return notes


def _complete(options: dict[str, Any], table: Table) -> None:
    """Turn names into columns, and a level into a test; what ``fit`` takes is no parameter."""
    if "significance" in options:
        from sparsepath.rls import MaxT

        options["significance"] = MaxT(options["significance"])
    for option in ("force", "forbid", "start"):
        if option in options:
            options[option] = column_indices(
                options[option], table.names, len(table.names), f"{table.source}: --{option}"
            )
    if "loss" in options:
        options["loss"] = _loss(options["loss"])
    options.pop("weights", None)
    options.pop("groups", None)


def _loss(typed: str) -> Any:
    """Return the loss for an estimator; with a number after a colon, the object."""
    name, _, number = typed.partition(":")
    name = name.replace("-", "_")
    if not number:
        return name
    from sparsepath.rls.criteria.table import NUMBERS

    return type(NUMBERS[name])(float(number))  # type: ignore[call-arg]


def _most(X: Any) -> int:
    """Return the maximum number of features of a path: held-out rows must leave enough others."""
    rows, columns = X.shape
    return int(min(columns, max(rows - 2, 0)))


def _is_backward(entry: Method, options: Mapping[str, Any]) -> bool:
    return entry.sizes == "down" or options.get("search") == "backward"


def _steps(X: Any, entry: Method, options: Mapping[str, Any]) -> int:
    """Return the maximum size of the path."""
    n, wanted = X.shape[1], options.get("max-features")
    if _is_backward(entry, options):  # it begins with all, whatever the largest on the path is
        return int(n)
    if entry.sizes == "own":
        return int(n if wanted is None else min(wanted, n))
    if wanted is None:
        longest = LONGEST_PATH if entry.longest is None else entry.longest
        return max(min(_most(X), longest), len(options.get("force", ())))
    return int(min(wanted, n))


def _calls(
    model: Any, problem: Problem, entry: Method, options: Mapping[str, Any], steps: int
) -> int | None:
    """Return the number of callback calls: per size, or as the table of methods says."""
    if entry.unit == "features":
        return steps
    if entry.calls is not None:
        return entry.calls(options, steps)
    selector = beneath(model)
    if not hasattr(selector, "n_l1s") or problem.in_passes:
        return None
    from sparsepath.data.splits import splitter_of

    X, y, extras = problem.fit_arguments
    groups = extras.get("groups")
    splitter = splitter_of(selector.cv, y, groups)
    return int(selector.n_l1s + splitter.get_n_splits(X, y, groups))
