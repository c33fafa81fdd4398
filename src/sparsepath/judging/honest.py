"""How many features, and at what error, told so that it holds on new data."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from sparsepath import plots
from sparsepath.arrays import Axes
from sparsepath.choosing import check_rule, is_size, places
from sparsepath.errors import warn_user
from sparsepath.frames import Make, make_frame
from sparsepath.judging.correction import corrected, spreads, unseen
from sparsepath.judging.halves import Z90
from sparsepath.judging.left_out import LeftOut, left_out
from sparsepath.judging.null import Null, permutation_null
from sparsepath.judging.repeating import at_most, has_path
from sparsepath.path import SelectionPath
from sparsepath.running.interrupts import Interruptible
from sparsepath.steps import HONEST_NUMBERS
from sparsepath.wording import brief


@dataclass(frozen=True)
class Honest:
    """The size of a model and its error on data that the whole procedure never saw.

    Attributes
    ----------
    size : int
        The number of features.
    error, error_se : float
        If the size was chosen by the honest errors: corrected for that choice.
    interval : (float, float)
        Holds the error of the model in nine of ten cases.
    empty_error : float
        The honest error of the empty model, or of the smallest on the path.
    measure : str
        What the error is, as ``"squared error"``.
    validation : str
        How parts were left out, as ``"10-fold"``; if Ctrl-C came, ``"10-fold, 4 of 10 parts"``.
    p_value : float or None
        How often the search reaches so low an error when y is shuffled; None if not asked for.
    is_nothing : bool
        Whether y was shuffled, often enough to tell, and nothing was found that noise would not
        give.
    figures : dict of str to float
        For classes ``error_rate`` and, of two, ``auc`` on the same samples left out.
    whole : bool
        Whether every part was left out, or Ctrl-C came before.
    neighbours : float or None
        The correlation of the errors of rows next to each other, if it is more than chance and
        folds were dealt at random: if these rows are of one person, place or time, the error on
        others is larger.
    """

    size: int
    error: float
    error_se: float
    interval: tuple[float, float]
    empty_error: float
    measure: str
    validation: str
    p_value: float | None = None
    is_nothing: bool = False
    figures: dict[str, float] = field(default_factory=dict, hash=False)
    whole: bool = True
    neighbours: float | None = None

    @property
    def gain(self) -> float:
        """The part of the empty model's error that the features take away; below zero: none."""
        return 1.0 - self.error / self.empty_error if self.empty_error else math.nan

    def at(self, path: SelectionPath, size: int) -> "Honest | None":
        """The record of another size of the path; None if it has no honest error."""
        if math.isnan(path.honest_error(size)):
            return None
        other = at(path, size, self.measure)
        p_value, nothing = self.p_value, self.is_nothing
        return replace(other, p_value=p_value, is_nothing=nothing, whole=self.whole)

    def sentence(self) -> str:
        """What is told of the error, in one sentence."""
        told = (
            f"{self.measure} {brief(self.error)} on new data (90 % interval {self.between()}; "
            f"the empty model: {brief(self.empty_error)})"
        )
        if not self.whole:
            told += f" by what was done of the validation, {self.validation}"
        if self.is_nothing:
            told += f"; shuffled targets do as well (p = {self.p_value:.2g}): nothing is here"
        return told[0].upper() + told[1:] + "."

    def between(self, written: Callable[[float], str] = brief) -> str:
        """The interval in words; few samples may leave it open."""
        low, high = map(written, self.interval)
        return f"{low} to {high}" if math.isfinite(self.interval[1]) else f"from {low} up"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "interval": list(self.interval)}


@dataclass(frozen=True, eq=False)
class HonestError:
    """What :func:`honest_error` gives: errors of all sizes, and of the one to choose.

    Attributes
    ----------
    chosen : Honest
        The size that the rule takes, and its error.
    sizes, errors, errors_se : tuple of int, arrays
        Honest errors of every size.
    left_out : LeftOut
        The losses they are means of.
    null : Null or None
        The same search on shuffled targets, if asked for.
    """

    chosen: Honest
    sizes: tuple[int, ...]
    errors: Any
    errors_se: Any
    left_out: LeftOut
    null: Null | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is recommended: shuffled targets do as well, or no features do.

        That is, no set of features is clearly better than none on samples left out.
        """
        none = self.chosen.size == 0 and chosen_size(self.left_out, "one_se") == 0
        return none or self.chosen.is_nothing

    def sentence(self) -> str:
        """What came out, in one or two sentences."""
        n = self.chosen.size
        told = f"{n} feature{'' if n == 1 else 's'}. {self.chosen.sentence()}"
        if self.is_nothing and not self.chosen.is_nothing:
            told = (
                "Nothing here that holds on new data: no set of features is clearly better than "
                f"none. {self.chosen.sentence()}"
            )
            if self.null is not None:  # there is more than in noise, and too little to be of use
                return f"{told} With y shuffled p = {self.null.p_value:.3g}."
        return told if self.null is None else f"{told} {self.null.sentence()}"

    def to_frame(self, backend: Make = None) -> Any:
        """One row per size: size, honest_error, honest_error_se."""
        columns = {
            "size": list(self.sizes),
            "honest_error": self.errors.tolist(),
            "honest_error_se": self.errors_se.tolist(),
        }
        return make_frame(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the honest error against size."""
        label = f"{self.chosen.measure} on samples left out ({self.chosen.validation})"
        least = self.sizes[int(np.argmin(self.errors))]
        chosen = {"min": least, "chosen": self.chosen.size}
        curve = plots.Curve(self.sizes, self.errors, self.errors_se, label, chosen)
        return plots.plot_curve(curve, ax=ax)


