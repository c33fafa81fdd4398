"""The grid over l1 goes on where the cross-validation error still falls at its end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsepath import GraftingClassifierCV, GraftingRegressorCV
from sparsepath.assessment.repetitions import Repetition, searches


def spectra(seed=0, m=60, n=12):
    """Smooth columns with little noise: the best penalty is small."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.standard_normal((m, n)), axis=1) + 3 * rng.standard_normal((m, 1))
    return X, X[:, 3] - 2 * X[:, 5] + X[:, 8] + 0.01 * rng.standard_normal(m)


def noisy(seed=0, m=60, n=12):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, 0] + rng.standard_normal(m)


def test_a_path_goes_on_while_errors_fall():
    X, y = spectra()
    model = GraftingRegressorCV(choose="min", validation=None).fit(X, y)
    l1s = model.l1s_
    assert len(l1s) == 59
    assert_allclose(l1s, l1s[0] * np.geomspace(1, 1e-4, 59))
    known = GraftingRegressorCV(l1s=l1s, choose="min", validation=None).fit(X, y)
    assert_allclose(model.cv_errors_, known.cv_errors_, rtol=1e-9)
    assert model.path_.subsets == known.path_.subsets
    short = GraftingRegressorCV(least=0.01, choose="min", validation=None).fit(X, y)
    assert len(short.l1s_) == 30
    assert model.cv_errors_.mean(1).min() < 0.1 * short.cv_errors_.mean(1).min()


def test_other_paths_end_at_a_hundredth():
    X, y = noisy()
    model = GraftingRegressorCV(validation=None).fit(X, y)
    assert_allclose(model.l1s_, model.l1s_[0] * np.geomspace(1, 0.01, 30))
    labels = (y > 0).astype(int)
    assert len(GraftingClassifierCV(validation=None).fit(X, labels).l1s_) == 30


@pytest.mark.parametrize("given", [{"least": 0.02}, {"l1s": [1.0, 0.5, 0.2, 0.1]}])
def test_a_grid_that_is_given_stays(given):
    X, y = spectra()
    l1s = GraftingRegressorCV(**given, validation=None).fit(X, y).l1s_
    assert len(l1s) == (4 if "l1s" in given else 30)


def test_a_path_that_ends_at_max_features_does_not_go_on():
    X, y = spectra()
    model = GraftingRegressorCV(max_features=2, validation=None).fit(X, y)
    assert max(model.path_.sizes) == 2
    assert model.l1s_[-1] > 0.01 * model.l1s_[0]


def test_repetitions_by_products_go_on_as_well():
    X, y = spectra()
    estimator = GraftingRegressorCV(n_l1s=12, cv=3)
    rows = np.arange(50)
    (found,) = searches(estimator, X, y, {}, [Repetition(rows=rows)])
    plain = GraftingRegressorCV(n_l1s=12, cv=3, validation=None).fit(X[rows], y[rows])
    assert len(plain.l1s_) == 23
    assert sorted(found.subsets) == list(plain.path_.sizes)
    for size, outputs in found.outputs(np.arange(50, 60)).items():
        assert_allclose(outputs[:, 0], plain.at_size(size).predict(X[50:]), rtol=1e-5)


def test_an_interrupted_second_path_leaves_the_first():
    X, y = spectra()
    calls = []

    def enough(path):
        calls.append(path)
        return len(calls) == 30 + 5 + 8  # the first path, its splits, and some of the second

    model = GraftingRegressorCV(cv=5, callback=enough, validation=None).fit(X, y)
    short = GraftingRegressorCV(cv=5, least=0.01, validation=None).fit(X, y)
    assert model.path_.stopped == "asked to"
    assert_allclose(model.cv_errors_, short.cv_errors_)
