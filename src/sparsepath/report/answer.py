"""The answer of a selection in words, and its path as a table.

First the answer in four labelled lines (selected features, expected error, baseline, why this
size), then the table, then details.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from sparsepath.assessment import Coefficients, Honest
from sparsepath.assessment.honest import COMPLEMENTS, PERCENT
from sparsepath.assessment.repetitions import largest_size_up_to
from sparsepath.data.layout import BY_NUMBER
from sparsepath.methods import METHODS
from sparsepath.path.choosing import ranges
from sparsepath.path.selection_path import SelectionPath
from sparsepath.report.figures import format_figures as figures_said
from sparsepath.report.outcome import Outcome, beneath
from sparsepath.report.path_table import WIDE_TABLE, in_table, least_width, listed, path_table
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
    "With the target shuffled, the same search rarely does as well (p = {0.p_value:.3g}), but the "
    "improvement is too small to be useful on new data."
)
CONCORDANCE = (
    "Concordance: of two rows, how often the one with the higher predicted risk has the event "
    "first (1: always; 0.5: guessing)."
)
FALLING = 1e-3  # part of an error by which the next step lowers it, if it is to count as falling
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
    change = "" if task.name == "survival" else f"; --task {task.other} changes that"
    columns = 0 if table.layout is None or table.layout.kind != BY_NUMBER else table.layout.columns
    of = f" (of {columns:,} columns; the others are empty)" if columns > n else ""
    how = [path.method or outcome.method]
    if METHODS[outcome.method].is_choice:
        how = [outcome.method, f"which chose {outcome.model.method_}"]
        model = getattr(model, "_chosen", model)
    said = METHODS[outcome.method].model
    if said:
        how.append(said)
    if hasattr(model, "alpha_"):
        given, how_alpha = model.alpha, ""
        if given == "loo":
            how_alpha = " (by leave-one-out with all features)"
        elif given == "auto" and _is_logistic(outcome):
            refit = f"{model.refit_alpha_:.4g}"
            how_alpha = f" for the search, a logistic model of the selected columns (alpha {refit})"
        elif isinstance(given, str) and model.refit_alpha_ != model.alpha_:
            how_alpha = f" for the search, {model.refit_alpha_:.4g} for the coefficients"
        elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 1:
            how_alpha = f" (of {', '.join(f'{a:.4g}' for a in given)})"
        how.append(f"alpha {model.alpha_:.4g}{how_alpha}")
        if getattr(model, "_power", None) is not None:
            how.append(f"{model.loss} models of the selected columns".capitalize())
    how += _settings(model)
    if getattr(model, "standardize", False):
        penalised = hasattr(model, "alpha_") or hasattr(model, "l2")
        how.append(f"columns standardised{' for the penalty' * penalised}")
    return [
        f"Data: {table.source}, {m:,} rows, {n:,} features{of}, target {table.target!r}.",
        f"Task: {task.name} (the target is {task.why}{change}).",
        f"Method: {', '.join(how)}.",
        _error_line(outcome),
    ]


def _is_logistic(outcome: Outcome) -> bool:
    """Return whether probabilities are the logistic function of the scores themselves."""
    return outcome.task.name == "classification" and outcome.model._slope_at(outcome.size) == 1


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
    answers = [] if outcome.honest is None else _found(outcome, outcome.honest)
    answers += _further(outcome)
    if outcome.task.name == "survival" and outcome.size:
        answers.append(CONCORDANCE)
    if outcome.null is not None:
        useless = outcome.null.anything and _none_better(outcome)
        answers.append(TOO_LITTLE.format(outcome.null) if useless else outcome.null.sentence())
    if outcome.stability is not None:
        answers.append(_stability(outcome))
    if outcome.coefficients is not None:
        answers.append(_coefficients(outcome, outcome.coefficients))
    answers += [each.sentence() for each in (outcome.discoveries, outcome.p_values) if each]
    if outcome.without is not None:
        answers.append(_without_leaks(outcome, outcome.without))
    return answers


def _coefficients(outcome: Outcome, found: Coefficients) -> str:
    """Return the coefficients with their intervals, and what these are."""
    link = getattr(outcome.model, "transform_", None)
    on = "" if link is None else f" on the {link} scale of the target"
    rows = zip(found.features, found.values, found.low, found.high, found.shares, strict=True)
    listed = [
        f"{name} {brief(value)} ({brief(low, of=value)} to {brief(high, of=value)}; {share:.0%})"
        for name, value, low, high, share in rows
    ]
    return (
        f"Coefficients{on} ({found.level:.0%} interval; share of {found.n_resamples} resamples "
        f"that select the feature): {', '.join(listed) or 'none'}. The intervals are for these "
        "columns; they do not include the selection."
    ).replace("%", " %")


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
    return f"{size} of {features}: {listed(path.names(size))}."


def _expected(outcome: Outcome) -> str:
    """Return the out-of-sample error of the full procedure, or the criterion if it was not
    estimated.
    """
    honest = outcome.honest
    if honest is None:
        return _criterion_only(outcome)
    shown = honest.shown()
    figures = [f"{_said(shown)} (90 % interval {shown.between(shown.text)})"]
    beside = {name: value for name, value in outcome.figures.items() if name in ("r2", "d2", "auc")}
    if "error_rate" in honest.figures and shown.measure != "error rate":
        beside["error_rate"] = honest.figures["error_rate"]
    if shown.measure == "AUC":
        beside.pop("auc", None)
    if beside:
        figures.append(figures_said(beside))
    others = getattr(outcome.model, "surface_", None)
    if others is not None and len(others.paths) > 1:
        figures.append(f"with alpha {outcome.model.alpha_:.4g}")
    where = "later rows (time order)" if "in time order" in honest.validation else "new data"
    return f"{', '.join(figures)}, on {where}."


def _said(shown: Honest) -> str:
    return f"{shown.measure} {shown.text(shown.error)}"


def _baseline(outcome: Outcome) -> str:
    """Return the error without features: of the mean, or of the most frequent class."""
    honest = outcome.honest
    if honest is None:
        return _baseline_of_criterion(outcome)
    shown, what = honest.shown(), _gain(outcome.path, outcome.size)[1]
    chosen = outcome.size != outcome.path.sizes[0]
    worse = chosen and honest.gain <= 0
    more = " These features are no better than the baseline." * worse
    empty = shown.empty_error
    if not what or not 0 < empty < math.inf:
        return more.strip()
    if what == "the empty model":
        what = _without_features(outcome, honest, shown)
    includes = chosen and not worse and shown.interval[0] <= empty <= shown.interval[1]
    within = "; it lies in the interval" * includes
    return f"{shown.measure} {shown.text(empty)} ({what}){within}.{more}"


def _without_features(outcome: Outcome, honest: Honest, shown: Honest) -> str:
    """What a model without features does."""
    if shown.measure == "RMSE" or "deviance" in shown.measure:
        return "predicting the mean"
    if shown.measure == "balanced error":
        return "always predicting one class"
    if shown.measure in COMPLEMENTS.values():
        return "guessing"
    if shown.measure == "error rate" and honest.confusion is not None:
        most = int(np.sum(honest.confusion, axis=1).argmax())
        return f"always predicting {str(outcome.model.classes_[most])!r}"
    return "the empty model"


def _baseline_of_criterion(outcome: Outcome) -> str:
    """The criterion of the search without any feature, or with the forced ones alone."""
    path = outcome.path
    what, empty = _gain(path, outcome.size)[1], path.error(path.sizes[0])
    if not what or not 0 < empty < math.inf or (outcome.figures and "rmse" not in outcome.figures):
        return ""
    if "rmse" in outcome.figures:
        what = "predicting the mean" if what == "the empty model" else what
        return f"RMSE {brief(math.sqrt(empty))} ({what})."
    return f"{brief(empty)} ({what})."


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
            f", {brief(table, of=honest.error)} before the correction for choosing among "
            f"{len(path)} sizes"
        )
    names = {"log_loss", "brier"} - {honest.measure.replace(" ", "_")}
    beside = {name: v for name, v in outcome.figures.items() if name in names}
    said += f"; {figures_said(beside)}" if beside else ""
    if _none_better(outcome):
        return f"Details: {said}."
    criterion = _criterion(path, outcome.method)
    return f"Details: {said}. {criterion}, is {brief(error)}{within}{hope}."


def _criterion_only(outcome: Outcome) -> str:
    """Return the criterion of the search, if the error on new data was not estimated."""
    path, size = outcome.path, outcome.size
    criterion = f"{path.criterion}{WHERE.get(path.error_kind, '')}"
    if outcome.figures:
        text = f"{figures_said(outcome.figures)}, by the {criterion}"
    else:
        error, se = path.error(size), path.error_se(size)
        within = "" if math.isnan(se) else f" (+- {brief(se, of=error)})"
        text = f"the {criterion} {brief(error)}{within}"
    by = "of models on features chosen with the same rows"
    if not METHODS[outcome.method].model:
        by = "that the search itself minimised"
    others = getattr(outcome.model, "surface_", None)
    several = others is not None and len(others.paths) > 1
    alpha = f"; with alpha {outcome.model.alpha_:.4g}" if several else ""
    return f"larger than {text} {by}: no row was kept from the search{alpha}."


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
    reason = f"no set of features {does} on new data than none"
    lowest = path.steps[int(path.errors.argmin())]
    if not lowest.subset:
        return f"{reason}."
    return (
        f"{reason}, although {_criterion(path, outcome.method).replace('The', 'the', 1)}, falls to "
        f"{brief(lowest.error)} at size {len(lowest.subset)}."
    )


def _why(outcome: Outcome) -> str:
    """By which rule, and where the least error is."""
    path, size, rule, honest = outcome.path, outcome.size, outcome.rule, outcome.honest
    best = path.choose("min")
    if outcome.is_nothing:
        return ""
    if honest is not None and (reason := _none_better(outcome)):
        return reason
    if isinstance(rule, str):
        paired = rule == "one_se" and honest is not None
        why = RULES_SAID["paired" if paired else rule]
        if paired and honest is not None and honest.shown_by_another:
            why = why.replace("paired", f"paired, by {honest.measure}")
    elif isinstance(rule, int):
        why = "the size requested" if size == rule else f"the nearest size to the {rule} requested"
    else:
        why = f"smallest set within {rule:.4g} of the least error"
    others = getattr(outcome.model, "surface_", None)
    if honest is None and others is not None and len(others.paths) > 1:
        alpha, best = others.choose("min")
        if (alpha, best) == (outcome.model.alpha_, size):
            return f"{why}."
        lowest = _in_table(outcome, others.paths[alpha].error(best))
        return f"{why}; the least is {lowest} at size {best} with alpha {alpha:.4g}."
    if best == size:
        return f"{why}."
    least = float(_errors(outcome)[path.sizes.index(best)])
    by_another = honest is not None and honest.shown_by_another
    what = f"least {honest.measure}" if by_another and honest is not None else "least"
    if honest is not None and honest.measure in COMPLEMENTS:
        what = "highest"
    return f"{why}; the {what} is {_in_table(outcome, least)} at size {best}."


def _in_table(outcome: Outcome, error: float) -> str:
    """An error by which sizes are chosen, as the table has it."""
    honest = outcome.honest
    if "rmse" in outcome.figures:
        return f"RMSE {brief(math.sqrt(error))}"
    if honest is not None and honest.measure in PERCENT:
        return honest.text(error)
    if honest is not None and honest.measure in COMPLEMENTS:
        return f"{1.0 - error:.3f}"
    return brief(error)


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
    size = largest_size_up_to(max(outcome.size, 1), dict.fromkeys(found.sizes))
    sentences = [found.sentence(size)]
    for group in found.stand_ins(size):
        sentences.append(f"Interchangeable features: {', '.join(group)}.")
    return " ".join(sentences)


def _falls(errors: Any) -> bool:
    """Return whether the last step lowered the error noticeably."""
    if len(errors) < 2:
        return False
    before, last = errors[-2:]
    return bool(before - last > FALLING * abs(last))


def show(outcome: Outcome, verbose: bool = False) -> None:
    """Print the answer, the table and the method; ``verbose``: details too."""
    piped = not sys.stdout.isatty()  # then lines stay whole, for whoever reads them
    console = Console(highlight=False, width=WIDE_TABLE if piped else None)
    for line in lines(outcome):
        console.print(Text(line, style="bold"), soft_wrap=piped)
    wide = max(console.width, least_width(outcome))  # a narrow terminal wraps, but cuts no number
    Console(highlight=False, width=wide).print(path_table(outcome, verbose, wide))
    shown = in_table(outcome.path, outcome.size)
    if hidden := len(outcome.path) - sum(place is not None for place in shown):
        left_out = f"{hidden} of {len(outcome.path)} sizes are left out here; path.csv has all."
        console.print(Text(left_out, style="dim"), soft_wrap=piped)
    if note := corrected_said(outcome):
        console.print(Text(note, style="dim"), soft_wrap=piped)
    data, task, method, error = heading(outcome)
    brief = [task, method] if outcome.task.is_doubtful else [method]
    for line in [data, task, method, error, *details(outcome)] if verbose else brief:
        console.print(Text(line), soft_wrap=piped)


def corrected_said(outcome: Outcome) -> str:
    """Why the expected error is not the one of the table; empty if it is."""
    path, honest = outcome.path, outcome.honest
    if honest is None or (table := honest.requested(path, outcome.size)) is None:
        return ""
    shown, other = honest.shown(), table.shown()
    if shown.text(shown.error) == other.text(other.error):
        return ""
    return (
        f"The expected error above is corrected for choosing among {len(path)} sizes; the table is "
        "not."
    )


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
