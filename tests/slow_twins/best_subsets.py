"""The best subsets of every size by trying all of them, each fitted from scratch."""

from itertools import combinations

import numpy as np


def penalised(X, Y, alpha, columns, weights=None):
    """The least of ||Y - c - X W||^2 + alpha ||W||^2 over c and W, columns of unit variance."""
    w = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    X, Y = np.asarray(X, float), np.asarray(Y, float).reshape(len(X), -1)
    X, Y = X - np.average(X, axis=0, weights=w), Y - np.average(Y, axis=0, weights=w)
    spread = np.sqrt(np.average(X**2, axis=0, weights=w))
    Z = X[:, columns] / spread[columns] * np.sqrt(w)[:, None]
    Y = Y * np.sqrt(w)[:, None]
    Z = np.vstack([Z, np.sqrt(alpha) * np.eye(len(columns))])
    Y = np.vstack([Y, np.zeros((len(columns), Y.shape[1]))])
    W = np.linalg.lstsq(Z, Y, rcond=None)[0]
    return float(((Y - Z @ W) ** 2).sum())


def left_out(X, Y, alpha, columns):
    """Mean squared leave-one-out error over samples, summed over targets, refitted n times.

    The columns are scaled to unit variance over all samples.
    """
    n = len(X)
    Y = np.asarray(Y, float).reshape(n, -1)
    Z = (X - X.mean(0))[:, columns] / X.std(0)[columns]
    total = 0.0
    for i in range(n):
        rest = np.arange(n) != i
        A, B = Z[rest] - Z[rest].mean(0), Y[rest] - Y[rest].mean(0)
        W = np.linalg.solve(A.T @ A + alpha * np.eye(len(columns)), A.T @ B)
        guess = Y[rest].mean(0) + (Z[i] - Z[rest].mean(0)) @ W
        total += float(((Y[i] - guess) ** 2).sum())
    return total / n


def least(judge, n_features, most, forced=(), allowed=None):
    """The least value of every size and its first set, over all sets with the forced columns."""
    allowed = range(n_features) if allowed is None else allowed
    free = [i for i in allowed if i not in forced]
    found = {}
    for size in range(len(forced), most + 1):
        sets = [[*forced, *more] for more in combinations(free, size - len(forced))]
        values = [judge(columns) for columns in sets]
        best = int(np.argmin(values))
        found[size] = values[best], frozenset(sets[best])
    return found
