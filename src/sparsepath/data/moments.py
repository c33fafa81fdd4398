r"""Sums of products over the rows, from one pass: the first step of searches in passes.

With s a shift near the means (those of the first rows) and x the columns less s, the pass takes

    M = sum over rows of w [x, y, 1] [x, y, 1]'

for every **cell** of the rows. A cell is a set of rows that are on the same side of every split:
the folds of k-fold cross-validation, the stretches between the cuts of a series. The sums of any
training or test part, and of any part without another, are sums of cells; so one pass serves
k-fold criteria, every penalty, every search and the honest error. Means and products of the columns
as the model sees them follow from M without the rows:

    sum w (x - d)(x - d)'  =  M_xx - d M_1x - M_x1 d' + M_11 d d',

and because s is near the means, few digits are lost. Other statistics of all rows (counts, invalid
numbers, the fingerprint) are computed in the same pass.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Marks, row_blocks
from sparsepath.data.classes import encode_targets
from sparsepath.data.columns import is_constant
from sparsepath.data.fingerprint import labels_marked, name_from, random_odd_numbers
from sparsepath.data.sources import Answer, Joined, Part, Slab, Source, plus
from sparsepath.data.validation import some_of
from sparsepath.errors import InputError
from sparsepath.system.arrays import Flags, Floats
from sparsepath.system.executor import Crew

MOST_CLASSES = 1000
FAR_FROM_SHIFT = 30.0  # mean over deviation, after the shift, from which a second pass is taken
NONE = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Coding:
    """Encoding of the targets of a slab: unchanged, or +-1 for classes."""

    classes: NDArray[Any] | None = None

    def __call__(self, y: NDArray[Any]) -> Floats:
        if self.classes is None:
            Y = np.asarray(y, dtype=np.float64)
            return Y[:, None] if Y.ndim == 1 else Y
        codes = np.searchsorted(self.classes, y)
        return encode_targets(codes.astype(np.intp), len(self.classes))


@dataclass(frozen=True, eq=False)
class Cells:
    """Assignment of rows to cells."""

    edges: NDArray[np.int64] | None = None  # rows from edges[c] up to edges[c + 1] are cell c
    listed: NDArray[np.unsignedinteger[Any]] | None = None  # the cell of every row
    count: int = 1

    def __call__(self, start: int, n_rows: int) -> NDArray[np.int64]:
        if self.listed is not None:
            return self.listed[start : start + n_rows].astype(np.int64)
        if self.edges is None:
            return np.zeros(n_rows, dtype=np.int64)
        rows = np.arange(start, start + n_rows)
        return np.searchsorted(self.edges, rows, side="right").astype(np.int64) - 1

    @classmethod
    def folds(cls, m: int, count: int) -> "Cells":
        """Return contiguous folds, as in scikit-learn's ``KFold``."""
        sizes = np.full(count, m // count)
        sizes[: m % count] += 1
        return cls(edges=np.append(0, np.cumsum(sizes)).astype(np.int64), count=count)


def weights_in(slab: Slab, cells: Cells, factors: Floats | None) -> Floats | None:
    """Return the weights of a slab's samples times the factors of their cells; None means ones."""
    if factors is None:
        return slab.weights
    of_rows = factors[cells(slab.start, slab.block.shape[0])]
    return of_rows if slab.weights is None else of_rows * slab.weights


def labels_in(slab: Slab) -> Answer:
    """Return the labels of a slab's samples with positive weight."""
    y = slab.y if slab.weights is None else slab.y[slab.weights > 0]
    return [Joined(np.unique(y), np.union1d)]


def coding_of(source: Source, crew: Crew, classifier: bool) -> Coding:
    """Return the encoding of the targets; a pass finds the labels of a classifier."""
    if not classifier:
        return Coding()
    (found,) = source.total(crew, NONE, labels_in)
    classes = found.value
    if len(classes) < 2:
        raise InputError(f"y has only one class ({classes[0]!r}); at least two are needed.")
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"the target has {len(classes)} distinct values, which are not classes; use "
            "SparseRLSRegressor (--task regression)."
        )
    return Coding(classes)


@dataclass(frozen=True, eq=False)
class SumsByCell:
    """Arrays of sums by cell; addition is by cell."""

    sums: Mapping[int, Answer]

    def __add__(self, other: "SumsByCell") -> "SumsByCell":
        both = dict(self.sums)
        for cell, values in other.sums.items():
            both[cell] = plus(both[cell], values) if cell in both else values
        return SumsByCell(both)

    def stacked(self, count: int) -> list[Any]:
        """Return each array with all cells along its first axis; cells without rows are zero."""
        kinds = next(iter(self.sums.values()))
        out = [np.zeros((count, *np.shape(kind))) for kind in kinds]
        for cell, values in self.sums.items():
            for whole, value in zip(out, values, strict=True):
                whole[cell] = value
        return out


