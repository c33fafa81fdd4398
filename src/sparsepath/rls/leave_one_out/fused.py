r"""Leave-one-out search with P X in memory: every column carries its residual and its coefficients.

With the letters of ``model.py``, let b_i be the ridge coefficients of column i on the chosen
columns S and z_i = x_i - X_S b_i what they leave of it, for every column outside S and in the same
way for the target (r and w). In the augmented space of ``model.py`` these are residuals of
ordinary least squares, so that with

    <i, j>  =  z_i'z_j + alpha b_i'b_j              pivot_i  =  <i, i> + alpha

x_i'Px_j = <i, j> and x_i'r = <i, y>, and a feature k that is added is taken off all the others as
in modified Gram-Schmidt. With D the row [z_k, b_k] and -1 at the new place of k in b,

    row_i  <-  row_i - f_i D            f_i  =  <row_i, D> / pivot_k,

for the target too; p loses z_k^2 / pivot_k. A feature k that is dropped is given back to the others
by the same rule: f_i = -b_i[k], and D holds what the other chosen columns leave of x_k. That is had
from Q, an orthonormal basis of the chosen columns whose last coordinates are those of R^-1: a row
of coordinates tells the direction, and a reflection takes it out of the basis.

One pass over the rows makes a change and takes the sums that bound every candidate from below, the
bound of ``additions.py`` with sum z^2/p^2 in place of |z|^2. Candidates are then judged exactly, in
the order of the bound, until the next bound exceeds the best value.

Rounding. Products are taken with what is left of the columns, as in modified Gram-Schmidt, which is
backward stable. A row of which less than ``SECOND_GO`` is left is computed afresh from the data,
orthogonal to the chosen columns to the last digit, and is then the new measure.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import (
    CarriedChange,
    CarriedColumns,
    columns_of,
)
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.fused_exchanges import (
    NEAR_LIMIT,
    STEEP,
    Columns,
    Exchanges,
    Removals,
)
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.update import Changeable, Second, Update, limit, pick
from sparsepath.tuning import TUNING

ROUNDING = 1e-11  # part of the sums in a bound that may be rounding
JUDGED_AT_ONCE = 8  # candidates judged at once after the first; then four times as many, and so on
LARGEST_BOUND = np.finfo(float).max  # bounds above are infinite: the row is out of the question
MOST_EXCHANGES = 1 << 24  # removals, columns and targets, multiplied, that are looked at at once
ROOM_AT_FIRST = 128  # features for which there is room from the start, at most

Sums = tuple[Floats, Floats, Floats, Floats]


class Fused(Changeable):
    """A model on chosen features by exact leave-one-out, squared loss; searched as ``State`` is.

    All columns are copied. ``size`` says how many features are to be chosen, as far as is known,
    and ``compiled`` whether there is enough to do for compiled loops.
    """

    counts = False  # whether mistakes are counted, so that the squared criterion settles ties

    def __init__(
        self, design: Design, Y: Floats, alpha: float, size: int = 8, compiled: bool = False
    ) -> None:
        self.design, self.alpha = design, float(alpha)
        self.form, self._T = "", Y.shape[1]
        m, n, T, w = design.n_samples, design.n_features, self._T, design.weights
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(T)
        room = max(4, min(size, n, ROOM_AT_FIRST))
        self._columns = CarriedColumns(design, room, compiled)
        self._width = m  # numbers of a row in use: those of the samples, and coefficients
        self._V = np.zeros((2 * T, m + room))  # the target's rows [r, w], then u = r / p^2
        centred = Y - self.y_mean
        if design.fit_intercept:
            centred -= (w @ centred) / design.total
        self._V[:T, :m] = (np.sqrt(w)[:, None] * centred).T
        self._W = np.zeros((2, m + room))  # what squares of a row are weighted by: metric, 1 / p^2
        self._W[0, :m], self._W[0, m:] = 1.0, alpha
        self._Q = np.zeros((room, m + room))
        self.p = 1.0 - w / design.total if design.fit_intercept else np.ones(m)
        self._floor = design.floor()
        self._computed = design.squares + alpha  # pivots of the rows when last computed afresh
        self._live = ~design.constant
        self._features = np.arange(n)
        self.chosen: list[int] = []
        self._places: list[int] = []  # where in a row their coefficients stand
        self._asked: tuple[tuple[int, ...], NDArray[np.bool_]] | None = None
        self._measure()
        self._target_squares = self._residual_squares
        self.empty_error = self.empty_squared = self.error

    # The model ----------------------------------------------------------------------------------

    def _measure(self) -> None:
        """The criterion of the model as it stands, and u."""
        m, T = self.design.n_samples, self._T
        r, tight = self._V[:T, :m], np.count_nonzero(self.p <= ROOM) > 0
        inverse = 1.0 / (np.maximum(self.p, ROOM) if tight else self.p)
        e = r * inverse
        np.multiply(e, inverse, out=self._V[T:, :m])
        np.multiply(inverse, inverse, out=self._W[1, :m])
        self._residual_squares = float(np.vdot(r, r))
        self._ur = float(np.vdot(e, e))
        self._losses = np.square(e[0]) if T == 1 else np.square(e).sum(0)
        self.error = np.inf if tight else self._ur / self.design.total
        self._coef: Floats | None = None
        self._exchanges: Exchanges | str | None = None
        self._followed_sums: Sums | None = None  # of the rows as they are, if they are known

    def standard_error(self) -> float:
        """Standard error of ``error`` as a mean over samples."""
        w = self.design.weights
        m = np.count_nonzero(w)
        off = self._losses - self.error * w
        return float(np.sqrt((off @ off) * (m / (m - 1)))) / self.design.total

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        if self._coef is None:
            coef = self._V[: self._T].take(self._places, axis=1).T
            self._coef = self.design.scales[self.chosen, None] * coef
        return self._coef

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.y_mean - self.design.means[self.chosen] @ self.coef()

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return self._residual_squares <= VANISHED**2 * self._target_squares

    # The two short-cuts -------------------------------------------------------------------------

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal; see ``RLSState.find_best_update``."""
        if action == "add":
            return self._best_addition(self._allowed(features))
        if action != "drop":
            raise InputError(f"action={action!r}; use 'add' or 'drop'.")
        chosen = np.array(self.chosen, dtype=np.intp)
        errors = self.errors_without()
        if features is not None:
            wanted = set(features)
            some = np.array([i in wanted for i in self.chosen], dtype=bool)
            chosen, errors = chosen[some], errors[some]
        tell = self._squared_without if self.counts else None
        return pick("drop", chosen, errors, self.empty_error, second=tell)

    def duplicate(self) -> Self:
        """A copy to try changes on; the rows are shared until one of the two changes them."""
        self._follow()
        other = copy.copy(self)
        other._columns = self._columns.duplicate()
        for name in ("_V", "_W", "p", "_computed", "_live"):
            setattr(other, name, getattr(self, name).copy())
        k = len(self.chosen)
        other._Q = np.zeros_like(self._Q)  # what is not used takes neither time nor memory
        other._Q[:k] = self._Q[:k]
        other.chosen, other._places = list(self.chosen), list(self._places)
        return other

    # Changes ------------------------------------------------------------------------------------

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is chosen already.")
        self._follow()
        if self._columns.lacks(self._features == feature):
            self._columns.own()
        place = self._free_place()
        width = self._width
        metric = self._W[0, :width]
        D = self._columns.rows[feature, :width].copy()
        pivot = float((D * metric) @ D) + self.alpha
        if pivot < SECOND_GO**2 * self.design.squares[feature]:
            D = self._afresh([feature])[0]
            pivot = float((D * metric) @ D) + self.alpha
        if not (self._live[feature] and pivot > self._floor[feature]):
            raise InputError(f"feature {feature} is collinear with the chosen ones.")
        D[place] = -1.0
        dual = D * metric
        dual /= pivot
        targets = self._V[: self._T, :width]
        steps = targets @ dual
        targets -= steps[:, None] * D
        q = np.divide(D, np.sqrt(pivot), out=self._Q[len(self.chosen), :width])
        z = q[: self.design.n_samples]
        self.p -= z * z
        self.chosen.append(int(feature))
        self._places.append(place)
        self._live[feature] = False
        self._columns.pending = CarriedChange(D, dual, pivot, steps * pivot)
        self._measure()

    def drop(self, feature: int) -> None:
        """Take a chosen feature out again."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not chosen; these are: {self.chosen}.")
        self._follow()
        index = self.chosen.index(feature)
        m, width, place = self.design.n_samples, self._width, self._places[index]
        Q = self._Q[: len(self.chosen), :width]
        norm = float(np.linalg.norm(Q[:, place]))
        d = Q[:, place] / -norm
        q = d @ Q
        D = q / norm
        D[place] = -1.0
        targets = self._V[: self._T, :width]
        products = targets[:, place] / norm**2
        targets += targets[:, place, None] * D
        self.p += q[:m] * q[:m]
        # The reflection that takes the direction q to the last place of the basis, which then goes.
        d[-1] += np.copysign(1.0, d[-1])
        Q -= np.outer(d * (2.0 / (d @ d)), d @ Q)
        Q[:, place] = 0.0
        Q[-1] = 0.0
        del self.chosen[index], self._places[index]
        row = D.copy()
        row[place] = 0.0
        self._live[feature] = True
        self._computed[feature] = norm**-2
        self._columns.put_back(feature, row)
        self._columns.pending = CarriedChange(D, D, -(norm**-2), products, place - m)
        self._measure()

    def errors_without(self) -> Floats:
        """The criterion after dropping each chosen feature, in the order of ``chosen``."""
        return self._squares_without()

    def _squared_without(self, features: NDArray[np.intp]) -> Second:
        """The squared criterion with each of some features dropped."""
        squared = self._squares_without()[[self.chosen.index(i) for i in features]]
        return Second(squared, squared, self.empty_squared)

    def _squares_without(self) -> Floats:
        e, left = self._without()
        e /= left
        total = np.vecdot(e, e).sum(0)
        tight = left.min(1, initial=np.inf) <= ROOM
        return np.where(tight, np.inf, total / self.design.total)

    def _removals(self) -> Removals:
        """The directions in which each chosen feature is dropped."""
        Q = self._Q[: len(self.chosen)]
        directions = -Q[:, self._places].T
        norms = np.linalg.norm(directions, axis=1)
        directions /= norms[:, None]
        q = directions @ Q[:, : self.design.n_samples]
        return Removals(norms, q, directions @ Q[:, self._places])

    def _without(self) -> tuple[Floats, Floats]:
        """Residuals, T x |S| x m, and p, |S| x m, with each chosen feature dropped."""
        norms, q, _ = self._removals()
        r = (self._V[: self._T, self._places] / norms)[:, :, None] * q
        r += self._V[: self._T, None, : self.design.n_samples]
        return r, self.p + q * q

    def may_exchange(self, feature: int, others: Callable[[], Iterable[int]], below: float) -> bool:
        """Whether dropping a feature and adding another may do; see ``State.may_exchange``."""
        if self._exchanges is None:
            self._exchanges = self._all_exchanges()
        if isinstance(self._exchanges, str):
            return True
        most = limit(below, self.empty_error) * self.design.total * (1.0 + NEAR_LIMIT)
        return self._exchanges.may_reach(self.chosen.index(feature), most, others)

    def _all_exchanges(self) -> Exchanges | str:
        """What is known of all exchanges, or why that is too little."""
        if len(self._features) * len(self.chosen) * self._T > MOST_EXCHANGES:
            return "too many"
        self._follow()
        removals = self._removals()
        if np.any(removals.norms**2 * self.design.squares[self.chosen] > STEEP):
            return "nearly collinear"
        m, T, carried = self.design.n_samples, self._T, self._columns
        B = carried.rows[:, self._places]
        columns = Columns(carried.rows[:, :m], B, self._live, *self._known)
        w, r = self._V[:T, self._places].T, self._V[:T, :m]
        return Exchanges(removals, columns, w, r, self.p, self.alpha, carried.compiled)

    # Which addition is best ---------------------------------------------------------------------

    def _allowed(self, features: Iterable[int] | None) -> NDArray[np.bool_]:
        if features is None:
            return self._live
        if self._asked is None or self._asked[0] is not features:
            mask = np.zeros(len(self._live), dtype=bool)
            mask[np.fromiter(features, np.intp)] = True
            if not isinstance(features, tuple):  # others may change until they come again
                return mask & self._live
            self._asked = features, mask
        return self._asked[1] & self._live

    def _best_addition(self, allowed: NDArray[np.bool_]) -> Update | None:
        pivots, c, h, q = self._sums(allowed)
        closed = pivots <= self._floor
        closed |= ~allowed
        pivots[closed] = np.inf
        inverse = 1.0 / pivots
        tau = c * inverse[:, None]
        if len(tau) * self.design.n_samples <= TUNING.everyone_up_to and not self._columns.compiled:
            errors = self._errors(slice(None), inverse, tau)
            errors[closed] = np.inf
            return pick("add", self._features, errors, self.empty_error, self._values(errors))
        # By Cauchy and Schwarz 2 |tau h| <= u'r + tau^2 q, so that this is more than rounding.
        change = tau * ((1.0 - 2.0 * ROUNDING) * q)[:, None]
        change -= 2.0 * h
        change *= tau
        bounds = change[:, 0] if self._T == 1 else change.sum(1)
        bounds += (1.0 - 2.0 * ROUNDING) * self._ur
        bounds = self._values(bounds / self.design.total)
        bounds[closed] = np.inf
        some, batch, least = np.array([bounds.argmin()], dtype=np.intp), JUDGED_AT_ONCE, np.inf
        if closed[some[0]]:
            return None
        judged: list[tuple[NDArray[np.intp], Floats, Floats]] = []
        while len(some):
            errors = self._errors(some, inverse[some], tau[some])
            judged.append((some, errors, self._values(errors, some)))
            least = min(least, float(judged[-1][2].min()))
            bounds[some] = np.inf
            some = (bounds <= min(limit(least, self.empty_error), LARGEST_BOUND)).nonzero()[0]
            if len(some) > batch:
                some = some[np.argsort(bounds[some], kind="stable")[:batch]]
                batch *= 4
        features, errors, values = map(np.concatenate, zip(*judged, strict=True))
        return pick("add", features, errors, self.empty_error, values)

    def _errors(self, some: slice | NDArray[np.intp], inverse: Floats, tau: Floats) -> Floats:
        """The criterion with each of some features added."""
        errors = self._columns.judged(some, inverse, tau, self._V[: self._T], self.p)
        errors /= self.design.total
        return errors

    def _values(self, errors: Floats, features: NDArray[np.intp] | None = None) -> Floats:
        """What additions are compared by: the criterion, or what it gains per cost."""
        if self.costs is None:
            return errors
        return self.costs.worth(
            self._features if features is None else features, errors, self.error
        )

    def _sums(self, allowed: NDArray[np.bool_]) -> Sums:
        """Of every row: pivot; per target <row, y> and z'u; sum z^2/p^2."""
        if self._followed_sums is not None:
            pivots, c, h, q = self._followed_sums
            return pivots.copy(), c, h, q
        if self._columns.lacks(allowed):
            self._columns.own()
        sums, doubtful = self._pass()
        if self._columns.borrowed and allowed[doubtful].any():
            self._columns.own()
            sums, doubtful = self._pass()
        if len(doubtful) and not self._columns.borrowed:
            self._renew(doubtful)
            sums, _ = self._pass()
        return sums

    def _follow(self) -> None:
        """Make the rows follow the last change."""
        if self._columns.pending is not None:
            self._columns.own()
            sums, doubtful = self._pass()
            if len(doubtful):
                self._renew(doubtful)
            else:
                self._followed_sums = sums

    def _pass(self) -> tuple[Sums, NDArray[np.intp]]:
        """One pass over the rows: a pending change, and the sums; which rows are in doubt."""
        T = self._T
        pivots, products, squares = self._swept()
        doubtful = pivots < SECOND_GO**2 * self._computed
        if np.count_nonzero(doubtful):
            doubtful &= self._live & (pivots > self._floor)
        np.maximum(self._computed, pivots, out=self._computed)
        self._known = pivots.copy(), products[:, :T]
        return (pivots, products[:, :T], products[:, T:], squares), doubtful.nonzero()[0]

    def _swept(self) -> tuple[Floats, Floats, Floats]:
        """A pending change made; of every row the pivot, products with r and u, sum z^2/p^2."""
        W = self._W[:, : self._width]
        products, squares = self._columns.sums(self._live, self._V[:, : self._width] * W[0], W)
        return squares[:, 0] + self.alpha, products, squares[:, 1]

    # Small parts --------------------------------------------------------------------------------

    def _renew(self, features: NDArray[np.intp]) -> None:
        """Compute some rows afresh from the data."""
        width = self._width
        step = max(1, TUNING.thread_numbers // width)
        for i in range(0, len(features), step):
            some = features[i : i + step]
            rows = self._afresh(some)
            self._columns.rows[some, :width] = rows
            self._computed[some] = (rows * rows) @ self._W[0, :width] + self.alpha

    def _afresh(self, features: Sequence[int] | NDArray[np.intp]) -> Floats:
        """The rows of some features, orthogonal to the chosen columns to the last digit."""
        width, Q = self._width, self._Q[: len(self.chosen), : self._width]
        rows = np.zeros((len(features), width))
        rows[:, : self.design.n_samples] = columns_of(self.design, features)
        dual = (Q * self._W[0, :width]).T
        for _ in range(2):
            rows -= (rows @ dual) @ Q
        return rows

    def _free_place(self) -> int:
        """Where the coefficients of one more feature can stand, with room made if there is none."""
        m = self.design.n_samples
        if self._width - m > len(self.chosen):
            return min(set(range(m, self._width)) - set(self._places))
        if self._width == self._V.shape[1]:
            room = self._width - m
            more = min(max(room, 8), self.design.n_features - room)
            self._columns.widen(more)
            self._V = np.pad(self._V, ((0, 0), (0, more)))
            self._W = np.pad(self._W, ((0, 0), (0, more)))
            self._W[0, -more:] = self.alpha
            self._Q = np.pad(self._Q, ((0, more), (0, more)))
        self._width += 1
        return self._width - 1
