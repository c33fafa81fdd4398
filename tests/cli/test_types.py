"""Columns whose type the user gives: codes as categories, ordered values, dates as targets."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Run, refused


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    n = 300
    codes = rng.choice([1010, 2020, 3030, 4040], n)
    grade = rng.choice(["low", "mid", "high"], n)
    size = rng.choice(["S", "M"], n)
    effect = {1010: 0.0, 2020: 5.0, 3030: -3.0, 4040: 1.0}
    y = [effect[c] + 2 * ["low", "mid", "high"].index(g) for c, g in zip(codes, grade, strict=True)]
    y = np.array(y) + rng.standard_normal(n)
    days = np.datetime64("2024-01-01") + np.round(10 * y).astype("timedelta64[D]")
    lines = ["zip,grade,size,y,due"]
    lines += [
        f"{c},{g},{s},{v:.3f},{d}"
        for c, g, s, v, d in zip(codes, grade, size, y, days, strict=True)
    ]
    file = tmp_path / "codes.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def r2(run: Run, *given: object) -> float:
    return float(json.loads(run("select", *given, "--json").out)["chosen"]["r2"])


def test_codes_are_categories_if_told_so_and_predicted_the_same_way(run: Run, table: Path) -> None:
    plain = table, "--target", "y", "--drop", "due"
    assert r2(run, *plain) < 0.6
    assert r2(run, *plain, "--categorical", "zip") > 0.8
    out = table.parent / "out"
    run("select", *plain, "--categorical", "zip", "--out", out, "--quiet")
    found = json.loads(run("predict", out / "model.json", table, "--target", "y", "--json").out)
    assert found["error"]["r2"] > 0.8


def test_ordered_values_make_one_column(run: Run, table: Path) -> None:
    given = table, "--target", "y", "--drop", "due", "--ordered", "grade=low<mid<high,s*=S<M"
    out = table.parent / "out"
    run("select", *given, "--out", out, "--quiet")
    features = json.loads((out / "model.json").read_text())["content"]["preparation"]["features"]
    kinds = {each["name"]: (each["kind"], each["values"]) for each in features}
    assert kinds["grade"] == ("ordered", ["low", "mid", "high"])
    assert kinds["size"] == ("ordered", ["S", "M"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--categorical", "zap"), "is 'zip' meant?"),
        (("--ordered", "grade=low<mid"), "has the value 'high'"),
        (("--ordered", "grade"), "from low to high"),
    ],
)
def test_wrong_types_are_said(run: Run, table: Path, given: tuple[str, str], message: str) -> None:
    done = run("select", table, "--target", "y", "--drop", "due", *given)
    refused(done, message)


def test_a_date_as_target_is_days(run: Run, table: Path) -> None:
    given = table, "--target", "due", "--drop", "y", "--categorical", "zip"
    found = json.loads(run("select", *given, "--json").out)["chosen"]
    assert found["r2"] > 0.8
    assert 8 < found["rmse"] < 13
