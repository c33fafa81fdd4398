"""Error rate and AUC of predictions for samples that were left out, whatever the search minimised.

A squared error of +-1 says little to most readers; these say what it comes to. The rate is a mean
over samples, the area under the curve one over parts, each as large as its samples weigh.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.judging.yardsticks import YARDSTICKS, Floats, Truth

Parts = Sequence[tuple[NDArray[np.intp], Mapping[int, Floats]]]


def class_figures(
    parts: Parts,
    truth: Truth,
    sizes: Sequence[int],
    sample_weight: Any,
    at_sizes: Callable[[Mapping[int, Floats], Sequence[int]], Floats],
) -> dict[str, Floats]:
    """By size: ``error_rate``, and for two classes ``auc``; nothing if the targets are numbers."""
    if truth.classes is None:
        return {}
    n = len(truth.values)
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    names = ("zero_one", "auc") if len(truth.classes) == 2 else ("zero_one",)
    means = {name: np.full(len(sizes), np.nan) for name in names}
    for name in names:
        totals, weight = np.zeros(len(sizes)), 0.0
        for test, outputs in parts:
            losses = {k: YARDSTICKS[name].losses(truth[test], out) for k, out in outputs.items()}
            chosen = at_sizes(losses, sizes)
            w = np.where(np.isnan(chosen[:, 0]), 0.0, weights[test])
            totals += w @ np.nan_to_num(chosen)
            weight += w.sum()
        if weight > 0:
            means[name] = totals / weight
    found = {"error_rate": means["zero_one"]}
    return {**found, "auc": 1.0 - means["auc"]} if "auc" in means else found
