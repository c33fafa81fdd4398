"""Threads from the outside: BLAS keeps to one thread each, the row blocks are shared out."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from numbers import Integral
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import joblib
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from sparsepath.errors import InputError
from sparsepath.system.tuning import TUNING

Item = TypeVar("Item")
Result = TypeVar("Result")
Asked = ParamSpec("Asked")


@cache
def _libraries() -> list[Any]:
    """The BLAS libraries of this process; looking for them takes longer than a small search."""
    import scipy.linalg  # noqa: F401 (its BLAS must be loaded to be found)

    every = ThreadpoolController().lib_controllers
    return [library for library in every if library.user_api == "blas"]


def sent_elsewhere() -> bool:
    """Whether joblib uses another backend than its own: ``parallel_config("dask")``."""
    backend, _ = get_active_backend()
    return not type(backend).__module__.startswith("joblib._parallel_backends")


def _cores() -> int:
    """Those of this machine that this process may use."""
    return int(joblib.cpu_count() if sent_elsewhere() else joblib.effective_n_jobs(-1))


def _each(task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [task(item) for item in items]


class Threads:
    """A crew of threads, to be used in a ``with`` statement; None: one per core.

    The number changes the speed only: results are the same to the last bit.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        given: Any = n_threads
        whole = isinstance(given, Integral) and given is not True
        if given is not None and not (whole and given >= 1):
            raise InputError(f"n_threads={given!r}; give a whole number from 1 up, or None.")
        self._given = given
        self._open = False
        self._before: list[tuple[Any, int]] = []  # libraries, and their threads outside

    # Counting cores and starting a pool take as long as a small search, which asks for neither.
    @cached_property
    def n_threads(self) -> int:
        """How many work at a time."""
        return _cores() if self._given is None else int(self._given)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n_threads - 1)

    def __enter__(self) -> Self:
        known = [(library, library.num_threads) for library in _libraries()]
        self._before = [(library, before) for library, before in known if before != 1]
        for library, _ in self._before:
            library.set_num_threads(1)
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        try:
            if "_pool" in vars(self):
                self._pool.shutdown()
                del self._pool
        finally:  # whatever interrupts the wait for threads
            for library, before in self._before:
                library.set_num_threads(before)

    def ask(
        self,
        parts: Sequence[Item],
        numbers: int | None,
        message: Callable[Concatenate[Item, Asked], Result],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Result]:
        """The answers of all parts to a message, in their order; see ``crew.py``."""
        return self.map(lambda part: message(part, *args, **more), parts, numbers)

    def total(
        self, parts: Sequence[Any], message: Callable[..., list[NDArray[Any]]], *args: Any
    ) -> list[NDArray[Any]]:
        """The answers of all parts to a message, added up; only a few are kept at a time."""
        total: list[NDArray[Any]] = []
        for i in range(0, len(parts), 2 * self.n_threads):
            for answer in self.ask(parts[i : i + 2 * self.n_threads], None, message, *args):
                total = [a + b for a, b in zip(total, answer, strict=True)] if total else answer
        return total

    def map(
        self, task: Callable[[Item], Result], items: Iterable[Item], numbers: int | None = None
    ) -> list[Result]:
        """Do the task for every item; results in the order of the items.

        The caller works too, and each thread takes the next item that is left: one message to a
        thread per call, however many items there are. If all tasks together read but few
        ``numbers``, the caller does them alone.
        """
        items = list(items)
        few = numbers is not None and numbers < TUNING.threaded_from
        if len(items) < 2 or few or not self._open or self.n_threads == 1:
            return [task(item) for item in items]
        results: dict[int, Result] = {}
        left = deque(enumerate(items))

        def work() -> None:
            while True:
                try:
                    place, item = left.popleft()
                except IndexError:
                    return
                results[place] = task(item)

        others = [self._pool.submit(work) for _ in range(min(self.n_threads, len(items)) - 1)]
        try:
            work()
        finally:
            for other in others:
                other.result()
        return [results[place] for place in range(len(items))]

    def spread(self, task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """``map`` for tasks that are worth a journey: joblib's, if it uses a cluster.

        Then the task and the items are pickled, and what the task changes is lost. Each worker is
        asked once.
        """
        if not sent_elsewhere():
            return self.map(task, items)
        shares = min(len(items), joblib.effective_n_jobs(-1))
        parts = [
            items[i * len(items) // shares : (i + 1) * len(items) // shares] for i in range(shares)
        ]
        done = joblib.Parallel(n_jobs=-1)(joblib.delayed(_each)(task, part) for part in parts)
        return [result for part in done for result in part]
