"""The answer in units that people know, with a baseline; targets as people write them."""

import json

import numpy as np
import pytest
from examples import messy_tables

from sparsepath import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.readers import read_table, write_table

pytestmark = pytest.mark.validated
HOUSES = ("--target", "price", "--missing", "median", "--dates", "parts")


def test_house_sales(run, tables, tmp_path):
    done = run("select", tables("houses"), *HOUSES, "--out", tmp_path / "out")
    assert done.code == 0
    assert "'agent_commission' alone explains 99." in done.err
    first, rest = done.out.split("\nWithout ")
    without = rest.split("\n", 1)[0]
    assert "agent_commission, tax_assessment_after_sale" in first
    assert "e+" not in without
    assert "Why this size: smallest set within one standard error of the best (paired)" in first
    assert done.err.count("agent_commission' alone") == 1
    assert all(name in without for name in messy_tables.HOUSES)
    assert "score_" not in without
    assert "Expected error: RMSE 110,861 (90 % interval 10" in without
    assert "Baseline: RMSE 24" in without
    new = tmp_path / "new.csv"
    messy_tables.write(messy_tables.houses(200, seed=1), new)
    told = run("predict", tmp_path / "out" / "model.json", new, "--target", "price", "--json")
    assert told.code == 0
    assert json.loads(told.out)["error"]["rmse"] < 30_000


def test_a_survey(run, tables):
    options = ("--target", "churned", "--drop", "customer", "--quiet")
    plain = run("select", tables("survey"), *options)
    assert plain.err == ""
    assert "Expected error: error rate 7.71 % (90 % interval 6.8 % to 8.76 %)" in plain.out
    assert (
        "Baseline: error rate 8.05 % (always predicting 'no'); it lies in the interval."
        in plain.out
    )
    weighted = run("select", tables("survey"), *options, "--class-weight", "balanced")
    assert weighted.err == ""
    assert "Of 161 rows of class 'yes', 12" in weighted.out
    assert "Expected error: balanced error 20.4 % (90 % interval 17.9 % to 23.4 %), AUC 0.862" in (
        weighted.out
    )
    assert "Baseline: balanced error 50 % (always predicting one class)." in weighted.out
    alone = run("select", tables("survey"), *options, "--max-features", "1")
    assert alone.err.count("never predict") == 1
    assert "Warning: class 'yes' (8.1 % of the rows) is never predicted; use --class-weight" in (
        alone.err
    )


@pytest.mark.parametrize(
    ("write", "first"),
    [
        (lambda v: f"${v:,.0f}", 1234.0),
        (lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")), 1234.25),
        (lambda v: f"{v:.1f} %", 1234.2),
    ],
    ids=["dollars", "comma", "percent"],
)
def test_targets_that_are_written_as_text(tmp_path, write, first):
    values = 1234.25 + 10.5 * np.arange(40)
    table = {"x": np.arange(40), "y": np.array([write(value) for value in values])}
    write_table(tmp_path / "data.csv", table)
    y = read_table(tmp_path / "data.csv", target="y").y
    assert y.dtype.kind == "f"
    assert y[0] == first


def test_labels_stay_labels(tmp_path):
    labels = np.array(["1 kg", "2 kg"] * 20)
    write_table(tmp_path / "data.csv", {"x": np.arange(40), "y": labels})
    assert read_table(tmp_path / "data.csv", target="y").y[0] == "1 kg"


def test_the_record_prints_its_sentence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    honest = SparseRLSRegressor().fit(X, 5 * X[:, 0] + rng.normal(size=200)).honest_
    assert repr(honest) == f"<Honest: 1 feature. {honest.sentence()}>"
    assert str(honest).startswith(f"RMSE {np.sqrt(honest.error):.4g} on new data (90 % interval")
    assert honest.sentence() in honest._repr_html_()
    classes = SparseRLSClassifier().fit(X, np.where(X[:, 0] > 0.5, "<a>", "b")).honest_
    assert str(classes).startswith("Error rate")
    assert classes._repr_html_().count("<td>") == 4
