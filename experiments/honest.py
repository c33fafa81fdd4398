"""Does the told error hold on new data? Simulated data whose true risk is known, and noise.

The linear designs of Hastie, Tibshirani and Tibshirani (2020), *Best subset, forward stepwise or
lasso?*: n x p of 100 x 10, 500 x 100, 50 x 1000, 100 x 1000; five relevant features; correlations
rho^|i-j|; signal to noise from 0.05 to 6. The procedure is the default one. For every data set the
error told of the chosen model and its interval stand beside the true risk of that very model.
Then pure noise (100 x 1000), with a permutation null; and data of two classes with as many columns
as gene expression has, where the criterion of the search is beside the error on left-out samples.

    python experiments/honest.py [repetitions] [noise seeds] [folder]

Every repetition is kept in the folder when it is done, so that the work can be cut and gone on with;
without one it begins anew. Seeds begin at 1000: those below were looked at when the interval was made.
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from results import save_page, table
from sparsepath import (
    PathWarning,
    SparseRLSClassifier,
    SparseRLSRegressor,
    honest_error,
    permutation_null,
)
from sparsepath.data.paper_sets import load
from sparsepath.judging.honest import chosen_size, told

SHAPES = ((100, 10, 10), (500, 100, 30), (50, 1000, 20), (100, 1000, 30))
RATIOS = (0.05, 0.25, 0.71, 2.07, 6.0)
CORRELATIONS = (0.0, 0.35, 0.7)


def draw(n, p, rho, snr, rng):
    """A sample of a design, its coefficients, covariance and noise."""
    S = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    beta = np.zeros(p)
    beta[np.linspace(0, p - 1, 5).round().astype(int)] = 1
    noise = beta @ S @ beta / snr
    return X, X @ beta + np.sqrt(noise) * rng.standard_normal(n), beta, S, noise


def simulated(n, p, k, seed):
    """For every design: what is told of the chosen model, and the truth about it."""
    rows = []
    for rho in CORRELATIONS:
        for snr in RATIOS:
            rng = np.random.default_rng([n, p, seed, int(100 * rho), int(100 * snr)])
            X, y, beta, S, noise = draw(n, p, rho, snr, rng)
            model = SparseRLSRegressor(k).fit(X, y)
            off = model.coef_ - beta
            risk = noise + off @ S @ off + (model.intercept_) ** 2
            record = model.honest_
            criterion = model.path_.error(record.size)
            rows.append((rho, snr, record.error, *record.interval, risk, criterion, record.size))
    return np.array(rows)


def noise_only(seed):
    """What is told of 100 x 1000 numbers of noise, without and with shuffled targets."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, 1000)), rng.standard_normal(100)
    model = SparseRLSRegressor(30)
    judged = honest_error(model, X, y, null=200)
    found, without = judged.chosen, judged.left_out
    plain = told(without, chosen_size(without, "one_se"), "one_se")
    assert judged.is_nothing == ("othing here" in judged.sentence()), "what is told is what counts"
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
    """How often 19 shuffles of noise reach p = 0.05."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([9, seed])
        X, y = rng.standard_normal((100, 1000)), rng.standard_normal(100)
        found.append(permutation_null(SparseRLSRegressor(30), X, y, 19).p_value)
    return np.array(found)


def kept(folder, name, work):
    """What the work gives, from the folder if it was done before."""
    file = Path(folder) / f"{name}.npy"
    if not file.exists():
        np.save(file, work())
    return np.load(file)


def judged(rows):
    """Six figures of some data sets of one shape, of which every design has as many."""
    rho, snr, error, low, high, true = rows.T[:6]
    designs = {(r, s) for r, s in zip(rho, snr, strict=True)}
    by_design = [
        error[(rho == r) & (snr == s)].mean() / true[(rho == r) & (snr == s)].mean()
        for r, s in designs
    ]
    inside = (low <= true) & (true <= high)
    ratio = error / true
    single = ratio.mean(), (1 / ratio).mean(), np.exp(np.log(ratio).mean())
    return np.mean(by_design), *single, error.sum() / true.sum(), inside.mean()


def by_luck(rows):
    """Of the most signal: data sets in which most relevant features were found, and the others."""
    rows = rows[rows[:, 1] == RATIOS[-1]]
    lucky = rows[:, 7] >= 3
    return [
        (len(some), some[:, 2].mean(), some[:, 5].mean()) for some in (rows[lucky], rows[~lucky])
    ]


def main(repetitions=40, seeds=100, folder=None):
    warnings.simplefilter("ignore", PathWarning)
    folder = tempfile.mkdtemp() if folder is None else folder
    Path(folder).mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    pure = np.array([kept(folder, f"noise-{s}", lambda: noise_only(s)) for s in range(seeds)])  # noqa: B023
    at_level = (kept(folder, "level", level) <= 0.05).mean()
    parts = {shape: [] for shape in SHAPES}
    for seed in range(1000, 1000 + repetitions):  # a bit of every shape at a time
        for n, p, k in SHAPES:
            part = kept(folder, f"{n}x{p}-{seed}", lambda: simulated(n, p, k, seed))  # noqa: B023
            parts[n, p, k].append(part)
    summary, by_ratio = [], []
    for (n, p, _), found in parts.items():
        rows = np.concatenate(found)
        by_design, *ratios, pooled, inside = judged(rows)
        summary.append(
            [
                f"{n} x {p}",
                len(rows),
                f"{by_design:.3f}",
                f"{pooled:.3f}",
                *(f"{ratio:.3f}" for ratio in ratios),
                f"{inside:.3f}",
                f"{(rows[:, 6] / rows[:, 5]).mean():.3f}",
                f"{rows[:, 7].mean():.1f}",
            ]
        )
        print(summary[-1], flush=True)
        for snr in RATIOS:
            some = rows[rows[:, 1] == snr]
            by_design, *ratios, _, inside = judged(some)
            by_ratio.append(
                [
                    f"{n} x {p}",
                    snr,
                    f"{by_design:.3f}",
                    *(f"{ratio:.3f}" for ratio in ratios),
                    f"{inside:.2f}",
                    f"{some[:, 7].mean():.1f}",
                ]
            )
    noise = [
        [
            f"{begin} to {begin + len(some) - 1}",
            int((some[:, 4] == 1).sum()),
            int((some[:, 0] == 1).sum()),
            f"{some[:, 1].mean():.3f}",
            f"{some[:, 2].mean():.2f}",
            f"{some[:, 3].mean():.3f}",
        ]
        for begin in range(0, seeds, 50)
        for some in [pure[begin : begin + 50]]
    ]
    print("noise", noise, at_level, flush=True)
    wide = []
    for name, X, y in wide_sets():
        model = SparseRLSClassifier(50).fit(X, y)
        small = int(np.nanargmin(model.path_.honest_errors))
        plain = SparseRLSClassifier(50, validation=None).fit(X, y)
        size = len(plain.selected_)
        wide.append(
            [
                name,
                size,
                f"{plain.path_.error(size):.4f}",
                f"{model.path_.honest_error(size):.3f}",
                model.honest_.size,
                f"{model.honest_.error:.3f}",
                f"{model.honest_.interval[0]:.3f} to {model.honest_.interval[1]:.3f}",
                f"{model.path_.honest_errors[small]:.3f} at {model.path_.sizes[small]}",
            ]
        )
        print(wide[-1], flush=True)
    luck = by_luck(np.concatenate(parts[50, 1000, 20]))
    save_page(
        "honest",
        "\n".join(
            [
                "# Does the told error hold on new data?",
                "",
                "Written by `experiments/honest.py`. Squared loss, greedy RLS, default validation (10 folds).",
                "",
                "## Simulated data with known risk",
                "",
                "The linear designs of Hastie, Tibshirani and Tibshirani (2020), *Best subset, forward "
                "stepwise or lasso?*: five relevant features, signal to noise 0.05 to 6, correlations "
                f"0, 0.35 and 0.7, {repetitions} data sets of each of the 15 combinations per shape. "
                "*Told* is `honest_.error`; *true* is the risk of the very model that was chosen. "
                "The bias is how the mean of the one compares to the mean of the other, in each of the "
                "15 designs; the ratios are averaged over these: the first column, and what is to be "
                "within 5 %.",
                "",
                "The ratio of a single data set is another matter: one that is spread out has a mean "
                "above one even if nothing is too high, and so has its inverse, which no bias could do. "
                "At 50 x 1000 the mean of told / true and that of true / told are both 7 to 8 % above "
                "one, while the geometric mean, which treats both alike, is near it. Most of that comes "
                f"from the {luck[0][0]} data sets of signal to noise 6 in which the search found most of the "
                f"relevant features: told {luck[0][1]:.2f}, true {luck[0][2]:.2f} on average. In the "
                f"{luck[1][0]} others it is told {luck[1][1]:.2f}, true {luck[1][2]:.2f}. Samples left out "
                "show how the search fares with nine tenths of such data, which finds them in some parts "
                "and not in others; that this very sample was a lucky one they cannot see. The intervals "
                "allow for it.",
                "",
                table(
                    [
                        "n x p",
                        "data sets",
                        "mean told / mean true, average over designs",
                        "sum of told / sum of true",
                        "mean of told / true",
                        "mean of true / told",
                        "geometric mean",
                        "90 % intervals that hold the truth",
                        "criterion / true",
                        "mean size",
                    ],
                    summary,
                ),
                "",
                "By signal to noise:",
                "",
                table(
                    [
                        "n x p",
                        "SNR",
                        "mean told / mean true",
                        "mean of told / true",
                        "mean of true / told",
                        "geometric mean",
                        "intervals that hold",
                        "mean size",
                    ],
                    by_ratio,
                ),
                "",
                "## Pure noise",
                "",
                "100 x 1000, 200 shuffles each: `honest_error(model, X, y, null=200)`, or `sparsepath select "
                "--null 200`. *Nothing here* is what their sentences say (`is_nothing`), because shuffled "
                "targets do as well (p above 0.05) or because no set of "
                "features is clearly better than none on samples left out. By the shuffles alone one "
                "data set of noise in twenty is taken for more, by the meaning of p: the test is exact. "
                f"In 500 more data sets of noise with 19 shuffles each {at_level:.1%} have p = 0.05.",
                "",
                table(
                    [
                        "seeds",
                        "nothing here",
                        "by the shuffles alone",
                        "told error / the empty model's",
                        "features without shuffles",
                        "told error / the empty model's, without shuffles",
                    ],
                    noise,
                ),
                "",
                "## Many columns, two classes",
                "",
                "Squared error of +-1. *By the criterion*: `validation=None`, size by one standard error of the "
                "leave-one-out criterion that the search minimised.",
                "",
                table(
                    [
                        "data",
                        "size by the criterion",
                        "error it tells",
                        "the same size on left-out samples",
                        "size by default",
                        "told error",
                        "interval",
                        "least left-out error",
                    ],
                    wide,
                ),
                "",
            ]
        ),
    )
    print(f"{time.perf_counter() - began:.0f} s")


def wide_sets():
    """Colon cancer, and a simulated look-alike of a larger set."""
    data = load("colon_cancer")
    yield f"colon cancer, {data.X.shape[0]} x {data.X.shape[1]}", data.X, data.y
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [50, 52])
    factors = rng.standard_normal((102, 40))
    X = factors @ rng.standard_normal((40, 12600)) * 0.4 + rng.standard_normal((102, 12600))
    X[:, :60] += 2.0 * y[:, None] * rng.uniform(0.3, 1, 60)
    yield "simulated, 102 x 12600", X, y


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
