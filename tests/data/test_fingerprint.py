"""Equal numbers have one name however they are stored; other numbers have another."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sparsepath.data.fingerprint import fingerprint

whole = arrays(
    np.float32,
    st.tuples(st.integers(1, 9), st.integers(1, 7)),
    elements=st.floats(-1e6, 1e6, width=32),
)


@given(whole)
def test_the_name_does_not_depend_on_the_storage(X):
    y = X[:, 0]
    name = fingerprint(X.astype(np.float64), y)
    for same in (
        X,
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        np.repeat(X, 2, axis=1)[:, ::2],
        sp.csr_array(X),
        sp.csc_matrix(X.astype(np.float64)),
        np.where(X == 0, -0.0, X),
    ):
        assert fingerprint(same, y) == name
        assert fingerprint(same, y[:, None].astype(np.float64), np.ones(len(X))) == name


@given(whole, st.data())
def test_any_change_changes_the_name(X, data):
    X = X.astype(np.float64)
    i, j = data.draw(st.integers(0, X.shape[0] - 1)), data.draw(st.integers(0, X.shape[1] - 1))
    y, w = np.arange(len(X)), np.full(len(X), 2.0)
    name = fingerprint(X, y, w)
    other = X.copy()
    other[i, j] = np.nextafter(other[i, j], np.inf)
    assert fingerprint(other, y, w) != name
    other[i, j] = 2 * X[i, j] if X[i, j] else 1.0
    assert fingerprint(other, y, w) != name
    for turned in (np.roll(X, 1, axis=0), np.roll(X, 1, axis=1), X[:, ::-1]):
        if (turned != X).any():
            assert fingerprint(turned, y, w) != name
    assert fingerprint(X, y + (np.arange(len(X)) == i), w) != name
    assert fingerprint(X, y, w + (np.arange(len(X)) == i)) != name
    assert fingerprint(X, y) != name
    assert fingerprint(np.vstack([X, np.zeros((1, X.shape[1]))]), y, w) != name


def test_labels_and_integers():
    X = np.arange(12).reshape(6, 2)
    assert fingerprint(X) == fingerprint(X.astype(float)) == fingerprint(X.astype(np.int8))
    assert fingerprint(X, list("ababab")) != fingerprint(X, list("bababa"))
    assert fingerprint(X, np.array(list("ababab"), dtype=object)) == fingerprint(X, list("ababab"))
    assert fingerprint(X > 3, X[:, 0]) == fingerprint((X > 3).astype(float), X[:, 0])


@pytest.mark.parametrize("shape", [(40000, 3), (3, 40000), (1, 1)])
def test_data_of_several_pieces(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == fingerprint(sp.csr_array(X))
    other = X.copy()
    other[-1, -1] += 1
    assert fingerprint(other) != fingerprint(X)
