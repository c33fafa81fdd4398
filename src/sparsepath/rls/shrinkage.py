"""Ridge regression of the columns on a path, at several penalties: one factor serves all sizes.

Let Z be the columns of the largest set in order of entry, weighted, centred and scaled, and y the
centred target. With G = Z'Z, c = Z'y and the Cholesky factor G + alpha I = L L',

    z = L^-1 c        q(x) = L^-1 x

The factor of the first k columns is the leading block of L, so the model of size k predicts

    f_k(x) = mean of y + sum over i <= k of  q_i(x) z_i

and its coefficients solve L_k' w = z_k. Sets that do not grow by appending (a search that drops
columns) have a factor each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from sparsepath.data.columns import is_constant
from sparsepath.system.arrays import Floats, Indices

LEAST_PENALTY = 1e-13  # of a column's squares: below, the factor of collinear columns would fail
Subsets = Mapping[int, Sequence[int]]


@dataclass(frozen=True, eq=False)
class Chain:
    """Columns in order of entry, and their number at each size."""

    columns: Indices
    sizes: tuple[int, ...]


def chains(subsets: Subsets) -> Iterator[Chain]:
    """Return one chain if the subsets are nested in order of entry; else one per subset."""
    largest = tuple(subsets[max(subsets)])
    if all(tuple(subset) == largest[: len(subset)] for subset in subsets.values()):
        yield Chain(np.array(largest, dtype=np.intp), tuple(subsets))
        return
    for size, subset in subsets.items():
        yield Chain(np.array(subset, dtype=np.intp), (size,))


class ScaledColumns:
    """Columns of some samples, centred and scaled as the penalty has them.

    Parameters
    ----------
    X : array or sparse matrix, samples x features
        Features.
    Y : array, samples x targets
        Targets.
    weights : array, one per sample
        Sample weights.
    fit_intercept, standardize : bool
        Whether to fit an intercept, and to scale columns to unit variance for the penalty.
    """

    def __init__(
        self, X: Any, Y: Floats, weights: Floats, *, fit_intercept: bool, standardize: bool
    ) -> None:
        counted = weights > 0
        if not counted.all():
            X, Y, weights = X[counted], Y[counted], weights[counted]
        self._X, self._Y, self._weights, self._total = X, Y, weights, float(weights.sum())
        self._fit_intercept, self._standardize = fit_intercept, standardize

    def _columns(self, which: Indices) -> tuple[Floats, Floats, Floats]:
        """Return columns, and the centres and scales that made them."""
        X, w = dense_columns(self._X, which), self._weights
        centre = w @ X / self._total if self._fit_intercept else np.zeros(len(which))
        X = X - centre
        if self._fit_intercept:  # a mean is rounded to 1e-16 of itself
            left = w @ X / self._total
            X, centre = X - left, centre + left
        squares = w @ X**2
        scale = np.ones(len(which))
        if self._standardize:
            live = ~is_constant(squares, squares + self._total * centre**2) & (squares > 0)
            scale[live] = np.sqrt(self._total / squares[live])
        return X * scale, centre, scale


class Refits(ScaledColumns):
    """Ridge models of subsets of columns, fitted to some samples; see ``ScaledColumns``."""

    def __init__(
        self, X: Any, Y: Floats, weights: Floats, *, fit_intercept: bool, standardize: bool
    ) -> None:
        super().__init__(X, Y, weights, fit_intercept=fit_intercept, standardize=standardize)
        mean = self._weights @ self._Y / self._total
        self._mean = mean if fit_intercept else np.zeros(Y.shape[1])

    def outputs(self, subsets: Subsets, alphas: Sequence[float], X: Any) -> dict[int, Floats]:
        """Return the outputs for other samples, by size: penalties x samples x targets."""
        found: dict[int, Floats] = {}
        for chain in chains(subsets):
            Z, c, centre, scale = self._products(chain.columns)
            other = (dense_columns(X, chain.columns) - centre) * scale
            every = np.zeros((len(alphas), len(chain.columns) + 1, len(other), c.shape[1]))
            for i, (L, z) in enumerate(_factors(Z, c, alphas)):
                q = _solved(L, other.T)
                np.cumsum(q[:, :, None] * z[:, None], axis=0, out=every[i, 1:])
            every += self._mean
            found |= {size: every[:, size] for size in chain.sizes}
        return found

    def models(self, subsets: Subsets, alpha: float) -> dict[int, tuple[Floats, Floats]]:
        """Return coefficients (columns x targets) in units of the data and intercept, by size."""
        found: dict[int, tuple[Floats, Floats]] = {}
        for chain in chains(subsets):
            Z, c, centre, scale = self._products(chain.columns)
            [(L, z)] = _factors(Z, c, [alpha])
            for k in chain.sizes:
                w = scale[:k, None] * _solved(L[:k, :k], z[:k], transposed=True)
                found[k] = w, self._mean - centre[:k] @ w
        return found

    def _products(self, which: Indices) -> tuple[Floats, Floats, Floats, Floats]:
        """Return Z and c, and the centres and scales of the columns."""
        X, centre, scale = self._columns(which)
        root = np.sqrt(self._weights)[:, None]
        Z = root * X
        return Z, Z.T @ (root * (self._Y - self._mean)), centre, scale


def _factors(Z: Floats, c: Floats, alphas: Sequence[float]) -> Iterator[tuple[Floats, Floats]]:
    """Return L and z of every penalty."""
    G = Z.T @ Z
    squares = np.diag(G).copy()
    for alpha in alphas:
        A = G.copy()
        least = LEAST_PENALTY * len(G) * squares
        A[np.diag_indices(len(A))] += np.maximum(max(alpha, np.finfo(float).tiny), least)
        L, failed = dpotrf(A, lower=1, clean=0) if len(A) else (A, 0)
        if failed:
            raise FloatingPointError("columns of a path are too collinear for a Cholesky factor")
        yield L, _solved(L, c)


def _solved(L: Floats, b: Floats, *, transposed: bool = False) -> Floats:
    """Return L^-1 b, or L'^-1 b, of a lower triangle."""
    if not len(L):
        return np.zeros(b.shape)
    return np.asarray(dtrtrs(L, b, lower=1, trans=int(transposed))[0])


def dense_columns(X: Any, which: Indices) -> Floats:
    part = X[:, which]
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
