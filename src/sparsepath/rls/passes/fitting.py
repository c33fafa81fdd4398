"""Fit an estimator to a source: first pass, search, honest errors."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.folds import Parts
from sparsepath.assessment.in_passes import ClassesOfRows, parts_in_passes, shorter_in_passes
from sparsepath.assessment.repetitions import quiet_copy
from sparsepath.base import Given
from sparsepath.data.folds import CachedRows, Rows
from sparsepath.data.moments import Cells, Coding, Sums, coding_of, read_centred
from sparsepath.data.row_values import SourceRows, groups_of
from sparsepath.data.sources import Source
from sparsepath.data.splits import Split
from sparsepath.data.validation import refuse_extreme_squares
from sparsepath.errors import InputError
from sparsepath.path.steps import Step
from sparsepath.rls.driver import run as search_for
from sparsepath.rls.folds.splits import Splits, read_splits
from sparsepath.rls.parameters import Parameters, SearchSpec, refuse_overflows, warn_still
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.rls.passes.folds import CellSums
from sparsepath.rls.problem import RLSProblem
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew

GRAM_OF_MEMORY = 0.25  # part of the memory that products of all columns may take
DEFAULT_MEMORY = 2.0**31
MOST_CELLS = 256


@dataclass(frozen=True, eq=False)
class Sides:
    """Side of every row in every split, as labels of the rows.

    For folds, one array has the test fold of each row, ``outside`` if there is none; for other
    splits each has an array, with 1 for training and 2 for test rows.
    """

    labels: tuple[NDArray[np.unsignedinteger[Any]], ...]
    outside: int | None

    @classmethod
    def of(cls, splits: Sequence[Split], m: int, everyone: Rows | None = None) -> "Sides":
        """Create it from splits of m rows, or of the rows in ``everyone``."""
        every = np.arange(m) if everyone is None else everyone
        label = np.full(m, len(splits), dtype=np.min_scalar_type(len(splits)))
        tested = 0
        for f, (_, test) in enumerate(splits):
            label[every[test]] = f
            tested += len(test)
        inside = int(np.count_nonzero(label < len(splits)))
        if tested == inside and all(len(a) + len(b) == inside for a, b in splits):
            return cls((label,), len(splits))
        sides = []
        for train, test in splits:
            side = np.zeros(m, dtype=np.uint8)
            for rows, mark in ((every[train], 1), (every[test], 2)):
                if len(np.unique(rows)) < len(rows):
                    raise InputError("cv: rows that occur several times need data in memory.")
                side[rows] = mark
            sides.append(side)
        return cls(tuple(sides), None)

    def at(self, rows: Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the training and test rows of every split among some rows: splits x rows."""
        if self.outside is None:
            side = np.array([label[rows] for label in self.labels])
            return side == 1, side == 2
        label = self.labels[0][rows]
        tests = label == np.arange(self.outside)[:, None]
        return ~tests & (label < self.outside), tests


def cells_of(sides: Sequence[Sides], m: int) -> tuple[Cells, Rows]:
    """Return cells of rows that are on the same side in every split, and a row of each."""
    code, count = np.zeros(m, dtype=np.int64), 1
    for label in (label for of in sides for label in of.labels):
        width = int(label.max(initial=0)) + 1
        code = code * width + label
        there = np.zeros(count * width, dtype=bool)
        there[code] = True
        code, count = (np.cumsum(there) - 1)[code], int(there.sum())
    first = np.empty(count, dtype=np.intp)
    first[code[::-1]] = np.arange(m)[::-1]
    return Cells(listed=code.astype(np.min_scalar_type(count)), count=count), first


@dataclass(frozen=True, eq=False)
class SearchPart:
    """Data of one search: cells, factors of the weights there (zero: held out), and its splits."""

    cells: Cells
    factors: Floats | None
    trains: NDArray[np.bool_] | None  # splits x cells; None for leave-one-out
    tests: NDArray[np.bool_] | None


def side_of(classes: ClassesOfRows) -> Sides:
    """Return what sets the rows of each class apart."""
    return Sides((classes.codes.astype(np.min_scalar_type(len(classes.classes))),), None)


