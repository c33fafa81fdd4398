r"""Mutual information of continuous variables by nearest neighbours (Kraskov et al. 2004).

For each of n samples let :math:`\epsilon_i` be the distance, by the largest coordinate, to its k-th
neighbour in the joint space of x and y. The first variant counts the samples strictly nearer than
that in x alone and in y alone, the second those within the sides of the smallest rectangle around
the k neighbours:

.. math::

   I_1 = \psi(k) + \psi(n) - \langle \psi(n_x + 1) + \psi(n_y + 1) \rangle \qquad
   I_2 = \psi(k) - 1/k + \psi(n) - \langle \psi(n_x) + \psi(n_y) \rangle

The estimate is a mean over the samples, which gives it a standard error. It can fall below zero,
where the truth is near zero, and it is biased downwards in many dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from sparsepath.data.blocks import Floats
from sparsepath.data.door import check_target
from sparsepath.data.threads import Threads
from sparsepath.errors import InputError

MATRIX_UP_TO = 5000  # samples: 200 MB of distances
CHUNK = 128  # rows that a thread takes at a time
VARIANTS = (1, 2)


@dataclass(frozen=True)
class Estimate:
    """Mutual information in nats and its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, terms: Floats) -> "Estimate":
        n = len(terms)
        shares = terms + float(digamma(n))
        return cls(float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(n)))


class Estimator:
    """Mutual information of subsets of the features with the target, on given data.

    Up to a few thousand samples the distances of the last subset are kept, so that one more feature
    costs the same whatever the size; beyond, trees are asked.

    Parameters
    ----------
    XT, YT : arrays, d x n and q x n
        Features and targets as rows.
    k, variant : int
    threads : Threads
        They share the rows; results do not depend on their number.
    use_tree : bool, optional
        None: beyond 5000 samples.
    """

    def __init__(
        self,
        XT: Floats,
        YT: Floats,
        k: int,
        variant: int,
        threads: Threads,
        use_tree: bool | None = None,
    ) -> None:
        self.XT, self.YT, self.k, self.variant, self.threads = XT, YT, k, variant, threads
        self.n = XT.shape[1]
        self.tree = self.n > MATRIX_UP_TO if use_tree is None else use_tree
        self.psi = np.concatenate([[np.nan], digamma(np.arange(1, self.n + 2))])
        self.known: dict[frozenset[int], Estimate] = {frozenset(): Estimate(0.0, 0.0)}
        self._kept: tuple[int, ...] = ()
        self._distances: Floats | None = None
        lows = range(0, self.n, CHUNK)
        self._parts = [(low, min(low + CHUNK, self.n)) for low in lows]

    def of(self, subset: Sequence[int]) -> Estimate:
        """Mutual information of a subset."""
        key = frozenset(subset)
        if key not in self.known:
            self.known[key] = Estimate.of(self._terms(sorted(key)))
        return self.known[key]

    def additions(self, subset: Sequence[int], features: Sequence[int]) -> list[Estimate]:
        """Mutual information of the subset with each of the features added."""
        keys = [frozenset((*subset, i)) for i in features]
        new = [i for i, key in zip(features, keys, strict=True) if key not in self.known]
        if new and self.tree:
            for i in new:
                self.of((*subset, i))
        elif new:
            from sparsepath.information import compiled

            D = self._matrix(tuple(sorted(subset)))
            out, asked = np.empty((len(new), self.n)), np.array(new)
            self.threads.map(
                lambda part: compiled.addition_terms(
                    D, self.XT, asked, self.YT, *part, self.k, self.psi, self.variant, out
                ),
                self._parts,
            )
            for i, terms in zip(new, out, strict=True):
                self.known[frozenset((*subset, i))] = Estimate.of(terms)
        return [self.known[key] for key in keys]

    def removals(self, subset: Sequence[int]) -> list[Estimate]:
        """Mutual information of the subset without each of its features, in their order."""
        keys = [frozenset(subset) - {i} for i in subset]
        if self.tree or len(subset) < 2:
            return [self.of(tuple(key)) for key in keys]
        if any(key not in self.known for key in keys):
            from sparsepath.information import compiled

            out, rows = np.empty((len(subset), self.n)), self.XT[list(subset)]
            self.threads.map(
                lambda part: compiled.removal_terms(
                    rows, self.YT, *part, self.k, self.psi, self.variant, out
                ),
                self._parts,
            )
            for key, terms in zip(keys, out, strict=True):
                self.known.setdefault(key, Estimate.of(terms))
        return [self.known[key] for key in keys]

    def _matrix(self, subset: tuple[int, ...]) -> Floats:
        """Distances over the subset, made from the last ones where they are part of it."""
        from sparsepath.information import compiled

        if not subset:
            return np.empty((0, 0))
        if self._distances is None:
            self._distances = np.empty((self.n, self.n))
        D = self._distances
        start = self._kept if set(self._kept) <= set(subset) else ()
        more = [i for i in subset if i not in start]

        def widen(part: tuple[int, int]) -> None:
            for i in more:
                compiled.widen(D, self.XT[i], *part, not start and i == more[0])

        self.threads.map(widen, self._parts)
        self._kept = subset
        return D

    def _terms(self, subset: list[int]) -> Floats:
        if self.tree:
            return tree_terms(self.XT[subset].T, self.YT.T, self.k, self.variant, self.psi)
        from sparsepath.information import compiled

        out, rows = np.empty(self.n), self.XT[subset]
        self.threads.map(
            lambda part: compiled.subset_terms(
                rows, self.YT, *part, self.k, self.psi, self.variant, out
            ),
            self._parts,
        )
        return out


