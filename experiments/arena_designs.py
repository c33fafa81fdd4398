"""The simulated designs of Hastie, Tibshirani and Tibshirani (2020), tuned on a validation set of size n.

Rows are normal with correlation rho^|i-j|; the noise gives the signal-to-noise ratio. Every method fits
its path on n rows; of all its models the one with the least error on n other rows is judged by its
expected squared error on new rows over the noise variance: 1 is perfect.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import toeplitz
from sklearn.linear_model import lasso_path

from arena_rivals import relaxed
from parts import Parts
from results import table
from sparsepath import SparseRLSRegressor

# Rows, columns, true features; and the figure of the best method of each setting in the paper.
SETTINGS = {
    "low": (100, 10, 5, 1.059),
    "medium": (500, 100, 5, 1.023),
    "high-5": (50, 1000, 5, 1.388),
    "high-10": (100, 1000, 10, 1.165),
}
RATIOS = tuple(np.exp(np.linspace(np.log(0.05), np.log(6), 10)))
CORRELATIONS = (0.0, 0.35, 0.7)
SHAPES = (1, 2, 3, 5)  # of the coefficients, in the numbering of the paper
PENALTIES = (1e-3, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Design:
    """One simulated problem."""

    setting: str
    shape: int
    correlation: float
    ratio: float
    seed: int

    def draw(self) -> tuple[Any, ...]:
        """Training rows, validation rows, the coefficients, the covariance and the noise."""
        n, p, s, _ = SETTINGS[self.setting]
        rng = np.random.default_rng([self.seed, n, p, self.shape, int(100 * self.correlation)])
        beta, covariance = (
            coefficients(self.shape, p, s),
            toeplitz(self.correlation ** np.arange(p)),
        )
        noise = np.sqrt(beta @ covariance @ beta / self.ratio)
        factor = np.linalg.cholesky(covariance)
        X = rng.standard_normal((2 * n, p)) @ factor.T
        y = X @ beta + noise * rng.standard_normal(2 * n)
        return (X[:n], y[:n]), (X[n:], y[n:]), beta, covariance, noise


def coefficients(shape: int, p: int, s: int) -> np.ndarray:
    beta = np.zeros(p)
    if shape == 1:
        beta[np.linspace(0, p - 1, s).round().astype(int)] = 1.0
    elif shape == 2:
        beta[:s] = 1.0
    elif shape == 3:
        beta[:s] = np.linspace(10, 0.5, s)
    else:
        beta[:s] = 1.0
        beta[s:] = 0.5 ** np.arange(1, p - s + 1)
    return beta


def rls_models(X, y, alphas=PENALTIES) -> Iterable[tuple[np.ndarray, float]]:
    """Models of all sizes and penalties of greedy RLS."""
    most = min(len(y) // 2, X.shape[1], 50)
    for alpha in alphas:
        search = SparseRLSRegressor(alpha=alpha, max_features=most, validation=None, n_threads=1)
        for size in search.fit(X, y).path_.sizes:
            model = search.at_size(size)
            yield model.coef_, float(model.intercept_)


def lasso_models(X, y, mixed: bool) -> Iterable[tuple[np.ndarray, float]]:
    """Models of the lasso path, and their mixes with least squares."""
    centre, scale, mean = X.mean(0), X.std(0), y.mean()
    Z = (X - centre) / scale
    alphas = lasso_path(Z, y - mean, n_alphas=50, eps=1e-3)[0]
    for mixes in relaxed(Z, y - mean, alphas):
        for coef in mixes if mixed else mixes[-1:]:
            yield coef / scale, float(mean - centre @ (coef / scale))


METHODS = {
    "greedy RLS, alpha = 1": ("ours", lambda X, y: rls_models(X, y, (1.0,))),
    "greedy RLS, four penalties": ("ours", rls_models),
    "greedy RLS, seven penalties": (
        "ours",
        lambda X, y: rls_models(X, y, (1e-3, 1.0, 10.0, 30.0, 100.0, 300.0, 1000.0)),
    ),
    "lasso": ("rival", lambda X, y: lasso_models(X, y, False)),
    "relaxed lasso": ("rival", lambda X, y: lasso_models(X, y, True)),
}


def judged(setting: str, shape: int, names: list[str], repetitions: int) -> dict[str, list[float]]:
    """Relative test errors of every method, for all correlations, ratios and repetitions."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for correlation, ratio, seed in itertools.product(CORRELATIONS, RATIOS, range(repetitions)):
        design = Design(setting, shape, correlation, float(ratio), seed)
        (X, y), (X_new, y_new), beta, covariance, noise = design.draw()
        for name in names:
            best, chosen = np.inf, (np.zeros(len(beta)), float(y.mean()))
            for coef, intercept in METHODS[name][1](X, y):
                error = np.mean((y_new - X_new @ coef - intercept) ** 2)
                if error < best:
                    best, chosen = error, (coef, intercept)
            off = chosen[0] - beta
            risk = off @ covariance @ off + chosen[1] ** 2
            found[name].append(float(risk / noise**2 + 1))
    return found


def compare(parts: Parts, repetitions: int, kinds: Iterable[str], fits: bool = True) -> str:
    """Section of the page; ``fits`` what is missing, or leaves it open."""
    if not repetitions:
        return ""
    rows = {name: [name] for name, (kind, _) in METHODS.items() if kind in kinds}
    for setting in SETTINGS:
        for name, row in rows.items():
            kind = METHODS[name][0]
            known = {
                shape: f"design-{setting}-{shape}-{repetitions}-{name.replace(' ', '_')}"
                for shape in SHAPES
            }
            if not fits and not all(parts.file(kind, part).exists() for part in known.values()):
                row.append("")
                continue
            errors: list[float] = []
            for shape, part in known.items():
                found = parts.get(kind, part, judged, setting, shape, [name], repetitions)
                errors += found[name]
            row.append(f"{np.mean(errors):.3f}")
            print(setting, name, row[-1], flush=True)
    bar = ["best method in the paper", *(f"{figures[3]:.3f}" for figures in SETTINGS.values())]
    title = f"""## Designs of Hastie, Tibshirani and Tibshirani

Expected squared error divided by the noise variance: means over four shapes of coefficients, correlations 0, .35 and .7, ten
signal-to-noise ratios from .05 to 6 and {repetitions} repetitions ({len(SHAPES) * len(CORRELATIONS) * len(RATIOS) * repetitions} problems per
setting). For each method, the model with the lowest error on a validation set of size n is evaluated.
"""
    return f"{title}\n{table(['method', *SETTINGS], [*rows.values(), bar])}\n"
