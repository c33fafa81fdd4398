"""A selection path in words and as a table, for a terminal."""

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsepath.choosing import ranges
from sparsepath.cli.figures import said as figures_said
from sparsepath.cli.preparing import beneath
from sparsepath.cli.select import Outcome
from sparsepath.data.layout import BY_NUMBER
from sparsepath.judging import Honest
from sparsepath.judging.repeating import at_most
from sparsepath.methods import METHODS
from sparsepath.path import SelectionPath
from sparsepath.wording import brief

MEANT_BY = {
    "selection": "the search's own criterion: optimistic for the chosen set, not an estimate of "
    "the error on new data",
    "training": "on the training data: optimistic, not an estimate of the error on new data",
    "honest": "on data that the search never saw",
}
BESIDE = {
    "selection": "that the search minimised",
    "training": "on the training data",
    "honest": "on data that the search never saw",
}
FOLLOWED = (
    "of models on features that were chosen with the same rows: optimistic, not an estimate of the "
    "error on new data"
)
WHERE = {"training": " on the training data", "honest": " on data that the search never saw"}
TOO_LITTLE = (
    "With the target shuffled the same search rarely finds as much (p = {0.p_value:.3g}), but what "
    "it finds here is too little to be of use on new data."
)
ROWS_ON_TOP, AROUND, SHOWN_WHOLE = 5, 2, 24  # rows of the table: at the top, about a mark, if all
FALLING = 1e-3  # part of an error by which the next step lowers it, if it is to count as falling
WIDE_TABLE = 160  # columns of a table that goes to a file
RULES_SAID = {
    "min": "the least error on the path",
    "own": "the model with which the method ended",
    "one_se": "the smallest set within one standard error of the least error",
    "paired": "the smallest set that is not clearly worse than the best, row by row",
}


HONEST_COLUMNS = ["honest", "std. error", "criterion"]


class Row(NamedTuple):
    """One size as the table shows it; ``error`` is the honest one if there is one."""

    size: int
    error: str
    error_se: str
    criterion: str
    enters: str
    leaves: str
    mark: str


def heading(outcome: Outcome) -> list[str]:
    """What was searched, how, and what the error means."""
    path, model, table = outcome.path, beneath(outcome.model), outcome.table
    m, n = table.X.shape
    task = outcome.task
    columns = 0 if table.layout is None or table.layout.kind != BY_NUMBER else table.layout.columns
    of = f" (of {columns:,} columns; the others are empty)" if columns > n else ""
    how = [path.method if path.method in METHODS else outcome.method]
    said = METHODS[outcome.method].model
    if said:
        how.append(said)
    if hasattr(model, "alpha_"):
        given, how_alpha = model.alpha, ""
        if given == "loo":
            how_alpha = " (by leave-one-out with all features)"
        elif isinstance(given, Sequence) and len(given) > 1:
            how_alpha = f" (of {', '.join(f'{a:.4g}' for a in given)})"
        how.append(f"alpha {model.alpha_:.4g}{how_alpha}")
    how += _settings(model)
    if getattr(model, "standardize", False):
        penalised = hasattr(model, "alpha_") or hasattr(model, "l2")
        how.append(f"columns standardised{' for the penalty' * penalised}")
    return [
        f"{table.source}: {m:,} rows, {n:,} features{of}, target {table.target!r}.",
        f"Task: {task.name} (the target is {task.why}; --task {task.other} changes that).",
        f"Method: {', '.join(how)}.",
        _error_line(outcome),
    ]


def _error_line(outcome: Outcome) -> str:
    """What the figures of the table are."""
    path, honest = outcome.path, outcome.honest
    follows = bool(METHODS[outcome.method].model)
    if honest is None:
        return f"Error: {path.criterion}, {FOLLOWED if follows else MEANT_BY[path.error_kind]}."
    what = "of features that were chosen on the same rows" if follows else BESIDE[path.error_kind]
    return (
        f"Error: 'honest' is the {honest.measure} on rows that the whole procedure never saw "
        f"({path.validation}): what to expect on new data. 'criterion' is the {path.criterion} "
        f"{what}: optimistic."
    )


