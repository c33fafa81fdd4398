r"""Linear grafting on rows that are read in passes: files, a cluster.

The first pass takes means, scales and products of the columns (``data/moments.py``).

**Squared loss.** The criterion depends on the rows only through A = sum_i s_i [z_i, y_i][z_i,
y_i]', centred if there is an intercept. So n + 1 rows R with R'R = A replace all rows: minimum and
certificates are the same. No further pass is needed, whatever the penalties.

**Other losses** of one output go by further passes: ``streamed_engine.py``.

**Honest errors.** The first pass computes separate sums for each held-out part. With the squared
loss, means, scales and products without a part are sums over the others. With other losses, the
rows of a part have weight zero in the passes of its fit. One more pass, over the columns in use,
computes the outputs of the models for their held-out rows.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from sparsepath.assessment.in_passes import (
    ClassesOfRows,
    PartCells,
    parts_in_passes,
    shorter_in_passes,
)
from sparsepath.base import Found, Given
from sparsepath.data.moments import Sums, coding_of, read_centred
from sparsepath.data.opening import as_source
from sparsepath.data.row_values import groups_of
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.procedure import Record
from sparsepath.grafting.streamed_design import StreamedGrafting
from sparsepath.grafting.streamed_engine import StreamEngine
from sparsepath.path.steps import Step
from sparsepath.system.threads import Threads

MOST_PRODUCTS = 4096  # columns whose products are all kept
MOST_KEPT = 1 << 24  # in the products of all columns, of all folds


class StreamProblem(GraftingProblem):
    """A ``GraftingProblem`` for data that are read in passes."""

    by_part: PartCells  # cells of the parts that are left out for the honest error
    given: Given

    def __init__(self, data: StreamedGrafting, loss: ConvexLoss) -> None:
        self.data, self.loss = data, loss
        self.design: GraftingDesign = data
        self.units = data.means, data.scales, 0.0
        if not data.knows_all or not isinstance(loss, SquaredLoss):
            self._begin(StreamEngine(data, loss))
            return
        R, y, mean = data.reduced()
        self.units = data.means, data.scales, mean
        s = np.full(len(R), 1 / len(R))
        self.design = GraftingDesign(R, s, Threads(1), fit_intercept=False, standardize=False)
        self.design.usable = data.usable
        self._begin(GramEngine(self.design, y, loss))

    @classmethod
    @contextmanager
    def opened(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any, groups: Any
    ) -> Iterator["StreamProblem"]:
        """The problem of an estimator, while those are at work who read the rows."""
        source = as_source(X, y, sample_weight)
        source.name_columns(estimator)
        ways = estimator.fit_intercept, estimator.standardize
        with source.crew(estimator.n_threads) as crew:
            coding = coding_of(source, crew, hasattr(estimator, "class_weight"))
            loss = estimator._stream_loss(coding.classes)
            together = groups_of(source, crew, groups)
            parts = parts_in_passes(estimator, source, together)
            classes = ClassesOfRows.of(estimator, source, coding.classes)
            by_part = PartCells.of(source, parts, classes)
            cells = by_part.cells
            kept = cells.count * source.n_features**2 <= MOST_KEPT or cells.count == 1
            whole = isinstance(loss, SquaredLoss) and source.n_features <= MOST_PRODUCTS and kept

            def made(sums: Sums, _: int) -> StreamedGrafting:
                if sums.moments.right.shape[2] > 2:
                    raise InputError("y has several targets; this estimator takes one.")
                factors = by_part.factors()
                return StreamedGrafting(source, crew, coding, sums, cells, *ways, factors)

            problem = cls(read_centred(source, crew, coding, [cells], made, whole)[0], loss)
            problem.by_part, problem.given = by_part, Given.of(source, None, groups=together)
            yield problem

    @property
    def source(self) -> Source:
        return self.data.source

    def ways(self, estimator: Any) -> dict[str, Any]:
        """Marks are those of the first pass; folds are left out by passes, or by its sums."""
        data, loss, parts = self.data, self.loss, self.by_part.parts
        penalty = estimator._penalty(estimator.l1, estimator.l0)
        options = estimator._options()

        def without(_: Any, part: int) -> tuple[dict[int, Step], int] | None:
            if (factors := self.by_part.factors(part)) is None:
                return None
            inside = StreamProblem(data.weighted(factors), loss)
            models = inside.fit(penalty, options).record
            steps = {len(model.features): inside.step(model) for model in models.models.values()}
            return steps, len(models.best.features)

        shorter = None if parts is None else shorter_in_passes(data.source, parts, without)
        known = {"n_samples": data.m, "n_features": data.n, "fingerprint": data.name()}
        return {"data": lambda: known, "validation": {"parts": parts, "shorter": shorter}}

    def found(self, record: Record, **fitted: Any) -> Found:
        return replace(super().found(record, **fitted), data=self.source.record())
