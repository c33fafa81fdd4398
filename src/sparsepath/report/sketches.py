"""Small plots of a feature against the target, as data for the report.

A numeric feature is cut into ``BINS`` bins of equal width between its first and last percentile;
the end bins also contain the rest. A feature with few values, or text, has one bin per value. Each
bin has the number of rows, and the mean and quartiles of the target or the fraction of each class;
for survival times the number of events per unit of time.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.tables.cells import RawTable

BINS = 10
VALUES = 8  # shown of a category; the others are one part
CLASSES_SHOWN = 6  # shown of the target; the others are one class


def classes_of(y: NDArray[Any]) -> list[str]:
    """Return the classes of a target, the most frequent if there are many."""
    often = [label for label, _ in Counter(y.tolist()).most_common(CLASSES_SHOWN)]
    return [str(label) for label in (sorted(often) if len(often) < CLASSES_SHOWN else often)]


def rate_of(y: NDArray[Any]) -> float:
    """Events per unit of time, of survival times with events."""
    return float(y[:, 1].sum() / y[:, 0].sum()) if y[:, 0].sum() > 0 else 0.0


def sketch(X: Any, feature: int, y: NDArray[Any], classes: list[str] | None) -> dict[str, Any]:
    """Return the data of one plot; ``classes`` are those of a classification target."""
    labels, part = _parts(X, feature)
    there = part >= 0
    part, y = part[there], y[there]
    count = len(labels)
    rows = np.bincount(part, minlength=count)
    found: dict[str, Any] = {"labels": labels, "counts": rows.tolist()}
    if isinstance(X, RawTable) and X.cells[feature].kind in ("text", "ordered"):
        found["category"] = True
    if classes is not None:
        texts = np.array([str(label) for label in y.tolist()], dtype=object)
        shares = [np.bincount(part[texts == c], minlength=count) for c in classes]
        found["shares"] = _short(np.array(shares) / np.maximum(rows, 1))
        return found
    if y.ndim == 2:
        found["means"] = _short([rate_of(y[part == i]) for i in range(count)])
        return found
    spread = [np.quantile(y[part == i], (0.25, 0.75)) if n else (0, 0) for i, n in enumerate(rows)]
    means = np.bincount(part, weights=y.astype(np.float64), minlength=count) / np.maximum(rows, 1)
    found["means"], found["quartiles"] = _short(means), _short(np.array(spread).T)
    return found


def _short(values: Any) -> Any:
    """Round values to four digits, which is enough to draw and keeps the report small."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return [_short(v) for v in values] if isinstance(values, list) else float(f"{values:.4g}")


def _parts(X: Any, feature: int) -> tuple[list[str], NDArray[np.intp]]:
    """Return the labels of the bins, and the bin of each row; -1 if the value is missing."""
    if isinstance(X, RawTable):
        cell = X.cells[feature]
        if cell.kind in ("text", "ordered"):
            return _by_value(cell.texts(), cell.order)
        if cell.kind == "date":
            days = cell.values.astype("datetime64[D]")
            gone = np.isnat(days)
            labels, part = _by_width(np.where(gone, np.nan, days.astype(np.float64)))
            dates = [str(np.datetime64(round(float(x)), "D")) for x in labels]
            return dates, part
        values = cell.values
    else:
        column = X[:, [feature]]
        values = (column if isinstance(column, np.ndarray) else column.toarray())[:, 0]
    labels, part = _by_width(np.asarray(values, dtype=np.float64))
    return [f"{x:.4g}" for x in labels], part


def _by_value(texts: list[Any], order: tuple[str, ...]) -> tuple[list[str], NDArray[np.intp]]:
    often = [value for value, _ in Counter(t for t in texts if t is not None).most_common()]
    shown = [value for value in order if value in often] or often
    if len(shown) > VALUES + 1:
        shown = [*shown[:VALUES], "others"]
    place = {value: i for i, value in enumerate(shown)}
    other = len(shown) - 1
    part = [-1 if text is None else place.get(text, other) for text in texts]
    return [value[:40] for value in shown], np.array(part, dtype=np.intp)


def _by_width(values: NDArray[np.float64]) -> tuple[list[float], NDArray[np.intp]]:
    there = ~np.isnan(values)
    known = np.unique(values[there])
    part = np.full(len(values), -1, dtype=np.intp)
    if len(known) <= BINS:
        part[there] = np.searchsorted(known, values[there])
        return known.tolist(), part
    low, high = np.quantile(values[there], (0.01, 0.99))
    low, high = (low, high) if high > low else (known[0], known[-1])
    width = (high - low) / BINS
    part[there] = np.clip((values[there] - low) // width, 0, BINS - 1).astype(np.intp)
    return [float(low + (i + 0.5) * width) for i in range(BINS)], part
