"""Decision threshold of two-class scores, chosen on held-out samples.

Among all thresholds between the scores of held-out samples, the best one by the rule is chosen:

balanced   lowest mean of the error rates of the two classes
f1         highest harmonic mean of precision and recall of the second class
costs      lowest mean of costs[i][j], the cost of predicting class j for a sample of class i

A number p predicts the second class if its probability is above p. The threshold nearest to zero,
the default, wins ties.

The final threshold uses all held-out samples. Evaluating it on the same samples would be
optimistic, so reported figures (error rate, balanced error, confusion table) evaluate every part
with the threshold chosen on the *other* parts.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from sparsepath.assessment.calibration import CrossFittedCalibration, Part
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats, Indices, floats

Rule: TypeAlias = str | float | Floats
NAMES = ("balanced", "f1")


def rule_of(threshold: Any) -> Rule | None:
    """Return the checked parameter ``threshold``: a name, a probability, or a matrix of costs.

    >>> rule_of([[0, 1], [5, 0]]).tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    """
    if threshold is None:
        return None
    if isinstance(threshold, str):
        if threshold in NAMES:
            return threshold
    else:
        try:
            values = floats(threshold)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.ndim == 0 and 0 < values < 1:
            return float(values)
        if values.shape == (2, 2) and (np.isfinite(values) & (values >= 0)).all():
            return values
    raise InputError(
        f"threshold={threshold!r}; use 'balanced', 'f1', a probability between 0 and 1, or costs "
        "[[0, a], [b, 0]], zero or more, with a row for each true class."
    )


def best_threshold(scores: Floats, index: Indices, weights: Floats, rule: Rule) -> float:
    """Return the best threshold for the scores of samples with classes 0 and 1.

    >>> best_threshold(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 1]), np.ones(4), "f1")
    0.4
    """
    values, place = np.unique(scores, return_inverse=True)
    room = max(0.01 * float(np.ptp(values)), 1e-9)
    cuts = np.concatenate([[values[0] - room], (values[1:] + values[:-1]) / 2, [values[-1] + room]])
    # By cut, the weight of each class above it.
    above = [
        np.append(np.cumsum(np.bincount(place, w, len(values))[::-1])[::-1], 0.0)
        for w in (weights * (index == 0), weights * (index == 1))
    ]
    wrong, right = above
    totals = wrong[0], right[0]
    if not min(totals) > 0:
        return 0.0
    if isinstance(rule, str) and rule == "f1":
        worth = 2 * right / (totals[1] + right + wrong)
    elif isinstance(rule, str):
        worth = right / totals[1] - wrong / totals[0]
    else:
        (none, false), (missed, found) = np.asarray(rule)
        spent = none * (totals[0] - wrong) + false * wrong
        worth = -(spent + missed * (totals[1] - right) + found * right)
    good = worth >= worth.max() - 1e-12 * np.abs(worth).max()
    return float(cuts[good][np.argmin(np.abs(cuts[good]))])


def thresholds(
    parts: Sequence[Part],
    index: Indices,
    weights: Floats,
    rule: Rule,
    scale: CrossFittedCalibration,
) -> tuple[Floats, list[Part]]:
    """Return by size the final threshold, and the parts with thresholds of the others
    subtracted.

    The final threshold applies to scores with their offset (``calibration.py``).
    """
    sizes = list(parts[0][1])
    own, shifted = np.zeros(len(sizes)), [dict[int, Floats]() for _ in parts]
    if isinstance(rule, float):
        logit = np.log(rule / (1 - rule))
        for part, one in enumerate(scale.of_parts):
            moved = one.moved(parts[part][1])
            shifted[part] = {
                k: moved[k] - logit / a for k, a in zip(sizes, one.slopes, strict=True)
            }
        own = logit / scale.whole.slopes
        return own, [(test, made) for (test, _), made in zip(parts, shifted, strict=True)]
    rows = np.concatenate([test for test, _ in parts])
    for k, size in enumerate(sizes):
        scores = np.concatenate([outputs[size][:, 0] for _, outputs in parts])
        own[k] = best_threshold(scores, index[rows], weights[rows], rule)
        for part, (test, outputs) in enumerate(parts):
            away = ~np.isin(rows, test)  # also where repeated folds leave them out again
            t = best_threshold(scores[away], index[rows[away]], weights[rows[away]], rule)
            shifted[part][size] = outputs[size] - t
    own += scale.whole.offsets[:, 0]
    return own, [(test, made) for (test, _), made in zip(parts, shifted, strict=True)]
