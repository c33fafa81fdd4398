"""ELM-FS and mutual information against plain implementations, as ratios of one run.

    python benchmarks/elmfs.py [--quick]
    python benchmarks/elmfs.py --only restarts --parts FOLDER    # one section at a time, then the page

Times are CPU seconds of the process, so that other jobs on the machine have little influence, and
wall seconds where threads matter. Every ratio compares times of one section, measured in one
process. The plain implementations are the slow reference of the tests (singular value
decomposition) and, for mutual information, all pairs in NumPy. Writes docs/benchmarks/elmfs.md.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from scipy.special import digamma

from measure import table, write_page

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "experiments"))
from paper_sets import diabetes, load
from slow_twins import elm as twin
from sparsepath import ELMFSRegressor, MutualInfoSelector
from sparsepath._core import elm as core
from sparsepath.data.columns import standardise
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.elm.network import Target, draw_neurons
from sparsepath.elm.pool import Pool
from sparsepath.elm.scaling import Best, restart
from sparsepath.errors import FileError
from sparsepath.information.kraskov import Estimator
from sparsepath.system.threads import Threads


def timed(task: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, CPU seconds and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = task()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def pool_of(X: Any, y: Any, ridge: float = 1e-6) -> Pool:
    XT, _, _ = standardise(X)
    neurons = draw_neurons(100, len(XT), "tanh", np.random.default_rng(0))
    return Pool(XT, Target(np.asarray(y, float)[:, None]), neurons, ridge)


def ours(pool: Pool, seeds: list[Any], n_threads: int) -> Best:
    best = Best()
    with Threads(n_threads) as threads:
        for low in range(0, len(seeds), 10):
            batch = seeds[low : low + 10]
            for found in threads.map(
                lambda seed: restart(pool, seed, len(pool.XT), 10, "half", best), batch
            ):
                best.merge(found)
    return best


def plain(pool: Pool, seeds: list[Any]) -> dict[int, Any]:
    starts = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        grid = random.integers(0, 11, len(pool.XT))
        m = int(random.integers(1, 101))
        starts.append((grid, random.choice(100, m, replace=False)))
    X, Y = pool.XT.T.copy(), pool.target.Y
    W, b = pool.neurons.weights.T.copy(), pool.neurons.biases
    return twin.path(X, Y, W, b, starts, pool.ridge)


def counted(task: Callable[[], Any]) -> tuple[Any, list[int]]:
    """Result of a task of the slow reference, and neurons of each fit (repeated fits count once)."""
    neurons: list[int] = []
    real, last = twin.hidden, [None]

    def hidden(X: Any, W: Any, b: Any, beta: Any) -> Any:
        here = (W.shape[1], beta.tobytes())
        if here != last[0]:
            neurons.append(W.shape[1])
        last[0] = here
        return real(X, W, b, beta)

    twin.hidden = hidden
    try:
        return task(), neurons
    finally:
        twin.hidden = real


def floor(neurons: list[int], n: int) -> tuple[float, float]:
    """CPU seconds of the outputs (tanh) alone, and of the Gram products by BLAS alone."""
    H, means, biases = (
        np.random.default_rng(0).standard_normal((100, n)),
        np.empty(100),
        np.ones(100),
    )

    def outputs() -> None:
        for m in neurons:
            core.squash(H[:m], biases[:m], means[:m])

    def products() -> None:
        for m in neurons:
            blas.dsyrk(1.0, H[:m].T, trans=1, lower=1)

    with Threads(1):
        return timed(outputs)[1], timed(products)[1]


def quickest(task: Callable[[], Any], repeat: int = 3) -> tuple[Any, float, float]:
    """The result, and the least CPU and wall seconds of several runs."""
    results, cpu, wall = zip(*(timed(task) for _ in range(repeat)), strict=True)
    return results[0], min(cpu), min(wall)


def best_cpu(task: Callable[[], Any], repeat: int = 3) -> float:
    """The least CPU seconds of a task."""
    return quickest(task, repeat)[1]


def restarts(n_restarts: int) -> str:
    slow_cpu, section = against_plain(n_restarts)
    return f"{section}\n{default_run(slow_cpu, n_restarts)}"


def against_plain(n_restarts: int) -> tuple[float, str]:
    problem = xor_like(1000, random_state=0)
    pool = pool_of(problem.X, problem.y)
    seeds = np.random.SeedSequence(0).spawn(n_restarts)
    ours(pool, seeds[:2], 1)  # compile
    best, cpu, wall = quickest(lambda: ours(pool, seeds, 1), 3)
    _, cpu2, wall2 = quickest(lambda: ours(pool, seeds, 2), 3)
    with Threads(1):
        (slow, neurons), slow_cpu, slow_wall = quickest(
            lambda: counted(lambda: plain(pool, seeds)), 2
        )
    same = all(
        best.at[k].subset == subset and np.isclose(best.at[k].key[0], press, rtol=1e-8)
        for k, (press, subset) in slow.items()
    )
    tanh, gram = floor(neurons, 1000)
    rows = [
        ["plain, with a singular value decomposition", slow_cpu, slow_wall, ""],
        ["sparsepath, one thread", cpu, wall, f"{slow_cpu / cpu:.1f} (CPU)"],
        ["sparsepath, two threads", cpu2, wall2, f"{slow_wall / wall2:.1f} (wall)"],
        ["lower limit: only the tanh of the same fits", tanh, "", f"{slow_cpu / tanh:.0f}"],
        [
            "lower limit: only the Gram products of the same fits (BLAS)",
            gram,
            "",
            f"{slow_cpu / gram:.0f}",
        ],
    ]
    return (
        slow_cpu,
        f"""## {n_restarts} restarts of Algorithm 1 on XOR-like, 1000 samples

