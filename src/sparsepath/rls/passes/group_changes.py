"""Addition or removal of a group of columns; derived in ``rls/groups.py``."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sparsepath.rls.design import COLLINEAR
from sparsepath.rls.passes.judging import GroupChange
from sparsepath.rls.triangular import triangular
from sparsepath.system.arrays import Floats

NOTHING = np.zeros(0, dtype=np.intp)


class Projected(Protocol):
    """Columns projected on the selected ones, as in ``engine.Projection``."""

    @property
    def t(self) -> Floats: ...
    @property
    def pivots(self) -> Floats: ...
    @property
    def c(self) -> Floats: ...


def addition(group: Sequence[int], found: Projected, gram: Floats, blur: float) -> GroupChange:
    """Return the addition of a group; ``gram`` are the products of its columns."""
    S = gram - found.t.T @ found.t
    np.fill_diagonal(S, found.pivots)
    root = np.sqrt(np.where(found.pivots > 0, found.pivots, 1.0))
    values, vectors = np.linalg.eigh(S / np.outer(root, root))
    keep = values > COLLINEAR
    G = vectors[:, keep] / np.sqrt(values[keep]) / root[:, None]
    columns = np.array(group, dtype=np.intp)
    return GroupChange("add", group[0], columns, found.t, G, G @ (G.T @ found.c), blur)


def removal(first: int, places: Sequence[int], R: Floats, a: Floats, blur: float) -> GroupChange:
    """Return the removal of the group with this first column, at some places.

    With N = X_S A^-1 and A^-1_bb the block of these columns, P becomes P + N_b (A^-1_bb)^-1 N_b'.
    """
    inverse = triangular(R, np.eye(len(R)))
    block = inverse[list(places)]
    L = np.linalg.cholesky(block @ block.T)
    Q = np.linalg.solve(L, block).T
    tau = -np.linalg.solve(L, triangular(R, a)[list(places)])
    return GroupChange("drop", first, NOTHING, np.zeros((len(R), 0)), Q, tau, blur)
