"""What judging will cost is told before it is spent, by the road that will be taken."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from sparsepath import (
    InputError,
    LarsSelector,
    LSSVMForwardRegressor,
    MLPGraftingRegressorCV,
    MutualInfoRegressor,
    MutualInfoSelector,
    SparseRLSRegressor,
    plan,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 5))
y = X[:, 0] + rng.standard_normal(40)


class Counting(LarsSelector):
    fits = 0
    _search_many = None  # no shorter way
    _fold_seconds = None  # one assignment to folds

    def fit(self, X, y):
        type(self).fits += 1
        return super().fit(X, y)


def kinds(found):
    return [(each.what, each.times) for each in found.repeated]


def test_every_kind_is_counted_and_nothing_is_fitted(monkeypatch):
    monkeypatch.setattr(Counting, "fits", 0)
    found = plan(Counting(3), X, y, null=200, stability=50)
    folds, shuffled, halves = kinds(found)
    assert (folds[1], shuffled[1], halves[1]) == (10, 200, 50)
    assert found.times == 261
    assert Counting.fits == 0
    assert found.search == Counting(3).expected_seconds(X)
    shares = [each.seconds / found.search for each in found.repeated]
    assert shares == pytest.approx((10 * 0.9, 200, 50 * 0.5))
    assert found.seconds == pytest.approx(found.to_frame()["seconds"].sum())
    assert "in all 261 searches in about" in found.sentence()


def test_a_fitted_one_knows_what_it_took(monkeypatch):
    model = Counting(3, validation=KFold(3)).fit(X, y)
    monkeypatch.setattr(Counting, "fits", 0)
    known = plan(model, X, y)
    assert Counting.fits == 0
    assert known.search == model.path_.moves[-1].seconds
    assert kinds(known)[0][1] == 3


def test_any_other_estimator_is_timed_on_parts_of_the_rows(monkeypatch):
    now, seen = [0.0], []

    class Cubic(LinearRegression):
        def fit(self, X, y):
            seen.append(len(X))
            now[0] += (len(X) / 800) ** 3  # one second for all
            return super().fit(X, y)

    monkeypatch.setattr("sparsepath.assessment.planning.perf_counter", lambda: now[0])
    found = plan(Cubic(), np.zeros((800, 1)), np.arange(800.0), validation=4)
    assert seen == [100, 100, 200]
    assert found.search == pytest.approx(1.0)
    assert found.seconds == pytest.approx(1 + 4 * 0.75)


def test_what_is_not_asked_for_costs_nothing():
    found = plan(SparseRLSRegressor(2, validation=None), X, y)
    assert found.repeated == ()
    assert found.sentence().startswith("The search takes about")
    assert kinds(plan(LinearRegression(), X, y, null=2))[1][1] == 10  # five folds of each shuffle
    with pytest.raises(InputError, match="n_permutations=-1"):
        plan(LarsSelector(2), X, y, null=-1)


@pytest.mark.parametrize(
    "model",
    [
        LSSVMForwardRegressor(),
        MutualInfoRegressor(),
        MutualInfoSelector(),
        MLPGraftingRegressorCV(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_long_search_is_estimated_and_not_made(model, monkeypatch):
    """The estimate is that of the estimator; nothing is fitted."""

    def refuse(*_, **__):
        raise AssertionError("a search was made")

    monkeypatch.setattr(type(model), "fit", refuse)
    X = np.zeros((3000, 400))
    told = plan(model, X, np.arange(3000.0), validation=None)
    assert told.search == pytest.approx(model.expected_seconds(X))
    assert model.expected_seconds(X) > 2.9 * model.expected_seconds(X[:1000])
