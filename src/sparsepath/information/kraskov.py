r"""Mutual information by nearest neighbours (Kraskov et al. 2004), also with repeated values.

For each of n samples let :math:`\epsilon` be the distance, by the largest coordinate, to its k-th
neighbour in the joint space of x and y. The first variant counts the samples nearer than that,
including the sample itself: m in the joint space, :math:`n_x` and :math:`n_y` in x alone and in y
alone,

.. math::

   I_1 = \psi(n) + \langle \psi(m) - \psi(n_x) - \psi(n_y) \rangle

Without ties m = k, and this is equation 8 of Kraskov et al. If several neighbours are at the
distance :math:`\epsilon`, fewer than k samples may be nearer; with k in place of m, different balls
would be used for the joint space and for x and y. If :math:`\epsilon = 0`, no sample is nearer, and
the samples at distance zero are counted instead, in all three spaces, as Gao, Kannan, Oh and
Viswanath do (2017, "Estimating mutual information for discrete-continuous mixtures"), with log in
place of digamma: the contribution of a value that is repeated so often is :math:`\log(n\, m / n_x
n_y)`. If every pair of values that occurs does so more than k times, this is the plug-in estimate
from frequencies. Frequencies are also used if both variables have few values, see
:mod:`sparsepath.information.tables`.

The second variant counts within the sides of the smallest rectangle around the k neighbours,
without the sample itself:

.. math::

   I_2 = \psi(n) + \psi(k) - 1/k - \langle \psi(n_x) + \psi(n_y) \rangle

Its derivation assumes one sample at each side. Otherwise (a rectangle without extent in x or in y,
several samples at one of its sides, several k-th neighbours), the first variant is used for the
sample.

Classes are infinitely far apart. A sample of a class with fewer than k others uses these as
neighbours (as Ross 2014, "Mutual information between discrete and continuous data sets"); a class
with one sample contributes zero.

The result does not depend on the order of the samples. It depends on the data only through the
order of the distances from each sample, where distances that agree to nine digits are equal:
decimal differences such as 0.3 - 0.2 and 0.2 - 0.1 are not exactly equal in binary. The estimate is
a mean over the samples, which gives it a standard error. It can be below zero if the true value is
near zero, and it is biased downwards in many dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from sparsepath._core import neighbors as core
from sparsepath.base.parameters import count
from sparsepath.data.columns import standardise
from sparsepath.data.validation import check_labels, check_target, refuse_extremes
from sparsepath.errors import InputError
from sparsepath.information.tables import Codes, most_neighbors, shares
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads

MATRIX_UP_TO = 5000  # samples: 200 MB of distances
VARIANTS = (1, 2)


@dataclass(frozen=True)
class Estimate:
    """Mutual information in nats and its standard error."""

    value: float
    standard_error: float

    @classmethod
    def of(cls, terms: Floats) -> "Estimate":
        """From the terms of all samples."""
        return cls.each(terms[None])[0]

    @classmethod
    def each(cls, terms: Floats) -> "list[Estimate]":
        """From the terms of all samples, one estimate for each row."""
        n = terms.shape[1]
        shares = terms + float(digamma(n))
        errors = shares.std(axis=1, ddof=1) / np.sqrt(n)
        return [
            cls(*pair) for pair in zip(shares.mean(axis=1).tolist(), errors.tolist(), strict=True)
        ]


class Estimator:
    """Mutual information of subsets of the features with the target, on given data.

    Features XT, d x n, and targets YT, q x n, are rows; for classification those of
    ``target_rows``. Up to a few thousand samples the distances of the last subset are kept, so that
    one more feature costs the same whatever the size; beyond, or with ``use_tree``, trees are
    asked. Results do not depend on the number of threads, which share the rows.
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
        order = np.argsort(YT[0], kind="stable")  # then near targets are in a window
        self.XT, self.YT = (np.ascontiguousarray(rows[:, order]) for rows in (XT, YT))
        self.k, self.variant, self.threads = k, variant, threads
        self.n = XT.shape[1]
        self.tree = self.n > MATRIX_UP_TO if use_tree is None else use_tree
        self.psi = np.concatenate([[np.nan], digamma(np.arange(1, self.n + 2))])
        self.known: dict[frozenset[int], Estimate] = {frozenset(): Estimate(0.0, 0.0)}
        self._target, self._nothing = Codes.rows(self.YT), Codes.rows(self.XT[:0])
        self._columns: dict[int, Codes] = {}
        self._kept: tuple[int, ...] = ()
        self._distances: Floats | None = None
        self._loops = core.Neighbors(self.YT, self.psi, k, variant)

    def of(self, subset: Sequence[int]) -> Estimate:
        """Mutual information of a subset."""
        key = frozenset(subset)
        self._by_tables([key])
        if key not in self.known:
            self.known[key] = Estimate.of(self._terms(sorted(key)))
        return self.known[key]

    def additions(self, subset: Sequence[int], features: Sequence[int]) -> list[Estimate]:
        """Mutual information of the subset with each of the features added."""
        keys = [frozenset((*subset, i)) for i in features]
        self._by_tables(keys)
        new = [i for i, key in zip(features, keys, strict=True) if key not in self.known]
        if new and self.tree:
            for i in new:
                self.of((*subset, i))
        elif new:
            D = self._matrix(tuple(sorted(subset)))
            out = np.empty((len(new), self.n))
            self._loops.additions(D, self.XT, np.array(new), out, self.threads.n_threads)
            for i, estimate in zip(new, Estimate.each(out), strict=True):
                self.known[frozenset((*subset, i))] = estimate
        return [self.known[key] for key in keys]

    def removals(self, subset: Sequence[int]) -> list[Estimate]:
        """Mutual information of the subset without each of its features, in their order."""
        keys = [frozenset(subset) - {i} for i in subset]
        if self.tree or len(subset) < 2:
            return [self.of(tuple(key)) for key in keys]
        self._by_tables(keys)
        if any(key not in self.known for key in keys):
            out = np.empty((len(subset), self.n))
            self._loops.removals(self.XT[list(subset)], out, self.threads.n_threads)
            for key, estimate in zip(keys, Estimate.each(out), strict=True):
                self.known.setdefault(key, estimate)
        return [self.known[key] for key in keys]

    def _by_tables(self, keys: Sequence[frozenset[int]]) -> None:
        """Mutual information of those subsets that are discrete, as the target is."""
        if self.is_discrete(self._nothing):
            for key in keys:
                found = None if key in self.known else self._coded(key)
                if found is not None:
                    terms = shares(found, self._target) - self.psi[self.n]
                    self.known[key] = Estimate.of(terms)

    def _coded(self, subset: frozenset[int]) -> Codes | None:
        """The values of a subset; None if it is not discrete."""
        found = self._nothing
        for i in sorted(subset):
            if i not in self._columns:
                self._columns[i] = Codes.rows(self.XT[[i]])
            if not self.is_discrete(self._columns[i]):
                return None
            found = found.and_(self._columns[i])
            if not self.is_discrete(found):
                return None
        return found

    def is_discrete(self, codes: Codes) -> bool:
        """Whether these values and those of the target are few enough for frequencies."""
        return most_neighbors(codes, self._target) >= self.k

    def _matrix(self, subset: tuple[int, ...]) -> Floats:
        """Distances over the subset, made from the last ones where they are part of it."""
        if not subset:
            return np.empty((0, 0))
        if self._distances is None:
            self._distances = np.empty((self.n, self.n))
        D = self._distances
        start = self._kept if set(self._kept) <= set(subset) else ()
        more = [i for i in subset if i not in start]
        for i in more:
            core.widen(D, self.XT[i], not start and i == more[0], self.threads.n_threads)
        self._kept = subset
        return D

    def _terms(self, subset: list[int]) -> Floats:
        if self.tree:
            return tree_terms(self.XT[subset].T, self.YT.T, self.k, self.variant, self.psi)
        out = np.empty(self.n)
        self._loops.subset(self.XT[subset], out, self.threads.n_threads)
        return out


