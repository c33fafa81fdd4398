"""Solvers of the barrier problem against the plain twin, LARS and the optimality conditions."""

import numpy as np
import pytest
from experiments.rbf_printed import QuasiNewton, solve_printed
from numpy.testing import assert_allclose
from sklearn.linear_model import lars_path

from slow_twins import rbf as twin
from sparsepath._core import rbf as core
from sparsepath.data.synthetic import bump, friedman
from sparsepath.rbf.alternating import solve_alternating
from sparsepath.rbf.barrier import Budget, InteriorPoint, newton_system, start
from sparsepath.rbf.network import RBFNetwork
from sparsepath.rbf.primal_dual import PrimalDual, solve


def standardised(data):
    X = (data.X - data.X.mean(0)) / data.X.std(0)
    return X, (data.y - data.y.mean()) / data.y.std()


@pytest.fixture(scope="module")
def one():
    return standardised(bump(40, 3, random_state=0))


@pytest.fixture(scope="module")
def other():
    return standardised(friedman(60, 7, random_state=1))


@pytest.mark.parametrize("M", [4, 5, 6, 7])  # loops over the order take four rows at a time
def test_system_without_slacks_is_the_whole_system(M):
    rng = np.random.default_rng(0)
    N, d, r, t, mu, lam = 9, 3, 3.0, 2.0, 0.01, 0.3
    X, y, C = rng.standard_normal((N, d)), rng.standard_normal(N), rng.standard_normal((M, d))
    s, w = rng.uniform(0.1, 0.3, M + 1), rng.uniform(0.1, 0.4, d)
    alpha = s * rng.uniform(-0.9, 0.9, M + 1)
    theta = np.concatenate([alpha, s, w])
    g, H = twin.gradient_and_hessian(theta, X, y, C, r, t, mu)
    p = np.linalg.solve(H + lam * np.eye(len(g)), -g)
    u, v = s + alpha, s - alpha
    network = RBFNetwork(X, y, C)
    network.place(w)
    network.gradient(alpha)
    left_r, left_t = r - s.sum(), t - w.sum()
    x = InteriorPoint.of(s, alpha, w, left_r, left_t)
    curvature = InteriorPoint(mu * Budget(r, t).shares(M + 1, d) / x.all**2, M + 1)
    assert_allclose(curvature.u, mu / M / u**2)
    assert_allclose(curvature.v, mu / M / v**2)
    assert_allclose([curvature.left_r, curvature.left_t], [mu / left_r**2, mu / left_t**2])
    system = newton_system(network.gauss_newton(), curvature, "both", lam, np.full(d, lam))
    step = InteriorPoint(system.solve(g), M + 1)
    assert_allclose(np.concatenate([step.alpha, step.s, step.w]), p, rtol=1e-9)
    # and the alphas alone
    off, expected = network.residuals(alpha), rng.standard_normal(M + 1)
    shares = Budget(r, t).shares(M + 1, d)
    objective = core.Objective(network.basis, network.y, shares)
    fix = InteriorPoint(system.straightened(objective, off, expected), M + 1)
    n = 2 * M + 2
    slopes = 2.0 / len(off) * (network.basis @ off)
    wrong = np.concatenate([slopes - expected, np.zeros(M + 1)])
    wanted = np.linalg.solve((H + lam * np.eye(len(g)))[:n, :n], -wrong)
    assert_allclose(np.concatenate([fix.alpha, fix.s]), wanted, rtol=1e-9)
    assert_allclose(fix.w, 0.0)
    length = core.longest_step(x.all, fix.all, 0.9)
    assert np.isclose(min(1.0, 0.9 / (-fix.all / x.all).max()), length)


def test_multipliers_tell_the_model_s_change_of_the_slopes():
    """What straightening compares with is taken from the multipliers; here from the Hessian."""
    rng = np.random.default_rng(4)
    N, M, d, r, t, mu, lam = 11, 6, 3, 3.0, 2.0, 0.01, 0.2
    n = M + 1
    X, y, C = rng.standard_normal((N, d)), rng.standard_normal(N), rng.standard_normal((M, d))
    s, w = rng.uniform(0.1, 0.3, n), rng.uniform(0.1, 0.4, d)
    x = InteriorPoint.of(s, s * rng.uniform(-0.9, 0.9, n), w, r - s.sum(), t - w.sum())
    shares = Budget(r, t).shares(n, d)
    z = mu * shares / x.all * rng.uniform(0.5, 2.0, len(shares))
    network = RBFNetwork(X, y, C)
    network.place(w)
    g = network.gradient(x.alpha)
    H = network.gauss_newton()
    A = np.tril(H) + np.tril(H, -1).T
    curvature = InteriorPoint(z / x.all, n)
    system = newton_system(H, curvature, "both", lam, np.full(d, lam))
    rule = core.StepRule(0.99, 0.9, 0.5, 10.0, 2)
    move = system.direction(g, mu * shares, x.all, z, rule)
    length = 0.3
    objective = core.Objective(network.basis, network.y, shares)
    tried = system.straight_trial(objective, x.all, z, g, move, length, 0.99, mu)
    moved = InteriorPoint(move.step, n)
    model = g[:n] + length * (A @ np.concatenate([moved.alpha, moved.w]))[:n]
    point = x.moved(moved, length)
    off = network.residuals(point.alpha)
    fix = system.straightened(objective, off, model)
    far = core.longest_step(point.all, fix, 0.99)
    values = []
    for part in (point.all, point.all + far * fix):
        alpha = InteriorPoint(part, n).alpha
        values.append(network.error(alpha) - mu * shares @ np.log(part))
    best = (point.all, point.all + far * fix)[int(values[1] < values[0])]
    assert values[1] < values[0]  # else straightening is not seen
    assert_allclose(tried.x, best, rtol=1e-9)


