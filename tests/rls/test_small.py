"""Loops that were built with the package do what NumPy does, and nobody sees which it was."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from problems import make, problems
from rls.comparing import check_forward, correlated, design_of, examples, judge_of, weights_of
from sparsepath import SparseRLSRegressor
from sparsepath.data.blocks import row_blocks
from sparsepath.data.fingerprint import column_marks, drawn
from sparsepath.rls.leave_one_out import small
from sparsepath.rls.leave_one_out.carried import columns_of
from sparsepath.rls.leave_one_out.forward import Centred
from sparsepath.rls.leave_one_out.numbers import numbers_of
from sparsepath.rls.leave_one_out.small import small_loops
from sparsepath.rls.leave_one_out.whole import forward, whole_search
from sparsepath.rls.trail import SearchTrail

pytestmark = pytest.mark.skipif(
    small_loops() is None and shutil.which("cc") is None,
    reason="no library was built: there is no C compiler",
)
KINDS = ["tall", "wide", "duplicate", "constant", "collinear", "scaled", "ties", "offset"]
NUMBERS = ("errors", "errors_se", "coef", "intercept")


def without_library(patch):
    patch.setattr(small, "small_loops", lambda: None)


def test_it_was_built():
    assert small_loops() is not None


def test_a_library_of_another_source_is_not_used(monkeypatch):
    monkeypatch.setattr(small, "INTERFACE", small.INTERFACE + 1)
    assert small_loops.__wrapped__() is None


def test_without_a_library_numpy_does_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(small, "FILE", tmp_path / "libsmall.so")
    assert small_loops.__wrapped__() is None
    case = make("tall", 60, 12, seed=1)
    with_it = SparseRLSRegressor(8).fit(case.X, case.Y[:, 0])
    without_library(monkeypatch)
    without = SparseRLSRegressor(8).fit(case.X, case.Y[:, 0])
    assert without.path_.subsets == with_it.path_.subsets
    assert_allclose(without.path_.errors, with_it.path_.errors, rtol=1e-12)
    assert_allclose(without.coef_, with_it.coef_, rtol=1e-10)


@examples(60)
@given(problems(max_m=40, max_n=9, alphas=[1.0, 0.01, 0.0]), st.sampled_from(["one", "three"]))
def test_searches_against_refits(case, layout):
    size = min(6, case.X.shape[1], int(np.count_nonzero(weights_of(case))) - 3)
    design = design_of(case.X, weights_of(case), layout)
    loops, trail, of = small_loops(), SearchTrail(), Centred.of(design, case.Y)
    found = loops.forward(design, of, case.alpha, size, ~design.constant)
    trail.take(numbers_of(design, of, case.alpha, *found))
    check_forward(trail, judge_of(case), size)


@pytest.mark.parametrize("alpha", [1.0, 1e-6, 0.0])
@pytest.mark.parametrize("kind", [*KINDS, "targets", "correlated"])
def test_the_features_that_numpy_chooses(kind, alpha):
    """Samples and sizes that fill vectors, and such that do not."""
    for m, n, size in ((31, 12, 9), (32, 16, 16), (65, 40, 17), (300, 30, 20)):
        T = 3 if kind == "targets" else 1
        case = correlated(1, m, n) if kind == "correlated" else make(kind, m, n, T=T, seed=m)
        design = design_of(case.X, weights_of(case))
        given = design, Centred.of(design, case.Y), alpha, size, ~design.constant
        features, vanished = small_loops().forward(*given)
        expected, ended = forward(*given)
        assert features.tolist() == expected.tolist()
        assert vanished == ended


@pytest.mark.parametrize("alpha", [1.0, 1e-6, 0.0])
@pytest.mark.parametrize("kind", [*KINDS, "targets"])
def test_the_numbers_that_numpy_gives(monkeypatch, kind, alpha):
    case = make(kind, m=75, n=20, T=3 if kind == "targets" else 1, seed=2)
    design = design_of(case.X, weights_of(case))
    of = Centred.of(design, case.Y)
    chosen = forward(design, of, alpha, 12, ~design.constant)
    built = numbers_of(design, of, alpha, *chosen)
    shorter = numbers_of(design, of, alpha, chosen[0][:7], False)
    without_library(monkeypatch)
    plain = numbers_of(design, of, alpha, *chosen)
    scales = np.sqrt(design.squares[plain.subset])[:, None]
    assert_allclose(built.errors, plain.errors, rtol=1e-9)
    assert_allclose(built.errors_se, plain.errors_se, rtol=1e-8)
    assert_allclose(built.coef * scales, plain.coef * scales, rtol=1e-7, atol=1e-7)
    for name in NUMBERS:  # no number knows which sizes come later
        of_both = getattr(built, name)[: len(shorter.errors)], getattr(shorter, name)
        assert np.array_equal(of_both[0][:, :7] if name == "coef" else of_both[0], of_both[1])


@pytest.mark.parametrize("apart", [1e-4, 1e-6])
@pytest.mark.parametrize("alpha", [1e-14, 0.0])
def test_columns_that_are_nearly_alike(apart, alpha):
    """What is left of them has few digits unless it is made orthogonal once more."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 1)) + apart * rng.standard_normal((40, 12))
        y = (X - X[:, :1])[:, 1:6] @ rng.standard_normal((5, 1)) + apart * rng.standard_normal(
            (40, 1)
        )
        design = design_of(X)
        of = Centred.of(design, y)
        given = design, of, alpha, 8, ~design.constant
        features, _ = small_loops().forward(*given)
        assert features.tolist() == forward(*given)[0].tolist()
        built = numbers_of(design, of, alpha, features, False)
        for k in (2, 8):
            A = X[:, features[:k]] - X[:, features[:k]].mean(0)
            A = np.vstack([A - A.mean(0), np.sqrt(alpha) * np.eye(k)])
            b = np.vstack([y - y.mean(), np.zeros((k, 1))])
            refitted = np.linalg.lstsq(A, b, rcond=1e-15)[0]
            assert_allclose(built.coef[k, :k], refitted, rtol=1e-7)


