r"""Regularised least squares on a set of features that grows and shrinks, with exact leave-one-out.

Derivation. X is m x n (columns weighted, centred and scaled, see ``design.py``), y is m x T,
P0 projects the intercept out. For the chosen set S let

    A = X_S' X_S + alpha I = R'R      Z = X_S R^-1      P = P0 - ZZ'      a = Z'y
    r = P y (residuals)      p = diag P = 1 - leverage      leave-one-out residual  r_j / p_j

Stack the rows sqrt(alpha) I under X_S and zeros under y: [Z; sqrt(alpha) R^-1] has orthonormal
columns, the ridge problem is ordinary least squares, and a candidate x is orthogonalised against
the chosen columns as in Gram-Schmidt:

    t = Z'x      z = x - Z t      b = R^-1 t
    s = x'Px = |z|^2 + alpha |b|^2      c = x'r = z'r + alpha b'(R^-1 a)      pivot = alpha + s
    add x:   r - z c/pivot      p - z^2/pivot      Z gets z/sqrt(pivot)      R gets (t, sqrt(pivot))

Removing feature b deletes a column of R; an orthogonal Q brings R back to triangular form, turns
Z into ZQ and leaves its last column q = ZQ_last free: r + q (q'y), p + q^2. For all removals at
once, q_b = (X_S A^-1)_b / sqrt((A^-1)_bb) and q_b'y = w_b / sqrt((A^-1)_bb) with w = R^-1 a.

Nothing positive is formed as a difference of large numbers, so alpha may be tiny, columns nearly
collinear, and a hundred additions and removals come back to where they began.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.neighbours import Neighbours
from sparsepath.rls.leave_one_out.removals import best_removal
from sparsepath.rls.update import Changeable, Update, enterable
from sparsepath.rls.wrappers.wrapped import Wrapped


class Finder(Protocol):
    """Finds the best addition to a fitted model, which it follows through all changes."""

    def best(self, fitted: Neighbours, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features; None if there is none."""

    def catch_up(self, fitted: Neighbours) -> None:
        """Called before a feature is dropped, while the last change can still be followed."""

    def may_exchange(
        self, fitted: Neighbours, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """Whether dropping a feature and adding one of the others may get ``below``."""

    def duplicate(self) -> "Finder":
        """A finder for a copy of the model."""


class State(Wrapped[Neighbours], Changeable):
    """What a search asks of leave-one-out: the best change to the chosen features, and to make it.

    Parameters
    ----------
    design, Y, alpha, loss
        As of ``Fitted``.
    finder : Finder
        How the best addition is found; a fresh one, which follows this model only.

    Attributes
    ----------
    model : Neighbours
        The model of the chosen features, which knows what its neighbours are worth.
    """

    def __init__(self, design: Design, Y: Floats, alpha: float, loss: Loss, finder: Finder) -> None:
        super().__init__(Neighbours(design, Y, alpha, loss))
        self.finder = finder
        self.form = ""

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal; see ``RLSState.find_best_update``."""
        if action == "add":
            allowed = enterable(self.model.design.constant, self.chosen, features)
            return self.finder.best(self.model, allowed)
        if action != "drop":
            raise InputError(f"action={action!r}; use 'add' or 'drop'.")
        some = np.ones(len(self.chosen), dtype=bool)
        if features is not None:
            some = np.isin(self.chosen, list(features))
        return best_removal(self.model, some, below) if some.any() else None

    def may_exchange(self, feature: int, others: Callable[[], Iterable[int]], below: float) -> bool:
        """Whether dropping a feature and adding one of the others may leave less than ``below``.

        False only if none of these exchanges does. ``others`` is asked for if it matters who.
        """
        which = np.fromiter(others(), np.intp)
        return self.finder.may_exchange(self.model, feature, which, below)

    def add(self, feature: int) -> None:
        """Add a feature."""
        self.model.add(feature)

    def drop(self, feature: int) -> None:
        """Take a chosen feature out again."""
        self.finder.catch_up(self.model)
        self.model.drop(feature)

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = super().duplicate()
        other.finder = self.finder.duplicate()
        return other
