"""Scaling of columns, and the rule for constant columns.

A column is constant if its variance is at most ``CONSTANT`` times its mean square: the variation is
then rounding error. Means are weighted, so samples of weight zero have no effect. Columns whose
squares overflow raise an error; columns whose squares underflow count as constant, with a warning.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.data.validation import FEW_DIGITS, named_columns, refuse_wide
from sparsepath.errors import warn_user
from sparsepath.system.arrays import Flags, Floats

Names = NDArray[Any] | None
CONSTANT = 1e-26
SAME_COLUMN = 1e-10  # of the largest number of standardised columns: what copies may differ by


def is_constant(variance: Floats, mean_square: Floats) -> Flags:
    """Return which columns are constant; both arguments may be sums over samples instead of means.

    >>> is_constant(np.array([0.0, 1e-30, 1e-20]), np.array([0.0, 1.0, 1.0])).tolist()
    [True, True, False]
    """
    return np.asarray(variance <= CONSTANT * mean_square)


def _constant(
    variance: Floats, mean_square: Floats, X: Floats, weights: Floats | None = None
) -> Flags:
    """Return which columns of X are constant, computed carefully for division by the scale."""
    refuse_wide(~np.isfinite(mean_square))
    constant = is_constant(variance, mean_square)
    tiny = ~constant & (variance < FEW_DIGITS)
    nothing = np.flatnonzero(mean_square == 0.0)
    if len(nothing):
        part = X[:, nothing] if weights is None else X[:, nothing][weights > 0]
        tiny[nothing] = np.ptp(part, axis=0) > 0.0
    warn_tiny(tiny)
    return np.asarray(constant | tiny)


def warn_tiny(tiny: Flags, names: Names = None) -> None:
    """Warn about columns that count as constant because their squares are zero."""
    if tiny.any():
        which = named_columns(np.flatnonzero(tiny), names)
        warn_user(
            f"column {which} has numbers whose squares exceed the range of floating point "
            "(1e-150 and less) and counts as constant; divide by their size."
        )


def moments(X: Floats, weights: Floats | None = None) -> tuple[Floats, Floats, Flags]:
    """Return means and standard deviations (1 for constant columns), and which columns vary."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        means = np.average(X, axis=0, weights=weights)
        variance = np.average((X - means) ** 2, axis=0, weights=weights)
        varies = ~_constant(variance, variance + means**2, X, weights)
    return means, np.where(varies, np.sqrt(variance), 1.0), varies


def are_copies(Z: Floats) -> Flags:
    """Return which standardised columns are copies of earlier ones, up to sign.

    Equal columns have equal products with any vector, so only neighbours in the order of such
    products are compared.

    >>> are_copies(np.array([[1.0, 1.0, -1.0], [-1.0, 0.5, 1.0], [0.0, 0.5, 0.0]])).tolist()
    [False, False, True]
    """
    out = np.zeros(Z.shape[1], dtype=bool)
    if not Z.size:
        return out
    off = SAME_COLUMN * float(np.abs(Z).max())
    mixture = np.random.default_rng(0).uniform(0.5, 1.0, len(Z))
    products = np.abs(mixture @ Z)
    order = np.argsort(products, kind="stable")
    apart = np.flatnonzero(np.diff(products[order]) > 2.0 * off * len(Z)) + 1
    for group in np.split(order, apart):
        kept: list[int] = []
        for j in np.sort(group).tolist() if len(group) > 1 else []:
            others, z = Z[:, kept], Z[:, [j]]
            differ = np.minimum(np.abs(others - z).max(axis=0), np.abs(others + z).max(axis=0))
            if (differ <= off).any():
                out[j] = True
            else:
                kept.append(j)
    return out


def standardise(X: Any) -> tuple[Floats, Floats, Floats]:
    """Return standardised features as rows, with centres and scales; a constant one is zero."""
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    XT = np.array(dense.T, dtype=np.float64, order="C")
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        centre = XT.mean(1)
        XT -= centre[:, None]
        variance = np.einsum("ki,ki->k", XT, XT) / XT.shape[1]
        constant, scale = _constant(variance, variance + centre**2, XT.T), np.sqrt(variance)
    scale[constant] = 1.0
    XT[constant] = 0.0
    XT /= scale[:, None]
    return XT, centre, scale
