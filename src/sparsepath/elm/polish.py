r"""Scalings and ridge of a given subset that make the leave-one-out error itself small.

With the letters of :mod:`sparsepath.elm.network`, c = e / p (the leave-one-out residuals),
:math:`K = A^{-1} H`, u = c / p, v = c^2 / p (summed over targets) and a = K u, the differentials

.. math::

   de = -dH' w - H' A^{-1} (dH\, e - H\, dH' w) + n\, d\rho\, K' w \qquad
   dp_i = -2\, dh_i' K_i + 2\, K_i'\, dH\, H' K_i + n\, d\rho\, |K_i|^2

give for PRESS = \|c\|^2 / n, of which the differential is (2/n) (u'de - v'dp),

.. math:: \partial \mathrm{PRESS} / \partial H
   = \tfrac{2}{n} \left( -w (u - H'a)' - a e' + 2 K V - 2 (K V K') H \right), \qquad
   V = \mathrm{diag}(v), \\
   \partial \mathrm{PRESS} / \partial \rho = 2 \left( w' a - \textstyle\sum_i v_i |K_i|^2 \right),

the former less its mean over the samples because H is centred, and from there the chain rule
through tanh. Logarithms of scalings and ridge are free between bounds; L-BFGS does the descent,
from the ridge that :func:`tuned` finds: with too little a machine is good at predicting each sample
from the others and yet wild in between, with too much it is a constant.

What was found by making an error small has an error that flatters, so of two machines the plainer
one stays unless the other is :func:`clearly_better`: its leave-one-out losses are less by more than
z standard errors of the mean difference, sample by sample, with z = 3 for one feature. Fitting s
scalings to noise gains a z^2 of about s, as a chi square of s degrees of freedom, so z^2 grows by
two with each. Where scalings of their own serve the features, z is five and more; where there is
but noise to fit, such machines do worse on new data than those that they would replace.
"""

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from sparsepath.arrays import Floats
from sparsepath.elm.network import ROOM, Fit, Indices, Pool
from sparsepath.elm.scaling import Candidate

ROUNDS = 12
WORTH_A_ROUND = 1e-3  # of the error: what a round must gain for another one
AS_GOOD = 0.5  # standard errors of the difference by which a larger ridge may be worse
STANDARD_ERRORS, FOR_EACH = 3.0, 2.0  # of the mean difference; more in z^2 for each feature more


def press_gradient(fit: Fit) -> tuple[float, Floats]:
    """Squared leave-one-out error; gradient by logarithms of the active scalings and the ridge."""
    from sparsepath.elm import compiled

    n, m = fit.target.n, len(fit.H)
    R, p = fit.space.R[:m], np.empty(n)
    K = np.matmul(fit.inverse_root.T @ fit.inverse_root, fit.H, out=fit.space.Q[:m])
    compiled.leverage_left(K, fit.H, p)
    if p.min() <= ROOM:
        return np.inf, np.zeros(fit.XT.shape[0] + 1)
    c = fit.E / p
    u = c / p
    v = (c * u).sum(0)
    a = K @ u.T
    compiled.weigh(K, np.sqrt(v), R)
    inner = R @ R.T
    slope = 2.0 * fit.ridge * (float(np.vdot(fit.w, a)) - float(np.trace(inner)))
    M = 2.0 * inner - fit.w @ a.T
    np.matmul(M, fit.H, out=R)
    compiled.slope_of_press(R, K, fit.H, fit.means, v, fit.w, u, a, fit.E)
    slopes = np.einsum("jk,jk->k", fit.neurons.weights, R @ fit.XT.T) / n
    return float(np.square(c).sum()) / n, np.append(slopes, slope)


def tuned(pool: Pool, scaling: Floats, which: Indices | None = None) -> Candidate:
    """The machine with the best ridge of the grid; default: all neurons.

    The largest ridge of which the error is above the least by no more than half a standard error
    of the difference, sample by sample: a smaller one promises more than it keeps.
    """
    which = np.arange(len(pool.neurons)) if which is None else which
    ridges = pool.ridges[::-1].tolist()
    found = pool.fit(scaling, which, ridges[0]).leave_one_out_for(ridges)
    keys = [(each.criterion, each.squares) for each in found]
    best = min(range(len(keys)), key=lambda i: keys[i])
    for i in range(best):
        above = found[i].losses - found[best].losses
        if above.mean() <= AS_GOOD * above.std(ddof=1) / np.sqrt(len(above)):
            best = i
            break
    chosen = found[best]
    return Candidate(chosen.key, scaling, which, ridges[best], chosen.losses)


def losses(pool: Pool, machine: Candidate) -> Floats:
    """The criterion of a machine, sample by sample."""
    if machine.losses is not None:
        return machine.losses
    return pool.fit(machine.scaling, machine.which, machine.ridge).leave_one_out().losses


def clearly_better(
    pool: Pool, machine: Candidate, plainer: Candidate, standard_errors: float = STANDARD_ERRORS
) -> bool:
    """Whether the first machine is better by more than the samples' spread explains."""
    if not machine.key < plainer.key:
        return False
    gains = losses(pool, plainer) - losses(pool, machine)
    noise = float(gains.std(ddof=1)) / np.sqrt(len(gains))
    enough = np.sqrt(standard_errors**2 + FOR_EACH * (len(machine.subset) - 1))
    return bool(gains.mean() > enough * noise)


def polish(pool: Pool, candidate: Candidate, least: float = 0.1, rounds: int = ROUNDS) -> Candidate:
    """A machine on the same subset that is at least as good: other scalings, another ridge.

    Scalings stay between ``least`` and 1, as on the grid: one that could go to nothing would let a
    large subset pass for a small one. It ends when a round gains less than a thousandth.
    """
    active = np.array(candidate.subset)
    low = np.log([*[least] * len(active), pool.ridge])
    high = np.log([*[1.0] * len(active), pool.most])
    best, at = np.inf, np.zeros(0)

    def machine(logs: Floats) -> tuple[Floats, float]:
        scaling = np.zeros(len(pool.XT))
        scaling[active] = np.exp(logs[:-1])
        return scaling, float(np.clip(np.exp(logs[-1]), pool.ridge, pool.most))

    def error(logs: Floats) -> tuple[float, Floats]:
        nonlocal best, at
        scaling, ridge = machine(logs)
        press, gradient = press_gradient(pool.fit(scaling, candidate.which, ridge))
        if not np.isfinite(press) or press <= 0.0:
            return 1e3, np.zeros(len(logs))
        if press < best:
            best, at = press, logs.copy()
        return float(np.log(press)), gradient / press

    minimize(
        error,
        np.clip(np.log([*candidate.scaling[active], candidate.ridge]), low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        callback=_Gains(),
        options={"maxiter": rounds, "maxfun": 2 * rounds},
    )
    if not at.size:
        return candidate
    scaling, ridge = machine(at)
    key = best, best
    if pool.target.own.size:
        key = pool.fit(scaling, candidate.which, ridge).key()
    return min(
        (candidate, Candidate(key, scaling, candidate.which, ridge)), key=lambda found: found.key
    )


class _Gains:
    """Ends a descent when a round gains too little to go on."""

    def __init__(self) -> None:
        self.before = np.inf

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        if self.before - intermediate_result.fun < WORTH_A_ROUND:
            raise StopIteration
        self.before = float(intermediate_result.fun)
