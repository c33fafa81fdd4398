"""Parts of the same rows, of which each is searched: products of columns are shared by all.

Products over the rows of a part are those over all rows less those over the rows left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.blocks import GRAM_ROWS, turned
from sparsepath.data.crew import added
from sparsepath.data.threads import Threads
from sparsepath.rls.design import Design, is_far
from sparsepath.rls.forms import default_memory
from sparsepath.rls.leave_one_out.whole import Whole, whole_search
from sparsepath.rls.models import make_design
from sparsepath.tuning import TUNING

PAYS = 8  # products of all columns that pay, over those that single searches would take
COPIED = 0.7  # part of the rows below which a part of them is copied
AHEAD = 2  # columns that products are taken with, beyond each that is likely to be chosen
LEAST_PART = (
    0.01  # part of a column's squares that must be in a part for them to be known by difference
)


@dataclass
class Problems:
    """What the problems have in common, and what differs."""

    X: Any
    Y: Floats
    weights: Floats
    rows: Sequence[NDArray[np.intp]] | None
    alpha: float
    size: int
    allowed: NDArray[np.bool_]
    options: dict[str, Any]
    likely: Sequence[int] = ()


class PartSums(NamedTuple):
    """Over some rows, of columns less their means over all: products, sums, squares, weight."""

    products: Floats
    sums: Floats
    squares: Floats
    weight: float


class SharedParts:
    """Parts of the rows as weights of all rows, and their products from those of all rows.

    A row that is not in a part has no weight there, so that nothing is copied, unless that leaves
    out so many that a copy pays. Products over the
    rows left out are taken once for all parts that leave out the same, or nothing else than those;
    if every row is left out once, they sum to the products over all rows. So do means and squares.

    Where it is known which columns are likely to be chosen, products with these are taken only, and
    with those that come next: that are most correlated with what the likely ones leave of the
    target. A column beyond these that is chosen all the same costs a pass over the data.
    """

    def __init__(self, problems: Problems, threads: Threads) -> None:
        assert problems.rows is not None
        self._problems, self._roots = problems, np.sqrt(problems.weights)
        self._X = turned(problems.X, threads)
        m, n = self._X.shape
        whole = make_design(self._X, problems.weights, threads)
        self._means = whole.means
        self._columns = self._wanted(whole)
        self._row_of = np.full(n, -1)
        self._row_of[self._columns] = np.arange(len(self._columns))
        self._inside = [np.bincount(rows, minlength=m) for rows in problems.rows]
        left_out = [np.flatnonzero(inside == 0) for inside in self._inside]
        self._less: dict[bytes, PartSums] = {}
        if np.array_equal(np.sort(np.concatenate(left_out)), np.arange(m)):
            sums = threads.map(self._sums, left_out)
            self._less = {rows.tobytes(): of for rows, of in zip(left_out, sums, strict=True)}
            self._total = PartSums(*map(sum, zip(*sums, strict=True)))  # type: ignore[arg-type]
        else:
            self._total = self._sums(np.arange(m))

    def _wanted(self, whole: Design) -> NDArray[np.intp]:
        """The columns with which products are taken."""
        of, n = self._problems, self._X.shape[1]
        likely = np.array(of.likely, dtype=np.intp)
        few = len(likely) * (1 + AHEAD)
        if not len(likely) or 2 * few > n or of.Y.ndim == 3:
            return np.arange(n)
        g = self._roots[:, None]
        Z, Y = g * (self._X[:, likely] - self._means[likely]), g * of.Y
        penalty = np.diag(np.maximum(of.alpha, 1e-9 * whole.squares[likely]))
        left = g * (Y - Z @ np.linalg.solve(Z.T @ Z + penalty, Z.T @ Y))
        left -= g**2 * (left.sum(0) / whole.total)
        along = np.square(self._X.T @ left).sum(1) / np.where(whole.constant, np.inf, whole.squares)
        along[likely] = np.inf
        return np.sort(np.argsort(-along, kind="stable")[:few])

    @staticmethod
    def serve(problems: Problems) -> bool:
        """Whether products of all columns cost less than what the searches would take of them."""
        X, rows = problems.X, problems.rows
        if rows is None or problems.weights.ndim > 1 or not isinstance(X, np.ndarray):
            return False
        m, n = X.shape
        fewer = sum(min(len(part), max(m - len(part), 0)) for part in rows)
        needed = PAYS * TUNING.gram_columns * problems.size * sum(map(len, rows))
        return n * fewer <= needed and 8 * n * (n * (len(rows) + 2) + m) <= default_memory()

    def _sums(self, rows: NDArray[np.intp]) -> PartSums:
        from sparsepath.rls.leave_one_out.compiled_parts import picked

        X, n, g = self._X.T, self._X.shape[1], self._roots
        every = len(self._columns) == n
        products, sums, squares = np.zeros((len(self._columns), n)), np.zeros(n), np.zeros(n)
        for part in np.split(rows, range(GRAM_ROWS, len(rows), GRAM_ROWS)):
            V = np.empty((n, len(part)))
            picked(X, part, self._means, g, V)
            products += (V if every else V[self._columns]) @ V.T
            sums += V @ g[part]
            squares += np.einsum("ij,ij->i", V, V)
        return PartSums(products, sums, squares, float(np.square(g[rows]).sum()))

    def search(self, i: int, alone: Threads) -> Whole | None:
        """The path of part i; None if rows come twice in it."""
        if self._inside[i].max() > 1:
            return None
        of, inside = self._problems, self._inside[i].astype(bool)
        X, weights, Y = self._X, of.weights * inside, of.Y[i] if of.Y.ndim == 3 else of.Y
        if np.count_nonzero(inside) < COPIED * len(inside):
            rows = np.flatnonzero(inside)
            X, weights, Y = self._picked(rows).T, weights[rows], Y[rows]
        design = make_design(X, weights, alone, **of.options, measured=self._measured(inside))
        products = (*self._gram(inside), *self._shifts(design), self._row_of)
        return whole_search(design, Y, of.alpha, of.size, of.allowed, data=(X.T, products))

    def _picked(self, rows: NDArray[np.intp]) -> Floats:
        """Some rows of the data as they are, features by samples."""
        from sparsepath.rls.leave_one_out.compiled_parts import picked

        n, m = self._X.shape[1], len(self._X)
        out = np.empty((n, len(rows)))
        picked(self._X.T, rows, np.zeros(n), np.ones(m), out)
        return out

    def _gram(self, inside: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Two matrices of products whose difference is that over the rows inside."""
        left_out, rows, none = np.flatnonzero(~inside), np.flatnonzero(inside), np.zeros((0, 0))
        if (less := self._less.get(left_out.tobytes())) is not None:
            return self._total.products, less.products
        if (half := self._less.pop(rows.tobytes(), None)) is not None:  # left out by another part
            return half.products, none
        if len(left_out) > len(rows):
            return self._sums(rows).products, none
        less = self._less[left_out.tobytes()] = self._sums(left_out)
        return self._total.products, less.products

    def _measured(self, inside: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
        """Means and squares of the columns over the rows inside; None if a pass is more exact."""
        less = self._less.get(np.flatnonzero(~inside).tobytes())
        if less is None or not self._problems.options.get("fit_intercept", True):
            return None
        weight = self._total.weight - less.weight
        off = (self._total.sums - less.sums) / weight
        means, spread = self._means + off, self._total.squares - less.squares - weight * off**2
        exact = (spread >= LEAST_PART * self._total.squares) & ~is_far(means, spread, weight)
        return (means, spread) if exact.all() else None

    def _shifts(self, design: Design) -> tuple[Floats, Floats]:
        """What other means than those of all rows add to products: ef' + fe'."""
        mu, total = self._means, design.total
        if design.fit_intercept:
            off = design.means - mu
            return -0.5 * total * off, off
        parts = zip(design.blocks, design.slices, strict=True)
        along = added([block.dot(design.weights[part, None]) for block, part in parts])[:, 0]
        return along - 0.5 * total * mu, mu
