"""ELM-FS and mutual information against plain implementations, as ratios of one run.

    python benchmarks/elmfs.py [--quick]

CPU seconds of the process, so that other jobs on the machine disturb little; wall seconds where
threads matter. The plain implementations are the slow twin of the tests (singular values) and, for
mutual information, all pairs in NumPy.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import digamma

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from slow_twins import elm as twin
from sparsepath import ELMFSRegressor, MutualInfoSelector
from sparsepath.data.paper_sets import diabetes, load
from sparsepath.data.synthetic import functional, xor_like
from sparsepath.data.threads import Threads
from sparsepath.elm.network import Pool, Target, draw_neurons, standardise
from sparsepath.elm.scaling import Best, restart
from sparsepath.errors import FileError
from sparsepath.information.kraskov import Estimator, standard_rows


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


def restarts(n_restarts: int) -> float:
    print(f"\n{n_restarts} restarts of Algorithm 1 on XOR-like, 1000 samples, same draws")
    problem = xor_like(1000, random_state=0)
    pool = pool_of(problem.X, problem.y)
    seeds = np.random.SeedSequence(0).spawn(n_restarts)
    ours(pool, seeds[:2], 1)  # compile
    best, cpu, wall = timed(lambda: ours(pool, seeds, 1))
    _, cpu2, wall2 = timed(lambda: ours(pool, seeds, 2))
    slow, slow_cpu, slow_wall = timed(lambda: plain(pool, seeds))
    same = all(
        best.at[k].subset == subset and np.isclose(best.at[k].key[0], press, rtol=1e-8)
        for k, (press, subset) in slow.items()
    )
    print(f"  plain singular values  {slow_cpu:7.2f} CPU s {slow_wall:7.2f} wall s")
    print(
        f"  one thread             {cpu:7.2f} CPU s {wall:7.2f} wall s, ratio {slow_cpu / cpu:.1f}"
    )
    print(
        f"  two threads            {cpu2:7.2f} CPU s {wall2:7.2f} wall s, "
        f"wall ratio {slow_wall / wall2:.1f}"
    )
    print(f"  same path: {same}")
    return slow_cpu


def default_run(slow_cpu: float, n_restarts: int) -> None:
    print("\nELMFSRegressor() as it comes, on XOR-like, functional and diabetes")
    data = diabetes()
    train = np.random.default_rng(0).permutation(442)[:309]
    total = 0.0
    for name, X, y in (
        ("XOR-like", *_xy(xor_like(1000, random_state=0))),
        ("functional", *_xy(functional(1000, random_state=0))),
        ("diabetes", data.X[train], data.y[train]),
    ):
        model = ELMFSRegressor(random_state=0, n_restarts=n_restarts)
        _, cpu, wall = timed(lambda X=X, y=y, model=model: model.fit(X, y))
        _, cpu_swap, _ = timed(
            lambda X=X, y=y: ELMFSRegressor(random_state=0, strategy="swap").fit(X, y)
        )
        print(
            f"  {name:12} both {cpu:6.2f} CPU s {wall:6.2f} wall s; swap alone {cpu_swap:.2f} CPU s"
        )
        total += cpu
    print(
        f"  together {total:.2f} CPU s, {slow_cpu / total:.2f} times as fast as the plain restarts"
    )


def _xy(problem: Any) -> tuple[Any, Any]:
    return problem.X, problem.y


def many_features(size: int) -> None:
    print(f"\n53 features (anthrokids), sizes 1 to {size}, swap search, two seeds of the neurons")
    try:
        data = load("anthrokids")
    except FileError as error:
        print(f"  left out: {error}")
        return
    train = np.random.default_rng(0).permutation(len(data.y))[:713]
    paths = []
    for seed in range(2):
        model = ELMFSRegressor(size, strategy="swap", random_state=seed)
        fitted, cpu, wall = timed(lambda model=model: model.fit(data.X[train], data.y[train]))
        paths.append(fitted.path_)
        print(f"  seed {seed}: {cpu:.1f} CPU s, {wall:.1f} wall s")
    shared = [
        len(set(a) & set(b)) / len(a)
        for a, b in zip(paths[0].subsets[1:], paths[1].subsets[1:], strict=True)
    ]
    print("  features in common, by size: " + " ".join(f"{s:.2f}" for s in shared))


def growth(n_restarts: int) -> None:
    print("\ngrowth of the cost (CPU s)")
    for n in (500, 1000, 2000, 4000):
        problem = xor_like(n, random_state=0)
        pool = pool_of(problem.X, problem.y)
        cpu = timed(lambda p=pool: ours(p, np.random.SeedSequence(0).spawn(n_restarts), 1))[1]
        print(f"  {n} samples, {n_restarts} restarts: {cpu:.2f}")
    problem = xor_like(1000, random_state=0)
    pool = pool_of(problem.X, problem.y)
    for r in (n_restarts, 2 * n_restarts, 4 * n_restarts):
        cpu = timed(lambda r=r: ours(pool, np.random.SeedSequence(0).spawn(r), 1))[1]
        print(f"  1000 samples, {r} restarts: {cpu:.2f}")


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


def information(n: int) -> None:
    print(f"\nMI-FW, {n} samples, k = 6")
    for name, problem in (
        ("XOR-like", xor_like(n, random_state=0)),
        ("functional", functional(n, random_state=0)),
    ):
        X, Y = standard_rows(problem.X).T, standard_rows(problem.y[:, None]).T
        MutualInfoSelector(1, n_threads=1).fit(problem.X, problem.y)  # compile
        selector = MutualInfoSelector(n_threads=1)
        _, cpu, _ = timed(lambda s=selector, p=problem: s.fit(p.X, p.y))

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
        print(
            f"  {name:12} {cpu:.2f} CPU s, plain {slow_cpu:.2f}: ratio {slow_cpu / cpu:.1f}, "
            f"same path: {same}"
        )
    XT, YT = X.T.copy(), Y.T.copy()
    print("  one candidate (functional) by size of the subset: kept distances, tree (CPU ms)")
    with Threads(1) as threads:
        for size in (1, 2, 3, 5, 10):
            fast = Estimator(XT, YT, 6, 1, threads)
            tree = Estimator(XT, YT, 6, 1, threads, use_tree=True)
            before = tuple(range(size - 1))
            fast._matrix(before)
            _, cpu, _ = timed(lambda f=fast, b=before, s=size: f.additions(b, [s - 1]))
            _, cpu_tree, _ = timed(lambda t=tree, s=size: t.of(range(s)))
            print(f"    {size:2}  {1e3 * cpu:6.1f} {1e3 * cpu_tree:6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the work")
    quick = parser.parse_args().quick
    n_restarts = 25 if quick else 100
    slow_cpu = restarts(n_restarts)
    default_run(slow_cpu, n_restarts)
    information(300 if quick else 1000)
    growth(10 if quick else 25)
    many_features(5 if quick else 15)


if __name__ == "__main__":
    main()
