"""The steps of ``compiled_forward.py`` in one loop, for data of which a step takes microseconds."""

import numpy as np
from numba import njit

from sparsepath.rls.leave_one_out.compiled_forward import choose, fill, follow, judge


@njit(nogil=True, cache=True)
def advance(until, problem, state, change, space, found, path):  # type: ignore[no-untyped-def]
    """Steps up to ``until`` features."""
    at, about, vanished, empty = state[11], state[12], problem[5][4], path[1][0]
    while at[0] < until and at[1] > 0 and about[1] > vanished * vanished * about[2]:
        n = at[1]
        if at[0] > 0:
            follow(0, n, problem, state, change, space, found)
        else:
            fill(0, n, problem, state, found)
        lead = int(np.argmin(found[1][:n]))
        least = judge(lead, lead + 1, np.inf, empty, problem, state, change, space, found)
        least = judge(0, n, least, empty, problem, state, change, space, found)
        if least == np.inf:
            return
        choose(least, problem, state, change, space, found, path)
