"""Greedy RLS on small, wide, tall and row-ordered data, its engines and other packages.

Packages that are not installed are left out. Times are CPU seconds of one thread; ratios are medians
over alternating rounds, so that the load of the machine has less influence. Below every table are the
bars (targets) for its figures, and whether they are met. ``--quick`` uses small data;
``--only rivals,forms,...`` measures these parts of the page again and keeps the rest.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.linear_model import lars_path, orthogonal_mp
from sklearn.model_selection import KFold
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from measure import table, write_in_parts
from shaped import bars, fitted, greedy, in_turn, problem, products, ratio
from shaped_clock import by_the_clock
from shaped_criteria import criteria
from sparsepath import SparseRLSRegressor
from sparsepath.rls.resampling import forward_paths
from sparsepath.rls.shared_moments import Problems
from sparsepath.system.threads import Threads

sys.path.append(str(Path(__file__).resolve().parent.parent / "experiments"))
from paper_sets import available, load

SHAPES = (
    (300, 30, 20),
    (500, 100, 50),
    (72, 7129, 30),
    (200, 20000, 50),
    (10000, 100, 20),
    (10000, 1000, 50),
    (100000, 200, 100),  # a long path: most features on it are noise
)
FRESH = 1 << 25  # numbers in X from which the system time for memory matters
RIVALS = ((300, 30, 20), (72, 7129, 30), (200, 20000, 50), (2000, 2000, 200), (1_000_000, 50, 20))
OWN = (
    3000,
    300,
    150,
)  # the hardest case: too tall for one engine, too many steps for the bounds of the other


def rounds_for(m: int, n: int, k: int, rounds: int) -> int:
    """Number of rounds: short work needs many, because the machine is shared."""
    if m * n * k < 1 << 20:
        return 7 * rounds
    return rounds if m * n * k < 1 << 27 else rounds - 1


def rivals_of(X, y, k) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {
        "OMP": lambda: orthogonal_mp(X, y, n_nonzero_coefs=k),
        "LARS": lambda: lars_path(X, y, method="lar", max_iter=k),
    }
    m, n = X.shape
    try:
        from abess import LinearRegression

        if m * n * k < 1 << 29 or n >= 100:  # it takes a minute there
            every = range(k + 1)
            found["abess"] = lambda: LinearRegression(support_size=every, thread=1).fit(X, y)
    except ImportError:
        pass
    try:
        from fastcan import FastCan

        found["fastcan"] = lambda: FastCan(k, verbose=0).fit(X, y)
    except ImportError:
        pass
    try:
        from rlscore.learner import GreedyRLS

        found["RLScore"] = lambda: GreedyRLS(X, y, k, regparam=1.0, bias=1.0)
    except ImportError:
        pass
    return found


def rivals(quick: bool, rounds: int) -> str:
    rows, held = [], []
    names = ["OMP", "LARS", "abess", "fastcan", "RLScore"]
    shapes = [*(RIVALS[:2] if quick else RIVALS), (300, 60, 30) if quick else OWN]
    for m, n, k in shapes:
        for order in ("F", "C"):
            X, y = problem(m, n)
            X = np.asarray(X, order=order)
            works = {"F": products(X, k), "ours": lambda X=X, y=y, k=k: fitted(X, y, k)}
            works |= rivals_of(X, y, k)
            times = in_turn(works, rounds_for(m, n, k, rounds))
            others = [
                f"{ratio(times, name, 'ours'):.2g}" if name in times else "" for name in names
            ]
            rows.append(
                [
                    f"{m} x {n}, k = {k}, {order}",
                    f"{1e3 * np.median(times['ours']):.3g}",
                    f"{ratio(times, 'ours', 'F'):.1f}",
                    *others,
                ]
            )
            print(rows[-1], flush=True)
            data = f"{m} x {n}, {order}"
            for name in names[2:]:
                if name in times:
                    held.append((f"{data}: ours over {name}", ratio(times, "ours", name), 1))
            for name in names[:2]:
                held.append((f"{data}: ours over {name} (aim)", ratio(times, "ours", name), 2))
            if (m, n, k) in RIVALS[2:]:
                held.append((f"{data}: of F", ratio(times, "ours", "F"), 4))
    return table(["data", "fit, ms", "of F", *names], rows) + bars(*held)


def forms(quick: bool, rounds: int) -> str:
    rows = []
    for m, n, k in SHAPES[:3] if quick else SHAPES:
        X, y = problem(m, n)
        works = {
            "F": products(X, k),
            "auto": lambda X=X, y=y, k=k: greedy(X, y, k),
            "memory": lambda X=X, y=y, k=k: greedy(X, y, k, "memory"),
            "passes": lambda X=X, y=y, k=k: greedy(X, y, k, "passes"),
        }
        times = in_turn(works, rounds_for(m, n, k, rounds))
        rows.append(
            [
                f"{m} x {n}, k = {k}",
                greedy(X, y, k).form.split(":")[0],
                f"{1e3 * np.median(times['auto']):.3g}",
                f"{ratio(times, 'auto', 'F'):.1f}",
                f"{ratio(times, 'memory', 'auto'):.2f}",
                f"{ratio(times, 'passes', 'auto'):.2f}",
            ]
        )
        print(rows[-1], flush=True)
    header = ["data", "form", "ms", "of F", "memory", "passes"]
    return table(header, rows)


def orders(quick: bool, rounds: int) -> str:
    import pandas as pd

    shapes = ((300, 30, 20), (2000, 200, 10)) if quick else RIVALS
    kinds: dict[str, Callable[[np.ndarray], object]] = {
        "float64, Fortran": lambda X: X,
        "float64, C": np.ascontiguousarray,
        "float32, C": lambda X: X.astype(np.float32, order="C"),
        "float32, Fortran": lambda X: X.astype(np.float32, order="F"),
        "int16, C": lambda X: np.ascontiguousarray((1000 * X).astype(np.int16)),
        "pandas": lambda X: pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]),
    }
    rows, held = [], []
    for m, n, k in shapes:
        X, y = problem(m, n)
        given = {name: kind(X) for name, kind in kinds.items()}
        works = {name: lambda Z=Z, y=y, k=k: fitted(Z, y, k) for name, Z in given.items()}
        times = in_turn(works, max(5, rounds_for(m, n, k, rounds)))
        ratios = [ratio(times, name, "float64, Fortran") for name in list(kinds)[1:]]
        rows.append([f"{m} x {n}, k = {k}", *(f"{one:.2f}" for one in ratios)])
        held.append((f"{m} x {n}: the slowest over Fortran float64", max(ratios), 1.5))
        print(rows[-1], flush=True)
        if m * n >= FRESH:
            times = in_turn(works, rounds, lambda: os.times().user)
            ratios = [ratio(times, name, "float64, Fortran") for name in list(kinds)[1:]]
            rows.append(["the same in user mode", *(f"{one:.2f}" for one in ratios)])
            print(rows[-1], flush=True)
    return table(["data", *list(kinds)[1:]], rows) + bars(*held)


class Bare(RegressorMixin, BaseEstimator):
    """An estimator whose fit is only scikit-learn's input validation."""

    _parameter_constraints: ClassVar[dict] = {}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        validate_data(self, X, y)
        return self


