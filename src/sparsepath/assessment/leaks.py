"""Single columns that predict the target suspiciously well, usually leaks.

A column that is filled in after the target is known (a commission, a status code, the date of a
cancellation) makes every estimate look excellent and the model useless. Such a column predicts the
target nearly perfectly on its own. Each column is scored alone, by five-fold cross-validation, with
two models: a line, and the mean of the target in each of up to 20 bins (each category, each
frequent number and missing values have their own bins). The better score counts:

    regression           R2 on held-out rows
    two classes          AUC on held-out rows
    more classes         1 - error rate / error rate of the most frequent class

A column with R2 or accuracy gain of at least 0.98, or AUC of at least 0.99, is *suspicious*. A
column of at least 0.8 (AUC 0.9) is a *candidate* if it leaves at most a tenth of what the next best
column leaves unexplained. It is suspicious if that also holds against all other columns together,
which the caller determines by a search without it. A column that equals the target of an earlier
row is a lag, known in time, and never a leak.

In Python a selector of numbers has the model of one feature of every fold, so that its score on
held-out rows needs no further work: ``leak_of`` returns it if it is suspicious, and a fit warns.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats
from sparsepath.tables.cells import RawTable

NEARLY_ALL = {"R2": 0.98, "AUC": 0.99, "accuracy gain": 0.98}
CANDIDATE = {"R2": 0.8, "AUC": 0.9, "accuracy gain": 0.8}
MUCH_BETTER = 0.1  # part of what the others leave unexplained
FOLDS, BINS = 5, 20
FEWEST_ROWS, FEWEST_PER_CLASS = 20, 5
MOST_ROWS = 5000  # in even distances; more make the score no clearer
MOST_BINNED = 2000  # columns up to which bins are tried; of wider tables only lines
LONGEST_LAG = 1000


@dataclass(frozen=True)
class Suspect:
    """A column that predicts the target well on its own.

    ``score`` is its score alone; ``measure`` is "R2", "AUC" or "accuracy gain".
    """

    name: str
    score: float
    measure: str
    determines: bool = False  # every class was predicted without a mistake

    @property
    def is_certain(self) -> bool:
        """True if it explains nearly everything, whatever the other columns do."""
        return self.score >= NEARLY_ALL[self.measure]

    def is_far_better(self, others: float) -> bool:
        """True if it leaves a small fraction of what all other columns leave unexplained."""
        return 1.0 - self.score <= MUCH_BETTER * (1.0 - others)

    @property
    def sentence(self) -> str:
        """Describe the suspicion, without a full stop."""
        if self.determines:
            return f"column {self.name!r} alone determines the class"
        if self.measure == "R2":
            part = f"{100 * self.score:.1f} %".replace("100.0", "nearly 100")
            return f"column {self.name!r} alone explains {part} of the variance of the target"
        if self.measure == "AUC":
            return f"column {self.name!r} alone separates the classes (AUC {self.score:.3f})"
        return f"column {self.name!r} alone predicts nearly every class"


def suspects(X: Any, names: Sequence[str], y: NDArray[Any], *, classes: bool) -> list[Suspect]:
    """Return suspicious columns and candidates, best first.

    ``X`` is a ``RawTable``, an array or a sparse matrix; ``classes`` says whether ``y`` are labels.
    """
    target = _Target.of(y, classes)
    if target is None:
        return []
    rows = _some_rows(len(y))
    found = []
    for name, values in _columns(X, names, rows):
        score = target.score(values, rows, binned=len(names) <= MOST_BINNED)
        determines = (
            score >= CANDIDATE[target.measure]
            and target.codes is not None
            and target.is_determined(values, rows)
        )
        found.append(Suspect(str(name), score, target.measure, determines))
    found.sort(key=lambda each: -each.score)
    kept = max((k for k in range(1, len(found) + 1) if _stand_out(found, k)), default=0)
    return [each for each in found[:kept] if not _is_lag(X, names, each.name, y)]


def leak_of(path: SelectionPath, figures: Mapping[str, float], measure: str) -> Suspect | None:
    """The feature of the honest model of one feature if that one explains nearly everything.

    ``figures`` are those of that model for classification, ``measure`` names the honest error.
    """
    if not {0, 1} <= {*path.sizes} or path.n_features < 2:
        return None
    if path.data.get("n_samples", FEWEST_ROWS) < FEWEST_ROWS:
        return None
    name, alone, empty = path.names(1)[0], path.honest_error(1), path.honest_error(0)
    found = None
    if "auc" in figures:
        found = Suspect(name, figures["auc"], "AUC")
    elif measure == "squared error" and not figures and empty > 0:
        found = Suspect(name, 1 - alone / empty, "R2")
    elif "error_rate" in figures and empty > 0 and measure == "error rate":
        found = Suspect(name, 1 - alone / empty, "accuracy gain")
    return found if found is not None and found.is_certain else None


def _stand_out(found: Sequence[Suspect], k: int) -> bool:
    """Return whether the best k are suspicious, or far better candidates than the next column."""
    last = found[k - 1]
    if last.is_certain or last.score < CANDIDATE[last.measure]:
        return last.is_certain
    return last.is_far_better(found[k].score if k < len(found) else 0.0)


@dataclass(frozen=True, eq=False)
class _Target:
    """The target as numeric columns; each class is a column of zeros and ones."""

    values: Floats  # (n, 1), or (n, classes)
    codes: NDArray[np.intp] | None
    measure: str

    @classmethod
    def of(cls, y: Any, classes: bool) -> "_Target | None":
        y = np.asarray(y)
        if y.ndim > 1 or len(y) < FEWEST_ROWS:
            return None
        if not classes:
            values = y.astype(np.float64)[:, None]
            spread = float(np.ptp(values))
            return cls(values / spread, None, "R2") if 0 < spread < np.inf else None
        labels, codes = np.unique(y, return_inverse=True)
        if len(labels) < 2 or np.bincount(codes).min() < FEWEST_PER_CLASS:
            return None
        if len(labels) == 2:
            return cls(codes.astype(np.float64)[:, None], codes, "AUC")
        return cls(np.eye(len(labels))[codes], codes, "accuracy gain")

    def score(self, column: NDArray[Any], rows: NDArray[np.intp], *, binned: bool) -> float:
        """Return the better score of a line and of bins."""
        values, found = self.values[rows], [0.0]
        if column.dtype.kind == "f":
            known = np.where(np.isnan(column), np.nanmean(column), column)
            if np.ptp(known) > 0 and _r2(known, values[:, 0]) > 0.5 * CANDIDATE["R2"]:
                found.append(self._judged(_line_left_out(known, values), rows))
        if binned and self._reaches(codes := _bins(column), rows):
            found.append(self._judged(_means_left_out(codes, values), rows))
        return max(found)

    def _reaches(self, bins: NDArray[np.intp], rows: NDArray[np.intp]) -> bool:
        """Return whether bins could reach a candidate's score, from their training score."""
        return (
            self._judged(_bin_means(bins, self.values[rows], bins), rows) >= CANDIDATE[self.measure]
        )

    def _judged(self, predicted: Floats, rows: NDArray[np.intp]) -> float:
        values = self.values[rows]
        if self.measure == "R2":
            total = np.square(values - values.mean()).sum()
            return float(1.0 - np.square(values - predicted).sum() / total) if total else 0.0
        assert self.codes is not None
        codes = self.codes[rows]
        if self.measure == "AUC":
            if codes.min() == codes.max():
                return 0.0
            ours, others = predicted[codes == 1, 0], np.sort(predicted[codes == 0, 0])
            below, up_to = (others.searchsorted(ours, side).sum() for side in ("left", "right"))
            area = float((below + up_to) / 2 / (len(ours) * len(others)))
            return max(area, 1.0 - area)
        wrong = np.mean(predicted.argmax(1) != codes)
        return float(1.0 - wrong / (1.0 - np.bincount(codes).max() / len(codes)))

    def is_determined(self, column: NDArray[Any], rows: NDArray[np.intp]) -> bool:
        """Return whether every held-out row gets its own class."""
        assert self.codes is not None
        one_hot = np.eye(int(self.codes.max()) + 1)[self.codes[rows]]
        predicted = _means_left_out(_bins(column), one_hot)
        return bool((predicted.argmax(1) == self.codes[rows]).all())


