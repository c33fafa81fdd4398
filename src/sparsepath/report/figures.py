"""Familiar error measures (RMSE, R2, error rate, AUC) next to the criterion of the search."""

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsepath.assessment import Honest
from sparsepath.assessment.honest import COMPLEMENTS, FIGURES, PERCENT
from sparsepath.assessment.metrics import METRICS, Truth
from sparsepath.errors import InputError
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats
from sparsepath.system.number_format import brief

PAIRED = 5e7  # pairs of rows times features up to which the area under the curve takes a second


@dataclass(frozen=True, eq=False)
class SizeErrors:
    """The error of every size in familiar units.

    RMSE and R2 of squared errors of numbers, rate and AUC for classification. ``criterion`` is what
    the search minimised, where there are honest errors: its root of squared errors of numbers.
    """

    name: str
    values: Floats
    se: Floats
    criterion: Floats | None = None
    beside: tuple[str, Floats] | None = None

    @property
    def is_rate(self) -> bool:
        """Whether values are parts of one."""
        return self.name in PERCENT


def by_size(path: SelectionPath, honest: Honest | None, *, classes: bool) -> SizeErrors:
    """The errors of all sizes, honest ones if they are known."""
    measure = path.criterion if honest is None else honest.measure
    errors, se, criterion = path.errors, path.errors_se, None
    if path.is_validated:
        errors, se, criterion = path.honest_errors, path.honest_errors_se, path.errors
    if honest is not None and honest.confusion is not None:
        return _rates(path, honest, criterion)
    if measure in COMPLEMENTS:
        return SizeErrors(COMPLEMENTS[measure], 1.0 - errors, se)
    if classes or not _is_squared(measure):
        name = "error" if honest is None else measure
        return SizeErrors(name, errors, se, criterion)
    roots = np.sqrt(errors)
    with np.errstate(divide="ignore", invalid="ignore"):
        se = np.where(roots > 0, se / (2 * roots), 0.0)
    if criterion is not None:
        criterion = np.sqrt(criterion) if _is_squared(path.criterion) else None
    beside = None
    if 0 in path.sizes and 0 < (empty := errors[path.sizes.index(0)]) < math.inf:
        beside = "R2", 1 - errors / empty
    return SizeErrors("RMSE", roots, se, criterion, beside)


def _rates(path: SelectionPath, honest: Honest, criterion: Floats | None) -> SizeErrors:
    """Rates of every size, before any correction, as for all sizes but the chosen one."""
    every = [honest.requested(path, size) for size in path.sizes]
    shown = [None if each is None else each.shown() for each in every]
    name = next(each.measure for each in shown if each is not None)
    values = np.array([math.nan if each is None else each.error for each in shown])
    figure = {said: figure for figure, said in FIGURES.items()}.get(name, "")
    se = np.array([math.nan if e is None else e.figures_se.get(figure, e.error_se) for e in shown])
    areas = [math.nan if e is None else e.figures.get("auc", math.nan) for e in shown]
    beside = None if name == "AUC" or np.isnan(areas).all() else ("AUC", np.array(areas))
    return SizeErrors(name, values, se, criterion, beside)


def _is_squared(measure: str) -> bool:
    return "squared error" in measure and "pairwise" not in measure


def of_numbers(path: SelectionPath, size: int, honest: Honest | None = None) -> dict[str, float]:
    """Return RMSE and R2 of a squared error.

    Both are honest if the honest error is known.
    """
    what = path.criterion if honest is None else honest.measure
    error = path.error(size) if honest is None else honest.error
    if honest is None and path.parameters.get("transform_target"):  # errors on another scale
        return {}
    if "deviance" in what and honest is not None and honest.empty_error > 0:
        return {"d2": 1 - error / honest.empty_error} if size else {}
    if "squared error" not in what or not 0 <= error < math.inf:
        return {}
    found = {"rmse": math.sqrt(error)}
    if not size or 0 not in path.sizes:
        return found
    empty = path.error(0) if honest is None else honest.empty_error
    return {**found, "r2": 1 - error / empty} if 0 < empty < math.inf else found


