"""Greedy RLS on small, wide, tall and row-ordered data, forms and rivals: ratios of one run.

Rivals that are not installed are left out. Times are of the process (CPU seconds, one thread), best of
several runs in turn, so that a busy machine matters less. ``--quick`` for a look on small data.
"""

import argparse
import platform
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import lars_path, orthogonal_mp
from sklearn.model_selection import KFold

from measure import table, write_page
from sparsepath import SparseRLSRegressor
from sparsepath.data.threads import Threads
from sparsepath.rls.driver import run
from sparsepath.rls.forms import seconds as model_seconds
from sparsepath.rls.many import forward_searches
from sparsepath.rls.models import make_design
from sparsepath.rls.task import Task

SHAPES = (
    (300, 30, 20),
    (500, 100, 50),
    (72, 7129, 30),
    (200, 20000, 50),
    (2000, 2000, 200),
    (10000, 100, 20),
    (10000, 1000, 50),
    (50000, 1000, 50),
)
QUICK = SHAPES[:3]


def problem(m: int, n: int, relevant: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((m, n)))
    k = min(n, relevant)
    return X, X[:, :k] @ rng.standard_normal(k) + np.sqrt(k) * rng.standard_normal(m)


def greedy(X, y, k, form="auto", **options):
    with Threads(1) as crew:
        design = make_design(X, np.ones(X.shape[0]), crew)
        task = Task(size=k, candidates=tuple(range(X.shape[1])), form=form, **options)
        return run(design, y[:, None], 1.0, task)


