"""Knockoffs: exchangeable with their columns, at the level, and on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import run  # noqa: F401

from sparsepath import GraftingRegressorCV, InputError, SparseRLSRegressor, knockoffs
from sparsepath.assessment import false_discoveries


def draw(rng, m=250, n=60, true=15):
    X = rng.standard_normal((m, n))
    X[:, 1:] += 0.7 * X[:, :-1]
    there = rng.choice(n, true, replace=False)
    return X, X[:, there].sum(1) + rng.standard_normal(m), {f"x{j}" for j in there}


def test_knockoffs_have_the_correlations_of_their_columns():
    rng = np.random.default_rng(0)
    X = draw(rng, 4000, 8, 2)[0]
    Z = (X - X.mean(0)) / X.std(0)
    both = np.corrcoef(Z, false_discoveries._copies(Z, rng), rowvar=False)
    own, cross, copies = both[:8, :8], both[:8, 8:], both[8:, 8:]
    off = ~np.eye(8, dtype=bool)
    np.testing.assert_allclose(copies, own, atol=0.06)
    np.testing.assert_allclose(cross[off], own[off], atol=0.06)
    assert (cross.diagonal() < 0.9).all()  # and yet are not the columns themselves


def test_entropy_is_at_its_largest():
    sigma = 0.6 ** np.abs(np.subtract.outer(range(7), range(7)))
    s = false_discoveries._entropy(sigma)

    def entropy(s):
        return np.linalg.slogdet(2 * sigma - np.diag(s))[1] + np.log(s).sum()

    for j in range(7):
        for step in (-1e-2, 1e-2):
            assert entropy(s) >= entropy(s + step * np.eye(7)[j])


def test_level_and_power():
    rng = np.random.default_rng(3)
    rates, power = [], []
    for seed in range(30):
        X, y, there = draw(rng)
        chosen = {*knockoffs(SparseRLSRegressor(), X, y, 0.2, random_state=seed).features}
        rates.append(len(chosen - there) / max(len(chosen), 1))
        power.append(len(chosen & there) / len(there))
    assert np.mean(rates) < 0.2 + 2 * np.std(rates) / np.sqrt(30)
    assert np.mean(power) > 0.9


def test_noise_is_rarely_selected_and_any_path_will_do():
    rng = np.random.default_rng(4)
    none = [
        not knockoffs(SparseRLSRegressor(), rng.standard_normal((80, 20)), y, 0.2).features
        for y in rng.standard_normal((20, 80))
    ]
    assert sum(none) >= 15
    X, y, there = draw(rng, 200, 30, 12)
    found = knockoffs(GraftingRegressorCV(), pd.DataFrame(X).add_prefix("x"), y, 0.2)
    assert {*found.features} >= there
    assert found.to_frame("pandas")["selected"].sum() == len(found.features)


def test_refused():
    X, y, _ = draw(np.random.default_rng(0), 50, 10, 3)
    for given, said in (
        ((SparseRLSRegressor(forced=[0]), X, y), "forced"),
        ((SparseRLSRegressor(), np.ones_like(X), y), "constant"),
        ((SparseRLSRegressor(), X, y, 2.0), "between 0 and 1"),
    ):
        with pytest.raises(InputError, match=said):
            knockoffs(*given)


def test_on_the_command_line(run, tmp_path):  # noqa: F811
    X, y, there = draw(np.random.default_rng(5))
    file = tmp_path / "t.csv"
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(file, index=False)
    asked = ("select", file, "--target", "y", "--fdr", "0.2", "--p-values")
    found = json.loads(run(*asked, "--json").out)
    assert {*found["fdr"]["features"]} >= there
    assert found["fdr"]["level"] == 0.2
    assert found["p_values"]["features"] == found["chosen"]["features"][:20]
    assert "At a false discovery rate of 20 %" in run(*asked, "--quiet").out
    pd.DataFrame(X).add_prefix("x").assign(y=y, kind=np.where(y > 0, "u", "v")).to_csv(
        file, index=False
    )
    done = run(*asked, "--quiet")
    assert done.code == 0
    assert "Warning: there is no --fdr: columns of text" in done.err
    assert "Warning: there is no --p-values" in done.err
