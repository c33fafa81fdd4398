"""Files larger than memory and a Dask cluster: `make bench-scale ROWS=10000000`.

A Parquet file of float32 noise with 25 columns that matter is made once and kept. Everything is
told as a ratio of one run: to the time to read the file, to the limit of memory, to the same search
on arrays. h2o's ModelSelection and dask-ml are measured beside it where they are installed.
"""

import argparse
import importlib.util
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sparsepath
from sparsepath import SparseRLSRegressor

GROUP = 1 << 17


def make(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    w = np.zeros(columns)
    w[rng.permutation(columns)[:25]] = rng.standard_normal(25)
    names = [f"x{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.float32()) for name in [*names, "y"]])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as out:
        for low in range(0, rows, GROUP):
            m = min(GROUP, rows - low)
            X = rng.standard_normal((m, columns), dtype=np.float32)
            X[:, 1:] += 0.5 * X[:, :-1]
            y = X @ w + 3 * rng.standard_normal(m)
            out.write_table(pa.table([*X.T, y.astype(np.float32)], schema=schema))


def read_once(path: Path) -> float:
    began = time.perf_counter()
    for part in sparsepath.open(path, target="y").parts:
        for _ in part.read(None):
            pass
    return time.perf_counter() - began


def one(path: str, steps: int, memory: float, how: str) -> None:
    """In a process of its own, whose peak of memory is its own: one search, told as JSON."""
    given = {"validation": None} if how == "loo" else {"cv": 10, "validation": "auto"}
    began = time.perf_counter()
    source = sparsepath.open(path, target="y", memory=memory)
    model = SparseRLSRegressor(steps, memory_budget=memory, **given).fit(source)
    told = {
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        **{name: model.path_.data[name] for name in ("passes", "readings")},
        "subset": list(model.path_.subset(steps)),
    }
    print(json.dumps(told))


def in_a_process(*given: object) -> dict:
    command = [sys.executable, __file__, "--one", *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def letters(rows: int, columns: int, steps: int) -> float:
    """Bytes of all messages and answers of a search, over its steps."""
    from sparsepath.data.sources import from_array
    from sparsepath.data.threads import Threads

    class Post(Threads):
        moved = 0

        def ask(self, parts, numbers, message, *args, **more):
            answers = super().ask(parts, numbers, message, *args, **more)
            Post.moved += len(parts) * len(pickle.dumps((message, args)))
            Post.moved += sum(len(pickle.dumps(answer)) for answer in answers)
            return answers

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    source = from_array(X, X[:, :5].sum(1) + rng.standard_normal(rows), rows=rows // 4)
    source.crew = lambda n_threads: Post(1)
    SparseRLSRegressor(steps, validation=None).fit(source)
    return Post.moved / steps


def on_dask(path: Path, steps: int, rows: int) -> tuple[float, float]:
    """Seconds of the same rows as arrays in memory and on two worker processes."""
    import dask.array as da
    from distributed import Client, LocalCluster

    table = pq.read_table(path).slice(0, rows)
    X = np.column_stack([table.column(i).to_numpy() for i in range(table.num_columns - 1)])
    y = table.column("y").to_numpy().astype(np.float64)
    began = time.perf_counter()
    whole = SparseRLSRegressor(steps, validation=None).fit(X, y)
    here = time.perf_counter() - began
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        cut = (-(-len(X) // 4), -1)
        parts = client.persist([da.from_array(X, chunks=cut), da.from_array(y, chunks=cut[0])])
        SparseRLSRegressor(1, validation=None).fit(parts[0][:2000], parts[1][:2000])  # warm
        began = time.perf_counter()
        distant = SparseRLSRegressor(steps, validation=None).fit(*parts)
        there = time.perf_counter() - began
    assert whole.path_.subset(steps) == distant.path_.subset(steps)
    return here, there


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=4)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--memory", type=float, default=2e9)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    if given.one:
        path, steps, memory, how = given.one
        one(path, int(steps), float(memory), how)
        return
    path = given.folder / f"scale-{given.rows}x{given.columns}.parquet"
    if not path.exists():
        make(path, given.rows, given.columns)
    size, k = path.stat().st_size, given.steps
    print(f"{given.rows:,} x {given.columns} float32, {size / 1e9:.2f} GB, {k} steps")
    for how, reads, bar in (("loo", 1 + k, 3), ("10-fold, honest", 1, 6)):
        read = read_once(path)
        found = in_a_process(path, k, given.memory, how.split(",")[0])
        ratio = found["seconds"] / (reads * read)
        print(
            f"{how}: {found['seconds']:.1f} s, {ratio:.2f} x reading it {reads} times "
            f"({read:.1f} s once; at most {bar}); {found['passes']} passes in "
            f"{found['readings']} readings; peak {found['peak'] / 1e9:.2f} GB of "
            f"{given.memory / 1e9:.2f} GB"
        )
    few, many = letters(4_000, given.columns, 10), letters(40_000, given.columns, 10)
    print(f"bytes per step: {few:,.0f} for 4,000 rows, {many:,.0f} for 40,000")
    here, there = on_dask(path, k, min(given.rows, 1_000_000))
    print(f"Dask, 2 processes: {there / here:.2f} x the time in memory ({here:.1f} s; at most 1.6)")
    for rival in ("h2o", "dask_ml"):
        if importlib.util.find_spec(rival) is None:
            print(f"{rival} is not installed")


if __name__ == "__main__":
    main()
