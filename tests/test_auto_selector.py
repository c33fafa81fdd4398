"""The method chosen by honest error, beside folds that are fitted one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsepath import (
    AutoSelectorClassifier,
    AutoSelectorRegressor,
    ELMFSRegressor,
    GraftingRegressorCV,
    InputError,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    honest_error,
    load_model,
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
        "elm-fs": ELMFSRegressor(random_state=0, validation=None),
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
    assert "not clearly below" in model.left_out_["elm-fs"]
    assert model.summary().startswith("A nonlinear model promises no clear gain (tried: elm-fs")
    assert model.method_ == "greedy-rls"
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
    few = AutoSelectorRegressor(validation=5).fit(X[:15], noise[:15])
    assert "(grafting, elm-fs, rbf, mlp-grafting: fewer than 20 rows" in few.summary()
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
    assert model.left_out_["elm-fs"] == "it has no sample weights"
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


def test_a_signal_that_error_rates_do_not_show_is_found():
    """With 18 % positives few decisions change, but the probabilities do."""
    X, noise = drawn(200, 6, seed=3)
    y = np.where(X[:, 0] - X[:, 1] + noise > 1.6, "yes", "no")
    model = AutoSelectorClassifier(**LINEAR, validation=5).fit(X, y)
    assert sorted(model.selected_)[:2] == [0, 1]
    assert model.honest_.measure == "log loss"
    alone = SparseRLSClassifier(validation=5).fit(X, y).honest_
    assert model.honest_.error == pytest.approx(alone.error, rel=0.1)


def test_scores_of_nonlinear_methods_are_judged_by_calibrated_probabilities():
    X, noise = drawn(200, 4, seed=6)
    y = X[:, 0] * X[:, 1] + 0.2 * noise > 0
    model = AutoSelectorClassifier(time_budget=5, validation=5).fit(X, y)
    assert model.method_ == "elm-fs"
    T, noise = drawn(2000, 4, seed=7)
    truth = T[:, 0] * T[:, 1] + 0.2 * noise > 0
    p = model.predict_proba(T)
    loss = -np.log(np.where(truth, p[:, 1], p[:, 0])).mean()
    low, high = model.honest_.interval
    assert low / 1.5 < loss < 1.5 * high


@pytest.mark.parametrize("classes", [False, True])
def test_a_table_of_numbers_is_an_array(classes):
    """The preparation of the table repeats everything on its own road; with few columns, elm-fs."""
    X, noise = drawn(160, 5, seed=8)
    y = 3 * X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * noise
    auto = AutoSelectorRegressor(time_budget=5, validation=5)
    if classes:
        y, auto = (
            np.where(y > 1, "a", "b"),
            AutoSelectorClassifier(**LINEAR, threshold="balanced", validation=5),
        )
    one = auto.fit(X, y)
    table = pd.DataFrame(X, columns=list("abcde"))
    other = TableSelector(auto, validation=5).fit(table, y)
    assert (other.method_, other.selected_.tolist()) == (one.method_, one.selected_.tolist())
    assert other.honest_.error == pytest.approx(one.honest_.error, rel=1e-12)
    assert other.honest_.interval == pytest.approx(one.honest_.interval, rel=1e-12)
    if classes:
        np.testing.assert_allclose(other.predict_proba(table), one.predict_proba(X))
    np.testing.assert_array_equal(other.predict(table), one.predict(X))


def test_text_and_missing_values_go_through_a_table(tmp_path):
    X, noise = drawn(200, 4, seed=9)
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = np.random.default_rng(1).choice(["p", "q", "r"], 200)
    y = 3 * X[:, 0] * X[:, 1] + 2 * (table["kind"] == "p") + 0.3 * noise
    table.loc[::17, "d"] = np.nan
    auto = AutoSelectorRegressor(time_budget=5)
    model = TableSelector(auto, missing="median", validation=5).fit(table, y)
    assert sorted(model.get_feature_names_out()) == ["a", "b", "kind"]
    assert model.method_ == "elm-fs"
    assert model.honest_.error < 0.1 * model.honest_.empty_error
    model.save_model(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_allclose(again.predict(table), model.predict(table))
    assert model.at_size(1).predict(table).shape == (200,)


def test_a_table_refuses_what_is_for_arrays():
    table = pd.DataFrame({"a": ["x", "y"] * 10, "b": np.arange(20.0)})
    with pytest.raises(InputError, match="final='boosting' is for arrays"):
        TableSelector(AutoSelectorRegressor(final="boosting")).fit(table, np.arange(20.0))
    with pytest.raises(InputError, match="lags and horizon need one method"):
        TableSelector(AutoSelectorRegressor(), horizon=1).fit(table, np.arange(20.0))


def test_class_weights_leave_out_methods_without_them():
    X, noise = drawn(150, 4, seed=10)
    y = X[:, 0] + noise > 1.2
    model = AutoSelectorClassifier(class_weight="balanced", time_budget=5, validation=5).fit(X, y)
    assert model.left_out_["elm-fs"] == "it has no class_weight"
    assert model.predict(X).mean() > y.mean()
