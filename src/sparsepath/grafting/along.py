"""Along a path over l1: its values, the moves from model to model, the best model of each size."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.base import Trail
from sparsepath.base.parameters import count, number, numbers, real
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem
from sparsepath.path.steps import Move, Step, exchange_columns
from sparsepath.system.arrays import Floats

LEAST = 0.01  # of the largest l1, where paths end that need not go on
FALL = 0.1  # part by which errors must have fallen for a path to go on


def grid(
    problem: GraftingProblem,
    penalty: Penalty,
    l1s: ArrayLike | None,
    n_l1s: int,
    least: float | None,
) -> Floats:
    """The l1 values, descending: as given, or evenly spaced in their logarithm from the largest."""
    if l1s is not None:
        return descending("l1s", l1s)
    count("n_l1s", n_l1s)
    least = LEAST if least is None else least
    if not 0 < real(least) < 1:
        raise InputError(f"least={least!r}; give a fraction of the largest l1, between 0 and 1.")
    return problem.largest_l1(penalty) * np.geomspace(1.0, least, int(n_l1s))


def longer(l1s: Floats) -> Floats:
    """The values, and as many decades more at the same spacing: from 1e-2 to 1e-4.

    >>> longer(np.array([4.0, 2.0, 1.0])).tolist()
    [4.0, 2.0, 1.0, 0.5, 0.25]
    """
    return np.append(l1s, l1s[1:] * (l1s[-1] / l1s[0]))


def still_falls(errors: Floats) -> bool:
    """Whether errors along a path fall at its end: in its last quarter below all before.

    >>> still_falls(np.array([4.0, 3.0, 2.0, 1.0])), still_falls(np.array([4.0, 1.0, 0.999, 2.0]))
    (True, False)
    """
    last = max(len(errors) // 4, 1)
    before = errors[:-last]
    return len(before) > 0 and bool(errors[-last:].min() < (1 - FALL) * before.min())


def descending(name: str, values: ArrayLike) -> Floats:
    """Penalties to try, from the largest down."""
    given = np.unique(numbers(name, values))[::-1]
    if not len(given):
        raise InputError(f"{name} is empty; give a list of numbers, or None for a grid.")
    for value in given:
        number(name, float(value))
    return np.ascontiguousarray(given)


def path_moves(problem: GraftingProblem, fits: Sequence[GraftingFit], seconds: float) -> list[Move]:
    """From model to model: what left, then what came in."""
    held: list[int] = []
    return [
        Move(*move, float(problem.error(fit.solution.loss)), seconds)
        for fit in fits
        for move in exchange_columns(held, fit.final.features)
    ]


def best_of_each_size(steps: Iterable[Step], known: Iterable[Any]) -> Trail:
    """One model per size: the least error; of equal errors the first, that of the larger l1.

    The features of each are in the order in which they came in: a fit that starts from the one
    before knows only what came in since. ``known`` is what else there is to know of each.
    """
    trail, held = Trail(), list[int]()
    for step, more in zip(steps, known, strict=True):
        place = {j: i for i, j in enumerate(step.subset)}
        exchange_columns(held, step.subset)
        coef = None if step.coef is None else step.coef[[place[j] for j in held]]
        trail.offer(replace(step, subset=tuple(held), coef=coef), model=more)
    return trail
