"""The job of ``sparsepath demo``: the main job on data that scikit-learn carries, and a page."""

from pathlib import Path

import numpy as np

from sparsepath.cli.results import FILES, MORE_FILES, page_of, write_results
from sparsepath.cli.select import Outcome, Problem, search
from sparsepath.data.paper_sets import diabetes
from sparsepath.data.readers import Table, read_table, write_table
from sparsepath.errors import FileError, SparsepathError

TARGET = "progression"
MARK = '<meta name="generator" content="sparsepath demo">'


def refuse_others(folder: Path) -> None:
    """Refuse a folder that has files of these names which no demo has written."""
    there = [name for name in (*FILES, *MORE_FILES) if (folder / name).exists()]
    page = folder / "index.html"
    if there and not (page.is_file() and MARK in page.read_text("utf-8", "replace")):
        raise FileError(
            f"cannot write to {folder}: it has {there[0]}, which no demo wrote; name another "
            "folder with --out."
        )
    data = folder / "diabetes.csv"
    if data.is_file() and not _is_the_data(data):
        raise FileError(
            f"cannot write {data}: it is not as the demo wrote it; name another folder with --out."
        )


def _is_the_data(file: Path) -> bool:
    expected = diabetes()
    try:
        found = read_table(file, target=TARGET)
    except SparsepathError:
        return False
    return np.array_equal(found.X, expected.X) and np.array_equal(np.asarray(found.y), expected.y)


def solve(folder: Path, quiet: bool = False) -> Outcome:
    """Write the diabetes data as a file, and select from it."""
    data = diabetes()
    file = folder / "diabetes.csv"
    columns = {name: data.X[:, j] for j, name in enumerate(data.names)}
    write_table(file, {**columns, TARGET: data.y})
    return search(Problem(Table(data.X, data.y, data.names, TARGET, str(file))), {}, quiet=quiet)


def write_demo(outcome: Outcome, folder: Path) -> dict[str, Path]:
    """All that ``sparsepath select --out`` writes, and a page that shows it."""
    files = write_results(outcome, folder, {"index.html": page_of(outcome, mark=MARK).encode()})
    return {**files, "diabetes.csv": folder / "diabetes.csv"}
