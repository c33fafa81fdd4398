"""Honest errors of data that are read in passes: the rows stay away, and each fold is one figure.

The search is repeated without every fold, and the mean loss of its models there is what the fold
tells. Errors, their standard errors and the draws that correct a chosen one are those of folds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.moments import Moments
from sparsepath.judging.honest import Honest, attach, told
from sparsepath.judging.left_out import LeftOut
from sparsepath.judging.repeating import at_most
from sparsepath.judging.validation import warn_if_cut
from sparsepath.judging.yardsticks import YARDSTICKS, Floats
from sparsepath.path import SelectionPath
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

    Parameters
    ----------
    search : callable
        From a fold to the models that the search finds without it, and the size with which it ends
        if it chooses that itself, else None.
    losses : callable
        From a fold and these models to their mean losses there.
    weights : array
        What the samples of each fold weigh; folds without any are passed over.
    sizes : sequence of int
        The sizes wanted; the largest model below stands in for one that is not there.
    label, yardstick : str
        How parts are left out, and what is measured.
    own : int, optional
        The size with which the search of all rows ended, if it chooses it itself.
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


def judged(
    path: SelectionPath, found: LeftOut | None, rule: Any
) -> tuple[SelectionPath, Honest | None]:
    """The path with honest errors, and the record of the size that the rule takes."""
    warn_if_cut(found)
    if found is None:
        return path, None
    path = attach(path, found)
    return path, told(found, path.settle(rule), rule)
