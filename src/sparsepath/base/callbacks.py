"""Support for scikit-learn's callbacks (scikit-learn 1.9 or later).

This is the only module that imports ``sklearn.callback``. With older versions there is no
``set_callbacks``; the ``callback`` parameter of every estimator works without scikit-learn.
"""

from collections.abc import Callable
from typing import Any

from sparsepath.path.selection_path import SelectionPath

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty mixin: this scikit-learn version has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged: this scikit-learn version has no callbacks."""
        return method


__all__ = [
    "Callback",
    "CallbackSupportMixin",
    "begin",
    "listeners",
    "tell_listeners",
    "with_callbacks",
]

Callback = Callable[[SelectionPath], object] | None


class NoCallbacks:
    """Callback context of a fit without callbacks."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        """Do nothing; never stop the fit."""
        return False


def begin(estimator: Any, subtasks: int | None, X: Any, y: Any) -> Any:
    """Return scikit-learn's callback context for a new fit, if there are callbacks."""
    if not (listeners(estimator) or hasattr(estimator, "_parent_callback_ctx")):
        return NoCallbacks()
    context = estimator._init_callback_context(max_subtasks=subtasks)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    return context


def listeners(estimator: Any) -> bool:
    """True if scikit-learn callbacks are registered."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def tell_listeners(estimator: Any, context: Any, name: str, state: Any) -> bool:
    """Report a step to scikit-learn's callbacks; return True if one of them stops the fit.

    ``state`` returns a copy of the estimator as if the fit had ended here.
    """
    step = context.subcontext(task_name=name)
    step.call_on_fit_task_begin(estimator=estimator)
    given = estimator.get_params(deep=False)
    fitted = {
        name: value
        for name, value in vars(state).items()
        if name not in given and not name.startswith(("_skl", "_callback", "_parent"))
    }
    return bool(step.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=fitted))
