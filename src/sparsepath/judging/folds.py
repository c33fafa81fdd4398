"""Parts to leave out: default folds that do not depend on the order of the rows.

Rows that are equal, in X and y, are one case: they are left out together, since a copy in the
training part would give the answer away (but for rows that are equal by chance, see below).
Rows of weight zero are no cases. The cases are put in an
order of their own, by y, then by the first columns of X, then by a hash of the row, and are dealt
to the folds at random from there; the seed is a hash of how the columns are ordered in it. So

- every fold has its share of every class;
- shuffling the rows, or writing a row twice instead of giving it weight two, changes no fold;
- nor do other units of the columns or of y.

Numbers are *not* dealt so that every fold has its share of small and large ones. Folds with equal
means give the mean of the left-out samples away: the empty model would seem to err by (1 - 1/n)
times the variance where the truth is (1 + 1/n), four per cent too little with 50 samples.

**Equal rows.** A copy on the other side of a split gives the answer away. But where there are few
values to have, as in answers of yes and no, different samples are equal by chance, and whoever
leaves out all of them at once leaves out all that is known of such a case. Which of the two it is,
is told by how many pairs of rows would be equal if the columns, y among them, had nothing to do
with each other: with C different rows, of which a_j pairs agree in column j,

    expected = n (n - 1) / 2  times the product over j of  a_j / (C (C - 1) / 2).

If that is a hundredth of the pairs that are equal, or less, they are copies. Columns that do have
to do with each other make chance likelier than this says; so where no column has values enough to
tell most of the different rows apart, rows that occur more than three times on average are equal by
chance too.
"""

import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, TimeSeriesSplit

from sparsepath.data.cells import table_of
from sparsepath.data.splitting import checked_split
from sparsepath.errors import InputError, warn_user
from sparsepath.tuning import TUNING

Rows = NDArray[np.intp]
SEED = 0
USUAL = 10  # folds
FIRST_COLUMNS = 4  # columns that are looked at one by one
TIME_PARTS, TIME_FEWEST = 10, 4  # parts in time order, and rows in each of them at the least


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and test rows, what that is called, and which rows hang together."""

    splits: list[tuple[Rows, Rows]]
    label: str  # as "10-fold"
    clusters: Rows  # (n,): which rows hang together


def parts_of(
    validation: Any,
    X: Any,
    y: Any,
    groups: Any = None,
    weights: Any = None,
    *,
    classes: bool = False,
) -> Parts:
    """What ``validation`` asks for: a number of folds, a splitter, splits, "loo" or "time".

    Folds are stratified if y are ``classes``.
    """
    if isinstance(validation, Parts):
        return validation
    n = len(y)
    clusters: Rows = np.arange(n)
    if groups is not None:
        clusters = np.unique(np.asarray(groups), return_inverse=True)[1]
    check_validation(validation)
    if isinstance(validation, Integral):
        return _folds(int(validation), X, y, groups, weights, clusters, classes)
    if isinstance(validation, str) and validation == "loo":
        if groups is None:
            return _singly(X, y, weights)
        return parts_of(LeaveOneGroupOut(), X, y, groups, weights)
    if isinstance(validation, str):
        return _in_time(n, groups, clusters)
    if hasattr(validation, "get_n_splits"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            splits = _checked(validation.split(X, y, groups), n)
        label = _label(validation, len(splits))
    else:
        splits = _checked(validation, n)
        label = f"{len(splits)} given splits"
    if groups is None:
        _warn_of_copies(splits, X, y, weights)
    return Parts(splits, label, clusters)


def check_validation(validation: Any, n: int | None = None) -> None:
    """Refuse what stands for no parts; with the number of rows, splits that are no parts of them.

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
    elif not hasattr(validation, "__iter__"):
        raise _nothing_like(validation)
    elif n is not None and isinstance(validation, Sequence):
        _checked(validation, n)


def _nothing_like(validation: Any) -> InputError:
    return InputError(
        f"validation={validation!r}; give a number of folds, 'loo', 'time', a scikit-learn "
        "splitter, a list of (train, test) rows, or None."
    )


def _checked(splits: Iterable[Any], n: int) -> list[tuple[Rows, Rows]]:
    """Row numbers of pairs that have no row on both sides, so that no training error is honest."""
    everyone = np.arange(n)
    found = [checked_split("validation", pair, i, everyone) for i, pair in enumerate(splits)]
    if not found:
        raise InputError("validation yields no splits; give at least one.")
    return found


