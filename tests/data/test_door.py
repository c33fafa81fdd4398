"""The one door for data: what is refused, and that the message names the columns."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.validation import (
    check_features,
    check_labels,
    check_target,
    check_weights,
    column_indices,
    refuse_constant,
    some_of,
)
from sparsepath.system.tuning import TUNING

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = RNG.standard_normal(12)
NAMES = ["height", "weight", "age"]


def frame(kind="pandas", **columns):
    values = {name: X[:, i] for i, name in enumerate(NAMES)} | columns
    return pd.DataFrame(values) if kind == "pandas" else pl.DataFrame(values)


def door(given):
    return check_features(BaseEstimator(), given, reset=True)


# --- features -------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
@pytest.mark.parametrize("container", ["array", "F order", "csr", "csc", "pandas", "polars"])
def test_what_is_not_a_number_is_refused_by_column(value, kind, container):
    bad = X.astype(kind)
    bad[4, 1] = value
    word = "NaN" if np.isnan(value) else "infinity"
    column = "'1'"
    if container == "F order":
        bad = np.asfortranarray(bad)
    elif container in ("csr", "csc"):
        if kind == "float16":
            pytest.skip("SciPy has no sparse half precision")
        bad = getattr(sp, f"{container}_matrix")(bad)
    elif container in ("pandas", "polars"):
        if kind == "float16" and container == "polars":
            pytest.skip("polars makes single precision of half precision")
        bad = pd.DataFrame(bad, columns=NAMES)
        column = "'weight'"
        if container == "polars":
            bad = pl.DataFrame({name: bad[name].to_numpy() for name in NAMES})
    with pytest.raises(InputError, match=f"{word} in column {column};"):
        door(bad)
    with pytest.raises(InputError, match=column):
        SparseRLSRegressor().fit(bad, Y)


def test_many_bad_columns_are_summed_up():
    bad = np.full((5, 9), np.nan)
    with pytest.raises(InputError, match="'0', '1', '2', '3', '4' and 4 more"):
        door(bad)


def test_infinities_that_cancel_are_found():
    bad = X.copy()
    bad[0, 0], bad[1, 0] = np.inf, -np.inf
    with pytest.raises(InputError, match="infinity in column '0'"):
        door(bad)


def test_a_missing_value_in_prediction_is_named_too():
    model = SparseRLSRegressor().fit(frame(), Y)
    with pytest.raises(InputError, match="'age'"):
        model.predict(frame(age=[np.nan] * 12))


TEXT = {
    "text": ["a"] * 12,
    "categories": pd.Categorical(["a", "b"] * 6),
    "dates": pd.date_range("2020-01-01", periods=12),
    "durations": pd.to_timedelta(range(12), unit="D"),
}


@pytest.mark.parametrize("name", sorted(TEXT))
def test_text_in_a_pandas_frame_is_named(name):
    with pytest.raises(InputError, match=r"'colour'.*encode"):
        door(frame(colour=TEXT[name]))
    with pytest.raises(InputError, match="'colour'"):
        SparseRLSClassifier().fit(frame(colour=TEXT[name]), ["u", "v"] * 6)


def test_text_among_objects_is_named():
    with pytest.raises(InputError, match="'colour'"):
        door(frame(colour=np.array(["a", 1.5] * 6, dtype=object)))


@pytest.mark.parametrize(
    "values",
    [
        ["a"] * 12,
        pl.Series(["a", "b"] * 6, dtype=pl.Categorical),
        [datetime.date(2020, 1, 1)] * 12,
        [datetime.datetime(2020, 1, 1)] * 12,
    ],
    ids=["text", "categories", "dates", "times"],
)
def test_text_in_a_polars_frame_is_named(values):
    with pytest.raises(InputError, match="'colour'"):
        door(frame("polars", colour=values))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    "types",
    [
        ("float32", "float64", "float32"),
        ("bool", "int8", "uint8"),
        ("bool", "bool", "bool"),
        ("int64", "float32", "bool"),
    ],
)
def test_numbers_of_several_types_pass_as_scikit_learn_has_them(kind, types):
    columns = {
        name: (10 * X[:, i] % 7).astype(of)
        for i, (name, of) in enumerate(zip(NAMES, types, strict=True))
    }
    given, mine, theirs = frame(kind, **columns), BaseEstimator(), BaseEstimator()
    out = check_features(mine, given, reset=True)
    expected = validate_data(theirs, given, dtype="numeric")
    assert out.dtype.kind in "fiu"
    assert_array_equal(out, expected)
    assert mine.feature_names_in_.tolist() == theirs.feature_names_in_.tolist() == NAMES


def test_missing_values_in_nullable_columns():
    with pytest.raises(ValueError, match=r"NaN|'age'|missing|NA"):
        door(frame(age=pd.array([1, None] * 6, dtype="Int64")))
    with pytest.raises(ValueError, match=r"NaN|'age'|null"):
        door(frame("polars", age=[1.0, None] * 6))


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((0, 3)),
        np.zeros((5, 0)),
        np.zeros((1, 3)),
        np.zeros(5),
        np.zeros((2, 2, 2)),
        np.array([["a", "b"], ["c", "d"]]),
        X + 1j,
        None,
        "text",
        5.0,
    ],
    ids=[
        "no rows",
        "no columns",
        "one row",
        "vector",
        "cube",
        "text",
        "complex",
        "None",
        "str",
        "5",
    ],
)
def test_other_shapes_are_refused(bad):
    with pytest.raises((ValueError, TypeError)):
        door(bad)


def test_what_comes_in_is_not_copied():
    for given in (X, np.asfortranarray(X), X.astype(np.float32), np.ones((4, 2), dtype=np.uint8)):
        assert np.shares_memory(door(given), given)
    for make in (sp.csr_matrix, sp.csc_array):
        given = make(X)
        assert np.shares_memory(door(given).data, given.data)
    flags = X > 0
    assert door(flags).dtype == np.uint8
    assert np.shares_memory(door(flags), flags)


def test_names_are_kept_and_checked():
    renamed = {
        "pandas": frame().rename(columns={"age": "years"}),
        "polars": frame("polars").rename({"age": "years"}),
    }
    for kind, other in renamed.items():
        model = BaseEstimator()
        check_features(model, frame(kind), reset=True)
        assert_array_equal(model.feature_names_in_, NAMES)
        assert model.n_features_in_ == 3
        with pytest.raises(ValueError, match="feature names"):
            check_features(model, other, reset=False)
    with pytest.raises(ValueError, match="2 features"):
        SparseRLSRegressor().fit(X, Y).predict(X[:, :2])


@pytest.mark.parametrize(
    "given",
    [
        X,
        np.asfortranarray(X.astype(np.float32)),
        (10 * X).astype(np.int16),
        pd.DataFrame(X, columns=NAMES),
        pd.DataFrame(X),
        pd.DataFrame(X.astype(np.float32), columns=NAMES, dtype=np.float32),
        pd.DataFrame(X, columns=NAMES).astype({"age": np.int64, "weight": np.float32}),
        pd.DataFrame(X > 0, columns=NAMES).astype({"age": np.int64}),
        pd.DataFrame(X, columns=NAMES).T.reset_index(drop=True),
    ],
    ids=lambda given: f"{type(given).__name__} {given.shape}",
)
def test_plain_numbers_are_what_scikit_learn_makes_of_them(given):
    here, there = BaseEstimator(), BaseEstimator()
    for estimator in (here, there):
        estimator.feature_names_in_ = np.array(["of an earlier fit"], dtype=object)
    found = check_features(here, given, reset=True)
    wanted = validate_data(there, given, reset=True, dtype="numeric")
    assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype
    assert vars(here).keys() == vars(there).keys()
    assert here.n_features_in_ == there.n_features_in_
    if hasattr(there, "feature_names_in_"):
        assert here.feature_names_in_.dtype == there.feature_names_in_.dtype
        assert_array_equal(here.feature_names_in_, there.feature_names_in_)


def test_types_the_rooms_may_rely_on():
    assert door(X.astype(np.float16)).dtype == np.float64
    assert door(X.astype(np.longdouble)).dtype == np.float64
    assert door(X.astype(object)).dtype == np.float64
    assert door(sp.csr_matrix(X > 0)).dtype == np.float64
    assert door(sp.coo_array(X)).format in ("csr", "csc")
    assert door(X.tolist()).dtype == np.float64
    assert door(frame(age=[True, False] * 6)).dtype == np.float64


# --- targets --------------------------------------------------------------------------------------


def test_targets_come_out_as_columns():
    values, plain = check_target(Y, 12)
    assert values.shape == (12, 1)
    assert plain
    assert not np.shares_memory(values, Y)
    values, plain = check_target(np.column_stack([Y, Y]).astype(np.float32), 12)
    assert values.dtype == np.float64
    assert values.shape == (12, 2)
    assert not plain
    assert check_target(pd.Series(Y), 12)[0].shape == (12, 1)
    assert check_target(pl.Series(Y), 12)[0].shape == (12, 1)
    assert check_target(Y.tolist(), 12)[1]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (None, "None"),
        (Y[:-1], "inconsistent"),
        (np.where(np.arange(12) == 3, np.nan, Y), "y contains NaN"),
        (np.where(np.arange(12) == 3, np.inf, Y), "y contains infinity"),
        (np.zeros((12, 2, 2)), "dim"),
        (["a"] * 12, "."),
        (Y + 1j, "[Cc]omplex"),
    ],
    ids=["none", "short", "NaN", "infinity", "cube", "text", "complex"],
)
def test_bad_targets(bad, word):
    with pytest.raises(ValueError, match=word):
        check_target(bad, 12)
    with pytest.raises(ValueError, match=word):
        SparseRLSRegressor().fit(X, bad)


def test_constant_targets():
    for bad in (np.full(12, 7.0), np.full((12, 2), 7.0)):
        with pytest.raises(InputError, match=r"constant \(7 "):
            SparseRLSRegressor().fit(X, bad)
    weights = np.ones(12)
    weights[0] = 0.0
    bad = np.full(12, 7.0)
    bad[0] = 3.0
    with pytest.raises(InputError, match="constant"):
        SparseRLSRegressor().fit(X, bad, sample_weight=weights)
    refuse_constant(bad[:, None])
    refuse_constant(np.column_stack([np.ones(12), Y]))


def test_one_class():
    with pytest.raises(InputError, match=r"only one class \('a'\)"):
        SparseRLSClassifier().fit(X, ["a"] * 12)
    with pytest.raises(InputError, match="only one class"):
        SparseRLSClassifier().fit(X, ["a"] * 11 + ["b"], sample_weight=[1.0] * 11 + [0.0])


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (None, "None"),
        (["a", "b"] * 5, "inconsistent"),
        (Y, "continuous|Unknown label"),
        (np.array([["a"] * 2] * 12), "."),
        ([np.nan, 1.0] * 6, "NaN"),
    ],
    ids=["none", "short", "continuous", "two columns", "NaN"],
)
def test_bad_labels(bad, word):
    with pytest.raises(ValueError, match=word):
        SparseRLSClassifier().fit(X, bad)


def test_missing_labels_among_text():
    with pytest.raises((ValueError, TypeError)):
        SparseRLSClassifier().fit(X, np.array(["a", None] * 6, dtype=object))


# --- weights --------------------------------------------------------------------------------------


def test_weights():
    assert_array_equal(check_weights(None, 3), np.ones(3))
    assert_array_equal(check_weights(2, 3), np.full(3, 2.0))
    given = np.array([1, 0, 3])
    assert check_weights(given, 3).dtype == np.float64
    floats = np.array([1.0, 0.0, 3.0])
    assert not np.shares_memory(check_weights(floats, 3), floats)
    assert_array_equal(check_weights(pd.Series(floats), 3), floats)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ([1.0, 1.0], "inconsistent"),
        ([1.0, -1.0, 1.0], "negative"),
        ([1.0, np.nan, 1.0], "NaN"),
        ([1.0, np.inf, 1.0], "infinity"),
        ([0.0, 0.0, 0.0], "zero"),
        ([0.0, 5.0, 0.0], "zero"),
        ([[1.0], [1.0], [1.0]], "vector"),
        (["a", "b", "c"], "."),
    ],
    ids=str,
)
def test_bad_weights(bad, word):
    with pytest.raises(ValueError, match=word):
        check_weights(bad, 3)


# --- columns by name ------------------------------------------------------------------------------


def test_columns_by_index_and_by_name():
    assert column_indices(None, NAMES, 3, "forced") == []
    assert column_indices(["age", "height"], NAMES, 3, "forced") == [2, 0]
    assert column_indices([np.int64(2), -3, "weight"], NAMES, 3, "forced") == [2, 0, 1]
    assert column_indices(np.array([1]), None, 3, "forced") == [1]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["hight"], "forced: there is no column 'hight'; did you mean 'height', 'weight'"),
        (["colour"], "forced: there is no column 'colour'"),
        ([3], "forced: there is no column 3; X has columns 0 to 2"),
        ([-4], "-4"),
        ([0, "height"], "twice"),
        ([0, 0], "twice"),
    ],
    ids=str,
)
def test_columns_that_are_not_there(given, word):
    with pytest.raises(InputError, match=word):
        column_indices(given, NAMES, 3, "forced")


def test_names_without_names():
    with pytest.raises(InputError, match="'age'"):
        column_indices(["age"], None, 3, "forbidden")


def test_some_of():
    assert some_of([]) == ""
    assert some_of("ab") == "'a', 'b'"
    assert some_of(range(6)) == "'0', '1', '2', '3', '4' and 1 more"


@pytest.mark.parametrize("kind", [">f8", ">f4", ">i4", ">u2", ">f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_the_other_byte_order(kind, order, monkeypatch):

    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (60, 6)).astype(np.float64)
    y = X[:, 1] - X[:, 4] + rng.standard_normal(60)
    given = np.array(X.astype(kind), order=order)
    assert door(given).dtype.isnative
    expected = SparseRLSRegressor(4, cv="loo").fit(np.array(X, order=order), y).path_
    path = SparseRLSRegressor(4, cv="loo").fit(given, y.astype(">f8")).path_
    assert path.subsets == expected.subsets
    assert_allclose(path.errors, expected.errors, rtol=1e-12)


@pytest.mark.parametrize("y", [["a", "b"] * 5, np.array(["1", "2"] * 5), [1.0, "b"] * 5])
def test_text_is_no_target_of_numbers(y):
    with pytest.raises(InputError, match=r"y holds text, such as '.*'; this method"):
        check_target(y, 10)


def test_labels_are_text_or_not():
    with pytest.raises(InputError, match="labels of different types, such as 'a' and 1; make all"):
        check_labels(np.array([1, "a"] * 5, dtype=object), 10)
    assert check_labels(np.array(["b", "a"] * 5, dtype=object), 10).tolist() == ["b", "a"] * 5
