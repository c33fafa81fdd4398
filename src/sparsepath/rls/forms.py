r"""In which form a search is run: one cost model, from the shape of the problem alone.

Exact leave-one-out search by the squared loss has forms with the same choices. With m samples, n
features and k steps they take about, in nanoseconds,

    fused     3 m n + k (1.5e5 + 1.5 m n)               P X in memory, read and written once a step
    bounds    3 m n + k (1.3e6 + (0.4 + 25 k/m) m n)    columns of the Gram matrix, or a pass over X
                                                        a step, and exact values of a few candidates
    at once   3 m n + 0.04 m n^2 + k (2e4 + (0.2 + 1.6 k^2/m) m n)      bounds in one compiled loop,
                                                        all columns of the Gram matrix before it

The numbers are those of ``benchmarks/shapes.py`` on one core. The term 25 k/m says how much looser
bounds become as leverages grow: more candidates have to be judged exactly (and, at once, from their
columns, of which only some are kept from step to step). Whether the bounds take
their products from the Gram matrix (tall data) or from passes over the data (sparse data, or where
batches of columns did not serve) is found out step by step; see ``leave_one_out/additions.py``.

Other losses have no bounds: all candidates are judged, fused, from P X in memory. Where reading and
writing P X is what takes time (``TUNING.cached_from``), losses with loops for it leave every other
change to the next step and take products from the Gram matrix (``cache``).

Threads are left out: both forms share out their work, and the choice must not depend on them. The
fused form needs a copy of the data in memory. Its loops are compiled for all but small data, where
everything is plain NumPy: a first fit need not wait for a compiler. (The compiled loop of a whole
search would be about three times as fast there once it is loaded; but loading it takes longer than
a hundred such searches, and the last digits of a result must not depend on what lies on disk.)

A forward search of some milliseconds, of which nobody wants to hear step by step, is run as a whole
(``leave_one_out/whole.py``), fused or by bounds.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.design import Design
from sparsepath.tuning import TUNING
from sparsepath.tuning import memory as memory_there

FORMS = ("auto", "fused", "bounds", "gram", "pass", "cache", "blocks")
READ = 3.0  # nanoseconds per number: to copy or measure the data once
FUSED_STEP, FUSED_NUMBER = 1.5e5, 1.5
BOUNDS_STEP, BOUNDS_NUMBER, BOUNDS_LEVERAGE = 1.3e6, 0.4, 25.0
ONCE_GRAM, ONCE_STEP, ONCE_NUMBER, ONCE_LEVERAGE = 0.04, 2e4, 0.2, 1.6
TURNED_FROM = 1 << 22  # numbers in X from which it is worth while to have the columns one by one
WHOLE_UP_TO = 1 << 24  # numbers in X times steps up to which a search is run as a whole
WHOLE_SECONDS = 0.1  # and what one by bounds may take


class Shape(NamedTuple):
    """What of the data decides on the form."""

    n_samples: int
    n_features: int
    sparse: bool = False


@dataclass(frozen=True)
class Form:
    """A form and the reason for it; whether it is ``compiled``, and run as a ``whole``."""

    name: str
    why: str
    compiled: bool = False
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def form_for(
    design: Design | Shape,
    *,
    loss: Criterion,
    n_targets: int,
    steps: int,
    grouped: bool = False,
    once: bool = False,
    asked: str = "auto",
    memory: float | None = None,
) -> Form:
    """The form for a leave-one-out search.

    Parameters
    ----------
    design : Design or Shape
        The data.
    loss : Criterion
        What it can: without bounds there is one form, P X in memory or columns as they come.
    n_targets, steps : int
        Targets; features to be chosen, as far as is known.
    grouped : bool
        Whether columns enter in groups, which the fused form does not know.
    once : bool
        Whether the search may be run as a whole.
    asked : str
        One of ``FORMS``; other than "auto" it is taken if it can be.
    memory : float, optional
        Bytes that copies of the data may take; default a quarter of the machine's memory.
    """
    m, n = design.n_samples, design.n_features
    numbers = m * n
    fits = 8 * n * (m + min(steps, n)) <= (default_memory() if memory is None else memory)
    large = numbers >= TUNING.compiled_search_from
    if not loss.bounded:
        why = f"loss {loss.name!r} has no bounds, and P X fits in memory"
        cached = n_targets == 1 and loss.cached is not None
        if (
            cached
            and fits
            and (asked == "cache" or (asked == "auto" and numbers >= TUNING.cached_from))
        ):
            return Form("cache", why)
        if asked in ("auto", "fused") and fits and not grouped:
            return Form("fused", why, large)
        return Form("blocks", f"loss {loss.name!r} has no bounds: every candidate from its column")
    if asked == "fused" and not grouped:
        return Form("fused", "asked for", large)
    if asked in ("cache", "blocks"):
        return Form("blocks", "asked for")
    if asked != "auto":
        return Form(asked if asked != "fused" else "bounds", "asked for")
    if grouped:
        return Form("bounds", "columns enter in groups")
    if not fits:
        return Form("bounds", "P X does not fit in memory")
    fused, bounds = seconds(m, n, steps)
    at_once = seconds_at_once(m, n, steps)
    if once and large and not design.sparse and at_once <= min(fused, bounds, WHOLE_SECONDS):
        why = f"at once, about {at_once:.2g} s against {fused:.2g} s fused"
        return Form("bounds", why, compiled=True, whole=True)
    if fused <= bounds:
        whole = once and numbers * steps <= WHOLE_UP_TO and not design.sparse
        why = f"about {fused:.2g} s against {bounds:.2g} s by bounds"
        return Form("fused", why, large, whole)
    return Form("bounds", f"about {bounds:.2g} s against {fused:.2g} s fused")


def seconds(m: int, n: int, steps: int) -> tuple[float, float]:
    """What the cost model says of the fused form and of bounds.

    >>> ["fused" if fused < bounds else "bounds" for fused, bounds in
    ...  (seconds(300, 30, 20), seconds(72, 7129, 30), seconds(60000, 784, 50))]
    ['fused', 'fused', 'bounds']
    """
    numbers = m * n
    fused = READ * numbers + steps * (FUSED_STEP + FUSED_NUMBER * numbers)
    number = BOUNDS_NUMBER + BOUNDS_LEVERAGE * steps / m
    bounds = READ * numbers + steps * (BOUNDS_STEP + number * numbers)
    return 1e-9 * fused, 1e-9 * bounds


def seconds_at_once(m: int, n: int, steps: int) -> float:
    """The same of bounds in one compiled loop.

    >>> [seconds_at_once(m, 500, 20) < min(seconds(m, 500, 20)) for m in (100, 2000, 50000)]
    [False, True, False]
    """
    numbers = m * n
    number = ONCE_NUMBER + ONCE_LEVERAGE * steps**2 / m
    return 1e-9 * (numbers * (READ + ONCE_GRAM * n) + steps * (ONCE_STEP + number * numbers))


def default_memory() -> float:
    """A quarter of the memory there is, in bytes; 2 GiB where that cannot be told."""
    there = memory_there()
    return there / 4 if math.isfinite(there) else 2.0**31
