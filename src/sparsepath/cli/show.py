"""A selection path in words and as a table, for a terminal."""

import math
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsepath.cli.figures import said as figures_said
from sparsepath.cli.methods import METHODS
from sparsepath.cli.select import Outcome, gain
from sparsepath.data.layout import NUMBERS
from sparsepath.path import SelectionPath

KINDS = {
    "selection": "the search's own criterion: optimistic for the chosen set, not an estimate of "
    "the error on new data",
    "training": "on the training data: optimistic, not an estimate of the error on new data",
    "honest": "on data that the search never saw",
}
FOLLOWED = (
    "of models on features that were chosen with the same rows: optimistic, not an estimate of the "
    "error on new data"
)
WHERE = {"training": " on the training data", "honest": " on data that the search never saw"}
FIRST, AROUND, WHOLE = 5, 2, 24  # rows of the table: at the top, about a mark, when all are shown
FALLING = 1e-3  # part of an error by which the next step lowers it, if it is to count as falling
WIDE = 160  # columns of a table that goes to a file
RULES = {
    "min": "the least error on the path",
    "own": "the model with which the method ended",
    "one_se": "the smallest set within one standard error of the least error",
}


class Row(NamedTuple):
    """One size as the table shows it."""

    size: int
    error: str
    error_se: str
    enters: str
    leaves: str
    mark: str


def heading(outcome: Outcome) -> list[str]:
    """What was searched, how, and what the error means."""
    path, model, table = outcome.path, outcome.model, outcome.table
    m, n = table.X.shape
    task = outcome.task
    columns = 0 if table.layout is None or table.layout.kind != NUMBERS else table.layout.columns
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
        f"Error: {path.criterion}, {FOLLOWED if said else KINDS[path.error_kind]}.",
    ]


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
    number = number_format(path.errors)
    found = []
    for (_, before), (step, subset) in pairwise(
        [(None, ()), *zip(path.steps, path.subsets, strict=True)]
    ):
        assert step is not None
        marks = ["chosen"] * (len(subset) == outcome.size) + ["least error"] * (
            len(subset) == least
        )
        found.append(
            Row(
                len(subset),
                number(step.error),
                number(step.error_se),
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


def brief(value: float, of: float | None = None) -> str:
    """A number in a sentence: four digits, or as many decimals as ``of`` has with four.

    >>> brief(2996.71), brief(187.43, of=2996.71), brief(0.0123456), brief(1234567.8)
    ('2997', '187', '0.01235', '1234568')
    """
    size = abs(value if of is None else of)
    if not 1e-4 < size < 1e9:
        return f"{value:.4g}"
    return f"{value:.{max(3 - math.floor(math.log10(size)), 0)}f}"


def in_table(path: SelectionPath, size: int) -> list[int | None]:
    """The rows to show of a long path, by place; None stands for those left out."""
    last = len(path) - 1
    if last < WHOLE:
        return list(range(last + 1))
    places = {*range(FIRST + 1), last}
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


def path_table(outcome: Outcome) -> Table:
    """The path as a table, shortened if it is long."""
    every, shown = rows(outcome), in_table(outcome.path, outcome.size)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    leaving = any(row.leaves for row in every)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("error", justify="right", no_wrap=True)
    table.add_column("std. error", justify="right", no_wrap=True)
    table.add_column("enters", overflow="fold")
    if leaving:
        table.add_column("leaves", overflow="fold")
    table.add_column("", no_wrap=True)
    for place in shown:
        row = Row("...", "", "", "", "", "") if place is None else every[place]  # type: ignore[arg-type]
        cells = [str(row.size), row.error, row.error_se, row.enters]
        cells += [row.leaves] * leaving + [f"<- {row.mark}" if row.mark else ""]
        style = "bold green" if "chosen" in row.mark else "dim" if place is None else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def sentence(outcome: Outcome) -> str:
    """The recommendation in plain words."""
    path, size = outcome.path, outcome.size
    n, best = path.n_features, path.choose("min")
    criterion = path.criterion[0].upper() + path.criterion[1:] + WHERE.get(path.error_kind, "")
    error, se = path.error(size), path.error_se(size)
    within = "" if math.isnan(se) else f" (+- {brief(se, of=error)})"
    if size == 0:
        words = [
            f"Use none of the {n} feature{'s' * (n != 1)}.",
            f"{criterion} {brief(error)}{within}.",
        ]
    else:
        names = ", ".join(path.names(size))
        fall, what = gain(path, size)
        against = ""
        if not math.isnan(fall):
            way = "below" if fall >= 0 else "above"
            against = f", {abs(fall):.1%}".replace("%", " %") + f" {way} {what}"
        words = [
            f"Use {size} of {n} feature{'s' if n > 1 else ''}: {names}.",
            f"{criterion} {brief(error)}{within}{against}.",
        ]
    if outcome.figures:
        words[1] = f"{words[1][:-1]}; in the same way {figures_said(outcome.figures)}."
    if isinstance(outcome.rule, str):
        words.append(f"This is {RULES[outcome.rule]}")
    elif isinstance(outcome.rule, int):
        way = "smaller" if size < outcome.rule else "larger"
        short = f"the next {way} size to the {outcome.rule} asked for"
        words.append(f"This is {'the size asked for' if size == outcome.rule else short}")
    else:
        words.append(f"This is the smallest set within {outcome.rule:.4g} of the least error")
    others = getattr(outcome.model, "surface_", None)
    if others is not None and len(others.paths) > 1:
        words[1] = words[1][:-1] + f", with alpha {outcome.model.alpha_:.4g}."
        alpha, best = others.choose("min")
        if (alpha, best) == (outcome.model.alpha_, size):
            words[-1] += "."
        else:
            lowest = brief(others.paths[alpha].error(best))
            words[-1] += f"; the least is {lowest} at size {best} with alpha {alpha:.4g}."
    elif best == size:
        words[-1] += "."
    else:
        words[-1] += f"; the least is {brief(path.error(best))} at size {best}."
    most = min(n, outcome.table.X.shape[0] - 2)  # rows leave room for no more
    if size and best == path.sizes[-1] < most and path.stopped == "max_features" and _falls(path):
        words.append(
            "The error was still falling where the path ends: try a larger --max-features."
        )
    return " ".join(words)


def _falls(path: SelectionPath) -> bool:
    """Whether the last step lowered the error by more than a trifle."""
    if len(path) < 2:
        return False
    before, last = path.errors[-2:]
    return bool(before - last > FALLING * abs(last))


def show(outcome: Outcome) -> None:
    """Print the heading, the table and the recommendation."""
    piped = not sys.stdout.isatty()  # then lines stay whole, for whoever reads them
    console = Console(highlight=False, width=WIDE if piped else None)
    for line in heading(outcome):
        console.print(Text(line), soft_wrap=piped)
    console.print(path_table(outcome))
    shown = in_table(outcome.path, outcome.size)
    if hidden := len(outcome.path) - sum(place is not None for place in shown):
        left_out = f"{hidden} of {len(outcome.path)} sizes are left out here; --out DIR writes all."
        console.print(Text(left_out, style="dim"), soft_wrap=piped)
    console.print(Text(sentence(outcome), style="bold"), soft_wrap=piped)
