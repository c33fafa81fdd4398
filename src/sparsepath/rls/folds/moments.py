"""Sums of products over the training and test parts of splits, from which ``model.py`` works."""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import folds as core
from sparsepath.data.splits import Split
from sparsepath.errors import InputError
from sparsepath.rls.design import OFF_CENTRE, Design
from sparsepath.rls.folds.splits import overlap
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

ROWS_AT_ONCE = 4096
# Nanoseconds a number of the data: a product with it, to bring it into order, and per column of
# the Gram matrices.
READ_AGAIN, READ_ONCE, GRAM = 0.4, 3.0, 0.04
ASKED_FOR = 32  # columns, about
FEW_ROWS = 24  # of a fold, up to which what is left of the rows is kept rather than of sums
STILL = 1e-15  # part of a column's squares in a training part that is rounding alone


def is_nothing(alpha: float, design: Design) -> NDArray[np.bool_]:
    """Return columns whose penalty is zero up to rounding."""
    return np.asarray(alpha <= (OFF_CENTRE * design.sizes) ** 2)


class RowsByPart:
    """The rows of data that do not fill the caches, in the order of the parts that make them up.

    Parameters
    ----------
    design : Design
        The data.
    parts : sequence of index arrays
        Every row is in one of them.
    more : array of shape (m, r), optional
        Further columns, to the right of those of the data.

    Attributes
    ----------
    rows : array of shape (m, n + r)
        The columns as they stand, not weighted.
    order, starts : arrays of int
        Which rows they are, and where the parts begin.
    weights : array of shape (m,)
    """

    def __init__(
        self, design: Design, parts: Sequence[NDArray[np.intp]], more: Floats | None = None
    ) -> None:
        self.order = np.concatenate(parts)
        self.starts = np.cumsum([0, *map(len, parts)])
        self.weights = design.weights[self.order]
        self._uniform = design.uniform
        n, right = design.n_features, 0 if more is None else more.shape[1]
        self.rows = np.empty((len(self.order), n + right))
        step = 1 if self.rows.size > TUNING.tile_numbers else len(parts)  # parts taken at once
        for low, high in self._bounds(step):
            self.rows[low:high, :n] = design.rows(self.order[low:high])
        if more is not None:
            self.rows[:, n:] = more[self.order]

    def _bounds(self, step: int = 1) -> list[tuple[int, int]]:
        """Yield bounds of parts, some at a time."""
        cuts = [*self.starts[:-1:step].tolist(), len(self.order)]
        return list(pairwise(cuts))

    def dot(self, V: Floats) -> Floats:
        """Return weighted products of V, in the order of the data: parts x columns of V x n."""
        V = V[self.order] if self._uniform else self.weights[:, None] * V[self.order]
        return np.stack([V[low:high].T @ self.rows[low:high] for low, high in self._bounds()])

    def squares(self) -> Floats:
        """Return weighted squares of the columns over every part."""
        w, rows = self.weights, self.rows
        return np.stack([w[low:high] @ np.square(rows[low:high]) for low, high in self._bounds()])

    def gram(self) -> Floats:
        """Return all products of the columns over every part."""
        rows = self.rows if self._uniform else np.sqrt(self.weights)[:, None] * self.rows
        return np.stack([rows[low:high].T @ rows[low:high] for low, high in self._bounds()])


