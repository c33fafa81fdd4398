"""Section 2.2.2, Figure 2: which regulariser, with how many irrelevant features."""

import numpy as np

from sparsepath import GraftingClassifier
from sparsepath.data.synthetic import two_normals

METHODS = ("none", "O0", "O1", "O2")
SD = (0.5, 1.0)
RIDGE = 1e-5  # of "none" and O0: separable data have no unregularised optimum
L1S, L2S = 10 ** np.linspace(-2.5, -0.4, 7), 10 ** np.linspace(-3, 1, 7)


def ridge_logistic(X, y, l2):
    """Newton's method for mean log loss + l2 |w|^2, intercept free."""
    A = np.column_stack([X, np.ones(len(X))])
    w = np.zeros(A.shape[1])
    D = np.diag([2 * l2] * X.shape[1] + [1e-10])

    def criterion_of(v):
        return np.logaddexp(0, -y * (A @ v)).mean() + 0.5 * v @ D @ v

    for _ in range(60):
        p = 1 / (1 + np.exp(np.clip(y * (A @ w), -500, 500)))
        g = -A.T @ (y * p) / len(y) + D @ w
        step = np.linalg.solve((A * (p * (1 - p))[:, None]).T @ A / len(y) + D, g)
        t = 1.0
        while criterion_of(w - t * step) > criterion_of(w) and t > 1e-6:
            t /= 2
        w = w - t * step
        if np.abs(g).max() < 1e-9:
            break
    return w


def lasso(X, y, l1):
    model = GraftingClassifier(l1=l1, standardize=False, tol=1e-6, n_threads=1, validation=None)
    model.fit(X, y)
    return np.append(model.coef_[0], model.intercept_)


def backward(X, y, sizes):
    """Weights of backward elimination at the asked sizes."""
    left, out = list(range(X.shape[1])), {}
    while left:
        part = ridge_logistic(X[:, left], y, RIDGE)
        if len(left) in sizes:
            w = np.zeros(X.shape[1] + 1)
            w[[*left, -1]] = part
            out[len(left)] = w
        if len(left) == min(sizes):
            break
        losses = []
        for j in left:
            rest = [i for i in left if i != j]
            v = ridge_logistic(X[:, rest], y, RIDGE)
            losses.append(np.logaddexp(0, -y * (X[:, rest] @ v[:-1] + v[-1])).mean())
        left.pop(int(np.argmin(losses)))
    return out


def draw(sd, irrelevant, seed):
    train = two_normals(20, 2 + irrelevant, 2, sd=sd, random_state=[0, seed])
    test = two_normals(2000, 2 + irrelevant, 2, sd=sd, random_state=[1, seed])
    return train.X, train.y, test.X, test.y


def error(w, X, y):
    return float(np.mean(np.sign(X @ w[:-1] + w[-1]) != y))


def tuned(method, sets, n):
    """A method with its parameter (l1, l2 or the size) of least mean error on the ``sets``."""

    def best(fit, values):
        means = [np.mean([error(fit(X, y, v), U, t) for X, y, U, t in sets]) for v in values]
        return values[int(np.argmin(means))]

    if method == "none":
        return lambda X, y: ridge_logistic(X, y, RIDGE)
    if method == "O1":
        l1 = best(lasso, L1S)
        return lambda X, y: lasso(X, y, l1)
    if method == "O2":
        l2 = best(ridge_logistic, L2S)
        return lambda X, y: ridge_logistic(X, y, l2)
    sizes = sorted({1, 2, 3, n} & set(range(1, n + 1)))
    paths = [(backward(X, y, sizes), U, t) for X, y, U, t in sets[: len(sets) // 2]]
    size = min(sizes, key=lambda k: np.mean([error(p[k], U, t) for p, U, t in paths]))
    return lambda X, y: backward(X, y, {size})[size]


def errors_of(method, sd, irrelevant, n_sets, n_tune):
    """Test errors of a method on ``n_sets`` training sets, tuned on ``n_tune`` others."""
    sets = [draw(sd, irrelevant, 10_000 + i) for i in range(n_tune)]
    fit = tuned(method, sets, 2 + irrelevant)
    errors = []
    for i in range(n_sets):
        X, y, U, t = draw(sd, irrelevant, i)
        errors.append(error(fit(X, y), U, t))
    return errors
