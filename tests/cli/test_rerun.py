"""Run files may come from anybody: what they may not do, and damage of every kind."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from damage import damaged
from sparsepath.cli.run_file import load
from sparsepath.errors import FileError

from .conftest import Run, refused

SEARCH = ["--target", "y", "--no-validation", "--quiet"]
GOOD = {
    "schema": "sparsepath/run",
    "schema_version": 1,
    "sparsepath": "0",
    "directory": ".",
    "command": ["select"],
    "result": "0",
}


def toml(record) -> str:
    """TOML of plain values; a number that TOML has no room for as a text."""
    if isinstance(record, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in record.items()) + "}"
    if isinstance(record, list):
        return "[" + ", ".join(map(toml, record)) + "]"
    return '""' if record is None else json.dumps(record)


def write(file: Path, record) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name} = {toml(value)}\n" for name, value in record.items()))
    return file


@pytest.fixture
def result(run: Run, tmp_path, monkeypatch) -> Path:
    """A folder with the result of a run; the folder beside it holds the data."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    rows = [f"{a},{b},{c},{a + c}" for a, b, c in X.tolist()]
    Path("data.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    done = run(
        *["select", "data.csv", "--target", "y", "--no-validation", "--quiet", "--out", "result"]
    )
    assert done.code == 0, done.err
    return tmp_path / "result"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        ["export", "result/model.json", "--to", "c", "--out", "victim"],
        ["predict", "result/model.json", "data.csv", "--out", "victim"],
        ["report", "result/path.json", "--out", "victim"],
        ["run", "result/run.toml"],
        ["--", "run", "result/run.toml"],
        ["--version"],
        [],
    ],
    ids=" ".join,
)
def test_other_commands_are_refused(command, run: Run, result: Path) -> None:
    Path("victim").write_text("mine")
    file = write(result / "run.toml", {**GOOD, "command": command})
    before = everything(Path.cwd())
    refused(run("run", file), "its command must be select, compare, demo")
    assert everything(Path.cwd()) == before


@pytest.mark.parametrize(
    "more",
    [
        ["--out", "elsewhere"],
        ["--out=elsewhere"],
        ["-oelsewhere"],
        ["-o", "elsewhere", "--out", "elsewhere"],
        ["--checkpoint", "elsewhere/checkpoint"],
        [],
    ],
    ids=" ".join,
)
def test_nothing_is_written_elsewhere(more, run: Run, result: Path) -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere/model.json").write_text("mine")
    command = ["select", "data.csv", *SEARCH, *more]
    known = load(result / "run.toml")["result"]
    file = write(result / "run.toml", {**GOOD, "command": command, "result": known})
    (result / "model.json").unlink()
    done = run("run", file)
    assert done.code == 0, done.err
    assert "The result is the same." in done.err
    assert (result / "model.json").exists()
    assert everything(Path("elsewhere")) == {"model.json": b"mine"}


def test_another_place_is_named_on_the_command_line(run: Run, result: Path, tmp_path) -> None:
    before = everything(result)
    done = run("run", result / "run.toml", "--out", "other")
    assert done.code == 0, done.err
    assert everything(result) == before
    assert everything(Path("other")).keys() == before.keys()
    assert os.listdir() == [
        name for name in os.listdir() if name in ("data.csv", "other", "result")
    ]
    alone = Path("alone")
    alone.mkdir()
    shutil.copy(result / "run.toml", alone)
    refused(run("run", alone / "run.toml"), "is not next to a result", "--out")
    shutil.move(result, "moved")
    assert "The result is the same." in run("run", "moved/run.toml").err
    assert not result.exists()


def test_no_scheduler_of_a_file_is_connected_to(run: Run, result: Path) -> None:
    command = ["select", "data.csv", "--target", "y", "--dask", "tcp://127.0.0.1:1"]
    file = write(result / "run.toml", {**GOOD, "command": command})
    refused(run("run", file), "names a Dask cluster", "--dask local")


def test_damage_is_one_sentence(run: Run, result: Path) -> None:
    file = result / "run.toml"
    whole = load(file)
    refusals = 0
    for wrong in damaged(whole, np.random.default_rng(0), 150):
        write(file, wrong)
        try:
            load(file)
        except FileError:
            refusals += 1
    assert refusals > 75
    for text in ("", "[" * 10_000, "a = " + "[" * 10_000, "\x00", "a = 1" + "0" * 5000):
        file.write_text(text)
        refused(run("run", file), "run.toml")
    for data in (5, {}, {"file": "data.csv"}, {"sha256": "x"}, {"file": 1, "sha256": 2}):
        write(file, {**whole, "data": data})
        refused(run("run", file), "is damaged: it.data")
    for name in ("x" * 300, "a\x00b", "gone.csv"):
        write(file, {**whole, "data": {"file": name, "sha256": "0"}})
        refused(run("run", file), "does not exist")
