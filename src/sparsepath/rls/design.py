"""The data of least squares: weighted, centred and scaled implicitly."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import DenseBlock, Marks, RowBlock
from sparsepath.data.columns import is_constant
from sparsepath.data.fingerprint import column_marks, name_of
from sparsepath.data.memory_layout import turn
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import Crew, sum_results
from sparsepath.system.tuning import TUNING

COLLINEAR = 1e-10  # norm left of a column, over its norm, that counts as nothing
OFF_CENTRE = 1e-11  # the same over its norm before centring
LIE_AS = (np.float64, np.float32, np.int16, np.uint8)  # types that compiled loops read as they are
COLUMNS_TOGETHER = 48  # columns that are centred together
OFFSET = 100.0  # mean over standard deviation from which the mean is not exact enough


class WeightedBlock(NamedTuple):
    """A block of rows and its sample weights; None means ones."""

    block: RowBlock
    weights: Floats | None

    def sums(self) -> Floats:
        """Return the weighted sum of every column."""
        m = self.block.shape[0]
        return self.block.dot(np.ones((m, 1)) if self.weights is None else self.weights[:, None])

    def spread(self, means: Floats) -> Floats:
        """Return the weighted squares of the columns; infinite on overflow, without a warning."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.block.spread(means, self.weights)

    def centred_sums(self, which: NDArray[np.intp], means: Floats) -> Floats:
        """Return the weighted sums of some columns minus their means."""
        off = self.block.columns(which) - means
        return np.ones(len(off)) @ off if self.weights is None else self.weights @ off

    def gram(self, means: Floats, some: NDArray[np.intp]) -> Floats:
        """Return weighted products of some centred columns."""
        return self.block.gram(means, self.weights, some)


