"""Speed of linear grafting against skglm, celer and scikit-learn's liblinear, at equal
suboptimality.

    python benchmarks/grafting.py            # the rows of the docs; a few minutes on one core
    python benchmarks/grafting.py --small    # a tenth of the size, to try it out

The logistic loss with l1, no intercept and no scaling, since not all rivals have both. For every
solver tolerances 1e-1, 1e-2, ... are tried, and the first that reaches a relative suboptimality of
1e-8 (against a point whose duality gap is below 1e-11) is timed: the median of
repeats, CPU seconds of one thread, interleaved. Ratios above 1: sparsepath is faster. Paths: 30
values of l1 from its largest to a hundredth, every point to 1e-8 (checked), warm starts in both.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

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
        fits = problem.path(l1s.tolist(), Penalty.of(X.shape[1], 1.0), Options(tol=tol))
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


def first_tolerance(solve, reach):
    """The loosest tolerance at which ``reach`` (of what ``solve`` gives) holds, or None."""
    for power in range(1, 13):
        if reach(solve(10.0**-power)):
            return 10.0**-power
    return None


def row(name, X, y, l1, solvers, repeats):
    def criterion_of(w):
        return objective(X, y, w, l1)

    best = criterion_of(sparsepath(X, y, l1, 1e-11))  # its duality gap is below 1e-11
    tols = {
        label: first_tolerance(
            lambda tol, solve=solve: criterion_of(solve(X, y, l1, tol)),
            lambda c: c <= best * (1 + TARGET),
        )
        for label, solve in solvers.items()
    }
    times = {label: [] for label in solvers}
    for _ in range(repeats):
        for label, solve in solvers.items():
            if tols[label] is not None:
                times[label].append(timed(solve, X, y, l1, tols[label])[0])
    report(name, times)


def path_row(name, X, y, repeats):
    top = np.abs(X.T @ y).max() / (2 * len(y))
    l1s = top * np.geomspace(1, 0.01, 30)
    certified = sparsepath_path(X, y, l1s, 1e-11)
    best = [objective(X, y, w, l1) for w, l1 in zip(certified, l1s, strict=True)]

    def reached(found):
        return all(
            objective(X, y, w, l1) <= c * (1 + TARGET)
            for w, l1, c in zip(found, l1s, best, strict=True)
        )

    solvers = {"sparsepath": sparsepath_path, "skglm": skglm_path}
    tols = {
        label: first_tolerance(lambda tol, solve=solve: solve(X, y, l1s, tol), reached)
        for label, solve in solvers.items()
    }
    times = {label: [] for label in solvers}
    for _ in range(repeats):
        for label, solve in solvers.items():
            if tols[label] is not None:
                times[label].append(timed(solve, X, y, l1s, tols[label])[0])
    report(name, times)


def report(name, times):
    ours = np.median(times["sparsepath"])
    cells = [f"{ours:.3f}"]
    for label, seconds in times.items():
        if label != "sparsepath":
            cells.append(
                f"{np.median(seconds):.3f} ({np.median(seconds) / ours:.1f})" if seconds else "-"
            )
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["dense", "sparse", "path"], nargs="*")
    parser.add_argument("--rivals", nargs="*", default=["skglm", "celer", "liblinear"])
    chosen = parser.parse_args()
    only = chosen.only or ["dense", "sparse", "path"]
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    f = 10 if chosen.small else 1
    Xd, yd = dense_problem(10000 // f, 2000 // f, rng)
    Xs, ys = sparse_problem(20000 // f, 20000 // f, 800_000 // f, rng)
    rivals = {"skglm": skglm, "celer": celer, "liblinear": liblinear}
    solvers = {"sparsepath": sparsepath, **{name: rivals[name] for name in chosen.rivals}}
    for solve in solvers.values():  # compile
        solve(Xd[:50, :20], yd[:50], 0.05, 1e-2)
        solve(Xs[:500, :20].tocsc(), ys[:500], 1e-3, 1e-2)
    print(
        "| problem | sparsepath | " + " | ".join(f"{name} (ratio)" for name in chosen.rivals) + " |"
    )
    print("|" + "---|" * (2 + len(chosen.rivals)))
    for kind, X, y, parts in (
        ("dense", Xd, yd, (0.1, 0.03, 0.01)),
        ("sparse", Xs, ys, (0.3, 0.1, 0.03)),
    ):
        if kind in only:
            top = np.abs(X.T @ y).max() / (2 * len(y))
            for part in parts:
                row(
                    f"{kind} {X.shape[0]} x {X.shape[1]}, {part}",
                    X,
                    y,
                    part * top,
                    solvers,
                    chosen.repeats,
                )
    if "path" in only:
        print("\n| 30-point path | sparsepath | skglm (ratio) |\n|---|---|---|")
        for kind, X, y in (("dense", Xd, yd), ("sparse", Xs, ys)):
            path_row(kind, X, y, max(1, chosen.repeats - 1))


if __name__ == "__main__":
    main()
