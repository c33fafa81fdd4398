"""The rivals of grafting in section 4.2 of the paper, (c) to (h); none uses this package's solvers."""

import numpy as np
import sklearn
from scipy.optimize import minimize
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from grafting_problems import TABLE2

CHOSEN = 10  # features of the wrapper and of the filter: as many as are relevant on A, B and C


def split_descent(criterion_of, start, n_split):
    """L-BFGS-B with the first ``n_split`` numbers kept from falling below zero."""
    bounds = [(0, None)] * n_split + [(None, None)] * (len(start) - n_split)
    return minimize(
        criterion_of, start, jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10000, "gtol": 1e-7, "ftol": 1e-13},
    ).x  # fmt: skip


def prune(W):
    return np.where(np.abs(W) < 1e-4 * np.abs(W).max(), 0.0, W)


def gradient_descent(X, y, l1):
    """(c): L-BFGS-B over all weights at once, as w = u - v; then those below 1e-4 are pruned."""
    m, n = X.shape

    def criterion_of(t):
        f = X @ (t[:n] - t[n : 2 * n]) + t[-1]
        g = -y / (1 + np.exp(np.clip(y * f, -500, 500))) / m
        in_w = X.T @ g
        value = np.logaddexp(0, -y * f).mean() + l1 * t[:-1].sum()
        return value, np.concatenate([in_w + l1, l1 - in_w, [g.sum()]])

    t = split_descent(criterion_of, np.zeros(2 * n + 1), 2 * n)
    return prune(t[:n] - t[n : 2 * n]), t[-1]


def full_network(X, y, l1, hidden=10):
    """(d): all weights of a network with ten units at once, as (c); returns W, a and b.

    The start is random and small: at zero all units are alike and would stay so.
    """
    m, n = X.shape
    k = n * hidden

    def unpack(t):
        return (t[:k] - t[k : 2 * k]).reshape(n, hidden), t[2 * k : -1], t[-1]

    def criterion_of(t):
        W, a, b = unpack(t)
        G = np.tanh(0.5 * (X @ W + a))
        f = G.sum(1) + b
        r = -y / (1 + np.exp(np.clip(y * f, -500, 500))) / m
        back = r[:, None] * (0.5 * (1 - G * G))
        in_w = (X.T @ back).ravel()
        value = np.logaddexp(0, -y * f).mean() + l1 * t[: 2 * k].sum()
        return value, np.concatenate([in_w + l1, l1 - in_w, back.sum(0), [r.sum()]])

    W = np.random.default_rng(0).normal(0, 0.1, k)
    start = np.concatenate([np.maximum(W, 0), np.maximum(-W, 0), np.zeros(hidden + 1)])
    W, a, b = unpack(split_descent(criterion_of, start, 2 * k))
    return prune(W), a, b


def wrapper(Z, y, C, size, folds=3):
    """(g): forward selection by the cross-validated accuracy of an RBF SVM, gamma = 1 / features.

    What scikit-learn's ``SequentialFeatureSelector(SVC(C=C, gamma="auto"), cv=3)`` selects, about
    twice as fast: squared distances add up over features, so a candidate's kernel matrix is one
    exponential of the present distances plus its own, shared by the folds. Ties: lowest index.
    """
    parts = list(StratifiedKFold(folds).split(Z, y))
    distances = np.zeros((len(Z), len(Z)))
    K = np.empty_like(distances)
    chosen = []

    def accuracy(j, gamma):
        np.subtract.outer(Z[:, j], Z[:, j], out=K)
        np.multiply(K, K, out=K)
        np.add(K, distances, out=K)
        np.multiply(K, -gamma, out=K)
        np.exp(K, out=K)
        right = []
        for train, test in parts:
            svm = SVC(C=C, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
            support = train[svm.support_]
            scores = K[np.ix_(test, support)] @ svm.dual_coef_[0] + svm.intercept_[0]
            right.append(np.mean(np.where(scores > 0, 1, -1) == y[test]))
        return np.mean(right)

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(size):
            left = [j for j in range(Z.shape[1]) if j not in chosen]
            best = max(left, key=lambda j: accuracy(j, 1 / (len(chosen) + 1)))
            chosen.append(best)
            distances += np.subtract.outer(Z[:, best], Z[:, best]) ** 2
    return np.array(sorted(chosen))


def fit_rival(letter, name, X, y):
    """(predictor, selected columns or None) of (c) to (h), by the parameters of Table 2."""
    linear, mlp, C_linear, C_rbf = TABLE2[name]
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    if letter == "c":
        w, b = gradient_descent(Z, y, linear[0])
        return lambda U: np.where(scaler.transform(U) @ w + b > 0, 1, -1), np.flatnonzero(w)
    if letter == "d":
        W, a, b = full_network(Z, y, mlp[0])

        def predict(U):
            return np.where(np.tanh(0.5 * (scaler.transform(U) @ W + a)).sum(1) + b > 0, 1, -1)

        return predict, np.flatnonzero(W.any(1))
    if letter == "e":
        svm = SVC(C=C_linear, kernel="linear").fit(Z, y)
        return lambda U: svm.predict(scaler.transform(U)), None
    svm = SVC(C=C_rbf, gamma="auto")
    if letter == "f":
        svm.fit(Z, y)
        return lambda U: svm.predict(scaler.transform(U)), None
    if letter == "g":
        selected = wrapper(Z, y, C_rbf, CHOSEN)
    else:
        selected = np.flatnonzero(SelectKBest(f_classif, k=CHOSEN).fit(Z, y).get_support())
    svm.fit(Z[:, selected], y)
    return lambda U: svm.predict(scaler.transform(U)[:, selected]), selected