def _settings(model: Any) -> list[str]:
    """Penalties, budgets and widths in use."""
    said = []
    if hasattr(model, "l1_"):
        said.append(f"l1 {model.l1_:.4g} (by cross-validation)")
    elif hasattr(model, "l1"):
        said.append(f"l1 {model.l1:.4g}")
    said += [f"{name} {getattr(model, name):.4g}" for name in ("l2", "l0") if _set(model, name)]
    if hasattr(model, "n_hidden_"):
        said.append(f"{model.n_hidden_} hidden unit{'s' * (model.n_hidden_ != 1)}")
    names = {"r_": "r", "t_": "t", "gamma_": "gamma", "sigma2_": "sigma2"}
    if len(model.selected_):
        said += [f"{n} {getattr(model, a):.4g}" for a, n in names.items() if hasattr(model, a)]
    if hasattr(model, "n_restarts"):
        said.append(f"seed {model.random_state}")
    return said


def _set(model: Any, name: str) -> bool:
    return bool(getattr(model, name, 0))


def rows(outcome: Outcome) -> list[Row]:
    """One row per size."""
    path = outcome.path
    names, least = path.feature_names, path.choose("min")
    validated = outcome.honest is not None
    errors, errors_se = path.errors, path.errors_se
    if validated:
        errors, errors_se = path.honest_errors, path.honest_errors_se
    number, other = number_format(errors), number_format(path.errors)
    found = []
    for k, (before, subset) in enumerate(pairwise([(), *path.subsets])):
        marks = ["chosen"] * (len(subset) == outcome.size) + ["least error"] * (
            len(subset) == least
        )
        found.append(
            Row(
                len(subset),
                number(errors[k]),
                number(errors_se[k]),
                other(path.errors[k]) if validated else "",
                ", ".join(names[i] for i in subset if i not in set(before)),
                ", ".join(names[i] for i in before if i not in set(subset)),
                ", ".join(marks),
            )
        )
    return found


def number_format(values: Any) -> Callable[[float], str]:
    """How to write the numbers of a column: five digits of the largest, if they are alike.

    >>> number_format([5943.2, 2996.71])(2996.71), number_format([1e3, 1e-6])(1e-6)
    ('2996.7', '1e-06')
    """
    finite = [abs(float(value)) for value in values if math.isfinite(value) and value != 0]
    if not finite or max(finite) > 1e4 * min(finite) or not 1e-6 < max(finite) < 1e12:
        return lambda value: "" if math.isnan(value) else f"{value:.4g}"
    decimals = max(4 - math.floor(math.log10(max(finite))), 0)
    return lambda value: "" if math.isnan(value) else f"{value:.{decimals}f}"


def in_table(path: SelectionPath, size: int) -> list[int | None]:
    """The rows to show of a long path, by place; None stands for those left out."""
    last = len(path) - 1
    if last < SHOWN_WHOLE:
        return list(range(last + 1))
    places = {*range(ROWS_ON_TOP + 1), last}
    for marked, around in ((path.sizes.index(size), AROUND), (least(path), 1)):
        places |= {*range(max(marked - around, 0), min(marked + around, last) + 1)}
    shown: list[int | None] = []
    for place in range(last + 1):
        lone = {place - 1, place + 1} <= places  # a gap of one row saves nothing
        if place in places or lone:
            shown.append(place)
        elif shown[-1] is not None:
            shown.append(None)
    return shown


def least(path: SelectionPath) -> int:
    """The place of the least error."""
    return path.sizes.index(path.choose("min"))


def number_columns(outcome: Outcome) -> list[str]:
    """The names of the columns of numbers."""
    return ["size", *(["error", "std. error"] if outcome.honest is None else HONEST_COLUMNS)]


def number_cells(outcome: Outcome, row: Row) -> list[str]:
    """What stands in them."""
    cells = [str(row.size), row.error, row.error_se]
    return cells if outcome.honest is None else [*cells, row.criterion]


def path_table(outcome: Outcome) -> Table:
    """The path as a table, shortened if it is long."""
    every, shown = rows(outcome), in_table(outcome.path, outcome.size)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    leaving = any(row.leaves for row in every)
    for name in number_columns(outcome):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("enters", overflow="fold")
    if leaving:
        table.add_column("leaves", overflow="fold")
    table.add_column("", no_wrap=True)
    for place in shown:
        row = Row("...", "", "", "", "", "", "") if place is None else every[place]  # type: ignore[arg-type]
        cells = [*number_cells(outcome, row), row.enters]
        cells += [row.leaves] * leaving + [f"<- {row.mark}" if row.mark else ""]
        style = "bold green" if "chosen" in row.mark else "dim" if place is None else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def sentence(outcome: Outcome) -> str:
    """The recommendation in plain words, and what else was asked for."""
    return " ".join(sentences(outcome))


