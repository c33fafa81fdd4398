"""Along a path over l1: its values, the moves from model to model, the best model of each size."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sparsepath.arrays import Floats
from sparsepath.errors import InputError
from sparsepath.faces.parameters import count
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.fitting import GraftingFit, GraftingProblem, check_penalties
from sparsepath.steps import Move, Step, exchanged


def grid(
    problem: GraftingProblem, penalty: Penalty, l1s: ArrayLike | None, n_l1s: int, least: float
) -> Floats:
    """The l1 values, descending: as given, or evenly spaced in their logarithm from the largest."""
    if l1s is not None:
        return descending("l1s", l1s)
    count("n_l1s", n_l1s)
    if not 0 < least < 1:
        raise InputError(f"least={least!r}; give a part of the largest l1, between 0 and 1.")
    return problem.largest_l1(penalty) * np.geomspace(1.0, least, int(n_l1s))


def descending(name: str, values: ArrayLike) -> Floats:
    """Penalties to try, from the largest down."""
    given = np.unique(np.asarray(values, dtype=np.float64))[::-1]
    if not len(given):
        raise InputError(f"{name} is empty; give a list of numbers, or None for a grid.")
    for value in given:
        check_penalties(**{name: float(value)})
    return np.ascontiguousarray(given)


def path_moves(problem: GraftingProblem, fits: Sequence[GraftingFit], seconds: float) -> list[Move]:
    """From model to model: what left, then what came in."""
    moves: list[Move] = []
    held: list[int] = []
    for fit in fits:
        error = float(problem.error(fit.solution.loss))
        moves += [Move(*move, error, seconds) for move in exchanged(held, fit.selected)]
    return moves


def in_order_of_entry(steps: Sequence[Step]) -> list[Step]:
    """The models along a path, the features of each in the order in which they came in.

    A fit that starts from the one before knows only what came in since.
    """
    out: list[Step] = []
    held: list[int] = []
    for step in steps:
        place = {j: i for i, j in enumerate(step.subset)}
        exchanged(held, step.subset)
        rows = [place[j] for j in held]
        coef = None if step.coef is None else step.coef[rows]
        out.append(replace(step, subset=tuple(held), coef=coef))
    return out


def best_of_each_size(steps: Sequence[Step]) -> dict[int, Step]:
    """One model per size: the least error; of equal errors the first, that of the larger l1."""
    best: dict[int, Step] = {}
    for step in in_order_of_entry(steps):
        known = best.get(len(step.subset))
        if known is None or step.error < known.error:
            best[len(step.subset)] = step
    return best
