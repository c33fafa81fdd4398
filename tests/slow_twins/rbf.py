"""Slow references for RBF networks and kernel machines; nothing here is shared with the package.

The network by loops over inputs, derivatives by finite differences, the barrier problem by a dense
Newton method in all 2 (M + 1) + d parameters with the printed schedule, kernel machines by
refitting.
"""

import numpy as np


def kernel(X, C, w):
    """exp(-sum_i w_i (x_i - c_i)^2), samples x centres, one input at a time."""
    total = np.zeros((len(X), len(C)))
    for i in range(X.shape[1]):
        total += w[i] * (X[:, i, None] - C[None, :, i]) ** 2
    return np.exp(-total)


def output(alpha, w, X, C):
    return alpha[0] + kernel(X, C, w) @ alpha[1:]


def error(alpha, w, X, y, C):
    return np.mean((y - output(alpha, w, X, C)) ** 2)


def numeric_gradient(f, x, h=1e-6):
    """Central differences."""
    g = np.empty_like(x)
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        g[i] = (f(up) - f(down)) / (2 * h)
    return g


def objective(theta, X, y, C, r, t, mu):
    """J of equation 14; theta = (alpha, s, w)."""
    M, d = len(C), X.shape[1]
    alpha, s, w = theta[: M + 1], theta[M + 1 : 2 * M + 2], theta[2 * M + 2 :]
    B1 = -np.log(r - s.sum()) - np.log(s**2 - alpha**2).sum() / M
    B2 = -np.log(t - w.sum()) - np.log(w).sum() / d
    return error(alpha, w, X, y, C) + mu * (B1 + B2)


def gradient_and_hessian(theta, X, y, C, r, t, mu):
    """The exact gradient and the approximation of the Hessian of Appendix A, written out."""
    N, d = X.shape
    M = len(C)
    alpha, s, w = theta[: M + 1], theta[M + 1 : 2 * M + 2], theta[2 * M + 2 :]
    K = kernel(X, C, w)
    ones = np.column_stack([np.ones(N), K])
    e = y - ones @ alpha
    by_w = np.empty((N, d))
    for i in range(d):
        by_w[:, i] = -(K * (X[:, i, None] - C[None, :, i]) ** 2) @ alpha[1:]
    J = np.column_stack([ones, np.zeros((N, M + 1)), by_w])
    g = -2 / N * J.T @ e
    H = 2 / N * J.T @ J
    a, b, c = np.arange(M + 1), np.arange(M + 1, 2 * M + 2), np.arange(2 * M + 2, 2 * M + 2 + d)
    gap = s**2 - alpha**2
    g[a] += mu / M * 2 * alpha / gap
    g[b] += mu * (1 / (r - s.sum()) - 2 * s / M / gap)
    g[c] += mu * (1 / (t - w.sum()) - 1 / d / w)
    H[a, a] += mu / M * (2 / gap + 4 * alpha**2 / gap**2)
    H[b, b] += mu / M * (-2 / gap + 4 * s**2 / gap**2)
    H[a, b] += -mu / M * 4 * alpha * s / gap**2
    H[b, a] += -mu / M * 4 * alpha * s / gap**2
    H[np.ix_(b, b)] += mu / (r - s.sum()) ** 2
    H[np.ix_(c, c)] += mu / (t - w.sum()) ** 2
    H[c, c] += mu / d / w**2
    return g, H


def start(M, d, r, t, signs=None):
    s = np.full(M + 1, 0.9 * r / (M + 1))
    alpha = np.zeros(M + 1) if signs is None else 0.99 * s * signs
    return np.concatenate([alpha, s, np.full(d, 0.9 * t / d)])


def _longest(theta, p, M, r, t):
    alpha, s, w = np.split(theta, [M + 1, 2 * M + 2])
    pa, ps, pw = np.split(p, [M + 1, 2 * M + 2])
    value = np.concatenate([s + alpha, s - alpha, w, [r - s.sum(), t - w.sum()]])
    change = np.concatenate([ps + pa, ps - pa, pw, [-ps.sum(), -pw.sum()]])
    falling = change < 0
    return np.min(-value[falling] / change[falling]) if falling.any() else np.inf


def _settled(values):
    return len(values) > 5 and (values[-6] - values[-1]) / abs(values[-6]) < 1e-4


