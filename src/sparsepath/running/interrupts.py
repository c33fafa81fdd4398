"""Ctrl-C: where it is caught, and where it goes on to the caller.

Work that is done bit by bit keeps what is done when it is interrupted::

    with Interruptible(keep=lambda: len(found) > 1):
        for one in work:
            found.append(one)

The interrupt ends the block, and goes on to the caller only if there is nothing to keep. Nobody
else in the package catches one but the command line.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from sparsepath.running.trail import Stop


class Interruptible:
    """A ``with`` block that Ctrl-C ends; see the module.

    Parameters
    ----------
    keep : callable
        Whether there is anything to keep, asked after an interrupt only.

    Attributes
    ----------
    interrupted : bool
    """

    def __init__(self, keep: Callable[[], bool] = lambda: True) -> None:
        self.interrupted = False
        self._keep = keep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.interrupted = is_interrupt(error)
        return self.interrupted and self._keep()


def is_interrupt(error: BaseException | None) -> bool:
    """Whether it was Ctrl-C.

    Within a compiled function Python finds an answer and an interrupt at a time, and says so by a
    ``SystemError``, or several, of which the first cause is the interrupt.
    """
    while isinstance(error, SystemError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


def pass_on(model: Any) -> None:
    """Raise the interrupt that ended a fit early, for whoever repeats fits.

    What an interrupted search has found is a path, but no fair sample of what the search does.
    """
    if getattr(getattr(model, "path_", None), "stopped", "") == Stop.INTERRUPTED:
        raise KeyboardInterrupt
