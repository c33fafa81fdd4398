"""Whether the rows of a table or source are in the order of a column of dates or times."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from sparsepath.data.sources import Source
from sparsepath.tables.cells import RawTable
from sparsepath.tables.features import RawColumn, infer_type

FEWEST_IN_TIME = 20  # different times from which on a sorted column is no accident


def in_time_order(X: Any) -> str | None:
    """Return a column of dates or times by which the rows are sorted; None if there is none."""
    ends: dict[str, tuple[int | None, int]] = dict.fromkeys(_no_numbers(X), (None, 0))
    for cell in _cells(X, ends):  # the last time of every column that is sorted so far, and steps
        last, steps = ends.pop(cell.name, (None, -1))
        if steps < 0 or cell.kind != "date" or cell.n_missing:
            continue
        times = cell.values.astype("datetime64[us]").astype(np.int64)
        rises = np.diff(times, prepend=times[0] if last is None else last)
        if (rises >= 0).all():
            ends[cell.name] = int(times[-1]), steps + int(np.count_nonzero(rises))
    return next((name for name, (_, steps) in ends.items() if steps >= FEWEST_IN_TIME - 1), None)


def _no_numbers(X: Any) -> list[str]:
    if isinstance(X, Source):
        return X.text
    return [cell.name for cell in X.cells if cell.kind == "date"] if isinstance(X, RawTable) else []


def _cells(X: Any, names: Collection[str]) -> Iterator[RawColumn]:
    """Columns of a table, or of a source, some rows at a time; ``names`` may lose some."""
    if not isinstance(X, Source):
        yield from X.cells if names else ()
        return
    for part in X.parts:
        if names:
            for cells, _ in part.cells(list(names)):
                yield from map(infer_type, cells)
