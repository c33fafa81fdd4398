"""The search of an estimator, repeated: many problems at once instead of one fit each.

Honest errors, permutations and stability repeat a search with parts of the data left out, with y
shuffled, on halves. Where the search is the plain one (forward, exact leave-one-out, squared loss,
one penalty, nothing that binds features together) these problems share what they have in common,
and each is searched by one thread with the engine that ``engines.py`` chooses. Large parts of the
same rows share their products of columns (``shared_moments.py``).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment.repetitions import Repetition, RepetitionResult
from sparsepath.data.memory_layout import column_major
from sparsepath.data.validation import check_weights, column_indices
from sparsepath.path.selection_path import LONGEST_PATH
from sparsepath.rls.driver import run
from sparsepath.rls.engines import bounds_pay, make_design, make_forward_search
from sparsepath.rls.leave_one_out.forward_path import ForwardPath
from sparsepath.rls.leave_one_out.gram_search import products_pay
from sparsepath.rls.parameters import SearchSpec
from sparsepath.rls.penalties import AUTO, PLAIN
from sparsepath.rls.shared_moments import Problems, SharedParts, n_products
from sparsepath.system.arrays import Floats
from sparsepath.system.threads import Threads
from sparsepath.system.tuning import TUNING

LARGE = 1e100
PROBLEMS_AT_ONCE = 20  # problems that share what is prepared for them
ONE_THREAD = 1 << 22  # numbers in X up to which one thread searches a problem
TURN = 2  # problems for each thread between two checks for Ctrl-C and progress reports
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
    allowed = np.ones(n, dtype=bool)
    allowed[column_indices(estimator.forbidden, names, n, "forbidden")] = False
    options = {name: getattr(estimator, name) for name in ("fit_intercept", "standardize")}
    alpha, likely = float(_penalty(estimator)), repetitions[0].likely if repetitions else ()
    with Threads(estimator.n_threads) as threads:
        for begin in range(0, len(repetitions), PROBLEMS_AT_ONCE):
            some = repetitions[begin : begin + PROBLEMS_AT_ONCE]
            sizes = [_longest(estimator, weights, one.rows) for one in some]
            size, rows = min(n, max(sizes)), _rows(some, X.shape[0])
            given = X, _targets(Y, some), weights, rows, alpha, size, allowed, options, likely
            paths = forward_paths(Problems(*given), threads)
            for path, largest in zip(paths, sizes, strict=False):
                yield _result(path, X, largest)


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


def _result(path: ForwardPath, X: Any, largest: int) -> RepetitionResult:
    """Return the result of one problem, up to the maximum size of its own search."""
    sizes = range(min(len(path.subset), largest) + 1)
    subset = tuple(path.subset.tolist())

    def outputs(rows: NDArray[np.intp]) -> dict[int, Floats]:
        return dict(zip(sizes, path.predict(X, rows), strict=False))

    errors = dict(zip(sizes, path.errors.tolist(), strict=False))
    return RepetitionResult({k: subset[:k] for k in sizes}, errors, outputs, CRITERION)


# The problems -------------------------------------------------------------------------------------


def forward_paths(of: Problems, threads: Threads) -> Iterator[ForwardPath]:
    """Yield the forward path of every problem, after every few of them."""
    T, k, alone = of.Y.shape[-1], of.size, Threads(1)
    m, n = of.X.shape if of.rows is None else (len(of.rows[0]), of.X.shape[1])
    count = len(of.rows) if of.rows is not None else len(of.Y) if of.Y.ndim == 3 else 1
    parts, small = None, m * n <= ONE_THREAD
    columns = n_products(of) // count  # whose products are computed, once for all parts
    by_bounds = bounds_pay(m, n, k) and not products_pay(m, n, k, T)
    if (by_bounds or products_pay(m, columns, k, T, count)) and SharedParts.serve(of):
        parts = SharedParts(of, threads)
    elif small and of.rows is not None:
        of.X = column_major(of.X, threads, np.float64)  # once, not in every part
    # Either each thread has problems of its own, or each problem has all threads.
    outer, inner = (threads, alone) if small or of.rows is not None else (alone, threads)
    common = make_design(of.X, of.weights, inner, **of.options) if of.rows is None else None
    spec = SearchSpec(size=k, candidates=tuple(np.flatnonzero(of.allowed).tolist()))

    def search(i: int) -> ForwardPath:
        if parts is not None and (found := parts.search(i, alone)) is not None:
            return found
        X, Y, weights = of.X, of.Y[i] if of.Y.ndim == 3 else of.Y, of.weights
        if of.rows is not None:
            rows = of.rows[i]
            X = X.T.take(rows, axis=1).T if X.flags.f_contiguous else X[rows]
            Y, weights = Y[rows], weights[rows]
        design = make_design(X, weights, inner, **of.options) if common is None else common
        whole = make_forward_search(design, Y, of.alpha, spec)
        if whole is None:
            return ForwardPath.of(run(design, Y, of.alpha, spec).steps)
        return whole.full_path()

    step = TURN * outer.n_threads
    for begin in range(0, count, step):
        some = range(begin, min(begin + step, count))
        if parts is not None:
            parts.prepare(some, outer)
        yield from outer.map(search, some, len(some) * m * n * k)
