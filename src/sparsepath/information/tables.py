r"""Two discrete variables: mutual information by their frequencies.

The plug-in estimate is the mean over the samples of

.. math:: \log \frac{n\, c_{xy}}{c_x\, c_y}

with the numbers c of samples that have the same values of both, of x and of y. Only equality of
values matters. The plug-in entropy of m values that occur is too small by about (m - 1) / 2n
(Miller 1955); corrected for that, the mutual information is the plug-in estimate less

.. math:: \frac{m_{xy} - m_x - m_y + 1}{2n}

which is (m_x - 1)(m_y - 1) / 2n if all pairs occur. Without this correction every further column of
noise would appear slightly informative. Values are treated as discrete if there are few: if the
table of all possible pairs has on average more than k samples per cell, where k is the number of
neighbours of the other estimator.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.arrays import Floats


@dataclass(frozen=True, eq=False)
class Codes:
    """Samples by the number of their value, from 0 up to one less than ``values``."""

    of: NDArray[np.intp]
    values: int

    @classmethod
    def rows(cls, rows: Floats) -> "Codes":
        """Return the codes of samples by the values of several columns, given as rows."""
        found = cls(np.zeros(rows.shape[1], dtype=np.intp), 1)
        for row in rows:
            of = np.unique(row, return_inverse=True)[1]
            found = found.and_(cls(of, int(of.max()) + 1))
        return found

    def and_(self, other: "Codes") -> "Codes":
        """Of the pairs of values."""
        if self.values == 1:
            return other
        pairs = self.of * other.values + other.of
        of = np.unique(pairs, return_inverse=True)[1]
        return Codes(of, int(of.max()) + 1)


def most_neighbors(x: Codes, y: Codes) -> int:
    """Return the largest number of neighbours for which both are treated as discrete; 0: never."""
    return len(x.of) // (x.values * y.values) - 1


def shares(x: Codes, y: Codes) -> Floats:
    """Return the contribution of each sample to the mean, including its share of the correction."""
    n, pairs = len(x.of), x.of * y.values + y.of
    table = np.bincount(pairs)
    bias = (np.count_nonzero(table) - x.values - y.values + 1) / (2 * n)
    of_x, of_y = np.bincount(x.of)[x.of], np.bincount(y.of)[y.of]
    return np.asarray(np.log(table[pairs]) + np.log(n) - np.log(of_x) - np.log(of_y) - bias)
