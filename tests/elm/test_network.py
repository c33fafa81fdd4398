"""PRESS equals refitting, prefixes equal separate fits, gradients equal finite differences."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import Case, problems
from slow_twins import elm as twin
from sparsepath._core import elm as core
from sparsepath.data.columns import standardise
from sparsepath.elm.network import Fit, Machine, Neurons, Target, draw_neurons
from sparsepath.elm.polish import tune_ridge
from sparsepath.elm.pool import Pool
from sparsepath.elm.rough import RoughJudge, rough_key
from sparsepath.elm.scaling import Best, Candidate, restart
from sparsepath.errors import InputError

RIDGES = (1e-6, 1e-3, 1e-1)


def pool_of(case: Case, m: int, ridge: float, own=None, activation: str = "tanh") -> Pool:
    XT, _, _ = standardise(case.X)
    neurons = draw_neurons(m, len(XT), activation, np.random.default_rng(1))
    return Pool(XT, Target(case.Y, own), neurons, ridge)


def twin_hidden(pool: Pool, scaling) -> np.ndarray:
    neurons = pool.neurons
    return twin.hidden(pool.XT.T, neurons.weights.T, neurons.biases, scaling)


def scaling_for(case: Case, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    scaling = random.uniform(0.1, 1, case.X.shape[1]) * (random.random(case.X.shape[1]) < 0.7)
    scaling[0] = 0.5
    return scaling


def test_tanh_is_exact_to_rounding():
    random = np.random.default_rng(0)
    x = np.concatenate([random.standard_normal(5000) * s for s in (1e-8, 1e-2, 1, 5, 30)])
    x = np.concatenate([x, [0.0, 1e-300, 19.0, 20.0, 21.0, 1e300, -1e300]])
    H, means = x[None].copy(), np.empty(1)
    core.squash(H, np.zeros(1), means)
    np.testing.assert_allclose(H[0] + means[0], np.tanh(x), rtol=0, atol=2e-15)
    rough, mean = np.clip(x, -1e30, 1e30).astype(np.float32)[None], np.empty(1, np.float32)
    core.squash(rough, np.zeros(1, np.float32), mean)
    np.testing.assert_allclose(rough[0] + mean, np.tanh(x), rtol=0, atol=6e-7)


@settings(max_examples=40, deadline=None)
@given(problems(weights=False, max_m=16, max_n=6), st.sampled_from(RIDGES), st.integers(1, 9))
def test_press_equals_refitting(case, ridge, m):
    pool, scaling = pool_of(case, m, ridge), scaling_for(case, m)
    loo = pool.fit(scaling, slice(None)).leave_one_out()
    H = twin_hidden(pool, scaling)
    expected = twin.loo_residuals(H, case.Y, ridge)
    scale = np.abs(case.Y).max()
    np.testing.assert_allclose(loo.residuals.T, expected, rtol=1e-6, atol=1e-7 * scale)
    assert loo.squares == pytest.approx(np.square(expected).sum() / len(expected), rel=1e-6)
    for other, several in zip(
        RIDGES, pool.fit(scaling, slice(None)).leave_one_out_for(RIDGES), strict=True
    ):
        expected = twin.loo_residuals(H, case.Y, other)
        np.testing.assert_allclose(several.residuals.T, expected, rtol=1e-5, atol=1e-7 * scale)


@settings(max_examples=40, deadline=None)
@given(problems(weights=False, max_m=20, max_n=6), st.sampled_from(RIDGES), st.integers(1, 12))
def test_fit_equals_singular_values(case, ridge, m):
    pool, scaling = pool_of(case, m, ridge), scaling_for(case, m)
    fit = pool.fit(scaling, slice(None))
    slow = twin.SVD(twin_hidden(pool, scaling), case.Y, ridge)
    assert fit.mse == pytest.approx(slow.mse, rel=1e-6, abs=1e-12)
    assert fit.objective == pytest.approx(slow.objective, rel=1e-6)
    assert fit.leave_one_out().key == pytest.approx((slow.press, slow.press), rel=1e-6)
    assert fit.leave_one_out().criterion == pytest.approx(slow.press, rel=1e-6)


@pytest.mark.parametrize("T", [1, 3])
def test_every_prefix_is_a_fit_of_its_own(T):
    random = np.random.default_rng(3)
    X, Y = random.standard_normal((40, 4)), random.standard_normal((40, T))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(15, 4, "tanh", random), 1e-6)
    criteria, squares = pool.fit(np.ones(4), slice(None)).prefixes()
    H = twin_hidden(pool, np.ones(4))
    slow = [twin.SVD(H[:, : m + 1], Y, 1e-6).press for m in range(15)]
    np.testing.assert_allclose(squares, slow, rtol=1e-8)
    np.testing.assert_array_equal(criteria, squares)


@pytest.mark.parametrize("classes", [2, 3])
def test_error_rate_counts_refitted_mistakes(classes):
    random = np.random.default_rng(classes)
    X = random.standard_normal((30, 3))
    own = (random.integers(0, classes, 30) + (X[:, 0] > 0)) % classes
    Y = np.where(own[:, None] == np.arange(classes), 1.0, -1.0)
    Y = Y[:, 1:] if classes == 2 else Y
    pool = Pool(standardise(X)[0], Target(Y, own), draw_neurons(8, 3, "tanh", random), 1e-3)
    criteria, squares = pool.fit(np.ones(3), slice(None)).prefixes()
    H = twin_hidden(pool, np.ones(3))
    for m, (rate, square) in enumerate(zip(criteria, squares, strict=True), start=1):
        residuals = twin.loo_residuals(H[:, :m], Y, 1e-3)
        scores = Y - residuals
        winner = (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(1)
        assert rate == pytest.approx((winner != own).mean())
        assert square == pytest.approx(np.square(residuals).sum() / 30, rel=1e-8)
    fit = pool.fit(np.ones(3), slice(None))
    assert fit.leave_one_out().key == pytest.approx((criteria[-1], squares[-1]))
    assert fit.leave_one_out().criterion == pytest.approx(criteria[-1])


def test_as_many_neurons_as_samples_is_no_leave_one_out():
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((8, 3)), random.standard_normal((8, 1))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(30, 3, "tanh", random), 1e-14)
    criteria, _ = pool.fit(np.ones(3), slice(None)).prefixes()
    assert np.isinf(criteria[-1])
    assert np.isfinite(criteria[0])


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 8, 13])
@pytest.mark.parametrize(("n", "d", "T"), [(40, 1, 1), (700, 4, 2), (1100, 7, 1), (30, 9, 3)])
def test_compiled_fit_equals_singular_values(m, n, d, T):
    random = np.random.default_rng(m)
    X, Y = random.standard_normal((n, d)), random.standard_normal((n, T))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(m, d, "tanh", random), 1e-3)
    scaling = random.uniform(0.1, 1, d)
    scaling[1:] *= random.random(d - 1) < 0.7
    H = twin_hidden(pool, scaling)
    slow = twin.SVD(H, Y, 1e-3)
    fine, mse, objective, gradient = pool.double.objective(scaling, 1e-3)
    assert fine
    assert (mse, objective) == pytest.approx((slow.mse, slow.objective), rel=1e-11)
    formula = twin.gradient(pool.XT.T, pool.neurons.weights.T, H, slow.w, slow.e)
    np.testing.assert_allclose(gradient, formula, rtol=1e-8, atol=1e-11)
    found = pool.double.error(np.arange(m), scaling, 1e-3, np.inf)
    assert found == pytest.approx((slow.press, slow.press), rel=1e-9)


@pytest.mark.parametrize(("seed", "T"), list(product(range(3), [1, 2])))
def test_gradient_of_the_refitted_objective(seed, T):
    random = np.random.default_rng(seed)
    X, Y = random.standard_normal((50, 4)), random.standard_normal((50, T))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(12, 4, "tanh", random), 1e-3)
    at, loops = random.uniform(0.2, 0.9, 4), pool.double
    steps = 1e-5 * np.eye(4)
    numeric = [
        (loops.objective(at + e, 1e-3)[2] - loops.objective(at - e, 1e-3)[2]) / 2e-5 for e in steps
    ]
    np.testing.assert_allclose(loops.objective(at, 1e-3)[3], numeric, rtol=1e-5, atol=1e-8)


def test_a_factorisation_that_fails_says_so():
    problem = np.arange(12.0)[:, None]
    neurons = Neurons(np.ones((9, 1)), np.zeros(9))  # all the same
    pool = Pool(standardise(problem)[0], Target(problem), neurons, 1e-30)
    assert not pool.double.objective(np.ones(1), 1e-30)[0]
    with pytest.raises(InputError, match="ridge=1e-30 is too small"):
        [restart(pool, s, 1, 10, "half", Best()) for s in np.random.SeedSequence(0).spawn(20)]


@pytest.mark.parametrize(("seed", "T"), list(product(range(3), [1, 2])))
def test_gradient_of_press(seed, T):
    random = np.random.default_rng(seed)
    X, Y = random.standard_normal((50, 4)), random.standard_normal((50, T))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(12, 4, "tanh", random), 1e-3)
    logs = np.log(random.uniform(0.2, 0.9, 4))

    def error(at):
        ridge = float(np.exp(at[4])) if len(at) > 4 else None
        return pool.fit(np.exp(at[:4]), slice(None), ridge).leave_one_out().key[0]

    steps = 1e-5 * np.eye(5)
    logs = np.append(logs, np.log(1e-3))  # and the ridge
    numeric = [(error(logs + e) - error(logs - e)) / 2e-5 for e in steps]
    for loops, close in ((pool.double, 1e-5), (pool.single, 1e-3)):
        value, gradient = loops.press(logs)
        assert value == pytest.approx(error(logs), rel=1e-12 if close < 1e-4 else 1e-5)
        np.testing.assert_allclose(gradient, numeric, rtol=close, atol=1e-3 * close)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 12), st.sampled_from([5, 1]))
def test_a_descent_ends_lower_and_between_its_bounds(seed, d, m, rounds):
    random = np.random.default_rng(seed)
    X = random.standard_normal((40, d))
    pool = Pool(
        standardise(X)[0],
        Target(np.sin(X.sum(1, keepdims=True)) + 0.1 * random.standard_normal((40, 1))),
        draw_neurons(m, d, "tanh", random),
        1e-6,
        1.0,
    )
    low, high = np.log([*[0.1] * d, 1e-6]), np.zeros(d + 1)
    at = random.uniform(low, high)
    start = pool.fit(np.exp(at[:-1]), slice(None), np.exp(at[-1])).leave_one_out().key[0]
    for loops, close in ((pool.double, 1e-9), (pool.single, 0.05)):
        here = at.copy()
        value = loops.polish(np.arange(m), np.arange(d), here, low, high, rounds, 1e-6)
        assert (here >= low).all()
        assert (here <= high).all()
        end = pool.fit(np.exp(here[:-1]), slice(None), np.exp(here[-1])).leave_one_out().key[0]
        assert end <= start * (1 + close)
        assert np.exp(value) == pytest.approx(end, rel=close)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([1e-6, 1e-4, 1e-2]))
def test_errors_in_single_precision_are_near_those_of_refits(seed, T, ridge):
    random = np.random.default_rng(seed)
    X, Y = random.standard_normal((60, 4)), random.standard_normal((60, T))
    Y += np.sin(2 * X[:, :1])
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(14, 4, "tanh", random), ridge)
    scaling = random.uniform(0.1, 1, 4) * (random.random(4) < 0.7)
    scaling[0] = 0.5
    machine = Candidate((np.inf, np.inf), scaling, random.permutation(14)[:9], ridge)
    H = twin_hidden(pool, scaling)[:, machine.which]
    slow = np.square(twin.loo_residuals(H, Y, ridge)).sum() / 60
    assert rough_key(pool, machine)[0] == pytest.approx(slow, rel=2e-3)
    assert rough_key(pool, machine, 0.99 * slow) == (np.inf, np.inf)
    exact = Pool(pool.XT, pool.target, pool.neurons, 1e-7)  # too small a ridge for that
    assert rough_key(exact, machine)[0] == pytest.approx(slow, rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(problems(weights=False, max_m=16, max_n=6), st.sampled_from([0.0, 0.1, 0.5]))
def test_leave_one_out_of_held_predictions_equals_refitting(case, reach):
    XT, _, _ = standardise(case.X)
    neurons = draw_neurons(7, len(XT), "tanh", np.random.default_rng(1))
    pool = Pool(XT, Target(case.Y, reach=reach), neurons, 1e-6, 1.0)
    scaling = scaling_for(case, 3)
    chosen = tune_ridge(pool, scaling)
    assert chosen.ridge in pool.ridges
    fit = pool.fit(scaling, slice(None), chosen.ridge)
    loo = fit.leave_one_out()
    plain = twin.loo_residuals(twin_hidden(pool, scaling), case.Y, chosen.ridge)
    expected = twin.held(case.Y, plain, reach)
    scale = np.abs(case.Y).max()
    np.testing.assert_allclose(loo.residuals.T, expected, rtol=1e-6, atol=1e-6 * scale)
    assert chosen.key[0] == pytest.approx(np.square(plain).sum() / len(plain), rel=1e-5)
    used = np.flatnonzero(scaling)
    fitted = Machine.of(fit, used, np.zeros(len(used)), np.ones(len(used)))
    margin = reach * np.ptp(case.Y, axis=0)
    wide = fitted.predict(50 * np.random.default_rng(0).standard_normal((20, len(XT))))
    assert (wide >= case.Y.min(0) - margin - 1e-12 * scale).all()
    assert (wide <= case.Y.max(0) + margin + 1e-12 * scale).all()


@pytest.mark.parametrize(("seed", "is_least"), [(0, False), (1, True)])
def test_the_ridge_of_a_machine_is_the_largest_as_good_as_the_best_of_refits(seed, is_least):
    random = np.random.default_rng(seed)
    X = random.standard_normal((25, 3))
    Y = np.sin(2 * X[:, :1]) + 0.5 * random.standard_normal((25, 1))
    pool = Pool(standardise(X)[0], Target(Y), draw_neurons(12, 3, "tanh", random), 1e-6, 1.0)
    assert pool.ridges == pytest.approx([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0])
    found = tune_ridge(pool, np.ones(3))
    H = twin_hidden(pool, np.ones(3))
    slow = {
        ridge: np.square(twin.loo_residuals(H, Y, ridge))[:, 0] for ridge in pool.ridges.tolist()
    }
    least = min(slow.values(), key=np.mean)
    as_good = [
        ridge
        for ridge, losses in slow.items()
        if (losses - least).mean() <= 0.5 * (losses - least).std(ddof=1) / 5
    ]
    assert found.ridge == max(as_good)
    assert (slow[found.ridge] is least) == is_least
    assert found.key[0] == pytest.approx(slow[found.ridge].mean(), rel=1e-6)
    fixed = Pool(pool.XT, pool.target, pool.neurons, 1e-3)
    assert tune_ridge(fixed, np.ones(3)).ridge == 1e-3


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_compiled_screen_is_the_best_prefix_of_refits(classes):
    random = np.random.default_rng(classes)
    X = random.standard_normal((60, 5))
    own = None
    Y = random.standard_normal((60, 2)) + X[:, :1]
    if classes:
        own = (random.integers(0, classes, 60) + (X[:, 0] > 0)) % classes
        Y = np.where(own[:, None] == np.arange(classes), 1.0, -1.0)
        Y = Y[:, 1:] if classes == 2 else Y
    scalings, subset = (0.1, 0.2, 0.5, 1.0), (0, 2, 3)
    for m in (1, 7, 8):
        pool = Pool(standardise(X)[0], Target(Y, own), draw_neurons(m, 5, "tanh", random), 1e-3)
        slow = []
        for place, value in enumerate(scalings):
            H = twin_hidden(pool, value * np.isin(range(5), subset))
            for k in range(1, m + 1):
                residuals = twin.loo_residuals(H[:, :k], Y, 1e-3)
                squares = float(np.square(residuals).sum() / 60)
                scores = Y - residuals
                winner = (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(1)
                rate = float((winner != own).mean()) if classes else squares
                slow.append(((rate, squares), place, k))
        (rate, squares), place, k = min(slow)
        exact = pool.double.screen(np.array(subset), np.array(scalings), 1e-3, m)
        assert exact == pytest.approx((rate, squares, place, k), rel=1e-9)
        rough = RoughJudge(pool, 1e-3)(subset, scalings)
        assert rough.key == pytest.approx((rate, squares), rel=1e-5)
        assert (rough.subset, len(rough.which)) == (subset, k)
        assert rough.scaling.max() == scalings[place]


def test_gaussian_neurons():
    random = np.random.default_rng(0)
    XT = random.standard_normal((3, 20))
    neurons = draw_neurons(5, 3, "gaussian", random)
    H, means = np.empty((5, 20)), np.empty(5)
    neurons.outputs(XT, H, means)
    squared = np.square(XT[None] - neurons.weights[:, :, None]).sum(1)
    np.testing.assert_allclose(H + means[:, None], np.exp(-neurons.biases[:, None] * squared))
    np.testing.assert_allclose(H.mean(1), 0, atol=1e-15)


def test_machine_predicts_what_was_fitted():
    random = np.random.default_rng(0)
    X, Y = random.normal(5, 3, (30, 4)), random.standard_normal((30, 2))
    XT, centre, scale = standardise(X)
    fit = Fit(draw_neurons(6, 4, "tanh", random), XT, Target(Y), 1e-3)
    machine = Machine.of(fit, np.arange(4), centre, scale)
    np.testing.assert_allclose(Y - machine.predict(X), fit.E.T, atol=1e-12)


def test_too_small_a_ridge_is_named():
    X = np.ones((10, 1)) * np.arange(10)[:, None]
    neurons = Neurons(np.ones((30, 1)), np.zeros(30))  # all the same
    with pytest.raises(InputError, match="ridge=1e-30 is too small"):
        _ = Fit(neurons, standardise(X)[0], Target(X), 1e-30).w
