"""Row blocks of any type and order answer as plain float64 algebra does."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sparsepath.data import blocks
from sparsepath.data.blocks import DenseBlock, SparseBlock, row_blocks
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

TYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "uint16")
ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
}


def numbers(m, n, kind="float64", seed=0):
    """Small whole numbers, half of them zero: exact in every type."""
    rng = np.random.default_rng(seed)
    low = 0 if kind.startswith("u") else -20
    return (rng.integers(low, 21, (m, n)) * (rng.random((m, n)) < 0.5)).astype(kind)


def check_block(block, X):
    """The five answers of a block that holds X."""
    m, n = X.shape
    exact = X.astype(np.float64)
    rng = np.random.default_rng(1)
    assert block.shape == (m, n)
    for width in (1, 2, 3, 7):
        V = rng.standard_normal((m, width))
        for laid_out in (V, np.asfortranarray(V), np.repeat(V, 2, axis=1)[:, ::2]):
            out = block.dot(laid_out)
            assert out.dtype == np.float64
            assert_allclose(out, exact.T @ V, rtol=1e-12, atol=1e-10)
            for some in (np.arange(0), np.array([n - 1, 0]), np.arange(n)):
                out = block.dot(laid_out, some)
                assert_allclose(out, exact[:, some].T @ V, rtol=1e-12, atol=1e-10)
    weights = rng.random(m)
    weights[: m // 3] = 0.0
    for means in (np.zeros(n), exact.mean(0)):
        for some in (np.arange(0), np.array([0, n - 1])[:n], np.arange(n)):
            off = (exact - means)[:, some]
            gram = block.gram(means, None, some)
            assert_allclose(gram, off.T @ off, rtol=1e-11, atol=1e-9)
            gram = block.gram(means, weights, some)
            assert_allclose(gram, (off.T * weights) @ off, rtol=1e-11, atol=1e-9)
    for which in ([], [0], [n - 1, 0, 0], np.arange(n)[::-1]):
        columns = block.columns(which)
        assert columns.dtype == np.float64
        assert columns.flags.f_contiguous
        assert_array_equal(columns, exact[:, list(which)])
    for which in (np.arange(0), np.array([m - 1, 0, 0]), np.arange(m)):
        rows = block.rows(which)
        assert rows.dtype == np.float64
        assert_array_equal(rows, exact[which])
    for means in (np.zeros(n), exact.mean(0), np.full(n, 1e3)):
        off = (exact - means) ** 2
        assert_allclose(block.spread(means, None), off.sum(0), rtol=1e-12, atol=1e-12)
        assert_allclose(block.spread(means, weights), weights @ off, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("order", sorted(ORDERS))
def test_dense_blocks(kind, order):
    X = ORDERS[order](numbers(23, 5, kind))
    check_block(DenseBlock(X), X)
    check_block(DenseBlock(X, 4, 17), X[4:17])
    check_block(DenseBlock(X, 22), X[22:])


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("order", sorted(ORDERS))
@pytest.mark.parametrize("n", [1, 4, 5])
def test_dense_blocks_in_compiled_passes_and_small_tiles(monkeypatch, kind, order, n):
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    monkeypatch.setattr(TUNING, "tile_numbers", 64)
    X = ORDERS[order](numbers(150, n, kind))
    check_block(DenseBlock(X), X)
    check_block(DenseBlock(X, 37, 140), X[37:140])


def test_compiled_passes_in_several_strips(monkeypatch):
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    X = np.asfortranarray(numbers(40000, 3))
    V = np.random.default_rng(2).standard_normal((39990, 2))
    assert_allclose(DenseBlock(X, 10).dot(V), X[10:].T @ V, rtol=1e-10)


def test_a_compiled_product_has_the_same_bits_wherever_its_column_stands(monkeypatch):
    """And it does not matter which of the two vectors comes from the matrix."""
    monkeypatch.setattr(TUNING, "compiled_pass_from", 1)
    X = np.asfortranarray(numbers(2**14 + 1003, 8))
    v = numbers(len(X), 1, seed=1)
    block, one = DenseBlock(X), DenseBlock(np.asfortranarray(np.hstack([v, v])))
    together = block.dot(v)
    for i in range(8):
        assert block.dot(v, np.array([i])) == together[i]
        assert one.dot(X[:, [i]], np.array([0])) == together[i]


def test_products_of_a_single_row():
    X, v = np.asfortranarray([[2.0, 3.0, 5.0]]), np.array([[7.0]])
    for one in (X, np.asfortranarray(np.vstack([X, X]))[1:]):
        assert_array_equal(blocks.products(one, v, np.array([2, 0])), [[35.0], [14.0]])
        assert blocks.products(one, v, np.array([], dtype=np.intp)).shape == (0, 1)


@pytest.mark.parametrize("kind", ["float64", "float32", "int32", "uint8"])
@pytest.mark.parametrize("make", [sp.csc_array, sp.csc_matrix])
def test_sparse_blocks(kind, make):
    X = numbers(23, 6, kind)
    X[:, 2] = 0  # an empty column
    check_block(SparseBlock(make(X)), X)
    explicit = make(np.where(X == 0, 1, X))
    explicit.data[np.isclose(explicit.data, 1)] = 0
    check_block(SparseBlock(explicit), explicit.toarray())


def test_a_sparse_block_of_nothing():
    check_block(SparseBlock(sp.csc_array((7, 3))), np.zeros((7, 3)))


def test_nothing_is_copied():
    for X in (numbers(10, 3), np.asfortranarray(numbers(10, 3, "uint8"))):
        for block in row_blocks(X, 3):
            assert np.shares_memory(block._rows, X)
    X = sp.csc_array(numbers(10, 3))
    (block,) = row_blocks(X)
    assert np.shares_memory(block._X.data, X.data)


def test_data_stay_as_they_are():
    X = numbers(30, 4)
    X.setflags(write=False)
    check_block(DenseBlock(X), X)
    S = sp.csr_array(numbers(30, 4))
    before = S.copy()
    for block in row_blocks(S, 2):
        check_block(block, block._X.toarray())
    assert (before != S).nnz == 0


@given(st.integers(1, 40), st.integers(1, 12), st.sampled_from(["dense", "csr", "csc"]))
def test_cuts_cover_all_rows_in_order(m, n_blocks, kind):
    X = numbers(m, 3, seed=m)
    matrix = X if kind == "dense" else getattr(sp, f"{kind}_array")(X)
    parts = row_blocks(matrix, n_blocks)
    assert len(parts) == min(n_blocks, m)
    assert_array_equal(np.vstack([block.columns(range(3)) for block in parts]), X)
    sizes = [block.shape[0] for block in parts]
    assert max(sizes) - min(sizes) <= 1
    whole = sum(block.gram(np.zeros(3), None, np.arange(3)) for block in parts)
    assert whole.tolist() == (X.T @ X).tolist()


def test_the_number_of_blocks_follows_from_the_shape_alone(monkeypatch):
    monkeypatch.setattr(TUNING, "block_numbers", 100)
    monkeypatch.setattr(TUNING, "block_rows", 10)
    counts = [len(row_blocks(numbers(m, 5))) for m in (10, 100, 1000, 5000)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert 1 < counts[-1] <= blocks.MOST_BLOCKS
    assert len(row_blocks(numbers(5000, 5, "uint8"))) == counts[-1]
    assert len(row_blocks(np.asfortranarray(numbers(5000, 5)))) == counts[-1]


def test_duplicate_entries_of_a_sparse_matrix_are_added_up():
    dense = np.array([[0, 3, 0], [0, 0, 4], [2, 0, 0]], dtype=float)
    csr = sp.csr_array(
        (np.array([1.0, 2.0, 4.0, 3.0, -1.0]), np.array([1, 1, 2, 0, 0]), np.array([0, 2, 3, 5]))
    )
    for matrix in (csr, csr.tocsc(copy=True), sp.csr_matrix(csr)):
        for n_blocks in (1, 2, 3):
            parts = row_blocks(matrix, n_blocks)
            rows = [part.rows(np.arange(part.shape[0])) for part in parts]
            assert_array_equal(np.vstack(rows), dense)
            for part in parts:
                check_block(part, part._X.toarray())
    assert csr.nnz == 5  # the matrix that was given is as it was


@given(st.integers(0, 2**31))
def test_spreads_of_sparse_columns_with_offsets_and_weights(seed):
    """A full column has no implicit zeros; one that is nearly full has few, exactly."""
    rng = np.random.default_rng(seed)
    X = 1e8 + rng.standard_normal((40, 4))
    X[rng.integers(0, 40), 1] = 0.0
    X[:35, 2] = 0.0
    w = rng.choice([0.0, 1e-9, 0.1, 0.7, 3.3], 40)
    w[:2] = 0.3
    X[w == 0, 3] = 0.0
    means = (w @ X) / w.sum()
    for weights in (w, rng.random(40)):
        block = SparseBlock(sp.csc_array(X))
        expected = DenseBlock(X).spread(means, weights)
        assert_allclose(block.spread(means, weights), expected, rtol=1e-12)


def test_a_given_number_of_threads_is_not_asked_for(monkeypatch):
    """On a worker of a Dask cluster joblib warns whenever it is asked how many there are."""
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n: pytest.fail("asked"))
    assert Threads(3).n_threads == 3
