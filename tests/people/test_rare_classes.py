"""A rare class is found, and it is said when it is not."""

import io
import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from sparsepath import InputError, SparseRLSClassifier, TableSelector, load_model
from sparsepath.rls import SparseRLSRegressor

pytestmark = pytest.mark.validated
ARGS = ("--target", "churned", "--drop", "customer")


def drawn(rows=2000, seed=0):
    table = pd.DataFrame(messy_tables.survey(rows, seed=seed)).drop(columns="customer")
    return table.drop(columns="churned"), table["churned"]


def test_as_good_as_weighted_logistic_regression():
    X, y = drawn()
    new, truth = drawn(5000, 100)
    model = TableSelector(SparseRLSClassifier(class_weight="balanced")).fit(X, y)
    assert set(model.get_feature_names_out()) == {*messy_tables.SURVEY}
    mine = balanced_accuracy_score(truth, model.predict(new))
    D = pd.get_dummies(X, dtype=float)
    N = pd.get_dummies(new, dtype=float).reindex(columns=D.columns, fill_value=0)
    other = LogisticRegression(C=0.1, class_weight="balanced", max_iter=2000)
    other.fit((D - D.mean()) / D.std(), y)
    theirs = balanced_accuracy_score(truth, other.predict((N - D.mean()) / D.std()))
    assert mine > theirs - 0.01
    confusion = np.array(model.honest_.confusion)
    assert confusion.sum(1).tolist() == pytest.approx([(y == "no").sum(), (y == "yes").sum()])
    estimated = (np.diag(confusion) / confusion.sum(1)).mean()
    assert abs(estimated - mine) < 0.03


def test_weights_of_classes_are_weights_of_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = np.where(X[:, 0] + rng.normal(size=80) > 1, "yes", "no")
    by_class = SparseRLSClassifier(class_weight={"yes": 4.0, "no": 0.5}).fit(X, y)
    by_sample = SparseRLSClassifier().fit(X, y, sample_weight=np.where(y == "yes", 4.0, 0.5))
    assert by_class.path_.subsets == by_sample.path_.subsets
    np.testing.assert_allclose(by_class.path_.errors, by_sample.path_.errors)
    np.testing.assert_allclose(by_class.path_.honest_errors, by_sample.path_.honest_errors)
    raw = by_class.path_.errors
    alone = SparseRLSClassifier(class_weight="balanced", validation=None).fit(X, y)
    weight = np.where(y == "yes", 1 / (y == "yes").sum(), 1 / (y == "no").sum()) * 40
    same = SparseRLSClassifier(validation=None).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(alone.path_.errors, same.path_.errors)
    assert not np.allclose(alone.path_.errors, raw)


def test_a_weight_of_no_class_is_refused():
    X, y = np.eye(10), np.arange(10) % 2
    for weight in ({5: 1.0}, "balance", {0: 0.0, 1: 1.0}):
        with pytest.raises(InputError, match="class"):
            SparseRLSClassifier(class_weight=weight, validation=None).fit(X, y)
    assert not hasattr(SparseRLSRegressor(), "class_weight")


@pytest.mark.parametrize("options", [(), ("--loss", "balanced", "--alpha", "1")])
def test_on_the_command_line(run, tables, options):
    asked = ("select", tables("survey"), *ARGS, "--json", *options)
    assert ("add --class-weight balanced" in run(*asked).err) == bool(options)
    done = run(*asked, "--class-weight", "balanced")
    found = json.loads(done.out)
    assert set(found["chosen"]["features"]) == {*messy_tables.SURVEY}
    confusion = np.array(found["honest"]["confusion"])
    assert confusion[1, 1] / confusion[1].sum() > 0.7
    assert "add --class-weight" not in done.err


def test_auc_with_text_columns(run, tables):
    done = run("select", tables("survey"), *ARGS, "--loss", "auc", "--max-features", "6", "--json")
    assert done.code == 0
    assert "over folds (--cv 10)" in done.err
    assert set(messy_tables.SURVEY) <= set(json.loads(done.out)["chosen"]["features"])


def test_class_weights_that_are_no_class(run, tables):
    done = run("select", tables("survey"), *ARGS, "--class-weight", "maybe=3")
    assert done.code == 2
    assert "'maybe' is no class of the target; classes are no, yes." in done.err
    done = run("select", tables("survey"), "--target", "calls", "--class-weight", "balanced",
               "--task", "regression")  # fmt: skip
    assert done.code == 2
    assert "--class-weight is for classification" in done.err


@pytest.fixture(scope="module")
def ranked_survey(tmp_path_factory):
    """A saved model of the survey, and new rows."""
    folder = tmp_path_factory.mktemp("ranked")
    X, y = drawn(900)
    model = TableSelector(SparseRLSClassifier(class_weight="balanced", choose=4)).fit(X, y)
    model.save_model(folder / "model.json")
    new, truth = drawn(400, 7)
    new = new.assign(churned=truth, customer=[f"c{i}" for i in range(len(new))])
    new.to_csv(folder / "new.csv", index=False)
    return folder / "model.json", folder / "new.csv", new


def test_rows_ranked_by_risk(run, ranked_survey):
    path, file, new = ranked_survey
    model = load_model(path)
    risk = model.predict_proba(new)[:, 1]
    expected = new["customer"].to_numpy()[np.argsort(-risk, kind="stable")].tolist()
    done = run("predict", path, file, "--id", "customer", "--rank-by", "probability_yes")
    table = pd.read_csv(io.StringIO(done.out))
    assert table["customer"].tolist() == expected
    assert table["rank"].tolist() == [*range(1, 401)]
    assert list(table) == ["rank", "customer", "label", "score", "probability_yes"]
    assert (np.diff(table["probability_yes"]) <= 0).all()
    by_row = run("predict", path, file, "--rank-by", "score", "--json")
    rows = np.array(json.loads(by_row.out)["row"]) - 1
    assert new["customer"].to_numpy()[rows].tolist() == expected
    top = set(expected[:40])  # a tenth of the rows
    share = (new.set_index("customer").loc[[*top], "churned"] == "yes").mean()
    assert share > 3 * (new["churned"] == "yes").mean()


def test_the_same_order_in_other_languages(run, ranked_survey):
    path, _, new = ranked_survey
    risk = load_model(path).predict_proba(new)[:, 1]
    by = pd.Series(np.round(risk, 9), index=new["customer"])
    with closing(sqlite3.connect(":memory:")) as base:
        new.to_sql("customers", base, index=False)
        expression = run("export", path, "--to", "sql-probability").out
        found = base.execute(f"SELECT customer, {expression} AS r FROM customers ORDER BY r DESC")
        assert (np.diff(by[[name for name, _ in found]]) <= 1e-9).all()
    space: dict = {}
    exec(run("export", path, "--to", "python").out, space)
    rows = sorted(new.to_dict("records"), key=lambda row: -space["probabilities"](row)[1])
    assert (np.diff(by[[row["customer"] for row in rows]]) <= 1e-9).all()


def test_a_column_that_is_no_number_ranks_nothing(run, ranked_survey):
    path, file, _ = ranked_survey
    done = run("predict", path, file, "--rank-by", "label")
    assert done.code == 2
    assert "the columns of numbers in the output are score, probability_yes." in done.err
