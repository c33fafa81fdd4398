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

For classification, ``class_figures.py`` computes further figures of the same predictions. If the
estimator has ``validation``, each part is judged with the calibration of the other parts.
Logarithms of odds are not calibrated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.assessment.calibration import CrossFittedCalibration, Part, cross_fitted
from sparsepath.assessment.class_figures import class_figures, complete_figures
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.held_out import HeldOutLosses
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
from sparsepath.data.classes import class_weighted
from sparsepath.data.folds import Rows
from sparsepath.data.sources import Source
from sparsepath.errors import InputError
from sparsepath.path.choosing import is_size, places
from sparsepath.system.interrupts import Interruptible

FEWEST = 8  # samples below which parts say nothing


class StopRequestedError(KeyboardInterrupt):
    """A callback stopped the work; equivalent to Ctrl-C."""


class Ways(Protocol):
    """Several ways to do one procedure."""

    estimators: Mapping[Any, Any]  # those to be searched with in every part, by name
    names: Sequence[Any]  # of the ways, the preferred one first
    # By which the ways are judged; None: see metric_of.
    metric: Metric | None
    plain: Sequence[Any]  # names of inflexible models, if the others are flexible

    def outputs(
        self, name: Any, found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Any, Mapping[int, Floats]]:
        """Return, for every way based on one of the searches, the outputs of its models by size."""
        ...

    def are_logits(self, name: Any, metric: Metric) -> bool:
        """Return whether the outputs of a way are logarithms of odds; others are calibrated."""
        ...


class SingleProcedure:
    """A procedure that is done in one way."""

    metric: Metric | None = None
    plain: Sequence[Any] = ()

    def __init__(self, estimator: Any) -> None:
        self.estimators: Mapping[Any, Any] = {None: estimator}
        self.names: Sequence[Any] = (None,)

    def outputs(
        self, name: Any, found: RepetitionResult, train: Rows, test: Rows
    ) -> Mapping[Any, Mapping[int, Floats]]:
        return {None: found.outputs(test)}

    def are_logits(self, name: Any, metric: Metric) -> bool:
        return metric == METRICS["logistic"]


@dataclass(eq=False)
class _HeldOutOutputs:
    """Outputs of one way for the parts so far."""

    search: Any  # its name
    parts: list[Part] = field(default_factory=list)
    ends: list[int | None] = field(default_factory=list)
    subsets: list[Mapping[int, tuple[int, ...]]] = field(default_factory=list)

    def add(self, test: Rows, outputs: Mapping[int, Floats], one: RepetitionResult) -> None:
        self.ends.append(one.own)
        self.subsets.append(one.subsets)
        self.parts.append((test, outputs))

    def own_size(self) -> int | None:
        """Return the usual final size of a method that determines its own size."""
        known = [end for end in self.ends if end is not None]
        return int(np.median(known)) if known else None


