"""Folds that do not depend on the order of the rows: of ``validation`` and of ``cv``.

Rows that are equal in X and y form one case and are held out together, since a copy in the training
fold would leak the answer (except for rows that are equal by chance, see below). Rows of weight
zero are ignored. The cases are sorted by y, then by the first columns of X, then by a hash of the
row, and assigned to folds at random; the seed is a hash of the order of the columns. So

- every fold has its share of every class;
- shuffling the rows, or duplicating a row instead of giving it weight two, does not change the
  folds;
- neither do other units of the columns or of y;
- folds are the same from memory, from files and from a cluster. This needs the keys of all rows:
  one pass over the first columns, and one over all columns if these do not distinguish the rows.

More than ``MANY_ROWS`` rows are sorted by a hash of their values instead, which needs eight bytes
per row; other units then give other folds.

Folds are *not* stratified by the value of a numeric target. Folds with equal means reveal the mean
of the held-out samples: the error of the empty model would be (1 - 1/n) times the variance instead
of (1 + 1/n) times, four per cent too low with 50 samples.

**Equal rows.** A copy on the other side of a split leaks the answer. But with few possible values,
such as yes/no answers, different samples are equal by chance, and holding out all of them removes
all information on such a case. The decision uses the expected number of equal pairs if all columns,
including y, were independent: with C distinct rows and a_j pairs that agree in column j,

    expected = n (n - 1) / 2  times the product over j of  a_j / (C (C - 1) / 2).

If that is at most a hundredth of the observed equal pairs, these are copies. Dependent columns make
equal rows more likely than this formula says; so if no column has enough values to distinguish most
of the distinct rows, rows that occur more than three times on average are equal by chance too.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.row_values import SourceRows, row_hashes
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.tables.cells import table_of

Rows = NDArray[np.intp]
SEED = 0
FIRST_COLUMNS = 4  # columns that are looked at one by one
MANY_ROWS = 200_000  # from which a hash of the row stands for its values
MOST_KINDS = 4096  # different rows that are compared column by column
KIND_NUMBERS = 1 << 24  # and numbers in them


@dataclass(frozen=True)
class ContentFolds:
    """Splitter for a number of folds; every row is tested once, whatever its weight.

    With fewer different samples than folds, as many folds as samples.
    """

    k: int
    classifier: bool = False
    weights: Any = None

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.k

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Return the rows of the training and test folds."""
        m = len(np.asarray(y))
        counted = np.ones(m, dtype=bool) if self.weights is None else np.asarray(self.weights) > 0
        case, mark = cases(X, y, counted)
        first = np.unique(case[counted], return_index=True)[1]  # a row of every case
        if len(first) < 2:
            raise InputError("all samples are equal; there is nothing to hold out.")
        labels = strata_of(y, self.classifier)[counted][first]
        fold = dealt(labels, min(self.k, len(first)), mark)[case]
        for part in range(min(self.k, len(first))):
            test = fold == part
            yield np.flatnonzero(~test), np.flatnonzero(test)


def strata_of(y: Any, classifier: bool) -> Rows:
    """Return the class of every row as a number, m x T; without classes zeros."""
    labels = np.unique(np.asarray(y), return_inverse=True)[1].reshape(len(np.asarray(y)), -1)
    return labels if classifier else np.zeros_like(labels)


def dealt(labels: NDArray[np.intp], k: int, mark: int = 0, repeat: int = 0) -> Rows:
    """Return the random fold of each case; cases with the same labels (n x T) are spread evenly.

    Every ``repeat`` is another assignment.

    >>> sorted(dealt(np.array([[0]] * 3 + [[1]] * 3), 3)[:3].tolist())
    [0, 1, 2]
    """
    seed = [SEED, mark, repeat] if repeat else [SEED, mark]
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    order = shuffled[np.lexsort(labels[shuffled].T)]
    fold: Rows = np.empty(len(labels), dtype=np.intp)
    fold[order] = np.arange(len(labels)) % k
    return fold


