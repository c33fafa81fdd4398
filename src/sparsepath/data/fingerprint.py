"""Fingerprint of data: equal numbers have equal fingerprints, however they are stored.

It hashes the numbers, not the bytes in memory: it is the same for C and Fortran order, dense and
sparse matrices, float32 and float64 with equal values, and any division into row blocks. With h(x)
the bits of a number as float64, where the first half (sign, exponent, first digits) is combined
with the second by exclusive or, and a_i an odd random number for row i, the mark of column j is

    sum_i a_i h(x_ij)     modulo 2^64,

a sum of integers that does not depend on the order. (The halves are combined because the second is
zero for most round numbers, and a product keeps the trailing zeros of its factors; h(0) = 0, so
that zeros need not be stored.) The marks of all columns, targets and weights form one digest;
labels that are not numbers are marked by a hash of their text. This takes one pass with a few
operations per number.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from sparsepath.data.blocks import Marks, RowBlock, bits, row_blocks
from sparsepath.system.executor import sum_results

FEW_ROWS = 1 << 12  # rows up to which the numbers drawn are kept
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 over the golden ratio


def fingerprint(X: Any, y: Any = None, weights: Any = None) -> str:
    """Return the fingerprint of a data set.

    Parameters
    ----------
    X : array, SciPy sparse matrix or sequence of row blocks
        Features, of any real type.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Targets, or labels of any type.
    weights : array of shape (n_samples,), optional
        Sample weights; None is the same as ones.

    Examples
    --------
    >>> from scipy import sparse
    >>> X, y = np.array([[1.0, 0.0], [0.0, 2.0]]), [0, 1]
    >>> name = fingerprint(X, y)
    >>> name == fingerprint(sparse.csr_array(X), y) == fingerprint(np.asfortranarray(X), y)
    True
    >>> name == fingerprint(X, [1, 0])
    False
    """
    blocks = X if isinstance(X, Sequence) else row_blocks(X)
    n_samples = sum(block.shape[0] for block in blocks)
    return name_of(n_samples, column_marks(blocks), y, weights)


def name_of(n_samples: int, marks: Marks, y: Any = None, weights: Any = None) -> str:
    """Return the fingerprint from the marks of the columns."""
    a = random_odd_numbers(0, n_samples)
    y_marks = None if y is None else labels_marked(y, a)
    even = weights is None or np.all(np.asarray(weights) == 1)
    return name_from(n_samples, marks, y_marks, None if even else labels_marked(weights, a))


def name_from(n_samples: int, marks: Marks, y: Marks | None, weights: Marks | None) -> str:
    """Return the fingerprint from all marks; weights that are all one are None."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(repr((n_samples, len(marks))).encode())
    digest.update(marks.astype("<u8").tobytes())
    for what, given in (("y", y), ("weights", weights)):
        if given is not None:
            digest.update(what.encode() + repr(given.shape).encode())
            digest.update(given.astype("<u8").tobytes())
    return digest.hexdigest()


def labels_marked(values: Any, a: Marks) -> Marks:
    """Return the marks of targets, weights or labels of any type, by row number."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        known, place = np.unique(array.astype(str), return_inverse=True)
        whole = [
            hashlib.blake2b(label.encode(errors="surrogatepass"), digest_size=8).digest()
            for label in known
        ]
        h = np.frombuffer(b"".join(whole), dtype="<u8").astype(np.uint64)
        return np.einsum("i,ij->j", a, h[place].reshape(len(a), -1))
    return np.einsum("i,ij->j", a, bits(array.reshape(len(a), -1)))


def column_marks(blocks: Sequence[RowBlock]) -> Marks:
    """Return an integer for every column of some row blocks; equal columns have equal integers."""
    starts = accumulate((block.shape[0] for block in blocks), initial=0)
    pairs = zip(starts, blocks, strict=False)
    return sum_results(
        block.marks(random_odd_numbers(start, block.shape[0])) for start, block in pairs
    )


def random_odd_numbers(first: int, count: int) -> Marks:
    """Return pseudo-random odd numbers for the rows from ``first`` on (SplitMix64)."""
    return _few(first, count) if count <= FEW_ROWS else _drawn(first, count)


@lru_cache(maxsize=8)
def _few(first: int, count: int) -> Marks:
    a = _drawn(first, count)
    a.flags.writeable = False
    return a


def _drawn(first: int, count: int) -> Marks:
    a = np.arange(first + 1, first + count + 1, dtype=np.uint64) * GOLDEN
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (a ^ (a >> np.uint64(31))) | np.uint64(1)
