"""What columns of a table are, besides features: the target, ids, constants, copies."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparsepath.data.folds import cases
from sparsepath.data.formats import named_columns
from sparsepath.data.readers import Table
from sparsepath.data.task import TargetTask
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats
from sparsepath.tables.cells import RawTable

AS_TARGET = 1e-6  # 1 - r^2 below which a column is the target but for rounding
NEAR = 1e-3  # the same below which it may well be made of the target
SURE_ROWS = 10  # rows from which on it is no accident
HUGE = 1e150  # the square of anything larger is infinite
SPREAD = 10  # an id lies in a range of so many times the number of rows, unless its name says it
NAMED_ID = re.compile(r"(^|[^a-z])(id|uid|uuid|key|nr|no|number)([^a-z]|$)")
BLOCK = 1 << 22  # numbers looked at together
MOST_COMPARED = 1 << 26  # numbers in the rows that are compared with each other


@dataclass
class ColumnFindings:
    """Columns that are something else than features."""

    leaks: list[str] = field(default_factory=list)  # the target but for a linear map
    near: list[str] = field(default_factory=list)  # nearly so
    ids: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)  # and what each is a copy of
    repeated: int = 0  # rows that are copies of others


def inspect_columns(table: Table, task: TargetTask) -> ColumnFindings:
    """Return what is found; raise an error for numbers outside the floating-point range.

    Classes are compared with columns by their order if there are two.
    """
    y = _numbers(table, task)
    if y is not None and task.name == "regression":
        _refuse_huge(table, y)
    raw = isinstance(table.X, RawTable)
    numeric = _numeric(table) if raw else table
    seen = _columns(numeric, y)
    if raw:
        seen.constant += [c.name for c in table.X.cells if c.kind != "number" and _one_value(c)]
        if y is not None:
            seen.near += _revealing_gaps(table, y)
        if task.name == "classification":
            seen.leaks += [name for name in _equivalent_texts(table) if name not in seen.leaks]
    seen.copies = [pair for pair in _copies(numeric) if pair[0] not in seen.constant]
    seen.repeated = _repeated(table)
    return seen


def _repeated(table: Table) -> int:
    """Return how many rows are copies of others; 0 if there are too many numbers to look at."""
    m, n = table.X.shape
    if m * n > MOST_COMPARED:
        return 0
    case, _ = cases(table.X, table.y, np.ones(m, dtype=bool))
    return m - len(np.unique(case))


def _one_value(cell: Any) -> bool:
    return not cell.n_missing and len(set(cell.values.tolist())) == 1


def _numeric(table: Table) -> Table:
    """Return the numeric columns of a mixed table; missing values are replaced by the mean."""
    cells = [cell for cell in table.X.cells if cell.kind == "number"]
    cells = [cell for cell in cells if cell.n_missing < len(cell.values)]
    columns = [np.where(np.isnan(c.values), np.nanmean(c.values), c.values) for c in cells]
    X = np.column_stack(columns) if columns else np.zeros((len(table.X), 0))
    return replace(table, X=X, names=[cell.name for cell in cells])


def _revealing_gaps(table: Table, y: Floats) -> list[str]:
    """Columns whose missing values reveal the target, such as a cancellation date."""
    lacking = [cell for cell in table.X.cells if cell.n_missing]
    if not lacking or len(y) < SURE_ROWS:
        return []
    gaps = np.array([[text is None for text in cell.texts()] for cell in lacking], dtype=float).T
    return [lacking[j].name for j in np.flatnonzero(_shared(gaps, y - y.mean()) > 1 - NEAR)]


def _copies(table: Table) -> list[tuple[str, str]]:
    """Columns that equal an earlier one, with that one."""
    X, names = table.X, table.names
    if not isinstance(X, np.ndarray) or X.shape[0] < SURE_ROWS:
        return []
    first: dict[bytes, list[int]] = {}
    found = []
    for j in range(X.shape[1]):
        alike = first.setdefault(X[:1000, j].tobytes(), [])
        same = next((i for i in alike if np.array_equal(X[:, i], X[:, j])), None)
        if same is None:
            alike.append(j)
        else:
            found.append((names[j], names[same]))
    return found


def _equivalent_texts(table: Table) -> list[str]:
    """Return columns of text that are equivalent to the class."""
    labels = [str(label) for label in np.asarray(table.y).tolist()]
    found = []
    for cell in table.X.cells:
        if cell.kind in ("text", "ordered") and not cell.n_missing and len(labels) >= SURE_ROWS:
            pairs = set(zip(cell.texts(), labels, strict=True))
            if len(pairs) == len({text for text, _ in pairs}) == len(set(labels)):
                found.append(cell.name)
    return found


def _numbers(table: Table, task: TargetTask) -> Floats | None:
    """Return the target as numbers that can be compared with columns."""
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
            f"{label} has values up to {largest:.3g}, whose squares overflow in floating "
            "point; divide it by a power of ten."
        )
    if 0 < spread < 1 / HUGE:
        raise InputError(
            f"{label} varies by only {spread:.3g}, whose square underflows in floating point; "
            "multiply it by a power of ten."
        )


def _columns(table: Table, y: Floats | None) -> ColumnFindings:
    """Return the columns that equal the target, look like ids, or are constant."""
    X, names = table.X, table.names
    m, n = X.shape
    seen = ColumnFindings()
    if m < SURE_ROWS:
        return seen
    off = None if y is None else y - y.mean()

    def sort(shared: Floats, first: int = 0) -> None:
        seen.leaks += [names[first + j] for j in np.flatnonzero(shared > 1 - AS_TARGET).tolist()]
        near = (shared > 1 - NEAR) & (shared <= 1 - AS_TARGET)
        seen.near += [names[first + j] for j in np.flatnonzero(near).tolist()]

    if not isinstance(X, np.ndarray):
        if off is not None:
            sort(_shared_sparse(X, off))
        return seen
    step = max(BLOCK // m, 1)
    for first in range(0, n, step):
        part = np.asarray(X[:, first : first + step], dtype=np.float64)
        if huge := np.flatnonzero(np.abs(part).max(axis=0) > HUGE).tolist():
            raise InputError(
                f"{table.source}: {named_columns([names[first + j] for j in huge])} has values "
                f"above {HUGE:g}, whose squares overflow in floating point; divide it by a "
                "power of ten, or drop it."
            )
        still = np.flatnonzero(part.max(axis=0) == part.min(axis=0))
        seen.constant += [names[first + j] for j in still.tolist()]
        if off is not None:
            sort(_shared(part, off), first)
        whole = (part == np.rint(part)).all(axis=0)
        likely = (first + j for j in np.flatnonzero(whole).tolist())
        seen.ids += [names[j] for j in likely if _is_id(part[:, j - first], names[j])]
    seen.ids = [name for name in seen.ids if name not in {*seen.leaks, *seen.near}]
    return seen


def _shared(part: Floats, off: Floats) -> Floats:
    """Return the squared correlation of each column with the centred target."""
    raw = np.einsum("ij,ij->j", part, part)
    part = part - part.mean(axis=0)
    return _r2(off @ part, np.einsum("ij,ij->j", part, part), raw, float(off @ off))


def _shared_sparse(X: Any, off: Floats) -> Floats:
    """Return the same for a sparse matrix; the target is centred, so column means are not
    needed.
    """
    m = X.shape[0]
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    with np.errstate(over="ignore", invalid="ignore"):  # the search refuses such numbers
        squares = np.asarray(X.multiply(X).sum(axis=0), dtype=np.float64).ravel()
        products, centred, total = off @ X, squares - sums * sums / m, float(off @ off)
    return _r2(products, centred, squares, total)


def _r2(products: Floats, squares: Floats, raw: Floats, total: float) -> Floats:
    """Return squared correlations; a sum of squares that is only rounding error counts as
    constant.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        r2 = products / squares * products / total
    return np.where(squares > 1e-12 * raw, np.nan_to_num(r2), 0.0)


def _is_id(values: Floats, name: str) -> bool:
    spread = values.max() - values.min()
    if spread < len(values) - 1 or np.unique(values[:1000]).size < len(values[:1000]):
        return False
    likely = spread < SPREAD * len(values) or NAMED_ID.search(name.lower())
    return bool(likely) and np.unique(values).size == len(values)
