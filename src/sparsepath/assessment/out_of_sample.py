"""Out-of-sample losses of the full procedure.

The search, its penalty, centring and encoding are repeated with each part of the data held out, and
every model on the resulting path predicts that part. The result is a matrix of losses, one row per
sample and one column per size. Size k means *at most k features*: if the path of a part has no
model of size k, its largest smaller model is used. A method that determines its own size (grafting
at a given l1, one network) is evaluated at that size by the final models in the parts, whatever
their sizes.

**Several ways.** An estimator may do the same procedure in several ways, such as with several
penalties. Its method ``_ways`` returns them, or None; all are evaluated on the same parts. The rule
that chooses a size first chooses a way, by the minimum error of each: with "min" the way with the
overall minimum, with "one_se" the first, in order of preference, within one standard error (of the
paired difference) of it. The losses are those of this way; ``others`` has the rest, which the
correction uses (``correction.py``).

Samples are held out once or, with repeated splits, several times (then the mean counts), or never
(the first part of a series, or parts not reached before Ctrl-C); the latter are ignored.

For classification, further figures of the same predictions are computed, whatever the criterion:
error rate, balanced error (equal weight per class), log loss, Brier score (with two classes the
squared distance of the probability of the second to 0 or 1, with more the squared distances of all
probabilities, summed over classes) and, with two classes, AUC. They are means over samples; AUC is
a mean over parts, weighted by their samples. ``calibration.py`` converts scores to probabilities.
If the estimator has ``validation``, each part is judged with the calibration of the other parts.
Logarithms of odds are not calibrated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.assessment.calibration import CrossFittedCalibration, cross_fitted
from sparsepath.assessment.folds import Rows, parts_of
from sparsepath.assessment.metrics import METRICS, Floats, Metric, Truth, balancing
from sparsepath.assessment.repetitions import (
    LOADED,
    Repetition,
    RepetitionResult,
    Shorter,
    check_predicts,
    data_by_rows,
    fill_sizes,
    has_path,
    largest_size_up_to,
    repetitions,
    searches,
    with_groups,
)
from sparsepath.assessment.serial_correlation import error_correlation
from sparsepath.assessment.thresholds import rule_of, thresholds
from sparsepath.data.classes import class_weighted, winners
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.path.choosing import is_size, places
from sparsepath.system.interrupts import Interruptible

Parts: TypeAlias = list[tuple[Rows, Mapping[int, Floats]]]


SAME_ERRORS = 1e-12  # standard deviation over error that is rounding
FEWEST = 8  # samples below which parts say nothing
BINS = 10  # of probabilities, for a reliability curve
MOST_PAIRED = 1000  # samples up to which pairs are kept: with more, the choice hardly matters


class StopRequestedError(KeyboardInterrupt):
    """A callback stopped the work; equivalent to Ctrl-C."""


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
    # what models of other samples err. Zero where it cannot be told.
    between: Floats = field(default_factory=lambda: np.zeros(0))
    # For classification also error rate and AUC of the same predictions.
    figures: "ClassFigures | None" = None
    # Whether every part was left out; else Ctrl-C came before, and the label says how many were.
    whole: bool = True
    # The size with which the method ends, or usually does, if it chooses it itself.
    own: int | None = None
    # By size, the correlation of the errors of rows next to each other, where folds were dealt at
    # random and it is more than chance; see neighbours.py.
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


class Ways(Protocol):
    """Several ways to do one procedure."""

    estimators: Mapping[Any, Any]  # those to be searched with in every part, by name
    names: Sequence[Any]  # of the ways, the preferred one first
    # Of outputs that are logarithms of odds, whatever the search minimises; None: see metric_of.
    metric: Metric | None

    def outputs(
        self, name: Any, found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Any, Mapping[int, Floats]]:
        """Return, for every way based on one of the searches, the outputs of its models by size."""
        ...


class SingleProcedure:
    """A procedure that is done in one way."""

    metric: Metric | None = None

    def __init__(self, estimator: Any) -> None:
        self.estimators: Mapping[Any, Any] = {None: estimator}
        self.names: Sequence[Any] = (None,)

    def outputs(
        self, name: Any, found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Any, Mapping[int, Floats]]:
        return {None: found.outputs(test)}


@dataclass(eq=False)
class _Tried:
    """Held-out outputs of one way so far."""

    name: Any  # of its search
    parts: Parts = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)
    subsets: list[Mapping[int, tuple[int, ...]]] = field(default_factory=list)

    def add(self, test: Rows, outputs: Mapping[int, Floats], one: RepetitionResult) -> None:
        self.ends.append(one.own)
        self.subsets.append(one.subsets)
        self.parts.append((test, outputs))


@dataclass(frozen=True, eq=False)
class JudgedWay:
    """What the losses of one way are made of."""

    parts: Parts
    losses: list[tuple[Rows, Floats]]  # of every part
    scale: CrossFittedCalibration


def held_out_losses(
    estimator: Any,
    X: Any,
    y: Any,
    validation: Any = 10,
    *,
    sizes: Sequence[int] | None = None,
    paths: Mapping[Any, Any] | None = None,
    fit_params: Mapping[str, Any] | None = None,
    groups: Any = None,
    metric: str | None = None,
    told: Callable[[int, int], object] | None = None,
    keep: bool = False,
    likely: Sequence[int] = (),
    own: int | None = None,
    repeats: int | None = 1,
    choose: Any = "min",
    shorter: Shorter | None = None,
) -> HeldOutLosses:
    """Repeat the procedure with each part of the data held out.

    The estimator is cloned. A plain predictor has one size, the number of columns that it usually
    selects, and the empty model.

    - ``validation`` is as for ``honest_error``.
    - ``sizes`` are the wanted sizes (default: all that any part reaches).
    - ``own`` is the final size of the method on all data, if it determines it itself.
    - ``likely`` are columns that the search on all rows selected.
    - ``fit_params`` with an entry per sample are cut like y.
    - A number of folds is assigned at random ``repeats`` times (None: depends on the shape of the
      data, see ``repetitions``), and the losses of a sample are averaged; a metric with one value
      per part has one assignment.
    - With several ways, ``paths`` has the known paths on all data, by name, and ``choose`` is the
      rule for the way and the size; for a given size, the way with the minimum error at that size
      is taken.
    - ``shorter`` computes repetitions from shared sums for data read in passes; see ``searches``.
    - ``told`` is called with the number of finished parts and the total; a true value stops the
      work.
    - With ``keep``, the finished parts are used after such a stop or Ctrl-C, if there are at least
      two; otherwise the interrupt is raised again.
    """
    check_predicts(estimator)
    given = with_groups(estimator, fit_params or {}, groups)
    X, y, given, weight = data_by_rows(X, y, given, LOADED if shorter is None else 0)
    n, in_passes = len(y), isinstance(X, Source)
    classes = is_classifier(estimator)
    ways = _ways_of(estimator, X, y, given)
    own_metric = ways.metric or metric_of(estimator)
    scoring = own_metric if metric is None else METRICS[metric]
    query = groups if scoring in (METRICS["ranking"], METRICS["disagreement"]) else None
    truth = Truth.of(y, is_class=classes, query=query)
    if repeats is None and isinstance(validation, Integral):
        repeats = repetitions(estimator, n, X.shape[1], int(validation))
    repeats = 1 if scoring.by_part or repeats is None else repeats
    found = parts_of(validation, X, y, groups, weight, classes=classes, repeats=repeats)
    splits, clusters = found.splits, found.clusters.copy()
    done = {}
    for name, each in ways.estimators.items():
        path = None if paths is None else paths.get(name)
        chosen = likely if path is None else path.subset(path.sizes[-1])
        again = [Repetition(rows=train, likely=tuple(chosen)) for train, _ in splits]
        mine = partial(shorter, each) if in_passes and shorter is not None else None
        done[name] = searches(each, X, y, given, again, truth.classes, mine)
    tried: dict[Any, _Tried] = {}
    waiting = list[tuple[Rows, Rows, Mapping[Any, RepetitionResult]]]()
    with Interruptible(keep=lambda: keep and _tell(tried, waiting)):
        for i, (train, test) in enumerate(splits):
            if told is not None and told(i, len(splits)):
                raise StopRequestedError
            found_here = {name: next(each) for name, each in done.items()}
            if in_passes:  # one pass for the predictions of all parts
                waiting.append((train, test, found_here))
                continue
            _add(tried, ways, train, test, found_here)
    for one in waiting:
        _add(tried, ways, *one)
    count = len(next(iter(tried.values())).parts)
    whole, label = count == len(splits), found.label
    if not whole:
        label += f", {count} of {len(splits)} parts"
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    by_class = _by_class(estimator, truth, weight)
    # What a calibration weighs by: classes alike, if the decision is to be good in each of them.
    sides = balancing(truth, by_class) if metric_of(estimator).balanced else by_class
    folds = len(splits) // found.repeats
    logits = scoring == METRICS["logistic"] or ways.metric is not None
    calibrated = has_path(estimator) and not logits and _is_calibrated(estimator)

    def judged(way: Any, of: _Tried) -> tuple[HeldOutLosses, JudgedWay]:
        parts, usual = of.parts, _usual(of.ends)
        if not has_path(estimator):
            parts = _against_none(parts, truth, [train for train, _ in splits[:count]], given)
        ended = usual if own is None or usual is None else own
        if ended is not None:
            parts = _at_own_size(parts, of.ends, ended)
        wanted = sizes if paths is None or of.name not in paths else paths[of.name].sizes
        if wanted is None:
            wanted = sorted({size for _, outputs in parts for size in outputs})
        parts = [(test, fill_sizes(outputs, wanted)) for test, outputs in parts]
        losses, counts, by_part = np.zeros((n, len(wanted))), np.zeros(n), []
        together = clusters.copy()
        scale, decided = CrossFittedCalibration.none(parts), parts
        if calibrated and truth.classes is not None and truth.index is not None:
            repeats = len(parts) // folds if len(parts) % folds == 0 else 1
            scale = cross_fitted(parts, truth.index, sides, len(truth.classes), repeats)
            decided = scale.moved(parts)
        for part, (test, outputs) in enumerate(decided if scoring.decides else parts):
            chosen = scoring.by_size(truth[test], outputs)
            seen, rows = ~np.isnan(chosen[:, 0]), test
            if not seen.all():
                rows, chosen = test[seen], chosen[seen]
            losses[rows] += chosen
            counts[rows] += 1
            by_part.append((rows, chosen))
            if scoring.by_part:
                together[test] = n + part
        if not (counts == 1).all():
            losses /= np.maximum(counts, 1)[:, None]
            losses[counts == 0] = np.nan
        weights = _weights(by_class, truth, scoring, counts > 0)
        made = HeldOutLosses(
            tuple(wanted),
            losses,
            weights,
            together,
            label,
            scoring.name,
            figures=class_figures(decided, truth, weight),
            whole=whole,
            own=ended,
            subsets=tuple(of.subsets),
            way=way,
            searcher=ways.estimators[of.name],
        )
        return made, JudgedWay(parts, by_part, scale)

    each_way = [judged(way, tried[way]) for way in ways.names]
    best = preferred_way([made for made, _ in each_way], choose)
    first, of = each_way.pop(best)
    parts, by_part = of.parts, of.losses
    neighbours: dict[int, float] = {}
    if found.at_random and scoring != METRICS["concordance"]:  # dealt as if rows were strangers
        once = parts[:folds]
        neighbours = error_correlation(once, truth, found.clusters, logits=logits)
    figures = first.figures
    if figures is not None:
        decided = of.scale.moved(parts)
        if (rule := _threshold_of(estimator, truth)) is not None:
            assert truth.index is not None
            cuts, decided = thresholds(parts, truth.index, weight, rule, of.scale)
            judged_again = class_figures(decided, truth, weight)
            assert judged_again is not None
            figures = replace(figures, mistakes=judged_again.mistakes, thresholds=cuts)
        figures = replace(
            figures,
            auc=_areas(parts, truth, weight),
            confusion=_confusion(decided, truth, n),
            slopes=of.scale.whole.slopes,
            offsets=of.scale.whole.offsets,
            **_probabilities(parts, truth, weight, of.scale),
        )
    if not scoring.by_part:
        first = replace(first, between=_between(by_part, first.weights, first.clusters))
    return replace(
        first,
        neighbours=neighbours,
        figures=figures,
        by_repeat=_by_repeat(by_part, first.weights, folds),
        others=tuple(made for made, _ in each_way),
        place=best,
    )


def _add(
    tried: dict[Any, _Tried],
    ways: Ways,
    train: Rows,
    test: Rows,
    found: Mapping[Any, RepetitionResult],
) -> None:
    """Add a part to every way; all ways have the same parts after Ctrl-C."""
    new: list[tuple[Any, Any, Mapping[int, Floats], RepetitionResult]] = []
    for name, one in found.items():
        outputs = ways.outputs(name, one, train, test)
        new += [(way, name, of, one) for way, of in outputs.items()]
    for way, name, of, one in new:
        tried.setdefault(way, _Tried(name)).add(test, of, one)


def _ways_of(estimator: Any, X: Any, y: Any, given: Mapping[str, Any]) -> Ways:
    several: Ways | None = None
    if hasattr(estimator, "_ways"):
        several = estimator._ways(X, y, given)
    return several or SingleProcedure(estimator)


def preferred_way(ways: Sequence[HeldOutLosses], rule: Any) -> int:
    """Return the way that a rule prefers; see the module docstring."""
    if is_size(rule):
        at = [way.sizes.index(largest_size_up_to(int(rule), way.sizes)) for way in ways]
    else:
        at = [int(way.errors.argmin()) for way in ways]
    errors = np.array([[way.errors[k] for way, k in zip(ways, at, strict=True)]])
    losses = np.column_stack([way.losses[:, k] for way, k in zip(ways, at, strict=True)])

    def allowance(best: NDArray[np.intp]) -> Floats:
        one = ways[0]
        gaps = losses - losses[:, best]
        return one._spread(gaps - one.weights[one.known] @ gaps[one.known])[None]

    return int(places("min" if is_size(rule) else rule, errors, allowance)[0])


def _usual(ends: Sequence[int | None]) -> int | None:
    """Return the most frequent final size of a method that determines its own size."""
    known = [end for end in ends if end is not None]
    return int(np.median(known)) if known else None


def _at_own_size(parts: Parts, ends: Sequence[int | None], own: int) -> Parts:
    """Replace the outputs at the method's own size by those of its final models."""
    made: Parts = []
    for (test, outputs), end in zip(parts, ends, strict=False):
        others = {size: out for size, out in outputs.items() if size != own}
        made.append((test, {**others, own: outputs[max(outputs) if end is None else end]}))
    return made


