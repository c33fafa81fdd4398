"""A selection path as a table: one row per size, shortened if it is long."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from sparsepath.path.selection_path import SelectionPath
from sparsepath.report.outcome import Outcome

ROWS_ON_TOP, AROUND, SHOWN_WHOLE = 5, 2, 24  # rows of the table: at the top, about a mark, if all
HONEST_COLUMNS = ["honest", "std. error", "criterion"]


class Row(NamedTuple):
    """One row of the table; ``error`` is the honest error if there is one."""

    size: int
    error: str
    error_se: str
    criterion: str
    enters: str
    leaves: str
    mark: str


def rows(outcome: Outcome) -> list[Row]:
    """Return one row per size."""
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
    """Return a number format for a column: five digits of the largest, if values are similar.

    >>> number_format([5943.2, 2996.71])(2996.71), number_format([1e3, 1e-6])(1e-6)
    ('2996.7', '1e-06')
    """
    finite = [abs(float(value)) for value in values if math.isfinite(value) and value != 0]
    if not finite or max(finite) > 1e4 * min(finite) or not 1e-6 < max(finite) < 1e12:
        return lambda value: "" if math.isnan(value) else f"{value:.4g}"
    decimals = max(4 - math.floor(math.log10(max(finite))), 0)
    return lambda value: "" if math.isnan(value) else f"{value:.{decimals}f}"


def in_table(path: SelectionPath, size: int) -> list[int | None]:
    """Return the indices of the rows to show for a long path; None stands for omitted rows."""
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
    """Return the index of the minimum error."""
    return path.sizes.index(path.choose("min"))


def number_columns(outcome: Outcome) -> list[str]:
    """Return the names of the numeric columns."""
    return ["size", *(["error", "std. error"] if outcome.honest is None else HONEST_COLUMNS)]


def number_cells(outcome: Outcome, row: Row) -> list[str]:
    """Return the cells of the numeric columns."""
    cells = [str(row.size), row.error, row.error_se]
    return cells if outcome.honest is None else [*cells, row.criterion]


def path_table(outcome: Outcome) -> Table:
    """Return the path as a table, shortened if it is long."""
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
