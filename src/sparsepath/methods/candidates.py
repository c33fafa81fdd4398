"""Methods of a comparison: estimators, or methods by name, and their estimated run time."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsepath.assessment.planning import duration
from sparsepath.base.selector import PathSelector
from sparsepath.errors import InputError
from sparsepath.methods.lookup import called_here, check
from sparsepath.methods.options import OPTIONS
from sparsepath.methods.other_selectors import FOR_TIMES, OTHERS, other_selector
from sparsepath.methods.table import METHODS
from sparsepath.methods.table_selector import TableSelector
from sparsepath.tables.preparation import TablePreparation

PATIENCE_SECONDS = 60.0  # CPU seconds up to which a method is tried that was not named


class Entrants(NamedTuple):
    """The estimators to compare, CPU seconds of each with its validation, and who is left out."""

    estimators: dict[str, Any]
    seconds: dict[str, float]
    left_out: dict[str, str]  # by name: why


def entrants(
    methods: Mapping[str, Any] | Iterable[Any] | None,
    X: Any,
    y: Any,
    task: str | None,
    folds: int,
    preparation: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Entrants:
    """Return the estimators to compare by name, fastest first if no names were given.

    The seconds are by the estimators' own ``expected_seconds``.
    """
    left = dict[str, str]()
    values = np.unique(np.asarray(y).ravel())
    if task is None:
        classes = values.dtype.kind not in "iuf" or len(values) == 2
        task = "classification" if classes else "regression"
    if isinstance(methods, Mapping):
        made = {name: _predicting(each, task) for name, each in methods.items()}
    else:
        names = [methods] if isinstance(methods, str) else methods
        if names is None:
            names, left = _able(task, len(values))
        made = dict[str, Any]()
        for each in names:
            if not isinstance(each, str):
                made[_name_of(each, made)] = _predicting(each, task)
                continue
            if each in OTHERS or each in FOR_TIMES:
                asked = _of_preparation(preparation)
                made[each] = other_selector(each, task, options, asked)
                continue
            estimator = _made(each, task, len(values), options)
            prepared = preparation is not None
            made[each] = TableSelector(estimator, **preparation or {}) if prepared else estimator
    known = {
        name: (folds + 1) * each.expected_seconds(X)
        for name, each in made.items()
        if hasattr(each, "expected_seconds")
    }
    if methods is None:
        known = dict(sorted(known.items(), key=lambda item: item[1]))
        for name, seconds in known.items():
            if seconds > PATIENCE_SECONDS:
                left[name] = f"about {duration(seconds)} of one core; name it to include it"
        made = {name: made[name] for name in known if name not in left}
    if not made:
        raise InputError("methods is empty; give at least one, or None.")
    return Entrants(made, known, left)


def _of_preparation(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what ``TablePreparation`` takes of the parameters of ``TableSelector``."""
    if given is None:
        return None
    takes = TablePreparation().get_params()
    if wrong := [name for name, value in given.items() if name not in takes and value is not None]:
        raise InputError(f"{wrong[0]} is not for {', '.join(OTHERS)}; remove one of them.")
    return {name: value for name, value in given.items() if name in takes}


def _predicting(estimator: Any, task: str) -> Any:
    """The estimator; a selector that does not predict, followed by a ridge or logistic model."""
    plain = isinstance(estimator, SelectorMixin) and not isinstance(estimator, PathSelector)
    if not plain or hasattr(estimator, "predict"):
        return estimator
    model = LogisticRegression(max_iter=1000) if task == "classification" else Ridge()
    return make_pipeline(estimator, StandardScaler(), model)


def _name_of(estimator: Any, others: Mapping[str, Any]) -> str:
    """The name of the class, with a number if another one has it."""
    name = type(estimator).__name__
    same = sum(each == name or each.startswith(f"{name}-") for each in others)
    return f"{name}-{same + 1}" if same else name


def _able(task: str, n_classes: int) -> tuple[list[str], dict[str, str]]:
    """The methods for a task, and those that cannot do it."""
    able, unable = list[str](), dict[str, str]()
    for name, method in METHODS.items():
        if task not in method.tasks:
            unable[name] = f"for {' and '.join(method.tasks)} only"
        elif task == "classification" and n_classes > 2 and method.two_classes:
            unable[name] = "for two classes only"
        elif not (method.ranks or method.is_choice):
            able.append(name)
    if task == "survival":  # few methods, so that the others are not worth a word
        return [*able, *FOR_TIMES], {}
    return able, unable


def _made(name: str, task: str, n_classes: int, options: Mapping[str, Any]) -> Any:
    if name not in METHODS:
        said = called_here().get(name)
        hint = f" ({said})" if said else ""
        known = ", ".join((*METHODS, *OTHERS, *FOR_TIMES))
        raise InputError(f"there is no method {name!r}{hint}; use one of {known}.")
    method = METHODS[name]
    check(method, task, {}, n_classes)
    has = {option: value for option, value in options.items() if option in method.options}
    return method.make(task, **{OPTIONS[option].parameter: value for option, value in has.items()})
