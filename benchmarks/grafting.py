"""Linear grafting by the shape of the data, against skglm, celer, scikit-learn and adelie.

    python benchmarks/grafting.py                 # writes docs/benchmarks/grafting.md
    python benchmarks/grafting.py --small         # a tenth of the size, printed only
    python benchmarks/grafting.py --only points   # or paths, folds, first, classes, growth: these parts

Logistic loss with an L1 penalty, without intercept and scaling, because not all packages have both.
For every solver, tolerances 1e-3, 1e-4, ... are tried, and the first that reaches a relative
suboptimality of 1e-8 (compared with a point whose duality gap is below 1e-11) is timed: CPU seconds
of one thread, medians of alternating rounds. A solver that takes more than ``PATIENCE`` seconds in
total is not timed. A ratio above 1 means that sparsepath is faster. Paths have 30 values of l1, from
the largest to a hundredth of it, every point solved to 1e-8 (checked), with warm starts in both
packages. scikit-learn's saga solver is not timed.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
import warnings
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

import grafting_folds
from measure import table, write_in_parts
from sparsepath.grafting.criterion import Logistic, Penalty, Softmax
from sparsepath.grafting.fitting import GraftingOptions, GraftingProblem
from sparsepath.system.threads import Threads

TARGET = 1e-8
REPEATS = 2
PATIENCE = 8.0  # seconds for all tolerances of a solver
BEST_OF = 3  # for the growth of time
RIVALS = ("skglm", "celer", "liblinear")


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


def race(solvers, arguments, reached, repeats):
    """Median seconds of every solver (None: not reached), at its first good tolerance.

    Short work is repeated more often, up to half a second of ours.
    """
    times = {}
    for label, solve in solvers.items():
        tol, spent = None, 0.0
        for power in range(3, 12):
            taken, found = timed(solve, *arguments, 10.0**-power)
            spent += taken
            if reached(found):
                tol = 10.0**-power
                break
            if spent > PATIENCE and label != "sparsepath":
                break
        times[label] = tol, []
        if label == "sparsepath":
            repeats = max(repeats, min(25, int(0.5 / taken)))
    for _ in range(repeats):
        for label, (tol, of) in times.items():
            if tol is not None:
                of.append(timed(solvers[label], *arguments, tol)[0])
    return {label: float(np.median(of)) if of else None for label, (_, of) in times.items()}


def largest(X, y):
    return np.abs(X.T @ y).max() / (2 * len(y))


def point_row(name, X, y, part, repeats):
    l1 = part * largest(X, y)
    best = objective(X, y, sparsepath(X, y, l1, 1e-11), l1)  # its duality gap is below 1e-11
    times = race(
        {"sparsepath": sparsepath, "skglm": skglm, "celer": celer, "liblinear": liblinear},
        (X, y, l1),
        lambda w: objective(X, y, w, l1) <= best * (1 + TARGET),
        repeats,
    )
    return cells([name, str(part)], times)


def path_row(name, X, y, repeats):
    l1s = largest(X, y) * np.geomspace(1, 0.01, 30)
    points = zip(sparsepath_path(X, y, l1s, 1e-10), l1s, strict=True)
    best = [objective(X, y, w, l1) for w, l1 in points]

    def reached(found):
        at = zip(found, l1s, best, strict=True)
        return all(objective(X, y, w, l1) <= c * (1 + TARGET) for w, l1, c in at)

    solvers = {"sparsepath": sparsepath_path, "skglm": skglm_path}
    return cells([name], race(solvers, (X, y, l1s), reached, repeats))


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


def held(header, rows):
    """The table, followed by the rows in which another package is faster (ratio below one)."""
    behind = []
    for row in filter(None, rows):
        ratios = {
            name: float(cell.split("(")[1].rstrip(")")) for name, cell in _compared(header, row)
        }
        ahead = [f"{name} ({of:g})" for name, of in ratios.items() if of < 1.0]
        if ahead:
            where = row[0] + (f" at {row[1]}" if "l1" in header[1] else "")
            behind.append(f"{where}: {', '.join(ahead)}")
    counted = f"Another package is faster in {len(behind)} of {len(rows)} rows"
    counted += ":" if behind else "."
    return table(header, rows) + f"\n\n{counted}\n\n" + "\n".join(f"- {line}" for line in behind)


def _compared(header, row):
    return [
        (name.split(" (")[0], cell) for name, cell in zip(header, row, strict=True) if "(" in cell
    ]


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


def problems(f):
    """Data by shape; f divides their size."""
    rng = np.random.default_rng(0)
    found = {}
    for m, n in ((1000, 100), (10000, 2000), (200, 20000), (100000, 50)):
        X, y = dense_problem(m // min(f, m // 100), n // min(f, n // 20), rng)
        found[f"{m} x {n}"] = X, y
    found["100000 x 50, C order"] = np.ascontiguousarray(X), y
    for m, n in ((5000, 5000), (10000, 50000)):
        found[f"text {m} x {n}"] = text_problem(m // f, n // f, rng)
    return found


def text_problem(m, n, rng):
    """Counts of words as frequent as in texts, logarithms, rows of norm one."""
    often = 1.0 / np.arange(1, n + 1)
    words = rng.choice(n, (m, 80), p=often / often.sum())
    rows = np.repeat(np.arange(m), 80)
    X = sp.csr_array((np.ones(80 * m), (rows, words.ravel())), (m, n))
    X.sum_duplicates()
    X.data = np.log1p(X.data) * np.log(m / (1.0 + np.bincount(X.indices, minlength=n)))[X.indices]
    X = sp.csc_array(sp.diags_array(1.0 / np.sqrt((X * X).sum(1))) @ X)
    w = rng.standard_normal(n) * (rng.random(n) < 0.05) * 5.0
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for all rivals
    return sp.csc_matrix(X), np.where(X @ w + 0.3 * rng.standard_normal(m) > 0, 1.0, -1.0)


def points(f, repeats):
    rows = []
    for name, (X, y) in problems(f).items():
        for solve in (sparsepath, skglm, celer, liblinear):  # compile
            solve(X[:200, :20], y[:200], 1e-3, 1e-2)
        rows += [point_row(name, X, y, share, repeats) for share in (0.1, 0.03)]
    header = ["data", "l1 / largest l1", "sparsepath, s", *(f"{name} (ratio)" for name in RIVALS)]
    return held(header, rows)


def paths(f, repeats):
    chosen = ("1000 x 100", "200 x 20000", "100000 x 50", "text 5000 x 5000")
    given = problems(f)
    rows = [path_row(name, *given[name], repeats) for name in chosen]
    return held(["data", "sparsepath, s", "skglm (ratio)"], rows)


def folds(f, repeats):
    rows = grafting_folds.rows(f, max(3, repeats))
    behind = [
        f"- {loss}, {data}: {name} ({cell.split('(')[1]}"
        for loss, data, _, *cells in rows
        for name, cell in zip((rival.name for rival in grafting_folds.RIVALS), cells, strict=True)
        if "(" in cell and "over" not in cell and float(cell.split("(")[1].rstrip(")")) < 1.0
    ]
    counted = f"Another package is faster in {len(behind)} places" + (":" if behind else ".")
    return table(grafting_folds.HEADER, rows) + f"\n\n{counted}\n\n" + "\n".join(behind)


FIRST = """
import time, warnings
import numpy as np
import sparsepath
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal({shape})
y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(len(X))
y = {target}
model = sparsepath.{model}
seconds = []
for _ in range(4):
    begun = time.process_time()
    model.fit(X, y)
    seconds.append(time.process_time() - begun)
