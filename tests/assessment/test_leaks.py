"""Columns that are known only after the target: found, and good features are not."""

import numpy as np
import pandas as pd
import pytest
from examples import messy_tables
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from sparsepath import PathWarning, SparseRLSClassifier, TableSelector
from sparsepath.assessment.leaks import Suspect, suspects
from sparsepath.tables.cells import table_of


def of(table, target, classes, y=None):
    frame = pd.DataFrame(table)
    y = frame[target].to_numpy() if y is None else y
    X = table_of(frame.drop(columns=target))
    return suspects(X, X.columns, y, classes=classes)


def names(found):
    return {each.name for each in found}


def test_a_part_of_the_price_is_a_leak():
    table = messy_tables.houses()
    price = np.array([float(text[1:].replace(",", "")) for text in table["price"]])
    found = of(table, "price", False, price)
    assert names(found) == {*messy_tables.HOUSE_LEAKS}
    assert all(each.is_certain for each in found)
    assert "explains 99." in found[0].sentence


def test_codes_and_amounts_that_determine_the_class_are_leaks():
    found = of(messy_tables.survey(leaks=True), "churned", True)
    assert names(found) == {*messy_tables.SURVEY_LEAKS}
    assert "determines the class" in found[0].sentence


@pytest.mark.parametrize(
    ("draw", "target", "classes"),
    [("survey", "churned", True), ("load", "load_mw", False), ("genes", "tissue", True)],
)
def test_tables_without_leaks(draw, target, classes):
    assert not of(getattr(messy_tables, draw)(), target, classes)


@pytest.mark.parametrize(
    "data", [load_diabetes, load_iris, load_wine, load_breast_cancer], ids=lambda d: d.__name__
)
def test_good_features_are_no_leaks(data):
    X, y = data(return_X_y=True)
    found = suspects(X, range(X.shape[1]), y, classes=data is not load_diabetes)
    assert not any(each.is_certain for each in found)


def test_lags_of_the_target_are_no_leaks():
    y = np.cumsum(np.random.default_rng(0).normal(size=600))
    late = y + np.random.default_rng(1).normal(0, 0.1, 600)
    X = np.column_stack([np.concatenate([y[:2], y[:-2]]), late])
    assert names(suspects(X, ["lag", "late"], y, classes=False)) == {"late"}


def test_missing_values_that_give_the_class_away():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.3
    X = np.column_stack([rng.normal(size=300), np.where(y, rng.normal(size=300), np.nan)])
    assert names(suspects(X, ["x", "cancelled"], y, classes=True)) == {"cancelled"}


def test_a_candidate_is_weighed_against_the_others():
    one = Suspect("x", 0.95, "R2")
    assert not one.is_certain
    assert one.is_far_better(0.4)
    assert not one.is_far_better(0.6)


@pytest.mark.validated
def test_python_warns():
    table = pd.DataFrame(messy_tables.survey(300, leaks=True))
    table = table.drop(columns=["customer", "refund_amount"])
    model = TableSelector(SparseRLSClassifier(3))
    with pytest.warns(PathWarning, match="'status_code' alone determines the class") as caught:
        model.fit(table.drop(columns="churned"), table["churned"])
    assert sum("status_code" in str(each.message) for each in caught) == 1  # not in each fold
