"""Update candidate scores from column products after each addition."""

import copy

import numpy as np

from sparsepath.rls.triangular import triangular
from sparsepath.system.arrays import Floats


class CandidateSums:
    """The letters s, c, |b|^2 and t of ``engine.py`` for every feature.

    ``c`` and ``t``, n x T and n x k, belong to a model of k features with triangle ``R``;
    ``squares`` are squared norms of the columns.
    """

    def __init__(self, c: Floats, t: Floats, squares: Floats, R: Floats) -> None:
        self.c, self.s = c, squares - np.einsum("ij,ij->i", t, t)
        self._t = np.zeros((len(t), max(8, 2 * t.shape[1])), order="F")
        self.size = t.shape[1]
        self._t[:, : self.size] = t
        self.b2 = np.square(triangular(R, t.T)).sum(0)

    @property
    def t(self) -> Floats:
        return self._t[:, : self.size]

    def extend(self, gram: Floats, R: Floats, a: Floats) -> None:
        """Update after an addition (the last of R and a); ``gram`` are its products with all
        columns.
        """
        k, root = self.size, R[-1, -1]
        new = (gram - self.t @ R[:k, k]) / root
        b = triangular(R[:k, :k], R[:k, k])
        cross = self.t @ triangular(R[:k, :k], b, transposed=True)
        share = new / root
        self.b2 = np.maximum(self.b2 + share * (share * (1 + b @ b) - 2 * cross), 0.0)
        self.s -= new**2
        self.c -= np.outer(new, a[-1])
        if k == self._t.shape[1]:
            self._t = np.asfortranarray(np.hstack([self._t, np.zeros_like(self._t)]))
        self._t[:, k] = new
        self.size = k + 1

    def duplicate(self) -> "CandidateSums":
        """Return a copy."""
        other = copy.copy(self)
        other.s, other.c, other._t = self.s.copy(), self.c.copy(), self._t.copy(order="F")
        return other
