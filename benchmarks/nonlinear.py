"""Run time and quality of the nonlinear methods, with default options and validation.

    python benchmarks/nonlinear.py [--only rbf mlp ...] [--seeds 5] [--quality] [--plain]

CPU seconds of one process (both threads) for a fit of Friedman's first problem, and until the first
step is reported. --quality adds other problems: the error on 5000 new rows, divided by the variance of
the target (for classification the error rate), and the selected inputs, the true ones first. --plain
disables the validation. --to FILE also writes every line as JSON.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable

import joblib
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import sparsepath
from sparsepath.system.threads import Threads

METHODS = {
    "elm": ("ELMFSRegressor", "ELMFSClassifier"),
    "mlp": ("MLPGraftingRegressorCV", "MLPGraftingClassifierCV"),
    "rbf": ("SparseRBFRegressorCV", "SparseRBFClassifierCV"),
    "mi": ("MutualInfoRegressor", None),
    "lssvm": ("LSSVMForwardRegressor", "LSSVMForwardClassifier"),
}
COST = {
    "rbf": ((300, 30), (400, 30), (2000, 30), (500, 300)),
    "mlp": ((300, 30), (800, 32), (400, 40)),
    "lssvm": ((2000, 30), (500, 300)),
    "mi": ((500, 300),),
    "elm": ((2000, 30), (500, 300), (5000, 15)),
}
NEW_ROWS = 5000


def friedman_1(g, n, d):
    X = g.uniform(size=(n, d))
    wave = 10 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return X, wave + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4] + g.normal(size=n)


def circuit(g, n, d):
    """The variables of Friedman's second and third problem, and columns of noise."""
    X = g.uniform(size=(n, d))
    low = np.array([0.0, 40.0 * np.pi, 0.0, 1.0])
    high = np.array([100.0, 560.0 * np.pi, 1.0, 11.0])
    return X, low + (high - low) * X[:, :4]


def friedman_2(g, n, d):
    X, Z = circuit(g, n, d)
    y = np.hypot(Z[:, 0], Z[:, 1] * Z[:, 2] - 1 / (Z[:, 1] * Z[:, 3]))
    return X, y + 125.0 * g.normal(size=n)


def friedman_3(g, n, d):
    X, Z = circuit(g, n, d)
    y = np.arctan2(Z[:, 1] * Z[:, 2] - 1 / (Z[:, 1] * Z[:, 3]), Z[:, 0])
    return X, y + 0.1 * g.normal(size=n)


def product(g, n, d):
    X = g.uniform(-1, 1, (n, d))
    return X, X[:, 0] * X[:, 1] + 0.15 * g.normal(size=n)


def parity(g, n, d):
    X = g.uniform(-1, 1, (n, d))
    return X, np.sign(X[:, 0] * X[:, 1] * X[:, 2]) + 0.3 * g.normal(size=n)


def signs(g, n, d):
    X = g.uniform(-1, 1, (n, d))
    return X, (X[:, 0] * X[:, 1] + 0.02 * g.normal(size=n) > 0).astype(int)


def product_and_sine(g, n, d):
    X = g.uniform(-1, 1, (n, d))
    y = 2 * X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.5 * X[:, 3]
    return X, y + 0.3 * g.standard_t(2, size=n)


