"""The search of an estimator, repeated: many problems at once instead of one fit each.

Judging repeats a search with parts of the data left out, with y shuffled, on halves. Where the
search is the plain one (forward, exact leave-one-out, squared loss, one penalty, nothing that
binds features together) all of these are the problems of a ``batch.ProblemSearch``.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.repetitions import Repetition, RepetitionResult
from sparsepath.data.validation import check_weights, column_indices
from sparsepath.path.selection_path import LONGEST_PATH
from sparsepath.rls.batch import ProblemSearch, Searches
from sparsepath.rls.penalties import AUTO, PLAIN
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

LARGE = 1e100
PROBLEMS_AT_ONCE = 20  # problems that share what is prepared for them
BINDING = ("forced", "start", "parents", "feature_groups", "feature_costs", "budget", "epsilon")
CRITERION = "leave-one-out squared error (selection error)"


def search_many(
    estimator: Any, X: Any, Y: Floats, given: Any, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult] | None:
    """Return the result of each repetition; None if the search is not the plain one.

    ``X`` and ``Y`` (samples x targets) are checked. A part in which a column of Y is constant is a
    different problem.
    """
    if not _is_plain(estimator) or set(given) - {"sample_weight"} or not _is_moderate(X):
        return None
    weights = check_weights(given.get("sample_weight"), X.shape[0])
    if not all(_varies(Y, weights, repetition) for repetition in repetitions):
        return None
    return _searched(estimator, X, Y, weights, repetitions)


def _is_plain(estimator: Any) -> bool:
    penalty = _penalty(estimator)
    return bool(
        estimator.search == "forward"
        and isinstance(estimator.cv, str)
        and estimator.cv == "loo"
        and estimator.loss == "squared"
        and isinstance(penalty, int | float)
        and penalty > 0
        and not estimator.pooled
        and all(getattr(estimator, name) is None for name in BINDING)
        and isinstance(estimator.stop, tuple)
        and not estimator.stop
    )


def _penalty(estimator: Any) -> Any:
    """Return ``alpha``; "auto" is a number here, because there is no validation."""
    auto = isinstance(estimator.alpha, str) and estimator.alpha == AUTO
    return PLAIN if auto else estimator.alpha


def _is_moderate(X: Any) -> bool:
    """Return whether no squares overflow; otherwise an individual fit names the columns.

    Sparse data share nothing and are fitted individually.
    """
    if not isinstance(X, np.ndarray):
        return False
    whole = X if X.flags.c_contiguous else X.T
    height = max(1, TUNING.tile_numbers // max(1, whole.shape[1]))
    for i in range(0, len(whole), height):
        sizes = np.abs(whole[i : i + height])
        if float(sizes.max(initial=0)) >= LARGE:
            return False
        if sizes.min(initial=1) < 1 / LARGE and np.any((sizes < 1 / LARGE) & (sizes != 0)):
            return False
    return True


def _varies(Y: Floats, weights: Floats, repetition: Repetition) -> bool:
    inside = Y if repetition.order is None else Y[repetition.order]
    if repetition.rows is not None:
        inside, weights = inside[repetition.rows], weights[repetition.rows]
    if not weights.all():
        inside = inside[weights > 0]
    return len(inside) > 2 and bool((inside != inside[0]).any(0).all())


def _searched(
    estimator: Any, X: Any, Y: Floats, weights: Floats, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult]:
    n = X.shape[1]
    names = getattr(estimator, "feature_names_in_", None)
    forbidden = column_indices(estimator.forbidden, names, n, "forbidden")
    options = {
        "alpha": float(_penalty(estimator)),
        "fit_intercept": estimator.fit_intercept,
        "standardize": estimator.standardize,
        "candidates": [i for i in range(n) if i not in set(forbidden)],
        "likely": repetitions[0].likely if repetitions else (),
    }
    with Threads(estimator.n_threads) as threads:
        for begin in range(0, len(repetitions), PROBLEMS_AT_ONCE):
            some = repetitions[begin : begin + PROBLEMS_AT_ONCE]
            sizes = [_longest(estimator, weights, one.rows) for one in some]
            problems = ProblemSearch.of(
                X,
                _targets(Y, some),
                size=min(n, max(sizes)),
                weights=weights,
                rows=_rows(some, X.shape[0]),
                **options,
            )
            for found, new in problems.search(threads):
                for i in new:
                    yield _one(found, i, X, sizes[i])


def _longest(estimator: Any, weights: Floats, rows: NDArray[np.intp] | None) -> int:
    """Return the maximum size of an estimator's search on some rows."""
    if estimator.max_features is not None:
        return int(estimator.max_features)
    counted = int(np.count_nonzero(weights if rows is None else weights[rows]))
    return max(min(LONGEST_PATH, counted - 1 - int(estimator.fit_intercept)), 0)


def _targets(Y: Floats, some: Sequence[Repetition]) -> Floats:
    if all(one.order is None for one in some):
        return Y
    return np.stack([Y if one.order is None else Y[one.order] for one in some])


def _rows(some: Sequence[Repetition], m: int) -> list[NDArray[np.intp]] | None:
    if all(one.rows is None for one in some):
        return None
    return [np.arange(m) if one.rows is None else one.rows for one in some]


def _one(found: Searches, i: int, X: Any, size: int) -> RepetitionResult:
    """Return the result of one problem, up to the maximum size of its own search."""
    k = min(int(found.sizes[i]), size)
    subsets = {j: tuple(found.subsets[i, :j].tolist()) for j in range(k + 1)}
    errors = dict(enumerate(found.errors[i, : k + 1].tolist()))

    def outputs(rows: NDArray[np.intp]) -> dict[int, Floats]:
        return dict(enumerate(found.predict(i, X, rows)[: k + 1]))

    return RepetitionResult(subsets, errors, outputs, CRITERION)
