"""The answer of a selection in words, and its path as a table.

First the answer in four labelled lines (selected features, expected error, baseline, why this
size), then the table, then details.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from sparsepath.assessment import Honest
from sparsepath.assessment.metrics import RATES
from sparsepath.assessment.repetitions import at_most
from sparsepath.data.layout import BY_NUMBER
from sparsepath.methods import METHODS
from sparsepath.path.choosing import ranges
from sparsepath.path.selection_path import SelectionPath
from sparsepath.report.figures import said as figures_said
from sparsepath.report.outcome import Outcome, beneath
from sparsepath.report.path_table import in_table, path_table
from sparsepath.system.number_format import brief

MEANT_BY = {
    "selection": "the search's own criterion: optimistic for the chosen set, not an estimate of "
    "the error on new data",
    "training": "on the training data: optimistic, not an estimate of the error on new data",
    "honest": "on data that the search never saw",
}
BESIDE = {
    "selection": "that the search minimised",
    "training": "on the training data",
    "honest": "on data that the search never saw",
}
FOLLOWED = (
    "of models on features that were chosen with the same rows: optimistic, not an estimate of the "
    "error on new data"
)
WHERE = {"training": " on the training data", "honest": " on data that the search never saw"}
TOO_LITTLE = (
    "With the target shuffled the same search rarely finds as much (p = {0.p_value:.3g}), but what "
    "it finds here is too little to be of use on new data."
)
FALLING = 1e-3  # part of an error by which the next step lowers it, if it is to count as falling
WIDE_TABLE = 160  # columns of a table that goes to a file
RULES_SAID = {
    "min": "least error on the path",
    "own": "the model with which the method ended",
    "one_se": "smallest size within one standard error of the best",
    "paired": "smallest set within one standard error of the best (paired)",
}


def heading(outcome: Outcome) -> list[str]:
    """Describe what was searched, how, and what the error means."""
    path, model, table = outcome.path, beneath(outcome.model), outcome.table
    m, n = table.X.shape
    task = outcome.task
    columns = 0 if table.layout is None or table.layout.kind != BY_NUMBER else table.layout.columns
    of = f" (of {columns:,} columns; the others are empty)" if columns > n else ""
    how = [path.method or outcome.method]
    said = METHODS[outcome.method].model
    if said:
        how.append(said)
    if hasattr(model, "alpha_"):
        given, how_alpha = model.alpha, ""
        if given == "loo":
            how_alpha = " (by leave-one-out with all features)"
        elif isinstance(given, str) and model.refit_alpha_ != model.alpha_:
            how_alpha = f" for the search, {model.refit_alpha_:.4g} for the coefficients"
        elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 1:
            how_alpha = f" (of {', '.join(f'{a:.4g}' for a in given)})"
        how.append(f"alpha {model.alpha_:.4g}{how_alpha}")
    how += _settings(model)
    if getattr(model, "standardize", False):
        penalised = hasattr(model, "alpha_") or hasattr(model, "l2")
        how.append(f"columns standardised{' for the penalty' * penalised}")
    return [
        f"Data: {table.source}, {m:,} rows, {n:,} features{of}, target {table.target!r}.",
        f"Task: {task.name} (the target is {task.why}; --task {task.other} changes that).",
        f"Method: {', '.join(how)}.",
        _error_line(outcome),
    ]


def _error_line(outcome: Outcome) -> str:
    """Describe the errors in the table."""
    path, honest = outcome.path, outcome.honest
    follows = bool(METHODS[outcome.method].model)
    if honest is None:
        return f"Error: {path.criterion}, {FOLLOWED if follows else MEANT_BY[path.error_kind]}."
    what = "of features that were chosen on the same rows" if follows else BESIDE[path.error_kind]
    return (
        f"Error: 'honest' is the {honest.measure} on rows that the whole procedure never saw "
        f"({path.validation}): what to expect on new data. 'criterion' is the {path.criterion} "
        f"{what}: optimistic."
    )


def _settings(model: Any) -> list[str]:
    """Describe penalties, budgets and widths in use."""
    said = []
    if hasattr(model, "l1_"):
        said.append(f"l1 {model.l1_:.4g} (by cross-validation)")
    elif hasattr(model, "l1"):
        said.append(f"l1 {model.l1:.4g}")
    said += [f"{name} {getattr(model, name):.4g}" for name in ("l2", "l0") if _set(model, name)]
    if hasattr(model, "n_hidden_"):
        said.append(f"{model.n_hidden_} hidden unit{'s' * (model.n_hidden_ != 1)}")
    names = {"r_": "r", "t_": "t", "gamma_": "gamma", "sigma2_": "sigma2"}
    if len(model.selected_):
        said += [f"{n} {getattr(model, a):.4g}" for a, n in names.items() if hasattr(model, a)]
    if hasattr(model, "n_restarts"):
        said.append(f"seed {model.random_state}")
    return said


def _set(model: Any, name: str) -> bool:
    return bool(getattr(model, name, 0))


def lines(outcome: Outcome) -> list[str]:
    """Return the answer in four labelled lines, followed by answers to other requests."""
    answer = {
        "Selected": _selected(outcome),
        "Expected error": _expected(outcome),
        "Baseline": _baseline(outcome),
        "Why this size": _why(outcome),
    }
    found = [f"{label}: {text}" for label, text in answer.items() if text]
    return [*found, *_more(outcome)]


def paragraphs(outcome: Outcome) -> list[str]:
    """Return all paragraphs for the report."""
    return [*lines(outcome), *details(outcome)]


def _more(outcome: Outcome) -> list[str]:
    """Return answers beyond the four lines: rare class, bounds, permutations, halves, leaks."""
    told = [] if outcome.honest is None else _found(outcome, outcome.honest)
    told += _further(outcome)
    if outcome.null is not None:
        useless = outcome.null.anything and _none_better(outcome)
        told.append(TOO_LITTLE.format(outcome.null) if useless else outcome.null.sentence())
    if outcome.stability is not None:
        told.append(_stability(outcome))
    if outcome.without is not None:
        told.append(_without_leaks(outcome, outcome.without))
    return told


def details(outcome: Outcome) -> list[str]:
    """Return the honest error before its correction, and the criterion of the search."""
    if outcome.honest is None:
        return []
    return [_criterion_beside(outcome, outcome.honest)]


def _without_leaks(outcome: Outcome, without: Outcome) -> str:
    """Return the answer of the search without columns that look like leaks."""
    names = " and ".join(repr(each.name) for each in outcome.leaks)
    baseline = _baseline(without)
    return (
        f"Without {names}, if not known in time: {_selected(without)} Expected error: "
        f"{_expected(without)}" + (f" Baseline: {baseline}" if baseline else "")
    )


def _selected(outcome: Outcome) -> str:
    path, size = outcome.path, outcome.size
    n = path.n_features
    features = f"{n} feature{'s' * (n != 1)}"
    if outcome.is_nothing:
        p = outcome.null.p_value if outcome.null is not None else math.nan
        kept = f" but the {size} of the smallest model" if size else ""
        return f"none of {features}{kept}; permuted targets reach the same error (p = {p:.3g})."
    if size == 0:
        return f"none of {features}."
    return f"{size} of {features}: {', '.join(path.names(size))}."


def _expected(outcome: Outcome) -> str:
    """Return the out-of-sample error of the full procedure, or the criterion if it was not
    estimated.
    """
    honest = outcome.honest
    if honest is None:
        return _criterion_only(outcome)
    figures = dict(outcome.figures)
    told = []
    if _in_units(outcome, honest):
        root = partial(grouped, of=math.sqrt(honest.error))
        interval = _rooted(honest).between(root)
        told.append(f"RMSE {grouped(figures.pop('rmse'))} (90 % interval {interval})")
    elif not _by_classes(outcome, honest):
        written = partial(brief, of=honest.error)
        if honest.measure in RATES:
            written = partial(_rate, of=honest.measure)
        interval = honest.between(written)
        told.append(f"{honest.measure} {written(honest.error)} (90 % interval {interval})")
    if _by_classes(outcome, honest):
        rate = 100 * balanced_error(honest.confusion)
        figures = {"error_rate": figures.pop("error_rate"), **figures}
        figures.pop("balanced_error", None)  # the rate of the matrix below stands for it
        told += [figures_said(figures), f"balanced error rate {rate:.3g} %"]
    elif figures:
        told.append(figures_said(figures))
    others = getattr(outcome.model, "surface_", None)
    if others is not None and len(others.paths) > 1:
        told.append(f"with alpha {outcome.model.alpha_:.4g}")
    where = "later rows (time order)" if "in time order" in honest.validation else "new data"
    return f"{', '.join(told)}, on {where}."


def _by_classes(outcome: Outcome, honest: Honest) -> bool:
    """Return whether a squared error is shown as the error rate of a classifier."""
    squared = honest.measure == "squared error" and honest.confusion is not None
    return squared and "error_rate" in outcome.figures


def _in_units(outcome: Outcome, honest: Honest) -> bool:
    """Return whether the error is a squared error of numbers, shown as its root in units of the
    target.
    """
    return "rmse" in outcome.figures and honest.measure == "squared error"


def grouped(value: float, of: float | None = None) -> str:
    """Format a number like ``brief``, with commas in large numbers.

    >>> grouped(55.264), grouped(110939.4), grouped(103465.2, of=55.0)
    ('55.26', '110,939', '103,465.20')
    """
    plain = brief(value, of)
    return plain if abs(value) < 1e4 or "e" in plain else f"{float(plain):,.{_decimals(plain)}f}"


def _decimals(written: str) -> int:
    return len(written.partition(".")[2])


def _rooted(honest: Honest) -> Honest:
    low, high = honest.interval
    return replace(honest, interval=(math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))))


def _rate(value: float, of: str) -> str:
    return f"{value:.3f}" if of == "AUC error" else f"{100 * value:.3g} %"


def _baseline(outcome: Outcome) -> str:
    """Return the error without features: of the mean, or of the most frequent class."""
    honest = outcome.honest
    if honest is None:
        return ""
    worse = outcome.size != outcome.path.sizes[0] and honest.gain <= 0
    more = " These features are no better than the baseline." if worse else ""
    if _by_classes(outcome, honest):
        counts = np.sum(np.asarray(honest.confusion), axis=1)
        most = int(counts.argmax())
        label, rate = outcome.model.classes_[most], 100 * (1 - counts[most] / counts.sum())
        return f"error rate {rate:.3g} % when always predicting {str(label)!r}.{more}"
    _, what = _gain(outcome.path, outcome.size)
    if not what or not 0 < honest.empty_error < math.inf:
        return more.strip()
    empty = honest.empty_error
    written = brief(empty, of=honest.error)
    if _in_units(outcome, honest):
        written = f"RMSE {grouped(math.sqrt(empty), of=math.sqrt(honest.error))}"
        what = "predicting the mean" if what == "the empty model" else what
    elif honest.measure in RATES:
        written = _rate(empty, honest.measure)
    doubt = outcome.size != outcome.path.sizes[0] and honest.gain > 0
    within = ", which the interval includes" * (doubt and honest.interval[1] >= empty)
    return f"{written} ({what}{within}).{more}"


def balanced_error(confusion: Any) -> float:
    """Return the mean of the error rates of the classes."""
    table = np.asarray(confusion)
    return float(1 - np.mean(np.diag(table) / np.maximum(table.sum(1), 1e-300)))


def _found(outcome: Outcome, honest: Honest) -> list[str]:
    """Return recall and precision of the rarer class."""
    if honest.confusion is None or len(honest.confusion) != 2 or not outcome.size:
        return []
    table = np.asarray(honest.confusion)
    rare = int(table.sum(1).argmin())
    label = repr(str(outcome.model.classes_[rare]))
    there, called, right = table[rare].sum(), table[:, rare].sum(), table[rare, rare]
    if called < 0.5:
        return []  # a warning says so
    return [
        f"Of {there:,.0f} rows of class {label}, {right:,.0f} are found ({right / there:.0%}); of "
        f"{called:,.0f} rows predicted as {label}, {right / called:.0%} are.".replace("%", " %")
    ]


def _criterion_beside(outcome: Outcome, honest: Honest) -> str:
    """Return the criterion of the search next to the honest error, in the units of the table."""
    path, size = outcome.path, outcome.size
    error, se = path.error(size), path.error_se(size)
    within = "" if math.isnan(se) else f" (+- {brief(se, of=error)})"
    hope = ": optimistic" if error < honest.error else ""
    interval = honest.between(partial(brief, of=honest.error))
    table = path.honest_error(size)
    said = (
        f"{honest.measure} {brief(honest.error)} (90 % interval {interval}{honest.assignments()})"
    )
    if brief(table) != brief(honest.error):
        said += (
            f", {brief(table, of=honest.error)} in the table, before the correction for choosing "
            f"among {len(path)} sizes"
        )
    if _none_better(outcome):
        return f"Details: {said}."
    criterion = _criterion(path, outcome.method)
    return f"Details: {said}. {criterion}, is {brief(error)}{within}{hope}."


def _criterion_only(outcome: Outcome) -> str:
    """Return the criterion of the search, if the error on new data was not estimated."""
    path, size = outcome.path, outcome.size
    error, se = path.error(size), path.error_se(size)
    within = "" if math.isnan(se) else f" (+- {brief(se, of=error)})"
    also = f"; {figures_said(outcome.figures)}" if outcome.figures else ""
    others = getattr(outcome.model, "surface_", None)
    if others is not None and len(others.paths) > 1:
        also += f", with alpha {outcome.model.alpha_:.4g}"
    fall, what = _gain(path, size)
    against = "" if math.isnan(fall) else f", {_percent(fall)} {what}"
    by = "models on features chosen with the same rows"
    if not METHODS[outcome.method].model:
        by = "the criterion that the search itself minimised"
    return (
        f"larger than the {path.criterion}{WHERE.get(path.error_kind, '')} "
        f"{brief(error)}{within}{against}{also}. This comes from {by}: no row was kept from the "
        "search."
    )


def _criterion(path: SelectionPath, method: str) -> str:
    """Return the criterion with its kind."""
    by = "which the search itself minimised"
    if METHODS[method].model:
        by = "with features that were chosen on the same rows"
    return f"The {path.criterion}{WHERE.get(path.error_kind, '')}, {by}"


def _none_better(outcome: Outcome) -> str:
    """Return the reason why no features are recommended; empty if there is none."""
    path = outcome.path
    least = path.choose("min") == 0
    if outcome.size or not (least or (outcome.rule == "one_se" and not outcome.is_nothing)):
        return ""
    does = "does better" if least else "is clearly better"
    told = f"no set of features {does} on new data than none"
    lowest = path.steps[int(path.errors.argmin())]
    if not lowest.subset:
        return f"{told}."
    return (
        f"{told}, although {_criterion(path, outcome.method).replace('The', 'the', 1)}, falls to "
        f"{brief(lowest.error)} at size {len(lowest.subset)}."
    )


def _percent(fall: float) -> str:
    return f"{abs(fall):.1%}".replace("%", " %") + (" below" if fall >= 0 else " above")


def _why(outcome: Outcome) -> str:
    """Return the rule that chose the size, and the size with the minimum error."""
    path, size, rule = outcome.path, outcome.size, outcome.rule
    best = path.choose("min")
    if outcome.is_nothing:
        return ""
    if outcome.honest is not None and (told := _none_better(outcome)):
        return told
    if isinstance(rule, str):
        paired = rule == "one_se" and outcome.honest is not None
        why = RULES_SAID["paired" if paired else rule]
    elif isinstance(rule, int):
        why = "the size requested" if size == rule else f"the nearest size to the {rule} requested"
    else:
        why = f"smallest set within {rule:.4g} of the least error"
    others = getattr(outcome.model, "surface_", None)
    if outcome.honest is None and others is not None and len(others.paths) > 1:
        alpha, best = others.choose("min")
        if (alpha, best) == (outcome.model.alpha_, size):
            return f"{why}."
        lowest = brief(others.paths[alpha].error(best))
        return f"{why}; the least is {lowest} at size {best} with alpha {alpha:.4g}."
    if best == size:
        return f"{why}."
    least = float(_errors(outcome)[path.sizes.index(best)])
    lowest = brief(least)
    if outcome.honest is not None and _in_units(outcome, outcome.honest):
        lowest = f"RMSE {grouped(math.sqrt(least))}"
    return f"{why}; the least is {lowest} at size {best}."


def _further(outcome: Outcome) -> list[str]:
    """Return a note if the path ends too early."""
    path = outcome.path
    if path.certificate is not None:
        return [proofs(path.certificate)]
    if not path.complete:
        return [f"The search was interrupted when the path had the sizes {ranges(path.sizes)}."]
    most = min(path.n_features, outcome.table.X.shape[0] - 2)  # rows leave room for no more
    ends = path.choose("min") == path.sizes[-1] < most and path.stopped == "max_features"
    if outcome.size and ends and _falls(_errors(outcome)):
        return ["The error was still falling where the path ends: try a larger --max-features."]
    return []


def proofs(certificate: Mapping[str, Any]) -> str:
    """Describe which subsets are proved best, and by how much others may be better.

    >>> proofs({"criterion": "training error", "sizes": [1, 2, 3], "values": [4.0, 2.0, 1.0],
    ...     "lower_bounds": [4.0, 2.0, 0.9]})
    'Proved best by training error: sizes 1-2. Size 3: at most 11 % above the best.'
    """
    names = ("sizes", "values", "lower_bounds")
    known = list(zip(*(certificate[name] for name in names), strict=True))
    proved = [size for size, value, lower in known if value == lower]
    above = [(size, (v - lower) / lower) for size, v, lower in known if v > lower > 0]
    unknown = [size for size, value, lower in known if value > lower <= 0]
    said = [f"Proved best by {certificate['criterion']}: sizes {ranges(tuple(proved)) or 'none'}."]
    said += [f"Size {size}: at most {100 * part:.2g} % above the best." for size, part in above]
    said += [f"Size {size}: no bound." for size in unknown]
    return " ".join(said)


def _errors(outcome: Outcome) -> Any:
    """Return the errors that determine the size."""
    return outcome.path.errors if outcome.honest is None else outcome.path.honest_errors


def _stability(outcome: Outcome) -> str:
    """Describe the stability at the chosen size, and interchangeable features."""
    found = outcome.stability
    assert found is not None
    if not found.sizes:
        return f"Over {found.n_runs} halves of the data no feature was chosen: they are too small."
    size = at_most(max(outcome.size, 1), dict.fromkeys(found.sizes))
    told = [found.sentence(size)]
    for group in found.stand_ins(size):
        told.append(f"One of these stands in for another: {', '.join(group)}.")
    return " ".join(told)


def _falls(errors: Any) -> bool:
    """Return whether the last step lowered the error noticeably."""
    if len(errors) < 2:
        return False
    before, last = errors[-2:]
    return bool(before - last > FALLING * abs(last))


def show(outcome: Outcome, verbose: bool = False) -> None:
    """Print the answer, the table and details."""
    piped = not sys.stdout.isatty()  # then lines stay whole, for whoever reads them
    console = Console(highlight=False, width=WIDE_TABLE if piped else None)
    for line in lines(outcome):
        console.print(Text(line, style="bold"), soft_wrap=piped)
    console.print(path_table(outcome))
    shown = in_table(outcome.path, outcome.size)
    if hidden := len(outcome.path) - sum(place is not None for place in shown):
        left_out = f"{hidden} of {len(outcome.path)} sizes are left out here; --out DIR writes all."
        console.print(Text(left_out, style="dim"), soft_wrap=piped)
    for line in [*heading(outcome), *(details(outcome) if verbose else [])]:
        console.print(Text(line), soft_wrap=piped)


def _gain(path: SelectionPath, size: int) -> tuple[float, str]:
    """Return the fraction by which a size lowers the error of the smallest model, and that model's
    name.

    The smallest model is the empty model or that of the forced features; NaN if there is neither.
    """
    least, what = path.sizes[0], "the empty model"
    if least and path.parameters.get("forced"):
        what = "the forced features alone"
    elif least:
        return math.nan, ""
    if size == least or not 0 < path.error(least) < math.inf:
        return math.nan, what
    return 1 - path.error(size) / path.error(least), what
