"""What there is in the table, and what of it may be asked for."""

from collections.abc import Callable, Mapping
from typing import Any

from sparsepath.errors import InputError
from sparsepath.methods.method import Method, load
from sparsepath.methods.table import METHODS


def selectors() -> dict[str, Any]:
    """Every selector of the table by its name."""
    every = (load(estimator) for method in METHODS.values() for estimator in method.estimators)
    return {maker.__name__: maker for maker in every}


def having(option: str) -> list[str]:
    """The methods that have an option.

    >>> having("restarts")
    ['elm-fs', 'mi-forward-backward']
    """
    return [name for name, method in METHODS.items() if option in method.options]


def called_here() -> dict[str, str]:
    """What methods are called elsewhere, and what to say of it.

    >>> called_here()["rfe"]
    'dropping one feature at a time is called backward-rls here'
    """
    return {
        name: said
        for method in METHODS.values()
        for names, said in method.known_as.items()
        for name in names.split()
    }


def check(method: Method, task: str, given: Mapping[str, Any], classes: int = 2) -> None:
    """Refuse what the method does not have."""
    if task not in method.tasks:
        able = _able(lambda other: task in other.tasks)
        raise InputError(
            f"{method.name} does {' and '.join(method.tasks)} only, not {task}; methods that do: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and method.two_classes:
        able = _able(lambda other: task in other.tasks and not other.two_classes)
        raise InputError(
            f"{method.name} is for two classes, and the target has {classes}; methods for more: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and given.get("loss") == "auc":
        raise InputError(f"--loss auc is for two classes, and the target has {classes}.")
    missing = sorted(set(given) - method.options)
    if missing:
        able = _able(lambda other: other.options.issuperset(missing))
        hint = f"; methods that have it: {able}" if able else ""
        wanted = " or ".join(f"--{option}" for option in missing)
        raise InputError(f"{method.name} has no option {wanted}{hint}.")
    losses = method.losses.get(task, ())
    if "loss" in given and given["loss"].partition(":")[0] not in losses:
        raise InputError(
            f"--loss {given['loss']} is not for {task} with {method.name}; use one of "
            f"{', '.join(losses)}."
        )
    if method.is_fixed(given) and "cv" in given:
        fixed = " and ".join(f"--{option}" for option in method.given)
        raise InputError(
            f"with {fixed} there is nothing for --cv to choose; leave one or the other out."
        )


def _able(fits: Callable[[Method], bool]) -> str:
    return ", ".join(name for name, method in METHODS.items() if fits(method))
