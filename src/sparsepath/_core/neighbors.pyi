"""Mutual information by nearest neighbours."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


BELOW: float = 0.999999999

ABOVE: float = 1.000000001

FAR: float = 3.273390607896142e+150

class Neighbors:
    """Shares of samples in mutual information with given targets."""

    def __init__(self, YT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], psi: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, variant: int) -> None: ...

    def subset(self, XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], n_threads: int) -> None:
        """Shares for all rows of XT together."""

    def additions(self, D: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Shares for the subset with distances D (empty: no feature) plus each feature; one row of out each.
        """

    def removals(self, XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """Shares for XT without each of its rows; one row of out each."""

    def every_k(self, XT: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Shares by the first variant for 1 .. k neighbours, one row of out each.
        """

def widen(D: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: bool, n_threads: int) -> None:
    """
    In place: D becomes the distances with one more feature; first means that D is unset.
    """