def sums_of(
    slab: Slab, shift: Floats, coding: Coding, cells: Sequence[Cells], gram: bool
) -> Answer:
    """Return the sums M of every cell, for each partition into cells, and statistics of the rows.

    By cell: products (n, n) or none, right sides (n + T + 1, T + 1) of columns against targets and
    one, squares (n), squared weights and the number of rows with positive weight; then counts, and
    marks for the fingerprint.
    """
    block = slab.block
    m, n = block.shape
    Y = coding(slab.y)
    T = Y.shape[1]
    w = np.ones(m) if slab.weights is None else np.asarray(slab.weights, dtype=np.float64)
    V = np.hstack([Y, np.ones((m, 1))])
    of = [each(slab.start, m) for each in cells]
    everyone, total = np.arange(n), np.zeros(n)
    found: list[dict[int, Answer]] = [{} for _ in cells]
    with np.errstate(over="ignore", invalid="ignore"):
        for i, c in [(k, c) for k, of_rows in enumerate(of) for c in np.unique(of_rows).tolist()]:
            part = np.flatnonzero(of[i] == c)
            rows = block if len(part) == m else block.taken(part)
            weights = None if slab.weights is None else w[part]
            wV = w[part, None] * V[part]
            right = np.empty((n + T + 1, T + 1))
            right[:n] = rows.dot(wV) - np.outer(shift, wV.sum(0))
            right[n:] = V[part].T @ wV
            products = rows.gram(shift, weights, everyone) if gram else np.zeros((0, 0))
            squares = np.diag(products).copy() if gram else rows.spread(shift, weights)
            counted = np.count_nonzero(w[part])
            found[i][c] = [products, right, squares, w[part] @ w[part], counted]
            total += right[:n, -1]
        bad = ~np.isfinite(total) & np.isfinite(w).all()
    a = random_odd_numbers(slab.start, m)
    plain_w = w if slab.weights is not None and not np.all(w == 1) else np.zeros(m)
    counts = np.array([m, np.count_nonzero(w), int(plain_w.any()), (w < 0).sum()], dtype=np.int64)
    finite = np.array([(~np.isfinite(Y)).sum(), (~np.isfinite(w)).sum()])
    marks = [block.marks(a), labels_marked(slab.y, a), row_blocks(w[:, None])[0].marks(a)]
    return [*map(SumsByCell, found), counts, bad.astype(np.int64), finite, *marks]


@dataclass(frozen=True, eq=False)
class Moments:
    """The sums M of cells, and the shift of the columns."""

    shift: Floats
    products: Floats | None  # (C, n, n); None where n is too large for it
    right: Floats  # (C, n + T + 1, T + 1): columns, targets and one against targets and one
    squares: Floats  # (C, n)
    ww: Floats  # (C,): sums of squared weights
    counted: Floats  # (C,): rows with a weight

    @property
    def n(self) -> int:
        return self.squares.shape[1]

    def over(self, factors: NDArray[Any]) -> "Moments":
        """Return sums over sets of cells: sets by cells of what the weights are multiplied by."""
        S = factors.astype(np.float64)
        products = None if self.products is None else np.tensordot(S, self.products, 1)
        right, squares = np.tensordot(S, self.right, 1), np.tensordot(S, self.squares, 1)
        ww, counted = S**2 @ self.ww, (S > 0) @ self.counted
        return Moments(self.shift, products, right, squares, ww, counted)


@dataclass(frozen=True, eq=False)
class Sums:
    """Summary of all rows from the first pass.

    ``counts`` has the numbers of rows, of rows with positive weight, of different weights and of
    negative ones; ``marked`` has the marks of columns, targets and weights for the fingerprint.
    """

    moments: Moments
    counts: NDArray[np.int64]
    marked: tuple[Marks, Marks, Marks | None]


