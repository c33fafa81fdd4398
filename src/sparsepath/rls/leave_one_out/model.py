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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr_delete

from sparsepath.arrays import Floats
from sparsepath.data.blocks import COMPILED_FROM
from sparsepath.data.crew import added
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.block import Measured, Rows, Weighed
from sparsepath.rls.leave_one_out.projection import Candidates
from sparsepath.rls.leave_one_out.removals import best_removal, removal_errors
from sparsepath.rls.update import Costs, Update

COLLINEAR = 1e-10  # norm left of a column, over its norm, that counts as nothing
OFF_CENTRE = 1e-11  # the same over its norm before centring
CANCELLED = 1e-4  # what is left of a difference, over what was taken off, that is known well
VANISHED = 1e-13  # norm left of the residuals, over the target's, that counts as nothing

Result = TypeVar("Result")
Asked = ParamSpec("Asked")


@dataclass(frozen=True)
class Change:
    """An update that was made. For a drop: the rotation Q of Z, and q'y of the column released."""

    action: str
    feature: int
    Q: Floats | None = None
    released: Floats | None = None


class Finder(Protocol):
    """Finds the best addition to a state, which it follows through all changes."""

    def best(self, state: "State", allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features; None if there is none."""

    def catch_up(self, state: "State") -> None:
        """Called before a feature is dropped, while the last change can still be followed."""

    def duplicate(self) -> "Finder":
        """A finder for a copy of the state."""


class State:
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
        if not alpha >= 0 or not np.isfinite(alpha):
            raise InputError(f"alpha={alpha!r}; the penalty must be a finite number, zero or more.")
        self.design, self.alpha, self.loss = design, float(alpha), loss
        self.finder = finder
        self.costs: Costs | None = None
        self.form = ""
        w = design.weights
        g = np.sqrt(w)
        v = loss.sample_weights(Y, w)
        self.n_targets = Y.shape[1]
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(self.n_targets)
        compiled = not design.sparse and design.n_samples * design.n_features >= COMPILED_FROM
        self.is_compiled = compiled and self.n_targets == 1
        live = np.flatnonzero(~design.constant)
        self.rows = [
            Rows(block, Y[part], g[part], v[part], loss, live, compiled, design.left)
            for block, part in zip(design.blocks, design.slices, strict=True)
        ]
        y_left = (w @ (Y - self.y_mean)) / design.total if design.fit_intercept else self.y_mean
        self.each(Rows.begin, self.y_mean, y_left, design.total, design.fit_intercept)
        self.chosen: list[int] = []
        self.R = np.zeros((0, 0))
        self.a = np.zeros((0, self.n_targets))
        self.history: list[Change] = []
        self.candidates = Candidates()
        self._reach = reach_of(design.squares, self.alpha)
        self._squared_weights = float(v @ v)
        self.error = 0.0
        self._measure([], Rows.criterion)
        self.target_squares = float(self.residual_squares.sum())
        self.empty_error = self.error
        self.empty_squared = self.squared_error if self.counts else self.error

    # The model ----------------------------------------------------------------------------------

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        scales = self.design.scales[self.chosen]
        return scales[:, None] * self.solve(self.a)

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    def standard_error(self) -> float:
        """Standard error of ``error`` as a mean over samples.

        From sums about the error before, which is near; unless the difference of the two is so
        much larger than what is left that little would be known of it. Samples of weight zero are
        none.
        """
        m = int(np.count_nonzero(self.design.weights))
        step = self.error - self._about
        moved = step**2 * self._squared_weights
        total = self._around - 2 * step * self._slope + moved
        if not total > CANCELLED * moved:
            total = sum(self.each(Rows.deviation, self.error))
        return float(np.sqrt(total * m / (m - 1)))

    @property
    def counts(self) -> bool:
        """Whether mistakes are counted, so that the squared criterion settles ties."""
        return self.loss.counts

    @property
    def squared_error(self) -> float:
        """The squared criterion, whatever the loss."""
        return float(sum(self.each(Rows.score_squared)))

    def blur_with(self, features: NDArray[np.intp]) -> Floats:
        """How close scores may be and decide nothing, with each of some features added."""
        return np.asarray(self.loss.blur(self._reach[self.chosen].sum() + self._reach[features]))

    def blur_without(self, places: NDArray[np.intp]) -> Floats:
        """The same with the feature at each of some places of ``chosen`` dropped."""
        reach = self._reach[self.chosen]
        return np.asarray(self.loss.blur(reach.sum() - reach[places]))

    def blur_of(self, features: Sequence[int]) -> float:
        """The same for a model of these features."""
        return float(self.loss.blur(self._reach[list(features)].sum()))

    def weighed(self) -> Weighed:
        """Sums over all rows with u = r / p^2; for the squared loss."""
        parts = zip(*self.few(0, Rows.weighed_sums), strict=True)
        return Weighed(*map(added, parts))

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return self.residual_squares.sum() <= VANISHED**2 * self.target_squares

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

    def reserve(self, size: int) -> None:
        """Make room for this many features, so that no column is moved when more come."""
        self.each(Rows.reserve, size)

    def errors_without(self) -> Floats:
        """The criterion after dropping each chosen feature, in the order of ``chosen``."""
        return removal_errors(self, *self.removals(), np.arange(len(self.chosen)))

    def removals(self) -> tuple[Floats, Floats]:
        """For every chosen feature, q in terms of the columns of Z, and tau = -q'y."""
        inverse = self.solve(np.eye(len(self.chosen)))
        norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        return inverse.T / norms, -self.solve(self.a) / norms[:, None]

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

    # Small parts --------------------------------------------------------------------------------

    def each(
        self,
        message: Callable[Concatenate[Rows, Asked], Result],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Result]:
        """Ask every block, by a method of ``Rows``; answers in the order of the blocks."""
        return self.design.threads.ask(self.rows, None, message, *args, **more)

    def few(
        self,
        vectors: int,
        message: Callable[Concatenate[Rows, Asked], Result],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> list[Result]:
        """The same, for a message that reads but few vectors of the length of the samples."""
        numbers = vectors * self.design.n_samples
        return self.design.threads.ask(self.rows, numbers, message, *args, **more)

    def sum(
        self,
        message: Callable[Concatenate[Rows, Asked], Floats],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> Floats:
        """Ask every block and add up the answers."""
        return added(self.each(message, *args, **more))

    def usable(
        self, features: Sequence[int] | NDArray[np.intp], pivots: Floats
    ) -> NDArray[np.bool_]:
        """Which candidates are not collinear with the chosen ones, by their pivots."""
        chosen = np.asarray(features, dtype=np.intp)
        squares, sizes = self.design.squares[chosen], self.design.sizes[chosen]
        floor = COLLINEAR**2 * squares + (OFF_CENTRE * sizes) ** 2
        return (pivots > floor) & ~self.design.constant[chosen]

    def solve(self, b: Floats, transposed: bool = False) -> Floats:
        """R^-1 b, or R^-T b."""
        return triangular(self.R, b, transposed) if len(self.R) else np.zeros_like(b)

    def _measure(
        self,
        features: Sequence[int],
        message: Callable[Concatenate[Rows, float, float, Asked], Measured],
        *args: Asked.args,
        **more: Asked.kwargs,
    ) -> None:
        """The criterion of the model of these features, with what is done to every block first."""
        about = self.error if np.isfinite(self.error) else 0.0
        blur = self.blur_of(features)
        answers = self.few(12 * self.n_targets, message, about, blur, *args, **more)
        self.error = float(sum(a.total for a in answers))
        self.residual_squares = added(a.squares for a in answers)
        self._about = about
        self._around = sum(a.around for a in answers)
        self._slope = sum(a.slope for a in answers)
        if any(a.tight for a in answers):
            self.error = np.inf


def triangular(R: Floats, b: Floats, transposed: bool = False) -> Floats:
    """R^-1 b, or R^-T b, for an upper triangular R that is known to be regular."""
    return lapack.dtrtrs(R, b, trans=int(transposed))[0]