class RowPartitions:
    """Partition of the rows for the search and for its repetitions without some of the rows.

    ``within`` returns the splits of the search on some rows, None for leave-one-out. If sums for
    all cells are ``affordable``, one pass serves the search and all repetitions; otherwise each
    repetition takes its own pass.
    """

    def __init__(
        self,
        m: int,
        own: Splits | None,
        leaving: Sequence[Rows],
        within: Callable[[Rows], Splits | None],
        affordable: Callable[[int], bool],
        classes: ClassesOfRows | None = None,
    ) -> None:
        self.own, self._m, self._leaving = own, m, leaving
        self._classes = classes
        self._mine = None if own is None else Sides.of(own, m)
        by_class = [] if classes is None else [side_of(classes)]
        alone = [*by_class, *([] if self._mine is None else [self._mine])]
        self._first = cells_of(alone, m)
        if self._first[0].count > MOST_CELLS:
            raise InputError(
                f"cv cuts the rows into more than {MOST_CELLS} cells, whose products would have to "
                "be kept; use fewer splits for data that are read in passes."
            )
        self._parted: list[tuple[Sides, Sides | None] | None] = []
        if leaving:
            self._parted = [self._sides(train, within) for train in leaving]
            every = [side for pair in self._parted for side in pair or () if side is not None]
            joint = cells_of([*alone, *every], m)
            self.shared = affordable(joint[0].count)
            self._first = joint if self.shared else self._first

    @property
    def label(self) -> Splits | None:
        """Splits for the name of the criterion, without row numbers."""
        return None if self.own is None else Splits((), self.own.label)

    def _sides(
        self, train: Rows, within: Callable[[Rows], Splits | None]
    ) -> tuple[Sides, Sides | None] | None:
        inside = np.ones(self._m, dtype=np.uint8)
        inside[train] = 0
        try:
            splits = within(train)
        except InputError:  # said where that part is fitted
            return None
        return Sides((inside,), 1), None if splits is None else Sides.of(splits, self._m, train)

    @property
    def count(self) -> int:
        """Number of repetitions."""
        return len(self._parted)

    def whole(self) -> SearchPart:
        """Return the data of the search on all rows."""
        cells, rows = self._first
        factors = None
        if self._classes is not None and (of_classes := self._classes.factors()) is not None:
            factors = of_classes[self._classes.codes[rows]]
        return SearchPart(
            cells, factors, *((None, None) if self._mine is None else self._mine.at(rows))
        )

    def without(self, number: int) -> SearchPart | None:
        """Return the data of a repetition; None if the search has no splits there."""
        pair = self._parted[number]
        if pair is None:
            return None
        cells, rows = self._first
        by_class = [] if self._classes is None else [side_of(self._classes)]
        if not self.shared:
            sides = [*by_class, *(side for side in pair if side is not None)]
            cells, rows = cells_of(sides, self._m)
        factors = (pair[0].labels[0][rows] == 0).astype(np.float64)
        if self._classes is not None:
            of_classes = self._classes.factors(self._leaving[number])
            if of_classes is None:
                return None
            factors *= of_classes[self._classes.codes[rows]]
        return SearchPart(cells, factors, *((None, None) if pair[1] is None else pair[1].at(rows)))


def numbers_kept(n: int, cells: int) -> float:
    """Return the bytes of the products of all columns for so many cells, and of derived arrays."""
    return 8.0 * n * n * (3 * cells + 4)


def read(
    source: Source, crew: Crew, coding: Coding, parts: Sequence[SearchPart], estimator: Any
) -> list[StreamDesign]:
    """Return the sums over the rows; products of all columns if they fit into memory."""
    cells = [part.cells for part in parts]
    whole = numbers_kept(source.n_features, sum(each.count for each in cells)) <= _limit(estimator)

    def made(sums: Sums, i: int) -> StreamDesign:
        ways = (estimator.fit_intercept, estimator.standardize)
        return StreamDesign(source, crew, coding, sums, cells[i], *ways, parts[i].factors)

    return read_centred(source, crew, coding, cells, made, whole)


def _refuse_targets(design: StreamDesign) -> None:
    if not np.any(design.yy > 0):
        raise InputError("y is constant for all samples; there is nothing to predict.")
    squares = float(design.yy.sum())
    refuse_extreme_squares(squares, float(np.sqrt(squares / design.source.n_samples)))


def _limit(estimator: Any) -> float:
    memory = estimator.memory_budget
    return GRAM_OF_MEMORY * (DEFAULT_MEMORY if memory is None else memory)


def sums_for(design: StreamDesign, part: SearchPart) -> CellSums | None:
    """Return the sums of the splits; None for leave-one-out."""
    if part.tests is None or part.trains is None:
        return None
    return CellSums(design, part.trains, part.tests)


def fit_source(estimator: Any, source: Source, groups: Any, *, classifier: bool) -> Any:
    """Run ``fit`` for a source."""
    loss = estimator._criterion
    parameters = Parameters(estimator, loss, estimator.cv)
    if loss.pairs:
        raise InputError(f"loss={loss.name!r} compares pairs of samples and needs data in memory.")
    names = source.name_columns(estimator)
    with source.crew(estimator.n_threads) as crew:
        coding = coding_of(source, crew, classifier)
        if classifier:
            estimator.classes_ = coding.classes
        together = groups_of(source, crew, groups)
        given = Given.of(source, None, groups=together)
        parts = parts_in_passes(estimator, source, together)
        partings = _partings(estimator, source, together, parts, classifier)
        whole = partings.whole()
        [design] = read(source, crew, coding, [whole], estimator)
        _refuse_targets(design)
        refuse_overflows(design, names)
        if not classifier:
            estimator._one_target = len(design.y_mean) == 1
        spec = parameters.spec(None, None, None, design)
        spec = dataclasses.replace(spec, splits=partings.label)
        nothing = np.zeros((0, len(design.y_mean)))  # targets stay with their rows
        alphas = estimator._alphas(design, None, spec.candidates)
        sums = sums_for(design, whole)
        warn_still(spec, sums, alphas)

        repeated = PartDesigns(design, partings, estimator)

        def without(of: Any, number: int) -> tuple[dict[int, Step], None] | None:
            steps = _without(of, repeated[number], partings, names)
            return None if steps is None else (steps, None)

        shorter = None if parts is None else shorter_in_passes(source, parts, without)
        more = {"parts": parts, "shorter": shorter}
        problem = RLSProblem(design, nothing, spec, sums)
        run = estimator._searched(given, source, nothing, problem, alphas, more)
        return estimator._settled(run, spec)


