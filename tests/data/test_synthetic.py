"""The drawn problems follow their formulas, written out here once more, sample by sample."""

import math

import numpy as np
import pytest

from sparsepath.data import synthetic
from sparsepath.data.synthetic import (
    THRESHOLD_MAX,
    bump,
    friedman,
    functional,
    sparse_linear,
    threshold_max,
    two_normals,
    xor_like,
)
from sparsepath.errors import InputError

FORMULAS = {
    "xor_like": lambda x: x[0] + (1 if x[1] > 0.5 and x[2] > 0.5 else 0),
    "functional": lambda x: (
        10 * math.sin(x[0]) * x[1] + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    ),
    "bump": lambda x: (1 - x[0] + 2 * x[0] ** 2) * math.exp(-(x[0] ** 4)),
    "friedman": lambda x: (
        10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    ),
}
PAPERS = {  # samples, features, relevant, bounds, noise
    "xor_like": (1000, 6, 3, (0, 1), 0.1),
    "functional": (1000, 10, 5, (0, 1), 0.1),
    "bump": (100, 5, 1, (-2, 2), 0.15),
    "friedman": (250, 10, 5, (0, 1), 1.0),
}
ALL = {
    "two_normals": lambda **more: two_normals(60, 8, 3, **more),
    "sparse_linear": lambda **more: sparse_linear(60, 8, 3, correlation=0.5, **more),
    "threshold_max": lambda **more: threshold_max(60, 4, 3, 5, **more),
    "xor_like": lambda **more: xor_like(60, **more),
    "functional": lambda **more: functional(60, **more),
    "bump": lambda **more: bump(60, **more),
    "friedman": lambda **more: friedman(60, **more),
}


@pytest.mark.parametrize("name", ALL)
def test_every_problem(name):
    problem = ALL[name](random_state=3)
    m, n = problem.X.shape
    assert m == 60
    assert problem.X.dtype == np.float64
    assert problem.X.flags.f_contiguous
    assert problem.y.shape == problem.signal.shape == (m,)
    assert problem.original.shape == (n,)
    assert np.isfinite(problem.X).all()
    assert np.isfinite(problem.y).all()
    assert np.all(np.diff(problem.relevant) > 0)
    assert problem.relevant.max() < n


@pytest.mark.parametrize("name", ALL)
def test_seeds(name):
    first, again = ALL[name](random_state=3), ALL[name](random_state=3)
    same = ALL[name](random_state=np.random.default_rng(3))
    other = ALL[name](random_state=4)
    for problem in (again, same):
        np.testing.assert_array_equal(first.X, problem.X)
        np.testing.assert_array_equal(first.y, problem.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name):
    m, n, k, (low, high), noise = PAPERS[name]
    problem = getattr(synthetic, name)(random_state=0)
    assert problem.X.shape == (m, n)
    assert problem.relevant.tolist() == list(range(k))
    assert low <= problem.X.min() < low + 0.05
    assert high - 0.05 < problem.X.max() <= high
    np.testing.assert_allclose(problem.signal, [FORMULAS[name](x) for x in problem.X], rtol=1e-13)

    many = getattr(synthetic, name)(50_000, random_state=1)
    error = many.y - many.signal
    assert abs(error.mean()) < 0.02 * noise
    assert error.std() == pytest.approx(noise, rel=0.02)
    wide = getattr(synthetic, name)(20, n + 7, noise=0, random_state=1)
    assert wide.X.shape == (20, n + 7)
    np.testing.assert_array_equal(wide.y, wide.signal)


