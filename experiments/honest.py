"""Does the told error hold on new data? Simulated data whose true risk is known, and noise.

The linear designs of Hastie, Tibshirani and Tibshirani (2020), *Best subset, forward stepwise or
lasso?*: n x p of 100 x 10, 500 x 100, 50 x 1000, 100 x 1000; five relevant features; correlations
rho^|i-j|; signal to noise from 0.05 to 6. The procedure is the default one. For every data set the
error told of the chosen model and its interval stand beside the true risk of that very model.
Then pure noise (100 x 1000), with a permutation null; and data of two classes with as many columns
as gene expression has, where the criterion of the search is beside the error on left-out samples.

    python experiments/honest.py [repetitions] [noise seeds]
"""

import sys
import time
import warnings

import numpy as np

from results import save_page, table
from sparsepath import (
    PathWarning,
    SparseRLSClassifier,
    SparseRLSRegressor,
    honest_error,
)
from sparsepath.data.paper_sets import load

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


def simulated(n, p, k, repetitions):
    """Told over true, whether the interval holds the truth, the criterion over the truth."""
    rows = []
    for rho in CORRELATIONS:
        for snr in RATIOS:
            for seed in range(repetitions):
                rng = np.random.default_rng([n, p, seed, int(100 * rho), int(100 * snr)])
                X, y, beta, S, noise = draw(n, p, rho, snr, rng)
                model = SparseRLSRegressor(k, standardize=True).fit(X, y)
                off = model.coef_ - beta
                risk = noise + off @ S @ off + model.intercept_**2
                told, size = model.honest_, model.honest_.size
                low, high = told.interval
                rows.append(
                    (
                        snr,
                        told.error / risk,
                        low <= risk <= high,
                        model.path_.error(size) / risk,
                        size,
                        told.error,
                        risk,
                    )
                )
    return np.array(rows)


def main(repetitions=20, seeds=50):
    warnings.simplefilter("ignore", PathWarning)
    began = time.perf_counter()
    summary, by_ratio = [], []
    for n, p, k in SHAPES:
        rows = simulated(n, p, k, repetitions)
        summary.append(
            [
                f"{n} x {p}",
                len(rows),
                f"{rows[:, 5].sum() / rows[:, 6].sum():.3f}",
                f"{rows[:, 1].mean():.3f}",
                f"{rows[:, 2].mean():.3f}",
                f"{rows[:, 3].mean():.3f}",
                f"{rows[:, 4].mean():.1f}",
            ]
        )
        print(summary[-1], flush=True)
        for snr in RATIOS:
            some = rows[rows[:, 0] == snr]
            by_ratio.append(
                [
                    f"{n} x {p}",
                    snr,
                    f"{some[:, 1].mean():.3f}",
                    f"{some[:, 2].mean():.2f}",
                    f"{some[:, 4].mean():.1f}",
                ]
            )
    nothing, ratios, sizes = 0, [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        found = honest_error(
            SparseRLSRegressor(30, standardize=True),
            rng.standard_normal((100, 1000)),
            rng.standard_normal(100),
            null=99,
        )
        nothing += found.chosen.size == 0 and found.chosen.is_nothing
        ratios.append(found.chosen.error / found.chosen.empty_error)
        sizes.append(found.chosen.size)
    print("noise", nothing, np.mean(ratios), flush=True)
    wide = []
    for name, X, y in wide_sets():
        model = SparseRLSClassifier(50, standardize=True).fit(X, y)
        small = int(np.nanargmin(model.path_.honest_errors))
        plain = SparseRLSClassifier(50, standardize=True, validation=None).fit(X, y)
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
                "*Told* is `honest_.error`; *true* is the risk of the very model that was chosen.",
                "",
                table(
                    [
                        "n x p",
                        "data sets",
                        "told / true (means)",
                        "mean of told / true",
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
                    ["n x p", "SNR", "mean of told / true", "intervals that hold", "mean size"],
                    by_ratio,
                ),
                "",
                "## Pure noise",
                "",
                f"100 x 1000, {seeds} seeds, 99 shuffles each: {nothing} of {seeds} times the answer is the "
                f'empty model and "nothing is here"; the told error is {np.mean(ratios):.3f} of the empty '
                "model's on average.",
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
    X[:, :60] += 0.6 * y[:, None] * rng.uniform(0.3, 1, 60)
    yield "simulated, 102 x 12600", X, y


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
