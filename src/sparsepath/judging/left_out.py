"""What the whole procedure errs on samples that it never saw.

The search, its penalty, centring, encoding, everything that looks at X or y is done again with
each part of the data left out, and every model on the path that comes of it predicts that part.
The result is a matrix of losses, one row per sample and one column per size. Size k means *at most
k features*: where the path of a part has no model of size k, its largest below k stands in.

Samples are left out once or, by repeated splits, several times (then the mean counts), or never
(the first part of a series); rows that are never left out play no part.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from sparsepath.errors import InputError, PathWarning
from sparsepath.judging.class_figures import class_figures
from sparsepath.judging.folds import Rows, parts_of
from sparsepath.judging.yardsticks import YARDSTICKS, Floats, Truth, Yardstick, balancing
from sparsepath.path import INTERRUPTED

QUIET = {"validation": None, "callback": None, "checkpoint": None, "choose": "min"}


class AskedToEndError(Exception):
    """Whoever was told of the parts wanted no more of them."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Losses of samples that were left out, by size.

    Attributes
    ----------
    sizes : tuple of int
        Ascending.
    losses : array of shape (n, K)
        NaN for samples that were never left out.
    weights : array of shape (n,)
        Of the samples in a mean; they sum to one over those that were left out.
    clusters : array of int, shape (n,)
        Samples that hang together: those of a group, or of a part that has one figure for all.
    label : str
        How parts were left out, as ``"10-fold"``.
    yardstick : str
        What is measured.
    figures : dict of arrays
        For classes also ``error_rate`` and ``auc`` of the same predictions, by size.
    """

    sizes: tuple[int, ...]
    losses: Floats
    weights: Floats
    clusters: NDArray[np.intp]
    label: str
    yardstick: str
    figures: dict[str, Floats] = field(default_factory=dict)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which samples were left out, and count."""
        return ~np.isnan(self.losses[:, 0]) & (self.weights > 0)

    @property
    def errors(self) -> Floats:
        """The mean loss of each size."""
        return self.weights[self.known] @ self.losses[self.known]

    @property
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
        known = self.known
        _, of = np.unique(self.clusters[known], return_inverse=True)
        totals = np.zeros((of.max(initial=-1) + 1, losses.shape[1]))
        np.add.at(totals, of, self.weights[known, None] * losses[known])
        return totals


def left_out(
    estimator: Any,
    X: Any,
    y: Any,
    validation: Any = 10,
    *,
    sizes: Sequence[int] | None = None,
    fit_params: Mapping[str, Any] | None = None,
    groups: Any = None,
    told: Callable[[int, int], object] | None = None,
) -> LeftOut:
    """Repeat the procedure with each part of the data left out.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        It is cloned; a plain predictor has one size, the number of columns it says it selected.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    validation : int, splitter or list of splits
        A number of folds: dealt by a fixed seed, stratified by y, with whole ``groups``.
    sizes : sequence of int, optional
        The sizes wanted; default: all that any part reaches.
    fit_params : mapping, optional
        More arguments of ``fit``; those with an entry per sample are cut like y.
    groups : array, optional
        Samples that must not be parted.
    told : callable, optional
        Called with the number of parts done and of all; a true value ends the work there.
    """
    X, y = by_rows(X), by_rows(y)
    n, given = len(y), with_groups(estimator, fit_params or {}, groups)
    classes = is_classifier(estimator)
    yardstick = yardstick_of(estimator)
    query = groups if yardstick in (YARDSTICKS["ranking"], YARDSTICKS["disagreement"]) else None
    truth = Truth.of(y, is_class=classes, query=query)
    found = parts_of(validation, X, y, groups, given.get("sample_weight"))
    splits, clusters = found.splits, found.clusters.copy()
    quiet = quiet_copy(estimator)
    parts = []
    for done, (train, test) in enumerate(splits):
        if told is not None and told(done, len(splits)):
            raise AskedToEndError
        parts.append((test, _predicted(quiet, X, y, truth, train, test, given)))
    if sizes is None:
        reached = max(max(outputs) for _, outputs in parts)
        sizes = sorted({size for _, outputs in parts for size in outputs if size <= reached})
    losses, counts = np.zeros((n, len(sizes))), np.zeros(n)
    for part, (test, outputs) in enumerate(parts):
        columns = {size: yardstick.losses(truth[test], out) for size, out in outputs.items()}
        chosen = np.column_stack([columns[at_most(size, columns)] for size in sizes])
        seen = ~np.isnan(chosen[:, 0])
        losses[test[seen]] += chosen[seen]
        counts[test[seen]] += 1
        if yardstick.by_part:
            clusters[test] = n + part
    losses = np.where(counts[:, None] > 0, losses / np.maximum(counts, 1)[:, None], np.nan)
    weights = _weights(given.get("sample_weight"), truth, yardstick, counts > 0)
    figures = class_figures(parts, truth, sizes, given.get("sample_weight"), at_most)
    return LeftOut(
        tuple(sizes), losses, weights, clusters, found.label, yardstick.name, figures=figures
    )


