r"""Selective p-values of a forward search: they allow for the choice among many features.

The ordinary t-test of a feature that a search has chosen is too optimistic, since it was chosen
because it fits. The selective test conditions on the choices (Lee, Sun, Sun and Taylor 2016;
Tibshirani, Taylor, Lockhart and Tibshirani 2016; for quadratic criteria Loftus and Taylor 2015).

With y ~ N(mu, sigma^2 I), the feature that enters in step k is tested for a coefficient of zero in
the least squares model of the first k features: eta' mu = 0, where eta is what the others (and the
constant) leave of its column. With P the projection off eta,

    y(z) = P y + z eta / |eta|^2,   z = eta' y ~ N(0, sigma^2 |eta|^2) given P y, if eta' mu = 0.

The search takes step i if its leave-one-out error is not above that of any other candidate. With
G = (K + alpha I)^-1, K the products of the chosen columns and the constant, the errors are sums of
((G y)_i / G_ii)^2, quadratic in z, so that each comparison leaves one or two intervals. The p-value
is the share of the normal distribution beyond \|z\| within the intervals of all comparisons up to
step k.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from sparsepath.assessment.summary import Summary
from sparsepath.data.validation import check_target
from sparsepath.errors import InputError
from sparsepath.system.arrays import Floats

MOST_STEPS = 20
SPARE_ROWS = 10  # more rows than columns from which all columns estimate sigma


@dataclass(frozen=True, eq=False, repr=False)
class SelectivePValues(Summary):
    """Result of :func:`selective_p_values`, by step.

    Attributes
    ----------
    features : tuple of str
        Names of the features, in order of entry.
    p_values : array of shape (n_steps,)
        Two-sided p-values, given the choices up to the step.
    sigma : float
        Standard deviation of the errors, known or estimated.
    estimated_from : str
        What it was estimated from.
    """

    features: tuple[str, ...]
    p_values: Floats
    sigma: float
    estimated_from: str

    def sentence(self) -> str:
        """Return the p-values and their assumptions in words."""
        listed = ", ".join(
            f"{name} {p:.2g}" for name, p in zip(self.features, self.p_values, strict=True)
        )
        return (
            f"Selective p-values by step: {listed or 'none'}. Each tests the feature in the linear "
            "model of the features up to it, given that the search chose them. They assume "
            f"independent normal errors of equal variance ({self.estimated_from})."
        )

    def to_frame(self, backend: Any = None) -> Any:
        """Return a data frame with one row per step: feature and p_value.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        from sparsepath.system.frames import make_frame

        return make_frame(
            {"feature": list(self.features), "p_value": self.p_values.tolist()}, backend
        )


def selective_p_values(
    model: Any, X: Any, y: Any, *, n_steps: int | None = None, sigma: float | None = None
) -> SelectivePValues:
    """Test the steps of a forward search by leave-one-out squared error, given its choices.

    Parameters
    ----------
    model : fitted SparseRLSRegressor
        With ``search="forward"``, the squared loss, ``cv="loo"``, and no constraints.
    X, y : array or data frame; array
        The data of the fit.
    n_steps : int, optional
        Number of steps to test; default: the features of the model in use, at most 20.
    sigma : float, optional
        Standard deviation of the errors. Default: estimated from least squares on all columns, or
        if there are too many on the largest model of the path, which makes p-values too small or
        too large.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsepath import SparseRLSRegressor, selective_p_values
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 10))
    >>> y = X[:, 3] + rng.standard_normal(100)
    >>> model = SparseRLSRegressor(3, choose=3).fit(X, y)
    >>> found = selective_p_values(model, X, y)
    >>> found.features[0], bool(found.p_values[0] < 1e-4), bool((found.p_values[1:] > 0.05).all())
    ('x3', True, True)
    """
    if hasattr(model, "_as_numbers"):
        X, y, model = model._as_numbers(X, y)
    _refuse(model)
    if hasattr(X, "tocsr"):
        raise InputError("selective p-values need dense data.")
    columns = np.asarray(X, dtype=np.float64)
    if columns.ndim != 2 or columns.shape[1] != model.n_features_in_:
        raise InputError(f"X has shape {columns.shape}; give the data of the fit.")
    target, plain = check_target(y, len(columns))
    if not plain and target.shape[1] > 1:
        raise InputError("selective p-values are for one target.")
    order = [move.feature for move in model.path_.moves]
    wanted = len(model.selected_) if n_steps is None else n_steps
    order = order[: min(wanted, MOST_STEPS)]
    A = columns - columns.mean(0)
    if model.standardize:
        spread = A.std(0)
        A /= np.where(spread > 0, spread, 1.0)
    centred = target.ravel() - target.mean()
    known, origin = (sigma, "sigma as given") if sigma is not None else _sigma(A, centred, model)
    values = np.array([_p_value(A, centred, order[:k], model, known) for k in _steps(order)])
    names = tuple(str(model.path_.feature_names[j]) for j in order)
    return SelectivePValues(names, values, known, origin)


def _steps(order: list[int]) -> range:
    return range(1, len(order) + 1)


