"""The penalty by leave-one-out with all features, as in Pahikkala et al. (section 4.2).

One eigendecomposition serves every penalty. With X = Q S V' and shrinkage d = S^2 / (S^2 + alpha)

    r = y - Q (d * Q'y)        p = p0 - (Q * Q) d        leave-one-out residual  r_j / p_j

where p0 = 1 less the intercept's share. The smaller of X'X and XX' is decomposed; rows of Q are
formed a few at a time and never kept. "All features" means all candidates; forbidden columns have
no influence on the penalty.

For data that are read in passes X'X and X'y are known from the first pass, and with them the
spectrum, V and Q'y = S^-1 V'X'y. One further pass computes the rows of Q = X V S^-1 and evaluates
every penalty.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sparsepath.data.sources import Answer, Slab, plus
from sparsepath.errors import InputError
from sparsepath.rls.criteria.losses import ROOM, Loss, reach_of
from sparsepath.rls.design import Design
from sparsepath.rls.passes.design import StreamDesign
from sparsepath.rls.passes.judging import ROWS_OF_A_STRIP, View
from sparsepath.system.arrays import Floats
from sparsepath.system.executor import sum_results

LARGEST_SIDE = 20000  # the smaller side of X up to which an eigendecomposition is reasonable
ROWS_OF_A_BATCH = 2048


def alpha_grid(design: Design, candidates: Sequence[int]) -> Floats:
    """Return twenty-five penalties from 1e-6 to 1e6 times the mean squared norm of the
    candidates.
    """
    live = design.squares[live_candidates(design, candidates)]
    scale = float(live.mean()) if len(live) else 1.0
    return scale * np.logspace(-6, 6, 25)


def loo_errors(
    design: Design, Y: Floats, alphas: Floats, loss: Loss, candidates: Sequence[int]
) -> Floats:
    """Return the leave-one-out criterion with all candidates, for every penalty."""
    which = live_candidates(design, candidates)
    m, n = design.n_samples, len(which)
    if min(m, n) > LARGEST_SIDE:
        raise InputError(
            f"alpha='loo' fits all {n} features to {m} samples, and the smaller of the two must "
            f"be at most {LARGEST_SIDE}; give a number or a list of numbers for alpha instead."
        )
    w = design.weights
    g = np.sqrt(w)[:, None]
    mean = (w @ Y) / design.total if design.fit_intercept else 0.0
    y = g * (Y - mean)
    v = loss.sample_weights(Y, w)
    p0 = 1.0 - w / design.total if design.fit_intercept else np.ones(m)
    squares, basis = _spectrum(design, which)
    turned = sum_results(Q.T @ y[rows] for rows, Q in basis())
    shrink = squares / (squares + alphas[:, None])
    errors = np.zeros(len(alphas))
    blur = [loss.blur(reach_of(design.squares, alpha).sum()) for alpha in alphas]
    for rows, Q in basis():
        leverage = (Q * Q) @ shrink.T
        for i, d in enumerate(shrink):
            r = y[rows] - Q @ (d[:, None] * turned)
            p = p0[rows] - leverage[:, i]
            errors[i] += loss.weighted(
                list(r.T.copy()), np.maximum(p, ROOM), g[rows, 0], v[rows], Y[rows], blur[i]
            ).sum()
            if p.min() <= ROOM:
                errors[i] = np.inf
    return errors


def live_candidates(design: Design, candidates: Sequence[int]) -> NDArray[np.intp]:
    """Return the candidates that are not constant."""
    which = np.asarray(candidates, dtype=np.intp)
    return which[~design.constant[which]]


def _spectrum(design: Design, which: NDArray[np.intp]):  # type: ignore[no-untyped-def]
    """Return the squared singular values of some columns, and an iterator over the rows of Q."""
    m, n = design.n_samples, len(which)
    wide = m < n
    A = np.zeros((m, m) if wide else (n, n))
    if wide:
        for first in range(0, n, ROWS_OF_A_BATCH):
            W = design.columns(which[first : first + ROWS_OF_A_BATCH])
            W *= np.sqrt(design.weights)[:, None]
            A += W @ W.T
    else:
        for _, X in _rows(design, which):
            A += X.T @ X
    values, vectors = eigh(A) if len(A) else (np.zeros(0), A)
    keep = values > values.max(initial=0.0) * max(m, n) * np.finfo(float).eps
    values, vectors = values[keep], vectors[:, keep]

    def basis() -> Iterator[tuple[slice, Floats]]:
        if wide:
            yield slice(0, m), vectors
            return
        turn = vectors / np.sqrt(values)
        for rows, X in _rows(design, which):
            yield rows, X @ turn

    return values, basis


def _rows(design: Design, which: NDArray[np.intp]) -> Iterator[tuple[slice, Floats]]:
    """Yield rows of some columns: weighted, centred and scaled."""
    for first in range(0, design.n_samples, ROWS_OF_A_BATCH):
        rows = slice(first, min(design.n_samples, first + ROWS_OF_A_BATCH))
        X = design.rows(np.arange(rows.start, rows.stop))
        if len(which) < design.n_features:
            X = X[:, which]
        X *= np.sqrt(design.weights[rows])[:, None]
        yield rows, X


def loo_errors_in_passes(
    design: StreamDesign, alphas: Floats, loss: Loss, candidates: Sequence[int]
) -> Floats:
    """Return the leave-one-out criterion with all candidates, for every penalty."""
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
    view = View.of(design, which, loss)
    given = (view, turn, shrink, turn.T @ design.xy[which], blurs)
    errors, tight = design.source.total(design.crew, which, judge_penalties, *given)
    return np.where(tight > 0, np.inf, errors)


def judge_penalties(
    slab: Slab, view: View, turn: Floats, shrink: Floats, turned: Floats, blurs: Sequence[float]
) -> Answer:
    """Return contributions to the criterion for every penalty, and the number of rows with leverage
    one.
    """
    given = (view, turn, shrink, turned, blurs)
    return reduce(plus, (_judged(strip, *given) for strip in slab.strips(ROWS_OF_A_STRIP)))


def _judged(
    slab: Slab, view: View, turn: Floats, shrink: Floats, turned: Floats, blurs: Sequence[float]
) -> Answer:
    rows = view.rows(slab)
    assert view.columns is not None
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
