"""Columns brought to one scale."""

from typing import Any

import numpy as np

from sparsepath.data.blocks import Floats


def standardise(X: Any) -> tuple[Floats, Floats, Floats]:
    """Features as rows, standardised, with their centres and scales; a constant one is all zero."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    XT = np.array(dense.T, dtype=np.float64, order="C")
    centre = XT.mean(1)
    XT -= centre[:, None]
    scale = np.sqrt(np.einsum("ki,ki->k", XT, XT) / XT.shape[1])
    constant = scale <= 1e-13 * np.maximum(np.abs(centre), np.finfo(np.float64).tiny)
    scale[constant] = 1.0
    XT[constant] = 0.0
    XT /= scale[:, None]
    return XT, centre, scale
