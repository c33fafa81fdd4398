"""A selection path as a table: one row per size, shortened if it is long."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from sparsepath.path.selection_path import SelectionPath
from sparsepath.report.figures import by_size
from sparsepath.report.outcome import Outcome
from sparsepath.system.number_format import LARGEST_PLAIN, LEAST_PLAIN, brief

ROWS_ON_TOP, AROUND, SHOWN_WHOLE = 5, 2, 24  # rows of the table: at the top, about a mark, if all

WIDE_TABLE = 160  # columns of a table that goes to a file
ENTERS, MARK, GAP = 10, len("<- chosen, least error"), 3  # widths: names when folded, marks


class Row(NamedTuple):
    """One size as the table shows it."""

    numbers: tuple[str, ...]  # the size, and what ``columns`` names
    enters: str
    leaves: str
    mark: str


def columns(outcome: Outcome, verbose: bool = False) -> dict[str, list[str]]:
    """The numbers of every size by column, as text."""
    classes = outcome.task.name == "classification"
    shown = by_size(outcome.path, outcome.honest, classes=classes)
    number = percent if shown.is_rate else number_format(shown.values)
    made = {
        "size": [str(size) for size in outcome.path.sizes],
        shown.name: [number(value) for value in shown.values],
        "std. error": [number(value) for value in shown.se],
    }
    if shown.beside is not None:
        name, values = shown.beside
        made[name] = [f"{value:.3f}" for value in values]
    if verbose and shown.criterion is not None:
        other = number_format(shown.criterion)
        made["criterion"] = [other(value) for value in shown.criterion]
    return made


def listed(names: Iterable[str]) -> str:
    """Return names between commas; those with a comma of their own in quotes.

    >>> listed(["age", "height, cm"])
    "age, 'height, cm'"
    """
    return ", ".join(repr(name) if "," in name else name for name in names)


def percent(value: float) -> str:
    """A rate in a column."""
    return "" if math.isnan(value) else f"{100 * value:.1f} %"


def rows(outcome: Outcome, numbers: Sequence[Sequence[str]]) -> list[Row]:
    """One row per size."""
    path = outcome.path
    names, least = path.feature_names, path.choose("min")
    honest = outcome.honest
    by_another = honest is not None and honest.shown_by_another
    lowest = f"least {honest.measure}" if by_another and honest is not None else "least error"
    found = []
    for k, (before, subset) in enumerate(pairwise([(), *path.subsets])):
        marks = ["chosen"] * (len(subset) == outcome.size) + [lowest] * (len(subset) == least)
        found.append(
            Row(
                tuple(cells[k] for cells in numbers),
                listed(names[i] for i in subset if i not in set(before)),
                listed(names[i] for i in before if i not in set(subset)),
                ", ".join(marks),
            )
        )
    return found


def number_format(values: Any) -> Callable[[float], str]:
    """How to write the numbers of a column: four digits of the largest, if they are alike.

    >>> number_format([77.2, 54.927])(54.927), number_format([1e3, 1e-6])(1e-6)
    ('54.93', '1e-06')
    """
    finite = [abs(float(value)) for value in values if math.isfinite(value) and value != 0]
    largest = max(finite, default=0.0)
    if not finite or largest > 1e4 * min(finite) or not LEAST_PLAIN < largest < LARGEST_PLAIN:
        return lambda value: "" if math.isnan(value) else brief(value)
    return lambda value: "" if math.isnan(value) else brief(value, of=largest)


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


def path_table(outcome: Outcome, verbose: bool = False, width: int = WIDE_TABLE) -> Table:
    """The path as a table, shortened if it is long; ``verbose``: with the criterion.

    Where it is wider than ``width``, columns of numbers are left out from the right. Its numbers
    are never cut.
    """
    numbers = columns(outcome, verbose)
    while len(numbers) > 2 and _least_width(numbers) > width:
        numbers.popitem()
    every, shown = rows(outcome, [*numbers.values()]), in_table(outcome.path, outcome.size)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    leaving = any(row.leaves for row in every)
    for name in numbers:
        cells = [name, *numbers[name]]
        table.add_column(name, justify="right", no_wrap=True, min_width=max(map(len, cells)))
    longest = max(len(row.enters) for row in every)
    table.add_column("enters", overflow="fold", min_width=min(ENTERS, max(longest, len("enters"))))
    if leaving:
        table.add_column("leaves", overflow="fold")
    marks = [f"<- {row.mark}" if row.mark else "" for row in every]
    table.add_column("", no_wrap=True, min_width=max(map(len, marks)))
    gap = Row(("...", *[""] * (len(numbers) - 1)), "", "", "")
    for place in shown:
        row = gap if place is None else every[place]
        cells = [*row.numbers, row.enters]
        cells += [row.leaves] * leaving + [f"<- {row.mark}" if row.mark else ""]
        style = "bold green" if "chosen" in row.mark else "dim" if place is None else ""
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def least_width(outcome: Outcome) -> int:
    """Return the characters that the narrowest form of the table needs."""
    first = dict([*columns(outcome).items()][:2])
    return _least_width(first)


def _least_width(numbers: Mapping[str, Sequence[str]]) -> int:
    """Return the characters that the table needs when names of features are folded."""
    wide = [max(map(len, (name, *cells))) for name, cells in numbers.items()]
    return GAP + sum(each + GAP for each in [*wide, ENTERS, MARK])
