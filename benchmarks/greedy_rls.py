"""Greedy RLS compared with the speed of the hardware and with other packages: ratios of one run.

F, the lower limit, is the time of k products X'v, that is, of reading the data once per selected
feature. Run with ``make bench``; ``--quick`` uses small data.
"""

import argparse
import platform
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from measure import best_of, extra_memory, in_turn, seconds, table, write_page
from sparsepath.data.synthetic import two_normals
from sparsepath.rls.criteria.table import CLASSES
from sparsepath.rls.driver import run
from sparsepath.rls.engines import make_design
from sparsepath.rls.parameters import SearchSpec
from sparsepath.system.threads import Threads

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "experiments"))
from paper_sets import available, load
from slow_twins import rls as twin


def two_classes(m: int, n: int, relevant: int = 50) -> tuple[np.ndarray, np.ndarray]:
    problem = two_normals(m, n, min(n, relevant), mean=0.1, random_state=0)
    return np.asfortranarray(problem.X), problem.y.astype(float)


def greedy(X, y, k, alpha=1.0, loss="squared", form="auto", threads=None):
    Y = y[:, None] if y.ndim == 1 else y
    with Threads(threads) as crew:
        design = make_design(X, np.ones(X.shape[0]), crew)
        task = SearchSpec(
            size=k, loss=CLASSES[loss], candidates=tuple(range(X.shape[1])), form=form
        )
        return run(design, Y, alpha, task)


def floor(X, k):
    v = np.random.default_rng(0).standard_normal(X.shape[0])

    def work():
        for _ in range(k):
            X.T @ v

    return work


def against_floor(name, X, y, k, repeat) -> list[list[str]]:
    works = {
        "F": floor(X, k),
        "X'X": lambda: X.T @ X,
        "squared": lambda: greedy(X, y, k),
        "squared, a pass per step": lambda: greedy(X, y, k, form="passes"),
        "zero-one": lambda: greedy(X, y, k, loss="zero_one"),
    }
    times = in_turn(works, repeat)
    F = np.array(times.pop("F"))
    rows = []
    for what, ours in times.items():
        of_rounds = np.sort(ours / F)
        spread = f"{of_rounds[0]:.2f} to {of_rounds[-1]:.2f}"
        best = f"{min(ours) / F.min():.2f}"
        rows.append([name, what, f"{np.median(of_rounds):.2f}", spread, best])
    return [*rows, [name, f"F: {F.min():.2f} to {F.max():.2f} s", "", "", ""]]


def exponent(sizes, work) -> tuple[str, str]:
    """Slope of log time against log size; best times of runs in turn."""
    times = best_of({size: lambda size=size: work(size) for size in sizes}, 5)
    power = np.polyfit(np.log(sizes), np.log([times[size] for size in sizes]), 1)[0]
    return f"{power:.2f}", ", ".join(f"{times[size]:.2f}" for size in sizes)


