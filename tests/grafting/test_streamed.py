"""Grafting on rows that are read in passes finds the model of the array."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from sparsepath import GraftingClassifier, GraftingRegressor
from sparsepath.data.sources import from_array
from sparsepath.errors import InputError, PathWarning
from sparsepath.grafting.streamed_design import StreamedGrafting


def problem(m=300, n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 4)) @ rng.standard_normal((4, n)) + rng.standard_normal((m, n))
    y = X @ np.where(np.arange(n) % 3 == 0, rng.standard_normal(n), 0.0) + rng.standard_normal(m)
    X[:, 5] = 7.0  # never chosen
    return 3.0 + X * np.geomspace(0.1, 100, n), 50 + y, rng.integers(0, 3, m).astype(float)


def same(a, b):
    """Two fits have the same model and path, and both have their certificates."""
    assert a.path_.sizes == b.path_.sizes
    for k in a.path_.sizes:
        assert a.path_.subset(k) == b.path_.subset(k)
        assert_allclose(b.path_.error(k), a.path_.error(k), rtol=1e-6)  # rounds end roughly
    unit = np.abs(a.coef_).max()
    assert_allclose(b.coef_, a.coef_, rtol=1e-8, atol=1e-9 * unit)
    assert_allclose(b.intercept_, a.intercept_, rtol=1e-8, atol=1e-9)
    assert_allclose(b.criterion_, a.criterion_, rtol=1e-8)
    assert_allclose(b.dual_gap_, a.dual_gap_, rtol=1e-6, atol=1e-10)
    assert_allclose(b.kkt_violation_, a.kkt_violation_, rtol=1e-6, atol=1e-10)
    assert a.path_.data["fingerprint"] == b.path_.data["fingerprint"]
    assert [g.feature for g in a.history_] == [g.feature for g in b.history_]


NUMBERS = [
    {"l1": 0.1},
    {"l1": 0.02, "l2": 0.1, "fit_intercept": False},
    {"l1": 0.1, "standardize": False},
    {"l1": 0.01, "l0": 0.02},
    {"l1": 0.1, "loss": "huber"},
    {"l1": 0.0, "max_features": 3},
]


@pytest.mark.parametrize("options", NUMBERS, ids=str)
def test_numbers(options):
    X, y, w = problem()
    given = {"validation": None, "tol": 1e-11, **options}
    whole = GraftingRegressor(**given).fit(X, y, w)
    parts = GraftingRegressor(**given).fit(from_array(X, y, w, rows=70))
    same(whole, parts)
    if options.get("loss") != "huber":
        assert parts.path_.data["readings"] == 1


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("options", [{"l1": 0.02}, {"l1": 0.01, "l0": 0.01, "l2": 0.01}], ids=str)
def test_two_classes(options, thin):
    X, y, w = problem()
    labels = np.where(y > np.median(y), "up", "down")
    if thin:
        X = sparse.csr_array(np.where(X > 4, X, 0.0))
    given = {"validation": None, "tol": 1e-11, **options}
    whole = GraftingClassifier(**given).fit(X, labels, w)
    parts = GraftingClassifier(**given).fit(from_array(X, labels, w, rows=70))
    same(whole, parts)
    assert list(parts.predict(X)) == list(whole.predict(X))


def test_what_needs_data_in_memory_is_refused():
    X, y, _ = problem()
    three = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    with pytest.raises(InputError, match="3 classes"):
        GraftingClassifier().fit(from_array(X, three))
    with pytest.raises(InputError, match="give two folds or more"):
        GraftingRegressor(validation=1).fit(from_array(X, y))


@pytest.mark.validated
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("class_weight", ["balanced", {"down": 1.0, "up": 4.0}], ids=str)
def test_classes_have_weights_and_groups_stay_together(weights, class_weight):
    X, y, w = problem(200, 9)
    labels = np.where(y > np.quantile(y, 0.8), "up", "down")
    groups, w = np.arange(200) // 7, w if weights else None
    model = GraftingClassifier(0.02, class_weight=class_weight, tol=1e-11)
    whole = clone(model).fit(X, labels, w, groups)
    parts = clone(model).fit(from_array(X, labels, w, rows=70), groups=groups)
    same(whole, parts)
    assert_allclose(parts.path_.honest_errors, whole.path_.honest_errors, rtol=1e-8)
    alike = clone(model).set_params(class_weight=None).fit(X, labels, w, groups)
    assert not np.allclose(alike.path_.errors[-1], whole.path_.errors[-1], rtol=1e-3)


@pytest.mark.parametrize("options", [*NUMBERS, {"l1": 0.02, "labels": True}], ids=str)
@pytest.mark.parametrize("thin", [False, True])
def test_honest_errors_are_those_of_the_same_folds_in_memory(options, thin):
    X, y, w = problem(200, 9)
    if thin:
        X = sparse.csr_array(np.where(X > 4, X, 0.0))
    given = {"tol": 1e-11, **options}
    maker = GraftingRegressor
    if given.pop("labels", False):
        maker, y = GraftingClassifier, np.where(y > np.median(y), "up", "down")
    whole = maker(**given, validation=4).fit(X, y, w)
    parts = maker(**given, validation=4).fit(from_array(X, y, w, rows=70))
    assert parts.path_.validation == "4-fold"
    assert_allclose(parts.path_.honest_errors, whole.path_.honest_errors, rtol=1e-9)
    assert parts.honest_.measure == whole.honest_.measure
    assert parts.honest_.size == whole.honest_.size == len(parts.selected_)
    assert_allclose(parts.honest_.error, whole.honest_.error, rtol=1e-9)
    assert_allclose(parts.honest_.interval, whole.honest_.interval, rtol=1e-8)
    if maker is GraftingRegressor and options.get("loss") != "huber":
        assert parts.path_.data["passes"] < 4


@pytest.mark.validated
def test_by_default_ten_folds_are_left_out():
    X, y, _ = problem()
    assert GraftingRegressor().fit(from_array(X, y)).path_.validation == "10-fold"
    assert GraftingRegressor().fit(from_array(X[:7], y[:7])).honest_ is None


def test_an_interrupted_validation_keeps_the_folds_that_are_done(monkeypatch):
    X, y, _ = problem()
    weighted = StreamedGrafting.weighted

    def impatient(self, factors):
        if not factors[last]:
            raise KeyboardInterrupt
        return weighted(self, factors)

    monkeypatch.setattr(StreamedGrafting, "weighted", impatient)
    last = 3
    with pytest.warns(PathWarning, match="6-fold, 3 of 6 parts"):
        model = GraftingRegressor(validation=6).fit(from_array(X, y))
    assert not model.honest_.whole
    last = 1
    with pytest.warns(PathWarning, match="there is no honest error"):
        assert GraftingRegressor(validation=6).fit(from_array(X, y)).honest_ is None
