"""Columns of the data as they stand in a problem: centred, scaled and weighted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.design import Design
from sparsepath.system.arrays import Floats


def columns_of(design: Design, features: Sequence[int] | NDArray[np.intp]) -> Floats:
    """Return some columns, centred, scaled and weighted, as rows."""
    which = np.asarray(features, dtype=np.intp)
    parts = [block.columns(which).T for block in design.blocks]
    out = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    out -= design.means[which, None]
    if design.left[which].any():
        out -= design.left[which, None]
    if not design.uniform:
        out *= np.sqrt(design.weights)
    if design.standardize:
        out *= design.scales[which, None]
    return out