@dataclass(frozen=True, eq=False)
class _EvaluatedWay:
    """The losses of one way, and what they are made of."""

    held_out: HeldOutLosses
    parts: list[Part]
    losses: list[tuple[Rows, Floats]]  # of every part
    calibration: CrossFittedCalibration
    logits: bool  # outputs are logarithms of odds


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """What all ways of one procedure are evaluated by."""

    estimator: Any
    truth: Truth
    metric: Metric
    weights: Floats  # (n,): as given
    clusters: Rows
    folds: int  # of one assignment

    @cached_property
    def class_weights(self) -> Floats:
        """Weights of the samples in a mean, by ``class_weight`` of the estimator."""
        beneath = getattr(self.estimator, "selector", None) or self.estimator
        wanted, truth = getattr(beneath, "class_weight", None), self.truth
        if wanted is None or truth.classes is None or truth.index is None:
            return self.weights
        return class_weighted(wanted, truth.classes, truth.index, self.weights)

    def evaluate(
        self, of: _HeldOutOutputs, sizes: Sequence[int] | None, own: int | None, *, logits: bool
    ) -> _EvaluatedWay:
        """Return the losses of one way; ``sizes`` and ``own`` as in ``held_out_losses``."""
        parts, truth, usual = of.parts, self.truth, of.own_size()
        own = usual if own is None or usual is None else own
        if own is not None:
            parts = _at_own_size(parts, of.ends, own)
        if sizes is None:
            sizes = sorted({size for _, outputs in parts for size in outputs})
        parts = [(test, fill_sizes(outputs, sizes)) for test, outputs in parts]
        calibration = self._calibration(parts, logits=logits)
        decided = calibration.moved(parts)
        judged = decided if self.metric.decides else parts
        if self.metric == METRICS["logistic"]:
            judged = calibration.logits(parts)
        by_part = self._losses(judged)
        losses = _mean_losses(by_part, len(self.weights))
        counted = ~np.isnan(losses[:, 0])
        held_out = HeldOutLosses(
            tuple(sizes),
            losses,
            _weights(self.class_weights, truth, self.metric, counted),
            self._clusters(parts),
            "",
            self.metric.name,
            figures=class_figures(decided, truth, self.weights),
            own=own,
            subsets=tuple(of.subsets),
        )
        return _EvaluatedWay(held_out, parts, by_part, calibration, logits)

    def complete(
        self, way: _EvaluatedWay, plain: Sequence[_EvaluatedWay], *, at_random: bool
    ) -> HeldOutLosses:
        """Return the losses of the chosen way, with everything that is only needed once.

        A flexible model predicts rows well from their neighbours in other folds, and its errors
        then seem independent: those of the best of the ``plain`` ways count as well.
        """
        found, truth = way.held_out, self.truth
        neighbours, figures = dict[int, float](), found.figures
        if at_random and self.metric != METRICS["concordance"]:
            neighbours = self._correlation(way)
            if plain:
                best = min(plain, key=lambda one: float(one.held_out.errors.min()))
                size = best.held_out.sizes[int(best.held_out.errors.argmin())]
                if r := self._correlation(best).get(size):
                    neighbours = {each: max(r, neighbours.get(each, r)) for each in found.sizes}
        if figures is not None:
            beneath = getattr(self.estimator, "selector", None) or self.estimator
            threshold = getattr(beneath, "threshold", None)
            figures = complete_figures(figures, way.parts, truth, way.calibration, threshold)
        between = found.between
        if not self.metric.by_part:
            between = _between(way.losses, found.weights, found.clusters)
        by_repeat = _by_repeat(way.losses, found.weights, self.folds)
        return replace(
            found, neighbours=neighbours, figures=figures, between=between, by_repeat=by_repeat
        )

    def _correlation(self, way: _EvaluatedWay) -> dict[int, float]:
        """Return the correlation of the errors of neighbouring rows, by size."""
        once = way.parts[: self.folds]
        return error_correlation(once, self.truth, self.clusters, logits=way.logits)

    def _calibration(self, parts: list[Part], *, logits: bool) -> CrossFittedCalibration:
        estimator, truth = self.estimator, self.truth
        validated = getattr(estimator, "validation", None) is not None
        if not (has_path(estimator) and is_classifier(estimator) and validated) or logits:
            return CrossFittedCalibration.none(parts)
        assert truth.classes is not None
        assert truth.index is not None
        weights = self.class_weights
        if metric_of(estimator).balanced:  # the decision is to be good in each class
            weights = balancing(truth, weights)
        repeats = len(parts) // self.folds if len(parts) % self.folds == 0 else 1
        return cross_fitted(parts, truth.index, weights, len(truth.classes), repeats)

    def _losses(self, parts: list[Part]) -> list[tuple[Rows, Floats]]:
        """Return of every part the samples that have a loss, and their losses by size."""
        found = list[tuple[Rows, Floats]]()
        for test, outputs in parts:
            losses = self.metric.by_size(self.truth[test], outputs)
            known = ~np.isnan(losses[:, 0])
            found.append((test, losses) if known.all() else (test[known], losses[known]))
        return found

    def _clusters(self, parts: list[Part]) -> Rows:
        clusters = self.clusters.copy()
        if self.metric.by_part:
            for part, (test, _) in enumerate(parts):
                clusters[test] = len(clusters) + part
        return clusters


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
    callback: Callable[[int, int], object] | None = None,
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
    - ``callback`` is called with the number of finished parts and the total; a true value stops the
      work.
    - With ``keep``, the finished parts are used after such a stop or Ctrl-C, if there are at least
      two; otherwise the interrupt is raised again.
    """
    check_predicts(estimator)
    given = with_groups(estimator, fit_params or {}, groups)
    X, y, given, weight = data_by_rows(X, y, given, LOADED if shorter is None else 0)
    in_passes = isinstance(X, Source)
    ways = _ways_of(estimator, X, y, given)
    scoring = METRICS[metric] if metric is not None else ways.metric or metric_of(estimator)
    query = groups if scoring in (METRICS["ranking"], METRICS["disagreement"]) else None
    truth = Truth.of(y, is_class=is_classifier(estimator), query=query)
    if repeats is None and isinstance(validation, Integral):
        repeats = repetitions(estimator, len(y), X.shape[1], int(validation))
    repeats = 1 if scoring.by_part or repeats is None else repeats
    classes = is_classifier(estimator)
    found = parts_of(validation, X, y, groups, weight, classes=classes, repeats=repeats)
    results = dict[Any, Iterable[RepetitionResult]]()
    for name, each in ways.estimators.items():
        path = None if paths is None else paths.get(name)
        chosen = likely if path is None else path.subset(path.sizes[-1])
        again = [Repetition(rows=train, likely=tuple(chosen)) for train, _ in found.splits]
        mine = partial(shorter, each) if in_passes and shorter is not None else None
        results[name] = searches(each, X, y, given, again, truth.classes, mine)
    outputs = _held_out_outputs(
        ways, found.splits, results, in_passes=in_passes, keep=keep, callback=callback
    )
    trains = [train for train, _ in found.splits]
    if not has_path(estimator):
        for of in outputs.values():
            of.parts = _with_empty_model(of.parts, truth, trains, given)
    evaluation = _Evaluation(
        estimator,
        truth,
        scoring,
        np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64),
        found.clusters,
        len(found.splits) // found.repeats,
    )
    count = len(next(iter(outputs.values())).parts)
    whole, label = count == len(found.splits), found.label
    if not whole:
        label += f", {count} of {len(found.splits)} parts"
    evaluated = list[_EvaluatedWay]()
    for way in ways.names:
        of = outputs[way]
        path = None if paths is None else paths.get(of.search)
        logits = ways.are_logits(way, scoring)
        one = evaluation.evaluate(of, sizes if path is None else path.sizes, own, logits=logits)
        named = replace(
            one.held_out, label=label, whole=whole, way=way, searcher=ways.estimators[of.search]
        )
        evaluated.append(replace(one, held_out=named))
    best = preferred_way([one.held_out for one in evaluated], choose)
    chosen = evaluated.pop(best)
    plain = [one for one in evaluated if one.held_out.way in ways.plain]
    if chosen.held_out.way in ways.plain:
        plain = []
    losses = evaluation.complete(chosen, plain, at_random=found.at_random)
    return replace(losses, others=tuple(one.held_out for one in evaluated), place=best)


def _held_out_outputs(
    ways: Ways,
    splits: Sequence[tuple[Rows, Rows]],
    results: Mapping[Any, Iterable[RepetitionResult]],
    *,
    in_passes: bool,
    keep: bool,
    callback: Callable[[int, int], object] | None,
) -> dict[Any, _HeldOutOutputs]:
    """Return the outputs of every way; after Ctrl-C all ways have the same parts."""
    found = dict[Any, _HeldOutOutputs]()
    waiting = list[tuple[Rows, Rows, Mapping[Any, RepetitionResult]]]()

    def enough() -> bool:
        tests = [test for _, test, _ in waiting]
        tests += [test for test, _ in next(iter(found.values())).parts] if found else []
        return keep and len(tests) > 1 and sum(map(len, tests)) >= FEWEST

    with Interruptible(keep=enough):
        each = {name: iter(of) for name, of in results.items()}
        for i, (train, test) in enumerate(splits):
            if callback is not None and callback(i, len(splits)):
                raise StopRequestedError
            here = {name: next(of) for name, of in each.items()}
            if in_passes:  # one pass for the predictions of all parts
                waiting.append((train, test, here))
            else:
                _add(found, ways, train, test, here)
    for one in waiting:
        _add(found, ways, *one)
    return found


def _add(
    found: dict[Any, _HeldOutOutputs],
    ways: Ways,
    train: Rows,
    test: Rows,
    results: Mapping[Any, RepetitionResult],
) -> None:
    """Add a part to every way, or to none if this is interrupted."""
    new = list[tuple[Any, Any, Mapping[int, Floats], RepetitionResult]]()
    for name, one in results.items():
        outputs = ways.outputs(name, one, train, test)
        new += [(way, name, of, one) for way, of in outputs.items()]
    for way, name, of, one in new:
        found.setdefault(way, _HeldOutOutputs(name)).add(test, of, one)


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


def _at_own_size(parts: list[Part], ends: Sequence[int | None], own: int) -> list[Part]:
    """Replace the outputs at the method's own size by those of its final models."""
    made = list[Part]()
    for (test, outputs), end in zip(parts, ends, strict=False):
        others = {size: out for size, out in outputs.items() if size != own}
        made.append((test, {**others, own: outputs[max(outputs) if end is None else end]}))
    return made


