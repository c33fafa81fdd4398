"""The penalty by leave-one-out on all features, as in ``alphas.py``, for data read in passes.

X'X and X'y are known from the first pass, and with them the spectrum, V and Q'y = S^-1 V'X'y. One
further pass makes the rows of Q = X V S^-1 and judges every penalty.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np
from scipy.linalg import eigh

from sparsepath.arrays import Floats
from sparsepath.data.sources import Answer, Slab, plus
from sparsepath.errors import InputError
from sparsepath.rls.alphas import LARGEST_SIDE, live_candidates
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.streamed.design import StreamDesign, class_shares
from sparsepath.rls.streamed.judging import ROWS_OF_A_STRIP, View


def loo_errors_in_passes(
    design: StreamDesign, alphas: Floats, loss: Loss, candidates: Sequence[int]
) -> Floats:
    """The leave-one-out criterion with all candidates, for every penalty."""
    which = live_candidates(design, candidates)
    if not design.knows_all or len(which) > LARGEST_SIDE:
        raise InputError(
            f"alpha='loo' fits all {len(which)} features, whose products do not fit into memory; "
            "give a number or a list of numbers for alpha instead."
        )
    values, vectors = eigh(design.gram(which)[which])
    size = max(design.n_samples, len(which))
    keep = values > values.max(initial=0.0) * size * np.finfo(float).eps
    values, turn = values[keep], vectors[:, keep] / np.sqrt(values[keep])
    shrink = values / (values + alphas[:, None])
    blurs = [float(loss.blur(reach_of(design.squares, alpha).sum())) for alpha in alphas]
    view = View.of(design, which, loss, class_shares(design) if loss.balanced else None)
    given = (view, turn, shrink, turn.T @ design.xy[which], blurs)
    errors, tight = design.source.total(design.crew, which, judge_penalties, *given)
    return np.where(tight > 0, np.inf, errors)


def judge_penalties(
    slab: Slab, view: View, turn: Floats, shrink: Floats, turned: Floats, blurs: Sequence[float]
) -> Answer:
    """Shares of the criterion for every penalty, and the rows that decide their own prediction."""
    given = (view, turn, shrink, turned, blurs)
    return reduce(plus, (_judged(strip, *given) for strip in slab.strips(ROWS_OF_A_STRIP)))


def _judged(
    slab: Slab, view: View, turn: Floats, shrink: Floats, turned: Floats, blurs: Sequence[float]
) -> Answer:
    rows = view.rows(slab)
    X = np.empty((slab.block.shape[0], len(view.columns)), order="F")
    Q = view.taken(rows, view.columns, X) @ turn
    leverage = (Q * Q) @ shrink.T
    errors, tight = np.zeros((2, len(shrink)))
    for i, (d, blur) in enumerate(zip(shrink, blurs, strict=True)):
        r = rows.r - Q @ (d[:, None] * turned)
        p = rows.p - leverage[:, i]
        tight[i] = np.count_nonzero(p <= ROOM)
        given = (np.maximum(p, ROOM), rows.g, rows.v, rows.Y, blur)
        errors[i] = view.loss.weighted(list(r.T.copy()), *given).sum()
    return [errors, tight]