def tree_terms(X: Floats, Y: Floats, k: int, variant: int, psi: Floats) -> Floats:
    """Return the contributions of the samples by trees: the same numbers, cheaper for many samples
    in few dimensions.

    A sample is its own neighbour at distance zero here, so that k + 1 are requested.
    """
    X, Y = np.ascontiguousarray(X), np.ascontiguousarray(Y)
    Z = np.hstack([X, Y])
    joint, marginals = cKDTree(Z), [(cKDTree(X), X), (cKDTree(Y), Y)]
    # One more than needed: it shows whether the k-th is alone at its distance.
    far, who = joint.query(Z, min(k + 2, len(Z)), p=np.inf)
    reached = np.minimum(k, (far < core.FAR).sum(1) - 1)
    eps = np.take_along_axis(far, reached[:, None], 1)[:, 0]

    def inside(tree: cKDTree, points: Floats, radius: Floats) -> NDArray[np.intp]:
        found = tree.query_ball_point(points, radius, p=np.inf, return_length=True)
        return np.asarray(found, dtype=np.intp)

    def nearer(tree: cKDTree, points: Floats, radius: Floats) -> NDArray[np.intp]:
        return inside(tree, points, np.nextafter(radius * core.BELOW, 0))

    m = (far < (eps * core.BELOW)[:, None]).sum(1)
    zero = eps == 0
    m[zero] = inside(joint, Z[zero], eps[zero])
    nx, ny = (nearer(*marginal, eps) for marginal in marginals)
    first: Floats = psi[m] - psi[nx] - psi[ny]
    n = len(Z)
    first[zero] = np.log(m[zero]) + np.log(n) - np.log(nx[zero]) - np.log(ny[zero]) - psi[n]
    first[reached == 0] = -psi[n]
    if variant == 1:
        return first
    within = far <= (eps * core.ABOVE)[:, None]
    second = psi[reached] - 1 / np.maximum(reached, 1)
    alone = within.sum(1) == reached + 1
    for tree, points in marginals:
        steps = np.abs(points[who] - points[:, None]).max(2)
        side = np.where(within, steps, 0.0).max(1)
        upto = inside(tree, points, side * core.ABOVE)
        alone &= (side > 0) & (upto - nearer(tree, points, side) == 1)
        second -= psi[upto - 1]
    return np.where(alone, second, first)


