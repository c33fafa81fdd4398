"""Passes over matrices of any real type."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def products(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], VT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Add X'V to out for some columns of X, which lie in memory one by one; V has one or two columns.
    """

def spread(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Add sums of weights (x - mean)^2 for every column to out."""

def marks(X: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], a: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Add sums of a h for every column to out, h the mixed bits of x."""
