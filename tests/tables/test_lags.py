"""Earlier rows as features: the columns, the parts in time, predictions from raw rows."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit
from tests.cli.conftest import refused, run  # noqa: F401

from sparsepath import (
    InputError,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    load_model,
)

pytestmark = pytest.mark.validated


def series(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    sun = rng.normal(size=rows)
    level = np.zeros(rows)
    for t in range(3, rows):
        level[t] = 0.6 * level[t - 1] - 0.4 * level[t - 3] + 0.8 * sun[t - 1] + 0.3 * rng.normal()
    day = np.datetime64("2024-01-01") + np.arange(rows)
    return pd.DataFrame({"day": day.astype(str), "sun": sun, "level": level})


def selector(**options):
    return TableSelector(SparseRLSRegressor(), dates="parts", **options)


def by_shifts(table, lags, horizon):
    """The columns and targets by pandas, and the row of each."""
    made = {} if not horizon else {"level": table["level"]}
    made["sun"] = table["sun"]
    for name, steps in lags.items():
        made |= {f"{name} lag {k}": table[name].shift(k) for k in steps}
    frame = pd.DataFrame(made).assign(target=table["level"].shift(-horizon)).dropna()
    return frame.drop(columns="target"), frame["target"].to_numpy()


def ridge(X, y, Z):
    """Ridge regression of standardised columns with a penalty of 1, and an intercept."""
    mean, spread = X.mean(0), X.std(0)
    A = (X - mean) / spread
    beta = np.linalg.solve(A.T @ A + np.eye(A.shape[1]), A.T @ (y - y.mean()))
    return y.mean() + (Z - mean) / spread @ beta


@pytest.mark.parametrize(("lags", "horizon"), [({"level": [1, 3]}, 0), ({"sun": [2]}, 5)])
def test_honest_error_is_that_of_refits_before_each_part(lags, horizon):
    table = series().drop(columns="day")
    frame, y = by_shifts(table, lags, horizon)
    n = frame.shape[1]
    model = TableSelector(SparseRLSRegressor(n, choose=n), lags=lags, horizon=horizon)
    model.fit(table, "level")
    assert {*model.path_.feature_names} == {*frame.columns}
    off = []
    X = frame.to_numpy()
    for train, test in TimeSeriesSplit(10, gap=max(horizon - 1, 0)).split(X):
        off.append((ridge(X[train], y[train], X[test]) - y[test]) ** 2)
        if horizon:  # no target of training lies beyond the first row of the part
            assert train.max() + horizon <= test.min()
    assert model.honest_.error == pytest.approx(np.concatenate(off).mean(), rel=1e-9)
    whole = ridge(X, y, X)
    predicted = model.predict(table)
    first = max(k for steps in lags.values() for k in steps)
    assert np.isnan(predicted[:first]).all()
    np.testing.assert_allclose(predicted[first : len(table) - horizon], whole, rtol=1e-9)
    assert len(predicted) == len(table)


def test_finds_the_lags_and_predicts_from_few_raw_rows(tmp_path):
    table = series()
    model = selector(lags={"level": 6, "sun": 4}).fit(table, "level")
    assert {*model.path_.names(3)} == {"level lag 1", "level lag 3", "sun lag 1"}
    assert "level" not in model.path_.feature_names
    known = model.predict(table)
    np.testing.assert_allclose(model.predict(table.iloc[-9:])[-3:], known[-3:], rtol=1e-12)
    model.save_model(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(loaded.predict(table[["level", "sun"]]), known, rtol=1e-12)
    assert loaded.at_size(1).predict(table).shape == known.shape
    later = series(400).iloc[280:].reset_index(drop=True)
    assert model.score(later, later["level"]) > 0.7


def test_classes_with_a_horizon():
    table = series()
    table["up"] = np.where(table["level"] > 0, "yes", "no")
    model = TableSelector(SparseRLSClassifier(), dates="parts", lags={"level": 3}, horizon=2)
    model.fit(table, "up")
    assert "in time order" in model.honest_.validation
    predicted = model.predict(table)
    first = int(np.flatnonzero([label is not None for label in predicted])[0])
    assert first <= 3
    assert len(predicted) == len(table)
    assert {*predicted[first:]} <= {"yes", "no"}
    assert model.predict_proba(table).shape == (300, 2)


def test_target_by_name_without_lags():
    table = series().drop(columns="day")
    ours = TableSelector().fit(table, "sun")
    other = TableSelector().fit(table[["level"]], table["sun"])
    assert ours.path_.errors.tolist() == other.path_.errors.tolist()
    assert ours.honest_ == other.honest_


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"lags": {"level": 0}}, "from 1 up"),
        ({"lags": {"moon": 1}}, "no column 'moon'"),
        ({"lags": ["level"]}, "dict of columns"),
        ({"horizon": -1}, "0 or more"),
        ({"lags": {"level": 300}}, "rows or more"),
        ({"lags": {"level": 2}, "validation": 10}, "time order"),
    ],
)
def test_refused_in_python(options, said):
    with pytest.raises(InputError, match=said):
        selector(**options).fit(series(), "level")


def test_command_line_as_in_python(run, tmp_path):  # noqa: F811
    table, file, out = series(), tmp_path / "t.csv", tmp_path / "out"
    table.to_csv(file, index=False)
    asked = ("--target", "level", "--dates", "parts", "--lags", "level:1-6,sun:1-4")
    found = json.loads(run("select", file, *asked, "--out", out, "--json").out)
    ours = selector(lags={"level": 6, "sun": 4}).fit(pd.read_csv(file), "level")
    assert found["chosen"]["features"] == list(ours.path_.names(len(ours.selected_)))
    assert found["honest"]["error"] == pytest.approx(ours.honest_.error, rel=1e-12)
    assert run("run", out / "run.toml").err.endswith("The result is the same.\n")
    done = run("predict", out / "model.json", file, "--target", "level")
    expected = ours.predict(pd.read_csv(file))
    lines = done.out.splitlines()
    assert lines[1:4] == [""] * 3 or lines[1:4] == ['""'] * 3
    assert float(lines[-1]) == pytest.approx(expected[-1], rel=1e-12)
    assert "the first 3 rows have no prediction" in done.err
    assert "On 297 rows: RMSE" in done.err
    told = run("predict", out / "model.json", file, "--json")
    assert json.loads(told.out)["prediction"][:4] == [None] * 3 + [pytest.approx(expected[3])]
    for option, word in (
        (("--validation", "10"), "--validation time"),
        (("--null", "19"), "depend on each other"),
        (("--sample", "50"), "--sample"),
        (("--missing", "drop-rows"), "drop-rows"),
    ):
        refused(run("select", file, *asked, *option), word)
    refused(run("select", file, *asked[:-1], "level:0-3"), "level:0-3", "load:1-24")


@pytest.mark.parametrize("option", [("--horizon", "2"), ("--lags", "level:1-3")])
def test_tables_of_numbers_on_the_command_line(run, tmp_path, option):  # noqa: F811
    """A table without text needs no encoding, but its rows still go through the selector."""
    file = tmp_path / "t.csv"
    series().drop(columns="day").to_csv(file, index=False)
    options = {"horizon": 2} if option[0] == "--horizon" else {"lags": {"level": 3}}
    found = json.loads(run("select", file, "--target", "level", *option, "--json").out)
    ours = TableSelector(SparseRLSRegressor(), **options).fit(pd.read_csv(file), "level")
    assert found["chosen"]["features"] == list(ours.path_.names(len(ours.selected_)))
    assert found["honest"]["error"] == pytest.approx(ours.honest_.error, rel=1e-12)
