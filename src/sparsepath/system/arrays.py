"""Names of types of arrays and of drawings: a leaf that everybody may import."""

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]
Vector: TypeAlias = ArrayLike | None  # what may be given for each sample, or not

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # Matplotlib is loaded when something is drawn

    class Axes:
        """Of ``matplotlib.axes``."""

    class Figure:
        """Of ``matplotlib.figure``."""


__all__ = ["Axes", "Figure", "Flags", "Floats", "Indices", "Vector"]
