r"""Exact leave-one-out on rows that are read in passes: few passes, and the same choices.

The rows may lie in memory, dense or sparse, in files or on a cluster (``rows.py``).

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

Which addition is best (squared loss). Adding a feature only lowers p. With u = r / p^2 before the
step, tau = c/pivot, h = x'Pu, q = |z|^2 = s - alpha |b|^2 and beta = u'r / r'r,

    LOO(x)  >=  sum_j (r_j - z_j tau)^2 / p_j^2  >=  u'r - 2 tau h + tau^2 q,
    |h - beta x'P r| <= |z| |u - beta r|.

The products of the chosen columns with all columns give s, c and t of every candidate without the
rows; u'u and u'r are two sums. With many samples p is nearly one everywhere, u is nearly beta r,
and the bound is so close that only a handful of candidates must be judged by a pass, in which
nothing but their columns and the chosen ones is read. The same closeness lets the order of the next
choices be foreseen: the pass also judges the models that will most likely come next, with their
best candidates. If it turns out so, the next steps need no pass at all; if not, nothing is lost but
the time to judge them. What was judged is kept by the set of its features, so floating, swaps and
copies of a model never ask twice. No choice rests on what was foreseen: only on exact values and
bounds. Where X is in memory and many candidates are open, X'u is computed, and h with it. A loss
without such a bound has every candidate judged.

Which exchanges may help. Dropping feature b leaves r_b = r - q tau and p_b = p + q^2 with q = Z d,
d a unit vector. A candidate x then has, with t = Z'x and e = t'd,

    t_b = t - d e      b = R^-1 t_b      s + e^2      c - e tau      w_b = w + R^-1 d tau,

so that all candidates are known after all removals without a look at the samples. Adding x only
lowers p_b <= 1, so that the bound holds with |r_b|^2 in the place of u'u and u'r. Far from the
samples' last digits most removals are out of the question at once.

Rounding. Products give the residual norm of a column with an error of at most 1e-11 of its square.
A candidate with a smaller residual is projected in a separate pass.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete

from sparsepath.data.sources import Columns
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.model import SearchEngine
from sparsepath.rls.passes.bounds import (
    ROUNDED_PRODUCTS,
    CandidateSums,
    extend,
    least_errors,
    triangular,
)
from sparsepath.rls.passes.judging import (
    GroupChange,
    Key,
    Level,
    ModelCache,
    ModelSums,
    Plan,
    Projection,
    judge,
    project,
    weighed_products,
)
from sparsepath.rls.passes.rows import PassRows
from sparsepath.rls.update import VANISHED, Second, Update, enterable, limit, pick
from sparsepath.system.arrays import Floats

KNOWN_WELL = 1e-6  # rounding of a product over the pivot up to which products tell of a candidate
CANCELLED = 1e-4  # what is left of a difference, over what was taken off, that is known well
STEEP = 1e6  # |x|^2 over the pivot of a chosen feature up to which removals are known well
FORESEEN = 6  # candidates judged at a step that is foreseen
FORESEEN_AT_MOST = 96  # and at most at a time
FARTHEST = 12  # steps foreseen at most
NOTHING = np.zeros(0, dtype=np.intp)


class InPasses(SearchEngine):
    """Model on a subset, with the exact criterion of neighbouring subsets, computed in passes.

    Parameters
    ----------
    rows : PassRows
        The rows, with their targets.
    alpha : float
        Ridge penalty, zero or more.
    loss : Loss
        Loss of a leave-one-out residual.
    steps : int
        Expected number of selected features.
    groups : sequence of lists of int
        Columns that are added and removed together (``groups.py``); single columns may be omitted.
    """

    def __init__(
        self,
        rows: PassRows,
        alpha: float,
        loss: Loss,
        steps: int,
        groups: Sequence[Sequence[int]] = (),
    ) -> None:
        self.rows, self.design = rows, rows.design
        self.alpha, self.loss, self.steps = float(alpha), loss, steps
        self.counts = loss.counts
        live = ([i for i in group if not self.design.constant[i]] for group in groups)
        self._units = [group for group in live if len(group) > 1]
        self.chosen: list[int] = []
        self.R, self.a = np.zeros((0, 0)), np.zeros((0, len(rows.y_mean)))
        self._candidates: CandidateSums | None = None
        self._reach = reach_of(self.design.squares, self.alpha)
        self._known = ModelCache()
        self.evaluated = 0
        self.empty_error = self.error
        self.empty_squared = self.squared_error if self.counts else self.error
        self.target_squares = float(self._sums.squares.sum())

    # The model ----------------------------------------------------------------------------------

    @property
    def key(self) -> Key:
        return frozenset(self.chosen)

    @property
    def _sums(self) -> ModelSums:
        if self.key not in self._known.models:
            self._look()
        return self._known.models[self.key]

    @property
    def error(self) -> float:
        if self.key not in self._known.errors:
            self._look()
        return self._known.errors[self.key][0]

    @property
    def squared_error(self) -> float:
        """Return the squared criterion, whatever the loss."""
        if self.key not in self._known.models:
            self._look()
        return self._known.errors[self.key][1]

    def coef(self) -> Floats:
        """Return the coefficients of the selected features in units of the data, |S| x T."""
        return self.design.scales[self.chosen][:, None] * self.solve(self.a)

    def intercept(self) -> Floats:
        """Return the intercepts, one per target."""
        return self.rows.y_mean - self.design.means[self.chosen] @ self.coef()

    def standard_error(self) -> float:
        """Return the standard error of ``error`` as a mean over samples."""
        m, sums = self.design.n_counted, self._sums
        step = sums.error - sums.about
        moved = step * step * sums.vv  # a power of a float raises where it overflows
        total = sums.around - 2 * step * sums.slope + moved
        if not total > CANCELLED * moved:
            self._look(about=sums.error)
            total = self._known.models[self.key].around
        return float(np.sqrt(total * m / (m - 1)))

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        return float(self._sums.squares.sum()) <= VANISHED**2 * self.target_squares

    # What a search asks -------------------------------------------------------------------------

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Return the best single addition."""
        which = np.flatnonzero(enterable(self.design.constant, self.chosen, features))
        if not len(which):
            return None
        self._sums  # noqa: B018 (a pass, if the model was not judged yet)
        bounds, sharp = self._bounds(which), not self.loss.bounded
        while True:
            seen, errors, open_ = self._judged(which, bounds)
            if not len(open_):
                break
            if len(open_) > FORESEEN_AT_MOST and not sharp and self.rows.held and len(seen):
                bounds, sharp = np.maximum(bounds, self._bounds(which, sharp=True)), True
                continue
            self._look(open_[: self._together(len(seen))])
        best = pick(
            "add", seen, errors, self.empty_error, self._values(seen, errors),
            self._second if self.counts else None,
        )  # fmt: skip
        self._settle(best)
        return best

    def duplicate(self) -> Self:
        """Return a copy; known results of subsets are shared."""
        other = copy.copy(self)
        other.chosen = list(self.chosen)
        if self._candidates is not None:
            other._candidates = self._candidates.duplicate()
        return other

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is already selected.")
        found = self._projected(np.array([feature], dtype=np.intp))
        if not found.usable[0]:
            raise InputError(f"feature {feature} is collinear with the selected ones.")
        self._grow(feature, found, 0)

    def _grow(self, feature: int, found: Projection, place: int) -> None:
        given = found.t[:, place], found.pivots[place], found.c[place]
        self.R, self.a = extend(self.R, self.a, *given)
        self.chosen.append(int(feature))

    def drop(self, feature: int) -> None:
        """Remove a selected feature."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not selected; selected are: {self.chosen}.")
        k, place = len(self.chosen), self.chosen.index(feature)
        Q, R = qr_delete(np.eye(k), self.R, place, which="col")
        self.R, self.a = np.asfortranarray(R[: k - 1]), (Q.T @ self.a)[: k - 1]
        del self.chosen[place]
        # Computed again when needed: a search that resumes gets the same to the bit.
        self._candidates = None

    def known(self) -> dict[str, Any]:
        """Return results of all passes so far, as plain values, for a checkpoint."""
        return {**self._known.to_dict(), "read": self.rows.read()}

    def recall(self, record: Mapping[str, Any]) -> None:
        """Restore the results of an earlier search on the same data."""
        self._known = ModelCache.from_dict(record)
        self.rows.was_read(record.get("read", []))

    # Additions ----------------------------------------------------------------------------------

    def _judged(self, which: Columns, bounds: Floats) -> tuple[Columns, Floats, Columns]:
        """Split open candidates: known ones, their criterion, and unknown ones.

        Unknown ones are sorted by their bounds; without known ones, only a few are returned.
        """
        some = np.arange(len(which))
        if self.loss.bounded:
            some = smallest(bounds, FORESEEN_AT_MOST)
            least = self._least(which[some], self._with(which[some]))
            some = np.flatnonzero(bounds <= least) if least < np.inf else some
        errors = self._with(which[some])
        least, seen = self._least(which[some], errors), ~np.isnan(errors)
        open_ = some[~seen & (bounds[some] <= least)]
        open_ = open_[np.argsort(bounds[open_], kind="stable")]
        return which[some[seen]], errors[seen], which[open_]

    def _with(self, which: Columns) -> Floats:
        """Return the criterion with each of some features added, as far as known; else NaN."""
        errors, key = self._known.errors, self.key
        return np.array([errors.get(key | {i}, (np.nan,))[0] for i in which.tolist()])

    def _least(self, which: Columns, errors: Floats) -> float:
        """Return the value up to which others count as ties with the best known one."""
        seen = ~np.isnan(errors)
        values = self._values(which[seen], errors[seen])
        return limit(values.min(initial=np.inf), self.empty_error)

    def _together(self, seen: int) -> int | None:
        """Return how many candidates the next pass evaluates; few if a pass is cheap."""
        if not self.loss.bounded:
            return self.rows.together
        return FORESEEN if self.rows.held and seen <= FORESEEN else FORESEEN_AT_MOST

    def _second(self, tied: Columns) -> Second:
        errors, key = self._known.errors, self.key
        squared = np.array([errors[key | {int(i)}][1] for i in tied])
        return Second(squared, self._values(tied, squared, squared=True), self.empty_squared)

    def _values(self, which: Columns, errors: Floats, squared: bool = False) -> Floats:
        if self.costs is None:
            return errors
        return self.costs.worth(which, errors, self.squared_error if squared else self.error)

    def candidates(self) -> CandidateSums:
        """Letters of every feature for the current model."""
        if self._candidates is None:
            t = triangular(self.R, self._gram(self.chosen).T, transposed=True).T
            c = self.rows.xy - t @ self.a
            self._candidates = CandidateSums(c, t, self.design.squares, self.R)
        for k in range(self._candidates.size, len(self.chosen)):
            some = slice(k + 1)
            gram = self._gram([self.chosen[k]])[:, 0]
            self._candidates.extend(gram, self.R[some, some], self.a[some])
        return self._candidates

    def _gram(self, columns: Sequence[int]) -> Floats:
        return self.rows.gram(np.array(columns, dtype=np.intp))

    def _products(self, which: Columns) -> tuple[Floats, Floats, Floats]:
        """Return t, s and c of candidates from products alone."""
        t = np.asfortranarray(self.candidates().t[which].T)
        s = self.design.squares[which] - np.einsum("ij,ij->j", t, t)
        return t, s, self.rows.xy[which] - t.T @ self.a

    def _projected(self, which: Columns) -> Projection:
        """Return projected candidates, by a pass where products are too imprecise."""
        t, s, c = self._products(which)
        design = self.design
        doubtful = np.flatnonzero(self._doubtful(which, s))
        if len(doubtful):
            some = which[doubtful]
            for _ in range(2):
                view = self.rows.view([*self.chosen, *some.tolist()], self.loss)
                given = np.array(self.chosen, dtype=np.intp), self.R, self.a, some, t[:, doubtful]
                Zw, squares, wr = self.rows.ask(view, project, *given)
                b = self.solve(t[:, doubtful])
                t[:, doubtful] += Zw - self.alpha * self.solve(b, transposed=True)
            b = self.solve(t[:, doubtful])
            s[doubtful] = squares + self.alpha * np.einsum("ij,ij->j", b, b)
            c[doubtful] = wr + self.alpha * (b.T @ self.solve(self.a))
        pivots = np.maximum(s, 0.0) + self.alpha
        usable = (pivots > design.floor(which)) & ~design.constant[which]
        return Projection(t, pivots, c, usable)

    def _bounds(self, which: Columns, sharp: bool = False) -> Floats:
        """Return lower bounds of the values by which additions are compared, including rounding.

        ``sharp``: with X'u, from a pass over all columns.
        """
        if not self.loss.bounded:
            return np.full(len(which), -np.inf)
        alpha, sums, known = self.alpha, self._sums, self.candidates()
        s, c = np.maximum(known.s[which], 0.0), known.c[which]
        q = np.maximum(s - alpha * known.b2[which], 0.0)
        if sharp:
            h, off = self._weighed(known.t)[which], np.zeros(len(sums.ur))
        else:
            beta = sums.ur / np.maximum(sums.squares, np.finfo(float).tiny)
            w = self.solve(self.solve(self.a), transposed=True)
            h = beta * (c - alpha * (known.t @ w)[which])
            off = np.sqrt(np.maximum(sums.uu - beta * sums.ur, 0.0) + 1e-14 * sums.uu)
        given = which, alpha, self.target_squares, sums.uu, sums.ur
        return self._values(which, least_errors(self.design, *given, s, c, q, h, off))

    def _weighed(self, t: Floats) -> Floats:
        """Return the products h = x'Pu of all candidates."""
        design, view = self.design, self.rows.view(range(self.design.n_features), self.loss)
        chosen = np.array(self.chosen, dtype=np.intp)
        Xu, total, Zu = self.rows.ask(view, weighed_products, chosen, self.R, self.a)
        h = design.scales[:, None] * (Xu - np.outer(design.means + design.left, total))
        return np.asarray(h - t @ Zu)

    def best_exchange(
        self, feature: int, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best addition after removing a feature; computed only if bounds allow one."""
        which = np.flatnonzero(enterable(self.design.constant, self.chosen, features))
        if self.loss.bounded and not self._may_exchange(feature, which, below):
            return None
        return super().best_exchange(feature, which, below)

    def _may_exchange(self, feature: int, others: Columns, below: float) -> bool:
        """Return whether replacing a feature by one of the others may bring the criterion below
        ``below``.
        """
        alpha, known = self.alpha, self.candidates()
        inverse = self.solve(np.eye(len(self.chosen)))
        norms = np.einsum("ij,ij->i", inverse, inverse)
        if not np.all(norms * self.design.squares[self.chosen] <= STEEP):
            return True
        place = self.chosen.index(feature)
        norm = np.sqrt(norms[place])
        d, step = inverse[place] / norm, -self.solve(self.a)[place] / norm
        g, w = self.solve(d), self.solve(self.a)
        squares = self._sums.squares - 2 * step * alpha * (g @ w) + step**2 * (1 - alpha * (g @ g))
        w = w + np.outer(g, step)
        t = known.t[others]
        e = t @ d
        s = np.maximum(known.s[others], 0.0) + e * e
        c = known.c[others] - np.outer(e, step)
        b2 = known.b2[others] + e * (e * (g @ g) - 2 * (t @ self.solve(g, transposed=True)))
        q = np.maximum(s - alpha * np.maximum(b2, 0.0), 0.0)
        zr = c - alpha * ((t - np.outer(e, d)) @ self.solve(w, transposed=True))
        off = 1e-7 * np.sqrt(np.maximum(squares, 0.0))
        given = others, alpha, self.target_squares, squares, squares
        bounds = least_errors(self.design, *given, s, c, q, zr, off)
        return bool(bounds.min(initial=np.inf) <= limit(below, self.empty_error))

    # Removals -----------------------------------------------------------------------------------

    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best single removal; one pass evaluates all."""
        which = np.array(self.chosen, dtype=np.intp)
        if features is not None:
            which = which[np.isin(which, list(features))]
        if not len(which):
            return None
        errors, key = self._known.errors, self.key
        self._known.drops = True
        if any(key - {int(i)} not in errors for i in which):
            self._look()

        def second(tied: Columns) -> Second:
            squared = np.array([errors[key - {int(i)}][1] for i in tied])
            return Second(squared, squared, self.empty_squared)

        values = np.array([errors[key - {int(i)}][0] for i in which])
        tell = second if self.counts else None
        return pick("drop", which, values, self.empty_error, second=tell)

    # Passes -------------------------------------------------------------------------------------

    def _look(self, candidates: Columns = NOTHING, about: float | None = None) -> None:
        """Run one pass: evaluate the current model, candidates, removals, and likely next
        models.
        """
        anew = about is not None
        if about is None:
            about = self._known.errors.get(self.key, (0.0,))[0]
            about = about if np.isfinite(about) else 0.0
        trial, levels = self, list[Level]()
        judged: list[tuple[Key, Columns, Projection]] = []
        for depth in range(1 + self._depth()):
            which = candidates if not depth and len(candidates) else trial._likely()
            if depth:
                which = trial._plain(which)
                if not len(which):
                    break
            found = trial._projected(which)
            levels.append(trial._level(which, found, about if not depth else 0.0))
            judged.append((trial.key, which, found))
            gains = np.where(found.usable, np.square(found.c).sum(1) / found.pivots, -1.0)
            place = int(gains.argmax()) if len(which) else -1
            if depth == self._depth() or place < 0 or not found.usable[place]:
                break
            trial = self.duplicate() if trial is self else trial
            trial._grow(int(which[place]), found, place)
        changes = self._group_changes()
        k = levels[-1].size
        first = trial.chosen[:k]
        plan = Plan(
            np.array(first, dtype=np.intp), trial.R[:k, :k], trial.a[:k], tuple(levels), changes
        )
        wanted = [w for _, w, _ in judged] + [change.columns for change in changes]
        view = self.rows.view([*first, *np.concatenate(wanted).tolist()], self.loss)
        told = self.rows.ask(view, judge, plan)
        answer = iter(told)
        for (key, which, found), level in zip(judged, levels, strict=True):
            self._keep(key, which, found.usable, level, [next(answer) for _ in range(7)], anew)
            anew = False  # of the model at hand only
            self.evaluated += len(which)
        if self._units:
            self._keep_groups(changes, told[-1] if changes else np.zeros((0, 2)))
        if len(judged) > 1:
            self._known.foreseen[self.key] = trial.chosen[len(self.chosen)]

    def _depth(self) -> int:
        """Return how many steps to look ahead."""
        if self._units or not self.loss.bounded:
            return 0
        return min(self._known.steps_ahead, max(0, self.steps - len(self.chosen)))

    def _keep(
        self,
        key: Key,
        which: Columns,
        usable: NDArray[np.bool_],
        level: Level,
        told: list[Floats],
        anew: bool,
    ) -> None:
        """Store the results of a pass by subset; known results stay unchanged.

        A model evaluated again with other candidates has sums that differ by rounding. If these
        replaced earlier ones, results would depend on when they are requested, and a search that
        resumes from a checkpoint requests them at other times.
        """
        (
            (total, tight, around, slope, vv, square),
            squares,
            (uu, ur),
            first,
            second,
            less,
            less2,
        ) = told
        errors = self._known.errors
        error = float(total) if not tight else np.inf
        errors.setdefault(key, (error, float(square) if not tight else np.inf))
        judged = ModelSums(
            error, level.about, float(around), float(slope), squares, uu, ur, float(vv)
        )
        if anew or key not in self._known.models:
            self._known.models[key] = judged
        for i, fine, value, square in zip(which.tolist(), usable, first, second, strict=True):
            pair = (float(value), float(square)) if fine else (np.inf, np.inf)
            errors.setdefault(key | {i}, pair)
        for i, value, square in zip(level.drops, less, less2, strict=True):
            errors.setdefault(key - {i}, (float(value), float(square)))

    def _likely(self) -> Columns:
        """Return the candidates that lower the training error most."""
        if len(self.chosen) >= self.steps:
            return NOTHING
        allowed = enterable(self.design.constant, self.chosen, None)
        allowed[[i for unit in self._units for i in unit]] = False
        which = np.flatnonzero(allowed)
        if not self.loss.bounded:
            return which if self.rows.together is None else NOTHING
        if not (self.rows.knows_all or self.rows.held or not self.chosen):
            return NOTHING
        known = self.candidates()
        pivots = np.maximum(known.s[which], 0.0) + self.alpha + 1e-300
        gain = np.square(known.c[which]).sum(1) / pivots
        if self.costs is not None:
            gain = gain / self.costs.of[which]
        return np.sort(which[smallest(-gain, FORESEEN)])

    def _plain(self, which: Columns) -> Columns:
        """Return the candidates that products determine precisely enough."""
        return which[~self._doubtful(which, self._products(which)[1])]

    def _doubtful(self, which: Columns, s: Floats) -> NDArray[np.bool_]:
        size = self.design.sizes[which] * np.sqrt(self.design.squares[which])
        error = 2 * ROUNDED_PRODUCTS * size
        return (error > KNOWN_WELL * (s + self.alpha)) & ~self.design.constant[which]

    def _level(self, which: Columns, found: Projection, about: float) -> Level:
        usable = found.usable
        pivots = np.where(usable, found.pivots, 1.0)
        tau = np.where(usable[:, None], found.c / pivots[:, None], 0.0)
        reach = self._reach[self.chosen]
        blurs = np.broadcast_to(self.loss.blur(reach.sum() + self._reach[which]), len(which))
        drops: list[int] = []
        directions, steps = np.zeros((len(self.chosen), 0)), np.zeros((0, self.a.shape[1]))
        drop_blurs = np.zeros(0)
        if self._known.drops and self.chosen:
            drops = list(self.chosen)
            directions, steps = self._removals()
            drop_blurs = np.asarray(self.loss.blur(reach.sum() - reach))
        return Level(
            len(self.chosen), about, float(self.loss.blur(reach.sum())), which, found.t, pivots,
            tau, np.asarray(blurs), drops, directions, steps, drop_blurs,
        )  # fmt: skip

    def _removals(self) -> tuple[Floats, Floats]:
        """Return, for every selected feature, q in terms of the columns of Z, and tau = -q'y."""
        inverse = self.solve(np.eye(len(self.chosen)))
        norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
        return inverse.T / norms, -self.solve(self.a) / norms[:, None]

    # Groups -------------------------------------------------------------------------------------

    def group_errors(self, action: str, firsts: Sequence[int], squared: bool) -> Floats:
        """Return the criterion after adding or removing each of some groups, named by first
        column.
        """
        self._known.drops |= action == "drop"
        found = [self._group_error(action, first) for first in firsts]
        if None in found:
            self._look()
            found = [self._group_error(action, first) for first in firsts]
        return np.array([pair[int(squared)] for pair in found if pair is not None])

    def _group_error(self, action: str, first: int) -> tuple[float, float] | None:
        known, key = self._known, self.key
        alone = key | {first} if action == "add" else key - {first}
        in_unit = any(first in unit for unit in self._units)
        return known.groups.get((key, action, first)) if in_unit else known.errors.get(alone)

    def is_usable(self, column: int) -> bool:
        """Return whether a column is not a combination of the selected ones."""
        return bool(self._projected(np.array([column], dtype=np.intp)).usable[0])

    def _group_changes(self) -> tuple[GroupChange, ...]:
        """Return the change of the current model by each group."""
        changes, inside = [], set(self.chosen)
        outside = [unit for unit in self._units if not inside & set(unit)]
        found = self._projected(np.array([i for unit in outside for i in unit], dtype=np.intp))
        low = 0
        for unit in outside:
            part = slice(low, low + len(unit))
            low = part.stop
            one = found.only(part)
            if one.usable.any():
                blur = self._blur([*self.chosen, *unit])
                changes.append(GroupChange.addition(unit, one, self._gram(unit)[unit], blur))
        for unit in self._units if self._known.drops else []:
            if held := [i for i in self.chosen if i in unit]:
                rest = [i for i in self.chosen if i not in set(held)]
                places = [self.chosen.index(i) for i in held]
                changes.append(
                    GroupChange.removal(unit[0], places, self.R, self.a, self._blur(rest))
                )
        return tuple(changes)

    def _keep_groups(self, changes: Sequence[GroupChange], scores: Floats) -> None:
        key, known = self.key, self._known.groups
        for change, pair in zip(changes, scores, strict=True):
            known.setdefault((key, change.action, change.first), (float(pair[0]), float(pair[1])))
        for unit in self._units:  # nothing is left of those that were not judged
            known.setdefault((key, "add", unit[0]), (np.inf, np.inf))

    def _blur(self, columns: Sequence[int]) -> float:
        return float(self.loss.blur(self._reach[list(columns)].sum()))

    def _settle(self, best: Update | None) -> None:
        """Look further ahead if the last prediction was right, less far otherwise."""
        guess = self._known.foreseen.pop(self.key, None)
        if guess is None or best is None:
            return
        right = guess == best.feature
        self._known.steps_ahead = min(FARTHEST, 2 * self._known.steps_ahead) if right else 1

    def solve(self, b: Floats, transposed: bool = False) -> Floats:
        """Return R^-1 b, or R^-T b."""
        return triangular(self.R, b, transposed)


def smallest(values: Floats, count: int) -> Columns:
    """Return the indices of the smallest values, in order; the lowest index breaks ties.

    >>> smallest(np.array([3.0, 1.0, 2.0, 1.0]), 3).tolist()
    [1, 3, 2]
    """
    some = np.arange(len(values))
    if len(values) > count:
        some = np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
    return some[np.argsort(values[some], kind="stable")][:count]