print(seconds[0], min(seconds[1:]))
"""


def first(f, repeats):
    """The first fit of a process and the fastest of three later fits, in CPU seconds."""
    two, three = "np.where(y > 0, 1, 0)", "np.digitize(y, [-1, 1])"
    models = [
        ("GraftingRegressor(l1=0.05)", "y"),
        ("GraftingRegressor(l1=0.05, loss='huber')", "y"),
        ("GraftingRegressor(l1=0.05, l0=0.01)", "y"),
        ("GraftingRegressorCV()", "y"),
        ("GraftingRegressorCV(loss='huber')", "y"),
        ("GraftingClassifier(l1=0.02)", two),
        ("GraftingClassifierCV()", two),
        ("GraftingClassifier(l1=0.02)", three),
        ("MLPGraftingRegressor(validation=None, max_connections=5)", "y"),
        ("MLPGraftingClassifier(validation=None, max_connections=5)", two),
    ]
    rows = []
    for shape in ((300, 30), (1000, 100)):
        for model, target in models:
            code = FIRST.format(shape=shape, model=model, target=target)
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            begun, later = map(float, done.stdout.split())
            kind = {"y": "", two: ", two classes", three: ", three classes"}[target]
            row = [f"{shape[0]} x {shape[1]}", f"`{model}`{kind}"]
            rows.append([*row, f"{begun:.3f}", f"{later:.3f}", f"{begun - later:.3f}"])
            print(rows[-1], flush=True)
    return table(["data", "fit", "first, s", "later, s", "difference, s"], rows)


def classes(f, repeats):
    """Softmax loss with a penalty that no other package has: seconds, and multiples of X'Y."""
    rng, rows = np.random.default_rng(0), []
    for m, n, K in ((1560, 617, 26), (2000, 1000, 105)):
        m, n = m // f, n // f
        label = np.arange(m) % K
        centres = rng.standard_normal((K, 40)) @ rng.standard_normal((40, n)) * 0.25
        X = centres[label] + rng.standard_normal((m, n))
        X = np.asfortranarray((X - X.mean(0)) / X.std(0))
        Y = (label[:, None] == np.arange(K)).astype(float)
        floor = min(timed(X.T.__matmul__, Y)[0] for _ in range(5))
        for share, l2 in ((0.5, 0.0), (0.5, 0.1), (0.2, 0.0)):
            with Threads(1) as threads:
                problem = GraftingProblem(X, Y, np.ones(m), Softmax(), threads)
                l1 = share * problem.largest_l1(Penalty.of(n, 1.0))
                fit = partial(problem.fit, Penalty.of(n, l1, l2), GraftingOptions(tol=1e-6))
                taken, found = timed(fit)
            row = [f"{m} x {n}, {K} classes", str(share), str(l2), str(len(found.final.features))]
            rows.append([*row, f"{taken:.2f}", f"{taken / floor:.0f}"])
            print(rows[-1], flush=True)
    return table(["data", "l1 / largest l1", "l2", "features", "s", "in products X'Y"], rows)


