"""Base class of kernel machines: parameter grids, splits, scaling, tuning, prediction."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sparsepath.base import Formula, Gaussian, Predictor
from sparsepath.base.parameters import flag, positive
from sparsepath.base.selector import SparseInputMixin
from sparsepath.base.targets import PathRegressorMixin, dense, weights_of
from sparsepath.data.columns import moments
from sparsepath.data.splits import splits_of
from sparsepath.data.validation import check_features
from sparsepath.errors import InputError, warn_user
from sparsepath.kernel_machines.lssvm import Blocks, gaussian_kernel, residuals, squared_distances
from sparsepath.system.arrays import Floats

GAMMAS = np.logspace(-1, 8, 19)
WIDTHS = np.logspace(-1, 4, 11)  # of the mean squared distance of two samples


def grid(given: Any, name: str, default: Floats) -> list[float]:
    """Return the values to try: a number, a list of numbers, or "tune" for the defaults."""
    if isinstance(given, str):
        if given != "tune":
            raise InputError(f"{name}={given!r}; use a number, a list of numbers, or 'tune'.")
        return [float(value) for value in default]
    is_list = isinstance(given, Sequence) or getattr(given, "ndim", 0) == 1
    values = list(given) if is_list else [given]
    if not values:
        raise InputError(f"{name} is an empty list; give at least one value.")
    return [positive(name, value) for value in values]


def warn_of_end(given: Any, gamma: float, default: Floats) -> None:
    """Say so if the best gamma is the largest of the default ones: a larger one may be better."""
    if isinstance(given, str) and gamma >= default[-1]:
        warn_user(
            f"the best gamma = {gamma:.3g} is the largest one tried: the data have almost no "
            "noise, or repeated rows. Pass a list with larger values of gamma."
        )


def left_out(
    cv: Any, X: Floats, y: Any, groups: Any = None, *, classifier: bool, weights: Any = None
) -> Blocks:
    """Return the held-out blocks (None: one sample at a time); every sample once."""
    if isinstance(cv, str):
        if cv != "loo":
            raise InputError(f"cv={cv!r}; use 'loo', a number of folds, or splits.")
        if groups is None:
            return None
    n = len(X)
    blocks = []
    for train, test in splits_of(cv, X, y, groups, classifier=classifier, weights=weights):
        if len(train) + len(test) != n:
            raise InputError("each split of cv must use all samples, for training or testing.")
        blocks.append(np.asarray(test, dtype=np.intp))
    if not np.array_equal(np.sort(np.concatenate(blocks)), np.arange(n)):
        raise InputError("cv must test every sample once; use KFold, or 'loo'.")
    return blocks


def default_widths(Z: Floats, weights: Floats | None = None) -> Floats:
    """Widths sigma2 around the mean squared distance of two samples."""
    off = Z - np.average(Z, axis=0, weights=weights)
    return WIDTHS * max(2.0 * float(np.average((off * off).sum(axis=1), weights=weights)), 1e-12)


@dataclass(frozen=True, eq=False)
class KernelModel(Predictor):
    """Gaussians on the samples, of some standardised columns."""

    parts: ClassVar = {
        "columns": "column d",
        "mean": "float d",
        "scale": "float d",
        "support": "float u d",
        "sigma2": "float",
        "dual": "float u t",
        "bias": "float t",
    }
    columns: NDArray[np.intp]
    mean: Floats
    scale: Floats
    support: Floats  # samples x columns, standardised
    sigma2: float
    dual: Floats  # samples x targets
    bias: Floats

    def predict(self, X: Any) -> Floats:
        Z = (dense(X[:, self.columns]) - self.mean) / self.scale
        return gaussian_kernel(Z, self.support, self.sigma2) @ self.dual + self.bias

    def moved(self, by: Floats) -> "KernelModel":
        return replace(self, bias=self.bias + by)

    def formula(self) -> Formula:
        units = Gaussian(self.support, np.full(len(self.support), 1.0 / self.sigma2))
        slopes = np.zeros((len(self.columns), len(self.bias)))
        return Formula(self.columns, self.mean, self.scale, slopes, self.bias, units, self.dual)


@dataclass(eq=False, repr=False)
class _KernelMachine(SparseInputMixin):
    """Base class of kernel machines: scaling, grid of gamma and sigma2, predictions."""

    gamma: float | str | Sequence[float] = "tune"
    sigma2: float | str | Sequence[float] = "tune"
    _: KW_ONLY
    standardize: bool = True

    def _counted(
        self, sample_weight: Any, n_samples: int
    ) -> tuple[Floats | None, NDArray[np.intp]]:
        """Checked weights of the samples that count, and which these are; None: all, alike."""
        weights = weights_of(sample_weight, n_samples)
        if weights is None:
            return None, np.arange(n_samples)
        counted = np.flatnonzero(weights)
        return weights[counted], counted

    def _scaled(self, X: Floats, weights: Floats | None) -> Floats:
        """Standardise and remember how."""
        self._mean, self._scale, self._varies = moments(X, weights)
        if not flag("standardize", self.standardize):
            self._mean, self._scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        return (X - self._mean) / self._scale

    def _tune(
        self, Z: Floats, Y: Floats, blocks: Blocks, weights: Floats | None
    ) -> tuple[float, float, list[dict[str, float]]]:
        """Return the best (gamma, sigma2) and all errors; the smoother model wins ties."""
        sigma2s = grid(self.sigma2, "sigma2", default_widths(Z, weights))
        gammas = sorted(grid(self.gamma, "gamma", GAMMAS))
        D = squared_distances(Z, Z)
        tried = []
        best = (np.inf, 0.0, 0.0)
        for sigma2 in sorted(sigma2s, reverse=True):
            K = np.exp(D / -sigma2)
            for gamma, e in zip(gammas, self._cv(K, Y, gammas, blocks, weights), strict=True):
                error = float(np.average((e * e).sum(axis=1), weights=weights))
                tried.append({"gamma": gamma, "sigma2": sigma2, "mean_test_error": error})
                if error < best[0]:
                    best = (error, gamma, sigma2)
        if not np.isfinite(best[0]):
            raise InputError("no gamma and sigma2 gives a finite error; try others.")
        self.cv_error_ = best[0]
        return best[1], best[2], tried

    def _cv(
        self, K: Floats, Y: Floats, gammas: Sequence[float], blocks: Blocks, weights: Floats | None
    ) -> list[Floats]:
        return residuals(K, Y, gammas, blocks, weights)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._model.predict(check_features(self, X, reset=False))


class _SeveralTargets(PathRegressorMixin):
    """A kernel machine for one target or several, which come out in the shape that they had."""

    _model: KernelModel
    _several = True

    def _show(self, residuals: Floats) -> None:
        """The fitted attributes that have the shape of y."""
        bias, self.dual_coef_ = self._model.bias, self._shaped(self._model.dual)
        self.intercept_ = float(bias[0]) if self._one_target else bias
        self.cv_residuals_ = self._shaped(residuals)
