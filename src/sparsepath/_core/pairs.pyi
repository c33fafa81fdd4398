"""Pairs of samples left out in turn."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class Pairs:
    """Samples, and the pairs of them that are left out."""

    def __init__(self, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], share: float, stop: int, begin: int, room: float) -> None: ...

    def sums(self, H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], F: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], inverse: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tau: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], blur: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squared: bool, n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        Sums of the loss over pairs with H + zz' inverse and F + z tau, z each row of Z.
        """

    def sums_by_sample(self, H: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], F: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], blur: float, squared: bool) -> tuple[float, Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        The sum over pairs of the model, and those of every sample without its own weight.
        """
