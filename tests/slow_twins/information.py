"""Slow references for mutual information: all pairs, plain NumPy, one sample at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

Array = NDArray[np.float64]


def distances(A: Array) -> Array:
    """Largest coordinate differences between all pairs of rows; infinite to oneself."""
    D = np.abs(A[:, None, :] - A[None, :, :]).max(axis=2)
    np.fill_diagonal(D, np.inf)
    return D


def kraskov(X: Array, Y: Array, k: int, variant: int = 1) -> float:
    """The estimator of Kraskov et al. (2004), equations 8 and 9; of ties the first neighbour."""
    n = len(X)
    dx, dy = distances(X), distances(Y)
    dz = np.maximum(dx, dy)
    total = 0.0
    for i in range(n):
        near = np.argsort(dz[i], kind="stable")[:k]
        if variant == 1:
            eps = dz[i, near[-1]]
            total += digamma((dx[i] < eps).sum() + 1) + digamma((dy[i] < eps).sum() + 1)
        else:
            ex, ey = dx[i, near].max(), dy[i, near].max()
            total += digamma((dx[i] <= ex).sum()) + digamma((dy[i] <= ey).sum())
    value = digamma(k) + digamma(n) - total / n
    return float(value - (1 / k if variant == 2 else 0))


def forward(X: Array, Y: Array, k: int, variant: int = 1) -> list[tuple[int, float]]:
    """Features in the order of forward search, with the mutual information after each."""
    chosen: list[int] = []
    out = []
    while len(chosen) < X.shape[1]:
        left = [i for i in range(X.shape[1]) if i not in chosen]
        values = [kraskov(X[:, [*chosen, i]], Y, k, variant) for i in left]
        best = int(np.argmax(values))
        chosen.append(left[best])
        out.append((left[best], values[best]))
    return out
