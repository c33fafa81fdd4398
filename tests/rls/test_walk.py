"""The walk of a search, followed by a profiler: control goes down, and answers come up.

It would go up where an object is asked something while it waits for the answer of another one. An
object may ask itself, and may hand a function to those below it: to tell of a step, to share out
work, to settle a tie.
"""

import sys
from collections import Counter
from pathlib import Path

import pytest

import sparsepath
from problems import make
from rls.comparing import FORMS, design_of, search

SOURCE = f"{Path(sparsepath.__file__).parent}/"
HANDED = {
    ("rls/driver.py", "running/trail.py"),  # whoever is told of a step looks at the trail
    ("rls/update.py", "rls/leave_one_out/fused.py"),  # the criterion that settles ties
    ("rls/leave_one_out/exchanges.py", "rls/leave_one_out/following.py"),  # t, which is read
}


def hops_up(work):
    """Where control went up: from which file into which, and how often."""
    waiting, up = [], Counter()

    def follow(frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            return
        if event == "call":
            file, me = code.co_filename.removeprefix(SOURCE), frame.f_locals.get("self")
            if waiting and me is not None and "<locals>" not in code.co_qualname:
                caller, who = waiting[-1]
                if who is not me and any(other is me for _, other in waiting):
                    up[caller, file] += 1
            waiting.append((file, me))
        elif event == "return":
            waiting.pop()

    sys.setprofile(follow)
    try:
        work()
    finally:
        sys.setprofile(None)
    return up


CASES = [(loss, form) for loss, forms in FORMS.items() for form in forms]


@pytest.mark.parametrize("how", ["forward", "floating", "swap", "backward"])
@pytest.mark.parametrize(("loss", "form"), CASES)
def test_control_goes_down(loss, form, how):
    counts = loss in ("zero_one", "balanced")
    case = make("tall", m=60, n=12, seed=5, weighted=True, classification=counts)
    design = design_of(case.X, case.sw, "three")
    given = {"loss": loss, "form": form, "search": how}
    search(design, case.Y, 0.5, 5, **given)  # whatever is imported first
    assert set(hops_up(lambda: search(design, case.Y, 0.5, 5, **given))) <= HANDED
