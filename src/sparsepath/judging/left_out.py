"""What the whole procedure errs on samples that it never saw.

The search, its penalty, centring, encoding, everything that looks at X or y is done again with
each part of the data left out, and every model on the path that comes of it predicts that part.
The result is a matrix of losses, one row per sample and one column per size. Size k means *at most
k features*: where the path of a part has no model of size k, its largest below k stands in. A
method that ends with a size of its own (grafting at a given l1, one network) is judged at that size
by the models with which it ended in the parts, whatever their sizes are: those are its answers
there, and models of its size on the way to them are not.

Samples are left out once or, by repeated splits, several times (then the mean counts), or never
(the first part of a series, or what Ctrl-C came before); those play no part.

Of classes, error rate and AUC are told beside, whatever the search minimised: a squared error of
+-1 says little to most readers. The rate is a mean over samples, the area under the curve one over
parts, each as large as its samples weigh.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.errors import InputError
from sparsepath.judging.folds import Rows, parts_of
from sparsepath.judging.neighbours import err_alike
from sparsepath.judging.repeating import (
    Repetition,
    by_rows,
    check_predicts,
    has_path,
    searches,
    standing_in,
    with_groups,
)
from sparsepath.judging.yardsticks import YARDSTICKS, Floats, Truth, Yardstick, balancing
from sparsepath.running.interrupts import Interruptible

Parts: TypeAlias = list[tuple[Rows, Mapping[int, Floats]]]


FEWEST = 8  # samples below which parts say nothing


class AskedToEndError(KeyboardInterrupt):
    """Whoever was told of the parts wanted no more of them: as good as Ctrl-C."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Losses of samples that were left out, by size."""

    sizes: tuple[int, ...]  # ascending
    losses: Floats  # (n, K): NaN for samples that were never left out
    weights: Floats  # (n,): of the samples in a mean; they sum to one over those that were left out
    # (n,): samples that hang together: those of a group, or of a part that has one figure for all.
    clusters: NDArray[np.intp]
    label: str  # how parts were left out, as "10-fold"
    yardstick: str  # what is measured
    # (K,): by what the errors of parts vary more than the samples in them explain: the variance of
    # what models of other samples err. Zero where it cannot be told.
    between: Floats = field(default_factory=lambda: np.zeros(0))
    # For classes also error_rate and auc of the same predictions, by size.
    figures: dict[str, Floats] = field(default_factory=dict)
    # Whether every part was left out; else Ctrl-C came before, and the label says how many were.
    whole: bool = True
    # The size with which the method ends, or usually does, if it chooses it itself.
    own: int | None = None
    # By size, the correlation of the errors of rows next to each other, where folds were dealt at
    # random and it is more than chance; see neighbours.py.
    neighbours: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.between):
            object.__setattr__(self, "between", np.zeros(self.losses.shape[1]))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples were left out, and count."""
        return ~np.isnan(self.losses[:, 0]) & (self.weights > 0)

    @cached_property
    def errors(self) -> Floats:
        """The mean loss of each size."""
        return self.weights[self.known] @ self.losses[self.known]

    @cached_property
    def errors_se(self) -> Floats:
        """Standard errors of the errors, from what clusters differ by."""
        return self._spread(self.losses - self.errors)

    def gaps_se(self, size: int) -> Floats:
        """Standard errors of the differences of the errors to that of this size."""
        gaps = self.losses - self.losses[:, [self.sizes.index(size)]]
        return self._spread(gaps - self.weights[self.known] @ gaps[self.known])

    def _spread(self, off: Floats) -> Floats:
        totals = self.totals(off)
        n = len(totals)
        if n < 2:
            return np.full(off.shape[1], np.nan)
        return np.sqrt(np.square(totals).sum(0) * n / (n - 1))

    def totals(self, losses: Floats) -> Floats:
        """Sums of weight times loss over each cluster; they sum to the mean."""
        order, first = self._by_cluster
        weighed = self.weights[order, None] * losses[order]
        return np.add.reduceat(weighed, first) if len(first) < len(order) else weighed

    @cached_property
    def _by_cluster(self) -> tuple[Rows, Rows]:
        """The samples that count, cluster after cluster, and where each begins."""
        known = np.flatnonzero(self.known)
        order = known[np.argsort(self.clusters[known], kind="stable")]
        return order, np.flatnonzero(np.diff(self.clusters[order], prepend=-1))


def left_out(
    estimator: Any,
    X: Any,
    y: Any,
    validation: Any = 10,
    *,
    sizes: Sequence[int] | None = None,
    fit_params: Mapping[str, Any] | None = None,
    groups: Any = None,
    yardstick: str | None = None,
    told: Callable[[int, int], object] | None = None,
    keep: bool = False,
    likely: Sequence[int] = (),
    own: int | None = None,
) -> LeftOut:
    """Repeat the procedure with each part of the data left out.

    The estimator is cloned. A plain predictor has one size, the number of columns that it usually
    selects, and the empty model beside it. ``validation`` is as for ``honest_error``; ``sizes`` are
    those wanted (default: all that any part reaches), ``own`` the size with which the method ended
    on all data, if it chooses it itself (default: as it usually does in the parts), ``likely``
    columns that the search of all rows has chosen. ``fit_params`` with an entry per sample are cut
    like y.

    ``told`` is called with the number of parts done and of all, and a true value ends the work
    there. With ``keep`` the parts that are done when the work is ended, so or by Ctrl-C, are told,
    if there are two of them or more; else the end goes on to the caller.
    """
    check_predicts(estimator)
    X, y = by_rows(X), by_rows(y)
    n, given = len(y), with_groups(estimator, fit_params or {}, groups)
    classes = is_classifier(estimator)
    stick = yardstick_of(estimator) if yardstick is None else YARDSTICKS[yardstick]
    query = groups if stick in (YARDSTICKS["ranking"], YARDSTICKS["disagreement"]) else None
    truth = Truth.of(y, is_class=classes, query=query)
    found = parts_of(validation, X, y, groups, given.get("sample_weight"), classes=classes)
    splits, clusters = found.splits, found.clusters.copy()
    again = [Repetition(rows=train, likely=tuple(likely)) for train, _ in splits]
    done = searches(estimator, X, y, given, again, truth.classes)
    parts, ends = Parts(), list[int | None]()
    with Interruptible(keep=lambda: keep and _tell(parts)):
        for _, test in splits:
            if told is not None and told(len(parts), len(splits)):
                raise AskedToEndError
            one = next(done)
            outputs = one.outputs(test)
            ends.append(one.own)
            parts.append((test, outputs))
    whole, label = len(parts) == len(splits), found.label
    if not whole:
        label += f", {len(parts)} of {len(splits)} parts"
    if not has_path(estimator):
        parts = _against_none(parts, truth, [train for train, _ in splits[: len(parts)]], given)
    usual = _usual(ends)
    own = usual if own is None or usual is None else own
    if own is not None:
        parts = _at_own_size(parts, ends, own)
    if sizes is None:
        sizes = sorted({size for _, outputs in parts for size in outputs})
    parts = [(test, standing_in(outputs, sizes)) for test, outputs in parts]
    losses, counts, by_part = np.zeros((n, len(sizes))), np.zeros(n), []
    for part, (test, outputs) in enumerate(parts):
        chosen = stick.by_size(truth[test], outputs)
        seen = ~np.isnan(chosen[:, 0])
        losses[test[seen]] += chosen[seen]
        counts[test[seen]] += 1
        by_part.append((test[seen], chosen[seen]))
        if stick.by_part:
            clusters[test] = n + part
    losses = np.where(counts[:, None] > 0, losses / np.maximum(counts, 1)[:, None], np.nan)
    weight = given.get("sample_weight")
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    weights = _weights(weight, truth, stick, counts > 0)
    between = np.zeros(len(sizes)) if stick.by_part else _between(by_part, weights, clusters)
    neighbours: dict[int, float] = {}
    if isinstance(validation, Integral) and groups is None:  # dealt as if rows were strangers
        logits = stick == YARDSTICKS["logistic"]
        neighbours = err_alike(parts, truth, found.clusters, logits=logits)
    return LeftOut(
        tuple(sizes),
        losses,
        weights,
        clusters,
        label,
        stick.name,
        between,
        class_figures(parts, truth, weight),
        whole,
        own,
        neighbours,
    )


def _usual(ends: Sequence[int | None]) -> int | None:
    """The size with which a method mostly ends, if it chooses it itself."""
    known = [end for end in ends if end is not None]
    return int(np.median(known)) if known else None


def _at_own_size(parts: Parts, ends: Sequence[int | None], own: int) -> Parts:
    """What was put out where the method's own size is this one: by whatever it ended with."""
    made: Parts = []
    for (test, outputs), end in zip(parts, ends, strict=False):
        others = {size: out for size, out in outputs.items() if size != own}
        made.append((test, {**others, own: outputs[max(outputs) if end is None else end]}))
    return made


