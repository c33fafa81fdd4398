"""Repeat the search of an estimator on parts of the rows, one repetition per core.

Every repetition is a full search on its own rows: columns are standardised by these rows, the
neurons are drawn with the same seed, and repetitions share nothing. A single search leaves cores
idle between its steps; several in parallel do not, and their results do not depend on each other.
No path is created and no fingerprint is computed, because they are not needed.

If the path of all rows is known, a repetition stops at its largest size.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier

from sparsepath.assessment.repetitions import Repetition, RepetitionResult, is_plain
from sparsepath.base import seed_of
from sparsepath.data.folds import Rows
from sparsepath.elm.search import Draw, models
from sparsepath.system.threads import Threads


def search_many(
    estimator: Any, X: Any, y: Any, given: Any, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult | None] | None:
    """Return the result of each repetition; None where a full ``fit`` is needed."""
    if set(given) - {"groups"} or effective_n_jobs(None) > 1:
        return None
    return _side_by_side(estimator, X, np.asarray(y), repetitions)


def _side_by_side(
    estimator: Any, X: Any, y: Any, repetitions: Sequence[Repetition]
) -> Iterator[RepetitionResult | None]:
    ended = Event()

    def searched(draw: Draw | None, crew: Threads) -> RepetitionResult | None:
        if draw is None or ended.is_set():
            return None
        return _searched(estimator, X, draw, crew, ended)

    draws = (_draw(estimator, X, y, one) for one in repetitions)
    with Threads(estimator.n_threads) as threads:
        n, alone = threads.n_threads, Threads(1)
        together = len(repetitions) - len(repetitions) % n  # the last few have all threads in turn
        crew = ThreadPoolExecutor(n)
        waiting: deque[Future[RepetitionResult | None]] = deque()
        try:
            for _ in range(together):
                waiting.append(crew.submit(searched, next(draws), alone))
                if len(waiting) > n:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            for draw in draws:
                yield searched(draw, threads)
        finally:
            ended.set()  # Ctrl-C, or nobody wants the rest: what is under way ends at its next step
            crew.shutdown(cancel_futures=True)


def _draw(estimator: Any, X: Any, y: Any, one: Repetition) -> Draw | None:
    """Return the search of a repetition; None if there is nothing to search."""
    inside = y if one.order is None else y[one.order]
    if not is_plain(inside, one):
        return None
    part = X
    if one.rows is not None:
        part, inside = X[one.rows], inside[one.rows]
    if is_classifier(estimator) and len(np.unique(inside)) < len(np.unique(y)):
        return None  # scores of fewer classes
    model = clone(estimator)
    target = model._target(inside, len(inside))
    seed = seed_of(deepcopy(estimator.random_state))
    return model._draw(part, target, seed, len(one.likely) if one.likely else None)


def _searched(
    estimator: Any, X: Any, draw: Draw, crew: Threads, ended: Event
) -> RepetitionResult | None:
    search = draw.search(crew, ended.is_set)
    search.run(draw.seeds)
    if ended.is_set():
        return None
    steps, machines = models(draw.pool, search.machines(), draw.centre, draw.scale)

    def outputs(rows: Rows) -> Any:
        return {size: machine.predict(X[rows]) for size, machine in machines.items()}

    return RepetitionResult(
        {len(step.subset): step.subset for step in steps},
        {len(step.subset): step.error for step in steps},
        outputs,
        estimator._criterion(),
    )