def metric_of(estimator: Any) -> Metric:
    """Return the metric of an estimator, which may define it itself."""
    name = getattr(estimator, "_metric", None)
    if name is None:
        name = "zero_one" if is_classifier(estimator) else "squared"
    return name if isinstance(name, Metric) else METRICS[name]


def _with_empty_model(
    parts: list[Part], truth: Truth, trains: Sequence[Rows], given: Any
) -> list[Part]:
    """Return the outputs of a predictor without a path, under its usual size, and of the empty
    model.

    The empty model predicts the mean or the most frequent class.
    """
    usual = int(np.median([max(outputs) for _, outputs in parts]))
    weights = given.get("sample_weight")
    made = list[Part]()
    for (test, outputs), train in zip(parts, trains, strict=False):
        w = None if weights is None else np.asarray(weights)[train]
        none = np.average(truth[train].values, axis=0, weights=w)
        made.append((test, {0: np.repeat(none[None], len(test), 0), usual: outputs[max(outputs)]}))
    return made


def _mean_losses(parts: list[tuple[Rows, Floats]], n: int) -> Floats:
    """Return the mean loss of every sample by size; NaN: never held out."""
    losses, counts = np.zeros((n, parts[0][1].shape[1])), np.zeros(n)
    for rows, some in parts:
        losses[rows] += some
        counts[rows] += 1
    if not (counts == 1).all():
        losses /= np.maximum(counts, 1)[:, None]
        losses[counts == 0] = np.nan
    return losses


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
