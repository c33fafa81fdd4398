"""Estimate the run time of validation, permutations and resampling.

Folds, permutations and halves repeat the search on parts of the rows. The path of a fitted
estimator contains the time of its search; otherwise the estimator estimates it
(``expected_seconds``). For other estimators, fits to small parts of the rows are timed. The search
itself is never run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.null import FOLDS, orders_of
from sparsepath.assessment.repetitions import (
    Repetition,
    by_rows,
    has_path,
    quiet_copy,
    repetitions,
    searches,
    with_groups,
)
from sparsepath.assessment.stability_selection import halves_of
from sparsepath.assessment.summary import Summary
from sparsepath.system.frames import Make, make_frame

PARTS = 8, 8, 4  # one in so many rows is fitted, to time an estimator; the first warms up
FEWEST_ROWS = 20  # of a part


@dataclass(frozen=True)
class Repeated:
    """Repetitions of one kind: their number and total seconds."""

    what: str
    times: int
    seconds: float


@dataclass(frozen=True, repr=False)
class Planned(Summary):
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
        """Total number of searches."""
        return 1 + sum(each.times for each in self.repeated)

    @property
    def seconds(self) -> float:
        """Total seconds."""
        return self.search + sum(each.seconds for each in self.repeated)

    def sentence(self) -> str:
        """Return the estimate in one sentence."""
        parts = [f"The search takes about {duration(self.search)}"]
        parts += [
            f"{each.times} more {each.what} about {duration(each.seconds)}"
            for each in self.repeated
        ]
        if self.repeated:
            parts[-1] += f"; in all {self.times} searches in about {duration(self.seconds)}"
        return f"{', '.join(parts)}."

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row for the search and one per kind of repetition.

        Columns: what, times, seconds.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
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
    """Estimate the run time of a fit with validation, shuffles and halves.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        If it is fitted, its path gives the time of a search; otherwise its ``expected_seconds``
        does. An estimator without either is fitted to small parts of the rows.
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
        Repeated(what, times, times * search * _rows(again, len(y)) / len(y))
        for what, times, again in kinds
    )
    return Planned(search, tuple(repeated))


def duration(seconds: float) -> str:
    """Format a time in words.

    >>> duration(0.0123), duration(75), duration(600), duration(9000)
    ('0.012 s', '75 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def _search(estimator: Any, X: Any, y: Any, given: Any) -> float:
    """Return the seconds of one search, from the path or estimated."""
    path = getattr(estimator, "path_", None)
    if path is not None and path.moves and path.complete:
        return float(path.moves[-1].seconds)
    if hasattr(estimator, "expected_seconds"):
        return float(estimator.expected_seconds(X))
    return _from_parts(estimator, X, y, given)


def _from_parts(estimator: Any, X: Any, y: Any, given: Any) -> float:
    """Return the seconds extrapolated from fits to an eighth and a quarter of the rows, by a
    power law.
    """
    n, quiet = len(y), quiet_copy(estimator)
    order, sizes, seconds = np.random.default_rng(0).permutation(n), list[float](), list[float]()
    for part in PARTS:
        some = [Repetition(rows=np.sort(order[: max(FEWEST_ROWS, n // part)]))]
        began = perf_counter()
        list(searches(quiet, X, y, given, some))
        seconds.append(perf_counter() - began)
        sizes.append(_rows(some, n))
    power = 1.0
    if sizes[-1] > sizes[-2]:
        growth = np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2])
        power = float(np.clip(growth, 1.0, 3.0))
    return seconds[-1] * (n / sizes[-1]) ** power


def _folds(estimator: Any, validation: Any) -> Any:
    """Return the number of folds that "auto" means for an estimator."""
    for usual in (getattr(estimator, "validation", 10), getattr(estimator, "_n_folds", 10)):
        if _is_auto(validation):
            validation = usual
    return validation


def _is_auto(validation: Any) -> bool:
    return isinstance(validation, str) and validation == "auto"


def _rows(again: Sequence[Repetition], n: int) -> float:
    """Return the average number of rows of a repetition."""
    return float(np.mean([n if one.rows is None else len(one.rows) for one in again]))
