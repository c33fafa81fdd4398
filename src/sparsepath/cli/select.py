"""The job of ``sparsepath select``: read, decide, search, settle on a size."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsepath.cli import figures, screening
from sparsepath.cli.preparing import Remark, beneath, wrapped
from sparsepath.cli.progress import Watch
from sparsepath.cli.reading import Problem
from sparsepath.cli.settling import SearchData, SelectionAsked, caught, rewrite, settle
from sparsepath.cli.streams import say
from sparsepath.cli.tasks import TargetTask
from sparsepath.data.cells import RawTable, placed
from sparsepath.data.door import column_indices
from sparsepath.data.readers import Table
from sparsepath.errors import InputError
from sparsepath.judging import Honest, Null, Stability
from sparsepath.judging.planning import duration
from sparsepath.methods import METHODS, OPTIONS, Method, check
from sparsepath.path import LONGEST_PATH, SelectionPath
from sparsepath.tuning import memory

BIG = 3e9  # numbers read in a whole search, from which a note says so: some seconds


@dataclass(frozen=True)
class Outcome:
    """What the search found, and what there is to say about it."""

    model: Any
    table: Table
    task: TargetTask
    rule: str | int | float
    notes: list[str]
    method: str = "greedy-rls"
    remarks: list[Remark] = field(default_factory=list)  # on the data, before the search
    figures: dict[str, float] = field(default_factory=dict)  # the error as people know it
    null: Null | None = None  # the search on shuffled targets
    stability: Stability | None = None  # the search on halves
    cut: bool = False  # Ctrl-C came after the search
    extras: Mapping[str, Any] = field(default_factory=dict)  # weights, groups

    @property
    def path(self) -> SelectionPath:
        path: SelectionPath = self.model.path_
        return path

    @property
    def said(self) -> list[str]:
        """Notes on the data, before the search."""
        return [remark.said for remark in self.remarks if remark.said]

    @property
    def size(self) -> int:
        return len(self.model.selected_)

    @property
    def honest(self) -> Honest | None:
        """The error of the model in use on rows that the procedure never saw."""
        record: Honest | None = getattr(self.model, "honest_", None)
        return record

    @property
    def is_nothing(self) -> bool:
        """Whether the search finds as much where the target is shuffled."""
        return self.null is not None and self.null.is_nothing

    @property
    def interrupted(self) -> bool:
        return self.cut or not self.path.complete


def search(
    problem: Problem,
    given: Mapping[str, Any],
    *,
    method: str = "greedy-rls",
    asked: str = "auto",
    judging: SelectionAsked | None = None,
    quiet: bool = False,
) -> Outcome:
    """Search, and settle on a size.

    ``given`` are the options by their names on the command line without the dashes; ``judging``
    says how the model is judged but for the rule to choose by, which is an option. ``quiet``: no
    progress and no note on the cost.
    """
    table, entry = problem.table, METHODS[method]
    if entry.ranks and asked == "auto" and problem.y.dtype.kind in "biuf":
        asked = "regression"  # grades are few whole numbers, and yet no classes
    task = problem.task(asked)
    if asked == "auto" and task.name not in entry.tasks and problem.y.dtype.kind in "biuf":
        raise InputError(
            f"{method} does regression only, and the target, {task.why}, is taken for classes; "
            "--task regression takes it as it is."
        )
    check(entry, task.name, given, len(np.unique(problem.y)))
    _refuse_memory(table, entry)
    options = dict(given)
    rule = options.pop("choose", None)
    judging = replace(judging or SelectionAsked(), rule=rule)
    steps = _steps(table, entry, options)
    largest = min(steps, options.get("max-features", steps))
    if isinstance(rule, int) and rule > largest:
        raise InputError(
            f"--choose {rule} is more than the {largest} feature{'s' * (largest != 1)} to which "
            "the path goes" + ("; raise --max-features." if largest < _most(table) else ".")
        )
    backward = _is_backward(entry, options)
    if "max-features" in options:
        options["max-features"] = largest
    elif entry.longest is not None and isinstance(rule, int):
        options["max-features"] = steps  # a path that ends where it sees fit may be too short
    _complete(options, table, problem, entry)
    parameters = {OPTIONS[name].parameter: value for name, value in options.items()}
    model = entry.make(
        task.name, **parameters, choose="min", validation=None
    )  # the choice and the validation come after the search
    if isinstance(table.X, RawTable):
        model = wrapped(model, problem.preparing)
    extras = {"sample_weight": problem.weights, "groups": problem.groups}
    extras = {name: value for name, value in extras.items() if value is not None}
    alphas = options.get("alpha")
    searches = len(alphas) if isinstance(alphas, list) else 1
    remarks = [*problem.remarks, *screening.look(table, task)]
    for remark in remarks:  # whoever is quiet wants to know it all the more
        if remark.said:
            say(remark.said)
    if not quiet and not {"r", "t"} <= options.keys():  # one fit is quick
        repeats = judging.repeats(model, table.X.shape[0])
        _say_cost(table, entry, steps * searches, repeats, model)
    total: int | None = steps
    if entry.unit != "features":
        total = (
            _calls(beneath(model), problem) if entry.calls is None else entry.calls(options, steps)
        )
    silent = quiet or total == 0
    with Watch(total, searches, unit=entry.unit, backward=backward, quiet=silent) as watch:
        if watch.shown:
            model.set_params(callback=watch.callback)
        where = placed(table.source) if isinstance(table.X, RawTable) else nullcontext()
        with where, caught() as notes:
            model.fit(table.X, problem.y, **extras)
    if isinstance(table.X, RawTable):
        remarks += screening.unused(model.preparation_)
        notes += [note for note in model.preparation_.notes_.values() if note not in notes]
    if watch.shown:
        model.set_params(callback=None)  # it is no part of the model
    _name(model, table)
    data = SearchData(table.X, problem.y, extras, tuple(table.names))
    settled = settle(model, data, judging, quiet)
    model = settled.model
    _note_rule(model, settled.rule)
    size = len(model.selected_)
    if task.name == "regression":
        known = {} if entry.ranks else figures.of_numbers(model.path_, size, model.honest_)
    elif model.honest_ is None:
        known = figures.of_classes(model, table.X, problem.y, extras, size)
    else:
        known = figures.beside(model.honest_)
    return Outcome(
        model,
        table,
        task,
        settled.rule,
        [*notes, *settled.notes],
        method,
        remarks,
        known,
        settled.null,
        settled.stability,
        settled.cut,
        extras,
    )


def _refuse_memory(table: Table, entry: Method) -> None:
    """Say what a method needs before it asks for it, if this machine has less."""
    rows, columns = table.X.shape
    needed = 0.0 if entry.memory is None else entry.memory(rows, columns)
    if needed > memory():
        raise InputError(
            f"{entry.name} needs about {needed / 1e9:.3g} GB of memory for {rows:,} rows and "
            f"{columns:,} columns, and there are {memory() / 1e9:.3g} GB; leave columns out with "
            "--drop, or use greedy-rls, which needs little more than the data."
        )


def _most(table: Table) -> int:
    """The most features that a path can have: with a row left out there must be rows to spare."""
    rows, columns = table.X.shape
    return int(min(columns, max(rows - 2, 0)))


def _is_backward(entry: Method, options: Mapping[str, Any]) -> bool:
    return entry.sizes == "down" or options.get("search") == "backward"


def _steps(table: Table, entry: Method, options: dict[str, Any]) -> int:
    """The size to which the path goes."""
    n = table.X.shape[1]
    asked = options.get("max-features")
    if _is_backward(entry, options):  # it begins with all, whatever the largest on the path is
        return int(n)
    if entry.sizes == "own":
        return int(n if asked is None else min(asked, n))
    if asked is None:
        longest = LONGEST_PATH if entry.longest is None else entry.longest
        return max(min(_most(table), longest), len(options.get("force", ())))
    return int(min(asked, n))


def _calls(model: Any, problem: Problem) -> int | None:
    """How often a cross-validated path calls back: for every penalty, then for every split."""
    if not hasattr(model, "n_l1s"):
        return None
    from sparsepath.data.splitting import splitter_of

    with caught():
        splitter = splitter_of(model.cv, problem.y, problem.groups)
    return int(model.n_l1s + splitter.get_n_splits(problem.table.X, problem.y, problem.groups))


def _loss(typed: str) -> Any:
    """What an estimator calls a loss; with a number behind a colon the object."""
    name, _, number = typed.replace("-", "_").partition(":")
    if not number:
        return name
    from sparsepath.rls.criteria.table import NUMBERS

    return type(NUMBERS[name])(float(number))  # type: ignore[call-arg]


def _complete(options: dict[str, Any], table: Table, problem: Problem, entry: Method) -> None:
    """Turn names into columns, a level into a test, and folds of groups into splits."""
    if "significance" in options:
        from sparsepath.rls import MaxT

        options["significance"] = MaxT(options["significance"])
    for option in ("force", "forbid", "start"):
        if option in options:
            columns = column_indices(
                options[option], table.names, len(table.names), f"{table.source}: --{option}"
            )
            options[option] = columns
    if "loss" in options:
        options["loss"] = _loss(options["loss"])
    options.pop("weights", None)
    if options.pop("groups", None) is not None and not entry.ranks:
        count = len(np.unique(np.asarray(problem.groups)))
        if count < 2:
            raise InputError(f"{table.source}: --groups has one group only; two are needed.")
        if (folds := entry.folds(count, options)) is not None:
            options["cv"] = folds


def _say_cost(table: Table, entry: Method, steps: int, repeats: float, model: Any) -> None:
    """Tell what a search of a big input will cost, before it starts, and all its repetitions."""
    rows, columns = table.X.shape
    numbers = int(getattr(table.X, "size", rows * columns))  # of a sparse matrix: the entries
    work = numbers * steps if entry.work is None else entry.work(rows, columns, steps)
    if work * repeats < BIG:
        return
    gigabytes = numbers * getattr(table.X, "dtype", np.dtype(np.float64)).itemsize / 1e9
    size = f" ({gigabytes:.2g} GB)" if gigabytes >= 0.1 else ""
    means = ["a smaller --max-features shortens it"] * ("max-features" in entry.options)
    means += ["Ctrl-C keeps the path so far"]
    if "checkpoint" in entry.options:
        means += ["and --checkpoint FILE lets a later run go on"]
    if repeats > 1:
        means.insert(0, "fewer folds (--validation 5) or --no-validation shorten it")
    many = f"{steps:,} steps" if entry.sizes != "own" else "many steps"
    again = f", all of it about {repeats:.0f} times to know the error on new data"
    taken = ""
    if hasattr(model, "expected_seconds"):
        taken = f"; about {duration(repeats * model.expected_seconds(table.X))} of one core in all"
    say(
        f"Note: this may take a while: {rows:,} rows x {columns:,} columns{size}, "
        f"and {many}, each {entry.cost}{again * (repeats > 1)}{taken}; {', '.join(means)}."
    )


def _name(model: Any, table: Table) -> None:
    """Give the model and its paths the names of the columns, and how the file told them apart.

    Arrays have no names, and a frame made to carry them would be a second copy of the data.
    """
    names = table.names
    model.feature_names_in_ = np.array(names, dtype=object)
    data = {} if table.layout is None else {"layout": table.layout.to_dict()}
    said = {
        key: [names[i] for i in model.path_.parameters[key]]
        for key in ("forced", "forbidden", "start")
        if model.path_.parameters.get(key)
    }
    rewrite(model, names, data, **said)


def _note_rule(model: Any, rule: str | int | float) -> None:
    """Write down how the size was settled on."""
    if "choose" in model.get_params(deep=False):
        model.set_params(choose=rule)
    rewrite(model, choose=rule)
