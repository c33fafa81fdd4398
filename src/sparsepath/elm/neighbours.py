"""A path that does not contradict itself: every machine is held against those of its neighbours.

Subsets are compared by common scalings, machines afterwards by scalings of their own; so the
machine of one size may contain a better one of the size below than the path has there, or need but
one feature more to beat that of the size above. Here each machine is tried without each of its
features, and with each feature more that some machine of the path has or that the search lists for
the size, at the geometric mean of the scalings that it has, and where the next machine is the worse
one at the least scaling too, which changes little; neurons, ridge and the other scalings stay. One
feature less wins if it is better, by a thousandth at least; one feature more, of which there are
many to try, if it is better by a tenth, and on a sample of the rows at all. Scalings that are not
common are polished, and the neighbours of what has won are tried in turn. Errors only fall, so this
ends.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sparsepath.data.threads import Threads
from sparsepath.elm.network import Pool
from sparsepath.elm.polish import clearly_better, polish, tuned
from sparsepath.elm.scaling import Best, Candidate

BEATEN, BEATEN_BY_MORE = 0.999, 0.9  # of the error of a machine: less, by one feature less or more


def neighbours(
    machine: Candidate, features: Sequence[int], most: int, least: float | None = None
) -> Iterator[Candidate]:
    """One feature less, one more (up to ``most``); not judged yet: the key is infinite.

    One more has the geometric mean of the scalings, and ``least`` too if that is given.
    """
    subset = machine.subset
    changes = [(i, 0.0) for i in subset] if len(subset) > 1 else []
    if len(subset) < most:
        typical = float(np.exp(np.log(machine.scaling[list(subset)]).mean()))
        scalings = [typical] if least is None else [typical, least]
        changes += [(i, value) for value in scalings for i in features if i not in subset]
    for i, value in changes:
        scaling = machine.scaling.copy()
        scaling[i] = value
        yield Candidate((np.inf, np.inf), scaling, machine.which, machine.ridge)


def judged(pool: Pool, machine: Candidate, enough: float) -> Candidate:
    """The machine with its leave-one-out error, or as it is if that is not below ``enough``.

    The leave-one-out error is not below the training error, which comes first.
    """
    fit = pool.fit(machine.scaling, machine.which, machine.ridge)
    if not pool.target.own.size and fit.mse >= enough:
        return machine
    return Candidate(fit.key(), machine.scaling, machine.which, machine.ridge)


def improved(pool: Pool, machine: Candidate, least: float) -> Candidate:
    """The machine with the best ridge, and with scalings polished unless they are common."""
    machine = min(machine, tuned(pool, machine.scaling, machine.which), key=lambda c: c.key)
    active = machine.scaling[list(machine.subset)]
    if np.ptp(active) <= 1e-12 * active.max():
        return machine
    other = polish(pool, machine, least)
    return other if clearly_better(pool, other, machine) else machine


def settle(
    pool: Pool,
    sample: Pool,
    found: Best,
    listed: Mapping[int, Sequence[int]],
    least: float,
    threads: Threads,
) -> Best:
    """Machines of which none is beaten by a neighbour of another one.

    ``listed`` are the features to try by size; of sizes without an entry, those of the path.
    ``sample`` is the pool on some of the rows, or the pool itself.
    """
    machines = Best()
    machines.merge(found)
    tried: dict[int, Candidate] = {}
    on_sample: dict[int, tuple[Candidate, float]] = {}

    def hopeless(size: int, candidate: Candidate) -> bool:
        """Whether one feature more gains nothing on the sample, where it should gain a tenth."""
        more = len(candidate.subset)
        if sample is pool or more < size or more not in on_sample:
            return False
        bar = on_sample[more][1]
        return judged(sample, candidate, bar).key[0] >= bar

    while True:
        donors = {s: c for s, c in machines.at.items() if tried.get(s) is not c}
        tried |= donors
        used = {i for machine in machines.at.values() for i in machine.subset}
        around = [
            (size, each)
            for size in sorted(donors)
            for each in neighbours(
                donors[size],
                sorted(used.union(listed.get(size + 1, ()))),
                max(found.at),
                least if machines.criterion(size) < machines.criterion(size + 1) else None,
            )
        ]

        def enough(size: int, candidate: Candidate) -> float:
            beaten = BEATEN if len(candidate.subset) < size else BEATEN_BY_MORE
            return beaten * machines.criterion(len(candidate.subset))

        for size, machine in machines.at.items() if sample is not pool else ():
            if size not in on_sample or on_sample[size][0] is not machine:
                on_sample[size] = machine, judged(sample, machine, np.inf).key[0]
        known = threads.map(
            lambda task: task[1] if hopeless(*task) else judged(pool, task[1], enough(*task)),
            around,
        )
        better = Best()
        for (size, _), candidate in zip(around, known, strict=True):
            if candidate.key[0] < enough(size, candidate):
                better.offer(candidate)
        if not better.at:
            return machines
        chosen = [better.at[size] for size in sorted(better.at)]
        for candidate in threads.map(lambda machine: improved(pool, machine, least), chosen):
            machines.offer(candidate)
