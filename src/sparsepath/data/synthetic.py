"""Problems whose relevant features are known, after the five papers.

Each function draws one sample: draw training and test rows together and split them, or draw
twice with different seeds (only :func:`sparse_linear` also draws the problem itself). Features that
matter come first, except in :func:`sparse_linear`, which scatters them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.errors import InputError

Array = NDArray[Any]
Seed = int | np.random.Generator | None

THRESHOLD_MAX = {"A": (10, 0, 90), "B": (10, 90, 0), "C": (10, 490, 500)}
"""Relevant, copied and irrelevant features of the data sets A, B, C of Perkins et al. (2003)."""


@dataclass(frozen=True, eq=False)
class Synthetic:
    """A drawn problem and its answer."""

    X: Array  # (n_samples, n_features): the features
    y: Array  # (n_samples,) or (n_samples, n_targets): numbers, or classes -1 and +1
    signal: Array  # the target without its noise; for classes the same as y
    relevant: Array  # the columns on which the target depends, ascending
    original: Array  # the column that a column copies; its own number if it is no copy


def two_normals(
    n_samples: int,
    n_features: int,
    n_relevant: int | None = None,
    *,
    mean: float = 1.0,
    sd: float = 1.0,
    random_state: Seed = None,
) -> Synthetic:
    r"""Two classes, each from a normal distribution.

    Half of the samples are of class -1, half of class +1. A relevant feature is normal with mean
    ``y * mean`` and standard deviation ``sd``. An irrelevant one has the same values, shuffled over
    the samples, so no feature can be recognised by its marginal distribution. The best possible
    error rate is :math:`\Phi(-\sqrt{n_{relevant}}\, mean / sd)`.

    Pahikkala, Airola and Salakoski, section 4.1, time their method on 1000 such features;
    50 are selected (without further details); Perkins et al. (2003), section 2.2.2, use 2 relevant
    features, means -1 and +1, ``sd`` 0.5 and 1, 10 samples per class, and the shuffling.

    Parameters
    ----------
    n_samples, n_features : int
        The size.
    n_relevant : int or None
        Features that differ between the classes; None: 50, or all if there are fewer.
    mean, sd : float
        Mean and standard deviation of relevant features in the class +1.
    random_state : int, Generator or None
        The seed.

    Examples
    --------
    >>> problem = two_normals(100, 20, 3, random_state=0)
    >>> problem.X.shape, problem.relevant.tolist(), problem.y.sum().item()
    ((100, 20), [0, 1, 2], 0)
    """
    n_relevant = min(50, n_features) if n_relevant is None else n_relevant
    _check_sizes(n_samples, n_features, n_relevant)
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.where(np.arange(n_samples) < n_samples // 2, -1, 1))
    columns = rng.standard_normal((n_features, n_samples))
    columns *= sd
    columns += mean * y
    columns[n_relevant:] = rng.permuted(columns[n_relevant:], axis=1)
    return _known(columns, y, y, range(n_relevant))


def sparse_linear(
    n_samples: int,
    n_features: int,
    n_relevant: int,
    *,
    noise: float = 1.0,
    correlation: float = 0.0,
    n_targets: int = 1,
    random_state: Seed = None,
) -> Synthetic:
    r"""A linear target of a few features among many.

    .. math:: y = X_S W + noise \cdot \varepsilon, \quad \mathrm{corr}(x_i, x_j) = \rho^{|i - j|}

    The features and :math:`\varepsilon` are standard normal; S is drawn at random and shared by
    all targets; the weights W are uniform in [1, 2] with random signs.

    Parameters
    ----------
    n_samples, n_features, n_relevant : int
        The size, and the size of S.
    noise : float
        Standard deviation of the noise.
    correlation : float
        Correlation of neighbouring features, between -1 and 1.
    n_targets : int
        1 gives ``y`` of shape (n_samples,), more give (n_samples, n_targets).
    random_state : int, Generator or None
        The seed.

    Examples
    --------
    >>> problem = sparse_linear(50, 10, 2, noise=0, random_state=0)
    >>> S = problem.relevant
    >>> residual = np.linalg.lstsq(problem.X[:, S], problem.y)[1]
    >>> bool(residual < 1e-20)
    True
    """
    _check_sizes(n_samples, n_features, n_relevant)
    _check_noise(noise)
    if not -1 < correlation < 1:
        raise InputError(f"correlation must lie between -1 and 1, got {correlation}.")
    if n_targets < 1:
        raise InputError(f"n_targets must be at least 1, got {n_targets}.")
    rng = np.random.default_rng(random_state)
    columns = rng.standard_normal((n_features, n_samples))
    if correlation:
        columns[1:] *= np.sqrt(1 - correlation**2)
        for j in range(1, n_features):
            columns[j] += correlation * columns[j - 1]
    relevant = np.sort(rng.choice(n_features, n_relevant, replace=False))
    weights = rng.uniform(1, 2, (n_relevant, n_targets)) * rng.choice(
        [-1, 1], (n_relevant, n_targets)
    )
    signal = columns[relevant].T @ weights
    y = signal + noise * rng.standard_normal(signal.shape)
    if n_targets == 1:
        signal, y = signal[:, 0], y[:, 0]
    return _known(columns, signal, y, relevant)


def xor_like(
    n_samples: int = 1000, n_features: int = 6, *, noise: float = 0.1, random_state: Seed = None
) -> Synthetic:
    r"""Two features that are more useful jointly than a third one, but less so individually.

    .. math:: y = x_1 + (x_2 > 0.5)(x_3 > 0.5) + \varepsilon

    with features uniform in [0, 1]. The best subsets are {1}, {2, 3}, {1, 2, 3}: the first is not
    part of the second. Frénay et al. (2012), equations 2 and 15; their noise is "N(0, 0.1)", read
    here as a standard deviation.

    >>> xor_like(10, random_state=0).X.shape
    (10, 6)
    """

    def formula(x: Array) -> Array:
        return x[0] + (x[1] > 0.5) * (x[2] > 0.5)

    return _regression(formula, 3, (0, 1), n_samples, n_features, noise, random_state)


def functional(
    n_samples: int = 1000, n_features: int = 10, *, noise: float = 0.1, random_state: Seed = None
) -> Synthetic:
    r"""A smooth nonlinear target of five features.

    .. math:: y = 10 \sin(x_1) x_2 + 20 (x_3 - 0.5)^2 + 10 x_4 + 5 x_5 + \varepsilon

    with features uniform in [0, 1]. Frénay et al. (2012), equation 16; their noise is "N(0, 0.1)",
    read here as a standard deviation. Compare :func:`friedman`.

    >>> functional(10, random_state=0).relevant.tolist()
    [0, 1, 2, 3, 4]
    """

    def formula(x: Array) -> Array:
        return 10 * np.sin(x[0]) * x[1] + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]

    return _regression(formula, 5, (0, 1), n_samples, n_features, noise, random_state)


def bump(
    n_samples: int = 100, n_features: int = 5, *, noise: float = 0.15, random_state: Seed = None
) -> Synthetic:
    r"""A bumpy curve of one feature.

    .. math:: y = (1 - x_1 + 2 x_1^2) \exp(-x_1^4) + \varepsilon

    with features uniform in [-2, 2] and noise of standard deviation 0.15. Tikka (2008),
    equation 15.

    >>> bump(10, random_state=0).relevant.tolist()
    [0]
    """

    def formula(x: Array) -> Array:
        return (1 - x[0] + 2 * x[0] ** 2) * np.exp(-(x[0] ** 4))

    return _regression(formula, 1, (-2, 2), n_samples, n_features, noise, random_state)


def friedman(
    n_samples: int = 250, n_features: int = 10, *, noise: float = 1.0, random_state: Seed = None
) -> Synthetic:
    r"""Friedman's first function: an interaction, a parabola and two lines.

    .. math:: y = 10 \sin(\pi x_1 x_2) + 20 (x_3 - 0.5)^2 + 10 x_4 + 5 x_5 + \varepsilon

    with features uniform in [0, 1] and standard normal noise. Tikka (2008), equation 16.

    >>> friedman(10, random_state=0).relevant.tolist()
    [0, 1, 2, 3, 4]
    """

    def formula(x: Array) -> Array:
        return 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]

    return _regression(formula, 5, (0, 1), n_samples, n_features, noise, random_state)


def threshold_max(
    n_samples: int = 1000,
    n_relevant: int = 10,
    n_copies: int = 0,
    n_irrelevant: int = 90,
    *,
    random_state: Seed = None,
) -> Synthetic:
    r"""Two classes: whether the largest of several features exceeds a threshold.

    .. math:: y = +1 \text{ if } \max(x_1, \dots, x_{n_r}) > 2^{1 - 1/n_r} - 1, \text{ else } -1

    with features uniform in [-1, 1]; the threshold makes both classes equally likely. The relevant
    features come first, then their copies in turn (1, 2, ..., n_r, 1, 2, ...), then the irrelevant
    ones; copies do not count as relevant, see ``original``. Perkins et al. (2003), section 4.1,
    whose data sets A, B, C are ``threshold_max(m, *THRESHOLD_MAX["A"])`` and so on, with m = 1000
    (C: 100 to train, 1000 to test).

    >>> problem = threshold_max(100, *THRESHOLD_MAX["B"], random_state=0)
    >>> problem.X.shape, problem.original[[3, 10, 23]].tolist()
    ((100, 100), [3, 0, 3])
    """
    if min(n_relevant - 1, n_copies, n_irrelevant) < 0:
        raise InputError(
            f"threshold_max needs a relevant feature and no negative numbers, got "
            f"n_relevant={n_relevant}, n_copies={n_copies}, n_irrelevant={n_irrelevant}."
        )
    _check_sizes(n_samples, n_relevant, n_relevant)
    rng = np.random.default_rng(random_state)
    drawn = rng.uniform(-1, 1, (n_relevant + n_irrelevant, n_samples))
    copied = np.arange(n_copies) % n_relevant
    columns = np.concatenate([drawn[:n_relevant], drawn[copied], drawn[n_relevant:]])
    y = np.where(drawn[:n_relevant].max(axis=0) > 2 ** (1 - 1 / n_relevant) - 1, 1, -1)
    original = np.arange(len(columns))
    original[n_relevant : n_relevant + n_copies] = copied
    return _known(columns, y, y, range(n_relevant), original)


def _regression(
    formula: Callable[[Array], Array],
    n_relevant: int,
    bounds: tuple[float, float],
    n_samples: int,
    n_features: int,
    noise: float,
    random_state: Seed,
) -> Synthetic:
    """Uniform features; a formula of the first few of them, plus normal noise."""
    _check_sizes(n_samples, n_features, n_relevant)
    _check_noise(noise)
    rng = np.random.default_rng(random_state)
    columns = rng.uniform(*bounds, (n_features, n_samples))
    signal = formula(columns)
    y = signal + noise * rng.standard_normal(n_samples)
    return _known(columns, signal, y, range(n_relevant))


def _known(
    columns: Array, signal: Array, y: Array, relevant: Array | range, original: Array | None = None
) -> Synthetic:
    """The record, of features given as rows so that X comes out column-major."""
    original = np.arange(len(columns)) if original is None else original
    return Synthetic(columns.T, y, signal, np.array(relevant, dtype=np.intp), original)


def _check_sizes(n_samples: int, n_features: int, n_relevant: int) -> None:
    if n_samples < 1:
        raise InputError(f"n_samples must be at least 1, got {n_samples}.")
    if not 0 <= n_relevant <= n_features:
        raise InputError(
            f"the number of relevant features, {n_relevant}, must lie between 0 and "
            f"n_features={n_features}."
        )


def _check_noise(noise: float) -> None:
    if noise < 0:
        raise InputError(f"noise is a standard deviation and cannot be negative, got {noise}.")