@pytest.mark.parametrize("letter", THRESHOLD_MAX)
def test_threshold_max(letter):
    n_relevant, n_copies, n_irrelevant = THRESHOLD_MAX[letter]
    assert (n_relevant, n_copies, n_irrelevant) == {
        "A": (10, 0, 90),
        "B": (10, 90, 0),
        "C": (10, 490, 500),
    }[letter]
    problem = threshold_max(4000, *THRESHOLD_MAX[letter], random_state=0)
    assert problem.X.shape == (4000, n_relevant + n_copies + n_irrelevant)
    assert problem.relevant.tolist() == list(range(10))
    expected = [1 if max(x[:10]) > 2**0.9 - 1 else -1 for x in problem.X]
    assert problem.y.tolist() == expected
    assert abs(problem.y.mean()) < 0.06
    assert problem.X.min() >= -1
    assert problem.X.max() <= 1
    np.testing.assert_array_equal(problem.X, problem.X[:, problem.original])
    copies = np.flatnonzero(problem.original != np.arange(problem.X.shape[1]))
    assert copies.tolist() == list(range(10, 10 + n_copies))
    assert set(np.bincount(problem.original[copies], minlength=10)) == {n_copies // 10}


def test_two_normals():
    problem = two_normals(20_000, 12, 2, mean=1.0, sd=0.5, random_state=0)
    assert problem.relevant.tolist() == [0, 1]
    assert problem.y.sum() == 0
    assert set(problem.y) == {-1, 1}
    for j in range(12):
        x = problem.X[:, j]
        assert x.mean() == pytest.approx(0, abs=0.03)
        assert x.var() == pytest.approx(1 + 0.25, rel=0.03)
        class_mean = (x * problem.y).mean()
        assert class_mean == pytest.approx(1 if j < 2 else 0, abs=0.03)
        if j < 2:
            assert (x - problem.y).std() == pytest.approx(0.5, rel=0.03)


def test_two_normals_error_rate():
    problem = two_normals(200_000, 2, 2, sd=1.0, random_state=0)
    wrong = np.mean(np.sign(problem.X.sum(axis=1)) != problem.y)
    assert wrong == pytest.approx(0.5 * math.erfc(math.sqrt(2) / math.sqrt(2)), rel=0.03)


def test_two_normals_sizes():
    assert len(two_normals(10, 70).relevant) == 50
    assert len(two_normals(10, 7).relevant) == 7
    assert len(two_normals(10, 7, 0).relevant) == 0
    assert abs(two_normals(11, 7).y.sum()) == 1


@pytest.mark.parametrize("n_targets", [1, 3])
def test_sparse_linear(n_targets):
    problem = sparse_linear(
        50_000, 9, 4, noise=0.5, correlation=0.7, n_targets=n_targets, random_state=2
    )
    shape = (50_000,) if n_targets == 1 else (50_000, n_targets)
    assert problem.y.shape == shape
    distance = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    np.testing.assert_allclose(np.corrcoef(problem.X.T), 0.7**distance, atol=0.02)
    np.testing.assert_allclose(problem.X.std(axis=0), 1, rtol=0.02)
    weights = np.linalg.lstsq(problem.X, problem.signal)[0].reshape(9, -1)
    assert np.flatnonzero(np.abs(weights).max(axis=1) > 1e-9).tolist() == problem.relevant.tolist()
    sizes = np.abs(weights[problem.relevant])
    assert sizes.min() >= 1 - 1e-9
    assert sizes.max() <= 2 + 1e-9
    assert (problem.y - problem.signal).std() == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_normals(0, 5), "n_samples.*0"),
        (lambda: two_normals(5, 5, 6), "6.*n_features=5"),
        (lambda: two_normals(5, 5, -1), "-1"),
        (lambda: xor_like(5, 2), "3.*n_features=2"),
        (lambda: functional(5, 4), "5.*n_features=4"),
        (lambda: bump(5, 0), "1.*n_features=0"),
        (lambda: friedman(5, noise=-1), "noise.*-1"),
        (lambda: sparse_linear(5, 5, 2, correlation=1), "correlation.*1"),
        (lambda: sparse_linear(5, 5, 2, n_targets=0), "n_targets.*0"),
        (lambda: sparse_linear(5, 5, 2, noise=-0.5), "noise.*-0.5"),
        (lambda: threshold_max(5, 0), "n_relevant=0"),
        (lambda: threshold_max(5, 1, -1), "n_copies=-1"),
    ],
)
def test_impossible_requests(call, message):
    with pytest.raises(InputError, match=message):
        call()
