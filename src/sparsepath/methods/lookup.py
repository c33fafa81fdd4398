"""Questions about the table of methods."""

from collections.abc import Callable, Mapping
from typing import Any

from sparsepath.errors import InputError
from sparsepath.methods.method import OF_COUNTS, Method, load
from sparsepath.methods.table import METHODS


def selectors() -> dict[str, Any]:
    """Return all selector classes of the table by name."""
    every = (load(estimator) for method in METHODS.values() for estimator in method.estimators)
    return {maker.__name__: maker for maker in every}


def having(option: str) -> list[str]:
    """Return the names of the methods that have an option.

    >>> having("restarts")
    ['elm-fs', 'mi-forward-backward']
    """
    return [name for name, method in METHODS.items() if option in method.options]


def in_passes() -> str:
    """Return the names of the methods that read data in passes, as text."""
    yes = [name for name, method in METHODS.items() if method.streams == "yes"]
    given = [
        f"{name} with {' and '.join(f'--{option}' for option in method.given)}"
        for name, method in METHODS.items()
        if method.streams == "given"
    ]
    return ", ".join([*yes, *given])


def called_here() -> dict[str, str]:
    """Names of methods in other packages, with a hint for each.

    >>> called_here()["rfe"]
    'backward elimination is called backward-rls here'
    """
    return {
        name: said
        for method in METHODS.values()
        for names, said in method.known_as.items()
        for name in names.split()
    }


def check(method: Method, task: str, given: Mapping[str, Any], classes: int = 2) -> None:
    """Raise InputError for options or tasks that the method does not support."""
    if task not in method.tasks:
        able = _able(lambda other: task in other.tasks)
        raise InputError(
            f"{method.name} supports {' and '.join(method.tasks)} only, not {task}; methods "
            f"that do: {able}."
        )
    if task == "classification" and classes > 2 and method.two_classes:
        able = _able(lambda other: task in other.tasks and not other.two_classes)
        raise InputError(
            f"{method.name} supports two classes, and the target has {classes}; methods for more: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and given.get("loss") == "auc":
        raise InputError(f"--loss auc requires two classes, and the target has {classes}.")
    missing = sorted(set(given) - method.options)
    if missing:
        able = _able(lambda other: other.options.issuperset(missing))
        hint = f"; methods that have it: {able}" if able else ""
        wanted = " or ".join(f"--{option}" for option in missing)
        raise InputError(f"{method.name} has no option {wanted}{hint}.")
    losses = method.losses.get(task, ())
    counts = task == "regression" and given.get("loss") in OF_COUNTS
    if "loss" in given and given["loss"].partition(":")[0] not in losses:
        raise InputError(
            f"--loss {given['loss']} is not available for {task} with {method.name}; "
            + (f"use one of {', '.join(losses)}" if losses else "remove it")
            + (f", or --method grafting for {given['loss']}." if counts else ".")
        )
    name, colon, _ = str(given.get("loss", "")).partition(":")
    if colon and not str(method.regressor).startswith("rls."):
        raise InputError(
            f"--loss {given['loss']}: {method.name} has {name} without a number; remove it."
        )
    if method.is_fixed(given) and "cv" in given:
        fixed = " and ".join(f"--{option}" for option in method.given)
        raise InputError(f"with {fixed} there is nothing for --cv to choose; remove one of them.")


def _able(fits: Callable[[Method], bool]) -> str:
    return ", ".join(name for name, method in METHODS.items() if fits(method))
