"""Detect correlated errors of neighbouring rows.

Random folds estimate the error on new samples if samples are independent. Rows of one person or one
week are usually next to each other in a file and have similar errors. With e for the signed errors
of held-out samples, in the order of the rows,

    r = mean of e_i . e_{i+1} / mean of e_i . e_i

is approximately normal with mean 0 and variance 1 / n if the order is random. Files are often
sorted by the target, which does not imply dependence, so the effect of the target on e (its mean
within each class, or the regression of e on y) is removed first. This would remove everything for
the empty model, whose e is used unchanged, unless the rows are sorted by the target.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from sparsepath.assessment.metrics import Floats, Truth

SURE_DEVIATIONS = 4.0  # standard deviations from which it is no chance
MUCH = 0.1  # and the correlation from which it matters
LITTLE = 0.01  # part of the squares of e; less than this is nothing left of them


def error_correlation(
    parts: Sequence[tuple[NDArray[np.intp], Mapping[int, Floats]]],
    truth: Truth,
    clusters: NDArray[np.intp],
    *,
    logits: bool = False,
) -> dict[int, float]:
    """Return the correlation r of the models by size, if it is significant and large enough to
    matter.

    Every part has the same sizes. Rows of one of the ``clusters`` are copies, with the same errors,
    and are skipped. ``logits`` says that the outputs for classes are log odds.
    """
    order = np.concatenate([test for test, _ in parts])
    rows, place = np.unique(order, return_inverse=True)
    here, of = truth[rows], clusters[rows]
    both = np.flatnonzero((np.diff(rows) == 1) & (of[1:] != of[:-1]))
    if not len(both):
        return {}
    found, alike, is_sorted = dict[int, float](), _alike_in_target(here), _is_sorted(truth)
    y = here.values - here.values.mean(0)
    outputs = np.empty_like(y)
    for size in parts[0][1]:
        outputs[place] = np.concatenate([out[size] for _, out in parts])
        plain = here.values - _as_values(outputs, logits)
        plain -= plain.mean(0)
        off = plain.copy()
        for some in alike:
            off[some] -= off[some].mean(0)
        if truth.index is None:
            off -= y * ((y * off).sum(0) / np.maximum((y * y).sum(0), 1e-300))
        if np.vdot(off, off) <= LITTLE * np.vdot(plain, plain):
            if is_sorted:
                continue
            off = plain
        total = np.vdot(off, off) / len(off)
        if total > 0:
            r = float((off[both] * off[both + 1]).sum() / len(both) / total)
            if r >= MUCH and r * np.sqrt(len(both)) >= SURE_DEVIATIONS:
                found[size] = r
    return found


def _is_sorted(truth: Truth) -> bool:
    """Return whether the target is monotonic, or every class is contiguous."""
    if truth.index is not None:
        return int(np.count_nonzero(np.diff(truth.index))) < (
            0 if truth.classes is None else len(truth.classes)
        )
    steps = np.diff(truth.values, axis=0)
    return bool(((steps >= 0).all(0) | (steps <= 0).all(0)).any())


def _as_values(outputs: Floats, logits: bool) -> Floats:
    """Convert log odds to the scale -1 to +1."""
    if not logits:
        return outputs
    chances = expit(outputs) if outputs.shape[1] == 1 else softmax(outputs, axis=1)
    return np.asarray(2.0 * chances - 1.0)


def _alike_in_target(truth: Truth) -> list[NDArray[np.intp]]:
    """Return groups of rows with the same target; none for numeric targets."""
    if truth.index is None:
        return []
    return [np.flatnonzero(truth.index == c) for c in np.unique(truth.index)]
