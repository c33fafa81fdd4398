r"""Squared errors along a path over l1, computed only from products of columns.

The criterion depends on the rows only through A = sum_i s_i [z_i, y_i][z_i, y_i]', centred if there
is an intercept. A is computed once over all rows; that of a training part is A minus the
contribution of the held-out rows. So the paths of all parts cost about two passes over the data,
and no further cost grows with the rows.

Precision. Products are centred by the means of all rows, so that the means of a part are small
corrections. Digits are lost by cancellation if a column hardly varies within a part (``SAFE``), or
if the loss is tiny relative to the squared target (``LEAST_LOSS``). In these cases the rows are
used instead, and no result is given here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from sparsepath._core import grafting as core
from sparsepath.grafting.criterion import ConvexLoss, Penalty, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.joint_paths import PathOptimum
from sparsepath.grafting.solver import NO_GRADIENT
from sparsepath.system.arrays import Flags, Floats
from sparsepath.system.tuning import TUNING

SAFE = 1e-6  # least part of a column's square that a part of the rows must leave of it
LEAST_LOSS = 1e-5  # part of the empty model's loss from which certificates keep their digits
FOR_EACH_L1 = 60  # columns whose products cost less than what they save


def by_squares(design: GraftingDesign, loss: ConvexLoss, penalty: Penalty, n_l1s: int) -> bool:
    """Return whether a path with n_l1s values of l1 uses the products of all columns.

    One reading of the data for m n^2 / 2 products, at the speed of matrix products, stands against
    some three readings for each value, at the speed of memory. A column without any penalty is
    left to the rows, where its dual point is made.
    """
    if not isinstance(loss, SquaredLoss) or design.sparse is not None:
        return False
    bare = design.usable & (penalty.l1 == 0.0) & (penalty.l2 == 0.0)
    return design.n <= FOR_EACH_L1 * n_l1s and not bare.any()


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weighted sums over rows: of 1, of [x, y] minus a shift, and of their products."""

    total: float
    sums: Floats
    products: Floats

    @classmethod
    def of(cls, X: NDArray[np.number], y: Floats, weights: Floats, shift: Floats) -> "RowSums":
        m, n = X.shape
        out = np.zeros((n + 1, n + 1), order="F")
        sums = np.zeros(n + 1)
        step = max(256, TUNING.weighted_numbers // (n + 1))
        space = np.empty((min(m, step), n + 1), order="F")
        for i in range(0, m, step):
            rows = slice(i, min(i + step, m))
            A = space[: rows.stop - i]
            np.subtract(X[rows], shift[:n], out=A[:, :n])
            np.subtract(y[rows], shift[n], out=A[:, n])
            w = weights[rows]
            sums += w @ A
            A *= np.sqrt(w)[:, None]
            out = dsyrk(1.0, A, 1.0, out, trans=1, lower=0, overwrite_c=1)
        return cls(float(weights.sum()), sums, np.triu(out) + np.triu(out, 1).T)

    def less(self, other: "RowSums") -> "RowSums":
        """Without the rows of another."""
        return RowSums(
            self.total - other.total, self.sums - other.sums, self.products - other.products
        )


@dataclass(frozen=True, eq=False)
class SquaredProblem:
    """G = Z'sZ, c = Z's y and y's y of standardised columns, and the units of the data."""

    G: Floats
    c: Floats
    yy: float
    usable: Flags
    means: Floats
    scales: Floats
    mean: float

    @property
    def scale(self) -> float:
        """The largest gradient of the empty model, or 1 if all are zero to rounding."""
        top = float(np.abs(self.c[self.usable]).max(initial=0.0))
        return top if top > NO_GRADIENT * np.sqrt(self.yy) else 1.0

    def path(self, l1s: Floats, penalty: Penalty, tol: float) -> Iterator[PathOptimum]:
        """The optima for descending l1, as they are found; ``penalty.l1`` holds the factors."""
        path = self._path(penalty)
        for l1 in l1s.tolist():
            path.go_to(l1, tol)
            good = path.violation <= tol and path.gap <= tol and path.criterion >= self._least
            figures = path.loss, path.criterion, path.violation, path.gap
            yield PathOptimum(path.weights, 0.0, path.gradient, *figures, good)

    @property
    def _least(self) -> float:
        return LEAST_LOSS * 0.5 * self.yy

    def _path(self, penalty: Penalty) -> core.ProductsPath:
        return core.ProductsPath(
            self.G, self.c, self.yy, penalty.l1, penalty.l2, self.usable, self.scale,
            max(self._least, 1e-300),
        )  # fmt: skip


class SharedSums:
    """All rows, and the problems of parts of them.

    Parameters
    ----------
    X, y, weights : arrays of shape (m, n), (m,), (m,)
    design : GraftingDesign
        Of all rows: the means about which products are taken, and which columns vary.
    """

    def __init__(
        self,
        X: NDArray[np.number],
        y: Floats,
        weights: Floats,
        design: GraftingDesign,
    ) -> None:
        self.X, self.y, self.weights = X, y, weights
        self.fit_intercept, self.standardize = design.fit_intercept, design.standardize
        mean = float(weights @ y / weights.sum()) if design.fit_intercept else 0.0
        self.shift = np.append(design.means, mean)
        self.usable = design.usable
        self.all = RowSums.of(X, y, weights, self.shift)

    def problem(self, rows: NDArray[np.intp] | None = None) -> SquaredProblem | None:
        """Return the problem of some rows, or of all; None if products would be too imprecise."""
        of = self.all if rows is None else self._part(rows)
        n = len(self.usable)
        A = of.products / of.total
        centre = of.sums / of.total if self.fit_intercept else np.zeros(n + 1)
        A -= np.outer(centre, centre)
        squares = A.diagonal()[:n]
        lost = A.diagonal() < SAFE * self.all.products.diagonal() / self.all.total
        if lost[:n][self.usable].any() or lost[n]:
            return None
        scales = np.ones(n)
        if self.standardize:
            scales[self.usable] = np.sqrt(squares[self.usable])
        G = np.ascontiguousarray(A[:n, :n])
        if self.standardize:
            G /= np.outer(scales, scales)
        return SquaredProblem(
            G, A[:n, n] / scales, float(A[n, n]), self.usable,
            self.shift[:n] + centre[:n], scales, float(self.shift[n] + centre[n]),
        )  # fmt: skip

    def _part(self, rows: NDArray[np.intp]) -> RowSums:
        inside = np.bincount(rows, minlength=len(self.y))
        away = np.flatnonzero(inside == 0)
        if inside.max() == 1 and len(away) < len(rows):
            return self.all.less(self._over(away)) if len(away) else self.all
        return self._over(rows)

    def _over(self, rows: NDArray[np.intp]) -> RowSums:
        low, high = int(rows[0]), int(rows[-1]) + 1
        some = slice(low, high) if np.array_equal(rows, np.arange(low, high)) else rows
        return RowSums.of(self.X[some], self.y[some], self.weights[some], self.shift)
