"""Losses of predictions for held-out samples.

A metric converts the outputs of a model for some samples into one loss per sample, in the units of
the criterion that the search minimised, so that both can be compared:

=============  ====================================================================================
squared        sum over targets of (y - f)^2; for classification the targets are +-1, one against
               the rest
absolute       sum over targets of abs(y - f)
zero_one       1 if the class with the largest score is wrong; the first class wins ties
balanced       the same with equal total weight for each class
logistic       minus the logarithm of the probability of the true class
auc            fraction of pairs of one sample of each class in the wrong order, ties one half; a
               pair needs two samples, so a held-out part has one value for all its samples
ranking        half the mean of (d_i - d_j)^2 over pairs within a query, d = y - f: the squares
               about the mean of the query
deviance       twice the difference in log likelihood from a perfect fit (Poisson, Gamma,
               Tweedie); outputs are predicted means, above zero
concordance    fraction of comparable pairs in the wrong order of risk, ties one half; in a
               comparable pair, the sample with the shorter time had the event; one value per
               held-out part
disagreement   fraction of pairs within a query, with different targets, in the wrong order, ties
               one half; one value per held-out part
=============  ====================================================================================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp

from sparsepath.assessment.deviance import deviances, name_of
from sparsepath.data.classes import encode_targets, winners

Floats: TypeAlias = NDArray[np.float64]
TINY_MEAN = 1e-10  # what a predicted mean counts as that is not above zero


@dataclass(frozen=True, eq=False)
class Truth:
    """Targets to predict: numbers, or classes and their codes."""

    values: Floats  # (n, T): numbers; for classes +-1, one column for two of them
    classes: NDArray[Any] | None = None  # the labels in order; None for numbers
    index: NDArray[np.intp] | None = None  # the class of every sample
    query: NDArray[np.intp] | None = None  # samples are compared within these only; for ranking

    @classmethod
    def of(cls, y: Any, *, is_class: bool, query: Any = None) -> "Truth":
        """Encode the targets."""
        y = np.asarray(y)
        if query is not None:
            query = np.unique(np.asarray(query), return_inverse=True)[1]
        if not is_class:
            return cls(y.astype(np.float64).reshape(len(y), -1), query=query)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        classes, index = np.unique(y, return_inverse=True)
        return cls(encode_targets(index, len(classes)), classes, index, query)

    def __getitem__(self, rows: NDArray[np.intp]) -> "Truth":
        """Return some of the samples."""
        index = None if self.index is None else self.index[rows]
        query = None if self.query is None else self.query[rows]
        return Truth(self.values[rows], self.classes, index, query)


def squared(truth: Truth, outputs: Floats) -> Floats:
    """Squared errors, summed over targets."""
    return _over_targets(np.square(truth.values - outputs))


def absolute(truth: Truth, outputs: Floats) -> Floats:
    """Absolute errors, summed over targets."""
    return _over_targets(np.abs(truth.values - outputs))


def _over_targets(losses: Floats) -> Floats:
    return losses[..., 0] if losses.shape[-1] == 1 else losses.sum(-1)


def zero_one(truth: Truth, outputs: Floats) -> Floats:
    """One if another class has the largest score."""
    assert truth.index is not None
    return winners(outputs) != truth.index


def logistic(truth: Truth, outputs: Floats) -> Floats:
    """Minus the logarithm of the probability of the true class."""
    assert truth.index is not None
    if outputs.shape[1] == 1:
        return -np.asarray(log_expit(truth.values[:, 0] * outputs[:, 0]))
    own = np.take_along_axis(outputs, truth.index[:, None], 1)[:, 0]
    return np.asarray(logsumexp(outputs, axis=1)) - own


def auc(truth: Truth, outputs: Floats) -> Floats:
    """Fraction of wrongly ordered pairs; NaN without pairs."""
    assert truth.index is not None
    second = truth.index == 1
    ours, others = outputs[second, 0], np.sort(outputs[~second, 0])
    if not (len(ours) and len(others)):
        return np.full(len(second), np.nan)
    below, up_to = (others.searchsorted(ours, side).sum() for side in ("left", "right"))
    return np.full(len(second), 1.0 - (below + up_to) / 2 / (len(ours) * len(others)))


def ranking(truth: Truth, outputs: Floats) -> Floats:
    """Squares about the mean of the query; zero for a single sample in its query."""
    off = truth.values[:, 0] - outputs[:, 0]
    query = np.zeros(len(off), dtype=np.intp) if truth.query is None else truth.query
    counts = np.bincount(query)[query]
    means = (np.bincount(query, off) / np.maximum(np.bincount(query), 1))[query]
    return np.where(counts > 1, np.square(off - means) * counts / np.maximum(counts - 1, 1), np.nan)


def disagreement(truth: Truth, outputs: Floats) -> Floats:
    """Fraction of pairs within a query in the wrong order; NaN without pairs."""
    y, f = truth.values[:, 0], outputs[:, 0]
    query = np.zeros(len(y), dtype=np.intp) if truth.query is None else truth.query
    wrong = pairs = 0.0
    for i in range(len(y)):  # each with those that belong below it
        below = (query == query[i]) & (y < y[i])
        pairs += np.count_nonzero(below)
        wrong += np.count_nonzero(f[below] > f[i]) + 0.5 * np.count_nonzero(f[below] == f[i])
    return np.full(len(y), wrong / pairs if pairs else np.nan)


def concordance(truth: Truth, outputs: Floats) -> Floats:
    """Fraction of comparable pairs in the wrong order of risk; NaN without pairs.

    Targets are time and event; a pair is comparable if its shorter time is an event.
    """
    time, event, risk = truth.values[:, 0], truth.values[:, 1] > 0, outputs[:, 0]
    wrong = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        pairs += np.count_nonzero(later)
        wrong += np.count_nonzero(risk[later] > risk[i])
        wrong += 0.5 * np.count_nonzero(risk[later] == risk[i])
    return np.full(len(time), wrong / pairs if pairs else np.nan)


def tweedie(truth: Truth, outputs: Floats, power: float) -> Floats:
    """Unit deviances of predicted means; a mean of zero or below counts as tiny."""
    means = np.maximum(outputs[:, 0], TINY_MEAN)
    return deviances(truth.values[:, 0], np.log(means), power)


@dataclass(frozen=True)
class Metric:
    """A metric: ``losses`` of samples and the name of their mean.

    ``by_part`` means that all samples of a part share one value, so that standard errors are
    computed from parts, not samples.
    """

    name: str
    losses: Callable[[Truth, Floats], Floats] = field(compare=False)
    by_part: bool = False
    balanced: bool = False

    @property
    def decides(self) -> bool:
        """Whether the class that is predicted matters, and not the scores themselves."""
        return self.losses is zero_one

    def by_size(self, truth: Truth, outputs: Mapping[int, Floats]) -> Floats:
        """Return the losses of the samples, one column per size."""
        if self.losses in (squared, absolute):  # of all sizes at once
            return self.losses(truth, np.stack(list(outputs.values()))).T
        if self.losses is zero_one and truth.index is not None:
            scores = np.stack(list(outputs.values()))
            won = scores.argmax(-1) if scores.shape[-1] > 1 else scores[..., 0] > 0
            return np.asarray(won != truth.index, dtype=np.float64).T
        return np.column_stack([self.losses(truth, out) for out in outputs.values()])


METRICS = {
    "squared": Metric("squared error", squared),
    "absolute": Metric("absolute error", absolute),
    "zero_one": Metric("error rate", zero_one),
    "balanced": Metric("balanced error rate", zero_one, balanced=True),
    "logistic": Metric("log loss", logistic),
    "auc": Metric("AUC error", auc, by_part=True),
    "ranking": Metric("pairwise squared error", ranking),
    "concordance": Metric("concordance error", concordance, by_part=True),
    "disagreement": Metric("ranking error", disagreement, by_part=True),
}


def deviance(power: float) -> Metric:
    """Return the metric of a Tweedie deviance; power 1 is Poisson, 2 is Gamma."""
    return Metric(name_of(power), partial(tweedie, power=power))


RATES = tuple(
    METRICS[name].name for name in ("zero_one", "balanced", "auc", "disagreement", "concordance")
)


def balancing(truth: Truth, weights: Floats) -> Floats:
    """Return weights that give every class the same total weight."""
    assert truth.index is not None
    totals = np.bincount(truth.index, weights)
    return weights / np.where(totals > 0, totals, 1.0)[truth.index]