def sentences(outcome: Outcome) -> list[str]:
    """The recommendation, the search on shuffled targets, and the one on halves."""
    use, error, *more = paragraphs(outcome)
    return [f"{use} {error}", *more]


def paragraphs(outcome: Outcome) -> list[str]:
    """The same, with the sentence that names the features apart."""
    told = [_use(outcome), " ".join([*_error(outcome), *_why(outcome), *_further(outcome)])]
    if outcome.null is not None:
        useless = outcome.null.anything and _none_better(outcome)
        told.append(TOO_LITTLE.format(outcome.null) if useless else outcome.null.sentence())
    if outcome.stability is not None:
        told.append(_stability(outcome))
    return told


def _use(outcome: Outcome) -> str:
    path, size = outcome.path, outcome.size
    n = path.n_features
    if outcome.is_nothing:
        p = outcome.null.p_value if outcome.null is not None else math.nan
        kept = f" but the {size} of the smallest model" if size else ""
        return (
            f"Use none of the {n} feature{'s' * (n != 1)}{kept}: nothing is here that the same "
            f"search does not find where the target is shuffled (p = {p:.3g})."
        )
    if size == 0:
        return f"Use none of the {n} feature{'s' * (n != 1)}."
    return f"Use {size} of {n} feature{'s' if n > 1 else ''}: {', '.join(path.names(size))}."


def _error(outcome: Outcome) -> list[str]:
    """The honest error and then the criterion; or the criterion, and what that is worth."""
    path, size, honest = outcome.path, outcome.size, outcome.honest
    error, se = path.error(size), path.error_se(size)
    within = "" if math.isnan(se) else f" (+- {brief(se, of=error)})"
    also = f"; in the same way {figures_said(outcome.figures)}" if outcome.figures else ""
    others = getattr(outcome.model, "surface_", None)
    if others is not None and len(others.paths) > 1:
        also += f", with alpha {outcome.model.alpha_:.4g}"
    if honest is not None:
        interval = honest.between(partial(brief, of=honest.error))
        measure = honest.measure[0].upper() + honest.measure[1:]
        hope = ": optimistic" if error < honest.error else ""
        return [
            f"{measure} {brief(honest.error)} on new data (90 % interval {interval})"
            f"{_against_none(outcome, honest)}{also}.",
            _none_better(outcome)
            or f"{_criterion(path, outcome.method)}, is {brief(error)}{within}{hope}.",
        ]
    fall, what = _gain(path, size)
    against = "" if math.isnan(fall) else f", {_percent(fall)} {what}"
    criterion = path.criterion[0].upper() + path.criterion[1:] + WHERE.get(path.error_kind, "")
    settled = isinstance(outcome.rule, int) or outcome.rule == "own"
    seen = "The error comes" if settled else "Size and error come"
    by = "models on features chosen with the same rows"
    if not METHODS[outcome.method].model:
        by = "the criterion that the search itself minimised"
    return [
        f"{criterion} {brief(error)}{within}{against}{also}.",
        f"{seen} from {by}, and no row was kept from the search: expect a larger error on new "
        "data.",
    ]


def _criterion(path: SelectionPath, method: str) -> str:
    """The criterion, as what it is."""
    by = "which the search itself minimised"
    if METHODS[method].model:
        by = "with features that were chosen on the same rows"
    return f"The {path.criterion}{WHERE.get(path.error_kind, '')}, {by}"


def _none_better(outcome: Outcome) -> str:
    """That none is the answer, whatever the search itself says; empty if the rows do not say it."""
    path = outcome.path
    least = path.choose("min") == 0
    if outcome.size or not (least or (outcome.rule == "one_se" and not outcome.is_nothing)):
        return ""
    does = "does better" if least else "is clearly better"
    told = f"No set of features {does} on new data than none"
    lowest = path.steps[int(path.errors.argmin())]
    if not lowest.subset:
        return f"{told}."
    return (
        f"{told}, although {_criterion(path, outcome.method).replace('The', 'the', 1)}, falls to "
        f"{brief(lowest.error)} at size {len(lowest.subset)}."
    )


def _against_none(outcome: Outcome, honest: Honest) -> str:
    """The honest error against that of the empty model, which is honest too."""
    _, what = _gain(outcome.path, outcome.size)
    if not what or outcome.size == outcome.path.sizes[0] or not 0 < honest.empty_error < math.inf:
        return ""
    none = brief(honest.empty_error, of=honest.error)
    if honest.gain <= 0:
        better = "using none" if outcome.path.sizes[0] == 0 else what
        return f": no better than {better} ({none})"
    doubt = ", which the interval includes" if honest.interval[1] >= honest.empty_error else ""
    return f", {_percent(honest.gain)} {what} ({none}){doubt}"


