"""Repeat a procedure on some of the rows, or with permuted y.

Any estimator is cloned and fitted for each repetition. An estimator that can share work between
repetitions (greedy RLS searches many problems at once; least angle regression and grafting use
products of columns) has a method ``_search_many``, which takes the repetitions and returns a result
for each, or None for all or some of them. Other repetitions are joblib tasks, if joblib runs in
parallel (``with joblib.parallel_config("dask")``).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from sparsepath.assessment.metrics import Floats
from sparsepath.assessment.streamed_outputs import PartOutputs, linear_models
from sparsepath.data.folds import Rows
from sparsepath.data.opening import as_source
from sparsepath.data.row_values import SourceRows
from sparsepath.data.sources import Source, is_source
from sparsepath.errors import InputError, PathWarning
from sparsepath.path.steps import Step
from sparsepath.system.interrupts import pass_on

# Assignments to folds. The error of one has a relative standard deviation between assignments of
# 0.02 (150 x 20), 0.02 to 0.04 (100 x 20), 0.07 (40 x 10) and 0.13 (40 x 200); of mistakes counted
# 0.09 (100 x 20).
FEW_SAMPLES = 150  # up to which folds are assigned several times
MOST_REPEATS, LEAST_REPEATS = 10, 3
ONCE_SECONDS = 0.25  # that one assignment may take, by the estimate of the estimator
REPEAT_SECONDS = 0.5  # that more than LEAST_REPEATS may take

LOADED = 1 << 26  # numbers of a source that are read into memory to repeat a search on them

QUIET = {"validation": None, "callback": None, "checkpoint": None, "choose": "min"}
Given = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Repetition:
    """Rows to use, and the order of y before rows are taken; None: unchanged.

    ``likely`` are columns that a search on all rows selected, if known: prepared data for them will
    be needed here too.
    """

    rows: Rows | None = None
    order: Rows | None = None
    likely: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class RepetitionResult:
    """Result of a repetition."""

    # By size: the columns of the model of each size; one size only if there is no path.
    subsets: Mapping[int, tuple[int, ...]]
    # By size: the criterion of the search; may be empty where some of the rows were used only,
    # since those who repeat a search on parts judge it by other means.
    errors: Mapping[int, float]
    # What the models put out for some rows of the data, by size: numbers, or scores of classes.
    outputs: Callable[[Rows], Mapping[int, Floats]]
    criterion: str = ""  # what the errors are
    # The size with which the method ended, if it is not for a rule to choose one.
    own: int | None = None
    model: Any = None  # the fitted estimator; None: a constant, or the search was shared

    def subset(self, size: int) -> tuple[int, ...]:
        """Return the columns of the largest model up to this size."""
        return self.subsets[largest_size_up_to(size, self.subsets)]

    def error(self, size: int) -> float:
        """Return the criterion of the largest model up to this size."""
        return self.errors[largest_size_up_to(size, self.errors)]


# For data that are read in passes: what an estimator finds in repetitions; None where there is no
# shorter way than to fit it.
Shorter = Callable[[Any, Sequence[Repetition]], Iterator[RepetitionResult | None]]


def searches(
    estimator: Any,
    X: Any,
    y: Any,
    given: Given,
    repetitions: Sequence[Repetition],
    classes: NDArray[Any] | None = None,
    shorter: Callable[[Sequence[Repetition]], Iterator[RepetitionResult | None]] | None = None,
) -> Iterator[RepetitionResult]:
    """Yield the result of the procedure for each repetition.

    ``X`` and ``y`` are data with selectable rows (``by_rows``), ``given`` the other arguments of
    ``fit``, and ``classes`` all labels in order. ``shorter`` replaces ``_search_many`` for data
    that are read in passes.
    """
    quiet, in_passes = quiet_copy(estimator), isinstance(X, Source)
    if not in_passes and (at_once := getattr(quiet, "_search_many", None)) is not None:
        shorter = partial(at_once, X, y, given)
    found = None if shorter is None else shorter(repetitions)
    if found is None and effective_n_jobs(None) > 1 and not in_passes:
        tasks = (delayed(_model)(quiet, X, y, given, each) for each in repetitions)
        for model in Parallel(return_as="generator")(tasks):
            yield _found(model, X, classes)
        return
    if found is None:
        found = repeat(None)
    for one, repetition in zip(found, repetitions, strict=False):
        yield _found(_model(quiet, X, y, given, repetition), X, classes) if one is None else one


def repetitions(estimator: Any, n: int, p: int, folds: int) -> int:
    """Return how often n x p samples are assigned to folds by default.

    Several times for few samples and fast searches. ``_fold_seconds(n, p)`` of the estimator
    estimates the time from the shape alone, so the result is the same on every machine.
    """
    expected = getattr(estimator, "_fold_seconds", None)
    if expected is None or n > FEW_SAMPLES:
        return 1
    seconds = folds * expected(n, p)
    if seconds > ONCE_SECONDS:
        return 1
    return min(MOST_REPEATS, max(LEAST_REPEATS, int(REPEAT_SECONDS / seconds)))


def _model(quiet: Any, X: Any, y: Any, given: Given, repetition: Repetition) -> Any:
    """Return the model of a repetition; if all targets are equal, a constant one."""
    target = y if repetition.order is None else rows_of(y, repetition.order)
    part, inside = X, target
    if repetition.rows is not None:
        inside = rows_of(target, repetition.rows)
        part = X if isinstance(X, Source) else rows_of(X, repetition.rows)
    values = np.asarray(inside).reshape(len(inside), -1)
    if (values == values[0]).all():  # nothing to learn: the constant itself
        return values[:1]
    if isinstance(X, Source):
        return fit_clone(
            quiet, X.taken(repetition.rows, inside), None, given, repetition.rows, len(y)
        )
    return fit_clone(quiet, part, inside, given, repetition.rows, len(y))


def _found(model: Any, X: Any, classes: NDArray[Any] | None) -> RepetitionResult:
    """Return the outputs of a model; ``X`` are all rows."""
    if isinstance(model, np.ndarray):
        return RepetitionResult(
            {0: ()}, {0: 0.0}, lambda rows: {0: np.repeat(_constant(model, classes), len(rows), 0)}
        )
    last = last_step(model)
    path = getattr(last, "path_", None)
    if path is None:
        columns = selected_by(model, X.shape[1])
        size = len(columns)
        subsets, errors, criterion = {size: tuple(columns)}, {size: np.nan}, ""
    else:
        subsets = dict(zip(path.sizes, path.subsets, strict=True))
        if selects_columns(model):
            of = _kept(model, X.shape[1])
            subsets = {size: tuple(of[list(s)].tolist()) for size, s in subsets.items()}
        errors = dict(zip(path.sizes, path.errors.tolist(), strict=True))
        criterion = path.error_label

    def outputs(rows: Rows) -> Mapping[int, Floats]:
        if isinstance(X, Source) and path is not None:
            some, place = np.unique(rows, return_inverse=True)
            steps = dict(zip(path.sizes, path.steps, strict=True))
            data, steps = last._steps_in_passes(X) if hasattr(last, "_at_sizes") else (X, steps)
            at = PartOutputs(data, [some])
            at.add(0, linear_models(steps))
            return {size: _in_order(out[place], last, classes) for size, out in at(0).items()}
        if path is None:
            return {len(columns): _columns(model, rows_of(X, rows), classes)}
        part = rows_of(X, rows)
        first = isinstance(model, Pipeline) and len(model.steps) > 1
        return _outputs_of(last, model[:-1].transform(part) if first else part, classes)

    own = getattr(last, "_own_size", None)
    return RepetitionResult(subsets, errors, outputs, criterion, own, last)


def is_plain(y: Floats, repetition: Repetition) -> bool:
    """Return whether the targets of the rows of a repetition vary."""
    inside = y[repetition.rows if repetition.rows is not None else slice(None)]
    return len(inside) > 2 and bool((inside != inside[0]).any())


def _constant(value: NDArray[Any], classes: NDArray[Any] | None) -> Floats:
    """Return the outputs of a constant model."""
    if classes is None:
        return np.asarray(value, dtype=np.float64)
    columns = classes[1:] if len(classes) == 2 else classes
    return np.where(value == columns, 1.0, -1.0)


def fit_clone(
    estimator: Any, X: Any, y: Any, given: Given, rows: Rows | None = None, n: int | None = None
) -> Any:
    """Return a clone fitted without warnings; arguments with an entry per sample are cut to rows.

    A source has its own targets, and y is None. An interrupt is raised again for the caller.
    """

    def cut(value: Any) -> Any:
        per_sample = rows is not None and hasattr(value, "__len__") and len(value) == n
        return rows_of(value, rows) if per_sample and not isinstance(value, str) else value

    model = clone(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        model = model.fit(X, y, **{name: cut(value) for name, value in given.items()})
    pass_on(last_step(model))
    return model


def quiet_copy(estimator: Any) -> Any:
    """Return a copy that only searches, also as the last step of a pipeline."""
    copy = clone(estimator)
    last = last_step(copy)
    if hasattr(last, "get_params"):
        for name in QUIET.keys() & last.get_params(deep=False).keys():
            setattr(last, name, QUIET[name])
    return copy


def has_path(estimator: Any) -> bool:
    """Return whether an estimator, or the last step of a pipeline, has a path."""
    return hasattr(last_step(estimator), "at_size")


def selects_columns(estimator: Any) -> bool:
    """Return whether the estimator selects columns of X (others select samples)."""
    return bool(getattr(last_step(estimator), "_selects_columns", True))


def check_predicts(estimator: Any) -> None:
    """Raise an error for a selector that does not predict."""
    if not hasattr(estimator, "predict"):
        name = type(estimator).__name__
        raise InputError(
            f"{name} has no predictions to evaluate; put it in a pipeline with a model, such as "
            f"make_pipeline({name}(...), Ridge())."
        )


def check_repeats(estimator: Any) -> None:
    """Refuse what chooses between methods: repetitions are of one search."""
    if getattr(last_step(estimator), "_chooses_method", False):
        raise InputError(
            f"{type(last_step(estimator)).__name__} (--method auto) chooses between methods, and "
            "one of them must be repeated; give the estimator of its method_."
        )


def selected_by(model: Any, n: int) -> NDArray[np.intp]:
    """Return the columns, of n, that a fitted model uses, from its support or coefficients."""
    if hasattr(model, "best_estimator_"):
        return selected_by(model.best_estimator_, n)
    if isinstance(model, Pipeline):
        kept = _kept(model, n)
        return kept[selected_by(model.steps[-1][1], len(kept))]
    if hasattr(model, "get_support"):
        return np.flatnonzero(model.get_support())
    coef = getattr(model, "coef_", None)
    if isinstance(coef, np.ndarray) and coef.ndim and coef.shape[-1] == n:
        return np.flatnonzero(np.atleast_2d(coef).any(0))
    return np.arange(n)


def _kept(model: Any, n: int) -> NDArray[np.intp]:
    """Return the columns that reach the last step of a pipeline; all for other models."""
    kept = np.arange(n)
    if not isinstance(model, Pipeline):
        return kept
    for _, step in model.steps[:-1]:
        if step is None or isinstance(step, str):
            continue
        if hasattr(step, "get_support"):
            kept = kept[np.flatnonzero(step.get_support())]
        elif _width(step, len(kept)) != len(kept):
            raise InputError(
                f"{type(step).__name__} in the pipeline creates new columns, which cannot be "
                "mapped to columns of the data; apply it to the data first."
            )
    return kept


def _width(step: Any, n: int) -> int:
    """Return the number of output columns of a fitted transformer, if known."""
    return len(step.get_feature_names_out()) if hasattr(step, "get_feature_names_out") else n


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def with_groups(estimator: Any, given: Given, groups: Any) -> dict[str, Any]:
    """Return the arguments of ``fit`` with groups, if the estimator accepts them."""
    takes = groups is not None and has_fit_parameter(estimator, "groups")
    return {**({"groups": groups} if takes else {}), **given}


def data_by_rows(
    X: Any, y: Any, given: Given, loaded: int = 0
) -> tuple[Any, Any, dict[str, Any], Floats | None]:
    """Return data with selectable rows, the other arguments of ``fit``, and the sample weights.

    A source with at most ``loaded`` numbers, or with few samples, is read into memory.
    """
    given = dict(given)
    if not is_source(X):
        return by_rows(X), by_rows(y), given, given.get("sample_weight")
    weights = given.pop("sample_weight", None)
    if not isinstance(X, Source) or y is not None or weights is not None:
        X = as_source(X, y, weights)
    y, weights = SourceRows(X).targets()
    weights = None if (weights == 1).all() else weights
    if len(y) <= FEW_SAMPLES or X.shape[0] * X.shape[1] <= loaded:
        if weights is not None:
            given["sample_weight"] = weights
        X = SourceRows(X).loaded()
    return X, y, given, weights


def by_rows(data: Any) -> Any:
    """Return data with selectable rows: lists as arrays, sparse matrices by rows."""
    if hasattr(data, "tocsr"):
        return data.tocsr()
    return np.asarray(data) if not hasattr(data, "shape") else data


def rows_of(data: Any, rows: Rows | None) -> Any:
    """Return some rows of an array, a sparse matrix, a data frame or a series."""
    return _safe_indexing(data, rows)


def linear_outputs(X: Any, steps: Iterable[Step]) -> dict[int, Floats]:
    """Return the outputs of linear models, by size."""
    A: Any = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    return {
        len(step.subset): np.asarray(A[:, list(step.subset)] @ step.coef) + step.intercept
        for step in steps
    }


def _outputs_of(model: Any, X: Any, classes: NDArray[Any] | None) -> Mapping[int, Floats]:
    """Return the outputs of every model on a fitted path."""
    if hasattr(model, "_at_sizes"):  # a selector on top of another
        X, models = model._at_sizes(X)
        return {size: _columns(beneath, X, classes) for size, beneath in models.items()}
    path = model.path_
    if path.has_linear_models:
        found = linear_outputs(X, path.steps)
        return {size: _in_order(scores, model, classes) for size, scores in found.items()}
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
    """Return scores in the order of all classes, for a model that may have seen fewer."""
    if classes is None or len(model.classes_) == len(classes):
        return scores
    if scores.shape[1] == 1:
        scores = np.hstack([-scores, scores])
    whole = np.full((len(scores), len(classes)), min(-1.0, scores.min(initial=0.0)))
    whole[:, np.searchsorted(classes, model.classes_)] = scores
    return whole


def largest_size_up_to(size: int, found: Iterable[int]) -> int:
    """Return the largest available size up to this one; the smallest if all are larger."""
    known = sorted(found)
    return max((k for k in known if k <= size), default=known[0])


def fill_sizes(found: Mapping[int, Floats], sizes: Sequence[int]) -> dict[int, Floats]:
    """Return an entry for each size; a missing size takes the next smaller one."""
    return {k: found[k if k in found else largest_size_up_to(k, found)] for k in sizes}
