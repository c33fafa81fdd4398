"""Held-out parts: default folds that do not depend on the order of the rows.

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

import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, TimeSeriesSplit

from sparsepath.data.row_values import SourceRows, row_hashes
from sparsepath.data.sources import Source
from sparsepath.data.splits import checked_split, count_groups
from sparsepath.errors import InputError, warn_user
from sparsepath.tables.cells import table_of

Rows = NDArray[np.intp]
SEED = 0
USUAL = 10  # folds
FIRST_COLUMNS = 4  # columns that are looked at one by one
MANY_ROWS = 200_000  # from which a hash of the row stands for its values
MOST_KINDS = 4096  # different rows that are compared column by column
KIND_NUMBERS = 1 << 24  # and numbers in them
TIME_PARTS, TIME_FEWEST = 10, 4  # parts in time order, and rows in each of them at the least


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and test rows of the parts, their name, and the clusters of dependent rows."""

    splits: list[tuple[Rows, Rows]]
    label: str  # as "10-fold"
    clusters: Rows  # (n,): which rows hang together
    repeats: int = 1  # random assignments to folds, one after another in the splits
    at_random: bool = False  # whether every case was assigned to a fold by itself


def parts_of(
    validation: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    weights: Any = None,
    *,
    classes: bool = False,
    repeats: int = 1,
) -> Parts:
    """Return the parts for ``validation``: a number of folds, splitter, splits, "loo" or "time".

    Folds are stratified if y are ``classes``. A number of folds is assigned ``repeats`` times.
    """
    if isinstance(validation, Parts):
        return validation
    n = len(y)
    clusters: Rows = np.arange(n)
    if groups is not None:
        count_groups(groups, n)
        clusters = np.unique(np.asarray(groups), return_inverse=True)[1]
    check_validation(validation)
    if isinstance(validation, Integral):
        found = _folds(int(validation), X, y, groups, weights, clusters, classes, repeats)
        return (
            found
            if found.repeats == 1
            else replace(found, label=f"{found.label}, {found.repeats} times")
        )
    if isinstance(validation, str) and validation == "loo":
        if groups is None:
            return _singly(X, y, weights)
        return parts_of(LeaveOneGroupOut(), X, y, groups, weights)
    if isinstance(validation, str):
        if groups is not None:
            raise InputError("validation='time' uses the order of the rows; remove groups.")
        return in_time(n)
    if hasattr(validation, "get_n_splits"):
        thin = np.broadcast_to(np.zeros(1), (n, 1)) if isinstance(X, Source) else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            splits = _checked(validation.split(thin, y, groups), n)
        label = _label(validation, len(splits))
    else:
        splits = _checked(validation, n)
        label = f"{len(splits)} given splits"
    if groups is None:
        _warn_of_copies(splits, X, y, weights)
    return Parts(splits, label, clusters)


def check_validation(validation: Any, n: int | None = None) -> None:
    """Raise an error for an invalid ``validation`` or, given n rows, for invalid splits.

    >>> check_validation(10)
    """
    if hasattr(validation, "get_n_splits"):
        return
    if isinstance(validation, Integral) and validation is not True and validation is not False:
        if validation < 2:
            raise InputError(f"validation={validation!r}; give two folds or more, or None.")
    elif isinstance(validation, str):
        if validation not in ("loo", "time"):
            raise _nothing_like(validation)
    elif not hasattr(validation, "__iter__") or getattr(validation, "ndim", 1) == 0:
        raise _nothing_like(validation)
    elif n is not None and isinstance(validation, Sequence):
        _checked(validation, n)


def _nothing_like(validation: Any) -> InputError:
    return InputError(
        f"validation={validation!r}; give a number of folds, 'loo', 'time', a scikit-learn "
        "splitter, a list of (train, test) rows, or None."
    )


def _checked(splits: Iterable[Any], n: int) -> list[tuple[Rows, Rows]]:
    """Return ascending row numbers of splits; no row may be on both sides."""
    everyone = np.arange(n)
    found = [checked_split("validation", pair, i, everyone) for i, pair in enumerate(splits)]
    if not found:
        raise InputError("validation yields no splits; give at least one.")
    return [(np.sort(train), np.sort(test)) for train, test in found]