def _in_time(n: int, groups: Any, clusters: Rows) -> Parts:
    """Each part is predicted from all rows before it, and the first one not at all."""
    if groups is not None:
        raise InputError("validation='time' goes by the order of the rows; leave groups out.")
    if n < 3 * TIME_FEWEST:
        raise InputError(f"validation='time' needs {3 * TIME_FEWEST} rows, and there are {n}.")
    k = min(TIME_PARTS, n // TIME_FEWEST - 1)
    return Parts(list(TimeSeriesSplit(k).split(clusters)), f"{k} parts in time order", clusters)


def _singly(X: Any, y: Any, weights: Any) -> Parts:
    """One case at a time, in the order in which they are first met."""
    counted = _counted(y, weights)
    case, _ = cases(X, y, counted)
    rows = np.flatnonzero(counted)
    order = rows[np.argsort(case[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(case[order])) + 1
    tests = sorted(np.split(order, ends), key=lambda test: int(test[0]))
    if len(tests) < 2:
        raise InputError("all samples are the same: nothing can be left out.")
    splits = [(np.setdiff1d(rows, test), test) for test in tests]
    return Parts(splits, "leave-one-out", case)


def _counted(y: Any, weights: Any) -> NDArray[np.bool_]:
    """Which rows are samples."""
    return np.ones(len(y), dtype=bool) if weights is None else np.asarray(weights) > 0


def _warn_of_copies(splits: list[tuple[Rows, Rows]], X: Any, y: Any, weights: Any) -> None:
    """Say that rows which are left out have copies among the others."""
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
            f"{seen.sum()} rows that validation leaves out have copies, in X and y, among those "
            "that are kept: their errors are no errors on new data. A number of folds leaves "
            "copies out together, and so do groups."
        )


def _folds(
    k: int, X: Any, y: Any, groups: Any, weights: Any, clusters: Rows, classes: bool
) -> Parts:
    if groups is not None:
        k = _at_most(k, len(np.unique(clusters)), "groups")
        if k < 2:
            raise InputError("groups has one group only: nothing can be left out.")
        return Parts(list(GroupKFold(k).split(X, y, groups)), f"{k}-fold by groups", clusters)
    counted = _counted(y, weights)
    case, mark = cases(X, y, counted)
    first = np.unique(case[counted], return_index=True)[1]  # a row of every case
    k = _at_most(k, len(first), "different samples" if len(first) < len(y) else "samples")
    if k < 2:
        raise InputError("all samples are the same: nothing can be left out.")
    labels = np.unique(np.asarray(y), return_inverse=True)[1].reshape(len(y), -1)[counted][first]
    fold = dealt(labels if classes else np.zeros_like(labels), k, mark)[case]
    tests = [(fold == part) & counted for part in range(k)]
    splits = [(np.flatnonzero(counted & ~test), np.flatnonzero(test)) for test in tests]
    return Parts(splits, f"{k}-fold", case)


def _at_most(k: int, count: int, what: str) -> int:
    """The number of folds, with a warning where there is less to deal."""
    if k > max(count, USUAL):  # nobody asked for the usual number
        warn_user(f"validation={k} is more than the {count} {what}: one is left out at a time.")
    return min(k, count)


def dealt(labels: NDArray[np.intp], k: int, mark: int = 0) -> Rows:
    """The fold of each case, at random; those with the same labels (n x T) are spread evenly.

    >>> sorted(dealt(np.array([[0]] * 3 + [[1]] * 3), 3)[:3].tolist())
    [0, 1, 2]
    """
    shuffled = np.random.default_rng([SEED, mark]).permutation(len(labels))
    order = shuffled[np.lexsort(labels[shuffled].T)]
    fold: Rows = np.empty(len(labels), dtype=np.intp)
    fold[order] = np.arange(len(labels)) % k
    return fold


def cases(X: Any, y: Any, counted: NDArray[np.bool_]) -> tuple[Rows, int]:
    """For every row the place of its case in the order of cases, and a hash of that order.

    Rows that do not count share the place 0.
    """
    A = numbers(X)
    t = np.asarray(y)
    t = np.unique(t.ravel(), return_inverse=True)[1].reshape(len(t), -1)  # ranks: labels too
    first = A[:, : min(FIRST_COLUMNS, A.shape[1])]
    first = np.asarray(first.todense() if hasattr(first, "todense") else first, dtype=np.float64)
    rows = np.flatnonzero(counted)
    order, new = _in_order((*first.T[::-1], *t.T[::-1]), rows)
    if not new.all():  # a hash takes a pass over all columns
        order, new = _in_order((_hashes(A), *first.T[::-1], *t.T[::-1]), rows)
    C, n = int(new.sum()), len(rows)
    if 1 < C < n:
        times = np.bincount(np.cumsum(new) - 1)
        pairs = float((times * (times - 1.0)).sum()) / 2
        if by_chance(A, t, rows[order[new > 0]], n, pairs):
            new[:] = 1
    place = np.zeros(len(t), dtype=np.intp)
    place[rows[order]] = np.cumsum(new) - 1
    in_order = first[rows[order[new > 0]]]
    ranks = [np.unique(column, return_inverse=True)[1] for column in in_order.T]
    return place, zlib.crc32(np.array(ranks, dtype="<i8").tobytes())


def _in_order(keys: Sequence[Any], rows: Rows) -> tuple[Rows, Rows]:
    """The rows in the order of their keys, the last first, and which differ from the one before."""
    keys = tuple(key[rows] for key in keys)
    order = np.lexsort(keys)
    new = np.ones(len(rows), dtype=np.intp)
    new[1:] = 0
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    return order, new


def numbers(X: Any) -> Any:
    """The features as an array, or a sparse matrix by rows."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if not hasattr(X, "codes"):
        try:
            return np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):  # a table with text or dates
            pass
    return table_of(X).codes()


def _hashes(A: Any) -> NDArray[np.uint64]:
    """A number per row, equal for equal rows: the sum of bits times odd numbers, modulo 2^64."""
    rng = np.random.default_rng(SEED)
    odd = rng.integers(0, 2**63, A.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if hasattr(A, "indptr"):
        A = A.astype(np.float64)
        terms = (A.data + 0.0).view(np.uint64) * odd[A.indices]
        sums = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
        return sums[A.indptr[1:]] - sums[A.indptr[:-1]]
    total = np.zeros(A.shape[0], dtype=np.uint64)
    if not A.flags.f_contiguous:  # a few rows at a time
        height = max(1, TUNING.tile_numbers // max(1, A.shape[1]))
        for i in range(0, len(A), height):
            bits = (A[i : i + height] + 0.0).view(np.uint64)
            total[i : i + height] = np.einsum("ij,j->i", bits, odd)
        return total
    for j in range(A.shape[1]):
        total += (A[:, j] + 0.0).view(np.uint64) * odd[j]
    return total


def _label(splitter: Any, number: int) -> str:
    name = type(splitter).__name__
    if name in ("KFold", "StratifiedKFold"):
        return f"{number}-fold"
    named = {"LeaveOneOut": "leave-one-out", "LeaveOneGroupOut": "leave-one-group-out"}
    return named.get(name, f"{number} splits of {name}")


RARE = 0.01  # part of the equal pairs that chance may make, for them to be copies
MOST_TIMES = 3  # times that a row of coarse columns may be there, on average, for it to be copied


def by_chance(A: Any, t: NDArray[np.intp], first: NDArray[np.intp], n: int, pairs: float) -> bool:
    """Whether rows are equal by chance.

    A and t are features and targets of all n rows, n x p and n x T, ``first`` has one row of each
    kind, and so many ``pairs`` of rows are equal.
    """
    C, expected, widest = len(first), n * (n - 1) / 2, 0
    for column in _columns(A, t, first):
        counts = np.unique(column, return_counts=True)[1]
        expected *= float((counts * (counts - 1.0)).sum()) / (C * (C - 1.0))
        widest = max(widest, len(counts))
        if expected <= RARE * pairs and (2 * widest > C or n <= MOST_TIMES * C):
            return False
    return True


def _columns(A: Any, t: NDArray[np.intp], first: NDArray[np.intp]) -> Iterator[NDArray[np.generic]]:
    yield from t[first].T
    some = A[first]
    if hasattr(some, "tocsc"):
        some = some.tocsc()
        for j in range(some.shape[1]):
            yield np.asarray(some[:, [j]].todense()).ravel()
    else:
        yield from some.T
