"""Does the honest error hold on new data? Simulated data whose true risk is known, and noise.

1. The linear designs of Hastie, Tibshirani and Tibshirani (2020), *Best subset, forward stepwise or
   lasso?*: n x p of 100 x 10, 500 x 100, 50 x 1000, 100 x 1000; five relevant features; correlations
   rho^|i-j|; signal-to-noise ratios from 0.05 to 6.
2. Small data (40 to 150 samples), two classes, other losses and penalties, heavy tails.
3. Pure noise (100 x 1000), with a permutation null.
4. Two classes with as many columns as gene expression data: the criterion of the search and the
   error on held-out samples.

The procedure is the default one. For every data set, the estimated error of the selected model and its
interval are compared with the true error of this model.

    python experiments/honest.py [repetitions] [small data sets] [noise seeds] [folder]
    python experiments/honest.py --tiny      # one data set of few designs, for a test

Every finished repetition is kept in the folder, so that a run can be interrupted and resumed.
Seeds begin at 1000: those below were used to design the interval.
"""

import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from paper_sets import load
from results import save_page, table
from sparsepath import (
    AutoSelectorClassifier,
    AutoSelectorRegressor,
    PathWarning,
    SparseRLSClassifier,
    SparseRLSRegressor,
    honest_error,
    permutation_null,
)
from sparsepath.assessment.honest import chosen_size, summarize

SHAPES = ((100, 10, 10), (500, 100, 30), (50, 1000, 20), (100, 1000, 30))
RATIOS = (0.05, 0.25, 0.71, 2.07, 6.0)
CORRELATIONS = (0.0, 0.35, 0.7)
FIRST_SEED = 1000


def draw(n, p, rho, snr, rng):
    """A sample of a linear design, its coefficients, covariance and noise."""
    S = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    beta = np.zeros(p)
    beta[np.linspace(0, p - 1, 5).round().astype(int)] = 1
    noise = beta @ S @ beta / snr
    return X, X @ beta + np.sqrt(noise) * rng.standard_normal(n), beta, S, noise


def simulated(n, p, k, seed):
    """For every linear design: the estimated error of the chosen model, and its true risk."""
    rows = []
    for rho in CORRELATIONS:
        for snr in RATIOS:
            rng = np.random.default_rng([n, p, seed, int(100 * rho), int(100 * snr)])
            X, y, beta, S, noise = draw(n, p, rho, snr, rng)
            model = SparseRLSRegressor(k, alpha=1.0).fit(X, y)
            off = model.coef_ - beta
            risk = noise + off @ S @ off + (model.intercept_) ** 2
            record = model.honest_
            criterion = model.path_.error(record.size)
            rows.append((rho, snr, record.error, *record.interval, risk, criterion, record.size))
    return np.array(rows)


def numbers(n, p, sd=2.0, relevant=4, columns="normal", noise="normal"):
    """A design of regression: a sample of n and a large one to know the truth by."""

    def some(m, rng):
        X = (
            rng.standard_normal((m, p))
            if columns == "normal"
            else rng.standard_t(3, (m, p)) / 3**0.5
        )
        off = rng.standard_normal(m) if noise == "normal" else rng.standard_t(3, m) / 3**0.5
        return X, X[:, :relevant].sum(1) + sd * off

    return lambda rng: (some(n, rng), some(60000 if noise == "t3" else 20000, rng))


def product(n, p):
    """A product and a square, which no linear model can find."""

    def some(m, rng):
        X = rng.standard_normal((m, p))
        return X, X[:, 0] * X[:, 1] + X[:, 2] ** 2 + rng.standard_normal(m)

    return lambda rng: (some(n, rng), some(20000, rng))


def labels(n, p):
    """A design with two classes that are about equally common."""

    def some(m, rng):
        X = rng.standard_normal((m, p))
        return X, (X[:, :4].sum(1) + 2 * rng.standard_normal(m) > 0).astype(int)

    return lambda rng: (some(n, rng), some(20000, rng))


def skewed(n, p):
    """Two classes, log-normal columns: very large errors on a few samples."""

    def some(m, rng):
        y = np.arange(m) % 2
        X = rng.standard_normal((m, p))
        X[:, :10] += 1.2 * y[:, None]
        return np.exp(1.2 * X), y

    return lambda rng: (some(n, rng), some(6000, rng))


