"""Folds and floating search: ratios of one run. ``make bench`` runs it; ``--quick`` uses small data."""

import argparse
import platform

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from greedy_rls import two_classes
from measure import best_of, seconds, table, write_page
from paper_sets import available, load
from sparsepath import SparseRLSRegressor


def against_sequential(quick: bool) -> list[list[str]]:
    m, n, k = (500, 40, 5) if quick else (2000, 100, 10)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    y = X[:, :k] @ rng.standard_normal(k) + rng.standard_normal(m)
    ours = SparseRLSRegressor(k, cv=KFold(10), choose=k, standardize=False, alpha=1.0)
    theirs = SequentialFeatureSelector(
        Ridge(), n_features_to_select=k, cv=KFold(10), scoring="neg_mean_squared_error"
    )
    ours.fit(X, y)
    mine = min(seconds(lambda: ours.fit(X, y)) for _ in range(10))
    other = seconds(lambda: theirs.fit(X, y))
    same = set(ours.selected_) == set(np.flatnonzero(theirs.get_support()))
    return [[f"{m} x {n}, k = {k}", f"{other / mine:.0f}", "yes" if same else "NO"]]


def against_gram(quick: bool) -> list[list[str]]:
    m, n, k = (5000, 200, 10) if quick else (50000, 1000, 50)
    X, y = two_classes(m, n)
    model = SparseRLSRegressor(k, cv=KFold(10), choose=k, standardize=False, alpha=1.0)
    times = best_of({"gram": lambda: X.T @ X, "ours": lambda: model.fit(X, y)}, 3)
    return [[f"{m} x {n}, k = {k}", f"{times['ours'] / times['gram']:.2f}"]]


def floating(quick: bool) -> list[list[str]]:
    if "mnist" not in available():
        return [["MNIST not at hand", "", ""]]
    data = load("mnist")
    train = data.split == "train"
    X = np.asfortranarray(data.X[train].astype(float))
    y = np.where(np.asarray(data.y)[train] == 5, 1.0, -1.0)
    k = 10 if quick else 100
    models = {
        s: SparseRLSRegressor(k, search=s, choose="min", standardize=False, alpha=1.0)
        for s in ("forward", "floating")
    }
    times = best_of({s: lambda m=m: m.fit(X, y) for s, m in models.items()}, 1 if quick else 2)
    drops = sum(move.action == "drop" for move in models["floating"].path_.moves)
    return [[f"60000 x 784, k = {k}", f"{times['floating'] / times['forward']:.2f}", str(drops)]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    page = f"""# Folds and floating search: measured ratios

Written by `benchmarks/rls_searches.py` (`make bench`) on {platform.machine()}, Python
{platform.python_version()}. Ratios compare the best times of one run.

## Ten folds against `SequentialFeatureSelector(Ridge(), cv=10)`

{table(["data", "times faster", "same choice"], against_sequential(quick))}

## Ten folds against one product X'X

{table(["data", "time / X'X"], against_gram(quick))}

## Floating against greedy, leave-one-out, MNIST

{table(["data", "floating / greedy", "removals made"], floating(quick))}
"""
    write_page("quick.md" if quick else "rls_searches.md", page)


if __name__ == "__main__":
    main()
