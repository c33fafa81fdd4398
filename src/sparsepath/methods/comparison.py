"""Compare several methods on one problem: same held-out samples, one metric, one table."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from sparsepath.assessment import plots as pictures
from sparsepath.assessment.correction import shifts
from sparsepath.assessment.folds import parts_of
from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.honest import COMPLEMENTS, Honest, chosen_size, summarize
from sparsepath.assessment.out_of_sample import StopRequestedError, held_out_losses
from sparsepath.assessment.planning import duration
from sparsepath.assessment.repetitions import (
    by_rows,
    check_predicts,
    fit_clone,
    has_path,
    largest_size_up_to,
    last_step,
    quiet_copy,
    selected_by,
    with_groups,
)
from sparsepath.base.selector import check_weights_taken
from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError
from sparsepath.methods.candidates import entrants
from sparsepath.path.choosing import is_size
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Figure
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.interrupts import Alarm, Interruptible
from sparsepath.system.number_format import seconds

SAME_ERROR = 1e-9  # part of an error below which a difference is rounding
LATE = "did not finish within the time budget"
Told = Callable[[str, int, int], object]


@dataclass(frozen=True, eq=False)
class Contestant:
    """Result of one method in a comparison.

    Attributes
    ----------
    name : str
        Name of the method.
    chosen : Honest
        Size chosen by the honest errors, and its error.
    features : tuple of str
        Selected features of the model fitted to all data.
    seconds : float
        Run time of the search on all data.
    left_out : HeldOutLosses
        Losses of held-out samples, by size.
    place : int
        Index of the chosen size.
    subsets : mapping of size to tuple of int
        Selected columns of the models fitted to all data.
    shifts : array
        Excess errors of the sizes chosen on bootstrap samples.
    """

    name: str
    chosen: Honest
    features: tuple[str, ...]
    seconds: float
    left_out: HeldOutLosses
    place: int
    subsets: Mapping[int, tuple[int, ...]]
    shifts: NDArray[np.float64]

    @property
    def loss(self) -> NDArray[np.float64]:
        """Losses of the chosen size."""
        return self.left_out.losses[:, self.place]

    def error_said(self) -> str:
        """The honest error in words."""
        shown = self.chosen.shown()
        return shown.text(shown.error)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of :func:`compare`; the method with the lowest honest error comes first.

    Attributes
    ----------
    contestants : tuple of Contestant
    passed_over : mapping of str to str
        Methods that did not finish, and why.
    feature_names : sequence of str
    """

    contestants: tuple[Contestant, ...]
    passed_over: Mapping[str, str]
    feature_names: Sequence[str]

    def __repr__(self) -> str:
        results = ", ".join(f"{one.name} {one.error_said()}" for one in self.contestants)
        return f"<Comparison by {self.measure} on new data: {results}>"

    def _repr_html_(self) -> str:
        from sparsepath.path import notebook

        rows = self.rows()
        head = [*self.head, "features"]
        lines = [(one.left_out.sizes, one.left_out.errors.tolist()) for one in self.contestants]
        best = self.best
        mark = (best.left_out.sizes[best.place], float(best.left_out.errors[best.place]))
        label = f"{best.chosen.measure} on samples left out against size; {best.name} in colour"
        parts = [
            notebook.sentence(self.sentence()),
            notebook.curves(lines, mark, label),
            notebook.table(head, rows, 0),
        ]
        return notebook.piece(f"{len(rows)} methods on the same samples left out", parts)

    @property
    def axis(self) -> str:
        """Name of the errors of ``shown``."""
        return "RMSE" if self.measure == "RMSE" else self.best.chosen.measure

    def shown(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return errors in the displayed units: square roots of squared errors.

        Parameters
        ----------
        errors : array
            Errors in the units of the losses.
        """
        return np.sqrt(np.maximum(errors, 0.0)) if self.measure == "RMSE" else errors

    @property
    def best(self) -> Contestant:
        """Result of the method with the lowest honest error."""
        return self.contestants[0]

    @property
    def measure(self) -> str:
        """Name of the displayed errors: RMSE if the methods are compared by the squared error."""
        return self.best.chosen.shown().measure

    @property
    def head(self) -> list[str]:
        """Column titles of ``rows``, without that of the features."""
        return ["method", "size", self.measure, "90 % interval", "worse by", "seconds"]

    def rows(self) -> list[list[str]]:
        """Return the rows of the table of methods."""
        rows = []
        for one in self.contestants:
            shown = one.chosen.shown()
            cells = [one.name, str(shown.size), one.error_said(), shown.between(shown.text)]
            cells += [self.gap_said(one.name), seconds(one.seconds)]
            rows.append([*cells, ", ".join(one.features)])
        return rows

    def gap_said(self, name: str) -> str:
        """Describe the difference from the lowest error, in the displayed units.

        Parameters
        ----------
        name : str
            Name of a method.
        """
        if name == self.best.name:
            return ""
        gap, se = self.gap(name)
        mine, best = self[name].chosen, self.best.chosen
        shown = mine.shown()
        if shown.measure == "RMSE":
            between = math.sqrt(mine.error) + math.sqrt(best.error)
            gap, se = (gap / between, se / between) if between else (0.0, 0.0)
        return f"{shown.text(gap)} ± {shown.text(se)}"

    def gap(self, name: str) -> tuple[float, float]:
        """Return the difference from the error of the best method, and its standard error.

        The standard error includes the paired losses of the samples and the choice of the sizes.

        Parameters
        ----------
        name : str
            Name of a method.
        """
        one, best = self[name], self.best
        found = best.left_out
        off = np.where(found.known, one.loss - best.loss, 0.0)[:, None]
        spread = found._spread(off - found.weights @ off)
        choices = np.square(one.shifts - best.shifts).mean() if len(one.shifts) else 0.0
        return one.chosen.error - best.chosen.error, float(np.hypot(spread[0], np.sqrt(choices)))

    def __getitem__(self, name: str) -> Contestant:
        for one in self.contestants:
            if one.name == name:
                return one
        raise InputError(f"no method {name!r}; there are {[c.name for c in self.contestants]}.")

    @property
    def agreement(self) -> dict[str, tuple[str, ...]]:
        """Return which methods select each feature, the most frequently selected first."""
        takers = {
            feature: tuple(one.name for one in self.contestants if feature in one.features)
            for feature in dict.fromkeys(f for one in self.contestants for f in one.features)
        }
        return dict(sorted(takers.items(), key=lambda item: -len(item[1])))

    @property
    def common(self) -> tuple[str, ...]:
        """Return the features that all methods select."""
        return tuple(
            f for f, names in self.agreement.items() if len(names) == len(self.contestants)
        )

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per method, the best first.

        Columns: method, size, honest_error, low and high (90 % interval), gap (difference from the
        best on the same samples), gap_se, seconds, features.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        gaps = [self.gap(one.name) for one in self.contestants]
        columns: dict[str, list[Any]] = {
            "method": [one.name for one in self.contestants],
            "size": [one.chosen.size for one in self.contestants],
            "honest_error": [one.chosen.error for one in self.contestants],
            "low": [one.chosen.interval[0] for one in self.contestants],
            "high": [one.chosen.interval[1] for one in self.contestants],
            "gap": [gap for gap, _ in gaps],
            "gap_se": [se for _, se in gaps],
            "seconds": [one.seconds for one in self.contestants],
            "features": [", ".join(one.features) for one in self.contestants],
        }
        return make_frame(columns, backend)

    def sentence(self) -> str:
        """Return the result in a few sentences."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return the sentences one by one, beginning with the lowest error."""
        best, shown = self.best, self.best.chosen.shown()
        n, none = shown.size, shown.text(shown.empty_error)
        least = "Highest" if shown.measure in COMPLEMENTS.values() else "Least"
        said = [
            f"{least} {shown.measure} on new data: {best.error_said()} with {best.name} "
            f"({n} feature{'' if n == 1 else 's'}; the empty model: {none})."
        ]
        alike = []
        for one in self.contestants[1:]:
            gap, se = self.gap(one.name)
            if gap <= 2 * se:
                alike.append(f"{one.name} ({one.chosen.size})")
        if alike:
            said.append(f"Not clearly worse: {', '.join(alike)}.")
        if len(self.contestants) > 1:
            some = ", ".join(self.common[:12]) or "none"
            said.append(f"Features that all of them take: {some}.")
        return [*said, *self.notes()]

    def notes(self) -> list[str]:
        """Return one sentence per reason for which methods were skipped."""
        why: dict[str, list[str]] = {}
        for name, reason in self.passed_over.items():
            why.setdefault(reason, []).append(name)
        return [
            f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} skipped: {reason}."
            for reason, names in why.items()
        ]

    def plot(self) -> Figure:
        """Draw the honest errors on one axis, and the features selected by each method."""
        curves = {
            one.name: (
                one.left_out.sizes,
                self.shown(one.left_out.errors),
                one.left_out.sizes[one.place],
            )
            for one in self.contestants
        }
        first = self.best.chosen
        label = f"{self.axis} on samples left out ({first.validation})"
        empty = float(self.shown(np.array(first.empty_error)))
        maps = {}
        for one in self.contestants:
            matrix = np.zeros((len(one.subsets), len(self.feature_names)), dtype=bool)
            for row, subset in zip(matrix, one.subsets.values(), strict=True):
                row[list(subset)] = True
            maps[one.name] = (tuple(one.subsets), matrix)
        return pictures.plot_contest(curves, label, empty, maps, self.feature_names)


