"""Speed of linear grafting against skglm, celer and scikit-learn's liblinear, at equal
suboptimality.

    python benchmarks/grafting.py            # writes docs/benchmarks/grafting.md; some minutes
    python benchmarks/grafting.py --small    # a tenth of the size, to try it out
    python benchmarks/grafting.py --only dense     # or sparse, "dense path", samples, ...: one part
    python benchmarks/grafting.py --tolerances     # find these only, for all parts; times nothing

Tolerances and parts are kept in build/grafting_benchmark.json, so that a machine has to be quiet
for the timing of one part at a time; the page is written when all parts are there, and they are
then removed.

The logistic loss with l1, no intercept and no scaling, since not all rivals have both. For every
solver tolerances 1e-1, 1e-2, ... are tried, and the first that reaches a relative suboptimality of
1e-8 (against a point whose duality gap is below 1e-11) is timed: the median of
repeats, CPU seconds of one thread, interleaved. Ratios above 1: sparsepath is faster. Paths: 30
values of l1 from its largest to a hundredth, every point to 1e-8 (checked), warm starts in both.
scikit-learn's saga is not timed.
"""

import argparse
import json
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

from measure import ROOT, table, write_page
from sparsepath.data.threads import Threads
from sparsepath.grafting.criterion import Logistic, Penalty
from sparsepath.grafting.fitting import GraftingOptions, GraftingProblem

TARGET = 1e-8
REPEATS = 3
BEST_OF = 5  # for the growth of time
PARTS = ("dense", "sparse", "dense path", "sparse path", "samples", "features")


