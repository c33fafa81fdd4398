r"""Which feature to drop next.

With the letters of ``state.py``, dropping feature b changes r to r - q tau and p to p + q^2, where
q is a unit vector of the augmented space, so that q_j^2 <= 1 - p_j. For the squared loss and
u = r / p^2 before the step,

    LOO  =  sum_j (r_j - q_j tau)^2 / (p_j + q_j^2)^2
        >=  sum_j (r_j - q_j tau)^2 / p_j^2 (1 - 2 q_j^2 / p_j)
        >=  u'r - 2 tau q'u + tau^2 |q|^2  -  2 sum_j kappa_j q_j^2,
    kappa_j  =  (|r_j| + |tau| sqrt(1 - p_j))^2 / p_j^3.

With q = Z d the last sum is d'(Z' diag(kappa) Z)d, one product of matrices for all removals; it is
of the order of one sample's share, so the bound is close when there are many samples. Removals are
evaluated exactly in its order until the next bound exceeds the best value.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.blocks import Floats
from sparsepath.rls.rows import Rows
from sparsepath.rls.update import Update, limit, pick

if TYPE_CHECKING:
    from sparsepath.rls.state import State

BATCH = 8  # removals evaluated at once
FIRST_BATCH = 2  # and at first
EVERY_BATCH = 32  # and when all are
ROUNDING = 1e-10  # part of the sums in the bound that may be rounding


def best_removal(state: "State", allowed: NDArray[np.bool_]) -> Update | None:
    """The best removal among the chosen features where ``allowed``, or None."""
    chosen = np.array(state.chosen, dtype=np.intp)
    directions, tau = state.removals()
    places = np.flatnonzero(allowed)
    if state.loss.name != "squared" or len(places) <= BATCH:
        errors = removal_errors(state, directions[:, places], tau[places])
        return pick("drop", chosen[places], errors, state.empty_error)

    bounds = _bounds(state, directions[:, places], tau[places])
    order = np.argsort(bounds, kind="stable")
    places, bounds = places[order], bounds[order]
    errors = np.zeros(0)
    while len(errors) < len(places):
        done = len(errors)
        most = limit(errors.min(initial=np.inf), state.empty_error)
        n_open = int(np.searchsorted(bounds, most, side="right")) - done
        if n_open <= 0:
            break
        batch = places[done : done + min(n_open, BATCH if done else FIRST_BATCH)]
        values = removal_errors(state, directions[:, batch], tau[batch])
        errors = np.append(errors, values)
    return pick("drop", chosen[places[: len(errors)]], errors, state.empty_error)


def removal_errors(state: "State", directions: Floats, tau: Floats) -> Floats:
    """The criterion after each of some removals, from the rows themselves."""
    errors = np.zeros(len(tau))
    for i in range(0, len(tau), EVERY_BATCH):
        some, steps = directions[:, i : i + EVERY_BATCH], tau[i : i + EVERY_BATCH]
        answers = state.each(partial(Rows.score_without, directions=some, tau=steps))
        errors[i : i + EVERY_BATCH] = np.sum(answers, axis=0)
    return errors


def _bounds(state: "State", directions: Floats, tau: Floats) -> Floats:
    sums = state.each(lambda rows: rows.weigh())
    uu, ur = np.sum([s[1] for s in sums], axis=0), np.sum([s[2] for s in sums], axis=0)
    qu = directions.T @ state.sum(lambda rows: rows.Z.T @ rows.u)
    b = state.solve(directions)
    squares = np.clip(1.0 - state.alpha * np.einsum("ij,ij->j", b, b), 0.0, 1.0)
    step = np.abs(tau).max(0)
    kappa = state.sum(lambda rows: rows.sharpness(step))
    low = ur - 2 * tau * qu + tau**2 * squares[:, None]
    rounding = ROUNDING * (ur + 2 * np.abs(tau) * np.sqrt(uu) + tau**2)
    shares = 2 * np.einsum("ij,ij->j", directions, kappa @ directions)
    return ((low - rounding).sum(1) - shares) / state.design.total
