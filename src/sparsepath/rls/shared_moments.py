"""Searches on parts of the same rows, which share products of columns.

Products over the rows of a part are the total minus those over the held-out rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import gram_search
from sparsepath._core import tall as core
from sparsepath.data.blocks import GRAM_ROWS
from sparsepath.data.memory_layout import column_major
from sparsepath.rls.design import Design, is_far
from sparsepath.rls.engines import default_memory, make_design
from sparsepath.rls.leave_one_out.forward_path import ForwardPath
from sparsepath.rls.leave_one_out.gram_search import ProductSearch
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import sum_results
from sparsepath.system.threads import Threads

PAYS = 40  # products of columns that pay, for each feature to choose and row to search in
COPIED = 0.7  # part of the rows below which a part of them is copied
AHEAD = 2  # columns that products are taken with, beyond each that is likely to be chosen
LEAST_PART = 0.01  # of a column's squares that a part must have for them to be known by sums
PICKED = 64  # columns that are picked at once
FEW_INEXACT = 10  # columns to each that is not, at least, for sums to serve a part


@dataclass
class Problems:
    """Common and individual data of the problems."""

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
    """Sums over some rows, of columns minus their overall means.

    Products of some columns with all; of all columns with the sides, which are the centred targets
    if common to all parts, and the roots of the weights; of the sides with each other; and squares
    of all columns.
    """

    products: Floats
    sides: Floats
    corner: Floats
    squares: Floats


class SharedParts:
    """Parts of the rows as weights of all rows, and their products from those of all rows.

    A row that is not in a part has no weight there, so that nothing is copied, unless that leaves
    out so many that a copy pays. Sums are taken over the rows of a part or over those left out,
    whichever are fewer, and once for all parts that share them, as two halves do; if every row is
    left out once, they add up to the sums over all rows. Means and squares come of them too.

    Products are computed with the columns that are likely to be selected, and with those most
    correlated with the residual of the target on the likely ones. Selecting any other column costs
    a pass over the data. If the likely columns are unknown, those most correlated with the target
    replace them.
    """

    def __init__(self, problems: Problems, threads: Threads) -> None:
        assert problems.rows is not None
        self._problems, self._roots = problems, np.sqrt(problems.weights)
        self._X = column_major(problems.X, threads, np.float64)
        m, n = self._X.shape
        whole = make_design(self._X, problems.weights, threads)
        self._means, self._constant = whole.means, whole.constant
        Y = np.zeros((m, 0))
        if problems.Y.ndim == 2:
            Y = problems.Y - problems.weights @ problems.Y / whole.total
        self._sides = self._roots[:, None] * np.column_stack([Y, np.ones(m)])
        self._columns = self._wanted(whole)
        self._row_of = np.full(n, -1)
        self._row_of[self._columns] = np.arange(len(self._columns))
        self._inside = [np.bincount(rows, minlength=m) for rows in problems.rows]
        left_out = [np.flatnonzero(inside == 0) for inside in self._inside]
        self._known: dict[bytes, PartSums] = {}
        self._spaces: list[Floats] = []
        self._work: list[gram_search.Space] = []
        if np.array_equal(np.sort(np.concatenate(left_out)), np.arange(m)):
            self._base = [(True, rows) for rows in left_out]
            sums = self._sums(left_out, threads)
            self._known = {rows.tobytes(): of for rows, of in zip(left_out, sums, strict=True)}
            self._total = PartSums(*(sum_results(of) for of in zip(*sums, strict=True)))
        else:
            self._base = [fewer(inside) for inside in self._inside]
            [self._total] = self._sums([np.arange(m)], threads)
        self._last = {rows.tobytes(): i for i, (_, rows) in enumerate(self._base)}

    def _wanted(self, whole: Design) -> NDArray[np.intp]:
        """Return the columns whose products are computed."""
        of, n = self._problems, self._X.shape[1]
        likely = np.array(of.likely, dtype=np.intp)
        step = len(likely) or of.size
        few = n_products(of)
        if few == n:
            return np.arange(n)
        g = self._roots[:, None]
        Y, squares = self._sides[:, :-1], np.where(whole.constant, np.inf, whole.squares)
        while True:
            left = Y
            if len(likely):
                Z = g * (self._X[:, likely] - self._means[likely])
                penalty = np.diag(np.maximum(of.alpha, 1e-9 * whole.squares[likely]))
                left = Y - Z @ np.linalg.solve(Z.T @ Z + penalty, Z.T @ Y)
            left = g * left
            left -= g**2 * (left.sum(0) / whole.total)
            along = np.square(self._X.T @ left).sum(1) / squares
            along[likely] = np.inf
            more = few if len(of.likely) else len(likely) + step
            likely = np.sort(np.argsort(-along, kind="stable")[: min(more, few)])
            if len(likely) == few:
                return likely

    @staticmethod
    def serve(problems: Problems) -> bool:
        """Return whether computing products costs less than the searches would."""
        X, rows = problems.X, problems.rows
        if rows is None or problems.weights.ndim > 1 or not isinstance(X, np.ndarray):
            return False
        (m, n), few = X.shape, n_products(problems)
        fewer = sum(min(len(part), max(m - len(part), 0)) for part in rows)
        needed = PAYS * problems.size * sum(map(len, rows))
        return few * fewer <= needed and 8 * n * (few * (len(rows) + 2) + m) <= default_memory()

    def _sums(self, parts: Sequence[NDArray[np.intp]], threads: Threads) -> list[PartSums]:
        """Return sums over each of some disjoint parts, in one pass over the columns."""
        X, (m, n) = self._X.T, self._X.shape
        every = len(self._columns) == n
        part_of = np.full(m, len(parts))
        for i, rows in enumerate(parts):
            part_of[rows] = i
        T = self._sides.shape[1]
        shapes = (len(self._columns), n), (n, T), (T, T), (n,)
        found = [PartSums(*map(np.zeros, shapes)) for _ in parts]
        for low in range(0, m, GRAM_ROWS):
            here = part_of[low : low + GRAM_ROWS]
            rows = low + np.argsort(here, kind="stable")[: np.count_nonzero(here < len(parts))]
            edges = np.searchsorted(part_of[rows], np.arange(len(parts) + 1))
            space, V = self._space(n, len(rows))
            sides = self._sides[rows]

            def pick(some: slice) -> None:
                core.pick_rows(X[some], rows, self._means[some], self._roots, V[some])  # noqa: B023

            def add(i: int) -> None:
                one = slice(edges[i], edges[i + 1])  # noqa: B023
                if one.start < one.stop:
                    Z, side = V[:, one], sides[one]  # noqa: B023
                    chosen, squares = Z if every else Z[self._columns], np.vecdot(Z, Z)
                    new = chosen @ Z.T, Z @ side, side.T @ side, squares
                    for total, more in zip(found[i], new, strict=True):
                        total += more

            threads.map(pick, [slice(j, j + PICKED) for j in range(0, n, PICKED)], V.size)
            threads.map(add, range(len(parts)), V.size)
            self._spaces.append(space)
        return found

    def _space(self, n: int, rows: int) -> tuple[Floats, Floats]:
        """Return reused memory for some rows, features by samples."""
        space = self._spaces.pop() if self._spaces else np.zeros(0)
        if space.size < n * rows:
            space = np.empty(n * rows)
        return space, space[: n * rows].reshape(n, rows)

    def prepare(self, some: Sequence[int], threads: Threads) -> None:
        """Compute the sums that these parts need, and drop those that no later part needs."""
        self._known = {key: of for key, of in self._known.items() if self._last[key] >= some[0]}
        bases = {rows.tobytes(): rows for _, rows in (self._base[i] for i in some)}
        new = [(key, rows) for key, rows in bases.items() if key not in self._known]
        alone = Threads(1)
        sums = threads.map(lambda one: self._sums([one[1]], alone)[0], new)
        self._known |= {key: of for (key, _), of in zip(new, sums, strict=True)}

    def search(self, i: int, alone: Threads) -> ForwardPath | None:
        """Return the path of part i; None if it should be searched individually.

        That is the case if rows occur twice in it, or sums are too imprecise for many columns.
        """
        if self._inside[i].max() > 1:
            return None
        of, inside = self._problems, self._inside[i].astype(bool)
        plus, less, (_, sides, corner, squares) = self._sums_of(i)
        shares, weight = corner[-1], float(corner[-1, -1])
        off = sides[:, -1] / weight
        spread = np.where(self._constant, 0.0, squares - weight * off**2)
        exact = self._constant | (spread >= LEAST_PART * plus.squares)
        again = np.flatnonzero(of.allowed & ~exact)
        if len(again) * FEW_INEXACT > len(exact):
            return None
        measured, start = None, np.zeros((0, 0))
        if of.options.get("fit_intercept", True) and exact.all():
            means = self._means + off
            if not is_far(means, spread, weight).any():
                measured = means, spread
            left = np.diag(corner) - shares**2 / weight
            if len(left) > 1 and (left >= LEAST_PART * np.diag(plus.corner))[:-1].all():
                start = np.ascontiguousarray((sides - np.outer(off, shares))[:, :-1])
        X, weights, Y = self._X, of.weights * inside, of.Y[i] if of.Y.ndim == 3 else of.Y
        space = None
        if np.count_nonzero(inside) < COPIED * len(inside):
            rows = np.flatnonzero(inside)
            space, part = self._space(X.shape[1], len(rows))
            core.pick_rows(X.T, rows, np.zeros(len(part)), np.ones(len(X)), part)
            X, weights, Y = part.T, weights[rows], Y[rows]
        design = make_design(X, weights, alone, **of.options, measured=measured)
        shifts = self._shifts(design)
        row_of = self._row_of.copy()
        row_of[again] = -1
        known = plus.products, less, *shifts, row_of, again, start
        products = gram_search.Products(*known)
        given = design, Y, of.alpha, of.size, of.allowed
        work = self._work.pop() if self._work else gram_search.Space()
        found = ProductSearch(*given, (X.T, products), work).full_path()
        self._work.append(work)
        if space is not None:
            self._spaces.append(space)
        return found

    def _sums_of(self, i: int) -> tuple[PartSums, Floats, PartSums]:
        """Return sums to subtract from the total for part i, and its sums without products."""
        outside, rows = self._base[i]
        base = self._known[rows.tobytes()]
        if not outside:
            return base, np.zeros((0, 0)), base
        rest = [a - b for a, b in zip(self._total[1:], base[1:], strict=True)]
        return self._total, base.products, PartSums(base.products[:0], *rest)

    def _shifts(self, design: Design) -> tuple[Floats, Floats]:
        """Return the correction of products for other means: ef' + fe'."""
        mu, total = self._means, design.total
        if design.fit_intercept:
            off = design.means - mu
            return -0.5 * total * off, off
        parts = zip(design.blocks, design.slices, strict=True)
        along = sum_results([block.dot(design.weights[part, None]) for block, part in parts])[:, 0]
        return along - 0.5 * total * mu, mu


def n_products(problems: Problems) -> int:
    """Return the number of columns whose products are computed; all if it is most of them."""
    n = problems.X.shape[1]
    few = (len(problems.likely) or problems.size) * (1 + AHEAD)
    return n if 2 * few > n or problems.Y.ndim == 3 else few


def fewer(inside: NDArray[np.intp]) -> tuple[bool, NDArray[np.intp]]:
    """Return whether fewer rows are held out than used, and the smaller set; of halves the
    second.
    """
    left_out, rows = np.flatnonzero(inside == 0), np.flatnonzero(inside)
    outside = (len(left_out), inside[0] == 0) < (len(rows), inside[0] > 0)
    return outside, left_out if outside else rows
