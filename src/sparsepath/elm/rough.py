"""Errors in single precision, of subsets and of machines: for ranking and nothing else.

Which of a few hundred is worth a closer look does not hang on the sixth digit, and half as many
bytes are twice as fast. Subsets are compared with a ridge of a thousandth at least (see
:mod:`sparsepath.elm.subsets`), at which all of it holds in single precision, to five digits;
machines have the ridge that they have, and what is small there is in double precision (see
:attr:`Pool.rough`): three digits with the least ridge. Every machine that the path keeps
has errors in double precision.
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
