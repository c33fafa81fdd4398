r"""Which exchanges may help, from P X in memory: one chosen feature for one other.

With the letters of ``fused.py``, w the target's coefficients and q, D = q / norm the direction in
which a feature b is dropped, let f = b_i[b] be the coefficient of column i that this frees. Then

    z_i' = z_i + f D      b_i' = b_i + f D      pivot_i' = pivot_i + (f / norm)^2
    r' = r + w_b D        w' = w + w_b D        c_i' = c_i + f w_b / norm^2,

so that z_i'r' = c_i' - alpha b_i'w' and |z_i'|^2 = pivot_i' - alpha - alpha |b_i'|^2 are known for
all columns and all removals from the coefficients, without a look at the samples. With
u' = r' / p'^2 and beta = u'r' / r'r', the bound of ``additions.py`` holds for the set without b:

    LOO  >=  u'r' - 2 tau h + tau^2 |z'|^2,      |h - beta z'r'|  <=  |z'| |u' - beta r'|.

Columns that this leaves open are evaluated from their rows. What is near the limit counts as below
it: an exchange that is found hopeful is tried in any case.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM

STEEP = 1e6  # |x|^2 over the pivot of a chosen feature up to which removals are known well
NEAR_LIMIT = 1e-8  # part of the limit that is near it
ROUNDING = 1e-11  # part of the sums in a bound that may be rounding


class Removed(NamedTuple):
    """A model with each of its features dropped in turn: |S| of them, T targets.

    ``q``, |S| x m, and ``coefficients``, |S| x |S|, are the two parts of q; ``r`` is T x |S| x m.
    """

    norms: Floats
    q: Floats
    coefficients: Floats
    r: Floats
    p: Floats


class Exchanges:
    """All exchanges of one model.

    Parameters
    ----------
    removed : Removed
        The model with each of its features dropped.
    w : array of shape (|S|, T)
        Its coefficients.
    B : array of shape (n, |S|)
        The coefficients of all columns on the chosen ones.
    live : array of bool, shape (n,)
        The columns that are neither chosen nor constant.
    pivots, c : arrays of shape (n,) and (n, T)
        Of all columns.
    alpha : float
        The penalty.

    Attributes
    ----------
    bounds : array of shape (n, |S|)
        What sums of squares cannot be below.
    least : array of shape (|S|,)
        The least of them for each chosen feature.
    """

    def __init__(
        self,
        removed: Removed,
        w: Floats,
        B: Floats,
        live: NDArray[np.bool_],
        pivots: Floats,
        c: Floats,
        alpha: float,
    ) -> None:
        self._removed = removed
        norms, _, G, r, p = removed
        G = G / norms[:, None]
        self._e = B / norms
        self._pivots = np.maximum(pivots[:, None] + self._e**2, np.finfo(float).tiny)
        steps = w / norms[:, None]
        self._tau = (c[:, None] + self._e[:, :, None] * steps) / self._pivots[:, :, None]
        across, own = B @ G.T, np.vecdot(G, G)
        b2 = np.vecdot(B, B)[:, None] + B * (2.0 * across + B * own)
        s = (1.0 - ROUNDING) * self._pivots - alpha
        z2 = np.maximum(s - alpha * b2, 0.0)[:, :, None]
        bw = (B @ w)[:, None] + across[:, :, None] * w + B[:, :, None] * (G @ w + own[:, None] * w)
        zr = self._tau * self._pivots[:, :, None] - alpha * bw
        u = r / np.square(np.maximum(p, ROOM))
        ur, uu, rr = (np.vecdot(a, b).T for a, b in ((u, r), (u, u), (r, r)))
        beta = ur / np.maximum(rr, np.finfo(float).tiny)
        off = np.sqrt(np.maximum(uu - beta * ur, 0.0) + 1e-14 * uu)
        size = np.abs(self._tau)
        pull = 2.0 * (self._tau * zr * beta + size * np.sqrt(z2) * off)
        bounds = ur - pull + self._tau**2 * z2
        bounds -= ROUNDING * (ur + np.abs(pull))
        self.bounds = bounds.sum(2)
        self.bounds[~live] = np.inf
        self.least = self.bounds.min(0, initial=np.inf)

    def errors(self, place: int, which: NDArray[np.intp], rows: Floats) -> Floats:
        """Sums of squares with the feature at a place exchanged for each of some columns."""
        removed = self._removed
        z = rows + self._e[which, place, None] * removed.q[place]
        left = removed.p[place] - z * z / self._pivots[which, place, None]
        tau = self._tau[which, place]
        e = (removed.r[:, place, None] - tau.T[:, :, None] * z) / np.maximum(left, ROOM)
        return np.where(left.min(1) <= ROOM, np.inf, np.vecdot(e, e).sum(0))