regressor = partial(SparseRLSRegressor, alpha=1.0)
classifier = partial(SparseRLSClassifier, alpha=1.0)
SMALL = {
    "squared error, 100 x 10": (numbers(100, 10), lambda: regressor(10)),
    "squared error, 100 x 200": (numbers(100, 200, sd=1.4), lambda: regressor(15)),
    "squared error, 40 x 10": (numbers(40, 10), lambda: regressor(10)),
    "squared error, 40 x 200": (numbers(40, 200), lambda: regressor(10)),
    "squared error, noise, 60 x 20": (numbers(60, 20, 1.0, 0), lambda: regressor(10)),
    'alpha="loo", 100 x 20': (numbers(100, 20), lambda: regressor(15, alpha="loo")),
    "absolute error, 100 x 20": (numbers(100, 20), lambda: regressor(15, loss="absolute")),
    "absolute error, 40 x 10": (numbers(40, 10), lambda: regressor(10, loss="absolute")),
    "two classes, 150 x 20": (labels(150, 20), lambda: classifier(15)),
    "two classes, 100 x 20": (labels(100, 20), lambda: classifier(15)),
    "two classes, 40 x 10": (labels(40, 10), lambda: classifier(10)),
    "two classes, 60 x 300": (labels(60, 300), lambda: classifier(10)),
    "error rate, 100 x 20": (labels(100, 20), lambda: classifier(15, loss="zero_one")),
    "heavy tails: columns t(3), 100 x 20": (numbers(100, 20, columns="t3"), lambda: regressor(15)),
    "heavy tails: noise t(3), 100 x 20": (numbers(100, 20, noise="t3"), lambda: regressor(15)),
    "heavy tails: log-normal columns, two classes, 60 x 400": (
        skewed(60, 400),
        lambda: classifier(20),
    ),
    "automatic method, 100 x 10": (numbers(100, 10), lambda: AutoSelectorRegressor(time_budget=1)),
    "automatic method, noise, 100 x 10": (
        numbers(100, 10, 1.0, 0),
        lambda: AutoSelectorRegressor(time_budget=1),
    ),
    "automatic method, product, 150 x 8": (
        product(150, 8),
        lambda: AutoSelectorRegressor(time_budget=1),
    ),
    "automatic method, two classes, error rate, 150 x 10": (
        labels(150, 10),
        lambda: AutoSelectorClassifier(time_budget=1),
    ),
    'alpha="auto", squared error, 40 x 10': (numbers(40, 10), SparseRLSRegressor),
    'alpha="auto", two classes, log loss, 40 x 10': (labels(40, 10), SparseRLSClassifier),
    'alpha="auto", two classes, log loss, 100 x 20': (labels(100, 20), SparseRLSClassifier),
}


def area(scores, y):
    """The area under the curve."""
    ours = y.sum()
    ranks = rankdata(scores)[y == 1].sum() - ours * (ours + 1) / 2
    return ranks / (ours * (len(y) - ours))


def small(name, seeds):
    """For some data sets of a design: estimates of the chosen model, and the truth about it."""
    make, fresh = SMALL[name]
    rows = []
    for seed in seeds:
        (X, y), (T, t) = make(np.random.default_rng([seed, list(SMALL).index(name)]))
        model = fresh().fit(X, y)
        record, rates = model.honest_, [np.nan] * 4
        if isinstance(model, SparseRLSClassifier):
            scores = model.decision_function(T)
            wrong = np.mean((scores > 0) != (t == 1))
            searched = scores - model._offsets[record.size][0]  # those whose squares are estimated
            true = wrong if model.loss == "zero_one" else np.mean((2 * t - 1 - searched) ** 2)
            if record.measure == "log loss":
                true = -np.log(model.predict_proba(T)[np.arange(len(t)), t]).mean()
            rates = [record.figures["error_rate"], wrong, record.figures["auc"], area(scores, t)]
        elif isinstance(model, AutoSelectorClassifier):
            true = np.mean(model.predict(T) != t)
        else:
            off = np.abs(t - model.predict(T))
            absolute = getattr(model, "loss", "") == "absolute"
            true = off.mean() if absolute else np.mean(off**2)
        spread = (record.repeats_sd or np.nan) / record.error
        rows.append((record.error, *record.interval, true, record.size, spread, *rates))
    return np.array(rows)


def noise_only(seed, null=200):
    """What is reported of 100 x 1000 numbers of noise, without and with permuted targets."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, 1000)), rng.standard_normal(100)
    model = SparseRLSRegressor(30, alpha=1.0)
    judged = honest_error(model, X, y, null=null)
    found, without = judged.chosen, judged.left_out
    plain = summarize(without, chosen_size(without, "one_se"), "one_se")
    assert judged.is_nothing == ("No signal" in judged.sentence()), "the sentence says it"
    return np.array(
        [
            found.is_nothing,
            found.error / found.empty_error,
            plain.size,
            plain.error / plain.empty_error,
            judged.is_nothing,
        ]
    )


def level(seeds=500):
    """How often 19 permutations of noise reach p = 0.05."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([9, seed])
        X, y = rng.standard_normal((100, 1000)), rng.standard_normal(100)
        found.append(permutation_null(SparseRLSRegressor(30, alpha=1.0), X, y, 19).p_value)
    return np.array(found)


