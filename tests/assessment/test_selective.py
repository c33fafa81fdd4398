"""Selective p-values: the choices are those of the search, and p-values of noise are uniform."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from sparsepath import InputError, SparseRLSClassifier, SparseRLSRegressor, selective_p_values
from sparsepath.assessment import selective


def search(X, y, k=3):
    return SparseRLSRegressor(k, choose=k, validation=None).fit(X, y)


def test_intervals_are_where_the_search_chooses_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    model = search(X, y)
    order = [move.feature for move in model.path_.moves]
    A = (X - X.mean(0)) / X.std(0)
    others = A[:, order[:2]]
    eta = A[:, order[2]] - others @ np.linalg.lstsq(others, A[:, order[2]], rcond=None)[0]
    off = y - y.mean()
    z, square = eta @ off, eta @ eta
    line = np.column_stack([off - eta * z / square, eta / square])
    pieces = selective._comparisons(A, line, order, model.alpha_)
    forbidden = selective._union([gap for each in pieces for gap in each])
    seen = set()
    for at in np.linspace(-4, 4, 161) * np.sqrt(square):
        again = [move.feature for move in search(X, line @ (1.0, at)).path_.moves]
        inside = any(low < at < high for low, high in forbidden)
        assert (again == order) != inside
        seen.add(inside)
    assert seen == {True, False}
    assert not any(low < z < high for low, high in forbidden)
    values = rng.standard_normal(400_000) * np.sqrt(square)  # the truncated distribution, drawn
    allowed = ~np.any([(low < values) & (values < high) for low, high in forbidden], axis=0)
    drawn = np.mean(np.abs(values[allowed]) >= abs(z))
    found = selective_p_values(model, X, y, sigma=1.0)
    assert found.p_values[2] == pytest.approx(drawn, abs=0.01)


@pytest.mark.parametrize("signal", [0.0, 2.0])
def test_p_values_of_noise_are_uniform(signal):
    rng = np.random.default_rng(1)
    found, naive = [], []
    for _ in range(250):
        X = rng.standard_normal((50, 10)) + 0.5 * rng.standard_normal((50, 1))
        y = rng.standard_normal(50) + signal * X[:, 0]
        model = search(X, y, 2)
        if signal and model.path_.moves[0].feature:
            continue
        k = int(signal > 0)
        found.append(selective_p_values(model, X, y, sigma=1.0).p_values[k])
        if not signal:
            x = X[:, model.path_.moves[0].feature]
            x = x - x.mean()
            naive.append(2 * norm.sf(abs(x @ y) / np.linalg.norm(x)))
    assert len(found) > 200
    assert kstest(found, "uniform").pvalue > 0.01
    if naive:  # what the same test shows of p-values that ignore the search
        assert kstest(naive, "uniform").pvalue < 1e-6


def test_a_signal_is_clear_and_what_it_assumes_is_said():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 8))
    y = X[:, 2] - X[:, 5] + rng.standard_normal(120)
    found = selective_p_values(search(X, y), X, y)
    assert {*found.features[:2]} == {"x2", "x5"}
    assert (found.p_values[:2] < 1e-3).all()
    assert found.p_values[2] > 0.01
    assert found.sigma == pytest.approx(1, abs=0.2)
    assert "independent normal errors" in found.sentence()
    assert "least squares on all columns" in found.sentence()
    wide = rng.standard_normal((40, 60))
    assert "imprecise" in selective_p_values(search(wide, y[:40]), wide, y[:40]).sentence()


def test_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    for model in (
        SparseRLSRegressor(search="floating", validation=None),
        SparseRLSRegressor(cv=5, validation=None),
        SparseRLSRegressor(forced=[1], validation=None),
        SparseRLSRegressor(loss="absolute", validation=None),
    ):
        with pytest.raises(InputError, match="selective p-values"):
            selective_p_values(model.fit(X, y), X, y)
    model = SparseRLSClassifier(validation=None).fit(X, y > 0)
    with pytest.raises(InputError, match="regression"):
        selective_p_values(model, X, y > 0)
