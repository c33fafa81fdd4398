"""Certificates where weights carry no penalty; steps of the softmax without its matrix."""

import numpy as np
import pytest

from slow_twins import grafting as twin
from sparsepath import GraftingClassifier, GraftingRegressor, grafting_path
from sparsepath.system.tuning import TUNING


@pytest.mark.parametrize("kind", ["squared", "huber", "logistic", "multinomial"])
@pytest.mark.parametrize(("m", "n", "bare"), [(60, 12, 4), (42, 120, 10), (13, 60, 16)])
def test_the_gap_is_known_where_weights_carry_no_penalty(kind, m, n, bare):
    rng = np.random.default_rng(m)
    X = rng.standard_normal((m, n))
    f = X[:, :3].sum(1) + rng.standard_normal(m)
    factors = np.ones(n)
    factors[rng.choice(n, bare, replace=False)] = 0.0
    if kind in ("squared", "huber"):
        model = GraftingRegressor(0.1, l1_factors=factors, loss=kind).fit(X, f)
    elif m == 13:
        pytest.skip("unpenalised columns separate the classes: there is no optimum")
    else:
        y = np.digitize(f, [-1.0, 1.0]) if kind == "multinomial" else f > 0
        model = GraftingClassifier(0.1, l1_factors=factors).fit(X, y)
    assert model.kkt_violation_ <= 1e-8
    assert model.dual_gap_ <= 1e-8
    if kind != "multinomial":
        Z = twin.standardise(X, np.full(m, 1 / m))
        target = np.where(f > 0, 1.0, -1.0) if kind == "logistic" else f
        C = twin.convex(kind, Z, target, np.full(m, 1 / m), 0.1 * factors, 0.0)[-1]
        assert model.criterion_ <= C + 1e-8


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_products_and_the_matrix_lead_to_one_optimum(l2, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 20))
    X = np.column_stack([X, X[:, :5], X[:, 5:10] + 0.01 * rng.standard_normal((150, 5))])
    y = (X[:, :6] @ rng.standard_normal((6, 7)) + rng.gumbel(size=(150, 7))).argmax(1)
    found = []
    for limit in (0, 10**9):
        monkeypatch.setattr(TUNING, "products_from", limit)
        found.append(GraftingClassifier(0.01, l2).fit(X, y))
        assert found[-1].kkt_violation_ <= 1e-8
        assert found[-1].dual_gap_ <= 1e-8
    assert found[0].criterion_ == pytest.approx(found[1].criterion_, rel=1e-10)
    assert found[0].predict_proba(X) == pytest.approx(found[1].predict_proba(X), abs=1e-6)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("away", [1e4, 1e6, 1e8])
def test_a_target_far_from_zero_keeps_its_certificates(loss, away):
    """The gap was lost in the products of slopes and target: 7e-7, or a nought that was none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 12))
    y = np.round(X[:, 0] - X[:, 1] + rng.standard_normal(90), 6)
    near = GraftingRegressor(l1=0.01, loss=loss, validation=None).fit(X, y)
    far = GraftingRegressor(l1=0.01, loss=loss, validation=None).fit(X, y + away)
    assert 0.0 < far.dual_gap_ <= 1e-8
    assert far.kkt_violation_ <= 1e-8
    assert far.coef_ == pytest.approx(near.coef_, abs=1e-14 * away + 1e-8)
    assert far.intercept_ - away == pytest.approx(near.intercept_, abs=1e-14 * away + 1e-8)


def test_a_target_without_any_gradient_has_a_trivial_path():
    """Gradients that are rounding alone gave a grid of l1 around 1e-17, and warnings."""
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = grafting_path(
        np.ones((6, 1)), (y - y.mean()) / y.std() / 3, loss="squared",
        fit_intercept=False, standardize=False, n_l1s=4,
    )  # fmt: skip
    assert found.l1s[0] == 1.0 or found.l1s[0] > 1e-12
    assert found.dual_gaps.max() <= 1e-9
