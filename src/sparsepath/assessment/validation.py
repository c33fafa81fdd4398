"""Final step of every fit: honest errors of its path, and the size chosen by them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sparsepath.assessment.folds import Parts
from sparsepath.assessment.held_out import HeldOutLosses
from sparsepath.assessment.honest import Honest, attach, summarize
from sparsepath.assessment.leaks import is_lag, leak_of
from sparsepath.assessment.out_of_sample import FEWEST, held_out_losses
from sparsepath.assessment.repetitions import Shorter
from sparsepath.data.fit_arguments import Given
from sparsepath.data.sources import is_source
from sparsepath.errors import InputError, warn_user
from sparsepath.path.choosing import is_size
from sparsepath.path.selection_path import SelectionPath
from sparsepath.system.arrays import Floats
from sparsepath.system.interrupts import Interruptible

BY_ITSELF = "auto"
NEIGHBOURS = "neighbouring rows have correlated errors"
ON_ROWS_LEFT_OUT = "on rows left out"
NEVER_PREDICTED = "for rows left out the model never predicts class "


def validate(
    estimator: Any,
    path: SelectionPath,
    rule: Any,
    given: Given,
    progress: Callable[[int, int], object] | None = None,
    accept: Callable[[Mapping[str, Any]], object] | None = None,
    paths: Mapping[Any, SelectionPath] | None = None,
    parts: Parts | None = None,
    shorter: Shorter | None = None,
) -> tuple[SelectionPath, Honest | None]:
    """Return the path with honest errors and the record of the chosen size, or None without
    validation.

    - ``validation`` of the estimator defines the splits; "auto" is ``_n_folds`` folds, for few
      samples with several assignments (``repetitions``).
    - Before every fold, ``progress`` is called with the number of finished folds and the total
      (default: the ``callback`` of the estimator with the path); a true value stops the work, as
      Ctrl-C does. Finished folds are used if there are at least two.
    - An estimator may have a method ``_search_again``, which takes the path, the held-out results
      and ``given``, and returns the result of a second search (``Found``) of the same sizes, or
      None. ``accept`` receives its fitted attributes; default: the estimator does.
    - If there were several ways (``left_out``), the method ``_of_way`` of the estimator returns the
      path and the fitted attributes of the chosen one, from ``given`` and the ``paths`` on all
      data.
    - For data read in passes, ``parts`` may be known already; ``shorter`` is as for ``left_out``.
    """
    callback = getattr(estimator, "callback", None)

    def with_path(done: int, of: int) -> object:
        return callback is not None and callback(path)

    validation: Any = parts
    if parts is None:
        rows = given.X if is_source(given.X) else np.asarray(given.y)
        validation = resolve_validation(estimator, len(rows))
    if validation is None:
        return path, None
    auto = is_auto(estimator)
    found = None
    try:
        with Interruptible():
            found = held_out_losses(
                estimator,
                given.X,
                given.y,
                validation,
                sizes=path.sizes,
                fit_params=given.more,
                groups=given.more.get("groups"),
                callback=progress or with_path,
                keep=True,
                likely=path.subset(path.sizes[-1]),
                own=int(rule) if is_size(rule) else None,
                repeats=None if auto else 1,
                paths=paths,
                choose=rule,
                shorter=shorter,
            )
    except InputError as error:
        if not auto:
            raise InputError(f"validation: with part of the data held out, {error}") from error
        warn_user(
            f"there is no honest error, and the size is chosen by the criterion of the search: "
            f"with a part of the data left out, {error}"
        )
        return path, None
    if found is not None:
        path = _fit_by_losses(
            estimator, path, found, given, accept or vars(estimator).update, paths
        )
    path, record = attach_honest_error(path, found, rule)
    if record is not None and not hasattr(estimator, "_at_sizes"):  # that one looks by itself
        _warn_of_leak(estimator, path, record, given)
    if record is not None and record.size:
        _warn_of_classes(estimator, record)
    return path, record


def _fit_by_losses(
    estimator: Any,
    path: SelectionPath,
    found: HeldOutLosses,
    given: Given,
    accept: Callable[[Mapping[str, Any]], object],
    paths: Mapping[Any, SelectionPath] | None,
) -> SelectionPath:
    """Return the path with all that held-out losses determine; ``accept`` gets the attributes.

    This is the chosen way, the calibration and threshold of scores, and a second search.
    """
    if found.others:
        path, fitted = estimator._of_way(found, path, given, paths or {})
        accept(fitted)
    offsets: dict[int, Floats] = {}
    if found.figures is not None:
        slopes = dict(zip(found.sizes, found.figures.slopes.tolist(), strict=True))
        offsets = dict(zip(found.sizes, found.figures.offsets, strict=True))
        accept({"_slopes": slopes, "_offsets": offsets})
        if len(found.figures.thresholds):
            cuts = found.figures.thresholds.tolist()
            accept({"_thresholds": dict(zip(found.sizes, cuts, strict=True))})
    if found.whole and hasattr(estimator, "_search_again"):
        second = estimator._search_again(path, found, given)
        if second is not None:
            path = path.replaced(steps=second.steps, _models=dict(second.models))
            accept(second.fitted)
    return path.moved(offsets)


def _warn_of_leak(estimator: Any, path: SelectionPath, record: Honest, given: Given) -> None:
    """Warn if one feature alone explains nearly everything, and was not forced."""
    of_one = record.at(path, 1) if 1 in path.sizes else None
    leak = None if of_one is None else leak_of(path, of_one.figures, record.measure)
    if leak is None or getattr(estimator, "forced", None) is not None:
        return
    if isinstance(given.X, np.ndarray) and is_lag(given.X[:, path.subset(1)[0]], given.y):
        return
    warn_user(
        f"{leak.sentence}, {ON_ROWS_LEFT_OUT}. If it is not known before the target is, leave it "
        "out."
    )


def _warn_of_classes(estimator: Any, record: Honest) -> None:
    """Say which classes no sample was predicted to be of when it was left out."""
    if record.confusion is None:
        return
    table = np.asarray(record.confusion)
    if len(table) > len(estimator.classes_):  # some classes are of samples of weight zero only
        return
    shares = table.sum(1) / table.sum()
    missed = np.flatnonzero((table.sum(0) < 0.5) & (shares > 0))
    if not len(missed):
        return
    labels = estimator.classes_.tolist()
    names = ", ".join(f"{labels[c]!r} ({100 * shares[c]:.2g} % of the rows)" for c in missed)
    beneath = getattr(estimator, "selector", None) or estimator
    remedy = "SparseRLSClassifier has class_weight='balanced'."
    if hasattr(beneath, "class_weight"):
        also = " or threshold='balanced'" if len(shares) == 2 else ""
        remedy = f"Use class_weight='balanced'{also}, or the probabilities."
    warn_user(f"{NEVER_PREDICTED}{names}. {remedy}")


def is_auto(estimator: Any) -> bool:
    """Return whether ``validation`` of the estimator is the default."""
    validation = getattr(estimator, "validation", None)
    return isinstance(validation, str) and validation == BY_ITSELF


def resolve_validation(estimator: Any, n_samples: int) -> Any:
    """Return the validation of the estimator for n samples; None: there is none."""
    validation, auto = getattr(estimator, "validation", None), is_auto(estimator)
    if validation is not None and not hasattr(estimator, "predict"):
        if not auto:
            raise InputError(
                f"{type(estimator).__name__} has no predictions to validate; use validation=None."
            )
        return None
    if auto:
        validation = None if n_samples < FEWEST else estimator._n_folds
        if validation is not None and has_fixed_splits(estimator):
            warn_user(
                "cv is a list of rows, which cannot be repeated on parts of the data: there is no "
                "honest error, and the size is chosen by the criterion. Give a number of folds or "
                "a splitter, or validation=None."
            )
            return None
    if validation is not None and has_fixed_splits(estimator):
        raise InputError(
            "validation repeats the search on parts of the data, for which cv must be a number of "
            "folds or a splitter, not a list of rows."
        )
    return validation


def attach_honest_error(
    path: SelectionPath, found: HeldOutLosses | None, rule: Any
) -> tuple[SelectionPath, Honest | None]:
    """Return the path with honest errors, and the record of the size that the rule selects.

    After Ctrl-C a warning says whether all, some or no parts were evaluated.
    """
    if found is None:
        warn_user(
            "the validation was interrupted: there is no honest error, and the size is chosen by "
            "the criterion of the search."
        )
        return path, None
    if not found.whole:
        warn_user(
            "the validation was interrupted: the honest error and the chosen size "
            f"use only the completed parts ({found.label})."
        )
    path = attach(path, found)
    record = summarize(found, path.settle(rule), rule)
    if record.neighbours is not None:
        warn_user(
            f"{NEIGHBOURS} ({record.neighbours:.2f}), so that the honest error is too optimistic. "
            "Rows in time order: use validation='time'. Several rows per person or site: pass "
            "groups to fit."
        )
    return path, record


def is_validated(estimator: Any, n_samples: int) -> bool:
    """Return whether a fit to n samples will have honest errors."""
    if is_auto(estimator):
        return n_samples >= FEWEST and not has_fixed_splits(estimator)
    return getattr(estimator, "validation", None) is not None


def has_fixed_splits(estimator: Any) -> bool:
    """Return whether the search's own splits are given as row numbers of these data."""
    cv = getattr(estimator, "cv", None)
    return hasattr(cv, "__iter__") and not isinstance(cv, str)