def growth(quick: bool) -> list[list[str]]:
    m, n, k = (4000, 200, 20) if quick else (100_000, 300, 30)
    steps = (1, 2) if quick else (1, 2, 5, 10)
    forms = ("auto", "passes")
    rows = []

    def grow(what, sizes, work):
        for form in forms:
            power, times = exponent(sizes, lambda size: work(size, form))  # noqa: B023
            rows.append([form, what, f"{sizes[0]} to {sizes[-1]}", power, times])

    X, y = two_classes(m * steps[-1], n, 100)
    tall = {s * m: np.asfortranarray(X[: s * m]) for s in steps}
    grow("samples", list(tall), lambda s, form: greedy(tall[s], y[:s], k, form=form))
    tall.clear()
    m, n = 3 * m // 10, 10 * n // 3
    X, y = two_classes(m, n * steps[-1], 100)
    grow("features", [s * n for s in steps], lambda s, form: greedy(X[:, :s], y, k, form=form))
    X, y = two_classes(m, n, 300)
    grow("chosen", [s * k // 3 for s in steps], lambda s, form: greedy(X, y, s, form=form))
    return sorted(rows)


def into_noise(quick: bool) -> str:
    """Time of the steps after all relevant features are selected, relative to those before."""
    m, n, relevant = (2000, 200, 20) if quick else (30_000, 1000, 100)
    X, y = two_classes(m, n, relevant)
    works = {k: lambda k=k: greedy(X, y, k) for k in (relevant, 2 * relevant)}
    times = best_of(works, 2)
    return f"{(times[2 * relevant] - times[relevant]) / times[relevant]:.1f}"


def memory(quick: bool) -> list[list[str]]:
    m, n, k = (10000, 500, 20) if quick else (50000, 1000, 50)
    rows = []
    for form in ("auto", "passes"):
        code = (
            "import numpy as np\nfrom greedy_rls import greedy\n"
            f"rng = np.random.default_rng(0)\nX = np.empty(({m}, {n}), order='F')\n"
            f"for i in range({n}):\n    X[:, i] = rng.standard_normal({m})\n"
            f"y = np.sign(rng.standard_normal({m}) + X[:, 0])\n"
            f"greedy(X[:, :{n // 10}], y, 3, form={form!r})  # compiled code is not counted\n"
            f"def work():\n    greedy(X, y, {k}, form={form!r})\n"
        )
        extra = extra_memory(code)
        allowed = 0.15 * 8 * m * n + (k + 16) * 8 * m
        rows.append(
            [
                form,
                f"{m} x {n}, k = {k}",
                f"{extra / 2**20:.0f}",
                f"{allowed / 2**20:.0f}",
                f"{extra / allowed:.2f}",
            ]
        )
    return rows


def sparse_rows(quick: bool) -> list[list[str]]:
    m, n, entries, k = (10000, 5000, 500_000, 20) if quick else (100_000, 50_000, 5_000_000, 50)
    rng = np.random.default_rng(0)
    X = sp.csc_array(sp.random(m, n, entries / (m * n), format="csc", random_state=rng))
    w = np.zeros(n)
    w[rng.choice(n, 30, replace=False)] = 3.0
    y = np.sign(X @ w - np.mean(X @ w) + 0.3 * rng.standard_normal(m))
    v = rng.standard_normal(m)
    transposed = X.T

    def products():
        for _ in range(3 * k):
            transposed @ v

    times = best_of({"products": products, "greedy": lambda: greedy(X, y, k)}, 1 if quick else 2)
    code = (
        "import numpy as np, scipy.sparse as sp\nfrom greedy_rls import greedy\n"
        "rng = np.random.default_rng(0)\n"
        f"X = sp.random({m}, {n}, {entries / (m * n)}, format='csc', random_state=rng)\n"
        f"y = np.sign(rng.standard_normal({m}))\n"
        f"def work():\n    greedy(X, y, {k})\n"
    )
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    extra = extra_memory(code)
    allowed = 3 * size + (k + 16) * 8 * m
    return [
        [
            f"{m} x {n}, {entries:.0e} entries, k = {k}",
            f"{times['greedy'] / times['products']:.2f}",
            f"{(size + extra) / 2**20:.0f} MiB",
            f"{allowed / 2**20:.0f} MiB",
        ]
    ]


def rivals(quick: bool) -> list[list[str]]:
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import Ridge, orthogonal_mp

    m, n, k = (2000, 100, 10) if quick else (10000, 1000, 50)
    X, y = two_classes(m, n)
    rows = []
    works = {
        "sparsepath, exact leave-one-out": lambda: greedy(X, y, k),
        "orthogonal_mp (training error)": lambda: orthogonal_mp(X, y, n_nonzero_coefs=k),
    }
    try:
        from abess import LinearRegression

        works["abess path (training error)"] = lambda: LinearRegression(
            support_size=range(k + 1)
        ).fit(X, y)
    except ImportError:
        rows.append(["abess", "not installed", ""])
    try:
        from fastcan import FastCan

        works["fastcan (training correlation)"] = lambda: FastCan(k, verbose=0).fit(X, y)
    except ImportError:
        rows.append(["fastcan", "not installed", ""])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = best_of(works, 2)
    ours = times["sparsepath, exact leave-one-out"]
    rows += [[name, f"{m} x {n}, k = {k}", f"{t / ours:.2f}"] for name, t in times.items()]

    small, y_small = two_classes(300, 30)
    selector = SequentialFeatureSelector(
        Ridge(), n_features_to_select=5, cv=300, scoring="neg_mean_squared_error"
    )
    ours = min(seconds(lambda: greedy(small, y_small, 5)) for _ in range(3))
    theirs = seconds(lambda: selector.fit(small, y_small))
    rows.append(
        [
            "SequentialFeatureSelector, leave-one-out",
            "300 x 30, k = 5",
            f"{theirs / ours:.0f}",
        ]
    )
    return rows


def low_rank(quick: bool) -> list[list[str]]:
    rows = []
    for m in (250, 500, 1000) if quick else (500, 1000, 2000):
        X, y = two_classes(m, 50)
        ours = min(seconds(lambda: greedy(X, y, 5)) for _ in range(3))  # noqa: B023
        theirs = seconds(lambda: twin.low_rank_lssvm(X, y[:, None], 5, 1.0))  # noqa: B023
        rows.append([str(m), f"{theirs:.2f} s", f"{ours:.4f} s", f"{theirs / ours:.0f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    quick, repeat = arguments.quick, arguments.repeat
    k = 10 if quick else 50
    X, y = two_classes(*((5000, 500) if quick else (50000, 1000)))
    floors = against_floor(f"{X.shape[0]} x {X.shape[1]}, two normals, k = {k}", X, y, k, repeat)
    if not quick and "mnist" in available():
        digits = load("mnist")
        train = digits.split == "train"
        X = np.asfortranarray(digits.X[train].astype(float))
        y = np.where(digits.y[train] == 5, 1.0, -1.0)
        floors += against_floor("60000 x 784, MNIST 5 against the rest, k = 100", X, y, 100, repeat)
    del X, y
    page = f"""# Greedy RLS: measured ratios

Written by `benchmarks/greedy_rls.py` (`make bench`) on {platform.machine()}, Python
{platform.python_version()}, {Threads(None).n_threads} threads, float64, Fortran order, after a warm-up.
Unless stated otherwise, ratios compare the best times of one run.

## Against reading the data once per chosen feature

F is the time of k products X'v. It depends on the other memory traffic of the machine, so searches and products
ran alternately, {repeat} times.

{table(["data", "criterion", "time / F, median", "range", "ratio of best times"], floors)}

## Growth

The table shows the exponent of the time: 1 is linear, less is better. With a growing number of samples, 30 of 300 features are chosen;
with a growing number of features, 30 are chosen from 30000 samples; with a growing number of chosen features, the data have 30000 samples and 1000 features.
100 features are relevant, or 300 where the number of chosen features grows.
The data are large on purpose: at a fifth of these sizes, fixed costs of some milliseconds per step reduce the
exponents to between 0.5 and 0.9.

{table(["form", "what grows", "range", "exponent", "seconds"], growth(quick))}

When only noise features remain, the candidates are almost equal. The bounds do not separate them,
and each step evaluates tens of them. With 30000 samples, 1000 features and 100 of them
relevant, the second hundred steps takes {into_noise(quick)} times as long as the first.

## Memory beyond the data

The limit is 15 % of X plus k + 16 vectors with one entry per sample.

{table(["form", "data", "MiB used", "MiB allowed", "used / allowed"], memory(quick))}

## Sparse data

Time is compared with 3k sparse products X'v. Memory includes the matrix itself; the limit is three times the matrix
plus k + 16 vectors.

{table(["data", "time / 3k products", "memory", "allowed"], sparse_rows(quick))}

## Rivals

Times are multiples of the time of greedy RLS. The methods marked "training" score candidates on the training data, which is less work.

{table(["method", "data", "time / greedy RLS"], rivals(quick))}

The low-rank updated LS-SVM (Algorithm 2 of Pahikkala et al.), 50 features, 5 chosen. Its time is quadratic in the number of samples.

{table(["samples", "low-rank LS-SVM", "greedy RLS", "ratio"], low_rank(quick))}
"""
    write_page("greedy_rls.md" if not quick else "quick.md", page)


if __name__ == "__main__":
    main()