def yardstick_of(estimator: Any) -> Yardstick:
    """What an estimator's predictions are judged by; it may say so itself."""
    name = getattr(estimator, "_yardstick", None)
    if name is None:
        name = "zero_one" if is_classifier(estimator) else "squared"
    return name if isinstance(name, Yardstick) else YARDSTICKS[name]


def quiet_copy(estimator: Any) -> Any:
    """A copy that searches and nothing else."""
    copy = clone(estimator)
    if hasattr(copy, "get_params"):
        known = copy.get_params(deep=False)
        copy.set_params(**{name: value for name, value in QUIET.items() if name in known})
    return copy


def _predicted(
    estimator: Any,
    X: Any,
    y: Any,
    truth: Truth,
    train: Rows,
    test: Rows,
    given: Mapping[str, Any],
) -> dict[int, Floats]:
    """What the models of a training part put out for the samples left out, by size."""
    inside = truth[train].values
    if (inside == inside[0]).all():  # nothing to learn: the constant itself
        return {0: np.repeat(inside[:1], len(test), 0)}
    model = fitted(estimator, rows_of(X, train), rows_of(y, train), given, train, len(y))
    return outputs_of(model, rows_of(X, test), truth.classes)


def fitted(
    estimator: Any,
    X: Any,
    y: Any,
    given: Mapping[str, Any],
    rows: Rows | None = None,
    n: int | None = None,
) -> Any:
    """A clone, fitted in silence; arguments with an entry for each of n samples are cut to rows.

    A search that is interrupted keeps what it found, which is a path, but no fair sample of what
    the whole search does: the interrupt goes on to whoever repeats it.
    """

    def cut(value: Any) -> Any:
        per_sample = rows is not None and hasattr(value, "__len__") and len(value) == n
        return rows_of(value, rows) if per_sample and not isinstance(value, str) else value

    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        model = model.fit(X, y, **{name: cut(value) for name, value in given.items()})
    if getattr(getattr(model, "path_", None), "stopped", "") == INTERRUPTED:
        raise KeyboardInterrupt
    return model


def with_groups(estimator: Any, given: Mapping[str, Any], groups: Any) -> dict[str, Any]:
    """The arguments of ``fit``, with the groups if it takes them: its own splits need them too."""
    takes = groups is not None and has_fit_parameter(estimator, "groups")
    return {**({"groups": groups} if takes else {}), **given}


def by_rows(data: Any) -> Any:
    """Data whose rows can be taken: lists as arrays, sparse matrices by rows."""
    if hasattr(data, "tocsr"):
        return data.tocsr()
    return np.asarray(data) if not hasattr(data, "shape") else data


def rows_of(data: Any, rows: Rows | None) -> Any:
    """Some rows of an array, a sparse matrix, a data frame or a series of any make."""
    return _safe_indexing(data, rows)


def outputs_of(model: Any, X: Any, classes: NDArray[Any] | None) -> dict[int, Floats]:
    """What every model on a fitted path puts out: numbers, or scores of the classes."""
    path = getattr(model, "path_", None)
    if path is None:
        selected = getattr(model, "n_features_in_", X.shape[1])
        return {int(selected): _columns(model, X, classes)}
    if all(step.coef is not None and step.intercept is not None for step in path.steps):
        A = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        return {
            len(step.subset): _in_order(
                np.asarray(A[:, list(step.subset)] @ step.coef) + step.intercept, model, classes
            )
            for step in path.steps
        }
    return {size: _columns(model.at_size(size), X, classes) for size in path.sizes}


def _columns(model: Any, X: Any, classes: NDArray[Any] | None) -> Floats:
    if classes is None:
        return np.asarray(model.predict(X), dtype=np.float64).reshape(X.shape[0], -1)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        return _in_order(scores.reshape(X.shape[0], -1), model, classes)
    found = np.asarray(model.predict(X))
    columns = classes[1:] if len(classes) == 2 else classes
    return np.where(found[:, None] == columns, 1.0, -1.0)


def _in_order(scores: Floats, model: Any, classes: NDArray[Any] | None) -> Floats:
    """Scores of a model that may have seen fewer classes, in the order of all of them."""
    if classes is None or len(model.classes_) == len(classes):
        return scores
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    whole = np.full((len(scores), len(classes)), min(-1.0, scores.min(initial=0.0)))
    whole[:, np.searchsorted(classes, model.classes_)] = scores
    return whole


def at_most(size: int, found: Iterable[int]) -> int:
    """The largest size there is up to this; the smallest if all are larger."""
    known = sorted(found)
    return max((k for k in known if k <= size), default=known[0])


def _weights(given: Any, truth: Truth, yardstick: Yardstick, counted: NDArray[np.bool_]) -> Floats:
    weights = np.ones(len(counted)) if given is None else np.asarray(given, dtype=np.float64)
    weights = np.where(counted, weights, 0.0)
    if yardstick.balanced:
        weights = balancing(truth, weights)
    total = weights.sum()
    if not total > 0:
        raise InputError("no sample of positive weight was left out; use other splits.")
    return weights / total
