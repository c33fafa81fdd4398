"""Errors of subsets and machines in single precision, used only for ranking.

Single precision is enough to decide which of a few hundred subsets to evaluate further, and it is
twice as fast. Subsets are compared with a ridge of at least a thousandth (see
:mod:`sparsepath.elm.subsets`), for which single precision gives five digits. Machines have their
own ridge, and small matrices are in double precision (see :attr:`Pool.rough`), which gives three
digits with the smallest ridge. All errors on the path are in double precision.
"""

from collections.abc import Sequence

import numpy as np

from sparsepath.elm.pool import Pool
from sparsepath.elm.scaling import Candidate

Subset = tuple[int, ...]


def rough_key(pool: Pool, machine: Candidate, enough: float = np.inf) -> tuple[float, float]:
    """Leave-one-out criterion and squared error; infinite if the former is not below ``enough``.

    In single precision, unless the ridge may be too small for that.
    """
    found = pool.rough.error(machine.which, machine.scaling, machine.ridge, enough)
    return found if found[0] < enough else (np.inf, np.inf)


class RoughJudge:
    """Score machines of a pool on subsets, at common scalings, over all numbers of neurons."""

    def __init__(self, pool: Pool, ridge: float, neurons: int | None = None) -> None:
        self.pool, self.ridge = pool, ridge
        self.neurons = min(len(pool.neurons), neurons or len(pool.neurons))

    def __call__(self, subset: Subset, scalings: Sequence[float]) -> Candidate:
        """Return the best machine on a subset over common scalings and numbers of neurons."""
        criterion, squares, place, m = self.pool.single.screen(
            np.array(subset), np.array(scalings), self.ridge, self.neurons
        )
        scaling = np.zeros(len(self.pool.XT))
        scaling[list(subset)] = scalings[place]
        return Candidate((criterion, squares), scaling, np.arange(m), self.ridge)
