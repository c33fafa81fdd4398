r"""Which feature to add next: two ways to the same answer.

``EveryFinder`` evaluates every candidate, a few columns at a time. ``BoundFinder``, for the squared
loss, needs to evaluate only a few candidates:

Adding a feature only lowers p. With the letters of ``model.py``, u = r / p^2 before the step,
tau = c/pivot, h = x'Pu and q = |z|^2,

    LOO(x)  >=  sum_j (r_j - z_j tau)^2 / p_j^2  >=  u'r - 2 tau h + tau^2 q.

Since Z'Z = I - alpha R^-T R^-1, also x'P^2x = |z|^2 = s - alpha |b|^2 and
x'Pr = c - alpha t'R^-T R^-1 a, so that all bounds follow from t = X'Z, which gains a column per
step, and from X'u. Candidates are evaluated exactly in the order of the bound until the next
bound exceeds the best exact value.

X'u takes a pass over X, or for some candidates their columns. So h is first bounded, with
beta = u'r / r'r, by |x'P(u - beta r)| <= |z| |u - beta r|, and x'u computed only for candidates
that this leaves open; at first, and if in the step before it left nobody but the best, only
after that one has been evaluated. How t is come by: ``following.py``.

Rounding. The quantities for all candidates (s, c, t) only order the work. Their error is
estimated and the bounds are lowered by it; every decision rests on an evaluation from the columns
themselves.
"""

import copy

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.bounds import ROUNDED_PRODUCTS, least_errors
from sparsepath.rls.leave_one_out.exchanges import may_exchange
from sparsepath.rls.leave_one_out.fitted_rows import Weighed
from sparsepath.rls.leave_one_out.following import Follower, centred
from sparsepath.rls.leave_one_out.neighbours import Neighbours
from sparsepath.rls.update import Second, Update, limit, pick
from sparsepath.tuning import TUNING

CANDIDATES_AT_ONCE = 8  # candidates evaluated at once
EVERY_NUMBERS = 1 << 18  # numbers in the columns evaluated at once, when everybody is
CANDIDATES_AT_MOST = 16  # and at most, of a great number that are still open,
MOST_WIDE = 64  # or up to this many, if there are so many columns that these are few
CANDIDATES_AT_FIRST = 1  # and at first: often the most hopeful settles the matter
PASS_FROM = 0.3  # share of candidates whose products with u are better had from one pass over X
KNOWN_WELL = 1e-6  # that error over the pivot up to which t may stand in for Z'x


