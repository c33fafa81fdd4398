"""``sparsepath compare``: several methods on the same held-out rows; ``sparsepath demo``."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsepath.cli import results
from sparsepath.cli.estimator import SelectionRequest
from sparsepath.cli.input import InputSpec, Problem, read
from sparsepath.cli.output import ProgressBar, say
from sparsepath.cli.results import picture, without_formulas
from sparsepath.cli.run_file import ABOUT, RUN, command, run_file, with_code
from sparsepath.cli.select import select, warnings_as_notes
from sparsepath.data.readers import Table as FileTable
from sparsepath.data.readers import read_table, write_table
from sparsepath.errors import FileError, SparsepathError
from sparsepath.methods.candidates import Entrants, entrants
from sparsepath.methods.comparison import Comparison, compare
from sparsepath.report import contest_page
from sparsepath.report.column_remarks import remarks_on
from sparsepath.report.outcome import Outcome
from sparsepath.report.path_table import WIDE_TABLE
from sparsepath.system.files import replacing_together
from sparsepath.tables.cells import RawTable

SCHEMA = {"schema": "sparsepath/comparison", "schema_version": 1}
FILES = {
    "compare.csv": "one row per method",
    "compare.json": "the same, with the errors of every size",
    "compare.png": "errors on one axis, and which features each method takes",
    "compare.html": "all of it on one page, to open in a browser",
    RUN: ABOUT,
}

TARGET = "progression"
DEMO_METHODS = ("greedy-rls", "floating-rls", "lars")
DEMO_MARK = '<meta name="generator" content="sparsepath demo">'


@dataclass(frozen=True)
class ComparisonRequest:
    """Methods to compare, and the time budget."""

    methods: tuple[str, ...] | None = None
    task: str = "auto"
    folds: int | str = 10
    budget: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # of the methods that have them


def run(problem: Problem, request: ComparisonRequest, quiet: bool = True) -> Comparison:
    """Estimate the cost, then compare."""
    table = problem.table
    task = problem.task(request.task)
    folds = request.folds if isinstance(request.folds, int) else len(problem.y)
    preparation = problem.preparing.parameters if isinstance(table.X, RawTable) else None
    given = request.methods, table.X, problem.y, task.name, folds, preparation, request.options
    candidates = entrants(*given)
    names = tuple(candidates.estimators)
    for remark in [*problem.remarks, *remarks_on(table, task)]:
        if remark.said:
            say(remark.said)
    if not quiet:
        _say_cost(candidates, request.budget)
    extras: dict[str, Any] = {} if problem.weights is None else {"sample_weight": problem.weights}
    bar = ProgressBar(None, 1, unit="folds", backward=False, quiet=quiet, what="comparing")
    with bar as watch, warnings_as_notes() as notes:

        def told(name: str, done: int, of: int) -> None:
            watch.count(names.index(name) * of + done, len(names) * of)

        found = compare(
            candidates.estimators,
            table.X,
            problem.fitted_y,
            task=task.name,
            validation=request.folds,
            groups=problem.groups,
            budget=request.budget,
            callback=told,
            feature_names=table.names,
            **extras,
        )
    for note in notes if not quiet else ():
        say(f"Note: {note}")
    return replace(found, passed_over={**candidates.left_out, **found.passed_over})


def _say_cost(candidates: Entrants, budget: float | None) -> None:
    known = {name: candidates.seconds[name] for name in candidates.estimators}
    about = ", ".join(f"{name} {_time(seconds)}" for name, seconds in known.items())
    total = sum(known.values())
    limit = "--budget 5min sets a limit" if budget is None else f"at most {_time(budget)}"
    say(f"Note: about {_time(total)} in all ({about}); {limit}.")


def _time(seconds: float) -> str:
    """Format a time in words.

    >>> _time(0.2), _time(7.4), _time(300)
    ('1 s', '7 s', '5 min')
    """
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{max(seconds, 1):.0f} s"


def show(found: Comparison) -> None:
    """Print the answer line by line, and the table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in found.head:
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    table.add_column("features", overflow="fold")
    for row in found.rows():
        table.add_row(*map(Text, row))
    piped = not sys.stdout.isatty()
    console = Console(highlight=False, width=WIDE_TABLE if piped else None)
    how = f"Validation: {found.best.chosen.validation}, the same rows left out for all methods."
    for line in [*found.sentences(), how]:
        console.print(Text(line, style="bold"), soft_wrap=piped)
    Console(highlight=False, width=WIDE_TABLE).print(table)