class Design:
    """Row blocks with everything about the columns that does not depend on the target.

    ``measured`` are averages and squares of the centred columns, where both are known and no column
    ``is_far`` from zero; ``marks`` are those of the columns, if they are known.

    Column i stands for ``g * (x_i - mean_i) * scale_i`` with g the roots of the sample weights;
    nothing is copied or filled in.

    Attributes
    ----------
    means, scales : arrays of shape (n,)
        Weighted means (zero without intercept) and scales (one unless standardised).
    left : array of shape (n,)
        Mean of a column after its mean was subtracted: the rounding error of a mean, 1e-16 of it,
        is large relative to the spread of a column with a large offset. Zero if negligible.
    squares : array of shape (n,)
        Squared norms of the columns as they stand.
    sizes : array of shape (n,)
        Norms before centring, which set the rounding error of products with the raw data.
    constant : boolean array of shape (n,)
    """

    def __init__(
        self,
        blocks: Sequence[RowBlock],
        weights: Floats,
        threads: Crew,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        measured: tuple[Floats, Floats] | None = None,
        marks: Marks | None = None,
    ) -> None:
        self.blocks = list(blocks)
        self.threads = threads
        self.fit_intercept, self.standardize = fit_intercept, standardize
        self.weights = weights
        self.total = float(weights.sum())
        edges = list(accumulate((block.shape[0] for block in self.blocks), initial=0))
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        self.n_samples = edges[-1]
        self.n_features = self.blocks[0].shape[1]

        self.uniform = bool((weights == 1.0).all())
        self._parts = [
            WeightedBlock(block, None if self.uniform else weights[part])
            for block, part in zip(self.blocks, self.slices, strict=True)
        ]
        averages, spread = (None, None) if measured is None else measured
        if averages is None:
            averages = sum_results(threads.ask(self._parts, None, WeightedBlock.sums))[:, 0]
            averages /= self.total
        self.means = averages if fit_intercept else np.zeros(self.n_features)
        if spread is None:
            spread = sum_results(threads.ask(self._parts, None, WeightedBlock.spread, self.means))
        self.left = self._second_means(spread)
        np.maximum(spread, 0.0, out=spread)
        with np.errstate(over="ignore"):  # such columns are refused by name
            raw = spread + self.means**2 * self.total
            self.constant: NDArray[np.bool_] = is_constant(spread, raw) | (
                spread + averages**2 * self.total == 0
            )
        if not fit_intercept:
            self.constant = raw == 0
        self.scales = np.ones(self.n_features)
        if standardize:
            live = ~self.constant
            with np.errstate(over="ignore"):  # such columns are refused by name
                self.scales[live] = np.sqrt(self.total / spread[live])
        self.squares = spread * self.scales**2
        self.sizes = np.sqrt(raw) * self.scales
        if marks is not None:
            self.marks = marks

    def _second_means(self, spread: Floats) -> Floats:
        """Return the means of the centred columns, where the first means were inexact.

        The ``spread`` is reduced accordingly.
        """
        left = np.zeros(self.n_features)
        far = is_far(self.means, spread, self.total).nonzero()[0]
        if not len(far):
            return left
        for some in np.split(far, range(COLUMNS_TOGETHER, len(far), COLUMNS_TOGETHER)):
            ask = self.threads.ask
            for sums in ask(self._parts, None, WeightedBlock.centred_sums, some, self.means[some]):
                left[some] += sums
        left /= self.total
        spread -= self.total * left**2
        return left

    def floor(self, which: NDArray[np.intp] | slice = slice(None)) -> Floats:
        """Return the pivots below which columns count as collinear."""
        return COLLINEAR**2 * self.squares[which] + (OFF_CENTRE * self.sizes[which]) ** 2

    def rescale(self, factors: Floats) -> None:
        """Multiply the columns, before anything is computed from them."""
        self.scales *= factors
        self.squares *= factors**2
        self.sizes *= factors

    def column(self, i: int) -> Floats:
        """Return column i over all rows, centred and scaled, not weighted."""
        return self.columns(np.array([i]))[:, 0]

    def columns(self, which: NDArray[np.intp]) -> Floats:
        """Return some columns over all rows, centred and scaled, not weighted."""
        out = np.empty((self.n_samples, len(which)), order="F")
        for block, part in zip(self.blocks, self.slices, strict=True):
            out[part] = block.columns(which)
        out -= self.means[which]
        out -= self.left[which]
        out *= self.scales[which]
        return out

    def rows(self, part: NDArray[np.intp]) -> Floats:
        """Return some rows of all columns, centred and scaled, not weighted."""
        if len(self.blocks) == 1:
            out = np.ascontiguousarray(self.blocks[0].rows(part))
        else:
            out = np.empty((len(part), self.n_features))
            for block, here in zip(self.blocks, self.slices, strict=True):
                inside = (part >= here.start) & (part < here.stop)
                out[inside] = block.rows(part[inside] - here.start)
        out -= self.means
        out -= self.left
        out *= self.scales
        return out

    def whole_matrix(self) -> Floats | None:
        """The matrix itself, samples by features, if it is dense float64."""
        first = self.blocks[0]
        if isinstance(first, DenseBlock) and len(first.whole) == self.n_samples:
            return first.whole if first.whole.dtype == np.float64 else None
        return None

    def as_they_lie(self) -> NDArray[Any]:
        """All dense data, samples by features: the matrix or a copy; read-only.

        It is contiguous, in either order, and of a type in ``LIE_AS``.
        """
        first = self.blocks[0]
        if isinstance(first, DenseBlock) and len(first.whole) == self.n_samples:
            X = first.whole
            if X.dtype in LIE_AS and (X.flags.f_contiguous or X.flags.c_contiguous):
                return X
        out = np.empty((self.n_samples, self.n_features), order="F")
        every = np.arange(self.n_features)
        for block, part in zip(self.blocks, self.slices, strict=True):
            block.columns(every, out[part])
        return out

    def by_feature(self) -> Floats:
        """The data as float64, features by samples, in C order."""
        X = self.as_they_lie()
        if X.dtype == np.float64 and X.flags.f_contiguous:
            return X.T
        out = np.empty(X.shape[::-1])
        turn(X, out, self.threads)
        return out

    streamed = False  # whether rows are read in passes, and cannot be asked for

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.n_samples, self.n_features

    @property
    def steps_together(self) -> int:
        """Number of steps between two checks for Ctrl-C and progress reports."""
        return max(1, TUNING.told_numbers // (self.n_samples * self.n_features))

    @property
    def n_counted(self) -> int:
        """Number of samples with positive weight."""
        return self.n_samples if self.uniform else int(np.count_nonzero(self.weights))

    def record(self) -> dict[str, Any]:
        """Return how the data were read, for the path."""
        return {}

    def name(self, y: Any) -> str:
        """Return the fingerprint of the data with targets y."""
        return name_of(self.n_samples, self.marks, y, None if self.uniform else self.weights)

    @cached_property
    def marks(self) -> Marks:
        """Fingerprint of the columns; see ``data/fingerprint.py``."""
        return column_marks(self.blocks)

    def spread(self, part: NDArray[np.intp]) -> Floats:
        """Return weighted squared norms of the scaled columns over some rows."""
        chosen = np.zeros(self.n_samples)
        np.add.at(chosen, part, self.weights[part])
        parts = zip(self.blocks, self.slices, strict=True)
        total = sum(self.threads.map(lambda b: b[0].spread(self.means, chosen[b[1]]), parts))
        return total * self.scales**2

    def dot(self, V: Floats) -> Floats:
        """Return X'V of the scaled columns, for data in memory; V has one row per sample."""
        parts = zip(self.blocks, self.slices, strict=True)
        products = sum_results(self.threads.map(lambda b: b[0].dot(V[b[1]]), parts))
        return np.asarray(self.scales[:, None] * (products - np.outer(self.means, V.sum(0))))

    @property
    def sparse(self) -> bool:
        """Whether zeros are implicit."""
        return any(block.zeros_implicit for block in self.blocks)

    @cached_property
    def products(self) -> Floats:
        """Products of all columns, centred and weighted but not scaled; zero for constant ones."""
        live = np.flatnonzero(~self.constant)
        total = sum_results(
            self.threads.ask(self._parts, None, WeightedBlock.gram, self.means, live)
        )
        if len(live) == self.n_features:
            return total
        every = np.zeros((self.n_features, self.n_features))
        every[np.ix_(live, live)] = total
        return every


def is_far(means: Floats, spread: Floats, total: float) -> NDArray[np.bool_]:
    """Return which columns are so far from zero that the rounding of the mean matters."""
    with np.errstate(over="ignore"):
        large = means**2 * total > OFFSET**2 * spread
    return np.asarray(large & np.isfinite(spread))