def compare(
    methods: Mapping[str, Any] | Iterable[Any] | None,
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    validation: Any = 10,
    choose: Any = "one_se",
    groups: Any = None,
    budget: float | None = None,
    callback: Told | None = None,
    feature_names: Sequence[str] | None = None,
    preparation: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    **fit_params: Any,
) -> Comparison:
    """Compare several methods on the same held-out samples.

    Each method is fitted to all data, and again without each part of them. Its error is measured
    on the held-out part: squared error, for classification the error rate, and for survival times
    the concordance error.

    Parameters
    ----------
    methods : mapping of str to estimator, list of str and estimators, or None
        Estimators, by display name or in a list, with a path or without; and names of methods as on
        the command line, and "boruta", "forest-importance" and "rfecv", for survival times
        "univariate-cox" and "cox-all". A scikit-learn selector
        that does not predict is followed by standardisation and ``Ridge()``, for classification
        ``LogisticRegression()``. None: the methods that suit the task and the size of the data.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``; for survival times y has two columns, time and event.
    task : {"regression", "classification", "survival"}, optional
        For methods by name; default: classification if y holds text, booleans or two values, else
        regression.
    validation : int, "loo", splitter or list of splits
        Outer splits, the same for all methods.
    choose : {"one_se", "min"}, int or float
        Rule that chooses the size of each method on its honest errors.
    groups : array, optional
        Group labels; groups are kept together.
    budget : float, optional
        Seconds; a method that would not finish in time is skipped.
    callback : callable, optional
        Called with a name, the number of finished parts and their total; a true return value skips
        that method. Ctrl-C skips it and all that follow; the finished methods are used.
    feature_names : sequence of str, optional
        Default: those of a data frame.
    preparation : mapping, optional
        For methods by name on a table with text, dates or missing values: the parameters of
        ``TableSelector``, such as ``{"missing": "median"}``, with which each takes it.
    options : mapping, optional
        For methods by name: options as on the command line, such as ``{"seed": 1, "threads": 2}``,
        for those methods that have them.
    **fit_params
        More arguments of ``fit``; those with an entry per sample are cut like y.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sparsepath import LarsSelector, SparseRLSRegressor, compare
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> best_five = make_pipeline(SelectKBest(k=5), Ridge(0.1))
    >>> found = compare({"RLS": SparseRLSRegressor(), "LARS": LarsSelector(), "5": best_five}, X, y)
    >>> found.to_frame()["method"].tolist()[-1], found["5"].chosen.size
    ('5', 5)
    >>> sorted(found.common)
    ['bmi', 'bp', 's5']
    """
    began = time.perf_counter()
    deadline = np.inf if budget is None else began + _seconds(budget)
    X, y = by_rows(X), by_rows(y)
    folds = validation if isinstance(validation, int) else 10
    given = methods, X, y, task, folds, preparation, options or {}
    estimators, known, omitted = entrants(*given)
    first = next(iter(estimators.values()))
    classes, weights = is_classifier(first), fit_params.get("sample_weight")
    measure = _measure(first)
    parts = parts_of(validation, X, y, groups, weights, classes=classes)
    columns = getattr(X, "columns", None) if feature_names is None else feature_names
    names = NumberedNames(X.shape[1]) if columns is None else tuple(map(str, columns))
    for name, estimator in estimators.items():
        check_predicts(estimator)
        if _measure(estimator) != measure:
            raise InputError(f"{name} and {next(iter(estimators))} are not for the same task.")
    found: list[Contestant] = []
    passed = dict(omitted)

    def run(name: str, estimator: Any) -> None:
        if time.perf_counter() + known.get(name, 0.0) > deadline:
            about = f" (about {duration(known[name])})" if name in known else ""
            passed[name] = f"would not finish within the time budget{about}"
            return
        check_weights_taken(estimator, fit_params)
        given = with_groups(estimator, fit_params, groups)
        model, seconds = _searched(estimator, X, y, given, deadline)
        if model is None or time.perf_counter() + seconds * len(parts.splits) > deadline:
            passed[name] = "would not finish within the time budget"
            return

        def asked(done: int, of: int) -> bool:
            if time.perf_counter() > deadline:
                passed[name] = LATE
                return True
            return callback is not None and bool(callback(name, done, of))

        try:
            losses = held_out_losses(
                estimator,
                X,
                y,
                parts,
                sizes=_sizes(model),
                fit_params=fit_params,
                groups=groups,
                metric=measure,
                callback=asked,
                own=getattr(last_step(model), "_own_size", None),
                choose=choose,
            )
        except StopRequestedError:
            passed.setdefault(name, "stopped by the callback")
            return
        if losses.others:  # what honest errors have chosen is not what the search alone would
            model = fit_clone(quiet_copy(losses.searcher), X, y, given)
        found.append(_contestant(name, model, losses, choose, seconds, names))

    for name, estimator in estimators.items():
        with Interruptible(keep=lambda: bool(found)) as work, Alarm(deadline) as alarm:
            try:
                run(name, estimator)
            except InputError as error:  # the others may do
                passed[name] = str(error).rstrip(".")
        if alarm.rang and name not in {one.name for one in found}:
            passed.setdefault(name, LATE)
        elif work.interrupted:
            passed[name] = "interrupted"
            break
    if not found:
        if len(passed) > 1 and len({*passed.values()}) == 1:
            raise InputError(f"{next(iter(passed.values()))}.")
        why = "; ".join(f"{name}: {reason}" for name, reason in passed.items())
        raise InputError(f"no method could finish ({why}); try other methods, or allow more time.")
    return Comparison(_ranked(found), passed, names)