def test_of_copies_of_columns_that_are_nearly_alike_the_first_is_chosen():
    """They differ by rounding only, if what is left of them has all its digits."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 1)) + 1e-5 * rng.standard_normal((40, 6))
        X = np.hstack([X, 3.0 * X, X / 7.0])
        y = (X - X[:, :1])[:, 1:5] @ rng.standard_normal((4, 1))
        y += 0.3 * y.std() * rng.standard_normal((40, 1))
        design = design_of(X)
        given = design, Centred.of(design, y), 0.0, 4, ~design.constant
        features, _ = small_loops().forward(*given)
        assert max(features) < 6
        assert features.tolist() == forward(*given)[0].tolist()


def test_of_copies_the_first_is_chosen_when_little_is_left_of_the_target():
    """Products with the residuals have all their digits then too."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 8))
        y = X @ np.array([3e10, 2e10, 1e10, 1, 1, 1, 1, 1]) + rng.standard_normal(60)
        design = design_of(np.hstack([X, X * 3.0, X / 7.0]))
        given = design, Centred.of(design, y[:, None]), 0.0, 7, ~design.constant
        features, _ = small_loops().forward(*given)
        assert max(features) < 8
        assert features.tolist() == forward(*given)[0].tolist()


def test_samples_that_decide_their_own_prediction_are_left_no_room():
    """A column that only one sample has would fit it whatever it is; the numbers are infinite."""
    X, y = np.eye(8)[:, :3] + 0.0, np.arange(8.0)
    X[:, 2] = np.arange(8.0) ** 2
    design = design_of(X)
    of = Centred.of(design, y[:, None])
    features, _ = small_loops().forward(design, of, 0.0, 3, ~design.constant)
    assert features.tolist() == [2]
    assert numbers_of(design, of, 0.0, np.array([0]), False).errors[1] == np.inf


@pytest.mark.parametrize("turn", [np.asfortranarray, np.ascontiguousarray, lambda X: X[::-1][::-1]])
def test_however_the_data_lie(turn):
    case = make("tall", 90, 15, seed=4)
    expected = whole_search(design_of(case.X), case.Y, 1.0, 9, np.ones(15, dtype=bool))
    found = whole_search(design_of(turn(case.X)), case.Y, 1.0, 9, np.ones(15, dtype=bool))
    assert np.array_equal(found.subset, expected.subset)
    assert_allclose(found.errors, expected.errors, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_measured_and_centred(kind):
    """To the last bit as NumPy where a sum has no order; else but for rounding."""
    for m, n in ((31, 12), (32, 3), (300, 30)):
        X = np.asfortranarray(make(kind, m, n, seed=n).X)
        X[0, 0] = -0.0
        means, squares, marks = small_loops().measure(X, drawn(0, m))
        assert marks.tolist() == column_marks(row_blocks(X)).tolist()
        assert_allclose(means, X.mean(0), rtol=1e-13, atol=1e-15 * np.abs(X).max())
        assert_allclose(squares, ((X - means) ** 2).sum(0), rtol=1e-12)
        design = design_of(X, np.ones(m))
        which = np.arange(n)[::-2].copy()
        expected = columns_of(design, which)
        assert np.array_equal(small_loops().columns_of(design, which), expected)


def test_columns_that_do_not_lie_plainly_are_read_otherwise():
    case = make("tall", 40, 6, seed=2)
    weights = np.linspace(0.5, 2.0, 40)
    for w, layout in ((np.ones(40), "three"), (weights, "one")):
        design, which = design_of(case.X, w, layout), np.array([4, 1])
        assert design.lies_plainly() is None
        found = small_loops().columns_of(design, which)
        assert np.array_equal(found, columns_of(design, which))


def test_data_that_cannot_be_written_to():
    X = np.asfortranarray(make("tall", 40, 6, seed=2).X)
    X.flags.writeable = False
    assert SparseRLSRegressor(3, validation=None).fit(X, X[:, 0] + X[:, 1] ** 2).path_.sizes


def test_a_sample_that_would_decide_its_own_prediction():
    """Wherever it lies among those that are summed at a time."""
    rng = np.random.default_rng(5)
    for row in range(20):
        X = rng.standard_normal((40, 5))
        X[:, 3] = np.arange(40) == row
        y = X[:, :1] + 0.1 * rng.standard_normal((40, 1))
        y[row] += 50.0
        design = design_of(X, np.ones(40))
        given = design, Centred.of(design, y), 0.0, 5, ~design.constant
        features, _ = small_loops().forward(*given)
        assert 3 not in features
        assert features.tolist() == forward(*given)[0].tolist()
