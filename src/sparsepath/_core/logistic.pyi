"""Logistic models of the columns of a path."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def logistic_paths(Z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, alphas: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float, fit_intercept: bool) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Coefficients of models of the first columns, penalties x sizes x outputs x (columns + 1), the intercept first.
    """
