"""Files larger than memory and a Dask cluster: `make bench-scale ROWS=10000000`.

The data are a Parquet file of float32 noise with 25 relevant columns, generated once and kept. All
results are ratios of one run: to the time to read the file, to the memory limit, to the same search
on arrays. h2o's ModelSelection and dask-ml are measured too if they are installed, or in another
Python that has them (``--python``).
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

try:
    import sparsepath
    from sparsepath import SparseRLSRegressor
except ImportError:  # in the Python of a rival
    pass

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


def read_once(path: Path) -> tuple[float, float]:
    """Wall time and CPU time in seconds."""
    began, own = time.perf_counter(), time.process_time()
    for part in sparsepath.open(path, target="y").parts:
        for _ in part.read(None):
            pass
    return time.perf_counter() - began, time.process_time() - own


def one(path: str, steps: int, memory: float, how: str, share: float) -> None:
    """Run one search in a separate process, to measure its peak memory, and print JSON.

    ``share`` is the fraction of the row groups that is read.
    """
    given = {"validation": None} if how == "loo" else {"cv": 10, "validation": "auto"}
    began = time.perf_counter()
    source = sparsepath.open(path, target="y", memory=memory)
    source.parts = source.parts[: max(1, round(share * len(source.parts)))]
    model = SparseRLSRegressor(steps, memory_budget=memory, **given).fit(source)
    told = {
        "rows": len(source),
        "seconds": time.perf_counter() - began,
        "processor": time.process_time(),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        **{name: model.path_.data[name] for name in ("passes", "readings")},
        "subset": list(model.path_.subset(steps)),
    }
    print(json.dumps(told))


def in_a_process(*given: object) -> dict:
    command = [sys.executable, __file__, "--one", *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def arrays(path: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(path).slice(0, rows)
    X = np.column_stack([table.column(i).to_numpy() for i in range(table.num_columns - 1)])
    return X, table.column("y").to_numpy().astype(np.float64)


def bytes_sent(dask_worker) -> int:
    """Dask's own counter of what a worker has sent, to other workers and to the driver."""
    return dask_worker.transfer_outgoing_bytes_total


