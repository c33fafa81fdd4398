"""A crew of threads: what it does to BLAS, and when it starts anything."""

import pytest
import scipy.linalg  # noqa: F401 (its BLAS, too)
from threadpoolctl import threadpool_info, threadpool_limits

from sparsepath.system import threads
from sparsepath.system.threads import Threads


def blas_threads():
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


def test_blas_keeps_to_one_thread_inside_and_has_its_own_again_outside():
    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        with Threads(2) as crew:
            assert set(blas_threads()) == {1}
            assert crew.map(lambda i: i * i, range(5)) == [0, 1, 4, 9, 16]
        assert blas_threads() == outside


def test_blas_has_its_threads_again_after_an_interrupt_while_others_are_waited_for(monkeypatch):
    class Impatient(threads.ThreadPoolExecutor):
        def shutdown(self, *given, **named):
            super().shutdown(*given, **named)
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Impatient)
    with threadpool_limits(2, user_api="blas"):
        outside = blas_threads()
        with pytest.raises(KeyboardInterrupt), Threads(2) as crew:
            crew.map(str, range(3))
        assert blas_threads() == outside


def test_what_has_little_to_do_counts_no_cores_and_starts_no_thread(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: pytest.fail("cores were counted"))
    with Threads() as crew:
        assert crew.map(str, range(3), numbers=10) == ["0", "1", "2"]
