"""How often the searches find the best subsets of all sizes, by enumeration on small problems.

Run: python experiments/strong_search.py [problems]. Prints the tables of docs/results/strong.md.
"""

import argparse
import sys
import time
import warnings

import numpy as np

from sparsepath import SparseRLSRegressor

SHAPES = [(12, 12), (15, 15), (18, 9), (25, 5)]  # columns, and the largest size that is enumerated
SEARCHES = ("forward", "floating", "swap", "strong")


def problem(seed):
    """Correlated columns, 30 to 150 rows, 3 to 8 true features."""
    rng = np.random.default_rng(seed)
    p, most = SHAPES[seed % len(SHAPES)]
    n = int(rng.integers(30, 151))
    kind = (seed // len(SHAPES)) % 4
    if kind == 0:  # neighbours
        rho = rng.uniform(0.5, 0.95)
        R = rho ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
        X = rng.standard_normal((n, p)) @ np.linalg.cholesky(R).T
    elif kind == 1:  # one common factor
        rho = rng.uniform(0.5, 0.95)
        X = np.sqrt(1 - rho) * rng.standard_normal((n, p))
        X += np.sqrt(rho) * rng.standard_normal((n, 1))
    elif kind == 2:  # few factors
        X = rng.standard_normal((n, p // 3)) @ rng.standard_normal((p // 3, p))
        X += rng.uniform(0.1, 0.6) * rng.standard_normal((n, p))
    else:  # an arbitrary covariance matrix
        X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    beta = np.zeros(p)
    true = rng.choice(p, int(rng.integers(3, 9)), replace=False)
    beta[true] = rng.choice([-1, 1], len(true)) * rng.uniform(0.5, 1.5, len(true))
    signal = X @ beta
    y = signal + rng.standard_normal(n) * signal.std() / np.sqrt(rng.choice([0.5, 2, 8]))
    return X, y, most


def exhaustive(X, y, alpha, most):
    """The least leave-one-out error of every size, by adding one column after the other.

    P = I - H over rows is kept for the chosen columns as P times the columns that may still come.
    """
    n = len(X)
    X = (X - X.mean(0)) / X.std(0)
    least = np.full(most + 1, np.inf)
    r, left = y - y.mean(), np.full(n, 1 - 1 / n)
    least[0] = np.mean((r / left) ** 2)

    def visit(C, Z, r, left, size):
        """C: P X of the columns to come; Z: their products with the chosen ones are in it."""
        s = np.einsum("ij,ij->j", C, Z)  # pivots: x'Px + alpha
        s = s + alpha
        W = C / np.sqrt(s)
        R = r[:, None] - W * (W.T @ r_target)
        L = left[:, None] - W**2
        least[size] = min(least[size], np.mean((R / L) ** 2, axis=0).min())
        if size == most:
            return
        for j in range(C.shape[1] - 1):
            rest = slice(j + 1, None)
            w = W[:, j]
            visit(C[:, rest] - np.outer(w, w @ Z[:, rest]), Z[:, rest], R[:, j], L[:, j], size + 1)

    r_target = y - y.mean()
    visit(X, X, r, left, 1)
    return least


def main():
    """Print how many problems have the best set at every size, and the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", type=int, nargs="?", default=100)
    parser.add_argument("--searches", default=",".join(SEARCHES))
    given = parser.parse_args()
    searches = given.searches.split(",")
    equal = {name: [] for name in searches}
    seconds = dict.fromkeys(searches, 0.0)
    above = {name: [] for name in searches}
    for seed in range(given.problems):
        X, y, most = problem(seed)
        least = exhaustive(X, y, 1.0, most)
        for name in searches:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SparseRLSRegressor(most, alpha=1.0, search=name, validation=None)
                model.fit(X, y)
            seconds[name] += time.perf_counter() - began
            path = model.path_
            ratios = np.array([path.error(k) / least[k] for k in path.sizes])
            assert ratios.min() > 1 - 1e-9, (seed, name, ratios)
            good = ratios <= 1 + 1e-9
            equal[name].append(bool(good.all()) and len(good) == most + 1)
            above[name].append(ratios)
        missed = [k for k, e in enumerate(above[searches[-1]][-1]) if e > 1 + 1e-9]
        if missed:
            print(f"problem {seed} {X.shape}: missed sizes {missed}", file=sys.stderr)
    print("| search | all sizes best | sizes best | largest excess | seconds per problem |")
    print("| --- | --- | --- | --- | --- |")
    for name in searches:
        ratios = np.concatenate(above[name])
        print(
            f"| `{name}` | {sum(equal[name])} of {given.problems} | "
            f"{100 * np.mean(ratios <= 1 + 1e-9):.1f} % | {100 * (ratios.max() - 1):.2f} % | "
            f"{seconds[name] / given.problems:.4f} |"
        )


if __name__ == "__main__":
    main()
