"""SIGKILL through the real command line: a search goes on, and no file is ever damaged.

``SPARSEPATH_KILLS=100`` kills each of them so many times.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sparsepath import SelectionPath, load_model
from sparsepath.cli.run_file import load

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no SIGKILL")
KILLS = int(os.environ.get("SPARSEPATH_KILLS", "2"))
SEARCH = ["--target", "y", "--no-validation", "--quiet", "--threads", "1"]
MOVES = 60


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 150)).round(3)
    y = (X[:, :80] @ rng.normal(size=80) + rng.normal(size=400)).round(3)
    head = ",".join([*(f"x{i}" for i in range(150)), "y"])
    np.savetxt(
        tmp_path / "data.csv", np.column_stack([X, y]), "%.3f", ",", header=head, comments=""
    )
    return tmp_path / "data.csv"


def start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sparsepath", *map(str, arguments)],
        env={**os.environ, "SPARSEPATH_CHECKPOINT_SECONDS": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finished(process: subprocess.Popen[bytes]) -> None:
    _, error = process.communicate()
    assert process.returncode == 0, error.decode()


def moves(checkpoint: Path) -> int:
    """How many moves a checkpoint has; whatever happens, it is whole."""
    return len(json.loads(checkpoint.read_bytes())["moves"]) if checkpoint.exists() else -1


def outcome(folder: Path) -> tuple[bytes, object]:
    """The model to the byte, and the path without times."""
    path = SelectionPath.load(folder / "path.json").to_dict()
    return (folder / "model.json").read_bytes(), [
        path["steps"],
        [m["feature"] for m in path["moves"]],
    ]


@pytest.mark.parametrize("how", [[], ["--search", "floating"], ["--memory", "100MB"]], ids=str)
def test_a_killed_search_goes_on_to_the_same_result(how, data: Path, tmp_path: Path) -> None:
    command = ["select", data, *SEARCH, "--max-features", MOVES, *how]
    finished(start(*command, "--out", tmp_path / "whole"))
    expected = outcome(tmp_path / "whole")
    checkpoint, result = tmp_path / "checkpoint", tmp_path / "result"
    rng, killed = np.random.default_rng(1), 0
    while killed < KILLS:
        checkpoint.unlink(missing_ok=True)
        places = np.sort(rng.choice(MOVES - 2, min(5, KILLS - killed), replace=False)) + 1
        for place in places.tolist():
            process = start(*command, "--out", result, "--checkpoint", checkpoint)
            while moves(checkpoint) < place and process.poll() is None:
                time.sleep(1e-4)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += process.returncode == -signal.SIGKILL and moves(checkpoint) < MOVES
        finished(start(*command, "--out", result, "--checkpoint", checkpoint, "--resume"))
        assert outcome(result) == expected
        assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] == []


def check_whole(folder: Path) -> None:
    """Every file of a result is whole."""
    load_model(folder / "model.json")
    SelectionPath.load(folder / "path.json")
    load(folder / "run.toml")
    json.loads((folder / "honest.json").read_bytes())
    assert (folder / "index.html").read_bytes().endswith(b"</html>\n")
    assert (folder / "path.csv").read_bytes().endswith(b"\n")
    for name in ("path.png", "curve.png"):
        assert (folder / name).read_bytes().endswith(b"IEND\xaeB`\x82")


def test_a_kill_while_results_are_written_damages_none(data: Path, tmp_path: Path) -> None:
    folder, rng = tmp_path / "result", np.random.default_rng(2)
    command = ["select", data, *SEARCH, "--out", folder, "--max-features"]
    finished(start(*command, 3))
    names = sorted(os.listdir(folder))
    killed = 0
    while killed < KILLS:
        process = start(*command, 4 + killed % 2)
        while not any(n.endswith(".part") for n in os.listdir(folder)) and process.poll() is None:
            time.sleep(1e-4)
        time.sleep(float(rng.random() ** 2))  # it draws and writes for about a second
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        check_whole(folder)
    finished(start(*command, 3))
    assert sorted(os.listdir(folder)) == names
    check_whole(folder)
