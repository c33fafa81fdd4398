"""Estimate the run time of validation, permutations and resampling.

Folds, shuffles and halves repeat the search, each on its part of the rows. Where one search is
quick, the first few repetitions of each kind are made, by the very road that all of them will
take, and the others take as long; else the time of the search is taken times the part of the rows.
That of a fitted estimator is on its path, so that nothing is run then.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.null import FOLDS, orders_of
from sparsepath.assessment.repetitions import (
    Repetition,
    by_rows,
    fitted,
    has_path,
    quiet_copy,
    repetitions,
    searches,
    with_groups,
)
from sparsepath.assessment.stability_selection import halves_of
from sparsepath.system.frames import Make, make_frame

QUICK = 2.0  # seconds of a search up to which some repetitions are made to see what they take
TRIED = 4  # repetitions


@dataclass(frozen=True)
class Repeated:
    """Repetitions of one kind: how often, and how many seconds all of them take."""

    what: str
    times: int
    seconds: float


@dataclass(frozen=True)
class Planned:
    """Estimated run time of a search and its repetitions.

    Attributes
    ----------
    search : float
        Seconds of the search itself.
    repeated : tuple of Repeated
        Repetitions: ``what`` is repeated, how many ``times``, in how many ``seconds``.
    """

    search: float
    repeated: tuple[Repeated, ...]

    @property
    def times(self) -> int:
        """How many searches there are in all."""
        return 1 + sum(each.times for each in self.repeated)

    @property
    def seconds(self) -> float:
        """How long all of them take."""
        return self.search + sum(each.seconds for each in self.repeated)

    def sentence(self) -> str:
        """What it will cost, in one sentence."""
        told = [f"The search takes about {duration(self.search)}"]
        told += [
            f"{each.times} more {each.what} about {duration(each.seconds)}"
            for each in self.repeated
        ]
        if self.repeated:
            told[-1] += f"; in all {self.times} searches in about {duration(self.seconds)}"
        return f"{', '.join(told)}."

    def to_frame(self, backend: Make = None) -> Any:
        """One row for the search and for each kind of repetition: what, times, seconds."""
        every = (Repeated("search", 1, self.search), *self.repeated)
        columns = {
            name: [getattr(each, name) for each in every] for name in ("what", "times", "seconds")
        }
        return make_frame(columns, backend)


def plan(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    validation: Any = "auto",
    null: int = 0,
    stability: int = 0,
    groups: Any = None,
    **fit_params: Any,
) -> Planned:
    """Estimate the run time of a fit with validation, shuffles and halves, by a few trials.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        It is cloned. If it is fitted, its path gives the time of a search; otherwise one is run.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    validation : "auto", int, "loo", "time", splitter, list of splits or None
        Outer splits for the honest error: a number of folds, a scikit-learn splitter, or a list of
        splits. "auto": the default of the estimator, or ten folds.
    null, stability : int
        Number of repetitions with shuffled y, and on random halves.
    groups : array, optional
        Group labels; groups are kept together.
    **fit_params
        More arguments of ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsepath import LarsSelector, plan
    >>> X, y = load_diabetes(return_X_y=True)
    >>> plan(LarsSelector(), X, y, null=200, stability=50).times
    261
    """
    X, y = by_rows(X), by_rows(y)
    given = with_groups(estimator, fit_params, groups)
    search = _search(estimator, X, y, given)
    kinds: list[tuple[str, int, Sequence[Repetition]]] = []
    if (folds := _folds(estimator, validation)) is not None:
        classes = is_classifier(estimator)
        weights, repeats = given.get("sample_weight"), 1
        if _is_auto(validation) and _is_auto(getattr(estimator, "validation", "auto")):
            repeats = repetitions(estimator, X.shape[0], X.shape[1], folds)
        parts = parts_of(folds, X, y, groups, weights, classes=classes, repeats=repeats)
        again = [Repetition(rows=train) for train, _ in parts.splits]
        kinds.append(("with rows left out", len(again), again))
    if null:
        again = [Repetition(order=order) for order in orders_of(y, null, groups)]
        times = null if has_path(estimator) else null * FOLDS
        kinds.append(("with y shuffled", times, again))
    if stability:
        again = halves_of(estimator, y, stability, groups)
        kinds.append(("on halves", stability, again))
    repeated = (
        Repeated(what, times, times * _seconds(estimator, X, y, given, again, search))
        for what, times, again in kinds
    )
    return Planned(search, tuple(repeated))


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(0.0123), duration(75), duration(600), duration(9000)
    ('0.012 s', '75 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def _search(estimator: Any, X: Any, y: Any, given: Any) -> float:
    """The seconds of one search: as the path has it, or of one that is made now.

    A slow one is not made if the estimator says itself what it will take.
    """
    path = getattr(estimator, "path_", None)
    if path is not None and path.moves and path.complete:
        return float(path.moves[-1].seconds)
    told = estimator.expected_seconds(X) if hasattr(estimator, "expected_seconds") else 0.0
    if told > QUICK:
        return float(told)
    return _timed(lambda: fitted(quiet_copy(estimator), X, y, given))


def _folds(estimator: Any, validation: Any) -> Any:
    """What "auto" means for an estimator."""
    for usual in (getattr(estimator, "validation", 10), getattr(estimator, "_n_folds", 10)):
        if _is_auto(validation):
            validation = usual
    return validation


def _is_auto(validation: Any) -> bool:
    return isinstance(validation, str) and validation == "auto"


def _seconds(
    estimator: Any, X: Any, y: Any, given: Any, again: Sequence[Repetition], search: float
) -> float:
    """Of one repetition."""
    if search > QUICK:
        rows = [len(y) if one.rows is None else len(one.rows) for one in again]
        return search * float(np.mean(rows)) / len(y)
    count = min(TRIED, len(again))
    seconds = _timed(lambda: list(islice(searches(estimator, X, y, given, again), count)))
    return seconds / count


def _timed(work: Callable[[], object]) -> float:
    """The seconds of some work."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
