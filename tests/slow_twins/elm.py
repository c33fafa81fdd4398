"""Slow references for extreme learning machines and ELM-FS: refits, singular values, plain loops.

X is n x d and already standardised, Y is n x T, W is d x m and b has m numbers, as in the paper
(Frénay et al. 2012). An output layer minimises |Y - c - H w|^2 + ridge n |w|^2 with an intercept c
that is not penalised.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def hidden(X: Array, W: Array, b: Array, beta: Array) -> Array:
    """Outputs of the neurons, n x m: equation 11 with its slip repaired."""
    return np.tanh((X * beta) @ W + b)


def gaussians(X: Array, centres: Array, widths: Array) -> Array:
    """Outputs of Gaussian neurons, n x m, by a loop."""
    out = np.empty((len(X), len(widths)))
    for i, j in np.ndindex(*out.shape):
        out[i, j] = np.exp(-widths[j] * sum((X[i] - centres[j]) ** 2))
    return out


def refit(H: Array, Y: Array, penalty: float) -> tuple[Array, Array]:
    """Output weights and intercept by least squares on rows added for the penalty."""
    n, m = H.shape
    A = np.vstack([np.column_stack([np.ones(n), H]), np.zeros((m, m + 1))])
    A[n:, 1:] = np.sqrt(penalty) * np.eye(m)
    solution = np.linalg.lstsq(A, np.vstack([Y, np.zeros((m, Y.shape[1]))]))[0]
    return solution[1:], solution[0]


def loo_residuals(H: Array, Y: Array, ridge: float) -> Array:
    """Residuals of n refits, each without one sample; the penalty is that of all samples."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        others = np.arange(len(Y)) != i
        w, c = refit(H[others], Y[others], ridge * len(Y))
        out[i] = Y[i] - H[i] @ w - c
    return out


def held(Y: Array, residuals: Array, reach: float) -> Array:
    """Residuals of predictions brought within reach of the targets of the other samples."""
    out = np.empty_like(Y)
    for i, t in np.ndindex(*Y.shape):
        others = np.delete(Y[:, t], i)
        margin = reach * (others.max() - others.min())
        prediction = Y[i, t] - residuals[i, t]
        prediction = min(max(prediction, others.min() - margin), others.max() + margin)
        out[i, t] = Y[i, t] - prediction
    return out


class SVD:
    """The same output layer by a singular value decomposition."""

    def __init__(self, H: Array, Y: Array, ridge: float) -> None:
        n = len(Y)
        U, s, Vt = np.linalg.svd(H - H.mean(0), full_matrices=False)
        Y = Y - Y.mean(0)
        shrunk = s / (s**2 + ridge * n)
        self.w = Vt.T @ (shrunk[:, None] * (U.T @ Y))
        self.e = Y - U @ ((s * shrunk)[:, None] * (U.T @ Y))
        leverage = 1 / n + np.square(U) @ (s * shrunk)
        self.loo = self.e / (1 - leverage)[:, None]
        self.mse = np.square(self.e).sum() / n
        self.objective = self.mse + ridge * np.square(self.w).sum()
        self.press = np.square(self.loo).sum() / n


def gradient(X: Array, W: Array, H: Array, w: Array, e: Array) -> Array:
    """Equation 13 with its slips repaired, summed over targets."""
    slope = 1 - H**2
    inner = slope * (e @ w.T)  # n x m
    return np.array([-2 / len(X) * (X[:, k] @ inner @ W[k]) for k in range(X.shape[1])])


def neighbour(G: Array, grid: Array, k: int, rule: str) -> Array:
    """Steps against the gradient, coordinate by coordinate."""
    free = {}
    for i, g in enumerate(G):
        if (g > 0 and grid[i] > 0) or (g < 0 and grid[i] < k):
            free[i] = abs(g)
    steps = np.zeros(len(G), dtype=int)
    if not free:
        return steps
    most = max(free.values())
    if rule == "half":
        free = {i: g for i, g in free.items() if g >= most / 2}
    elif rule == "largest":
        first = min(i for i, g in free.items() if g == most)
        free = {first: most}
    for i in free:
        steps[i] = -1 if G[i] > 0 else 1
    return steps


