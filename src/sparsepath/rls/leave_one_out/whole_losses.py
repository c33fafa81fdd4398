r"""A whole forward search by a loss without bounds, in NumPy: ``fused_losses.py`` at once.

With the letters of ``fused.py``, columns [z, b] are followed and judged in one sweep a step. A
change takes f_i D off column i, f_i = <column_i, D> / pivot, and with it

    pivot_i  <-  pivot_i - f_i^2 pivot        c_i  <-  c_i - f_i c,

so that r - z tau and p - z^2 / pivot_i are known as soon as z is. What is left of a pivot is known
to 1e-16 of what it was when last computed; columns of which less than ``SECOND_GO`` is left are
computed afresh, as in ``fused.py``.

This is for small data, which are not worth the wait for a compiler; ``loss_search.py`` has the same
steps in a compiled loop, and the numbers of what was chosen.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.loops import ABSOLUTE, WRONG, WRONG_CLASS
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.leave_one_out.carried import columns_of, fill
from sparsepath.rls.leave_one_out.fitted import VANISHED
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.projection import SECOND_GO
from sparsepath.rls.update import limit

NOBODY = np.zeros(0, dtype=np.intp)


class ChosenByLoss(NamedTuple):
    """Features in the order of entry, and why there are no more of them.

    ``vanished`` if nothing is left of the residuals but rounding, ``clean`` if a count of mistakes
    came down to zero.
    """

    subset: NDArray[np.intp]
    vanished: bool
    clean: bool


class LossSearch:
    """A forward search by exact leave-one-out.

    Parameters
    ----------
    design, Y, alpha
        The problem.
    of : Centred
        The targets as the columns stand.
    size : int
        How many features to choose.
    features : array of int
        The columns that may be chosen.
    loss : Loss
        How a leave-one-out residual is judged; it has loops (``carried``).
    empty, squared : float
        The criterion of the empty model, and the squared one: what rounding is measured by.
    """

    def __init__(
        self,
        design: Design,
        Y: Floats,
        alpha: float,
        of: Centred,
        size: int,
        features: NDArray[np.intp],
        loss: Loss,
        empty: float,
        squared: float,
    ) -> None:
        self.design, self.alpha, self.loss, self.size = design, alpha, loss, size
        self._empty, self._empty_squared = empty, squared
        (T, m), n, w, self._features = of.y.shape, len(features), design.weights, features
        self._m, width = m, m + size
        self._Z = np.zeros((width, n)).T
        fill(self._Z[:, :m], design, features)
        self._Y, self._g, self._v = Y, np.sqrt(w), loss.sample_weights(Y, w)
        self._p, self._V = of.p.copy(), np.zeros((T, width))
        self._V[:, :m] = of.y
        self._metric = np.ones(width)
        self._metric[m:] = alpha
        squares = design.squares[features]
        self._squares, self._S = squares, squares + alpha
        self._C = self._V @ self._Z.T
        self._reach, self._reached = reach_of(squares, alpha), 0.0
        self._floor = of.floor[features]
        self._doubted = np.maximum(SECOND_GO**2 * self._S, self._floor)
        self._live = np.ones(n, dtype=bool)
        self._Q = np.zeros((size, width))
        (self._D, self._dual), self._pivot = np.zeros((2, width)), 0.0
        self._products = np.zeros(T)
        self._chosen: list[int] = []

    def run(self, wanted: int) -> ChosenByLoss:
        """Choose; up to the size ``wanted`` counts that come down to zero are no end."""
        counts, V, m = self.loss.counts, self._V, self._m
        everything, vanished, clean = float(np.vdot(V, V)), False, False
        while True:
            k, r = len(self._chosen), V[:, :m]
            vanished = not float(np.vdot(r, r)) > VANISHED**2 * everything
            if vanished or k == self.size or not len(self._features):
                break
            errors = self._swept()
            least = float(errors[errors.argmin()])
            if not least < np.inf:
                break
            if counts and k >= wanted and self._is_clean():
                clean = True
                break
            best = (errors <= limit(least, self._empty)).nonzero()[0]
            if counts and len(best) > 1:
                ranks = self._squared(best)
                best = best[ranks <= limit(float(ranks.min()), self._empty_squared)]
            self._add(int(best[0]))
        return ChosenByLoss(self._features[self._chosen], vanished, clean)

    # One step -----------------------------------------------------------------------------------

    def _swept(self) -> Floats:
        """Let all columns follow the last change; the criterion with each of them added."""
        k, m, loop = len(self._chosen), self._m, self.loss.carried
        assert loop is not None
        kind, given = loop.laid_out(self._Y, self._V[:, :m], self._p, self._g, self._v)
        own = self._Y.argmax(1) if kind == WRONG_CLASS else NOBODY
        judging = (kind, given, own, loop.delta, ROOM)
        blur = self.loss.blur(self._reached + self._reach)
        errors, Z, S, C = np.empty(len(self._features)), self._Z.T[: m + k], self._S, self._C
        if k:
            f = self._dual[: m + k] @ Z
            S -= f * f * self._pivot
            C -= self._products[:, None] * f
            Z -= self._D[: m + k, None] * f
        judge(Z[:m], judging, S, C, blur, errors)
        doubted = self._doubted > S
        if np.count_nonzero(doubted):
            doubted &= self._live
            doubted &= self._floor < S
            if len(again := doubted.nonzero()[0]):
                self._renew(again)
                some = np.empty(len(again))
                judge(self._Z[again, :m].T, judging, S[again], C[:, again], blur[again], some)
                errors[again] = some
            errors[self._floor >= S] = np.inf
        errors[~self._live] = np.inf
        return errors

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
        rows[:, : self._m] = columns_of(self.design, self._features[some])
        dual = (Q * self._metric).T
        for _ in range(2):
            rows -= (rows @ dual) @ Q
        return rows

    def _squared(self, some: NDArray[np.intp]) -> Floats:
        """The squared criterion with each of some features added."""
        z, inverse = self._Z[some, : self._m], 1.0 / self._S[some]
        left = self._p - z * (z * inverse[:, None])
        out = np.zeros(len(some))
        for r, c in zip(self._V[:, : self._m], self._C[:, some], strict=True):
            e = r - z * (c * inverse)[:, None]
            e /= left
            out += np.vecdot(e, e)
        return out / self.design.total

    def _add(self, b: int) -> None:
        """Add a feature."""
        k, m, D = len(self._chosen), self._m, self._D
        D[:] = self._Z[b]
        dual = np.multiply(D, self._metric, out=self._dual)
        pivot = float(dual @ D) + self.alpha
        if pivot < SECOND_GO**2 * self._squares[b]:
            D[:] = self._afresh(np.array([b]))[0]
            np.multiply(D, self._metric, out=dual)
            pivot = float(dual @ D) + self.alpha
        D[m + k], dual[m + k] = -1.0, -self._metric[-1]
        dual *= 1.0 / pivot
        steps = self._V @ dual
        self._V -= steps[:, None] * D
        self._products, self._pivot = steps * pivot, pivot
        q = np.multiply(D, pivot**-0.5, out=self._Q[k])[:m]
        self._p -= q * q
        self._live[b] = False
        self._chosen.append(b)
        self._reached += self._reach[b]

    def _is_clean(self) -> bool:
        """Whether the model as it stands makes no mistake."""
        p, residuals = np.maximum(self._p, ROOM), list(self._V[:, : self._m].copy())
        given = self._g, self._v, self._Y, self.loss.blur(self._reached)
        return not self.loss.weighted(residuals, p, *given).any()


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
        s -= given[2, :, None] * (C[0] * w)
        s *= x
        s += given[3, :, None]
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
