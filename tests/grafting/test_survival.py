"""Cox's partial likelihood: against loops over pairs, and as an estimator."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from problems import KINDS, problems
from slow_twins import grafting as twin
from sparsepath import GraftingCox, GraftingCoxCV, load_model
from sparsepath.assessment.metrics import METRICS, Truth
from sparsepath.errors import InputError
from sparsepath.grafting.partial_likelihood import CoxLoss

FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def survival(n=300, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    time = rng.exponential(np.exp(-0.9 * X[:, 1] + 0.6 * X[:, 4]))
    end = rng.exponential(2.0, n)
    return X, np.column_stack([np.round(np.minimum(time, end), 2), time <= end])


def tied(values):
    """Times with ties, from any numbers; zero among them."""
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return np.floor(2 * rank / 3.0)


@FEW
@given(
    problems(kinds=[k for k in KINDS if k != "targets"], max_m=16, max_n=6),
    st.sampled_from([0.4, 0.1]),
    st.sampled_from([0.0, 0.1]),
    st.integers(0, 5),
)
def test_the_optimum_is_that_of_another_solver(case, l1, l2, seed):
    m = len(case.X)
    time = tied(case.Y[:, 0])
    event = np.random.default_rng(seed).random(m) < 0.7
    event[0] = True
    w = np.ones(m) if case.sw is None else np.where(case.sw > 0, case.sw, 0.5)
    model = GraftingCox(l1=l1, l2=l2, validation=None, tol=1e-10).fit(
        case.X, np.column_stack([time, event]), sample_weight=w
    )
    s = w / w.sum()
    Z = twin.standardise(case.X, s)
    _, C = twin.cox(Z, time, event, s, l1, l2)
    assert model.criterion_ <= C + 1e-7 * abs(C)
    value, _ = twin.partial_likelihood(time, event, s, model.predict(case.X))
    assert model.path_.step(len(model.selected_)).train_error == pytest.approx(value, abs=1e-9)
    assert model.kkt_violation_ < 1e-7


def test_slopes_and_second_derivatives_are_those_of_the_loops():
    X, y = survival(40, 5)
    s = np.random.default_rng(3).uniform(0.5, 2.0, 40)
    s /= s.sum()
    w = np.array([0.3, -0.8, 0.5, 0.0, 0.2])
    Y = np.where(y[:, 1] > 0, y[:, 0], -y[:, 0])[:, None]
    loss, F = CoxLoss(Y, s), (X @ w)[:, None]
    value, slope = twin.partial_likelihood(y[:, 0], y[:, 1], s, X @ w)
    assert s @ loss.value(F, Y) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(s * loss.slope(F, Y)[:, 0], slope, atol=1e-14)
    had = y[:, 1] > 0
    M = loss.means(X, F)[had]
    H = X.T @ (X * (s * loss.curvature(F, Y)[:, 0])[:, None]) - M.T @ (M * s[had, None])
    for j in range(5):
        step = 1e-5 * np.eye(5)[j]
        ends = [twin.partial_likelihood(y[:, 0], y[:, 1], s, X @ (w + d))[1] for d in (step, -step)]
        np.testing.assert_allclose(H[j], X.T @ (ends[0] - ends[1]) / 2e-5, atol=1e-8)


def test_concordance_is_that_of_all_pairs():
    X, y = survival(60)
    risk = np.round(X[:, 1], 1)
    got = METRICS["concordance"].losses(Truth(y), risk[:, None])
    assert 1 - got[0] == pytest.approx(twin.concordance(y[:, 0], y[:, 1], risk), abs=1e-12)


def test_the_true_features_are_found_and_the_concordance_holds(tmp_path):
    X, y = survival()
    model = GraftingCoxCV(validation=10).fit(X, y)
    assert {1, 4} <= set(model.selected_)
    assert len(model.selected_) <= 3
    assert model.honest_.measure == "concordance error"
    assert str(model.honest_).startswith("Concordance 0.")
    new, truth = survival(3000, seed=9)
    low, high = model.honest_.interval
    assert low < 1 - model.score(new, truth) < high
    assert model.score(new, truth) == pytest.approx(
        twin.concordance(truth[:400, 0], truth[:400, 1], model.predict(new[:400])), abs=0.03
    )
    model.save_model(tmp_path / "m.json")
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").predict(new), model.predict(new))


def test_times_come_in_several_forms():
    X, y = survival(80)
    plain = GraftingCox(l1=0.05, validation=None).fit(X, y)
    fields = np.array([(bool(e), t) for t, e in y], dtype=[("event", bool), ("time", float)])
    other = GraftingCox(l1=0.05, validation=None).fit(X, fields)
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    for bad, message in (
        (y[:, 0], "two columns"),
        (np.column_stack([y[:, 0], y[:, 0]]), "other values than 0 and 1"),
        (np.column_stack([-1 - y[:, 0], y[:, 1]]), "zero or more"),
        (np.column_stack([y[:, 0], 0 * y[:, 1]]), "no event"),
    ):
        with pytest.raises(InputError, match=message):
            GraftingCox().fit(X, bad)
