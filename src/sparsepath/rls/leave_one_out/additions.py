r"""Which feature to add next: three ways to the same answer.

``EveryFinder`` evaluates every candidate, a few columns at a time. ``CacheFinder`` does so with
P X kept in memory, one fused pass per step. ``BoundFinder``, for the squared loss, needs to
evaluate only a few candidates:

Adding a feature only lowers p. With the letters of ``model.py``, u = r / p^2 before the step,
tau = c/pivot, h = x'Pu and q = |z|^2,

    LOO(x)  >=  sum_j (r_j - z_j tau)^2 / p_j^2  >=  u'r - 2 tau h + tau^2 q.

Since Z'Z = I - alpha R^-T R^-1, also x'P^2x = |z|^2 = s - alpha |b|^2 and
x'Pr = c - alpha t'R^-T R^-1 a, so that all bounds follow from t = X'Z, which gains a column per
step, and from X'u. Candidates are evaluated exactly in the order of the bound until the next
bound exceeds the best exact value.

``form="pass"`` takes the new column of t and X'u in one pass over X per step. ``form="gram"``
takes the column from the Gram matrix X'X, whose columns are computed when they are needed, for a
batch of the most hopeful features at once, and bounds h first by |x'P(u - beta r)| <= |z| |u - beta
r|; only for candidates that this leaves open is x'u computed. A batch takes the time of about
``BATCH_PASSES`` passes, however wide X is, and saves a pass for each of its features that is chosen
later. ``form="auto"`` begins that way and goes over to passes when more was spent on batches than
passes would have cost by now. If so many steps are to come that batches would come to half of the
columns, ``COLUMNS_PER_STEP`` for each, it takes all columns at once: by symmetry they take the time
of half of them. With sparse data a batch saves nothing, so it takes passes.

Rounding. The quantities for all candidates (s, c, t) only order the work. Their error is
estimated and the bounds are lowered by it; every decision rests on an evaluation from the columns
themselves.
"""

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.design import GRAM_BATCH, Design
from sparsepath.rls.leave_one_out.block import Rows, Weighed
from sparsepath.rls.leave_one_out.bounds import ROUNDING, least_errors
from sparsepath.rls.leave_one_out.exchanges import may_exchange
from sparsepath.rls.leave_one_out.fitted import Change, triangular
from sparsepath.rls.leave_one_out.model import State
from sparsepath.rls.update import Second, Update, limit, pick

BATCH = 8  # candidates evaluated at once
EVERY_NUMBERS = 1 << 18  # numbers in the columns evaluated at once, when everybody is
MOST = 16  # and at most, of a great number that are still open,
MOST_WIDE = 64  # or up to this many, if there are so many columns that these are few
FIRST_BATCH = 1  # and at first: often the most hopeful settles the matter
PASS_FROM = 0.3  # share of candidates whose products with u are better had from one pass over X
BATCH_PASSES = 6  # passes over X that take as long as a batch of columns of the Gram matrix
COLUMNS_PER_STEP = 5  # columns that batches would compute for every one that is needed
GRAM_SHARE = 0.1  # size of all columns of the Gram matrix, over that of the data, at most
GRAM_ALWAYS = 1 << 22  # and numbers in them that need no such limit
CREDIT = 12  # passes that may be spent on batches ahead of the steps they save
KNOWN_WELL = 1e-6  # that error over the pivot up to which t may stand in for Z'x
STEEP = 1e4  # |x| / sqrt(pivot) above which the Gram matrix is not exact enough for x
NEAR = 1e-6  # squares in P X, relative, that are near enough to be worth an evaluation
STEEP_CACHE = 1e2  # the same where P X is kept and has to stay as good as new


