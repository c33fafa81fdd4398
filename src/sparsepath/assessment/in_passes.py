"""Validation of data that are read in passes: held-out parts and shared computations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.assessment.folds import Parts, parts_of
from sparsepath.assessment.repetitions import FEW_SAMPLES, Repetition, RepetitionResult, Shorter
from sparsepath.assessment.streamed_outputs import PartOutputs, linear_models
from sparsepath.assessment.validation import resolve_validation
from sparsepath.data.classes import class_factors
from sparsepath.data.folds import Rows
from sparsepath.data.moments import Cells
from sparsepath.data.row_values import SourceRows
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step
from sparsepath.system.arrays import Floats


@dataclass(eq=False)
class SharedValidation:
    """Replaces the validation of an inner selector, because the outer one is validated.

    It has the parts to hold out, and keeps the computation that the search shares with them.
    """

    parts: Parts | None
    shorter: Shorter | None = None

    def __call__(
        self, path: SelectionPath, rule: Any, shorter: Shorter | None = None, **_: Any
    ) -> tuple[SelectionPath, None]:
        self.shorter = shorter
        return path, None


def parts_in_passes(estimator: Any, source: Source, groups: Any = None) -> Parts | None:
    """Return the parts that ``validation`` holds out; None if there are none or they overlap.

    Few samples are validated in memory, several times; see ``repetitions.data_by_rows``.
    """
    if isinstance(beneath := estimator._validated, SharedValidation):
        return beneath.parts
    asked = resolve_validation(estimator, len(source))
    if asked is None or len(source) <= FEW_SAMPLES:
        return None
    y, weights = SourceRows(source, getattr(estimator, "n_threads", None)).targets()
    given = None if (weights == 1).all() else weights
    try:
        parts = parts_of(asked, source, y, groups, given, classes=is_classifier(estimator))
    except InputError:  # said when the search has ended
        return None
    times = np.bincount(np.concatenate([test for _, test in parts.splits]), minlength=len(y))
    trains = [len(train) + len(test) for train, test in parts.splits]
    counted = int(np.count_nonzero(weights > 0))
    return parts if times.max() == 1 and set(trains) <= {counted, len(y)} else None


@dataclass(frozen=True, eq=False)
class ClassesOfRows:
    """The class of every row, and the class weights of a search on some of the rows."""

    class_weight: Any
    classes: NDArray[Any]
    codes: Rows
    weights: Floats

    @classmethod
    def of(cls, estimator: Any, source: Source, classes: Any) -> "ClassesOfRows | None":
        """Create it if the estimator has class weights."""
        asked = getattr(estimator, "class_weight", None)
        if asked is None:
            return None
        y, weights = SourceRows(source, estimator.n_threads).targets()
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        return cls(asked, classes, codes, weights)

    def factors(self, rows: Rows | slice = slice(None)) -> Floats | None:
        """Return the factor of every class for some rows; None if a class has none of them."""
        codes, weights = self.codes[rows], self.weights[rows]
        if len(np.unique(codes[weights > 0])) < len(self.classes):
            return None
        return class_factors(self.class_weight, self.classes, codes, weights)


@dataclass(frozen=True, eq=False)
class PartCells:
    """One cell per part (and per class, if classes have weights), and one for rows in no part."""

    cells: Cells
    parts: Parts | None
    classes: ClassesOfRows | None = None

    @classmethod
    def of(
        cls, source: Source, parts: Parts | None, classes: ClassesOfRows | None = None
    ) -> "PartCells":
        """Create the cells of the rows of a source."""
        if parts is None and classes is None:
            return cls(Cells(), None)
        splits = [] if parts is None else parts.splits
        of = np.full(len(source), len(splits))
        for part, (_, test) in enumerate(splits):
            of[test] = part
        count = int(of.max()) + 1
        if classes is not None:
            of = of * len(classes.classes) + classes.codes
            count *= len(classes.classes)
        return cls(Cells(listed=of.astype(np.min_scalar_type(count)), count=count), parts, classes)

    def factors(self, part: int | None = None) -> Floats | None:
        """Return the factors of the weights of every cell, without a part or with all; None if a
        class has no rows.
        """
        classes = 1 if self.classes is None else len(self.classes.classes)
        of = np.arange(self.cells.count)
        inside = (of // classes != part).astype(np.float64)
        if self.classes is None:
            return inside
        rows = slice(None) if part is None or self.parts is None else self.parts.splits[part][0]
        of_classes = self.classes.factors(rows)
        return None if of_classes is None else inside * of_classes[of % classes]


def shorter_in_passes(
    source: Source,
    parts: Parts,
    search: Callable[[Any, int], tuple[Mapping[int, Step], int | None] | None],
) -> Shorter:
    """Return a function that computes repetitions without each part from shared sums.

    ``search`` returns the steps that an estimator finds without a part, and the size at which the
    method ended if it determines it; None if there is no shared computation.
    """

    def shorter(
        estimator: Any, repetitions: Sequence[Repetition]
    ) -> Iterator[RepetitionResult | None]:
        outputs = PartOutputs(source, [test for _, test in parts.splits])
        for part in range(len(repetitions)):
            found = search(estimator, part)
            if found is None:
                yield None
                continue
            steps, own = found
            outputs.add(part, linear_models(steps))
            subsets = {size: step.subset for size, step in steps.items()}
            errors = {size: step.error for size, step in steps.items()}
            yield RepetitionResult(subsets, errors, partial(outputs, part), own=own)

    return shorter
