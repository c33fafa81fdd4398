"""Fits that leave all or nothing."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from sparsepath.running.callbacks import with_callbacks
from sparsepath.running.interrupts import is_interrupt

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fitting(fit: Fit) -> Fit:
    """Decorate a ``fit``: one that ends in an exception leaves the estimator as it was before.

    So nobody meets half a model, such as the columns of the new data with the coefficients of the
    old, after an error or after Ctrl-C. If the new model was there, it stays: a warning that was
    made an exception does not take it away. scikit-learn's callbacks are torn down in any case.
    """
    managed = with_callbacks(fit)

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
