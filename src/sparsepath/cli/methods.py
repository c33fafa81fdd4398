"""The methods that the command line offers: one table, one entry each.

A method is an estimator with ``fit(X, y)``, ``predict``, ``path_``, ``selected_`` and
``at_size(k)``. Its entry names the options it has; any other option is refused, never ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparsepath.errors import InputError

Build = Callable[[str, Mapping[str, Any]], Any]
"""Makes the estimator for a task ("regression" or "classification") and its parameters."""

PARAMETERS = {
    "max-features": "max_features",
    "alpha": "alpha",
    "loss": "loss",
    "choose": "choose",
    "cv": "cv",
    "search": "search",
    "standardize": "standardize",
    "force": "forced",
    "forbid": "forbidden",
    "threads": "n_threads",
    "checkpoint": "checkpoint",
    "weights": "sample_weight",
    "groups": "groups",
}
"""Options that a method may have, and what their parameters are called in Python."""


@dataclass(frozen=True)
class Method:
    """One line of the table.

    Attributes
    ----------
    help : str
        One line that says what the method does.
    build : callable
        Makes the estimator; imports what it needs.
    options : frozenset of str
        Which of ``PARAMETERS`` it has.
    tasks : tuple of str
        Regression, classification or both.
    losses : mapping of task to tuple of str
        What ``--loss`` may be.
    cost : str
        What one step of the search costs, for the note on big inputs.
    """

    help: str
    build: Build
    options: frozenset[str]
    tasks: tuple[str, ...]
    losses: Mapping[str, tuple[str, ...]]
    cost: str

    def check(self, name: str, task: str, given: Mapping[str, Any]) -> None:
        """Refuse what the method does not have."""
        if task not in self.tasks:
            raise InputError(f"{name} does {' and '.join(self.tasks)} only, not {task}.")
        missing = sorted(f"--{option}" for option in given if option not in self.options)
        if missing:
            able = [n for n, m in METHODS.items() if {o[2:] for o in missing} <= m.options]
            hint = f"; methods that have it: {', '.join(able)}" if able else ""
            raise InputError(f"{name} has no option {' or '.join(missing)}{hint}.")
        losses = self.losses.get(task, ())
        if "loss" in given and given["loss"] not in losses:
            raise InputError(
                f"--loss {given['loss']} is not for {task} with {name}; use one of "
                f"{', '.join(losses)}."
            )


def _rls(search: str) -> Build:
    def build(task: str, parameters: Mapping[str, Any]) -> Any:
        from sparsepath.rls import SparseRLSClassifier, SparseRLSRegressor

        estimator = SparseRLSRegressor if task == "regression" else SparseRLSClassifier
        return estimator(**{"search": search, "standardize": True, **parameters})

    return build


_RLS_LOSSES = {
    "regression": ("squared", "absolute"),
    "classification": ("squared", "absolute", "zero-one", "balanced"),
}
_BOTH = ("regression", "classification")
_FORWARD = frozenset(PARAMETERS) - {"search"}

METHODS: dict[str, Method] = {
    "greedy-rls": Method(
        "Add one feature at a time, judged by exact cross-validation of ridge regression.",
        _rls("forward"),
        _FORWARD | {"search"},
        _BOTH,
        _RLS_LOSSES,
        "about one pass over the data",
    ),
    "floating-rls": Method(
        "As greedy-rls, and drop features again where that costs little.",
        _rls("floating"),
        _FORWARD,
        _BOTH,
        _RLS_LOSSES,
        "one pass over the data or a few",
    ),
    "backward-rls": Method(
        "Start with all features and drop one at a time.",
        _rls("backward"),
        _FORWARD - {"max-features"},
        _BOTH,
        _RLS_LOSSES,
        "a pass over all features that are still in",
    ),
    "swap-rls": Method(
        "As greedy-rls, and exchange chosen features for others while that helps.",
        _rls("swap"),
        _FORWARD,
        _BOTH,
        _RLS_LOSSES,
        "a pass over the data for each feature chosen so far, or several",
    ),
}
"""Every method by its name on the command line."""


def help_text() -> str:
    """The table as the end of ``--help``."""
    width = max(map(len, METHODS))
    lines = [f"  {name:{width}}  {method.help}" for name, method in METHODS.items()]
    return "\n".join(["\b", "Methods:", *lines])
