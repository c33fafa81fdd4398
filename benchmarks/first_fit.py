"""The first fit in a fresh process: CPU seconds above imports, for every search, loss, cv and method.

Every row is measured in its own process, which imports the class and fits it twice, for ten
features, with the default validation. The second fit measures the computation only. The difference
is the cost of the first use: modules that are loaded late, and memory that is used for the first
time. Nothing is compiled at run time.
"""

import argparse
import json
import os
import subprocess
import sys

from measure import PAGES, rows_of_page, table, write_page

SHAPES = ((300, 30), (1000, 100))
BAR = 0.3  # seconds that the first use may add
PAGE = "first-fit.md"
LIMIT = 60  # seconds of CPU

CHILD = """
import inspect, json, resource, sys, time, warnings
case, m, n = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
warnings.simplefilter("ignore")
import numpy as np, joblib
joblib.parallel_config("sequential").__enter__()
random = np.random.default_rng(0)
X = random.standard_normal((m, n))
y = X[:, :5] @ [3.0, -2.0, 1.5, 1.0, 0.5] + random.standard_normal(m)
if case["task"] == "classification":
    y = np.where(y > 0, "yes", "no")
if case["task"] == "survival":
    y = np.column_stack([np.exp(y / y.std()), np.ones(m)])
import sparsepath
from sparsepath.methods import METHODS
if "method" in case:
    method = METHODS[case["method"]]
    kind = type(method.make(case["task"]))
    ten = {"max_features": 10} if "max_features" in inspect.signature(kind).parameters else {}
    make = lambda: method.make(case["task"], **ten)
else:
    kind = getattr(sparsepath, case["class"])
    make = lambda: kind(10, **case["options"])
make()
taken = []
for _ in range(2):
    start = time.process_time()
    make().fit(X, y)
    taken.append(time.process_time() - start)
print(json.dumps(taken))
"""


def cases() -> list[tuple[str, dict]]:
    """Label and description of every row."""
    from sparsepath.methods import METHODS
    from sparsepath.rls.criteria.table import CLASSES, NUMBERS

    rows = []
    regression = {"task": "regression", "class": "SparseRLSRegressor"}
    classes = {"task": "classification", "class": "SparseRLSClassifier"}
    for search in ("forward", "floating", "backward", "swap"):
        rows.append((f"search={search!r}", {**regression, "options": {"search": search}}))
    for loss in CLASSES:
        kind = regression if loss in NUMBERS else classes
        rows.append((f"loss={loss!r}", {**kind, "options": {"loss": loss}}))
    for cv in ("loo", 10):
        rows.append((f"cv={cv!r}", {**regression, "options": {"cv": cv}}))
        rows.append(
            (f"cv={cv!r}, zero_one", {**classes, "options": {"cv": cv, "loss": "zero_one"}})
        )
    rows.append(("ranking", {"task": "regression", "class": "SparseRankRLS", "options": {}}))
    for name, method in METHODS.items():
        for task in method.tasks:
            rows.append((f"{name}, {task}", {"task": task, "method": name}))
    return rows


def measured(case: dict, m: int, n: int) -> list[float] | None:
    command = [sys.executable, "-c", CHILD, json.dumps(case), str(m), str(n)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        print(done.stderr.splitlines()[-1:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="rows whose label contains this text")
    wanted = options.parse_args().only
    rows = rows_of_page(PAGES / PAGE)
    for label, case in cases():
        if wanted not in label:
            continue
        rows[label] = [label]
        for m, n in SHAPES:
            taken = measured(case, m, n)
            if taken is None:
                rows[label] += [f"over {LIMIT} s", ""]
                continue
            first, second = taken
            rows[label] += [f"{first:.3f}", f"{max(first - second, 0):.3f}"]
        print(rows[label], flush=True)
        write_page(PAGE, page([rows[label] for label, _ in cases() if label in rows]), quiet=True)


def page(rows: list[list[str]]) -> str:
    header = ["fit"]
    for m, n in SHAPES:
        header += [f"{m} x {n}: first fit", "of this, first use"]
    slow = [
        f"- {row[0]}, {m} x {n}: first use {use} s"
        for row in rows
        for (m, n), use in zip(SHAPES, row[2::2], strict=True)
        if not use or float(use) > BAR
    ]
    text = f"# The first fit in a fresh process\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n"
    text += "Times are CPU seconds of one thread after `import sparsepath`, on a machine that was not idle.\n\n"
    text += f"{table(header, rows)}\n\nRows in which the first use adds more than {BAR} s: "
    return text + ("\n\n" + "\n".join(slow) if slow else "none.") + "\n"


if __name__ == "__main__":
    main()
