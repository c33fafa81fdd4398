"""Choose a model size by nested cross-validation and estimate its error on new data."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

import numpy as np

from sparsepath.assessment.correction import correct, error_rate_bound, interval_around, spreads
from sparsepath.assessment.held_out import ClassFigures, HeldOutLosses
from sparsepath.assessment.metrics import RATES
from sparsepath.assessment.null import Null, permutation_null
from sparsepath.assessment.out_of_sample import held_out_losses
from sparsepath.assessment.repetitions import has_path, largest_size_up_to
from sparsepath.assessment.summary import Summary
from sparsepath.errors import warn_user
from sparsepath.path import plots
from sparsepath.path.choosing import check_rule, is_size, places
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import HONEST_NUMBERS
from sparsepath.system.arrays import Axes, Floats
from sparsepath.system.frames import Make, make_frame
from sparsepath.system.interrupts import Interruptible
from sparsepath.system.number_format import brief

FIGURES = {"error_rate": "error rate", "balanced_error": "balanced error"}
COMPLEMENTS = {"AUC error": "AUC", "concordance error": "concordance"}
PERCENT = ("error rate", "balanced error", "balanced error rate", "ranking error")


@dataclass(frozen=True, repr=False)
class Honest:
    """Size of a model and its honest error, the nested cross-validation estimate.

    Attributes
    ----------
    size : int
        Number of features.
    error, error_se : float
        Error on new data and its standard error. If the size was chosen by the honest errors, the
        error is corrected for that choice. For classification with squared loss it is the error of
        the scores before the offset that calibration adds; ``figures`` are of the model as it is.
    interval : (float, float)
        90 % interval for the true error of the model.
    empty_error : float
        Honest error of the empty model, or of the smallest model on the path.
    measure : str
        Name of the error, such as ``"squared error"``.
    validation : str
        Splits, such as ``"10-fold"``, or ``"10-fold, 4 of 10 parts"`` after Ctrl-C.
    p_value : float or None
        Fraction of shuffled targets on which the search does as well; None if not requested.
    is_nothing : bool
        Whether y was shuffled often enough for a decision and the search finds no signal.
    figures : dict of str to float
        For classification ``error_rate``, ``balanced_error``, ``log_loss``, ``brier`` and, with two
        classes, ``auc`` on the same held-out samples, corrected for the choice of the size like the
        error.
    whole : bool
        Whether all parts were held out; False after Ctrl-C.
    neighbours : float or None
        Correlation of the errors of neighbouring rows, if it is significant and folds are random.
        If neighbouring rows belong to one person, place or time, the error on others is larger.
    repeats : int
        Number of random assignments of samples to folds that the error is averaged over.
    repeats_sd : float or None
        Standard deviation of the error between assignments to folds, at this size; None if there is
        only one assignment. The interval includes it.
    reliability : tuple of tuples of float, or None
        With two classes, for each tenth of the predicted probability of the second class: mean
        probability, fraction of the second class and number of held-out samples.
    confusion : tuple of tuples of float, or None
        For classification, the confusion matrix of held-out samples: true classes (rows) by
        predicted classes (columns), in the order of ``classes_``.
    figures_se : dict of str to float
        Standard errors of ``error_rate`` and ``balanced_error``.
    balanced : bool
        Whether classes have equal weight: with class weights, a threshold or the balanced loss.
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
    repeats: int = 1
    repeats_sd: float | None = None
    confusion: tuple[tuple[float, ...], ...] | None = None
    figures_se: dict[str, float] = field(default_factory=dict, hash=False)
    balanced: bool = False
    reliability: tuple[tuple[float, ...], ...] | None = None
    # What a record of each size has beside the numbers of the path; see ``by_size``.
    _sizes: dict[int, dict[str, Any]] = field(default_factory=dict, compare=False)

    @property
    def gain(self) -> float:
        """Fraction of the empty model's error that the features remove; negative if the model is
        worse.
        """
        return 1.0 - self.error / self.empty_error if self.empty_error else math.nan

    def at(self, path: SelectionPath, size: int) -> "Honest | None":
        """Return the record of a size of a path, or None without honest errors.

        Parameters
        ----------
        path : SelectionPath
            Path with honest errors.
        size : int
            A size on the path; for the chosen size this record itself is returned.
        """
        return self if size == self.size else self.requested(path, size)

    def requested(self, path: SelectionPath, size: int) -> "Honest | None":
        """Return the uncorrected record of a requested size.

        Parameters
        ----------
        path : SelectionPath
            Path with honest errors.
        size : int
            A size on the path.
        """
        if math.isnan(path.honest_error(size)):
            return None
        other = at(path, size, self.measure)
        return replace(
            other,
            p_value=self.p_value,
            is_nothing=self.is_nothing,
            whole=self.whole,
            repeats=self.repeats,
            balanced=self.balanced,
            _sizes=self._sizes,
            **self._sizes.get(size, {}),
        )

    def sentence(self) -> str:
        """Return the error with its interval and the baseline, in one sentence."""
        shown, figures = self.shown(), self.figures
        text = (
            f"{shown.measure} {shown.text(shown.error)} on new data (90 % interval "
            f"{shown.between(shown.text)}; the empty model: {shown.text(shown.empty_error)}"
            f"{shown.assignments()})"
        )
        if "error_rate" in figures and shown.measure != "error rate":
            text += f", error rate {100 * figures['error_rate']:.3g} %"
        if "auc" in figures and shown.measure != "AUC":
            text += f", AUC {figures['auc']:.3f}"
        if not self.whole:
            text += f" from the completed parts of the validation, {self.validation}"
        if self.is_nothing:
            text += f"; shuffled targets do as well (p = {self.p_value:.2g}): no signal"
        return text[0].upper() + text[1:] + "."

    def shown(self) -> "Honest":
        """Record in familiar units.

        RMSE for regression; for classification the error rate, or the balanced error with class
        weights or a threshold; AUC and concordance instead of one minus these.
        """
        if self.measure in COMPLEMENTS:
            return self._complement(COMPLEMENTS[self.measure])
        if "error_rate" in self.figures and (self.measure not in RATES or self.balanced):
            return self._as_rate("balanced_error" if self.balanced else "error_rate")
        return self._rooted() if self.measure == "squared error" else self

    @property
    def shown_by_another(self) -> bool:
        """Whether ``shown`` differs from the measure by which sizes are chosen."""
        return self.shown().measure in FIGURES.values() and self.measure != self.shown().measure

    def _as_rate(self, figure: str) -> "Honest":
        """The record of a rate of the same predictions."""
        rate, empty, of_classes = self.figures[figure], self.empty_error, np.zeros(0)
        n = math.inf
        if self.confusion is not None:
            of_classes = np.sum(self.confusion, axis=1)
            n = float(of_classes.sum())
            most = 1 / len(of_classes) if self.balanced else of_classes.max() / n
            empty = float(1 - most)
        low, high = interval_around(rate, self.figures_se.get(figure, 0.0), n)
        interval = (low, min(max(high, error_rate_bound("error rate", n, rate * n)), 1.0))
        return replace(
            self,
            measure=FIGURES[figure],
            error=rate,
            interval=interval,
            empty_error=empty,
            repeats_sd=None,
        )

    def text(self, value: float) -> str:
        """Format an error of this kind; rates in percent.

        Parameters
        ----------
        value : float
            Error.
        """
        if self.measure in PERCENT:
            return f"{100 * value:.3g} %"
        if self.measure in COMPLEMENTS.values():
            return f"{value:.3f}"
        return brief(value, of=self.error)

    def _rooted(self) -> "Honest":
        """Return a squared error in units of the target."""
        root = math.sqrt(self.error)
        low, high = (math.sqrt(max(end, 0.0)) for end in self.interval)
        spread = self.repeats_sd
        return replace(
            self,
            measure="RMSE",
            error=root,
            interval=(low, high),
            empty_error=math.sqrt(self.empty_error),
            repeats_sd=None if spread is None or not root else spread / (2 * root),
        )

    def _complement(self, measure: str) -> "Honest":
        """Return one minus the error, for measures where this has a name (AUC, concordance)."""
        low, high = self.interval
        return replace(
            self,
            measure=measure,
            error=1.0 - self.error,
            interval=(max(1.0 - high, 0.0), min(1.0 - low, 1.0)),
            empty_error=1.0 - self.empty_error,
        )

    def __repr__(self) -> str:
        """Return the sentence; ``to_dict`` has all values."""
        n = self.size
        return f"<Honest: {n} feature{'s' * (n != 1)}. {self.sentence()}>"

    def __str__(self) -> str:
        """Return the sentence."""
        return self.sentence()

    def _repr_html_(self) -> str:
        """Return the sentence and, for classification, the confusion table."""
        n = self.size
        made = f"<p><b>{n} feature{'s' * (n != 1)}.</b> {escape(self.sentence())}</p>"
        return made + self._confusion_html()

    def _confusion_html(self) -> str:
        if self.confusion is None:
            return ""
        rows = "".join(
            "<tr>" + "".join(f"<td>{count:,.0f}</td>" for count in row) + "</tr>"
            for row in self.confusion
        )
        caption = "Samples left out: rows are classes, columns predicted classes"
        return f"<table><caption>{caption}</caption>{rows}</table>"

    def assignments(self) -> str:
        """Describe the random assignments to folds and their variation; "" if there is one."""
        if self.repeats_sd is None:
            return ""
        spread = f"standard deviation {brief(self.repeats_sd)} between them"
        return f"; mean of {self.repeats} random assignments to folds, {spread}"

    def between(self, written: Callable[[float], str] = brief) -> str:
        """Describe the interval; with few samples it may be open.

        Parameters
        ----------
        written : callable
            Formats a number.
        """
        low, high = map(written, self.interval)
        return f"{low} to {high}" if math.isfinite(self.interval[1]) else f"from {low} up"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(replace(self, _sizes={}))
        del plain["_sizes"]
        return {**plain, "interval": list(self.interval)}


