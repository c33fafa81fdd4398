r"""A floating search as a forward search at once, as long as no removal is worth while.

A floating search adds what a forward search adds, and looks after every addition whether a feature
is to leave. So the features are chosen at once (``whole.py``), and then every size is looked at:
with the letters of ``fused.py``, E the coordinates of the basis on the chosen features, dropping b
gives back the direction q = sum_l E_lb q_l / |E_b|, and

    r + q w_b / |E_b|        p + q^2

are what is left of the target and of the leverages. At the first size at which a removal is worth
while, the search goes on step by step. What is decided here is decided by numbers that do not
know who chose the features.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.by_products import search_by_gram
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.numbers import Noted, Whole
from sparsepath.rls.leave_one_out.whole import chosen_by, is_short, search_in_parts
from sparsepath.tuning import TUNING

SURE = 1.0 - 1e-9  # of squared residuals; the rest is more than rounding


class NotedRemovals(Noted):
    """A forward path, and what its models are without one of their features."""

    _products = np.zeros((0, 0))

    def least_without(self, k: int) -> float:
        """What the criterion is at least after dropping a feature of size k but the last.

        1 - leverages are at most one, so that it is no less than the squared residuals, which are
        known from products of the basis. Dropping the last feature gives the size before. Where
        judging all takes no longer, it is zero.
        """
        Z, E = self._Z[:k], self._d[:k, : k - 1]
        if Z.size < TUNING.removals_bounded_from:
            return 0.0
        r, w = self._rp[k, :-1], self._w[k, :, : k - 1]
        norms = np.sqrt(np.vecdot(E.T, E.T))
        along = (E / norms).T @ (Z @ r.T)
        square = np.vecdot(E.T, E.T @ self._among(k)) / norms**2
        change = (-w / norms).T
        residuals = np.vdot(r, r) + (change * (2.0 * along + change * square[:, None])).sum(1)
        return float(SURE * residuals.min(initial=np.inf)) / self._design.total

    def _among(self, k: int) -> Floats:
        """Products of the first k rows of the basis, as far as samples go."""
        known = len(self._products)
        if known < k:
            more = self._Z[known:k] @ self._Z[:k].T
            self._products = np.pad(self._products, (0, k - known))
            self._products[known:] = more
            self._products[:, known:] = more.T
        return self._products[:k, :k]

    def errors_without(self, k: int) -> Floats:
        """The criterion of the model of size k after dropping each feature, in order of entry."""
        E = self._d[:k, :k]
        norms = np.sqrt(np.vecdot(E.T, E.T))
        q = (E / norms).T @ self._Z[:k]
        left = self._rp[k, -1] + q * q
        tight = left.min(1) <= ROOM
        np.maximum(left, ROOM, out=left)
        errors = np.zeros(k)
        for r, w in zip(self._rp[k, :-1], self._w[k, :, :k], strict=True):
            e = q * (-w / norms)[:, None]
            e += r
            e /= left
            errors += np.vecdot(e, e)
        errors[tight] = np.inf
        return errors / self._design.total


def forward_parts(
    design: Design,
    Y: Floats,
    alpha: float,
    size: int,
    allowed: NDArray[np.bool_],
    least: int,
    gram: bool = False,
) -> Iterator[tuple[Whole, NotedRemovals]]:
    """The forward path as far as it is known, with what removals are judged from.

    The arguments are those of ``search_in_parts``, and whether features are chosen by the Gram
    matrix.
    """
    of = Centred.of(design, Y)
    noted = NotedRemovals(design, of, alpha, size)
    if gram:
        for found in search_by_gram(design, Y, alpha, size, allowed, least):
            noted.extend(columns_of(design, found.subset[noted.size :]))
            yield noted.path(found.subset, found.vanished), noted
        return
    if not is_short(design):
        for found in search_in_parts(design, Y, alpha, size, allowed, least, noted):
            yield found, noted
        return
    subset, vanished = chosen_by(design, of, alpha, size, allowed & ~design.constant)
    noted.extend(columns_of(design, subset))
    yield noted.path(subset, vanished), noted
