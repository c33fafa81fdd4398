"""Speed of linear grafting against skglm, celer and scikit-learn's liblinear, at equal
suboptimality.

    python benchmarks/grafting.py            # writes docs/benchmarks/grafting.md; some minutes
    python benchmarks/grafting.py --small    # a tenth of the size, to try it out

The logistic loss with l1, no intercept and no scaling, since not all rivals have both. For every
solver tolerances 1e-1, 1e-2, ... are tried, and the first that reaches a relative suboptimality of
1e-8 (against a point whose duality gap is below 1e-11) is timed: the median of
repeats, CPU seconds of one thread, interleaved. Ratios above 1: sparsepath is faster. Paths: 30
values of l1 from its largest to a hundredth, every point to 1e-8 (checked), warm starts in both.
scikit-learn's saga is not timed.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

from measure import table, write_page
from sparsepath.data.threads import Threads
from sparsepath.grafting.criterion import Logistic, Penalty
from sparsepath.grafting.fitting import Options, Problem

TARGET = 1e-8


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
        problem = Problem(
            X, y[:, None], np.ones(len(y)), Logistic(), threads,
            fit_intercept=False, standardize=False,
        )  # fmt: skip
        return problem.fit(Penalty.of(X.shape[1], l1), Options(tol=tol)).solution.W[:, 0]


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
        problem = Problem(
            X, y[:, None], np.ones(len(y)), Logistic(), threads,
            fit_intercept=False, standardize=False,
        )  # fmt: skip
        fits, _ = problem.path(l1s.tolist(), Penalty.of(X.shape[1], 1.0), Options(tol=tol))
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


def race(solvers, arguments, reached, repeats):
    """Median seconds of every solver (None: not reached), at its first good tolerance."""
    tols = {
        label: first_tolerance(lambda tol, solve=solve: solve(*arguments, tol), reached)
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


def point_row(name, X, y, part, solvers, repeats):
    l1 = part * largest(X, y)
    best = objective(X, y, sparsepath(X, y, l1, 1e-11), l1)  # its duality gap is below 1e-11

    def reached(w):
        return objective(X, y, w, l1) <= best * (1 + TARGET)

    return cells([name, str(part)], race(solvers, (X, y, l1), reached, repeats))


def path_row(name, X, y, repeats):
    l1s = largest(X, y) * np.geomspace(1, 0.01, 30)
    best = [
        objective(X, y, w, l1) for w, l1 in zip(sparsepath_path(X, y, l1s, 1e-10), l1s, strict=True)
    ]

    def reached(found):
        return all(
            objective(X, y, w, l1) <= c * (1 + TARGET)
            for w, l1, c in zip(found, l1s, best, strict=True)
        )

    solvers = {"sparsepath": sparsepath_path, "skglm": skglm_path}
    return cells([name], race(solvers, (X, y, l1s), reached, repeats))


def cells(names, times):
    """The times as a row of a table, those of rivals with their ratio."""
    ours = times["sparsepath"]
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
        problem = Problem(X, y[:, None], np.ones(len(y)), Logistic(), threads)
        penalty = Penalty.of(X.shape[1], l1, 0.0, 1e-6)
        problem.fit(penalty, Options(tol=tol, max_features=20))


def scaling(sizes, shape):
    """Rows of seconds and log-log slopes of the optimum and of twenty single steps."""
    seconds = []
    for size in sizes:
        X, y = dense_problem(*shape(size), np.random.default_rng(1))
        l1 = 0.05 * largest(X, y)
        seconds.append(
            [
                min(timed(s, X, y, l1, 1e-6)[0] for _ in range(3))
                for s in (sparsepath, one_at_a_time)
            ]
        )
    slopes = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    rows = [
        [" x ".join(map(str, shape(size))), *(f"{t:.3f}" for t in line)]
        for size, line in zip(sizes, seconds, strict=True)
    ]
    return [*rows, ["log-log slope", *(f"{slope:.2f}" for slope in slopes)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    f = 10 if chosen.small else 1
    Xd, yd = dense_problem(10000 // f, 2000 // f, rng)
    Xs, ys = sparse_problem(20000 // f, 20000 // f, 800_000 // f, rng)
    solvers = {"sparsepath": sparsepath, "skglm": skglm, "celer": celer, "liblinear": liblinear}
    for solve in solvers.values():  # compile
        solve(Xd[:50, :20], yd[:50], 0.05, 1e-2)
        solve(Xs[:500, :20].tocsc(), ys[:500], 1e-3, 1e-2)
    one_at_a_time(Xd[:50, :20], yd[:50], 0.05, 1e-2)
    dense, sparse = (f"{'x'.join(map(str, X.shape))}" for X in (Xd, Xs))
    points = [
        point_row(f"dense {dense}", Xd, yd, part, solvers, chosen.repeats)
        for part in (0.1, 0.03, 0.01)
    ] + [
        point_row(f"sparse {sparse}", Xs, ys, part, solvers, chosen.repeats)
        for part in (0.3, 0.1, 0.03)
    ]
    paths = [path_row("dense", Xd, yd, 1), path_row("sparse", Xs, ys, 1)]
    in_samples = scaling([2500 // f, 5000 // f, 10000 // f, 20000 // f], lambda m: (m, 500 // f))
    in_features = scaling([500 // f, 1000 // f, 2000 // f, 4000 // f], lambda n: (2500 // f, n))
    rivals = [f"{name} (ratio)" for name in solvers if name != "sparsepath"]
    write_page(
        "grafting.md",
        "\n".join(
            [
                "# Grafting: speed",
                "",
                "One run of `benchmarks/grafting.py`: logistic loss, l1 only, no intercept, every "
                "solver at the loosest of its tolerances 1e-1, 1e-2, ... that gives a relative "
                "suboptimality of 1e-8; CPU seconds of one thread on a shared two-core machine, so "
                "ratios below about 1.3 say nothing. Above 1: sparsepath is faster. scikit-learn "
                "is liblinear; its saga was not timed.",
                "",
                table(["problem", "l1 / largest l1", "sparsepath", *rivals], points),
                "",
                "A path of 30 values of l1 down to a hundredth of the largest, every point to 1e-8, "
                "warm starts in both:",
                "",
                table(["data", "sparsepath", "skglm (ratio)"], paths),
                "",
                "## How time grows",
                "",
                "Dense data, l1 a twentieth of the largest: the convex optimum, and twenty single "
                "steps as in the paper (l0 > 0). The paper says: linear in the samples, between "
                "linear and quadratic in the features.",
                "",
                *(
                    table(["samples x features", "optimum", "20 single steps"], rows) + "\n"
                    for rows in (in_samples, in_features)
                ),
            ]
        ),
    )


if __name__ == "__main__":
    main()
