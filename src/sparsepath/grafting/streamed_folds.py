"""Honest errors of grafting on rows that are read in passes: the fit repeated without every fold.

Rows are dealt to folds by their number, and the first pass takes its sums for each fold by itself.
With the squared loss that is all: means, scales and products without a fold are sums over the
others, and so are the squared errors on it. With other losses the rows of a fold weigh nothing in
the passes of its fit, and one more pass, over the columns in use, takes the losses on the fold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.moments import Cells, Coding
from sparsepath.data.sources import Answer, Slab, Source
from sparsepath.errors import InputError, warn_user
from sparsepath.judging import validation
from sparsepath.judging.by_fold import Models
from sparsepath.judging.left_out import FEWEST
from sparsepath.judging.yardsticks import YARDSTICKS, Truth

MOST_KEPT = 1 << 24  # in the products of all columns, of all folds


def folds_asked(estimator: Any, source: Source, *, products: bool) -> Cells:
    """The folds of ``validation``; one cell for all rows if there are to be none."""
    asked, m = estimator.validation, source.n_samples
    if isinstance(asked, str) and asked == validation.AUTO:
        asked = estimator._n_folds if validation.BY_DEFAULT and m >= FEWEST else None
    if asked is None:
        return Cells()
    if isinstance(asked, bool) or not isinstance(asked, int | np.integer) or not 2 <= asked <= m:
        raise InputError(
            f"validation={asked!r}; with data that are read in passes give a number of folds, "
            "'auto' or None."
        )
    if products and asked * source.n_features**2 > MOST_KEPT:
        warn_user(
            f"products of {source.n_features} columns for {asked} folds do not fit into memory: "
            "there is no honest error."
        )
        return Cells()
    return Cells(dealt=True, count=int(asked))


def losses_by_passes(
    yardstick: str, cells: Cells, coding: Coding, total: Callable[..., Answer]
) -> Callable[[int, Models], dict[int, float]]:
    """Mean losses of models on a fold, by a pass over their columns; ``total`` makes passes."""

    def losses(fold: int, models: Models) -> dict[int, float]:
        columns = np.unique(np.concatenate([of for of, _, _ in models.values()])).astype(np.intp)
        coefs = np.zeros((len(columns), len(models)))
        for j, (of, coef, _) in enumerate(models.values()):
            coefs[np.searchsorted(columns, of), j] = coef[:, 0]
        intercepts = np.array([float(b[0]) for _, _, b in models.values()])
        sums, weight = total(columns, losses_on, fold, cells, coding, coefs, intercepts, yardstick)
        return dict(zip(models, (sums / weight).tolist(), strict=True))

    return losses


def losses_on(
    slab: Slab,
    fold: int,
    cells: Cells,
    coding: Coding,
    coefs: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    yardstick: str,
) -> Answer:
    """Sums over the rows of a fold of weight times loss, one for each model, and of weights."""
    m = slab.block.shape[0]
    rows = np.flatnonzero(cells(slab.start, m) == fold)
    weights = np.ones(m) if slab.weights is None else slab.weights
    X = slab.block.columns(np.arange(len(coefs)))[rows]
    truth = Truth(coding(slab.y)[rows])
    if coding.classes is not None:
        index = np.searchsorted(coding.classes, slab.y)[rows]
        truth = Truth(truth.values, coding.classes, index)
    measure = YARDSTICKS[yardstick].losses
    outputs = X @ coefs + intercepts
    losses = [weights[rows] @ measure(truth, outputs[:, [j]]) for j in range(coefs.shape[1])]
    return [np.array(losses), np.array(weights[rows].sum())]
