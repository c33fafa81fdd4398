r"""The error of the chosen model, corrected for having been chosen.

The least of several left-out errors is too good: where the curve is flat, chance decides which
size is least, and the chosen size is the one that was lucky. The remedy is to choose and to
measure on different samples. Rows of the matrix of left-out losses are drawn with replacement, as
many as there are; the size is chosen on the rows drawn, by the rule that chose on all of them, and
its loss is measured on the rows that were not drawn. The mean over draws is the error told
(Tsamardinos, Greasidou and Borboudakis 2018, *Bootstrapping the out-of-sample predictions for
efficient and accurate cross-validation*). No model is fitted again.

The interval. Losses are skewed (a squared error has few large ones), so the mean is studentised
on a logarithmic scale: with e and s for the mean and standard error of the losses of the chosen
size, and the same of draws with a star, the quantiles of log(e*/e) / (s*/e*) give the multiples of
the relative standard error that reach up and down from the error told. Two things are added to the
square of s, since the risk of one model is asked for and s only says how well the mean over models
like it is known:

- models of other samples err otherwise: ``BETWEEN`` times the variance of the errors of parts that
  the samples in them do not explain (a half: an estimate from few parts that is cut at zero is too
  large on average);
- another sample would have led to another size: the mean square, over draws, of
  e(size of the draw) - e(chosen size).

``experiments/honest.py`` measures how often such intervals hold the true risk.

Mistakes are counted, and of a few many draws have none at all, which no quantile on a logarithmic
scale can hold. So the upper end of a rate is at least the one of which so few mistakes, or fewer,
are seen in one case of twenty (Clopper and Pearson 1934, *The use of confidence or fiducial limits
illustrated in the case of the binomial*).

Samples that hang together (a group) are drawn together. Beyond ``MOST_BUNDLES`` samples, random
bundles of them are drawn instead.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from sparsepath.choosing import places
from sparsepath.data.threads import Threads
from sparsepath.judging.left_out import LeftOut
from sparsepath.judging.yardsticks import RATES, Floats

N_DRAWS = 500
MOST_BUNDLES = 2000  # bundles of samples that are drawn from
SEED = 0
SAME_LOSSES = 1e-7  # standard error over error that is rounding: of a difference, so its root
BETWEEN = 0.5  # of the variance between parts; see above


def corrected(
    found: LeftOut, rule: Any, level: float = 0.9, n_draws: int = N_DRAWS
) -> tuple[float, tuple[float, float]]:
    """The error of the size that ``rule`` chooses, and an interval that holds it."""
    with Threads(1):  # for products of a millisecond others would only wait for each other
        return _corrected(found, rule, level, n_draws)


def _corrected(
    found: LeftOut, rule: Any, level: float, n_draws: int
) -> tuple[float, tuple[float, float]]:
    shares, totals = bundles(found)
    n, all_rows = len(shares), np.ones((1, len(shares)))
    drawn, away = _drawn(shares, n_draws)
    errors = _means(all_rows, shares, totals)[0]
    [size], sizes = (_chosen(found, rule, rows, shares, totals) for rows in (all_rows, drawn))
    told = (
        float(_means(away, shares, totals)[np.arange(len(away)), sizes].mean())
        if n > 1
        else errors[size]
    )
    if not (told > 0 and errors[size] > 0):
        return float(told), (float(errors[size]), max(float(told), highest_rate(found, 0.0)))
    e, s = _mean_and_se(drawn, shares, totals[:, size])
    [error], [se] = _mean_and_se(all_rows, shares, totals[:, size])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(e / error) / (s / e)
    ratios = ratios[np.isfinite(ratios)]
    ends = (1 - level) / 2, (1 + level) / 2
    # Without spread in the losses there is that of the choice only.
    spread_out = len(ratios) and se > SAME_LOSSES * error
    low, high = np.quantile(ratios, ends) if spread_out else ndtri(ends)
    choice = np.square(errors[sizes] - errors[size]).mean()
    spread = np.sqrt(se**2 + BETWEEN * found.between[size] + choice) / error
    with np.errstate(over="ignore"):  # an interval without an end
        lower, upper = told * float(np.exp(-spread * high)), told * float(np.exp(-spread * low))
    return told, (lower, max(upper, highest_rate(found, told)))


def shifts(found: LeftOut, rule: Any, n_draws: int = N_DRAWS) -> Floats:
    """For each draw, e(size of the draw) - e(chosen size); see above.

    The draws are the same for all whose samples and weights are.
    """
    shares, totals = bundles(found)
    all_rows = np.ones((1, len(shares)))
    with Threads(1):
        drawn, _ = _drawn(shares, n_draws)
        errors = _means(all_rows, shares, totals)[0]
        [size], sizes = (_chosen(found, rule, rows, shares, totals) for rows in (all_rows, drawn))
    return np.asarray(errors[sizes] - errors[size], dtype=np.float64)


def _drawn(shares: Floats, n_draws: int) -> tuple[Floats, Floats]:
    """Which rows are drawn how often, and which are not, in the draws that leave both some."""
    counts = _draws(len(shares), n_draws)
    drawn, away = counts.astype(np.float64), (counts == 0).astype(np.float64)
    usable = (away @ shares > 0) & (drawn @ shares > 0)
    return (drawn, away) if usable.all() else (drawn[usable], away[usable])


def _chosen(found: LeftOut, rule: Any, rows: Floats, shares: Floats, totals: Floats) -> Any:
    """The place of the size that a rule takes, on the rows of each draw."""
    if isinstance(rule, int | np.integer):
        return np.full(len(rows), found.sizes.index(int(rule)))
    return places(
        rule, _means(rows, shares, totals), lambda best: _gaps_se(rows, shares, totals, best)
    )


@lru_cache(maxsize=2)
def _draws(n: int, times: int) -> NDArray[np.uint16]:
    """How often each of n rows is drawn, in so many draws: the same every time."""
    rng = np.random.default_rng(SEED)
    drawn: NDArray[np.uint16] = rng.multinomial(n, np.full(n, 1.0 / n), times).astype(np.uint16)
    return drawn


def spreads(found: LeftOut) -> Floats:
    """How far the error of one model of each size may be from the honest one, as an s.d."""
    return np.sqrt(found.errors_se**2 + BETWEEN * found.between)


def highest_rate(found: LeftOut, rate: float) -> float:
    """The rate of mistakes of which these samples show ``rate`` or less in one case of twenty."""
    counted = float(1.0 / np.square(found.weights[found.known]).sum())
    return unseen(found.yardstick, counted, rate * counted)


def unseen(yardstick: str, n: float, mistakes: float = 0.0) -> float:
    """The rate of which n samples show so few mistakes, or fewer, in one case of twenty.

    Zero for losses that do not count mistakes: there none at all is an exact fit.

    >>> round(unseen("error rate", 40), 4), round(1 - 0.05 ** (1 / 40), 4)
    (0.0722, 0.0722)
    """
    if yardstick not in RATES or n == np.inf:
        return 0.0
    return float(betaincinv(mistakes + 1, n - mistakes, 0.95)) if mistakes < n else 1.0


def _means(rows: Floats, shares: Floats, totals: Floats) -> Floats:
    """Mean losses of every size over the rows of each draw, of which some stand several times."""
    return rows @ totals / (rows @ shares)[:, None]


def _mean_and_se(rows: Floats, shares: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """The mean loss of one size over the rows of each draw, and its standard error."""
    weight = rows @ shares
    mean = rows @ totals / weight
    squares = (
        rows @ totals**2 - 2 * mean * (rows @ (totals * shares)) + mean**2 * (rows @ shares**2)
    )
    n = rows.sum(1)
    return mean, np.sqrt(np.maximum(squares, 0.0) * n / np.maximum(n - 1, 1)) / weight


def bundles(found: LeftOut) -> tuple[Floats, Floats]:
    """What is drawn from: the weight of each cluster of samples, and weight times loss."""
    shares = found.totals(np.ones((len(found.losses), 1)))[:, 0]
    totals = found.totals(found.losses)
    if len(shares) <= MOST_BUNDLES:
        return shares, totals
    of = np.random.default_rng(SEED).permutation(len(shares)) % MOST_BUNDLES
    whole = np.zeros((MOST_BUNDLES, totals.shape[1]))
    np.add.at(whole, of, totals)
    return np.asarray(np.bincount(of, shares, MOST_BUNDLES), dtype=np.float64), whole


def _gaps_se(drawn: Floats, shares: Floats, totals: Floats, best: Any) -> Floats:
    """For each draw, standard errors of the differences to its least error.

    With weights w_c, sums of losses t_ck, differences d_ck = t_ck - t_cj to the best size j and
    their mean D_k, the square of the standard error is the sum over the rows drawn of
    (d_ck - w_c D_k)^2, over the square of the weight drawn.
    """
    found = np.empty((len(drawn), totals.shape[1]))
    weight = drawn @ shares
    squares = drawn @ (shares * shares)
    for j in np.unique(best):
        rows = best == j
        mine, own = drawn[rows], weight[rows, None]
        gaps = totals - totals[:, [j]]
        mean = mine @ gaps / own
        sums = (
            mine @ (gaps * gaps)
            - 2 * mean * (mine @ (gaps * shares[:, None]))
            + mean**2 * squares[rows, None]
        )
        found[rows] = np.sqrt(np.maximum(sums, 0.0)) / own
    return found
