r"""Optimise the scalings and the ridge of a given subset by its leave-one-out error.

With the letters of :mod:`sparsepath.elm.network`, c = e / p (the leave-one-out residuals),
:math:`K = A^{-1} H`, u = c / p, v = c^2 / p (summed over targets) and a = K u, the differentials

.. math::

   de = -dH' w - H' A^{-1} (dH\, e - H\, dH' w) + n\, d\rho\, K' w \qquad
   dp_i = -2\, dh_i' K_i + 2\, K_i'\, dH\, H' K_i + n\, d\rho\, |K_i|^2

give for PRESS = \|c\|^2 / n, whose differential is (2/n) (u'de - v'dp),

.. math:: \partial \mathrm{PRESS} / \partial H
   = \tfrac{2}{n} \left( -w (u - H'a)' - a e' + 2 K V - 2 (K V K') H \right), \qquad
   V = \mathrm{diag}(v), \\
   \partial \mathrm{PRESS} / \partial \rho = 2 \left( w' a - \textstyle\sum_i v_i |K_i|^2 \right),

the former less its mean over the samples because H is centred, and from there the chain rule
through tanh. Logarithms of scalings and ridge vary between bounds. The optimisation (compiled, by
BFGS) starts at the ridge that :func:`tuned` finds: with too small a ridge, a machine predicts each
sample well from the others but varies strongly in between; with too large a ridge it is constant.

An error that was minimised is optimistic. So the simpler of two machines is kept unless the other
is :func:`clearly_better`: its leave-one-out losses are lower by more than z standard errors of the
mean paired difference, with z = 3 for one feature. Fitting s scalings to noise gains a z^2 of about
s (a chi-squared variable with s degrees of freedom), so the required z^2 grows by two with each
feature. If individual scalings help, z is five or more; if there is only noise to fit, such
machines are worse on new data than those that they would replace.
"""

from dataclasses import replace

import numpy as np

from sparsepath.elm.network import Indices
from sparsepath.elm.pool import Pool
from sparsepath.elm.scaling import Candidate
from sparsepath.system.arrays import Floats

ROUNDS = 12
WORTH_A_ROUND = 1e-3  # of the error: what a round must gain for another one
AS_GOOD = 0.5  # standard errors of the difference by which a larger ridge may be worse
STANDARD_ERRORS, FOR_EACH = 3.0, 2.0  # of the mean difference; more in z^2 for each feature more


def tune_ridge(pool: Pool, scaling: Floats, which: Indices | None = None) -> Candidate:
    """Return the machine with the best ridge of the grid; default: all neurons.

    The largest ridge whose error is above the least by no more than half a standard error
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
    """Return the criterion of a machine per sample."""
    if machine.losses is not None:
        return machine.losses
    return pool.fit(machine.scaling, machine.which, machine.ridge).leave_one_out().losses


def clearly_better(
    pool: Pool, machine: Candidate, plainer: Candidate, standard_errors: float = STANDARD_ERRORS
) -> bool:
    """Return whether the first machine is better beyond sampling variation."""
    if not machine.key < plainer.key:
        return False
    gains = losses(pool, plainer) - losses(pool, machine)
    noise = float(gains.std(ddof=1)) / np.sqrt(len(gains))
    enough = np.sqrt(standard_errors**2 + FOR_EACH * (len(machine.subset) - 1))
    return bool(gains.mean() > enough * noise)


def descent(
    pool: Pool, candidate: Candidate, least: float = 0.1, rounds: int = ROUNDS
) -> tuple[Floats, float]:
    """Scalings and a ridge on the same subset with a smaller squared leave-one-out error.

    Scalings stay between ``least`` and 1, as on the grid: one that could go to nothing would let a
    large subset pass for a small one. It ends when a round gains less than a thousandth. The way
    is found in single precision unless the ridge may be too small for that.
    """
    active = np.array(candidate.subset)
    low = np.log([*[least] * len(active), pool.ridge])
    high = np.log([*[1.0] * len(active), pool.most])
    at = np.clip(np.log([*candidate.scaling[active], candidate.ridge]), low, high)
    pool.rough.polish(candidate.which, active, at, low, high, rounds, WORTH_A_ROUND)
    scaling = np.zeros(len(pool.XT))
    scaling[active] = np.exp(at[:-1])
    return scaling, float(np.clip(np.exp(at[-1]), pool.ridge, pool.most))


def polish(pool: Pool, candidate: Candidate, least: float = 0.1, rounds: int = ROUNDS) -> Candidate:
    """Return an equal or better machine on the same subset, with other scalings and ridge."""
    scaling, ridge = descent(pool, candidate, least, rounds)
    other = reevaluate(pool, Candidate(candidate.key, scaling, candidate.which, ridge))
    return min((candidate, other), key=lambda found: found.key)


def reevaluate(pool: Pool, machine: Candidate) -> Candidate:
    """Return a machine with its error on all rows, in double precision."""
    left_out = pool.fit(machine.scaling, machine.which, machine.ridge).leave_one_out()
    return replace(machine, key=left_out.key, losses=left_out.losses)
