"""Speed of the RBF solver, as ratios of one run: python benchmarks/rbf.py --growth --large --grid

It is compared with a plain Newton method in all 2 (M + 1) + d parameters with the schedule of mu as
published, the slow reference of the tests. Times are CPU seconds; set OMP_NUM_THREADS=1, so that BLAS
uses one thread.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))
from rbf_printed import solve_printed
from slow_twins import rbf as twin
from sparsepath import SparseRBFRegressorCV
from sparsepath.data.synthetic import friedman
from sparsepath.rbf.barrier import Budget, start
from sparsepath.rbf.network import RBFNetwork
from sparsepath.rbf.primal_dual import solve

R, T = 380.0, 0.13
PLAIN = {
    "relaxed": False,
    "centres": "all",
    "validation": None,
}  # the grid itself, each of its fits once


def problem(n, d, seed=0):
    data = friedman(n, d, random_state=seed)
    return (data.X - data.X.mean(0)) / data.X.std(0), (data.y - data.y.mean()) / data.y.std()


def cpu(task):
    began = time.process_time()
    return task(), time.process_time() - began


def one_fit(n, d, most_solves=None):
    X, y = problem(n, d)
    M = len(X)
    found, ours = cpu(lambda: solve(RBFNetwork(X, y, X), R, T))
    (_, J, solves), plain = cpu(
        lambda: twin.algorithm_1(X, y, X, R, T, twin.start(M, d, R, T), most_steps=most_solves)
    )
    print(f"N = {n}, d = {d}")
    print(f"  sparsepath: {ours:.3f} s, {found.iterations} systems, J = {found.J:.6f}")
    unfinished = " (cut off: not finished)" if most_solves else ""
    print(f"  plain: {plain:.3f} s, {solves} systems, J = {J:.6f}{unfinished}")
    each = plain / solves * found.iterations / ours
    if most_solves:
        # The printed schedule with the slacks eliminated makes the same iterates, faster.
        budget = Budget(R, T)
        whole = solve_printed(RBFNetwork(X, y, X), R, T, start(budget, M + 1, d))
        print(f"  plain would need {whole.iterations} systems and reach J = {whole.J:.6f}")
        plain *= whole.iterations / solves
    print(f"  ratio: {plain / ours:.1f}; per system: {each:.1f}")


def growth():
    print("ms per iteration (iterations), r = 380, t = 0.13")
    for d in (10, 50, 100):
        row = []
        for n in (100, 250, 500, 1000):
            X, y = problem(n, d)
            found, seconds = cpu(lambda X=X, y=y: solve(RBFNetwork(X, y, X), R, T))
            row.append(f"N={n}: {1e3 * seconds / found.iterations:.2f} ({found.iterations})")
        print(f"  d={d}  " + "  ".join(row))


def sampled_grid():
    """Every fourth node of the 20 x 20 grid on two of ten folds; estimated time of 4000 fits."""
    rs, ts = np.geomspace(10, 1000, 20)[::4], np.geomspace(0.05, 5, 20)[::4]
    data = friedman(250, 10, random_state=0)
    splits = list(KFold(10).split(data.X))[:2]
    model, seconds = cpu(
        lambda: SparseRBFRegressorCV(rs, ts, cv=splits, **PLAIN).fit(data.X, data.y)
    )
    fits = len(rs) * len(ts) * len(splits) + len(ts)
    print(f"grid, {fits} of 4000 fits, N = 225, d = 10: {1e3 * seconds / fits:.0f} ms per fit,")
    print(f"  so 4000 fits take about {4000 * seconds / fits / 2:.0f} s on two idle cores;")
    print(f"  unconverged: {model.cv_results_['n_unconverged'].sum()}")


def default_searches():
    """A full default search, relaxed or not, without its validation."""
    for n, d in ((50, 5), (150, 8), (300, 10)):
        data = friedman(n, d, random_state=0)
        for relaxed in (True, False):
            model = SparseRBFRegressorCV(relaxed=relaxed, validation=None)
            _, seconds = cpu(lambda data=data, model=model: model.fit(data.X, data.y))
            word = "relaxed" if relaxed else "not relaxed"
            print(f"default search, N = {n}, d = {d}, {word}: {seconds:.1f} s")


def grid(n_jobs):
    data = friedman(250, 10, random_state=0)
    rs, ts = np.geomspace(10, 1000, 20), np.geomspace(0.05, 5, 20)
    began = time.perf_counter()
    search = SparseRBFRegressorCV(rs, ts, cv=10, n_jobs=n_jobs, **PLAIN)
    model, of_cpu = cpu(lambda: search.fit(data.X, data.y))
    seconds = time.perf_counter() - began
    print(f"20 x 20 grid, ten folds, N = 250, d = 10: {seconds:.0f} s with {n_jobs} workers")
    if n_jobs == 1:
        print(f"  CPU: {of_cpu:.0f} s")
    print(f"  unconverged: {model.cv_results_['n_unconverged'].sum()} of 4000")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="N = 1000, d = 50 too (minutes)")
    parser.add_argument("--grid", action="store_true", help="the grid of 4000 fits too (minutes)")
    parser.add_argument("--growth", action="store_true", help="cost by N and d")
    parser.add_argument("--default", action="store_true", help="searches without any parameter")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with threadpool_limits(1):
        solve(RBFNetwork(*problem(20, 5), problem(20, 5)[0]), R, T)  # loads the compiled loops
        one_fit(250, 10)
        sampled_grid()
        if options.default:
            default_searches()
        if options.growth:
            growth()
        if options.large:
            one_fit(1000, 50, most_solves=12)
        if options.grid:
            grid(options.jobs)