def growth(f, repeats):
    header = ["samples x features", "optimum", "20 single steps"]
    samples = scaling([m // f for m in (8000, 16000, 32000, 80000)], lambda m: (m, 500 // f))
    features = scaling([n // f for n in (800, 1600, 3200, 8000)], lambda n: (5000 // f, n))
    first = table(header, with_last_slope(samples, 0))
    return first + "\n\n" + table(header, with_last_slope(features, 1))


def with_last_slope(rows, varied):
    """The rows with one more: the slope between the last two sizes, from the printed figures."""
    before, after = rows[-3], rows[-2]
    sizes = [int(row[0].split(" x ")[varied]) for row in (before, after)]
    slopes = [
        np.log(float(b) / float(a)) / np.log(sizes[1] / sizes[0])
        for a, b in zip(before[1:], after[1:], strict=True)
    ]
    return [*rows, ["that of the last step", *(f"{slope:.2f}" for slope in slopes)]]


PARTS = {
    "points": (
        "Single penalties",
        """Rows in which another package is faster are listed below the table. At 1000 x 100 most of the time is the fixed cost of Python and NumPy calls. Sparse columns are visited in a new order
in every pass, as in liblinear, which halves the number of passes on text.""",
        points,
    ),
    "paths": (
        "Paths",
        """Each path has 30 values of l1, down to a hundredth of the largest. Both packages use warm starts and solve every point to 1e-8.""",
        paths,
    ),
    "folds": (
        "Cross-validation",
        """There are ten folds and 30 values of l1, down to a hundredth of the largest. Fits with squared loss have an intercept, fits with logistic loss have none. Every solver runs at the loosest of its
tolerances 1e-3, 1e-4, ... that brings its path on all data within a relative 1e-6 of the optimum at every value ("not reached" if none does). If a single path
takes more than three seconds, the folds are not run, and its time is given as a lower limit ("over"). scikit-learn: `LassoCV`, and `LogisticRegressionCV` with liblinear; adelie: `cv_grpnet`; skglm and celer have no
estimator that runs here, so their warm-started paths on all data and on every training set are timed. Times are CPU seconds of one thread, medians of 3 alternating rounds (200 x 20000: one round).
Every point has a duality gap within the tolerance. How sparsepath fits all folds together is on the [design page](../design/grafting.md).""",
        folds,
    ),
    "first": (
        "First fits",
        """The table compares the first fit of a new process, after `import sparsepath`, with the fastest of three later fits. The difference is the cost of imports and set-up
in the first fit.""",
        first,
    ),
    "classes": (
        "Classes",
        """Softmax loss with one penalty norm per feature over all classes, which none of the other packages has, solved to a duality gap of 1e-6.""",
        classes,
    ),
    "growth": (
        "How time grows",
        f"""The data are dense, and l1 is a twentieth of the largest value. The columns show the time to the convex optimum, and of twenty single steps as in the paper of Perkins et al. (l0 > 0); best of {BEST_OF}, after a
warm-up. A twentieth of the features are relevant, so with more features the optimum also has more weights. According to the
paper, the time is linear in the samples, and between linear and quadratic in the features. Fixed costs dominate for small data, so the slope between the last two rows is given too.
For the features, this is the step to more features than samples.""",
        growth,
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    f = 10 if chosen.small else 1
    one_at_a_time(*dense_problem(50, 20, np.random.default_rng(0)), 0.05, 1e-2)  # compile
    sparsepath(*dense_problem(3000, 1500, np.random.default_rng(0)), 0.05, 1e-2)
    head = f"""# Grafting: speed

Written by `benchmarks/grafting.py` on {platform.machine()}, Python {platform.python_version()}: CPU seconds of one thread, medians of {REPEATS} to 25
alternating rounds. The machine was not idle, so ratios below about 1.3 mean little. The sections on single penalties, classes and growth were measured before the loops moved to C++. A ratio above 1 means that sparsepath is faster.

Unless stated otherwise, the fits use the logistic loss, an L1 penalty only, and no intercept. Every solver runs at the loosest of its tolerances 1e-3, 1e-4, ... that gives a relative
suboptimality of 1e-8; "not reached" means that none does within {PATIENCE:.0f} seconds. scikit-learn uses liblinear; its saga solver was not timed.
"""
    parts = {
        name: (title, about, lambda work=work: work(f, REPEATS))
        for name, (title, about, work) in PARTS.items()
    }
    write_in_parts("grafting.md", head, parts, chosen.only.split(","), shown=chosen.small)


if __name__ == "__main__":
    main()
