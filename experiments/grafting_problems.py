"""The data of the grafting paper: A, B, C (threshold max), D (mfeat), E (arrhythmia)."""

import numpy as np

import paper_sets
from sparsepath.data.synthetic import THRESHOLD_MAX, threshold_max

# Table 2: l1 and l0 of the linear and of the MLP graft, C of the linear and of the RBF SVM.
TABLE2 = {
    "A": ((3e-4, 0.005), (1e-6, 0.005), 0.01, 10),
    "B": ((1e-4, 0.005), (1e-6, 0.005), 0.01, 0.1),
    "C": ((0.2, 0.001), (0.1, 0.001), 0.001, 100),
    "D": ((0.005, 0.001), (3e-4, 0.001), 1, 1),
    "E": ((0.05, 0.001), (3e-5, 0.001), 0.01, 1),
}
FILES = {"D": "mfeat", "E": "arrhythmia"}


def instance(name, seed):
    """(train X, y, test X, y, problem or None) of a data set."""
    if name in THRESHOLD_MAX:
        m = 100 if name == "C" else 1000
        p = threshold_max(m + 1000, *THRESHOLD_MAX[name], random_state=seed)
        return p.X[:m], p.y[:m], p.X[m:], p.y[m:], p
    data = paper_sets.load(FILES[name])
    X = data.X.astype(float)
    if name == "D":
        y, m = np.where(data.y == data.y.min(), 1, -1), 1000
    else:
        X = X[:, np.isnan(X).mean(0) < 0.5]  # "J" is missing in most records
        keep = ~np.isnan(X).any(1)
        X, y, m = X[keep], np.where(data.y[keep] == 1, 1, -1), 280
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:m], order[m:]
    return X[train], y[train], X[test], y[test], None
