"""Rows in time order: noticed, validated in that order, and drifting sensors are not chosen."""

import json

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables

from sparsepath import PathWarning, SparseRLSRegressor

pytestmark = pytest.mark.validated


def chosen(done):
    return json.loads(done.out)["chosen"]["features"]


def test_a_sorted_timestamp_means_time_order(run, tables):
    done = run("select", tables("load"), "--target", "load_mw", "--dates", "parts", "--json")
    assert done.err.startswith("Note: rows are in the order of 'timestamp': ")
    assert done.err.count("--validation time") == 1
    assert set(chosen(done)) == {"workday", "temperature", "hour"}
    assert json.loads(done.out)["honest"]["validation"] == "10 parts in time order"


def test_random_folds_recommend_random_walks(run, tables):
    options = ("--target", "load_mw", "--dates", "parts", "--validation", "10", "--quiet")
    done = run("select", tables("load"), *options)
    assert "Warning: neighbouring rows have correlated errors (0." in done.err  # even if quiet
    assert "use --validation time" in done.err
    assert done.out.count("sensor_") > 3


def test_correlated_errors_mean_time_order(run, tables):
    done = run("select", tables("load"), "--target", "load_mw", "--drop", "timestamp", "--json")
    assert "the error is estimated in the order of the rows instead (--validation time)" in done.err
    assert set(chosen(done)) == {"workday", "temperature", "hour"}
    assert json.loads(done.out)["path"]["parameters"]["validation"] == "time"


def test_shuffled_rows_have_no_order(run, tmp_path):
    table = pd.DataFrame(messy_tables.houses(200)).drop(columns=["price", "lot_size"])
    table.to_csv(tmp_path / "houses.csv", index=False)
    options = ("--target", "living_area", "--dates", "parts", "--drop", "sale_id", "--json")
    done = run("select", tmp_path / "houses.csv", *options)
    assert "order" not in done.err
    assert "10-fold" in json.loads(done.out)["honest"]["validation"]


def test_python_warns():
    rng = np.random.default_rng(0)
    drift = np.cumsum(rng.normal(size=400))
    X = rng.normal(size=(400, 4))
    model = SparseRLSRegressor()
    with pytest.warns(PathWarning, match="neighbouring rows have correlated errors"):
        model.fit(X, X[:, 0] + drift)
    SparseRLSRegressor(validation="time").fit(X, X[:, 0] + drift)