def test_recentring_asks_for_products_within_the_band():
    rng = np.random.default_rng(1)
    x, z, middle = rng.uniform(0.1, 1.0, (3, 50))
    step, dual = rng.standard_normal((2, 50))
    lack = core.recentring(x, z, step, dual, middle, 0.4, 3.0)
    products = (x + 0.4 * step) * (z + 0.4 * dual)
    wanted = np.clip(products, middle / 3.0, 3.0 * middle) - products
    assert_allclose(lack, np.maximum(wanted, -3.0 * middle))
    assert {"more", "less", "as it is"} == {
        "as it is" if change == 0 else "more" if change > 0 else "less" for change in lack
    }


def test_multipliers_stay_positive_and_near_the_path():
    rng = np.random.default_rng(2)
    z, middle, x = rng.uniform(0.1, 1.0, (3, 30))
    dual = 5 * rng.standard_normal(30)
    length = min(1.0, 0.9 / (-dual / z).max())
    moved, central = z + length * dual, middle / x
    wanted = np.clip(moved, central / 2.0, central * 2.0)
    wanted[-2:] = moved[-2:]  # those of the budgets are let be
    core.move_multipliers(z, dual, middle, x, 0.9, 2.0)
    assert_allclose(z, wanted)


def test_recentring_saves_systems(monkeypatch):
    def systems():
        found = 0
        for seed in range(3):
            data = friedman(80, 8, random_state=seed)
            X, y = standardised(data)
            found += sum(solve(RBFNetwork(X, y, X), r, 0.2).iterations for r in (20.0, 200.0))
        return found

    with_it = systems()
    monkeypatch.setattr("sparsepath.rbf.primal_dual.RECENTRINGS", 0)
    assert with_it < 0.95 * systems()


def test_weights_that_damping_holds_do_not_end_a_stage(other):
    """With the weights held in place hardly any fall is promised; that is not the end."""
    X, y = other

    def run(lam):
        path = PrimalDual(RBFNetwork(X, y, X), Budget(40.0, 0.3), 1e-3)
        path.stage(1e-3, 1.0, 100)
        path.lam = lam
        return [path.stage(mu, 0.1, 100) for mu in (1e-4, 1e-5, 1e-6)], path.value()

    (free, J), (held, other_J) = run(0.0), run(1e10)
    assert all(stage.converged for stage in free + held)
    assert_allclose(other_J, J, rtol=1e-5)


def test_twin_gradient_is_the_gradient_of_the_objective(one):
    X, y = one
    theta = twin.start(len(X), 3, 5.0, 3.0, np.sign(np.sin(np.arange(len(X) + 1.0) + 0.5)))

    def f(x):
        return twin.objective(x, X, y, X, 5.0, 3.0, 0.01)

    g, _ = twin.gradient_and_hessian(theta, X, y, X, 5.0, 3.0, 0.01)
    assert_allclose(g, twin.numeric_gradient(f, theta, 1e-7), rtol=1e-4, atol=1e-6)


def test_printed_iterates_are_those_of_the_plain_newton(one):
    X, y = one
    M, d, r, t, mu = len(X), 3, 5.0, 3.0, 1e-3
    signs = np.random.default_rng(0).choice([-1.0, 1.0], M + 1)
    theta, lam, steps = twin.algorithm_3(twin.start(M, d, r, t, signs), X, y, X, r, t, mu)
    x = start(Budget(r, t), M + 1, d)
    alpha = 0.99 * x.s * signs
    x = InteriorPoint.of(x.s, alpha, x.w, x.left_r, x.left_t)
    newton = QuasiNewton(RBFNetwork(X, y, X), Budget(r, t), x)
    stage = newton.run(mu)
    assert (stage.iterations, newton.lam) == (steps, lam)
    assert_allclose(newton.x.alpha, theta[: M + 1], rtol=1e-6, atol=1e-9)
    assert_allclose(newton.x.w, theta[2 * M + 2 :], rtol=1e-6)


