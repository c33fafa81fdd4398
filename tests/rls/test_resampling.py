"""Repetitions of a search, all at once, leave what a fit to each of them leaves."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import make
from sparsepath import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.assessment import honest_error, permutation_null, stability
from sparsepath.assessment.repetitions import Repetition, searches

KINDS = ["tall", "wide", "duplicate", "constant", "collinear", "scaled", "ties", "offset"]


def one_by_one(model, monkeypatch):
    monkeypatch.setattr(type(model), "_search_many", lambda *given: None)


def agree(model, X, y, repetitions, more=(), classes=None):
    given, rows = dict(more), np.arange(len(y))
    quick = list(searches(model, X, y, given, repetitions, classes))
    with pytest.MonkeyPatch.context() as patch:
        one_by_one(model, patch)
        slow = list(searches(model, X, y, given, repetitions, classes))
    assert len(quick) == len(slow) == len(repetitions)
    for a, b in zip(quick, slow, strict=True):
        assert a.subsets == b.subsets
        assert a.criterion == b.criterion
        assert_allclose(list(a.errors.values()), list(b.errors.values()), rtol=1e-8)
        found, expected = a.outputs(rows), b.outputs(rows)
        assert list(found) == list(expected)
        for size, values in expected.items():
            assert_allclose(found[size], values, rtol=1e-6, atol=1e-7)


@given(
    st.sampled_from(KINDS),
    st.integers(0, 50),
    st.sampled_from(
        [{}, {"max_features": 3}, {"standardize": False, "alpha": 0.3}, {"forbidden": [1]}]
    ),
    st.booleans(),
)
@settings(max_examples=30)
def test_regressions(kind, seed, options, weighted):
    wide = kind == "wide"
    case = make(kind, m=16 if wide else 30, n=20 if wide else 7, seed=seed)
    rng = np.random.default_rng(seed)
    m = len(case.Y)
    again = [Repetition(), Repetition(order=rng.permutation(m))]
    again += [Repetition(rows=np.sort(rng.permutation(m)[: m - i])) for i in range(3, m // 2)]
    more = {"sample_weight": rng.choice([0.0, 1.0, 2.0], m)} if weighted else {}
    agree(SparseRLSRegressor(**options), case.X, case.Y[:, 0], again, more)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_classes(n_classes, form):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((40, 8)), np.array(["a", "b", "c"])
    y = labels[np.digitize(X[:, 2] + rng.standard_normal(40), [-0.4, 0.6][: n_classes - 1])]
    again = [Repetition(order=rng.permutation(40)) for _ in range(3)]
    again += [Repetition(rows=np.arange(i, 40)) for i in range(5)]
    agree(SparseRLSClassifier(4), form(X), y, again, classes=labels[:n_classes])


def test_a_class_of_weight_zero_is_none_in_repetitions():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 8)), np.repeat(["a", "b"], 20)
    X[y == "b", 3] += 1.0
    rows = [np.sort(rng.permutation(40)[:30]) for _ in range(3)]
    plain = searches(SparseRLSClassifier(4), X, y, {}, [Repetition(rows=one) for one in rows])
    X0, y0 = np.vstack([X, 9 * X[:5]]), np.append(y, np.repeat("c", 5))
    more = {"sample_weight": np.append(np.ones(40), np.zeros(5))}
    wider = [Repetition(rows=np.append(one, np.arange(40, 45))) for one in rows]
    classes = np.array(["a", "b"])
    again = searches(SparseRLSClassifier(4), X0, y0, more, wider, classes)
    for a, b in zip(plain, again, strict=True):
        assert a.subsets == b.subsets
        assert_allclose(list(a.errors.values()), list(b.errors.values()), rtol=1e-8)


def test_all_of_judging_goes_this_way(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 9)), rng.standard_normal(40)
    model = SparseRLSRegressor(4)

    def judged():
        null, halves = permutation_null(model, X, y, 30), stability(model, X, y, 10)
        return honest_error(model, X, y).errors, null.null_errors, halves.frequencies

    quick = judged()
    monkeypatch.setattr(SparseRLSRegressor, "fit", None)  # not one fit
    for a, b in zip(quick, judged(), strict=True):
        np.testing.assert_array_equal(a, b)
    monkeypatch.undo()
    one_by_one(model, monkeypatch)
    for a, b in zip(quick, judged(), strict=True):
        assert_allclose(a, b, rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "floating"},
        {"cv": 3},
        {"alpha": [1.0, 2.0]},
        {"forced": [0]},
        {"loss": "absolute"},
    ],
    ids=str,
)
def test_other_searches_are_fitted(options):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
    assert SparseRLSRegressor(2, **options)._search_many(X, y, {}, [Repetition()]) is None
    assert SparseRLSRegressor(2)._search_many(X, y, {"groups": y}, [Repetition()]) is None
    flat = np.r_[np.zeros(10), y[10:]]
    part = [Repetition(rows=np.arange(9))]
    assert SparseRLSRegressor(2)._search_many(X, flat, {}, part) is None


@pytest.mark.validated
@pytest.mark.parametrize("options", [{"max_features": 0}, {}], ids=["none asked for", "none found"])
def test_paths_of_no_feature_have_an_honest_error(options):
    y = np.random.default_rng(0).standard_normal(40)
    X = np.zeros((40, 2))
    X[3] = 1.0, 2.0  # constant where row 3 is left out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseRLSRegressor(**options).fit(X, y)
    assert model.honest_.size == 0
    assert model.path_.honest_error(0) == pytest.approx(model.honest_.empty_error)