def kept(folder, name, work):
    """The result of a task, read from the folder if it exists there."""
    file = Path(folder) / f"{name}.npy"
    if not file.exists():
        np.save(file, work())
    return np.load(file)


def judged(rows):
    """Means over data sets of one shape, with equal numbers for every design."""
    rho, snr, error, low, high, true = rows.T[:6]
    designs = {(r, s) for r, s in zip(rho, snr, strict=True)}
    by_design = [
        error[(rho == r) & (snr == s)].mean() / true[(rho == r) & (snr == s)].mean()
        for r, s in designs
    ]
    ratio = error / true
    single = ratio.mean(), (1 / ratio).mean(), np.exp(np.log(ratio).mean())
    held = np.mean((low <= true) & (true <= high)), np.mean(true > high)
    return np.mean(by_design), *single, error.sum() / true.sum(), *held


def by_luck(rows):
    """The strongest signal: data sets in which most relevant features were found, and the others."""
    rows = rows[rows[:, 1] == RATIOS[-1]]
    lucky = rows[:, 7] >= 3
    return [
        (len(some), some[:, 2].mean(), some[:, 5].mean()) for some in (rows[lucky], rows[~lucky])
    ]


def small_row(name, rows):
    """The line of a design of small data."""
    error, low, high, true, size, spread, *rates = rows.T
    slack = 1e-9 * true  # the empty model of balanced classes is known exactly
    above, below = np.mean(true > high + slack), np.mean(true < low - slack)
    noisy = (error - true * error.mean() / true.mean()).std() / true.mean() / len(rows) ** 0.5
    rate, wrong, auc, order = (np.mean(each) for each in rates)
    is_class = not np.isnan(rate)
    return [
        name,
        len(rows),
        f"{error.mean() / true.mean():.3f} ({noisy:.3f})",
        f"{1 - above - below:.3f}",
        f"{above:.3f}",
        f"{below:.3f}",
        f"{np.median(spread[size > 0]):.3f}",
        f"{rate:.3f} / {wrong:.3f}" if is_class else "",
        f"{auc:.3f} / {order:.3f}" if is_class else "",
        f"{size.mean():.1f}",
    ]


def verdict(few, parts, pure):
    """What holds, in a few lines."""
    by_shape = [judged(np.concatenate(parts[shape])) for shape in parts]
    ratios, held = [each[0] for each in by_shape], [each[5] for each in by_shape]
    small, heavy = ([row for row in few if ("heavy" in row[0]) == tails] for tails in (False, True))
    lines = [
        f"- On linear designs the estimate is {min(ratios):.2f} to {max(ratios):.2f} of the true error "
        f"on average, and the 90 % intervals contain {min(held):.0%} to {max(held):.0%} of the true errors.",
        f"- With few samples or two classes it is {min(row[2][:5] for row in small)} to "
        f"{max(row[2][:5] for row in small)} of the true error, and at most "
        f"{max(float(row[4]) for row in small):.1%} of the true errors are above the interval.",
        f"- Of {len(pure)} data sets of noise {np.mean(pure[:, 4] == 1):.0%} are reported as without signal.",
    ]
    if heavy:
        lines.append(
            "- With heavy tails the intervals are too narrow: the largest errors of future data do not "
            f"occur in the sample. Up to {max(float(row[4]) for row in heavy):.0%} of the true errors are above them."
        )
    return ["## What holds", "", *lines, ""]


def small_section(rows):
    """The part of the page on small data."""
    return [
        "## Small data, two classes, other losses, heavy tails",
        "",
        f"Each design has {rows[0][1]} data sets, different from those used to develop the interval, with "
        "four relevant features. The true error is measured on 6000 to 60000 additional samples. Data of "
        "these sizes are assigned to folds several times by default. *Inside*, *above* and *below*: the "
        "share of true errors inside the 90 % interval, above its upper end and below its lower end. "
        "*Between assignments*: the median of the relative standard deviation of the error between "
        "assignments, for data sets in which features were selected. Error rate and AUC are those of "
        "`honest_.figures`. The target is at most 7 % above, without heavy tails.",
        "",
        "With two classes the estimate is slightly too low, most of all if no features are selected: the "
        "classes are equally common in the population, but in a sample one of them is larger by "
        "chance, so always predicting it looks better than it is (60 x 300: error rate 0.42 "
        "estimated, 0.47 true).",
        "",
        table(
            [
                "design",
                "data sets",
                "mean estimated / mean true (s.e.)",
                "inside",
                "above",
                "below",
                "between assignments",
                "error rate estimated / true",
                "AUC estimated / true",
                "mean size",
            ],
            rows,
        ),
        "",
    ]


