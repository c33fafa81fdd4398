"""Ctrl-C: where it is caught and when it is raised again.

Iterative work keeps its results when it is interrupted::

    with Interruptible(keep=lambda: len(found) > 1):
        for one in work:
            found.append(one)

The interrupt ends the block and is raised again only if there are no results to keep. Apart from
this module, only the command line catches interrupts.
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
    """Reason why a search ended; the path stores the text."""

    ASKED = "asked to"  # a callback wanted it
    INTERRUPTED = "interrupted"  # Ctrl-C
    MAX_FEATURES = "max_features"
    NO_CANDIDATE = "no candidate left"
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
        """True if the search was stopped before it finished."""
        return self in (Stop.ASKED, Stop.INTERRUPTED)


class Interruptible:
    """Context manager that Ctrl-C ends; see the module docstring.

    ``keep`` returns True if there are results to keep; it is called only after an interrupt.
    ``interrupted`` is True if an interrupt occurred.
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
    """Context manager that raises an interrupt, like Ctrl-C, at a deadline.

    ``deadline`` is a value of ``time.perf_counter()``; infinity disables it. The caller catches the
    interrupt and checks ``rang``; an interrupt that is not caught in the block ends there. It works
    only in the main thread, which receives signals; in other threads it does nothing.
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
    """True if an exception was caused by Ctrl-C.

    If an interrupt arrives in compiled code together with a result, Python raises one or several
    ``SystemError``, whose first cause is the interrupt.
    """
    while isinstance(error, SystemError):
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


def pass_on(model: Any) -> None:
    """Raise the interrupt that ended a fit early, for callers that repeat fits.

    The path of an interrupted search is usable, but not a fair repetition of the search.
    """
    if getattr(getattr(model, "path_", None), "stopped", "") == Stop.INTERRUPTED:
        raise KeyboardInterrupt
