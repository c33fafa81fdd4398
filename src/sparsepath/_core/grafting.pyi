"""Sub-problems of working sets, paths over l1, sparse columns."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class ColumnStore:
    """Columns of a design that some working set has needed."""

    def __init__(self, m: int, n: int) -> None: ...

    def add(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """Keep columns, one per row."""

class ConvexPath:
    """Optima of a convex loss for descending l1; see convex_path.hpp."""

    def __init__(self, store: ColumnStore, delta: float, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l1_factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], usable: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], fit_intercept: bool) -> None:
        """
        Stand at the empty model. delta is that of the Huber loss, infinite for squares, 0 for the logistic.
        """

    def begin(self, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Take the gradient of the empty model."""

    def aim(self, l1: float, tol: float) -> None:
        """Go for the optimum at l1."""

    def missing(self) -> list[int]:
        """Features that are needed and not in the store."""

    def optimise(self) -> None:
        """Optimise the working set."""

    def certify(self, gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bool:
        """Whether this value of l1 is done with."""

    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def gradient(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def outputs(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Of these samples."""

    def slopes_into(self, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Write the slopes of the loss, times the sample weights."""

    @property
    def loss(self) -> float: ...

    @property
    def intercept(self) -> float: ...

    @property
    def criterion(self) -> float: ...

    @property
    def violation(self) -> float: ...

    @property
    def gap(self) -> float: ...

    @property
    def certified(self) -> bool: ...

def minimise(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The weights u of least q'(u - w) + (u - w)'H(u - w)/2 + sum l1 |u| + l2 u^2, from w on.
    """

class ProductsPath:
    """Optima for descending l1 from the products of all columns."""

    def __init__(self, G: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], c: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], yy: float, l1_factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], usable: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, least_total: float) -> None: ...

    def go_to(self, l1: float, tol: float) -> None:
        """Go to the optimum at l1."""

    def move_to(self, l1: float, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Stand at these weights with the certificates of l1."""

    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def gradient(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def loss(self) -> float: ...

    @property
    def criterion(self) -> float: ...

    @property
    def violation(self) -> float: ...

    @property
    def gap(self) -> float: ...

class WeightedColumns:
    """Columns of a working set times the roots of curvatures."""

    @property
    def c(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class SparseColumns:
    """Columns of a matrix in CSC form, each divided by its scale."""

    def products(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """z_j'g for some features."""

    def add_outputs(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], D: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Add Z D to `out`."""

    def weighted(self, features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], root: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> WeightedColumns:
        """The columns times `root`."""

@overload
def sparse_columns(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> SparseColumns: ...

@overload
def sparse_columns(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> SparseColumns: ...

@overload
def sparse_columns(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> SparseColumns: ...

@overload
def sparse_columns(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> SparseColumns:
    """The columns of a matrix in CSC form, each divided by its scale."""

def descend_sparse(Z: WeightedColumns, total: float, shift: float, q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, max_passes: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], float, int]:
    """
    The steps of the weights and of the intercept, and the passes made, by coordinate descent on the columns.
    """

def descend_groups(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], D: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], E: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tol: float, max_passes: int) -> int:
    """
    Descend over groups of weights, changing r and D in place; the passes made.
    """

def expand_logistic(f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """log(1 + exp(-y f)), its slope and its curvature by f, for y = -1 or 1."""

def violations(g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    How far every weight, free or at zero, is from optimality, for one output.
    """

def products_and_squares(XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], v: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    x_j'v and sum_i s_i x_ij^2 for all columns, reading X once; features first.
    """
