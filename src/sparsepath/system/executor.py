"""Interface of executors, which run messages on blocks of rows: threads, processes or a cluster.

A message is a function with a module-level name (so that it can be sent), applied to every part of
the data, with small arguments and a small result. Arrays with one entry per sample stay with the
part. An executor in this process passes references; others send name, arguments and result. The
algorithms do not depend on the executor.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Part = TypeVar("Part")
Item = TypeVar("Item")
Answer = TypeVar("Answer")
Asked = ParamSpec("Asked")


def sum_results(answers: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the sum of the results of the parts, in order."""
    return reduce(np.add, answers)


class Crew(Protocol):
    """Interface of an executor."""

    @property
    def n_threads(self) -> int:
        """Number of parallel workers in this process."""

    def ask(
        self,
        parts: Sequence[Part],
        numbers: int | None,
        message: Callable[Concatenate[Part, Asked], Answer],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Answer]:
        """Return the results of all parts for a message, in order.

        ``numbers`` is the total number of values that will be read, if it may be small.
        """

    def total(
        self, parts: Sequence[Part], message: Callable[..., list[NDArray[Any]]], *args: Any
    ) -> list[NDArray[Any]]:
        """Return the sum of the results of all parts for a message, in order."""

    def map(
        self, task: Callable[[Item], Answer], items: Iterable[Item], numbers: int | None = None
    ) -> list[Answer]:
        """Run a task on arrays of this process for every item; return results in order."""
