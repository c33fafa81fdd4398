"""Certificates where weights carry no penalty; steps of the softmax without its matrix."""

import numpy as np
import pytest

from slow_twins import grafting as twin
from sparsepath import GraftingClassifier, GraftingRegressor
from sparsepath.tuning import TUNING


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
