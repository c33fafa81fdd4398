"""Forward search from products of columns and bounds."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class Columns:
    """Raw columns, features by samples, and what is done to them."""

    def __init__(self, X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], floor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Products:
    """Products of centred columns, G - H + ef' + fe'; see gram_search.py."""

    def __init__(self, G: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], e: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_of: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], again: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class Problem:
    """
    Targets by samples, 1 - leverage, weights, penalty, size and eligible features.
    """

    def __init__(self, y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, size: int, allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], kept: int) -> None: ...

def lift(heavy: float, fourth: float, t: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], heavy_rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fourth_rows: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], turns: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], narrow: float, tau: float, pivot: float) -> float:
    """
    By how much leverage raises the criterion at least, some steps after |z w| and |z|_4 were found.
    """

def spikes(squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inverse: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, float]:
    """Update w = |r| p^-3/2 in place; return |change|_4 and min(p)^-3/2."""

class Space:
    """Memory that searches use one after another."""

    def __init__(self) -> None: ...

class GramSearch:
    """A forward search from products of columns and bounds."""

    def __init__(self, columns: Columns, products: Products, problem: Problem, space: Space) -> None: ...

    def advance(self, until: int) -> bool:
        """Choose features until there are so many; whether there may be more."""

    @property
    def size(self) -> int:
        """How many features are chosen."""

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""

    @property
    def subset(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]:
        """The features in order of entry, -1 beyond the size."""

    @property
    def errors(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
        """Sums of the losses, by size."""

    @property
    def around(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]:
        """Sums of squared deviations of the losses, by size."""

    @property
    def coef(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), writable=False)]:
        """Coefficients of the columns as they stand, by size, in order of entry."""
