"""The exact criterion of every set that differs by one feature, and the change to it.

The derivation is in ``model.py``.
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.errors import InputError
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import Change
from sparsepath.rls.leave_one_out.projection import Projected
from sparsepath.rls.leave_one_out.removals import removal_errors
from sparsepath.rls.update import Costs


class Additions(NamedTuple):
    """Additions, each on its own.

    Attributes
    ----------
    errors : array
        The criterion with the feature; infinite where that cannot be said: it is collinear with the
        chosen ones, or a sample's prediction would rest on that sample alone.
    collinear : boolean array
    """

    errors: Floats
    collinear: NDArray[np.bool_]


class Neighbours(Projected):
    """A fitted model that can say what each of its neighbours would be worth, and become it.

    The parameters are those of ``Fitted``. With ``costs``, additions are compared by what they
    gain for each unit of cost.
    """

    costs: Costs | None = None

    def values(self, features: NDArray[np.intp], errors: Floats, squared: bool = False) -> Floats:
        """What additions are compared by: the criterion, or what it gains per cost."""
        if self.costs is None:
            return errors
        now = self.squared_error if squared else self.error
        return self.costs.worth(features, errors, now)

    def duplicate(self) -> Self:
        """A copy to try changes on."""
        other = copy.copy(self)
        other.rows = [rows.duplicate() for rows in self.rows]
        other.chosen = list(self.chosen)
        other.history = list(self.history)
        other._held = None
        return other

    def errors_with(
        self, features: Sequence[int] | NDArray[np.intp], squared: bool = False
    ) -> Floats:
        """The criterion after adding each of these features, one at a time."""
        return self.judged_with(features, squared=squared).errors

    def judged_with(
        self,
        features: Sequence[int] | NDArray[np.intp],
        overlaps: Floats | None = None,
        squared: bool = False,
    ) -> Additions:
        """The same, and which of them are collinear with the chosen ones.

        ``overlaps`` is Z'x of the features, where it is known; a single one without is held ready
        to be added. ``squared`` asks for the squared criterion, whatever the loss.
        """
        which = np.asarray(features, dtype=np.intp)
        hold = len(which) == 1 and overlaps is None
        if hold:
            held = self.hold(int(which[0]))
            t, squares, products = held.t[:, None], np.array([held.square]), held.products[None]
        else:
            t, squares, products = self.project(which, overlaps)
        b = self.solve(t)
        s = squares + self.alpha * np.einsum("ij,ij->j", b, b)
        c = products + self.alpha * (b.T @ self.solve(self.a))
        pivots = s + self.alpha
        usable = self.usable(which, pivots)
        pivots = np.where(usable, pivots, 1.0)
        tau = np.where(usable[:, None], c / pivots[:, None], 0.0)
        score = Rows.score_held if hold else Rows.score
        blur = self.loss.blur(self._reach[self.chosen].sum() + self._reach[which])
        parts = self.few(3 + len(which), score, pivots, tau, blur, squared)
        return Additions(np.where(usable, added(parts), np.inf), ~usable)

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is chosen already.")
        held = self.hold(int(feature))
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
