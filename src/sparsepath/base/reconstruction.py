"""Order samples by how well they reconstruct all others in a kernel space.

Cawley and Talbot (2002). Samples S are chosen one at a time to reduce the mean reconstruction error

    MRE(S) = (1/N) sum_n (1 - K_Sn' K_SS^-1 K_Sn / K_nn)

which the paper's equation 6 prints as a sum. With K_SS = L L' and F = L^-1 K_S. (|S| x N), what is
left of the kernel after reconstruction is R = K - F'F; choosing j appends the row R_j. / sqrt(R_jj)
to F, a step of a pivoted Cholesky factorisation, and lowers N MRE by sum_n R_nj^2 / (R_jj K_nn).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.system.arrays import Floats

SINGULAR = 1e-10  # what is left of a sample, of its own square, below which K_SS is singular


@dataclass(frozen=True)
class Reconstruction:
    """Samples in order of choice, F, and the mean reconstruction error after each choice."""

    chosen: NDArray[np.intp]
    F: Floats
    errors: Floats


def reconstruct(
    K: Floats, most: int, tolerance: float = SINGULAR, weights: Floats | None = None
) -> Reconstruction:
    """Choose the samples that best reconstruct the others; the lowest index breaks ties.

    The mean over samples is weighted if there are ``weights``. Ends at ``most`` samples or when the
    matrix of the chosen is no longer invertible.

    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> reconstruct(K, 2).chosen.tolist()
    [0, 2]
    """
    n = len(K)
    left = K.copy()
    own = K.diagonal().copy()
    counted = 1.0 / own if weights is None else weights / own
    chosen: list[int] = []
    rows: list[Floats] = []
    errors: list[float] = []
    able = np.ones(n, dtype=bool)
    while len(chosen) < most:
        q = left.diagonal()
        able &= q > tolerance * own
        if not able.any():
            break
        gain = np.full(n, -np.inf)
        gain[able] = (counted @ left**2)[able] / q[able]
        j = int(np.flatnonzero(gain >= gain.max() * (1 - 1e-12))[0])
        row = left[j] / np.sqrt(left[j, j])
        row[chosen] = 0.0  # they are reconstructed already, but for rounding
        left -= np.outer(row, row)
        able[j] = False
        chosen.append(j)
        rows.append(row)
        errors.append(float(np.average(left.diagonal() / own, weights=weights)))
    F = np.array(rows).reshape(len(rows), n)
    return Reconstruction(np.array(chosen, dtype=np.intp), F, np.array(errors))
