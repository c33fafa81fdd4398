"""The scikit-learn face: contract, containers, options, interruptions, checkpoints."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from listening import Listener, listened
from problems import Case, make
from rls.comparing import correlated, design_of, judge_of
from slow_twins import rls
from sparsepath import (
    FileError,
    InputError,
    PathWarning,
    SelectionPath,
    SparseRLSClassifier,
    SparseRLSRegressor,
)
from sparsepath.rls.alphas import alpha_grid
from sparsepath.system.tuning import TUNING

SEARCHES = ("forward", "floating", "backward", "swap")


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True, scaled=False)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def plain(path):
    """A path as plain values but for the clock and the parameters, which say what was asked."""
    record = path.to_dict()
    record["moves"] = [{**move, "seconds": 0.0} for move in record["moves"]]
    return {key: value for key, value in record.items() if key != "parameters"}


# --- the contract ---------------------------------------------------------------------------------


# Per class the default, and one that differs from it in as many ways as go together.
@parametrize_with_checks(
    [
        SparseRLSRegressor(),
        SparseRLSRegressor(
            3, search="swap", loss="absolute", cv=3, standardize=False, start=[0], parents={0: []}
        ),
        SparseRLSClassifier(),
        SparseRLSClassifier(
            search="backward", loss="zero_one", alpha="loo", fit_intercept=False, choose="min"
        ),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_clone_pickle_and_joblib(diabetes, tmp_path):
    X, y = diabetes
    model = SparseRLSRegressor(5, standardize=True, forced=["sex"], choose="min").fit(X, y)
    unfitted = clone(model)
    assert not hasattr(unfitted, "path_")
    assert unfitted.get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_array_equal(again.predict(X), model.predict(X))
        assert again.path_ == model.path_
    assert_array_equal(unfitted.fit(X, y).coef_, model.coef_)


# --- containers and types -------------------------------------------------------------------------


def test_frames_in_names_out(diabetes):
    X, y = diabetes
    model = SparseRLSRegressor(4, standardize=True, choose=4).fit(X, y)
    expected = X.columns[np.sort(model.selected_)].tolist()
    assert model.path_.names(4) == tuple(X.columns[model.selected_])
    assert model.get_feature_names_out().tolist() == expected
    assert_array_equal(model.feature_names_in_, X.columns)
    assert_array_equal(model.transform(X), X[expected].to_numpy())

    polars = pl.DataFrame(X.to_dict("list"))
    other = SparseRLSRegressor(4, standardize=True, choose=4).fit(polars, pl.Series(y.tolist()))
    assert other.path_.subsets == model.path_.subsets
    assert other.path_.feature_names == model.path_.feature_names
    assert_allclose(other.path_.errors, model.path_.errors, rtol=1e-12)
    assert_allclose(other.predict(polars), model.predict(X), rtol=1e-9)
    assert other.get_feature_names_out().tolist() == expected
    array = SparseRLSRegressor(4, standardize=True, choose=4).fit(X.to_numpy(), y.to_numpy())
    assert array.path_.subsets == model.path_.subsets
    assert array.path_.feature_names[:2] == ("x0", "x1")
    assert not hasattr(array, "feature_names_in_")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(diabetes, kind):
    X, y = diabetes
    if kind == "polars":
        X = pl.DataFrame(X.to_dict("list"))
    model = SparseRLSRegressor(3, standardize=True, choose=3).set_output(transform=kind).fit(X, y)
    out = model.transform(X)
    assert type(out).__module__.split(".")[0] == kind
    assert list(out.columns) == model.get_feature_names_out().tolist()


def test_mixed_and_nullable_columns(diabetes):
    X, y = diabetes
    reference = SparseRLSRegressor(5).fit(X, y).path_
    mixed = X.astype({"sex": "int8", "age": "float32", "s1": "Int64"})
    mixed["s1"] = mixed["s1"].astype("Float64")
    assert SparseRLSRegressor(5).fit(mixed, y).path_.subsets == reference.subsets


def integers(m=60, n=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 50, (m, n)).astype(np.float64)
    return X, X[:, :3] @ [1.0, -2.0, 0.5] + rng.normal(0, 9, m)


SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
}
MAKERS = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "read only": lambda X: _read_only(X),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "F order float32": lambda X: np.asfortranarray(X, dtype=np.float32),
}
TYPES = ("float32", "float16", "int64", "int32", "uint8", "int8", "longdouble")
WAYS = [
    *MAKERS,
    *TYPES,
    *(f"{name} {kind}" for name in SPARSE for kind in ("float64", "float32", "int32")),
]


def made(name, X):
    """X as another container, type or layout."""
    if name in MAKERS:
        return MAKERS[name](X)
    if name in TYPES:
        return X.astype(name)
    container, kind = name.split()
    return SPARSE[container](X).astype(kind)


def _read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"loss": "absolute"}, {"alpha": "loo"}])
def test_any_type_and_order_is_read_as_it_is(name, options):
    X, y = integers()
    X *= np.random.default_rng(1).random(X.shape) < 0.5
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    reference = SparseRLSRegressor(5, choose="min", **options).fit(X, y, weights)
    given = made(name, X)
    model = SparseRLSRegressor(5, choose="min", **options).fit(given, y, weights)
    assert model.path_.subsets == reference.path_.subsets
    assert_allclose(model.path_.errors, reference.path_.errors, rtol=1e-11)
    assert_allclose(model.coef_, reference.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(model.predict(given), reference.predict(X), rtol=1e-6)


def test_bool_columns():
    X = np.random.default_rng(3).random((40, 6)) < 0.5
    y = X[:, 0] * 2.0 - X[:, 3] + np.random.default_rng(4).normal(0, 0.3, 40)
    reference = SparseRLSRegressor(3, choose=2).fit(X.astype(float), y)
    for given in (X, sp.csr_matrix(X), pd.DataFrame(X, columns=list("abcdef"))):
        model = SparseRLSRegressor(3, choose=2).fit(given, y)
        assert model.path_.subsets == reference.path_.subsets
        assert_allclose(model.predict(given), reference.predict(X.astype(float)), rtol=1e-9)


def test_sparse_that_is_not_tidy():
    X, y = integers(30, 5)
    X[X < 25] = 0
    coo = sp.coo_array(X)
    double = sp.coo_array(
        (np.r_[coo.data / 2, coo.data / 2], (np.r_[coo.row, coo.row], np.r_[coo.col, coo.col])),
        shape=X.shape,
    )
    for make_it in (sp.csr_array, sp.csc_array):
        given = make_it((double.data, (double.row, double.col)), shape=X.shape)
        unsorted = make_it(X)
        unsorted.indices, unsorted.data = unsorted.indices.copy(), unsorted.data.copy()
        a, b = unsorted.indptr[:2]
        unsorted.indices[a:b] = unsorted.indices[a:b][::-1]
        unsorted.data[a:b] = unsorted.data[a:b][::-1]
        unsorted.has_sorted_indices = False
        for X_in in (given, unsorted):
            before = X_in.copy()
            model = SparseRLSRegressor(4).fit(X_in, y)
            assert model.path_.subsets == SparseRLSRegressor(4).fit(X, y).path_.subsets
            assert_array_equal(X_in.indices, before.indices)
            assert_array_equal(X_in.data, before.data)


@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"loss": "absolute"}, {"standardize": True}])
@pytest.mark.parametrize("search", SEARCHES)
def test_the_data_are_not_modified(options, search):
    X, y = integers(30, 5)
    weights = np.ones(30)
    copies = [a.copy() for a in (X, y, weights)]
    for given in (X, np.asfortranarray(X), sp.csc_matrix(X)):
        before = given.copy()
        SparseRLSRegressor(4, search=search, **options).fit(given, y, weights)
        assert (given != before).sum() == 0
    for a, b in zip((X, y, weights), copies, strict=True):
        assert_array_equal(a, b)


def test_large_enough_for_compiled_passes(monkeypatch):
    """The same answers from the compiled loops, whatever the type; usual sizes never see them."""
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "block_numbers", 64)
    monkeypatch.setattr(TUNING, "block_rows", 8)
    X, y = integers(70, 7)
    for kind in ("float64", "float32", "uint8", "int64"):
        given = np.asfortranarray(X.astype(kind))
        for loss in ("squared", "absolute"):
            model = SparseRLSRegressor(6, loss=loss, standardize=False).fit(given, y)
            judge = judge_of(Case(X, y[:, None], 1.0, None, ""), loss)
            for subset, error in zip(model.path_.subsets, model.path_.errors, strict=True):
                assert_allclose(error, judge.error_of(subset), rtol=1e-9)


# --- targets --------------------------------------------------------------------------------------


def test_targets_keep_their_shape(diabetes):
    X, y = diabetes
    one = SparseRLSRegressor(3, choose=3).fit(X, y)
    assert one.coef_.shape == (10,)
    assert isinstance(one.intercept_, float)
    assert one.predict(X).shape == (442,)
    column = SparseRLSRegressor(3, choose=3).fit(X, y.to_frame())
    assert column.coef_.shape == (1, 10)
    assert column.predict(X).shape == (442, 1)
    both = SparseRLSRegressor(3, choose=3).fit(X, np.column_stack([y, -2 * y]))
    assert both.coef_.shape == (2, 10)
    assert both.path_.subsets == one.path_.subsets
    assert_allclose(both.predict(X), np.column_stack([one.predict(X), -2 * one.predict(X)]))
    assert_allclose(both.path_.errors, 5 * one.path_.errors, rtol=1e-9)


@pytest.mark.parametrize("kind", [str, int, object, "category", pl.Series])
def test_labels_of_any_kind(iris, kind):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    given = y.to_numpy() * 10 if kind is int else names
    if kind is object:
        given = names.astype(object)
    elif kind == "category":
        given = pd.Series(names, dtype="category")
    elif kind is pl.Series:
        given = pl.Series(names.tolist())
    model = SparseRLSClassifier(2, choose=2).fit(X, given)
    assert len(model.classes_) == 3
    assert model.decision_function(X).shape == (150, 3)
    assert model.coef_.shape == (3, 4)
    assert model.score(X, np.asarray(given)) > 0.7
    binary = SparseRLSClassifier(2, choose=2).fit(X[:100], given[:100])
    assert binary.decision_function(X[:100]).shape == (100,)
    assert binary.coef_.shape == (1, 4)
    assert_array_equal(
        binary.predict(X[:100]), binary.classes_[(binary.decision_function(X[:100]) > 0) * 1]
    )


def test_classes_are_least_squares_on_codes(iris):
    X, y = iris
    model = SparseRLSClassifier(3, alpha=2.0, choose=3, standardize=False).fit(X, y)
    codes = np.where(y.to_numpy()[:, None] == np.arange(3), 1.0, -1.0)
    chosen = model.selected_
    fit = Ridge(2.0).fit(X.iloc[:, chosen].to_numpy(), codes)
    assert_allclose(model.coef_[:, chosen], fit.coef_, rtol=1e-8)
    scores = fit.predict(X.iloc[:, chosen].to_numpy())
    assert_allclose(model.decision_function(X), scores, rtol=1e-8, atol=1e-10)
    assert_array_equal(model.predict(X), scores.argmax(1))
    path = rls.wrapper_forward(X.to_numpy()[::5], codes[::5], 3, 2.0, "zero_one")
    less = SparseRLSClassifier(3, alpha=2.0, loss="zero_one", choose="min", standardize=False).fit(
        X[::5], y[::5]
    )
    assert_allclose(less.path_.errors, [value for _, value, _ in path], atol=1e-12)
    assert less.path_.subsets == [subset for subset, _, _ in path]


# --- options --------------------------------------------------------------------------------------


def test_choose_rules(diabetes):
    X, y = diabetes
    models = {
        rule: SparseRLSRegressor(standardize=True, choose=rule).fit(X, y)
        for rule in ("min", "one_se", 4, 0.02, 0)
    }
    path = models["min"].path_
    for rule, model in models.items():
        assert len(model.selected_) == path.choose(rule)
        assert model.path_.subsets == path.subsets
    assert len(models[0].selected_) == 0
    assert_allclose(models[0].predict(X[:3]), y.mean())
    assert models["min"].path_.error(path.choose("min")) == path.errors.min()
    with pytest.raises(InputError, match="choose=11 is a size that no path can have"):
        SparseRLSRegressor(choose=11).fit(X, y)
    with pytest.raises(InputError, match="most"):
        SparseRLSRegressor(choose="most").fit(X, y)


def test_nothing_selected(diabetes):
    X, y = diabetes
    X = X.to_numpy()
    model = SparseRLSRegressor(0).fit(X, y)
    assert model.path_.sizes == (0,)
    assert_allclose(model.predict(X), y.mean())
    assert_allclose(model.predict(sp.csr_matrix(X[:4])), y.mean())
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (442, 0)


def test_at_size(diabetes):
    X, y = diabetes
    model = SparseRLSRegressor(6, choose=2).fit(X, y)
    other = model.at_size(5)
    assert len(other.selected_) == 5
    assert len(model.selected_) == 2
    expected = SparseRLSRegressor(6, choose=5).fit(X, y)
    assert_array_equal(other.coef_, expected.coef_)
    assert_array_equal(other.predict(X), expected.predict(X))
    assert_array_equal(other.get_support(), expected.get_support())
    with pytest.raises(InputError, match="size 9"):
        model.at_size(9)


def test_a_list_of_penalties(diabetes):
    X, y = diabetes
    alphas = [0.01, 1.0, 100.0, 1e4]
    model = SparseRLSRegressor(6, alpha=alphas, choose="min").fit(X, y)
    assert list(model.paths_) == alphas
    alone = {a: SparseRLSRegressor(6, alpha=a, choose="min").fit(X, y) for a in alphas}
    for a, path in model.paths_.items():
        assert plain(path) == plain(alone[a].path_)
        assert path.parameters["alpha"] == a
    best = min(alphas, key=lambda a: alone[a].path_.errors.min())
    assert model.alpha_ == best
    assert_array_equal(model.coef_, alone[best].coef_)
    again = SparseRLSRegressor(6, alpha=np.array(alphas), choose="min").fit(X, y)
    assert again.alpha_ == best


@pytest.mark.parametrize("kind", ["tall", "wide", "targets", "scaled", "constant"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"loss": "absolute"}])
def test_penalty_by_leave_one_out_on_all_features(kind, options):
    m, n = (10, 14) if kind == "wide" else (20, 6)
    case = make(kind, m, n, T=3 if kind == "targets" else 1, seed=5, weighted=True)
    model = SparseRLSRegressor(2, alpha="loo", **options, standardize=False).fit(
        case.X, case.Y, case.sw
    )
    intercept, loss = options.get("fit_intercept", True), options.get("loss", "squared")
    errors = model.alpha_errors_
    assert len(errors) == 25
    for alpha, error in errors.items():
        value, _ = rls.loo_error(case.X, case.Y, alpha, intercept, case.sw, loss)
        # The smallest penalties leave few digits where samples are fewer than features.
        assert_allclose(error, value, rtol=1e-6 if kind in ("scaled", "wide") else 1e-9)
    assert errors[model.alpha_] == min(errors.values())
    assert list(model.paths_) == [model.alpha_]


def test_penalty_by_leave_one_out_counts_mistakes():
    case = make("tall", 30, 5, seed=6, classification=True)
    y = case.Y[:, 0]
    for loss in ("zero_one", "balanced"):
        model = SparseRLSClassifier(alpha="loo", loss=loss, standardize=False).fit(case.X, y)
        for alpha, error in model.alpha_errors_.items():
            assert_allclose(error, rls.loo_error(case.X, case.Y, alpha, loss=loss)[0], atol=1e-12)


def test_the_grid_of_penalties_is_in_the_scale_of_the_data():
    case = make("tall", 30, 5)
    grid = alpha_grid(design_of(case.X), range(5))
    squares = ((case.X - case.X.mean(0)) ** 2).sum(0)
    assert_allclose(grid[[0, 12, 24]], squares.mean() * np.array([1e-6, 1.0, 1e6]))
    assert_allclose(alpha_grid(design_of(10 * case.X), range(5)), 100 * grid)


def test_forced_and_forbidden_by_name_and_by_index(diabetes):
    X, y = diabetes
    model = SparseRLSRegressor(4, forced=["sex", "age"], forbidden=["bmi"], choose=4).fit(X, y)
    assert model.path_.names(2) == ("sex", "age")
    assert "bmi" not in model.path_.names(4)
    other = SparseRLSRegressor(4, forced=[1, 0], forbidden=[-8], choose=4).fit(X, y)
    assert other.path_.subsets == model.path_.subsets
    backward = SparseRLSRegressor(search="backward", forced=["sex"], forbidden=["bmi"]).fit(X, y)
    assert backward.path_.sizes == tuple(range(1, 10))
    assert backward.path_.names(1) == ("sex",)


BAD = [
    ({"forced": ["weight"]}, "weight"),
    ({"forced": ["bmj"]}, "bmi"),
    ({"forced": [10]}, "10"),
    ({"forced": [1, "sex"]}, "twice"),
    ({"forced": ["sex"], "forbidden": [1]}, "sex|1"),
    ({"forced": [0, 1, 2], "max_features": 2}, "max_features"),
    ({"max_features": -1}, "max_features"),
    ({"max_features": 2.5}, "max_features"),
    ({"max_features": True}, "max_features"),
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": float("nan")}, "alpha"),
    ({"alpha": float("inf")}, "alpha"),
    ({"alpha": []}, "alpha"),
    ({"alpha": "best"}, "alpha"),
    ({"alpha": None}, "alpha"),
    ({"alpha": True}, "alpha"),
    ({"alpha": ["1"]}, "alpha"),
    ({"search": "sideways"}, "search"),
    ({"loss": "zero_one"}, "loss"),
    ({"loss": "log"}, "loss"),
    ({"cv": "ten"}, "cv"),
    ({"n_threads": 0}, "n_threads"),
    ({"n_threads": 1.5}, "n_threads"),
    ({"search": "floating", "epsilon": -1.0}, "epsilon"),
    ({"search": "floating", "epsilon": float("nan")}, "epsilon"),
    ({"forced": [1.7]}, "forced"),
    ({"forced": "sex"}, "forced"),
    ({"choose": "most"}, "most"),
    ({"choose": -1}, "-1"),
    ({"choose": None}, "choose"),
]


@pytest.mark.parametrize(("options", "word"), BAD, ids=[str(options) for options, _ in BAD])
def test_bad_parameters_are_named(diabetes, options, word):
    X, y = diabetes
    with pytest.raises(InputError, match=word):
        SparseRLSRegressor(**options).fit(X, y)


def test_what_was_asked_is_on_the_path(diabetes):
    X, y = diabetes
    model = SparseRLSRegressor(3, search="floating", standardize=True).fit(X, y)
    path = model.path_
    assert path.method == "floating-rls"
    assert path.parameters["standardize"] is True
    assert path.parameters["alpha"] == 1.0
    assert path.data["n_samples"] == 442
    assert path.feature_names == tuple(X.columns)
    assert path.criterion == "leave-one-out squared error"
    assert path.complete
    assert SelectionPath.from_dict(json.loads(json.dumps(path.to_dict()))) == path
    assert "3" in SparseRLSRegressor(2, cv=3).fit(X, y).path_.criterion


def test_the_fingerprint_tells_data_apart():
    X, y = integers()
    name = SparseRLSRegressor(2).fit(X, y).path_.data["fingerprint"]
    assert SparseRLSRegressor(3).fit(X.copy(), y).path_.data["fingerprint"] == name
    for other in (X + 1e-9, X[:, ::-1], X[:-1]):
        assert SparseRLSRegressor(2).fit(other, y[: len(other)]).path_.data["fingerprint"] != name


# --- pipelines, searches over parameters, routing -------------------------------------------------


def test_in_a_pipeline_and_a_grid_search(diabetes):
    X, y = diabetes
    pipeline = make_pipeline(StandardScaler(), SparseRLSRegressor(), memory=None)
    search = GridSearchCV(
        pipeline,
        {"sparserlsregressor__max_features": [2, 5], "sparserlsregressor__choose": ["min"]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.4
    selector = make_pipeline(
        StandardScaler().set_output(transform="pandas"), SparseRLSRegressor(3, choose=3), Ridge()
    ).fit(X, y)
    assert selector[:-1].get_feature_names_out().tolist() == ["bmi", "bp", "s5"]
    X, y = load_breast_cancer(return_X_y=True)
    both = make_pipeline(StandardScaler(), SparseRLSClassifier(5), LogisticRegression())
    assert cross_val_score(both, X, y, cv=3).mean() > 0.9
    parallel = GridSearchCV(SparseRLSClassifier(3), {"alpha": [0.1, 10.0]}, cv=2, n_jobs=2)
    assert parallel.fit(X[::4], y[::4]).best_estimator_.path_.sizes == (0, 1, 2, 3)


def test_weights_and_groups_are_routed():
    X, y = integers(60, 6)
    weights = np.random.default_rng(5).integers(1, 4, 60).astype(float)
    groups = np.arange(60) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        inner = SparseRLSRegressor(3, cv=GroupKFold(3)).set_fit_request(
            sample_weight=True, groups=True
        )
        inner.set_score_request(sample_weight=True)
        search = GridSearchCV(inner, {"alpha": [1.0]}, cv=3)
        search.fit(X, y, sample_weight=weights, groups=groups)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        pipe.fit(X, y, sample_weight=weights, groups=groups)
        scores = cross_validate(inner, X, y, params={"groups": groups, "sample_weight": weights})
        assert len(scores["test_score"]) == 5
    direct = SparseRLSRegressor(3, cv=GroupKFold(3)).fit(X, y, weights, groups)
    assert plain(search.best_estimator_.path_) == plain(direct.path_)
    assert pipe[-1].path_.subsets[0] == ()
    plain_weights = SparseRLSRegressor(3, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert plain_weights.path_.errors[0] != direct.path_.errors[0]
    with pytest.raises(ValueError, match="groups"):
        SparseRLSRegressor(3, cv=GroupKFold(3)).fit(X, y)


def test_whole_weights_are_repetitions_for_the_model():
    X, y = integers(40, 5)
    counts = np.random.default_rng(6).integers(0, 3, 40)
    weighted = SparseRLSRegressor(5, choose=5).fit(X, y, sample_weight=counts)
    repeated = SparseRLSRegressor(5, choose=5).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9)


# --- callbacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
def test_a_plain_callback_sees_every_move_and_may_stop(search):
    case = correlated(4)
    y = case.Y[:, 0]
    seen = []

    def note(path):
        assert isinstance(path, SelectionPath)
        assert not path.complete
        seen.append(path)

    options = {"alpha": case.alpha, "search": search, "choose": "min"}
    whole = SparseRLSRegressor(6, callback=note, **options).fit(case.X, y)
    assert [len(path.moves) for path in seen] == list(range(1, len(whole.path_.moves) + 1))
    stopped = SparseRLSRegressor(6, callback=lambda path: len(path.moves) == 3, **options).fit(
        case.X, y
    )
    assert len(stopped.path_.moves) == 3
    assert stopped.path_.stopped == "asked to"
    assert plain(stopped.path_)["steps"] == plain(seen[2])["steps"]


@listened
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("choose", ["one_se", "min", 4, 0.1])
def test_callbacks_of_scikit_learn(search, choose):
    case = correlated(4)
    y = case.Y[:, 0]
    listener = Listener()
    model = SparseRLSRegressor(5, alpha=case.alpha, search=search, choose=choose)
    model.set_callbacks(listener).fit(case.X, y)
    moves = len(model.path_.moves)
    assert moves >= 5
    assert listener.events == ["setup", "begin", *["begin", "end"] * moves, "end", "teardown"]
    assert len(listener.models) == moves
    for fitted in listener.models:
        assert fitted.predict(case.X).shape == (20,)
    quiet = SparseRLSRegressor(5, alpha=case.alpha, search=search, choose=choose).fit(case.X, y)
    assert plain(quiet.path_) == plain(model.path_)


@listened
@pytest.mark.parametrize("search", SEARCHES)
def test_a_callback_of_scikit_learn_may_stop(search):
    case = correlated(4)
    most = None if search == "backward" else 5
    model = SparseRLSRegressor(most, alpha=case.alpha, search=search, choose="min")
    model.set_callbacks(Listener(stop_at=2)).fit(case.X, case.Y[:, 0])
    assert len(model.path_.moves) == 2
    assert model.path_.stopped == "asked to"
    assert model.predict(case.X).shape == (20,)


@listened
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_progress_bar_of_scikit_learn(search, capsys):
    case = correlated(2)
    model = SparseRLSRegressor(4, alpha=[0.1, 1.0], search=search, choose="min")
    from sklearn.callback import ProgressBar

    model.set_callbacks(ProgressBar()).fit(case.X, case.Y[:, 0])
    assert "SparseRLSRegressor" in capsys.readouterr().out


# --- interruptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("choose", ["one_se", "min", 5, 0.5])
def test_ctrl_c_returns_the_path_so_far(search, choose):
    case = correlated(4)

    def interrupt(path):
        if len(path.moves) == 3:
            raise KeyboardInterrupt

    model = SparseRLSRegressor(
        7, alpha=case.alpha, search=search, choose=choose, callback=interrupt
    )
    with pytest.warns(PathWarning) as said:  # and of a size that was not reached
        model.fit(case.X, case.Y[:, 0])
    assert any("interrupted" in str(warning.message) for warning in said)
    assert len(model.path_.moves) == 3
    assert not model.path_.complete
    assert model.path_.stopped == "interrupted"
    assert model.predict(case.X).shape == (20,)


def test_ctrl_c_among_several_penalties():
    case = correlated(4)
    paths = []

    def interrupt(path):
        paths.append(path)
        if len(paths) == 7:
            raise KeyboardInterrupt

    model = SparseRLSRegressor(5, alpha=[1.0, 0.1, 0.01], callback=interrupt)
    with pytest.warns(PathWarning, match="interrupted"):
        model.fit(case.X, case.Y[:, 0])
    assert list(model.paths_) == [1.0, 0.1]
    assert max(model.paths_[0.1].sizes) == 2


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to a process on Windows")
@pytest.mark.parametrize("cv", ["'loo'", "3"])
def test_a_real_ctrl_c(tmp_path, cv):
    program = f"""
        import sys, warnings
        import numpy as np
        from sparsepath import PathWarning, SparseRLSRegressor

        rng = np.random.default_rng(0)
        X = rng.standard_normal((4000, 300))
        y = X[:, :50].sum(1) + rng.standard_normal(4000)
        def tell(path):
            print(len(path.moves), flush=True)
        warnings.simplefilter("ignore")
        model = SparseRLSRegressor(300, cv={cv}, callback=tell, choose="min").fit(X, y)
        print()  # the interrupt may have come in the middle of a line
        print("sizes", max(model.path_.sizes), model.path_.stopped, model.predict(X).shape)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stdout:
            if line.strip() == "5":
                break
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, err
    last = out.strip().splitlines()[-1].split()
    assert last[0] == "sizes"
    assert 5 <= int(last[1]) < 300
    assert last[2] == "interrupted"