class SplitSums:
    """Weighted sums of products over parts of the rows, of columns that are centred over all rows.

    Every array has one entry per part: the F test parts, the F training parts, all rows.

    Products of columns come from Gram matrices per part. If columns are needed ``once``
    each, there are many of them and the test parts make up all rows, they come from the rows in the
    order of the parts instead: one reading for each. That is a matter of the data alone, so that
    it is unknown how many columns will be needed.

    Attributes
    ----------
    weight : array of shape (2F + 1,)
    x, squares : arrays of shape (2F + 1, n)
    y, yy : arrays of shape (2F + 1, T)
    xy : array of shape (2F + 1, n, T)
    """

    def __init__(
        self, design: Design, Y: Floats, splits: Sequence[Split], once: bool = False
    ) -> None:
        self._design = design
        m, n = design.n_samples, design.n_features
        w = design.weights
        everyone = np.arange(m)
        pairs = [(everyone[np.asarray(a)], everyone[np.asarray(b)]) for a, b in splits]
        pairs = [(a, b) for a, b in pairs if self._weight(b) > 0]
        if not pairs or any(self._weight(a) <= 0 for a, _ in pairs):
            raise InputError(f"cv must yield parts with {self._needed}, train and test.")
        self.n_splits = len(pairs)
        self.pairs = pairs
        tests = [test for _, test in pairs]
        # What is had by subtraction or addition is not summed again.
        self._complement = [_covers([a, b], m) and self._adds_up([a, b]) for a, b in pairs]
        singly = _covers(tests, m)
        self.overlap = 1.0 if singly else overlap(tests, w)
        self._partition = singly and self._adds_up(tests)
        self._parts = tests + [
            train for (train, _), known in zip(pairs, self._complement, strict=True) if not known
        ]
        if not self._partition:
            self._parts.append(np.arange(m))

        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(Y.shape[1])
        self._right = np.hstack([Y - self.y_mean, np.ones((m, 1))])
        self._gram: Floats | None = None
        self._by_parts: RowsByPart | None = None
        many = once and GRAM * n > READ_AGAIN * ASKED_FOR + READ_ONCE
        in_order = self._partition and all(self._complement) and self.plain and not design.sparse
        in_order &= m * n <= TUNING.read_from_cache
        if many and in_order:
            self._by_parts = parts = RowsByPart(design, tests)
            left = self._all_parts(self._dot(self._right))
            self.squares = self._all_parts(parts.squares())
            beside = [self._right[p].T @ self._ready(self._right, p) for p in self._parts]
            right = self._all_parts(np.stack(beside))
        elif n * n * len(self._parts) <= max(TUNING.split_gram_numbers, m * n // 2):
            if in_order:
                products = RowsByPart(design, tests, self._right).gram()
            else:
                products = np.stack(design.threads.map(self._products, self._parts))
            self._gram = products[:, :n, :n]
            right = self._all_parts(products[:, n:])
            self.squares = self._all_parts(np.einsum("fii->fi", self._gram))
            left, right = right[:, :, :n], right[:, :, n:]
        else:
            left = self._all_parts(self._dot(self._right))
            self.squares = self._all_parts(self._spreads())
            beside = [self._right[p].T @ self._ready(self._right, p) for p in self._parts]
            right = self._all_parts(np.stack(beside))
        self.x, self.xy = left[:, -1], left[:, :-1].transpose(0, 2, 1)
        self.weight, self.y = right[:, -1, -1], right[:, -1, :-1]
        self.yy = np.einsum("ftt->ft", right[:, :-1, :-1])

    def still(self, alpha: float) -> NDArray[np.bool_]:
        """Return columns that vary overall but not in some training fold, without a penalty."""
        design, train = self._design, slice(self.n_splits, 2 * self.n_splits)
        if not design.fit_intercept:
            return np.zeros(design.n_features, dtype=bool)
        left = self.squares[train] - self.x[train] ** 2 / self.weight[train, None]
        nothing = (left <= STILL * self.squares[train]).any(0)
        return nothing & ~design.constant & is_nothing(alpha, design)

    # What a part is: rows with their weights (``pairs/queries.py`` has another answer) ---

    memory = np.inf  # bytes that may be used to keep what is left of the test rows
    plain = True  # whether the rows of a part, with their weights, are all there is to it
    _needed = "samples of positive weight"

    def _weight(self, part: NDArray[np.intp]) -> float:
        """Return the total weight of a part."""
        if self._design.uniform:
            return float(len(part))
        return float(self._design.weights[part].sum())

    def _adds_up(self, parts: Sequence[NDArray[np.intp]]) -> bool:
        """Return whether sums over these parts equal the sums over all rows."""
        return True

    def _ready(self, V: Floats, part: NDArray[np.intp]) -> Floats:
        """Return rows of V so that products with them are the weighted sums over a part."""
        return self._design.weights[part, None] * V[part]

    def _spread(self, part: NDArray[np.intp]) -> Floats:
        """Return the squares of all columns over a part."""
        return self._design.spread(part)

    def _products(self, part: NDArray[np.intp]) -> Floats:
        """Return all products of the columns, the targets and one over a part."""
        design = self._design
        out = np.zeros((design.n_features + self._right.shape[1],) * 2)
        for some in self._batches(part):
            joined = np.hstack([design.rows(some), self._right[some]])
            joined *= np.sqrt(design.weights[some, None])
            out += joined.T @ joined
        return out

    # Sums over all parts ------------------------------------------------------------------------

    @property
    def few_rows(self) -> RowsByPart | None:
        """Return the rows, if they are in memory by folds of few rows each."""
        parts = self._by_parts
        few = parts is not None and len(parts.order) <= FEW_ROWS * self.n_splits
        return parts if few else None

    @cached_property
    def moments(self) -> core.FoldSums:
        """The sums in the form of the compiled loops."""
        of_columns = self.weight, self.x, self.squares, self.xy
        return core.FoldSums(*of_columns, self.y, self.yy, self._sources())

    def _sources(self) -> NDArray[np.int64]:
        """Positions of the training parts and all rows in ``products``; see ``core.FoldSums``."""
        trains = iter(range(self.n_splits, len(self._parts)))
        sources = [-1 if known else next(trains) for known in self._complement]
        return np.array([*sources, -1 if self._partition else len(self._parts) - 1])

    def products(self, i: int) -> Floats:
        """Return products of all columns with column i over the summed parts: parts x n."""
        if self._gram is not None:
            return self._gram[:, i]
        return np.ascontiguousarray(self._dot(self._design.column(i)[:, None])[:, 0])

    def column(self, i: int) -> Floats:
        """Return products of all columns with column i over every part: (2F + 1) x n."""
        return self._all_parts(self.products(i))

    def _all_parts(self, sums: Floats) -> Floats:
        """Return sums over all 2F + 1 parts, from those over the summed parts."""
        F = self.n_splits
        everywhere = sums[:F].sum(0) if self._partition else sums[-1]
        if all(self._complement):
            return np.concatenate([sums[:F], everywhere - sums[:F], everywhere[None]])
        summed = iter(sums[F:])
        trains = [
            everywhere - test if known else next(summed)
            for test, known in zip(sums[:F], self._complement, strict=True)
        ]
        return np.concatenate([sums[:F], np.stack(trains), everywhere[None]])

    def _spreads(self) -> Floats:
        """Return the squares of all columns over every summed part."""
        if len(self._parts) < TUNING.many_parts:
            return np.stack([self._spread(part) for part in self._parts])
        out = np.zeros((len(self._parts), self._design.n_features))
        for f, part in enumerate(self._parts):
            for some in self._batches(part):
                rows = self._design.rows(some)
                out[f] += self._design.weights[some] @ np.square(rows, out=rows)
        return out

    def _dot(self, V: Floats) -> Floats:
        """Return X'V over every summed part: parts x columns of V x n, scaled columns.

        A few parts are read together, by one product with V that is zero outside each of them; many
        parts are read individually.
        """
        if self._by_parts is not None:
            return self._by_parts.dot(V)
        if len(self._parts) < TUNING.many_parts:
            return self._dot_at_once(V)
        design = self._design
        out = np.zeros((len(self._parts), V.shape[1], design.n_features))
        for f, part in enumerate(self._parts):
            ready = self._ready(V, part)
            first = 0
            for some in self._batches(part):
                out[f] += ready[first : first + len(some)].T @ design.rows(some)
                first += len(some)
        return out

    def _batches(self, part: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Yield some rows of a part at a time, so that they fit into memory with all columns."""
        height = max(1, ROWS_AT_ONCE * 256 // max(256, self._design.n_features))
        return np.split(part, range(height, len(part), height))

    def _dot_at_once(self, V: Floats) -> Floats:
        design = self._design
        masked = np.zeros((len(self._parts), *V.shape))
        for there, part in zip(masked, self._parts, strict=True):
            np.add.at(there, part, self._ready(V, part))
        products = design.dot(np.concatenate(list(masked), axis=1))
        return products.T.reshape(len(self._parts), -1, design.n_features)


def _covers(parts: Sequence[NDArray[np.intp]], m: int) -> bool:
    """Return whether the parts contain each of m rows once."""
    return sum(map(len, parts)) == m and bool(np.all(np.bincount(np.concatenate(parts)) == 1))
