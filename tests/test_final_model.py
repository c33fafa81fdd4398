"""Boosting on the selected columns, beside the whole procedure repeated by hand."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from sparsepath import AutoSelectorClassifier, AutoSelectorRegressor, InputError, PathWarning

FOLDS = KFold(3, shuffle=True, random_state=0)
LINEAR = {"time_budget": 0.01}  # no budget for anything else


def steps(n, seed=0):
    """Jumps in two of six columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 6))
    return X, 2.0 * (X[:, 0] > 0.5) + (X[:, 1] > 0.3) + 0.2 * rng.standard_normal(n)


def test_the_honest_error_repeats_selection_and_boosting():
    X, y = steps(120)
    auto = AutoSelectorRegressor(**LINEAR, validation=FOLDS, final="boosting").fit(X, y)
    losses = np.zeros(len(y))
    for train, test in FOLDS.split(X):
        part = AutoSelectorRegressor(**LINEAR, validation=FOLDS).fit(X[train], y[train])
        columns = np.sort(part.selected_)
        trees = HistGradientBoostingRegressor(random_state=0).fit(X[train][:, columns], y[train])
        losses[test] = (trees.predict(X[test][:, columns]) - y[test]) ** 2
    assert auto.honest_.error == pytest.approx(losses.mean())
    assert auto.honest_.size == len(auto.selected_)
    low, high = auto.honest_.interval
    assert low < losses.mean() < high


def test_the_model_is_boosting_on_the_selected_columns():
    X, y = steps(120)
    auto = AutoSelectorRegressor(**LINEAR, validation=None, final="boosting").fit(X, y)
    columns = np.sort(auto.selected_)
    trees = HistGradientBoostingRegressor(random_state=0).fit(X[:, columns], y)
    np.testing.assert_array_equal(auto.predict(X), trees.predict(X[:, columns]))
    assert auto.honest_ is None
    plain = AutoSelectorRegressor(**LINEAR, validation=None).fit(X, y)
    np.testing.assert_array_equal(auto.selected_, plain.selected_)
    other = next(size for size in plain.path_.sizes if size != len(columns))
    np.testing.assert_array_equal(auto.at_size(other).predict(X), plain.at_size(other).predict(X))
    with pytest.raises(InputError, match="boosting has no formula"):
        auto.export("python")


def test_weights_count_in_boosting_and_its_honest_error():
    X, y = steps(120)
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    w[::10] = 0.0
    y[::10] = 1e3
    auto = AutoSelectorRegressor(**LINEAR, validation=FOLDS, final="boosting")
    auto.fit(X, y, sample_weight=w)
    losses = np.zeros(len(y))
    for train, test in FOLDS.split(X):
        part = AutoSelectorRegressor(**LINEAR, validation=FOLDS)
        columns = np.sort(part.fit(X[train], y[train], sample_weight=w[train]).selected_)
        counted = train[w[train] > 0]
        trees = HistGradientBoostingRegressor(random_state=0)
        trees.fit(X[counted][:, columns], y[counted], sample_weight=w[counted])
        losses[test] = (trees.predict(X[test][:, columns]) - y[test]) ** 2
    assert auto.honest_.error == pytest.approx(np.average(losses, weights=w))


def test_a_class_of_weight_zero_is_no_class_of_boosting():
    X, y = steps(120)
    labels, w = np.where(y > 1.5, "high", "low").astype("<U5"), np.ones(len(y))
    labels[:3], w[:3] = "other", 0.0
    auto = AutoSelectorClassifier(**LINEAR, validation=FOLDS, final="boosting")
    auto.fit(X, labels, sample_weight=w)
    assert auto.classes_.tolist() == ["high", "low"]
    columns = np.sort(auto.selected_)
    trees = HistGradientBoostingClassifier(random_state=0).fit(X[3:, columns], labels[3:])
    np.testing.assert_allclose(auto.predict_proba(X), trees.predict_proba(X[:, columns]), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_boosting(n_classes):
    X, y = steps(150)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [1.5, 2.5][: n_classes - 1])]
    auto = AutoSelectorClassifier(**LINEAR, validation=FOLDS, final="boosting").fit(X, labels)
    columns = np.sort(auto.selected_)
    trees = HistGradientBoostingClassifier(random_state=0).fit(X[:, columns], labels)
    proba = trees.predict_proba(X[:, columns])
    np.testing.assert_allclose(auto.predict_proba(X), proba, atol=1e-9)
    np.testing.assert_array_equal(auto.predict(X), trees.predict(X[:, columns]))
    assert auto.honest_.figures["error_rate"] < 0.2


def test_without_a_feature_it_predicts_the_mean():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    auto = AutoSelectorRegressor(**LINEAR, validation=FOLDS, final="boosting").fit(X, y)
    assert len(auto.selected_) == 0
    np.testing.assert_allclose(auto.predict(X), y.mean())


def test_an_interrupt_keeps_the_model():
    X, y = steps(80)

    def stop(path):
        if path.models and type(path.models[max(path.models)]).__name__ == "Boosted":
            raise KeyboardInterrupt
        return False

    auto = AutoSelectorRegressor(
        1, **LINEAR, validation=FOLDS, final="boosting", choose=1, callback=stop
    )
    with pytest.warns(PathWarning, match="no honest error"):
        auto.fit(X, y)
    assert auto.honest_ is None
    assert len(np.unique(auto.predict(X))) > 2


def test_an_unknown_final_model_is_refused():
    X, y = steps(40)
    with pytest.raises(InputError, match="final='forest' is not known; use 'boosting', or None"):
        AutoSelectorRegressor(**LINEAR, final="forest").fit(X, y)
