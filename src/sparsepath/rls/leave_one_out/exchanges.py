r"""Which exchanges may help: one chosen feature for one other, from bounds, without making it.

With the letters of ``model.py`` and ``removals.py``, dropping feature b leaves r_b = r - q tau and
p_b = p + q^2 with q = Z d, d a unit vector. A candidate x then has, with t = Z'x and e = t'd,

    t_b = t - d e      b = R^-1 t_b      s + e^2      c - e tau      w_b = w + R^-1 d tau,

so that all candidates are known after all removals without a look at the samples. Adding x only
lowers p_b, and the bound of ``additions.py`` holds for the set without b: first with p_b <= 1, for
which |r_b|^2 is all that is needed; then, if that leaves some open, with p_b itself; then these are
evaluated exactly. Far from the samples' last digits most removals are out of the question at once.
"""

import copy
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.data.crew import added
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.bounds import least_errors
from sparsepath.rls.leave_one_out.fitted import Fitted
from sparsepath.rls.leave_one_out.fitted_rows import Weighed
from sparsepath.rls.update import limit

STEEP = 1e6  # |x|^2 over the pivot of a chosen feature up to which removals are known well
EVALUATED = 32  # candidates evaluated at once


class Known(Protocol):
    """What is known of every feature, with the letters of ``model.py``."""

    s: Floats
    c: Floats
    b2: Floats
    collinear: NDArray[np.bool_]

    @property
    def t(self) -> Floats: ...


def may_exchange(
    state: Fitted, known: Known, feature: int, others: NDArray[np.intp], below: float
) -> bool:
    """Whether dropping a feature and adding one of the others may leave the criterion ``below``."""
    inverse = state.solve(np.eye(len(state.chosen)))
    norms = np.einsum("ij,ij->i", inverse, inverse)
    if not np.all(norms * state.design.squares[state.chosen] <= STEEP):
        return True
    place = state.chosen.index(feature)
    norm = np.sqrt(norms[place])
    d, step = inverse[place] / norm, -state.solve(state.a)[place] / norm
    others = others[~known.collinear[others]]
    without = _Without(state, known, d, step, others)
    most = limit(below, state.empty_error)
    rr = without.residual_squares
    if without.bounds(Weighed(rr, rr, rr)).min(initial=np.inf) > most:
        return False
    trial = copy.copy(state)
    trial.rows = [rows.without(d, step) for rows in state.rows]
    which = np.flatnonzero(without.bounds(trial.weighed()) <= most)
    return any(
        without.errors(trial, which[i : i + EVALUATED]).min() <= most
        for i in range(0, len(which), EVALUATED)
    )


class _Without:
    """Some candidates once a feature is dropped, by the Gram matrix."""

    def __init__(
        self, state: Fitted, known: Known, d: Floats, step: Floats, others: NDArray[np.intp]
    ) -> None:
        self.state, self.others = state, others
        alpha, g, w = state.alpha, state.solve(d), state.solve(state.a)
        self.residual_squares = (
            state.residual_squares - 2 * step * alpha * (g @ w) + step**2 * (1 - alpha * (g @ g))
        )
        self.w = w + np.outer(g, step)
        t = known.t[others]
        e = t @ d
        self.t = t - np.outer(e, d)
        self.s = np.maximum(known.s[others], 0.0) + e * e
        self.c = known.c[others] - np.outer(e, step)
        b2 = known.b2[others] + e * (e * (g @ g) - 2 * (t @ state.solve(g, transposed=True)))
        self.q = np.maximum(self.s - alpha * np.maximum(b2, 0.0), 0.0)
        self.zr = self.c - alpha * (self.t @ state.solve(self.w, transposed=True))

    def bounds(self, weighed: Weighed) -> Floats:
        """Lower bounds of the criterion with each candidate added."""
        _, uu, ur = weighed
        beta = ur / np.maximum(self.residual_squares, np.finfo(float).tiny)
        off = np.sqrt(np.maximum(uu - beta * ur, 0.0) + 1e-14 * uu)
        state = self.state
        given = (self.others, state.alpha, state.target_squares, uu, ur)
        sums = (self.s, self.c, self.q, self.zr * beta)
        return least_errors(state.design, *given, *sums, off)

    def errors(self, trial: Fitted, which: NDArray[np.intp]) -> Floats:
        """The criterion with each of some candidates added, from the rows."""
        state, features = self.state, self.others[which]
        t = np.asfortranarray(self.t[which].T)
        columns = features, state.design.means[features], state.design.scales[features]
        squares, products = map(
            added, zip(*trial.each(Rows.load_project, *columns, t), strict=True)
        )
        b = state.solve(t)
        pivots = squares + state.alpha * np.einsum("ij,ij->j", b, b) + state.alpha
        usable = state.usable(features, pivots)
        pivots = np.where(usable, pivots, 1.0)
        tau = (products + state.alpha * (b.T @ self.w)) / pivots[:, None]
        parts = trial.few(3 + len(which), Rows.score, pivots, np.where(usable[:, None], tau, 0.0))
        return np.where(usable, added(parts), np.inf)