def increase(g: Array, C1: float, grid: Array, k: int, rule: str) -> tuple[float, Array]:
    """The least C1 from which the neighbour is sparser: every value where two lines can cross."""
    points = {C1}
    for a in g:
        points.add(-a)
        for c in g:
            points.update([-(a + c) / 2, c - 2 * a, -(2 * a + c) / 3])
    ordered = [C1]
    for p in sorted(points):
        if p > ordered[-1] + 1e-12:  # the same point, rounded twice, is one
            ordered.append(p)
    for here, there in zip(ordered, [*ordered[1:], 2 * abs(ordered[-1]) + 2], strict=True):
        steps = neighbour(g + (here + there) / 2, grid, k, rule)
        if steps.sum() < 0:
            return here, steps
    raise AssertionError("beyond the last point everything goes down")


def algorithm1(
    X: Array, Y: Array, W: Array, b: Array, grid: Array, ridge: float, k: int, rule: str
) -> list[tuple[Array, float]]:
    """One restart: every current grid point with its PRESS."""
    visited = []
    C1 = 0.0
    empty = np.square(Y - Y.mean(0)).sum() / len(Y)

    def fitted(point: Array) -> tuple[Array, SVD | None, float]:
        if not point.any():
            return np.zeros((len(X), 0)), None, empty
        H = hidden(X, W, b, point / k)
        fit = SVD(H, Y, ridge)
        return H, fit, fit.objective

    H, fit, J = fitted(grid)
    while fit is not None:
        visited.append((grid.copy(), fit.press))
        g = gradient(X, W, H, fit.w, fit.e)
        new = grid + neighbour(g + C1, grid, k, rule)
        H_new, fit_new, J_new = fitted(new)
        old, error = J + C1 * grid.sum() / k, J_new + C1 * new.sum() / k
        if not error < old - 1e-12 * abs(old):
            C1, steps = increase(g, C1, grid, k, rule)
            new = grid + steps
            H_new, fit_new, J_new = fitted(new)
            C1 = max(C1, (J_new - J) / ((grid - new).sum() / k))
        grid, H, fit, J = new, H_new, fit_new, J_new
    return visited


def path(
    X: Array,
    Y: Array,
    W: Array,
    b: Array,
    starts: list[tuple[Array, Array]],
    ridge: float,
    k: int = 10,
    rule: str = "half",
) -> dict[int, tuple[float, tuple[int, ...]]]:
    """SET value and subset per size, of restarts given as (grid, neurons)."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    for grid, which in starts:
        for point, press in algorithm1(X, Y, W[:, which], b[which], grid, ridge, k, rule):
            subset = tuple(np.flatnonzero(point).tolist())
            if len(subset) not in best or press < best[len(subset)][0]:
                best[len(subset)] = (press, subset)
    return best


def common_scaling(
    X: Array, Y: Array, W: Array, b: Array, subset: tuple[int, ...], scalings: tuple, ridge: float
) -> float:
    """The least PRESS on a subset over common scalings and all prefixes of the neurons."""
    values = []
    for value in scalings:
        beta = np.zeros(X.shape[1])
        beta[list(subset)] = value
        H = hidden(X, W, b, beta)
        values += [SVD(H[:, : m + 1], Y, ridge).press for m in range(H.shape[1])]
    return min(values)


def subsets(d: int, size: int) -> list[tuple[int, ...]]:
    return list(combinations(range(d), size))


def pair_score(x: Array, z: Array, r: Array) -> float:
    """The squared sums of r times products of polynomials of the ranks of two features."""

    def functions(values: Array) -> list[Array]:
        ranks = np.array([(values < v).sum() + (values <= v).sum() for v in values], dtype=float)
        found = [ranks - ranks.mean(), (ranks - ranks.mean()) ** 2]
        found = [f - f.mean() for f in found]
        return [f / f.std() if f.std() > 1e-9 else np.zeros(len(f)) for f in found]

    return sum(float(np.sum(r * f * g)) ** 2 for f in functions(x) for g in functions(z))
