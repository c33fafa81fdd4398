"""Rows that are read in passes: in memory (dense or sparse), in files, on Dask.

A pass sends a message with small arguments to all rows and adds the results. No array with one
entry per sample is kept between two passes.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np

from sparsepath.data.moments import Cells, Coding
from sparsepath.data.sources import Answer, Columns, Slab, plus
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import Design
from sparsepath.rls.passes.design import StreamDesign, shares_of
from sparsepath.rls.passes.judging import View
from sparsepath.system.arrays import Floats

JUDGED_NUMBERS = 1 << 21  # numbers in the columns that are judged together in memory


class PassRows(Protocol):
    """All rows of a problem, with their targets.

    Attributes
    ----------
    design : Design
        Means, scales and norms of the columns.
    y_mean : array of shape (T,)
    xy : array of shape (n, T)
        Products of the columns, as they stand, with the targets.
    knows_all : bool
        Whether all products of columns are known, and no pass is needed for them.
    held : bool
        Whether the rows are in memory, where a pass over all columns is cheap.
    together : int or None
        How many candidates a pass may judge; None for any number.
    """

    y_mean: Floats
    xy: Floats
    knows_all: bool
    held: bool

    @property
    def design(self) -> Design: ...
    @property
    def together(self) -> int | None: ...

    def gram(self, columns: Columns) -> Floats:
        """Return products of all columns with some, scaled: n x len(columns)."""

    def view(self, columns: Sequence[int], loss: Loss) -> View:
        """Return the transformation of these columns and the targets to those of the model."""

    def ask(self, view: View, message: Callable[..., Answer], *args: Any) -> Answer:
        """Run one pass: return the sum of the results of all rows for a message."""

    def read(self) -> list[float]:
        """Return the amount read so far, for a checkpoint."""

    def was_read(self, record: Sequence[float]) -> None:
        """Add the amount that was read before the checkpoint."""


class RowsInMemory:
    """Rows in memory, dense or sparse; a message is applied to one block of rows at a time.

    ``all_products`` says whether products of all columns are computed at the start.
    """

    held = True

    def __init__(self, design: Design, Y: Floats, all_products: bool) -> None:
        self.design, self.knows_all, self._Y = design, all_products, Y
        w = design.weights
        none = np.zeros(Y.shape[1])
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else none
        self._y_left = (w @ (Y - self.y_mean)) / design.total if design.fit_intercept else none
        self.xy = design.dot(w[:, None] * (Y - self.y_mean - self._y_left))
        self.together = max(64, JUDGED_NUMBERS // design.n_samples)
        self._gram: dict[int, Floats] = {}
        self._all: Floats | None = None
        self._slabs = [
            Slab(block, Y[part], None if design.uniform else w[part], part.start)
            for block, part in zip(design.blocks, design.slices, strict=True)
        ]

    def gram(self, columns: Columns) -> Floats:
        """Return products of all columns with some, scaled: n x len(columns)."""
        design = self.design
        if self.knows_all:
            if self._all is None:
                G = design.products - design.total * np.outer(design.left, design.left)
                self._all = design.scales[:, None] * G * design.scales
            return self._all[:, columns]
        for i in columns.tolist():
            if i not in self._gram:
                self._gram[i] = design.dot((design.weights * design.column(i))[:, None])[:, 0]
        return np.array([self._gram[i] for i in columns.tolist()]).reshape(-1, design.n_features).T

    def view(self, columns: Sequence[int], loss: Loss) -> View:
        """Return the transformation of all columns and the targets; reads nothing."""
        design, every = self.design, Cells(listed=None, count=1)
        shares = shares_of(self._Y, design.weights) if loss.balanced else None
        return View(
            None, design.means, design.left, design.scales, self.y_mean, self._y_left,
            design.total, shares, design.fit_intercept, loss, Coding(), every, None,
        )  # fmt: skip

    def ask(self, view: View, message: Callable[..., Answer], *args: Any) -> Answer:
        """Run one pass: return the sum of the results of all rows for a message."""
        answers = self.design.threads.ask(self._slabs, None, message, view, *args)
        return reduce(plus, answers)

    def read(self) -> list[float]:
        """Return None: nothing is counted in memory."""
        return []

    def was_read(self, record: Sequence[float]) -> None:
        """Do nothing: nothing is counted in memory."""


class StreamedRows:
    """Rows of files, or on a cluster."""

    held = False
    together = None

    def __init__(self, design: StreamDesign) -> None:
        self.design: StreamDesign = design
        self.y_mean, self.xy, self.knows_all = design.y_mean, design.xy, design.knows_all

    def gram(self, columns: Columns) -> Floats:
        """Return products of all columns with some, scaled: n x len(columns)."""
        return self.design.gram(columns)

    def view(self, columns: Sequence[int], loss: Loss) -> View:
        """Return the transformation of these columns and the targets to those of the model."""
        return View.of(self.design, np.unique(np.array(columns, dtype=np.intp)), loss)

    def ask(self, view: View, message: Callable[..., Answer], *args: Any) -> Answer:
        """Run one pass: return the sum of the results of all rows for a message."""
        design = self.design
        return design.source.total(design.crew, view.columns, message, view, *args)

    def read(self) -> list[float]:
        """Return the amount read so far, for a checkpoint."""
        return [self.design.source.passes, self.design.source.readings]

    def was_read(self, record: Sequence[float]) -> None:
        """Add the amount that was read before the checkpoint."""
        if record:
            source = self.design.source
            source.passes, source.readings = record[0], int(record[1])