Both use the same random numbers and give {"the same path" if same else "DIFFERENT paths"} (same subsets, errors equal to 1e-8). There are {len(neurons)} fits
with {np.mean(neurons):.0f} neurons on average. Times are the best of three runs, for plain the better of two.

{table(["", "CPU s", "wall s", "times as fast as plain"], [[_2(cell) for cell in r] for r in rows])}
""",
    )


def _2(cell: Any) -> str:
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def default_run(slow_cpu: float, n_restarts: int) -> str:
    data = diabetes()
    train = np.random.default_rng(0).permutation(442)[:309]
    rows, total, total2 = [], 0.0, 0.0
    for name, X, y in (
        ("XOR-like", *_xy(xor_like(1000, random_state=0))),
        ("functional", *_xy(functional(1000, random_state=0))),
        ("diabetes", data.X[train], data.y[train]),
    ):

        def fit(strategy: str, n_threads: int, X: Any = X, y: Any = y) -> Any:
            return ELMFSRegressor(
                len(X[0]),
                strategy=strategy,
                n_restarts=n_restarts,
                random_state=0,
                n_threads=n_threads,
                validation=None,
            ).fit(X, y)

        cpu = best_cpu(lambda fit=fit: fit("both", 1), 2)
        _, cpu2, wall2 = quickest(lambda fit=fit: fit("both", 2), 2)
        cpu_swap = best_cpu(lambda fit=fit: fit("swap", 1), 2)
        rows.append([name, *map(_2, (cpu, cpu_swap, cpu2, wall2))])
        total, total2 = total + cpu, total2 + cpu2
    heads = ["", "one thread, CPU s", "swap alone", "two threads, CPU s", "wall s"]
    return f"""## The default search: restarts, swap search, refined scalings; all sizes, no validation

{table(heads, rows)}

Times are the better of two runs. All three data sets together take {total:.2f} CPU s on one thread: {total / slow_cpu:.2f} of the
time of {n_restarts} plain restarts on XOR-like alone. On two threads they take {total2:.2f} CPU s, or {total2 / slow_cpu:.2f} of that time.
"""


def _xy(problem: Any) -> tuple[Any, Any]:
    return problem.X, problem.y


def many_features(size: int, seeds: int) -> str:
    title = f"## 53 features (anthrokids), sizes 1 to {size}, swap search"
    try:
        data = load("anthrokids")
    except FileError as error:
        return f"{title}\n\nLeft out: {error}\n"
    train = np.random.default_rng(0).permutation(len(data.y))[:713]
    y = data.y / data.y[train].std()
    paths, times = [], []
    for seed in range(seeds):
        model = ELMFSRegressor(
            size, strategy="swap", random_state=seed, n_threads=1, validation=None
        )
        fitted, cpu, _ = timed(lambda model=model: model.fit(data.X[train], y[train]))
        paths.append(fitted.path_)
        times.append(f"{cpu:.0f}")
    rows = []
    for k in range(1, size + 1):
        subsets = [set(path.subset(k)) for path in paths]
        shared = np.mean([len(a & b) / k for a, b in combinations(subsets, 2)])
        errors = [path.error(k) for path in paths]
        spread = (max(errors) - min(errors)) / np.median([path.error_se(k) for path in paths])
        rows.append([str(k), f"{shared:.2f}", f"{min(errors):.4g}", f"{spread:.2f}"])
    return f"""{title}

