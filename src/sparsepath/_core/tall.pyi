"""Leave-one-out searches in tall data, and backward elimination."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def sum_squares(candidates: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], r: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tau: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], inverse: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], room: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Fill the sum of share ((r - z tau) / (p - z^2 inverse))^2 for each candidate z.
    """

def pick_rows(X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], roots: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None:
    """
    Fill some samples of the columns X, features by samples, centred and multiplied by the roots of their weights.
    """

class Removal:
    """
    A feature that leaves a model, and the model without it; see elimination.py.
    """

    def __init__(self, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: float, alpha: float, r: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], p: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], room: float) -> None: ...

def remove_from_rows(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], X: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], low: int, high: int, removal: Removal, d: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], w: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], errors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Make a removal in some of the rows, in place; fill d, w and the sum of squared errors of the next removals.
    """
