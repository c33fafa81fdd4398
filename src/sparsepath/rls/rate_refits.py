"""Poisson, Gamma and Tweedie models of the columns on a path, at several penalties.

With f = b + Z B the logarithm of the mean, Z the columns in order of entry, centred and scaled, the
models minimise

    sum of w_i L(y_i / u, f_i) + alpha / 2 |B|^2

where L is half the unit deviance (``assessment/deviance.py``) and the intercept b is not penalised.
The unit u is the mean of y, so that a penalty means the same for counts per day and per year (1
without an intercept). Newton steps start from the model of the size before.

Models that are only judged are fitted at some sizes (``fitted_sizes``); the others take the outputs
of the next smaller one.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparsepath.assessment.deviance import curvatures, deviances, slopes
from sparsepath.rls.logistic_refits import fitted_sizes
from sparsepath.rls.shrinkage import (
    LEAST_PENALTY,
    Chain,
    ScaledColumns,
    Subsets,
    chains,
    dense_columns,
)
from sparsepath.system.arrays import Floats

TOLERANCE = 1e-14  # squared Newton decrement of the mean loss, at the end
ON_PARTS = 1e-8  # the same for models that are only judged
MOST_STEPS = 100
LEAST_STEP = 1e-10
STEEPEST = 700.0  # of f: exp beyond it is no number


class RateRefits(ScaledColumns):
    """Models of subsets of columns, fitted to some samples; see ``ScaledColumns``.

    ``power`` is that of the deviance; sizes in ``always`` are fitted wherever others are left out.
    """

    def __init__(
        self,
        X: Any,
        Y: Floats,
        weights: Floats,
        *,
        fit_intercept: bool,
        standardize: bool,
        power: float,
        always: Sequence[int] = (),
    ) -> None:
        super().__init__(X, Y, weights, fit_intercept=fit_intercept, standardize=standardize)
        self._power, self._always = power, always
        mean = float(self._weights @ self._Y[:, 0]) / self._total
        self._unit = mean if fit_intercept else 1.0

    def outputs(self, subsets: Subsets, alphas: Sequence[float], X: Any) -> dict[int, Floats]:
        """Return the means for other samples, by size: penalties x samples x 1."""
        subsets = {size: subsets[size] for size in fitted_sizes(subsets, self._always)}
        found: dict[int, Floats] = {}
        for chain in chains(subsets):
            Z, centre, scale = self._columns(chain.columns)
            other = (dense_columns(X, chain.columns) - centre) * scale
            made = {k: np.empty((len(alphas), len(other), 1)) for k in chain.sizes}
            for i, alpha in enumerate(alphas):
                for k, b, B in self._models(Z, chain, alpha, ON_PARTS):
                    made[k][i, :, 0] = np.exp(np.minimum(other[:, :k] @ B + b, STEEPEST))
            found |= made
        return found

    def models(self, subsets: Subsets, alpha: float) -> dict[int, tuple[Floats, Floats]]:
        """Return coefficients (columns x 1) in units of the data and intercept, by size."""
        found: dict[int, tuple[Floats, Floats]] = {}
        for chain in chains(subsets):
            Z, centre, scale = self._columns(chain.columns)
            for k, b, B in self._models(Z, chain, alpha, TOLERANCE):
                w = scale[:k] * B
                found[k] = w[:, None], np.array([b - centre[:k] @ w])
        return found

    def _models(
        self, Z: Floats, chain: Chain, alpha: float, tolerance: float
    ) -> Iterator[tuple[int, float, Floats]]:
        """Yield sizes, intercepts and coefficients of the scaled columns."""
        first = int(self._fit_intercept)
        A = np.hstack([np.ones((len(Z), first)), Z])
        theta = np.zeros(first)
        for k in chain.sizes:
            theta = np.append(theta, np.zeros(first + k - len(theta)))
            theta = self._minimum(A[:, : first + k], theta, alpha, tolerance)
            b = theta[0] + np.log(self._unit) if first else 0.0
            yield k, float(b), theta[first:]

    def _minimum(self, A: Floats, theta: Floats, alpha: float, tolerance: float) -> Floats:
        """Return the best coefficients, the intercept first, by damped Newton steps."""
        y, w, power = self._y, self._weights, self._power
        ridge = np.full(len(theta), alpha)
        ridge[: int(self._fit_intercept)] = 0.0

        def loss(theta: Floats) -> tuple[float, Floats]:
            f = A @ theta
            with np.errstate(over="ignore", invalid="ignore"):
                value = w @ deviances(y, f, power) / 2 + ridge @ theta**2 / 2
            return (float(value) if np.isfinite(value) else np.inf), f

        here, f = loss(theta)
        for _ in range(MOST_STEPS):
            gradient = A.T @ (w * slopes(y, f, power)) + ridge * theta
            H = A.T @ ((w * curvatures(y, f, power))[:, None] * A)
            H[np.diag_indices(len(H))] += ridge + LEAST_PENALTY * len(H) * np.diag(H)
            step = -np.linalg.solve(H, gradient) if len(H) else gradient
            if -gradient @ step <= tolerance * self._total:
                break
            t, there = 1.0, loss(theta + step)
            while there[0] > here and t > LEAST_STEP:
                t /= 2
                there = loss(theta + t * step)
            if there[0] > here:
                break
            theta, (here, f) = theta + t * step, there
        return theta

    @property
    def _y(self) -> Floats:
        return np.asarray(self._Y[:, 0] / self._unit)
