"""Other losses over the test parts of splits."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

import sparsepath._core.folds
import sparsepath._core.losses


class Order:
    """The order that the rows of a test part belong in."""

    def __init__(self, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], depth: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], larger: int) -> None: ...

    def wrong(self, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], blur: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The weight of the pairs in the wrong order, for each row of scores."""

class TestRows:
    """The test rows of all splits, and how they are judged."""

    def __init__(self, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: sparsepath._core.losses.Squared | sparsepath._core.losses.Absolute | sparsepath._core.losses.Huber | sparsepath._core.losses.LogCosh | sparsepath._core.losses.ZeroOne) -> None: ...

    @staticmethod
    def ordered(starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], orders: Sequence[Order]) -> TestRows: ...

class FoldLosses:
    """What models cost on the test rows of all splits."""

    def __init__(self, rows: TestRows, d: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, n: int, e: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def copy(self) -> FoldLosses: ...

    def follow(self, folds: sparsepath._core.folds.Folds, column: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """Follow the last feature that was added."""

    def additions(self, folds: sparsepath._core.folds.Folds, blur: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int = 0, strip: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Losses with each of some candidates, splits x candidates."""

    def removals(self, folds: sparsepath._core.folds.Folds, blur: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Losses without each chosen feature, splits x features."""

    def current(self, blur: float) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The loss of the model on each test part."""

    def left(self, folds: sparsepath._core.folds.Folds, first: int, count: int, strip: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """What is left of some columns on the test rows."""

    def removed(self, folds: sparsepath._core.folds.Folds) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        What the other chosen features leave of each chosen column on the test rows.
        """

    def residuals(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Residuals on the test rows, T x rows."""
