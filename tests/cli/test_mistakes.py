"""Mistakes at the prompt: one sentence that names what was typed, and nothing is damaged."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sparsepath.data.readers import write_table
from sparsepath.report import answer

from .conftest import Run, program, refused


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with a number and two classes as targets, and a text."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 60))
    words = {"y": a + 0.5 * rng.normal(size=60), "late": np.where(a > 0, "yes", "no")}
    gaps = np.where(np.arange(60) % 9, b, np.nan)
    write_table(tmp_path / "t.csv", {"a": a, "b": b, "town": rng.choice(["x", "z"], 60), **words})
    write_table(tmp_path / "gaps.csv", {"a": a, "b": gaps, "y": words["y"]})
    monkeypatch.chdir(tmp_path)
    return tmp_path


MISTAKES = {
    "select t.csv --target y --force a,b --forbid b": ["--force and --forbid both have 'b'"],
    "select t.csv --target y --sample 1": ["--sample 1", "from 2 up"],
    "select t.csv --target y --ordered a": ["--ordered a", "shirt=S<M<L"],
    "select t.csv --target y --checkpoint t.csv": ["it is the input file", "--checkpoint"],
    "select t.csv --target y --p-values --method lars": ["--p-values", "greedy-rls"],
    "select t.csv --target late --p-values": ["--p-values", "regression"],
    "select t.csv --target y --nonsense": ["--nonsense", "sparsepath select --help"],
    "compare gaps.csv --target y --methods greedy-rls,lars": ["missing values in column 'b'"],
    "select t.csv --target y --method grafting --loss huber:3": ["huber without a number"],
    "select t.csv --target y --weights b --drop late,town": ["--weights holds negative numbers"],
    "export model.json": ["'--to'", "sparsepath export --help"],
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named(run: Run, folder: Path, line: str) -> None:
    before = (folder / "t.csv").read_bytes()
    (folder / "model.json").write_text("{}")
    done = run(*line.split())
    assert done.code == 2
    assert re.match(r"(Note: .*\n)*Error: [^\n]*\n$", done.err), done.err
    for words in MISTAKES[line]:
        assert done.err.count(words) == 1, done.err
    assert (folder / "t.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "typed"),
    [("--out", ["t.csv", "--target", "y", "--out", ""]), ("DATA", ["", "--target", "y"])],
)
def test_an_empty_name_is_no_folder(run: Run, folder: Path, name: str, typed: list[str]) -> None:
    """It would be the current folder, and all files in it."""
    refused(run("select", *typed), f"{name} is empty")
    assert sorted(file.name for file in folder.iterdir()) == ["gaps.csv", "t.csv"]


def test_stdin_has_a_name(run: Run, folder: Path) -> None:
    """Not that of the file that it is copied to, which does not stay."""
    refused(program("select", "-", "--target", "y", input=""), "cannot read stdin: ")
    table = (folder / "t.csv").read_text()
    given = ("--target", "y", "--drop", "late,town", "--no-validation", "--out", "r")
    given += ("--method", "greedy-rls")
    done = program("select", "-", *given, "--json", input=table)
    assert json.loads(done.out)["source"] == "stdin"
    assert "stdin.csv" not in (folder / "r" / "run.toml").read_text()
    assert "stdin.csv" not in (folder / "r" / "index.html").read_text()
    again = program("run", "r/run.toml", input=table)
    assert (again.code, again.err) == (0, "The result is the same.\n")


def test_names_with_commas_are_quoted(run: Run, folder: Path) -> None:
    text = (folder / "t.csv").read_text().split("\n", 1)[1]
    text = f'"height, cm",b,town,y,late\n{text}'
    (folder / "t.csv").write_text(text)
    done = run("select", "t.csv", "--target", "y", "--drop", "late", "--no-validation")
    assert "features: 'height, cm'." in done.out
    assert "   'height, cm'   <- chosen" in done.out


def test_lags_of_numbers_alone(run: Run, folder: Path) -> None:
    lags = ("--lags", "a:1-2", "--horizon", "1", "--drop", "late,town", "--quiet")
    assert run("select", "t.csv", "--target", "y", *lags).code == 0


def test_a_target_without_the_classes_of_the_model(run: Run, folder: Path) -> None:
    given = ("--drop", "town,y", "--no-validation", "--quiet")
    assert run("select", "t.csv", "--target", "late", *given, "--out", "r").code == 0
    done = run("predict", "r/model.json", "t.csv", "--target", "town")
    refused(done, "'town' has none of the model's classes, 'no', 'yes'")


@pytest.mark.parametrize(("width", "columns"), [(40, 2), (72, 3), (200, 4)])
def test_a_narrow_terminal_cuts_no_number(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, width: int, columns: int
) -> None:
    monkeypatch.setattr(answer, "WIDE_TABLE", width)
    done = run("select", "t.csv", "--target", "y", "--drop", "late")
    assert done.code == 0
    assert "…" not in done.out
    [head] = re.findall(r"\n *size .*", done.out)
    every = ["size", "RMSE", "std. error", "R2"]
    assert [name for name in every if name in head] == every[:columns]
    assert re.search(r"\n +1 +\d\.\d{3} .*<- chosen", done.out)
