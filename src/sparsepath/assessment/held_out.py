"""Losses of samples that were held out, by size, and what follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.metrics import Floats
from sparsepath.data.folds import Rows

SAME_ERRORS = 1e-12  # standard deviation over error that is rounding


@dataclass(frozen=True, eq=False)
class PartScores:
    """Scores of the samples of both classes in a held-out part, one column per size."""

    second: Rows  # samples of the second class
    first: Rows
    of_second: Floats  # (samples, K)
    of_first: Floats
    weight: float

    def wrong(self, place: int) -> Floats:
        """Return which pairs are in the wrong order at a size, ties one half: second x first."""
        gaps = self.of_second[:, [place]] - self.of_first[:, place]
        return np.asarray((1.0 - np.sign(gaps)) / 2)


@dataclass(frozen=True, eq=False)
class ClassFigures:
    """Data from which error rate and AUC of held-out samples are computed."""

    weights: Floats  # (n,): as given
    mistakes: Floats  # (n, K): how often a sample was given another class; NaN: never left out
    auc: Floats | None  # (K,): mean over parts, weighted by their samples; None if not two classes
    scores: tuple[PartScores, ...] = ()  # of parts with both classes; none of more than MOST_PAIRED
    balance: Floats = field(default_factory=lambda: np.zeros(0))  # (n,): every class weighs alike
    # By name, losses (n, K) of probabilities: log loss and Brier score, of the way that was chosen.
    probable: Mapping[str, Floats] = field(default_factory=dict)
    slopes: Floats = field(default_factory=lambda: np.zeros(0))  # (K,): see calibration.py
    offsets: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # (K, columns of scores)
    # (K,): the scores above which the second class is predicted; none: zero.
    thresholds: Floats = field(default_factory=lambda: np.zeros(0))
    # (K, C, C): samples by class and predicted class, each counted once however often left out.
    confusion: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))
    # (K, BINS, 3): of two classes, by tenths of the probability of the second, its mean, the share
    # of the second class and the number of samples.
    reliability: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def at(self, place: int) -> dict[str, float]:
        """Return the figures of one size."""
        return {name: float(values[place]) for name, values in self.every().items()}

    def every(self) -> dict[str, Floats]:
        """Return the figures of all sizes, (K,) each."""
        known = ~np.isnan(self.mistakes[:, 0])
        weighed = {
            "error_rate": (self.mistakes, self.weights),
            "balanced_error": (self.mistakes, self.balance),
            **{name: (losses, self.weights) for name, losses in self.probable.items()},
        }
        found = {
            name: weights[known] @ losses[known] / weights[known].sum()
            for name, (losses, weights) in weighed.items()
            if len(weights)
        }
        return found if self.auc is None else {**found, "auc": self.auc}


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """Losses of held-out samples, by size."""

    sizes: tuple[int, ...]  # ascending
    losses: Floats  # (n, K): NaN for samples that were never left out
    weights: Floats  # (n,): of the samples in a mean; they sum to one over those that were left out
    # (n,): samples that hang together: those of a group, or of a part that has one figure for all.
    clusters: NDArray[np.intp]
    label: str  # how parts were left out, as "10-fold"
    metric: str  # what is measured
    # (K,): by what the errors of parts vary more than the samples in them explain: the variance of
    # what models of other samples err. Zero where it is unknown.
    between: Floats = field(default_factory=lambda: np.zeros(0))
    # For classification also error rate and AUC of the same predictions.
    figures: ClassFigures | None = None
    # Whether every part was left out; else Ctrl-C came before, and the label says how many were.
    whole: bool = True
    # The size with which the method ends, or usually does, if it chooses it itself.
    own: int | None = None
    # By size, the correlation of the errors of rows next to each other, where folds were dealt at
    # random and it is more than chance; see serial_correlation.py.
    neighbours: dict[int, float] = field(default_factory=dict)
    # (R, K): the errors of each of R random assignments to folds, whose mean the losses are.
    by_repeat: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # How many samples there are, if each row of the losses is the mean of several.
    behind: float | None = None
    # By size, the columns that the search chose in each part.
    subsets: tuple[Mapping[int, tuple[int, ...]], ...] = ()
    # Which way of doing the procedure this is, if there are several, and the others.
    way: Any = None
    searcher: Any = None  # the estimator of its search
    others: "tuple[HeldOutLosses, ...]" = ()
    place: int = 0  # of this way among all of them, in the order of preference

    def __post_init__(self) -> None:
        if not len(self.between):
            object.__setattr__(self, "between", np.zeros(self.losses.shape[1]))

    @property
    def repeats(self) -> int:
        """Number of random assignments to folds over which the losses are averaged."""
        return max(1, len(self.by_repeat))

    @cached_property
    def repeats_sd(self) -> Floats:
        """Standard deviation of the error between assignments, by size; 0 if there is one."""
        if len(self.by_repeat) < 2:
            return np.zeros(len(self.sizes))
        spread = self.by_repeat.std(0, ddof=1)
        return np.where(spread > SAME_ERRORS * self.errors, spread, 0.0)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Mask of samples that were held out and count."""
        return ~np.isnan(self.losses[:, 0]) & (self.weights > 0)

    @property
    def n_samples(self) -> float:
        """Number of held-out samples."""
        return float(self.known.sum()) if self.behind is None else self.behind

    @cached_property
    def errors(self) -> Floats:
        """Mean loss of each size."""
        return self.weights[self.known] @ self.losses[self.known]

    @cached_property
    def errors_se(self) -> Floats:
        """Standard errors of the errors, from differences between clusters."""
        return self._spread(self.losses - self.errors)

    def gaps_se(self, size: int) -> Floats:
        """Return standard errors of the differences from the error of this size."""
        gaps = self.losses - self.losses[:, [self.sizes.index(size)]]
        return self._spread(gaps - self.weights[self.known] @ gaps[self.known])

    def _spread(self, off: Floats) -> Floats:
        totals = self.totals(off)
        n = len(totals)
        if n < 2:
            return np.full(off.shape[1], np.nan)
        return np.sqrt(np.square(totals).sum(0) * n / (n - 1))

    def with_losses(self, losses: Floats, weights: Floats) -> "HeldOutLosses":
        """Return other losses of the same samples and clusters."""
        weights = np.where(self.known, weights, 0.0)
        others = np.where(self.known[:, None], losses, np.nan)
        return replace(self, losses=others, weights=weights, figures=None, clusters=self.clusters)

    @property
    def cluster_of(self) -> NDArray[np.intp]:
        """Index of the cluster of each sample in ``totals``; 0 for samples that do not count."""
        order, first = self._by_cluster
        place = np.zeros(len(self.losses), dtype=np.intp)
        place[order] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(order))))
        return place

    def totals(self, losses: Floats) -> Floats:
        """Return sums of weight times loss over each cluster; their sum is the mean loss."""
        if self._are_clusters:
            return np.asarray(self.weights[:, None] * losses)
        order, first = self._by_cluster
        weighed = self.weights[order, None] * losses[order]
        return np.add.reduceat(weighed, first) if len(first) < len(order) else weighed

    @cached_property
    def _are_clusters(self) -> bool:
        """True if every sample counts and is a cluster of its own, in order."""
        return bool((np.diff(self.clusters) > 0).all()) and bool(self.known.all())

    @cached_property
    def _by_cluster(self) -> tuple[Rows, Rows]:
        """Samples that count, sorted by cluster, and the start of each cluster."""
        known = np.flatnonzero(self.known)
        order = known[np.argsort(self.clusters[known], kind="stable")]
        return order, np.flatnonzero(np.diff(self.clusters[order], prepend=-1))