def target_rows(y: Any, n_samples: int, discrete: Any, standardize: bool = True) -> Floats:
    """Return targets as rows; classes become numbers that are too far apart to be neighbours."""
    if not isinstance(discrete, bool | np.bool_):
        raise InputError(f"discrete_target={discrete!r}; use True (classes) or False (numbers).")
    if discrete:
        codes = np.unique(check_labels(y, n_samples), return_inverse=True)[1]
        return core.FAR * codes.astype(np.float64)[None]
    if any(isinstance(value, str) for value in np.ravel(np.asarray(y))):
        raise InputError("y has text; for classes, use discrete_target=True.")
    Y, _ = check_target(y, n_samples)
    refuse_extremes(Y)
    return standardise(Y)[0] if standardize else np.ascontiguousarray(Y.T)


def check_neighbors(value: Any, n_samples: int) -> int:
    """The number of neighbours: from 1 to one less than the number of samples."""
    k = count("n_neighbors", value)
    if k >= n_samples:
        raise InputError(
            f"n_neighbors={k} needs at least {k + 1} samples, and there are {n_samples}; "
            + (f"give {n_samples - 1} or less." if n_samples > 1 else "give more samples.")
        )
    return k


def mutual_information(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_neighbors: int = 6,
    variant: int = 1,
    standardize: bool = True,
    discrete_target: bool = False,
    n_threads: int | None = None,
) -> float:
    """Return the mutual information between a set of features, used jointly, and a target, in nats.

    Parameters
    ----------
    X : array of shape (n_samples,) or (n_samples, n_features)
        The features, taken together.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        The target; several are taken together.
    n_neighbors : int, default=6
        Few neighbours: low bias, high variance. Many: the reverse.
    variant : {1, 2}, default=1
        Of Kraskov et al. (2004).
    standardize : bool, default=True
        Scale all columns to unit variance first, because distances depend on the units.
    discrete_target : bool, default=False
        Whether y contains class labels of any kind rather than numbers: two classes are equal or
        different, never near.
    n_threads : int, optional
        Number of threads; None: one per core. Affects speed only.

    Returns
    -------
    float
        The estimate; it can be a little below zero.

    Examples -------- Two features with little information individually and nearly all of it
    jointly:

    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (1000, 2))
    >>> y = X[:, 0] * X[:, 1]
    >>> [round(mutual_information(X[:, S], y), 1) for S in ([0], [1], [0, 1])]
    [0.5, 0.5, 2.3]
    """
    from sklearn.utils.validation import check_array

    A: Floats = check_array(X, ensure_2d=False, dtype=np.float64, input_name="X")
    A = A[:, None] if A.ndim == 1 else A
    YT = target_rows(y, len(A), discrete_target, standardize)
    if variant not in VARIANTS:
        raise InputError(f"variant={variant!r}; use 1 or 2.")
    k = check_neighbors(n_neighbors, len(A))
    XT = standardise(A)[0] if standardize else np.ascontiguousarray(A.T)
    with Threads(n_threads) as threads:
        return Estimator(XT, YT, k, variant, threads).of(range(len(XT))).value