def _tell(tried: Mapping[Any, _Tried], waiting: Sequence[tuple[Rows, Rows, Any]]) -> bool:
    """Return whether there are enough parts to estimate an error."""
    tests = [test for _, test, _ in waiting]
    tests += [test for test, _ in next(iter(tried.values())).parts] if tried else []
    return len(tests) > 1 and sum(map(len, tests)) >= FEWEST


def metric_of(estimator: Any) -> Metric:
    """Return the metric of an estimator, which may define it itself."""
    name = getattr(estimator, "_metric", None)
    if name is None:
        name = "zero_one" if is_classifier(estimator) else "squared"
    return name if isinstance(name, Metric) else METRICS[name]


def _against_none(parts: Parts, truth: Truth, trains: Sequence[Rows], given: Any) -> Parts:
    """Return the outputs of a predictor without a path, under its usual size, and of the empty
    model.

    The empty model predicts the mean or the most frequent class.
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
    """Return the between-fold variance that sampling within folds does not explain."""
    means, noise = [], []
    for rows, losses in parts:
        own, share = (
            HeldOutLosses((), losses, weights[rows], clusters[rows], "", ""),
            weights[rows].sum(),
        )
        if len(parts) < 2 or not share > 0:
            return np.zeros(losses.shape[1])
        mean = own.weights @ losses / share
        spread = own._spread(losses - mean) / share
        if np.isnan(spread).all():  # a single cluster
            return np.zeros(losses.shape[1])
        means.append(mean)
        noise.append(spread**2)
    return np.maximum(np.var(means, axis=0, ddof=1) - np.mean(noise, axis=0), 0.0)


def _by_repeat(parts: list[tuple[Rows, Floats]], weights: Floats, folds: int) -> Floats:
    """Return the error of each assignment to folds; an interrupted one is ignored."""
    rows = np.array([weights[test] @ losses for test, losses in parts])
    repeats = len(rows) // folds
    return rows[: repeats * folds].reshape(repeats, folds, rows.shape[1]).sum(1)


def _weights(given: Floats, truth: Truth, metric: Metric, counted: NDArray[np.bool_]) -> Floats:
    weights = np.where(counted, given, 0.0)
    if not counted.any():
        raise InputError("no held-out part has two samples to compare; use fewer parts.")
    if metric.balanced:
        weights = balancing(truth, weights)
    total = weights.sum()
    if not total > 0:
        raise InputError("no sample with positive weight was held out; use other splits.")
    return weights / total


def _by_class(estimator: Any, truth: Truth, weights: Floats) -> Floats:
    """Return the weights for the evaluation of an estimator with ``class_weight``."""
    beneath = getattr(estimator, "selector", None) or estimator
    wanted = getattr(beneath, "class_weight", None)
    if wanted is None or truth.classes is None or truth.index is None:
        return weights
    return class_weighted(wanted, truth.classes, truth.index, weights)


def _is_calibrated(estimator: Any) -> bool:
    """Whether a fit of the estimator calibrates its scores by samples left out."""
    return is_classifier(estimator) and getattr(estimator, "validation", None) is not None


def _threshold_of(estimator: Any, truth: Truth) -> Any:
    """Return the rule of an estimator with ``threshold``; None: it has none."""
    beneath = getattr(estimator, "selector", None) or estimator
    rule = rule_of(getattr(beneath, "threshold", None))
    if rule is not None and truth.classes is not None and len(truth.classes) != 2:
        raise InputError(f"threshold is for two classes, and y has {len(truth.classes)}.")
    return rule


def class_figures(parts: Parts, truth: Truth, weights: Floats) -> ClassFigures | None:
    """Return classification figures by size; None for numeric targets."""
    if truth.classes is None or truth.index is None:
        return None
    n, n_sizes = len(weights), len(parts[0][1])
    mistakes, counts = np.zeros((n, n_sizes)), np.zeros(n)
    for test, outputs in parts:
        mistakes[test] += METRICS["zero_one"].by_size(truth[test], outputs)
        counts[test] += 1
    mistakes = np.where(counts[:, None] > 0, mistakes / np.maximum(counts, 1)[:, None], np.nan)
    scores = list[PartScores]()
    if len(truth.classes) == 2 and n <= MOST_PAIRED:
        for test, outputs in parts:
            second, weight = truth.index[test] == 1, float(weights[test].sum())
            if second.all() or not second.any() or not weight > 0:
                continue
            of = np.column_stack([out[:, 0] for out in outputs.values()])
            rows = test[second], test[~second]
            scores.append(PartScores(*rows, of[second], of[~second], weight))
    balance = balancing(truth, np.where(counts > 0, weights, 0.0))
    return ClassFigures(weights, mistakes, None, tuple(scores), balance)


def _probabilities(
    parts: Parts, truth: Truth, weights: Floats, scale: CrossFittedCalibration
) -> dict[str, Any]:
    """Return by size the losses of the probabilities, and with two classes their reliability."""
    assert truth.index is not None
    assert truth.classes is not None
    n_sizes, n, C = len(parts[0][1]), len(truth.index), len(truth.classes)
    losses = {"log_loss": np.zeros((n, n_sizes)), "brier": np.zeros((n, n_sizes))}
    counts, bins = np.zeros(n), np.zeros((n_sizes, BINS, 3))
    times = np.bincount(np.concatenate([test for test, _ in parts]), minlength=n)
    for (test, outputs), one in zip(parts, scale.of_parts, strict=True):
        own = truth.index[test][:, None] == np.arange(C)
        for k, logs in enumerate(one.logs(outputs)):
            p = np.exp(logs)
            losses["log_loss"][test, k] -= logs[own]
            off = np.square(p - own)
            losses["brier"][test, k] += off[:, 1] if C == 2 else off.sum(1)
            if C == 2:
                share = (weights[test] > 0) / times[test]
                place = np.minimum((BINS * p[:, 1]).astype(np.intp), BINS - 1)
                for j, of in enumerate((p[:, 1], own[:, 1], np.ones(len(test)))):
                    bins[k, :, j] += np.bincount(place, of * share, minlength=BINS)
        counts[test] += 1
    counts = np.where(counts > 0, counts, np.nan)[:, None]
    found: dict[str, Any] = {"probable": {name: of / counts for name, of in losses.items()}}
    if C == 2:
        bins[..., :2] /= np.maximum(bins[..., 2:], 1e-300)
        found["reliability"] = bins
    return found


def _areas(parts: Parts, truth: Truth, weights: Floats) -> Floats | None:
    """Return AUC by size, a mean over parts; None unless there are two classes."""
    if truth.classes is None or truth.index is None or len(truth.classes) > 2:
        return None
    areas, total = np.zeros(len(parts[0][1])), 0.0
    for test, outputs in parts:
        second, weight = truth.index[test] == 1, float(weights[test].sum())
        if not second.all() and second.any() and weight > 0:
            areas += weight * (1.0 - METRICS["auc"].by_size(truth[test], outputs)[0])
            total += weight
    return areas / total if total > 0 else np.full(len(areas), np.nan)


def _confusion(parts: Parts, truth: Truth, n: int) -> Floats:
    """Return samples by class and predicted class, for every size."""
    assert truth.classes is not None
    assert truth.index is not None
    n_classes, counts = len(truth.classes), np.zeros(n)
    for test, _ in parts:
        counts[test] += 1
    found = np.zeros((len(parts[0][1]), n_classes * n_classes))
    for test, outputs in parts:
        for k, out in enumerate(outputs.values()):
            cells = truth.index[test] * n_classes + winners(out)
            found[k] += np.bincount(cells, 1 / counts[test], minlength=n_classes**2)
    return found.reshape(-1, n_classes, n_classes)
