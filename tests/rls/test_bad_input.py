"""A user's mistake is an InputError that says what was given, never a traceback or silence."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsepath import InputError, SparseRankRLS, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.errors import PathWarning
from sparsepath.rls import MaxT, Patience, TimeLimit, Tolerance

rng = np.random.default_rng(0)
X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
DATES = np.array(["2024-01-01"], dtype="datetime64[D]") + np.arange(20)


@pytest.mark.parametrize(
    "options",
    [
        {"search": ["forward"]},
        {"search": None},
        {"loss": ["squared"]},
        {"forced": 1},
        {"forced": "abc"},
        {"forbidden": "a"},
        {"start": 2},
        {"feature_costs": "cheap"},
        {"feature_costs": ["a"] * 4},
        {"feature_costs": 3},
        {"feature_groups": [[0], [1, 2, 3]]},
        {"feature_groups": [[0, 1], [2, 3]]},
        {"feature_groups": "abcd"},
        {"budget": "much"},
        {"budget": np.nan},
        {"budget": True},
        {"epsilon": "x", "search": "floating"},
        {"epsilon": 0.1, "search": "swap"},
        {"fit_intercept": "no"},
        {"standardize": "yes"},
        {"pooled": 2},
        {"stop": 3},
        {"stop": "patience"},
        {"stop": [Patience(2), 3]},
        {"stop": Patience},
        {"callback": "print"},
        {"memory_budget": -5},
        {"memory_budget": "1 GB"},
        {"cv": "ten"},
        {"cv": 1},
        {"cv": True},
        {"cv": 21},
        {"cv": 2.5},
        {"cv": []},
        {"cv": [1, 2]},
        {"cv": [(np.arange(10), np.arange(10, 30))]},
        {"cv": [(np.arange(10), [-21])]},
        {"cv": [(np.arange(10.0), np.arange(10, 20.0))]},
        {"cv": [(np.ones(5, bool), np.arange(10, 20))]},
        {"cv": [("ab", "cd")]},
        {"cv": [(np.arange(12), np.arange(10, 20))]},
        {"cv": [(np.arange(20), np.arange(20))]},
        {"parents": [1]},
        {"parents": {0: 1}},
        {"n_threads": "two"},
        {"n_threads": 1.5},
        {"n_threads": True},
        {"validation": "ten"},
        {"validation": 1},
        {"validation": True},
        {"validation": 2.0},
        {"validation": []},
        {"validation": [1, 2]},
        {"validation": [(np.arange(20), np.arange(20))]},
        {"validation": [(np.arange(12), np.arange(10, 20))]},
        {"validation": [(np.arange(10), np.arange(10, 30))]},
        {"validation": [(np.arange(10.0), np.arange(10, 20.0))]},
    ],
    ids=lambda options: re.sub(r"\s+", " ", str(options))[:50],
)
def test_parameters(options):
    name = next(iter(options))
    with pytest.raises(InputError, match=name):
        SparseRLSRegressor(2, **options).fit(X, y)


def test_rules_that_make_no_sense():
    for rule, given in (
        (Patience, 2.5),
        (Patience, "x"),
        (TimeLimit, -1),
        (Tolerance, "x"),
        (Tolerance, 1.0),
        (Tolerance, -0.1),
        (MaxT, "x"),
        (MaxT, 1.0),
    ):
        with pytest.raises(InputError, match=rule.__name__):
            rule(given)
    for wrong in ({"n_permutations": 9.5}, {"n_permutations": 3}, {"seed": -1}, {"seed": "x"}):
        with pytest.raises(InputError, match=f"MaxT.*{next(iter(wrong))}"):
            MaxT(**wrong)
    assert Patience(np.int64(2)).moves == 2
    assert TimeLimit(float("inf")).seconds == float("inf")


def test_nothing_is_searched_before_the_parameters_are_found_wrong():
    seen = []
    with pytest.raises(InputError):
        SparseRLSRegressor(stop=[seen.append, 3]).fit(X, y)
    with pytest.raises(InputError, match="validation"):
        SparseRLSRegressor(stop=seen.append, validation="ten").fit(X, y)
    assert seen == []


@pytest.mark.parametrize("labels", [[None] * 20, [1, "a"] * 10, [None, "a"] * 10])
def test_groups_that_cannot_be_put_in_order(labels):
    labels = np.array(labels, dtype=object)
    for estimator in (SparseRLSRegressor(), SparseRLSRegressor(cv=4)):
        with pytest.raises(InputError, match="groups has labels that cannot be sorted"):
            estimator.fit(X, y, groups=labels)


@pytest.mark.parametrize("dates", [DATES, DATES - DATES[0]])
def test_dates_are_no_numbers(dates):
    for estimator in (SparseRLSRegressor(), SparseRLSClassifier()):
        with pytest.raises(InputError, match="days since"):
            estimator.fit(np.repeat(dates[:, None], 4, axis=1), y > 0)
    with pytest.raises(InputError, match="y holds"):
        SparseRLSRegressor().fit(X, dates)
    with pytest.raises(InputError, match="y holds"):
        SparseRankRLS().fit(X, pd.Series(dates))


def test_two_columns_of_the_same_name():
    with pytest.raises(InputError, match="same name"):
        SparseRLSRegressor().fit(pd.DataFrame(X, columns=list("abca")), y)


@pytest.mark.parametrize("size", [1e160, 1e200, 1e300])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_numbers_too_large_to_square(size, cv):
    far = X.copy()
    far[:, 2] *= size
    frame = pd.DataFrame(far, columns=list("abcd"))
    with pytest.raises(InputError, match=r"column 'c' .* divide"):
        SparseRLSRegressor(cv=cv).fit(frame, y)
    for target in (size, 1e100):
        with pytest.raises(InputError, match="y has numbers"):
            SparseRLSRegressor(cv=cv).fit(X, y * target)


@pytest.mark.parametrize("size", [1e-170, 1e-200])
def test_numbers_too_small_to_square(size):
    near = X.copy()
    near[:, 2] *= size
    with pytest.warns(PathWarning, match=r"column '2' .* counts as constant"):
        model = SparseRLSRegressor(choose="min", standardize=True).fit(near, y)
    assert 2 not in set().union(*model.path_.subsets)
    for target in (size, 1e-100):  # whose squares can be held, and their standard errors not
        with pytest.raises(InputError, match="y has numbers"):
            SparseRLSRegressor().fit(X, y * target)
    with warnings.catch_warnings():  # a column of zeros is nothing to talk about
        warnings.simplefilter("error")
        SparseRLSRegressor(choose="min").fit(np.c_[X, np.zeros(20)], y)


# --- where a warning points -----------------------------------------------------------------------


def test_warnings_point_at_the_line_that_asked():
    exact = X[:, 0] + X[:, 1]
    calls = [
        lambda: SparseRLSRegressor(alpha=0.0, choose="min").fit(X, exact),
        lambda: make_pipeline(StandardScaler(), SparseRLSRegressor(alpha=0.0, choose="min")).fit(
            X, exact
        ),
        lambda: cross_val_score(SparseRLSRegressor(alpha=0.0, choose="min"), X, exact, cv=3),
        lambda: SparseRLSRegressor(alpha=0.0, choose=4).fit(X, exact),
    ]
    for call in calls:
        with pytest.warns(PathWarning, match="exactly|no size 4") as told:
            call()
        assert {warning.filename for warning in told} == {__file__}


def test_a_column_that_stands_still_in_a_training_part_gets_a_word():
    there = X.copy()
    there[:, 3] = 0.0
    there[2, 3] = 1.0  # in the first fold only: the others do not see it vary
    with pytest.warns(PathWarning, match="column '3' is constant in a training fold"):
        model = SparseRLSRegressor(3, alpha=0.0, cv=4, choose="min").fit(there, y)
    assert 3 not in set().union(*model.path_.subsets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseRLSRegressor(4, alpha=1e-3, cv=4, choose="min").fit(there, y)
        SparseRLSRegressor(3, alpha=0.0, cv=4, choose="min", forbidden=[3]).fit(there, y)


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_labels_that_are_not_there_are_told(gap):
    X = np.random.default_rng(0).standard_normal((20, 3))
    labels = np.array(["a", "b"] * 10, dtype=object)
    labels[[4, 9]] = gap
    with pytest.raises(InputError, match="no label for 2 of 20 samples, the first of them"):
        SparseRLSClassifier(2).fit(X, labels)