def _some_rows(n: int) -> NDArray[np.intp]:
    if n <= MOST_ROWS:
        return np.arange(n)
    return np.linspace(0, n - 1, MOST_ROWS).astype(np.intp)


def _columns(
    X: Any, names: Sequence[str], rows: NDArray[np.intp]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield each column: numbers with NaN, or texts with None."""
    if isinstance(X, RawTable):
        for cell in X.cells:
            values = cell.values[rows]
            if cell.kind == "date":
                gone = np.isnat(values)
                values = values.astype("datetime64[s]").astype(np.float64)
                values[gone] = np.nan
            if values.dtype.kind != "f" or not np.isnan(values).all():
                yield cell.name, values
    elif isinstance(X, np.ndarray):
        for j, name in enumerate(names):
            yield str(name), X[rows, j].astype(np.float64)


def _bins(column: NDArray[Any]) -> NDArray[np.intp]:
    """Return the bin of each row: texts by value, numbers by quantiles, frequent numbers alone."""
    if column.dtype.kind != "f":
        texts = np.array(["" if value is None else f"={value}" for value in column.tolist()])
        return np.unique(texts, return_inverse=True)[1]
    gone = np.isnan(column)
    edges = np.unique(np.quantile(column[~gone], np.linspace(0, 1, BINS + 1), method="lower"))
    # An edge and what lies between two edges are bins of their own: a value that occurs often,
    # such as zero, is an edge.
    codes = np.searchsorted(edges, column, "left") + np.searchsorted(edges, column, "right")
    codes[gone] = 2 * len(edges) + 1
    return codes


def _folds(n: int) -> NDArray[np.intp]:
    return np.random.default_rng(0).permutation(n) % FOLDS


def _means_left_out(bins: NDArray[np.intp], values: Floats) -> Floats:
    """Return for each row the mean of its bin in the other folds."""
    fold, predicted = _folds(len(bins)), np.empty_like(values)
    for k in range(FOLDS):
        test = fold == k
        predicted[test] = _bin_means(bins[~test], values[~test], bins[test])
    return predicted


def _bin_means(bins: NDArray[np.intp], values: Floats, wanted: NDArray[np.intp]) -> Floats:
    """Return means by bin; a row with the overall mean is added to each, for empty bins."""
    size = int(max(bins.max(), wanted.max())) + 1
    counts = np.bincount(bins, minlength=size)
    mean = values.mean(0)
    columns = [
        (np.bincount(bins, column, minlength=size) + m) / (counts + 1)
        for column, m in zip(values.T, mean, strict=True)
    ]
    return np.column_stack(columns)[wanted]


def _line_left_out(column: Floats, values: Floats) -> Floats:
    """Return for each row the prediction of a line fitted to the other folds."""
    fold, predicted = _folds(len(column)), np.empty_like(values)
    for k in range(FOLDS):
        test = fold == k
        x, t = column[~test], values[~test]
        off = x - x.mean()
        squares = float(off @ off)
        slope = off @ (t - t.mean(0)) / squares if squares > 0 else np.zeros(t.shape[1])
        predicted[test] = t.mean(0) + np.outer(column[test] - x.mean(), slope)
    return predicted


def _r2(column: Floats, values: Floats) -> float:
    off, t = column - column.mean(), values - values.mean()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.nan_to_num((off @ t) ** 2 / ((off @ off) * (t @ t))))


def _is_lag(X: Any, names: Sequence[str], name: str, y: NDArray[Any]) -> bool:
    """Return whether a column of this name is the target of an earlier row throughout."""
    if isinstance(X, RawTable):
        return is_lag(X.cells[X.columns.index(name)].values, y)
    return is_lag(X[:, [str(each) for each in names].index(name)], y)


def is_lag(column: NDArray[Any], y: NDArray[Any]) -> bool:
    """Return whether a column is the target of an earlier row throughout."""
    y = np.asarray(y)
    if y.dtype.kind not in "iuf" or y.ndim > 1 or column.dtype.kind != "f":
        return False
    for lag in range(1, min(LONGEST_LAG, len(y) // 2)):
        now, before = column[lag:], y[:-lag]
        there = ~np.isnan(now)
        if there.sum() > len(now) // 2 and np.array_equal(now[there], before[there]):
            return True
    return False
