"""Wall time of other packages with their default threads, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

from measure import table
from shaped import bars

# The timed code; the first half of the runs is a warm-up.
CODE = """
import sys, time
sys.path.insert(0, {here!r})
import numpy as np
from shaped import problem
X, y = problem({m}, {n})
{load}
times, began = [], time.perf_counter()
while len(times) < {most} and (len(times) < 4 or time.perf_counter() - began < 8):
    start = time.perf_counter()
    {fit}
    times.append(time.perf_counter() - start)
print(np.median(times[len(times) // 2 :]))
"""
FITS = {
    "ours": (
        "from sparsepath import SparseRLSRegressor",
        "SparseRLSRegressor({k}, validation=None).fit(X, y)",
    ),
    "fastcan": ("from fastcan import FastCan", "FastCan({k}, verbose=0).fit(X, y)"),
    "abess": (
        "from abess import LinearRegression",
        "LinearRegression(support_size=range({k} + 1), thread=0).fit(X, y)",
    ),
    "OMP": (
        "from sklearn.linear_model import OrthogonalMatchingPursuit",
        "OrthogonalMatchingPursuit(n_nonzero_coefs={k}).fit(X, y)",
    ),
}
LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def seconds(name: str, m: int, n: int, k: int) -> float | None:
    """The median time of a fit; None if the library is not installed."""
    load, fit = FITS[name]
    here = str(Path(__file__).parent)
    code = CODE.format(here=here, m=m, n=n, load=load, fit=fit.format(k=k), most=1000)
    free = {key: value for key, value in os.environ.items() if key not in LIMITS}
    got = subprocess.run([sys.executable, "-W", "ignore", "-c", code], **PIPES, env=free)
    return float(got.stdout) if got.returncode == 0 else None


PIPES = {"capture_output": True, "text": True, "check": False}


def by_the_clock(quick: bool, rounds: int) -> str:
    shapes = ((300, 30, 20), (72, 7129, 30), (200, 20000, 50), (3000, 300, 150))
    rows, held = [], []
    for m, n, k in shapes[:2] if quick else shapes:
        every = [{name: seconds(name, m, n, k) for name in FITS} for _ in range(rounds)]
        least = {
            name: min(one[name] for one in every)
            for name in FITS
            if all(one[name] is not None for one in every)
        }
        cells = [f"{1e3 * least[name]:.3g}" if name in least else "" for name in FITS]
        rows.append([f"{m} x {n}, k = {k}", *cells])
        print(rows[-1], flush=True)
        held += [
            (f"{m} x {n}: ours over {name}", least["ours"] / least[name], 1)
            for name in ("fastcan", "abess")
            if name in least
        ]
    return table(["data", *(f"{name}, ms" for name in FITS)], rows) + bars(*held)
