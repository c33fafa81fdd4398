"""Outputs of linear models for the rows of a source: one pass for the models of all parts."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.metrics import Floats
from sparsepath.data.folds import Rows
from sparsepath.data.moments import Cells
from sparsepath.data.row_values import in_order
from sparsepath.data.sources import Answer, Joined, Slab, Source
from sparsepath.path.steps import Step

LinearModel: TypeAlias = tuple[NDArray[np.intp], Floats, Floats]  # columns, coefficients, intercept
Models: TypeAlias = Mapping[int, LinearModel]


def linear_models(steps: Mapping[int, Step]) -> dict[int, LinearModel]:
    """Return the models of a path, by size."""
    return {
        size: (np.array(step.subset, dtype=np.intp), step.coef, step.intercept)
        for size, step in steps.items()
        if step.coef is not None and step.intercept is not None
    }


class PartOutputs:
    """Outputs of models for the rows that each part holds out.

    Parts do not overlap. The pass runs when the outputs of a part are first needed, for all models
    that are known by then.
    """

    def __init__(self, source: Source, tests: Sequence[Rows], n_threads: int | None = None) -> None:
        self._source, self._n_threads = source, n_threads
        of = np.full(len(source), len(tests), dtype=np.min_scalar_type(len(tests)))
        for part, rows in enumerate(tests):
            of[rows] = part
        self._cells = Cells(listed=of, count=len(tests) + 1)
        self._models: dict[int, Models] = {}
        self._found: dict[int, dict[int, Floats]] = {}

    def add(self, part: int, models: Models) -> None:
        """Add the models of a part."""
        self._models[part] = models

    def __call__(self, part: int, rows: Rows | None = None) -> dict[int, Floats]:
        """Return the outputs for the rows of a part, by size: rows x targets."""
        if part not in self._found:
            self._read()
        return self._found.pop(part)

    def _read(self) -> None:
        every = [columns for of in self._models.values() for columns, _, _ in of.values()]
        columns = np.unique(np.concatenate(every)).astype(np.intp)
        sent = {part: _stacked(models, columns) for part, models in self._models.items()}
        with self._source.crew(self._n_threads) as crew:
            found = self._source.total(crew, columns, outputs_listed, self._cells, sent)
        for (part, models), joined in zip(self._models.items(), found, strict=True):
            outputs = in_order(joined)
            self._found[part] = {size: outputs[:, j] for j, size in enumerate(models)}
        self._models = {}


def _stacked(models: Models, columns: NDArray[np.intp]) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the columns in use, coefficients of all models, and intercepts."""
    used = np.unique(np.concatenate([of for of, _, _ in models.values()])).astype(np.intp)
    intercepts = np.array([b for _, _, b in models.values()])
    coefs = np.zeros((len(used), *intercepts.shape))
    for j, (of, coef, _) in enumerate(models.values()):
        coefs[np.searchsorted(used, of), j] = coef
    return np.searchsorted(columns, used), coefs, intercepts


def outputs_listed(slab: Slab, cells: Cells, models: Mapping[int, Any]) -> Answer:
    """Return, for each part, the outputs for its rows: rows x models x targets."""
    of, found = cells(slab.start, slab.block.shape[0]), []
    for part, (places, coefs, intercepts) in models.items():
        X = slab.block.taken(np.flatnonzero(of == part)).columns(places)
        outputs = np.tensordot(X, coefs, 1) + intercepts
        found.append(Joined([(slab.start, outputs)], operator.add))
    return found
