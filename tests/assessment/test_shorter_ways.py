"""Repetitions by products of columns are those of fits to the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold

from slow_twins.judging import products_of_rows
from sparsepath import GraftingRegressor, GraftingRegressorCV, LarsSelector
from sparsepath.assessment.repetitions import Repetition, searches
from sparsepath.assessment.stability_selection import halves_of
from sparsepath.data.condensed import Products

METHODS = {
    "lars": LarsSelector(),
    "short lars": LarsSelector(4),
    "grafting": GraftingRegressor(0.05),
    "one at a time": GraftingRegressor(0.02, l2=0.01, l0=0.001, max_features=5),
    "plain columns": GraftingRegressor(0.05, standardize=False),
    "grafting-cv": GraftingRegressorCV(n_l1s=8, cv=3),
}


def problem(seed, m=70, n=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) * 10.0 ** rng.integers(-2, 3, n) + rng.normal(0, 5, n)
    X[:, 3] = X[:, 2] + 0.3 * np.std(X[:, 2]) * rng.standard_normal(m)
    signal = (X - X.mean(0)) / X.std(0)
    return X, signal @ np.array([2, -1, 1, 0, 0, 0, 0, 0.5, 0]) + rng.standard_normal(m) + 7


def again(y):
    rng = np.random.default_rng(1)
    folds = [Repetition(rows=train) for train, _ in KFold(4).split(y)]
    shuffles = [Repetition(order=rng.permutation(len(y))) for _ in range(2)]
    return [*folds, *halves_of(LarsSelector(), y, 4), Repetition(), *shuffles]


def check(found, estimator, X, y, one):
    y = y if one.order is None else y[one.order]
    rows = np.arange(len(y)) if one.rows is None else one.rows
    model = clone(estimator).set_params(validation=None).fit(X[rows], y[rows])
    path = model.path_
    assert sorted(found.subsets) == list(path.sizes)
    away = np.arange(0, len(y), 3)
    outputs = found.outputs(away)
    for size in path.sizes:
        assert tuple(found.subsets[size]) == path.subset(size)
        assert_allclose(outputs[size][:, 0], model.at_size(size).predict(X[away]), rtol=1e-6)
        if one.rows is None:
            assert_allclose(found.error(size), path.error(size), rtol=1e-7)
    assert found.criterion == path.error_label


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("part", ["all", "most", "few"])
def test_few_rows_have_the_products_of_the_many(part, standardize):
    for seed in range(4):
        X, y = problem(seed)
        drawn = np.random.default_rng(seed).permutation(70)
        rows = {"all": None, "most": drawn[:55], "few": drawn[:20]}[part]
        few = Products(X, standardize=standardize).condensed(y, rows)
        inside = range(70) if rows is None else rows
        centre, scale, mean, products = products_of_rows(X, y, inside, standardize)
        stacked = np.column_stack([few.Z, few.y])
        sizes = np.sqrt(np.diag(products))
        assert_allclose(
            stacked.T @ stacked / np.outer(sizes, sizes),
            products / np.outer(sizes, sizes),
            atol=1e-11,
        )
        assert_allclose(few.centre, centre, rtol=1e-12)
        assert_allclose(few.scale, scale, rtol=1e-11)
        assert few.mean == pytest.approx(mean, rel=1e-13)
        assert few.n_rows == len(inside)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_as_fits(name, seed, monkeypatch):
    X, y = problem(seed)
    estimator = METHODS[name]
    assert estimator._search_many(X, y, {}, again(y)) is not None, "the shorter way is taken"
    monkeypatch.setattr("sparsepath.assessment.repetitions._model", None)  # and no other
    for found, one in zip(searches(estimator, X, y, {}, again(y)), again(y), strict=True):
        check(found, estimator, X, y, one)


@pytest.mark.parametrize("name", ["lars", "grafting", "grafting-cv"])
def test_parts_that_need_the_rows_themselves(name):
    """A copy, a constant column, one that is constant in a part, a target that is."""
    X, y = problem(0)
    X[:, 5], X[:, 6] = X[:, 4], 3.0
    X[:, 8] = np.arange(70) == 69
    y[:35] = 1.0
    parts = [Repetition(rows=np.arange(69)), Repetition(rows=np.arange(20, 70))]
    estimator = METHODS[name]
    for found, one in zip(searches(estimator, X, y, {}, parts), parts, strict=True):
        check(found, estimator, X, y, one)
    [found] = searches(estimator, X, y, {}, [Repetition(rows=np.arange(30))])
    assert found.outputs(np.arange(3))[0].ravel().tolist() == [1.0] * 3


def test_condensed_rows_have_the_products_of_the_rows():
    X, y = problem(2)
    rows = np.arange(10, 70)
    few = Products(X).condensed(y, rows)
    Z = (X[rows] - X[rows].mean(0)) / X[rows].std(0)
    t = y[rows] - y[rows].mean()
    assert few.Z.shape == (10, 9)
    assert_allclose(few.Z.T @ few.Z, Z.T @ Z, atol=1e-9)
    assert_allclose(few.Z.T @ few.y, Z.T @ t, atol=1e-9)
    assert_allclose(few.y @ few.y, t @ t)
    assert few.n_rows == 60
    assert Products(X).condensed(y, np.array([1, 1, 2, 3])) is None
