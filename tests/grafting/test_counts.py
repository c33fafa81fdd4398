"""Poisson, Gamma and Tweedie losses: against an independent solver and scikit-learn."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import TweedieRegressor
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import KFold

from problems import KINDS, problems
from slow_twins import grafting as twin
from sparsepath import GraftingRegressor, GraftingRegressorCV, load_model
from sparsepath.errors import InputError
from sparsepath.grafting.criterion import Penalty
from sparsepath.grafting.deviance import TweedieLoss
from sparsepath.grafting.fitting import GraftingProblem
from sparsepath.grafting.procedure import GraftingOptions
from sparsepath.system.threads import Threads

FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
POWERS = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def counted(values: np.ndarray, kind: str) -> np.ndarray:
    """Targets that the loss takes, with zeros if it may have them."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    y = np.floor(6 * rank / len(rank))
    return (y + 0.5 if kind == "gamma" else y)[:, None]


@FEW
@given(
    problems(kinds=[k for k in KINDS if k != "targets"], max_m=18, max_n=8),
    st.sampled_from(list(POWERS)),
    st.sampled_from([0.5, 0.1]),
    st.sampled_from([0.0, 0.1]),
)
def test_the_optimum_is_that_of_another_solver_and_certified(case, kind, l1, l2):
    w = np.ones(len(case.X)) if case.sw is None else np.where(case.sw > 0, case.sw, 0.5)
    s, Y = w / w.sum(), counted(case.Y[:, 0], kind)
    with Threads(1) as threads:
        problem = GraftingProblem(case.X, Y, w, TweedieLoss(POWERS[kind]), threads)
        scale = problem.scale
        penalty = Penalty.of(case.X.shape[1], l1 * scale, l2 * scale)
        found = problem.fit(penalty, GraftingOptions(tol=1e-10)).solution
    Z = twin.standardise(case.X, s)
    _, _, C = twin.convex(kind, Z, Y[:, 0], s, l1 * scale, l2 * scale)
    assert found.criterion <= C + 1e-8 * abs(C)
    at = twin.criterion(kind, Z, Y[:, 0], s, found.W[:, 0], found.b[0], l1 * scale, l2 * scale)
    assert found.criterion == pytest.approx(at, rel=1e-9)
    assert found.violation < 1e-8
    assert found.gap < 1e-6


@pytest.mark.parametrize("kind", POWERS)
def test_the_conjugate_is_the_largest_value_of_a_grid(kind):
    loss, f = TweedieLoss(POWERS[kind]), np.linspace(-30, 6, 200_001)
    for y in (0.5, 3.0) if kind == "gamma" else (0.0, 0.5, 3.0):
        values = twin.loss_and_slope(kind, f, np.full_like(f, y))[0]
        for u in (0.3, 0.9) if y == 0 else (-0.2, 0.3, 0.9):
            got = loss.conjugate(np.array([[u]]), np.array([[y]]))[0]
            assert got == pytest.approx((u * f - values).max(), abs=1e-6)


@pytest.mark.parametrize("kind", POWERS)
def test_equals_scikit_learn_with_a_ridge_penalty(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    mu = 1e3 * np.exp(0.4 * X[:, 0] - 0.3 * X[:, 3])
    y = rng.poisson(mu) if kind == "poisson" else rng.gamma(2.0, mu)
    w = rng.uniform(0.5, 2.0, 200)
    ours = GraftingRegressor(
        l1=0.0, l2=0.05, loss=kind, standardize=False, validation=None, tol=1e-11
    ).fit(X, y, sample_weight=w)
    theirs = TweedieRegressor(
        power=POWERS[kind],
        link="log",
        alpha=0.1,
        tol=1e-9,
        max_iter=10_000,
        solver="newton-cholesky",
    ).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


def test_the_honest_error_is_the_deviance_of_predicted_means(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 8))
    y = rng.poisson(np.exp(0.5 + 0.7 * X[:, 2] - 0.5 * X[:, 5]))
    model = GraftingRegressorCV(loss="poisson", cv=KFold(5), validation=10).fit(X, y)
    assert set(model.selected_) == {2, 5}
    assert model.honest_.measure == "Poisson deviance"
    new = rng.standard_normal((4000, 8))
    truth = rng.poisson(np.exp(0.5 + 0.7 * new[:, 2] - 0.5 * new[:, 5]))
    real = mean_tweedie_deviance(truth, model.predict(new), power=1)
    assert model.honest_.interval[0] < real < model.honest_.interval[1]
    assert model.honest_.error < 0.8 * model.honest_.empty_error
    model.save_model(tmp_path / "m.json")
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").predict(new), model.predict(new))
    np.testing.assert_allclose(np.log(model.predict(new)), new @ model.coef_ + model.intercept_)


@pytest.mark.parametrize(("loss", "least"), [("poisson", -1.0), ("gamma", 0.0)])
def test_targets_that_a_loss_has_no_value_for_are_refused(loss, least):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.arange(20.0) + least
    with pytest.raises(InputError, match="needs targets"):
        GraftingRegressor(loss=loss).fit(X, y)
    with pytest.raises(InputError, match="1 <= power <= 2"):
        GraftingRegressor(loss="tweedie", power=3).fit(X, y + 2)