class EveryFinder:
    """Evaluates every candidate from its column."""

    def duplicate(self) -> "EveryFinder":
        """It keeps nothing, so it serves any state."""
        return self

    def may_exchange(
        self, state: State, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """It does not know."""
        return True

    def catch_up(self, state: State) -> None:
        """It keeps nothing."""

    def best(self, state: State, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features, or None."""
        features = np.flatnonzero(allowed)
        return _pick(state, features, _evaluated(state, features))


class Follower:
    """Follows a state and knows s, c, b2 and t, the letters of ``model.py``, for every feature.

    Parameters
    ----------
    form : {"pass", "gram", "auto"}
        Where the products with the newest column of Z come from.
    steps : int
        How many features are to be added, as far as is known.
    """

    s: Floats
    c: Floats
    b2: Floats
    collinear: NDArray[np.bool_]
    turned: Floats
    hopeful: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    steep = STEEP
    _t: Floats
    _size: int

    def __init__(self, form: str, steps: int = 0) -> None:
        self.form, self.steps = form, steps
        self._seen: int | None = None
        self._batches = 0
        self._by_passes = False  # whether t is made of passes over X with single vectors

    @property
    def t(self) -> Floats:
        return self._t[:, : self._size]

    def _uses_gram(self, state: State) -> bool:
        """Whether the next step goes by the Gram matrix: the cost model of the first lines."""
        if self.form == "auto" and state.design.sparse:
            return False
        if self.form == "auto" and state.design.has_whole_gram:
            return True
        spent = BATCH_PASSES * self._batches
        return self.form == "gram" or (self.form == "auto" and spent <= len(state.history) + CREDIT)

    def prepare(self, design: Design) -> None:
        """Compute all columns of the Gram matrix if they are worth while."""
        if self.form == "auto" and not design.sparse and self.takes_all(design):
            design.fill_gram()

    def takes_all(self, design: Design) -> bool:
        """Whether all columns of the Gram matrix are worth while, and fit beside the data."""
        numbers = design.n_features**2 * (len(design.blocks) + 1)
        most = max(GRAM_ALWAYS, GRAM_SHARE * design.n_samples * design.n_features)
        return design.n_features <= 2 * COLUMNS_PER_STEP * self.steps and numbers <= most

    def _follow(self, state: State, gu: Floats, with_u: bool) -> Floats | None:
        """Bring s, c, t and b2 up to date; return X'u, in the same pass if there is one."""
        changes = None if self._seen is None else state.history[self._seen :]
        self._seen = len(state.history)
        if changes is None or len(changes) > 1:
            self._restart(state)
        elif changes and changes[0].action == "add":
            Xu = self._extend(state, changes[0].feature, with_u)
            if Xu is not None:
                return Xu
        elif changes:
            self._rotate(state, changes[0])
        if not with_u:
            return None
        return _centered(state, state.sum(Rows.products, 0, True), gu)

    def _extend(self, state: State, feature: int, with_u: bool) -> Floats | None:
        """A feature was added: a new column of t, and everything else by rank one."""
        design = state.design
        t_b, root = state.R[:-1, -1], state.R[-1, -1]
        Xu = None
        if self._uses_gram(state) and design.sizes[feature] <= self.steep * root:
            self._batches += not design.knows_gram(feature)
            self._by_passes = False
            new = (design.gram_column(feature, self.hopeful) - self.t @ t_b) / root
        else:
            sums, products = zip(*state.each(Rows.newest, with_u), strict=True)
            both = _centered(state, added(products), added(sums))
            new, Xu = both[:, 0], both[:, 1:] if with_u else None
            self._by_passes &= not with_u  # two products at once are summed in another way
        k = len(t_b)
        if k:
            R = state.R[:k, :k]
            b_b = triangular(R, t_b)
            cross = self.t @ triangular(R, b_b, transposed=True)
        else:
            b_b = cross = np.zeros(1)
        share = new / root
        self.b2 = np.maximum(self.b2 + share * (share * (1 + b_b @ b_b) - 2 * cross), 0.0)
        self.s -= new**2
        self.c -= np.outer(new, state.a[-1])
        if k == self._t.shape[1]:
            self._t = np.asfortranarray(np.hstack([self._t, np.zeros_like(self._t)]))
        self._t[:, k] = new
        self._size = k + 1
        return Xu

    def _rotate(self, state: State, change: Change) -> None:
        """A feature was dropped: t turns with Z, and its last column goes back into s and c."""
        assert change.Q is not None
        assert change.released is not None
        self._by_passes = False
        turned = self.t @ change.Q
        self._size -= 1
        self._t[:, : self._size] = turned[:, :-1]
        self.turned = turned[:, -1]
        self.s += self.turned**2
        self.c += np.outer(self.turned, change.released)
        self._refresh(state)

    def _restart(self, state: State) -> None:
        """Everything afresh, from one pass over X."""
        design = state.design
        self._size = k = len(state.chosen)
        self._by_passes = not k
        sums, Xr = map(added, zip(*state.each(Rows.correlations), strict=True))
        self.c = _centered(state, Xr, sums)
        self._t = np.zeros((design.n_features, max(8, k)), order="F")
        if k:
            sums, Xz = map(added, zip(*state.each(Rows.every_product), strict=True))
            self._t[:, :k] = _centered(state, Xz, sums)
        self.s = design.squares - np.einsum("ij,ij->i", self.t, self.t)
        self._refresh(state)

    def _refresh(self, state: State) -> None:
        self.b2 = np.square(state.solve(self.t.T)).sum(0)
        self.collinear = state.design.constant.copy()


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
        self._usual = 2 * BATCH  # candidates that the first bounds left open in the step before
        self._wide = False  # whether that were so many that X'u should come with the next pass
        self._overlap_u: Floats | None = None

    def best(self, state: State, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features, or None."""
        self._overlap_u = None
        weighed = state.weighed()
        Xu = self._follow(state, weighed.gu, with_u=self._wide and not self._uses_gram(state))
        features = np.flatnonzero(allowed & ~self.collinear)
        if not len(features):
            return None
        self._favourite = self._most_promising(state, features)
        fine = np.full(len(features), Xu is not None)
        bounds = self._bounds(state, features, weighed, None if Xu is None else Xu[features])
        first = bounds
        found, errors = np.zeros(0, dtype=np.intp), np.zeros(0)
        sorted_ = False
        while True:
            if not sorted_:
                order = np.argsort(bounds, kind="stable")
                features, bounds, fine = features[order], bounds[order], fine[order]
                sorted_ = True
            least = state.values(found, errors).min(initial=np.inf)
            n_open = int(np.searchsorted(bounds, limit(least, state.empty_error), side="right"))
            if not n_open:
                break
            few = min(MOST_WIDE, state.design.n_features // MOST)
            many = min(n_open // 2, max(MOST, few, EVERY_NUMBERS // state.design.n_samples))
            head = slice(min(n_open, FIRST_BATCH if not len(found) else max(BATCH, many)))
            if not fine[head].all():
                if len(found) and np.count_nonzero(~fine[:n_open]) > PASS_FROM * len(features):
                    part = slice(None)
                    products = state.sum(Rows.products, 0, True)[features]
                else:
                    part = slice(min(n_open, max(self._usual, head.stop)))
                    products = self._column_products(state, features[part])
                Xu = _centered(state, products, weighed.gu, features[part])
                bounds[part] = self._bounds(state, features[part], weighed, Xu)
                fine[part] = True
                sorted_ = False
                continue
            if not len(found):
                self.hopeful = features[: 2 * GRAM_BATCH]
            batch = features[head]
            values = state.errors_with(batch, self._overlaps(state, batch) if len(found) else None)
            self.collinear[batch] |= state.is_collinear
            found, errors = np.append(found, batch), np.append(errors, values)
            rest = slice(len(batch), None)
            features, bounds, fine = features[rest], bounds[rest], fine[rest]
        self.evaluated += len(found)
        n_open = int(np.count_nonzero(first <= limit(least, state.empty_error)))
        self._usual = min(max(2 * BATCH, n_open), 8 * BATCH)
        self._wide = n_open > PASS_FROM * int(np.count_nonzero(allowed))
        return _pick(state, found, errors)

    def catch_up(self, state: State) -> None:
        """Follow the last change; two at once would mean to start afresh."""
        if self._seen is not None and len(state.history) == self._seen + 1:
            self._follow(state, np.zeros(state.n_targets), with_u=False)

    def may_exchange(
        self, state: State, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """Whether dropping a feature and adding one of the others may get ``below``."""
        if self._seen != len(state.history):
            self._follow(state, np.zeros(state.n_targets), with_u=False)
        return may_exchange(state, self, feature, others, below)

    def duplicate(self) -> "BoundFinder":
        """A copy that can follow a copy of the state."""
        other = copy.copy(self)
        if self._seen is not None:
            other.s, other.c = self.s.copy(), self.c.copy()
            other.b2, other.collinear = self.b2.copy(), self.collinear.copy()
            other._t = self._t.copy(order="F")
        return other

    def _column_products(self, state: State, features: NDArray[np.intp]) -> Floats:
        """X'(g u) for some of the columns, and Z'u on the way if it is not yet known."""
        if self._overlap_u is not None:
            return state.sum(Rows.column_products, features)
        return self._look_ahead(state, features)

    def _Zu(self, state: State) -> Floats:  # noqa: N802 (the papers' letters)
        """Z'u, computed when first needed in a step."""
        if self._overlap_u is None:
            self._look_ahead(state, np.zeros(0, dtype=np.intp))
        assert self._overlap_u is not None
        return self._overlap_u

    def _look_ahead(self, state: State, features: NDArray[np.intp]) -> Floats:
        """Z'u, which is kept, and X'(g u) for some of the columns; the favourite is held."""
        exact = self._by_passes and state.design.exchangeable
        t = self.t[self._favourite].copy() if exact else None
        ahead = state.candidates.look_ahead(state, self._favourite, features, t)
        self._overlap_u, products = ahead
        return products

    def _most_promising(self, state: State, features: NDArray[np.intp]) -> int:
        """The feature that lowers the training error most: most often it will be the best."""
        pivot = self.s[features] + state.alpha
        gain = np.square(self.c[features]).sum(1)
        known = pivot > KNOWN_WELL * state.design.squares[features]
        gain = np.divide(gain, pivot, where=known, out=np.zeros(len(pivot)))
        return int(features[np.argmax(gain)])

    def _overlaps(self, state: State, features: NDArray[np.intp]) -> Floats | None:
        """Z'x of these features, if it is known well enough to evaluate them with it."""
        design = state.design
        error = 2 * ROUNDING * design.sizes[features] * np.sqrt(design.squares[features])
        if np.any(error > KNOWN_WELL * (state.alpha + self.s[features])):
            return None
        return self.t[features].T

    def _times(self, features: NDArray[np.intp], v: Floats) -> Floats:
        """The rows of t for these features times v; to pick many rows first would take longer."""
        many = 4 * len(features) > len(self._t)
        return (self.t @ v)[features] if many else self.t[features] @ v

    def _bounds(
        self, state: State, features: NDArray[np.intp], weighed: Weighed, Xu: Floats | None
    ) -> Floats:
        """Lower bounds of what additions are compared by, lowered by their own rounding."""
        design, alpha = state.design, state.alpha
        s, c = np.maximum(self.s[features], 0.0), self.c[features]
        q = np.maximum(s - alpha * self.b2[features], 0.0)
        if Xu is None:
            beta = weighed.ur / np.maximum(state.residual_squares, np.finfo(float).tiny)
            w = state.solve(state.solve(state.a), transposed=True)
            h = beta * (c - alpha * self._times(features, w))
            off = np.sqrt(np.maximum(weighed.uu - beta * weighed.ur, 0.0) + 1e-14 * weighed.uu)
            h_error = np.outer(np.sqrt(q), off)
        else:
            h = Xu - self._times(features, self._Zu(state))
            h_error = np.zeros_like(h)
        given = (features, alpha, state.target_squares, weighed)
        bounds = least_errors(design, *given, s, c, q, h, h_error)
        return state.values(features, bounds)


class CacheFinder(Follower):
    """Evaluates every candidate in one pass over P X, kept in memory; for a single target."""

    steep = STEEP_CACHE

    def __init__(self, steps: int = 0) -> None:
        super().__init__("auto", steps)

    def best(self, state: State, allowed: NDArray[np.bool_]) -> Update | None:
        """The best addition among the allowed features, or None.

        For a loss without a loop over P X, and for several targets, from the columns.
        """
        if state.loss.cached is None or state.n_targets > 1:
            return EveryFinder().best(state, allowed)
        design = state.design
        change, new = self._bring_up(state)
        s_error = 2 * ROUNDING * design.sizes * np.sqrt(design.squares)
        pivot = self.s + state.alpha
        known = (s_error <= KNOWN_WELL * pivot) & ~design.constant
        inverse = np.divide(1.0, pivot, where=known, out=np.zeros(len(pivot)))
        tau = self.c[:, 0] * inverse
        blur = state.blur_with(np.arange(design.n_features))
        errors = state.sum(Rows.score_cached, change, new, tau, inverse, blur)
        doubtful = np.flatnonzero(allowed & ~known & ~self.collinear)
        for i in range(0, len(doubtful), BATCH):
            batch = doubtful[i : i + BATCH]
            errors[batch] = state.errors_with(batch)
            self.collinear[batch] |= state.is_collinear
        features = np.flatnonzero(allowed & ~self.collinear)
        order = np.argsort(errors[features], kind="stable")
        self.hopeful = features[order[: 2 * GRAM_BATCH]]

        def hopeless(tied: NDArray[np.intp]) -> NDArray[np.bool_]:
            """Those of many equal counts that P X shows to be far from the least square."""
            if len(tied) <= BATCH or state.costs is not None:
                return np.zeros(len(tied), dtype=bool)
            squares = state.sum(Rows.squares_cached, tied, tau[tied], inverse[tied])
            squares[~known[tied]] = 0.0
            return squares > (1 + NEAR) * squares.min(initial=np.inf, where=known[tied])

        return _pick(state, features, errors[features], hopeless)

    def catch_up(self, state: State) -> None:
        """P X is brought up when it is needed."""

    def may_exchange(
        self, state: State, feature: int, others: NDArray[np.intp], below: float
    ) -> bool:
        """It does not know."""
        return True

    def duplicate(self) -> EveryFinder:
        """Copies of P X would take longer than doing without it."""
        return EveryFinder()

    def _bring_up(self, state: State) -> tuple[str, Floats]:
        """Follow the state; return what the cache still lacks: the last change, its products."""
        design = state.design
        seen, length = self._seen, len(state.history)
        self._follow(state, np.zeros(state.n_targets), with_u=False)
        if seen is None or length - seen > 1:
            state.each(Rows.fill_cache, design.means, design.scales, self.t)
            return "none", np.zeros(design.n_features)
        if length == seen:
            return "none", np.zeros(design.n_features)
        if state.history[-1].action == "add":
            return "add", self.t[:, -1]
        return "drop", -self.turned


def _centered(
    state: State, products: Floats, sums: Floats, features: NDArray[np.intp] | slice = slice(None)
) -> Floats:
    """Products of vectors with the columns as they stand, from those with the raw data."""
    design = state.design
    return design.scales[features, None] * (products - np.outer(design.means[features], sums))


def _evaluated(state: State, features: NDArray[np.intp], squared: bool = False) -> Floats:
    """The criterion with each of some features added, a few columns at a time."""
    batch = max(BATCH, EVERY_NUMBERS // state.design.n_samples)
    parts = (features[i : i + batch] for i in range(0, len(features), batch))
    errors = (state.errors_with(part, squared=squared) for part in parts)
    return np.concatenate([np.zeros(0), *errors])


def _pick(
    state: State,
    features: NDArray[np.intp],
    errors: Floats,
    hopeless: Callable[[NDArray[np.intp]], NDArray[np.bool_]] | None = None,
) -> Update | None:
    """The best addition; of equal counts those that are not hopeless are told apart."""

    def second(tied: NDArray[np.intp]) -> Second:
        left = np.ones(len(tied), dtype=bool) if hopeless is None else ~hopeless(tied)
        squared = np.full(len(tied), np.inf)
        squared[left] = _evaluated(state, tied[left], squared=True)
        return Second(squared, state.values(tied, squared, squared=True), state.empty_squared)

    values = state.values(features, errors)
    return pick(
        "add", features, errors, state.empty_error, values, second if state.counts else None
    )
