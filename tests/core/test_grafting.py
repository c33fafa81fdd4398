"""Loops of grafting against their definitions in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsepath._core import grafting as core


def quadratic(k, seed, apart=1.0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3 * k, k))
    A[:, k // 2 :] = A[:, : k - k // 2] + apart * A[:, k // 2 :]
    H = A.T @ A / len(A)
    return H, rng.standard_normal(k), rng.standard_normal(k) * (rng.random(k) < 0.5)


@pytest.mark.parametrize("apart", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("k", [1, 7, 40])
def test_the_quadratic_model_is_at_its_minimum(k, l2, apart):
    H, q, w = quadratic(k, k, apart)
    q = H @ q  # in the range of H, so that there is a minimum where columns are copies
    l1, ridge, nothing = np.full(k, 0.05), np.full(k, l2), np.zeros(k)
    u = core.minimise(H, q, w, l1, ridge, nothing, 1e-12)
    g = q + H @ (u - w) + 2 * ridge * u
    left = np.where(u == 0, np.maximum(np.abs(g) - l1, 0), np.abs(g + l1 * np.sign(u)))
    assert left.max() <= 1e-9
    assert core.violations(g - 2 * ridge * u, u, l1, ridge) == pytest.approx(left, abs=1e-15)


def test_coordinates_of_too_little_curvature_stay():
    H, q, w = quadratic(8, 0)
    least = np.where(np.arange(8) < 3, np.inf, 0.0)
    u = core.minimise(H, q, w, np.full(8, 0.01), np.zeros(8), least, 1e-12)
    assert (u[:3] == w[:3]).all()
    assert (u[3:] != w[3:]).any()


def test_logistic_loss():
    f = np.concatenate([np.linspace(-60, 60, 999), [-800.0, 800.0, 0.0]])
    y = np.where(np.arange(len(f)) % 2, 1.0, -1.0)
    value, slope, curvature = core.expand_logistic(f, y)
    assert value == pytest.approx(np.logaddexp(0, -y * f), rel=1e-14)
    assert slope == pytest.approx(-y * np.exp(-np.logaddexp(0, y * f)), rel=1e-13, abs=1e-300)
    near = y * f > -1
    plain = np.exp(-np.abs(f)) / (1 + np.exp(-np.abs(f))) ** 2
    assert curvature[near] == pytest.approx(plain[near], rel=1e-13, abs=1e-300)
    assert (curvature >= plain * (1 - 1e-13)).all()


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_columns(index, kind, intercept):
    rng = np.random.default_rng(0)
    X = sp.random(50, 9, density=0.4, format="csc", random_state=rng).astype(kind)
    scales, h = 1.0 + np.arange(9.0), rng.random(50) + 0.1
    columns = core.sparse_columns(X.indptr.astype(index), X.indices.astype(index), X.data, scales)
    some, v = np.array([1, 4, 8]), rng.standard_normal(50)
    Z = X.toarray().astype(float)[:, some] / scales[some]
    assert columns.products(some, v) == pytest.approx(Z.T @ v)
    out = v.copy()
    columns.add_outputs(some, np.array([0.5, 0.0, -2.0]), out)
    assert out == pytest.approx(v + Z @ [0.5, 0.0, -2.0])
    weighted = columns.weighted(some, np.sqrt(h))
    assert weighted.c == pytest.approx(Z.T @ h)
    total, beta = (h.sum(), 0.3) if intercept else (0.0, 0.0)
    q, w, l1, l2 = (
        rng.standard_normal(3),
        np.array([0.1, 0.0, -0.2]),
        np.full(3, 0.2),
        np.full(3, 0.1),
    )
    start = -beta / total if intercept else 0.0
    D, d, passes = core.descend_sparse(
        weighted, total, start, q + 2 * l2 * w, w, l1, l2, 1e-13, 1000
    )  # fmt: skip
    u = w + D
    g = q + Z.T @ (h * (Z @ D + d)) + 2 * l2 * u
    assert (
        np.where(u == 0, np.maximum(np.abs(g) - l1, 0), np.abs(g + l1 * np.sign(u))).max() < 1e-10
    )
    assert passes < 1000
    if intercept:
        assert beta + h @ (Z @ D + d) == pytest.approx(0.0, abs=1e-12)


def test_products_and_squares():
    rng = np.random.default_rng(0)
    X, v, s = rng.standard_normal((31, 5)), rng.standard_normal(31), rng.random(31)
    products, squares = core.products_and_squares(np.ascontiguousarray(X.T), v, s)
    assert products == pytest.approx(X.T @ v)
    assert squares == pytest.approx(s @ X**2)
