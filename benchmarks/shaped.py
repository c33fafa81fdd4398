"""Shared by the benchmarks by shape: problems, searches, alternating rounds, bars."""

import time
import warnings
from collections.abc import Callable

import numpy as np

from sparsepath import SparseRLSRegressor
from sparsepath.rls.driver import run
from sparsepath.rls.engines import make_design
from sparsepath.rls.parameters import SearchSpec
from sparsepath.system.threads import Threads


def problem(m: int, n: int, relevant: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((m, n)))
    k = min(n, relevant)
    return X, X[:, :k] @ rng.standard_normal(k) + np.sqrt(k) * rng.standard_normal(m)


def greedy(X, y, k, form="auto", **options):
    with Threads(1) as crew:
        design = make_design(X, np.ones(X.shape[0]), crew)
        task = SearchSpec(size=k, candidates=range(X.shape[1]), form=form, **options)
        return run(design, y[:, None] if y.ndim == 1 else y, 1.0, task)


def bars(*reached: tuple[str, float, float]) -> str:
    """Number of bars (targets) met, and those missed: what is measured, the figure, its limit."""
    missed = [
        f"- {what}: {figure:.3g}, at most {most:g}: no"
        for what, figure, most in reached
        if figure > most
    ]
    found = f"Bars: {len(reached) - len(missed)} of {len(reached)} are met."
    lines = [f"{found} Missed:", "", *missed] if missed else [found]
    print("\n".join(lines), flush=True)
    return "\n\n" + "\n".join(lines)


def products(X, k) -> Callable[[], object]:
    """F, the time of k products X'v."""
    v = np.random.default_rng(1).standard_normal(X.shape[0])
    return lambda: [X.T @ v for _ in range(k)]


def in_turn(
    works: dict[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, np.ndarray]:
    """CPU times of each, in alternating rounds after a warm-up; very short work is repeated."""
    times: dict[str, list[float]] = {name: [] for name in works}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(rounds + 1):
            for name, work in works.items():
                start, count = clock(), 0
                while not count or (turn and clock() - start < 0.005 and count < 50):
                    work()
                    count += 1
                if turn:
                    times[name].append((clock() - start) / count)
    return {name: np.array(of) for name, of in times.items()}


def ratio(times: dict[str, np.ndarray], a: str, b: str) -> float:
    return float(np.median(times[a] / times[b]))


def fitted(X, y, k):
    return SparseRLSRegressor(k, validation=None, n_threads=1).fit(X, y)
