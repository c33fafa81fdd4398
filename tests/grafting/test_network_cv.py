"""Growing networks chosen by cross-validation: what the grid of l0 means, errors, the contract."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import check_estimator

from sparsepath import (
    InputError,
    MLPGraftingClassifier,
    MLPGraftingClassifierCV,
    MLPGraftingRegressor,
    MLPGraftingRegressorCV,
)

QUICK = {
    "max_connections": 2, "l1s": [1e-2], "n_l0s": 2, "cv": 2, "patience": 1, "tol": 1e-2,
    "max_iter": 10, "look_ahead": 1,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "estimator", [MLPGraftingRegressorCV(**QUICK), MLPGraftingClassifierCV(**QUICK)], ids=repr
)
def test_scikit_learn_contract(estimator):
    check_estimator(estimator)


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.2 * rng.standard_normal(90)


SHARED = {"max_connections": 8, "tol": 1e-4, "max_iter": 50, "look_ahead": 2}


@pytest.fixture(scope="module")
def chosen(product):
    l0s = [0.1, 0.02, 0.005]
    model = MLPGraftingRegressorCV([1e-3], l0s, cv=KFold(3), patience=99, **SHARED)
    return model.fit(*product)


def test_one_growth_holds_the_networks_of_every_l0(product, chosen):
    """Every entry of ``cv_errors_`` and every size of the path, each from a growth of its own."""
    X, y = product
    for k, (train, test) in enumerate(KFold(3).split(X)):
        for i, l1 in enumerate(chosen.l1s_):
            for j, l0 in enumerate(chosen.l0s_):
                one = MLPGraftingRegressor(l1, 0, l0, **SHARED).fit(X[train], y[train])
                error = ((one.predict(X[test]) - y[test]) ** 2).mean()
                assert chosen.cv_errors_[k, i, j] == pytest.approx(error, rel=1e-6)
    for size in chosen.path_.sizes[1:]:
        settled = chosen.at_size(size)
        one = MLPGraftingRegressor(settled.l1_, 0, settled.l0_, **SHARED).fit(X, y)
        assert settled.predict(X) == pytest.approx(one.predict(X))
        assert settled.criterion_ == pytest.approx(one.criterion_)
        assert [line.feature for line in settled.history_] == [
            line.feature for line in one.history_ if line.action != "undo"
        ]
        j = int(np.flatnonzero(chosen.l0s_ == settled.l0_)[0])
        i = int(np.flatnonzero(chosen.l1s_ == settled.l1_)[0])
        assert chosen.path_.error(size) == pytest.approx(chosen.cv_errors_[:, i, j].mean())
    null = np.mean([((y[~t] - y[t].mean()) ** 2).mean() for t in _train_masks(len(y))])
    assert chosen.path_.error(0) == pytest.approx(null)


def _train_masks(m):
    for train, _ in KFold(3).split(np.zeros(m)):
        mask = np.zeros(m, dtype=bool)
        mask[train] = True
        yield mask


def test_the_right_inputs_and_workers_do_not_matter(product, chosen):
    assert sorted(chosen.selected_.tolist()) == [0, 1, 2]
    other = MLPGraftingRegressorCV(
        [1e-3], chosen.l0s_, cv=KFold(3), patience=99, n_jobs=2, **SHARED
    ).fit(*product)
    assert np.array_equal(other.cv_errors_, chosen.cv_errors_)
    assert other.path_.subsets == chosen.path_.subsets


def test_l1_is_chosen_by_the_first_split(product, chosen):
    """On the others the value that lost is not tried; what is tried is what it would be alone."""
    l1s = [1.0, 1e-3]  # nothing grows with the first
    both = MLPGraftingRegressorCV(
        l1s, chosen.l0s_, cv=KFold(3), patience=99, validation=None, **SHARED
    ).fit(*product)
    assert np.isnan(both.cv_errors_[1:, 0]).all()
    assert np.isfinite(both.cv_errors_[0]).all()
    assert np.array_equal(both.cv_errors_[:, 1], chosen.cv_errors_[:, 0])
    assert both.l1_ == 1e-3
    assert both.path_.subsets == chosen.path_.subsets


def test_patience_ends_growths_early(product):
    rng = np.random.default_rng(3)
    X, y = product[0], rng.standard_normal(90)
    calls = []
    model = MLPGraftingRegressorCV([1e-4], cv=3, patience=1, callback=calls.append, **SHARED)
    model.fit(X, y)
    assert len(model.selected_) == 0
    small = model.cv_errors_[:, 0]
    assert np.array_equal(small[:, -1], small[:, -2])


def test_classes_error_rates_and_refusals(product):
    X, y = product
    labels = np.where(y > 0.5, "high", np.where(y < -0.5, "low", "middle"))
    model = MLPGraftingClassifierCV([1e-2], [0.05, 0.02], error="zero_one", cv=3, **SHARED)
    model.fit(X, labels)
    assert 0 < model.cv_errors_.min() < model.cv_errors_.max() < 1
    one = MLPGraftingClassifier(model.l1_, 0, model.l0_, **SHARED).fit(X, labels)
    assert (one.predict(X) == model.predict(X)).all()
    for bad in ({"l0s": []}, {"l1s": [-1.0]}, {"n_l0s": 0}, {"least": 0.5}, {"patience": 0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            MLPGraftingRegressorCV(**bad).fit(X, y)
    with pytest.raises(InputError, match="error="):
        MLPGraftingClassifierCV(error="auc").fit(X, labels)
