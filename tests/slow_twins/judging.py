"""Plain versions of what judging does, by loops over samples, folds, draws and runs."""

import math

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler


def nested_losses(search, X, y, splits, sizes, alpha):
    """Squared errors of samples left out, n x sizes; ``search(X, y)`` gives subsets by size.

    The models are scikit-learn's: ridge regression on the standardised chosen columns.
    """
    losses = np.full((len(y), len(sizes)), np.nan)
    for train, test in splits:
        subsets = search(X[train], y[train])
        for column, size in enumerate(sizes):
            known = [k for k in subsets if k <= size]
            subset = list(subsets[max(known)])
            predicted = np.full(len(test), y[train].mean())
            if subset:
                scaler = StandardScaler().fit(X[train][:, subset])
                model = Ridge(alpha=alpha).fit(scaler.transform(X[train][:, subset]), y[train])
                predicted = model.predict(scaler.transform(X[test][:, subset]))
            losses[test, column] = (y[test] - predicted) ** 2
    return losses


def paired_choice(losses, freedom=1):
    """The first size whose error is within a standard error of the difference to the least."""
    n, K = losses.shape
    means = [sum(losses[:, k]) / n for k in range(K)]
    best = means.index(min(means))
    for k in range(K):
        gaps = [losses[i, k] - losses[i, best] for i in range(n)]
        mean = sum(gaps) / n
        se = math.sqrt(sum((g - mean) ** 2 for g in gaps) / (n - freedom) / n)
        if mean <= se:
            return k
    raise AssertionError


def drawn_luck(losses, draws, choose, k, most, measured=None):
    """Mean over draws of a difference on the rows that were not drawn, at most ``most``.

    It is that of the errors of the size chosen on the draw and of size k. What is ``measured`` may
    be other losses than those that choose.
    """
    measured = losses if measured is None else measured
    gaps = []
    for rows in draws:
        chosen = choose(losses[rows])
        away = sorted(set(range(len(losses))) - set(rows))
        gap = measured[away, chosen].mean() - measured[away, k].mean()
        gaps.append(min(max(gap, -most), most))
    return few_samples(losses) * sum(gaps) / len(gaps)


def few_samples(losses):
    """The factor of the luck that draws of few rows show."""
    return min(2.0, max(1.0, 80 / len(losses)))


def drawn_disorder(losses, draws, choose, k, parts, scores, classes):
    """The same for pairs of both classes in the wrong order, of which both samples are not drawn.

    A pair is within one of the ``parts``; ``scores`` has a column for each size. Parts weigh as
    many samples as they have, shared by their pairs. A draw that leaves no pair tells nothing.
    """

    def disorder(away, size):
        wrong = total = 0.0
        for part in parts:
            second = [i for i in part if classes[i] == 1]
            first = [i for i in part if classes[i] == 0]
            if not (second and first):
                continue
            each = len(part) / (len(second) * len(first))
            for i in second:
                for j in first:
                    if i in away and j in away:
                        total += each
                        if scores[i, size] < scores[j, size]:
                            wrong += each
                        elif scores[i, size] == scores[j, size]:
                            wrong += each / 2
        return wrong / total if total else 0.0

    gaps = []
    for rows in draws:
        chosen = choose(losses[rows])
        away = set(range(len(losses))) - set(rows)
        gaps.append(disorder(away, chosen) - disorder(away, k))
    return sum(gaps) / len(gaps)


def drawn_interval(losses, draws, choose, k, told, more, upward):
    """Nine tenths: studentised on a log scale, more variance and that of the choice added."""

    def mean_se(column):
        mean = column.mean()
        return mean, math.sqrt(((column - mean) ** 2).sum() / (len(column) - 1) / len(column))

    error, se = mean_se(losses[:, k])
    ratios, moved = [], []
    for rows in draws:
        e, s = mean_se(losses[rows, k])
        ratios.append(math.log(e / error) / (s / e))
        moved.append((losses[:, choose(losses[rows])].mean() - error) ** 2)
    low, high = np.quantile(ratios, [0.05, 0.95])
    spread = math.sqrt(se**2 + more + np.mean(moved)) / error
    return told * math.exp(-spread * high), told * math.exp(-upward * spread * low)


def stability_index(subsets, d):
    """Nogueira, Sechidis and Brown (2018), Definition 4, by counting."""
    M = len(subsets)
    total = 0.0
    for f in range(d):
        p = sum(f in s for s in subsets) / M
        total += M / (M - 1) * p * (1 - p)
    k = sum(map(len, subsets)) / M
    return 1 - (total / d) / (k / d * (1 - k / d))


def path_p_value(errors, null):
    """How often the best of all sizes, each on a common scale, is as good for a shuffle."""
    rows = [list(errors), *map(list, null)]
    n, K = len(rows), len(errors)
    scaled = [[0.0] * K for _ in rows]
    for k in range(K):
        mean = sum(row[k] for row in rows) / n
        spread = math.sqrt(sum((row[k] - mean) ** 2 for row in rows) / n)
        for i, row in enumerate(rows):
            scaled[i][k] = (mean - row[k]) / spread if spread > 0 else 0.0
    best = [max(row) for row in scaled]
    return sum(value >= best[0] - 1e-9 for value in best) / n


