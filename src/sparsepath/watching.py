"""What is told while a fit goes on: a plain callback, and scikit-learn's."""

from collections.abc import Callable
from typing import Any

from sparsepath.path import SelectionPath

Callback = Callable[[SelectionPath], object] | None


def is_watched(estimator: Any) -> bool:
    """Whether anybody wants to be told."""
    return estimator.callback is not None or bool(getattr(estimator, "_skl_callbacks", None))


def tell(
    estimator: Any, context: Any, path: SelectionPath, state: Callable[[], Any], name: str = ""
) -> bool:
    """Pass on the path so far; whether the fit is to end here.

    Parameters
    ----------
    estimator : estimator
        The one that is being fitted.
    context : CallbackContext
        Of its fit.
    path : SelectionPath
        What the plain callback gets.
    state : callable
        Makes a copy of the estimator as if the fit had ended here, for scikit-learn's callbacks.
    name : str
        What was done, for these; default: the number of moves.
    """
    stop = estimator.callback is not None and bool(estimator.callback(path))
    if getattr(estimator, "_skl_callbacks", None):
        step = context.subcontext(task_name=name or f"{len(path.moves)} moves")
        step.call_on_fit_task_begin(estimator=estimator)
        given = estimator.get_params(deep=False)
        fitted = {
            name: value
            for name, value in vars(state()).items()
            if name not in given and not name.startswith(("_skl", "_callback", "_parent"))
        }
        stop |= bool(
            step.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted)
        )
    return stop
