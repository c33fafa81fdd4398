"""The method chosen by honest error, beside folds that are fitted one by one."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsepath import (
    AutoSelectorClassifier,
    AutoSelectorRegressor,
    GraftingRegressorCV,
    InputError,
    SparseRLSRegressor,
    honest_error,
)
from sparsepath.methods.table import METHODS

FOLDS = KFold(4, shuffle=True, random_state=0)
LINEAR = {"time_budget": 0.01}  # no budget for anything else


def drawn(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


@pytest.fixture(scope="module")
def product():
    """Of a product and a square, of which no linear model knows anything."""
    X, noise = drawn(160, 17)
    y = 3 * X[:, 0] * X[:, 1] + 2 * X[:, 2] ** 2 + 0.3 * noise
    return X, y, AutoSelectorRegressor(time_budget=5, validation=FOLDS).fit(X, y)


def by_rows(estimator):
    """Folds are made of rows: a row of weight two is in one fold, two equal rows may be in two."""
    checks = ("dense_data", "sparse_data")
    return dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}" for kind in checks), "folds are made of rows"
    )


@parametrize_with_checks(
    [AutoSelectorRegressor(**LINEAR), AutoSelectorClassifier(**LINEAR)],
    expected_failed_checks=by_rows,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_takes_it(estimator, check):
    check(estimator)


def test_an_interaction_is_left_to_a_nonlinear_method(product):
    X, _, model = product
    assert model.method_ in {"elm-fs", "rbf"}
    assert sorted(model.selected_) == [0, 1, 2]
    assert model.honest_.error < 0.1 * model.honest_.empty_error
    assert "less than a tenth of the error of the best linear one" in model.summary()
    np.testing.assert_array_equal(model.transform(X), X[:, np.sort(model.selected_)])
    T, noise = drawn(400, 17, seed=1)
    new = 3 * T[:, 0] * T[:, 1] + 2 * T[:, 2] ** 2 + 0.3 * noise
    low, high = model.honest_.interval
    assert low / 2 < np.square(model.predict(T) - new).mean() < 2 * high


def test_the_losses_are_those_of_fits_without_each_fold(product):
    X, y, model = product
    for name, plain in {
        "grafting": GraftingRegressorCV(validation=None),
        "greedy-rls": SparseRLSRegressor(validation=None),
    }.items():
        one = model.comparison_[name]
        losses = np.zeros((len(y), len(one.left_out.sizes)))
        for train, test in FOLDS.split(X):
            part = plain.fit(X[train], y[train])
            for k, size in enumerate(one.left_out.sizes):
                at = max(s for s in part.path_.sizes if s <= size)
                losses[test, k] = (part.at_size(at).predict(X[test]) - y[test]) ** 2
        np.testing.assert_allclose(one.left_out.losses, losses, rtol=1e-6)


def test_every_way_takes_part_in_the_correction(product):
    """The errors of the chosen way alone would be corrected for the size only."""
    _, _, model = product
    found = honest_error(model, *product[:2], validation=FOLDS)
    ways = {one.way[0] for one in (found.left_out, *found.left_out.others)}
    assert ways == {one.name for one in model.comparison_.contestants}
    assert found.chosen.error == pytest.approx(model.honest_.error)
    assert len(found.left_out.others) > 10  # the penalties, one by one


def test_a_linear_target_is_left_to_a_linear_method():
    X, noise = drawn(120, 5, seed=2)
    model = AutoSelectorRegressor(time_budget=5, validation=5).fit(
        X, X[:, 0] - X[:, 3] + 0.5 * noise
    )
    assert "elm-fs" in {one.name for one in model.comparison_.contestants}
    assert model.method_ in {"greedy-rls", "greedy-rls (alpha auto)"}
    assert sorted(model.selected_) == [0, 3]


def test_what_is_left_out_is_named():
    X, noise = drawn(80, 4)
    model = AutoSelectorRegressor(**LINEAR, validation=5).fit(X, noise + X[:, 0])
    assert set(model.left_out_) == {"elm-fs", "rbf", "mlp-grafting"}
    assert "of the time budget of 0.01 s are left" in model.left_out_["elm-fs"]
    assert model.summary().startswith("No nonlinear model was tried (elm-fs: about")
    sized = AutoSelectorRegressor(2, time_budget=5, validation=5).fit(X, noise + X[:, 0])
    assert sized.left_out_["rbf"] == "it has no max_features"
    assert max(sized.path_.sizes) <= 2
    three = AutoSelectorClassifier(**LINEAR, validation=5).fit(X, np.arange(80) % 3)
    assert three.left_out_["rbf"] == "it is for two classes only"
    with pytest.raises(InputError, match="time_budget=-1"):
        AutoSelectorRegressor(time_budget=-1).fit(X, noise)


def test_the_budget_follows_the_data():
    auto = AutoSelectorRegressor()
    small, large, huge = (
        auto.budget(np.broadcast_to(0.0, shape))
        for shape in ((100, 10), (50_000, 150), (1_000_000, 1000))
    )
    assert small == 3
    assert 3 < large <= 60
    assert huge > 60
    assert AutoSelectorRegressor(time_budget=7).budget(np.zeros((100, 10))) == 7


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_feature(seed):
    X, y = drawn(80, 8, seed=10 + seed)
    model = AutoSelectorRegressor(time_budget=5, validation=5).fit(X, y)
    assert "elm-fs" in {one.name for one in model.comparison_.contestants}
    assert len(model.selected_) == 0
    assert model.honest_.size == 0


def test_without_validation_it_is_greedy_rls():
    X, noise = drawn(60, 5)
    y = X[:, 0] + noise
    model = AutoSelectorRegressor(validation=None).fit(X, y)
    alone = SparseRLSRegressor(validation=None).fit(X, y)
    assert model.method_ == "greedy-rls"
    assert model.comparison_ is None
    assert model.path_.subsets == alone.path_.subsets
    assert model.summary() == "greedy-rls was tried alone."


def test_a_callback_ends_the_work():
    X, noise = drawn(60, 5)
    model = AutoSelectorRegressor(callback=lambda path: True).fit(X, X[:, 0] + noise)
    assert model.honest_ is None
    assert model.path_.sizes[-1] > 0


def test_sample_weights_reach_every_method():
    """Rows without weight count for nothing; methods without weights are left out by name."""
    X, noise = drawn(120, 5, seed=4)
    y, w = X[:, 0] - X[:, 3] + 0.5 * noise, np.ones(120)
    y[::3], w[::3] = 20 * X[::3, 4], 0
    model = AutoSelectorRegressor(time_budget=5, validation=5).fit(X, y, sample_weight=w)
    assert sorted(model.selected_) == [0, 3]
    assert model.honest_.error < 0.5
    assert model.left_out_["elm-fs"] == "it does not support sample weights"
    assert {one.name for one in model.comparison_.contestants} >= {"greedy-rls", "grafting"}
    without = AutoSelectorRegressor(time_budget=5, validation=5).fit(X, y)
    assert sorted(without.selected_) != [0, 3]


def test_sample_weights_are_routed():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        asked = AutoSelectorRegressor().set_fit_request(sample_weight=True)
        assert asked.get_metadata_routing().fit.requests["sample_weight"] is True


def test_a_search_that_is_slower_than_its_estimate_ends(monkeypatch):
    X, noise = drawn(100, 12, seed=5)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * noise
    kind = METHODS["mlp-grafting"].make("regression").__class__
    monkeypatch.setattr(kind, "expected_seconds", lambda self, X: 1e-4)
    model = AutoSelectorRegressor(time_budget=0.5, validation=5).fit(X, y)
    assert "mlp-grafting" not in {one.name for one in model.comparison_.contestants}
    assert "by its search so far, beyond the time budget" in model.left_out_["mlp-grafting"]
    assert model.path_.stopped != "asked to"
