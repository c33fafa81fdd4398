"""The convex optimum (L0 = 0): against an independent solver, and by its own certificates."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from problems import KINDS, Case, problems
from slow_twins import grafting as twin
from sparsepath.grafting.criterion import (
    HuberLoss,
    Logistic,
    Penalty,
    Softmax,
    SquaredHinge,
    SquaredLoss,
)
from sparsepath.grafting.design import GraftingDesign
from sparsepath.grafting.engines import SparseEngine
from sparsepath.grafting.fitting import make_engine
from sparsepath.grafting.solver import gradient_scale, solve
from sparsepath.system.threads import Threads

LOSSES = {
    "logistic": Logistic(),
    "squared_hinge": SquaredHinge(),
    "squared": SquaredLoss(),
    "huber": HuberLoss(),
    "multinomial": Softmax(),
}
FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def weights(case: Case) -> np.ndarray:
    w = np.ones(len(case.X)) if case.sw is None else np.where(case.sw > 0, case.sw, 0.5)
    return w / w.sum()


def optimum(X, Y, s, kind, l1, l2, *, fit_intercept=True, standardize=True, tol=1e-10):
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads, fit_intercept=fit_intercept, standardize=standardize)
        engine = make_engine(design, Y, LOSSES[kind])
        scale = gradient_scale(engine, engine.gradient())
        l1, l2 = l1 * scale, l2 * scale
        penalty = Penalty.of(design.n, l1, l2)
        return solve(engine, penalty, scale=scale, tol=tol), scale, design


def targets(case: Case, kind: str) -> np.ndarray:
    rank = np.argsort(np.argsort(case.Y[:, 0], kind="stable"), kind="stable")
    if kind in ("logistic", "squared_hinge"):
        return np.where(rank >= len(rank) // 2, 1.0, -1.0)[:, None]
    if kind == "multinomial":
        return (3 * rank[:, None] // len(rank) == np.arange(3)).astype(float)
    return (case.Y[:, :1] - case.Y[:, 0].mean()) / max(case.Y[:, 0].std(), 1e-3)


@FEW
@given(
    problems(kinds=[k for k in KINDS if k != "targets"], max_m=18, max_n=9),
    st.sampled_from(["logistic", "squared_hinge", "squared", "huber"]),
    st.sampled_from([0.5, 0.1, 0.02]),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
)
def test_optimum_of_one_output(case, kind, l1, l2, sparse):
    s, Y = weights(case), targets(case, kind)
    X = sp.csc_matrix(case.X) if sparse else case.X
    found, scale, design = optimum(X, Y, s, kind, l1, l2)
    Z, F = twin.standardise(case.X, s), design.outputs(found.W, found.b)
    *_, C = twin.convex(kind, Z, Y[:, 0], s, l1 * scale, l2 * scale)
    assert found.criterion <= C + 1e-9 * abs(C)
    assert found.criterion >= C - 1e-6 * abs(C)  # the twin may be a little above the optimum
    again = twin.criterion(
        kind, Z, Y[:, 0], s, found.W[:, 0], np.median(F[:, 0] - Z @ found.W[:, 0]),
        l1 * scale, l2 * scale,
    )  # fmt: skip
    assert again == pytest.approx(found.criterion, rel=1e-8)
    assert found.violation <= 1e-8
    assert found.gap <= 1e-8


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(kinds=["tall", "wide", "duplicate", "constant", "ties", "offset", "sparse"]),
    st.sampled_from([0.5, 0.1, 0.03]),
    st.sampled_from([0.0, 0.1]),
)
def test_optimum_of_groups(case, l1, l2):
    s, Y = weights(case), targets(case, "multinomial")
    found, scale, _ = optimum(case.X, Y, s, "multinomial", l1, l2)
    Z = twin.standardise(case.X, s)
    *_, C = twin.groups(Z, Y, s, l1 * scale, l2 * scale)
    assert found.criterion <= C + 1e-9 * abs(C)
    assert found.criterion >= C - 1e-6 * abs(C)
    assert found.violation <= 1e-8
    assert found.gap <= 1e-8


@pytest.mark.parametrize("kind", LOSSES)
def test_slopes_and_curvatures_are_derivatives(kind):
    rng = np.random.default_rng(0)
    loss = LOSSES[kind]
    F = rng.standard_normal((7, 3 if kind == "multinomial" else 1))
    Y = np.sign(rng.standard_normal(F.shape))
    if kind == "multinomial":
        Y = np.eye(3)[[0, 1, 2, 0, 1, 2, 0]]
    e = 1e-6
    for c in range(F.shape[1]):
        up, down = F.copy(), F.copy()
        up[:, c] += e
        down[:, c] -= e
        slope = (loss.value(up, Y) - loss.value(down, Y)) / (2 * e)
        assert slope == pytest.approx(loss.slope(F, Y)[:, c], abs=1e-8)
        bend = (loss.slope(up, Y) - loss.slope(down, Y))[:, c] / (2 * e)
        given_ = loss.curvature(F, Y)[:, c]
        if kind == "multinomial":
            given_ = given_ * (1 - given_)
        if kind not in ("huber", "squared_hinge"):  # straight parts have a little by design
            assert bend == pytest.approx(given_, abs=1e-8)


@pytest.mark.parametrize("kind", LOSSES)
def test_conjugates_obey_fenchel_young(kind):
    rng = np.random.default_rng(1)
    loss = LOSSES[kind]
    K = 3 if kind == "multinomial" else 1
    Y = np.eye(3)[rng.integers(0, 3, 9)] if K == 3 else np.sign(rng.standard_normal((9, 1)))
    F, G = rng.standard_normal((2, 9, K))
    U = loss.slope(F, Y)
    at = (F * U).sum(1)
    assert loss.value(F, Y) + loss.conjugate(U, Y) == pytest.approx(at, abs=1e-12)
    assert (loss.value(G, Y) + loss.conjugate(U, Y) >= (G * U).sum(1) - 1e-12).all()


def test_gap_bounds_the_suboptimality_anywhere():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 12))
    Y = np.sign(X[:, :1] + rng.standard_normal((60, 1)))
    s = np.full(60, 1 / 60)
    best, scale, _ = optimum(X, Y, s, "logistic", 0.2, 0.0)
    with Threads(1) as threads:
        design = GraftingDesign(X, s, threads)
        engine = make_engine(design, Y, Logistic())
        penalty = Penalty.of(12, 0.2 * scale)
        for size in (0.0, 0.1, 1.0):
            engine.move_to(size * rng.standard_normal((12, 1)), np.zeros(1))
            engine.settle_intercept()
            here = engine.loss_term() + penalty.value(engine.W)
            gap = engine.gap(penalty, engine.gradient(), design.usable)
            assert gap >= here - best.criterion - 1e-12


def test_order_type_and_sparsity_do_not_matter():
    rng = np.random.default_rng(3)
    X = (rng.random((80, 30)) < 0.3) * rng.integers(1, 5, (80, 30))
    Y = np.sign(X[:, :1] - 1.0 + rng.standard_normal((80, 1)))
    s = np.full(80, 1 / 80)
    base, *_ = optimum(X.astype(float), Y, s, "logistic", 0.1, 0.0)
    for other in (
        np.asfortranarray(X, dtype=np.float32),
        X.astype(np.uint8),
        sp.csr_matrix(X),
        sp.csc_matrix(X.astype(np.float32)),
    ):
        found, *_ = optimum(other, Y, s, "logistic", 0.1, 0.0)
        assert found.criterion == pytest.approx(base.criterion, rel=1e-12)
        assert pytest.approx(base.W, abs=1e-6) == found.W


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", ["logistic", "squared_hinge", "squared", "huber"])
def test_sparse_columns_give_what_dense_ones_give(kind, standardize, fit_intercept):
    rng = np.random.default_rng(4)
    X = (rng.random((90, 40)) < 0.2) * rng.uniform(0.5, 3, (90, 40))
    Y = np.sign(X[:, :1] - X[:, 1:2] + 0.5 * rng.standard_normal((90, 1)))
    s = rng.uniform(0.5, 2, 90)
    s /= s.sum()
    choices = {"fit_intercept": fit_intercept, "standardize": standardize}
    dense, scale, _ = optimum(X, Y, s, kind, 0.1, 0.02, **choices)
    with Threads(1) as threads:
        design = GraftingDesign(sp.csc_matrix(X), s, threads, **choices)
        engine = SparseEngine(design, Y, LOSSES[kind])
        penalty = Penalty.of(40, 0.1 * scale, 0.02 * scale)
        found = solve(engine, penalty, scale=scale, tol=1e-10)
    assert found.criterion == pytest.approx(dense.criterion, rel=1e-12)
    assert pytest.approx(dense.W, abs=1e-7) == found.W
    assert found.b == pytest.approx(dense.b, abs=1e-7)
    assert design.outputs(found.W, found.b) == pytest.approx(engine.F, abs=1e-9)


def known_problem(name):
    """(X, labels +-1) of the three data sets on which the slow solver is compared."""
    from sklearn.datasets import load_breast_cancer, load_digits

    if name == "text":
        rng = np.random.default_rng(5)
        words = rng.poisson(3 / (1 + np.arange(60)), (300, 60)).astype(float)
        return sp.csr_matrix(words), np.where(words[:, 3] + words[:, 7] > words[:, 2], 1.0, -1.0)
    X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    return X, np.where(y == 0, 1.0, -1.0)


@pytest.mark.parametrize("part", [0.3, 0.03])
@pytest.mark.parametrize("name", ["breast_cancer", "digits", "text"])
def test_objective_equals_proximal_newton(name, part):
    X, y = known_problem(name)
    s = np.full(len(y), 1 / len(y))
    found, scale, _ = optimum(X, y[:, None], s, "logistic", part, 0.0, tol=1e-9)
    Z = twin.standardise(X.toarray() if sp.issparse(X) else X, s)
    *_, C = twin.prox_newton(Z, y, part * scale)
    assert found.criterion == pytest.approx(C, rel=1e-8)
    assert found.violation <= 1e-8
    assert found.gap <= 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_nearly_collinear_sparse_columns_reach_the_certificate(seed):
    """Coordinate descent alone crawls here; the matrix of the working set brings it home."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((47, 7))
    X = np.concatenate([X, X + 1e-5 * rng.standard_normal(X.shape)], axis=1)
    Y = np.sign(X[:, :1] + rng.standard_normal((47, 1)))
    s = np.full(47, 1 / 47)
    with Threads(1) as threads:
        engine = SparseEngine(GraftingDesign(sp.csc_matrix(X), s, threads), Y, Logistic())
        scale = gradient_scale(engine, engine.gradient())
        found = solve(engine, Penalty.of(14, 1e-3 * scale), scale=scale, tol=1e-9)
    assert found.violation <= 1e-8
    assert found.gap <= 1e-8


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("seed", [0, 4])
def test_nearly_collinear_groups_reach_the_certificate(seed, apart):
    """Descent over groups alone ended at gaps of up to 5e-5 here, after seconds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 7))
    X = np.concatenate([X, X + apart * rng.standard_normal(X.shape)], axis=1)
    Y = np.eye(3)[(X[:, :3] + rng.standard_normal((60, 3))).argmax(1)]
    s = np.full(60, 1 / 60)
    for part in (0.1, 1e-3):
        found, *_ = optimum(X, Y, s, "multinomial", part, 0.0, tol=1e-9)
        assert found.violation <= 1e-8
        assert found.gap <= 1e-8


@pytest.mark.parametrize("kind", LOSSES)
def test_an_expansion_is_value_slope_and_curvature(kind):
    rng = np.random.default_rng(2)
    loss, K = LOSSES[kind], 3 if kind == "multinomial" else 1
    sizes = np.repeat([1e-12, 1e-4, 1.0, 30.0, 800.0], 40)[:, None]
    F = np.vstack([sizes * rng.standard_normal((200, K)), np.zeros((1, K))])
    Y = np.eye(3)[rng.integers(0, 3, 201)] if K == 3 else rng.choice([-1.0, 1.0], (201, 1))
    found = loss.expansion(F, Y)
    bend = loss.curvature(F, Y)
    if kind == "logistic":
        exact = [max(-r, 0.0) + math.log1p(math.exp(-abs(r))) for r in (F * Y)[:, 0].tolist()]
        assert found.value == pytest.approx(exact, rel=2e-15, abs=1e-300)
        wrong = -(F * Y)  # samples far on the wrong side: a little of a parabola that touches
        bend = np.where(wrong > 1, np.maximum(bend, 0.02 / np.maximum(wrong, 1)), bend)
    assert found.value == pytest.approx(loss.value(F, Y), rel=1e-11, abs=1e-300)
    np.testing.assert_allclose(found.slope, loss.slope(F, Y), rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(found.curvature, bend, rtol=1e-14, atol=1e-300)
    wide = np.zeros((402, 2 * K))  # and whatever lies between the numbers in memory
    wide[::2, :K] = F
    again = loss.expansion(wide[::2, :K], Y)
    assert (again.value == found.value).all()
    assert (again.slope == found.slope).all()