def _partings(
    estimator: Any, source: Source, groups: Any, parts: Parts | None, classifier: bool
) -> RowPartitions:
    """Return the cells needed by the search's own splits and the held-out parts."""
    m, n, cv = len(source), source.n_features, estimator.cv
    singly = isinstance(cv, str) and cv == "loo"
    if singly and groups is not None and (count := len(np.unique(groups))) > MOST_CELLS:
        raise InputError(
            f"cv='loo' leaves out each of {count} groups, and data that are read in passes have at "
            f"most {MOST_CELLS} parts; use cv=10, which makes folds of whole groups."
        )

    def within(rows: Rows | None) -> Splits | None:
        if singly and groups is None:
            return None
        X, of, (y, w) = every, groups, SourceRows(source, estimator.n_threads).targets()
        if classes is not None and (factors := classes.factors()) is not None:
            w = w * factors[classes.codes]
        if rows is not None:
            X, y, w, of = X[rows], y[rows], w[rows], None if of is None else of[rows]
        more: dict[str, Any] = {"classifier": classifier, "leave_one_out": False, "weights": w}
        return read_splits(cv, X, y, of, **more)

    def affordable(cells: int) -> bool:
        return numbers_kept(n, cells) <= _limit(estimator)

    leaving = [] if parts is None else [train for train, _ in parts.splits]
    classes = ClassesOfRows.of(estimator, source, estimator.classes_) if classifier else None
    every = CachedRows(source, estimator.n_threads)
    return RowPartitions(m, within(None), leaving, within, affordable, classes)


class PartDesigns:
    """Data of the repetitions without each part.

    If these share no sums with the search, one pass reads those of as many parts as fit into
    memory.
    """

    def __init__(self, design: StreamDesign, partings: RowPartitions, estimator: Any) -> None:
        self._design, self._partings, self._estimator = design, partings, estimator
        self._read: dict[int, StreamDesign] = {}

    def __getitem__(self, number: int) -> tuple[SearchPart, StreamDesign] | None:
        """Return the data of a repetition; None if the search has no splits there."""
        part = self._partings.without(number)
        if part is None:
            return None
        if self._partings.shared:
            return part, self._design.weighted(part.factors)
        if number not in self._read:
            self._read = self._read_from(number, part)
        return part, self._read.pop(number)

    def _read_from(self, number: int, part: SearchPart) -> dict[int, StreamDesign]:
        of, together, cells = self._design, {number: part}, part.cells.count
        for i in range(number + 1, self._partings.count):
            more = self._partings.without(i)
            cells += 0 if more is None else more.cells.count
            if numbers_kept(of.n_features, cells) > _limit(self._estimator):
                break
            together |= {} if more is None else {i: more}
        given = of.source, of.crew, of.coding, list(together.values()), self._estimator
        return dict(zip(together, read(*given), strict=True))


def _without(
    estimator: Any,
    data: tuple[SearchPart, StreamDesign] | None,
    partings: RowPartitions,
    names: Any,
) -> dict[int, Step] | None:
    """Return the models of the search without a part; None if that is a different problem."""
    if data is None:
        return None
    part, inside = data
    if np.any(inside.yy <= 0):  # fewer classes, or nothing to learn
        return None
    quiet = quiet_copy(estimator)
    if names is not None:
        quiet.feature_names_in_ = names
    spec = Parameters(quiet, estimator._criterion, quiet.cv).spec(None, None, None, inside)
    spec = dataclasses.replace(spec, splits=partings.label)
    return _best(inside, quiet._alphas(inside, None, spec.candidates), spec, sums_for(inside, part))


def _best(
    design: StreamDesign, alphas: Any, spec: SearchSpec, sums: CellSums | None
) -> dict[int, Step]:
    """Return the result of the search with the penalty that has the minimum error."""
    nothing = np.zeros((0, len(design.y_mean)))
    trails = [search_for(design, nothing, alpha, spec, sums=sums) for alpha in alphas]
    return min(trails, key=lambda trail: min(step.error for step in trail.steps.values())).steps
