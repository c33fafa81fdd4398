"""Ctrl-C: where it is caught, and where it goes on to the caller.

Work that is done bit by bit keeps what is done when it is interrupted::

    with Interruptible(keep=lambda: len(found) > 1):
        for one in work:
            found.append(one)

The interrupt ends the block, and goes on to the caller only if there is nothing to keep. Nobody
else in the package catches one but the command line.
"""

import _thread
import math
import signal
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self

ALARM = getattr(signal, "SIGALRM", None)  # Windows has none


class Stop(StrEnum):
    """Why a search ended; a path keeps the text."""

    ASKED = "asked to"  # a callback wanted it
    INTERRUPTED = "interrupted"  # Ctrl-C
    MAX_FEATURES = "max_features"
    MIN_FEATURES = "min_features"
    NO_CANDIDATE = "no candidate left"
    NOTHING_TO_DROP = "nothing to drop"
    VANISHED = "residuals vanished"
    EPSILON = "epsilon"
    NO_GAIN = "several sizes gained nothing"
    OPTIMAL = "optimal"
    INEXACT = "tolerance not reached"
    RISES = "C would rise"
    NO_WEIGHT = "no weight left lowers C"
    NO_CONNECTION = "no connection left lowers C"
    MAX_CONNECTIONS = "max_connections"
    ALL_L1 = "all l1"
    ALL_L0 = "all l0"

    @property
    def cut(self) -> bool:
        """Whether the search was stopped before it finished."""
        return self in (Stop.ASKED, Stop.INTERRUPTED)


class Interruptible:
    """A ``with`` block that Ctrl-C ends; see the module.

    ``keep`` says whether there is anything to keep, and is asked after an interrupt only;
    ``interrupted`` is whether one came.
    """

    def __init__(self, keep: Callable[[], bool] = lambda: True) -> None:
        self.interrupted = False
        self._keep = keep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.interrupted = is_interrupt(error)
        return self.interrupted and self._keep()


class Alarm:
    """A ``with`` block that is interrupted, as by Ctrl-C, when the time is up.

    The ``deadline`` is by ``time.perf_counter()``; infinity: never. The caller catches the
    interrupt and asks ``rang``; one that nobody caught within the block ends there. It needs
    Python's main thread, to which interrupts go, and does nothing in another.
    """

    def __init__(self, deadline: float) -> None:
        self.rang = False
        self._before: Any = None
        self._timer: threading.Timer | None = None
        if math.isfinite(deadline) and threading.current_thread() is threading.main_thread():
            wait = min(max(deadline - time.perf_counter(), 0.0), threading.TIMEOUT_MAX)
            self._timer = threading.Timer(wait, self._ring)
            self._timer.daemon = True

    def _ring(self) -> None:
        self.rang = True
        if ALARM is None:
            _thread.interrupt_main()
        else:  # wakes who waits, and is heard where Ctrl-C is not, as in the background of a script
            signal.pthread_kill(threading.main_thread().ident or 0, ALARM)

    def __enter__(self) -> Self:
        if self._timer is not None:
            if ALARM is not None:
                self._before = signal.signal(ALARM, signal.default_int_handler)
            try:
                self._timer.start()
            except KeyboardInterrupt:  # the time was up already: the block will see that itself
                if not self.rang:
                    raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if self._timer is not None:
            try:
                self._timer.cancel()
                self._timer.join()
                time.sleep(0)  # an interrupt under way arrives here
            except KeyboardInterrupt:
                if not self.rang:
                    raise
            finally:
                if ALARM is not None:
                    signal.signal(ALARM, self._before)
        return self.rang and is_interrupt(error)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether it was Ctrl-C.

    Within a compiled function Python finds an answer and an interrupt at a time, and says so by a
    ``SystemError``, or several, whose first cause is the interrupt.
    """
    while isinstance(error, SystemError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


def pass_on(model: Any) -> None:
    """Raise the interrupt that ended a fit early, for callers that repeat fits.

    What an interrupted search has found is a path, but no fair sample of what the search does.
    """
    if getattr(getattr(model, "path_", None), "stopped", "") == Stop.INTERRUPTED:
        raise KeyboardInterrupt
