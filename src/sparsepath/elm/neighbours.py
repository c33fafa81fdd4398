"""Compare each machine on a path with machines of neighbouring subsets.

Subsets are compared with common scalings, machines later with individual scalings. So a machine may
contain a better machine of the next smaller size than the path has, or need only one more feature
to be better than the one of the next larger size. Each machine is therefore tried without each of
its features, and with each additional feature that some machine of the path uses or that the search
lists for the size. The scaling of an added feature is the geometric mean of the others; if the next
larger machine is worse, the smallest scaling is tried too. Neurons, ridge and the other scalings
are unchanged. A machine with one feature less replaces that of its size if it is better by at least
a thousandth; one with a feature more (there are many of these) if it is better by a tenth and among
the best few on a sample of the rows. Single precision finds the best machine of each size, and
double precision decides. Individual scalings are then optimised, and the neighbours of the new
machines are tried in turn. Errors only decrease, so the procedure ends.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sparsepath.elm.polish import clearly_better, polish, reevaluate, tune_ridge
from sparsepath.elm.pool import Pool
from sparsepath.elm.rough import rough_key
from sparsepath.elm.scaling import Best, Candidate
from sparsepath.elm.subsets import FEW
from sparsepath.system.threads import Threads

BEATEN, BEATEN_BY_MORE = 0.999, 0.9  # of the error of a machine: less, by one feature less or more

Task = tuple[int, Candidate]  # a neighbour, after the size of the machine that it comes from


def neighbours(
    machine: Candidate, features: Sequence[int], most: int, least: float | None = None
) -> Iterator[Candidate]:
    """Return machines with one feature less or more (up to ``most``), not yet scored.

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


def improve(pool: Pool, machine: Candidate, least: float) -> Candidate:
    """Return the machine with the best ridge and, unless common, optimised scalings."""
    machine = min(machine, tune_ridge(pool, machine.scaling, machine.which), key=lambda c: c.key)
    active = machine.scaling[list(machine.subset)]
    if np.ptp(active) <= 1e-12 * active.max():
        return machine
    other = polish(pool, machine, least)
    return other if clearly_better(pool, other, machine) else machine


class Neighbourhood:
    """Machines of a path, and the neighbours tried so far.

    Parameters
    ----------
    pool, sample : Pool
        All rows, and some of them, or the same pool.
    machines : Best
        Machines as they were found; they are replaced by better ones.
    listed : mapping
        The features to try by size; of sizes without an entry, those of the path.
    least : float
        The least scaling.
    """

    def __init__(
        self,
        pool: Pool,
        sample: Pool,
        machines: Best,
        listed: Mapping[int, Sequence[int]],
        least: float,
    ) -> None:
        self.pool, self.sample, self.listed, self.least = pool, sample, listed, least
        self.machines, self.most = Best(), max(machines.at)
        self.machines.merge(machines)
        self._tried: dict[int, Candidate] = {}
        self._on_sample: dict[int, tuple[Candidate, float]] = {}

    def around(self) -> list[Task]:
        """Return the neighbours of new machines, with the size of the original."""
        at, criterion = self.machines.at, self.machines.criterion
        donors = {s: c for s, c in at.items() if self._tried.get(s) is not c}
        self._tried |= donors
        used = {i for machine in at.values() for i in machine.subset}
        return [
            (size, each)
            for size in sorted(donors)
            for each in neighbours(
                donors[size],
                sorted(used.union(self.listed.get(size + 1, ()))),
                self.most,
                self.least if criterion(size) < criterion(size + 1) else None,
            )
        ]

    def enough(self, size: int, neighbour: Candidate) -> float:
        """Return the error below which a neighbour replaces another machine."""
        here = len(neighbour.subset)
        return (BEATEN if here < size else BEATEN_BY_MORE) * self.machines.criterion(here)

    def hopeful(self, tasks: list[Task], threads: Threads) -> list[Task]:
        """Return all neighbours with one feature less, and the few best with one more.

        One more should gain a tenth on all rows.
        """
        if self.sample is self.pool:
            return tasks
        for size, machine in self.machines.at.items():
            if size not in self._on_sample or self._on_sample[size][0] is not machine:
                self._on_sample[size] = machine, rough_key(self.sample, machine)[0]

        def on_sample(task: Task) -> float:
            size, neighbour = task
            here = len(neighbour.subset)
            if here < size or here not in self._on_sample:
                return -np.inf
            return rough_key(self.sample, neighbour, self._on_sample[here][1])[0]

        scores = threads.map(on_sample, tasks)
        kept: dict[int, int] = {}
        for place in np.argsort(scores, kind="stable").tolist():
            size = len(tasks[place][1].subset)
            if -np.inf < scores[place]:
                kept[size] = kept.get(size, 0) + 1
                if kept[size] > FEW:
                    scores[place] = np.inf
        return [task for task, score in zip(tasks, scores, strict=True) if score < np.inf]

    def better(self, tasks: list[Task], threads: Threads) -> list[Candidate]:
        """Return the best neighbour of each size that replaces a machine.

        They are ranked in single precision; whether the first ones serve is judged in double.
        """
        rough = threads.map(lambda task: rough_key(self.pool, task[1], self.enough(*task)), tasks)
        best: dict[tuple[int, bool], tuple[tuple[float, float], Task]] = {}
        for task, key in zip(tasks, rough, strict=True):
            size, neighbour = task
            place = len(neighbour.subset), len(neighbour.subset) < size
            if key[0] < np.inf and (place not in best or key < best[place][0]):
                best[place] = key, task
        found = Best()
        first = [best[place][1] for place in sorted(best)]
        for task, judged in zip(
            first, threads.map(lambda task: reevaluate(self.pool, task[1]), first), strict=True
        ):
            if judged.key[0] < self.enough(*task):
                found.offer(judged)
        return [found.at[size] for size in sorted(found.at)]

    def settled(self, threads: Threads) -> Best:
        """Machines that no neighbour of another one beats."""
        while better := self.better(self.hopeful(self.around(), threads), threads):
            for machine in threads.map(
                lambda machine: improve(self.pool, machine, self.least), better
            ):
                self.machines.offer(machine)
        return self.machines
