"""Every command as a program of its own: one result after another, and one clear refusal each."""

from pathlib import Path

import numpy as np
import pytest

from cli.conftest import program, refused
from sparsepath.cli.commands import app

GOOD: dict[str, tuple[list[str], str]] = {
    "select": (["data.csv", "--target", "y", "--no-validation", "--out", "r"], "Selected: "),
    "compare": (["data.csv", "--target", "y", "--methods", "lars,greedy-rls"], "Least RMSE"),
    "plan": (["data.csv", "--target", "y"], "data.csv"),
    "predict": (["r/model.json", "data.csv"], "prediction"),
    "export": (["r/model.json", "--to", "sql"], "e0 * "),
    "report": (["r/path.json"], "html"),
    "run": (["r/run.toml"], "Selected: "),
}
BAD: dict[str, tuple[list[str], str]] = {
    "select": (["data.csv", "--target", "z"], "'z'"),
    "compare": (["data.csv", "--target", "y", "--methods", "lasso"], "lasso"),
    "plan": (["none.csv", "--target", "y"], "none.csv"),
    "predict": (["r/model.json", "few.csv"], "x"),
    "export": (["data.csv", "--to", "c"], "data.csv"),
    "report": (["r/model.json"], "model.json"),
    "run": (["none.toml"], "none.toml"),
    "demo": (["--out", "data.csv"], "data.csv"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    rows = np.column_stack([X, X[:, 1] - X[:, 2] + 0.1 * rng.standard_normal(30)])
    for name, columns in (("data", [0, 1, 2, 3, 4]), ("few", [3, 4])):
        head = ",".join(f"x{i}" if i < 4 else "y" for i in columns)
        np.savetxt(made / f"{name}.csv", rows[:, columns], delimiter=",", header=head, comments="")
    return made


def test_none_is_left_out() -> None:
    known = {*app.commands}
    assert known == set(BAD)
    assert known - {"demo"} == set(GOOD)  # the demo runs whenever the package is built


def test_good_and_bad_input(folder: Path) -> None:
    for command, (arguments, words) in GOOD.items():
        done = program(command, *arguments, cwd=folder)
        assert done.code == 0, (command, done)
        assert words in done.out, (command, done)
    for command, (arguments, words) in BAD.items():
        refused(program(command, *arguments, cwd=folder), words)
