"""Triangular systems R b = t of a model, and the model with one more feature."""

import numpy as np
from scipy.linalg import lapack

from sparsepath.system.arrays import Floats

VANISHED = 1e-13  # norm left of the residuals, over the target's, that counts as nothing


def triangular(R: Floats, b: Floats, transposed: bool = False) -> Floats:
    """Return R^-1 b, or R^-T b, for a regular upper triangular R."""
    return lapack.dtrtrs(R, b, trans=int(transposed))[0] if len(R) else np.zeros_like(b)


def extend(R: Floats, a: Floats, t: Floats, pivot: float, c: Floats) -> tuple[Floats, Floats]:
    """Return R and a with one more column."""
    k, root = len(R), np.sqrt(pivot)
    larger = np.zeros((k + 1, k + 1), order="F")
    larger[:k, :k], larger[:k, k], larger[k, k] = R, t, root
    return larger, np.vstack([a, c / root])