def small(quick: bool, rounds: int) -> str:
    """A full fit of small data, compared with fits of scikit-learn."""
    from sklearn.linear_model import OrthogonalMatchingPursuit, Ridge

    X, y = problem(300, 30)
    works = {
        "SparseRLSRegressor(20, validation=None).fit": lambda: fitted(X, y, 20),
        "its search alone": lambda: greedy(X, y, 20),
        "SparseRLSRegressor(20).fit, ten folds": lambda: SparseRLSRegressor(20, n_threads=1).fit(
            X, y
        ),
        "scikit-learn's validation alone": lambda: Bare().fit(X, y),
        "Ridge().fit": lambda: Ridge().fit(X, y),
        "OrthogonalMatchingPursuit(20).fit": lambda: OrthogonalMatchingPursuit(
            n_nonzero_coefs=20
        ).fit(X, y),
    }
    times = in_turn(works, 5 * rounds)
    rows = [[name, f"{1e3 * of.min():.2f}"] for name, of in times.items()]
    code = (
        "import time, numpy as np\nfrom sparsepath import SparseRLSRegressor\n"
        "X = np.random.default_rng(0).standard_normal((300, 30))\nstart = time.process_time()\n"
        "SparseRLSRegressor(20, validation=None).fit(X, X[:, 0])\n"
        "print(time.process_time() - start)"
    )
    command = [sys.executable, "-c", code]
    got = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    first = 1e3 * min(float(one.stdout) for one in got)
    rows.append(["first fit in a fresh process", f"{first:.0f}"])
    fit, search, bare = (times[list(works)[i]].min() for i in (0, 1, 3))
    return table(["300 x 30", "ms"], rows) + bars(
        ("the search, ms", 1e3 * search, 1),
        ("a fit beyond scikit-learn's validation, ms", 1e3 * (fit - bare), 2),
        ("a first fit above the imports, ms", first, 300),
    )