def _tell(parts: Parts) -> bool:
    """Whether parts are enough to tell an error by."""
    return len(parts) > 1 and sum(len(test) for test, _ in parts) >= FEWEST


def yardstick_of(estimator: Any) -> Yardstick:
    """What an estimator's predictions are judged by; it may say so itself."""
    name = getattr(estimator, "_yardstick", None)
    if name is None:
        name = "zero_one" if is_classifier(estimator) else "squared"
    return name if isinstance(name, Yardstick) else YARDSTICKS[name]


def _against_none(parts: Parts, truth: Truth, trains: Sequence[Rows], given: Any) -> Parts:
    """What a predictor without a path puts out, under its usual size, and the empty model's.

    The empty model says the mean, and of classes the commonest.
    """
    usual = int(np.median([max(outputs) for _, outputs in parts]))
    weights = given.get("sample_weight")
    made: Parts = []
    for (test, outputs), train in zip(parts, trains, strict=True):
        w = None if weights is None else np.asarray(weights)[train]
        none = np.average(truth[train].values, axis=0, weights=w)
        made.append((test, {0: np.repeat(none[None], len(test), 0), usual: outputs[max(outputs)]}))
    return made


def _between(parts: list[tuple[Rows, Floats]], weights: Floats, clusters: Rows) -> Floats:
    """The variance of the errors of parts, less what the samples in them explain of it."""
    means, noise = [], []
    for rows, losses in parts:
        own = LeftOut((), losses, weights[rows], clusters[rows], "", "")
        shares = own.totals(np.ones((len(rows), 1)))
        if len(shares) < 2 or len(parts) < 2:
            return np.zeros(losses.shape[1])
        mean = own.totals(losses).sum(0) / shares.sum()
        means.append(mean)
        noise.append(own._spread(losses - mean) ** 2 / shares.sum() ** 2)
    return np.maximum(np.var(means, axis=0, ddof=1) - np.mean(noise, axis=0), 0.0)