def _ranked(found: Sequence[Contestant]) -> tuple[Contestant, ...]:
    """Return the results by increasing error; rounding differences do not change the order of
    methods.

    Searches that find the same subsets have equal errors up to rounding.
    """
    ranked: list[list[Contestant]] = []
    for one in sorted(found, key=lambda one: one.chosen.error):
        above = ranked[-1][0].chosen.error if ranked else np.nan
        if one.chosen.error - above <= SAME_ERROR * abs(above):
            ranked[-1].append(one)
        else:
            ranked.append([one])
    return tuple(one for alike in ranked for one in sorted(alike, key=found.index))


def _measure(estimator: Any) -> str:
    """Return the name of the metric for a task."""
    if is_classifier(estimator):
        return "zero_one"
    own = getattr(last_step(estimator), "_metric", None)
    return "concordance" if own == "concordance" else "squared"


def _sizes(model: Any) -> tuple[int, ...] | None:
    """Return the candidate sizes: those of the path on all data, if there is one."""
    return tuple(last_step(model).path_.sizes) if has_path(model) else None


def _seconds(budget: Any) -> float:
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise InputError(f"budget={budget!r}; give seconds, a number above zero.")
    return float(budget)


def _searched(estimator: Any, X: Any, y: Any, given: Any, deadline: float) -> tuple[Any, float]:
    """Return the estimator fitted to all data without validation, and its seconds; None if too
    late.
    """
    quiet = quiet_copy(estimator)
    if np.isfinite(deadline) and has_path(estimator) and hasattr(quiet, "callback"):
        quiet.set_params(callback=lambda path: time.perf_counter() > deadline)
    began = time.perf_counter()
    if began > deadline:
        return None, 0.0
    model = fit_clone(quiet, X, y, given)
    path: SelectionPath | None = getattr(model, "path_", None)
    cut = path is not None and not path.complete
    return (None if cut else model), time.perf_counter() - began


