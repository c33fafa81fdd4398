"""How often bootstrap intervals of coefficients cover the truth: fixed columns and selected ones.

    python experiments/coefficient_coverage.py [times]

100 samples, 20 features (four of them relevant) with correlations of 0.3, normal noise.
"""

import sys

import numpy as np

from sparsepath import SparseRLSRegressor, coefficients

TRUTH = np.zeros(20)
TRUTH[:4] = (1.0, -0.6, 0.4, 0.25)
GIVEN = {"alpha": 1.0, "validation": None}
FIXED = {"max_features": 4, "choose": 4, "forced": range(4)}


def draw(rng, n=100):
    shared = rng.normal(size=(n, 1))
    X = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=(n, 20))
    return X, X @ TRUTH + rng.normal(size=n)


def covered(model, X, y):
    """Whether each interval covers its coefficient, and whether the feature matters."""
    found = coefficients(model.fit(X, y), X, y, 200)
    truth = TRUTH[model.selected_]
    return (found.low <= truth) & (truth <= found.high), truth != 0


def main(times=200):
    rng = np.random.default_rng(0)
    fixed, selected, noise = [], [], []
    for _ in range(times):
        X, y = draw(rng)
        fixed += covered(SparseRLSRegressor(**FIXED, **GIVEN), X, y)[0].tolist()
        inside, matters = covered(SparseRLSRegressor(choose="min", **GIVEN), X, y)
        selected += inside[matters].tolist()
        noise += inside[~matters].tolist()
    for name, cases in (("fixed", fixed), ("selected", selected), ("selected noise", noise)):
        print(f"{name:15} {len(cases):5} intervals, {np.mean(cases):.3f} cover the truth")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
