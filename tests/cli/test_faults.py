"""The command line on a cluster of real processes, of which the scheduler is really killed."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

KILLS = max(int(os.environ.get("SPARSEPATH_KILLS", "3")) // 3, 1)  # six in the long version
SEARCH = ("--max-features", "14", "--search", "swap", "--no-validation", "--choose", "min")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    found = tmp_path_factory.mktemp("data")
    for i in range(2):
        X = rng.standard_normal((8_000, 30)).astype(np.float32)
        X[:, 15:20] += X[:, :5]
        y = X[:, :12] @ np.linspace(3, 0.2, 12) + rng.standard_normal(8_000)
        columns = {f"c{j}": X[:, j] for j in range(30)}
        pq.write_table(pa.table({**columns, "y": y}), found / f"{i}.parquet", row_group_size=2_000)
    return found


@contextmanager
def cluster(folder):
    """The address and the process of a scheduler with two workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    module = [sys.executable, "-m"]
    at = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    each = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60"]
    scheduler = subprocess.Popen([*module, "distributed.cli.dask_scheduler", *at], **silent)
    worker = [*module, "distributed.cli.dask_worker", address, *each]
    workers = [subprocess.Popen(worker, **silent) for _ in range(2)]
    while scheduler.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        time.sleep(0.1)
    try:
        yield address, scheduler
    finally:
        for process in (scheduler, *workers):
            process.kill()
            process.wait()


def started(folder, *more):
    command = [sys.executable, "-m", "sparsepath", "select", f"{folder}/*.parquet"]
    command += ["--target", "y", *SEARCH, "--json", *map(str, more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def moves(file):
    with suppress(OSError, ValueError):
        return len(json.loads(file.read_text())["moves"])
    return 0


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_scheduler_that_is_killed(folder, tmp_path, seed):
    """One sentence, and a checkpoint from which another cluster goes on to the last bit."""
    out, _ = started(folder, "--memory", "1GB").communicate()
    unbroken = json.loads(out)
    file = tmp_path / "moves.json"
    wanted = random.Random(seed).randint(1, 10)
    with cluster(tmp_path) as (address, scheduler):
        run = started(folder, "--dask", address, "--checkpoint", file)
        while run.poll() is None and moves(file) < wanted:
            time.sleep(0.005)
        scheduler.kill()
        out, told = run.communicate()
    if run.returncode:  # it may have been done meanwhile
        assert (run.returncode, out) == (2, "")
        assert told.startswith("Error: the Dask cluster has lost its scheduler"), told
        assert told.count("\n") == 1, told
        assert "--checkpoint FILE --resume" in told
    with cluster(tmp_path) as (address, _):
        run = started(folder, "--dask", address, "--checkpoint", file, "--resume")
        out, told = run.communicate()
        assert run.returncode == 0, told
        resumed = json.loads(out)
        fresh = json.loads(started(folder, "--dask", address).communicate()[0])
    assert resumed["path"]["steps"] == fresh["path"]["steps"], "to the last bit"
    assert resumed["chosen"] == fresh["chosen"]
    for mine, yours in zip(resumed["path"]["steps"], unbroken["path"]["steps"], strict=True):
        assert mine["subset"] == yours["subset"]
        assert mine["error"] == pytest.approx(yours["error"], rel=1e-9)
