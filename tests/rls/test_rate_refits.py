"""Counts and amounts: Poisson, Gamma and Tweedie models of the columns that a search selects."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import mean_tweedie_deviance

from slow_twins.rates import POWERS, fitted_means
from sparsepath import SelectionPath, SparseRLSRegressor, coefficients
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.out_of_sample import held_out_losses
from sparsepath.errors import InputError
from sparsepath.models.saved import load_model
from sparsepath.rls.penalties import PLAIN, RATE_REFITS, SEARCHES
from sparsepath.rls.rate_refits import RateRefits

NESTED = {0: (), 1: (3,), 2: (3, 0), 4: (3, 0, 1, 2)}
OTHERS = {0: (), 1: (3,), 2: (0, 1), 4: (2, 3, 1, 0)}
LOSSES = pytest.mark.parametrize("loss", POWERS)


def problem(n=60, loss="poisson", p=5, seed=0, level=1.5):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, p))
    mu = np.exp(level + 0.6 * Z[:, 0] - 0.4 * Z[:, 3])
    X = Z * np.resize([1, 2, 0.1, 5, 1], p) + 4
    if loss == "gamma":
        return X, rng.gamma(2.0, mu / 2)
    counts = rng.poisson(mu).astype(float)
    return X, counts if loss == "poisson" else counts * rng.gamma(2.0, 1.0, n)


@LOSSES
@pytest.mark.parametrize("subsets", [NESTED, OTHERS], ids=["nested", "not nested"])
@pytest.mark.parametrize(
    ("fit_intercept", "standardize"), [(True, True), (False, True), (True, False)]
)
def test_refits_minimise_the_penalised_deviance(loss, subsets, fit_intercept, standardize):
    X, y = problem(loss=loss)
    if not fit_intercept:
        X = X - 4
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    alphas = [20.0, 0.3]
    options = {"fit_intercept": fit_intercept, "standardize": standardize}
    for data in (X, sparse.csr_matrix(X)):
        refits = RateRefits(data, y[:, None], weights, power=POWERS[loss], **options)
        out = refits.outputs(subsets, alphas, data)
        for i, alpha in enumerate(alphas):
            models = refits.models(subsets, alpha)
            for size, columns in subsets.items():
                slow = fitted_means(X, y, weights, columns, alpha, POWERS[loss], **options)
                coef, intercept = models[size]
                fitted = np.exp(X[:, list(columns)] @ coef + intercept)[:, 0]
                assert_allclose(fitted, slow, rtol=1e-5)
                assert_allclose(out[size][i][:, 0], fitted, rtol=2e-3)


@LOSSES
def test_honest_errors_are_those_of_rate_models_in_every_part(loss):
    X, y = problem(40, loss)
    parts = parts_of(4, X, y, classes=False)
    found = held_out_losses(SparseRLSRegressor(3, loss=loss, validation=5), X, y, parts)
    every = {each.way: each for each in (found, *found.others)}
    assert set(every) == {(40 * s, 40 * r) for s in SEARCHES for r in RATE_REFITS}
    for way, each in every.items():
        alone = held_out_losses(SparseRLSRegressor(3, alpha=way.search), X, y, parts)
        assert alone.subsets == each.subsets
        for (train, test), subsets in zip(parts.splits, each.subsets, strict=True):
            for k, columns in enumerate(subsets.values()):
                refits = RateRefits(
                    X[train],
                    y[train, None],
                    np.ones(len(train)),
                    fit_intercept=True,
                    standardize=True,
                    power=POWERS[loss],
                )
                coef, intercept = refits.models({len(columns): columns}, way.refit)[len(columns)]
                mu = np.exp(X[test][:, list(columns)] @ coef + intercept)[:, 0]
                for row, mean in zip(test, mu, strict=True):
                    exact = mean_tweedie_deviance([y[row]], [mean], power=POWERS[loss])
                    assert_allclose(each.losses[row, k], exact, rtol=5e-3, atol=1e-3)


@pytest.mark.validated
@LOSSES
@pytest.mark.parametrize("given", [{}, {"validation": None}, {"alpha": 3.0}, {"alpha": "loo"}])
def test_the_model_is_the_rate_model_of_the_chosen_columns(loss, given, tmp_path):
    X, y = problem(80, loss)
    weights = np.random.default_rng(1).uniform(0.5, 2, 80)
    model = SparseRLSRegressor(loss=loss, choose=2, **given).fit(X, y, sample_weight=weights)
    assert model.path_.criterion == "leave-one-out squared error"
    if not given:
        assert model.alpha_ == model.refit_alpha_ == PLAIN  # sixteen samples per column
    for size in (0, 1, 2):
        columns = model.path_.subset(size)
        slow = fitted_means(X, y, weights, columns, model.refit_alpha_, POWERS[loss])
        smaller = model.at_size(size)
        assert_allclose(smaller.predict(X), slow, rtol=1e-5)
        assert_allclose(np.exp(X @ smaller.coef_ + smaller.intercept_), slow, rtol=1e-5)
    model.save_model(tmp_path / "model.json")
    assert_allclose(load_model(tmp_path / "model.json").predict(X), model.predict(X), rtol=1e-12)
    document = json.loads(json.dumps(model.path_.to_dict()))
    again = SelectionPath.from_dict(document).model(2).predict(X)[:, 0]
    assert_allclose(again, model.predict(X), rtol=1e-12)


@pytest.mark.validated
def test_wide_data_choose_penalties_and_several_are_combined():
    X, y = problem(60, p=40)
    model = SparseRLSRegressor(loss="poisson", max_features=6, validation=5).fit(X, y)
    assert model.alpha_ in [60 * s for s in SEARCHES]
    assert model.refit_alpha_ in [60 * r for r in RATE_REFITS]
    assert model.honest_.measure == "Poisson deviance"
    assert {0, 3} <= set(model.selected_)
    several = SparseRLSRegressor(loss="poisson", alpha=[1.0, 30.0], max_features=4, choose="min")
    several.fit(X, y)
    columns = several.path_.subset(several.honest_.size)
    slow = fitted_means(X, y, np.ones(60), columns, several.refit_alpha_, 1.0)
    assert_allclose(several.predict(X), slow, rtol=1e-5)
    assert {several.alpha_, several.refit_alpha_} <= {1.0, 30.0}


@pytest.mark.validated
def test_honest_errors_are_right_on_new_samples():
    ratios = []
    for seed in range(6):
        X, y = problem(300, p=10, level=0.0, seed=seed)
        model = SparseRLSRegressor(loss="poisson", validation=5).fit(X, y)
        assert {0, 3} <= set(model.selected_)
        assert_allclose(model.predict(X).mean(), y.mean(), rtol=0.02)
        new, truth = problem(20_000, p=10, level=0.0, seed=100 + seed)
        real = mean_tweedie_deviance(truth, model.predict(new), power=1)
        assert model.honest_.interval[0] < real < model.honest_.interval[1]
        ratios.append(model.honest_.error / real)
    assert_allclose(np.mean(ratios), 1.0, atol=0.06)


def test_a_penalty_does_not_depend_on_the_unit():
    X, y = problem(80, "tweedie")
    few, many = (
        SparseRLSRegressor(loss="tweedie", power=1.3, choose=3, alpha=5.0, validation=None)
        .fit(X, unit * y)
        .predict(X)
        for unit in (1.0, 1000.0)
    )
    assert_allclose(1000 * few, many, rtol=1e-6)


def test_a_callback_that_stops_still_leaves_rate_models():
    X, y = problem(80)
    model = SparseRLSRegressor(
        loss="poisson", alpha=1.0, callback=lambda path: len(path) >= 3, choose=2
    ).fit(X, y)
    assert not model.path_.complete
    slow = fitted_means(X, y, np.ones(80), model.path_.subset(2), 1.0, 1.0)
    assert_allclose(model.predict(X), slow, rtol=1e-5)


def test_intervals_of_coefficients_are_of_rate_models():
    X, y = problem(150)
    model = SparseRLSRegressor(loss="poisson", choose=2, alpha=1.0, validation=None).fit(X, y)
    found = coefficients(model, X, y, 40)
    assert (found.low < found.values).all()
    assert (found.values < found.high).all()


def test_a_column_that_separates_zeros_has_finite_coefficients():
    X, y = problem(60, level=0.0)
    X[:, 1] = y == 0
    model = SparseRLSRegressor(2, loss="poisson", alpha=0.0, validation=None, choose=2).fit(X, y)
    assert 1 in model.selected_
    assert np.isfinite(model.predict(X)).all()
    assert model.predict(X)[y == 0].max() < 1e-3


def test_refused():
    X, y = problem(30)
    with pytest.raises(InputError, match="needs targets zero or more"):
        SparseRLSRegressor(loss="poisson").fit(X, y - 10)
    with pytest.raises(InputError, match="needs targets greater than zero"):
        SparseRLSRegressor(loss="gamma").fit(X, np.maximum(y - 2, 0))
    with pytest.raises(InputError, match="1 <= power <= 2"):
        SparseRLSRegressor(loss="tweedie", power=2.5).fit(X, y)
    with pytest.raises(InputError, match="takes one target"):
        SparseRLSRegressor(loss="poisson").fit(X, np.column_stack([y, y + 1]))
    with pytest.raises(InputError, match=r"absolute.*poisson"):
        SparseRLSRegressor(loss="poison").fit(X, y)
