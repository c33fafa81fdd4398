"""A look at the columns before the search: what will look like a good feature and is none."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from sparsepath.arrays import Floats
from sparsepath.cli.options import listing
from sparsepath.cli.tasks import TargetTask
from sparsepath.data.cells import RawTable
from sparsepath.data.formats import named_columns
from sparsepath.data.readers import Table
from sparsepath.errors import InputError

SAME = 1e-6  # 1 - r^2 below which a column is the target but for rounding
SURE = 10  # rows from which on it is no accident
HUGE = 1e150  # the square of anything larger is infinite
SPREAD = 10  # an id lies in a range of so many times the number of rows, unless its name says it
NAMED_ID = re.compile(r"(^|[^a-z])(id|uid|uuid|key|nr|no|number)([^a-z]|$)")
BLOCK = 1 << 22  # numbers looked at together


def look(table: Table, task: TargetTask) -> list[str]:
    """What there is to say about the columns, or an error for numbers that cannot be computed with.

    Parameters
    ----------
    table : Table
        The features and the target.
    task : TargetTask
        Classes are compared by their order if there are two.
    """
    said = []
    if table.index:
        those = "it as a feature" if len(table.index) == 1 else "them as features"
        number = "numbers" if len(table.index) == 1 else "number"
        what = named_columns(table.index)
        said.append(
            f"Note: {what} only {number} the rows and {_is(table.index)} left out; "
            f"--keep-index takes {those}."
        )
    y = _numbers(table, task)
    if y is not None and task.name == "regression":
        _refuse_huge(table, y)
    raw = isinstance(table.X, RawTable)
    leaks, ids = _columns(_numeric(table) if raw else table, y)
    if raw and task.name == "classification":
        leaks += [name for name in _tell_all(table) if name not in leaks]
    if leaks:
        said.append(
            f"Warning: {named_columns(leaks)} {_is(leaks)} the target {table.target!r} up to a "
            f"linear map (correlation 1): if {'it is' if len(leaks) == 1 else 'they are'} not "
            f"known before the target is, leave {'it' if len(leaks) == 1 else 'them'} out by "
            f"--drop {listing(leaks)}"
        )
    if ids:
        one = len(ids) == 1
        said.append(
            f"Note: {named_columns(ids)} {'holds' if one else 'hold'} whole numbers that are all "
            f"different; if {'it is an id' if one else 'these are ids'}, leave "
            f"{'it' if one else 'them'} out by --drop {listing(ids)}"
        )
    if task.doubt:
        said.append(f"Note: {task.doubt}")
    return said


def _numeric(table: Table) -> Table:
    """The columns of numbers of a table of all kinds; their mean stands for what is missing."""
    cells = [cell for cell in table.X.cells if cell.kind == "number"]
    cells = [cell for cell in cells if cell.n_missing < len(cell.values)]
    columns = [np.where(np.isnan(c.values), np.nanmean(c.values), c.values) for c in cells]
    X = np.column_stack(columns) if columns else np.zeros((len(table.X), 0))
    return replace(table, X=X, names=[cell.name for cell in cells])


def _tell_all(table: Table) -> list[str]:
    """Columns of text that are the class by another name."""
    labels = [str(label) for label in np.asarray(table.y).tolist()]
    found = []
    for cell in table.X.cells:
        if cell.kind in ("text", "ordered") and not cell.n_missing and len(labels) >= SURE:
            pairs = set(zip(cell.texts(), labels, strict=True))
            if len(pairs) == len({text for text, _ in pairs}) == len(set(labels)):
                found.append(cell.name)
    return found


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _numbers(table: Table, task: TargetTask) -> Floats | None:
    """The target as numbers that columns can be compared with."""
    y = np.asarray(table.y)
    if task.name == "classification":
        classes, codes = np.unique(y, return_inverse=True)
        if y.dtype.kind not in "biuf":
            return codes.astype(np.float64) if len(classes) == 2 else None
    return y.astype(np.float64)


def _refuse_huge(table: Table, y: Floats) -> None:
    largest = float(np.abs(y).max())
    spread = float(y.max() / 2 - y.min() / 2)
    label = f"{table.source}: target {table.target!r}"
    if largest > HUGE:
        raise InputError(
            f"{label} has values up to {largest:.3g}, whose squares are more than a computer's "
            "numbers can hold; divide it by a power of ten."
        )
    if 0 < spread < 1 / HUGE:
        raise InputError(
            f"{label} varies by {spread:.3g} only, whose square a computer's numbers cannot hold; "
            "multiply it by a power of ten."
        )


def _columns(table: Table, y: Floats | None) -> tuple[list[str], list[str]]:
    """The columns that are the target but for a linear map, and those that look like ids."""
    X, names = table.X, table.names
    m, n = X.shape
    if m < SURE:
        return [], []
    off = None if y is None else y - y.mean()
    leaks: list[str] = []
    ids: list[str] = []
    if not isinstance(X, np.ndarray):
        if off is not None:
            leaks = [names[j] for j in _correlated_sparse(X, off)]
        return leaks, ids
    step = max(BLOCK // m, 1)
    for first in range(0, n, step):
        part = np.asarray(X[:, first : first + step], dtype=np.float64)
        if huge := np.flatnonzero(np.abs(part).max(axis=0) > HUGE).tolist():
            raise InputError(
                f"{table.source}: {named_columns([names[first + j] for j in huge])} holds values "
                f"above {HUGE:g}, whose squares are more than a computer's numbers can hold; "
                "divide or drop it."
            )
        if off is not None:
            leaks += [names[first + j] for j in _correlated(part, off)]
        whole = (part == np.rint(part)).all(axis=0)
        likely = (first + j for j in np.flatnonzero(whole).tolist())
        ids += [names[j] for j in likely if _is_id(part[:, j - first], names[j])]
    return leaks, [name for name in ids if name not in leaks]


def _correlated(part: Floats, off: Floats) -> list[int]:
    raw = np.einsum("ij,ij->j", part, part)
    part = part - part.mean(axis=0)
    return _near_one(off @ part, np.einsum("ij,ij->j", part, part), raw, float(off @ off))


def _correlated_sparse(X: Any, off: Floats) -> list[int]:
    """The same of a sparse matrix: off sums to zero, so the means of columns need not be taken."""
    m = X.shape[0]
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    squares = np.asarray(X.multiply(X).sum(axis=0), dtype=np.float64).ravel()
    return _near_one(off @ X, squares - sums * sums / m, squares, float(off @ off))


def _near_one(products: Floats, squares: Floats, raw: Floats, total: float) -> list[int]:
    """Where r^2 is near 1; what is left of the sum of squares by rounding alone is a constant."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        r2 = products / squares * products / total
    near: list[int] = np.flatnonzero((r2 > 1 - SAME) & (squares > 1e-12 * raw)).tolist()
    return near


def _is_id(values: Floats, name: str) -> bool:
    spread = values.max() - values.min()
    if spread < len(values) - 1 or np.unique(values[:1000]).size < len(values[:1000]):
        return False
    likely = spread < SPREAD * len(values) or NAMED_ID.search(name.lower())
    return bool(likely) and np.unique(values).size == len(values)