@dataclass(eq=False)
class PassColumns:
    """Columns of rows that are read in passes, from sums over the rows: RLS and grafting alike.

    Attributes
    ----------
    source, crew, coding
        The rows, who reads them, and what their targets mean.
    sums : Sums
        Sums over the rows, by cell.
    cells : Cells
        Which rows the sums are kept apart for.
    factors : array of shape (cells,) or None
        What the weights of the rows in a cell are multiplied by; zero: they count as absent.
    right : array of shape (n + T + 1, T + 1)
        Columns less the shift, targets and one, against targets and one.
    shift, left, means, variation, constant
        Of the columns. ``means`` is ``shift`` plus ``left``, rounded; ``variation`` are the squares
        about the means.
    rough : array of shape (n,)
        Norms before centring, which set the rounding error of the sums.
    y_mean, yy : arrays of shape (T,)
        Mean and centred squares of the targets.
    centred_xy : array of shape (n, T)
        Products of the centred columns with the centred targets.
    """

    source: Source
    crew: Crew
    coding: Coding
    sums: Sums
    cells: Cells
    fit_intercept: bool
    standardize: bool
    factors: Floats | None = None

    def __post_init__(self) -> None:
        m = replace(self.sums.moments, products=None).over(self.of_cells[None])
        self.right, squares = m.right[0], m.squares[0]
        right, n, self.shift = self.right, m.n, m.shift
        self._counted, self.total = int(m.counted[0]), float(right[-1, -1])
        x, y = right[:n, -1], right[n:-1, -1]
        self.left = x / self.total if self.fit_intercept else -m.shift
        self.means = m.shift + self.left if self.fit_intercept else np.zeros(n)
        spread = squares - 2 * self.left * x + self.total * self.left**2
        self.variation = spread = np.maximum(spread, 0.0)
        self.constant: Flags = is_constant(spread, spread + self.means**2 * self.total)
        self.constant |= spread <= 1e-15 * squares  # sums about a shift know no better
        self.rough = np.sqrt(squares + self.left**2 * self.total)
        self.y_mean = y / self.total if self.fit_intercept else np.zeros(len(y))
        self.yy = np.maximum(np.diag(right[n:-1, :-1]) - y * self.y_mean, 0.0)
        xy = right[:n, :-1] - np.outer(self.left, y) - np.outer(x, self.y_mean)
        self.centred_xy = xy + self.total * np.outer(self.left, self.y_mean)

    @property
    def of_cells(self) -> Floats:
        """What the weights of the rows in a cell are multiplied by."""
        return np.ones(self.cells.count) if self.factors is None else self.factors

    @property
    def off_centre(self) -> bool:
        """Whether the shift was so inaccurate that digits were lost."""
        off = self.left**2 * self.total > FAR_FROM_SHIFT**2 * self.variation
        return bool(self.fit_intercept and np.any(off & ~self.constant))

    @property
    def knows_all(self) -> bool:
        """Whether all products of columns are known, so that they need no pass."""
        return self.sums.moments.products is not None

    def centred_products(self) -> Floats:
        """Return products of all centred columns, n x n."""
        products, x = self.sums.moments.products, self.right[: len(self.left), -1]
        assert products is not None
        G: Floats = np.tensordot(self.of_cells, products, 1)
        G -= np.outer(x, self.left) + np.outer(self.left, x)
        G += self.total * np.outer(self.left, self.left)
        return G

    def name(self, y: Any = None) -> str:
        """Return the fingerprint."""
        return name_from(int(self.sums.counts[0]), *self.sums.marked)

    def weighted(self, factors: Floats | None) -> Self:
        """Return the same data with other factors of the weights."""
        return replace(self, factors=factors)


def read_sums(
    source: Source,
    crew: Crew,
    shift: Floats,
    coding: Coding,
    cells: Sequence[Cells],
    *,
    whole: bool,
) -> list[Sums]:
    """Read the data once, for several partitions into cells; invalid numbers raise an error.

    ``whole``: with products of all columns.
    """
    answer = source.total(crew, None, sums_of, shift, coding, cells, whole)
    by_cell, (counts, bad, finite, *marks) = answer[: len(cells)], answer[len(cells) :]
    _refuse(source, bad, finite, counts)
    marked = marks[0], marks[1], marks[2] if counts[2] else None
    stacked = [one.stacked(each.count) for one, each in zip(by_cell, cells, strict=True)]
    every = [Moments(shift, one if whole else None, *more) for one, *more in stacked]
    return [Sums(moments, counts, marked) for moments in every]


def first_shift(source: Source, crew: Crew) -> Floats:
    """Return the means of the first rows; zeros for sparse data, which keep their zeros
    implicit.
    """
    shift = np.zeros(source.n_features)
    if not source.sparse:
        (shift,) = crew.ask(source.parts[:1], None, first_means)
    return np.where(np.isfinite(shift), shift, 0.0)


def read_centred(
    source: Source,
    crew: Crew,
    coding: Coding,
    cells: Sequence[Cells],
    made: Callable[[Sums, int], Any],
    whole: bool,
) -> list[Any]:
    """Return the results computed from the sums over each partition into cells, and its number.

    They take one pass, or a second if the first is ``off_centre``: the means of the first rows were
    then too inaccurate, so that digits were lost.
    """
    shift = first_shift(source, crew)
    sums = read_sums(source, crew, shift, coding, cells, whole=whole)
    found = [made(one, i) for i, one in enumerate(sums)]
    if source.sparse or not found[0].off_centre:
        return found
    sums = read_sums(source, crew, found[0].means, coding, cells, whole=whole)
    return [made(one, i) for i, one in enumerate(sums)]


def first_means(part: Part) -> Floats:
    """Return the means of the first rows."""
    slab = next(iter(part.read(None)))
    m = slab.block.shape[0]
    return slab.block.dot(np.full((m, 1), 1 / m))[:, 0]


def _refuse(
    source: Source, bad: NDArray[np.int64], finite: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    if bad.any():
        columns = np.flatnonzero(bad)
        named = columns if source.names is None else [source.names[i] for i in columns.tolist()]
        raise InputError(
            f"{source.where}: NaN or infinity in column {some_of(named)}; impute or drop these "
            "values first."
        )
    if finite[0]:
        raise InputError(f"{source.where}: the target has NaN or infinity in {finite[0]} rows.")
    if finite[1] or counts[3]:
        raise InputError(f"{source.where}: weights must be finite numbers, zero or more.")
    if counts[1] < 2:
        raise InputError(f"{source.where}: at least two samples of positive weight are needed.")
