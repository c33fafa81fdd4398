"""Columns whose type the user gives: codes as categories, ordered values, dates as targets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.conftest import Run, refused
from sparsepath import InputError, TableSelector, load_model


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


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    built = np.datetime64("1990-01-01") + rng.integers(0, 9000, 200)
    area = rng.normal(100, 20, 200).round(1)
    sold = np.datetime64("2021-01-01") + np.round(5 * area + rng.normal(0, 10, 200)).astype(int)
    months = built.astype("datetime64[M]").astype(int) % 12 + 1
    price = 3000 * area + 9000 * months + rng.normal(0, 9000, 200)
    lines = ["area,built,sold,us,price"]
    for a, b, s, p in zip(area, built.tolist(), sold.tolist(), price, strict=True):
        lines.append(f'{a},{b:%d.%m.%Y},{s:%d.%m.%Y},{b:%m/%d/%Y},"${p:,.0f}"')
    file = tmp_path / "sales.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_format_of_dates(run: Run, sales: Path) -> None:
    out = sales.parent / "out"
    given = sales, "--target", "price", "--drop", "sold,us", "--dates", "parts"
    assert r2(run, *given, "--date-format", "%d.%m.%Y", "--out", out) > 0.95
    found = json.loads(run("predict", out / "model.json", sales, "-t", "price", "--json").out)
    assert found["error"]["r2"] > 0.95
    # The saved model reads a data frame with the dates as text, and takes no other format.
    table = pd.read_csv(sales)
    model = load_model(out / "model.json")
    assert model.predict(table).tolist() == found["prediction"]
    with pytest.raises(InputError, match="not match the date format"):
        model.predict(table.assign(built=table["us"]))
    python = TableSelector(dates="parts", date_format={"built": "%d.%m.%Y"})
    python.fit(table[["area", "built"]], table["price"])
    assert np.allclose(python.predict(table), found["prediction"], rtol=1e-12)


def test_formats_by_column(run: Run, sales: Path) -> None:
    given = sales, "--target", "price", "--drop", "sold", "--dates", "parts"
    assert r2(run, *given, "--date-format", "built=%d.%m.%Y,us=%m/%d/%Y") > 0.95


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "--date-format '%d.%m.%Y'"),
        (("--date-format", "us=%m/%d/%Y"), "column 'built' holds dates written as"),
        (("--date-format", "built=%m.%d.%Y"), "which does not match the date format '%m.%d.%Y'"),
        (("--date-format", "bilt=%d.%m.%Y"), "there is no column 'bilt'"),
        (("--date-format", "dd.mm.yyyy"), "must be written with %d for the day"),
    ],
)
def test_unclear_dates(run: Run, sales: Path, given: tuple[str, ...], message: str) -> None:
    refused(run("select", sales, "--target", "price", "--drop", "sold", *given), message)


def test_a_target_of_dates_is_predicted_as_dates(run: Run, sales: Path) -> None:
    out = sales.parent / "out"
    given = sales, "--target", "sold", "--drop", "built,us,price", "--out", out, "--quiet"
    refused(run("select", *given), "target 'sold' holds dates written as")
    run("select", *given, "--date-format", "%d.%m.%Y")
    found = json.loads(run("predict", out / "model.json", sales, "-t", "sold", "--json").out)
    assert 5 < found["error"]["rmse"] < 15  # days
    days = pd.to_datetime(pd.Series(found["prediction"]), format="%d.%m.%Y")
    table = pd.read_csv(sales)
    truth = pd.to_datetime(table["sold"], format="%d.%m.%Y")
    assert (days - truth).dt.days.abs().max() < 50
    python = TableSelector(validation=None, choose=1).fit(table[["area"]], truth)
    since = (days - pd.Timestamp("1970-01-01")).dt.days
    assert np.abs(python.predict(table) - since).max() <= 0.5001


def test_iso_dates_and_times_as_targets(run: Run, tmp_path: Path) -> None:
    x = 3 * np.arange(60)
    times = np.datetime64("2024-01-01T00:00") + 90 * x
    table = pd.DataFrame({"x": x, "at": times.astype(str)})
    table.to_csv(tmp_path / "at.csv", index=False)
    out = tmp_path / "out"
    run("select", tmp_path / "at.csv", "-t", "at", "--quiet", "--alpha", "1e-9", "--out", out)
    done = run("predict", out / "model.json", tmp_path / "at.csv")
    assert done.out.splitlines()[1:] == table["at"].tolist()
