r"""Linear grafting on rows that are read in passes: files, a cluster.

The first pass takes means, scales and products of the columns (``data/moments.py``).

**Squared loss.** The criterion knows the rows only by A = sum_i s_i [z_i, y_i][z_i, y_i]', about
the means where there is an intercept. So n + 1 rows R with R'R = A stand for all of them: whatever
is minimised, and every certificate, is the same. No further pass is made, whatever the penalties.

**Other losses** of one output go by further passes: ``streamed_engine.py``.

**Honest errors.** Rows are dealt to folds by their number, and the first pass takes its sums for
each fold by itself. With the squared loss that is all: means, scales and products without a fold
are sums over the others, and so are the squared errors on it. With other losses the rows of a fold
weigh nothing in the passes of its fit, and one more, over the columns in use, takes the losses.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sparsepath.data.moments import Cells, Sums, coding_of, read_centred
from sparsepath.data.opening import taken
from sparsepath.data.sources import Source
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError, warn_user
from sparsepath.grafting.criterion import ConvexLoss, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.gram import GramEngine
from sparsepath.grafting.procedure import Record
from sparsepath.grafting.streamed_design import StreamedGrafting
from sparsepath.grafting.streamed_engine import StreamEngine
from sparsepath.judging import validation
from sparsepath.judging.by_fold import (
    Models,
    left_out_by_fold,
    linear_models,
    losses_by_pass,
    number_of_folds,
    squared_losses,
)
from sparsepath.judging.left_out import FEWEST
from sparsepath.running import Found

MOST_PRODUCTS = 4096  # columns whose products are all kept
MOST_KEPT = 1 << 24  # in the products of all columns, of all folds


class StreamProblem(GraftingProblem):
    """As ``GraftingProblem``, for data that are read in passes."""

    def __init__(self, data: StreamedGrafting, loss: ConvexLoss) -> None:
        self.data, self.loss = data, loss
        self.design: GraftingDesign = data
        self.units = data.means, data.scales, 0.0
        if data.sums.moments.products is None or not isinstance(loss, SquaredLoss):
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
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any
    ) -> Iterator["StreamProblem"]:
        """The problem of an estimator, while those are at work who read the rows."""
        source = taken(X, y, sample_weight)
        if source.groups is not None:
            raise InputError("groups of samples need data in memory; open the data without them.")
        source.name_columns(estimator)
        ways = {"fit_intercept": estimator.fit_intercept, "standardize": estimator.standardize}
        with source.crew(estimator.n_threads) as crew:
            coding = coding_of(source, crew, hasattr(estimator, "class_weight"))
            loss = estimator._stream_loss(coding.classes)
            whole = isinstance(loss, SquaredLoss) and source.n_features <= MOST_PRODUCTS
            cells = _folds(estimator, source, products=whole)

            def made(sums: Sums) -> StreamedGrafting:
                if sums.moments.right.shape[2] > 2:
                    raise InputError("y has several targets; this estimator takes one.")
                return StreamedGrafting(source, crew, coding, sums, cells, **ways)

            yield cls(read_centred(source, crew, coding, cells, made, whole), loss)

    @property
    def source(self) -> Source:
        return self.data.source

    def ways(self, estimator: Any) -> dict[str, Any]:
        """Marks are those of the first pass; folds are left out by passes, or by its sums."""
        data, loss = self.data, self.loss
        penalty = estimator._penalty(estimator.l1, estimator.l0)
        options = estimator._options()
        stick = getattr(estimator, "_yardstick", "squared")

        def without(fold: int) -> tuple[Models, int]:
            part = StreamProblem(data.without(fold), loss)
            models = part.fit(penalty, options).record
            steps = {len(model.features): part.step(model) for model in models.models.values()}
            return linear_models(steps), len(models.best.features)

        def validate(path: Any, rule: Any) -> tuple[Any, Any]:
            moments, count = data.by_cell.moments, data.cells.count
            if count < 2:
                return path, None
            losses = squared_losses(moments)
            if moments.products is None or stick != "squared":
                total = partial(data.source.total, data.crew)
                losses = losses_by_pass(total, data.coding, data.cells, stick)
            weights, label = moments.right[:, -1, -1], f"{count}-fold"
            given = losses, weights, path.sizes, label, stick, rule
            found = validation.judged(path, left_out_by_fold(without, *given), rule)
            found[0].data.update(data.source.record())  # with the passes of all folds
            return found

        known = {"n_samples": data.m, "n_features": data.n, "fingerprint": data.name()}
        return {"data": lambda: known, "validate": validate}

    def found(self, record: Record, **fitted: Any) -> Found:
        return replace(super().found(record, **fitted), data=self.source.record())


def _folds(estimator: Any, source: Source, *, products: bool) -> Cells:
    """The folds of ``validation``; one cell for all rows if there are to be none."""
    asked, m = estimator.validation, source.n_samples
    auto = isinstance(asked, str) and asked == validation.BY_ITSELF
    if asked is None or (auto and not (validation.BY_DEFAULT and m >= FEWEST)):
        return Cells()
    count = number_of_folds(asked, estimator._n_folds, m)
    if products and count * source.n_features**2 > MOST_KEPT:
        warn_user(
            f"products of {source.n_features} columns for {count} folds do not fit into memory: "
            "there is no honest error."
        )
        return Cells()
    return Cells(dealt=True, count=count)