def _weights(
    given: Floats, truth: Truth, yardstick: Yardstick, counted: NDArray[np.bool_]
) -> Floats:
    weights = np.where(counted, given, 0.0)
    if not counted.any():
        raise InputError("no part that is left out has two samples to compare; use fewer parts.")
    if yardstick.balanced:
        weights = balancing(truth, weights)
    total = weights.sum()
    if not total > 0:
        raise InputError("no sample of positive weight was left out; use other splits.")
    return weights / total


def class_figures(parts: Parts, truth: Truth, weights: Floats) -> dict[str, Floats]:
    """By size: ``error_rate``, and for two classes ``auc``; nothing if the targets are numbers."""
    if truth.classes is None:
        return {}
    n_sizes = len(parts[0][1])
    names = ("zero_one", "auc") if len(truth.classes) == 2 else ("zero_one",)
    means = {name: np.full(n_sizes, np.nan) for name in names}
    for name in names:
        totals, weight = np.zeros(n_sizes), 0.0
        for test, outputs in parts:
            chosen = YARDSTICKS[name].by_size(truth[test], outputs)
            w = np.where(np.isnan(chosen[:, 0]), 0.0, weights[test])
            totals += w @ np.nan_to_num(chosen)
            weight += w.sum()
        if weight > 0:
            means[name] = totals / weight
    found = {"error_rate": means["zero_one"]}
    return {**found, "auc": 1.0 - means["auc"]} if "auc" in means else found