def on_dask(path: Path, steps: int, rows: int) -> None:
    """Compare arrays in memory on two threads with two worker processes of one thread each.

    After a warm-up, the best of three alternating rounds counts. Wall times mean little on a shared
    machine, so CPU times are printed too.
    """
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y = arrays(path, rows)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        cut = -(-len(X) // 4)
        parts = client.persist([da.from_array(X, chunks=(cut, -1)), da.from_array(y, chunks=cut)])
        wait(parts)
        for data in ((X, y), parts):
            SparseRLSRegressor(2, validation=None).fit(*data)  # loads what is compiled
        rounds = [[_timed(client, steps, *data) for data in ((X, y), parts)] for _ in range(3)]
        assert len({subset for both in rounds for *_, subset in both}) == 1
        (here, own), (there, workers) = (
            [min(both[i][j] for both in rounds) for j in (0, 1)] for i in (0, 1)
        )
        print(
            f"Dask, 2 processes, {len(X):,} rows: {there / here:.2f} x the time in memory "
            f"({here:.1f} s; at most 1.6); {workers / own:.2f} x its CPU time ({own:.1f} s)"
        )
        for m in (len(X) // 100, len(X) // 10, len(X)):
            source = sparsepath.open(
                *client.persist(
                    [da.from_array(a[:m], chunks=(-(-m // 4), *a.shape[1:])) for a in (X, y)]
                )
            )
            before = sum(client.run(bytes_sent).values())
            SparseRLSRegressor(steps, validation=None).fit(source)
            moved = sum(client.run(bytes_sent).values()) - before
            print(f"bytes sent by the workers per step, {m:,} rows: {moved / steps:,.0f}")


def growth(path: Path, steps: int, rows: int) -> None:
    """Run time by numbers of columns, partitions and workers."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y = arrays(path, rows)
    few = min(10, steps)
    for n in (X.shape[1] // 4, X.shape[1] // 2, X.shape[1]):
        source, times = sparsepath.open(np.asfortranarray(X[:, :n]), y), []
        for _ in range(3):
            own = time.process_time()
            SparseRLSRegressor(few, validation=None).fit(source)
            times.append(time.process_time() - own)
        print(f"{len(X):,} rows, {few} steps, {n} columns: {min(times):.2f} s of CPU time")
    for workers, count in ((1, 4), (2, 4), (4, 4), (2, 16), (2, 64)):
        with (
            LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            cut = -(-len(X) // count)
            parts = client.persist([da.from_array(a, chunks=(cut, *a.shape[1:])) for a in (X, y)])
            wait(parts)
            SparseRLSRegressor(2, validation=None).fit(*parts)  # loads what is compiled
            seconds, processors, _ = min(_timed(client, few, *parts) for _ in range(2))
            print(
                f"{len(X):,} rows, {few} steps, {workers} workers, {count} partitions: "
                f"{seconds:.2f} s, {processors:.2f} s of CPU time"
            )


def _timed(client, steps: int, *data) -> tuple[float, float, tuple[int, ...]]:
    """Wall time, CPU time of all processes, and the selected subset."""
    distant = not isinstance(data[0], np.ndarray)
    before = sum(client.run(time.process_time).values())
    began, own = time.perf_counter(), time.process_time()
    model = SparseRLSRegressor(steps, validation=None).fit(*data)
    seconds, own = time.perf_counter() - began, time.process_time() - own
    workers = sum(client.run(time.process_time).values()) - before
    return seconds, own + distant * workers, model.path_.subset(steps)


def rival(name: str, path: str, steps: int) -> None:
    """Run another package in a separate process, with that Python, and print its seconds."""
    if name == "h2o":
        import h2o
        from h2o.estimators import H2OModelSelectionEstimator

        h2o.init(nthreads=2, max_mem_size="6G", verbose=False)
        frame = h2o.import_file(path)
        names = [column for column in frame.columns if column != "y"]
        began = time.perf_counter()
        model = H2OModelSelectionEstimator(mode="maxrsweep", max_predictor_number=steps)
        model.train(x=names, y="y", training_frame=frame)
        seconds = time.perf_counter() - began
        chosen = list(model.get_best_model_predictors()[-1])
        h2o.cluster().shutdown()
    else:
        import dask.array as da
        from dask_ml.linear_model import LinearRegression

        X, y = arrays(Path(path), 10**9)
        parts = (
            da.from_array(X, chunks=(-(-len(X) // 4), -1)),
            da.from_array(y, chunks=-(-len(X) // 4)),
        )
        began = time.perf_counter()
        LinearRegression(solver="lbfgs").fit(*parts)
        seconds, chosen = time.perf_counter() - began, []
    print(json.dumps({"seconds": seconds, "chosen": chosen}))


def beside(path: Path, steps: int, pythons: list[str]) -> None:
    """h2o's forward search with swaps by sweeps, and one plain fit of dask-ml, on the same file."""
    began = time.perf_counter()
    X, y = arrays(path, 10**9)
    read = time.perf_counter() - began
    SparseRLSRegressor(2, validation=None).fit(X, y)  # loads what is compiled
    began = time.perf_counter()
    model = SparseRLSRegressor(steps, validation=None).fit(X, y)
    ours = time.perf_counter() - began
    names = [f"x{i}" for i in model.path_.subset(steps)]
    print(f"in memory, leave-one-out: {ours:.1f} s, and {read:.1f} s to read the file")
    for name, what in (("h2o", "maxrsweep, by R2"), ("dask_ml", "one fit of all columns")):
        for python in [*pythons, sys.executable]:
            there = subprocess.run(
                [python, "-c", f"import {name}"], capture_output=True, check=False
            )
            if there.returncode:
                continue
            command = [python, __file__, "--rival", name, str(path), str(steps)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
                break
            other = json.loads(done.stdout.splitlines()[-1])
            same = len(set(names) & set(other["chosen"]))
            more = f"; {same} of {steps} columns are the same" if other["chosen"] else ""
            print(
                f"{name} ({what}): {other['seconds']:.1f} s, {other['seconds'] / ours:.1f} x{more}"
            )
            break
        else:
            print(f"{name} is not installed (--python names another Python that has it)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--memory", type=float, default=2e9)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--rival", nargs=3)
    parser.add_argument("--python", action="append", default=[])
    given = parser.parse_args()
    if given.rival:
        name, file, steps = given.rival
        rival(name, file, int(steps))
        return
    if given.one:
        path, steps, memory, how, share = given.one
        one(path, int(steps), float(memory), how, float(share))
        return
    path = given.folder / f"scale-{given.rows}x{given.columns}.parquet"
    if not path.exists():
        make(path, given.rows, given.columns)
    size, k = path.stat().st_size, given.steps
    print(f"{given.rows:,} x {given.columns} float32, {size / 1e9:.2f} GB, {k} steps")
    for how, reads, bar in (("loo", 1 + k, 3), ("10-fold, honest", 1, 6)):
        read, own = read_once(path)
        for share in (0.125, 0.25, 0.5, 1.0):
            found = in_a_process(path, k, given.memory, how.split(",")[0], share)
            print(
                f"{how}, {found['rows']:,} rows: {found['processor']:.1f} s of processors, "
                f"{found['passes']} passes, peak {found['peak'] / 1e9:.2f} GB"
            )
        ratio = found["seconds"] / (reads * read)
        print(
            f"{how}: {found['seconds']:.1f} s, {ratio:.2f} x reading it {reads} times "
            f"({read:.1f} s once; at most {bar}), {found['processor'] / (reads * own):.2f} x its time "
            f"of processors ({own:.1f} s); {found['passes']} passes in "
            f"{found['readings']} readings; peak {found['peak'] / 1e9:.2f} GB of "
            f"{given.memory / 1e9:.2f} GB"
        )
    on_dask(path, k, min(given.rows, 1_000_000))
    growth(path, k, min(given.rows, 200_000))
    if given.rows > 2_000_000:
        path = given.folder / f"scale-1000000x{given.columns}.parquet"
        if not path.exists():
            make(path, 1_000_000, given.columns)
    beside(path, k, given.python)


if __name__ == "__main__":
    main()
