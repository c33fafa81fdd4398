"""Outputs and derivatives of the network against loops and finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from slow_twins import rbf as twin
from sparsepath._core import rbf as core
from sparsepath.rbf.network import RBFNetwork, gaussians

few = settings(max_examples=15, deadline=None, derandomize=True)


def problem(seed, n=12, d=3, m=5):
    rng = np.random.default_rng(seed)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    y = rng.standard_normal(n)
    return X, y, C, rng.standard_normal(m + 1), rng.uniform(0.05, 1, d)


@few
@given(st.integers(0, 1000), st.integers(2, 20), st.integers(1, 5), st.integers(1, 8))
def test_outputs_and_gradient(seed, n, d, m):
    X, y, C, alpha, w = problem(seed, n, d, m)
    network = RBFNetwork(X, y, C)
    assert_allclose(network.place(w)[1:], twin.kernel(X, C, w).T, rtol=1e-10, atol=1e-14)
    assert_allclose(
        network.residuals(alpha) + y, twin.output(alpha, w, X, C), rtol=1e-10, atol=1e-12
    )
    assert_allclose(network.error(alpha), twin.error(alpha, w, X, y, C), rtol=1e-10)

    def f(theta):
        return twin.error(theta[: m + 1], theta[m + 1 :], X, y, C)

    expected = twin.numeric_gradient(f, np.concatenate([alpha, w]))
    assert_allclose(network.gradient(alpha), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_hessian_is_exact_with_its_residual_part(seed):
    X, y, C, alpha, w = problem(seed)
    m, d = len(C), X.shape[1]
    network = RBFNetwork(X, y, C)
    network.place(w)
    network.gradient(alpha)
    H = network.gauss_newton()
    H = np.tril(H) + np.tril(H, -1).T

    def gradient(theta):
        other = RBFNetwork(X, y, C)
        other.place(theta[m + 1 :])
        return other.gradient(theta[: m + 1])

    theta = np.concatenate([alpha, w])
    numeric = np.array(
        [
            (gradient(theta + step) - gradient(theta - step)) / 2e-6
            for step in 1e-6 * np.eye(len(theta))
        ]
    )
    assert_allclose(H[: m + 1, : m + 1], numeric[: m + 1, : m + 1], rtol=1e-6, atol=1e-8)
    assert np.abs(H - numeric).max() > 1e-3  # by design the residuals are left out...
    cross, among = network.curvature(alpha, network.residuals(alpha), np.arange(d))
    H[1 : m + 1, m + 1 :] += cross  # ...and these are they
    H[m + 1 :, m + 1 :] += among
    assert_allclose(H[: m + 1, m + 1 :], numeric[: m + 1, m + 1 :], rtol=1e-5, atol=1e-7)
    assert_allclose(H[m + 1 :, m + 1 :], numeric[m + 1 :, m + 1 :], rtol=1e-5, atol=1e-7)


def test_gauss_newton_is_the_hessian_without_residuals():
    X, _, C, alpha, w = problem(7)
    y = twin.output(alpha, w, X, C)
    network = RBFNetwork(X, y, C)
    network.place(w)
    network.gradient(alpha)
    cross, among = network.curvature(alpha, network.residuals(alpha), np.arange(3))
    assert_allclose(cross, 0, atol=1e-13)
    assert_allclose(among, 0, atol=1e-13)


def test_weights_of_zero_make_a_constant_basis():
    X, _, C, _, _ = problem(1)
    assert_allclose(gaussians(X, C, np.zeros(3)), 1.0)


def test_curvature_of_some_inputs_is_the_part():
    X, y, C, alpha, w = problem(3)
    network = RBFNetwork(X, y, C)
    network.place(w)
    cross, among = network.curvature(alpha, network.residuals(alpha), np.arange(3))
    some = np.array([0, 2])
    cross2, among2 = network.curvature(alpha, network.residuals(alpha), some)
    assert_allclose(cross2, cross[:, some])
    assert_allclose(among2, among[np.ix_(some, some)])


def test_weighted_error_and_its_derivatives():
    X, y, C, alpha, w = problem(4)
    p = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    network = RBFNetwork(X, y, C, 7.0 * p)  # ratios matter only

    def f(theta):
        off = y - twin.output(theta[: len(alpha)], theta[len(alpha) :], X, C)
        return np.average(off**2, weights=p)

    theta = np.concatenate([alpha, w])
    network.place(w)
    assert_allclose(network.error(alpha), f(theta))
    assert_allclose(network.gradient(alpha), twin.numeric_gradient(f, theta), rtol=1e-5, atol=1e-7)

    def gradient(theta):
        return twin.numeric_gradient(f, theta, 1e-5)

    H = network.gauss_newton()
    H = np.tril(H) + np.tril(H, -1).T
    m, d = len(C), len(w)
    cross, among = network.curvature(alpha, network.residuals(alpha), np.arange(d))
    H[1 : m + 1, m + 1 :] += cross
    H[m + 1 :, 1 : m + 1] += cross.T
    H[m + 1 :, m + 1 :] += among
    numeric = np.array(
        [
            (gradient(theta + step) - gradient(theta - step)) / 2e-4
            for step in 1e-4 * np.eye(len(theta))
        ]
    )
    assert_allclose(H, numeric, rtol=1e-3, atol=1e-4)


def test_compiled_exponential_is_right_to_the_last_places():
    rng = np.random.default_rng(0)
    x = np.concatenate([-rng.uniform(0, 3, 5000), -rng.exponential(80, 5000), [0, 5, -707.9]])
    x = x[x > -708]
    found = x[None].copy()
    core.exponentials(found)
    exact = np.exp(x.astype(np.longdouble))
    assert (np.abs(found[0] - exact) <= 2 * np.spacing(np.exp(x))).all()
    ends = np.array([[-708.5, -1e6, -np.inf, np.nan]])
    core.exponentials(ends)
    assert_allclose(ends, [[0, 0, 0, np.nan]])
