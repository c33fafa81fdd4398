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

from collections.abc import Iterator, Sequence

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

DOUBT = 1e-9  # of the norms of target and residuals, more than rounding leaves of their products


class PathRemovals:
    """The models of a forward path without one of their features; sizes are asked for in turn.

    Parameters
    ----------
    design, of, alpha
        The problem.
    basis : array of shape (size, m + size)
        The rows of the path, as far as it goes when a size is asked for.
    """

    def __init__(self, design: Design, of: Centred, alpha: float, basis: Floats) -> None:
        (T, m), size = of.y.shape, len(basis)
        self._alpha, self._total, self._y = alpha, design.total, of.y
        self._basis, self._Z, self._d = basis, basis[:, :m], basis[:, m:]
        self._left = np.zeros((T, m + size))  # of the targets, and their coefficients
        self._left[:, :m], self._p = of.y, of.p.copy()
        self._r, self._w = self._left[:, :m], self._left[:, m:]
        self._everything, self._size = float(np.vdot(of.y, of.y)), 0

    def _go_to(self, k: int) -> None:
        for row, z in zip(self._basis[self._size : k], self._Z[self._size : k], strict=True):
            self._left -= np.outer(self._y @ z, row)
            self._p -= z * z
        self._size = k

    def least_without(self, k: int) -> Floats:
        """What the criterion is at least after dropping each feature of size k but the last.

        Dropping the last feature gives the size before.
        """
        self._go_to(k)
        r, w, d = self._r, self._w[:, :k], self._d[:k, :k]
        M = (d.T @ d)[:-1]
        own, freed = M.diagonal(), w[:, :-1]
        after = w[:, None] - (freed / own)[..., None] * M
        kept = np.vdot(r, r) + self._alpha * np.vdot(w, w) + (freed**2).sum(0) / own
        sure = kept - DOUBT * np.sqrt(self._everything * kept)
        return np.asarray(sure - self._alpha * np.vecdot(after, after).sum(0)) / self._total

    def errors_without(self, k: int, places: Sequence[int]) -> Floats:
        """The criterion of the model of size k after dropping each of some, by order of entry."""
        self._go_to(k)
        E = self._d[:k, list(places)].T
        norms = np.sqrt(np.vecdot(E, E))
        q = (E / norms[:, None]) @ self._Z[:k]
        left = self._p + q * q
        tight = left.min(1) <= ROOM
        np.maximum(left, ROOM, out=left)
        errors = np.zeros(len(places))
        for r, w in zip(self._r, self._w[:, list(places)], strict=True):
            e = q * (-w / norms)[:, None]
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
        removals = PathRemovals(design, of, alpha, search.basis)
        for found in search.in_parts(least):
            yield found, removals
        return
    noted = Noted(design, of, alpha, size)
    removals = PathRemovals(design, of, alpha, noted.basis)
    if not is_short(design):
        for found in search_in_parts(*given, least, noted):
            yield found, removals
        return
    subset, vanished = chosen_by(design, of, alpha, size, allowed & ~design.constant)
    noted.extend(columns_of(design, subset))
    yield noted.path(subset, vanished), removals
