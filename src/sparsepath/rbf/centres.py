"""Candidate centres: all samples, representative samples, or a given array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.base.parameters import count, is_list, numbers, one_of
from sparsepath.base.reconstruction import reconstruct
from sparsepath.data.columns import moments
from sparsepath.errors import InputError
from sparsepath.rbf.network import gaussians
from sparsepath.system.arrays import Floats

PLACINGS = ("kmeans", "reconstruction")
# Samples up to which all of them are centres, and centres beyond. With given budgets, 150 of them
# had .92 to .97 of the test error of all (300 and 400 samples, three problems). With budgets chosen
# by cross-validation, 100 of them err as 150 do (15 problems, ratio .996, standard error .007), in
# half of the time.
AUTO = 100


def place_centres(
    X: Floats, centres: Any, placing: str, seed: int, weights: Floats | None = None
) -> tuple[Floats, NDArray[np.intp] | None]:
    """Return the centres in the units of X, and their sample indices if they are samples.

    ``centres`` is "auto", "all", a number or an array. "auto" draws from the samples where these
    are many; a number of centres is placed by k-means of the standardised samples, or taken from
    the samples by least mean reconstruction error, for Gaussians with the mean squared distance of
    two samples for their width. Equal samples are one place.
    """
    one_of("placing", placing, PLACINGS)
    if isinstance(centres, str) and centres == "auto":
        places, at = _distinct(X)
        some = np.sort(np.random.default_rng(seed).permutation(len(places))[:AUTO])
        return places[some], at[some]
    if isinstance(centres, str):
        if centres != "all":
            raise InputError(
                f"centres={centres!r}; use 'auto', 'all', a number, or an array of centres."
            )
        return _distinct(X)
    if not is_list(centres):
        number = count("centres", centres)
        distinct = _distinct(X)
        if number >= len(distinct[0]):
            return distinct
        mean, scale, _ = moments(X, weights)
        Z = (X - mean) / scale
        if placing == "kmeans":
            from sklearn.cluster import KMeans

            placed = KMeans(number, n_init=1, random_state=seed).fit(Z, sample_weight=weights)
            means = placed.cluster_centers_
            return means.astype(np.float64) * scale + mean, None
        K = gaussians(Z, Z, np.full(Z.shape[1], 0.5 / Z.shape[1]))
        chosen = reconstruct(K, number, weights=weights).chosen
        return X[chosen], chosen
    given = numbers("centres", centres)
    if given.ndim != 2 or given.shape[1] != X.shape[1] or not len(given):
        raise InputError(
            f"centres has shape {given.shape}; it must be centres x {X.shape[1]} inputs."
        )
    if not np.isfinite(given).all():
        raise InputError("centres holds NaN or infinity.")
    return given, None


def _distinct(X: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distinct samples, in order."""
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return X[first], first
