"""Parts to leave out: default folds that do not depend on the order of the rows.

Rows that are equal, in X and y, are one case: they are left out together, since a copy in the
training part would give the answer away. Rows of weight zero are no cases. The cases are put in an
order of their own, by y, then by the first columns of X, then by a hash of the row; every ``k``
neighbours in that order are dealt to the k folds at random, by a fixed seed. So

- every fold has its share of small and large y, and of every class;
- shuffling the rows, or writing a row twice instead of giving it weight two, changes no fold;
- nor do other units of the columns or of y.
"""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError

Rows = NDArray[np.intp]
SEED = 0
FIRST = 4  # columns that are looked at one by one


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and test rows, what that is called, and which rows hang together.

    Attributes
    ----------
    splits : list of (array, array)
    label : str
        As ``"10-fold"``.
    clusters : array of int, shape (n,)
    """

    splits: list[tuple[Rows, Rows]]
    label: str
    clusters: Rows


def parts_of(validation: Any, X: Any, y: Any, groups: Any = None, weights: Any = None) -> Parts:
    """What ``validation`` asks for: a number of folds, a splitter, or splits."""
    n = len(y)
    clusters: Rows = np.arange(n)
    if groups is not None:
        clusters = np.unique(np.asarray(groups), return_inverse=True)[1]
    if isinstance(validation, Integral) and validation is not True and validation is not False:
        if validation < 2:
            raise InputError(f"validation={validation!r}; give two folds or more, or None.")
        return _folds(int(validation), X, y, groups, weights, clusters)
    if hasattr(validation, "get_n_splits"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer members than folds
            splits = list(validation.split(X, y, groups))
        return Parts(splits, _label(validation, len(splits)), clusters)
    if isinstance(validation, str) or not hasattr(validation, "__iter__"):
        raise InputError(
            f"validation={validation!r}; give a number of folds, a scikit-learn splitter, a list "
            "of (train, test) rows, or None."
        )
    splits = [(np.asarray(train), np.asarray(test)) for train, test in validation]
    return Parts(splits, f"{len(splits)} given splits", clusters)


def _folds(k: int, X: Any, y: Any, groups: Any, weights: Any, clusters: Rows) -> Parts:
    if groups is not None:
        from sklearn.model_selection import GroupKFold

        k = min(k, len(np.unique(clusters)))
        if k < 2:
            raise InputError("groups has one group only: nothing can be left out.")
        return Parts(list(GroupKFold(k).split(X, y, groups)), f"{k}-fold by groups", clusters)
    counted = np.ones(len(y), dtype=bool) if weights is None else np.asarray(weights) > 0
    case, n_cases = cases(X, y, counted)
    k = min(k, n_cases)
    if k < 2:
        raise InputError("all samples are the same: nothing can be left out.")
    fold = dealt(n_cases, k)[case]
    splits = []
    for part in range(k):
        test = (fold == part) & counted
        splits.append((np.flatnonzero(counted & ~test), np.flatnonzero(test)))
    return Parts(splits, f"{k}-fold", case)


def dealt(n: int, k: int) -> Rows:
    """The fold of each of n cases in order: every k neighbours are one of each, at random.

    >>> sorted(dealt(6, 3)[:3].tolist())
    [0, 1, 2]
    """
    rng = np.random.default_rng(SEED)
    hands = rng.permuted(np.tile(np.arange(k), (-(-n // k), 1)), axis=1)
    return hands.ravel()[:n]


def cases(X: Any, y: Any, counted: NDArray[np.bool_]) -> tuple[Rows, int]:
    """For every row the place of its case in the order of cases, and how many cases there are.

    Rows that do not count share the place 0.
    """
    A = _numbers(X)
    t = np.asarray(y)
    t = np.unique(t.ravel(), return_inverse=True)[1].reshape(len(t), -1)  # ranks: labels too
    first = A[:, : min(FIRST, A.shape[1])]
    first = np.asarray(first.todense() if hasattr(first, "todense") else first, dtype=np.float64)
    keys = (_hashes(A), *first.T[::-1], *t.T[::-1])
    rows = np.flatnonzero(counted)
    keys = tuple(key[rows] for key in keys)
    order = np.lexsort(keys)
    new = np.zeros(len(rows), dtype=np.intp)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    place = np.zeros(len(t), dtype=np.intp)
    place[rows[order]] = np.cumsum(new)
    return place, int(new.sum()) + 1 if len(rows) else 0


def _numbers(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return np.asarray(X, dtype=np.float64)


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
    for j in range(A.shape[1]):
        total += (A[:, j] + 0.0).view(np.uint64) * odd[j]
    return total


def _label(splitter: Any, number: int) -> str:
    name = type(splitter).__name__
    if name in ("KFold", "StratifiedKFold"):
        return f"{number}-fold"
    return {"LeaveOneOut": "leave-one-out"}.get(name, f"{number} splits of {name}")
