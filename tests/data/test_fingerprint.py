"""Equal numbers, equal name; other numbers, places, targets or weights, another name."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from sparsepath import SparseRLSClassifier, SparseRLSRegressor
from sparsepath.data.blocks import row_blocks
from sparsepath.data.fingerprint import fingerprint
from sparsepath.system.tuning import TUNING


def numbers(seed=0, m=70, n=9):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((m, n)) * 8) / 8  # exact in single precision
    X[rng.random((m, n)) < 0.3] = 0.0
    return X, rng.standard_normal(m)


def test_however_they_are_stored():
    X, y = numbers()
    explicit = sp.csr_array((X.ravel(), np.tile(np.arange(9), 70), np.arange(71) * 9), X.shape)
    name = fingerprint(X, y)
    minus = np.where(X == 0, -0.0, X)
    forms = [
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(">f8"),
        minus,
        np.repeat(X, 2, axis=1)[:, ::2],
        sp.csr_array(X),
        sp.csc_array(X),
        explicit,
        row_blocks(X, 4),
        row_blocks(sp.csr_array(X), 3),
    ]
    for form in forms:
        assert fingerprint(form, y) == name
    assert fingerprint(X, y[:, None]) == name
    assert fingerprint(X, y, np.ones(len(y))) == name


@given(st.integers(0, 2**31), st.integers(0, 69), st.integers(0, 8))
def test_one_number_makes_another_name(seed, i, j):
    X, y = numbers(seed)
    name = fingerprint(X, y)
    other = X.copy()
    other[i, j] = np.nextafter(other[i, j], 9.0)
    assert fingerprint(other, y) != name
    swapped = X.copy()
    swapped[[0, i]] = swapped[[i, 0]]
    assert (fingerprint(swapped, y) == name) == bool((swapped == X).all())
    turned = X.copy()
    turned[:, [0, j]] = turned[:, [j, 0]]
    assert (fingerprint(turned, y) == name) == bool((turned == X).all())


def test_targets_weights_and_shape_count():
    X, y = numbers()
    names = {
        fingerprint(X),
        fingerprint(X, y),
        fingerprint(X, y[::-1]),
        fingerprint(X, np.c_[y, y]),
        fingerprint(X, y, np.arange(70.0)),
        fingerprint(X, np.where(y > 0, "a", "b")),
        fingerprint(X, np.where(y > 0, "b", "a")),
        fingerprint(X, y > 0),
        fingerprint(np.c_[X, np.zeros(70)], y),
        fingerprint(np.zeros((3, 4))),
        fingerprint(np.zeros((4, 3))),
    }
    assert len(names) == 11


@pytest.mark.parametrize("cv", ["loo", 3])
def test_paths_and_checkpoints_know_the_numbers_only(cv, tmp_path):
    X, y = numbers(1)
    forms = (X, np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), X.astype(np.float32))
    file = tmp_path / "checkpoint"
    first = SparseRLSRegressor(4, cv=cv, checkpoint=file).fit(X, y).path_
    for form in forms:  # its own checkpoint is taken, whatever the order in memory
        path = SparseRLSRegressor(4, cv=cv, checkpoint=file).fit(form, y).path_
        assert {**path.data, "form": ""} == {**first.data, "form": ""}  # may be searched otherwise
        assert path.subsets == first.subsets
    weights = np.arange(1.0, 71.0)
    others = [
        SparseRLSRegressor(2, cv=cv).fit(X, -y),
        SparseRLSRegressor(2, cv=cv).fit(X, y, sample_weight=weights),
        SparseRLSClassifier(2, cv=cv).fit(X, y > 0),
        SparseRLSClassifier(2, cv=cv).fit(X, y > 0.5),
    ]
    names = {path.path_.data["fingerprint"] for path in others}
    assert len({*names, first.data["fingerprint"]}) == 5


def test_a_compiled_pass_marks_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    X = np.asfortranarray(rng.standard_normal((50, 4)))
    X[::7, 1], X[::5, 2] = -0.0, 0.0
    name = fingerprint(X)
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    assert fingerprint(X) == name == fingerprint(np.ascontiguousarray(X))
    assert fingerprint(X.astype(np.float32)) == fingerprint(np.float64(X.astype(np.float32)))
    assert fingerprint(row_blocks(X, 3)) == name
