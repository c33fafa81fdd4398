r"""A whole forward search by a loss without bounds: ``fused_losses.py`` without the steps.

With the letters of ``fused.py``, columns [z, b] are followed and judged in one sweep a step. A
change takes f_i D off column i, f_i = <column_i, D> / pivot, and with it

    pivot_i  <-  pivot_i - f_i^2 pivot        c_i  <-  c_i - f_i c,

so that r - z tau and p - z^2 / pivot_i are known as soon as z is. What is left of a pivot is known
to 1e-16 of what it was when last computed; columns of which less than ``SECOND_GO`` is left are
computed afresh, as in ``fused.py``.

The sweep comes in two kinds. Columns are samples by features, and a sum over samples is taken
one sample after the other: in plain NumPy here, or in a compiled loop (``compiled_losses.py``) that
gives the same numbers to the last bit. So it makes no difference which of the two is run: small
data, which are not worth the wait for a compiler, are swept by it once it is there, or once as much
time has been spent without it as it takes to get it. Other data have a column after the other in
memory, which is followed and judged while it lies in the processor's cache, in one compiled loop
for all steps (``loss_search.py``).
"""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of, fill
from sparsepath.rls.leave_one_out.fitted import COLLINEAR, OFF_CENTRE, VANISHED
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.leave_one_out.whole import Price, Whole
from sparsepath.rls.update import limit

LOSS_PRICE = Price("leave_one_out.compiled_losses", "sweep")
NOBODY = np.zeros(0, dtype=np.intp)