def algorithm_3(theta, X, y, C, r, t, mu, lam=1.0, most=50):
    """Plain: one dense system of order 2 (M + 1) + d per step."""
    M = len(C)
    values = [objective(theta, X, y, C, r, t, mu)]
    steps = 0
    fresh = None
    while True:
        if fresh is None:
            fresh = gradient_and_hessian(theta, X, y, C, r, t, mu)
        g, H = fresh
        p = np.linalg.solve(H + lam * np.eye(len(theta)), -g)
        longest = _longest(theta, p, M, r, t)
        delta = 1.0 if longest > 1 else 0.99 * longest
        new = theta + delta * p
        value = objective(new, X, y, C, r, t, mu)
        foretold = -(delta * g @ p + delta**2 / 2 * p @ H @ p)
        ratio = (values[-1] - value) / foretold if foretold > 0 else -np.inf
        if ratio > 0.75:
            lam = max(lam / 2, 1e-14)
        elif ratio < 0.25:
            lam = min(2 * lam, 1e10)
        steps += 1
        if value < values[-1]:
            theta, fresh = new, None
            values.append(value)
        else:
            values.append(values[-1])
        if _settled(values) or steps >= most:
            return theta, lam, steps


def algorithm_1(
    X,
    y,
    C,
    r,
    t,
    theta,
    mu_max=1e-3,
    mu_min=1e-6,
    c=0.85,
    k_max=400,
    carried=False,
    most_steps=None,
):
    """The printed schedule; returns (theta, J, number of systems solved)."""
    mu, lam, values, solves = mu_max, 1.0, [], 0
    for _ in range(k_max):
        theta, lam, steps = algorithm_3(theta, X, y, C, r, t, mu, lam if carried else 1.0)
        solves += steps
        values.append(objective(theta, X, y, C, r, t, mu))
        if (mu <= mu_min and _settled(values)) or (most_steps and solves >= most_steps):
            break
        mu = max(c * mu, mu_min)
    return theta, values[-1], solves


# --- kernel machines ------------------------------------------------------------------------------


def gaussian(X, Z, sigma2):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(2) / sigma2)


def lssvm(K, Y, gamma):
    """beta and b from the bordered system."""
    n = len(K)
    A = np.zeros((n + 1, n + 1))
    A[:n, :n] = K + np.eye(n) / gamma
    A[:n, n] = A[n, :n] = 1
    solution = np.linalg.solve(A, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:n], solution[n]


def lssvm_left_out(X, Y, gamma, sigma2, blocks):
    """Residuals of every block from a fit to the rest."""
    out = np.empty_like(Y)
    for block in blocks:
        rest = np.setdiff1d(np.arange(len(X)), block)
        beta, b = lssvm(gaussian(X[rest], X[rest], sigma2), Y[rest], gamma)
        out[block] = Y[block] - (gaussian(X[block], X[rest], sigma2) @ beta + b)
    return out


def reconstruction_error(K, S):
    """Equation 6, as a mean, by inverting."""
    if not len(S):
        return 1.0
    part = K[S]
    explained = np.einsum("in,in->n", part, np.linalg.solve(K[np.ix_(S, S)], part))
    return np.mean(1 - explained / K.diagonal())


def reconstruct(K, most):
    """Forward choice by trying everybody."""
    S = []
    while len(S) < most:
        values = [reconstruction_error(K, [*S, j]) if j not in S else np.inf for j in range(len(K))]
        S.append(int(np.argmin(np.round(values, 12))))
    return S


def reduced_rank(K, S, Y, gamma):
    """Equation 7 by its normal equations with an unpenalised bias."""
    F = np.column_stack([K[S].T, np.ones(len(K))])
    penalty = np.zeros((len(S) + 1, len(S) + 1))
    penalty[:-1, :-1] = K[np.ix_(S, S)] / gamma
    solution = np.linalg.solve(F.T @ F + penalty, F.T @ Y)
    return solution[:-1], solution[-1]


