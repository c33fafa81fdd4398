r"""A short name for data: equal numbers, equal name, however they are stored.

The name must not depend on memory order, precision (a float32 is a float64), sparse storage or the
blocks in which the data are read, and zeros must cost nothing. A sum over the entries that are not
zero has all of that:

.. math:: S = \sum_{ij} r_i c_j\, h(x_{ij}) \bmod 2^{64}

with odd keys r, c that look random (splitmix64 of the index) and h the bits of the float64,
multiplied by an odd number and folded, so that numbers that differ in their highest bits only, such
as 1 and 2, differ everywhere. Two sums with different keys make 128 bits; a digest of the sums and
of the shapes is the name. Chance collisions aside, other data have another name; somebody who wants
two data sets with one name can make them.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

SPREAD = np.uint64(0x9E3779B97F4A7C15)
NUMBERS = 1 << 13  # that are looked at together: they stay in the cache


def fingerprint(X: Any, y: Any = None, weights: Any = None) -> str:
    """The name of features, target and sample weights together.

    Parameters
    ----------
    X : array or SciPy sparse matrix of shape (n_samples, n_features)
        Numbers of any type and order.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Numbers, or labels of any kind. A single column is the same as a vector.
    weights : array of shape (n_samples,), optional
        Without them all samples count alike, which is the same as weights of one.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X, dtype=np.float32))
    True
    >>> fingerprint(X, [1, 2, 3]) == fingerprint(X, [3, 2, 1])
    False
    """
    digest = hashlib.blake2b(digest_size=12)
    digest.update(repr(X.shape).encode() + _sums(X).tobytes())
    if y is not None:
        values = np.asarray(y)
        if values.dtype.kind in "biuf":
            digest.update(b"y" + _sums(values.reshape(len(values), -1)).tobytes())
        else:
            digest.update(b"labels" + repr(values.ravel().tolist()).encode())
    if weights is not None and (np.asarray(weights) != 1).any():
        digest.update(b"weights" + _sums(np.asarray(weights).reshape(-1, 1)).tobytes())
    return digest.hexdigest()


def _sums(X: Any) -> Words:
    """Both sums over the entries of a matrix."""
    total = np.zeros(2, dtype=np.uint64)
    rows, columns = _keys(X.shape[0], 1), _keys(X.shape[1], 2)
    if not isinstance(X, np.ndarray):
        parts = X.tocoo()
        for low in range(0, parts.nnz, NUMBERS):
            some = slice(low, low + NUMBERS)
            h = _spread(parts.data[some].astype(np.float64))
            for k in range(2):
                total[k : k + 1] += h @ (rows[k, parts.row[some]] * columns[k, parts.col[some]])
        return total
    if X.flags.f_contiguous and not X.flags.c_contiguous:  # the same sum, read as it lies
        X, rows, columns = X.T, columns, rows
    step = max(1, NUMBERS // max(X.shape[1], 1))
    for low in range(0, len(X), step):
        h = _spread(X[low : low + step].astype(np.float64, order="C"))
        for k in range(2):
            total[k : k + 1] += (h @ columns[k]) @ rows[k, low : low + step]
    return total


def _spread(values: NDArray[np.float64]) -> Words:
    """The bits of the numbers, mixed, in their place; zero, of either sign, stays zero."""
    values += 0.0
    h: Words = values.view(np.uint64)
    h *= SPREAD
    h ^= h >> np.uint64(32)
    return h


def _keys(n: int, salt: int) -> Words:
    """Two odd keys for each of n indices, 2 x n."""
    z = np.arange(1, 2 * n + 1, dtype=np.uint64) * SPREAD + np.uint64(salt << 32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return ((z ^ (z >> np.uint64(31))) | np.uint64(1)).reshape(2, n)