class LossSearch:
    """A forward search by exact leave-one-out.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    size : int
        How many features to choose.
    allowed : array of bool
        The columns that may be chosen.
    loss : Loss
        How a leave-one-out residual is judged; it has loops (``carried``).
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        size: int,
        allowed: NDArray[np.bool_],
        loss: Loss,
    ) -> None:
        self.design, self.alpha, self.loss, self.size = design, alpha, loss, size
        m, T, w = design.n_samples, Y.shape[1], design.weights
        self.m, self.T = m, T
        self._features = (allowed & ~design.constant).nonzero()[0]
        n, rows = len(self._features), m + -m % 4  # samples of weight zero make up fours
        self._rows, width = rows, rows + size + -size % 4
        self._compiled = n > 1 and LOSS_PRICE.is_paid()
        self._Z = np.zeros((width, n)).T
        fill(self._Z[:, :m], design, self._features)
        self._Y, self._g, self._v = np.zeros((rows, T)), np.zeros(rows), np.zeros(rows)
        self._Y[:m], self._g[:m], self._v[:m] = Y, np.sqrt(w), loss.sample_weights(Y, w)
        self._p = np.ones(rows)
        if design.fit_intercept:
            self._p[:m] -= w / design.total
        self.y_mean = (w @ Y) / design.total if design.fit_intercept else np.zeros(T)
        centred = Y - self.y_mean
        if design.fit_intercept:
            centred -= (w @ centred) / design.total
        self._V = np.zeros((T, width))
        self._V[:, :m] = (self._g[:m, None] * centred).T
        self._metric = np.ones(width)
        self._metric[rows:] = alpha
        squares = design.squares[self._features]
        self._squares, self._S = squares, squares + alpha
        self._C = self._V @ self._Z.T
        self._reach = reach_of(squares, alpha)
        sizes = design.sizes[self._features]
        self._floor = COLLINEAR**2 * squares + (OFF_CENTRE * sizes) ** 2
        self._doubted = np.maximum(SECOND_GO**2 * self._S, self._floor)
        self._live = np.ones(n, dtype=bool)
        self._Q = np.zeros((size, width))
        self._errors, self._around = np.zeros((2, size + 1))
        self._coef, self._reached = np.zeros((size + 1, size, T)), 0.0
        (self._D, self._dual), self._pivot = np.zeros((2, width)), 0.0
        self._products = np.zeros(T)
        self._chosen: list[int] = []

    def run(self, wanted: int) -> tuple[Whole, bool]:
        """The path, and whether it ended because a count of mistakes came down to zero.

        Up to the size ``wanted`` it goes on nevertheless.
        """
        began, counts, V, rows = time.perf_counter(), self.loss.counts, self._V, self._rows
        everything, vanished, clean = float(np.vdot(V, V)), False, False
        self._note(0.0)
        empty = float(self._errors[0])
        e = V[:, :rows] / np.maximum(self._p, ROOM)
        squared = float(np.vdot(e, e)) / self.design.total
        while True:
            k, r = len(self._chosen), V[:, :rows]
            vanished = not float(np.vdot(r, r)) > VANISHED**2 * everything
            if vanished or k == self.size or not len(self._features):
                break
            errors = self._swept()
            least = float(errors[errors.argmin()])
            if not least < np.inf:
                break
            if counts and self._errors[k] == 0 and k >= wanted:
                clean = True
                break
            best = (errors <= limit(least, empty)).nonzero()[0]
            if counts and len(best) > 1:
                ranks = self._squared(best)
                best = best[ranks <= limit(float(ranks.min()), squared)]
            self._add(int(best[0]))
        if not self._compiled:
            LOSS_PRICE.spent += time.perf_counter() - began
        return self._found(vanished), clean

    # One step -----------------------------------------------------------------------------------

    def _swept(self) -> Floats:
        """Let all columns follow the last change; the criterion with each of them added."""
        k, rows, loop = len(self._chosen), self._rows, self.loss.carried
        assert loop is not None
        kind, given = loop.laid_out(self._Y, self._V[:, :rows], self._p, self._g, self._v)
        own = self._Y.argmax(1) if kind == WRONG_CLASS else NOBODY
        judging = (kind, given, own, loop.delta, ROOM)
        blur = self.loss.blur(self._reached + self._reach)
        errors = np.empty(len(self._features))
        self._sweep(k, judging, blur, errors)
        doubted = self._doubted > self._S
        if np.count_nonzero(doubted):
            doubted &= self._live
            doubted &= self._floor < self._S
            if len(again := doubted.nonzero()[0]):
                self._renew(again)
                some = np.empty(len(again))
                Z, S, C = self._Z[again, :rows].T, self._S[again], self._C[:, again]
                judge(Z, judging, S, C, blur[again], some)
                errors[again] = some
            errors[self._floor >= self._S] = np.inf
        errors[~self._live] = np.inf
        return errors

    def _sweep(self, k: int, judging: tuple[Any, ...], blur: Floats, errors: Floats) -> None:
        used = self._rows + k + -k % 4
        D, dual, first = self._D[:used], self._dual[:used], k == 0
        of = self._pivot, self._products, judging, self._S, self._C, blur
        run = sweep
        if self._compiled:
            from sparsepath.rls.leave_one_out.compiled_losses import sweep as run
        run(self._Z.T[:used], self._rows, first, D, dual, *of, errors)

    def _renew(self, again: NDArray[np.intp]) -> None:
        """Compute some columns afresh from the data."""
        rows = self._afresh(again)
        self._Z[again] = rows
        self._S[again] = (rows * rows) @ self._metric + self.alpha
        self._C[:, again] = (self._V * self._metric) @ rows.T
        self._doubted[again] = np.maximum(SECOND_GO**2 * self._S[again], self._floor[again])

    def _afresh(self, some: NDArray[np.intp]) -> Floats:
        """Some columns, orthogonal to the chosen ones to the last digit."""
        Q = self._Q[: len(self._chosen)]
        rows = np.zeros((len(some), len(self._metric)))
        rows[:, : self.m] = columns_of(self.design, self._features[some])
        dual = (Q * self._metric).T
        for _ in range(2):
            rows -= (rows @ dual) @ Q
        return rows

    def _squared(self, some: NDArray[np.intp]) -> Floats:
        """The squared criterion with each of some features added."""
        z, inverse = self._Z[some, : self._rows], 1.0 / self._S[some]
        left = self._p - z * (z * inverse[:, None])
        out = np.zeros(len(some))
        for r, c in zip(self._V[:, : self._rows], self._C[:, some], strict=True):
            e = r - z * (c * inverse)[:, None]
            e /= left
            out += np.vecdot(e, e)
        return out / self.design.total

    def _add(self, b: int) -> None:
        """Add a feature."""
        k, rows, D = len(self._chosen), self._rows, self._D
        D[:] = self._Z[b]
        dual = np.multiply(D, self._metric, out=self._dual)
        pivot = float(dual @ D) + self.alpha
        if pivot < SECOND_GO**2 * self._squares[b]:
            D[:] = self._afresh(np.array([b]))[0]
            np.multiply(D, self._metric, out=dual)
            pivot = float(dual @ D) + self.alpha
        D[rows + k], dual[rows + k] = -1.0, -self._metric[-1]
        dual *= 1.0 / pivot
        steps = self._V @ dual
        self._V -= steps[:, None] * D
        self._products, self._pivot = steps * pivot, pivot
        q = np.multiply(D, pivot**-0.5, out=self._Q[k])[:rows]
        self._p -= q * q
        self._live[b] = False
        self._chosen.append(b)
        self._note(self._reached + self._reach[b])

    # The path -----------------------------------------------------------------------------------

    def _note(self, reach: float) -> None:
        """Keep the model as it stands on the path."""
        k, m, v = len(self._chosen), self.m, self._v[: self.m]
        p = np.maximum(self._p[:m], ROOM)
        residuals = list(self._V[:, :m].copy())
        blur = self.loss.blur(reach)
        losses = self.loss.weighted(residuals, p, self._g[:m], v, self._Y[:m], blur)
        error = float(losses.sum())
        losses -= error * v
        self._errors[k] = error if self._p.min() > ROOM else np.inf
        self._around[k] = losses @ losses
        self._coef[k], self._reached = self._V[:, self._rows : self._rows + self.size].T, reach

    def _found(self, vanished: bool) -> Whole:
        k, design = len(self._chosen), self.design
        counted = np.count_nonzero(design.weights)
        subset = self._features[self._chosen]
        coef = self._coef[: k + 1, :k] * design.scales[subset, None]
        return Whole(
            subset,
            self._errors[: k + 1],
            np.sqrt(self._around[: k + 1] * (counted / (counted - 1))),
            coef,
            self.y_mean - design.means[subset] @ coef,
            vanished,
        )


def sweep(
    Z: Floats,
    m: int,
    first: bool,
    D: Floats,
    dual: Floats,
    pivot: float,
    products: Floats,
    judging: tuple[Any, ...],
    S: Floats,
    C: Floats,
    blur: Floats,
    out: Floats,
) -> None:
    """Take a change off the columns, unless it is the ``first`` sweep, and judge all of them.

    Z holds the columns, samples first, of which there are ``m``, then coefficients; S and C are
    their pivots and products with the targets, ``out`` gets the criterion.
    """
    if not first:
        f = np.add.reduce(Z * dual[:, None], axis=0)
        S -= f * f * pivot
        C -= products[:, None] * f
        Z -= D[:, None] * f
    judge(Z[:m], judging, S, C, blur, out)


@np.errstate(invalid="ignore", divide="ignore", over="ignore")
def judge(
    x: Floats, judging: tuple[Any, ...], S: Floats, C: Floats, blur: Floats, out: Floats
) -> None:
    """The criterion with each column added; infinite where there is no room in p."""
    kind, given, own, delta, room = judging
    w = 1.0 / S  # of columns that are out of the question, zero or infinite
    s = x * w
    v, p = given[0, :, None], given[1, :, None]
    left = p - x * s
    if kind == WRONG:
        s -= given[3, :, None] * (C[0] * w)
        s *= x
        s += given[2, :, None]
        out[:] = np.add.reduce((s >= -blur) * v, axis=0)
    elif kind == WRONG_CLASS:
        tau, over = C * w, given[2, :, None]
        s *= 2.0
        mine, hit = tau[own], np.zeros(x.shape, dtype=bool)
        for a, t in zip(given[3 : 3 + len(C), :, None], tau, strict=True):
            hit |= a + x * (s - over * (mine - t)) >= -blur
        out[:] = np.add.reduce(hit * v, axis=0)
    else:
        out[:] = 0.0
        for r, c in zip(given[-len(C) :, :, None], C, strict=True):
            e = np.abs(r - x * (c * w))
            if kind == ABSOLUTE:
                e *= v
                e /= left
            else:
                e *= given[2, :, None]
                e /= left
                near = np.minimum(e, delta)
                e -= 0.5 * near
                near *= v
                e *= near
            out += np.add.reduce(e, axis=0)
    out[left.min(0) <= room] = np.inf