def stability_variance(subsets, d):
    """Nogueira, Sechidis and Brown (2018): the variance of the index, term by term."""
    M = len(subsets)
    index = stability_index(subsets, d)
    p = [sum(f in s for s in subsets) / M for f in range(d)]
    mean = sum(map(len, subsets)) / M
    phi = []
    for s in subsets:
        k = len(s)
        first = sum(p[f] for f in s) / d - k * mean / d**2
        second = index / 2 * (2 * mean * k / d**2 - k / d - mean / d + 1)
        phi.append((first + second) / (mean / d * (1 - mean / d)))
    return 4 / M**2 * sum((value - sum(phi) / M) ** 2 for value in phi)


def false_features(subsets, d, threshold):
    """The bound of Meinshausen and Buehlmann (2010): q^2 / ((2 pi - 1) p), q the mean size."""
    q = sum(map(len, subsets)) / len(subsets)
    return q**2 / (2 * threshold - 1) / d


def rarely_together(a, b, n_runs):
    """The chance that two features meet so rarely if each is chosen as often, at random, singly.

    By counting: of all ways to lay the runs of the second, those with as few in common or fewer.
    """
    common, first, second = len(a & b), len(a), len(b)
    ways = [
        math.comb(first, both) * math.comb(n_runs - first, second - both)
        for both in range(common + 1)
        if second - both >= 0
    ]
    return sum(ways) / math.comb(n_runs, second)


def interchangeable(subsets, columns, often=0.1, alike=0.3, level=0.05):
    """Sets of features that stand in for each other over runs (``subsets``), from definitions.

    Two are linked if one is an exact copy of the other, but for its units, and either is chosen in
    a tenth of the runs; or if both are, their correlation is 0.3 or more, and they meet so rarely
    that it has a chance of at most 0.05 over the number of such pairs. Links are followed.
    """
    M, d = len(subsets), len(columns)
    runs = [{i for i, s in enumerate(subsets) if f in s} for f in range(d)]
    enough = [len(r) >= often * M for r in runs]

    def correlation(f, g):
        x, y = (np.asarray(columns[i]) - np.mean(columns[i]) for i in (f, g))
        norm = math.sqrt((x @ x) * (y @ y))
        return abs(x @ y) / norm if norm else 0.0

    pairs = [(f, g) for f in range(d) for g in range(f + 1, d)]
    candidates = [
        (f, g) for f, g in pairs if enough[f] and enough[g] and correlation(f, g) >= alike
    ]
    links = {f: set() for f in range(d)}
    for f, g in pairs:
        copy = correlation(f, g) >= 1 - 1e-9 and (enough[f] or enough[g])
        rare = (f, g) in candidates and (
            rarely_together(runs[f], runs[g], M) <= level / len(candidates)
        )
        if copy or rare:
            links[f].add(g)
            links[g].add(f)
    found, seen = set(), set()
    for f in range(d):
        todo, group = [f], set()
        while todo:
            here = todo.pop()
            if here not in group:
                group.add(here)
                todo += links[here]
        if len(group) > 1 and f not in seen:
            found.add(frozenset(group))
        seen |= group
    return found


def products_of_rows(X, y, rows, standardize):
    """Centre, scale and mean over some rows; products of columns and target there, one by one."""
    n, total = X.shape[1], len(rows)
    centre = [sum(X[i, j] for i in rows) / total for j in range(n)]
    mean = sum(y[i] for i in rows) / total
    spread = [(sum((X[i, j] - centre[j]) ** 2 for i in rows) / total) ** 0.5 for j in range(n)]
    scale = spread if standardize else [1.0] * n
    Z = [[(X[i, j] - centre[j]) / scale[j] for j in range(n)] + [y[i] - mean] for i in rows]
    products = [[sum(z[a] * z[b] for z in Z) for b in range(n + 1)] for a in range(n + 1)]
    return np.array(centre), np.array(scale), mean, np.array(products)


def refitted_losses(subsets, X, y, splits, sizes, alpha):
    """As ``nested_losses``, with the subsets of every split, by size, given."""
    given = iter(subsets)
    return nested_losses(lambda *_: next(given), X, y, splits, sizes, alpha)


def chosen_way(losses, rule, freedom=1):
    """Which of several matrices of losses, n x sizes, a rule takes by the least mean of each.

    "min": that with the least of all. "one_se": the first whose mean is above it by at most the
    standard error of the difference, with n - ``freedom`` degrees of freedom. A share: the first
    within this share of it.
    """
    n = len(losses[0])
    each = [matrix[:, matrix.mean(0).argmin()] for matrix in losses]
    means = [sum(column) / n for column in each]
    best = means.index(min(means))
    for way, column in enumerate(each):
        gaps = [a - b for a, b in zip(column, each[best], strict=True)]
        mean = sum(gaps) / n
        allowed = {"min": 0.0}.get(rule)
        if rule == "one_se":
            allowed = math.sqrt(sum((g - mean) ** 2 for g in gaps) / (n - freedom) / n)
        elif allowed is None:
            allowed = rule * means[best]
        if means[way] <= means[best] + allowed:
            return way
    raise AssertionError


