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
it: an exchange that is found hopeful is tried in any case. Once the compiled loops of a search are
loaded, one of them does the same for all chosen features (``compiled_exchanges.py``).
"""

import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.criteria.losses import ROOM
from sparsepath.tuning import TUNING

STEEP = 1e6  # |x|^2 over the pivot of a chosen feature up to which removals are known well
NEAR_LIMIT = 1e-8  # part of the limit that is near it
ROUNDING = 1e-11  # part of the sums in a bound that may be rounding
LOADED = "sparsepath.rls.leave_one_out.compiled_whole"  # loops that small searches wait for


class Removals(NamedTuple):
    """The directions in which each of the chosen features is dropped.

    ``q``, |S| x m, and ``coefficients``, |S| x |S|, are the two parts of q.
    """

    norms: Floats
    q: Floats
    coefficients: Floats


class Columns(NamedTuple):
    """What is known of all columns.

    ``z``, n x m, is what is left of them, and ``B``, n x |S|, their coefficients on the chosen
    ones; ``pivots`` and ``c``, n and n x T. ``live`` are those neither chosen nor constant.
    """

    z: Floats
    B: Floats
    live: NDArray[np.bool_]
    pivots: Floats
    c: Floats


class Exchanges:
    """All exchanges of one model.

    Parameters
    ----------
    removals : Removals
    columns : Columns
    w : array of shape (|S|, T)
        The coefficients of the model.
    r, p : arrays of shape (T, m) and (m,)
        Its residuals, and one less its leverages.
    alpha : float
        The penalty.
    compiled : bool
        Whether compiled loops are in use anyway.
    """

    def __init__(
        self,
        removals: Removals,
        columns: Columns,
        w: Floats,
        r: Floats,
        p: Floats,
        alpha: float,
        compiled: bool,
    ) -> None:
        self._removals, self._columns, self._alpha = removals, columns, alpha
        self._w, self._r, self._p = w, r, p
        self._compiled = compiled or LOADED in sys.modules
        self._least: tuple[float, Floats, NDArray[np.intp]] | None = None

    def may_reach(self, place: int, most: float, others: Callable[[], Iterable[int]]) -> bool:
        """Whether the sum of squares may be ``most`` with one of the others in place of one."""
        if self._compiled:
            errors, best = self._least_up_to(most)
            if errors[place] > most:
                return False
            if int(best[place]) in set(others()):
                return True
        which = (self._bounds[:, place] <= most).nonzero()[0]
        step = max(1, TUNING.thread_numbers // len(self._p))
        allowed: set[int] = set()
        for i in range(0, len(which), step):
            part = which[i : i + step]
            good = part[self._errors(place, part) <= most]
            if len(good):
                allowed = allowed or set(others())
                if not allowed.isdisjoint(good.tolist()):
                    return True
        return False

    def _least_up_to(self, most: float) -> tuple[Floats, NDArray[np.intp]]:
        """The best exchange of each chosen feature, infinite where none gets as low as that."""
        from sparsepath.rls.leave_one_out.compiled_exchanges import least_exchanges

        if self._least is None or self._least[0] < most:
            (norms, q, G), (z, B, live, pivots, c) = self._removals, self._columns
            G = G / norms[:, None]
            given = (live, B, G, B @ G.T, self._w, norms, q, pivots, c, self._r, self._p)
            found = least_exchanges(z, *given, self._alpha, most, (ROUNDING, ROOM))
            self._least = most, *found
        return self._least[1:]

    @cached_property
    def _without(self) -> tuple[Floats, Floats]:
        """Residuals, T x |S| x m, and p, |S| x m, with each feature dropped."""
        norms, q, _ = self._removals
        r = (self._w / norms[:, None]).T[:, :, None] * q
        r += self._r[:, None]
        return r, self._p + q * q

    @cached_property
    def _e(self) -> Floats:
        return self._columns.B / self._removals.norms

    @cached_property
    def _pivots(self) -> Floats:
        return np.maximum(self._columns.pivots[:, None] + self._e**2, np.finfo(float).tiny)

    @cached_property
    def _tau(self) -> Floats:
        steps = self._w / self._removals.norms[:, None]
        c = self._columns.c[:, None] + self._e[:, :, None] * steps
        return np.asarray(c / self._pivots[:, :, None])

    @cached_property
    def _bounds(self) -> Floats:
        """What sums of squares cannot be below, n x |S|."""
        norms, _, G = self._removals
        w, B, tau, alpha = self._w, self._columns.B, self._tau, self._alpha
        r, p = self._without
        G = G / norms[:, None]
        across, own = B @ G.T, np.vecdot(G, G)
        b2 = np.vecdot(B, B)[:, None] + B * (2.0 * across + B * own)
        s = (1.0 - ROUNDING) * self._pivots - alpha
        z2 = np.maximum(s - alpha * b2, 0.0)[:, :, None]
        bw = (B @ w)[:, None] + across[:, :, None] * w + B[:, :, None] * (G @ w + own[:, None] * w)
        zr = tau * self._pivots[:, :, None] - alpha * bw
        u = r / np.square(np.maximum(p, ROOM))
        ur, uu, rr = (np.vecdot(a, b).T for a, b in ((u, r), (u, u), (r, r)))
        beta = ur / np.maximum(rr, np.finfo(float).tiny)
        off = np.sqrt(np.maximum(uu - beta * ur, 0.0) + 1e-14 * uu)
        size = np.abs(tau)
        length = np.sqrt(z2 + 2.0 * ROUNDING * self._pivots[:, :, None])  # at least |z|
        pull = 2.0 * (tau * zr * beta + size * length * off)
        bounds = ur - pull + tau**2 * z2
        bounds -= ROUNDING * (ur + np.abs(pull))
        out: Floats = bounds.sum(2)
        out[~self._columns.live] = np.inf
        return out

    def _errors(self, place: int, which: NDArray[np.intp]) -> Floats:
        """Sums of squares with the feature at a place exchanged for each of some columns."""
        r, p = self._without
        z = self._columns.z[which] + self._e[which, place, None] * self._removals.q[place]
        left = p[place] - z * z / self._pivots[which, place, None]
        tau = self._tau[which, place]
        e = (r[:, place, None] - tau.T[:, :, None] * z) / np.maximum(left, ROOM)
        return np.where(left.min(1) <= ROOM, np.inf, np.vecdot(e, e).sum(0))
