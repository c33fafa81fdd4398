"""Two versions of the package, and other packages, on the same fits: ratios of one run.

    python benchmarks/versions.py --before ../old/src        # all rows; writes docs/benchmarks/versions.md
    python benchmarks/versions.py --before ../old/src --only 1000000   # these; the page keeps its other rows

Each version runs in its own process, in alternating rounds, and the minimum of its times counts. Times are CPU time of one
thread, so that the load of the machine has little influence; ``--threads 2`` measures wall time on two threads instead, on an
idle machine.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from measure import PAGES, rows_of_page, table, write_page

SOURCES = Path(__file__).resolve().parents[1] / "src"

WORKER = """
import json, os, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from sparsepath import SparseRLSClassifier, SparseRLSRegressor
threads = int(sys.argv[1])
clock = time.process_time if threads == 1 else time.perf_counter

def problem(m, n, order):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    k = min(n, 20)
    y = X[:, :k] @ rng.standard_normal(k) + np.sqrt(k) * rng.standard_normal(m)
    return np.asarray(X, order=order), y

def work_of(case):
    X, y = problem(*case["shape"], case["order"])
    k, options = case["k"], dict(case["options"])
    if case["who"] == "abess":
        from abess import LinearRegression
        return lambda: LinearRegression(support_size=range(k + 1), thread=threads).fit(X, y)
    if case["who"] == "fastcan":
        from fastcan import FastCan
        return lambda: FastCan(k, verbose=0).fit(X, y)
    if case["who"] == "LassoCV":
        from sklearn.linear_model import LassoCV
        return lambda: LassoCV(cv=10, n_jobs=threads).fit(X, y)
    if case["who"] == "products":
        v = np.ones(len(X))
        return lambda: [X.T @ v for _ in range(k)]
    kind = SparseRLSClassifier if options.pop("classes", False) else SparseRLSRegressor
    if kind is SparseRLSClassifier:
        y = np.where(y > np.median(y), 1, 0)
    if options.pop("targets", 1) > 1:
        y = np.column_stack([y, *np.random.default_rng(0).standard_normal((2, len(y)))])
    return lambda: kind(k, n_threads=threads, **options).fit(X, y)

work = None
for line in sys.stdin:
    request = json.loads(line)
    if "case" in request:
        work = None
        work = work_of(request["case"])
        work()
        print(0.0, flush=True)
        continue
    start, count = clock(), 0
    while not count or (clock() - start < 0.01 and count < 50):
        work()
        count += 1
    print((clock() - start) / count, flush=True)
