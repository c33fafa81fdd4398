"""Forward search with products of all columns and bounds (``_core/gram_search.cpp``).

For tall data, whose products are small, and for many parts of the same rows, which share them. Only
selected columns and some evaluated candidates are copied.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath._core import gram_search as core
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.forward_path import (
    CentredTargets,
    ForwardPath,
    ForwardSearch,
    in_units,
)
from sparsepath.system.arrays import Floats

PRODUCTS_TOGETHER = 256  # columns that a thread takes products with
KEPT = 128  # rows that a search by products keeps of candidates that were judged, at least
KEPT_NUMBERS = 1 << 24  # and numbers in them that it may keep in any case


def products_pay(m: int, n: int, steps: int, targets: int = 1, parts: int = 1) -> bool:
    """Return whether plain forward searches are faster with the products of all columns.

    ``parts`` of the same rows share the products.

    >>> [products_pay(m, 300, 20) for m in (200, 20000)]
    [False, True]
    """
    shared = m * targets * parts // 16
    return n <= min(m, shared, 8 * (1 + targets) * steps) and m >= 8 * steps


def by_gram(design: Design, Y: Floats, steps: int) -> tuple[Floats, core.Products]:
    """Return the data for a search with products: raw columns, and products of all or some of them.

    Some means those most correlated with the targets. Selecting any other column costs a pass.
    """
    (m, n), X = design.shape, design.by_feature()
    none, zeros, again = np.zeros((0, 0)), np.zeros(n), np.zeros(0, dtype=np.int64)
    if products_pay(m, n, steps, Y.shape[1]):
        products, rows = design.products, np.arange(n)
    else:
        w = design.weights[:, None]
        centred = w * (Y - (w * Y).sum(0) / design.total) if design.fit_intercept else w * Y
        squares = np.where(design.constant, np.inf, design.squares)
        gain = np.square(design.dot(centred)).sum(1) / squares
        some = np.sort(np.argsort(-gain, kind="stable")[:steps])
        V = w * (design.columns(some) / design.scales[some])
        parts = np.split(np.arange(n), range(PRODUCTS_TOGETHER, n, PRODUCTS_TOGETHER))
        strips = design.threads.map(lambda part: V.T @ X[part].T, parts, m * n)
        products = np.ascontiguousarray(np.hstack(strips) - np.outer(V.sum(0), design.means))
        rows = np.full(n, -1)
        rows[some] = np.arange(len(some))
    return X, core.Products(products, none, zeros, zeros, rows, again, none)


class ProductSearch(ForwardSearch):
    """A forward search with products, and its results.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    size : int
        Maximum number of features.
    allowed : array of bool
        Columns that may be selected.
    data : pair
        Raw columns, features by samples, and the columns with products.
    space : Space, optional
        Memory not used by another search at the same time; default: new memory.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        size: int,
        allowed: NDArray[np.bool_],
        data: tuple[Floats, core.Products],
        space: core.Space | None = None,
    ) -> None:
        super().__init__(design, size)
        of, (X, products) = CentredTargets.of(design, Y), data
        self._of = of
        known = design.means, design.left, design.scales, design.squares, design.sizes, of.floor
        allowed, kept = allowed & ~design.constant, rows_kept(*design.shape)
        problem = core.Problem(of.y, of.p, design.weights, float(alpha), size, allowed, kept)
        space = core.Space() if space is None else space
        self._core = core.GramSearch(core.Columns(X, *known), products, problem, space)

    def path(self, until: int) -> ForwardPath:
        """Select features up to this number; return the path so far."""
        found = self._core
        found.advance(until)
        # A view would keep the search, and all that it holds, in memory.
        numbers = found.subset.copy(), found.errors, found.around, found.coef
        return in_units(self.design, self._of, found.size, found.vanished, *numbers)


def rows_kept(m: int, n: int) -> int:
    """Return how many rows of candidates the search keeps."""
    return min(n, max(KEPT, KEPT_NUMBERS // max(m, 1)))
