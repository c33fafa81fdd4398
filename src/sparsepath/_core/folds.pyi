"""Cross-validation over splits from sums of products."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


FINE: float = 1e-06

COLLINEAR_IN_PART: float = 1e-12

def take_out(A: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], B: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], half: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], place: int, size: int) -> None:
    """
    Take a feature out of the lower triangles of A^-1 and B in every split; see rls/folds/elimination.py.
    """

class FoldSums:
    """Sums of products over the test parts, the training parts and all rows."""

    def __init__(self, weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], xy: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], yy: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Folds:
    """
    A ridge model on chosen features, judged by squared errors on test parts.
    """

    def __init__(self, sums: FoldSums, constant: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, fit_intercept: bool, pooled: bool) -> None: ...

    def copy(self) -> Folds: ...

    def add(self, feature: int, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], n_threads: int = 1) -> bool:
        """
        Add a feature, given its products with all columns over every part; False if it is collinear.
        """

    def best_addition(self, allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple[int, float]:
        """The best feature to add, -1 if there is none, and its criterion."""

    def additions(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The criterion with each feature added, infinite where that is impossible.
        """

    def removals(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The criterion with each chosen feature dropped."""

    def any_doubtful(self, allowed: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> bool:
        """Whether sums tell too little of a candidate."""

    def is_collinear(self, feature: int, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)]) -> bool:
        """Whether a feature is collinear with the chosen ones on all rows."""

    def is_usable(self, feature: int) -> bool: ...

    def is_doubtful(self, feature: int) -> bool: ...

    def doubtful(self) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]: ...

    def usable(self) -> Annotated[NDArray[numpy.bool_], dict(shape=(None,))]: ...

    def coef(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Coefficients of the chosen features on all rows, |S| x T."""

    def training_coefficients(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]: ...

    def removal_directions(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]: ...

    def regressions(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]: ...

    def omegas(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]: ...

    def blur(self) -> float:
        """
        How far rounding in sums blurs the model: largest square times diag A^-1.
        """

    def sse(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Squared errors on each test part."""

    def share(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def error(self) -> float: ...

    @property
    def total_sse(self) -> float: ...

    @property
    def chosen(self) -> list[int]: ...

class FoldRows:
    """Rows of folds that make up all rows, one fold after the other."""

    def __init__(self, x: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class FoldBlocks(Folds):
    """The same for folds of few rows."""

    def __init__(self, sums: FoldSums, rows: FoldRows, constant: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, fit_intercept: bool, pooled: bool) -> None: ...

    def copy(self) -> FoldBlocks: ...

    def add_column(self, feature: int, column: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> bool:
        """
        Add a feature, given as it stands on all rows; False if it is collinear.
        """
