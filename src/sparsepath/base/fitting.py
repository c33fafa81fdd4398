"""Fits that leave all or nothing."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sparsepath.base.callbacks import with_callbacks
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


def explained(fit: Fit) -> Fit:
    """Decorate a ``fit``: what its docstring does not say of arguments is what is true of all."""
    first, *_ = texts.sections(fit.__doc__ or "")
    if any(first[1]):  # python -OO has none
        known = {**ARGUMENTS, **texts.entries(fit.__doc__ or "")}
        lines = [*first[1], *([""] if first[1][-1] else []), "Parameters", "----------"]
        for name in list(inspect.signature(fit).parameters)[1:]:
            lines += texts.entry(name, *known[name])
        fit.__doc__ = "\n".join(lines)
    return fit


def fitting(fit: Fit) -> Fit:
    """Decorate a ``fit``: one that ends in an exception leaves the estimator as it was before.

    So nobody meets half a model, such as the columns of the new data with the coefficients of the
    old, after an error or after Ctrl-C. If the new model was there, it stays: a warning that was
    made an exception does not take it away. scikit-learn's callbacks are torn down in any case.
    """
    managed = with_callbacks(explained(fit))

    @functools.wraps(fit)
    def all_or_nothing(estimator: Any, *given: Any, **named: Any) -> Any:
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
