r"""Algorithm 1 of Frénay et al. (2012): feature scalings on a hypergrid, ever sparser.

Scalings live on the grid {0, 1/k, ..., 1}^d. From a random start the search follows the gradient
of :math:`J(\beta) + C_1 |\beta|_1` to one neighbour at a time; where that does not lower it, C1
grows until a sparser neighbour is better, and so on down to the empty set. On the way every
subset that is met is judged by the exact leave-one-out error of its machine. What the paper leaves
open is settled thus:

- On the grid the norm is the sum of the coordinates, so the gradient is g + C1 in every one.
- Coordinates that the box blocks are dropped first. Of the others G = g + C1, the rule ``sign``
  moves all, ``half`` those with \|G\| of at least half the largest, ``largest`` one (the first).
- C1 grows first to the least value from which the neighbour is sparser. The number of moves down
  less moves up never falls as C1 grows, so a bisection over the few values at which the neighbour
  can change finds it; they follow from the rule in closed form, see :func:`breakpoints`.
- C1 then grows, this neighbour kept, to (J_new - J) / (\|b\|_1 - \|b_new\|_1) if that is more.
- "Has decreased" means by more than 1e-12 of itself. After the second increase both errors are
  equal to rounding; without a tolerance the search can go round for ever.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.elm.network import Fit, Indices, Pool

Grid = NDArray[np.int64]
Signs = NDArray[np.int64]
RULES = ("half", "sign", "largest")
DECREASED = 1e-12


@dataclass(frozen=True, eq=False)
class Candidate:
    """A scaled machine that the search met: lower ``key`` is better, the first of equals wins."""

    key: tuple[float, float]  # criterion, then squared error
    scaling: Floats  # d
    which: Indices  # its neurons in the pool

    @property
    def subset(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.scaling).tolist())


class Best:
    """The best machine of each size; merging does not depend on who came first."""

    def __init__(self) -> None:
        self.at: dict[int, Candidate] = {}

    def criterion(self, size: int) -> float:
        """The best so far of this size, infinite if there is none."""
        return self.at[size].key[0] if size in self.at else np.inf

    def offer(self, candidate: Candidate) -> bool:
        """Keep the candidate if it is better than the one there."""
        size = int(np.count_nonzero(candidate.scaling))
        if size in self.at and not candidate.key < self.at[size].key:
            return False
        self.at[size] = candidate
        return True

    def merge(self, other: "Best") -> None:
        """Keep what is better of another one."""
        for size in sorted(other.at):
            self.offer(other.at[size])


def neighbour(G: Floats, grid: Grid, k: int, rule: str) -> Signs:
    """Steps of -1, 0, +1 on the grid against the gradient G, as the rule says."""
    up = (G < 0) & (grid < k)
    down = (G > 0) & (grid > 0)
    size = np.abs(G)
    size *= up | down
    if rule == "largest":
        first = np.arange(len(G)) == size.argmax()
        up &= first
        down &= first
    elif rule == "half":
        counted = size >= 0.5 * size.max()
        up &= counted
        down &= counted
    return up.astype(np.int64) - down


def breakpoints(g: Floats, grid: Grid, k: int, rule: str) -> Floats:
    """Values of C1 at which the neighbour can change from more moves up to more moves down.

    With D the largest g + C1 of those that can go down, U the largest -(g + C1) of those that can
    go up: ``sign`` changes where some g + C1 = 0; ``largest`` where D = U, or D = 0. ``half`` drops
    all below max(D, U) / 2, which a coordinate crosses, while U is the larger, at -(2 g - U) / 3
    going down and at -U - 2 g going up (U here being the largest -g), while D is the larger, at
    D - 2 g and at -(2 g + D) / 3 (D being the largest g).
    """
    down, up = g[grid > 0], g[grid < k]
    if rule == "sign":
        return -g
    top = down.max()
    if not up.size:
        return np.append(top - 2 * down if rule == "half" else [], -top)
    bottom = up.min()
    both = np.array([-(top + bottom) / 2, -top])
    if rule == "largest":
        return both
    return np.concatenate(
        [
            both,
            -(2 * down + bottom) / 3,
            bottom - 2 * up,
            top - 2 * down,
            -(2 * up + top) / 3,
        ]
    )


def increase(g: Floats, C1: float, grid: Grid, k: int, rule: str) -> tuple[float, Signs]:
    """The least C1 not below the given one from which the neighbour is sparser; and its steps."""
    points = breakpoints(g, grid, k, rule)
    points = np.concatenate([[C1], np.unique(points[points > C1])])
    inside = np.append((points[:-1] + points[1:]) / 2, points[-1] + 1.0 + abs(points[-1]))
    low, high = 0, len(points) - 1  # beyond the last point everything goes down
    while low < high:
        middle = (low + high) // 2
        if neighbour(g + inside[middle], grid, k, rule).sum() < 0:
            high = middle
        else:
            low = middle + 1
    return float(points[low]), neighbour(g + inside[low], grid, k, rule)


def descend(
    pool: Pool, grid: Grid, which: Indices, k: int = 10, rule: str = "half"
) -> Iterator[tuple[Grid, Fit]]:
    """One restart: every scaling that becomes the current one, with its fit, down to the empty set.

    Parameters
    ----------
    pool : Pool
        The problem and its neurons.
    grid : int array, d
        The start, in steps of 1/k. Features at which it is 0 can come in.
    which : int array
        The neurons to use.
    k, rule : int, str
        Steps of the grid, and which coordinates move.
    """
    C1, empty = 0.0, pool.target.empty_error
    fit = pool.fit(grid / k, which) if grid.any() else None
    while fit is not None:
        yield grid, fit
        J = fit.objective
        g = pool.gradient(fit, which)  # uses arrays of the fit, so before the next one
        step = neighbour(g + C1, grid, k, rule)
        new, new_fit = _try(pool, grid + step, which, k) if step.any() else (grid, None)
        norm, new_norm = grid.sum() / k, new.sum() / k
        old = J + C1 * norm
        error = (empty if new_fit is None else new_fit.objective) + C1 * new_norm
        if not step.any() or not error < old - DECREASED * abs(old):
            C1, step = increase(g, C1, grid, k, rule)
            if not np.array_equal(new, grid + step):
                new, new_fit = _try(pool, grid + step, which, k)
                new_norm = new.sum() / k
            J_new = empty if new_fit is None else new_fit.objective
            C1 = max(C1, (J_new - J) / (norm - new_norm))
        grid, fit = new, new_fit


def _try(pool: Pool, grid: Grid, which: Indices, k: int) -> tuple[Grid, Fit | None]:
    """The fit at a point of the grid; None at the empty set."""
    return grid, pool.fit(grid / k, which) if grid.any() else None


def restart(
    pool: Pool, seed: np.random.SeedSequence, most: int, k: int, rule: str, bound: Best
) -> Best:
    """A restart from its own seed: the best machine of each size up to ``most``.

    The leave-one-out error is not below the training error, so a fit whose training error is above
    the best leave-one-out error that some restart already has (``bound``) need not be judged; the
    outcome after merging is the same whatever the others have found so far.
    """
    random = np.random.default_rng(seed)
    d = len(pool.XT)
    grid = random.integers(0, k + 1, d)
    n_neurons = int(random.integers(1, len(pool.neurons) + 1))
    which = random.choice(len(pool.neurons), n_neurons, replace=False)
    grid[~pool.XT.any(1)] = 0  # a constant feature has nothing to say
    best = Best()
    counting = bool(pool.target.own.size)
    for point, fit in descend(pool, grid, which, k, rule):
        size = int(np.count_nonzero(point))
        known = min(best.criterion(size), bound.criterion(size))
        if size > most or (not counting and fit.mse > known):
            continue
        best.offer(Candidate(fit.key(), point / k, which))
    return best
