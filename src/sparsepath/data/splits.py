"""Resolve ``cv``: folds by the content of the rows, or what scikit-learn's ``check_cv`` accepts."""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, LeaveOneOut, check_cv

from sparsepath.data.folds import ContentFolds
from sparsepath.errors import InputError, warn_user

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
DEFAULT_FOLDS = 5  # of scikit-learn's cv=None


def splits_of(
    cv: Any,
    X: Any,
    y: ArrayLike,
    groups: Any = None,
    *,
    classifier: bool = False,
    weights: Any = None,
) -> list[Split]:
    """Return row numbers of training and test folds.

    ``cv`` is a number of folds (see ``folds.py``; stratified for classification), a splitter, a
    list of splits, or "loo", which leaves out one row or group at a time; ``classifier`` says
    whether y are classes.

    >>> [test.tolist() for _, test in splits_of(2, np.arange(4)[:, None], np.zeros(4))]
    [[2, 3], [0, 1]]
    """
    splitter = splitter_of(cv, y, groups, classifier=classifier, weights=weights)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")  # said by splitter_of
        try:
            everyone = np.arange(len(np.asarray(y)))
            given = enumerate(splitter.split(X, y, groups))
            found = [checked_split("cv", pair, i, everyone) for i, pair in given]
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(f"{named(cv)} cannot split these data: {error}") from error
    if not found:
        raise InputError(f"cv={cv!r} yields no splits; give at least one.")
    return found


def named(cv: Any) -> str:
    """Return how messages name a value of ``cv``: without a list of rows.

    >>> named(3), named([(list(range(50)), [50])])
    ('cv=3', 'cv')
    """
    text = f"cv={cv!r}"
    return text if len(text) < 100 and "\n" not in text else "cv"


def splitter_of(
    cv: Any, y: ArrayLike, groups: Any = None, *, classifier: bool = False, weights: Any = None
) -> Any:
    """Return the splitter for ``cv``; a number of folds must suit the number of rows.

    With groups, "loo" leaves out a group at a time and a number means folds of whole groups; with
    fewer groups than the usual number of folds, of one group each.
    """
    if isinstance(cv, (bool, np.bool_)) or (isinstance(cv, Integral) and int(cv) < 2):
        raise InputError(f"cv={cv!r}; give 2 folds or more, 'loo', or splits.")
    count = None if groups is None else count_groups(groups, len(np.asarray(y)))
    if isinstance(cv, str) and cv == "loo":
        return LeaveOneOut() if groups is None else LeaveOneGroupOut()
    if cv is None or isinstance(cv, Integral):
        folds = DEFAULT_FOLDS if cv is None else int(cv)
        if count is None:
            _check_folds(folds, np.asarray(y), classifier)
            alone = folds == len(np.asarray(y))
            return LeaveOneOut() if alone else ContentFolds(folds, classifier, weights)
        if folds > max(count, DEFAULT_FOLDS):  # nobody asked for the usual number
            raise InputError(f"cv={folds} is more than the {count} groups; give {count} or less.")
        return GroupKFold(min(folds, count))
    try:
        return check_cv(cv, y, classifier=classifier)
    except (TypeError, ValueError) as error:
        raise InputError(f"{named(cv)}; use 'loo', a number of folds, or splits.") from error


def group_codes(groups: ArrayLike, m: int) -> NDArray[np.intp]:
    """Return the group of each of m samples as a whole number from zero."""
    given = np.asarray(groups)
    if given.shape != (m,):
        raise InputError(
            f"groups has shape {given.shape}; give the group of each of the {m} samples."
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise InputError("groups contains NaN; give the group of every sample.")
    try:
        labels, codes = np.unique(given, return_inverse=True)
        orderly = given.dtype.kind != "O" or len(set(given.tolist())) == len(labels)
    except TypeError:
        orderly = False
    if not orderly:
        raise InputError(
            "groups has labels that cannot be sorted, such as None, or numbers mixed with "
            "text; give numbers or text for every sample."
        )
    return codes.astype(np.intp)


def count_groups(groups: ArrayLike, m: int) -> int:
    """Return the number of groups of m samples; at least two are required."""
    count = len(np.unique(group_codes(groups, m)))
    if count < 2:
        raise InputError("groups has only one group; give two or more, or no groups.")
    return count


def _check_folds(folds: int, y: NDArray[Any], classifier: bool) -> None:
    m = len(y)
    if folds > m:
        raise InputError(f"cv={folds} is more than the {m} samples; give {m} or less, or 'loo'.")
    if not classifier or y.ndim > 1:
        return
    labels, counts = np.unique(y, return_counts=True)
    if folds > counts.max():
        allowed = f"give {counts.max()} or less" if counts.max() > 1 else "use 'loo'"
        raise InputError(
            f"cv={folds} is more folds than any class has samples ({counts.max()}); {allowed}."
        )
    if folds > counts.min():
        warn_user(
            f"cv={folds} is more folds than class {labels[counts.argmin()]} has samples "
            f"({counts.min()}): it is missing from some of them."
        )


def checked_split(what: str, pair: Any, number: int, everyone: NDArray[np.intp]) -> Split:
    """Return row numbers of a split, from row numbers or masks; no row may be on both sides.

    >>> checked_split("cv", ([True, True, False], [-1]), 0, np.arange(3))
    (array([0, 1]), array([2]))
    """
    try:
        train, test = pair
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: split {number} is not a pair; each must be the row numbers of a training "
            "part and those of a test part."
        ) from None
    m = len(everyone)
    parts = []
    for name, part in (("training", train), ("test", test)):
        rows = np.asarray(part)
        if rows.ndim != 1 or (rows.dtype.kind not in "biu" and len(rows)):
            raise InputError(
                f"{what}: the {name} part of split {number} has shape {rows.shape} and type "
                f"{rows.dtype}; give whole row numbers, or True and False for every row."
            )
        if rows.dtype == np.bool_ and len(rows) != m:
            raise InputError(
                f"{what}: the {name} part of split {number} has {len(rows)} values for {m} samples."
            )
        if rows.dtype != np.bool_ and len(rows) and not -m <= rows.min() <= rows.max() < m:
            raise InputError(
                f"{what}: the {name} part of split {number} names row "
                f"{rows.max() if rows.max() >= m else rows.min()}; there are rows 0 to {m - 1}."
            )
        parts.append(everyone[rows if len(rows) else rows.astype(np.intp)])
    inside = np.zeros(m, dtype=bool)
    inside[parts[0]] = True
    if both := np.count_nonzero(inside[parts[1]]):
        raise InputError(
            f"{what}: {both} rows of the test part of split {number} are also in its training "
            "part, which makes their errors too low; remove them from one part."
        )
    return parts[0], parts[1]
