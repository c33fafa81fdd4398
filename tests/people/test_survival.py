"""Survival times on the command line: the right features, an error that holds, risks in files."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables
from tests.cli.conftest import refused

from sparsepath import GraftingCoxCV, PathWarning, TableSelector, load_model

pytestmark = pytest.mark.validated
OPTIONS = ("--target", "months", "--event", "died", "--missing", "median")


def concordance(time, event, risk):
    """Share of comparable pairs in the right order, pair by pair."""
    right = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            first = event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j]))
            pairs += first
            right += first * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return right / pairs


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(messy_tables.patients())


def test_as_in_python_and_true_on_new_patients(run, tables, table, tmp_path):
    out = tmp_path / "out"
    done = run("select", tables("patients"), *OPTIONS, "--out", out, "--json")
    found = json.loads(done.out)
    assert {*messy_tables.PATIENTS} <= {*found["chosen"]["features"]}
    assert found["task"] == "survival"
    y = np.column_stack((table["months"], table["died"] == "yes"))
    table = table.replace("", None)
    ours = TableSelector(GraftingCoxCV(), missing="median")
    with pytest.warns(PathWarning, match="is it an id"):
        ours.fit(table.drop(columns=["months", "died"]), y)
    assert {*ours.get_feature_names_out()} == {*found["chosen"]["features"]}
    assert ours.honest_.error == pytest.approx(found["honest"]["error"], rel=1e-12)
    new = tables("patients", "new", rows=1500, seed=7)
    predicted = tmp_path / "p.csv"
    done = run("predict", out / "model.json", new, *OPTIONS[:4], "--out", predicted)
    truth, risks = pd.read_csv(new), pd.read_csv(predicted)
    np.testing.assert_allclose(risks["hazard_ratio"], np.exp(risks["risk"]), rtol=1e-12)
    part = slice(300)
    held = concordance(
        truth["months"].to_numpy()[part],
        (truth["died"] == "yes").to_numpy()[part],
        risks["risk"].to_numpy()[part],
    )
    low, high = (1 - end for end in found["honest"]["interval"][::-1])
    assert low - 0.03 < held < high + 0.05
    told = run("predict", out / "model.json", new, *OPTIONS[:4], "--json")
    whole = json.loads(told.out)["error"]["concordance"]
    assert whole == pytest.approx(held, abs=0.04)
    assert "risk score" in (out / "index.html").read_text("utf-8")
    assert load_model(out / "model.json").export("sql").startswith("CASE")


def test_the_run_and_its_python_repeat_it(run, tables, tmp_path):
    run("select", tables("patients"), *OPTIONS, "--out", tmp_path / "out", "--no-validation")
    done = run("run", tmp_path / "out" / "run.toml")
    assert done.err.endswith("The result is the same.\n")


def test_methods_are_compared(run, tables, tmp_path):
    done = run("compare", tables("patients"), *OPTIONS, "--out", tmp_path, "--validation", "5")
    assert done.code == 0, done.err
    assert done.out.startswith("Highest concordance on new data: 0.")
    assert "skipped" not in done.out
    record = json.loads((tmp_path / "compare.json").read_text("utf-8"))
    names = {one["method"] for one in record["methods"]}
    assert names == {"grafting", "univariate-cox", "cox-all"}
    assert all(0.2 < one["error"] < 0.35 for one in record["methods"])
    assert "concordance" in (tmp_path / "compare.html").read_text("utf-8")
    again = run("run", tmp_path / "run.toml")
    assert again.err.endswith("The result is the same.\n")
    refused(run("compare", tables("patients"), *OPTIONS, "--methods", "lars"), "survival")


def test_codes_of_events(run, table, tmp_path):
    chosen = []
    plain = table.drop(columns="ldh_u_per_l")
    for name, codes, option in (
        ("words", ("dead", "alive"), "died"),
        ("numbers", (1, 0), "died"),
        ("coded", (2, 1), "died=2"),
        ("named", ("relapse", "none"), "died=relapse"),
    ):
        file = tmp_path / f"{name}.csv"
        plain.assign(died=np.where(plain["died"] == "yes", *codes)).to_csv(file, index=False)
        asked = ("--target", "months", "--event", option, "--no-validation", "--json")
        chosen.append(json.loads(run("select", file, *asked).out)["chosen"])
    assert all(each == chosen[0] for each in chosen)
    refused(run("select", tmp_path / "named.csv", "-t", "months", "--event", "died"), "died=none")


def test_refused(run, tables, tmp_path):
    file = tables("patients")
    refused(run("select", file, *OPTIONS, "--method", "lars"), "survival", "grafting")
    refused(run("select", file, *OPTIONS, "--task", "regression"), "--event")
    refused(run("select", file, *OPTIONS, "--loss", "huber"), "remove it")
    refused(run("select", file, "-t", "sex", "--event", "died"), "must be times")
    refused(run("select", file, "-t", "months", "--event", "months"), "--event")
    negative = tmp_path / "negative.csv"
    with negative.open("w", newline="") as stream:
        csv.writer(stream).writerows([["x", "t", "e"], *([k * k, k - 3, k % 2] for k in range(30))])
    refused(run("select", negative, "-t", "t", "--event", "e"), "from 0 up")


def test_predict_needs_both(run, tables, tmp_path):
    run("select", tables("patients"), *OPTIONS, "--out", tmp_path, "--no-validation")
    done = run("predict", tmp_path / "model.json", tables("patients"), "--target", "months")
    refused(done, "--event")