The neurons are drawn with {seeds} seeds, on one split of 713 samples: {", ".join(times)} CPU s. "In common" is the fraction of a subset
that another seed also selects, as the mean over pairs of seeds (by chance: size / 53). SET is the leave-one-out error. The last column is the difference between
the largest and the smallest SET, in standard errors.

{table(["size", "in common", "smallest SET", "largest minus smallest SET, in standard errors"], rows)}
"""


def slope(x: list[int], seconds: list[float]) -> float:
    """Of the logarithm of the time by that of x, least squares."""
    return float(np.polyfit(np.log(x), np.log(seconds), 1)[0])


def growth(n_restarts: int) -> str:
    samples, counts = [500, 1000, 2000, 4000, 8000], [n_restarts * 2**i for i in range(4)]
    by_samples, by_restarts = [], []
    for n in samples:
        problem = xor_like(n, random_state=0)
        pool = pool_of(problem.X, problem.y)
        seeds = np.random.SeedSequence(0).spawn(4 * n_restarts)
        ours(pool, seeds[:1], 1)
        by_samples.append(best_cpu(lambda p=pool, s=seeds: ours(p, s, 1), 4))
    problem = xor_like(1000, random_state=0)
    pool = pool_of(problem.X, problem.y)
    for r in counts:
        seeds = np.random.SeedSequence(0).spawn(r)
        by_restarts.append(best_cpu(lambda s=seeds: ours(pool, s, 1), 4))
    rows = [
        *([str(n), str(4 * n_restarts), _2(t)] for n, t in zip(samples, by_samples, strict=True)),
        *(["1000", str(r), _2(t)] for r, t in zip(counts, by_restarts, strict=True)),
    ]
    return f"""## Growth of the cost of restarts

{table(["samples", "restarts", "CPU s"], rows)}

Times are the best of four runs. The time grows as the power {slope(samples, by_samples):.2f} of the samples and {slope(counts, by_restarts):.2f} of the restarts (log-log slopes;
1 is linear). The number of steps differs between restarts and between numbers of samples.
"""


def features(counts: list[int], samples: int) -> str:
    """`ELMFSRegressor()` on functional with a growing number of noise columns."""
    rows, alone, validated = [], [], []
    ELMFSRegressor(2, n_restarts=2, validation=None).fit(*_xy(functional(100, random_state=0)))
    for d in counts:
        problem = functional(samples, d, random_state=0)
        expected = ELMFSRegressor().expected_seconds(problem.X)

        def fit(validation: Any, n_threads: int, problem: Any = problem) -> Any:
            model = ELMFSRegressor(random_state=0, n_threads=n_threads, validation=validation)
            return model.fit(problem.X, problem.y)

        one, cpu, _ = quickest(lambda fit=fit: fit(None, 1), 2)
        _, _, wall = quickest(lambda fit=fit: fit(None, 2), 2)
        _, cpu_all, _ = quickest(lambda fit=fit: fit("auto", 1), 2)
        _, _, wall_all = quickest(lambda fit=fit: fit("auto", 2), 2)
        alone.append(cpu)
        validated.append(cpu_all)
        right = "yes" if set(one.path_.subset(5)) == set(range(5)) else "no"
        end = str(one.path_.sizes[-1])
        rows.append([str(d), end, right, *map(_2, (expected, cpu, wall, cpu_all, wall_all))])
    heads = [
        "features", "path ends at", "{1..5} at size 5", "estimate beforehand, to size 20", "search, CPU s",
        "two threads, wall s", "with five folds, CPU s", "two threads, wall s",
    ]  # fmt: skip
    return f"""## Growth with the features: `ELMFSRegressor()` on functional, {samples} samples

{table(heads, rows)}

The time of the search grows as the power {slope(counts, alone):.2f} of the features; with the folds of the default validation, as the
power {slope(counts, validated):.2f}. Times are CPU seconds on one thread, the better of two runs.
"""


def plain_information(dx: Any, dy: Any, k: int) -> float:
    """Kraskov's first variant from two matrices of distances, plain NumPy."""
    dz = np.maximum(dx, dy)
    eps = np.partition(dz, k - 1, axis=1)[:, k - 1, None]
    nx, ny = (dx < eps).sum(1), (dy < eps).sum(1)
    return float(digamma(k) + digamma(len(dx)) - (digamma(nx + 1) + digamma(ny + 1)).mean())