def tree_terms(X: Floats, Y: Floats, k: int, variant: int, psi: Floats) -> Floats:
    """The samples' shares by trees: the same numbers, cheaper for many samples in few dimensions.

    Counts strictly below a distance ask the tree for the next smaller float; the tree compares
    distances, not coordinates, so that the k-th neighbour itself is never counted by rounding. With
    ties the second variant may take another of several equally near neighbours.
    """
    X, Y = np.ascontiguousarray(X), np.ascontiguousarray(Y)
    Z = np.hstack([X, Y])
    far, who = cKDTree(Z).query(Z, k + 1, p=np.inf)
    trees = cKDTree(X), cKDTree(Y)
    counts: list[NDArray[np.intp]] = []
    for tree, points in zip(trees, (X, Y), strict=True):
        if variant == 1:
            eps = far[:, k]
            radius = np.nextafter(eps, 0)
            inside = tree.query_ball_point(points, radius, p=np.inf, return_length=True)
            # Less the sample itself; nothing is strictly nearer than nothing.
            counts.append(np.where(eps > 0, inside - 1, 0) + 1)
        else:
            radius = np.abs(points[who] - points[:, None]).max((1, 2))
            inside = tree.query_ball_point(points, radius, p=np.inf, return_length=True)
            counts.append(inside - 1)
    constant = psi[k] - (1.0 / k if variant == 2 else 0.0)
    return constant - psi[counts[0]] - psi[counts[1]]


def standard_rows(A: Floats) -> Floats:
    """Columns as rows, with unit variance; a constant one is left as it is."""
    rows = np.ascontiguousarray(A.T, dtype=np.float64)
    spread = rows.std(axis=1)
    spread[spread <= 1e-13 * np.abs(rows).max(axis=1)] = 1.0
    return (rows - rows.mean(axis=1)[:, None]) / spread[:, None]


def check_neighbors(value: Any, n_samples: int) -> int:
    """The number of neighbours: from 1 to one less than the number of samples."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"n_neighbors={value!r}; give a whole number from 1 up.")
    if value >= n_samples:
        raise InputError(f"n_neighbors={value} needs more than {n_samples} samples; ask for fewer.")
    return int(value)


def mutual_information(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_neighbors: int = 6,
    variant: int = 1,
    standardize: bool = True,
    n_threads: int | None = None,
) -> float:
    """Mutual information between a set of features, taken together, and a target, in nats.

    Parameters
    ----------
    X : array of shape (n_samples,) or (n_samples, n_features)
        The features, taken together.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The target; several are taken together.
    n_neighbors : int, default=6
        Few: little bias, much spread. Many: the reverse.
    variant : {1, 2}, default=1
        Of Kraskov et al. (2004).
    standardize : bool, default=True
        Bring all columns to unit variance first; distances depend on the units.
    n_threads : int, optional
        Threads; None: one per core. It changes the speed only.

    Returns
    -------
    float
        The estimate; it can be a little below zero.

    Examples
    --------
    Two features that say a little apart and nearly all together:

    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (1000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> [round(mutual_information(X[:, S], y), 1) for S in ([0], [1], [0, 1])]
    [0.5, 0.5, 2.3]
    """
    from sklearn.utils.validation import check_array

    A: Floats = check_array(X, ensure_2d=False, dtype=np.float64, input_name="X")
    A = A[:, None] if A.ndim == 1 else A
    Y, _ = check_target(y, len(A))
    if variant not in VARIANTS:
        raise InputError(f"variant={variant!r}; use 1 or 2.")
    k = check_neighbors(n_neighbors, len(A))
    if standardize:
        XT, YT = standard_rows(A), standard_rows(Y)
    else:
        XT, YT = np.ascontiguousarray(A.T), np.ascontiguousarray(Y.T)
    with Threads(n_threads) as threads:
        return Estimator(XT, YT, k, variant, threads).of(range(len(XT))).value
