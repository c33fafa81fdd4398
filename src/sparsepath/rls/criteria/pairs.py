"""Criteria over pairs of samples; ``pairs/`` has the models that are judged by them.

auc            share of pairs of a positive and a negative sample in the wrong order
disagreement   share of pairs of one query, with different targets, in the wrong order
squared        half the mean of (e_i - e_j)^2 over pairs of one query
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.criteria.losses import Criterion
from sparsepath.system.arrays import Floats


class Disagreement(Criterion):
    """Fraction of pairs in the wrong order."""

    name = "disagreement"
    label = "ranking error"
    counts = True
    several = False
    pairs = True
    needs = "two samples of the same query with different targets"

    def can_judge(self, Y: Floats, weights: Floats, queries: NDArray[np.intp]) -> bool:
        """Return whether there is a pair with different targets."""
        return has_order(Y[:, 0], weights, queries)


class AUC(Disagreement):
    """One minus the area under the ROC curve."""

    name = "auc"
    label = "AUC error"
    coded = True
    needs = "samples of both classes"


class PairwiseSquared(Criterion):
    """Half the mean squared difference of two residuals."""

    name = "squared"
    label = "pairwise squared error"
    several = False
    pairs = True
    by_sums = True
    needs = "two samples of the same query"
    metric = "ranking"

    def can_judge(self, Y: Floats, weights: Floats, queries: NDArray[np.intp]) -> bool:
        """Return whether there is a pair."""
        return pairs_weigh(weights, queries) > 0


def has_order(y: Floats, weights: Floats, queries: NDArray[np.intp]) -> bool:
    """Return whether two samples with positive weight in the same query have different targets."""
    counted = weights > 0
    y, queries = y[counted], queries[counted]
    order = np.lexsort((y, queries))
    y, queries = y[order], queries[order]
    return bool(np.any((queries[1:] == queries[:-1]) & (y[1:] != y[:-1])))


def pairs_weigh(weights: Floats, queries: NDArray[np.intp]) -> float:
    """Return the weight of all ordered pairs of samples of the same query (i, j and j, i are
    two).
    """
    total = np.bincount(queries, weights) if len(queries) else np.zeros(1)
    return float(total @ total - weights @ weights)