def of_classes(
    model: Any, X: Any, y: NDArray[Any], extras: Mapping[str, Any], size: int
) -> dict[str, float]:
    """Return the error rate and, with two classes, AUC of the model in use.

    This runs ridge regression with all selected columns forced: its criterion at that size is the
    required loss over the same splits, exact and fast.
    """
    from sparsepath.rls import SparseRLSClassifier

    selected = model.selected_
    model = getattr(model, "_chosen", model)  # of the automatic choice
    if not isinstance(model, SparseRLSClassifier) or not size or not model.path_.complete:
        return {}
    columns = X[:, selected]
    losses = {"error_rate": "zero_one"}
    if len(model.classes_) == 2 and X.shape[0] ** 2 * size <= PAIRED:
        losses["auc"] = "auc"
    asked = {
        "alpha": model.alpha_,
        "cv": model.cv,
        "standardize": model.standardize,
        "fit_intercept": model.fit_intercept,
        "n_threads": model.n_threads,
    }
    found = {}
    for figure, loss in losses.items():
        if loss == model.loss:
            continue
        twin = SparseRLSClassifier(size, choose=size, loss=loss, forced=range(size), **asked)
        # A fold may lack a class, and Ctrl-C may come: then there is no such figure.
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore")
            error = twin.fit(columns, y, **extras).path_.error(size)
            found[figure] = 1 - error if figure == "auc" else error
    return {name: value for name, value in found.items() if math.isfinite(value)}


def on_held_out_rows(honest: Honest) -> dict[str, float]:
    """Return the figures of classification on held-out rows."""
    return {name: value for name, value in honest.figures.items() if math.isfinite(value)}


def on_rows(model: Any, columns: Mapping[str, NDArray[Any]], y: NDArray[Any]) -> dict[str, float]:
    """Return the figures of predictions, given the true values."""
    if "risk" in columns:
        wrong = METRICS["concordance"].losses(Truth(y), columns["risk"][:, None])
        return {"concordance": 1.0 - float(wrong[0])}
    if "label" not in columns:
        off = np.asarray(y, dtype=np.float64) - columns["prediction"]
        error, spread = float(np.mean(off * off)), float(np.var(np.asarray(y, dtype=np.float64)))
        found = {"rmse": math.sqrt(error)}
        return {**found, "r2": 1 - error / spread} if spread > 0 else found
    found = {"error_rate": float(np.mean(columns["label"] != y))}
    if "score" in columns and len(np.unique(y)) == 2:
        from sklearn.metrics import roc_auc_score

        found["auc"] = float(roc_auc_score(y == model.classes_[1], columns["score"]))
    return found


def format_figures(found: Mapping[str, float]) -> str:
    """Return the figures as text.

    >>> format_figures({"rmse": 56.0314, "r2": 0.473})
    'RMSE 56.03, R2 0.473'
    >>> format_figures({"error_rate": 0.2919, "auc": 0.7812})
    'error rate 29.2 %, AUC 0.781'
    """
    forms = {
        "rmse": lambda v: f"RMSE {brief(v)}",
        "r2": lambda v: f"R2 {v:.3f}",
        "error_rate": lambda v: f"error rate {100 * v:.3g} %",
        "balanced_error": lambda v: f"balanced error {100 * v:.3g} %",
        "log_loss": lambda v: f"log loss {v:.3f}",
        "brier": lambda v: f"Brier score {v:.3f}",
        "auc": lambda v: f"AUC {v:.3f}",
        "d2": lambda v: f"D2 {v:.3f} (share of the baseline's deviance that is explained)",
        "concordance": lambda v: f"concordance {v:.3f}",
    }
    return ", ".join(forms[name](value) for name, value in found.items())
