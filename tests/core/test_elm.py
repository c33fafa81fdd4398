"""Kernels of the extreme learning machine against NumPy, at sizes around their blocks of four."""

from itertools import product

import numpy as np
import pytest

from sparsepath._core import elm as core


@pytest.mark.parametrize(("m", "n"), list(product([1, 2, 3, 4, 5, 8, 13, 30], [1, 20, 512, 600])))
def test_factorisation(m, n):
    random = np.random.default_rng(m)
    H, A, Q = random.standard_normal((m, n)), np.full((m, m), np.nan), np.full((m, n), np.nan)
    core.gram(H, A)
    np.testing.assert_allclose(np.triu(A), np.triu(H @ H.T), rtol=1e-12, atol=1e-12 * n)
    A[np.diag_indices(m)] += n
    assert core.cholesky(A)
    U = np.triu(A)
    np.testing.assert_allclose(U.T @ U, H @ H.T + n * np.eye(m), rtol=1e-12, atol=1e-12 * n)
    core.orthogonalise(A, H, Q)
    np.testing.assert_allclose(U.T @ Q, H, rtol=1e-11, atol=1e-11)


def test_a_matrix_that_is_not_positive_definite():
    assert not core.cholesky(np.ones((3, 3)))
    assert not core.cholesky(np.full((2, 2), np.nan))


@pytest.mark.parametrize("d", [1, 3, 4, 9])
@pytest.mark.parametrize("m", [1, 4, 6])
@pytest.mark.parametrize("n", [30, 1100])
def test_single_precision_is_near_double(d, m, n):
    random = np.random.default_rng(d)
    arrays = [random.standard_normal(shape) for shape in ((d, n), (m, d), (m,), (2, n))]
    none, logs = np.zeros(0, np.int64), np.log(np.append(random.uniform(0.2, 1, d), 1e-2))
    double = core.DoublePool(*arrays, none, 1e-10)
    single = core.SinglePool(*(a.astype(np.float32) for a in arrays), none, 1e-4)
    (exact, slope), (rough, rough_slope) = double.press(logs), single.press(logs)
    assert rough == pytest.approx(exact, rel=1e-4)
    np.testing.assert_allclose(rough_slope, slope, atol=1e-3 * np.abs(slope).max())


def test_arrays_of_another_precision_are_refused():
    with pytest.raises(TypeError):
        core.gram(np.ones((2, 3), np.float32), np.ones((2, 2)))
