"""A rare class is found, and it is said when it is not."""

import json

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from sparsepath import InputError, SparseRLSClassifier, TableSelector
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


@pytest.mark.parametrize("options", [(), ("--loss", "balanced")])
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
