"""Slow references for mutual information: all pairs, plain NumPy, one sample at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

Array = NDArray[np.float64]


def distances(A: Array) -> Array:
    """Largest coordinate differences between all pairs of rows."""
    return np.abs(A[:, None, :] - A[None, :, :]).max(axis=2)


def equal(distance: Array, other: float) -> NDArray[np.bool_]:
    """To nine digits."""
    return np.isclose(distance, other, rtol=1e-9, atol=0)


def kraskov(X: Array, Y: Array, k: int, variant: int = 1, classes: bool = False) -> float:
    """Kraskov et al. (2004), equations 8 and 9, with ties as Gao et al. (2017) count them.

    A sample is a sample of its own surroundings. Samples are counted if they are nearer than the
    k-th neighbour; where that is at distance zero, if they are there too, and frequencies take the
    place of digammas. Where both have few values, frequencies do for all. The second variant is for
    samples whose k neighbours are one set, with one sample at each side of the rectangle around it.
    Of classes infinitely far apart only the own one can have neighbours.
    """
    n = len(X)
    x, y = (np.unique(A, axis=0, return_inverse=True)[1].ravel() for A in (X, Y))
    if n >= (k + 1) * len(set(x)) * len(set(y)):
        return frequencies(x, y)
    dx = distances(X)
    dy = np.where(Y != Y.T, np.inf, 0.0) if classes else distances(Y)
    dz = np.maximum(dx, dy)
    total = 0.0
    for i in range(n):
        others = np.sort(np.delete(dz[i], i))[:k]
        others = others[np.isfinite(others)]
        if len(others) == 0:  # a class of its own: all are counted everywhere, which says nothing
            total += digamma(n) - digamma(n) - digamma(n)
            continue
        eps = others[-1]
        if eps == 0:
            counts = [np.sum(d[i] == 0) for d in (dz, dx, dy)]
        else:
            counts = [np.sum((d[i] < eps) & ~equal(d[i], eps)) for d in (dz, dx, dy)]
        share = digamma(counts[0]) - digamma(counts[1]) - digamma(counts[2])
        if eps == 0:
            share = np.log(counts[0] * n / counts[1] / counts[2]) - digamma(n)
        near = (dz[i] <= eps) | equal(dz[i], eps)
        m = len(others)
        if variant == 2 and near.sum() == m + 1:
            sides = [(d[i], d[i, near].max()) for d in (dx, dy)]
            if all(e > 0 and equal(d, e).sum() == 1 for d, e in sides):
                nx, ny = (np.sum((d <= e) | equal(d, e)) - 1 for d, e in sides)
                share = digamma(m) - 1 / m - digamma(nx) - digamma(ny)
        total += share
    return float(digamma(n) + total / n)


def frequencies(x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    """H(x) + H(y) - H(x, y), every entropy by frequencies and corrected (Miller, Madow 1955)."""

    def entropy(values: list[object]) -> float:
        counts = [values.count(value) for value in set(values)]
        n = len(values)
        return -sum(c / n * np.log(c / n) for c in counts) + (len(counts) - 1) / (2 * n)

    a, b = x.tolist(), y.tolist()
    return float(entropy(a) + entropy(b) - entropy(list(zip(a, b, strict=True))))


def plug_in(x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    """Mutual information of two discrete variables by their frequencies, not corrected."""
    table = np.array([[np.mean((x == a) & (y == b)) for b in set(y)] for a in set(x)])
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    seen = table > 0
    return float(np.sum(table[seen] * np.log(table[seen] / independent[seen])))


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