def plain_distances(A: Any) -> Any:
    D = np.zeros((len(A), len(A)))
    for column in A.T:
        np.maximum(D, np.abs(column[:, None] - column), out=D)
    np.fill_diagonal(D, np.inf)
    return D


def information(n: int) -> str:
    rows = []
    for name, problem in (
        ("XOR-like", xor_like(n, random_state=0)),
        ("functional", functional(n, random_state=0)),
    ):
        X, Y = standardise(problem.X)[0].T, standardise(problem.y[:, None])[0].T
        MutualInfoSelector(1, n_threads=1).fit(problem.X, problem.y)  # compile
        selector = MutualInfoSelector(n_threads=1)
        cpu = best_cpu(lambda s=selector, p=problem: s.fit(p.X, p.y))

        def slow(X: Any = X, Y: Any = Y) -> list[int]:
            chosen: list[int] = []
            dy = plain_distances(Y)
            while len(chosen) < X.shape[1]:
                left = [i for i in range(X.shape[1]) if i not in chosen]
                values = [
                    plain_information(plain_distances(X[:, [*chosen, i]]), dy, 6) for i in left
                ]
                chosen.append(left[int(np.argmax(values))])
            return chosen

        order, slow_cpu, _ = timed(slow)
        same = order == [move.feature for move in selector.path_.moves]
        rows.append([name, _2(cpu), _2(slow_cpu), f"{slow_cpu / cpu:.1f}", "yes" if same else "no"])
    XT, YT = X.T.copy(), Y.T.copy()
    candidates = []
    with Threads(1) as threads:
        for size in range(1, 11):
            fast = Estimator(XT, YT, 6, 1, threads)
            tree = Estimator(XT, YT, 6, 1, threads, use_tree=True)
            before = tuple(range(size - 1))
            fast._matrix(before)
            cpu = min(
                timed(lambda f=fast, b=before, c=c: f.additions(b, [c]))[1]
                for c in range(size - 1, 10)
            )
            cpu_tree = min(
                timed(lambda t=tree, s=(*before, c): t.of(s))[1] for c in range(size - 1, 10)
            )
            candidates.append([str(size), f"{1e3 * cpu:.1f}", f"{1e3 * cpu_tree:.1f}"])
    return f"""## MI-FW, {n} samples, k = 6, one thread

{table(["", "CPU s", "plain NumPy, CPU s", "ratio", "same path"], rows)}

CPU ms for one candidate on functional, by the size of its subset (the fastest
of all candidates):

{table(["size", "kept distances", "tree"], candidates)}
"""


def pieces(quick: bool) -> dict[str, Callable[[], str]]:
    return {
        "restarts": lambda: restarts(25 if quick else 100),
        "information": lambda: information(300 if quick else 1000),
        "growth": lambda: growth(10 if quick else 25),
        "features": lambda: features(
            [6, 12] if quick else [10, 20, 30, 100], 300 if quick else 1000
        ),
        "many": lambda: many_features(5 if quick else 15, 2 if quick else 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the work")
    parser.add_argument("--only", choices=list(pieces(True)), help="one section; needs --parts")
    parser.add_argument("--parts", type=Path, help="folder of the finished sections")
    arguments = parser.parse_args()
    if arguments.only and not arguments.parts:
        parser.error("--only needs --parts")
    sections = []
    for name, piece in pieces(arguments.quick).items():
        file = arguments.parts / f"{name}.md" if arguments.parts else None
        if file and file.exists() and name != arguments.only:
            sections.append(file.read_text(encoding="utf-8"))
        elif arguments.only in (None, name):
            load = f"\nLoad of the machine when this section began: {os.getloadavg()[0]:.1f}.\n"
            sections.append(piece() + load)
            if file:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(sections[-1], encoding="utf-8")
    page = f"""# ELM-FS and mutual information: measured ratios

Written by `python benchmarks/elmfs.py{" --quick" * arguments.quick}` on a two-core machine{", one section at a time" if arguments.parts else ""}. CPU seconds can be
compared. Wall times are only reliable if the machine was idle. "Plain" is a direct implementation without short-cuts.

{chr(10).join(sections)}"""
    write_page("quick.md" if arguments.quick else "elmfs.md", page)


if __name__ == "__main__":
    main()
