"""Ridge-penalised Poisson, Gamma and Tweedie models by a general minimiser."""

import numpy as np
from scipy.optimize import minimize

POWERS = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}


def negative_log_likelihood(mu, y, power):
    """Minus the log likelihood of each row, up to what does not depend on the mean."""
    if power == 1:
        return mu - y * np.log(mu)
    if power == 2:
        return y / mu + np.log(mu)
    return mu ** (2 - power) / (2 - power) - y * mu ** (1 - power) / (1 - power)


def fitted_means(X, y, weights, columns, alpha, power, fit_intercept=True, standardize=True):
    """Means of all rows: the least of the weighted loss of y over its mean, and the penalty."""
    Z = X[:, list(columns)]
    unit = 1.0
    if fit_intercept:
        Z = Z - np.average(Z, axis=0, weights=weights)
        unit = np.average(y, weights=weights)
    if standardize:
        Z = Z / np.sqrt(np.average(Z**2, axis=0, weights=weights))

    def means(theta):
        return np.exp(Z @ theta[1:] + theta[0] * fit_intercept)

    def objective(theta):
        losses = negative_log_likelihood(means(theta), y / unit, power)
        return weights @ losses + alpha / 2 * np.sum(theta[1:] ** 2)

    options = {"gtol": 1e-8, "maxiter": 5000}
    return unit * means(
        minimize(objective, np.zeros(1 + Z.shape[1]), method="BFGS", options=options).x
    )
