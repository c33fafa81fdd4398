r"""Algorithm 1 of Frénay et al. (2012): increasingly sparse feature scalings on a grid.

Scalings live on the grid {0, 1/k, ..., 1}^d. From a random start the search follows the gradient of
:math:`J(\beta) + C_1 |\beta|_1` to one neighbour at a time. If that does not lower it, C1 increases
until a sparser neighbour is better, and so on down to the empty set. Every subset on the way is
evaluated by the exact leave-one-out error of its machine. The paper leaves some details open; here:

- On the grid the norm is the sum of the coordinates, so the gradient is g + C1 in every one.
- Coordinates at the boundary of the box are excluded first. Of the others G = g + C1, the rule
  ``sign`` moves all, ``half`` those with \|G\| of at least half the largest, ``largest`` one (the
  first).
- C1 first increases to the smallest value from which the neighbour is sparser. The number of moves
  down less moves up never falls as C1 grows, so a bisection over the few values at which the
  neighbour can change finds it; they follow from the rule in closed form.
- C1 then grows, this neighbour kept, to (J_new - J) / (\|b\|_1 - \|b_new\|_1) if that is more.
- "Has decreased" means by more than 1e-12 of itself. After the second increase both errors are
  equal up to rounding; without a tolerance the search could cycle forever.

The walk itself is compiled (``_core/elm.cpp``).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsepath.elm.network import Indices, dependent
from sparsepath.elm.pool import Pool
from sparsepath.system.arrays import Floats

RULES = ("half", "sign", "largest")


@dataclass(frozen=True, eq=False)
class Candidate:
    """Scaled machine visited by the search; lower ``key`` is better, the first wins ties."""

    key: tuple[float, float]  # criterion, then squared error
    scaling: Floats  # d
    which: Indices  # its neurons in the pool
    ridge: float
    losses: Floats | None = None  # the criterion sample by sample, if it is at hand

    @cached_property
    def subset(self) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.scaling).tolist())


class Best:
    """Best machine of each size; merging is independent of the order."""

    def __init__(self) -> None:
        self.at: dict[int, Candidate] = {}

    def criterion(self, size: int) -> float:
        """Return the best criterion of a size; infinity if there is none."""
        return self.at[size].key[0] if size in self.at else np.inf

    def offer(self, candidate: Candidate) -> bool:
        """Keep the candidate if it is better than the one there."""
        size = int(np.count_nonzero(candidate.scaling))
        if size in self.at and not candidate.key < self.at[size].key:
            return False
        self.at[size] = candidate
        return True

    def up_to(self, size: int) -> "Best":
        """Return those with at most so many features."""
        few = Best()
        few.at = {k: candidate for k, candidate in self.at.items() if k <= size}
        return few

    def merge(self, other: "Best") -> None:
        """Keep what is better of another one."""
        for size in sorted(other.at):
            self.offer(other.at[size])


def restart(
    pool: Pool,
    seed: np.random.SeedSequence,
    most: int,
    k: int,
    rule: str,
    bound: Best,
    active: int | None = None,
    neurons: int | None = None,
    rough: bool = False,
) -> Best:
    """Run a restart from its own seed: the best machine of each size up to ``most``.

    The leave-one-out error is not below the training error, so a fit whose training error is above
    the best leave-one-out error that some restart already has (``bound``) need not be judged; the
    outcome after merging is the same whatever the others have found so far.

    ``active`` is the most features that the start has, drawn at random; default: all. With a
    hundred of them every neuron is saturated, and the way down to the requested few is long.
    ``neurons`` is the most of them that it uses; default: all. ``rough``: in single precision, for
    machines that will be judged again, unless the ridge is too small for that.
    """
    random = np.random.default_rng(seed)
    start = random.integers(0, k + 1, len(pool.XT))
    n_neurons = int(random.integers(1, (neurons or len(pool.neurons)) + 1))
    which = random.choice(len(pool.neurons), n_neurons, replace=False)
    start[~pool.XT.any(1)] = 0  # a constant feature has nothing to say
    if active is not None:
        start[random.permutation(np.flatnonzero(start))[active:]] = 0
    known = np.array([bound.criterion(size) for size in range(most + 1)])
    keys = np.full((most + 1, 2), np.inf)
    grids = np.zeros((most + 1, len(start)), np.int64)
    loops = pool.rough if rough else pool.double
    if not loops.descend(which, start, k, RULES.index(rule), pool.ridge, known, keys, grids):
        raise dependent(pool.ridge)
    best = Best()
    for key, grid in zip(keys.tolist(), grids, strict=True):
        if grid.any():
            best.offer(Candidate((key[0], key[1]), grid / k, which, pool.ridge))
    return best