def _refuse(model: Any) -> None:
    plain = {"search": "forward", "loss": "squared", "cv": "loo", "fit_intercept": True}
    none = ("forced", "forbidden", "start", "feature_groups", "feature_costs", "parents")
    given = model.get_params(deep=False) if hasattr(model, "path_") else {}
    if "search" not in given or hasattr(model, "classes_"):
        raise InputError(
            "selective p-values are for regression by SparseRLSRegressor (greedy-rls), fitted."
        )
    wrong = [n for n, value in plain.items() if given.get(n) != value]
    wrong += [name for name in none if given.get(name) is not None and len(given[name])]
    if wrong:
        raise InputError(
            f"selective p-values are for forward searches by leave-one-out squared error without "
            f"constraints; {wrong[0]}={given[wrong[0]]!r} is not."
        )


def _sigma(A: Floats, y: Floats, model: Any) -> tuple[float, str]:
    """Return the estimated standard deviation of the errors, and its origin."""
    m, n = A.shape
    chosen, origin = A, "sigma from least squares on all columns"
    if n + SPARE_ROWS >= m:
        chosen = A[:, list(model.path_.subset(model.path_.sizes[-1]))]
        origin = (
            f"sigma from the {chosen.shape[1]} features of the largest model, which is imprecise"
        )
    beta, _, rank, _ = np.linalg.lstsq(chosen, y, rcond=None)
    left = m - 1 - int(rank)
    if left < 1:
        raise InputError("there are too few rows to estimate sigma; give it.")
    return float(np.linalg.norm(y - chosen @ beta) / np.sqrt(left)), origin


def _p_value(A: Floats, y: Floats, order: list[int], model: Any, sigma: float) -> float:
    """Return the p-value of the last step."""
    x, others = A[:, order[-1]], A[:, order[:-1]]
    eta = x - others @ np.linalg.lstsq(others, x, rcond=None)[0] if len(order) > 1 else x
    square = float(eta @ eta)
    z = float(eta @ y)
    line = np.column_stack([y - eta * (z / square), eta / square])
    forbidden = [gap for pieces in _comparisons(A, line, order, model.alpha_) for gap in pieces]
    return _tail(z, sigma * np.sqrt(square), _union(forbidden))


def _comparisons(
    A: Floats, line: Floats, order: list[int], alpha: float
) -> Iterator[list[tuple[float, float]]]:
    """Yield for each step the intervals of z in which another candidate would have won."""
    m = len(A)
    g = np.full(m, (1 - 1 / m) / alpha)
    GA, GL = A / alpha, line / alpha  # columns are centred: the constant is free
    open_ = np.ones(A.shape[1], dtype=bool)
    for j in order:
        s = 1 + np.einsum("ij,ij->j", A, GA)
        diagonal = g[:, None] - GA**2 / s
        errors = []  # of all candidates: the coefficients of 1, z and z^2
        for one, other in ((0, 0), (0, 1), (1, 1)):
            first, second = (
                (GL[:, [k]] - GA * (A.T @ GL[:, k] / s)) / diagonal for k in (one, other)
            )
            errors.append(np.einsum("ij,ij->j", first, second))
        constant, linear, quadratic = errors[0], 2 * errors[1], errors[2]
        others = np.flatnonzero(open_ & (np.arange(len(open_)) != j))
        yield [
            gap
            for i in others
            for gap in _negative(
                quadratic[i] - quadratic[j], linear[i] - linear[j], constant[i] - constant[j]
            )
        ]
        open_[j] = False
        column, scale = GA[:, j].copy(), s[j]
        g = g - column**2 / scale
        GL = GL - np.outer(column, A[:, j] @ GL) / scale
        GA = GA - np.outer(column, A[:, j] @ GA) / scale


def _negative(a: float, b: float, c: float) -> list[tuple[float, float]]:
    """Return the open intervals in which a z^2 + b z + c is below zero.

    >>> _negative(1.0, 0.0, -4.0), _negative(-1.0, 0.0, 4.0), _negative(1.0, 0.0, 1.0)
    ([(-2.0, 2.0)], [(-inf, -2.0), (2.0, inf)], [])
    """
    disc = b * b - 4 * a * c
    if a == 0:
        if b == 0:
            return []
        return [(-math.inf, -c / b)] if b > 0 else [(-c / b, math.inf)]
    if disc <= 0:
        return [] if a > 0 else [(-math.inf, math.inf)]
    q = -(b + math.copysign(math.sqrt(disc), b)) / 2
    low, high = sorted((q / a, c / q))
    return [(low, high)] if a > 0 else [(-math.inf, low), (high, math.inf)]


def _union(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return what the intervals cover, in order.

    >>> _union([(3.0, 4.0), (0.0, 1.0), (0.5, 2.0)])
    [(0.0, 2.0), (3.0, 4.0)]
    """
    found: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _tail(z: float, scale: float, forbidden: list[tuple[float, float]]) -> float:
    """Return P(|Z| >= |z|) for a normal Z outside of the forbidden intervals."""
    ends = [-np.inf, *(end for gap in forbidden for end in gap), np.inf]
    allowed = [(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < high]
    beyond = inside = 0.0
    for low, high in allowed:
        for left, right in ((low, min(high, -abs(z))), (max(low, abs(z)), high)):
            beyond += _mass(left / scale, right / scale)
        inside += _mass(max(low, -abs(z)) / scale, min(high, abs(z)) / scale)
    return beyond / (beyond + inside) if beyond + inside > 0 else np.nan


def _mass(low: float, high: float) -> float:
    """Return the normal probability of an interval, exact in both tails."""
    if high <= low:
        return 0.0
    if low > 0:
        return float(norm.sf(low) - norm.sf(high))
    return float(norm.cdf(high) - norm.cdf(low))