def weighted_lssvm_left_out(X, Y, gamma, sigma2, weights, blocks):
    """Residuals of every block from a fit to the rest, squared errors weighted."""
    out = np.empty_like(Y)
    for block in blocks:
        rest = np.setdiff1d(np.arange(len(X)), block)
        n = len(rest)
        A = np.zeros((n + 1, n + 1))
        A[:n, :n] = gaussian(X[rest], X[rest], sigma2) + np.diag(1 / (gamma * weights[rest]))
        A[:n, n] = A[n, :n] = 1
        solution = np.linalg.solve(A, np.vstack([Y[rest], np.zeros((1, Y.shape[1]))]))
        K = gaussian(X[block], X[rest], sigma2)
        out[block] = Y[block] - (K @ solution[:n] + solution[n])
    return out


def weighted_reduced_rank_left_out(K, S, Y, gamma, weights):
    """Leave-one-out residuals of equation 7 with weighted squared errors, by refitting."""
    F = np.column_stack([K[S].T, np.ones(len(K))])
    penalty = np.zeros((len(S) + 1, len(S) + 1))
    penalty[:-1, :-1] = K[np.ix_(S, S)] / gamma
    out = np.empty_like(Y)
    for i in range(len(K)):
        rest = np.delete(np.arange(len(K)), i)
        V = F[rest] * weights[rest, None]
        solution = np.linalg.solve(V.T @ F[rest] + penalty, V.T @ Y[rest])
        out[i] = Y[i] - F[i] @ solution
    return out


def reduced_rank_blocks_left_out(K, S, Y, gamma, blocks):
    """Residuals of equation 7 when the errors of a block do not count, by refitting."""
    out = np.empty_like(Y)
    for block in blocks:
        rest = np.delete(np.arange(len(K)), block)
        F = np.column_stack([K[np.ix_(rest, S)], np.ones(len(rest))])
        P = np.zeros((len(S) + 1,) * 2)
        P[:-1, :-1] = K[np.ix_(S, S)] / gamma
        solution = np.linalg.solve(F.T @ F + P, F.T @ Y[rest])
        out[block] = (
            Y[block] - np.column_stack([K[np.ix_(block, S)], np.ones(len(block))]) @ solution
        )
    return out


def budget_lasso(B, y, r, steps=200_000):
    """min |B'a - y|^2 with sum |a| <= r, by projected gradient steps."""
    G, c = B @ B.T, B @ y
    length = 1 / np.linalg.eigvalsh(G)[-1]
    a = np.zeros(len(B))
    for _ in range(steps):
        new = _onto_the_ball(a - length * (G @ a - c), r)
        if np.abs(new - a).max() < 1e-12:
            break
        a = new
    return a


def thinned(B, y, r, a, most):
    """Coefficients left out one after another, all others solved again each time for their sum.

    The one whose loss leaves the least error goes, as long as that is at most ``most`` and no other
    changes its sign. The first stays. If the budget is not used up it may be used more.
    """
    used = np.flatnonzero(a)
    signs = np.sign(a[used])
    points = signs[:, None] * B[used]
    if np.abs(a).sum() < r * (1 - 1e-9):
        used, points = np.append(used, -1), np.vstack([points, np.zeros(len(y))])
        signs = np.append(signs, 0.0)
    left = list(range(len(used)))
    while True:
        best = None
        for m in [m for m in left if used[m] > 0]:
            rest = [i for i in left if i != m]
            if not rest:
                continue
            P = points[rest]
            system = np.block(
                [[P @ P.T, np.ones((len(rest), 1))], [np.ones(len(rest)), np.zeros(1)]]
            )
            shares = np.linalg.solve(system, np.append(P @ y, r))[:-1]
            error = np.mean((shares @ P - y) ** 2)
            if shares.min() > 0 and error <= most and (best is None or error < best[0]):
                best = error, rest, shares
        if best is None:
            break
        left, found = best[1], best[2]
        a = np.zeros(len(B))
        for i, share in zip(left, found, strict=True):
            if used[i] >= 0:
                a[used[i]] = signs[i] * share
    return a


def _onto_the_ball(a, r):
    """The nearest point with sum |a| <= r: all shrunk by one number, found by bisection."""
    low, high = 0.0, np.abs(a).max()
    if np.abs(a).sum() <= r:
        return a
    for _ in range(60):
        middle = (low + high) / 2
        if np.maximum(np.abs(a) - middle, 0).sum() > r:
            low = middle
        else:
            high = middle
    return np.sign(a) * np.maximum(np.abs(a) - high, 0)