def best(works: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """The least CPU time of each, run in turn after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(repeat + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            if turn:
                times[name].append(time.process_time() - start)
    return {name: min(of) for name, of in times.items()}


def rivals(X, y, k) -> dict[str, Callable[[], object]]:
    found: dict[str, Callable[[], object]] = {
        "OMP": lambda: orthogonal_mp(X, y, n_nonzero_coefs=k),
        "LARS": lambda: lars_path(X, y, method="lar", max_iter=k),
    }
    try:
        from abess import LinearRegression

        found["abess"] = lambda: LinearRegression(support_size=range(k + 1), thread=1).fit(X, y)
    except ImportError:
        pass
    try:
        from fastcan import FastCan

        found["fastcan"] = lambda: FastCan(k, verbose=0).fit(X, y)
    except ImportError:
        pass
    return found


def forms(shapes, repeat) -> str:
    rows = []
    for m, n, k in shapes:
        X, y = problem(m, n)
        v = np.random.default_rng(1).standard_normal(m)
        works = {
            "F": lambda X=X, v=v, k=k: [X.T @ v for _ in range(k)],
            "auto": lambda X=X, y=y, k=k: greedy(X, y, k),
            "fused": lambda X=X, y=y, k=k: greedy(X, y, k, "fused"),
            "bounds": lambda X=X, y=y, k=k: greedy(X, y, k, "bounds"),
            **rivals(X, y, k),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = best(works, repeat if m * n < 1 << 22 else 1)
        ours = times.pop("auto")
        named = greedy(X, y, k).form.split(":")[0]
        fused, bounds = model_seconds(m, n, k)
        others = ", ".join(
            f"{name} {times[name] / ours:.2g}"
            for name in times
            if name not in ("F", "fused", "bounds")
        )
        rows.append(
            [
                f"{m} x {n}, k = {k}",
                named,
                f"{1e3 * ours:.3g}",
                f"{ours / times['F']:.1f}",
                f"{times['fused'] / ours:.2f}",
                f"{times['bounds'] / ours:.2f}",
                f"{fused / bounds:.2f}",
                others,
            ]
        )
        print(rows[-1], flush=True)
    header = ["data", "form", "ms", "of F", "fused", "bounds", "fused / bounds, model", "rivals"]
    return table(header, rows)


def orders(m: int, n: int, k: int, repeat: int) -> str:
    X, y = problem(m, n)
    kinds = {
        "float64, Fortran": X,
        "float64, C": np.ascontiguousarray(X),
        "float32, Fortran": X.astype(np.float32, order="F"),
        "float32, C": X.astype(np.float32, order="C"),
        "int16, C": np.ascontiguousarray((100 * X).astype(np.int16)),
    }
    times = best({name: lambda Z=Z: greedy(Z, y, k) for name, Z in kinds.items()}, repeat)
    first = times["float64, Fortran"]
    rows = [[name, f"{of / first:.2f}"] for name, of in times.items()]
    return table([f"{m} x {n}, k = {k}", "time"], rows)


def fits(repeat: int) -> str:
    """A whole fit of small data, beside fits of scikit-learn."""
    from sklearn.linear_model import OrthogonalMatchingPursuit, Ridge

    X, y = problem(300, 30)
    works = {
        "SparseRLSRegressor(20).fit": lambda: SparseRLSRegressor(20, n_threads=1).fit(X, y),
        "its search alone": lambda: greedy(X, y, 20),
        "Ridge().fit": lambda: Ridge().fit(X, y),
        "OrthogonalMatchingPursuit(20).fit": lambda: OrthogonalMatchingPursuit(
            n_nonzero_coefs=20
        ).fit(X, y),
    }
    times = best(works, 10 * repeat)
    return table(["300 x 30", "ms"], [[name, f"{1e3 * of:.2f}"] for name, of in times.items()])


def backward(shapes, repeat) -> str:
    rows = []
    for m, n in shapes:
        X, y = problem(m, n)
        v = np.random.default_rng(1).standard_normal(m)
        works = {
            "F": lambda X=X, v=v, n=n: [X.T @ v for _ in range(n)],
            "loo": lambda X=X, y=y: greedy(X, y, 0, search="backward"),
        }
        if n <= 500:
            splits = list(KFold(10).split(X))
            works["folds"] = lambda X=X, y=y, splits=splits: greedy(
                X, y, 0, search="backward", splits=splits
            )
        times = best(works, repeat)
        folds = f"{times['folds'] / times['loo']:.1f}" if "folds" in times else ""
        row = [f"{m} x {n}", f"{times['loo']:.2g}", f"{times['loo'] / times['F']:.1f}", folds]
        rows.append(row)
        print(row, flush=True)
    header = ["data", "leave-one-out, s", "over n products X'v", "ten folds over leave-one-out"]
    return table(header, rows)


def at_once(quick: bool) -> str:
    X, y = problem(300, 30)
    rng = np.random.default_rng(0)
    Y = np.stack([rng.permutation(y)[:, None] for _ in range(100 if quick else 1000)])
    big, target = problem(2000 if quick else 10000, 200 if quick else 1000)
    rows = [np.delete(np.arange(len(big)), np.arange(i, len(big), 10)) for i in range(10)]

    def many(*given, **options):
        with Threads(1) as crew:
            forward_searches(*given, threads=crew, **options)

    works = {
        "one": lambda: greedy(X, y, 10),
        "permutations": lambda: many(X, Y, size=10),
        "one large": lambda: greedy(big, target, 50),
        "folds": lambda: many(big, target[:, None], size=50, rows=rows),
    }
    times = best(works, 2)
    return table(
        ["searches", "s", "single searches"],
        [
            [
                f"{len(Y)} permutations, 300 x 30, k = 10",
                f"{times['permutations']:.2f}",
                f"{times['permutations'] / times['one']:.0f}",
            ],
            [
                f"ten left-out folds, {big.shape[0]} x {big.shape[1]}, k = 50",
                f"{times['folds']:.2f}",
                f"{times['folds'] / times['one large']:.1f}",
            ],
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    repeat = 2
    page = f"""# Greedy RLS by the shape of the data

Written by `benchmarks/shapes.py` on {platform.machine()}, Python {platform.python_version()}: CPU time of
one thread, best of a few runs in turn, on a machine that others used too. Relevant are 20 features; the
rest is noise.

## Forms and rivals

Times of the forms and of rivals are given over that of the form that the cost model (`rls/forms.py`) chose; above
one means slower. F is the time of k products X'v. The rivals judge by the training error, not by exact
leave-one-out.

{forms(QUICK if quick else SHAPES, repeat)}

## Small data

{fits(repeat)}

## Order and type

{orders(*((20000, 200, 10) if quick else (400_000, 50, 20)), repeat)}

## Backward

{backward(((1000, 60), (72, 300)) if quick else ((6000, 250), (20000, 500), (72, 2000)), 1)}

## Many searches at once

{at_once(quick)}
"""
    if quick:
        print(page)
    else:
        write_page("shapes.md", page)


if __name__ == "__main__":
    main()
