r"""Bootstrap correction of the error of a chosen size, and its interval.

The minimum of several held-out errors is too optimistic: if the curve is flat, chance decides which
size is the minimum. The correction chooses and measures on different samples. Rows of the matrix of
held-out losses are drawn with replacement; their number is unchanged. The size is chosen on the
drawn rows, by the same rule as on all rows, and its loss is measured on rows that were not drawn
(Tsamardinos, Greasidou and Borboudakis 2018, *Bootstrapping the out-of-sample predictions for
efficient and accurate cross-validation*). No model is refitted. With o_b(k) for the error of size k
on the rows that draw b leaves out, s_b for the size chosen in draw b, and s and e(s) for the chosen
size and its error on all rows,

    error = e(s) + f times the mean over b of  o_b(s_b) - o_b(s).

Draws of rows do not change the models, and with few samples the models of all folds share the
features that fit this sample by chance; so a draw shows only a part of the optimism. At 40 samples
it shows half: in 100 simulated data sets with two classes the estimate was 0.88, nested
cross-validation 0.99 and the true error 0.97; from 100 samples on it shows all. So f is 80 / n, at
least 1 and at most 2. Mean estimated / mean true error of 140 data sets each
(``experiments/honest.py``), with f = 1 and with f:

    regression, 40 x 10 / 40 x 200            0.90 / 0.95    0.99 / 0.98
    absolute error, 40 x 10                   0.96           1.01
    two classes, 40 x 10 / its error rate     0.91 / 0.90    0.97 / 0.99

The order of pairs (AUC) needs no factor.

The mean of o_b(s) is e(s), so this is the mean of o_b(s_b) with less noise: if every draw chooses
s, the correction is zero. A difference is limited to the error of the smallest model, so that huge
losses in a few draws do not dominate the mean. Error rate and AUC of classifiers are corrected with
the same choices in the same draws, on their own losses; AUC uses pairs of samples that are both
left out.

If there are several ways (such as several penalties, ``HeldOutLosses.others``), every draw first
chooses a way by the same rule (``out_of_sample.py``), and s_b is a size on its path.

Of several ways, one often seems better than no features by chance. So with several ways the error
must be below that of the empty model after the correction, with "one_se" by more than ``margin``
standard errors of the difference; otherwise the empty model is recommended. Samples count by the
order of their gains too: features are kept if the standardised sum of signed ranks is 3 or more,
which one of 264 noise data sets without a clear difference had. Draws decide in that
way too, with the correction that was found before, and those that decide for no features add
o_b(0) - o_b(s_b) to the mean, without the factor. Mean estimated / mean true figures of
``alpha="auto"``, without and with this (60 data sets each; 40 of 60 x 300):

    two classes, 40 x 10, log loss / error rate       0.95 / 0.87    0.96 / 0.89
    the same with "min"                               0.95 / 0.88    0.97 / 0.93
    regression, 40 x 10 / 40 x 200                    0.99 / 0.99    1.03 / 1.01

Most of what is missing for classes is that the larger class of a sample looks larger than it is: of
the empty model the error rate is .45 where .5 is true.

**Empty model.** It is the same in every draw and needs no correction: if it is chosen, its own
error and interval are reported (``honest.py``).

**Interval.** Losses are skewed, so the mean is studentised on a logarithmic scale: with e and s for
the mean and standard error of the losses of the chosen size, and a star for draws, the quantiles of
log(e*/e) / (s*/e*) give the multiples of the relative standard error for the two ends. No multiple
is larger than ``MOST_MULTIPLE``, the quantile of Student's t with two degrees of freedom, because
draws without the one loss that dominates the mean would give any number. Three terms are added to
the square of s, because the risk of one model is wanted and s measures only how well the mean over
similar models is known:

- models fitted to other samples have other errors: ``BETWEEN`` times the between-fold variance of
  errors that sampling does not explain (one half: an estimate from few folds that is cut at zero is
  too large on average);
- another sample would have led to another size: the mean square, over draws, of
  e(size of the draw) - e(chosen size);
- another random assignment to folds would have given another error: the variance between
  assignments, if there are several.

The first two are each limited to the square of the error.

**Upper end.** The models of all folds share most of their rows, so features that fit a sample by
chance appear good in all folds, which draws of rows cannot show. The upper end is therefore
extended by the fraction ``UPWARD`` with up to ``FULLY`` samples, and proportionally less with more
samples. Fraction of models worse than the upper end, in 300 simulated data sets each, without and
with it:

    regression, 100 x 10 / 40 x 10 / 40 x 200     0.06 / 0.08 / 0.09     0.02 / 0.01 / 0.03
    two classes, 100 x 20 / 40 x 10 / 60 x 300    0.15 / 0.11 / 0.12     0.04 / 0.05 / 0.05
    regression, 500 x 30 (100 data sets)          0.04                   0.04

``experiments/honest.py`` measures how often such intervals contain the true risk.

**Error rates.** Many draws of few mistakes contain none, which quantiles on a logarithmic scale
cannot represent. So the upper end of a rate is at least the rate at which as few mistakes occur
with probability 5 % (Clopper and Pearson 1934, *The use of confidence or fiducial limits
illustrated in the case of the binomial*).

Dependent samples (a group) are drawn together. With more than ``MOST_BUNDLES`` samples, random
bundles of samples are drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from sparsepath.assessment.held_out import HeldOutLosses, PartScores
from sparsepath.assessment.metrics import METRICS, RATES, Floats
from sparsepath.assessment.repetitions import largest_size_up_to
from sparsepath.path.choosing import is_size, places
from sparsepath.system.threads import Threads

N_DRAWS = 500
CLEAR_ORDER = 3.0  # standardised sum of signed ranks from which on features are kept; see above
MOST_BUNDLES = 2000  # bundles of samples that are drawn from
SEED = 0
SAME_LOSSES = 1e-7  # standard error over error that is rounding: of a difference, so its root
BETWEEN = 0.5  # of the variance between parts; see above
UPWARD, FULLY = 0.35, 100  # of the reach up to the upper end, and for how many samples; see above
FEW = 80  # samples, with fewer of which the correction is up to doubled; see above
MOST_MULTIPLE = float(stdtrit(2, 0.95))  # of the relative standard error; see above
PAIRED_DRAWS = 50_000  # draws times samples, for pairs of samples
AT_ONCE = 1 << 16  # numbers of an array that stays in the cache


@dataclass(frozen=True)
class Corrected:
    """Error of a chosen size, its interval, and further metrics for classification."""

    error: float
    interval: tuple[float, float]
    figures: dict[str, float]
    by_chance: bool = False  # no better than no features; see the module docstring


@dataclass(frozen=True, eq=False)
class Draws:
    """Rows left out by each draw, and the indices of the sizes chosen on the other rows."""

    left: Floats  # (B, C): one for each cluster of samples that is not drawn
    sizes: NDArray[np.intp]  # (B,): chosen in each draw
    size: int  # chosen on all rows
    times: float = 1.0  # all luck relative to what draws of rows show; see the module docstring
    gone: NDArray[np.bool_] | None = None  # (B,): draws that recommend no features instead

    @property
    def recommended(self) -> NDArray[np.intp]:
        """The index of the size that each draw recommends in the end."""
        return self.sizes if self.gone is None else np.where(self.gone, 0, self.sizes)

    def luck(self, shares: Floats, totals: Floats, most: float) -> float:
        """Return by how much the error of the chosen size is too optimistic; see the module
        docstring.
        """
        known = self.left @ shares > 0
        if not known.any():
            return 0.0
        outside = _means(self.left[known], shares, totals)

        def mean_gap(sizes: NDArray[np.intp]) -> float:
            each = outside[np.arange(len(outside)), sizes[known]] - outside[:, self.size]
            return float(np.clip(each, -most, most).mean())

        luck = mean_gap(self.sizes)
        return self.times * luck + (0.0 if self.gone is None else mean_gap(self.recommended) - luck)

    def luck_in_order(self, scores: Sequence[PartScores], of_row: NDArray[np.intp]) -> float:
        """Return the optimism for wrongly ordered pairs; ``of_row`` is the cluster of each
        sample.
        """
        count = min(len(self.sizes), max(1, PAIRED_DRAWS // len(of_row)))
        sizes, left = self.recommended[:count], self.left[:count][:, of_row]
        total = 0.0
        for place in set(sizes.tolist()) - {self.size}:
            rows = left[sizes == place]
            gaps = _disorder(rows, scores, place) - _disorder(rows, scores, self.size)
            total += float(np.nansum(gaps))
        return total / max(1, count)


def _disorder(rows: Floats, scores: Sequence[PartScores], place: int) -> Floats:
    """Return, for each draw, the fraction of wrongly ordered pairs; NaN without pairs."""
    n = rows.shape[1]
    wrong, weight = np.zeros((2, n, n))
    for part in scores:
        each = part.weight / (len(part.second) * len(part.first))
        cells = np.ix_(part.second, part.first)
        wrong[cells] += each * part.wrong(place)
        weight[cells] += each
    with np.errstate(invalid="ignore"):
        return np.asarray(np.vecdot(rows @ wrong, rows) / np.vecdot(rows @ weight, rows))


def correct(
    found: HeldOutLosses, rule: Any, level: float = 0.9, n_draws: int = N_DRAWS
) -> Corrected:
    """Return the corrected error and figures of the size that ``rule`` chooses."""
    with Threads(1):  # for products of a millisecond others would only wait for each other
        return _corrected(found, rule, level, n_draws)


def _corrected(found: HeldOutLosses, rule: Any, level: float, n_draws: int) -> Corrected:
    shares, totals = _every_way(found)
    all_rows = np.ones((1, len(shares)))
    drawn, left = _drawn(shares, n_draws)
    errors = _means(all_rows, shares, totals)[0]
    size, sizes = _both_chosen(found, rule, drawn, shares, totals)
    draws = Draws(left, sizes, size, _times(found.n_samples))
    estimate = max(0.0, float(errors[size]) + draws.luck(shares, totals, errors[0]))
    by_chance = False
    if found.others and found.sizes[0] == 0 < size and not is_size(rule):
        gap = margin(rule, found.n_samples), estimate - float(errors[size])
        by_chance = bool(_no_better(all_rows, shares, totals, np.array([size]), *gap)[0])
        draws = replace(draws, gone=_no_better(drawn, shares, totals, sizes, *gap))
        estimate = max(0.0, float(errors[size]) + draws.luck(shares, totals, errors[0]))
    own = draws
    if found.others and found.figures is not None:
        alone = replace(found, others=(), place=0)
        mine = _chosen(alone, rule, drawn, shares, totals[:, : len(found.sizes)])
        own = replace(draws, sizes=mine)
    figures = _figures(found, draws, own, estimate)
    if not (estimate > 0 and errors[size] > 0):
        highest = max(estimate, highest_rate(found, 0.0))
        return Corrected(estimate, (float(errors[size]), highest), figures, by_chance)
    e, s = _mean_and_se(drawn, shares, totals[:, size])
    [error], [se] = _mean_and_se(all_rows, shares, totals[:, size])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(e / error) / (s / e)
    ratios = ratios[np.isfinite(ratios)]
    ends = (1 - level) / 2, (1 + level) / 2
    # Without spread in the losses there is that of the choice only.
    spread_out = len(ratios) and se > SAME_LOSSES * error
    low, high = np.quantile(ratios, ends) if spread_out else ndtri(ends)
    low, high = np.clip((low, high), -MOST_MULTIPLE, MOST_MULTIPLE)
    moved = errors[sizes] - error
    choice = min(np.square(moved).mean(), error**2) if len(moved) else 0.0
    spread = np.sqrt(se**2 + _beyond(found)[size] + choice) / error
    lower = estimate * float(np.exp(-spread * high))
    upper = estimate * float(np.exp(-_upward(found.n_samples) * spread * low))
    interval = lower, max(upper, highest_rate(found, estimate))
    return Corrected(estimate, interval, figures, by_chance)


def margin(rule: Any, n: float) -> float:
    """Return by how many standard errors the best of several ways must be better than no features.

    With few samples, where folds share features that fit by chance, up to two. With alpha="auto"
    and 40 simulated noise data sets each, no feature is chosen of 40 x 200 in 36 (one standard
    error: 30), of 60 x 300 with two classes in 37 (32), of 100 x 20 in 40 (37), with two classes in
    39 (37).
    """
    return 1.0 + min(1.0, FULLY / n) if rule == "one_se" else 0.0


def _no_better(
    rows: Floats,
    shares: Floats,
    totals: Floats,
    sizes: NDArray[np.intp],
    margin: float,
    luck: float,
) -> NDArray[np.bool_]:
    """Return which of the draws recommend no features, which are the first column.

    Features that lower the losses of nearly all samples are kept, however large the standard error:
    a few huge losses, as with a skewed target, would hide them.
    """
    columns = np.column_stack([sizes, np.zeros_like(sizes)])
    se = _way_gaps_se(rows, shares, totals, columns, np.zeros_like(sizes))[:, 1]
    errors = _means(rows, shares, totals)
    chosen = errors[np.arange(len(sizes)), sizes] + luck
    unclear = chosen + margin * se >= errors[:, 0]
    if margin and unclear.any():
        for size in set(sizes[unclear].tolist()):
            scores = _signed_ranks(rows, totals[:, 0] - totals[:, size])
            unclear &= (sizes != size) | (scores < CLEAR_ORDER) | (chosen >= errors[:, 0])
    return np.asarray(unclear)


def _signed_ranks(rows: Floats, gains: Floats) -> Floats:
    """Return for each draw Wilcoxon's standardised sum of signed ranks of the gains."""
    _, place, counts = np.unique(np.abs(gains), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return np.asarray(rows @ (np.sign(gains) * ranks) / np.sqrt(rows @ np.square(ranks)))


def interval_around(error: float, spread: float, n: float) -> tuple[float, float]:
    """Return a 90 % interval of an error of n samples without any choice, on a log scale."""
    reach = float(ndtri(0.95)) * spread / error if error > 0 else 0.0
    return error * math.exp(-reach), error * math.exp(min(_upward(n) * reach, 700.0))


def _times(n: float) -> float:
    """Return the factor of the correction for few samples; see the module docstring.

    >>> _times(40), _times(60), _times(200)
    (2.0, 1.3333333333333333, 1.0)
    """
    return max(1.0, min(2.0, FEW / n))


def _upward(n: float) -> float:
    """Return the factor that extends the upper end of an interval; see the module docstring."""
    return 1.0 + UPWARD * min(1.0, FULLY / n)


def _figures(found: HeldOutLosses, draws: Draws, own: Draws, error: float) -> dict[str, float]:
    """Return the classification figures at the chosen size, corrected with the same draws.

    The figure that equals the ``error`` is not computed again. Probabilities are available only for
    the chosen way; the draws ``own`` have chosen among its sizes.
    """
    if found.figures is None:
        return {}
    figures = found.figures.at(draws.size)
    if found.metric == METRICS["zero_one"].name:
        figures["error_rate"] = error
    else:
        ways = [each.figures for each in (found, *found.others) if each.figures is not None]
        mistakes = np.hstack([each.mistakes for each in ways])
        of = found.with_losses(mistakes, found.figures.weights)
        figures["error_rate"] = _share(figures["error_rate"] + draws.luck(*bundles(of), 1.0))
    if len(found.figures.balance):
        if found.metric == METRICS["balanced"].name:
            figures["balanced_error"] = error
        else:
            of = found.with_losses(found.figures.mistakes, found.figures.balance)
            luck = own.luck(*bundles(of), 1.0)
            figures["balanced_error"] = _share(figures["balanced_error"] + luck)
    for name, losses in found.figures.probable.items():
        of = found.with_losses(losses, found.figures.weights)
        shares, totals = bundles(of)
        most = float(totals[:, 0].sum() / shares.sum())
        figures[name] = max(0.0, figures[name] + own.luck(shares, totals, most))
    if found.metric == METRICS["logistic"].name and "log_loss" in figures:
        figures["log_loss"] = error
    if found.metric == METRICS["auc"].name:
        figures["auc"] = 1.0 - error
    elif found.figures.scores:
        wrong = draws.luck_in_order(_scores_of_ways(found), found.cluster_of)
        figures["auc"] = _share(figures["auc"] - wrong)
    return figures


def _scores_of_ways(found: HeldOutLosses) -> list[PartScores]:
    """Return the scores in every fold, one column per size of every way."""
    ways = [each.figures.scores for each in (found, *found.others) if each.figures is not None]
    return [
        replace(
            parts[0],
            of_second=np.hstack([part.of_second for part in parts]),
            of_first=np.hstack([part.of_first for part in parts]),
        )
        for parts in zip(*ways, strict=True)
    ]


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def shifts(found: HeldOutLosses, rule: Any, n_draws: int = N_DRAWS) -> Floats:
    """Return, for each draw, e(size of the draw) - e(chosen size); see the module docstring.

    The draws are the same for all results with the same samples and weights.
    """
    shares, totals = _every_way(found)
    all_rows = np.ones((1, len(shares)))
    with Threads(1):
        drawn, _ = _drawn(shares, n_draws)
        errors = _means(all_rows, shares, totals)[0]
        size, sizes = _both_chosen(found, rule, drawn, shares, totals)
    return np.asarray(errors[sizes] - errors[size], dtype=np.float64)


def _drawn(shares: Floats, n_draws: int) -> tuple[Floats, Floats]:
    """Return how often rows are drawn, and which are left out, in draws where both sets are
    nonempty.
    """
    drawn, away = _draws(len(shares), n_draws)
    usable = (away @ shares > 0) & (drawn @ shares > 0)
    return (drawn, away) if usable.all() else (drawn[usable], away[usable])


def _every_way(found: HeldOutLosses) -> tuple[Floats, Floats]:
    """Return ``bundles`` with a column for each size of every way, those of ``found`` first."""
    shares, totals = bundles(found)
    return shares, np.hstack([totals, *(bundles(other)[1] for other in found.others)])


def _both_chosen(
    found: HeldOutLosses, rule: Any, drawn: Floats, shares: Floats, totals: Floats
) -> tuple[int, NDArray[np.intp]]:
    """Return the column chosen on all rows, within the chosen way, and on each draw."""
    alone, all_rows = replace(found, others=(), place=0), np.ones((1, len(shares)))
    [size] = _chosen(alone, rule, all_rows, shares, totals[:, : len(found.sizes)])
    return int(size), _chosen(found, rule, drawn, shares, totals)


def _chosen(
    found: HeldOutLosses, rule: Any, rows: Floats, shares: Floats, totals: Floats
) -> NDArray[np.intp]:
    """Return the column (a way and one of its sizes) that a rule chooses on each draw."""
    ways, every = (found, *found.others), np.arange(len(rows))
    counts = np.array([len(way.sizes) for way in ways], dtype=np.intp)
    ends = np.cumsum(counts)
    begins: NDArray[np.intp] = ends - counts
    errors = _means(rows, shares, totals)
    means = np.split(errors, ends[:-1], axis=1)
    if is_size(rule):
        at = [way.sizes.index(largest_size_up_to(int(rule), way.sizes)) for way in ways]
        columns = np.tile(begins + at, (len(rows), 1))
    else:
        columns = begins + np.column_stack([mean.argmin(1) for mean in means])
    order = [*range(1, found.place + 1), 0, *range(found.place + 1, len(ways))]
    best = columns[:, order]  # of each way, in the order of preference
    gaps = partial(_way_gaps_se, rows, shares, totals, best)
    least, first = errors[every[:, None], best], "min" if is_size(rule) else rule
    way = np.array(order)[places(first, least, gaps)]
    chosen = columns[every, way]
    if not is_size(rule):
        for i in np.unique(way):
            mine, own = way == i, slice(begins[i], ends[i])
            gaps = partial(_gaps_se, rows[mine], shares, totals[:, own])
            chosen[mine] = begins[i] + places(rule, means[i][mine], gaps)
    return chosen


@lru_cache(maxsize=1)  # 16 MB at most
def _draws(n: int, times: int) -> tuple[Floats, Floats]:
    """Return how often each of n rows is drawn, and 1 where it is not; deterministic."""
    rng = np.random.default_rng(SEED)
    drawn: Floats = rng.multinomial(n, np.full(n, 1.0 / n), times).astype(np.float64)
    away: Floats = (drawn == 0).astype(np.float64)
    for array in (drawn, away):
        array.setflags(write=False)
    return drawn, away


def spreads(found: HeldOutLosses) -> Floats:
    """Return by size the standard deviation of the error of one model around the honest error."""
    return np.sqrt(found.errors_se**2 + _beyond(found))


def _beyond(found: HeldOutLosses) -> Floats:
    """Return by size the variance of the error of one model that sampling does not explain."""
    return np.minimum(BETWEEN * found.between, found.errors**2) + found.repeats_sd**2


def highest_rate(found: HeldOutLosses, rate: float) -> float:
    """Return an upper bound of the error rate: 5 % of samples would show ``rate`` or less."""
    counted = float(1.0 / np.square(found.weights[found.known]).sum())
    return error_rate_bound(found.metric, counted, rate * counted)


def error_rate_bound(metric: str, n: float, mistakes: float = 0.0) -> float:
    """Return the error rate at which n samples have at most so many mistakes with probability 5 %.

    Zero for losses that do not count mistakes, where a loss of zero is an exact fit.

    >>> round(error_rate_bound("error rate", 40), 4), round(1 - 0.05 ** (1 / 40), 4)
    (0.0722, 0.0722)
    """
    if metric not in RATES or n == np.inf:
        return 0.0
    return float(betaincinv(mistakes + 1, n - mistakes, 0.95)) if mistakes < n else 1.0


def _means(rows: Floats, shares: Floats, totals: Floats) -> Floats:
    """Return the mean losses of every size over the rows of each draw; rows may be repeated."""
    return rows @ totals / (rows @ shares)[:, None]


def _mean_and_se(rows: Floats, shares: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Return the mean loss of one size over the rows of each draw, and its standard error."""
    weight = rows @ shares
    mean = rows @ totals / weight
    squares = (
        rows @ totals**2 - 2 * mean * (rows @ (totals * shares)) + mean**2 * (rows @ shares**2)
    )
    n = rows.sum(1)
    return mean, np.sqrt(np.maximum(squares, 0.0) * n / np.maximum(n - 1, 1)) / weight


def bundles(found: HeldOutLosses) -> tuple[Floats, Floats]:
    """Return the units of drawing: the weight of each cluster of samples, and weight times loss."""
    shares = found.totals(np.ones((len(found.losses), 1)))[:, 0]
    totals = found.totals(found.losses)
    if len(shares) <= MOST_BUNDLES:
        return shares, totals
    of = np.random.default_rng(SEED).permutation(len(shares)) % MOST_BUNDLES
    whole = np.zeros((MOST_BUNDLES, totals.shape[1]))
    np.add.at(whole, of, totals)
    return np.asarray(np.bincount(of, shares, MOST_BUNDLES), dtype=np.float64), whole


def _gaps_se(drawn: Floats, shares: Floats, totals: Floats, best: Any) -> Floats:
    """Return, for each draw, standard errors of the differences to its minimum error.

    With weights w_c, sums of losses t_ck, differences d_ck = t_ck - t_cj to the best size j and
    their mean D_k, the squared standard error is the sum over the drawn rows of (d_ck - w_c D_k)^2,
    divided by the squared total weight.
    """
    found = np.empty((len(drawn), totals.shape[1]))
    weight = drawn @ shares
    squares = drawn @ (shares * shares)
    even = bool((shares == shares[0]).all())
    for j in np.unique(best):
        rows = best == j
        mine, own = drawn[rows], weight[rows, None]
        gaps = totals - totals[:, [j]]
        total = mine @ gaps
        mean = total / own
        weighed = shares[0] * total if even else mine @ (gaps * shares[:, None])
        sums = mine @ (gaps * gaps) - 2 * mean * weighed + mean**2 * squares[rows, None]
        found[rows] = np.sqrt(np.maximum(sums, 0.0)) / own
    return found


def _way_gaps_se(
    drawn: Floats, shares: Floats, totals: Floats, columns: NDArray[np.intp], best: Any
) -> Floats:
    """Return the same standard errors for one column per way; ``best`` has the minimum error."""
    found = np.zeros(columns.shape)
    if columns.shape[1] == 1:
        return found
    by_column, weight = np.ascontiguousarray(totals.T), drawn @ shares
    step = max(1, AT_ONCE // (columns.shape[1] * len(shares)))
    for begin in range(0, len(drawn), step):
        some = slice(begin, begin + step)
        mine, rows, own = columns[some], drawn[some, :, None], weight[some, None]
        gaps = by_column[mine] - by_column[mine[np.arange(len(mine)), best[some]]][:, None]
        mean = (gaps @ rows)[..., 0] / own
        off = gaps - mean[..., None] * shares
        found[some] = np.sqrt((off * off @ rows)[..., 0]) / own
    return found
