"""Who does the work that is asked of blocks of rows: threads here, processes or machines elsewhere.

A question is a message: a function that has a name in a module (so that it can be sent), asked of
every part of the data, with small arguments and a small answer. What is as long as the samples
stays with the part. A crew that works in this process may do so by reference; one that does not
sends name, arguments and answer, and nothing in the algorithms changes.
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


def added(answers: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The sum of what the parts answered, in their order."""
    return reduce(np.add, answers)


class Crew(Protocol):
    """What an algorithm asks of those who do the work."""

    @property
    def n_threads(self) -> int:
        """How many work at a time in this process."""

    def ask(
        self,
        parts: Sequence[Part],
        numbers: int | None,
        message: Callable[Concatenate[Part, Asked], Answer],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Answer]:
        """The answers of all parts to a message, in their order.

        ``numbers`` is how many numbers are read for it in all, if these may be few.
        """

    def total(
        self, parts: Sequence[Part], message: Callable[..., list[NDArray[Any]]], *args: Any
    ) -> list[NDArray[Any]]:
        """The answers of all parts to a message, added up in their order, each to its like."""

    def map(
        self, task: Callable[[Item], Answer], items: Iterable[Item], numbers: int | None = None
    ) -> list[Answer]:
        """Share out work on arrays of this process; results in the order of the items."""
