"""Who takes part in a comparison: estimators as given, or methods by name, and what they cost."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.methods.method import OPTIONS
from sparsepath.methods.table import METHODS, called_here, check
from sparsepath.methods.table_selector import TableSelector
from sparsepath.path.selection_path import LONGEST_PATH

NUMBER = 2e-9  # seconds for each number that the table of methods says is touched
PATIENCE_SECONDS = 60.0  # seconds that a method may take, by that reckoning, to be tried unasked


def costs(
    rows: int, columns: int, task: str, n_classes: int = 2, folds: int = 10
) -> dict[str, float]:
    """Methods for a task, and about the seconds that each takes with its validation, ascending.

    >>> [costs(rows, 10, "regression")["rbf"] < PATIENCE_SECONDS for rows in (100, 50000)]
    [True, False]
    """
    able = {}
    for name, method in METHODS.items():
        fits = task in method.tasks and not method.ranks
        if fits and not (task == "classification" and n_classes > 2 and method.two_classes):
            steps = min(columns, max(rows - 2, 0), method.longest or LONGEST_PATH)
            if method.sizes == "down":
                steps = columns
            numbers: float = rows * columns * steps
            if method.work is not None:
                numbers = method.work(rows, columns, steps)
            able[name] = NUMBER * numbers * (folds + 1)
    return dict(sorted(able.items(), key=lambda item: item[1]))


def entrants(
    methods: Mapping[str, Any] | Iterable[str] | None,
    X: Any,
    y: Any,
    task: str | None,
    folds: int,
    preparation: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    groups: Any = None,
) -> tuple[dict[str, Any], dict[str, float]]:
    """The estimators to compare by name, and what is known of their seconds.

    Methods by name keep groups whole in their own cross-validation, as on the command line.
    """
    known: dict[str, float] = {}
    if isinstance(methods, Mapping):
        made = dict(methods)
    else:
        values = np.unique(np.asarray(y).ravel())
        if task is None:
            classes = values.dtype.kind not in "iuf" or len(values) == 2
            task = "classification" if classes else "regression"
        known = costs(X.shape[0], X.shape[1], task, len(values), folds)
        if methods is None:
            methods = [name for name, seconds in known.items() if seconds <= PATIENCE_SECONDS]
        names = [methods] if isinstance(methods, str) else methods
        n_groups = None if groups is None else len(np.unique(np.asarray(groups)))
        made = {name: _made(name, task, len(values), options, n_groups) for name in names}
        if preparation is not None:
            made = {name: TableSelector(each, **preparation) for name, each in made.items()}
    if not made:
        raise InputError("methods is empty; give at least one, or None.")
    return made, known


def _made(
    name: str, task: str, n_classes: int, options: Mapping[str, Any], n_groups: int | None
) -> Any:
    if name not in METHODS:
        said = called_here().get(name)
        hint = f" ({said})" if said else ""
        raise InputError(f"there is no method {name!r}{hint}; use one of {', '.join(METHODS)}.")
    method = METHODS[name]
    check(method, task, {}, n_classes)
    has = {option: value for option, value in options.items() if option in method.options}
    folds = None if n_groups is None else method.folds(n_groups, has)
    if folds is not None:
        has["cv"] = folds
    return method.make(task, **{OPTIONS[option].parameter: value for option, value in has.items()})
