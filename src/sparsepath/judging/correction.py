r"""The error of the chosen model, corrected for having been chosen.

The least of several left-out errors is too good: where the curve is flat, chance decides which
size is least, and the chosen size is the one that was lucky. The remedy is to choose and to
measure on different samples. Rows of the matrix of left-out losses are drawn with replacement, as
many as there are; the size is chosen on the rows drawn, by the rule that chose on all of them, and
its loss is measured on the rows that were not drawn. The mean over draws is the error told
(Tsamardinos, Greasidou and Borboudakis 2018, *Bootstrapping the out-of-sample predictions for
efficient and accurate cross-validation*). No model is fitted again.

The interval is the middle nine tenths of these errors. A draw leaves out 1/e of the rows, so they
spread by sqrt(e - 1) = 1.31 times the standard error of a mean over all rows; the folds' losses
hang together through the samples that their training parts share, which makes an interval of one
standard error too short by about as much (Bates, Hastie and Tibshirani 2024, *Cross-validation:
what does it estimate and how well does it do it?*). ``experiments/honest.py`` shows how often such
intervals hold the true risk.

Samples that hang together (a group) are drawn together. Beyond ``MOST`` samples, random bundles of
them are drawn instead.
"""

from typing import Any

import numpy as np

from sparsepath.choosing import places
from sparsepath.judging.left_out import LeftOut
from sparsepath.judging.yardsticks import Floats

N_DRAWS = 500
MOST = 2000  # bundles of samples that are drawn from
SEED = 0


def corrected(
    found: LeftOut, rule: Any, level: float = 0.9, n_draws: int = N_DRAWS
) -> tuple[float, tuple[float, float]]:
    """The error of the size that ``rule`` chooses, and an interval that holds it."""
    shares, totals = bundles(found)
    rng = np.random.default_rng(SEED)
    n = len(shares)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), n_draws).astype(np.float64)
    away = (drawn == 0).astype(np.float64)
    usable = (away @ shares > 0) & (drawn @ shares > 0)
    drawn, away = drawn[usable], away[usable]
    inside = drawn @ totals / (drawn @ shares)[:, None]
    outside = away @ totals / (away @ shares)[:, None]
    if isinstance(rule, int | np.integer):
        chosen = np.full(len(inside), found.sizes.index(int(rule)))
    else:
        chosen = places(rule, inside, lambda best: _gaps_se(drawn, shares, totals, best))
    errors = outside[np.arange(len(outside)), chosen]
    low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2])
    return float(errors.mean()), (float(low), float(high))


def bundles(found: LeftOut) -> tuple[Floats, Floats]:
    """What is drawn from: the weight of each cluster of samples, and weight times loss."""
    shares = found.totals(np.ones((len(found.losses), 1)))[:, 0]
    totals = found.totals(found.losses)
    if len(shares) <= MOST:
        return shares, totals
    of = np.random.default_rng(SEED).permutation(len(shares)) % MOST
    whole = np.zeros((MOST, totals.shape[1]))
    np.add.at(whole, of, totals)
    return np.bincount(of, shares, MOST), whole


def _gaps_se(drawn: Floats, shares: Floats, totals: Floats, best: Any) -> Floats:
    """For each draw, standard errors of the differences to its least error.

    With weights w_c, sums of losses t_ck, differences d_ck = t_ck - t_cj to the best size j and their
    mean D_k, the square of the standard error is the sum over the rows drawn of (d_ck - w_c D_k)^2,
    over the square of the weight drawn.
    """
    found = np.empty((len(drawn), totals.shape[1]))
    weight = drawn @ shares
    squares = drawn @ (shares * shares)
    for j in np.unique(best):
        rows = best == j
        gaps = totals - totals[:, [j]]
        mean = drawn[rows] @ gaps / weight[rows, None]
        sums = (
            drawn[rows] @ (gaps * gaps)
            - 2 * mean * (drawn[rows] @ (gaps * shares[:, None]))
            + mean**2 * squares[rows, None]
        )
        found[rows] = np.sqrt(np.maximum(sums, 0.0)) / weight[rows, None]
    return found