def linear_section(parts, repetitions):
    """The part of the page on the linear designs."""
    summary, by_ratio = [], []
    for (n, p, _), found in parts.items():
        rows = np.concatenate(found)
        by_design, *ratios, pooled, held, above = judged(rows)
        summary.append(
            [
                f"{n} x {p}",
                len(rows),
                f"{by_design:.3f}",
                f"{pooled:.3f}",
                *(f"{ratio:.3f}" for ratio in ratios),
                f"{held:.3f}",
                f"{above:.3f}",
                f"{(rows[:, 6] / rows[:, 5]).mean():.3f}",
                f"{rows[:, 7].mean():.1f}",
            ]
        )
        print(summary[-1], flush=True)
        for snr in RATIOS:
            some = rows[rows[:, 1] == snr]
            by_design, *ratios, _, held, above = judged(some)
            by_ratio.append(
                [
                    f"{n} x {p}",
                    snr,
                    f"{by_design:.3f}",
                    *(f"{ratio:.3f}" for ratio in ratios),
                    f"{held:.2f}",
                    f"{above:.2f}",
                    f"{some[:, 7].mean():.1f}",
                ]
            )
    (found, low, risk), (others, high, worse) = by_luck(np.concatenate(parts[50, 1000, 20]))
    return [
        "## Linear designs with known risk",
        "",
        "The linear designs of Hastie, Tibshirani and Tibshirani (2020), *Best subset, forward "
        "stepwise or lasso?*: five relevant features, signal-to-noise ratios 0.05 to 6, correlations "
        f"0, 0.35 and 0.7, {repetitions} data sets of each of the 15 combinations per shape. "
        "*Estimated* is `honest_.error`; *true* is the expected error of the selected model itself. "
        "The first column is the ratio of their means in each of the 15 designs, averaged over the designs.",
        "",
        "Ratios of single data sets have a mean above one even without bias, and so do their inverses; "
        "the geometric mean treats both equally. The wide spread at 50 x 1000 comes from a "
        f"signal-to-noise ratio of 6. In the {found} data sets in which the search found most of the "
        f"relevant features the mean estimate is {low:.2f} and the mean true error {risk:.2f}; in the "
        f"{others} others {high:.2f} and {worse:.2f}. Held-out samples show how the search performs on "
        "nine tenths of such data; they cannot show that the sample at hand happens to be favourable. "
        "The intervals account for this.",
        "",
        table(
            [
                "n x p",
                "data sets",
                "mean estimated / mean true, average over designs",
                "sum of estimated / sum of true",
                "mean of estimated / true",
                "mean of true / estimated",
                "geometric mean",
                "90 % intervals that contain the true error",
                "true error above the interval",
                "criterion / true",
                "mean size",
            ],
            summary,
        ),
        "",
        "By signal-to-noise ratio (SNR):",
        "",
        table(
            [
                "n x p",
                "SNR",
                "mean estimated / mean true",
                "mean of estimated / true",
                "mean of true / estimated",
                "geometric mean",
                "intervals that contain it",
                "true error above",
                "mean size",
            ],
            by_ratio,
        ),
        "",
    ]


def noise_section(pure, at_level):
    """The part of the page on pure noise."""
    rows = [
        [
            f"{begin} to {begin + len(some) - 1}",
            int((some[:, 4] == 1).sum()),
            int((some[:, 0] == 1).sum()),
            f"{some[:, 1].mean():.3f}",
            f"{some[:, 2].mean():.2f}",
            f"{some[:, 3].mean():.3f}",
        ]
        for begin in range(0, len(pure), 50)
        for some in [pure[begin : begin + 50]]
    ]
    print("noise", rows, at_level, flush=True)
    return [
        "## Pure noise",
        "",
        "100 x 1000, 200 permutations each: `honest_error(model, X, y, null=200)`, or `sparsepath select "
        "--null 200`. *No signal*: the result says so (`is_nothing`), because permuted targets reach the "
        "same error (p above 0.05) or because no subset is clearly better than the empty model on "
        "held-out samples. By the permutations alone, one data set of noise in twenty is reported as "
        "signal on average, by the definition of the p-value: the test is exact. "
        f"In 500 further data sets of noise with 19 permutations each, {at_level:.1%} have p = 0.05.",
        "",
        table(
            [
                "seeds",
                "no signal",
                "by the permutations alone",
                "estimated error / the empty model's",
                "features without permutations",
                "estimated error / the empty model's, without permutations",
            ],
            rows,
        ),
        "",
    ]


