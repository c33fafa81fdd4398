"""The command line in real processes that are really killed: the driver, the scheduler."""

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

ASKED = int(os.environ.get("SPARSEPATH_KILLS", "3"))  # 20 in the long version
KILLS = max(ASKED // 3, 1)  # of schedulers: six in the long version
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


OFTEN = (  # the program, with a checkpoint after every move
    "import sys, sparsepath.rls.checkpoint as kept; from sparsepath.cli import main;"
    "kept.SECONDS = 0.0; sys.exit(main(sys.argv[1:]))"
)


def members(group):
    """The processes of a group that are still there."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    found = (line.split() for line in listed.stdout.splitlines())
    return [state for of, state in found if int(of) == group and not state.startswith("Z")]


def until(done, seconds=120.0):
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(0.002)
    return done()


DRIVERS = [
    (["--memory", "1GB", "--validation", "3"], ASKED),
    (["--dask", "local", "--no-validation"], ASKED if ASKED > 3 else 1),
]


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize(("how", "kills"), DRIVERS, ids=["files", "dask"])
def test_a_driver_that_is_killed_at_any_moment_goes_on_to_the_bit(folder, tmp_path, how, kills):
    """SIGKILL, again and again, at random moments after its beginning; then it is let end."""
    search = ["--max-features", "12", "--search", "swap", "--choose", "8", "--json"]
    program = [sys.executable, "-c", OFTEN, "select", f"{folder}/*.parquet", "--target", "y"]

    def run(file):
        more = ["--checkpoint", str(file), *(["--resume"] if file.exists() else [])]
        began = subprocess.Popen(
            [*program, *search, *how, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert until(lambda: file.exists() or began.poll() is not None)
        return began

    unbroken = run(tmp_path / "unbroken.json")
    start = time.monotonic()
    out, told = unbroken.communicate()
    length = time.monotonic() - start
    assert unbroken.returncode == 0, told
    whole = json.loads(out)
    draw, file, done, seen = random.Random(0), tmp_path / "moves.json", 0, set()
    while done < kills:
        driver = run(file)
        time.sleep(draw.uniform(0, 0.5 * length))
        if driver.poll() is not None:  # it came to its end: begin afresh
            driver.communicate()
            file.unlink()
            continue
        driver.kill()
        driver.communicate()
        assert until(lambda gone=driver.pid: not members(gone)), "workers outlive their driver"
        done += 1
        seen.add(moves(file))
    again = run(file)
    out, told = again.communicate()
    assert again.returncode == 0, told
    resumed = json.loads(out)
    assert resumed["path"]["steps"] == whole["path"]["steps"], seen
    assert resumed["chosen"] == whole["chosen"]
    assert resumed.get("honest") == whole.get("honest")
