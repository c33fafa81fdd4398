r"""Backward search at the price of one reading of the chosen columns per removal.

With the letters of ``passes/engine.py``, N = X_S A^-1 (m x k) and d = diag A^-1, dropping b changes

    r + N_b w_b / d_b          p + N_b^2 / d_b          N_l - f_l N_b,   f_l = (A^-1)_lb / d_b,

so that one pass makes a removal and judges all the next ones, as in Pahikkala, Airola and
Salakoski, "Feature selection for regularized least-squares: new computational short-cuts and fast
algorithmic implementations". What differs from there is where d and f come from.

*Tall.* A^-1 = M M' with M = R^-1, from a Householder factorisation of the augmented columns
[X_S; sqrt(alpha) I] = [Z; .] R, and N = M Z'. Rows of M with a feature less are rows of M made
orthogonal to that feature's row: the removals are Gram-Schmidt on the rows [N_l, M_l], with
f_l = M_l'M_b / |M_b|^2, d_l = |M_l|^2 and w = M Z'y. Nothing positive is a difference. A row of
which less than ``SECOND_GO`` is left is recomputed: M_l orthogonal to the directions dropped,
N_l = M_l Z'.

*Wide* (k well above m). M would be k x k. From X_S' = V S U' come N = V S/(S^2 + alpha) U' and
P = U alpha/(S^2 + alpha) U'; since X'N = I - alpha A^-1 and X'r = alpha w,

    d_l = (1 - x_l'N_l) / alpha       f_l = -x_l'N_b / (alpha d_b)       w_l = x_l'r / alpha.

With many more features than samples 1 - x'N is of the order of one; where it is not, the tall form
is used instead. Either form is set up again whenever half of the features are gone.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from sparsepath._core import tall as core
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ROOM, Loss
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.forward_path import columns_of
from sparsepath.rls.model import SearchEngine
from sparsepath.rls.update import VANISHED, Update, column_mask, pick
from sparsepath.system.arrays import Floats
from sparsepath.system.tuning import TUNING

WIDE = 1.5  # features over samples from which the wide form is used,
SECOND_GO = 1e-2  # norm left of a column, over its norm, below which it is projected once more
KNOWN = 1e-5  # 1 - x'N that is known well enough


class Elimination(SearchEngine):
    """A model that begins with many features and drops them one by one.

    Parameters
    ----------
    design, Y, alpha, loss
        Data, targets, ridge penalty, and loss of leave-one-out residuals.

    Attributes
    ----------
    chosen : list of int
        Features in the model, in the order in which it began with them.
    error : float
        The criterion, a mean per sample.
    """

    _pending: tuple[Floats, float] | None = None

    def __init__(self, design: Design, Y: Floats, alpha: float, loss: Loss) -> None:
        self.design, self.alpha, self.loss = design, float(alpha), loss
        w = design.weights
        self._Y, self._g = Y, np.sqrt(w)
        self._v = loss.sample_weights(Y, w)
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(Y.shape[1])
        centred = Y - self.y_mean
        if design.fit_intercept:
            centred = centred - (w @ centred) / design.total
        self._y = np.ascontiguousarray((self._g[:, None] * centred).T)
        self._p0 = 1.0 - w / design.total if design.fit_intercept else np.ones(len(w))
        self.chosen: list[int] = []
        self._features = np.zeros(0, dtype=np.intp)
        self.r, self.p = self._y.copy(), self._p0.copy()
        self._measure()
        self.empty_error = self.error

    def begin(self, features: Sequence[int]) -> None:
        """Start the model with these features."""
        self.chosen = list(features)
        self._set_up()

    # The model ----------------------------------------------------------------------------------

    def _measure(self) -> None:
        p = np.maximum(self.p, ROOM)
        self._losses = self.loss.weighted(list(self.r.copy()), p, self._g, self._v, self._Y)
        self.error = np.inf if self.p.min() <= ROOM else float(self._losses.sum())

    def standard_error(self) -> float:
        """Return the standard error of ``error`` as a mean over samples."""
        m, off = np.count_nonzero(self._v), self._losses - self._v * self.error
        return float(np.sqrt((off @ off) * (m / (m - 1))))

    def coef(self) -> Floats:
        """Return the coefficients of the selected features in units of the data, |S| x T."""
        self._bring_up()
        order = self._order
        return self.design.scales[order, None] * self._w[self._place[order]]

    def intercept(self) -> Floats:
        """Return the intercepts, one per target."""
        return self.y_mean - self.design.means[self._order] @ self.coef()

    @property
    def vanished(self) -> bool:
        """Return whether the residuals are zero up to rounding."""
        return bool(np.vdot(self.r, self.r) <= VANISHED**2 * np.vdot(self._y, self._y))

    # What a search asks -------------------------------------------------------------------------

    def best_removal(
        self, features: Iterable[int] | None = None, below: float = np.inf
    ) -> Update | None:
        """Return the best removal; all are evaluated, whatever ``below`` is."""
        self._bring_up()
        which, errors = self._features, self._errors
        if features is not None:
            some = column_mask(list(features), self.design.n_features)[which]
            which, errors = which[some], errors[some]
        return pick("drop", which, errors, self.empty_error)

    def best_addition(self, features: Iterable[int] | None = None) -> Update | None:
        """Not available: a backward search makes no additions."""
        raise InputError("this model only removes features.")

    def add(self, feature: int) -> None:
        """Not available: a backward search makes no additions."""
        raise InputError("this model only removes features.")

    def duplicate(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self, {id(self.design): self.design})

    def errors_without(self) -> Floats:
        """Return the criterion after removing each selected feature, in the order of ``chosen``."""
        self._bring_up()
        return self._errors[self._place[self._order]]

    def drop(self, feature: int) -> None:
        """Remove a feature."""
        if feature not in self.chosen:
            raise InputError(f"feature {feature} is not selected; selected are: {self.chosen}.")
        self._bring_up()
        place = int(self._place[feature])
        m, last = self.design.n_samples, len(self._features) - 1
        row, d = self._rows[place].copy(), float(self._d[place])
        N = row[:m]
        self.r += (self._w[place] / d)[:, None] * N
        self.p += N * (N / d)
        # The last row takes the place of the one that goes.
        for of in (self._rows, self._d, self._features, self._computed):
            of[place] = of[last]
        if self._wide:
            self._X[place] = self._X[last]
        else:
            self._gone.append(row[m:] / np.sqrt(d))
        self._place[self._features[place]] = place
        self._features = self._features[:last]
        index = self.chosen.index(feature)
        del self.chosen[index]
        self._order: NDArray[np.intp] = np.delete(self._order, index)
        self._pending = row, d
        self._measure()
        if 2 * last <= self._begun and last:
            self._set_up()

    # Two ways to set up -------------------------------------------------------------------------

    def _set_up(self) -> None:
        k, m = len(self.chosen), self.design.n_samples
        self._features = np.array(self.chosen, dtype=np.intp)
        self._begun = k
        self._order = self._features.copy()
        self._place: NDArray[np.intp] = np.zeros(self.design.n_features, dtype=np.intp)
        self._place[self._features] = np.arange(k)
        self._first = self._place.copy()
        self._pending = None
        self._gone: list[Floats] = []
        X = columns_of(self.design, self._features)
        self._computed: Floats = np.ones(k)
        is_wide, floor = k > max(TUNING.wide_from, WIDE * m), self.design.floor(self._features)
        self._wide: bool = is_wide and self.alpha > floor.max()
        if not (self._wide and self._set_up_wide(X)):
            self._wide = False
            self._set_up_tall(X)
        self._measure()
        self._judge()

    def _set_up_tall(self, X: Floats) -> None:
        k, m = X.shape
        stacked = np.zeros((m + k, k), order="F")
        stacked[:m] = X.T
        stacked[m:][np.diag_indices(k)] = np.sqrt(self.alpha)
        Q, R = np.linalg.qr(stacked) if k else (stacked, np.zeros((0, 0)))
        low = np.flatnonzero(np.square(np.diag(R)) <= self.design.floor(self._features))
        if len(low):
            raise InputError(f"feature {self.chosen[low[0]]} is collinear with the selected ones.")
        self._Z = np.ascontiguousarray(Q[:m].T)
        self._M = lapack.dtrtri(R)[0] if k else R
        self._a = self._Z @ self._y.T
        self._rows = np.empty((k, m + k))
        np.matmul(self._M, self._Z, out=self._rows[:, :m])
        self._rows[:, m:] = self._M
        self._d = np.vecdot(self._M, self._M)
        self._computed = self._d.copy()
        self.r = self._y - self._a.T @ self._Z
        self.p = self._p0 - np.square(self._Z).sum(0)
        self._w: Floats = self._M @ self._a

    def _set_up_wide(self, X: Floats) -> bool:
        """Set up the wide form if it is exact enough; return whether it was."""
        V, s, U = np.linalg.svd(X, full_matrices=False)
        null = s <= s.max() * len(X) * np.finfo(float).eps
        s = np.where(null, 0.0, s)
        shrunk = self.alpha / (s * s + self.alpha)
        self._X, self._rows = X, (V * (s / (s * s + self.alpha))) @ U
        left = 1.0 - np.vecdot(X, self._rows)
        if left.min() < KNOWN:
            return False
        self._d = left / self.alpha
        self.r = (self._y @ U.T * shrunk) @ U
        self.p = shrunk[~null] @ np.square(U[~null])
        # What the columns do not reach is left to the samples, but for the intercept's share of it.
        if np.count_nonzero(null) > int(self.design.fit_intercept):
            self.p += np.square(U[null]).sum(0) - (1.0 - self._p0)
        self._w = X @ self.r.T / self.alpha
        return True

    # One pass -----------------------------------------------------------------------------------

    def _bring_up(self) -> None:
        """Update the rows after the last removal, and evaluate the next removals."""
        if self._pending is None:
            return
        (row, d), k = self._pending, len(self._features)
        self._pending = None
        self._d, self._w, self._errors = np.empty(k), np.empty((k, len(self.r))), np.empty(k)
        self._pass(row, d)
        if self._wide:
            if self.alpha * self._d.min(initial=1.0 / self.alpha) < KNOWN:
                self._set_up()
            return
        doubtful = np.flatnonzero(self._d < SECOND_GO**2 * self._computed[:k])
        if len(doubtful):
            self._renew(doubtful)
            self._w[doubtful] = self._rows[doubtful, len(self.p) :] @ self._a
            self._errors[doubtful] = self._judged(doubtful)

    def _pass(self, row: Floats, d: float) -> None:
        X = self._X if self._wide else np.zeros((0, 0))
        a = np.zeros((0, 0)) if self._wide else np.ascontiguousarray(self._a.T)
        removal = core.Removal(row, d, self.alpha, self.r, self.p, a, ROOM)
        found = self._d, self._w, self._errors
        self._each(lambda i, j: core.remove_from_rows(self._rows, X, i, j, removal, *found))
        self._errors /= self.design.total

    def _judge(self) -> None:
        """Compute the criterion after each removal."""

        def work(low: int, high: int) -> None:
            self._errors[low:high] = self._judged(np.arange(low, high))

        self._errors = np.empty(len(self._features))
        self._each(work)

    def _judged(self, places: NDArray[np.intp]) -> Floats:
        """Return the criterion after some removals."""
        N, d = self._rows[places, : self.design.n_samples].T, self._d[places]
        p = self.p[:, None] + N * (N / d)
        tight = p.min(0) <= ROOM
        steps = self._w[places] / d[:, None]
        residuals = [r[:, None] + N * step for r, step in zip(self.r, steps.T, strict=True)]
        errors = self.loss.total(residuals, np.maximum(p, ROOM), self._g, self._v, self._Y)
        return np.where(tight, np.inf, errors)

    def _each(self, work: Callable[[int, int], None]) -> None:
        """Run work on all rows in parallel; results do not depend on the threads."""
        k, width = len(self._features), self._rows.shape[1]
        step = max(1, TUNING.thread_numbers // width)
        parts = [(i, min(k, i + step)) for i in range(0, k, step)]
        self.design.threads.map(lambda part: work(*part), parts, k * width)

    def _renew(self, places: NDArray[np.intp]) -> None:
        """Recompute some rows of M without the removed features."""
        m = self.design.n_samples
        gone = np.array(self._gone)
        for i in places:
            row = self._M[self._first[self._features[i]]].copy()
            for _ in range(2):
                row -= (gone @ row) @ gone
            self._rows[i, :m], self._rows[i, m:] = row @ self._Z, row
            self._d[i] = self._computed[i] = row @ row
