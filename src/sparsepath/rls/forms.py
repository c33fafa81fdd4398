r"""In which form a search is run: one cost model, from the shape of the problem alone.

Exact leave-one-out search by the squared loss has forms with the same choices. With m samples, n
features and k steps they take about, in nanoseconds,

    at once   3 m n + k (1e4 + (0.25 + 0.35 T) m n      P X in memory, read once a step and written
                + 50 m T)                               every eighth, in one compiled loop
    gram      4 m n + 0.02 m n^2 + k (5e3 + 14 m T)     the Gram matrix, made once, and bounds, in
                + 8 m (k + 128) + 0.45 k^2 m            one compiled loop
                + 0.2 k^3 n + 0.17 k e (1 + T) m n
      these two, if the data stay in the cache
              k (2e3 + (0.3 + 0.13 T) m n + 20 m T)
              2.3 m n + 0.02 m n^2 + k (3e4 + 11 m T) + 0.64 k^2 m + 0.08 k^3 n
                + 0.03 k e (1 + T) m n
    fused     3 m n + k (1.5e5 + 1.5 m n)               the same step by step, for searches that
                                                        turn back: read and written once a step
    swaps     as at once, and  k^2 T (n + m)            exchanges bounded from coefficients
    bounds    3 m n + k (1e6 + (0.2 + 25 k/m) m n       columns of the Gram matrix, or a pass over X
                + 40 m (T - 1)) + 0.035 k^2 e m n       a step, and exact values of a few candidates

where T is the number of targets and e = min(1, 3 k T/n)^2 the part of the candidates that bounds
leave open. The numbers are those of ``benchmarks/shapes.py`` on one core. The terms 25 k/m and
0.2 k^3 n say how much looser bounds become as leverages grow. Those with e say what comes after the
last feature that matters: of many features that are alike the best stands out, of few it does not,
and the more of all features a path takes, the fewer are left that are worse than the next one by
more than a bound is loose. A feature that has to be judged costs k products if nothing of it was
kept.

Whether the bounds take their products from the Gram matrix (tall data) or from passes over the
data (sparse data, or where batches of columns did not serve) is found out step by step; see
``leave_one_out/additions.py``.

Other losses have no bounds: all candidates are judged, fused, from P X in memory.

Threads are left out: all forms share out their work, and the choice must not depend on them. The
fused form needs a copy of the data in memory. Its loops are compiled for all but small data, where
everything is plain NumPy at first: a first fit need not wait for a compiler. A search at once goes
over to the compiled loop as soon as that has been paid for, with the same results to the last bit
(``leave_one_out/whole.py``).
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from sparsepath.rls.criteria.losses import Criterion
from sparsepath.rls.design import Design
from sparsepath.tuning import TUNING
from sparsepath.tuning import memory as memory_there

FORMS = ("auto", "fused", "bounds", "gram", "pass", "blocks")
READ = 3.0  # nanoseconds per number: to copy or measure the data once
FUSED_STEP, FUSED_NUMBER = 1.5e5, 1.5
KEPT = 128  # rows that a search by products keeps of candidates that were judged
SWAP_SECONDS = 0.2  # that a search with exchanges may take at once
SWAP_PAIR, SWAP_SAMPLE = 2.0, 2.0  # nanoseconds to bound an exchange; per sample to drop a feature
BOUNDS_STEP, BOUNDS_NUMBER, BOUNDS_LEVERAGE, BOUNDS_TARGET = 1e6, 0.2, 25.0, 40.0
BOUNDS_JUDGED = 0.035
OPEN_FROM = 3.0  # features to each on a path, below which bounds leave all candidates open
PLAIN_STEP, PLAIN_NUMBER = 5e4, 6.0
BY_STEPS = 1.3  # what bounds take of a search that is no plain one: removals, exchanges
TURNED_FROM = 1 << 16  # numbers in X from which it is worth while to have the columns one by one
WHOLE_LOSS_UP_TO = 1 << 27  # numbers in X times steps up to which a loss is searched by at once


class OnceCosts(NamedTuple):
    """Nanoseconds of a search at once: to read a number; a step, a number, one for each target."""

    read: float
    step: float
    number: float
    target: float
    sample: float  # for each target


class GramCosts(NamedTuple):
    """The same by the Gram matrix, in the order of its formula."""

    read: float
    product: float
    step: float
    sample: float  # for each target
    kept: float
    chosen: float
    leverage: float
    judged: float


ONCE_FAR = OnceCosts(READ, 1e4, 0.25, 0.35, 50.0)
ONCE_NEAR = OnceCosts(0.0, 2e3, 0.3, 0.13, 20.0)  # the data stay in the cache
GRAM_FAR = GramCosts(4.0, 0.023, 5e3, 14.0, 8.0, 0.45, 0.19, 0.17)
GRAM_NEAR = GramCosts(2.3, 0.022, 3e4, 11.0, 0.0, 0.64, 0.084, 0.029)


class Shape(NamedTuple):
    """What of the data decides on the form."""

    n_samples: int
    n_features: int
    sparse: bool = False


@dataclass(frozen=True)
class Form:
    """A form and the reason for it; whether it is ``compiled``, and run ``whole``, at once."""

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
    steps: int,
    targets: int = 1,
    grouped: bool = False,
    once: bool = False,
    exchanges: bool = False,
    asked: str = "auto",
    memory: float | None = None,
) -> Form:
    """The form for a leave-one-out search of so many ``steps``, as far as they are known.

    Without bounds of the loss there is one form, P X in memory or columns as they come. Columns
    that enter in groups are not known to the fused form; ``once`` says that the search may be run
    as a whole, with ``exchanges`` or without, ``asked`` is one of ``FORMS`` and taken if it can be,
    ``memory`` are the bytes that copies of the data may take (default: a quarter of the machine's).
    """
    m, n = design.n_samples, design.n_features
    numbers = m * n
    room = default_memory() if memory is None else memory
    fits = 8 * n * (m + min(steps, n)) <= room
    large = numbers >= TUNING.compiled_search_from
    if not loss.bounded:
        why = f"loss {loss.name!r} has no bounds, and P X fits in memory"
        if asked in ("auto", "fused") and fits and not grouped:
            whole = once and numbers * steps <= WHOLE_LOSS_UP_TO and not design.sparse
            return Form("fused", why, large, whole)
        return Form("blocks", f"loss {loss.name!r} has no bounds: every candidate from its column")
    if asked == "fused" and not grouped:
        return Form("fused", "asked for", large)
    if asked == "blocks":
        return Form("blocks", "asked for")
    if asked != "auto":
        return Form(asked if asked != "fused" else "bounds", "asked for")
    if grouped:
        return Form("bounds", "columns enter in groups")
    if not fits:
        return Form("bounds", "P X does not fit in memory")
    fused, bounds = seconds(m, n, steps, targets)
    whole = once and not design.sparse
    if whole and exchanges:
        fused = seconds_with_exchanges(m, n, steps, targets)
        bounds *= BY_STEPS
        whole = fused < SWAP_SECONDS
    elif whole:
        fused = seconds_at_once(m, n, steps, targets)
        gram = seconds_by_gram(m, n, steps, targets) if large else math.inf
        kept = min(steps, n) + min(KEPT, n)  # rows of what was chosen and judged
        if gram < min(fused, bounds) and 8 * (n * (m + n) + m * kept) <= room:
            return Form("gram", f"about {gram:.2g} s against {fused:.2g} s fused", large, whole)
    else:
        bounds *= BY_STEPS
    if fused <= bounds:
        why = f"about {fused:.2g} s against {bounds:.2g} s by bounds"
        return Form("fused", why, large, whole)
    return Form("bounds", f"about {bounds:.2g} s against {fused:.2g} s fused")


def seconds(m: int, n: int, steps: int, targets: int = 1) -> tuple[float, float]:
    """What the cost model says of the fused form and of bounds.

    >>> ["fused" if fused < bounds else "bounds" for fused, bounds in
    ...  (seconds(300, 30, 20), seconds(72, 7129, 30), seconds(60000, 784, 50))]
    ['fused', 'fused', 'bounds']
    """
    numbers = m * n
    fused = READ * numbers + steps * (FUSED_STEP + FUSED_NUMBER * numbers)
    step = (BOUNDS_NUMBER + BOUNDS_LEVERAGE * steps / m) * numbers + BOUNDS_TARGET * m * (
        targets - 1
    )
    bounds = READ * numbers + steps * (BOUNDS_STEP + step)
    bounds += BOUNDS_JUDGED * steps**2 * part_open(n, steps, targets) * numbers
    return 1e-9 * fused, 1e-9 * bounds


def seconds_at_once(m: int, n: int, steps: int, targets: int = 1) -> float:
    """The same of the fused form at once.

    >>> [seconds_at_once(m, 500, 20) < seconds(m, 500, 20)[1] for m in (100, 2000, 50000)]
    [True, True, False]
    """
    cost = ONCE_NEAR if m * n <= TUNING.read_from_cache else ONCE_FAR
    step = (cost.number + cost.target * targets) * m * n + cost.sample * m * targets
    return 1e-9 * (cost.read * m * n + steps * (cost.step + step))


def seconds_with_exchanges(m: int, n: int, steps: int, targets: int = 1) -> float:
    """The same with exchanges: all are bounded, and removals taken from the samples."""
    looked = SWAP_PAIR * n * targets + SWAP_SAMPLE * m * targets
    return seconds_at_once(m, n, steps, targets) + 1e-9 * looked * steps**2 / 2


def seconds_by_gram(m: int, n: int, steps: int, targets: int = 1) -> float:
    """The same of a search by the Gram matrix at once.

    >>> [seconds_by_gram(m, 300, 20) < seconds_at_once(m, 300, 20) for m in (2000, 20000)]
    [False, True]
    """
    cost = GRAM_NEAR if m * n <= TUNING.read_from_cache else GRAM_FAR
    once = (cost.read + cost.product * n) * m * n + cost.kept * m * (steps + min(KEPT, n))
    judged = cost.chosen * m * steps**2 + cost.leverage * n * steps**3
    judged += cost.judged * (1 + targets) * steps * part_open(n, steps, targets) * m * n
    return 1e-9 * (once + judged + steps * (cost.step + cost.sample * m * targets))


def part_open(n: int, steps: int, targets: int) -> float:
    """The part of the candidates that bounds leave open, on average over a path."""
    return min(1.0, OPEN_FROM * steps * targets / n) ** 2


def plain_seconds(m: int, n: int, steps: int) -> float:
    """What a whole search in NumPy takes."""
    return 1e-9 * steps * (PLAIN_STEP + PLAIN_NUMBER * m * n)


@cache
def default_memory() -> float:
    """A quarter of the memory there is, in bytes; 2 GiB where that cannot be told."""
    there = memory_there()
    return there / 4 if math.isfinite(there) else 2.0**31
