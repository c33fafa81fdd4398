"""Penalised logistic and multinomial models by a general minimiser."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp


def log_losses(outputs, codes):
    """Minus the log probability of the class of every row; one output is that of the second."""
    if outputs.shape[1] == 1:
        outputs = np.hstack([np.zeros_like(outputs), outputs])
    return logsumexp(outputs, axis=1) - outputs[np.arange(len(codes)), codes]


def fitted_outputs(
    X, codes, n_classes, weights, columns, alpha, fit_intercept=True, standardize=True
):
    """Outputs of all rows: the least of the weighted log loss and alpha / 2 times the squares."""
    Z = X[:, list(columns)]
    if fit_intercept:
        Z = Z - np.average(Z, axis=0, weights=weights)
    if standardize:
        Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=weights))
    n_outputs = 1 if n_classes == 2 else n_classes

    def outputs(theta):
        B = theta.reshape(n_outputs, -1)
        return Z @ B[:, 1:].T + B[:, 0] * fit_intercept

    def objective(theta):
        B = theta.reshape(n_outputs, -1)
        return weights @ log_losses(outputs(theta), codes) + alpha / 2 * np.sum(B[:, 1:] ** 2)

    start = np.zeros(n_outputs * (1 + Z.shape[1]))
    options = {"gtol": 1e-7, "maxiter": 5000}
    return outputs(minimize(objective, start, method="BFGS", options=options).x)
