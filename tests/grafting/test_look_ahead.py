"""What several inputs explain together: gains against a slow twin, new units, growth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slow_twins import grafting as twin
from sparsepath import MLPGraftingClassifier, MLPGraftingRegressor
from sparsepath.grafting.criterion import Logistic, Softmax, SquaredLoss
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.networks import look_ahead
from sparsepath.grafting.networks.growing import samples
from sparsepath.grafting.networks.look_ahead import (
    Scout,
    UnitsCriterion,
    best_units,
    largest_products,
    rank_polynomials,
    starts,
)
from sparsepath.system.threads import Threads


def scouted(X, y, most_inputs=5, weights=None):
    w = np.ones(len(y)) if weights is None else weights
    s = w / w.sum()
    with Threads(1) as threads:
        scout = Scout(GraftingDesign(X, s, threads), most_inputs, samples(w))
    return scout, scout.sets(s * (s @ y - y), 1.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.integers(3, 7), st.sampled_from([2, 3, 4, 5]))
def test_gains_equal_the_slow_twin(seed, coarse, n, order):
    rng = np.random.default_rng(seed)
    m = 40
    X = rng.integers(0, 3, (m, n)).astype(float) if coarse else np.exp(rng.standard_normal((m, n)))
    w = rng.integers(1, 4, m).astype(float)
    s = w / w.sum()
    r = s * rng.standard_normal(m)
    order = min(order, n)
    first, second = (p.astype(np.float32) for p in rank_polynomials(X, s))
    expected = twin.set_squares(X, s, r, order)
    if order == 2:
        found = look_ahead.pair_squares(first, second, r.astype(np.float32))
        for (i, j), value in expected.items():
            assert found[i, j] == pytest.approx(value, rel=1e-4, abs=1e-8)
        return
    best = largest_products(first, r.astype(np.float32), order)
    falling = sorted(expected.values(), reverse=True)[: len(best)]
    assert [value for value, _ in best] == pytest.approx(falling, rel=1e-3, abs=1e-8)
    for value, subset in best:
        assert value == pytest.approx(expected[subset], rel=1e-3, abs=1e-8)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (lambda X: X[:, 3] ** 2, (3,)),
        (lambda X: X[:, 1] * X[:, 4], (1, 4)),
        (lambda X: np.cos(3 * X[:, 1]) * X[:, 4], (1, 4)),
        (lambda X: np.sign(X[:, 0] * X[:, 2] * X[:, 5]), (0, 2, 5)),
        (lambda X: np.sign(X[:, [0, 2, 5, 6, 7]].prod(1)), (0, 2, 5, 6, 7)),
    ],
)
def test_the_set_that_matters_is_found_first(make, inputs):
    X = np.random.default_rng(0).uniform(-1, 1, (600, 12))
    assert scouted(X, make(X))[1][0][1] == inputs
    assert scouted(np.exp(5 * X), make(X))[1][0][1] == inputs  # ranks: scale and tails do not count


def test_noise_is_left_alone_and_orders_are_within_reach(monkeypatch):
    tried = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tried += bool(scouted(rng.standard_normal((100, 10)), rng.standard_normal(100))[1])
    assert tried <= 3
    X = np.random.default_rng(0).standard_normal((100, 40))
    monkeypatch.setattr(look_ahead, "MOST_WORK", 100 * 9880)  # 40 choose 3
    assert scouted(X, X[:, 0])[0].orders == [1, 2, 3]


def test_whole_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((60, 5)), rng.integers(1, 4, 60)
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60)
    weighted = scouted(X, y, weights=w.astype(float))[1]
    repeated = scouted(np.repeat(X, w, 0), np.repeat(y, w))[1]
    assert [s for _, s in weighted] == [s for _, s in repeated]
    assert [g for g, _ in weighted] == pytest.approx([g for g, _ in repeated], rel=1e-4)
    assert samples(np.full(7, 0.3)) == pytest.approx(7)


@pytest.mark.parametrize(
    "loss", [SquaredLoss(), Logistic(), Softmax()], ids=lambda x: type(x).__name__
)
def test_derivatives_of_new_units_by_finite_differences(loss):
    rng = np.random.default_rng(0)
    Z, m = rng.standard_normal((30, 2)), 30
    Y = (
        np.eye(3)[rng.integers(0, 3, m)]
        if isinstance(loss, Softmax)
        else rng.choice([-1.0, 1.0], (m, 1))
    )
    F = 0.3 * rng.standard_normal(Y.shape)
    s = rng.uniform(0.5, 1, m)
    s /= s.sum()
    task = UnitsCriterion(Z, F, Y, s, loss, 0)
    p = rng.standard_normal((2, 3))
    g = task.derivatives(p)[0].reshape(p.shape)
    for i, j in np.ndindex(p.shape):
        e = np.zeros_like(p)
        e[i, j] = 1e-6
        assert (task.value(p + e) - task.value(p - e)) / 2e-6 == pytest.approx(g[i, j], abs=1e-8)
    if isinstance(loss, SquaredLoss):  # the expansion is exact there, and so is the matrix
        here = float(s @ loss.value(F, Y))
        both = np.concatenate([p, -p])
        changes = task.expected_changes(both)
        for i in range(4):
            assert here + changes[i, i] == pytest.approx(task.value(both[[i]]), rel=1e-5)
            for j in set(range(4)) - {i}:
                assert here + changes[i, j] == pytest.approx(task.value(both[[i, j]]), rel=1e-5)
    units = best_units((4, 7), Z, F, Y, s, loss, 0)
    for unit in units:
        q = np.column_stack([unit.weights, unit.biases])
        assert float(s @ loss.value(F, Y)) - task.value(q) == pytest.approx(unit.fall)


@pytest.mark.parametrize("order", range(1, 6))
def test_starts_are_of_both_signs(order):
    P = starts(order)
    half = len(P) // 2
    assert np.array_equal(P[half:], -P[:half])
    assert len(np.unique(P.round(12), axis=0)) == len(P)
    assert np.allclose(np.linalg.norm(P[:, :-1], axis=1).reshape(-1, 3), [0.7, 2.0, 6.0])


def test_growth_sees_products_and_the_paper_s_test_alone_does_not():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (300, 9))
    y = np.array(["a", "b", "c"])[X[:, 2] ^ X[:, 6]]
    paper = MLPGraftingClassifier(1e-3, 0, 0.02, look_ahead=1).fit(X, y)
    ahead = MLPGraftingClassifier(1e-3, 0, 0.02).fit(X, y)
    assert len(paper.selected_) == 0
    assert sorted(ahead.selected_.tolist()) == [2, 6]
    assert ahead.score(X, y) == 1.0
    first = [line for line in ahead.history_ if line.step == 1]
    assert len(first) in (2, 4)
    assert {line.feature for line in first} == {2, 6}
    kept = [line.criterion for line in ahead.history_ if line.action == "add"]
    assert (np.diff(kept) <= 0).all()


def test_three_classes_and_caps():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 6))
    labels = np.where(X[:, 0] * X[:, 1] > 0.3, 2, (X[:, 2] > 0).astype(int))
    model = MLPGraftingClassifier(1e-3, 0, 0.02, tol=1e-4).fit(X, labels)
    assert sorted(model.selected_.tolist()) == [0, 1, 2]
    for caps in ({"max_hidden": 1}, {"max_connections": 3}, {"max_features": 1}):
        small = MLPGraftingRegressor(1e-3, 0, 1e-2, **caps).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
        assert small.n_hidden_ <= caps.get("max_hidden", 9)
        assert small.network_.n_connections <= caps.get("max_connections", 99)
        assert len(small.selected_) <= caps.get("max_features", 9)
