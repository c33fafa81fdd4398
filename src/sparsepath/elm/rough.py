"""Scores of subsets in single precision: good to five digits, for ranking and nothing else.

Which of a few hundred subsets are worth a closer look does not hang on the sixth digit, and half as
many bytes are twice as fast. The ridge is at least a thousandth here (see
:mod:`sparsepath.elm.subsets`), so that the factorisation holds. Every machine that the path keeps
has errors in double precision.
"""

from collections.abc import Sequence

import numpy as np

from sparsepath.elm.network import Pool
from sparsepath.elm.scaling import Candidate

ROUGH_ROOM = 1e-4  # 1 - leverage at or below this: the sample decides its own prediction
Subset = tuple[int, ...]


class RoughJudge:
    """The machines of a pool on subsets, at common scalings, over all prefixes of the neurons."""

    def __init__(self, pool: Pool, ridge: float) -> None:
        neurons, target = pool.neurons, pool.target
        self.XT, self.weights, self.biases, self.rows = (
            np.ascontiguousarray(array, dtype=np.float32)
            for array in (pool.XT, neurons.weights, neurons.biases, target.rows)
        )
        self.own, self.ridge = target.own, ridge

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
