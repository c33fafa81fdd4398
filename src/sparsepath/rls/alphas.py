"""The penalty by leave-one-out on all features, as paper 000 (section 4.2) chooses it.

One eigendecomposition serves every penalty. With X = Q S V' and shrinkage d = S^2 / (S^2 + alpha)

    r = y - Q (d * Q'y)        p = p0 - (Q * Q) d        leave-one-out residual  r_j / p_j

where p0 = 1 less the intercept's share. The smaller of X'X and XX' is decomposed; rows of Q are
formed a few at a time and never kept.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from sparsepath.data.blocks import Floats
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.losses import ROOM, Loss, reach_of

LARGEST = 20000  # the smaller side of X up to which an eigendecomposition is reasonable
ROWS_AT_ONCE = 2048


def alpha_grid(design: Design) -> Floats:
    """Twenty-five penalties from 1e-6 to 1e6 times the mean squared norm of the columns."""
    live = design.squares[~design.constant]
    scale = float(live.mean()) if len(live) else 1.0
    return scale * np.logspace(-6, 6, 25)


def loo_errors(design: Design, Y: Floats, alphas: Floats, loss: Loss) -> Floats:
    """The leave-one-out criterion with all features, for every penalty."""
    m, n = design.n_samples, design.n_features
    if min(m, n) > LARGEST:
        raise InputError(
            f"alpha='loo' fits all {n} features to {m} samples, and the smaller of the two must "
            f"be at most {LARGEST}; give a number or a list of numbers for alpha instead."
        )
    w = design.weights
    g = np.sqrt(w)[:, None]
    mean = (w @ Y) / design.total if design.fit_intercept else 0.0
    y = g * (Y - mean)
    v = loss.sample_weights(Y, w)
    p0 = 1.0 - w / design.total if design.fit_intercept else np.ones(m)
    squares, basis = _spectrum(design)
    turned = np.zeros((len(squares), Y.shape[1]))
    for rows, Q in basis():
        turned += Q.T @ y[rows]
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


def _spectrum(design: Design):  # type: ignore[no-untyped-def]
    """Squared singular values of X, and a way to go through the rows of Q."""
    m, n = design.n_samples, design.n_features
    wide = m < n
    A = np.zeros((m, m) if wide else (n, n))
    if wide:
        for first in range(0, n, ROWS_AT_ONCE):
            columns = np.arange(first, min(n, first + ROWS_AT_ONCE))
            W = np.concatenate([block.columns(columns) for block in design.blocks])
            W = (W - design.means[columns]) * design.scales[columns]
            W *= np.sqrt(design.weights)[:, None]
            A += W @ W.T
    else:
        for _, X in _rows(design):
            A += X.T @ X
    values, vectors = eigh(A)
    keep = values > values[-1] * max(m, n) * np.finfo(float).eps
    values, vectors = values[keep], vectors[:, keep]

    def basis() -> Iterator[tuple[slice, Floats]]:
        if wide:
            yield slice(0, m), vectors
            return
        turn = vectors / np.sqrt(values)
        for rows, X in _rows(design):
            yield rows, X @ turn

    return values, basis


def _rows(design: Design) -> Iterator[tuple[slice, Floats]]:
    """The rows as they stand, weighted, centred and scaled, a few at a time."""
    for block, here in zip(design.blocks, design.slices, strict=True):
        for first in range(0, block.shape[0], ROWS_AT_ONCE):
            local = np.arange(first, min(block.shape[0], first + ROWS_AT_ONCE))
            rows = slice(here.start + local[0], here.start + local[-1] + 1)
            X = block.rows(local)
            X -= design.means
            X *= design.scales
            X *= np.sqrt(design.weights[rows])[:, None]
            yield rows, X
