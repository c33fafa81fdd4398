r"""Which feature to drop next.

With the letters of ``model.py``, dropping feature b changes r to r - q tau and p to p + q^2, where
q is a unit vector of the augmented space, so that q_j^2 <= 1 - p_j. For the squared loss and
u = r / p^2 before the step,

    LOO  =  sum_j (r_j - q_j tau)^2 / (p_j + q_j^2)^2
        >=  sum_j (r_j - q_j tau)^2 / p_j^2 (1 - 2 q_j^2 / p_j)
        >=  u'r - 2 tau q'u + tau^2 |q|^2  -  2 sum_j kappa_j q_j^2,
    kappa_j  =  (|r_j| + |tau| sqrt(1 - p_j))^2 / p_j^3.

The last sum is at most max(kappa) |q|^2, of the order of a few samples' shares, so the bound is
close when there are many samples. With q = Z d it is d'(Z' diag(kappa) Z)d, which is closer and
takes a product of matrices for all removals; that pays if many are left open. Removals are
evaluated exactly in the order of the bound until the next bound exceeds the best value.
"""

import numpy as np
from numpy.typing import NDArray

from sparsepath.arrays import Floats
from sparsepath.rls.leave_one_out.block import Rows
from sparsepath.rls.leave_one_out.fitted import Fitted
from sparsepath.rls.update import Second, Update, limit, pick

REMOVALS_AT_ONCE = 8  # removals evaluated at once
REMOVALS_AT_FIRST = 2  # and at first
EVERY_BATCH = 32  # and when all are
CLOSER_FROM = 0.5  # share of the chosen left open that makes the closer bound worth its product
ROUNDED_SUMS = 1e-10  # part of the sums in the bound that may be rounding


def best_removal(state: Fitted, allowed: NDArray[np.bool_], below: float = np.inf) -> Update | None:
    """The best removal among the chosen features where ``allowed``; None if there is none.

    Also None if it is seen from the bounds that all leave the criterion higher than ``below``.
    """
    chosen = np.array(state.chosen, dtype=np.intp)
    directions, tau = state.removals()
    places = np.flatnonzero(allowed)
    if not state.loss.bounded or len(places) <= REMOVALS_AT_ONCE:

        def second(tied: NDArray[np.intp]) -> Second:
            where = np.array([state.chosen.index(i) for i in tied], dtype=np.intp)
            squared = removal_errors(state, directions, tau, where, squared=True)
            return Second(squared, squared, state.empty_squared)

        errors = removal_errors(state, directions, tau, places)
        tell = second if state.counts else None
        return pick("drop", chosen[places], errors, state.empty_error, second=tell)

    step = np.abs(tau).max(0)
    low, squares = _lower(state, directions, tau)
    kappa = max(state.each(Rows.sharpest, step))
    bounds = low - 2 * kappa * squares / state.design.total
    closer = False
    found, errors = np.zeros(0, dtype=np.intp), np.zeros(0)
    while True:
        most = limit(errors.min(initial=below), state.empty_error)
        places = places[bounds[places] <= most]
        if not len(places):
            break
        if (len(errors) or below < np.inf) and not closer and len(places) > CLOSER_FROM * len(tau):
            product = state.sum(Rows.sharp_product, step)
            shares = 2 * np.einsum("ij,ij->j", directions, product @ directions)
            bounds = low - shares / state.design.total
            closer = True
            continue
        places = places[np.argsort(bounds[places], kind="stable")]
        batch, places = np.split(places, [REMOVALS_AT_ONCE if len(errors) else REMOVALS_AT_FIRST])
        values = removal_errors(state, directions, tau, batch)
        found, errors = np.append(found, batch), np.append(errors, values)
    # Above the limit, one that was not evaluated may be better still.
    if errors.min(initial=np.inf) > limit(below, state.empty_error):
        return None
    return pick("drop", chosen[found], errors, state.empty_error)


def removal_errors(
    state: Fitted,
    directions: Floats,
    tau: Floats,
    places: NDArray[np.intp],
    squared: bool = False,
) -> Floats:
    """The criterion after each of the removals at some places, from the rows themselves."""
    errors = np.zeros(len(places))
    blur = state.blur_without(places)
    for i in range(0, len(places), EVERY_BATCH):
        batch = slice(i, i + EVERY_BATCH)
        some, steps = directions[:, places[batch]], tau[places[batch]]
        parts = state.each(Rows.score_without, some, steps, blur[batch], squared)
        errors[batch] = np.sum(parts, axis=0)
    return errors


def _lower(state: Fitted, directions: Floats, tau: Floats) -> tuple[Floats, Floats]:
    """The bound without its last sum, as a mean per sample, and |q|^2."""
    _, uu, ur = state.weighed()
    qu = directions.T @ state.sum(Rows.overlaps_u)
    b = state.solve(directions)
    squares = np.clip(1.0 - state.alpha * np.einsum("ij,ij->j", b, b), 0.0, 1.0)
    low = ur - 2 * tau * qu + tau**2 * squares[:, None]
    rounding = ROUNDED_SUMS * (ur + 2 * np.abs(tau) * np.sqrt(uu) + tau**2)
    return (low - rounding).sum(1) / state.design.total, squares
