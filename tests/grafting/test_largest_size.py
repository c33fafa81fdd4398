"""``max_features`` of paths over l1: the path of optima ends before the first larger model."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold

from slow_twins import grafting as twin
from sparsepath import GraftingClassifierCV, GraftingCoxCV, GraftingRegressorCV
from sparsepath.errors import InputError
from sparsepath.system.interrupts import Stop


def data(m=120, n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, :6] @ [3.0, -2.0, 1.5, 1.0, 0.6, 0.4] + rng.standard_normal(m)


def of_kind(kind):
    """An estimator, features and targets."""
    X, y = data()
    if kind == "softmax":
        return GraftingClassifierCV(), *load_iris(return_X_y=True)
    if kind == "survival":
        times = np.column_stack([np.exp(-y / 3), np.arange(len(y)) % 3 > 0])
        return GraftingCoxCV(n_l1s=8, cv=3), X, times
    if kind in ("logistic", "sparse logistic"):
        X = sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) if kind[:6] == "sparse" else X
        return GraftingClassifierCV(), X, y > 0
    if kind == "poisson":
        return GraftingRegressorCV(loss="poisson"), X, np.round(np.exp(y / 4))
    if kind == "wide":
        X, y = data(30, 400)
        return GraftingRegressorCV(n_l1s=5), X, y
    return GraftingRegressorCV(loss=kind), X, y


@pytest.mark.parametrize(
    "kind",
    ["squared", "huber", "poisson", "logistic", "sparse logistic", "softmax", "survival", "wide"],
)
def test_the_path_is_that_without_a_limit_up_to_this_size(kind):
    model, X, y = of_kind(kind)
    free = clone(model).set_params(validation=None).fit(X, y)
    limit = 2 if kind == "softmax" else 4
    model.set_params(validation=None, max_features=limit).fit(X, y)
    kept = len(model.l1s_)
    assert max(model.path_.sizes) <= limit < max(free.path_.sizes)
    assert model.l1s_ == pytest.approx(free.l1s_[:kept])
    assert model.cv_errors_ == pytest.approx(free.cv_errors_[:kept], rel=1e-7)
    assert model.path_.stopped == Stop.MAX_FEATURES
    beyond = clone(free).set_params(l1s=free.l1s_[: kept + 1], choose="min").fit(X, y)
    assert max(beyond.path_.sizes) > limit
    for size in set(model.path_.sizes) & {0, 1, limit}:
        assert model.path_.subset(size) == free.path_.subset(size)


def test_each_model_is_the_optimum_of_the_slow_reference():
    X, y = data()
    model = GraftingRegressorCV(max_features=5, validation=None, choose="min").fit(X, y)
    s = np.full(len(y), 1 / len(y))
    Z = twin.standardise(X, s)
    for size in model.path_.sizes:
        there = model.at_size(size)
        w, _, criterion = twin.convex("squared", Z, y, s, there.l1_, 0.0)[:3]
        assert there.criterion_ == pytest.approx(criterion, rel=1e-8)
        assert set(there.selected_) == set(np.flatnonzero(np.abs(w) > 1e-7))


@pytest.mark.parametrize("m", [120, 60])  # from 100 rows on products of columns are shared
def test_honest_errors_repeat_the_whole_search(m):
    X, y = data(m)
    outer = KFold(4)
    model = GraftingRegressorCV(max_features=3, cv=3, n_l1s=12, validation=outer, choose="min")
    model.fit(X, y)
    squares = np.zeros(m)
    for train, test in outer.split(X):
        inside = clone(model).set_params(validation=None).fit(X[train], y[train])
        size = max(k for k in inside.path_.sizes if k <= model.honest_.size)
        squares[test] = (inside.at_size(size).predict(X[test]) - y[test]) ** 2
    honest = model.path_.honest_error(model.honest_.size)
    assert honest == pytest.approx(squares.mean(), rel=1e-6)


def test_the_path_starts_where_nothing_has_entered():
    X, y = data()
    small = {"l1s": [0.01, 0.001], "validation": None, "max_features": 2}
    model = GraftingRegressorCV(**small).fit(X, y)
    assert model.path_.sizes == (0,)
    centred = X - X.mean(0)
    largest = np.abs(centred.T @ (y - y.mean())) / np.sqrt(len(y) * (centred**2).sum(0))
    assert model.l1s_ == pytest.approx([largest.max()])
    assert GraftingRegressorCV(**small | {"max_features": 0}).fit(X, y).path_.sizes == (0,)


def test_features_without_penalty_count():
    X, y = data()
    factors = np.r_[np.zeros(3), np.ones(22)]
    with pytest.raises(InputError, match=r"leave 3 features unpenalised.*max_features=2"):
        GraftingRegressorCV(l1_factors=factors, max_features=2).fit(X, y)
    model = GraftingRegressorCV(l1_factors=factors, max_features=4, validation=None).fit(X, y)
    assert model.path_.sizes == (3, 4)


def test_single_steps_end_each_model():
    X, y = data()
    one = {"max_features": 3, "validation": None, "n_l1s": 6}
    single = GraftingRegressorCV(steps="single", **one).fit(X, y)
    assert len(single.l1s_) == 6
    assert max(single.path_.sizes) == 3
    batch = GraftingRegressorCV(steps="batch", **one).fit(X, y)
    assert batch.path_.sizes == GraftingRegressorCV(**one).fit(X, y).path_.sizes
    with pytest.raises(InputError, match="l0 needs steps='single'"):
        GraftingRegressorCV(l0=0.1, steps="batch").fit(X, y)
