"""The last part of every fit: honest errors for its path, and the size chosen by them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsepath.choosing import is_size
from sparsepath.errors import InputError, warn_user
from sparsepath.judging.honest import Honest, attach, told
from sparsepath.judging.left_out import FEWEST, LeftOut, left_out
from sparsepath.path import SelectionPath
from sparsepath.running import Given
from sparsepath.running.interrupts import Interruptible

BY_ITSELF = "auto"
BY_DEFAULT = True  # whether "auto" means folds; the tests of the searches do without


def validated(
    estimator: Any,
    path: SelectionPath,
    rule: Any,
    given: Given,
    told_of: Callable[[int, int], object] | None = None,
) -> tuple[SelectionPath, Honest | None]:
    """The path with honest errors, and the record of the size to use; None if there are none.

    The estimator's ``validation`` says how; "auto" is as many folds as its ``_n_folds``. Before
    every fold ``told_of`` is called with the number of folds done and of all, default: its
    ``callback`` with the path; a true value ends the work, as Ctrl-C does: what is done counts, if
    that is two or more.
    """
    callback = getattr(estimator, "callback", None)

    def asked(done: int, of: int) -> object:
        return callback is not None and callback(path)

    validation = getattr(estimator, "validation", None)
    auto = isinstance(validation, str) and validation == BY_ITSELF
    if validation is not None and not hasattr(estimator, "predict"):
        if not auto:
            raise InputError(
                f"{type(estimator).__name__} predicts nothing that validation could judge; use "
                "validation=None."
            )
        return path, None
    if auto:
        few = len(np.asarray(given.y)) < FEWEST
        validation = None if few or not BY_DEFAULT else estimator._n_folds
        if validation is not None and has_fixed_splits(estimator):
            warn_user(
                "cv is a list of rows, which cannot be repeated on parts of the data: there is no "
                "honest error, and the size is chosen by the criterion. Give a number of folds or "
                "a splitter, or validation=None."
            )
            validation = None
    if validation is None:
        return path, None
    if has_fixed_splits(estimator):
        raise InputError(
            "validation repeats the search on parts of the data, for which cv must be a number of "
            "folds or a splitter, not a list of rows."
        )
    found = None
    try:
        with Interruptible():
            found = left_out(
                estimator,
                given.X,
                given.y,
                validation,
                sizes=path.sizes,
                fit_params=given.more,
                groups=given.more.get("groups"),
                told=told_of or asked,
                keep=True,
                likely=path.subset(path.sizes[-1]),
                own=int(rule) if is_size(rule) else None,
            )
    except InputError as error:
        if not auto:
            raise InputError(f"validation: with a part of the data left out, {error}") from error
        warn_user(
            f"there is no honest error, and the size is chosen by the criterion of the search: "
            f"with a part of the data left out, {error}"
        )
        return path, None
    return judged(path, found, rule)


def judged(
    path: SelectionPath, found: LeftOut | None, rule: Any
) -> tuple[SelectionPath, Honest | None]:
    """The path with honest errors, and the record of the size that the rule takes.

    If Ctrl-C came, it is said: nothing was found, or not the whole.
    """
    if found is None:
        warn_user(
            "the validation was interrupted: there is no honest error, and the size is chosen by "
            "the criterion of the search."
        )
        return path, None
    if not found.whole:
        warn_user(
            "the validation was interrupted: the honest error, and the size that is chosen by it, "
            f"are of what was done ({found.label})."
        )
    path = attach(path, found)
    return path, told(found, path.settle(rule), rule)


def has_fixed_splits(estimator: Any) -> bool:
    """Whether the splits of the search's own cross-validation are rows of these very data."""
    cv = getattr(estimator, "cv", None)
    return hasattr(cv, "__iter__") and not isinstance(cv, str)
