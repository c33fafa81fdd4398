"""Names of types of arrays and of drawings: a leaf that everybody may import."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # Matplotlib is loaded when something is drawn
    Axes = Figure = Any

__all__ = ["Axes", "Figure", "Flags", "Floats", "Indices"]