@pytest.mark.parametrize(("which", "r", "t"), [("one", 5.0, 4.0), ("other", 40.0, 0.3)])
def test_robust_is_no_worse_than_the_printed_schedule(which, r, t, request):
    X, y = request.getfixturevalue(which)
    network = RBFNetwork(X, y, X)
    M, d = X.shape
    theta0 = twin.start(M, d, r, t)
    _, literal, solves = twin.algorithm_1(X, y, X, r, t, theta0)
    found = solve(network, r, t)
    x = start(Budget(r, t), M + 1, d)
    printed = solve_printed(network, r, t, x)
    carried = solve_printed(network, r, t, x, carried=True)
    assert found.converged
    assert min(literal, printed.J, carried.J) + 1e-6 >= found.J
    assert found.iterations < solves / 4
    assert_allclose(printed.J, literal, rtol=1e-5)
    theta = np.concatenate([found.alpha, found.s, found.w])
    assert_allclose(found.J, twin.objective(theta, X, y, X, r, t, found.mu), rtol=1e-9)


def test_gap_is_what_the_barrier_promises(other):
    X, y = other
    for mu in (1e-4, 1e-6):
        found = solve(RBFNetwork(X, y, X), 40.0, 0.3, mu_min=mu, tolerance=1e-4)
        bound = mu * (1 + 2 * (len(X) + 1) / len(X)) + 2 * mu
        assert 0 < found.gap < 1.05 * bound


def test_alpha_step_is_the_lasso(other):
    X, y = other
    r, w = 20.0, np.full(7, 0.05)
    basis = np.column_stack([np.ones(len(X)), twin.kernel(X, X, w)])
    _, _, coefs = lars_path(basis, y, method="lasso", return_path=True)
    norms = np.abs(coefs).sum(0)
    k = int(np.searchsorted(norms, r))
    part = (r - norms[k - 1]) / (norms[k] - norms[k - 1])
    exact = coefs[:, k - 1] + part * (coefs[:, k] - coefs[:, k - 1])
    least = np.mean((y - basis @ exact) ** 2)
    for mu in (1e-5, 1e-7):
        x = start(Budget(r, 1.0), len(X) + 1, 7)
        x = InteriorPoint.of(x.s, x.alpha, w, x.left_r, 1.0 - w.sum())
        found = solve(RBFNetwork(X, y, X), r, 1.0, x=x, parts="alpha", mu_min=mu, tolerance=1e-3)
        assert_allclose(found.w, w)
        promised = mu * (1 + 2 * (len(X) + 1) / len(X))
        assert 0 <= found.error - least <= 1.05 * promised
    assert_allclose(found.nu, np.abs(2 / len(X) * basis.T @ (y - basis @ exact)).max(), rtol=1e-2)
    support = np.abs(found.alpha) > 1e-4 * np.abs(found.alpha).max()
    assert np.array_equal(np.flatnonzero(support), np.flatnonzero(exact))


def test_alternating_goes_to_the_same_place_where_turns_are_enough(one):
    X, y = one
    network = RBFNetwork(X, y, X)
    turns, direct = solve_alternating(network, 5.0, 4.0), solve(network, 5.0, 4.0)
    assert turns.converged
    assert_allclose(turns.J, direct.J, rtol=1e-3)


def test_points_are_feasible(other):
    X, y = other
    for found in (solve(RBFNetwork(X, y, X), 40.0, 0.3), solve(RBFNetwork(X, y, X[:5]), 3.0, 5.0)):
        assert (np.abs(found.alpha) < found.s).all()
        assert (found.w > 0).all()
    assert found.s.sum() < 3
    assert found.w.sum() < 5


def test_more_budget_never_hurts(other):
    X, y = other
    errors = [solve(RBFNetwork(X, y, X), r, 0.3).error for r in (5, 15, 45)]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("seed", range(3))
def test_figures_of_problem_15(seed):
    X, y = standardised(bump(random_state=seed))
    found = solve(RBFNetwork(X, y, X), 5.95, 4.67)
    assert found.converged
    assert found.w[0] / found.w.sum() > 0.98


def test_the_exact_hessian_is_put_together_as_by_hand():
    rng = np.random.default_rng(0)
    M, d = 5, 4
    n = M + 1
    H = rng.standard_normal((n + d, n + d))
    H = H + H.T
    live = np.array([0, 3])
    cross, among = rng.standard_normal((M, 2)), rng.standard_normal((2, 2))
    among = among + among.T
    by_hand = H.copy()
    for k, i in enumerate(live):
        by_hand[1:n, n + i] += cross[:, k]
        by_hand[n + i, 1:n] += cross[:, k]
        for m, j in enumerate(live):
            by_hand[n + i, n + j] += among[k, m]
    lower = np.asfortranarray(np.tril(H))
    core.add_second_derivatives(lower.T, n, live, cross, among)
    assert_allclose(lower, np.tril(by_hand))