def in_time(n: int, gap: int = 0) -> Parts:
    """Return parts in time order, each predicted from all rows before it; the first one only
    trains. The last ``gap`` rows before a part do not train.

    The rows of a part form one cluster: errors of neighbouring rows are correlated, so standard
    errors are computed from differences between parts.
    """
    fewest = 3 * TIME_FEWEST + gap
    if n < fewest:
        raise InputError(f"validation='time' needs {fewest} rows, and there are {n}.")
    k = min(TIME_PARTS, n // (TIME_FEWEST + gap) - 1) or 1
    together: Rows = np.arange(n)
    splits = list(TimeSeriesSplit(k, gap=gap).split(together))
    clusters = together.copy()
    for _, test in splits:
        together[test] = clusters[test[0]]
    return Parts(splits, f"{k} parts in time order", together)


def _singly(X: Any, y: Any, weights: Any) -> Parts:
    """Return one part per case, in order of first occurrence."""
    counted = _counted(y, weights)
    case, _ = cases(X, y, counted)
    rows = np.flatnonzero(counted)
    order = rows[np.argsort(case[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(case[order])) + 1
    tests = sorted(np.split(order, ends), key=lambda test: int(test[0]))
    if len(tests) < 2:
        raise InputError("all samples are equal; there is nothing to hold out.")
    splits = [(np.setdiff1d(rows, test), test) for test in tests]
    return Parts(splits, "leave-one-out", case)


def _counted(y: Any, weights: Any) -> NDArray[np.bool_]:
    """Return the rows that count as samples."""
    return np.ones(len(y), dtype=bool) if weights is None else np.asarray(weights) > 0


def _warn_of_copies(splits: list[tuple[Rows, Rows]], X: Any, y: Any, weights: Any) -> None:
    """Warn that held-out rows have copies among the training rows."""
    counted = _counted(y, weights)
    case, _ = cases(X, y, counted)
    if len(np.unique(case[counted])) == counted.sum():
        return
    seen, known = np.zeros(len(case), dtype=bool), np.zeros(len(case), dtype=bool)
    for train, test in splits:
        known[:] = False
        known[case[train[counted[train]]]] = True
        seen[test] |= known[case[test]] & counted[test]
    if seen.any():
        warn_user(
            f"{seen.sum()} rows held out by validation have copies, in X and y, among the "
            "training rows, so their errors are too low. A number of folds holds "
            "out copies together, and so do groups."
        )


def _folds(
    k: int,
    X: Any,
    y: Any,
    groups: Any,
    weights: Any,
    clusters: Rows,
    classes: bool,
    repeats: int,
) -> Parts:
    if groups is not None:
        count = len(np.unique(clusters))
        k = _at_most(k, count, "groups")
        if k < 2:
            raise InputError("groups has only one group; give at least two.")
        repeats = repeats if k < count else 1  # one group at a time: there is one assignment
        deals = [GroupKFold(k)]
        deals += [GroupKFold(k, shuffle=True, random_state=r) for r in range(1, repeats)]
        splits = [split for deal in deals for split in deal.split(clusters, y, groups)]
        return Parts(splits, f"{k}-fold by groups", clusters, repeats)
    counted = _counted(y, weights)
    case, mark = cases(X, y, counted)
    first = np.unique(case[counted], return_index=True)[1]  # a row of every case
    k = _at_most(k, len(first), "different samples" if len(first) < len(y) else "samples")
    if k < 2:
        raise InputError("all samples are equal; there is nothing to hold out.")
    labels = np.unique(np.asarray(y), return_inverse=True)[1].reshape(len(y), -1)[counted][first]
    repeats = repeats if k < len(first) else 1  # one case at a time: there is one assignment
    strata = labels if classes else np.zeros_like(labels)
    folds = [dealt(strata, k, mark, r)[case] for r in range(repeats)]
    tests = [(fold == part) & counted for fold in folds for part in range(k)]
    splits = [(np.flatnonzero(counted & ~test), np.flatnonzero(test)) for test in tests]
    return Parts(splits, f"{k}-fold", case, repeats, at_random=True)


def _at_most(k: int, count: int, what: str) -> int:
    """Return the number of folds, with a warning if there are fewer cases."""
    if k > max(count, USUAL):  # nobody asked for the usual number
        warn_user(f"validation={k} is more than the {count} {what}; using leave-one-out.")
    return min(k, count)


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


def _dense(A: Any) -> NDArray[np.float64]:
    return np.asarray(A.todense() if hasattr(A, "todense") else A, dtype=np.float64)


def cases(X: Any, y: Any, counted: NDArray[np.bool_]) -> tuple[Rows, int]:
    """Return the case index of every row, and a hash of the order of the cases.

    Rows that do not count have index 0. Many rows are sorted by their hash alone, which is all that
    is kept of them.
    """
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


def _label(splitter: Any, number: int) -> str:
    name = type(splitter).__name__
    if name in ("KFold", "StratifiedKFold"):
        return f"{number}-fold"
    named = {"LeaveOneOut": "leave-one-out", "LeaveOneGroupOut": "leave-one-group-out"}
    return named.get(name, f"{number} splits of {name}")


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