# --- checkpoints ----------------------------------------------------------------------------------


def interrupted_after(moves):
    def interrupt(path):
        if len(path.moves) == moves:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("options", [{}, {"cv": 3}, {"loss": "absolute"}, {"forced": [5]}], ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_resumed_search_is_the_same_to_the_last_bit(
    tmp_path, monkeypatch, search, options, compiled
):
    if compiled:
        monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    case = correlated(6 if compiled else 4, n=10)
    y = case.Y[:, 0]
    model = SparseRLSRegressor(5, alpha=case.alpha, search=search, choose="min", **options)
    whole = model.fit(case.X, y).path_
    for moves in range(1, len(whole.moves)):
        file = tmp_path / f"{moves}.json"
        part = clone(model).set_params(checkpoint=file, callback=interrupted_after(moves))
        with pytest.warns(PathWarning, match="interrupted"):
            part.fit(case.X, y)
        resumed = clone(model).set_params(checkpoint=file).fit(case.X, y).path_
        assert resumed.complete
        assert plain(resumed) == plain(whole), f"resumed after {moves} moves"


def test_a_finished_checkpoint_is_read_again(tmp_path):
    case = correlated(1)
    y = case.Y[:, 0]
    file = tmp_path / "folder" / "checkpoint.json"
    first = SparseRLSRegressor(5, checkpoint=file).fit(case.X, y)
    seen = []
    again = SparseRLSRegressor(5, checkpoint=file, callback=seen.append).fit(case.X, y)
    assert plain(again.path_) == plain(first.path_)
    assert [p.name for p in file.parent.iterdir()] == ["checkpoint.json"]


def test_one_checkpoint_per_penalty(tmp_path):
    case = correlated(1)
    y = case.Y[:, 0]
    alphas = [1.0, 0.1, 0.1 + 1e-12, 1234567.0, 1234568.0]
    file = tmp_path / "checkpoint.json"
    whole = SparseRLSRegressor(4, alpha=alphas).fit(case.X, y)
    seen = []

    def interrupt(path):
        seen.append(path)
        if len(seen) == 6:
            raise KeyboardInterrupt

    with pytest.warns(PathWarning, match="interrupted"):
        SparseRLSRegressor(4, alpha=alphas, checkpoint=file, callback=interrupt).fit(case.X, y)
    resumed = SparseRLSRegressor(4, alpha=alphas, checkpoint=file).fit(case.X, y)
    assert [plain(p) for p in resumed.paths_.values()] == [plain(p) for p in whole.paths_.values()]


FOREIGN = {
    "other rows": lambda X, y, o: (X[:-1], y[:-1], o),
    "other values": lambda X, y, o: (X + 1, y, o),
    "other target": lambda X, y, o: (X, y[::-1], o),
    "other columns": lambda X, y, o: (X[:, ::-1], y, o),
    "rows in another order": lambda X, y, o: (X[::-1], y, o),
    "one value moved": lambda X, y, o: (_moved(X), y, o),
    "other penalty": lambda X, y, o: (X, y, {**o, "alpha": 2.0}),
    "other search": lambda X, y, o: (X, y, {**o, "search": "floating"}),
    "other criterion": lambda X, y, o: (X, y, {**o, "cv": 3}),
    "other loss": lambda X, y, o: (X, y, {**o, "loss": "absolute"}),
    "other forced": lambda X, y, o: (X, y, {**o, "forced": [2]}),
    "no intercept": lambda X, y, o: (X, y, {**o, "fit_intercept": False}),
    "not standardized": lambda X, y, o: (X, y, {**o, "standardize": False}),
}


def _moved(X):
    X = X.copy()
    a, b = np.flatnonzero(X[:, 0] != X[0, 0])[:1], [0]
    X[a, 0], X[b, 0] = X[b, 0].copy(), X[a, 0].copy()
    return X


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_a_foreign_checkpoint_is_refused(tmp_path, name):
    X, y = integers()
    y = np.round(y)
    file = tmp_path / "checkpoint.json"
    SparseRLSRegressor(3, checkpoint=file).fit(X, y)
    before = file.read_bytes()
    X, y, options = FOREIGN[name](X, y, {})
    with pytest.raises(FileError, match=r"checkpoint\.json"):
        SparseRLSRegressor(3, checkpoint=file, **options).fit(X, y)
    assert file.read_bytes() == before


BROKEN = {
    "empty": "",
    "not JSON": "{",
    "a list": "[]",
    "null": "null",
    "no moves": "{}",
    "half": None,
    "moves that do not fit": "moves",
    "a column that is not there": "column",
    "an action that is not known": "action",
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_checkpoint_is_refused(tmp_path, name):
    X, y = integers()
    file = tmp_path / "checkpoint.json"
    SparseRLSRegressor(3, checkpoint=file).fit(X, y)
    whole = file.read_text("utf-8")
    text = BROKEN[name]
    record = json.loads(whole)
    if name == "half":
        text = whole[: len(whole) // 2]
    elif text == "moves":
        record["moves"].append(record["moves"][0])
        text = json.dumps(record)
    elif text == "column":
        record["moves"][1][1] = 99
        text = json.dumps(record)
    elif text == "action":
        record["moves"][1][0] = "jump"
        text = json.dumps(record)
    file.write_text(text, "utf-8")
    with pytest.raises(FileError, match=r"checkpoint\.json"):
        SparseRLSRegressor(3, checkpoint=file).fit(X, y)
    assert file.read_text("utf-8") == text


def test_bytes_that_are_no_text(tmp_path):
    X, y = integers()
    file = tmp_path / "checkpoint.json"
    file.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(FileError, match=r"checkpoint\.json"):
        SparseRLSRegressor(3, checkpoint=file).fit(X, y)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(FileError, match="checkpoints"):
        SparseRLSRegressor(3, checkpoint=tmp_path / "checkpoints").fit(X, y)
