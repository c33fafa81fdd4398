r"""Exact leave-one-out on data that are read in passes: few passes, and the same choices.

The letters are those of ``leave_one_out/model.py``. The products X'X and X'y (``moments.py``) give
s, c and t of every candidate without the rows, and with the sums u'u, u'r of the model at hand,
u = r / p^2, the bound of ``leave_one_out/additions.py``: with beta = u'r / r'r,

    LOO(x)  >=  u'r - 2 tau h + tau^2 |z|^2,        |h - beta x'P r| <= |z| |u - beta r|.

With many samples p is nearly one everywhere, u is nearly beta r, and the bound is so close that
only a handful of candidates must be judged by a pass, in which nothing but their columns and the
chosen ones is read. The same closeness lets the order of the next choices be foreseen: the pass
also judges the models that will most likely come next, with their best candidates. If it turns
out so, the next steps need no pass at all; if not, nothing is lost but the time to judge them. What
was judged is kept by the set of its features, so floating, swaps and copies of a model never ask
twice. No choice rests on what was foreseen: only on exact values and bounds.

Rounding. Products know what is left of a column to 1e-11 of its square, with a wide margin. A
candidate of which too little is left to be judged by them is projected by a pass of its own.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr_delete

from sparsepath.arrays import Floats
from sparsepath.data.sources import Columns
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import Loss, reach_of
from sparsepath.rls.leave_one_out.additions import KNOWN_WELL
from sparsepath.rls.leave_one_out.bounds import ROUNDED_PRODUCTS, least_errors
from sparsepath.rls.leave_one_out.fitted import CANCELLED, VANISHED, triangular
from sparsepath.rls.streamed.design import StreamDesign, class_shares
from sparsepath.rls.streamed.judging import (
    JudgedLevel,
    Key,
    KnownModels,
    Level,
    Plan,
    View,
    judge,
    project,
)
from sparsepath.rls.update import Changeable, Costs, Second, Update, enterable, limit, pick

FORESEEN = 6  # candidates judged at a step that is foreseen
FORESEEN_AT_MOST = 96  # and at most at a time
FARTHEST = 12  # steps foreseen at most
NOTHING = np.zeros(0, dtype=np.intp)


class Streamed(Changeable):
    """A model on a set of features and the exact criterion of neighbouring sets, by passes.

    ``steps`` features will be chosen, as far as is known.
    """

    def __init__(self, design: StreamDesign, alpha: float, loss: Loss, steps: int) -> None:
        self.design, self.alpha, self.loss, self.steps = design, float(alpha), loss, steps
        self.costs: Costs | None = None
        self.counts = loss.counts
        self.form = "passes: rows are read from their source"
        T = len(design.y_mean)
        self.chosen: list[int] = []
        self.R, self.a = np.zeros((0, 0)), np.zeros((0, T))
        self._reach = reach_of(design.squares, self.alpha)
        self._shares = class_shares(design) if loss.balanced else None
        self._known = KnownModels()
        self.empty_error = self.error
        self.empty_squared = self.squared_error if self.counts else self.error
        self.target_squares = float(self._sums.squares.sum())

    # The model ----------------------------------------------------------------------------------

    @property
    def key(self) -> Key:
        return frozenset(self.chosen)

    @property
    def _sums(self) -> JudgedLevel:
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
        """The squared criterion, whatever the loss."""
        if self.key not in self._known.models:
            self._look()
        return self._known.errors[self.key][1]

    def coef(self) -> Floats:
        """Coefficients of the chosen features in the units of the data, |S| x T."""
        return self.design.scales[self.chosen][:, None] * self._solve(self.a)

    def intercept(self) -> Floats:
        """The constant term, one per target."""
        return self.design.y_mean - self.design.means[self.chosen] @ self.coef()

    def standard_error(self) -> float:
        """Standard error of ``error`` as a mean over samples; see ``State.standard_error``."""
        m, sums = self.design.n_counted, self._sums
        step = sums.error - sums.about
        moved = step**2 * sums.vv
        total = sums.around - 2 * step * sums.slope + moved
        if not total > CANCELLED * moved:
            self._look(about=sums.error)
            total = self._known.models[self.key].around
        return float(np.sqrt(total * m / (m - 1)))

    @property
    def vanished(self) -> bool:
        """Whether nothing is left of the residuals but rounding."""
        return float(self._sums.squares.sum()) <= VANISHED**2 * self.target_squares

    # What a search asks -------------------------------------------------------------------------

    def find_best_update(
        self, action: str = "add", features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """The best single addition or removal; see ``RLSState.find_best_update``."""
        if action == "drop":
            return self._best_removal(features)
        which = np.flatnonzero(enterable(self.design.constant, self.chosen, features))
        if not len(which):
            return None
        self._sums  # noqa: B018 (a pass, if the model was not judged yet)
        bounds = self._bounds(which)
        while True:
            errors = self._with(which)
            seen = ~np.isnan(errors)
            values = self._values(which[seen], errors[seen])
            most = limit(values.min(initial=np.inf), self.empty_error)
            open_ = which[~seen & (bounds <= most)]
            if not len(open_):
                break
            order = np.argsort(bounds[np.searchsorted(which, open_)], kind="stable")
            self._look(open_[order[: FORESEEN_AT_MOST if self.loss.bounded else None]])
        best = pick(
            "add", which[seen], errors[seen], self.empty_error, values,
            self._second if self.counts else None,
        )  # fmt: skip
        self._settle(best)
        return best

    def duplicate(self) -> "Streamed":
        """A copy to try changes on; what is known of sets is shared."""
        other = copy.copy(self)
        other.chosen = list(self.chosen)
        return other

    def add(self, feature: int) -> None:
        """Add a feature."""
        if feature in self.chosen:
            raise InputError(f"feature {feature} is chosen already.")
        which = np.array([feature], dtype=np.intp)
        t, pivots, c, usable = self._projected(which)
        if not usable[0]:
            raise InputError(f"feature {feature} is collinear with the chosen ones.")
        self.R, self.a = _grown(self.R, self.a, t[:, 0], pivots[0], c[0])
        self.chosen.append(int(feature))

    def drop(self, feature: int) -> None:
        """Take a chosen feature out again."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not chosen; these are: {self.chosen}.")
        k, place = len(self.chosen), self.chosen.index(feature)
        Q, R = qr_delete(np.eye(k), self.R, place, which="col")
        self.R, self.a = np.asfortranarray(R[: k - 1]), (Q.T @ self.a)[: k - 1]
        del self.chosen[place]

    def known(self) -> dict[str, Any]:
        """What passes have told so far, as plain values: with it a search goes on to the bit."""
        return self._known.to_dict()

    def recall(self, record: Mapping[str, Any]) -> None:
        """Know what an earlier search on the same data had been told."""
        self._known = KnownModels.from_dict(record)

    # Additions ----------------------------------------------------------------------------------

    def _with(self, which: Columns) -> Floats:
        """The criterion with each of some features added, as far as it is known; else NaN."""
        errors, key = self._known.errors, self.key
        return np.array([errors.get(key | {int(i)}, (np.nan,))[0] for i in which])

    def _second(self, tied: Columns) -> Second:
        errors, key = self._known.errors, self.key
        squared = np.array([errors[key | {int(i)}][1] for i in tied])
        return Second(squared, self._values(tied, squared, squared=True), self.empty_squared)

    def _values(self, which: Columns, errors: Floats, squared: bool = False) -> Floats:
        if self.costs is None:
            return errors
        return self.costs.worth(which, errors, self.squared_error if squared else self.error)

    def _products(
        self, which: Columns, chosen: Sequence[int], R: Floats, a: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """T, s and c of candidates from products alone."""
        design = self.design
        t = np.zeros((0, len(which)))
        if chosen:
            t = triangular(R, design.gram(np.array(chosen))[which].T, transposed=True)
        s = design.squares[which] - np.einsum("ij,ij->j", t, t)
        return t, s, design.xy[which] - t.T @ a

    def _projected(self, which: Columns) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
        """T, pivots, c and usability of candidates; by a pass where products do not tell."""
        t, s, c = self._products(which, self.chosen, self.R, self.a)
        design = self.design
        doubtful = np.flatnonzero(self._doubtful(which, s))
        if len(doubtful) and self.chosen:
            some = which[doubtful]
            for _ in range(2):
                view = self._view([*self.chosen, *some.tolist()])
                given = view, np.array(self.chosen), self.R, self.a, some, t[:, doubtful]
                Zw, squares, wr = design.source.total(design.crew, view.columns, project, *given)
                b = self._solve(t[:, doubtful])
                t[:, doubtful] += Zw - self.alpha * self._solve(b, transposed=True)
            b = self._solve(t[:, doubtful])
            s[doubtful] = squares + self.alpha * np.einsum("ij,ij->j", b, b)
            c[doubtful] = wr + self.alpha * (b.T @ self._solve(self.a))
        pivots = np.maximum(s, 0.0) + self.alpha
        floor = design.floor(which)
        return t, pivots, c, (pivots > floor) & ~design.constant[which]

    def _bounds(self, which: Columns) -> Floats:
        """Lower bounds of what additions are compared by, lowered by their own rounding."""
        if not self.loss.bounded:
            return np.full(len(which), -np.inf)
        design, alpha, sums = self.design, self.alpha, self._sums
        t, s, c = self._products(which, self.chosen, self.R, self.a)
        b = self._solve(t)
        q = np.maximum(np.maximum(s, 0.0) - alpha * np.einsum("ij,ij->j", b, b), 0.0)
        beta = sums.ur / np.maximum(sums.squares, np.finfo(float).tiny)
        w = self._solve(self._solve(self.a), transposed=True)
        h = beta * (c - alpha * (t.T @ w))
        off = np.sqrt(np.maximum(sums.uu - beta * sums.ur, 0.0) + 1e-14 * sums.uu)
        given = which, alpha, self.target_squares, sums.uu, sums.ur
        bounds = least_errors(design, *given, np.maximum(s, 0.0), c, q, h, off)
        return self._values(which, bounds)

    # Removals -----------------------------------------------------------------------------------

    def _best_removal(self, features: Iterable[int] | None) -> Update | None:
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
        """One pass: the model at hand, candidates, removals, and what will most likely be next."""
        anew = about is not None
        if about is None:
            about = self._known.errors.get(self.key, (0.0,))[0]
            about = about if np.isfinite(about) else 0.0
        chosen, R, a = list(self.chosen), self.R, self.a
        levels: list[Level] = []
        names: list[tuple[list[int], Columns, NDArray[np.bool_]]] = []
        for depth in range(1 + min(self._known.steps_ahead, max(0, self.steps - len(chosen)))):
            trial = copy.copy(self)
            trial.chosen, trial.R, trial.a = list(chosen), R, a
            which = candidates if not depth and len(candidates) else trial._likely()
            if depth:
                which = trial._plain(which)
                if not len(which):
                    break
            t, pivots, c, usable = trial._projected(which)
            levels.append(trial._level(which, t, pivots, c, usable, about if not depth else 0.0))
            names.append((list(chosen), which, usable))
            gains = np.where(usable, np.square(c).sum(1) / pivots, -1.0)
            place = int(gains.argmax()) if len(which) else -1
            if place < 0 or not usable[place] or not self.loss.bounded:
                break
            R, a = _grown(R, a, t[:, place], pivots[place], c[place])
            chosen.append(int(which[place]))
        k = levels[-1].size
        plan = Plan(np.array(chosen[:k], dtype=np.intp), R[:k, :k], a[:k], tuple(levels))
        view = self._view([*chosen[:k], *np.concatenate([w for _, w, _ in names]).tolist()])
        design = self.design
        answer = iter(design.source.total(design.crew, view.columns, judge, view, plan))
        for (base, which, usable), level in zip(names, levels, strict=True):
            self._keep(base, which, usable, level, [next(answer) for _ in range(7)], anew)
            anew = False  # of the model at hand only
        if len(names) > 1:
            self._known.foreseen[self.key] = chosen[len(self.chosen)]

    def _keep(
        self,
        base: list[int],
        which: Columns,
        usable: NDArray[np.bool_],
        level: Level,
        told: list[Floats],
        anew: bool,
    ) -> None:
        """Know what a pass told, by sets; what was known of a set stays, to the bit.

        A model is judged again in the company of other candidates, and its sums then differ by
        rounding. If they took the place of the earlier ones, figures would depend on when they are
        asked for, and a search that goes on from a checkpoint asks at other times.
        """
        (
            (total, tight, around, slope, vv, square),
            squares,
            (_, uu, ur),
            first,
            second,
            less,
            less2,
        ) = told
        errors, key = self._known.errors, frozenset(base)
        error = float(total) if not tight else np.inf
        errors.setdefault(key, (error, float(square) if not tight else np.inf))
        judged = JudgedLevel(
            error, level.about, float(around), float(slope), squares, uu, ur, float(vv)
        )
        if anew or key not in self._known.models:
            self._known.models[key] = judged
        for i, fine, value, square in zip(which.tolist(), usable, first, second, strict=True):
            pair = (float(value), float(square)) if fine else (np.inf, np.inf)
            errors.setdefault(key | {i}, pair)
        for i, value, square in zip(base if len(less) else [], less, less2, strict=True):
            errors.setdefault(key - {i}, (float(value), float(square)))

    def _likely(self) -> Columns:
        """The candidates that lower the training error most."""
        which = np.flatnonzero(enterable(self.design.constant, self.chosen, None))
        if not self.loss.bounded:
            return which if len(self.chosen) < self.steps else NOTHING
        if len(self.chosen) >= self.steps or not (self.design.knows_all or not self.chosen):
            return NOTHING
        _, s, c = self._products(which, self.chosen, self.R, self.a)
        gain = np.square(c).sum(1) / (np.maximum(s, 0.0) + self.alpha + 1e-300)
        if self.costs is not None:
            gain = gain / self.costs.of[which]
        return np.sort(which[np.argsort(-gain, kind="stable")[:FORESEEN]])

    def _plain(self, which: Columns) -> Columns:
        """Those candidates that products tell enough of; the others are left for later."""
        _, s, _ = self._products(which, self.chosen, self.R, self.a)
        return which[~self._doubtful(which, s)]

    def _doubtful(self, which: Columns, s: Floats) -> NDArray[np.bool_]:
        size = self.design.sizes[which] * np.sqrt(self.design.squares[which])
        error = 2 * ROUNDED_PRODUCTS * size
        return (error > KNOWN_WELL * (s + self.alpha)) & ~self.design.constant[which]

    def _level(
        self,
        which: Columns,
        t: Floats,
        pivots: Floats,
        c: Floats,
        usable: NDArray[np.bool_],
        about: float,
    ) -> Level:
        pivots = np.where(usable, pivots, 1.0)
        tau = np.where(usable[:, None], c / pivots[:, None], 0.0)
        reach = self._reach[self.chosen]
        blurs = np.broadcast_to(self.loss.blur(reach.sum() + self._reach[which]), len(which))
        T = self.a.shape[1]
        directions, steps = np.zeros((len(self.chosen), 0)), np.zeros((0, T))
        drop_blurs = np.zeros(0)
        if self._known.drops and self.chosen:
            inverse = self._solve(np.eye(len(self.chosen)))
            norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
            directions, steps = inverse.T / norms, -self._solve(self.a) / norms[:, None]
            drop_blurs = np.asarray(self.loss.blur(reach.sum() - reach))
        return Level(
            len(self.chosen), about, float(self.loss.blur(reach.sum())), which, t, pivots, tau,
            np.asarray(blurs), directions, steps, drop_blurs,
        )  # fmt: skip

    def _settle(self, best: Update | None) -> None:
        """Look farther ahead where the last look was right, less far where it was not."""
        guess = self._known.foreseen.pop(self.key, None)
        if guess is None or best is None:
            return
        right = guess == best.feature
        self._known.steps_ahead = min(FARTHEST, 2 * self._known.steps_ahead) if right else 1

    def _view(self, columns: Sequence[int]) -> View:
        return View.of(
            self.design, np.unique(np.array(columns, dtype=np.intp)), self.loss, self._shares
        )

    def _solve(self, b: Floats, transposed: bool = False) -> Floats:
        return triangular(self.R, b, transposed) if len(self.R) else np.zeros_like(b)


def _grown(R: Floats, a: Floats, t: Floats, pivot: float, c: Floats) -> tuple[Floats, Floats]:
    """R and a with one more column."""
    k, root = len(R), np.sqrt(pivot)
    grown = np.zeros((k + 1, k + 1), order="F")
    grown[:k, :k], grown[:k, k], grown[k, k] = R, t, root
    return grown, np.vstack([a, c / root])
