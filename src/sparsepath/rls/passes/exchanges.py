r"""Which exchanges may help: one chosen feature for one other, from bounds, without making it.

With the letters of ``engine.py``, dropping feature b leaves r_b = r - q tau and p_b = p + q^2 with
q = Z d, d a unit vector. A candidate x then has, with t = Z'x and e = t'd,

    t_b = t - d e      b = R^-1 t_b      s + e^2      c - e tau      w_b = w + R^-1 d tau,

so that all candidates are known after all removals without a look at the samples. Adding x only
lowers p_b <= 1, so that the bound of ``engine.py`` holds with |r_b|^2 in the place of u'u and u'r.
Far from the samples' last digits most removals are out of the question at once.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsepath.rls.design import Design
from sparsepath.rls.passes.bounds import least_errors
from sparsepath.rls.passes.candidates import CandidateSums
from sparsepath.rls.update import limit
from sparsepath.system.arrays import Floats

STEEP = 1e6  # |x|^2 over the pivot of a chosen feature up to which removals are known well


class Fitted(Protocol):
    """A model, with the letters of ``engine.py``."""

    design: Design
    alpha: float
    chosen: list[int]
    a: Floats
    empty_error: float
    target_squares: float

    @property
    def residual_squares(self) -> Floats: ...
    def candidates(self) -> CandidateSums: ...
    def solve(self, b: Floats, transposed: bool = False) -> Floats: ...


def may_exchange(state: Fitted, feature: int, others: NDArray[np.intp], below: float) -> bool:
    """Return whether replacing a feature by one of the others may bring the criterion below
    ``below``.
    """
    alpha, known = state.alpha, state.candidates()
    inverse = state.solve(np.eye(len(state.chosen)))
    norms = np.einsum("ij,ij->i", inverse, inverse)
    if not np.all(norms * state.design.squares[state.chosen] <= STEEP):
        return True
    place = state.chosen.index(feature)
    norm = np.sqrt(norms[place])
    d, step = inverse[place] / norm, -state.solve(state.a)[place] / norm
    g, w = state.solve(d), state.solve(state.a)
    squares = state.residual_squares - 2 * step * alpha * (g @ w) + step**2 * (1 - alpha * (g @ g))
    w = w + np.outer(g, step)
    t = known.t[others]
    e = t @ d
    s = np.maximum(known.s[others], 0.0) + e * e
    c = known.c[others] - np.outer(e, step)
    b2 = known.b2[others] + e * (e * (g @ g) - 2 * (t @ state.solve(g, transposed=True)))
    q = np.maximum(s - alpha * np.maximum(b2, 0.0), 0.0)
    zr = c - alpha * ((t - np.outer(e, d)) @ state.solve(w, transposed=True))
    off = 1e-7 * np.sqrt(np.maximum(squares, 0.0))
    given = others, alpha, state.target_squares, squares, squares
    bounds = least_errors(state.design, *given, s, c, q, zr, off)
    return bool(bounds.min(initial=np.inf) <= limit(below, state.empty_error))
