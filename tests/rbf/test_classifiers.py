"""Networks for two classes: the regression of targets -1 and +1 behind labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score
from sklearn.multiclass import OneVsRestClassifier

from sparsepath import (
    InputError,
    PathWarning,
    SparseRBFClassifier,
    SparseRBFClassifierCV,
    SparseRBFRegressor,
    SparseRBFRegressorCV,
)
from sparsepath.data.splits import splits_of


@pytest.fixture(scope="module")
def xor():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (160, 5))
    return X, np.where(X[:, 1] * X[:, 3] > 0, "same", "other")


def numbers(labels):
    return np.where(labels == "same", 1.0, -1.0)


def test_is_the_regression_of_the_two_targets(xor):
    X, y = xor
    model = SparseRBFClassifier(40, 1).fit(X[:80], y[:80])
    plain = SparseRBFRegressor(40, 1).fit(X[:80], numbers(y[:80]))
    assert model.classes_.tolist() == ["other", "same"]
    assert_allclose(model.decision_function(X), plain.predict(X))
    assert np.array_equal(model.predict(X) == "same", plain.predict(X) > 0)
    assert set(model.selected_[:2]) == {1, 3}
    assert model.path_.errors.tolist() == plain.path_.errors.tolist()
    assert accuracy_score(y[80:], model.predict(X[80:])) > 0.75
    fresh = X[80:], y[80:]
    assert_allclose(
        model.permutation_importances(*fresh),
        plain.permutation_importances(X[80:], numbers(y[80:])),
    )


def test_search_is_stratified_and_scores_the_targets(xor):
    X, y = xor
    X, y = X[:90], np.sort(y[:90])  # in order of class: plain folds would train on one class
    grid = {"rs": [20.0, 40.0], "ts": [2.0]}
    model = SparseRBFClassifierCV(**grid, cv=3).fit(X, y)
    splits = splits_of(3, X, y, classifier=True)
    assert np.ptp([np.count_nonzero(y[test] == "same") for _, test in splits]) <= 1
    plain = SparseRBFRegressorCV(**grid, cv=splits).fit(X, numbers(y))
    assert np.array_equal(
        model.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert_allclose(model.decision_function(X), plain.predict(X))


def test_classes_that_it_cannot_take_are_named(xor):
    X, y = xor
    with pytest.raises(InputError, match="y has 3 classes"):
        SparseRBFClassifier().fit(X, np.arange(160) % 3)
    with pytest.raises(InputError, match="only one class"):
        SparseRBFClassifier().fit(X, np.repeat("a", 160))
    with pytest.raises(InputError, match="only one class"):
        SparseRBFClassifier().fit(X, y, sample_weight=(y == "same").astype(float))
    model = SparseRBFClassifier(20, 0.5, centres=20).fit(X, y)
    with pytest.raises(InputError, match="class 'neither'"):
        model.permutation_importances(X, np.where(X[:, 0] > 0, "same", "neither"))


@pytest.mark.filterwarnings("ignore::sparsepath.PathWarning")
def test_one_against_the_rest_is_left_to_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = OneVsRestClassifier(SparseRBFClassifier(10, 1)).fit(X, y)
    assert model.score(X, y) > 0.9


def test_a_class_without_weight_is_none(xor):
    X, y = xor
    third = np.where(np.arange(160) < 40, "none", y)
    model = SparseRBFClassifier(10, 2, centres=30).fit(
        X, third, sample_weight=(third != "none").astype(float)
    )
    assert model.classes_.tolist() == ["other", "same"]


def test_a_single_fit_tells_its_stages_and_can_be_stopped(xor):
    X, y = xor[0][:60], numbers(xor[1][:60])
    seen = []
    model = SparseRBFRegressor(20, 2, callback=seen.append).fit(X, y)
    assert [path.complete for path in seen] == [False] * len(seen)
    assert len(seen) == len(model.stages_) - 1 == 3
    assert model.path_.complete
    assert model.converged_
    assert "callback" not in model.path_.parameters

    model.set_params(callback=lambda path: True).fit(X, y)
    assert (model.path_.stopped, model.path_.complete, model.converged_) == (
        "asked to",
        False,
        False,
    )
    assert len(model.stages_) == 1
    assert np.isfinite(model.predict(X)).all()

    def interrupt(path):
        raise KeyboardInterrupt

    for more in ({}, {"solver": "alternating"}):
        model = SparseRBFRegressor(20, 2, centres=20, callback=interrupt, **more)
        with pytest.warns(PathWarning, match="interrupted"):
            model.fit(X, y)
        assert not model.path_.complete
        assert len({stage.mu for stage in model.stages_}) == 1


def test_restarts_keep_what_is_finished(xor):
    X, y = xor[0][:60], numbers(xor[1][:60])
    seen = []

    def stop(path):
        seen.append(path)
        return len(seen) == 4  # in the second start

    model = SparseRBFRegressor(20, 2, n_init=3, callback=stop).fit(X, y)
    assert model.path_.stopped == "asked to"
    assert model.converged_
    assert len(model.stages_) == 4
