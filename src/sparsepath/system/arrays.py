"""Type names for arrays and figures, and plain numbers, without imports of other modules."""

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
        """Placeholder type for ``matplotlib.axes.Axes``."""

    class Figure:
        """Placeholder type for ``matplotlib.figure.Figure``."""


__all__ = ["Axes", "Figure", "Flags", "Floats", "Indices", "Vector", "floats"]


def floats(values: ArrayLike) -> Floats:
    """Return values as float64; a TypeError for complex numbers, which NumPy would cut short.

    >>> floats([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    made = np.asarray(values)
    if made.dtype.kind == "c":
        raise TypeError("complex numbers")
    return made.astype(np.float64, copy=False)
