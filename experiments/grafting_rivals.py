"""The rivals of grafting in section 4.2 of the paper, (c) to (h), from ``sparsepath.baselines``."""

import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from grafting_problems import TABLE2
from sparsepath.baselines import l1_linear, l1_network, svm_wrapper

CHOSEN = 10  # features of the wrapper and of the filter: as many as are relevant on A, B and C


def fit_rival(letter, name, X, y):
    """(predictor, selected columns or None) of (c) to (h), by the parameters of Table 2."""
    linear, mlp, C_linear, C_rbf = TABLE2[name]
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(X)
    if letter == "c":
        w, b = l1_linear(Z, y, linear[0])
        return lambda U: np.where(scaler.transform(U) @ w + b > 0, 1, -1), np.flatnonzero(w)
    if letter == "d":
        W, a, b = l1_network(Z, y, mlp[0])

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
        selected = np.sort(svm_wrapper(Z, y, C_rbf, CHOSEN))
    else:
        selected = np.flatnonzero(SelectKBest(f_classif, k=CHOSEN).fit(Z, y).get_support())
    svm.fit(Z[:, selected], y)
    return lambda U: svm.predict(scaler.transform(U)[:, selected]), selected
