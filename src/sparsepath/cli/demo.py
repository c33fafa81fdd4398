"""``sparsepath demo``: select and compare on scikit-learn's diabetes data."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from sparsepath.cli.compare import ComparisonRequest, run
from sparsepath.cli.estimator import SelectionRequest
from sparsepath.cli.input import Problem
from sparsepath.cli.results import FILES, MORE_FILES, command, page_of, write_results
from sparsepath.cli.select import select
from sparsepath.data.readers import Table, read_table, write_table
from sparsepath.errors import FileError, SparsepathError
from sparsepath.methods.comparison import Comparison
from sparsepath.report import contest_page
from sparsepath.report.outcome import Outcome

TARGET = "progression"
DEMO_METHODS = ("greedy-rls", "floating-rls", "lars")
DEMO_MARK = '<meta name="generator" content="sparsepath demo">'


def refuse_others(folder: Path) -> None:
    """Refuse a folder that has files of these names which no demo has written."""
    there = [name for name in (*FILES, *MORE_FILES) if (folder / name).exists()]
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


def _diabetes() -> Table:
    """Return the data of Efron et al. in raw units, as scikit-learn has them."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    return Table(np.asfortranarray(bunch.data), bunch.target, bunch.feature_names, TARGET, "")


def _is_the_data(file: Path) -> bool:
    expected = _diabetes()
    try:
        found = read_table(file, target=TARGET)
    except SparsepathError:
        return False
    same = np.array_equal(found.X, expected.X)
    return same and np.array_equal(np.asarray(found.y), np.asarray(expected.y))


def solve(folder: Path, quiet: bool = False) -> tuple[Outcome, Comparison | None]:
    """Write the diabetes data as a file, select from it, and compare some quick methods."""
    data = _diabetes()
    file = folder / "diabetes.csv"
    columns = dict(zip(data.names, data.X.T, strict=True))
    write_table(file, {**columns, TARGET: np.asarray(data.y)})
    problem = Problem(replace(data, source=str(file)))
    outcome = select(problem, SelectionRequest(quiet=quiet))
    if outcome.interrupted:
        return outcome, None
    return outcome, run(problem, ComparisonRequest(DEMO_METHODS), quiet=True)


def write_demo(outcome: Outcome, found: Comparison | None, folder: Path) -> dict[str, Path]:
    """Write all files of ``sparsepath select --out``, and the reports."""
    pages = {"index.html": page_of(outcome, mark=DEMO_MARK)}
    if found is not None:
        source = outcome.table.source
        pages["compare.html"] = contest_page(
            found, title="Which method for diabetes.csv", about=[source], command=command()
        )
    files = write_results(outcome, folder, {name: text.encode() for name, text in pages.items()})
    return {**files, "diabetes.csv": folder / "diabetes.csv"}
