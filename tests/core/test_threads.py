"""The pool of threads of the compiled core."""

import os
import threading

import pytest

from sparsepath._core import threads


@pytest.mark.parametrize("n_threads", [1, 2, 7])
@pytest.mark.parametrize("pieces", [0, 1, 5, 10_000])
def test_every_piece_is_done_once(pieces, n_threads):
    assert threads.count_pieces(pieces, n_threads) == pieces


def test_several_callers_share_the_pool():
    done = []
    callers = [
        threading.Thread(
            target=lambda: done.extend(threads.count_pieces(100, 3) for _ in range(200))
        )
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert done == [100] * 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_threads_of_its_own():
    assert threads.count_pieces(100, 2) == 100
    child = os.fork()
    if child == 0:
        os._exit(0 if threads.count_pieces(100, 2) == 100 else 1)
    assert os.waitpid(child, 0)[1] == 0