def honest_error(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    validation: Any = "auto",
    choose: Any = "one_se",
    null: int = 0,
    groups: Any = None,
    callback: Callable[[int, int], object] | None = None,
    **fit_params: Any,
) -> HonestError:
    """What an estimator errs on data that it never saw, by size and for the size to choose.

    Everything that looks at X or y (the search, its penalty, scaling) is repeated with each part
    of the data left out. Any scikit-learn predictor can be judged, such as a selector in a pipeline
    with a model; one without a path has one size, its own.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        It is cloned, never fitted itself.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    validation : int, "loo", "time", splitter or list of splits
        How parts are left out. A number of folds: shuffled by a fixed seed, stratified for classes.
        "time": ten parts in the order of the rows, each predicted from those before it.
        "auto": as many as the estimator has by itself, ten or five.
    choose : {"one_se", "min"}, int or float
        How the size is chosen from the honest errors; see ``SelectionPath.choose``. A method that
        ends with a size of its own has that, unless a number is given.
    null : int
        How often to repeat the search with y shuffled, for a p-value; 0: not at all.
    groups : array, optional
        Samples that must not be parted.
    callback : callable, optional
        Called with the number of parts done and of all; a true value ends the work there, and so
        does Ctrl-C: what is done counts, if that is two parts or more.
    **fit_params
        More arguments of ``fit``; those with an entry per sample are cut like y.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparsepath import LarsSelector, honest_error
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = honest_error(LarsSelector(), X, y)
    >>> found.chosen.size, 2900 < found.chosen.error < 3300
    (5, True)
    """
    if isinstance(validation, str) and validation == "auto":
        validation = getattr(estimator, "_n_folds", 10)
    given = {"fit_params": fit_params, "groups": groups}
    found = left_out(estimator, X, y, validation, **given, told=callback, keep=True)
    if not has_path(estimator):
        choose = found.sizes[-1]  # its own
    elif found.own is not None and not is_size(choose):
        choose = found.own
    nothing = None
    if not found.whole:
        warn_user(f"interrupted: the honest error is of what was done ({found.label}).")
    elif null:
        with Interruptible():
            nothing = permutation_null(
                estimator, X, y, null, groups=groups, callback=callback, **fit_params
            )
    size = chosen_size(found, choose)
    if nothing is not None and nothing.is_nothing:
        size = choose = found.sizes[0]  # the smallest model
    record = told(found, size, choose)
    if nothing is not None:
        record = replace(record, p_value=nothing.p_value, is_nothing=nothing.is_nothing)
    return HonestError(record, found.sizes, found.errors, found.errors_se, found, nothing)


def chosen_size(found: LeftOut, rule: Any) -> int:
    """The size that a rule takes on the honest errors; see ``SelectionPath.choose``."""
    check_rule(rule)
    if is_size(rule):
        return at_most(int(rule), found.sizes)
    errors = found.errors
    allowance = found.gaps_se(found.sizes[int(errors.argmin())])
    return found.sizes[int(places(rule, errors[None], lambda best: allowance[None])[0])]


def attach(path: SelectionPath, found: LeftOut) -> SelectionPath:
    """The path with the honest errors of its sizes."""
    errors = found.errors
    best = found.sizes[int(np.argmin(errors))]
    figures = zip(errors, found.errors_se, found.gaps_se(best), spreads(found), strict=True)
    rows = [dict(zip(HONEST_NUMBERS, row, strict=True)) for row in figures]
    return path.with_honest(dict(zip(found.sizes, rows, strict=True)), found.label)


def told(found: LeftOut, size: int, rule: Any) -> Honest:
    """The record of a size that a rule has taken.

    One that was asked for needs no correction: it was not chosen by the errors.
    """
    place = found.sizes.index(size)
    errors, errors_se = found.errors, found.errors_se
    told_error, told_se = float(errors[place]), float(errors_se[place])
    interval = around(told_error, float(spreads(found)[place]))
    if not is_size(rule) or not told_error:
        told_error, interval = corrected(found, size if is_size(rule) else rule)
    empty = float(errors[0])
    figures = {name: float(values[place]) for name, values in found.figures.items()}
    return Honest(
        size,
        told_error,
        told_se,
        interval,
        empty,
        found.yardstick,
        found.label,
        figures=figures,
        whole=found.whole,
        neighbours=found.neighbours.get(size),
    )


def around(error: float, spread: float) -> tuple[float, float]:
    """A 90 % interval of an error that nothing was chosen by, on a logarithmic scale."""
    factor = math.exp(min(700.0, Z90 * spread / error)) if error > 0 else 1.0
    return error / factor, error * factor


def at(path: SelectionPath, size: int, measure: str) -> Honest:
    """The record of a size of a path that was asked for."""
    step, empty = path.step(size), path.steps[0].honest_error
    error, se = step.honest_error, step.honest_error_se
    interval = around(error, step.honest_spread)
    if not error:
        interval = 0.0, unseen(measure, path.data.get("n_samples", math.inf))
    return Honest(size, error, se, interval, empty, measure, path.validation)
