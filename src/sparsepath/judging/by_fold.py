"""Honest errors of data that are read in passes: the rows stay away, and each fold is one figure.

The search is repeated without every fold, and the mean loss of its models there is what the fold
tells. Errors, their standard errors and the draws that correct a chosen one are those of folds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.moments import Cells, Coding, Moments
from sparsepath.data.sources import Answer, Slab
from sparsepath.errors import InputError
from sparsepath.judging.left_out import LeftOut
from sparsepath.judging.repeating import at_most
from sparsepath.judging.yardsticks import YARDSTICKS, Floats, Truth
from sparsepath.running.interrupts import Interruptible
from sparsepath.steps import Step

LinearModel: TypeAlias = tuple[NDArray[np.intp], Floats, Floats]  # columns, coefficients, intercept
Models: TypeAlias = Mapping[int, LinearModel]


def linear_models(steps: Mapping[int, Step]) -> dict[int, LinearModel]:
    """The models of a path, by size."""
    return {
        size: (np.array(step.subset, dtype=np.intp), step.coef, step.intercept)
        for size, step in steps.items()
        if step.coef is not None and step.intercept is not None
    }


def number_of_folds(asked: Any, usual: int, n_samples: int) -> int:
    """The folds that ``validation`` asks for; "auto" means the usual number."""
    count = usual if isinstance(asked, str) and asked == "auto" else asked
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not (whole and 2 <= count <= n_samples):
        raise InputError(
            f"validation={asked!r}; with data that are read in passes give a number of folds, "
            "'auto' or None."
        )
    return int(count)


def left_out_by_fold(
    search: Callable[[int], tuple[Models, int | None]],
    losses: Callable[[int, Models], Mapping[int, float]],
    weights: Floats,
    sizes: Sequence[int],
    label: str,
    yardstick: str = "squared",
    own: int | None = None,
) -> LeftOut | None:
    """What the models without a fold err on that fold; None if Ctrl-C leaves less than two folds.

    ``search`` gives the models found without a fold, and the size with which it ends if it chooses
    that itself; ``losses`` their mean losses on the fold; ``weights`` are what folds weigh, and
    those of none are passed over. For one of the ``sizes`` that is not there the largest model
    below stands in. ``own`` is the size with which the search of all rows ended, if it chooses it
    itself.
    """
    folds, rows = np.flatnonzero(weights > 0), list[list[float]]()
    with Interruptible():
        for fold in folds.tolist():
            models, end = search(fold)
            found = losses(fold, models)
            ends = {} if own is None or end is None else {own: end}
            rows.append([found[ends.get(size, at_most(size, found))] for size in sizes])
    if len(rows) < 2:
        return None
    whole = len(rows) == len(folds)
    if not whole:
        label += f", {len(rows)} of {len(folds)} parts"
    shares = weights[folds[: len(rows)]] / weights[folds[: len(rows)]].sum()
    name, every = YARDSTICKS[yardstick].name, np.arange(len(rows))
    return LeftOut(tuple(sizes), np.array(rows), shares, every, label, name, whole=whole)


def squared_losses(moments: Moments) -> Callable[[int, Models], dict[int, float]]:
    """Mean squared errors on a cell, by its sums: no pass over the rows."""

    def losses(cell: int, models: Models) -> dict[int, float]:
        of = moments.only([cell])
        weight = of.right[0, -1, -1]
        return {k: float(of.squared_errors(*model).sum() / weight) for k, model in models.items()}

    return losses


def losses_by_pass(
    total: Callable[..., Answer], coding: Coding, cells: Cells, yardstick: str
) -> Callable[[int, Models], dict[int, float]]:
    """Mean losses on a fold, by a pass over the columns of the models; ``total`` makes passes."""

    def losses(fold: int, models: Models) -> dict[int, float]:
        columns = np.unique(np.concatenate([of for of, _, _ in models.values()])).astype(np.intp)
        intercepts = np.array([b for _, _, b in models.values()])
        coefs = np.zeros((len(columns), *intercepts.shape))
        for j, (of, coef, _) in enumerate(models.values()):
            coefs[np.searchsorted(columns, of), j] = coef
        sums, weight = total(columns, losses_on, fold, cells, coding, coefs, intercepts, yardstick)
        return dict(zip(models, (sums / weight).tolist(), strict=True))

    return losses


def losses_on(
    slab: Slab,
    fold: int,
    cells: Cells,
    coding: Coding,
    coefs: Floats,
    intercepts: Floats,
    yardstick: str,
) -> Answer:
    """Sums over the rows of a fold of weight times loss, one for each model, and of weights."""
    m = slab.block.shape[0]
    rows = np.flatnonzero(cells(slab.start, m) == fold)
    weights = np.ones(len(rows)) if slab.weights is None else slab.weights[rows]
    X = slab.block.columns(np.arange(len(coefs)))[rows]
    truth = Truth(coding(slab.y)[rows])
    if coding.classes is not None:
        index = np.searchsorted(coding.classes, slab.y)[rows]
        truth = Truth(truth.values, coding.classes, index)
    outputs = np.tensordot(X, coefs, 1) + intercepts  # rows x models x targets
    measure = YARDSTICKS[yardstick].losses
    losses = [weights @ measure(truth, outputs[:, j]) for j in range(len(intercepts))]
    return [np.array(losses), np.array(weights.sum())]
