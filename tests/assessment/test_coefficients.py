"""Bootstrap intervals of coefficients: by refits from scratch, and their coverage."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import refused, run  # noqa: F401

from sparsepath import (
    InputError,
    LarsSelector,
    SparseRankRLS,
    SparseRLSClassifier,
    SparseRLSRegressor,
    TableSelector,
    coefficients,
)

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 8)) + RNG.normal(size=(60, 1))
Y = 2 * X[:, 1] - X[:, 5] + 0.4 * X[:, 2] + RNG.normal(size=60)
QUIET = {"validation": None}


def ridge(columns, y, alpha):
    """Coefficients of ridge regression on standardised columns, in units of the data."""
    scale = columns.std(axis=0)
    Z = (columns - columns.mean(0)) / scale
    return np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ (y - y.mean())) / scale


def drawn(times, seed=0, n=60):
    rng = np.random.default_rng(seed)
    return [rng.choice(np.arange(n), n) for _ in range(times)]


def test_intervals_by_refits_from_scratch():
    model = SparseRLSRegressor(6, alpha=2.0, choose=3, **QUIET).fit(X, Y)
    found = coefficients(model, X, Y, 40, level=0.8)
    S = model.selected_
    fits = [ridge(X[rows][:, S], Y[rows], 2.0) for rows in drawn(40)]
    assert np.allclose(found.values, ridge(X[:, S], Y, 2.0), rtol=1e-9)
    assert np.allclose(found.low, np.quantile(fits, 0.1, axis=0), rtol=1e-9)
    assert np.allclose(found.high, np.quantile(fits, 0.9, axis=0), rtol=1e-9)
    again = SparseRLSRegressor(3, alpha=2.0, choose=3, **QUIET)
    shares = np.mean([np.isin(S, again.fit(X[rows], Y[rows]).selected_) for rows in drawn(40)], 0)
    assert found.shares.tolist() == shares.tolist()
    assert 0 < shares.min() < 1
    frame = found.to_frame("pandas")
    assert list(frame) == ["feature", "coefficient", "low", "high", "share"]
    assert "The selection is not part of the intervals" in repr(found)


def test_coverage_of_fixed_columns():
    rng, inside = np.random.default_rng(0), []
    fixed = SparseRLSRegressor(2, choose=2, forced=[0, 1], alpha=1e-6, **QUIET)
    for _ in range(40):
        A = rng.normal(size=(80, 5))
        y = A[:, 0] - 0.5 * A[:, 1] + rng.normal(size=80)
        found = coefficients(fixed.fit(A, y), A, y, 40)
        inside += ((found.low <= [1, -0.5]) & (found.high >= [1, -0.5])).tolist()
    assert 0.8 < np.mean(inside) < 0.96  # of 0.9


def test_classes_weights_and_groups():
    labels = np.where(Y > 0, "yes", "no")
    model = SparseRLSClassifier(3, choose=2, **QUIET).fit(X, labels)
    found = coefficients(model, X, labels, 30)
    assert np.allclose(found.values, model.coef_.ravel()[model.selected_])
    assert (found.low < found.values).all()
    assert (found.values < found.high).all()
    # Whole groups: copies of a row in one group are drawn together, so the width is that of rows.
    twice, of = np.repeat(X, 2, axis=0), np.repeat(np.arange(60), 2)
    model = SparseRLSRegressor(3, alpha=1e-9, choose=2, **QUIET).fit(X, Y)
    alone = coefficients(model, X, Y, 100)
    grouped = coefficients(model, twice, np.repeat(Y, 2), 100, groups=of)
    rows = coefficients(model, twice, np.repeat(Y, 2), 100)
    width = [np.mean(each.high - each.low) for each in (alone, grouped, rows)]
    assert width[1] == pytest.approx(width[0], rel=0.2)
    assert width[2] < 0.85 * width[1]
    weights = np.r_[np.ones(30), np.zeros(30)]
    model.fit(X, Y, sample_weight=weights)
    assert coefficients(model, X, Y, 20, sample_weight=weights).n_resamples == 20


def test_tables_have_names_and_the_scale_of_the_target():
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(g=np.where(X[:, 0] > 0, "u", "v"))
    inner = SparseRLSRegressor(choose=3, **QUIET)
    model = TableSelector(inner, transform_target="log", **QUIET).fit(table, np.exp(Y))
    found = coefficients(model, table, np.exp(Y), 20)
    assert set(found.features) <= set(model.preparation_.get_feature_names_out())
    assert (found.low < found.high).all()
    assert np.abs(found.values).max() < 3


def test_refused():
    lars = LarsSelector(**QUIET).fit(X, Y)
    with pytest.raises(InputError, match="LarsSelector has no intervals of coefficients"):
        coefficients(lars, X, Y)
    model = SparseRLSRegressor(choose=2, **QUIET).fit(X, Y)
    ranks = SparseRankRLS(**QUIET).fit(X, Y, groups=np.repeat([0, 1, 2], 20))
    with pytest.raises(InputError, match="SparseRankRLS has no intervals"):
        coefficients(ranks, X, Y)
    with pytest.raises(InputError, match="n_resamples=1 must be"):
        coefficients(model, X, Y, 1)


def test_stopped():
    model = SparseRLSRegressor(choose=2, **QUIET).fit(X, Y)
    assert coefficients(model, X, Y, 50, callback=lambda done, of: done >= 5).n_resamples == 5


def test_command_line(run, tmp_path):  # noqa: F811
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(y=Y)
    table.to_csv(tmp_path / "t.csv", index=False)
    given = "select", tmp_path / "t.csv", "-t", "y", "--choose", "2", "--coefficients", "30"
    found = json.loads(run(*given, "--json").out)["coefficients"]
    assert found["features"] == ["b", "f"]
    assert found["n_resamples"] == 30
    refused(run(*given, "--method", "lars"), "lars has no such intervals")
    assert "share of 30 resamples that select the feature): b " in run(*given, "--quiet").out