def two_waves(g, n, d):
    X = g.uniform(-1, 1, (n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * g.normal(size=n)


def heavy_tails(g, n, d):
    X = g.standard_t(2, size=(n, d))
    return X, np.tanh(X[:, 0]) + np.abs(np.clip(X[:, 1], -2, 2)) + 0.15 * g.normal(size=n)


def jumps(g, n, d):
    X = g.uniform(size=(n, d))
    y = 2.0 * (X[:, 0] > 0.5) + 3.0 * (X[:, 1] > 0.3) * (X[:, 2] > 0.6)
    return X, y + 0.3 * g.normal(size=n)


def categories(g, n, d):
    """Two columns with codes of 20 unordered categories each, and columns of noise."""
    X = g.uniform(size=(n, d))
    X[:, :2] = g.integers(0, 20, (n, 2))
    effects = np.random.default_rng(77).normal(size=(2, 20))
    y = effects[0, X[:, 0].astype(int)] + effects[1, X[:, 1].astype(int)]
    return X, y + 0.3 * g.normal(size=n)


def noise(g, n, d):
    return g.normal(size=(n, d)), g.normal(size=n)


# Name, data, inputs that matter, rows, columns.
PROBLEMS = {
    "Friedman 1": (friedman_1, 5, 300, 30),
    "Friedman 2": (friedman_2, 2, 300, 24),
    "Friedman 3": (friedman_3, 3, 300, 24),
    "product of two": (product, 2, 400, 30),
    "parity of three": (parity, 3, 600, 25),
    "signs, classes": (signs, 2, 400, 50),
    "product, sine, t(2) noise": (product_and_sine, 4, 400, 40),
    "two waves, wide": (two_waves, 2, 100, 300),
    "heavy-tailed inputs": (heavy_tails, 2, 400, 20),
    "noise": (noise, 0, 200, 20),
    "jumps": (jumps, 3, 500, 12),
    "categories": (categories, 2, 1000, 12),
}
# Where smooth models lose, boosting of trees is measured too, on the selected columns and on all.
FOR_TREES = ("jumps", "categories")


def fitted(method: str, X, y, classes: bool, options: dict):
    """The model, CPU seconds, and CPU seconds until the first step is reported."""
    first: list[float] = []
    estimator = getattr(sparsepath, METHODS[method][classes])

    def told(path) -> None:
        if not first and any(map(len, path.subsets)):
            first.append(time.process_time() - began)

    began = time.process_time()
    with warnings.catch_warnings(), joblib.parallel_config("sequential"):
        warnings.simplefilter("ignore")
        made = estimator(callback=told, **options)
        if "random_state" in made.get_params():
            made.set_params(random_state=0)
        model = made.fit(X, y)
    return model, time.process_time() - began, first[0] if first else np.nan


def boosting(columns, X, y, new, target) -> float:
    """The error of boosting on some columns."""
    model = HistGradientBoostingRegressor(random_state=0).fit(X[:, columns], y)
    off = model.predict(new[:, columns]) - target
    return round(float(np.mean(off**2) / np.var(target)), 4)


def measured(method: str, problem: Callable, relevant: int, n: int, d: int, seed: int, options):
    X, y = problem(np.random.default_rng(seed), n, d)
    new, target = problem(np.random.default_rng(1000 + seed), NEW_ROWS, d)
    classes = np.issubdtype(y.dtype, np.integer)
    model, seconds, first = fitted(method, X, y, classes, options)
    off = model.predict(new)
    error = np.mean(off != target) if classes else np.mean((off - target) ** 2) / np.var(target)
    right = sum(int(j) < relevant for j in model.selected_)
    trees = {}
    if problem in [PROBLEMS[name][0] for name in FOR_TREES]:
        data = (X, y, new, target)
        trees = {
            "boosting": boosting(np.arange(d), *data),
            "boosting on selected": boosting(np.sort(model.selected_), *data),
        }
    return {
        **trees, "method": method, "n": n, "d": d, "seed": seed, "seconds": round(seconds, 2),
        "first": round(first, 2), "error": round(float(error), 4), "right": right,
        "of": relevant, "wrong": len(model.selected_) - right,
        "honest": model.honest_ and round(float(model.honest_.error / (1 if classes else np.var(y))), 4),
    }  # fmt: skip


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--only", nargs="*", default=list(METHODS), choices=list(METHODS))
    read.add_argument("--problems", nargs="*", default=list(PROBLEMS))
    read.add_argument("--seeds", type=int, default=1)
    read.add_argument("--quality", action="store_true")
    read.add_argument("--plain", action="store_true")
    read.add_argument("--to")
    args = read.parse_args()
    options = {"validation": None} if args.plain else {}
    jobs = [
        (method, "cost", (friedman_1, 5, *shape)) for method in args.only for shape in COST[method]
    ]
    if args.quality:
        jobs = [
            (method, name, PROBLEMS[name]) for name in args.problems for method in args.only
            if METHODS[method][name == "signs, classes"] is not None
        ]  # fmt: skip
    with Threads(1):  # a first call reads modules
        sparsepath.SparseRLSRegressor(validation=None).fit(
            *friedman_1(np.random.default_rng(0), 50, 9)
        )
    for method, name, problem in jobs:
        for seed in range(args.seeds):
            row = {"problem": name, **measured(method, *problem, seed, options)}
            print(json.dumps(row), flush=True)
            if args.to:
                with open(args.to, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
