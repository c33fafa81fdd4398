r"""A floating search as a forward search at once, as long as no removal is worth while.

A floating search adds what a forward search adds, and looks after every addition whether a feature
is to leave. So the features are chosen at once (``whole.py``), and then every size is looked at. At
the first size at which a removal is worth while, the search goes on step by step. What is decided
here is decided by numbers that do not know who chose the features.

With the letters of ``numbers.Noted``, rows [z, d] are orthonormal if coefficients count alpha fold,
and what is left of the target, [r, w], is orthogonal to them. Dropping feature b gives back the
direction q = sum_l d_lb [z_l, d_l] / sqrt(M_bb), where M = d'd, and

    r + c q_z        w + c q_d        p + q_z^2        c = -w_b / sqrt(M_bb)

are what is left of the target, its coefficients, and 1 - leverages. These are at most one, so that
the criterion is no less than the squared residuals, which are known without a look at the samples:

    LOO  >=  |r + c q_z|^2  =  |r|^2 + alpha |w|^2 + c^2 - alpha |w - M_b w_b / M_bb|^2.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.by_products import ProductSearch, by_gram
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.numbers import Noted, Whole
from sparsepath.rls.leave_one_out.whole import chosen_by, is_short, search_in_parts
from sparsepath.tuning import TUNING

DOUBT = 1e-12  # of the target's squares, more than rounding leaves of sums of squares


class PathRemovals:
    """The models of a forward path without one of their features.

    Parameters
    ----------
    design, of, alpha
        The problem.
    basis : array of shape (size, m + size)
        The rows of the path, to be filled.
    """

    def __init__(self, design: Design, of: Centred, alpha: float, basis: Floats) -> None:
        (T, m), size = of.y.shape, len(basis)
        self._alpha, self._total, self._y = alpha, design.total, of.y
        self._Z, self._d = basis[:, :m], basis[:, m:]
        self._along, self._w = np.zeros((size, T)), np.zeros((size + 1, T, size))
        self._M, self._kept = np.zeros((size, size)), float(np.vdot(of.y, of.y))
        self._doubt = DOUBT * self._kept
        self._least: list[list[float]] = [[]]
        self._r, self._p, self._size = of.y.copy(), of.p.copy(), 0

    def extend(self, size: int) -> None:
        """Look at the models up to a size, whose rows are there."""
        step = max(1, TUNING.tile_numbers // max(1, size) ** 2)
        for low in range(len(self._least) - 1, size, step):  # as many as stay in the cache
            self._bound(low, min(size, low + step))

    def _bound(self, low: int, high: int) -> None:
        """What the criterion is at least without each feature, for the sizes after ``low``."""
        d, alpha = self._d[low:high, :high], self._alpha
        self._along[low:high] = a = self._Z[low:high] @ self._y.T
        M = (d[:, :, None] * d[:, None]).cumsum(0)
        M += self._M[:high, :high]
        w = self._w[low, :, :high] - (a[..., None] * d[:, None]).cumsum(0)
        self._M[:high, :high], self._w[low + 1 : high + 1, :, :high] = M[-1], w
        own = M.diagonal(axis1=1, axis2=2).copy()
        own[own == 0.0] = np.inf  # those that come later
        kept = self._kept - np.vecdot(a, a).cumsum()
        self._kept = float(kept[-1])
        least = kept[:, None] + np.square(w).sum(1) / own - self._doubt
        for t in range(w.shape[1]):
            after = w[:, t, None] - (w[:, t] / own)[..., None] * M
            least -= alpha * np.vecdot(after, after)
        least /= self._total
        self._least += [row[:k] for k, row in enumerate(least.tolist(), low)]

    def least_without(self, k: int) -> list[float]:
        """What the criterion is at least after dropping each feature of size k but the last.

        Dropping the last feature gives the size before.
        """
        return self._least[k]

    def errors_without(self, k: int, places: list[int]) -> Floats:
        """The criterion of the model of size k after dropping each of some, by order of entry.

        Sizes are asked for in turn.
        """
        new, self._size = slice(self._size, k), k
        self._r -= self._along[new].T @ self._Z[new]
        self._p -= np.square(self._Z[new]).sum(0)
        E = self._d[:k, places].T
        q, over = E @ self._Z[:k], 1.0 / np.vecdot(E, E)
        left = q * q
        left *= over[:, None]
        left += self._p
        tight = left.min(1) <= ROOM
        left[tight] = ROOM
        errors = np.zeros(len(places))
        for r, w in zip(self._r, self._w[k][:, places], strict=True):
            e = q * (-w * over)[:, None]
            e += r
            e /= left
            errors += np.vecdot(e, e)
        errors[tight] = np.inf
        return errors / self._total


def forward_parts(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    least: int,
    gram: bool = False,
) -> Iterator[tuple[Whole, PathRemovals]]:
    """The forward path as far as it is known, and its removals.

    The arguments are those of ``search_in_parts``, and whether features are chosen by the Gram
    matrix.
    """
    of, given = Centred.of(design, Y), (design, Y, alpha, size, allowed)
    if gram:
        search = ProductSearch(*given, by_gram(design))
        basis, parts = search.basis, search.in_parts(least)
    else:
        noted = Noted(design, of, alpha, size)
        basis, parts = noted.basis, search_in_parts(*given, least, noted)
        if is_short(design):
            subset, vanished = chosen_by(design, of, alpha, size, allowed & ~design.constant)
            noted.extend(columns_of(design, subset))
            parts = iter([noted.path(subset, vanished)])
    removals = PathRemovals(design, of, alpha, basis)
    for found in parts:
        removals.extend(len(found.subset))
        yield found, removals