def wide_section():
    """The part of the page on many columns."""
    rows = []
    for name, X, y in wide_sets():
        model = SparseRLSClassifier(50, alpha=1.0).fit(X, y)
        least = int(np.nanargmin(model.path_.honest_errors))
        plain = SparseRLSClassifier(50, alpha=1.0, validation=None).fit(X, y)
        size, record = len(plain.selected_), model.honest_
        spread = "" if record.repeats_sd is None else f"{record.repeats_sd:.3f}"
        rows.append(
            [
                name,
                size,
                f"{plain.path_.error(size):.4f}",
                f"{model.path_.honest_error(size):.3f}",
                record.size,
                f"{record.error:.3f}",
                f"{record.interval[0]:.3f} to {record.interval[1]:.3f}",
                record.repeats,
                spread,
                f"{model.path_.honest_errors[least]:.3f} at {model.path_.sizes[least]}",
            ]
        )
        print(rows[-1], flush=True)
    return [
        "## Many columns, two classes",
        "",
        "Squared error of targets coded -1 and +1. *By the criterion*: `validation=None`, with the size chosen "
        "by the one-standard-error rule on the leave-one-out criterion that the search minimised.",
        "",
        table(
            [
                "data",
                "size by the criterion",
                "its error by the criterion",
                "the same size on held-out samples",
                "size by default",
                "estimated error",
                "interval",
                "assignments to folds",
                "standard deviation between them",
                "lowest held-out error",
            ],
            rows,
        ),
        "",
    ]


def main(repetitions=20, small_sets=200, seeds=100, folder=None, tiny=False):
    warnings.simplefilter("ignore", PathWarning)
    designs = list(SMALL)[:1] if tiny else list(SMALL)
    shapes = SHAPES[2:3] if tiny else SHAPES
    folder = tempfile.mkdtemp() if folder is None else folder
    Path(folder).mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    few = {name: [] for name in designs}
    for first in range(FIRST_SEED, FIRST_SEED + small_sets, 10):  # a bit of every design at a time
        some = range(first, min(first + 10, FIRST_SEED + small_sets))
        for i, name in enumerate(designs):
            few[name].append(kept(folder, f"small-{i}-{first}", lambda: small(name, some)))  # noqa: B023
    few = [small_row(name, np.concatenate(found)) for name, found in few.items()]
    print(*few, sep="\n", flush=True)
    parts = {shape: [] for shape in shapes}
    for seed in range(FIRST_SEED, FIRST_SEED + repetitions):
        for n, p, k in shapes:
            part = kept(folder, f"{n}x{p}-{seed}", lambda: simulated(n, p, k, seed))  # noqa: B023
            parts[n, p, k].append(part)
    null = 19 if tiny else 200
    pure = np.array([kept(folder, f"noise-{s}", lambda: noise_only(s, null)) for s in range(seeds)])  # noqa: B023
    at_level = (kept(folder, "level", lambda: level(2 if tiny else 500)) <= 0.05).mean()
    page = [
        "# Does the honest error hold on new data?",
        "",
        "Written by `experiments/honest.py`. The honest error is the out-of-sample error of the full "
        "procedure, by nested cross-validation. Here it is that of greedy RLS with its default "
        "validation: ten folds, with several random assignments if there are few samples.",
        "",
        *verdict(few, parts, pure),
        *small_section(few),
        *linear_section(parts, repetitions),
        *noise_section(pure, at_level),
        *([] if tiny else wide_section()),
    ]
    save_page("honest", "\n".join(page))
    print(f"{time.perf_counter() - began:.0f} s")


def wide_sets():
    """Colon cancer, and a simulated set that resembles a larger one."""
    data = load("colon_cancer")
    yield f"colon cancer, {data.X.shape[0]} x {data.X.shape[1]}", data.X, data.y
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [50, 52])
    factors = rng.standard_normal((102, 40))
    X = factors @ rng.standard_normal((40, 12600)) * 0.4 + rng.standard_normal((102, 12600))
    X[:, :60] += 2.0 * y[:, None] * rng.uniform(0.3, 1, 60)
    yield "simulated, 102 x 12600", X, y


if __name__ == "__main__":
    if sys.argv[1:] == ["--tiny"]:
        main(1, 1, 1, tiny=True)
    else:
        main(*map(int, sys.argv[1:4]), *sys.argv[4:5])
