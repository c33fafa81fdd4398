"""Gradient descent over all weights at once with an L1 penalty: (c) and (d) of the grafting paper.

A weight is u - v with u, v >= 0, so that the penalty is smooth; L-BFGS-B minimises over both, and
weights below 1e-4 of the largest are set to zero afterwards.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from sparsepath.base.parameters import count, number
from sparsepath.base.run import seed_of
from sparsepath.baselines.two_classes import two_classes
from sparsepath.system.arrays import Floats

OPTIONS = {"maxiter": 5000, "maxfun": 10000, "gtol": 1e-7, "ftol": 1e-13}
LEAST = 1e-4  # of the largest weight


def l1_linear(X: ArrayLike, y: ArrayLike, l1: float) -> tuple[Floats, float]:
    """Return weights and intercept of an L1-penalised logistic regression, (c) of the paper.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features, standardised.
    y : array-like of shape (n_samples,)
        Two-class labels; scores are positive for the second of them in order.
    l1 : float
        Penalty on the sum of absolute weights; the loss is a mean over samples.

    Returns
    -------
    weights : array of shape (n_features,)
        Zero for features that are not selected.
    intercept : float
    """
    number("l1", l1)
    A, signs = two_classes(X, y)
    m, n = A.shape

    def criterion(t: Floats) -> tuple[float, Floats]:
        f = A @ (t[:n] - t[n : 2 * n]) + t[-1]
        slope = _slope(signs, f) / m
        in_w = A.T @ slope
        value = float(np.logaddexp(0, -signs * f).mean() + l1 * t[:-1].sum())
        return value, np.concatenate([in_w + l1, l1 - in_w, [slope.sum()]])

    t = _descend(criterion, np.zeros(2 * n + 1), 2 * n)
    return _pruned(t[:n] - t[n : 2 * n]), float(t[-1])


def l1_network(
    X: ArrayLike, y: ArrayLike, l1: float, n_hidden: int = 10, random_state: int = 0
) -> tuple[Floats, Floats, float]:
    """Return the weights of an L1-penalised network with all connections, (d) of the paper.

    The output is intercept + sum of tanh((X W + biases) / 2). The start is random and small: at
    zero all hidden units are alike and would stay so.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features, standardised.
    y : array-like of shape (n_samples,)
        Two-class labels; scores are positive for the second of them in order.
    l1 : float
        Penalty on the sum of absolute weights of the inputs.
    n_hidden : int, default=10
        Hidden units.
    random_state : int, default=0
        Seed of the start.

    Returns
    -------
    weights : array of shape (n_features, n_hidden)
        A row of zeros for features that are not selected.
    biases : array of shape (n_hidden,)
    intercept : float
    """
    number("l1", l1)
    count("n_hidden", n_hidden)
    A, signs = two_classes(X, y)
    m, n = A.shape
    k = n * n_hidden

    def unpacked(t: Floats) -> tuple[Floats, Floats, float]:
        return (t[:k] - t[k : 2 * k]).reshape(n, n_hidden), t[2 * k : -1], float(t[-1])

    def criterion(t: Floats) -> tuple[float, Floats]:
        W, biases, intercept = unpacked(t)
        H = np.tanh(0.5 * (A @ W + biases))
        f = H.sum(1) + intercept
        slope = _slope(signs, f) / m
        back = slope[:, None] * (0.5 * (1 - H * H))
        in_w = (A.T @ back).ravel()
        value = float(np.logaddexp(0, -signs * f).mean() + l1 * t[: 2 * k].sum())
        return value, np.concatenate([in_w + l1, l1 - in_w, back.sum(0), [slope.sum()]])

    start = np.random.default_rng(seed_of(random_state)).normal(0, 0.1, k)
    t = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0), np.zeros(n_hidden + 1)])
    W, biases, intercept = unpacked(_descend(criterion, t, 2 * k))
    return _pruned(W), biases, intercept


def _slope(y: Floats, f: Floats) -> Floats:
    return np.asarray(-y / (1 + np.exp(np.clip(y * f, -500, 500))))


def _descend(
    criterion: Callable[[Floats], tuple[float, Floats]], start: Floats, n_positive: int
) -> Floats:
    bounds: list[Any] = [(0, None)] * n_positive + [(None, None)] * (len(start) - n_positive)
    more: dict[str, Any] = {"bounds": bounds, "method": "L-BFGS-B", "options": OPTIONS}
    return np.asarray(minimize(criterion, start, jac=True, **more).x)


def _pruned(W: Floats) -> Floats:
    return np.where(np.abs(W) < LEAST * np.abs(W).max(), 0.0, W)
