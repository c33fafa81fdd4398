"""scikit-learn's callbacks where it has them (from 1.9).

The only module that imports ``sklearn.callback``. Without it there is no ``set_callbacks``, and all
else is the same: the plain ``callback`` of every estimator needs nothing of scikit-learn.
"""

from collections.abc import Callable
from typing import Any

from sparsepath.path.selection_path import SelectionPath

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """The method itself: this scikit-learn has no callbacks."""
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


class Nobody:
    """The context of a fit without callbacks."""

    def call_on_fit_task_end(self, **_: Any) -> bool:
        """Report to nobody, and never stop."""
        return False


def begin(estimator: Any, subtasks: int | None, X: Any, y: Any) -> Any:
    """scikit-learn's context of a fit that begins, if anybody listens."""
    if not (listeners(estimator) or hasattr(estimator, "_parent_callback_ctx")):
        return Nobody()
    context = estimator._init_callback_context(max_subtasks=subtasks)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    return context


def listeners(estimator: Any) -> bool:
    """Whether there are callbacks of scikit-learn's kind."""
    return bool(getattr(estimator, "_skl_callbacks", None))


def tell_listeners(estimator: Any, context: Any, name: str, state: Any) -> bool:
    """Report a step to scikit-learn's callbacks; return whether one of them stops the fit.

    ``state`` is a copy of the estimator as if the fit had ended here.
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
