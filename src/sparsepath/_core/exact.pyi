"""Best subsets of every size by branch and bound."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class RemovalTree:
    def __init__(self, B: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], d: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], F: float, fixed: int, known: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], slack: float) -> None: ...

    def run(self, seconds: float) -> bool: ...

    def dropped(self, size: int) -> list[int]: ...

    def improved(self, size: int) -> bool: ...

    @property
    def best(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def lower(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def nodes(self) -> int: ...
