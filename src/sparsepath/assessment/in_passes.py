"""Validation of data that are read in passes: held-out parts and shared computations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sparsepath.assessment.folds import Parts, parts_of
from sparsepath.assessment.repetitions import FEW_SAMPLES, Repetition, Searched, Shorter
from sparsepath.assessment.streamed_outputs import PartOutputs, linear_models
from sparsepath.assessment.validation import wanted
from sparsepath.data.moments import Cells
from sparsepath.data.row_values import SourceRows
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step


@dataclass(eq=False)
class SharedValidation:
    """Takes the place of the validation of a selector beneath another, which is what is validated.

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
    asked = wanted(estimator, len(source))
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


def part_cells(source: Source, parts: Parts | None) -> Cells:
    """Return a cell per part; rows in no part have one more."""
    if parts is None:
        return Cells()
    count = len(parts.splits)
    of = np.full(len(source), count, dtype=np.min_scalar_type(count))
    for part, (_, test) in enumerate(parts.splits):
        of[test] = part
    return Cells(listed=of, count=count + int(of.max() == count))


def shorter_in_passes(
    source: Source,
    parts: Parts,
    search: Callable[[Any, int], tuple[Mapping[int, Step], int | None] | None],
) -> Shorter:
    """Return a function that computes repetitions without each part from shared sums.

    ``search`` returns the steps that an estimator finds without a part, and the size at which the
    method ended if it determines it; None if there is no shared computation.
    """

    def shorter(estimator: Any, repetitions: Sequence[Repetition]) -> Iterator[Searched | None]:
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
            yield Searched(subsets, errors, partial(outputs, part), own=own)

    return shorter
