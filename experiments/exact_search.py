"""Run time of the exact search until its subsets are proved. Tables of docs/results/exact.md.

Run: python experiments/exact_search.py [narrow|wide|folds] [seconds]; --tiny: 20 columns, for a test.
"""

import sys
import time
from itertools import combinations

import numpy as np

from sparsepath import SparseRLSRegressor

KINDS = ("independent", "neighbours", "common factor", "covariance", "noise")


def columns(kind, n, p, rng):
    """Columns of one kind of correlation."""
    X = rng.standard_normal((n, p))
    if kind == "neighbours":
        for j in range(1, p):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
    elif kind == "common factor":
        X = np.sqrt(0.2) * X + np.sqrt(0.8) * rng.standard_normal((n, 1))
    elif kind == "covariance":
        X = X @ rng.standard_normal((p, p))
    return X


def narrow(kind, p, n=1000, k=8, seed=0):
    """Eight true features, signal-to-noise ratio 1; or no signal."""
    rng = np.random.default_rng(seed)
    X = columns(kind, n, p, rng)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = rng.uniform(0.3, 1, k)
    signal = X @ beta
    y = signal + rng.standard_normal(n) * signal.std()
    return X, rng.standard_normal(n) if kind == "noise" else y


def wide(n=6000, p=3000, k=10, rho=0.5, snr=5, seed=0):
    """Neighbouring columns correlate; ten equal coefficients at even distances."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    signal = X[:, np.linspace(0, p - 1, k).astype(int)].sum(1)
    return X, signal + rng.standard_normal(n) * np.sqrt(signal.var() / snr)


def fold_errors(A, y, folds, alpha=1.0):
    """Squared error over folds, each fitted by itself."""
    total = 0.0
    for fold in folds:
        train = np.setdiff1d(np.arange(len(y)), fold)
        centre, mean = A[train].mean(0), y[train].mean()
        B = A[train] - centre
        coef = np.linalg.solve(B.T @ B + alpha * np.eye(B.shape[1]), B.T @ (y[train] - mean))
        total += np.square(y[fold] - mean - (A[fold] - centre) @ coef).sum()
    return total / len(y)


def beyond_the_bound(kind, n, p=18, k=6, tried=300):
    """How many sets of k columns have a training error below the best ten-fold error."""
    rng = np.random.default_rng(0)
    X = columns(kind, n, p, rng)
    beta = np.zeros(p)
    beta[rng.choice(p, k, replace=False)] = rng.uniform(0.3, 1, k)
    signal = X @ beta
    y = signal + rng.standard_normal(n) * signal.std()
    Z, t = X - X.mean(0), y - y.mean()
    G, b = Z.T @ Z, Z.T @ t
    sets = [list(S) for S in combinations(range(p), k)]
    trained = [t @ t - b[S] @ np.linalg.solve(G[np.ix_(S, S)], b[S]) for S in sets]
    trained = np.array(trained) / n
    folds = np.array_split(rng.permutation(n), 10)
    best = min(fold_errors(X[:, sets[i]], y, folds) for i in np.argsort(trained)[:tried])
    gap = 100 * (1 - trained.min() / best)
    print(f"| {kind}, {n} | {gap:.1f} % | {np.sum(trained < best)} of {len(sets)} |", flush=True)


def report(name, X, y, alpha=1.0, **options):
    """One line: how many sizes are proved, the largest gap, wall and CPU seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    model = SparseRLSRegressor(search="exact", alpha=alpha, validation=None, **options).fit(X, y)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    known = model.path_.certificate
    values, lower = np.array(known["values"]), np.array(known["lower_bounds"])
    gap = 100 * (1 - lower / values).max()
    print(
        f"| {name} | {np.sum(values == lower)} of {len(values)} | {gap:.2g} % | {seconds:.1f} | "
        f"{cpu:.1f} |",
        flush=True,
    )


def main():
    """Print the lines of a table."""
    what = sys.argv[1] if len(sys.argv) > 1 else "narrow"
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    if what == "wide":
        X, y = wide()
        report(
            "3000, size 10 first", X, y, max_features=10, choose=10, alpha=0.1, time_budget=budget
        )
        return
    if what == "folds":
        for kind, n in (("independent", 1000), ("neighbours", 1000), ("neighbours", 200)):
            beyond_the_bound(kind, n)
        return
    for p in (20,) if what == "--tiny" else (40, 60):
        for kind in KINDS:
            report(f"{p}, {kind}", *narrow(kind, p), max_features=p, time_budget=budget)


if __name__ == "__main__":
    main()
