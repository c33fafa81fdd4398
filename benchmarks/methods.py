"""CPU seconds of each method on data of three shapes.

The figures are a rough guide: the methods fit different models.

Each method searches for ten features of a sparse linear problem, without the honest error, which repeats the search five or ten times.
Each search runs in its own process, which is stopped after 30 seconds of CPU time.
"""

import multiprocessing
import os
import resource
import time
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks" / "methods.md"
SHAPES = [(200, 20), (80, 2000), (1000, 50)]
LIMIT = 30  # seconds


def measure(name, m, n, answer):
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT + 10, LIMIT + 10))
    warnings.simplefilter("ignore")
    import joblib

    from sparsepath.data.synthetic import sparse_linear
    from sparsepath.methods import METHODS

    problem = sparse_linear(m, n, 5, random_state=0)
    method = METHODS[name]
    ten = {"max_features": 10} if "max-features" in method.options else {}

    def fit(rows, columns):
        X, y = problem.X[:rows, :columns], problem.y[:rows]
        method.make("regression", validation=None, **ten).fit(X, y)

    def timed():
        start = time.process_time()
        with joblib.parallel_config("sequential"):  # child processes would not be counted
            fit(m, n)
        return time.process_time() - start

    fit(20, 3)
    taken = timed()
    if taken < LIMIT / 5:  # some of it may have been imports, and compiled functions read
        taken = timed()
    answer.send(taken)


def seconds(name, m, n):
    mine, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=measure, args=(name, m, n, theirs))
    process.start()
    theirs.close()
    try:
        taken = mine.recv()
    except EOFError:
        return f"more than {LIMIT}"
    finally:
        process.join()
    return f"{taken:.2g}" if taken < LIMIT else f"more than {LIMIT}"


def main():
    import sklearn.linear_model  # noqa: F401 (what every process needs)

    from sparsepath.methods import METHODS

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    lines = [
        "# Every method, three shapes",
        "",
        *(__doc__ or "").splitlines(),
        "",
        "Written by `benchmarks/methods.py` on a shared machine of two cores. All paths but those of `rbf` and `backward-rls` end at ten features.",
        "",
        f"| method | {' | '.join(f'{m} x {n}' for m, n in SHAPES)} |",
        "| --- |" + " --- |" * len(SHAPES),
    ]
    for name in METHODS:
        row = [seconds(name, m, n) for m, n in SHAPES]
        lines.append(f"| `{name}` | {' | '.join(row)} |")
        print(lines[-1], flush=True)
        PAGE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
