"""Do rows that stand next to each other err alike?

Folds that are dealt at random tell the error on new samples if the samples have nothing to do with
each other. Rows of one person, or of one week, mostly stand together in a file, and err alike: too
high, or too low, for what the features say. With e for the signed errors of samples left out, in
the order of the rows,

    r = mean of e_i . e_{i+1} / mean of e_i . e_i

is about normal with mean 0 and variance 1 / n if their order means nothing. Files are often sorted
by the target, which says nothing of the kind; so what the target explains of e (its mean within
each class, or the line of e on y) is taken out first. Of the empty model that leaves nothing: there
e is taken as it is, unless the rows are sorted by the target.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from sparsepath.judging.yardsticks import Floats, Truth

SURE = 4.0  # standard deviations from which it is no chance
MUCH = 0.1  # and the correlation from which it matters
LITTLE = 0.01  # part of the squares of e; less than this is nothing left of them


def err_alike(
    parts: Sequence[tuple[NDArray[np.intp], Mapping[int, Floats]]],
    truth: Truth,
    size: int,
    clusters: NDArray[np.intp],
    *,
    logits: bool = False,
) -> float | None:
    """The correlation r of the models of one size, if it is no chance and matters; else None.

    Rows of one of the ``clusters`` are copies, which err the same and are left out together.
    ``logits`` says that what classes are put out as are logarithms of odds.
    """
    off = np.full(truth.values.shape, np.nan)
    for test, outputs in parts:
        off[test] = truth.values[test] - _as_values(outputs[size], logits)
    known = np.isfinite(off).all(1)
    plain = off - off[known].mean(0)
    for rows in _alike_in_target(truth, known):
        off[rows] -= off[rows].mean(0)
    if truth.index is None:
        y = truth.values[known] - truth.values[known].mean(0)
        slopes = (y * off[known]).sum(0) / np.maximum((y * y).sum(0), 1e-300)
        off[known] -= y * slopes
    both = np.flatnonzero(known[1:] & known[:-1] & (clusters[1:] != clusters[:-1]))
    if np.square(off[known]).sum() <= LITTLE * np.square(plain[known]).sum():
        if _is_sorted(truth):
            return None
        off = plain
    total = float(np.square(off[known]).sum()) / max(int(known.sum()), 1)
    if not len(both) or not total > 0:
        return None
    r = float((off[both] * off[both + 1]).sum()) / len(both) / total
    return r if r >= MUCH and r * np.sqrt(len(both)) >= SURE else None


def _is_sorted(truth: Truth) -> bool:
    """Whether the target only rises or only falls, or every class stands together."""
    if truth.index is not None:
        return int(np.count_nonzero(np.diff(truth.index))) < (
            0 if truth.classes is None else len(truth.classes)
        )
    steps = np.diff(truth.values, axis=0)
    return bool(((steps >= 0).all(0) | (steps <= 0).all(0)).any())


def _as_values(outputs: Floats, logits: bool) -> Floats:
    """On the scale of +-1, if they are logarithms of odds."""
    if not logits:
        return outputs
    chances = expit(outputs) if outputs.shape[1] == 1 else softmax(outputs, axis=1)
    return np.asarray(2.0 * chances - 1.0)


def _alike_in_target(truth: Truth, known: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Rows within which the target is the same, or all of them."""
    if truth.index is None:
        return [np.flatnonzero(known)] if known.any() else []
    classes = np.unique(truth.index[known])
    return [np.flatnonzero(known & (truth.index == c)) for c in classes]