"""

PLAIN = (
    (300, 30, 20),
    (500, 100, 50),
    (500, 500, 50),
    (72, 7129, 30),
    (200, 20000, 50),
    (60, 60000, 20),
    (100, 1000, 20),
    (1000, 1000, 50),
    (2000, 2000, 100),
    (3000, 300, 150),
    (10000, 100, 20),
    (10000, 1000, 50),
    (1_000_000, 50, 20),
)
CRITERIA: tuple[tuple[str, dict], ...] = (
    ("absolute", {"loss": "absolute"}),
    ("Huber", {"loss": "huber"}),
    ("zero-one", {"loss": "zero_one", "classes": True}),
    ("balanced", {"loss": "balanced", "classes": True}),
    ("AUC, five folds", {"loss": "auc", "cv": 5, "classes": True}),
    ("ten folds", {"cv": 10}),
    ("floating", {"search": "floating"}),
    ("swap", {"search": "swap"}),
    ("3 targets", {"targets": 3}),
)
CRITERIA_SHAPES = ((300, 30, 20), (72, 2000, 20), (2000, 500, 20), (20000, 100, 20))
DEFAULT = ((300, 30, 20), (1000, 100, 20), (20000, 200, 100), (1_000_000, 50, 20))
RIVALS = ("abess", "fastcan")
BAR = 1.5  # limit, in times of the version before
SHORT, MORE = (
    0.1,
    7,
)  # seconds of one round in which rounds cost little, and how many times more there are then


def cases() -> list[tuple[str, dict]]:
    """Label and description of every row."""
    rows = []
    for m, n, k in PLAIN:
        for order in "FC":
            what = {"shape": (m, n), "k": k, "order": order, "options": {"validation": None}}
            rows.append((f"{m} x {n}, k = {k}, {order}", what))
    for m, n, k in CRITERIA_SHAPES:
        for name, options in CRITERIA:
            if m * n > 1 << 20 and name == "AUC, five folds":
                continue
            options = {**options, "validation": None}
            what = {"shape": (m, n), "k": k, "order": "F", "options": options}
            rows.append((f"{m} x {n}, k = {k}, {name}", what))
    for m, n, k in DEFAULT:
        what = {"shape": (m, n), "k": k, "order": "C", "options": {}}
        rows.append((f"{m} x {n}, k = {k}, default fit", what))
    return rows


MOST_MS = {
    "300 x 30, k = 20, F": 0.5,
    "300 x 30, k = 20, C": 0.5,
    "300 x 30, k = 20, default fit": 8.0,
}
MOST_TIMES = {
    "60 x 60000, k = 20, F": ("products", 4.0),
    "60 x 60000, k = 20, C": ("products", 4.0),
    "20000 x 200, k = 100, default fit": ("LassoCV", 1.0),
}


class Worker:
    def __init__(self, sources: Path, threads: int) -> None:
        limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
        environment = {**os.environ, **limits, "PYTHONPATH": str(sources)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **request: object) -> float:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"a worker ended on {request}")
        return float(answer)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measured(what: dict, before: Path | None, threads: int, rounds: int) -> dict[str, float]:
    """Least seconds of the versions and the rivals that fit the case."""
    m, n = what["shape"]
    sides = {"now": (SOURCES, "sparsepath")}
    if before:
        sides["before"] = (before, "sparsepath")
    if what["options"] == {"validation": None}:
        sides["products"] = (SOURCES, "products")
        sides |= {who: (SOURCES, who) for who in RIVALS if who != "abess" or m * n < 1 << 24}
    if not what["options"] and (m, n) == (20000, 200):
        sides["LassoCV"] = (SOURCES, "LassoCV")
    workers = {side: Worker(sources, threads) for side, (sources, _) in sides.items()}
    try:
        for side, (_, who) in sides.items():
            workers[side].ask(case={**what, "who": who})
        turns = [{side: workers[side].ask() for side in sides} for _ in range(rounds)]
        short = sum(turns[-1].values()) < SHORT  # the minimum of few rounds is still noisy
        for _ in range(MORE * rounds if short else 0):
            turns.append({side: workers[side].ask() for side in sides})
    finally:
        for worker in workers.values():
            worker.end()
    return {side: min(turn[side] for turn in turns) for side in sides}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--before", type=Path, help="src of another version")
    options.add_argument("--only", default="", help="rows whose label contains this text")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--rounds", type=int, default=7)
    given = options.parse_args()
    columns = ["before", *RIVALS, "LassoCV", "products"]
    name = "versions.md" if given.threads == 1 else f"versions-{given.threads}-threads.md"
    rows = rows_of_page(PAGES / name)
    for label, what in cases():
        if given.only not in label:
            continue
        heavy = np.prod(what["shape"]) * what["k"] > 1 << 27
        times = measured(what, given.before, given.threads, 3 if heavy else given.rounds)
        over = {c: times["now"] / times[c] for c in columns if c in times}
        cells = [f"{over[c]:.2f}" if c in over else "" for c in columns]
        rows[label] = [label, f"{1e3 * times['now']:.3g}", *cells]
        print(rows[label], flush=True)
        write_page(name, page(rows, columns, given.threads), quiet=True)


def page(found: dict[str, list[str]], columns: list[str], threads: int) -> str:
    """The page of the rows found so far, in the order of the cases."""
    rows = [found[label] for label, _ in cases() if label in found]
    left = [label for label, _ in cases() if label not in found]
    ratios = [
        (row[0], {c: float(cell) for c, cell in zip(columns, row[2:], strict=True) if cell})
        for row in rows
    ]
    clock = "CPU time of one thread" if threads == 1 else f"wall time of {threads} threads"
    text = f"""# Before and after the compiled core

Written by `benchmarks/versions.py`: {clock}, minimum of several alternating rounds. The machine was
not idle, so times are up to half longer than on an idle one, and ratios are accurate to about a fifth. Rows were
measured in several runs. Ratios divide the time of sparsepath by the other time: below one, sparsepath is faster. "before" is the last version with
Numba, after its functions were compiled; "products" is the time of k products X'v.

{table(["fit", "ms", *columns], rows)}
"""
    before = [over["before"] for _, over in ratios if "before" in over]
    if before:
        mean = np.exp(np.mean(np.log(before)))
        text += f"\nRelative to the version before: geometric mean {mean:.2f}, largest {max(before):.2f}.\n"
    limits = {"before": BAR, **dict.fromkeys((*RIVALS, "LassoCV"), 1.0)}
    missed = [
        f"- {label}: {over[c]:.2f} times {'the version before' if c == 'before' else c}"
        for c, most in limits.items()
        for label, over in ratios
        if over.get(c, 0.0) > most
    ]
    if missed:
        text += (
            f"\nRows that miss their target (at most {BAR} times the version before, and faster than the other packages):"
            "\n\n" + "\n".join(missed) + "\n"
        )
    text += absolute({row[0]: row[1] for row in rows}, dict(ratios))
    if left:
        text += f"\nNot measured yet, {len(left)} rows of the script: {'; '.join(left)}.\n"
    return text


def absolute(ms: dict[str, str], ratios: dict[str, dict]) -> str:
    """The targets that do not compare with the version before, for the rows measured so far."""
    lines = []
    for label, most in MOST_MS.items():
        lines.append(_bar(label, "ms", float(ms[label]) if label in ms else None, most))
    for label, (side, most) in MOST_TIMES.items():
        lines.append(_bar(label, f"times {side}", ratios.get(label, {}).get(side), most))
    return "\nAbsolute targets:\n\n" + "\n".join(lines) + "\n"


def _bar(label: str, unit: str, found: float | None, most: float) -> str:
    if found is None:
        return f"- {label}: at most {most} {unit}: not measured"
    return f"- {label}: {found:.3g}, at most {most} {unit}: {'yes' if found <= most else 'no'}"


if __name__ == "__main__":
    main()