class EveryFinder:
    """Evaluates every candidate from its column."""

    def duplicate(self) -> "EveryFinder":
        """It keeps nothing, so it serves any fitted."""
        return self

    def may_exchange(
        self, fitted: Neighbours, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """It does not know."""
        return True

    def catch_up(self, fitted: Neighbours) -> None:
        """It keeps nothing."""

    def best(self, fitted: Neighbours, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features, or None."""
        features = np.flatnonzero(allowed)
        return _pick(fitted, features, _evaluated(fitted, features))


class Line:
    """Candidates in the order of their bounds, those of least bound first.

    Parameters
    ----------
    features, bounds : arrays
        The candidates and what they cannot be below.
    fine : bool
        Whether the bounds are as sharp as they get.
    """

    def __init__(self, features: NDArray[np.intp], bounds: Floats, fine: bool) -> None:
        self.features, self.bounds, self.at_first = features, bounds, bounds
        self.fine = np.full(len(features), fine)
        self._sorted = False

    def sort(self) -> None:
        """Line up, if a bound has changed."""
        if not self._sorted:
            self._keep(np.argsort(self.bounds, kind="stable"))
            self._sorted = True

    def count(self, most: float) -> int:
        """How many have a bound up to this."""
        return int(np.searchsorted(self.bounds, most, side="right"))

    def rough(self, n: int) -> int:
        """How many of the first n have a bound that is not fine."""
        return int(np.count_nonzero(~self.fine[:n]))

    def refine(self, part: slice, bounds: Floats) -> None:
        """Give a part of the line fine bounds."""
        self.bounds[part] = bounds
        self.fine[part] = True
        self._sorted = False

    def take(self, n: int) -> NDArray[np.intp]:
        """The first n, who leave the line."""
        batch = self.features[:n]
        self._keep(slice(n, None))
        return batch

    def _keep(self, which: NDArray[np.intp] | slice) -> None:
        self.features, self.bounds = self.features[which], self.bounds[which]
        self.fine = self.fine[which]


class BoundFinder(Follower):
    """Evaluates only the candidates whose bound is below the best value found; squared loss.

    Parameters
    ----------
    form : {"pass", "gram", "auto"}
        Where the products with the newest column come from; see the module's first lines.
    steps : int
        How many features are to be added, as far as is known.

    Attributes
    ----------
    evaluated : int
        Exact evaluations so far.
    """

    def __init__(self, form: str, steps: int = 0) -> None:
        super().__init__(form, steps)
        self.evaluated = 0
        self._usual = 2 * CANDIDATES_AT_ONCE  # that the first bounds left open in the step before
        self._wide = False  # whether that were so many that X'u should come with the next pass
        self._rough_will_do = True  # or nobody but the best, so that X'u may not be needed at all
        self._overlap_u: Floats | None = None

    def best(self, fitted: Neighbours, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features, or None.

        Whoever has the least bound is next: its bound is made fine if it is not, and then it is
        evaluated, until all bounds that are left exceed the best value.
        """
        self._overlap_u = None
        weighed = fitted.weighed()
        Xu = self._follow(fitted, weighed.gu, with_u=self._wide and not self._uses_gram(fitted))
        features = np.flatnonzero(allowed & ~self.collinear)
        if not len(features):
            return None
        self._favourite = self._most_promising(fitted, features)
        some = None if Xu is None else Xu[features]
        line = Line(features, self._bounds(fitted, features, weighed, some), Xu is not None)
        found, errors = np.zeros(0, dtype=np.intp), np.zeros(0)
        while True:
            line.sort()
            most = limit(fitted.values(found, errors).min(initial=np.inf), fitted.empty_error)
            n_open = line.count(most)
            if not n_open:
                break
            first = not len(found)
            head = self._head(fitted, n_open, first)
            if not (line.fine[:head].all() or (first and self._rough_will_do)):
                part, Xu = self._sharper(fitted, weighed, line, n_open, head, first)
                bounds = self._bounds(fitted, line.features[part], weighed, Xu)
                line.refine(part, bounds)
                continue
            if first:
                self.hopeful = line.features[: 2 * TUNING.gram_batch]
            batch = line.take(head)
            overlaps = None if first else self._overlaps(fitted, batch)
            values, collinear = fitted.judged_with(batch, overlaps)
            self.collinear[batch] |= collinear
            found, errors = np.append(found, batch), np.append(errors, values)
        self.evaluated += len(found)
        self._learn(int(np.count_nonzero(line.at_first <= most)), allowed)
        return _pick(fitted, found, errors)

    def _head(self, fitted: Neighbours, n_open: int, first: bool) -> int:
        """How many to evaluate at once: one at first, and of many that are open a part."""
        design = fitted.design
        if first:
            return min(n_open, CANDIDATES_AT_FIRST)
        few = min(MOST_WIDE, design.n_features // CANDIDATES_AT_MOST)
        many = min(n_open // 2, max(CANDIDATES_AT_MOST, few, EVERY_NUMBERS // design.n_samples))
        return min(n_open, max(CANDIDATES_AT_ONCE, many))

    def _sharper(
        self,
        fitted: Neighbours,
        weighed: Weighed,
        line: "Line",
        n_open: int,
        head: int,
        first: bool,
    ) -> tuple[slice, Floats]:
        """X'u of those in line whose bounds are to be made fine: all in one pass, or some."""
        if not first and line.rough(n_open) > PASS_FROM * len(line.features):
            part = slice(None)
            products = fitted.sum(Rows.products, 0, True)[line.features]
        else:
            part = slice(min(n_open, max(self._usual, head)))
            products = self._column_products(fitted, line.features[part])
        return part, centred(fitted, products, weighed.gu, line.features[part])

    def _learn(self, n_open: int, allowed: NDArray[np.bool_]) -> None:
        """From how many the first bounds left open: what the next step should expect."""
        self._usual = min(max(2 * CANDIDATES_AT_ONCE, n_open), 8 * CANDIDATES_AT_ONCE)
        self._wide = n_open > PASS_FROM * int(np.count_nonzero(allowed))
        self._rough_will_do = n_open <= 1

    def catch_up(self, fitted: Neighbours) -> None:
        """Follow the last change; two at once would mean to start afresh."""
        if self._seen is not None and len(fitted.history) == self._seen + 1:
            self._follow(fitted, np.zeros(fitted.n_targets), with_u=False)

    def may_exchange(
        self, fitted: Neighbours, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """Whether dropping a feature and adding one of the others may get ``below``."""
        if self._seen != len(fitted.history):
            self._follow(fitted, np.zeros(fitted.n_targets), with_u=False)
        return may_exchange(fitted, self, feature, others, below)

    def duplicate(self) -> "BoundFinder":
        """A copy that can follow a copy of the fitted."""
        other = copy.copy(self)
        if self._seen is not None:
            other.s, other.c = self.s.copy(), self.c.copy()
            other.b2, other.collinear = self.b2.copy(), self.collinear.copy()
            other._t = self._t.copy(order="F")
        return other

    def _column_products(self, fitted: Neighbours, features: NDArray[np.intp]) -> Floats:
        """X'(g u) for some of the columns, and Z'u on the way if it is not yet known."""
        if self._overlap_u is not None:
            return fitted.sum(Rows.column_products, features)
        return self._look_ahead(fitted, features)

    def _Zu(self, fitted: Neighbours) -> Floats:  # noqa: N802 (the papers' letters)
        """Z'u, computed when first needed in a step."""
        if self._overlap_u is None:
            self._look_ahead(fitted, np.zeros(0, dtype=np.intp))
        assert self._overlap_u is not None
        return self._overlap_u

    def _look_ahead(self, fitted: Neighbours, features: NDArray[np.intp]) -> Floats:
        """Z'u, which is kept, and X'(g u) for some of the columns; the favourite is held."""
        exact = self._by_passes and fitted.design.exchangeable
        t = self.t[self._favourite].copy() if exact else None
        ahead = fitted.look_ahead(self._favourite, features, t)
        self._overlap_u, products = ahead
        return products

    def _most_promising(self, fitted: Neighbours, features: NDArray[np.intp]) -> int:
        """The feature that lowers the training error most: most often it will be the best."""
        pivot = self.s[features] + fitted.alpha
        gain = np.square(self.c[features]).sum(1)
        known = pivot > KNOWN_WELL * fitted.design.squares[features]
        gain = np.divide(gain, pivot, where=known, out=np.zeros(len(pivot)))
        return int(features[np.argmax(gain)])

    def _overlaps(self, fitted: Neighbours, features: NDArray[np.intp]) -> Floats | None:
        """Z'x of these features, if it is known well enough to evaluate them with it."""
        design = fitted.design
        error = 2 * ROUNDED_PRODUCTS * design.sizes[features] * np.sqrt(design.squares[features])
        if np.any(error > KNOWN_WELL * (fitted.alpha + self.s[features])):
            return None
        return self.t[features].T

    def _times(self, features: NDArray[np.intp], v: Floats) -> Floats:
        """The rows of t for these features times v; to pick many rows first would take longer."""
        many = 4 * len(features) > len(self._t)
        return (self.t @ v)[features] if many else self.t[features] @ v

    def _bounds(
        self, fitted: Neighbours, features: NDArray[np.intp], weighed: Weighed, Xu: Floats | None
    ) -> Floats:
        """Lower bounds of what additions are compared by, lowered by their own rounding."""
        design, alpha = fitted.design, fitted.alpha
        s, c = np.maximum(self.s[features], 0.0), self.c[features]
        q = np.maximum(s - alpha * self.b2[features], 0.0)
        if Xu is None:
            beta = weighed.ur / np.maximum(fitted.residual_squares, np.finfo(float).tiny)
            w = fitted.solve(fitted.solve(fitted.a), transposed=True)
            h = beta * (c - alpha * self._times(features, w))
            off = np.sqrt(np.maximum(weighed.uu - beta * weighed.ur, 0.0) + 1e-14 * weighed.uu)
        else:
            h = Xu - self._times(features, self._Zu(fitted))
            off = np.zeros(h.shape[1])
        given = (features, alpha, fitted.target_squares, weighed.uu, weighed.ur)
        bounds = least_errors(design, *given, s, c, q, h, off)
        return fitted.values(features, bounds)


def _evaluated(fitted: Neighbours, features: NDArray[np.intp], squared: bool = False) -> Floats:
    """The criterion with each of some features added, a few columns at a time."""
    batch = max(CANDIDATES_AT_ONCE, EVERY_NUMBERS // fitted.design.n_samples)
    parts = (features[i : i + batch] for i in range(0, len(features), batch))
    errors = (fitted.errors_with(part, squared=squared) for part in parts)
    return np.concatenate([np.zeros(0), *errors])


def _pick(fitted: Neighbours, features: NDArray[np.intp], errors: Floats) -> Update | None:
    """The best addition; equal counts are told apart by their squares."""

    def second(tied: NDArray[np.intp]) -> Second:
        squared = _evaluated(fitted, tied, squared=True)
        return Second(squared, fitted.values(tied, squared, squared=True), fitted.empty_squared)

    values = fitted.values(features, errors)
    return pick(
        "add", features, errors, fitted.empty_error, values, second if fitted.counts else None
    )