def contestant_of(
    name: str,
    subsets: Mapping[int, tuple[int, ...]],
    losses: HeldOutLosses,
    choose: Any,
    seconds: float,
    names: Sequence[str],
) -> Contestant:
    """Result of a method, from its subsets on all data and its held-out losses."""
    size = chosen_size(losses, choose)
    moved = shifts(losses, size if is_size(choose) else choose)
    chosen = summarize(losses, size, choose)
    features = tuple(names[i] for i in subsets[largest_size_up_to(chosen.size, subsets)])
    place = losses.sizes.index(chosen.size)
    return Contestant(name, chosen, features, seconds, losses, place, subsets, moved)


def _contestant(
    name: str, model: Any, losses: HeldOutLosses, choose: Any, seconds: float, names: Sequence[str]
) -> Contestant:
    last = last_step(model)
    if has_path(model):
        kept = np.arange(len(names)) if last is model else selected_by(model[:-1], len(names))
        subsets = {len(s): tuple(kept[list(s)].tolist()) for s in last.path_.subsets}
        if losses.own is not None:
            choose = losses.own  # it settles on a size itself
        return contestant_of(name, subsets, losses, choose, seconds, names)
    own = tuple(selected_by(model, len(names)).tolist())
    made = contestant_of(name, {len(own): own}, losses, losses.sizes[-1], seconds, names)
    # The size is that of all data, where folds have their own.
    return replace(made, chosen=replace(made.chosen, size=len(own)))
