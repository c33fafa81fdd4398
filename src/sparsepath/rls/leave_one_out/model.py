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

import copy
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import Loss
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import Change, Fitted
from sparsepath.rls.leave_one_out.projection import Candidates
from sparsepath.rls.leave_one_out.removals import best_removal, removal_errors
from sparsepath.rls.update import Costs, Update


class Finder(Protocol):
    """Finds the best addition to a state, which it follows through all changes."""

    def best(self, state: "State", allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features; None if there is none."""

    def catch_up(self, state: "State") -> None:
        """Called before a feature is dropped, while the last change can still be followed."""

    def may_exchange(
        self, state: "State", feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """Whether dropping a feature and adding one of the others may get ``below``."""

    def duplicate(self) -> "Finder":
        """A finder for a copy of the state."""


class State(Fitted):
    """A model fitted to a set of features, and the exact criterion of every neighbouring set.

    Parameters
    ----------
    design : Design
        The data.
    Y : array of shape (m, T)
        Targets; +-1 for the losses that count mistakes.
    alpha : float
        The ridge penalty, zero or more.
    loss : Loss
        How a leave-one-out residual is judged.
    finder : Finder
        How the best addition is found; a fresh one, which follows this state only.

    Attributes
    ----------
    chosen : list of int
        Features in the model, in order of entry.
    error : float
        The criterion, a mean per sample.
    R, a : arrays
        See the derivation above.
    history : list
        The changes made so far, in order.
    """

    def __init__(
        self, design: Design, Y: Floats, alpha: float, loss: Loss, finder: "Finder"
    ) -> None:
        super().__init__(design, Y, alpha, loss)
        self.finder = finder
        self.costs: Costs | None = None
        self.form = ""
        self.candidates = Candidates()

    # The two short-cuts --------------------------------------------------------------------------

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal, judged by the criterion after it.

        Parameters
        ----------
        action : {"add", "drop"}
            What to do with a feature.
        features : iterable of int, optional
            Those that may be added (default: all that are not chosen and not constant) or dropped
            (default: all chosen).
        below : float
            Removals that leave the criterion higher than this are of no interest: None may be the
            answer if there are no others, and is found sooner.

        Returns
        -------
        Update or None
            None if nothing can be added or dropped. Ties go to the lowest index, ties of counts
            to the least squared criterion first.
        """
        if action == "add":
            allowed = ~self.design.constant
            if features is not None:
                some = np.zeros(len(allowed), dtype=bool)
                some[list(features)] = True
                allowed &= some
            allowed[self.chosen] = False
            return self.finder.best(self, allowed)
        if action != "drop":
            raise InputError(f"action={action!r}; use 'add' or 'drop'.")
        some = np.ones(len(self.chosen), dtype=bool)
        if features is not None:
            some = np.isin(self.chosen, list(features))
        return best_removal(self, some, below) if some.any() else None

    def may_exchange(self, feature: int, others: Iterable[int], below: float) -> bool:
        """Whether dropping a feature and adding one of the others may leave less than ``below``.

        False only if none of these exchanges does.
        """
        return self.finder.may_exchange(self, feature, np.fromiter(others, np.intp), below)

    def apply_update(self, update: Update) -> None:
        """Make a change that ``find_best_update`` proposed, or one of your own."""
        if update.action == "add":
            self.add(update.feature)
        else:
            self.drop(update.feature)

    def values(self, features: NDArray[np.intp], errors: Floats, squared: bool = False) -> Floats:
        """What additions are compared by: the criterion, or what it gains per cost."""
        if self.costs is None:
            return errors
        now = self.squared_error if squared else self.error
        return self.costs.worth(features, errors, now)

    def duplicate(self) -> "State":
        """A copy to try changes on."""
        other = copy.copy(self)
        other.rows = [rows.duplicate() for rows in self.rows]
        other.chosen = list(self.chosen)
        other.history = list(self.history)
        other.finder = self.finder.duplicate()
        other.candidates = Candidates()
        return other

    # Judging and making changes -----------------------------------------------------------------

    def errors_with(
        self,
        features: Sequence[int] | NDArray[np.intp],
        overlaps: Floats | None = None,
        squared: bool = False,
    ) -> Floats:
        """The criterion after adding each of these features, one at a time.

        Infinite where that cannot be said: the feature is collinear with the chosen ones, or a
        sample's prediction would rest on that sample alone. ``overlaps`` is Z'x of the features,
        where it is known; a single one without is held ready to be added. ``squared`` asks for
        the squared criterion, whatever the loss.
        """
        which = np.asarray(features, dtype=np.intp)
        hold = len(which) == 1 and overlaps is None
        if hold:
            held = self.candidates.hold(self, int(which[0]))
            t, squares, products = held.t[:, None], np.array([held.square]), held.products[None]
        else:
            t, squares, products = self.candidates.project(self, which, overlaps)
        b = self.solve(t)
        s = squares + self.alpha * np.einsum("ij,ij->j", b, b)
        c = products + self.alpha * (b.T @ self.solve(self.a))
        pivots = s + self.alpha
        usable = self.usable(which, pivots)
        self.is_collinear = ~usable
        pivots = np.where(usable, pivots, 1.0)
        tau = np.where(usable[:, None], c / pivots[:, None], 0.0)
        score = Rows.score_held if hold else Rows.score
        blur = self.blur_with(which)
        parts = self.few(3 + len(which), score, pivots, tau, blur, squared)
        return np.where(usable, added(parts), np.inf)

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is chosen already.")
        held = self.candidates.hold(self, int(feature))
        t, b = held.t, self.solve(held.t)
        pivot = float(held.square + self.alpha * (b @ b) + self.alpha)
        if not self.usable([feature], np.array([pivot]))[0]:
            raise InputError(f"feature {feature} is collinear with the chosen ones.")
        c = held.products + self.alpha * (b @ self.solve(self.a))
        root = np.sqrt(pivot)
        self._measure([*self.chosen, feature], Rows.adopt_measured, root, c / pivot)
        k = len(self.chosen)
        R = np.zeros((k + 1, k + 1), order="F")
        R[:k, :k] = self.R
        R[:k, k] = t
        R[k, k] = root
        self.R = R
        self.a = np.vstack([self.a, c / root])
        self.chosen.append(int(feature))
        self.history.append(Change("add", int(feature)))

    def errors_without(self) -> Floats:
        """The criterion after dropping each chosen feature, in the order of ``chosen``."""
        return removal_errors(self, *self.removals(), np.arange(len(self.chosen)))

    def drop(self, feature: int) -> None:
        """Take a chosen feature out again."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not chosen; these are: {self.chosen}.")
        self.finder.catch_up(self)
        k = len(self.chosen)
        place = self.chosen.index(feature)
        Q, R = qr_delete(np.eye(k), self.R, place, which="col")
        a = Q.T @ self.a
        others = [i for i in self.chosen if i != feature]
        self._measure(others, Rows.release_measured, Q, place, a[-1])
        self.R = np.asfortranarray(R[: k - 1])
        self.a = a[: k - 1]
        del self.chosen[place]
        self.history.append(Change("drop", int(feature), Q, a[-1]))