def tall(quick: bool, rounds: int) -> str:
    """Data much larger than the caches, where the time to read them is the lower limit."""
    given = {f"{m} x {n}": problem(m, n) for m, n in ((5000, 100),) if quick}
    if not quick:
        given["50000 x 1000"] = problem(50000, 1000)
        if "mnist" in available():
            digits = load("mnist")
            train = digits.split == "train"
            labels = np.where(np.asarray(digits.y)[train] == 5, 1.0, -1.0)
            given["60000 x 784, MNIST"] = np.asfortranarray(digits.X[train].astype(float)), labels
    rows, held = [], []
    for name, (X, y) in given.items():
        k = 10 if quick else 50
        works = {"F": products(X, k), "ours": lambda X=X, y=y, k=k: greedy(X, y, k)}
        times = in_turn(works, rounds)
        rows.append([f"{name}, k = {k}", f"{ratio(times, 'ours', 'F'):.2f}"])
        held.append((f"{name}: of F", ratio(times, "ours", "F"), 1.1))
        print(rows[-1], flush=True)
    return table(["data", "search, of F"], rows) + bars(*held)


def searches(quick: bool, rounds: int) -> str:
    rows, held = [], []
    for m, n, k in ((2000, 100, 10),) if quick else ((20000, 500, 30), (2000, 500, 30)):
        X, y = problem(m, n)
        works = {"F": products(X, k)}
        for search in ("forward", "floating", "swap"):
            works[search] = lambda X=X, y=y, k=k, search=search: greedy(X, y, k, search=search)
        times = in_turn(works, rounds)
        ratios = [ratio(times, name, "F") for name in list(works)[1:]]
        rows.append([f"{m} x {n}, k = {k}", *(f"{one:.1f}" for one in ratios)])
        held.append((f"{m} x {n}: swap, of F", ratios[-1], 6))
        print(rows[-1], flush=True)
    return table(["data", "forward", "floating", "swap"], rows) + bars(held[0])


def backward(quick: bool, rounds: int) -> str:
    """Seconds from all n features down to none, and how they grow with n; measured once each."""
    shapes = ((6000, 125), (6000, 250), (6000, 500), (20000, 500))
    shapes += ((72, 1000), (72, 2000), (72, 4000), (72, 7129))
    rows, held, before = [], [], (0, 0, 0.0)
    for m, n in ((1000, 30), (1000, 60), (72, 150), (72, 300)) if quick else shapes:
        X, y = problem(m, n)
        splits = list(KFold(10).split(X)) if m > n else None
        for given in ({}, {"splits": list(KFold(10).split(X[:500]))} if m > n else {}):
            greedy(X[:500, :150], y[:500], 0, search="backward", **given)  # loops are loaded
        start = time.process_time()
        products(X, n)()
        floor = time.process_time() - start
        start = time.process_time()
        greedy(X, y, 0, search="backward")
        taken = time.process_time() - start
        folds = ""
        if splits is not None:
            start = time.process_time()
            greedy(X, y, 0, search="backward", splits=splits)
            factor = (time.process_time() - start) / taken
            folds = f"{factor:.1f}"
            held.append((f"{m} x {n}: ten folds over leave-one-out", factor, 3))
        most = {(20000, 500): 15, (72, 7129): 60}
        if (m, n) in most:
            held.append((f"{m} x {n}: seconds", taken, most[m, n]))
        m0, n0, t0 = before
        slope = f"{np.log(taken / t0) / np.log(n / n0):.1f}" if m0 == m and n0 < n else ""
        before = m, n, taken
        rows.append([f"{m} x {n}", f"{taken:.2g}", f"{taken / floor:.1f}", slope, folds])
        print(rows[-1], flush=True)
    header = ["data", "leave-one-out, s", "over n products X'v", "power of n since the last row"]
    return table([*header, "ten folds over leave-one-out"], rows) + bars(*held)


