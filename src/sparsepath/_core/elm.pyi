"""Extreme learning machines."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class SinglePool:
    """Neurons on a problem, in one precision."""

    def __init__(self, features: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], biases: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: float) -> None: ...

    def screen(self, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scalings: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, neurons: int) -> tuple[float, float, int, int]:
        """
        The best of the first 1, 2, ... neurons at common scalings of a subset: criterion, squared error, place of the scaling, number of neurons; the first of equals. A factorisation that fails is infinitely bad.
        """

    def error(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scaling: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, enough: float) -> tuple[float, float]:
        """
        Criterion and squared error, left out, of some neurons; infinite if the criterion is not below enough.
        """

    def objective(self, scaling: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float) -> tuple[bool, float, float, list[float]]:
        """
        Whether the factorisation succeeds; training error, the same plus the penalty, and its gradient by the scalings, of all neurons.
        """

    def press(self, logs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, list[float]]:
        """
        Squared leave-one-out error of all neurons and its gradient by the logarithms of scalings and ridge.
        """

    def descend(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, rule: int, ridge: float, known: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], grids: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> bool:
        """
        One restart of Algorithm 1; fills keys and grids by size. False if a fit was not positive definite.
        """

    def polish(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rounds: int, worth: float) -> float:
        """
        In place: logarithms of scalings and ridge with a smaller squared error; returns its logarithm.
        """

class DoublePool:
    """Neurons on a problem, in one precision."""

    def __init__(self, features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], biases: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], own: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: float) -> None: ...

    def screen(self, subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scalings: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, neurons: int) -> tuple[float, float, int, int]:
        """
        The best of the first 1, 2, ... neurons at common scalings of a subset: criterion, squared error, place of the scaling, number of neurons; the first of equals. A factorisation that fails is infinitely bad.
        """

    def error(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scaling: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float, enough: float) -> tuple[float, float]:
        """
        Criterion and squared error, left out, of some neurons; infinite if the criterion is not below enough.
        """

    def objective(self, scaling: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], ridge: float) -> tuple[bool, float, float, list[float]]:
        """
        Whether the factorisation succeeds; training error, the same plus the penalty, and its gradient by the scalings, of all neurons.
        """

    def press(self, logs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[float, list[float]]:
        """
        Squared leave-one-out error of all neurons and its gradient by the logarithms of scalings and ridge.
        """

    def descend(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, rule: int, ridge: float, known: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], grids: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')]) -> bool:
        """
        One restart of Algorithm 1; fills keys and grids by size. False if a fit was not positive definite.
        """

    def polish(self, which: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], subset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rounds: int, worth: float) -> float:
        """
        In place: logarithms of scalings and ridge with a smaller squared error; returns its logarithm.
        """

@overload
def squash(H: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], biases: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def squash(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], biases: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """In place: H <- tanh(H + bias), less its mean over the samples."""

def gram(H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], A: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """A <- H H', upper triangle."""

def cholesky(A: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> bool:
    """
    In place, upper triangle: A = U'U; False if A is not positive definite.
    """

def orthogonalise(U: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """Q <- U'^-1 H."""

def prefix_losses(Q: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], R: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], own: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], least: float, criteria: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Leave-one-out losses, sums over the samples, of the first 1, 2, ... neurons; R, the centred targets, change.
    """

def neighbour(g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], grid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, rule: int) -> list[int]:
    """Steps on the grid against a gradient."""

def increase(g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], C1: float, grid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, rule: int) -> tuple[float, list[int]]:
    """The least C1 from which the neighbour is sparser, and its steps."""
