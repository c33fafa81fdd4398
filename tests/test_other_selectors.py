"""Boruta, forest importance and recursive elimination by name in comparisons."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, norm
from sklearn.ensemble import RandomForestRegressor
from tests.cli.conftest import refused, run  # noqa: F401

from sparsepath import InputError, compare
from sparsepath.cli.options import OTHER_SELECTORS
from sparsepath.methods.other_selectors import (
    FOR_TIMES,
    OTHERS,
    ShadowSelector,
    SignificantForTimes,
)


def data(rows=160, columns=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, 2 * X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=rows)


def test_the_command_line_knows_all():
    assert {*OTHER_SELECTORS} == {*OTHERS, *FOR_TIMES}


def test_shadows_decide_as_the_binomial_test_says():
    X, y = data()
    forest = RandomForestRegressor(30, max_depth=5, n_jobs=1)
    found = ShadowSelector(forest, n_rounds=15, random_state=0).fit(X, y)
    assert {0, 1, 2} <= {*np.flatnonzero(found.support_).tolist()}
    rng = np.random.RandomState(0)  # the same, plainly: no column is left out
    hits, n = np.zeros(8, dtype=int), 8
    accepted, rejected = set(), set()
    for done in range(1, 16):
        left = [j for j in range(n) if j not in rejected]
        shadows = np.column_stack([rng.permutation(X[:, j]) for j in left])
        forest = RandomForestRegressor(
            30, max_depth=5, n_jobs=1, random_state=rng.randint(2**31 - 1)
        )
        found_in = forest.fit(np.hstack((X[:, left], shadows)), y).feature_importances_
        for place, j in enumerate(left):
            hits[j] += found_in[place] > max(found_in[len(left) :])
            if j not in accepted:
                if sum(binom.pmf(k, done, 0.5) for k in range(hits[j], done + 1)) < 0.05 / n:
                    accepted.add(j)
                elif sum(binom.pmf(k, done, 0.5) for k in range(hits[j] + 1)) < 0.05 / n:
                    rejected.add(j)
        if len(accepted) + len(rejected) == n:
            break
    assert {*np.flatnonzero(found.support_).tolist()} == accepted


def test_noise_is_not_selected():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 12)), rng.normal(size=120)
    forest = RandomForestRegressor(30, max_depth=5, n_jobs=1)
    assert not ShadowSelector(forest, n_rounds=20, random_state=0).fit(X, y).support_.any()


@pytest.mark.parametrize("name", ["forest-importance", "rfecv"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_compared_on_the_same_rows(name, task):
    X, y = data()
    y = y if task == "regression" else np.where(y > 0, "yes", "no")
    options = {"seed": 0, "threads": 1}
    found = compare(["greedy-rls", name], X, y, task=task, validation=3, options=options)
    assert {one.name for one in found.contestants} == {"greedy-rls", name}
    if name == "forest-importance" and task == "regression":
        assert found.best.name == name  # the product of two columns is not linear
        assert {"x0", "x1"} <= {*found[name].features}


def test_tables_on_the_command_line(run, tmp_path):  # noqa: F811
    X, y = data(120, 4)
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = np.random.default_rng(2).choice(["u", "v", "w"], 120)
    table["y"] = y + 3 * (table["kind"] == "v")
    table.loc[3, "a"] = np.nan
    file = tmp_path / "t.csv"
    table.to_csv(file, index=False)
    asked = ("--methods", "rfecv,forest-importance", "--missing", "median", "--validation", "3")
    done = run("compare", file, "--target", "y", *asked, "--json")
    assert done.code == 0, done.err
    methods = {each["method"]: each for each in json.loads(done.out)["methods"]}
    assert methods.keys() == {"rfecv", "forest-importance"}
    assert "kind" in methods["forest-importance"]["features"]
    refused(run("compare", file, "--target", "y", "--methods", "borutta"), "boruta")


def test_unknown_names_and_parameters():
    X, y = data(60, 3)
    with pytest.raises(InputError, match="forest-importance"):
        compare(["forests"], X, y)
    with pytest.raises(InputError, match="transform_target"):
        compare(["boruta"], X, y, preparation={"transform_target": "log"})


def survival(n=300, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * 3 + 1
    time = rng.exponential(np.exp(-0.4 * X[:, 1] + 0.25 * X[:, 4]))
    end = rng.exponential(2 * np.median(time), n)
    return X, np.column_stack([np.minimum(time, end), time <= end])


def test_score_tests_of_single_columns():
    """Against the statistic by definition: sums over events of the column less its mean at risk."""
    X, y = survival(60, 5)
    y[:, 0] = np.ceil(4 * y[:, 0])  # ties
    chooser = SignificantForTimes().fit(X, y)
    for j, p in enumerate(chooser.p_values_):
        score, residuals = 0.0, y[:, 1].copy()
        for time, event in y:
            if event:
                risk = y[:, 0] >= time
                score -= X[risk, j].mean()
                residuals[risk] -= 1 / risk.sum()
        score += X[y[:, 1] > 0, j].sum()
        z = score / np.sqrt(np.sum(residuals**2) * X[:, j].var())
        assert_allclose(p, 2 * norm.sf(abs(z)), rtol=1e-9)
    counts = [
        (SignificantForTimes().fit(rng.standard_normal((100, 5)), y).p_values_ < 0.1).sum()
        for rng in map(np.random.default_rng, range(200))
        for y in [survival(100, 5, seed=rng.integers(10**6))[1]]
    ]
    assert 0.07 < np.sum(counts) / 1000 < 0.13  # the level, without any effect


@pytest.mark.validated
def test_survival_times_are_compared(tmp_path):
    X, y = survival()
    found = compare(None, X, y, task="survival", validation=5)
    assert {one.name for one in found.contestants} == {"grafting", *FOR_TIMES}
    assert not found.passed_over
    assert {1, 4} <= {int(name[1:]) for name in found["univariate-cox"].features}
    assert len(found["cox-all"].features) == 8
    assert all(one.chosen.measure == "concordance error" for one in found.contestants)
    with pytest.raises(InputError, match="boruta is for regression and classification"):
        compare(["boruta"], X, y, task="survival")
    with pytest.raises(InputError, match="cox-all is for survival times"):
        compare(["cox-all"], X, y[:, 0], task="regression")
