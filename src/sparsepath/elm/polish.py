r"""Scalings of a given subset that make the leave-one-out error itself small, by its gradient.

With the letters of :mod:`sparsepath.elm.network`, c = e / p (the leave-one-out residuals),
:math:`K = A^{-1} H`, u = c / p, v = c^2 / p (summed over targets) and a = K u, the differentials

.. math::

   de = -dH' w - H' A^{-1} (dH\, e - H\, dH' w) \qquad
   dp_i = -2\, dh_i' K_i + 2\, K_i'\, dH\, H' K_i

give for PRESS = \|c\|^2 / n, of which the differential is (2/n) (u'de - v'dp),

.. math:: \partial \mathrm{PRESS} / \partial H
   = \tfrac{2}{n} \left( -w (u - H'a)' - a e' + 2 K V - 2 (K V K') H \right), \qquad
   V = \mathrm{diag}(v),

less its mean over the samples because H is centred, and from there the chain rule through tanh.
Logarithms of the scalings are free between bounds; L-BFGS does the descent.
"""

import numpy as np
from scipy.linalg import blas
from scipy.optimize import minimize

from sparsepath.data.blocks import Floats
from sparsepath.elm.network import ROOM, Fit, Pool
from sparsepath.elm.scaling import Candidate
from sparsepath.elm.subsets import best_prefix

ROUNDS = 12


def press_gradient(fit: Fit) -> tuple[float, Floats]:
    """Squared leave-one-out error, and its gradient by the logarithms of the active scalings."""
    n = fit.target.n
    Q = fit.orthogonal()
    p = 1.0 - 1.0 / n - np.einsum("ji,ji->i", Q, Q)
    if p.min() <= ROOM:
        return np.inf, np.zeros(fit.XT.shape[0])
    K = Q
    blas.dtrsm(1.0, fit.L, K.T, side=1, lower=1, overwrite_b=1)
    c = fit.E / p
    u = c / p
    v = (c * u).sum(0)
    a = K @ u.T
    weighted = K * np.sqrt(v)
    inner = weighted @ weighted.T
    K *= 2.0 * v
    K -= (2.0 * inner - fit.w @ a.T) @ fit.H
    K -= fit.w @ u
    K -= a @ fit.E
    K -= K.mean(1)[:, None]
    K *= 2.0 / n
    return float(np.square(c).sum()) / n, fit.slopes(K)


def polish(pool: Pool, candidate: Candidate, least: float = 0.1, rounds: int = ROUNDS) -> Candidate:
    """A machine on the same subset that is at least as good: other scalings, other prefix.

    Scalings stay between ``least`` and 1, as on the grid: one that could go to nothing would let a
    large subset pass for a small one.
    """
    active = np.array(candidate.subset)

    def scaling_of(logs: Floats) -> Floats:
        scaling = np.zeros(len(pool.XT))
        scaling[active] = np.exp(logs)
        return scaling

    def error(logs: Floats) -> tuple[float, Floats]:
        press, gradient = press_gradient(pool.fit(scaling_of(logs), candidate.which))
        if not np.isfinite(press) or press <= 0.0:
            return 1e3, np.zeros(len(logs))
        return float(np.log(press)), gradient / press

    start = np.log(np.clip(candidate.scaling[active], least, 1.0))
    found = minimize(
        error,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(least), 0.0)] * len(active),
        options={"maxiter": rounds, "maxfun": 2 * rounds},
    )
    scaling = scaling_of(found.x)
    same = Candidate(pool.fit(scaling, candidate.which).key(), scaling, candidate.which)
    prefix = best_prefix(pool, scaling)
    return min((candidate, same, prefix), key=lambda found: found.key)
