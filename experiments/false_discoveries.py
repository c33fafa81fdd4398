"""False discovery rate of knockoffs in nine designs, and selective p-values of noise in four.

    python experiments/false_discoveries.py [times]

Twenty of the columns matter, alike and with random signs; columns are independent, neighbours
(correlation 0.6) or blocks (ten columns with a common factor, correlation 0.5).
"""

import sys

import numpy as np
from scipy.stats import kstest

from sparsepath import SparseRLSClassifier, SparseRLSRegressor, knockoffs, selective_p_values

TRUE = 20


def columns(rng, kind, m, n):
    X = rng.standard_normal((m, n))
    if kind == "neighbours":
        for j in range(1, n):
            X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    if kind == "blocks":
        X = np.sqrt(0.5) * (X + np.repeat(rng.standard_normal((m, n // 10)), 10, axis=1))
    return X


def knockoff_run(rng, kind, problem, seed, q):
    m, n = {"tall": (500, 100), "wide": (250, 400), "classes": (800, 100)}[problem]
    X = columns(rng, kind, m, n)
    there = rng.choice(n, TRUE, replace=False)
    f = X[:, there] @ rng.choice([-0.5, 0.5], TRUE)
    if problem == "classes":
        y = np.where(rng.random(m) < 1 / (1 + np.exp(-2 * f)), "yes", "no")
    else:
        y = f + rng.standard_normal(m)
    maker = SparseRLSClassifier if problem == "classes" else SparseRLSRegressor
    found = knockoffs(maker(alpha=1.0, validation=None), X, y, q, random_state=seed)
    chosen = {int(name[1:]) for name in found.features}
    right = len(chosen & {*there.tolist()})
    return (len(chosen) - right) / max(len(chosen), 1), right / TRUE


def p_values(rng, kind, n, signal):
    """The p-values of three steps; with a signal of the two after it."""
    X = columns(rng, kind, 80, n)
    y = rng.standard_normal(80) + signal * X[:, 0]
    model = SparseRLSRegressor(3, choose=3, alpha=1.0, validation=None).fit(X, y)
    if signal and model.path_.moves[0].feature != 0:
        return []
    return selective_p_values(model, X, y).p_values[bool(signal) :].tolist()


def main(times=100):
    rng = np.random.default_rng(0)
    print("| columns | problem | requested | false discovery rate | (s.e.) | found |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in ("independent", "neighbours", "blocks"):
        for problem in ("tall", "wide", "classes"):
            for q in (0.1, 0.2):
                done = [knockoff_run(rng, kind, problem, seed, q) for seed in range(times)]
                false, found = np.array(done).T
                se = false.std(ddof=1) / np.sqrt(times)
                print(
                    f"| {kind} | {problem} | {q} | {false.mean():.3f} | {se:.3f} "
                    f"| {found.mean():.2f} |",
                    flush=True,
                )
    print()
    print("| columns | signal | p-values | below 0.05 | below 0.5 | Kolmogorov-Smirnov p |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, n, signal in (
        ("independent", 10, 0.0),
        ("neighbours", 30, 0.0),
        ("blocks", 20, 0.0),
        ("independent", 10, 2.0),
    ):
        every = [p for _ in range(4 * times) for p in p_values(rng, kind, n, signal)]
        values = np.array(every)
        print(
            f"| {n}, {kind} | {signal:g} | {len(values)} | {(values < 0.05).mean():.3f} "
            f"| {(values < 0.5).mean():.3f} | {kstest(values, 'uniform').pvalue:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
