"""Rows next to each other that err alike are told of; the order of a file by its target is not."""

import numpy as np
import pytest

from sparsepath import GraftingClassifier, SparseRLSClassifier, SparseRLSRegressor
from sparsepath.assessment.metrics import Truth
from sparsepath.assessment.serial_correlation import error_correlation


def patients(seed, together=6, n=150):
    rng = np.random.default_rng(seed)
    of = np.arange(n) // together
    X = rng.standard_normal((n, 5))[of] + 0.3 * rng.standard_normal((n, 5))
    return X, X[:, 0] + rng.standard_normal(n)[of] + 0.5 * rng.standard_normal(n), of


def neighbours(X, y, **given):
    kind = SparseRLSRegressor if np.asarray(y).dtype.kind == "f" else SparseRLSClassifier
    return kind(validation=10).fit(X, y, **given).honest_.neighbours


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_one_patient(seed, classes):
    X, y, of = patients(seed)
    y = np.where(y > 0, "ill", "well") if classes else y
    assert neighbours(X, y) > 0.2
    assert neighbours(X, y, groups=of) is None, "they are named"
    order = np.random.default_rng(seed).permutation(150)
    assert neighbours(X[order], y[order]) is None, "nobody can see it"
    if classes:
        assert GraftingClassifier(0.03, validation=5).fit(X, y).honest_.neighbours > 0.2


@pytest.mark.parametrize("seed", range(5))
def test_strangers_and_files_that_are_sorted(seed):
    X, y, _ = patients(seed, together=1)
    assert neighbours(X, y) is None
    order = np.argsort(y)
    assert neighbours(X[order], y[order]) is None
    kinds = np.digitize(y, [-1, 1])
    order = np.argsort(kinds, kind="stable")
    assert neighbours(X[order], kinds[order]) is None
    twice = np.repeat(np.arange(150), 3)
    assert neighbours(X[twice], y[twice]) is None, "copies are left out together"


@pytest.mark.parametrize("classes", [False, True])
def test_where_no_feature_is_of_use(classes):
    y = patients(0)[1]
    noise = np.random.default_rng(1).standard_normal((150, 4))
    y = np.where(y > 0, "ill", "well") if classes else y
    assert neighbours(noise, y) > 0.2
    order = np.argsort(y, kind="stable")
    assert neighbours(noise, y[order]) is None
    assert neighbours(noise, y[order[::-1]]) is None
    assert neighbours(noise, np.random.default_rng(2).permutation(y)) is None


def test_the_correlation_by_its_definition():
    rng = np.random.default_rng(0)
    e = np.convolve(rng.standard_normal(401), [1, 0.8], "valid")[:400]
    e -= e.mean()
    y = rng.standard_normal(400)
    y -= y.mean() + e * (y @ e) / (e @ e)  # of no help to tell e
    y -= y.mean()
    parts = [
        (np.arange(0, 400, 2), {1: (y - e)[::2, None]}),
        (np.arange(1, 400, 2), {1: (y - e)[1::2, None]}),
    ]
    off = e - y * (y @ e) / (y @ y)
    expected = (off[1:] @ off[:-1] / 399) / (off @ off / 400)
    found = error_correlation(parts, Truth.of(y, is_class=False), np.arange(400)).get(1)
    assert found == pytest.approx(expected)
    assert error_correlation(parts[:1], Truth.of(y, is_class=False), np.arange(400)) == {}