def dense_problem(m, n, rng):
    X = rng.standard_normal((m, n))
    for j in range(1, n):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(n)
    w[rng.choice(n, n // 20, replace=False)] = rng.standard_normal(n // 20)
    y = np.where(rng.random(m) < 1 / (1 + np.exp(-X @ w)), 1.0, -1.0)
    return np.asfortranarray(X), y


def sparse_problem(m, n, entries, rng):
    X = sp.random(m, n, density=entries / (m * n), format="csc", random_state=rng)
    w = rng.standard_normal(n) * (rng.random(n) < 0.05)
    y = np.where(X @ w + 0.1 * rng.standard_normal(m) > 0, 1.0, -1.0)
    return X, y


def objective(X, y, w, l1):
    return np.logaddexp(0, -y * (X @ w)).mean() + l1 * np.abs(w).sum()


def sparsepath(X, y, l1, tol):
    with Threads(1) as threads:
        problem = GraftingProblem(
            X, y[:, None], np.ones(len(y)), Logistic(), threads,
            fit_intercept=False, standardize=False,
        )  # fmt: skip
        return problem.fit(Penalty.of(X.shape[1], l1), GraftingOptions(tol=tol)).solution.W[:, 0]


def skglm(X, y, l1, tol):
    from skglm import SparseLogisticRegression

    # its tolerance is absolute: give it in units of l1
    model = SparseLogisticRegression(alpha=l1, tol=tol * l1, fit_intercept=False, max_iter=100)
    return model.fit(X, y).coef_.ravel()


def celer(X, y, l1, tol):
    from celer import LogisticRegression

    model = LogisticRegression(C=1 / (len(y) * l1), tol=tol, fit_intercept=False, max_iter=200)
    return model.fit(X, y).coef_.ravel()


def liblinear(X, y, l1, tol):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=1 / (len(y) * l1), l1_ratio=1.0, solver="liblinear", tol=tol, fit_intercept=False,
        max_iter=2000,
    )  # fmt: skip
    return model.fit(X, y).coef_.ravel()


def sparsepath_path(X, y, l1s, tol):
    with Threads(1) as threads:
        problem = GraftingProblem(
            X, y[:, None], np.ones(len(y)), Logistic(), threads,
            fit_intercept=False, standardize=False,
        )  # fmt: skip
        fits = problem.path(l1s.tolist(), Penalty.of(X.shape[1], 1.0), GraftingOptions(tol=tol))
    return [fit.solution.W[:, 0] for fit in fits]


def skglm_path(X, y, l1s, tol):
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(warm_start=True, fit_intercept=False, max_iter=100)
    out = []
    for l1 in l1s:
        model.set_params(alpha=l1, tol=tol * l1)
        out.append(model.fit(X, y).coef_.ravel().copy())
    return out


def timed(solve, *arguments):
    begun = time.process_time()
    found = solve(*arguments)
    return time.process_time() - begun, found


def first_tolerance(solve, reached):
    """The loosest tolerance at which ``reached`` (of what ``solve`` gives) holds, or None."""
    for power in range(1, 13):
        if reached(solve(10.0**-power)):
            return 10.0**-power
    return None


class Kept:
    """Tolerances and finished parts, in a file."""

    def __init__(self, name):
        self.file = ROOT / "build" / name
        self.all = json.loads(self.file.read_text()) if self.file.exists() else {}

    def get(self, name, work):
        if name not in self.all:
            self.all[name] = work()
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_text(json.dumps(self.all))
        return self.all[name]


def race(kept, name, solvers, arguments, reached, repeats):
    """Median seconds of every solver (None: not reached), at its first good tolerance.

    Without repeats only the tolerances are found.
    """
    tols = {
        label: kept.get(
            f"tolerance of {label}, {name}",
            lambda solve=solve: first_tolerance(lambda tol: solve(*arguments, tol), reached()),
        )
        for label, solve in solvers.items()
    }
    times = {label: [] for label in solvers}
    for _ in range(repeats):
        for label, solve in solvers.items():
            if tols[label] is not None:
                times[label].append(timed(solve, *arguments, tols[label])[0])
    return {label: float(np.median(t)) if t else None for label, t in times.items()}


def largest(X, y):
    return np.abs(X.T @ y).max() / (2 * len(y))


def point_row(kept, name, X, y, part, solvers, repeats):
    l1 = part * largest(X, y)

    def reached():
        best = objective(X, y, sparsepath(X, y, l1, 1e-11), l1)  # its duality gap is below 1e-11
        return lambda w: objective(X, y, w, l1) <= best * (1 + TARGET)

    times = race(kept, f"{name} {part}", solvers, (X, y, l1), reached, repeats)
    return cells([name, str(part)], times)


def path_row(kept, name, X, y, repeats):
    l1s = largest(X, y) * np.geomspace(1, 0.01, 30)

    def reached():
        points = zip(sparsepath_path(X, y, l1s, 1e-10), l1s, strict=True)
        best = [objective(X, y, w, l1) for w, l1 in points]
        return lambda found: all(
            objective(X, y, w, l1) <= c * (1 + TARGET)
            for w, l1, c in zip(found, l1s, best, strict=True)
        )

    solvers = {"sparsepath": sparsepath_path, "skglm": skglm_path}
    return cells([name], race(kept, f"path {name}", solvers, (X, y, l1s), reached, repeats))


def cells(names, times):
    """The times as a row of a table, those of rivals with their ratio."""
    ours = times["sparsepath"]
    if ours is None:
        return []
    rest = [
        "not reached" if t is None else f"{t:.3f} ({t / ours:.1f})"
        for label, t in times.items()
        if label != "sparsepath"
    ]
    row = [*names, f"{ours:.3f}", *rest]
    print(" | ".join(row), flush=True)
    return row


def one_at_a_time(X, y, l1, tol):
    with Threads(1) as threads:
        problem = GraftingProblem(X, y[:, None], np.ones(len(y)), Logistic(), threads)
        penalty = Penalty.of(X.shape[1], l1, 0.0, 1e-6)
        problem.fit(penalty, GraftingOptions(tol=tol, max_features=20))


def scaling(sizes, shape):
    """Rows of seconds and log-log slopes of the optimum and of twenty single steps."""
    seconds = []
    for size in sizes:
        X, y = dense_problem(*shape(size), np.random.default_rng(1))
        l1 = 0.05 * largest(X, y)
        seconds.append(
            [
                min(timed(s, X, y, l1, 1e-6)[0] for _ in range(BEST_OF))
                for s in (sparsepath, one_at_a_time)
            ]
        )
    slopes = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    rows = [
        [" x ".join(map(str, shape(size))), *(f"{t:.3f}" for t in line)]
        for size, line in zip(sizes, seconds, strict=True)
    ]
    return [*rows, ["log-log slope", *(f"{slope:.2f}" for slope in slopes)]]


def measure(part, kept, f, solvers, repeats):
    """The rows of one part."""
    if part == "samples":
        return scaling([m // f for m in (8000, 16000, 32000, 80000)], lambda m: (m, 500 // f))
    if part == "features":
        return scaling([n // f for n in (800, 1600, 3200, 8000)], lambda n: (5000 // f, n))
    rng = np.random.default_rng(0)
    X, y = dense_problem(10000 // f, 2000 // f, rng)
    if part.startswith("sparse"):
        X, y = sparse_problem(20000 // f, 20000 // f, 800_000 // f, rng)
    for solve in solvers.values():  # compile
        solve(X[:500, :20], y[:500], 1e-3, 1e-2)
    if part.endswith("path"):
        return [path_row(kept, part.split()[0], X, y, repeats)]
    name = f"{part} {'x'.join(map(str, X.shape))}"
    return [
        point_row(kept, name, X, y, share, solvers, repeats)
        for share in ((0.1, 0.03, 0.01) if part == "dense" else (0.3, 0.1, 0.03))
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--tolerances", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    solvers = {"sparsepath": sparsepath, "skglm": skglm, "celer": celer, "liblinear": liblinear}
    f = 10 if chosen.small else 1
    kept = Kept(f"grafting_benchmark{'_small' * chosen.small}.json")
    if chosen.tolerances:
        for part in PARTS[:4]:
            measure(part, kept, f, solvers, 0)
        return
    one_at_a_time(*dense_problem(50, 20, np.random.default_rng(0)), 0.05, 1e-2)  # compile
    sparsepath(*dense_problem(3000, 1500, np.random.default_rng(0)), 0.05, 1e-2)
    for part in PARTS:
        if chosen.only in (None, part):
            kept.get(part, lambda part=part: measure(part, kept, f, solvers, chosen.repeats))
    if set(PARTS) <= set(kept.all):
        page(kept.all, [name for name in solvers if name != "sparsepath"])
        kept.file.unlink()


def with_last_slope(rows, varied):
    """The rows with one more: the slope between the last two sizes, from the printed figures."""
    before, after = rows[-3], rows[-2]
    sizes = [int(row[0].split(" x ")[varied]) for row in (before, after)]
    slopes = [
        np.log(float(b) / float(a)) / np.log(sizes[1] / sizes[0])
        for a, b in zip(before[1:], after[1:], strict=True)
    ]
    return [*rows, ["that of the last step", *(f"{slope:.2f}" for slope in slopes)]]


def page(rows, rivals):
    header = ["problem", "l1 / largest l1", "sparsepath", *(f"{name} (ratio)" for name in rivals)]
    growth = ["samples x features", "optimum", "20 single steps"]
    write_page(
        "grafting.md",
        f"""# Grafting: speed

Made by `benchmarks/grafting.py`: logistic loss, l1 only, no intercept, every solver at the loosest of its tolerances 1e-1, 1e-2, ...
that gives a relative suboptimality of 1e-8; CPU seconds of one thread, medians of {REPEATS} interleaved repeats, on a shared two-core machine
whose other work was stopped, so ratios below about 1.3 say nothing. Above 1: sparsepath is faster. scikit-learn is
liblinear; its saga was not timed.

{table(header, rows["dense"] + rows["sparse"])}

A path of 30 values of l1 down to a hundredth of the largest, every point to 1e-8, warm starts in both:

{table(["data", "sparsepath", "skglm (ratio)"], rows["dense path"] + rows["sparse path"])}

## How time grows

Dense data, l1 a twentieth of the largest: the convex optimum, and twenty single steps as in the paper (l0 > 0); best of {BEST_OF}, compiled
code loaded. A twentieth of the features are relevant, so with more features the optimum also has more weights. The
paper says: linear in the samples, between linear and quadratic in the features. Fixed costs still weigh at
the small end, so the slope of the last step stands beside that of all; in the features it is the step to more features than samples.

{table(growth, with_last_slope(rows["samples"], 0))}

{table(growth, with_last_slope(rows["features"], 1))}
""",
    )


if __name__ == "__main__":
    main()