def document(found: Comparison) -> dict[str, Any]:
    """Return the comparison as plain values."""
    return {
        **SCHEMA,
        "sentence": found.sentence(),
        "methods": [
            {
                "method": one.name,
                **one.chosen.to_dict(),
                "seconds": one.seconds,
                "features": list(one.features),
                "gap": found.gap(one.name),
                "sizes": list(one.left_out.sizes),
                "errors": one.left_out.errors.tolist(),
                "errors_se": one.left_out.errors_se.tolist(),
            }
            for one in found.contestants
        ],
        "passed_over": dict(found.passed_over),
        "common_features": list(found.common),
        "taken_by": {name: list(takers) for name, takers in found.agreement.items()},
    }


def write(found: Comparison, folder: Path, data: Path) -> dict[str, Path]:
    """Write all of ``FILES``; they take the places of older ones when all are whole."""
    page = contest_page(
        found, title=f"Which method for {data.name}", about=[str(data)], command=command()
    )
    record = document(found)
    told = [[one["method"], one["features"], one["errors"]] for one in record["methods"]]
    frame = found.to_frame("pyarrow")
    drawn = picture(found.plot, dpi=110)
    with replacing_together(folder, list(FILES)) as stage:
        columns = {name: frame.column(name).to_numpy() for name in frame.column_names}
        write_table(stage / "compare.csv", without_formulas(columns))
        (stage / "compare.json").write_text(json.dumps(record), encoding="utf-8")
        (stage / "compare.html").write_text(page, encoding="utf-8")
        (stage / RUN).write_bytes(run_file(data, told))
        (stage / "compare.png").write_bytes(drawn)
    return {name: folder / name for name in FILES}


# The demo --------------------------------------------------------------------------------


def refuse_others(folder: Path) -> None:
    """Refuse a folder that has files of these names which no demo has written."""
    there = [name for name in (*results.FILES, *results.MORE_FILES) if (folder / name).exists()]
    page = folder / "index.html"
    if there and not (page.is_file() and DEMO_MARK in page.read_text("utf-8", "replace")):
        raise FileError(
            f"cannot write to {folder}: it contains {there[0]}, not from a demo; name another "
            "folder with --out."
        )
    data = folder / "diabetes.csv"
    if data.is_file() and not _is_the_data(data):
        raise FileError(
            f"cannot write {data}: it was not written by the demo; name another folder with --out."
        )


def _diabetes() -> FileTable:
    """Return the data of Efron et al. in raw units, as scikit-learn has them."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    return FileTable(np.asfortranarray(bunch.data), bunch.target, bunch.feature_names, TARGET, "")


def _is_the_data(file: Path) -> bool:
    expected = _diabetes()
    try:
        found = read_table(file, target=TARGET)
    except SparsepathError:
        return False
    same = np.array_equal(found.X, expected.X)
    return same and np.array_equal(np.asarray(found.y), np.asarray(expected.y))


def demo(folder: Path, quiet: bool = False) -> tuple[Outcome, Comparison | None]:
    """Write the diabetes data as a file, select from it, and compare some quick methods."""
    data = _diabetes()
    file = folder / "diabetes.csv"
    columns = dict(zip(data.names, data.X.T, strict=True))
    write_table(file, {**columns, TARGET: np.asarray(data.y)})
    spec = InputSpec(file, TARGET)
    problem = read(spec)
    outcome = with_code(select(problem, SelectionRequest(quiet=quiet)), spec)
    if outcome.interrupted:
        return outcome, None
    return outcome, run(problem, ComparisonRequest(DEMO_METHODS), quiet=True)


def write_demo(outcome: Outcome, found: Comparison | None, folder: Path) -> dict[str, Path]:
    """Write all files of ``sparsepath select --out``, and the reports."""
    pages = {"index.html": results.page_of(outcome, mark=DEMO_MARK)}
    if found is not None:
        source = outcome.table.source
        pages["compare.html"] = contest_page(
            found, title="Which method for diabetes.csv", about=[source], command=command()
        )
    files = results.write_results(
        outcome, folder, {name: text.encode() for name, text in pages.items()}
    )
    return {**files, "diabetes.csv": folder / "diabetes.csv"}