def at_once(quick: bool, rounds: int) -> str:
    X, y = problem(300, 30)
    rng = np.random.default_rng(0)
    Y = np.stack([rng.permutation(y)[:, None] for _ in range(100 if quick else 1000)])
    big, target = problem(2000 if quick else 10000, 200 if quick else 1000)
    m = len(big)
    rows = [np.delete(np.arange(m), np.arange(i, m, 10)) for i in range(10)]
    halves = []
    for _ in range(2 if quick else 10):
        order = rng.permutation(m)
        halves += [np.sort(order[: m // 2]), np.sort(order[m // 2 :])]

    def many(X, Y, size, rows=None):
        every = np.ones(X.shape[1], dtype=bool)
        problems = Problems(X, Y, np.ones(len(X)), rows, 1.0, size, every, {})
        with Threads(1) as crew:
            list(forward_paths(problems, crew))

    def fit(**options):
        return SparseRLSRegressor(50, n_threads=1, **options).fit(big, target)

    works = {
        "one": lambda: greedy(X, y, 10),
        "permutations": lambda: many(X, Y, size=10),
        "one large": lambda: greedy(big, target, 50),
        "folds": lambda: many(big, target[:, None], size=50, rows=rows),
        "halves": lambda: many(big, target[:, None], size=50, rows=halves),
        "fit": lambda: fit(validation=None),
        "default": lambda: fit(),
    }
    times = in_turn(works, 1 if quick else 2)
    shape = f"{m} x {big.shape[1]}, k = 50"
    listed = [
        (f"{len(Y)} permutations, 300 x 30, k = 10", "permutations", "one", 1),
        (f"ten left-out folds, {shape}", "folds", "one large", 1),
        (
            f"{len(halves)} half-samples, for a hundred, {shape}",
            "halves",
            "one large",
            100 / len(halves),
        ),
        (f"a fit with its ten folds, {shape}", "default", "fit", 1),
    ]
    rows = [
        [what, f"{times[a].min() * of:.2f}", f"{ratio(times, a, b) * of:.1f}"]
        for what, a, b, of in listed
    ]
    large, scale = times["one large"].min(), 100 / len(halves)
    return table(["searches", "s", "single ones"], rows) + bars(
        ("permutations, s, on one core", times["permutations"].min(), 1),
        ("ten left-out folds, single searches", times["folds"].min() / large, 4),
        ("a hundred half-samples, single searches", times["halves"].min() * scale / large, 60),
        ("a fit with its ten folds, fits", times["default"].min() / times["fit"].min(), 4),
    )


PARTS: dict[str, tuple[str, str, Callable[[bool, int], str]]] = {
    "rivals": (
        "Rivals",
        """The table shows full fits (`validation=None`): the time of the other package divided by that of sparsepath. Above one, sparsepath is faster. F is the time of
k products X'v. The other packages minimise the training error, not the exact leave-one-out error. OMP and LARS are functions, not
estimators. abess is left out where it takes a minute, RLScore where it is not installed (its last release does not build with Python 3.11).""",
        rivals,
    ),
    "clock": (
        "Rivals, wall time",
        """The table shows full fits with the default number of threads of each package. Each fit runs in its own process, after a warm-up. The figure is the smallest median of
three processes on two idle cores. If another process uses a core, fastcan takes 250 ms at 300 x 30, because its threads wait for each other.""",
        by_the_clock,
    ),
    "forms": (
        "Forms",
        """The table shows the search alone: the time of each form of the search (engine), relative to the form that the rule in `rls/engines.py` chooses.""",
        forms,
    ),
    "small": (
        "Small data",
        """Fits of 300 x 30, compared with the time of scikit-learn's input validation.""",
        small,
    ),
    "orders": (
        "Order and type",
        """Times of full fits, relative to float64 in Fortran order. Large data are read in place, without a copy. In C order, reading a single column of tall data is slower. The last row excludes
system time.""",
        orders,
    ),
    "criteria": (
        "Criteria",
        """Times of searches in multiples of F, after 0.1 ms per step is subtracted; minimum of several rounds. They include the preparation of the data. "Small data" shows what a full fit adds.

The target is 6 F. The AUC cannot be computed within this time. Its minimum work is therefore measured in the same run, and a star marks times of at most twice this minimum. "Sorts" sorts all columns k
times, because the AUC of a candidate depends on the order. "Pairs" makes one comparison for every pair of a positive and a negative sample, every candidate and every step. With three classes, error
counts took up to 8 F on a busy machine.""",
        criteria,
    ),
    "tall": (
        "Tall data",
        "The search alone, in Fortran order, relative to k products X'v (reading the data once per step).",
        tall,
    ),
    "searches": ("Searches", "The search alone, in multiples of F.", searches),
    "backward": (
        "Backward",
        "The search alone, from all n features down to none. Each was measured once.",
        backward,
    ),
    "many": (
        "Many searches at once",
        """CPU time of one core. In wall time on two cores, a fit with its ten folds took 2.87 times as long as without them.""",
        at_once,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    given = parser.parse_args()
    head = f"""# Greedy RLS by the shape of the data

Written by `benchmarks/shapes.py` on {platform.machine()}, Python {platform.python_version()}: CPU time of
one thread, medians of ratios over alternating rounds, on a machine that was not idle. 20 features are
relevant; the rest is noise. A *bar* is a target that the benchmark script checks.
"""
    parts = {
        name: (title, about, lambda work=work: work(given.quick, 3))
        for name, (title, about, work) in PARTS.items()
    }
    with threadpool_limits(1):
        write_in_parts("shapes.md", head, parts, given.only.split(","), shown=given.quick)


if __name__ == "__main__":
    main()