class ArrayRows:
    """Rows of an array, a sparse matrix or a table in memory, as numbers."""

    def __init__(self, X: Any) -> None:
        self.A = numbers(X)
        self.shape = self.A.shape

    def first(self, count: int) -> NDArray[np.float64]:
        """Return the first columns."""
        return _dense(self.A[:, : min(count, self.shape[1])])

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash per row; see ``row_hashes``."""
        return row_hashes(self.A)

    def columns(self, rows: Rows) -> Iterator[NDArray[Any]]:
        """Return the columns of some rows."""
        some = self.A[rows]
        some = some.tocsc() if hasattr(some, "tocsc") else some
        yield from (_dense(some[:, [j]]).ravel() for j in range(self.shape[1]))


class CachedRows:
    """Some rows of a source, which is read once for several such sets."""

    def __init__(self, source: Source, n_threads: int | None = None) -> None:
        self._of = SourceRows(source, n_threads)
        self._first = lru_cache(self._of.first)
        self._hashes = lru_cache(self._of.hashes)
        self._rows: Any = slice(None)
        self.shape = self._of.shape

    def __getitem__(self, rows: Rows) -> "CachedRows":
        """Return some of the rows."""
        part = copy(self)
        part._rows, part.shape = rows, (len(rows), self.shape[1])
        return part

    def first(self, count: int) -> NDArray[np.float64]:
        """Return the first columns."""
        return self._first(count)[self._rows]

    def hashes(self) -> NDArray[np.uint64]:
        """Return a hash per row; see ``row_hashes``."""
        return self._hashes()[self._rows]

    def columns(self, rows: Rows) -> Iterator[NDArray[Any]]:
        """Return the columns of some rows."""
        return self._of.columns(np.arange(self._of.shape[0])[self._rows][rows])


def _dense(A: Any) -> NDArray[np.float64]:
    return np.asarray(A.todense() if hasattr(A, "todense") else A, dtype=np.float64)


def cases(X: Any, y: Any, counted: NDArray[np.bool_]) -> tuple[Rows, int]:
    """Return the case index of every row, and a hash of the order of the cases.

    Rows that do not count have index 0. Many rows are sorted by their hash alone, which is all that
    is kept of them.
    """
    if not hasattr(X, "hashes"):
        X = SourceRows(X) if isinstance(X, Source) else ArrayRows(X)
    t = np.asarray(y)
    t = np.unique(t.ravel(), return_inverse=True)[1].reshape(len(t), -1)  # ranks: labels too
    first, rows = X.first(FIRST_COLUMNS), np.flatnonzero(counted)
    many, hashes = len(rows) > MANY_ROWS, None
    keys: tuple[Any, ...] = (*first.T[::-1], *t.T[::-1])
    if many:
        keys = (row_hashes(np.column_stack(keys)),)
    order, new = _in_order(keys, rows)
    if not new.all():  # a hash takes a pass over all columns
        hashes = X.hashes()
        keys = (mix_hashes(hashes + keys[0]),) if many else (hashes, *keys)
        order, new = _in_order(keys, rows)
    C, n = int(new.sum()), len(rows)
    if hashes is not None and 1 < C < n:
        times = np.bincount(np.cumsum(new) - 1)
        pairs = float((times * (times - 1.0)).sum()) / 2
        one = rows[order[new > 0]]  # of every kind
        most = min(MOST_KINDS, max(KIND_NUMBERS // max(1, X.shape[1]), 2))
        if most < C:
            one = one[np.argsort(mix_hashes(hashes[one] + t[one, 0].astype(np.uint64)))[:most]]
        if by_chance(chain(t[one].T, X.columns(one)), n, C, pairs):
            new[:] = 1
    place = np.zeros(len(t), dtype=np.intp)
    place[rows[order]] = np.cumsum(new) - 1
    if many:
        return place, 0
    in_order = first[rows[order[new > 0]]]
    ranks = [np.unique(column, return_inverse=True)[1] for column in in_order.T]
    return place, zlib.crc32(np.array(ranks, dtype="<i8").tobytes())


def mix_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes in an order unrelated to their size (as in splitmix64)."""
    z = hashes ^ (hashes >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _in_order(keys: Sequence[Any], rows: Rows) -> tuple[Rows, Rows]:
    """Return the rows sorted by keys (the last key first), and which differ from the
    previous one.
    """
    keys = tuple(key[rows] for key in keys)
    order = np.lexsort(keys)
    new = np.ones(len(rows), dtype=np.intp)
    new[1:] = 0
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    return order, new


def numbers(X: Any) -> Any:
    """Return the features as an array, or as a sparse matrix by rows."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if not hasattr(X, "codes"):
        try:
            return np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):  # a table with text or dates
            pass
    return table_of(X).codes()


RARE = 0.01  # part of the equal pairs that chance may make, for them to be copies
MOST_TIMES = 3  # times that a row of coarse columns may be there, on average, for it to be copied


def by_chance(columns: Iterable[NDArray[Any]], n: int, C: int, pairs: float) -> bool:
    """Return whether rows are equal by chance.

    ``columns`` are targets and features of the C distinct rows, or of some of them; ``pairs`` is
    the number of equal pairs among all n rows.
    """
    expected, widest = n * (n - 1) / 2, 0
    for column in columns:
        K, counts = len(column), np.unique(column, return_counts=True)[1]
        expected *= float((counts * (counts - 1.0)).sum()) / (K * (K - 1.0))
        widest = max(widest, len(counts))
        if expected <= RARE * pairs and (2 * widest > K or n <= MOST_TIMES * C):
            return False
    return True
