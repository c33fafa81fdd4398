"""Errors in single precision, of subsets and of machines: for ranking and nothing else.

Which of a few hundred is worth a closer look does not hang on the sixth digit, and half as many
bytes are twice as fast. Subsets are compared with a ridge of a thousandth at least (see
:mod:`sparsepath.elm.subsets`), at which all of it holds in single precision, to five digits;
machines have the ridge that they have, and what is small there is in double precision (see
:mod:`sparsepath.elm.press`): three digits with the least ridge. Every machine that the path keeps
has errors in double precision.
"""

from collections.abc import Sequence

import numpy as np

from sparsepath.elm.network import ROOM
from sparsepath.elm.pool import HOLDS_IN_SINGLE, ROUGH_ROOM, Pool
from sparsepath.elm.scaling import Candidate

Subset = tuple[int, ...]


def rough_key(pool: Pool, machine: Candidate, enough: float = np.inf) -> tuple[float, float]:
    """Leave-one-out criterion and squared error; infinite if the former is not below ``enough``.

    In single precision, unless the ridge may be too small for that.
    """
    from sparsepath.elm import layer

    rough, m, space = pool.ridge >= HOLDS_IN_SINGLE, len(machine.which), pool.space()
    XT, weights, biases, rows = pool.single if rough else pool.arrays
    H, Q = space.single(m, 2) if rough else (space.H[:m], space.Q[:m])
    criterion, squares = layer.error(
        XT,
        weights[machine.which],
        biases[machine.which],
        rows,
        pool.target.own,
        machine.ridge,
        ROUGH_ROOM if rough else ROOM,
        machine.scaling,
        enough,
        H,
        Q,
    )
    return (criterion, squares) if criterion < enough else (np.inf, np.inf)


class RoughJudge:
    """The machines of a pool on subsets, at common scalings, over all prefixes of the neurons."""

    def __init__(self, pool: Pool, ridge: float) -> None:
        self.XT, self.weights, self.biases, self.rows = pool.single
        self.own, self.ridge = pool.target.own, ridge

    def __call__(self, subset: Subset, scalings: Sequence[float]) -> Candidate:
        """The best machine on a subset over common scalings and prefixes of the neurons."""
        from sparsepath.elm import layer

        criterion, squares, place, m = layer.screen(
            self.XT,
            self.weights,
            self.biases,
            self.rows,
            self.own,
            self.ridge,
            ROUGH_ROOM,
            np.array(subset),
            np.array(scalings),
        )
        scaling = np.zeros(len(self.XT))
        scaling[list(subset)] = scalings[place]
        return Candidate((criterion, squares), scaling, np.arange(m), self.ridge)
