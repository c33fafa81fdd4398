r"""Validated splits: their name, and how much they overlap.

Standard error of a mean over splits. Fold f has the error E_f, a mean over its test samples with
shares a_fj (for equal weights one over their number). If the losses of samples were independent
with variance v (neglecting shared training samples, as is usual),

    cov(E_f, E_h) = v (AA')_fh                   with S the sum of all elements of AA',
    var(mean of E) = v S / F^2                   T its trace
    expected sum_f (E_f - mean)^2 = v (T - S/F)

and so, with c = S / T,

    se^2 = c / (F (F - c)) sum_f (E_f - mean)^2.

If no sample is tested twice, c = 1 and this is the usual variance over F. Ten repeats of five folds
have c = 10: they are as informative as five folds, not fifty, because they test the same samples
ten times.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import model_selection as ms

from sparsepath.data.splits import Split, checked_split, named, splitter_of
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats


@dataclass(frozen=True)
class Splits(Sequence[Split]):
    """Pairs of row numbers, train and test, and their name."""

    pairs: tuple[Split, ...]
    label: str

    @overload
    def __getitem__(self, i: int) -> Split: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Split, ...]: ...
    def __getitem__(self, i: int | slice) -> Split | tuple[Split, ...]:
        return self.pairs[i]

    def __len__(self) -> int:
        return len(self.pairs)

    def only(self, counted: Sequence[bool]) -> "Splits":
        """Return only some of the splits, with a name that says so."""
        pairs = tuple(pair for pair, counts in zip(self.pairs, counted, strict=True) if counts)
        return replace(
            self, pairs=pairs, label=f"{self.label}, {len(pairs)} of {len(self.pairs)} parts"
        )


def label_of(splits: Sequence[Split]) -> str:
    """Return the name of splits: their own, or one from their shape."""
    if isinstance(splits, Splits):
        return splits.label
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in splits]
    masks = any(part.dtype == np.bool_ for pair in pairs for part in pair)
    rows = [int(part.max(initial=-1)) + 1 for pair in pairs for part in pair]
    return f"{len(pairs)} splits" if masks else _shape(pairs, max(rows, default=0))


def criterion_name(label: str, what: str) -> str:
    """Return the name of a criterion over splits.

    >>> criterion_name("5-fold", "squared error")
    '5-fold squared error'
    >>> criterion_name("20 shuffle splits", "squared error")
    'squared error, 20 shuffle splits'
    """
    return f"{label} {what}" if label.endswith(("-fold", "-out")) else f"{what}, {label}"


# Reading what was given --------------------------------------------------------------------------


def read_splits(
    cv: Any,
    X: Any,
    labels: ArrayLike,
    groups: ArrayLike | None,
    *,
    classifier: bool,
    leave_one_out: bool = True,
    weights: ArrayLike | None = None,
) -> Splits | None:
    """Return the splits for ``cv``; None for leave-one-out.

    With groups, "loo" leaves out one group at a time and a number means folds of whole groups.
    Splits that each test one sample, every sample once, on the fit to all others, are
    leave-one-out, also with sample weights, unless ``leave_one_out`` is false: a single sample has
    no pairs.
    """
    m = X.shape[0]
    splitter = splitter_of(cv, labels, groups, classifier=classifier, weights=weights)
    if isinstance(splitter, ms.LeaveOneOut) and (leave_one_out or isinstance(cv, str)):
        return None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # it was said
            given = splitter.split(X, labels, groups)
            pairs, single = _gather(given, m, keep=not leave_one_out)
    except InputError:
        raise
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"{named(cv)} cannot be used to split these data ({error}); use 'loo', a number of "
            "folds, a scikit-learn splitter or a list of pairs of row numbers, train and test."
        ) from error
    if single and leave_one_out:
        return None
    if not pairs:
        raise InputError(f"cv={cv!r} yields no splits; give at least one.")
    return Splits(tuple(pairs), _named_by(splitter, pairs) or _shape(pairs, m))


def _gather(given: Iterable[Any], m: int, keep: bool) -> tuple[list[Split], bool]:
    """Return the splits as row numbers, or none if they are leave-one-out and need not be kept.

    The training folds of leave-one-out have m^2 numbers in total, so they are kept only if a split
    differs.
    """
    pairs: list[Split] = []
    alone: list[int] = []
    single = True
    everyone = np.arange(m)
    for number, pair in enumerate(given):
        train, test = checked_split("cv", pair, number, everyone)
        one = single and len(test) == 1 and len(train) == m - 1
        if one and len(np.unique(train)) == m - 1:
            alone.append(int(test[0]))
            if keep:
                pairs.append((train, test))
            continue
        if single and not keep:
            pairs = [(np.delete(everyone, i), everyone[i : i + 1]) for i in alone]
        single = False
        pairs.append((train, test))
    single = single and sorted(alone) == list(range(m))
    if not single and not pairs:
        pairs = [(np.delete(everyone, i), everyone[i : i + 1]) for i in alone]
    return pairs, single


# Names -------------------------------------------------------------------------------------------


def _named_by(splitter: Any, pairs: Sequence[Split]) -> str | None:
    """Return the name of splits of a known splitter."""
    count = len(pairs)
    many = "" if count == 1 else "s"
    if isinstance(splitter, (ms.GroupKFold, ms.StratifiedGroupKFold)):
        return f"{count}-fold by groups"
    if isinstance(splitter, ms.LeaveOneGroupOut):
        return "leave-one-group-out"
    if isinstance(splitter, ms.LeavePGroupsOut):
        return f"leave-{splitter.n_groups}-groups-out"
    if isinstance(splitter, ms.LeavePOut) and splitter.p > 1:
        return f"leave-{splitter.p}-out"
    if isinstance(splitter, ms.GroupShuffleSplit):
        return f"{count} shuffle split{many} by groups"
    if isinstance(splitter, (ms.ShuffleSplit, ms.StratifiedShuffleSplit)):
        return f"{count} shuffle split{many}"
    if isinstance(splitter, ms.TimeSeriesSplit):
        return f"{count} time split{many}"
    return None


def _shape(pairs: Sequence[Split], m: int) -> str:
    """Return the name of splits from their shape: number of folds, once or several times."""
    plain = f"{len(pairs)} split{'' if len(pairs) == 1 else 's'}"
    runs, tested = [0], np.zeros(m, dtype=np.intp)
    for train, test in pairs:
        here = np.bincount(test, minlength=m) + np.bincount(train, minlength=m)
        if not (here == 1).all():
            return plain
        if (tested == 1).all():
            runs.append(0)
            tested[:] = 0
        np.add.at(tested, test, 1)
        runs[-1] += 1
    if not (tested == 1).all() or len(set(runs)) > 1:
        return plain
    folds = "leave-one-out" if runs[0] == m else f"{runs[0]}-fold"
    return folds if len(runs) == 1 else f"{folds}, {len(runs)} times"


# Parts that count, and how far they repeat each other ---------------------------------------------


def overlap(tests: Sequence[NDArray[np.intp]], weights: Floats) -> float:
    """Return the number c of the module docstring: one if no sample is tested twice."""
    total, squares = np.zeros(len(weights)), 0.0
    for test in tests:
        rows, place = np.unique(test, return_inverse=True)
        weight: Floats = np.bincount(place, weights[test]).astype(np.float64)
        share = weight / weight.sum()
        total[rows] += share
        squares += float(share @ share)
    return float(total @ total / squares)


def standard_error(errors: Floats, overlap: float) -> float:
    """Return the standard error of the mean over folds; NaN for one fold or equal errors."""
    count = len(errors)
    if count - overlap < 1e-9 * count:
        return math.nan
    off = errors - errors.sum() / count
    return math.sqrt(overlap * (off @ off) / (count * (count - overlap)))
