"""Figures of classifications of held-out samples, computed whatever the criterion of the search.

Error rate, balanced error (equal weight per class), log loss, Brier score (with two classes the
squared distance of the probability of the second to 0 or 1, with more the squared distances of all
probabilities, summed over classes) and, with two classes, AUC. They are means over samples; AUC is
a mean over parts, weighted by their samples. ``calibration.py`` converts scores to probabilities.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.calibration import CrossFittedCalibration, Part
from sparsepath.assessment.held_out import ClassFigures, PartScores
from sparsepath.assessment.metrics import METRICS, Floats, Truth, balancing
from sparsepath.assessment.thresholds import rule_of, thresholds
from sparsepath.data.classes import winners
from sparsepath.data.folds import Rows
from sparsepath.errors import InputError

BINS = 10  # of probabilities, for a reliability curve
MOST_PAIRED = 1000  # samples up to which pairs are kept: with more, the choice hardly matters


def class_figures(parts: Sequence[Part], truth: Truth, weights: Floats) -> ClassFigures | None:
    """Return what every way needs for its errors by size; None for numeric targets."""
    if truth.classes is None or truth.index is None:
        return None
    counts = _times_held_out(parts, len(weights))
    balance = balancing(truth, np.where(counts > 0, weights, 0.0))
    mistakes = _mistakes(parts, truth, counts)
    return ClassFigures(weights, mistakes, None, _pair_scores(parts, truth, weights), balance)


def complete_figures(
    figures: ClassFigures,
    parts: Sequence[Part],
    truth: Truth,
    scale: CrossFittedCalibration,
    threshold: Any = None,
) -> ClassFigures:
    """Add AUC, probabilities, confusion and the threshold of the chosen way."""
    assert truth.index is not None
    weights, rule = figures.weights, rule_of(threshold)
    counts = _times_held_out(parts, len(weights))
    decided = scale.moved(parts)
    if rule is not None:
        _check_two_classes(truth)
        cuts, decided = thresholds(parts, truth.index, weights, rule, scale)
        mistakes = _mistakes(decided, truth, counts)
        figures = replace(figures, mistakes=mistakes, thresholds=cuts)
    probable, reliability = _probabilities(parts, truth, weights, scale)
    return replace(
        figures,
        auc=_areas(parts, truth, weights),
        confusion=_confusion(decided, truth, counts),
        slopes=scale.whole.slopes,
        offsets=scale.whole.offsets,
        probable=probable,
        reliability=reliability,
    )


def _check_two_classes(truth: Truth) -> None:
    if truth.classes is not None and len(truth.classes) != 2:
        raise InputError(f"threshold is for two classes, and y has {len(truth.classes)}.")


def _times_held_out(parts: Sequence[Part], n: int) -> Floats:
    rows = np.concatenate([test for test, _ in parts])
    return np.bincount(rows, minlength=n).astype(np.float64)


def _mistakes(parts: Sequence[Part], truth: Truth, counts: Floats) -> Floats:
    """Return by sample and size how often another class was predicted; NaN: never held out."""
    mistakes = np.zeros((len(counts), len(parts[0][1])))
    for test, outputs in parts:
        mistakes[test] += METRICS["zero_one"].by_size(truth[test], outputs)
    return np.where(counts[:, None] > 0, mistakes / np.maximum(counts, 1)[:, None], np.nan)


def _pair_scores(parts: Sequence[Part], truth: Truth, weights: Floats) -> tuple[PartScores, ...]:
    """Return the scores whose pairs make up AUC; none of more than ``MOST_PAIRED`` samples."""
    assert truth.classes is not None
    if len(truth.classes) != 2 or len(weights) > MOST_PAIRED:
        return ()
    found = list[PartScores]()
    for test, outputs, second, weight in _with_both_classes(parts, truth, weights):
        of = np.column_stack([out[:, 0] for out in outputs.values()])
        found.append(PartScores(test[second], test[~second], of[second], of[~second], weight))
    return tuple(found)


def _with_both_classes(
    parts: Sequence[Part], truth: Truth, weights: Floats
) -> Iterator[tuple[Rows, Mapping[int, Floats], NDArray[np.bool_], float]]:
    """Yield the parts with samples of both classes, the mask of the second, and their weight."""
    assert truth.index is not None
    for test, outputs in parts:
        second, weight = truth.index[test] == 1, float(weights[test].sum())
        if second.any() and not second.all() and weight > 0:
            yield test, outputs, second, weight


def _probabilities(
    parts: Sequence[Part], truth: Truth, weights: Floats, scale: CrossFittedCalibration
) -> tuple[dict[str, Floats], Floats]:
    """Return by size the losses of the probabilities, and with two classes their reliability."""
    assert truth.index is not None
    assert truth.classes is not None
    n_sizes, n, C = len(parts[0][1]), len(truth.index), len(truth.classes)
    log_loss, brier = np.zeros((n, n_sizes)), np.zeros((n, n_sizes))
    bins = np.zeros((n_sizes, BINS, 3))
    counts = _times_held_out(parts, n)
    for (test, outputs), one in zip(parts, scale.of_parts, strict=True):
        own = truth.index[test][:, None] == np.arange(C)
        share = (weights[test] > 0) / counts[test]
        for k, logs in enumerate(one.logs(outputs)):
            p = np.exp(logs)
            log_loss[test, k] -= logs[own]
            off = np.square(p - own)
            brier[test, k] += off[:, 1] if C == 2 else off.sum(1)
            if C == 2:
                place = np.minimum((BINS * p[:, 1]).astype(np.intp), BINS - 1)
                for j, of in enumerate((p[:, 1], own[:, 1], np.ones(len(test)))):
                    bins[k, :, j] += np.bincount(place, of * share, minlength=BINS)
    times = np.where(counts > 0, counts, np.nan)[:, None]
    bins[..., :2] /= np.maximum(bins[..., 2:], 1e-300)
    reliability = bins if C == 2 else np.zeros((0, 0, 0))
    return {"log_loss": log_loss / times, "brier": brier / times}, reliability


def _areas(parts: Sequence[Part], truth: Truth, weights: Floats) -> Floats | None:
    """Return AUC by size, a mean over parts; None unless there are two classes."""
    if truth.classes is None or len(truth.classes) > 2:
        return None
    areas, total = np.zeros(len(parts[0][1])), 0.0
    for test, outputs, _, weight in _with_both_classes(parts, truth, weights):
        areas += weight * (1.0 - METRICS["auc"].by_size(truth[test], outputs)[0])
        total += weight
    return areas / total if total > 0 else np.full(len(areas), np.nan)


def _confusion(parts: Sequence[Part], truth: Truth, counts: Floats) -> Floats:
    """Return samples by class and predicted class, for every size."""
    assert truth.classes is not None
    assert truth.index is not None
    C = len(truth.classes)
    found = np.zeros((len(parts[0][1]), C * C))
    for test, outputs in parts:
        for k, out in enumerate(outputs.values()):
            cells = truth.index[test] * C + winners(out)
            found[k] += np.bincount(cells, 1 / counts[test], minlength=C * C)
    return found.reshape(-1, C, C)