@dataclass(frozen=True, eq=False, repr=False)
class HonestError(Summary):
    """Result of :func:`honest_error`: errors of all sizes, and the chosen size.

    Attributes
    ----------
    chosen : Honest
        Chosen size and its error.
    sizes, errors, errors_se : tuple of int, arrays
        Honest errors of every size.
    left_out : HeldOutLosses
        Losses of all held-out samples.
    null : Null or None
        The same search on shuffled targets, if requested.
    """

    chosen: Honest
    sizes: tuple[int, ...]
    errors: Any
    errors_se: Any
    left_out: HeldOutLosses
    null: Null | None = None

    @property
    def is_nothing(self) -> bool:
        """True if no features are recommended: permuted targets reach the same error, or no subset
        helps.

        The latter means that no subset is clearly better than the empty model on held-out samples.
        """
        found = self.left_out
        none = self.chosen.size == 0 and (bool(found.others) or chosen_size(found, "one_se") == 0)
        return none or self.chosen.is_nothing

    def sentence(self) -> str:
        """Return the result in one or two sentences."""
        n = self.chosen.size
        text = f"{n} feature{'' if n == 1 else 's'}. {self.chosen.sentence()}"
        if self.is_nothing and not self.chosen.is_nothing:
            text = (
                "No signal beyond noise: no set of features is clearly better than "
                f"none. {self.chosen.sentence()}"
            )
            if self.null is not None:  # there is more than in noise, and too little to be of use
                return f"{text} With y shuffled p = {self.null.p_value:.3g}."
        return text if self.null is None else f"{text} {self.null.sentence()}"

    def to_frame(self, backend: Make = None) -> Any:
        """Return a data frame with one row per size: size, honest_error, honest_error_se.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Data frame library; by default the first that is installed.
        """
        columns = {
            "size": list(self.sizes),
            "honest_error": self.errors.tolist(),
            "honest_error_se": self.errors_se.tolist(),
        }
        return make_frame(columns, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the honest error against size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on.
        """
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
    """Estimate the error on new data by nested cross-validation, and choose a size.

    Everything that uses X or y (search, penalty, scaling) is repeated with each part of the data
    held out. Any scikit-learn predictor can be evaluated, such as a selector and a model in a
    pipeline; a predictor without a path has a single size.

    Parameters
    ----------
    estimator : estimator with a path, or any scikit-learn predictor
        It is cloned; the original is not fitted.
    X, y : array, sparse matrix or data frame; array
        As given to ``fit``.
    validation : int, "loo", "time", splitter or list of splits
        Outer splits. A number of folds: shuffled with a fixed seed, stratified for classification.
        "time": ten parts in the order of the rows, each predicted from those before it. "auto":
        the default of the estimator, ten or five folds; with few samples, averaged over several
        random assignments to folds.
    choose : {"one_se", "min"}, int or float
        Rule that chooses the size on the honest errors; see ``SelectionPath.choose``. Methods that
        determine their own size keep it, unless a number is given.
    null : int
        Number of repetitions with shuffled y, for a p-value; 0: none.
    groups : array, optional
        Samples of one group are held out together.
    callback : callable, optional
        Called with the number of finished parts and their total. A true return value stops the
        work, as does Ctrl-C; the finished parts are used if there are at least two.
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
    repeats: int | None = 1
    if isinstance(validation, str) and validation == "auto":
        validation, repeats = getattr(estimator, "_n_folds", 10), None
    given = {"fit_params": fit_params, "groups": groups, "repeats": repeats}
    found = held_out_losses(
        estimator, X, y, validation, **given, callback=callback, keep=True, choose=choose
    )
    if not has_path(estimator):
        choose = found.sizes[-1]  # its own
    elif found.own is not None and not is_size(choose):
        choose = found.own
    nothing = None
    if not found.whole:
        warn_user(f"interrupted: the honest error uses the completed parts ({found.label}).")
    elif null:
        with Interruptible():
            nothing = permutation_null(
                estimator, X, y, null, groups=groups, callback=callback, **fit_params
            )
    size = chosen_size(found, choose)
    if nothing is not None and nothing.is_nothing:
        size = choose = found.sizes[0]  # the smallest model
    record = summarize(found, size, choose)
    if nothing is not None:
        record = replace(record, p_value=nothing.p_value, is_nothing=nothing.is_nothing)
    return HonestError(record, found.sizes, found.errors, found.errors_se, found, nothing)


def chosen_size(found: HeldOutLosses, rule: Any) -> int:
    """Return the size that a rule selects on the honest errors; see ``SelectionPath.choose``."""
    check_rule(rule)
    if is_size(rule):
        return largest_size_up_to(int(rule), found.sizes)
    errors = found.errors
    allowance = found.gaps_se(found.sizes[int(errors.argmin())])
    return found.sizes[int(places(rule, errors[None], lambda best: allowance[None])[0])]


def attach(path: SelectionPath, found: HeldOutLosses) -> SelectionPath:
    """Return the path with the honest errors of its sizes."""
    errors = found.errors
    best = found.sizes[int(np.argmin(errors))]
    figures = zip(errors, found.errors_se, found.gaps_se(best), spreads(found), strict=True)
    rows = [dict(zip(HONEST_NUMBERS, row, strict=True)) for row in figures]
    return path.with_honest(dict(zip(found.sizes, rows, strict=True)), found.label)


def summarize(found: HeldOutLosses, size: int, rule: Any) -> Honest:
    """Build the ``Honest`` record for a selected size.

    It is that of the empty model if several ways were tried and their best is, after correction,
    no better. A requested size, and the empty model, need no correction: no choice used the errors,
    unless the procedure was done in several ways.
    """
    place, each = found.sizes.index(size), by_size(found)
    error, spread = float(found.errors[place]), float(spreads(found)[place])
    figures = each[size]["figures"]
    interval = interval_around(error, spread, found.n_samples)
    fixed = size == 0 or (is_size(rule) and not found.others)
    if not fixed or not error:
        of = correct(found, size if fixed else rule)
        if of.by_chance:
            return summarize(found, 0, rule)
        error, interval, figures = of.error, of.interval, of.figures
    return Honest(
        size,
        error,
        float(found.errors_se[place]),
        interval,
        float(found.errors[0]),
        found.metric,
        found.label,
        whole=found.whole,
        repeats=found.repeats,
        balanced=_is_balanced(found),
        _sizes=each,
        **{**each[size], "figures": figures},
    )


def by_size(found: HeldOutLosses) -> dict[int, dict[str, Any]]:
    """Return the uncorrected attributes of the record of each size."""
    figures = {} if found.figures is None else found.figures.every()
    rates_se = {} if found.figures is None else _rates_se(found, found.figures)
    return {
        size: {
            "figures": {name: float(values[i]) for name, values in figures.items()},
            "figures_se": {name: float(values[i]) for name, values in rates_se.items()},
            "confusion": table_at(found, "confusion", i),
            "reliability": table_at(found, "reliability", i),
            "neighbours": found.neighbours.get(size),
            "repeats_sd": float(found.repeats_sd[i]) if found.repeats > 1 else None,
        }
        for i, size in enumerate(found.sizes)
    }


def _rates_se(found: HeldOutLosses, figures: ClassFigures) -> dict[str, Floats]:
    """Standard errors of rates by size, uncorrected."""
    made = {}
    for name, weights in (("error_rate", figures.weights), ("balanced_error", figures.balance)):
        if len(weights):
            counted = np.where(found.known, weights, 0.0)
            rates = found.with_losses(figures.mistakes, counted / counted.sum())
            made[name] = rates.errors_se
    return made


def _is_balanced(found: HeldOutLosses) -> bool:
    """Whether classes were weighed, or a threshold chosen."""
    if found.figures is None:
        return False
    given, known = found.figures.weights, found.known
    alike = np.allclose(found.weights[known], given[known] / given[known].sum())
    return bool(len(found.figures.thresholds)) or not alike


def table_at(found: HeldOutLosses, name: str, place: int) -> tuple[tuple[float, ...], ...] | None:
    """Return a table of the figures at one size; None if there is none."""
    tables = getattr(found.figures, name, ())
    return tuple(tuple(row) for row in tables[place].tolist()) if len(tables) else None


def at(path: SelectionPath, size: int, measure: str) -> Honest:
    """Return the record of a requested size of a path."""
    step, empty = path.step(size), path.steps[0].honest_error
    error, se = step.honest_error, step.honest_error_se
    n = path.data.get("n_samples", math.inf)
    interval = (
        interval_around(error, step.honest_spread, n)
        if error
        else (0.0, error_rate_bound(measure, n))
    )
    return Honest(size, error, se, interval, empty, measure, path.validation)
