"""Thread pool over row blocks; BLAS uses one thread per worker."""

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
    """Return the BLAS libraries of this process (cached, because finding them is slow)."""
    import scipy.linalg  # noqa: F401 (its BLAS must be loaded to be found)

    every = ThreadpoolController().lib_controllers
    return [library for library in every if library.user_api == "blas"]


def sent_elsewhere() -> bool:
    """True if joblib uses a backend other than its own, as in ``parallel_config("dask")``."""
    backend, _ = get_active_backend()
    return not type(backend).__module__.startswith("joblib._parallel_backends")


def _cores() -> int:
    """Return the number of cores available to this process."""
    return int(joblib.cpu_count() if sent_elsewhere() else joblib.effective_n_jobs(-1))


def _each(task: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [task(item) for item in items]


class Threads:
    """Executor with a pool of threads, used in a ``with`` statement; None: one per core.

    The number of threads changes the speed only: results are bit-identical.
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
        """Number of parallel workers."""
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
        """Return the results of all parts for a message, in order; see ``executor.py``."""
        return self.map(lambda part: message(part, *args, **more), parts, numbers)

    def total(
        self, parts: Sequence[Any], message: Callable[..., list[NDArray[Any]]], *args: Any
    ) -> list[NDArray[Any]]:
        """Return the sum of the results of all parts for a message; few are kept in memory at a
        time.
        """
        total: list[NDArray[Any]] = []
        for i in range(0, len(parts), 2 * self.n_threads):
            for answer in self.ask(parts[i : i + 2 * self.n_threads], None, message, *args):
                total = [a + b for a, b in zip(total, answer, strict=True)] if total else answer
        return total

    def map(
        self, task: Callable[[Item], Result], items: Iterable[Item], numbers: int | None = None
    ) -> list[Result]:
        """Run a task for every item; return results in order.

        The calling thread works too, and each thread takes the next remaining item. If all tasks
        together read few ``numbers``, the calling thread runs them alone.
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
        """Like ``map``, for long tasks: uses joblib if it is configured for a cluster.

        The task and the items are then pickled, side effects of the task are lost, and each worker
        receives one message.
        """
        if not sent_elsewhere():
            return self.map(task, items)
        shares = min(len(items), joblib.effective_n_jobs(-1))
        parts = [
            items[i * len(items) // shares : (i + 1) * len(items) // shares] for i in range(shares)
        ]
        done = joblib.Parallel(n_jobs=-1)(joblib.delayed(_each)(task, part) for part in parts)
        return [result for part in done for result in part]
