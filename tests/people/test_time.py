"""Rows in time order: noticed, validated in that order, and drifting sensors are not chosen."""

import json

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables

from sparsepath import AutoSelectorRegressor, PathWarning, SparseRLSRegressor

pytestmark = pytest.mark.validated


def chosen(done):
    return json.loads(done.out)["chosen"]["features"]


def test_a_sorted_timestamp_means_time_order(run, tables):
    done = run("select", tables("load"), "--target", "load_mw", "--dates", "parts", "--json")
    assert done.err.startswith("Note: rows are in the order of 'timestamp': ")
    assert done.err.count("--validation time") == 1
    assert set(chosen(done)) == set(messy_tables.LOAD)
    assert json.loads(done.out)["honest"]["validation"] == "10 parts in time order"


def test_hours_of_the_clock_are_a_category(run, tables, tmp_path):
    out = tmp_path / "out"
    options = ("--target", "load_mw", "--dates", "parts", "--out", out, "--json")
    found = json.loads(run("select", tables("load"), *options).out)
    assert found["chosen"]["r2"] > 0.8  # 0.34 with the hours as a number
    table = pd.read_csv(tables("load"))
    table.iloc[[17]].to_csv(tmp_path / "one.csv", index=False)  # 17h, by itself a quantity
    ours = [
        json.loads(run("predict", out / "model.json", file, "--json").out)["prediction"]
        for file in (tmp_path / "one.csv", tables("load"))
    ]
    assert ours[0][0] == ours[1][17]


def test_hours_as_a_quantity(run, tmp_path):
    rng = np.random.default_rng(0)
    hours = rng.integers(1, 40, 100)
    table = pd.DataFrame({"work": [f"{h}h" for h in hours], "x": rng.normal(size=100)})
    table.assign(pay=20.0 * hours + rng.normal(size=100)).to_csv(tmp_path / "work.csv", index=False)
    done = run("select", tmp_path / "work.csv", "--target", "pay", "--json")
    assert "column 'work' is text that was read as numbers in h" in done.err
    assert chosen(done) == ["work"]


def test_weekday_and_hour_of_a_timestamp(run, tmp_path):
    """A peak at noon and idle weekends, in a timestamp alone: no straight line fits either."""
    rng = np.random.default_rng(41)
    when = pd.date_range("2022-05-02", periods=2400, freq="h")
    noon = np.exp(-(((when.hour - 12) / 3.0) ** 2))
    load = 50 * noon - 20 * (when.day_of_week >= 5) + rng.normal(0, 3, len(when))
    walks = {f"walk_{k}": np.cumsum(rng.normal(size=len(when))) for k in range(4)}
    path = tmp_path / "clock.csv"
    pd.DataFrame({"when": when, **walks, "load": load}).to_csv(path, index=False)
    refused = run("select", path, "--target", "load")
    assert "--dates clock times of day to indicators of weekday and hour" in refused.err
    found = {
        how: json.loads(run("select", path, "--target", "load", "--dates", how, "--json").out)
        for how in ("parts", "clock")
    }
    assert found["clock"]["chosen"]["features"] == ["when"]
    assert found["clock"]["chosen"]["rmse"] == pytest.approx(3.0, rel=0.05)
    assert found["parts"]["chosen"]["rmse"] > 15


def test_random_folds_recommend_random_walks(run, tables):
    options = ("--target", "load_mw", "--dates", "parts", "--validation", "10", "--quiet")
    done = run("select", tables("load"), *options)
    assert "Warning: neighbouring rows have correlated errors (0." in done.err  # even if quiet
    assert "use --validation time" in done.err
    assert done.out.count("sensor_") > 3


@pytest.mark.parametrize("method", [(), ("--method", "greedy-rls")])
def test_correlated_errors_mean_time_order(run, tables, method):
    options = ("--target", "load_mw", "--drop", "timestamp", "--json", *method)
    done = run("select", tables("load"), *options)
    assert "the error is estimated in the order of the rows instead (--validation time)" in done.err
    assert set(chosen(done)) == set(messy_tables.LOAD)
    found = json.loads(done.out)
    assert found["honest"]["validation"] == "10 parts in time order"
    if method:  # the parameters are those of the chosen method, which is validated from outside
        assert found["path"]["parameters"]["validation"] == "time"


@pytest.mark.parametrize(("method", "folds"), [("auto", "5-fold"), ("greedy-rls", "10-fold")])
def test_shuffled_rows_have_no_order(run, tmp_path, method, folds):
    table = pd.DataFrame(messy_tables.houses(200)).drop(columns=["price", "lot_size"])
    table.to_csv(tmp_path / "houses.csv", index=False)
    options = ("--target", "living_area", "--dates", "parts", "--drop", "sale_id", "--json")
    done = run("select", tmp_path / "houses.csv", *options, "--method", method)
    assert "order" not in done.err
    assert folds in json.loads(done.out)["honest"]["validation"]


def test_python_warns():
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(size=400))
    X = rng.normal(size=(400, 4))
    model = SparseRLSRegressor()
    with pytest.warns(PathWarning, match="neighbouring rows have correlated errors"):
        model.fit(X, X[:, 0] + drift)
    SparseRLSRegressor(validation="time").fit(X, X[:, 0] + drift)


def test_a_flexible_model_does_not_hide_the_order_of_the_rows():
    """It interpolates between neighbours, and its errors with random folds seem independent."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(300, 4)), axis=0)
    y = X[:, 0] + 0.5 * np.cumsum(rng.normal(size=300)) + rng.normal(size=300)
    with pytest.warns(PathWarning, match="neighbouring rows have correlated errors"):
        model = AutoSelectorRegressor(time_budget=60).fit(X, y)
    assert model.method_ not in ("greedy-rls", "grafting")
    assert model.honest_.neighbours > 0.5
    order = rng.permutation(300)
    assert AutoSelectorRegressor(time_budget=60).fit(X[order], y[order]).honest_.neighbours is None
