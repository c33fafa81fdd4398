"""The last part of every fit: honest errors for its path, and the size chosen by them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sparsepath.choosing import is_size
from sparsepath.errors import InputError, warn_user
from sparsepath.judging.honest import Honest, attach, told
from sparsepath.judging.left_out import FEWEST, LeftOut, left_out
from sparsepath.path import SelectionPath
from sparsepath.running.interrupts import Interruptible

BY_ITSELF = "auto"
BY_DEFAULT = True  # whether "auto" means folds; the tests of the searches do without


def validated(
    estimator: Any,
    path: SelectionPath,
    rule: Any,
    X: Any,
    y: Any,
    more: Mapping[str, Any],
    told_of: Callable[[int, int], object] | None = None,
) -> tuple[SelectionPath, Honest | None]:
    """The path with honest errors, and the record of the size to use; None if there are none.

    The estimator's ``validation`` says how; "auto" is as many folds as its ``_n_folds``. X, y and
    ``more`` are the arguments of its fit, as given. ``told_of`` is called with the number of folds
    done and of all; a true value ends it, as Ctrl-C does: what is done counts, if that is two or
    more.
    """
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
        few = len(np.asarray(y)) < FEWEST
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
                X,
                y,
                validation,
                sizes=path.sizes,
                fit_params=more,
                groups=more.get("groups"),
                told=told_of,
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
    warn_if_cut(found)
    if found is None:
        return path, None
    judged = attach(path, found)
    return judged, told(found, judged.settle(rule), rule)


def warn_if_cut(found: LeftOut | None) -> None:
    """Say that Ctrl-C came, if it did: nothing was found, or not the whole."""
    if found is None:
        warn_user(
            "the validation was interrupted: there is no honest error, and the size is chosen by "
            "the criterion of the search."
        )
    elif not found.whole:
        warn_user(
            "the validation was interrupted: the honest error, and the size that is chosen by it, "
            f"are of what was done ({found.label})."
        )


def has_fixed_splits(estimator: Any) -> bool:
    """Whether the splits of the search's own cross-validation are rows of these very data."""
    cv = getattr(estimator, "cv", None)
    return hasattr(cv, "__iter__") and not isinstance(cv, str)