def drawn_luck_among(losses, draws, choose, rule, way, k, most):
    """As ``drawn_luck``, where each draw chooses among several matrices of losses first."""
    gaps = []
    for rows in draws:
        drawn = [each[rows] for each in losses]
        other = chosen_way(drawn, rule, freedom=0)
        away = sorted(set(range(len(losses[0]))) - set(rows))
        gap = losses[other][away, choose(drawn[other])].mean() - losses[way][away, k].mean()
        gaps.append(min(max(gap, -most), most))
    return few_samples(losses[0]) * sum(gaps) / len(gaps)


def no_better_luck(losses, draws, choose, rule, way, k):
    """What is added if draws recommend no features (column 0), and whether all rows do.

    They do so if the error of their choice with the luck of ``drawn_luck_among``, and up to two
    standard errors of the difference if the rule is "one_se", is not below that of no features;
    with "one_se" only if the signed ranks of the gains sum to less than three standard deviations
    or the error with the luck is no lower.
    """
    n = len(losses[0])
    luck = drawn_luck_among(losses, draws, choose, rule, way, k, losses[way][:, 0].mean())
    times = 1 + min(1, 100 / n) if rule == "one_se" else 0

    def no_better(rows, other, column):
        gaps = losses[other][rows, column] - losses[way][rows, 0]
        unclear = gaps.mean() + luck + times * gaps.std() / math.sqrt(len(gaps)) >= 0
        if rule != "one_se" or gaps.mean() + luck >= 0:
            return unclear
        every = (losses[way][:, 0] - losses[other][:, column]).tolist()
        sizes = [abs(gain) for gain in every]
        ranks = [sum(b < a for b in sizes) + (sizes.count(a) + 1) / 2 for a in sizes]
        signed = sum(math.copysign(ranks[i], every[i]) for i in rows if every[i] != 0)
        return unclear and signed / math.sqrt(sum(ranks[i] ** 2 for i in rows)) < 3.0

    added = 0.0
    for rows in draws:
        drawn = [each[rows] for each in losses]
        other = chosen_way(drawn, rule, freedom=0)
        column = choose(drawn[other])
        if no_better(rows, other, column):
            away = sorted(set(range(n)) - set(rows))
            empty, most = losses[way][away, 0], losses[way][:, 0].mean()
            ours = losses[way][away, k].mean()
            each = [empty.mean() - ours, losses[other][away, column].mean() - ours]
            each = [min(max(gap, -most), most) for gap in each]
            added += (each[0] - each[1]) / len(draws)
    return luck + added, no_better(list(range(n)), way, k)


def calibration(scores, classes, weights, n_classes, bounds):
    """Slope and offsets (the first class: 0) of least log loss with Platt's targets.

    ``scores`` has a row of scores per sample, of all classes. The mean loss, with the square of the
    slope's distance to 2 over 200 times the samples, is minimised directly, from several starts.
    """
    counted = [i for i in range(len(classes)) if weights[i] > 0]
    counts = [sum(classes[i] == k for i in counted) for k in range(n_classes)]
    total = sum(weights[i] for i in counted)

    def loss(theta):
        value = (theta[0] - 2) ** 2 / (200 * len(counted))
        for i in counted:
            z = [theta[0] * s + b for s, b in zip(scores[i], [0, *theta[1:]], strict=True)]
            top = max(z)
            norm = top + math.log(sum(math.exp(v - top) for v in z))
            own = counts[classes[i]] + n_classes
            for k, v in enumerate(z):
                target = (counts[k] + 1 if k == classes[i] else 1) / own
                value -= weights[i] / total * target * (v - norm)
        return value

    tries = [
        minimize(
            loss,
            [start, *[0.0] * (n_classes - 1)],
            bounds=[bounds, *[(None, None)] * (n_classes - 1)],
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        for start in (0.5, 2.0)
    ]
    best = min(tries, key=lambda found: found.fun)
    return best.x, loss


def decided(scores, classes, weights, parts, n_classes, bounds):
    """Probabilities of samples left out, each by the calibration of the other parts."""
    made = np.zeros((len(classes), n_classes))
    for part in parts:
        away = [i for i in range(len(classes)) if i not in set(part)]
        given = [[of[i] for i in away] for of in (scores, classes, weights)]
        theta, _ = calibration(*given, n_classes, bounds)
        for i in part:
            odds = np.exp(theta[0] * np.array(scores[i]) + np.array([0.0, *theta[1:]]))
            made[i] = odds / odds.sum()
    return made