def _percent(fall: float) -> str:
    return f"{abs(fall):.1%}".replace("%", " %") + (" below" if fall >= 0 else " above")


def _why(outcome: Outcome) -> list[str]:
    """By which rule, and where the least error is."""
    path, size, rule = outcome.path, outcome.size, outcome.rule
    best = path.choose("min")
    if outcome.is_nothing:
        return []
    if isinstance(rule, str):
        paired = rule == "one_se" and outcome.honest is not None
        why = RULES_SAID["paired" if paired else rule]
        if paired and "passes" in path.data:  # of which folds are known, not rows
            why = why.replace("row by row", "fold by fold")
    elif isinstance(rule, int):
        way = "smaller" if size < rule else "larger"
        why = f"the next {way} size to the {rule} asked for"
        why = "the size asked for" if size == rule else why
    else:
        why = f"the smallest set within {rule:.4g} of the least error"
    others = getattr(outcome.model, "surface_", None)
    if outcome.honest is None and others is not None and len(others.paths) > 1:
        alpha, best = others.choose("min")
        if (alpha, best) == (outcome.model.alpha_, size):
            return [f"This is {why}."]
        lowest = brief(others.paths[alpha].error(best))
        return [f"This is {why}; the least is {lowest} at size {best} with alpha {alpha:.4g}."]
    if best == size:
        return [f"This is {why}."]
    lowest = brief(_errors(outcome)[path.sizes.index(best)])
    return [f"This is {why}; the least is {lowest} at size {best}."]


def _further(outcome: Outcome) -> list[str]:
    """Whether the path ends too early."""
    path = outcome.path
    if not path.complete:
        return [f"The search was interrupted when the path had the sizes {ranges(path.sizes)}."]
    most = min(path.n_features, outcome.table.X.shape[0] - 2)  # rows leave room for no more
    ends = path.choose("min") == path.sizes[-1] < most and path.stopped == "max_features"
    if outcome.size and ends and _falls(_errors(outcome)):
        return ["The error was still falling where the path ends: try a larger --max-features."]
    return []


def _errors(outcome: Outcome) -> Any:
    """The errors by which sizes are chosen."""
    return outcome.path.errors if outcome.honest is None else outcome.path.honest_errors


def _stability(outcome: Outcome) -> str:
    """The search on halves at the size in use, and which features stand in for each other."""
    found = outcome.stability
    assert found is not None
    if not found.sizes:
        return f"Over {found.n_runs} halves of the data no feature was chosen: they are too small."
    size = at_most(max(outcome.size, 1), dict.fromkeys(found.sizes))
    told = [found.sentence(size)]
    for group in found.stand_ins(size):
        told.append(f"One of these stands in for another: {', '.join(group)}.")
    return " ".join(told)


def _falls(errors: Any) -> bool:
    """Whether the last step lowered the error by more than a trifle."""
    if len(errors) < 2:
        return False
    before, last = errors[-2:]
    return bool(before - last > FALLING * abs(last))


def show(outcome: Outcome) -> None:
    """Print the heading, the table and the recommendation."""
    piped = not sys.stdout.isatty()  # then lines stay whole, for whoever reads them
    console = Console(highlight=False, width=WIDE_TABLE if piped else None)
    for line in heading(outcome):
        console.print(Text(line), soft_wrap=piped)
    console.print(path_table(outcome))
    shown = in_table(outcome.path, outcome.size)
    if hidden := len(outcome.path) - sum(place is not None for place in shown):
        left_out = f"{hidden} of {len(outcome.path)} sizes are left out here; --out DIR writes all."
        console.print(Text(left_out, style="dim"), soft_wrap=piped)
    for told in sentences(outcome):
        console.print(Text(told, style="bold"), soft_wrap=piped)


def _gain(path: SelectionPath, size: int) -> tuple[float, str]:
    """By what part of the smallest model's error a size lowers the error, and what that model is.

    The empty model, or that of the features that were forced; NaN if there is neither.
    """
    least, what = path.sizes[0], "the empty model"
    if least and path.parameters.get("forced"):
        what = "the forced features alone"
    elif least:
        return math.nan, ""
    if size == least or not 0 < path.error(least) < math.inf:
        return math.nan, what
    return 1 - path.error(size) / path.error(least), what
