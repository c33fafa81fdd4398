"""Decorators of ``fit``: atomic updates and shared documentation."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sparsepath.base.callbacks import with_callbacks
from sparsepath.data.sources import is_source
from sparsepath.errors import InputError
from sparsepath.system import docstrings as texts
from sparsepath.system.interrupts import is_interrupt

Fit = TypeVar("Fit", bound=Callable[..., Any])
VECTOR = "array of shape (n_samples,)"
ARGUMENTS = {
    "X": (
        "array, sparse matrix or data frame of shape (n_samples, n_features)",
        "Features.",
    ),
    "y": (VECTOR, "Target: numbers, or for a classifier class labels of any type."),
    "sample_weight": (f"{VECTOR}, optional", "Weights of the samples."),
    "groups": (
        f"{VECTOR}, optional",
        "Group labels of the samples; all folds keep groups together.",
    ),
}

IN_PASSES = "SparseRLSRegressor, SparseRLSClassifier, GraftingRegressor and GraftingClassifier"


def document_fit(fit: Fit) -> Fit:
    """Decorate a ``fit``: add shared descriptions of undocumented arguments to its docstring."""
    first, *_ = texts.sections(fit.__doc__ or "")
    if any(first[1]):  # python -OO has none
        known = {**ARGUMENTS, **texts.entries(fit.__doc__ or "")}
        lines = [*first[1], *([""] if first[1][-1] else []), "Parameters", "----------"]
        for name in list(inspect.signature(fit).parameters)[1:]:
            lines += texts.entry(name, *known[name])
        fit.__doc__ = "\n".join(lines)
    return fit


def refuse_source(estimator: Any, X: Any) -> None:
    """Refuse data that are read in passes for an estimator that needs them in memory."""
    if is_source(X) and not getattr(estimator, "_reads_in_passes", False):
        raise InputError(
            f"{type(estimator).__name__} needs data in memory, and these are read in passes. Load "
            "them first, for example with pandas.read_parquet, or .compute() of Dask; or use an "
            f"estimator that reads data in passes: {IN_PASSES}."
        )


def in_memory(fit: Fit) -> Fit:
    """Decorate a ``fit`` that takes no data that are read in passes."""

    @functools.wraps(fit)
    def checked(estimator: Any, *given: Any, **named: Any) -> Any:
        refuse_source(estimator, given[0] if given else named.get("X"))
        return fit(estimator, *given, **named)

    return checked  # type: ignore[return-value]


def fitting(fit: Fit) -> Fit:
    """Decorate a ``fit``: if it raises an exception, the estimator keeps its previous state.

    So an error or Ctrl-C never leaves a mixture of the old and the new model. If the new model was
    already set when the exception was raised (a warning turned into an error), it stays.
    scikit-learn's callbacks are torn down in all cases.
    """
    managed = with_callbacks(document_fit(fit))

    @functools.wraps(fit)
    def all_or_nothing(estimator: Any, *given: Any, **named: Any) -> Any:
        refuse_source(estimator, given[0] if given else named.get("X"))
        before = dict(vars(estimator))
        try:
            return managed(estimator, *given, **named)
        except BaseException as error:
            now = vars(estimator)
            if now.get("path_") is before.get("path_"):  # no run has settled
                now.clear()
                now.update(before)
            if is_interrupt(error) and not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise

    return all_or_nothing  # type: ignore[return-value]
